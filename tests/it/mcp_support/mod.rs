//! A client that speaks the protocol line by line, as it stands on the wire.

use crate::program::Place;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

/// How a client says which protocol it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// Once, by `initialize`, in this version.
    Legacy(&'static str),
    /// With every request, as of 2026-07-28.
    Stateless,
}

/// The version without a handshake.
pub(crate) const STATELESS: &str = "2026-07-28";

/// Longest line of the server, as the document has it.
const LINE_BYTES_MAX: usize = 2 << 20;

/// A conversation with a server of its own.
pub(crate) struct Client {
    server: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    era: Era,
    last_id: u64,
    /// Answers that came before they were asked for.
    early: BTreeMap<String, Value>,
}

impl Client {
    /// Starts `holdpoint mcp` with these options and says hello.
    pub(crate) fn start(place: &Place, era: Era, options: &[&str]) -> Self {
        let mut client = Self::silent(place, era, options);
        client.greet();
        client
    }

    /// Starts a server whose waits tell their progress so often.
    pub(crate) fn telling(place: &Place, era: Era, every: &str) -> Self {
        let mut command = place.command(&["mcp"]);
        let mut client = Self::of(command.env("HOLDPOINT_PROGRESS_EVERY", every), era);
        client.greet();
        client
    }

    /// Starts the server and says nothing yet.
    pub(crate) fn silent(place: &Place, era: Era, options: &[&str]) -> Self {
        Self::of(&mut place.command(&[&["mcp"], options].concat()), era)
    }

    fn of(command: &mut Command, era: Era) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = command.spawn().unwrap();
        let stdin = server.stdin.take();
        let stdout = BufReader::new(server.stdout.take().unwrap());
        Self { server, stdin, stdout, era, last_id: 0, early: BTreeMap::new() }
    }

    /// What the server says of itself.
    pub(crate) fn greet(&mut self) -> Value {
        match self.era {
            Era::Legacy(version) => {
                let hello = json!({
                    "protocolVersion": version, "capabilities": {}, "clientInfo": client_info(),
                });
                let answer = self.request("initialize", hello);
                assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
                self.line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
                answer["result"].clone()
            }
            Era::Stateless => self.request("server/discover", json!({}))["result"].clone(),
        }
    }

    /// The tools that are listed.
    pub(crate) fn tools(&mut self) -> Vec<Value> {
        let answer = self.request("tools/list", json!({}));
        answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}")).clone()
    }

    /// A call that has to succeed, and gives the same twice: as a value and as text.
    pub(crate) fn done(&mut self, tool: &str, arguments: &Value) -> Value {
        let (is_error, value) = self.call(tool, arguments);
        assert!(!is_error, "{tool} {arguments}: {value:#}");
        value
    }

    /// A call that has to fail with this code; the whole `error` object.
    pub(crate) fn refused(&mut self, code: &str, tool: &str, arguments: &Value) -> Value {
        let (is_error, value) = self.call(tool, arguments);
        let error = &value["error"];
        assert!(is_error && error["code"] == code, "{tool} {arguments}: {value:#}");
        for key in ["code", "message", "decision_id", "current"] {
            assert!(error.get(key).is_some(), "{key}: {value:#}");
        }
        error.clone()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> (bool, Value) {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        self.result(&answer)
    }

    /// Whether a call failed, and its value, which has to be there twice.
    pub(crate) fn result(&self, answer: &Value) -> (bool, Value) {
        let result = &answer["result"];
        let value = result["structuredContent"].clone();
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer:#}"));
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), value);
        let is_complete = result["resultType"] == "complete";
        assert_eq!(is_complete, self.era == Era::Stateless, "{answer:#}");
        (result["isError"].as_bool().unwrap(), value)
    }

    /// A request and its answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(&json!(id))
    }

    /// Sends a request and gives its id.
    pub(crate) fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.last_id += 1;
        if self.era == Era::Stateless {
            let given = params["_meta"].take();
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": client_info(),
            });
            if let (Some(meta), Value::Object(given)) = (params["_meta"].as_object_mut(), given) {
                meta.extend(given);
            }
        }
        let id = self.last_id;
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a value as a line.
    pub(crate) fn line(&mut self, value: &Value) {
        self.raw(format!("{value}\n").as_bytes());
    }

    /// Sends bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    /// The answer to the request with this id, whenever it comes.
    pub(crate) fn answer(&mut self, id: &Value) -> Value {
        loop {
            if let Some(answer) = self.early.remove(&id.to_string()) {
                return answer;
            }
            let answer = self.next_line();
            self.early.insert(answer["id"].to_string(), answer);
        }
    }

    /// The next line of the server, which has to be one message of the protocol.
    pub(crate) fn next_line(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server is gone");
        assert!(line.is_ascii() && line.len() <= LINE_BYTES_MAX, "{} bytes", line.len());
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// Ends stdin. The server has to end well, and say nothing more.
    pub(crate) fn end(mut self) {
        assert_eq!(self.hang_up().code(), Some(0));
    }

    /// Ends stdin.
    pub(crate) fn hush(&mut self) {
        drop(self.stdin.take());
    }

    /// Ends stdin, and waits for the server to end.
    pub(crate) fn hang_up(&mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.server.wait().unwrap()
    }

    /// Uses the id of the last request again.
    pub(crate) fn last_id_again(&mut self) {
        self.last_id -= 1;
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn client_info() -> Value {
    json!({ "name": "the-client", "version": "1" })
}
