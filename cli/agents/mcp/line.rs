//! What a line of a client is: a message, or none. It is read strictly: what other readers let
//! pass, or read in two ways, is refused, and answered where it can be told to whom.

use holdpoint_engine::shell::{CanonicalInputError, expect_strict_json};
use rmcp::model::{ClientRequest, ErrorCode, JsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde_json::{Value, json};

/// A message of a client.
pub(super) type Message = RxJsonRpcMessage<RoleServer>;

/// What the first bytes of a text file may be; RFC 8259 lets readers pass over them.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// The request that begins a conversation of the older versions.
const INITIALIZE: &str = "initialize";

/// What a line is.
#[derive(Debug)]
pub(super) enum LineKind {
    /// A message.
    Message(Box<Message>),
    /// Nothing that anybody waits for an answer to.
    Nothing,
    /// No message; what is wrong with it.
    Wrong(Wrong),
}

/// Why a line is no message.
#[derive(Debug)]
pub(super) struct Wrong {
    code: ErrorCode,
    said: String,
    /// The id of the request that it was meant to be.
    id: Option<Value>,
    /// True if it is answered also where there is no id.
    is_answered: bool,
}

/// Judges a line, given without its end.
pub(super) fn judge(line: &[u8]) -> LineKind {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return LineKind::Nothing;
    }
    if let Err(error) = check(line) {
        use CanonicalInputError::{NotJson, TooDeep};
        let is_json = !matches!(error, NotJson { .. } | TooDeep);
        let code = if is_json { ErrorCode::INVALID_REQUEST } else { ErrorCode::PARSE_ERROR };
        let said = format!("the line cannot be taken: {error}");
        return LineKind::Wrong(Wrong { code, said, id: id_in(line), is_answered: is_json });
    }
    match serde_json::from_slice::<Message>(line) {
        Ok(message) if is_bad_initialize(&message) => {
            let said = "initialize takes protocolVersion (a text), capabilities (an object) and \
                        clientInfo (an object with name and version)";
            wrong(line, ErrorCode::INVALID_PARAMS, said)
        }
        Ok(message) => LineKind::Message(Box::new(message)),
        Err(_) => no_message(line),
    }
}

/// What is wrong with a line that is longer than is read, by its beginning.
pub(super) fn too_long(beginning: &[u8], most_bytes: usize) -> Wrong {
    let said = format!("the line has more than {most_bytes} bytes; send less");
    let code = ErrorCode::INVALID_REQUEST;
    Wrong { code, said, id: id_in(beginning), is_answered: false }
}

impl Wrong {
    /// What is wrong, for a person.
    pub(super) fn said(&self) -> &str {
        &self.said
    }

    /// The answer, where somebody waits for one.
    pub(super) fn answer(&self) -> Option<Value> {
        let error = json!({ "code": self.code.0, "message": self.said });
        match &self.id {
            Some(id) => Some(json!({ "jsonrpc": "2.0", "id": id, "error": error })),
            None if self.is_answered => Some(json!({ "jsonrpc": "2.0", "error": error })),
            None => None,
        }
    }
}

/// JSON, and no message. A notification that nobody knows is passed over, as the protocol has it.
fn no_message(line: &[u8]) -> LineKind {
    let value: Value = serde_json::from_slice(line).unwrap_or_default();
    if value.get("id").is_none() && value.get("method").is_some_and(Value::is_string) {
        return LineKind::Nothing;
    }
    let said = "this is no message of JSON-RPC 2.0: a request has jsonrpc, id, a text or a whole \
                number, method, and params, an object";
    wrong(line, ErrorCode::INVALID_REQUEST, said)
}

fn wrong(line: &[u8], code: ErrorCode, said: &str) -> LineKind {
    LineKind::Wrong(Wrong { code, said: said.to_string(), id: id_in(line), is_answered: true })
}

/// Tells whether it is an `initialize` whose parameters the SDK could not read.
fn is_bad_initialize(message: &Message) -> bool {
    match message {
        JsonRpcMessage::Request(request) => match &request.request {
            ClientRequest::CustomRequest(custom) => custom.method == INITIALIZE,
            _ => false,
        },
        _ => false,
    }
}

/// Checks it as text, where a number is still as it was written.
fn check(line: &[u8]) -> Result<(), CanonicalInputError> {
    let text = std::str::from_utf8(line);
    let text = text.map_err(|error| CanonicalInputError::NotJson { message: error.to_string() })?;
    expect_strict_json(text)
}

/// The id in a line that may be cut, or no JSON at all: the value of the one member `id` of the
/// outermost object, where that is a text or a number. None where it stands there twice.
fn id_in(line: &[u8]) -> Option<Value> {
    let mut found = Vec::new();
    let (mut depth, mut rest) = (0_usize, line);
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        match first {
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                // A text that does not end is what is behind the cut.
                let Some((name, behind)) = text_in(behind) else { break };
                rest = behind;
                let value = behind.trim_ascii_start().strip_prefix(b":");
                if let (1, b"id", Some(value)) = (depth, name, value) {
                    found.push(id_at(value.trim_ascii_start()));
                }
            }
            _ => {}
        }
    }
    match found.as_mut_slice() {
        [only] => only.take(),
        _ => None,
    }
}

/// A text behind its first quotation mark, as it is written, and what is behind its last one.
fn text_in(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut is_escaped = false;
    let end = rest.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    })?;
    let (text, behind) = rest.split_at_checked(end)?;
    Some((text, behind.get(1..)?))
}

/// The text or number that begins here.
fn id_at(rest: &[u8]) -> Option<Value> {
    let end = match rest.strip_prefix(b"\"") {
        Some(behind) => text_in(behind)?.0.len().saturating_add(2),
        None => rest.iter().position(|byte| !is_of_number(*byte))?,
    };
    serde_json::from_slice(rest.get(..end)?).ok()
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer to a line that is wrong: its code and id.
    fn answered(line: &str) -> Option<(i64, Value)> {
        match judge(line.as_bytes()) {
            LineKind::Wrong(wrong) => wrong
                .answer()
                .map(|answer| (answer["error"]["code"].as_i64().unwrap(), answer["id"].clone())),
            judged => panic!("{line}: {judged:?}"),
        }
    }

    #[test]
    fn what_cannot_be_taken_is_answered_to_the_id_that_it_has() {
        let deep = format!(r#"{{"id":6,"params":{}0{}}}"#, "[".repeat(200), "]".repeat(200));
        let table = [
            (r#"{"id":1,"params":{"a":1,"\u0061":2}}"#, -32600, json!(1)),
            (r#"{"params":{"id":9,"a":[{"b":1,"b":1}]}, "id" : "x" }"#, -32600, json!("x")),
            (r#"{"id":1,"id":2}"#, -32600, Value::Null),
            (r#"{"id":3,"params":"\ud800"}"#, -32700, json!(3)),
            (r#"{"id":4,"params":1e400}"#, -32700, json!(4)),
            (r#"{"id":2,"params":{"c":1e-400}}"#, -32600, json!(2)),
            (r#"{"id":2,"params":[18446744073709551617]}"#, -32600, json!(2)),
            (r#"{"params":"\"id\":7","id":5,"#, -32700, json!(5)),
            (deep.as_str(), -32700, json!(6)),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, json!(1.5)),
            (r#"{"jsonrpc":"2.0","id":7}"#, -32600, json!(7)),
            ("[]", -32600, Value::Null),
            (r#"{"jsonrpc":"2.0","id":8,"method":"initialize","params":{}}"#, -32602, json!(8)),
        ];
        for (line, code, id) in table {
            assert_eq!(answered(line), Some((code, id)), "{line}");
        }
    }

    #[test]
    fn what_has_no_id_and_is_no_json_is_not_answered() {
        for line in
            ["no JSON", "{\"jsonrpc\":\"2.0\"", "\u{0}", "{\"id\":", "{\"id\":\"x", "\"id\""]
        {
            match judge(line.as_bytes()) {
                LineKind::Wrong(wrong) if line != "\"id\"" => {
                    assert_eq!(wrong.answer(), None, "{line}");
                }
                LineKind::Wrong(wrong) => assert!(wrong.answer().is_some()),
                judged => panic!("{line}: {judged:?}"),
            }
        }
        for line in ["", " \r", "{\"jsonrpc\":\"2.0\",\"method\":\"hello\",\"params\":[]}"] {
            assert!(
                !matches!(judge(line.as_bytes()), LineKind::Wrong(_)),
                "{line}: a notification is never answered"
            );
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_answered_where_its_beginning_has_the_id() {
        let id = |beginning: &str| {
            too_long(beginning.as_bytes(), 9).answer().map(|told| told["id"].clone())
        };
        assert_eq!(id(r#"{"jsonrpc":"2.0","id":7,"params":{"a":"xxx"#), Some(json!(7)));
        assert_eq!(id(r#"{"params":{"id":7,"a":"xxx"#), None);
        assert_eq!(id(r#"{"id":12"#), None);
    }

    #[test]
    fn a_message_is_taken_with_what_stands_around_it() {
        let line = b"\xef\xbb\xbf {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\r";
        assert!(matches!(judge(line), LineKind::Message(_)));
    }
}
