//! Decisions through `apply`, and processes that wait for them.

use crate::apply_support::{Session, answers, apply};
use crate::machine::take_claims;
use crate::program::{Place, json_lines};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Child, Output, Stdio};
use tempfile::TempDir;

/// A directory in memory, where there is one: many records, each with its sync.
pub(crate) fn in_memory() -> Place {
    let place = Place::new();
    take_claims();
    let memory = Path::new("/dev/shm");
    match memory.is_dir().then(|| TempDir::new_in(memory)) {
        Some(Ok(directory)) => {
            let log = directory.path().join("log");
            Place { directory, log }
        }
        _ => place,
    }
}

/// Who asks or answers, by a name that nothing proves.
pub(crate) fn human(name: &str) -> Value {
    json!({ "kind": "HUMAN", "id": name, "authenticated_by": "none", "means": "a test" })
}

/// A line for `apply`: somebody does something.
pub(crate) fn line(name: &str, command: &str, fields: Value) -> Value {
    let mut submit = json!({ "command": command, "by": human(name) });
    if command == "decision_point.expire" {
        submit.as_object_mut().unwrap().remove("by");
    }
    submit.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({ "actor": { "kind": "HUMAN", "id": name }, "submit": submit })
}

/// The id of the decision that these random bits make.
pub(crate) fn id_of(number: u64) -> String {
    format!("DP-{}", entropy(number))
}

fn entropy(number: u64) -> String {
    format!("{number:032x}")
}

/// A question with the options `yes`, `no` (which rejects) and `later`, and what else is said.
pub(crate) fn question(number: u64, more: Value) -> Value {
    let mut fields = json!({ "entropy": entropy(number), "prompt": "Deploy?", "options": [
        { "id": "yes", "label": "Deploy now" },
        { "id": "no", "label": "Do not deploy", "reject": true },
        { "id": "later", "label": "Wait for review" }] });
    let fields_of = fields.as_object_mut().unwrap();
    if more.get("blocks").is_some() || more.get("binding").is_some() {
        // What waits needs a person, unless the question itself takes a name that nothing proves.
        let claims = json!({ "quorum": 1, "authentication": "none", "allow_requester": true });
        fields_of.insert("policy".to_string(), claims);
    }
    fields_of.extend(more.as_object().unwrap().clone());
    line("asker", "decision_point.create", fields)
}

pub(crate) fn answer(name: &str, id: &str, response: Value) -> Value {
    line(name, "decision_point.respond", json!({ "decision_id": id, "response": response }))
}

pub(crate) fn option(name: &str, id: &str, option: &str) -> Value {
    answer(name, id, json!({ "option": option }))
}

/// Something about a decision, with nothing more to say.
pub(crate) fn about(name: &str, command: &str, id: &str) -> Value {
    line(name, command, json!({ "decision_id": id }))
}

/// Carries lines out in one process, and expects each to be accepted.
pub(crate) fn accepted(place: &Place, lines: &[Value]) -> Vec<Value> {
    let found = answers(&apply(place, lines));
    assert!(found.iter().all(|answer| answer["receipt"].is_object()), "{found:#?}");
    found
}

/// Puts a question on record.
pub(crate) fn ask(place: &Place, number: u64, more: Value) -> String {
    accepted(place, &[question(number, more)]);
    id_of(number)
}

/// Carries a line out in a running `apply`.
pub(crate) fn tell(session: &mut Session, line: &Value) -> Value {
    session.ask(line.to_string().as_bytes())
}

/// Names of the events that an answer of `apply` lists; none where it is a refusal.
pub(crate) fn events(answer: &Value) -> Vec<&str> {
    let events = answer["receipt"]["events"].as_array();
    events.into_iter().flatten().map(|name| name.as_str().unwrap()).collect()
}

/// `decision VERB` with `--json`.
pub(crate) fn decision(place: &Place, arguments: &[&str]) -> Output {
    place.holdpoint(&[&["decision"], arguments, &["--json"]].concat())
}

/// `decision wait` in the background.
pub(crate) fn waiting(place: &Place, arguments: &[&str]) -> Child {
    let arguments = [&["decision", "wait", "--json"], arguments].concat();
    let mut command = place.command(&arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Every record of a kind.
pub(crate) fn records(place: &Place, kind: &str) -> Vec<Value> {
    let output = place.holdpoint(&["log", &format!("kind={kind}"), "--json"]);
    json_lines(&output)
}
