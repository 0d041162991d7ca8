//! Lines for `apply`, and a conversation with it over pipes.

use crate::program::{Place, by_person, text};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Output, Stdio};

/// SHA-256 of nothing.
pub(crate) const HASH: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Everything that one execution needs, from INIT to HALTED.
pub(crate) fn story(entropy: &str) -> Vec<Value> {
    let loop_id = &format!("LOOP-{entropy}");
    let commands = [initialize(entropy), dispatch(loop_id), awaited(loop_id), output(loop_id)];
    let report = json!({ "command": "execution_loop.report_response", "loop_id": loop_id,
        "executor_id": "worker", "instruction_hash": HASH, "reported_status": "SUCCESS",
        "error": null, "exit": { "status": 0 } });
    let complete = json!({ "command": "execution_loop.complete", "loop_id": loop_id });
    let all = commands.into_iter().chain([report, complete]);
    all.map(|command| json!({ "submit": command })).collect()
}

/// A loop that is never held.
pub(crate) fn initialize(entropy: &str) -> Value {
    json!({ "command": "execution_loop.initialize", "entropy": entropy, "executor_id": "worker",
        "envelope": "", "instruction_envelope_hash": HASH, "command_line": "work",
        "max_attempts": 1, "retry_ceiling": "RETRY_LIMITED", "timeout_ms": null,
        "hold": { "policy": "NEVER" },
        "handshake": { "executor_id": "worker", "trust_status": "REGISTERED",
            "instruction_envelope_hash": HASH },
        "observer": { "executor_id": "worker", "envelope_hash": HASH } })
}

pub(crate) fn dispatch(loop_id: &str) -> Value {
    json!({ "command": "execution_loop.dispatch", "loop_id": loop_id, "envelope_hash": HASH,
        "facts": { "authorization_present": true, "executor_registered": true,
            "resources_available": true, "intent_clear": true, "human_abort_signaled": false } })
}

pub(crate) fn awaited(loop_id: &str) -> Value {
    json!({ "command": "execution_loop.await_response", "loop_id": loop_id })
}

/// What the executor printed: nothing.
fn output(loop_id: &str) -> Value {
    json!({ "command": "evidence_capture.capture", "loop_id": loop_id, "items": [
        { "executor_output": { "stream": "STDOUT", "raw_data": "", "true_length": 0,
            "whole_sha256": HASH } }] })
}

/// `apply` with these lines on standard input.
pub(crate) fn apply(place: &Place, lines: &[Value]) -> Output {
    let file = place.directory.path().join("lines");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, text).unwrap();
    // At a terminal, where the user of the tests is a person.
    by_person(&place.command(&["apply", file.to_str().unwrap()]))
}

pub(crate) fn answers(output: &Output) -> Vec<Value> {
    let lines = text(&output.stdout);
    let found: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!found.is_empty(), "{}", text(&output.stderr));
    found
}

/// A running `apply`.
pub(crate) struct Session {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Session {
    pub(crate) fn begin(place: &Place) -> Self {
        let mut command = place.command(&["apply", "--lock-wait", "60s"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, to, from: BufReader::new(from) }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.to.write_all(bytes).unwrap();
    }

    /// Ends a line, and waits for its answer.
    pub(crate) fn ask(&mut self, line: &[u8]) -> Value {
        self.write(&[line, b"\n"].concat());
        let mut answer = String::new();
        self.from.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    /// Most memory that the process ever held, in bytes.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kib * 1024)
    }

    /// Ends the input, and waits for the exit code.
    pub(crate) fn end(self) -> i32 {
        let Self { mut child, to, from } = self;
        drop(to);
        let status = child.wait().unwrap().code().unwrap();
        drop(from);
        status
    }
}
