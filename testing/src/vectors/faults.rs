//! Phase-21: every fault under every ceiling, maximum and attempt.

use super::{Answered, Book};
use crate::vectors::attempts::{begin, define_loop};
use holdpoint_domain::sandbox_fault::{ExecutionFaultType, RetryPolicy};
use serde_json::{Value, json};

const RULE: &str = "PHASE-21 DESIGN, 3. FAULT DECISION TABLE";
const ENFORCED: &str = "PHASE-21 DESIGN, 5. INVARIANTS: Max retries enforced";
const NO_SUCCESS: &str = "PHASE-21 DESIGN, 5. INVARIANTS: a fault is no success";
const BELONGS: &str = "PHASE-21 DESIGN, 2.2 FaultReport: execution_id, attempt_number";

pub(super) fn vectors() -> String {
    let mut book = Book::new();
    define_loop(&mut book);
    for fault in ExecutionFaultType::ALL {
        book.define(fault.name(), json!({ "submit": { "fault_type": fault.name() } }));
    }
    for ceiling in RetryPolicy::ALL {
        for max in 1..=3 {
            for attempt in 1..=max {
                cell(&mut book, ceiling.name(), max, attempt);
            }
        }
    }
    for other in [0, 2, 3] {
        let id = format!("fault/of-attempt-{other}-while-1-runs");
        let (given, when) =
            ([begin(3), step("dispatch"), step("await"), step("output")], fault("CRASH", other));
        book.add((&id, BELONGS), &given, &when, |answered| answered.recorded(&[]));
    }
    book.lines
}

/// All faults of an attempt; where none comes to it, that the retry before it is refused.
fn cell(book: &mut Book, ceiling: &str, max: u8, attempt: u8) {
    let mut given = vec![begin(max), step("dispatch"), step("await"), step("output")];
    given[0].as_array_mut().unwrap().push(json!({ "submit": { "retry_ceiling": ceiling } }));
    for before in 1..attempt {
        given.push(fault("CRASH", before));
        if !book.tried(&[given.clone(), vec![step("retry")]].concat()).is_reached {
            let id = format!("attempt-{attempt}-of-{max}/{ceiling}/not-reached");
            book.add((&id, ENFORCED), &given, &step("retry"), |it| it.recorded(&[]));
            return;
        }
        given.extend([step("retry"), step("await"), step("output")]);
    }
    for kind in ExecutionFaultType::ALL {
        let id = format!("attempt-{attempt}-of-{max}/{ceiling}/{kind}");
        let when = fault(kind.name(), attempt);
        book.add((&id, RULE), &given, &when, decided);
        if attempt != max && (attempt, max) != (1, 3) {
            continue;
        }
        let after = [given.clone(), vec![when]].concat();
        let next = format!("{id}/then-retry");
        book.add((&next, ENFORCED), &after, &step("retry"), dispatched);
        let last = format!("{id}/then-complete");
        book.add((&last, NO_SUCCESS), &after, &step("complete"), halted);
    }
}

fn step(name: &str) -> Value {
    json!([name])
}

/// The report of a fault.
fn fault(kind: &str, attempt: u8) -> Value {
    match attempt {
        1 => json!(["fault", kind]),
        attempt => json!(["fault", kind, { "submit": { "attempt": attempt } }]),
    }
}

fn decided(answered: &Answered) -> Value {
    let fields: &[&str] = &["sandbox_decision", "retry_policy", "reason_code"];
    answered.recorded(&[("sandbox_fault.sandbox_decided", fields)])
}

fn dispatched(answered: &Answered) -> Value {
    answered.recorded(&[("execution_loop.dispatched", &["attempt"])])
}

fn halted(answered: &Answered) -> Value {
    answered.recorded(&[("execution_loop.halted", &["reason", "fault_type"])])
}
