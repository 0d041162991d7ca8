//! What the conformance documents say of decisions, tried through the program.

use crate::apply_support::{answers, apply, story};
use crate::program::{Place, json, status, text, with_hold};
use serde_json::{Value, json};

fn decision(place: &Place, words: &[&str]) -> Value {
    let words = [&["decision"], words, &["--json"]].concat();
    let output = place.holdpoint(&words);
    assert_eq!(status(&output), 0, "{words:?}: {}", text(&output.stderr));
    json(&output)
}

#[test]
fn an_issue_may_have_several_questions_and_each_has_an_id_of_its_own() {
    let place = Place::with_log();
    let ask = ["create", "bd-abc123", "--prompt", "Which?", "--option", "a:Use A"];
    let ids = [decision(&place, &ask), decision(&place, &ask)].map(|it| it["id"].clone());
    assert_ne!(ids[0], ids[1]);
    let listed = decision(&place, &["list", "issue=bd-abc123"]);
    assert_eq!(listed.as_array().unwrap().len(), 2);
    for id in ids {
        let (start, digits) = id.as_str().unwrap().split_at(3);
        assert_eq!((start, digits.len()), ("DP-", 32), "{id}");
        assert!(digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{id}");
        let shown = decision(&place, &["show", id.as_str().unwrap()]);
        assert_eq!((&shown["id"], &shown["issue_id"]), (&id, &json!("bd-abc123")));
    }
}

#[test]
fn options_are_an_array_of_objects_and_no_text() {
    let place = Place::with_log();
    let asked = decision(&place, &["create", "--prompt", "Which?", "--option", "a:Use A"]);
    let shown = decision(&place, &["show", asked["id"].as_str().unwrap()]);
    assert_eq!(shown["options"][0]["id"], "a", "{shown:#}");
    assert_eq!(shown["options"][0]["label"], "Use A", "{shown:#}");
}

#[test]
fn what_waits_is_named_and_freed_in_the_batch_of_the_answer() {
    let place = Place::with_log();
    let asked = decision(
        &place,
        &["create", "--prompt", "Which?", "--option", "a:Use A", "--blocks", "work-1"],
    );
    let id = asked["id"].as_str().unwrap();
    assert_eq!(decision(&place, &["show", id])["blocks"], json!(["work-1"]));
    let answered = place.holdpoint(&["decision", "respond", id, "--option", "a", "--json"]);
    assert_eq!(status(&answered), 0, "{}", text(&answered.stderr));
    let kinds: Vec<Value> = place.records().iter().map(|it| it["kind"].clone()).collect();
    let at = |name: &str| kinds.iter().position(|kind| kind == name);
    let resolved = at("decision_point.resolved").unwrap();
    assert_eq!(at("decision_point.released"), Some(resolved + 1), "{kinds:?}");
}

/// The document's first example.
#[test]
fn yes_or_no_with_a_default_of_no_and_one_round_takes_no_guidance() {
    let place = Place::with_log();
    let ask = [
        "create",
        "bd-abc123",
        "--prompt",
        "Deploy to production?",
        "--option",
        "yes:Deploy now",
        "--option",
        "no:Wait for review",
        "--default",
        "no",
        "--max-iterations",
        "1",
    ];
    let asked = decision(&place, &ask);
    let id = asked["id"].as_str().unwrap();
    let refused = place.holdpoint(&["decision", "respond", id, "--guidance", "later", "--json"]);
    assert_ne!(status(&refused), 0);
    let shown = decision(&place, &["show", id]);
    assert_eq!((&shown["state"], &shown["default_option"]), (&json!("pending"), &json!("no")));
    let answered = place.holdpoint(&["decision", "respond", id, "--option", "no", "--json"]);
    assert_eq!(status(&answered), 0, "{}", text(&answered.stderr));
    assert_eq!(decision(&place, &["show", id])["selected_option"], "no");
}

/// What ended stays on record, and is shown.
#[test]
fn nothing_that_was_asked_is_deleted() {
    let place = Place::with_log();
    let ask = ["create", "bd-abc123", "--prompt", "Which?", "--option", "a:Use A"];
    let asked = decision(&place, &ask);
    let id = asked["id"].as_str().unwrap();
    decision(&place, &["cancel", id]);
    assert_eq!(decision(&place, &["show", id])["state"], "cancelled");
    let all = decision(&place, &["list", "state=all"]);
    assert_eq!(all[0]["id"], asked["id"]);
    let help = place.holdpoint(&["decision", "--help"]);
    for verb in ["delete", "remove", "update"] {
        assert!(!text(&help.stdout).contains(&format!("  {verb} ")), "{verb}");
    }
}

/// A loop about which a person is asked, and the question.
fn asked(place: &Place) -> (String, String) {
    let digits = "5".repeat(32);
    let (loop_id, mut lines) = (format!("LOOP-{digits}"), story(&digits));
    lines.pop();
    lines[0]["submit"]["hold"] = json!({ "policy": "AFTER" });
    lines.push(json!({ "submit": { "command": "human_decision.request", "loop_id": loop_id } }));
    let found = answers(&apply(place, &lines));
    let last = found.last().unwrap();
    (loop_id, last["receipt"]["request_id"].as_str().unwrap().to_string())
}

#[test]
fn a_decision_of_nobody_is_refused_and_so_is_one_in_the_name_of_the_timeout() {
    let place = Place::new();
    let (_, request) = asked(&place);
    for name in ["", " ", "\u{200b}", "\u{2800}", "SYSTEM_TIMEOUT", "system_timeout"] {
        let line = json!({ "actor": { "kind": "HUMAN", "id": name }, "submit": {
            "command": "human_decision.answer", "request_id": request, "actor": "HUMAN",
            "human_id": name, "decision": "ABORT", "means": { "channel": "API", "detail": "" } } });
        let found = answers(&apply(&place, &[line]));
        assert!(found[0]["receipt"].is_null(), "{name:?}: {found:#?}");
    }
    let answered = |record: &Value| record["kind"] == "human_decision.answered";
    assert!(!place.records().iter().any(answered));
    place.verified();
}

#[test]
fn nobody_records_anything_under_no_name_or_that_of_timeouts() {
    let place = Place::new();
    let timeouts = ["SYSTEM_TIMEOUT", "system_timeout", " System_Timeout ", "system:timeout"];
    for name in timeouts.into_iter().chain(["\u{2800}", "System:x"]) {
        let line = json!({ "actor": { "kind": "AGENT", "id": name }, "submit": {
            "command": "application.record", "stream": "s", "type": "t", "data": "x" } });
        let found = answers(&apply(&place, &[line]));
        assert!(found[0]["receipt"].is_null(), "{name:?}: {found:#?}");
        let words = ["record", "--stream", "s", "--type", "t", "--as", name];
        assert_eq!(status(&place.holdpoint(&words)), 5, "{name:?}");
    }
    place.verified();
}

/// The fields that the document has as texts are members of closed sets, shown by their names.
#[test]
fn a_question_shows_names_of_closed_sets_a_checked_time_and_counts_and_no_raw_data() {
    let place = Place::new();
    let (_, request) = asked(&place);
    let shown = with_hold(json(&place.holdpoint(&["decision", "show", &request, "--json"])));
    let summary = &shown["evidence_summary"];
    let points = ["PRE_DISPATCH", "POST_DISPATCH", "PRE_EVALUATE", "POST_EVALUATE", "HALT_ENTRY"];
    assert!(points.iter().any(|name| summary["observation_point"] == *name), "{summary:#}");
    let types = ["STATE_TRANSITION", "EXECUTOR_OUTPUT", "TIMESTAMP_EVENT", "RESOURCE_SNAPSHOT"];
    assert!(types.iter().any(|name| summary["evidence_type"] == *name), "{summary:#}");
    assert_eq!(summary["execution_state"], "EVALUATED");
    assert!(summary["chain_length"].as_u64().unwrap() > 0);
    assert!(summary["confidence_basis_points"].as_u64().unwrap() < 10_000);
    let captured = place.records().into_iter().map(|record| record["event"]["timestamp"].clone());
    assert!(captured.collect::<Vec<_>>().contains(&summary["timestamp"]), "{summary:#}");
    for name in ["raw_data", "raw", "output", "stdout"] {
        assert!(summary.get(name).is_none() && shown.get(name).is_none(), "{name}: {shown:#}");
    }
    assert_eq!(shown["timeout_decision"], "ABORT");
}
