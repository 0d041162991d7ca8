//! What the host says became of an approved call is recorded once, as its claim, and holds nothing.

use crate::hook::{ask, call, pre, respond, run};
use crate::program::{Place, json, status, text};
use serde_json::{Value, json};
use std::fs;
use std::process::Output;

/// A call that was approved and let through; the id of its decision.
fn let_through(place: &Place, command: &str) -> String {
    let id = ask(place, &[], &call("s", command));
    respond(place, &id, "approve");
    assert_eq!(pre(place, &[], &call("s", command)).0, "allow");
    id
}

/// What the host says once a call has run.
fn ran(command: &str, response: Value) -> Value {
    let mut input = call("s", command);
    input["hook_event_name"] = "PostToolUse".into();
    input["tool_use_id"] = "toolu_01".into();
    input["tool_response"] = response;
    input
}

fn post(place: &Place, input: &Value) -> Output {
    run(place, &["post-tool-use"], input)
}

/// It is taken, and nothing is said for or against anything.
fn taken(place: &Place, input: &Value) {
    let output = post(place, input);
    assert_eq!((status(&output), text(&output.stderr)), (0, String::new()));
    assert_eq!(json(&output), json!({}));
}

fn show(place: &Place, id: &str) -> Value {
    json(&place.holdpoint(&["decision", "show", id, "--json"]))
}

fn shown(place: &Place, id: &str) -> String {
    text(&place.holdpoint(&["decision", "show", id]).stdout)
}

/// The records of this kind.
fn reported(place: &Place) -> Vec<Value> {
    let kind = "decision_point.outcome_reported";
    let output = place.holdpoint(&["log", "show", "--kind", kind, "--json"]);
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_became_of_an_approved_call_is_on_record_as_the_hosts_claim() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    assert_eq!(show(&place, &id)["claimed_outcome"], Value::Null);
    assert!(shown(&place, &id).contains("outcome unknown"), "{}", shown(&place, &id));
    let response = json!({ "stdout": "deployed\nAPI_TOKEN=hunter2\n", "interrupted": false });
    taken(&place, &ran("make deploy", response.clone()));
    let outcome = &show(&place, &id)["claimed_outcome"];
    assert_eq!(
        (&outcome["status"], &outcome["tool_use_id"]),
        (&json!("SUCCEEDED"), &json!("toolu_01"))
    );
    assert_eq!(outcome["response_bytes"], response.to_string().len());
    let person = shown(&place, &id);
    assert!(person.contains("SUCCEEDED, claimed by the host and not proven"), "{person}");
    assert!(!person.contains("deployed"), "what a tool printed is no part of a decision: {person}");
    let [record] = reported(&place).try_into().unwrap();
    let claim = record["event"]["claim"].clone();
    let head = claim["head"].as_str().unwrap();
    assert!(head.contains("deployed") && head.contains("API_TOKEN=[redacted]"), "{head}");
    assert!(!record.to_string().contains("hunter2"), "{record}");
    place.verified();
}

/// The same once more is nothing new; something else of the same call changes nothing either.
#[test]
fn an_outcome_is_reported_once_for_each_call() {
    let place = Place::new();
    let first = let_through(&place, "make deploy");
    taken(&place, &ran("make deploy", json!("first")));
    taken(&place, &ran("make deploy", json!("first")));
    taken(&place, &ran("make deploy", json!("another")));
    assert_eq!(reported(&place).len(), 1);
    let second = let_through(&place, "make deploy");
    let mut again = ran("make deploy", json!("second"));
    again["tool_use_id"] = "toolu_02".into();
    taken(&place, &again);
    assert_eq!(show(&place, &first)["claimed_outcome"]["tool_use_id"], "toolu_01");
    assert_eq!(show(&place, &second)["claimed_outcome"]["tool_use_id"], "toolu_02");
    place.verified();
}

/// The lock is held for longer than any other verb waits for it.
#[test]
fn an_outcome_is_not_lost_to_a_lock_that_is_held_for_eleven_seconds() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    let lock = fs::File::open(place.log.join("LOCK")).unwrap();
    lock.lock().unwrap();
    std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let place = &place;
        let hook = scope.spawn(move || {
            taken(place, &ran("make deploy", json!("deployed")));
            tell.send(()).unwrap();
        });
        let early = told.recv_timeout(std::time::Duration::from_secs(11));
        assert!(early.is_err(), "it was recorded while the lock was held");
        drop(lock);
        hook.join().unwrap();
    });
    assert_eq!(show(&place, &id)["claimed_outcome"]["status"], "SUCCEEDED");
    place.verified();
}

#[test]
fn a_failure_and_an_interruption_are_told_apart() {
    let failed = |more: Value| {
        let mut input = call("s", "make deploy");
        input["hook_event_name"] = "PostToolUseFailure".into();
        input["error"] = "Command failed with exit code 2".into();
        input["is_interrupt"] = more;
        input
    };
    for (input, status) in [
        (failed(false.into()), "FAILED"),
        (failed(true.into()), "INTERRUPTED"),
        (ran("make deploy", json!({ "interrupted": true })), "INTERRUPTED"),
        (ran("make deploy", json!({ "isError": true })), "FAILED"),
        (ran("make deploy", Value::Null), "SUCCEEDED"),
    ] {
        let place = Place::new();
        let id = let_through(&place, "make deploy");
        taken(&place, &input);
        assert_eq!(show(&place, &id)["claimed_outcome"]["status"], status, "{input}");
        place.verified();
    }
}

/// Both ends of a long answer are kept, and its whole digest.
#[test]
fn of_a_long_answer_both_ends_are_kept() {
    let place = Place::new();
    let id = let_through(&place, "cat book");
    let book = format!("begin\n{}the end", "of a \u{e9}\n".repeat(30_000));
    taken(&place, &ran("cat book", json!({ "stdout": book })));
    let [record] = reported(&place).try_into().unwrap();
    let claim = &record["event"]["claim"];
    let (head, tail) = (claim["head"].as_str().unwrap(), claim["tail"].as_str().unwrap());
    assert!(head.len() <= 4096 && tail.len() <= 4096 && head.len() > 4000 && tail.len() > 4000);
    assert!(head.starts_with("{\"stdout\":\"begin") && tail.ends_with("the end\"}"), "{claim}");
    assert!(show(&place, &id)["claimed_outcome"]["response_bytes"].as_u64().unwrap() > 200_000);
}

/// A call that nobody approved, that another session or another input was approved for, or that was
/// not let through yet, has no outcome here.
#[test]
fn what_nobody_approved_is_not_recorded() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    let mut other = ran("make deploy", json!("x"));
    other["session_id"] = "t".into();
    for input in [ran("ls", json!("x")), other] {
        taken(&place, &input);
    }
    ask(&place, &[], &call("s", "rm -rf /"));
    taken(&place, &ran("rm -rf /", json!("gone")));
    assert!(reported(&place).is_empty());
    assert_eq!(show(&place, &id)["claimed_outcome"], Value::Null);
}

/// The tool has run: nothing is blocked any more, and the host is told.
#[test]
fn what_cannot_be_recorded_is_told_and_blocks_nothing() {
    let place = Place::new();
    let id = let_through(&place, "make deploy");
    let without = |field: &str| {
        let mut input = ran("make deploy", json!("x"));
        input.as_object_mut().unwrap().remove(field);
        input
    };
    let mut foreign = ran("make deploy", json!("x"));
    foreign["hook_event_name"] = "PreToolUse".into();
    let mut hidden = ran("make deploy", json!("x"));
    hidden["tool_use_id"] = "a\u{202e}b".into();
    let inputs =
        [json!([]), without("tool_use_id"), without("tool_name"), without("session_id"), foreign];
    for input in inputs.into_iter().chain([hidden]) {
        let output = post(&place, &input);
        let said = text(&output.stderr);
        assert_eq!((status(&output), json(&output)), (1, json!({})), "{input}: {said}");
        assert!(said.contains("the outcome of this call is not on record: "), "{input}: {said}");
        assert!(!said.contains('\u{202e}'), "{said}");
    }
    assert_eq!(show(&place, &id)["claimed_outcome"], Value::Null);
    fs::rename(&place.log, place.directory.path().join("elsewhere")).unwrap();
    fs::create_dir(&place.log).unwrap();
    let output = post(&place, &ran("make deploy", json!("x")));
    assert_eq!(status(&output), 1);
    let said = text(&output.stderr);
    assert!(said.contains("there is no log at") && !said.contains("asked"), "{said}");
}

/// The directory in which a tool ran may be gone by the time that it has.
#[test]
fn an_outcome_is_recorded_where_the_directory_is_gone() {
    let place = Place::new();
    let directory = place.directory.path().join("build");
    fs::create_dir(&directory).unwrap();
    let within = |mut input: Value| {
        input["cwd"] = directory.to_str().unwrap().into();
        input
    };
    let id = ask(&place, &[], &within(call("s", "rmdir")));
    respond(&place, &id, "approve");
    assert_eq!(pre(&place, &[], &within(call("s", "rmdir"))).0, "allow");
    fs::remove_dir(&directory).unwrap();
    taken(&place, &within(ran("rmdir", json!("gone"))));
    assert_eq!(show(&place, &id)["claimed_outcome"]["status"], "SUCCEEDED");
}
