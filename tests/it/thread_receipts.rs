//! What the caller of a turn is told of it: what it needs to act, and no words that wait; and where
//! its session bars it.

use crate::apply_support::{answers, apply};
use crate::program::{Place, json, status, text};
use crate::thread_support::{LEASE, accepted, chat, interruption, line, scope, setting, turn};
use serde_json::{Value, json};

const TEXT: &str = "It is sunny today. Tomorrow it rains.";

/// A place with a thread's setting.
fn place() -> Place {
    let place = Place::new();
    accepted(&place, &setting("acme", "talk"));
    place
}

/// What the receipt of a turn tells of it.
fn told(place: &Place, line: Value) -> Value {
    accepted(place, &[line]).remove(0)["receipt"]["turn"].take()
}

#[test]
fn a_receipt_tells_what_the_caller_needs_to_act() {
    let place = place();
    let told = told(&place, turn("acme", "talk", 1, chat("Hello.")));
    let expected = json!({ "directive": "RESPOND", "reason_code": "X_NLP_CHAT",
        "interrupt_continuity_outcome": null, "interrupt_resume_policy": null,
        "tts_control": null, "delivery_hint": told["delivery_hint"], "kind": "CHAT",
        "response_text": "Hello.", "clarify": null, "dispatch": null, "remainders": [],
        "dropped_pending": null, "pending_state": "NONE" });
    assert_eq!(told, expected);
}

#[test]
fn a_receipt_tells_how_the_words_may_be_said_and_what_explains_them() {
    let place = place();
    let profile = |status: &str| json!({ "validation_status": status, "profile": "WARM" });
    let mut asked = chat("Hello.");
    asked["advice"] = json!({ "emo_guide": profile("OK"), "persona": profile("FAIL"),
        "explain": { "trigger": "EXPLICIT", "text": "You asked why." } });
    let first = told(&place, turn("acme", "talk", 1, asked.clone()));
    assert_eq!((&first["emo_guide"], &first["persona"]), (&json!("WARM"), &Value::Null));
    assert_eq!(first["explanation"], "You asked why.");
    asked["advice"] = json!({ "emo_guide": profile("FAIL"), "persona": profile("OK"),
        "explain": { "trigger": "ACCOUNTABILITY", "text": "Nothing failed." } });
    let second = told(&place, turn("acme", "talk", 2, asked));
    assert_eq!((&second["emo_guide"], &second["persona"]), (&Value::Null, &json!("WARM")));
    assert_eq!(second["explanation"], Value::Null);
}

#[test]
fn a_receipt_names_what_the_thread_waits_for_and_not_the_words_that_wait() {
    let place = place();
    let mut asked = chat("secret words");
    asked["sensitive_memory_present"] = true.into();
    let lines = [
        turn("acme", "talk", 1, asked),
        with_pending(turn("acme", "talk", 2, impactful()), "MEMORY_PERMISSION"),
    ];
    let states = ["MEMORY_PERMISSION", "CONFIRM"];
    for (number, (line, state)) in lines.into_iter().zip(states).enumerate() {
        let told = told(&place, line);
        assert_eq!(told["pending_state"], state, "{told:#}");
        assert!(told.get("after").is_none(), "{told:#}");
        assert!(!told.to_string().contains("secret"), "{told:#}");
        let dropped = [Value::Null, "MEMORY_PERMISSION".into()];
        assert_eq!(told["dropped_pending"], dropped[number], "{told:#}");
    }
}

#[test]
fn a_receipt_tells_what_becomes_of_words_without_saying_them() {
    let place = place();
    let text = "It is sunny today. Tomorrow it rains.";
    told(&place, turn("acme", "talk", 1, chat(text)));
    let told = told(&place, turn("acme", "talk", 2, interruption(text, 18)));
    assert_eq!((&told["directive"], &told["tts_control"]), (&json!("WAIT"), &json!("CANCEL")));
    let [remainder] = &told["remainders"].as_array().unwrap()[..] else { panic!("{told:#}") };
    assert_eq!(
        (&remainder["speaker_user_id"], &remainder["fate"]),
        (&json!("ada"), &json!("CAPTURED"))
    );
    assert!(!told.to_string().contains("rains"), "{told:#}");
}

fn impactful() -> Value {
    json!({ "subject_ref": "weather",
        "input": { "INTENT": { "intent_type": "DO_IT", "class": "IMPACTFUL" } } })
}

fn with_pending(mut line: Value, state: &str) -> Value {
    line["submit"]["pending_state"] = state.into();
    line
}

fn shown(place: &Place, arguments: &[&str]) -> String {
    let output = place.holdpoint(arguments);
    assert_eq!(status(&output), 0, "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn read(place: &Place, arguments: &[&str]) -> Value {
    json(&place.holdpoint(&[arguments, &["--json"]].concat()))
}

fn session(name: &str, status: &str) -> Value {
    line(
        "register_session",
        json!({ "tenant_id": "acme", "session_id": name, "user_id": "ada",
        "device_id": "kitchen", "status": status }),
    )
}

/// What a thread waits for, and the answer that it would act upon.
fn questions() -> [(&'static str, Value, Value); 4] {
    let intent = |class: &str| {
        json!({ "subject_ref": "lights",
            "input": { "INTENT": { "intent_type": "LIGHTS_OFF", "class": class } } })
    };
    let mut sensitive = chat("A secret.");
    sensitive["sensitive_memory_present"] = true.into();
    let yes = |subject: &str| json!({ "subject_ref": subject, "confirm_answer": "Yes" });
    let tool = json!({ "subject_ref": "lights", "input": { "TOOL_RESPONSE": {
        "request_id": "TOOL-1", "status": "OK", "response_text": "It is noon." } } });
    [
        ("CONFIRM", intent("IMPACTFUL"), yes("lights")),
        ("MEMORY_PERMISSION", sensitive, yes("weather")),
        ("TOOL", intent("READ_ONLY_TOOL"), tool),
        ("NONE", chat(TEXT), intent("READ_ONLY_TOOL")),
    ]
}

/// A place with a thread in session s-1 that waits for this.
fn asked(question: &Value) -> Place {
    let place = Place::new();
    let mut lines = setting("acme", "talk");
    lines.extend([
        lease(),
        session("s-1", "ACTIVE"),
        in_session("s-1", turn("acme", "talk", 1, question.clone())),
    ]);
    for line in &mut lines {
        with_lease(line);
    }
    accepted(&place, &lines);
    place
}

fn lease() -> Value {
    line(
        "register_lease",
        json!({ "tenant_id": "acme", "work_order_id": "wo-1", "lease_token_hash": LEASE,
            "expires_at": "2100-01-01T00:00:00Z", "status": "ACTIVE" }),
    )
}

fn in_session(name: &str, mut line: Value) -> Value {
    line["submit"]["session_id"] = name.into();
    line
}

fn with_lease(line: &mut Value) {
    if line["submit"]["command"] == "interruption_thread.take_turn" {
        line["submit"]["lease_token_hash"] = LEASE.into();
    }
}

/// The answer in this session, or without one.
fn answered(place: &Place, number: u64, waits: &str, answer: &Value, name: Option<&str>) -> Value {
    let mut line = turn("acme", "talk", number, answer.clone());
    with_lease(&mut line);
    line["submit"]["pending_state"] = waits.into();
    if let Some(name) = name {
        line = in_session(name, line);
    }
    answers(&apply(place, &[line])).remove(0)
}

#[test]
fn a_session_that_is_suspended_or_closed_is_not_passed_by_leaving_it_away() {
    for (waits, question, answer) in questions() {
        for (status, waits) in [("SUSPENDED", waits), ("CLOSED", "NONE")] {
            let place = asked(&question);
            accepted(&place, &[session("s-1", status)]);
            let mut found = Vec::new();
            for (number, name) in [(2, Some("s-1")), (3, None)] {
                let answer = answered(&place, number, waits, &answer, name);
                let directive = &answer["receipt"]["turn"]["directive"];
                let said = (directive, &answer["refusal"]["code"]);
                let no_more = *said.1 == "X_FAIL_PENDING_STATE_INVALID";
                assert!(*directive == "WAIT" || no_more, "{answer:#}");
                found.push((said.0.clone(), said.1.clone()));
            }
            assert_eq!(found[0], found[1], "{waits} {status}");
            let mut row = scope("acme", "talk", 9);
            row["pending_state"] = waits.into();
            row["response_kind"] = "X".into();
            row["reason_code"] = "X_NLP_CHAT".into();
            let refused = answers(&apply(&place, &[line("respond_commit_row", row)])).remove(0);
            assert_eq!(refused["refusal"]["code"], "X_FAIL_TENANT_SCOPE_INVALID", "{refused:#}");
            place.verified();
        }
    }
}

#[test]
fn a_story_tells_what_was_asked_in_a_session_that_was_closed() {
    for (waits, question, _) in questions().into_iter().filter(|(waits, ..)| *waits != "NONE") {
        let place = asked(&question);
        accepted(&place, &[session("s-1", "CLOSED")]);
        let story = shown(&place, &["thread", "show", "--story", "talk"]);
        let told = format!("X_SESSION_CLOSED, session s-1\n          gives up    {waits}\n");
        assert!(story.contains(&told), "{story}");
        let kind = "interruption_thread.pending_disarmed";
        let log = shown(&place, &["log", &format!("kind={kind}"), "correlation=talk"]);
        let summary = format!("X_SESSION_CLOSED with session s-1; it waits no more for {waits}");
        assert!(log.contains(&summary), "{log}");
        assert_eq!(read(&place, &["thread", "show", "talk"])["pending"], Value::Null);
        place.verified();
    }
}

#[test]
fn what_was_asked_in_a_session_is_answered_in_it_and_in_no_other() {
    let [(waits, question, answer), ..] = questions();
    let place = asked(&question);
    accepted(&place, &[session("s-2", "ACTIVE")]);
    let elsewhere = answered(&place, 2, waits, &answer, Some("s-2"));
    assert_eq!(elsewhere["refusal"]["code"], "X_FAIL_PENDING_STATE_INVALID", "{elsewhere:#}");
    let rows = read(&place, &["thread", "show", "--rows", "talk"]);
    assert_eq!(rows[1]["reason_code"], "X_FAIL_PENDING_STATE_INVALID", "{rows:#}");
    let here = answered(&place, 3, waits, &answer, None);
    assert_eq!(here["receipt"]["turn"]["reason_code"], "X_CONFIRM_YES_DISPATCH", "{here:#}");
    let rows = read(&place, &["thread", "show", "--rows", "talk"]);
    assert_eq!(rows[2]["session_id"], "s-1", "the row says in which session it is: {rows:#}");
    place.verified();
}

#[test]
fn a_turn_that_is_repeated_once_its_session_ended_has_its_first_receipt_and_is_not_taken_again() {
    let place = Place::new();
    let mut lines = setting("acme", "talk");
    lines.push(lease());
    lines.push(session("s-1", "ACTIVE"));
    accepted(&place, &lines);
    let (.., asks) = &questions()[3];
    let mut dispatch = in_session("s-1", turn("acme", "talk", 1, asks.clone()));
    with_lease(&mut dispatch);
    let first = accepted(&place, std::slice::from_ref(&dispatch)).remove(0);
    assert_eq!(first["receipt"]["turn"]["directive"], "DISPATCH");
    for status in ["SUSPENDED", "CLOSED"] {
        accepted(&place, &[session("s-1", status)]);
        let before = read(&place, &["log", "--stat"])["records"].clone();
        let again = accepted(&place, std::slice::from_ref(&dispatch)).remove(0);
        assert_eq!(again["receipt"]["repeated"], true, "{again:#}");
        for part in ["first_sequence", "last_sequence", "turn"] {
            assert_eq!(again["receipt"][part], first["receipt"][part], "{part}");
        }
        assert_eq!(
            read(&place, &["log", "--stat"])["records"],
            before,
            "nothing is written for it"
        );
    }
    dispatch["submit"]["idempotency_key"] = "another".into();
    dispatch["submit"]["turn_id"] = 2.into();
    let anew = accepted(&place, &[dispatch]).remove(0);
    assert_eq!(
        anew["receipt"]["turn"]["directive"], "WAIT",
        "under another key it is another turn"
    );
    place.verified();
}

#[test]
fn a_thread_without_any_session_is_stopped_with_its_device_or_its_user() {
    let user = json!({ "tenant_id": "acme", "user_id": "ada", "status": "SUSPENDED" });
    let mut device = user.clone();
    device["device_id"] = "kitchen".into();
    for stopped in [line("register_user", user), line("register_device", device)] {
        let place = place();
        accepted(&place, &[session("s-1", "SUSPENDED"), turn("acme", "talk", 1, chat(TEXT))]);
        accepted(&place, &[stopped]);
        let refused = answers(&apply(&place, &[turn("acme", "talk", 2, chat(TEXT))])).remove(0);
        assert_eq!(refused["refusal"]["code"], "X_FAIL_TENANT_SCOPE_INVALID", "{refused:#}");
        place.verified();
    }
}
