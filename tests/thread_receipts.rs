//! What the caller of a turn is told of it: what it needs to act, and no words that wait.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test tells its story by its names, and fails where it cannot read"
)]

mod apply_support;
mod program;
mod thread_support;

use program::Place;
use serde_json::{Value, json};
use thread_support::{accepted, chat, interruption, setting, turn};

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
