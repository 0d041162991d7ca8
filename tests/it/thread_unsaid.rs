//! No words are lost in silence, whoever speaks and whatever becomes of a plan, and every view
//! shows them as they are at its moment.

use crate::apply_support::{answers, apply};
use crate::program::{Place, json, text};
use crate::thread::{interrupted_then, submit};
use crate::thread_support::{accepted, chat, interruption, line, scope, setting, turn};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;

const TEXT: &str = "It is sunny today. Tomorrow it rains.";

fn read(place: &Place, arguments: &[&str]) -> Value {
    json(&place.holdpoint(&[arguments, &["--json"]].concat()))
}

fn rows(place: &Place) -> Vec<Value> {
    read(place, &["thread", "show", "--rows", "talk"]).as_array().unwrap().clone()
}

/// A turn of these requests that is drafted, or committed, with what was heard of it.
fn heard(command: &str, turn_id: u64, key: &str, request: &Value, is_final: bool) -> Value {
    let mut body = scope("acme", "talk", turn_id);
    body["idempotency_key"] = key.into();
    body["request"] = request.clone();
    body["request"]["active_speaker_user_id"] = "ada".into();
    let of = &request["interruption"];
    body["heard"] = json!({
        "candidate": { "phrase_id": of["phrase_id"], "t_event": of["t_event"],
            "confidence_bp": of["phrase_confidence_bp"] },
        "transcript": { "text": "wait", "is_final": is_final },
        "hypothesis": { "subject_ref": "weather", "confidence_bp": 9000,
            "subject_relation": "SWITCH", "subject_relation_confidence_bp": 9200 } });
    if command == "commit_turn" {
        body["plan_key"] = "plan".into();
    }
    line(command, body)
}

/// Ada interrupts an answer, and it is not sure that she does.
fn unsure() -> Value {
    let mut request = interruption(TEXT, 18);
    let of = &mut request["interruption"];
    of["candidate_confidence_band"] = "MEDIUM".into();
    of["phrase_confidence_bp"] = 6_900.into();
    of["gate_confidences"]["phrase_bp"] = 6_900.into();
    of["subject_relation_confidence_bundle"]["lexical_bp"] = 6_900.into();
    request
}

/// Ada asks to go on with what was interrupted.
fn go_on(turn_id: u64) -> Value {
    let input = json!({ "INTENT": { "intent_type": "CONTINUE", "class": "CONTINUE" } });
    let request = json!({ "subject_ref": "weather", "input": input,
        "interrupt_subject_relation": "SAME", "interrupt_subject_relation_confidence_bp": 9000 });
    turn("acme", "talk", turn_id, request)
}

#[test]
fn a_draft_that_its_gate_refuses_keeps_its_words_and_cuts_no_speech_while_it_is_not_sure() {
    let place = Place::new();
    let mut lines = setting("acme", "talk");
    lines.push(turn("acme", "talk", 1, chat(TEXT)));
    let request = unsure();
    lines.push(heard("draft_plan", 2, "plan", &request, false));
    accepted(&place, &lines);
    let refused = answers(&apply(&place, &[heard("commit_turn", 2, "turn-2", &request, true)]));
    let refusal = &refused[0]["refusal"];
    assert_eq!(refusal["code"], "X_FAIL_CANDIDATE_NOT_SURE", "{refused:#?}");
    assert!(refusal["tts_control"].is_null(), "go on speaking, and speech is cut: {refusal:#}");
    let row = rows(&place).pop().unwrap();
    assert_eq!(row["refused"]["interrupt_resume_policy"], "RESUME_LATER", "{row:#}");
    assert_eq!(row["refused"]["remainders"][0]["reason"], "STILL_KEPT", "{row:#}");
    let shown = read(&place, &["thread", "show", "talk"]);
    assert_eq!(shown["open_plan_unsaid"]["unsaid_remainder"], "Tomorrow it rains.");
    let told = accepted(&place, &[go_on(3)]).remove(0)["receipt"]["turn"].take();
    let found = (&told["reason_code"], &told["response_text"]);
    let expected = ("X_INTERRUPT_SAME_SUBJECT_APPEND", "Tomorrow it rains.");
    assert_eq!(found, (&json!(expected.0), &json!(expected.1)), "{told:#}");
    let rows = rows(&place);
    let [.., ended, said] = &rows[..] else { panic!("{rows:#?}") };
    assert_eq!(ended["reason_code"], "X_PLAN_PASSED_BY", "{ended:#}");
    assert_eq!(ended["ended"]["interrupt_resume_policy"], "RESUME_LATER", "{ended:#}");
    assert_eq!(said["payload"]["interrupt_resume_policy"], "RESUME_NOW", "{said:#}");
    let named = (&said["remainders"][0]["captured_turn"], &said["remainders"][0]["fate"]);
    assert_eq!(named, (&json!(2), &json!("RESUMED")), "{said:#}");
    let story = text(&place.holdpoint(&["thread", "show", "--story", "talk"]).stdout);
    assert!(story.contains("plan plan of turn 2 ended without its words"), "{story}");
    place.verified();
}

#[test]
fn words_of_an_unsure_candidate_went_on_being_said_and_hold_up_no_answer() {
    let place = Place::new();
    let mut lines = setting("acme", "talk");
    lines.push(turn("acme", "talk", 1, chat(TEXT)));
    lines.push(heard("draft_plan", 2, "plan", &unsure(), false));
    lines.push(turn("acme", "talk", 3, chat("New words.")));
    let told = accepted(&place, &lines).pop().unwrap()["receipt"]["turn"].take();
    assert_eq!(told["reason_code"], "X_NLP_CHAT", "{told:#}");
    let rows = rows(&place);
    let [.., ended, _] = &rows[..] else { panic!("{rows:#?}") };
    let policy = &ended["ended"]["interrupt_resume_policy"];
    assert_eq!((&ended["reason_code"], policy), (&json!("X_PLAN_PASSED_BY"), &json!("DISCARD")));
    let shown = read(&place, &["thread", "show", "talk"]);
    assert_eq!(shown["resume_buffers"], json!([]), "{shown:#}");
    let story = text(&place.holdpoint(&["thread", "show", "--story", "talk"]).stdout);
    assert!(story.contains("of turn 2, to ada: DISCARDED, NOT_SURE"), "{story}");
    place.verified();
}

#[test]
fn every_other_end_of_a_plan_is_a_row_with_a_resume_policy() {
    let place = Place::new();
    let mut lines = setting("acme", "talk");
    lines.push(turn("acme", "talk", 1, chat(TEXT)));
    for (number, answer) in [(2, 41), (3, 42), (4, 43)] {
        let mut request = interruption(TEXT, 18);
        request["tts_resume_snapshot"]["answer_id"] = answer.into();
        lines.push(heard("draft_plan", number, &format!("plan-{number}"), &request, false));
    }
    lines.push(line("close", json!({ "tenant_id": "acme", "correlation_id": "talk" })));
    accepted(&place, &lines);
    let rows = rows(&place);
    let ended = rows.iter().filter(|row| row["ended"].is_object());
    let found: Vec<_> = ended
        .map(|row| {
            let of = &row["ended"];
            let policy = of["interrupt_resume_policy"].as_str().unwrap();
            (row["reason_code"].as_str().unwrap(), of["answer_id"].as_u64().unwrap(), policy)
        })
        .collect();
    let expected = [
        ("X_PLAN_REPLACED", 41, "RESUME_LATER"),
        ("X_PLAN_REPLACED", 42, "RESUME_LATER"),
        ("X_THREAD_CLOSED", 41, "DISCARD"),
        ("X_THREAD_CLOSED", 42, "DISCARD"),
        ("X_THREAD_CLOSED", 43, "DISCARD"),
    ];
    assert_eq!(found, expected);
    place.verified();
}

/// A log whose clock stood still long ago: all of it is over by now.
#[test]
fn a_plan_that_lapsed_and_words_that_expired_are_shown_as_that_and_recorded_as_that() {
    let place = Place::new();
    let (engine, clock) = interrupted_then(&place);
    let then = clock.load(Ordering::Relaxed);
    let back = json!({ "subject_ref": "dinner", "input": { "CHAT": { "response_text": "At 8." } },
        "interrupt_subject_relation": "SWITCH", "interrupt_subject_relation_confidence_bp": 9200 });
    submit(&engine, &turn("acme", "talk", 3, back));
    let mut request = crate::thread_support::interruption_at(then, TEXT, 18);
    request["tts_resume_snapshot"]["answer_id"] = 42.into();
    submit(&engine, &heard("draft_plan", 4, "plan", &request, false));
    let newest = read(&place, &["thread", "show", "talk"])["version"].to_string();
    let seen = |shown: &Value| {
        let keys = ["return_check_pending", "return_check_lapsed", "buffer_lapsed"];
        (keys.map(|key| shown[key].as_bool().unwrap()), shown["resume_buffer"]["answer_id"].clone())
    };
    let at = read(&place, &["thread", "show", "talk", "--at", &newest]);
    assert_eq!(seen(&at), ([true, false, false], json!(41)), "{at:#}");
    // A minute later the plan has lapsed, and the words before it are gone.
    let later = read(&place, &["thread", "show", "talk", "--at", "2026-01-25T16:01:30Z"]);
    assert_eq!(seen(&later), ([false, true, true], json!(42)), "{later:#}");
    let list = &read(&place, &["thread", "list"])[0];
    for shown in [&read(&place, &["thread", "show", "talk"]), list] {
        assert_eq!(seen(shown), ([false, true, true], Value::Null), "{shown:#}");
        assert_eq!(
            (&shown["open_plan_lapsed"], &shown["open_plan_unsaid"]),
            (&json!(true), &Value::Null)
        );
    }
    clock.store(then + 125_000_000_000, Ordering::Relaxed);
    engine.expire().unwrap();
    engine.close().unwrap();
    let rows = rows(&place);
    let ended = rows.iter().filter(|row| row["ended"].is_object());
    let found: Vec<_> = ended
        .map(|row| (row["reason_code"].as_str().unwrap(), row["ended"]["answer_id"].as_u64()))
        .collect();
    let expected = [
        ("X_RETURN_CHECK_EXPIRED", None),
        ("X_BUFFER_EXPIRED", Some(41)),
        ("X_PLAN_LAPSED", Some(42)),
        ("X_BUFFER_EXPIRED", Some(42)),
    ];
    assert_eq!(found, expected);
    place.verified();
}

/// Ada and Bob, each with a session, and a question that Ada was asked in hers, or in none.
fn asked(place: &Place, session: Option<&str>) {
    let mut lines = setting("acme", "talk");
    let bob = [
        ("user", json!({ "user_id": "bob", "status": "ACTIVE" })),
        ("device", json!({ "device_id": "tablet", "user_id": "bob", "status": "ACTIVE" })),
        (
            "session",
            json!({ "session_id": "s-bob", "user_id": "bob", "device_id": "tablet",
            "status": "ACTIVE" }),
        ),
        (
            "session",
            json!({ "session_id": "s-ada", "user_id": "ada", "device_id": "kitchen",
            "status": "ACTIVE" }),
        ),
        (
            "lease",
            json!({ "work_order_id": "wo-1", "status": "ACTIVE",
            "expires_at": "2100-01-01T00:00:00Z",
            "lease_token_hash": crate::thread_support::LEASE }),
        ),
    ];
    lines.extend(bob.into_iter().map(|(what, mut body)| {
        body["tenant_id"] = "acme".into();
        line(&format!("register_{what}"), body)
    }));
    let input = json!({ "INTENT": { "intent_type": "PAY", "class": "IMPACTFUL" } });
    let mut pay = turn("acme", "talk", 1, json!({ "subject_ref": "bill", "input": input }));
    if let Some(session) = session {
        pay["submit"]["session_id"] = session.into();
    }
    lines.push(pay);
    accepted(place, &lines);
}

/// A turn of Bob's, or of Ada's, while a confirm is open.
fn while_asked(who: &str, turn_id: u64, session: Option<&str>, mut request: Value) -> Value {
    request["active_speaker_user_id"] = who.into();
    let mut body = scope("acme", "talk", turn_id);
    body["user_id"] = who.into();
    body["device_id"] = if who == "bob" { "tablet" } else { "kitchen" }.into();
    body["pending_state"] = "CONFIRM".into();
    body["request"] = request;
    body["lease_token_hash"] = crate::thread_support::LEASE.into();
    if let Some(session) = session {
        body["session_id"] = session.into();
    }
    line("take_turn", body)
}

#[test]
fn a_yes_of_somebody_else_is_one_question_and_the_confirm_stays_with_its_speaker() {
    let yes = json!({ "subject_ref": "bill", "confirm_answer": "Yes" });
    let places = [
        (Some("s-ada"), Some("s-bob")),
        (Some("s-ada"), None),
        (None, Some("s-bob")),
        (None, None),
    ];
    for (adas, bobs) in places {
        let place = Place::new();
        asked(&place, adas);
        for (turn_id, said) in [(2, chat("Hello.")), (3, yes.clone()), (4, yes.clone())] {
            let given = while_asked("bob", turn_id, bobs, said);
            let told = accepted(&place, &[given]).remove(0)["receipt"]["turn"].take();
            let found = (&told["directive"], &told["reason_code"], &told["dispatch"]);
            let question =
                (&json!("CLARIFY"), &json!("X_CONTINUITY_SPEAKER_MISMATCH"), &Value::Null);
            assert_eq!(found, question, "{adas:?} {bobs:?}: {told:#}");
            assert_eq!(told["pending_state"], "CONFIRM", "{told:#}");
        }
        let shown = read(&place, &["thread", "show", "talk"]);
        assert_eq!(
            (&shown["pending_state"], &shown["active_speaker_user_id"]),
            (&json!("CONFIRM"), &json!("ada"))
        );
        let told = accepted(&place, &[while_asked("ada", 5, adas, yes.clone())]).remove(0);
        assert_eq!(told["receipt"]["turn"]["reason_code"], "X_CONFIRM_YES_DISPATCH", "{told:#}");
        place.verified();
    }
}
