//! Expressions of `diff --when`: the program's own reader of them, over any text.

use holdpoint_cli::readers::{Exit, Failure, Predicate};
use serde_json::{Value, json};

/// What of a watched entity the predicate sees.
const ENTITY: &str = "entity";

/// Most bytes of what is said of a text of so many: hidden letters are shown by their numbers.
const GROWTH_MAX: usize = 16;
const WORDS_BYTES_MAX: usize = 4_096;

/// Asks a text about a state, and asserts what must hold whatever it is.
pub fn read(bytes: &[u8]) {
    let Ok(text) = core::str::from_utf8(bytes) else { return };
    for with_entity in [false, true] {
        let asked = Predicate::parse(text, with_entity);
        let asked = asked.and_then(|predicate| predicate.holds(&state(with_entity)));
        if let Err(failure) = asked {
            check(&failure, text);
        }
    }
}

/// A state with a number, a text, a list, nothing and entities in it.
fn state(with_entity: bool) -> Value {
    let entity = json!({ "current_state": "HALTED", "attempts": [1, 2] });
    let mut state = json!({
        "head": { "sequence": 7, "time": "2026-01-25T16:00:00Z" },
        "fingerprint": "00",
        "state_schema": 1,
        "totals": { "events": 7, "loops_initialized": 2 },
        "decision_point_totals": {},
        "execution_loops": { "LOOP-1": entity, "LOOP-2": { "attempts": [], "stopped": null } },
        "human_decisions": {},
        "interruption_threads": { "tenant": { "one": {} } },
        "decision_points": {},
    });
    if let (true, Some(parts)) = (with_entity, state.as_object_mut()) {
        parts.insert(ENTITY.to_string(), entity);
    }
    state
}

/// What is wrong is said in bounds, with a column of the text, and hides nothing.
fn check(failure: &Failure, text: &str) {
    assert_eq!((failure.exit, failure.code()), (Exit::USAGE, "bad_predicate"));
    let length = failure.message().len();
    assert!(length <= GROWTH_MAX * text.len() + WORDS_BYTES_MAX, "{length} bytes");
    assert!(!failure.message().contains(char::is_control), "{:?}", failure.message());
    let told = failure.value();
    if let Some(column) = told.pointer("/error/column").and_then(Value::as_u64) {
        assert!(column >= 1 && column <= text.chars().count() as u64 + 1, "{column}: {text:?}");
    }
}
