//! Decisions through the real program, as a person or a script meets them.

use crate::program::{Place, error_of, json, status, text};
use serde_json::Value;
use std::process::Output;

/// `decision WORDS --json`.
pub(crate) fn decision(place: &Place, words: &[&str]) -> Output {
    place.holdpoint(&[&["decision"], words, &["--json"]].concat())
}

/// `decision WORDS --json`, which has to be done, and what it printed.
pub(crate) fn done(place: &Place, words: &[&str]) -> Value {
    let output = decision(place, words);
    assert_eq!(status(&output), 0, "{words:?}: {}", text(&output.stderr));
    json(&output)
}

/// `decision create WORDS --json`, which has to be done, and the id.
pub(crate) fn created(place: &Place, words: &[&str]) -> String {
    id_of(&done(place, &[&["create"], words].concat()))
}

/// A question of the program `bot` with the options `a` and `b`, and its id. Of the answers to one
/// about an action `b` says no.
pub(crate) fn asked(place: &Place, words: &[&str]) -> String {
    let is_of_action = words.contains(&"--bind") && !words.contains(&"--reject");
    let no: &[&str] = if is_of_action { &["--reject", "b"] } else { &[] };
    let asked = ["--prompt", "Which?", "--option", "a:The one", "--option", "b:The other"];
    created(place, &[&asked[..], &["--requested-by", "bot"], no, words].concat())
}

/// `decision show ID`.
pub(crate) fn shown(place: &Place, id: &str) -> Value {
    done(place, &["show", id])
}

/// What is shown of a decision, without how it is known: what tells of it in a turn does not say.
pub(crate) fn without_standing(shown: &Value) -> Value {
    let mut decision = shown.as_object().unwrap().clone();
    for key in ["standing", "stated_by", "no_witness_from", "durable"] {
        assert!(decision.remove(key).is_some(), "{key}: {shown}");
    }
    decision.into()
}

/// `decision WORDS --json`, which has to fail: its exit code, and the error.
pub(crate) fn refused(place: &Place, words: &[&str]) -> (i32, Value) {
    let output = decision(place, words);
    let error = error_of(&output);
    for key in ["code", "message", "decision_id", "current"] {
        assert!(error.get(key).is_some(), "{key}: {error}");
    }
    (status(&output), error)
}

/// The id of a decision.
pub(crate) fn id_of(decision: &Value) -> String {
    decision["id"].as_str().unwrap().to_string()
}

/// The newest record of the log.
pub(crate) fn newest_record(place: &Place) -> u64 {
    place.verified()["head"]["sequence"].as_u64().unwrap()
}
