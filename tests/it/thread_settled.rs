//! A thread that ended long ago is shown and listed like one that just ended.

use crate::program::{Place, json, status, text};
use crate::thread_support::{accepted, interrupted, line, scope};
use holdpoint_domain::interruption_thread::MAX_CLOSED_THREADS;
use serde_json::{Value, json};

/// A place in which this thread ended, and after it more than a writer remembers; and the record
/// that ended it.
fn place_with_ended(name: &str) -> (Place, u64) {
    let place = Place::new();
    interrupted(&place, "acme", name, "It is sunny today.");
    let close = |name: &str| line("close", json!({ "tenant_id": "acme", "correlation_id": name }));
    let ended = accepted(&place, &[close(name)]);
    let at = ended[0]["receipt"]["last_sequence"].as_u64().unwrap();
    let mut lines = Vec::new();
    for number in 0..=MAX_CLOSED_THREADS {
        let name = format!("later-{number}");
        lines.extend(short_thread(&name));
        lines.push(close(&name));
    }
    accepted(&place, &lines);
    (place, at)
}

/// A work order and one row under it.
fn short_thread(name: &str) -> [Value; 2] {
    let order = json!({ "tenant_id": "acme", "work_order_id": name, "correlation_id": name,
        "status": "EXECUTING" });
    let mut row = scope("acme", name, 1);
    row["work_order_id"] = name.into();
    row["wait_kind"] = "TOOL".into();
    row["reason_code"] = "X_NLP_CHAT".into();
    [line("register_work_order", order), line("wait_commit_row", row)]
}

#[test]
fn a_thread_that_ended_long_ago_is_shown_and_listed_as_when_it_just_had() {
    let (place, at) = place_with_ended("talk");
    let show = |arguments: &[&str]| {
        let output = place.holdpoint(&[&["thread", "show", "--json"], arguments].concat());
        assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        let mut state = json(&output);
        state.as_object_mut().unwrap().remove("state_after_record");
        state
    };
    let then = show(&["talk", "--at", &at.to_string()]);
    assert_eq!((&then["is_closed"], &then["version"]), (&json!(true), &json!(at)));
    assert_eq!(show(&["talk"]), then);
    assert_eq!(show(&["acme/talk"]), then);

    let listed = json(&place.holdpoint(&["thread", "list", "--json"]));
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), MAX_CLOSED_THREADS + 2);
    assert_eq!(listed.first(), Some(&then));
    let table = text(&place.holdpoint(&["thread", "list"]).stdout);
    assert_eq!(table.lines().count(), MAX_CLOSED_THREADS + 3);
    assert!(!table.contains("not here"), "the log is whole");
}
