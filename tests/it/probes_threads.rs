//! What the conformance document says of interruption threads, tried through `apply`.

use crate::apply_support::{answers, apply};
use crate::program::{Place, json};
use crate::thread_support::{accepted, chat, interruption, interruption_at, line, setting, turn};
use serde_json::{Value, json};

const TENANT: &str = "acme";

/// The answer to one line.
fn answer(place: &Place, line: &Value) -> Value {
    answers(&apply(place, std::slice::from_ref(line))).remove(0)
}

fn shown(place: &Place, thread: &str) -> Value {
    json(&place.holdpoint(&["thread", "show", thread, "--json"]))
}

fn rows(place: &Place, thread: &str, tenant: &str) -> Vec<Value> {
    let name = format!("{tenant}/{thread}");
    let shown = json(&place.holdpoint(&["thread", "show", "--rows", &name, "--json"]));
    shown["rows"].as_array().or(shown.as_array()).unwrap().clone()
}

/// What a turn came to, on a thread that waits for this.
fn told(place: &Place, number: u64, pending: &str, request: Value) -> Value {
    let mut turn = turn(TENANT, "talk", number, request);
    turn["submit"]["pending_state"] = pending.into();
    accepted(place, &[turn]).remove(0)["receipt"]["turn"].take()
}

/// Something sensitive is in play.
fn sensitive(mut request: Value) -> Value {
    request["sensitive_memory_present"] = true.into();
    request
}

fn answering(answer: &str) -> Value {
    json!({ "subject_ref": "weather", "confirm_answer": answer })
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
fn a_thread_counts_from_1_to_10_attempts_and_waits_on() {
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
        assert_eq!(shown["pending_state"], "CLARIFY", "{shown:#}");
    }
}

#[test]
fn who_lacks_the_capability_takes_no_turn_and_is_refused_by_a_row() {
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
    let mut told = turn("nobody-s", "talk", 1, chat("It is sunny."));
    told["actor"]["id"] = "other".into();
    assert!(answer(&place, &told)["refusal"]["code"].is_string(), "a tenant that is not there");
    for (tenant, refused) in [(TENANT, 6), ("nobody-s", 1)] {
        let rows = rows(&place, "talk", tenant);
        assert_eq!(rows.len(), refused, "{rows:#?}");
        assert!(rows.iter().all(|row| row["refused"].is_object()), "{rows:#?}");
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
fn a_subject_is_one_line_an_answer_has_32768_bytes_and_a_snapshot_65536() {
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    let mut two_lines = chat("It is sunny.");
    two_lines["subject_ref"] = "weather\ndinner".into();
    let (answered, snapshot) = (chat(&"x".repeat(32_769)), interruption(&"x".repeat(65_537), 1));
    for request in [two_lines, answered, snapshot] {
        let refused = answer(&place, &turn(TENANT, "talk", 1, request));
        assert!(refused["receipt"].is_null(), "{refused}");
    }
    accepted(&place, &[turn(TENANT, "talk", 1, chat(&"x".repeat(32_768)))]);
    accepted(&place, &[turn(TENANT, "talk", 2, interruption(&"x".repeat(65_536), 1))]);
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

#[test]
fn words_that_wait_for_permission_are_given_up_by_name_when_other_words_need_it() {
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    told(&place, 1, "NONE", sensitive(chat("The first.")));
    let other = told(&place, 2, "MEMORY_PERMISSION", sensitive(chat("The second.")));
    assert_eq!(other["dropped_pending"], "MEMORY_PERMISSION", "{other:#}");
    assert_eq!(rows(&place, "talk", TENANT)[1]["dropped_pending"], "MEMORY_PERMISSION");
    let yes = told(&place, 3, "MEMORY_PERMISSION", answering("Yes"));
    assert_eq!(yes["response_text"], "The second.", "{yes:#}");
}

#[test]
fn what_a_thread_waits_for_ends_with_its_session_or_thread_by_a_row() {
    let session = |status: &str| {
        line(
            "register_session",
            json!({ "tenant_id": TENANT, "session_id": "s-1", "user_id": "ada",
                "device_id": "kitchen", "status": status }),
        )
    };
    let thread = json!({ "tenant_id": TENANT, "correlation_id": "talk" });
    for (end, words) in
        [(session("CLOSED"), "X_SESSION_CLOSED"), (line("close", thread), "X_THREAD_CLOSED")]
    {
        let place = Place::new();
        accepted(&place, &[setting(TENANT, "talk"), vec![session("ACTIVE")]].concat());
        let mut asked = turn(TENANT, "talk", 1, sensitive(chat("A secret.")));
        asked["submit"]["session_id"] = "s-1".into();
        accepted(&place, &[asked, end]);
        let rows = rows(&place, "talk", TENANT);
        assert_eq!((rows.len(), &rows[1]["reason_code"]), (2, &words.into()), "{rows:#?}");
        let ended = &rows[1]["ended"];
        assert_eq!(ended["pending_state"], "MEMORY_PERMISSION");
        assert_eq!(
            (&ended["interrupt_resume_policy"], &rows[1]["user_id"]),
            (&"DISCARD".into(), &"ada".into())
        );
        let story = place.holdpoint(&["thread", "show", "--story", "talk"]);
        let story = String::from_utf8(story.stdout).unwrap();
        assert!(
            story.lines().rev().take(6).any(|line| line.contains("MEMORY_PERMISSION")),
            "{story}"
        );
        assert_eq!(shown(&place, "talk")["pending_state"], "NONE");
    }
}

#[test]
fn a_yes_to_going_back_a_confirm_and_a_question_ask_for_no_permission() {
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    told(&place, 1, "NONE", interruption("It is sunny. Take a coat.", 12));
    let mut other = chat("A table is free.");
    other["interrupt_subject_relation"] = "SWITCH".into();
    other["interrupt_subject_relation_confidence_bp"] = 9_000.into();
    told(&place, 2, "NONE", other);
    let yes = told(&place, 3, "NONE", sensitive(answering("Yes")));
    assert_eq!(yes["reason_code"], "X_INTERRUPT_RESUME_NOW", "{yes:#}");
    assert_eq!(yes["response_text"], "Take a coat.", "{yes:#}");
    let input = json!({ "INTENT": { "intent_type": "PAY", "class": "IMPACTFUL" } });
    let asked = sensitive(json!({ "subject_ref": "weather", "input": input }));
    assert_eq!(told(&place, 4, "NONE", asked)["reason_code"], "X_CONFIRM_REQUIRED");
    let input = json!({ "NLP_CLARIFY": { "question": "When?",
        "accepted_answer_formats": ["A day", "A time"], "missing_fields": ["WHEN"] } });
    let asked = sensitive(json!({ "subject_ref": "weather", "input": input }));
    assert_eq!(told(&place, 5, "CONFIRM", asked)["reason_code"], "X_NLP_CLARIFY");
}

#[test]
fn a_cursor_without_words_behind_it_leaves_no_row_and_a_late_snapshot_does() {
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    accepted(&place, &[turn(TENANT, "talk", 1, chat("It is sunny."))]);
    let mut misaligned = interruption("It is sunny.", 3);
    misaligned["interruption"]["timing_markers"]["window_end"] = 1.into();
    let at_the_end = interruption("It is sunny.", 12);
    for request in [at_the_end, interruption("\u{e9}t\u{e9}", 1), misaligned] {
        let refused = answer(&place, &turn(TENANT, "talk", 2, request));
        assert_eq!(refused["refusal"]["code"], "MALFORMED_REQUEST", "{refused}");
        assert_eq!(rows(&place, "talk", TENANT).len(), 1, "{refused}");
    }
    let late = answer(&place, &turn(TENANT, "talk", 2, dated(-6, "It is sunny.")));
    assert_eq!(late["refusal"]["code"], "X_FAIL_SNAPSHOT_STALE", "{late}");
    assert_eq!(rows(&place, "talk", TENANT).len(), 2);
    let mut without = dated(-6, "It is sunny.");
    without.as_object_mut().unwrap().remove("tts_resume_snapshot");
    accepted(&place, &[turn(TENANT, "talk", 2, without)]);
}

/// An interruption so many seconds from now.
fn dated(seconds: i64, text: &str) -> Value {
    let now = interruption(text, 3)["interruption"]["t_event"].as_u64().unwrap();
    interruption_at(now.saturating_add_signed(seconds * 1_000_000_000), text, 3)
}

#[test]
fn an_interruption_that_is_dated_before_its_words_is_taken() {
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    let before = dated(0, "It is sunny.");
    told(&place, 1, "NONE", chat("It is sunny."));
    let taken = told(&place, 2, "NONE", before);
    assert_eq!(taken["remainders"][0]["fate"], "CAPTURED", "{taken:#}");
}

#[test]
fn a_topic_that_is_the_marker_of_another_is_an_issue_of_its_own() {
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    let mut topic = String::from("x y");
    for number in 1..=2 {
        let mut request = interruption("It is sunny.", 3);
        request["tts_resume_snapshot"]["topic_hint"] = topic.as_str().into();
        told(&place, number, "NONE", request);
        let health = json(&place.holdpoint(&["thread", "list", "--health", "--json"]));
        let newest = &health["rows"][0];
        assert_eq!(newest["occurrences"], 1, "{health:#}");
        let marker = newest["issue_fingerprint"].as_str().unwrap();
        topic = marker.strip_prefix("topic:").unwrap().into();
    }
}

#[test]
fn advice_of_another_form_refuses_its_turn_whatever_its_status() {
    let place = Place::new();
    accepted(&place, &setting(TENANT, "talk"));
    let style = |profile: &str| json!({ "validation_status": "FAIL", "profile": profile });
    let explain = |text: &str| json!({ "trigger": "NONE", "text": text });
    for (name, advice, is_taken) in [
        ("persona", style(""), false),
        ("emo_guide", style(&"p".repeat(65)), false),
        ("explain", explain(&"e".repeat(2_049)), false),
        ("explain", explain(&"e".repeat(2_048)), true),
    ] {
        let mut request = chat("It is sunny.");
        request["advice"] = json!({ name: advice });
        let found = answer(&place, &turn(TENANT, "talk", 1, request));
        assert_eq!(found["receipt"].is_object(), is_taken, "{name}: {found}");
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
