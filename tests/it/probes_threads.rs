//! What the conformance document says of interruption threads, tried through `apply`.

use crate::apply_support::{answers, apply};
use crate::program::{Place, json};
use crate::thread_support::{accepted, chat, interruption, line, setting, turn};
use serde_json::{Value, json};

const TENANT: &str = "acme";

/// The answer to one line.
fn answer(place: &Place, line: &Value) -> Value {
    answers(&apply(place, std::slice::from_ref(line))).remove(0)
}

fn shown(place: &Place, thread: &str) -> Value {
    json(&place.holdpoint(&["thread", "show", thread, "--json"]))
}

/// The first member of this name, however deep.
fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(members) => {
            members.get(name).or_else(|| members.values().find_map(|it| member(it, name)))
        }
        Value::Array(items) => items.iter().find_map(|it| member(it, name)),
        _ => None,
    }
}

#[test]
fn a_correlation_is_a_text_of_1_to_256_bytes_and_0_is_one() {
    let longest = "c".repeat(256);
    for name in ["0", &longest] {
        let place = Place::new();
        let mut lines = setting(TENANT, name);
        lines.push(turn(TENANT, name, 1, chat("It is sunny.")));
        accepted(&place, &lines);
        assert_eq!(shown(&place, name)["correlation_id"], name);
    }
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk")[..4]);
    for name in ["", &"c".repeat(257)] {
        let refused = answer(&place, &turn(TENANT, name, 1, chat("It is sunny.")));
        assert!(refused["receipt"].is_null(), "{} bytes: {refused}", name.len());
    }
}

#[test]
fn a_thread_counts_from_1_to_10_attempts_and_no_further() {
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    let clarify = json!({ "subject_ref": "weather", "input": { "NLP_CLARIFY": {
        "question": "When?", "accepted_answer_formats": ["A day", "A time"],
        "missing_fields": ["WHEN"] } } });
    for number in 1..=12_u64 {
        let mut asked = turn(TENANT, "talk", number, clarify.clone());
        if number > 1 {
            asked["submit"]["pending_state"] = "CLARIFY".into();
        }
        accepted(&place, &[asked]);
        let shown = shown(&place, "talk");
        let attempts = member(&shown["pending"], "attempts").unwrap();
        assert_eq!(attempts.as_u64().unwrap(), number.min(10), "{shown:#}");
    }
}

#[test]
fn who_lacks_the_capability_takes_no_turn_and_writes_no_row() {
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    for (kind, id) in [("AGENT", "selene-os"), ("AUTOMATION", "other"), ("HUMAN", "ada")] {
        let mut told = turn(TENANT, "talk", 1, chat("It is sunny."));
        told["actor"] = json!({ "kind": kind, "id": id });
        let mut row = line("wait_commit_row", told["submit"].clone());
        row["actor"] = told["actor"].clone();
        row["submit"]["wait_kind"] = "TOOL".into();
        row["submit"]["reason_code"] = "X_INTERRUPT_CANCEL".into();
        row["submit"].as_object_mut().unwrap().remove("request");
        for line in [told, row] {
            let refused = answer(&place, &line);
            assert!(refused["refusal"]["code"].is_string(), "{kind} {id}: {refused}");
        }
    }
    let taken = answer(&place, &turn(TENANT, "talk", 1, chat("It is sunny.")));
    assert!(taken["receipt"]["audit_event_id"].is_u64(), "{taken}");
}

#[test]
fn no_turn_says_what_time_it_is() {
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    for name in ["now", "at", "time", "timestamp"] {
        let mut told = turn(TENANT, "talk", 1, chat("It is sunny."));
        told["submit"][name] = "2026-01-25T16:00:00Z".into();
        let refused = answer(&place, &told);
        assert!(refused["error"]["message"].is_string(), "{name}: {refused}");
    }
}

#[test]
fn a_degraded_candidate_is_never_of_low_risk() {
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    accepted(&place, &[turn(TENANT, "talk", 1, chat("It is sunny."))]);
    for (degraded, risk, is_taken) in
        [(false, "LOW", true), (true, "LOW", false), (true, "GUARDED", true)]
    {
        let mut request = interruption("It is sunny.", 3);
        request["interruption"]["degradation_context"]["aec_unstable"] = degraded.into();
        request["interruption"]["risk_context_class"] = risk.into();
        let number = if degraded { 3 } else { 2 };
        let told = answer(&place, &turn(TENANT, "talk", number, request));
        assert_eq!(told["receipt"].is_object(), is_taken, "{degraded} {risk}: {told}");
    }
}

/// Remainder and answer would be longer than anything that is said.
#[test]
fn what_would_be_too_long_to_be_said_as_one_is_asked_about() {
    let place = Place::new();
    let long = format!("It is sunny. {}", "x".repeat(40_000));
    accepted(&place, &setting(TENANT, "talk"));
    accepted(&place, &[turn(TENANT, "talk", 1, interruption(&long, 12))]);
    let mut request = chat(&"y".repeat(30_000));
    request["interrupt_subject_relation"] = "SAME".into();
    request["interrupt_subject_relation_confidence_bp"] = 9_000.into();
    let told = answer(&place, &turn(TENANT, "talk", 2, request));
    let told = &told["receipt"]["turn"];
    assert_eq!(told["reason_code"], "X_INTERRUPT_RETURN_CHECK_ASKED");
    assert_eq!(told["interrupt_resume_policy"], "RESUME_LATER");
}

#[test]
fn a_subject_is_one_line_and_what_is_said_has_at_most_65536_bytes() {
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    let mut two_lines = chat("It is sunny.");
    two_lines["subject_ref"] = "weather\ndinner".into();
    for request in [two_lines, interruption(&"x".repeat(65_537), 1)] {
        let refused = answer(&place, &turn(TENANT, "talk", 1, request));
        assert!(refused["receipt"].is_null(), "{refused}");
    }
    accepted(&place, &[turn(TENANT, "talk", 1, interruption(&"x".repeat(65_536), 1))]);
}

#[test]
fn prune_chooses_one_of_several_missing_fields_and_adds_none() {
    for (selected, asked) in [("WHERE", "WHERE"), ("WHO", "WHEN")] {
        let place = Place::new();
        accepted(&place, &setting(TENANT, "talk"));
        let request = json!({ "subject_ref": "weather", "input": { "NLP_CLARIFY": {
            "question": "When and where?", "accepted_answer_formats": ["A day", "A place"],
            "missing_fields": ["WHEN", "WHERE"] } },
            "advice": { "prune_selected_missing_field": selected } });
        let told = answer(&place, &turn(TENANT, "talk", 1, request));
        let told = &told["receipt"]["turn"];
        assert_eq!(told["directive"], "CLARIFY", "{told}");
        assert_eq!(told["clarify"]["what_is_missing"], asked, "{told}");
    }
}

/// The names of a thread's fields, in the document and in every view of it.
#[test]
fn a_thread_has_exactly_the_keys_that_are_documented_whatever_its_state() {
    let document = include_str!("../../docs/interruption-threads.md");
    let (_, rest) = document.split_once("A thread is one flat object").unwrap();
    let (keys, _) = rest.split_once("What expires is shown").unwrap();
    let codes = keys.split('`').skip(1).step_by(2);
    let documented: Vec<&str> =
        codes.filter(|code| !["thread show", "thread list", "show"].contains(code)).collect();
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    for (number, request) in
        [(1, chat("It is sunny. Take a coat.")), (2, interruption("It is sunny. Take a coat.", 12))]
    {
        accepted(&place, &[turn(TENANT, "talk", number, request)]);
        let shown = shown(&place, "talk");
        let found: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
        let missing: Vec<_> = documented.iter().filter(|key| !found.contains(key)).collect();
        assert!(missing.is_empty(), "{missing:?}: {shown:#}");
        let others: Vec<_> = found.iter().filter(|key| !documented.contains(key)).collect();
        assert!(others.is_empty(), "{others:?} are not documented");
    }
}
