//! Lines of `apply`: the program's own reader, over any bytes.

use holdpoint_cli::readers::{
    Defaults, Fault, InputLine, Node, Submission, Value, next_line, parse,
};
use holdpoint_domain::human_decision::HoldTerms;
use holdpoint_domain::log::GateTerms;
use holdpoint_domain::world::envelope::encode;
use holdpoint_domain::{Command, decide};
use serde_json::Value as Standard;
/// Reads lines and asserts what must hold whatever they are.
pub fn read(mut bytes: &[u8]) {
    let defaults = Defaults::with(&HoldTerms::never(), &GateTerms::default());
    let mut all = Vec::new();
    while let Some(line) = next_line(&mut bytes).expect("memory can be read") {
        check_json(&line);
        check_submission(&line, &defaults);
        all.push(line);
    }
}

/// The strict reader accepts only what a standard one accepts, and reads the same.
fn check_json(line: &InputLine) {
    let InputLine::Whole(bytes) = line else { return };
    match parse(bytes) {
        Ok(node) => {
            let standard: Standard = serde_json::from_slice(bytes).expect("standard JSON");
            assert!(is_same(&node, &standard), "{node:?} is not {standard:?}");
            assert!(node.at <= bytes.len());
        }
        Err(fault) => check_place(&fault, bytes),
    }
}

/// A line that is accepted is a command that the rules can be asked about.
fn check_submission(line: &InputLine, defaults: &Defaults) {
    let InputLine::Whole(bytes) = line else { return };
    match Submission::read(line, defaults) {
        Ok(submission) => {
            assert!(serde_json::from_slice::<Standard>(bytes).is_ok(), "standard JSON");
            ask(&submission.command);
        }
        Err(fault) => check_place(&fault, bytes),
    }
}

/// The column is one of the line, or the one behind its last byte.
fn check_place(fault: &Fault, bytes: &[u8]) {
    assert!((1..=bytes.len() + 1).contains(&fault.column()), "{fault}");
    assert!(!fault.message().is_empty());
    assert!(fault.message().len() <= 402, "messages are bounded");
}

fn ask(command: &Command) {
    let world = holdpoint_domain::World::default();
    let at = holdpoint_domain::Time::from_nanoseconds(1_700_000_000_000_000_000);
    for event in decide(&world, command, at).unwrap_or_default() {
        let envelope = holdpoint_domain::Envelope {
            clock: None,
            proof: None,
            actor: holdpoint_domain::ActorId {
                kind: holdpoint_domain::core::actor::Actor::Automation,
                id: String::new(),
            },
            correlation: String::new(),
            causation: None,
            idempotency: None,
            event,
        };
        assert!(encode(&envelope).is_ok(), "what is decided can be recorded");
    }
}

fn is_same(node: &Node, standard: &Standard) -> bool {
    match (&node.value, standard) {
        (Value::Null, Standard::Null) => true,
        (Value::Bool(one), Standard::Bool(other)) => one == other,
        (Value::Number { is_negative: false, magnitude }, Standard::Number(number)) => {
            number.as_u64() == Some(*magnitude)
        }
        (Value::Number { magnitude: 0, .. }, Standard::Number(number)) => {
            number.as_f64() == Some(0.0)
        }
        (Value::Number { magnitude, .. }, Standard::Number(number)) => {
            number.as_i64() == Some(0_i64.wrapping_sub_unsigned(*magnitude))
        }
        (Value::Text(one), Standard::String(other)) => one == other,
        (Value::List(items), Standard::Array(others)) => {
            items.len() == others.len() && items.iter().zip(others).all(|(a, b)| is_same(a, b))
        }
        (Value::Object(members), Standard::Object(others)) => {
            let found = |name: &str| others.get(name);
            members.len() == others.len()
                && members.iter().all(|m| found(&m.name).is_some_and(|v| is_same(&m.node, v)))
        }
        _ => false,
    }
}
