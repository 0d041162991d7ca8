//! Phase-32: what a person decides of an attempt, and what comes of it.

use super::attempts::{EMPTY, define_loop, moved};
use super::{Answered, Book};
use crate::threads::Outcome;
use serde_json::{Value, json};

const VALIDATION: &str = "PHASE-32 DESIGN, DECISION VALIDATION";
const APPLIED: &str = "PHASE-32 DESIGN, apply_decision()";
const INSTRUCTED: &str = "PHASE-31 DESIGN, Attachment to Phase-29: EVALUATED to DISPATCHED";

pub(super) fn vectors() -> String {
    let mut book = Book::new();
    define_loop(&mut book);
    let decide = json!({ "command": "human_decision.answer", "request_id": "REQ-$ID",
        "actor": "HUMAN", "human_id": "$USER", "means": { "channel": "API", "detail": "" } });
    let actor = json!({ "kind": "HUMAN", "id": "$USER" });
    book.define("decide", json!({ "submit": decide, "actor": actor }));
    for status in ["SUCCESS", "FAILURE"] {
        for (left, attempts) in [("none-left", 1), ("one-left", 2)] {
            for (path, target) in [("path", Some("lead")), ("no-path", None)] {
                let given = asked(status, attempts, target);
                let place = format!("{status}/{left}/{path}");
                book.define_lines(&format!("asked {place}"), &given);
                answers(&mut book, &place, &given);
            }
        }
    }
    instructed(&mut book);
    book.lines
}

/// A loop of which a person is asked.
fn asked(status: &str, attempts: u8, target: Option<&str>) -> Vec<Value> {
    let targets: Vec<_> = target
        .iter()
        .map(|name| json!({ "target": name, "approvers": ["$USER"], "timeout_ms": 60_000 }))
        .collect();
    let begin = json!(["begin", { "submit": { "max_attempts": attempts,
        "hold": { "policy": "AFTER", "escalation_targets": targets } } }]);
    let report = json!(["report", { "submit": { "reported_status": status } }]);
    let ask = json!(["ask", { "submit": { "entropy": "$ID" } }]);
    vec![begin, json!(["dispatch"]), json!(["await"]), json!(["output"]), report, ask]
}

/// Every decision with and without what it requires, and what may follow.
fn answers(book: &mut Book, place: &str, given: &[Value]) {
    let (reason, target) = (Some("it has to be"), Some("lead"));
    for (decision, which, reason, target) in [
        ("CONTINUE", "bare", None, None),
        ("CONTINUE", "reason", reason, None),
        ("RETRY", "bare", None, None),
        ("RETRY", "reason", reason, None),
        ("ABORT", "bare", None, None),
        ("ABORT", "reason", reason, None),
        ("ESCALATE", "bare", None, None),
        ("ESCALATE", "reason", reason, None),
        ("ESCALATE", "target", None, target),
        ("ESCALATE", "reason-and-target", reason, target),
    ] {
        let mut over = json!({ "decision": decision });
        reason.iter().for_each(|reason| over["reason"] = json!(reason));
        target.iter().for_each(|target| over["escalation_target"] = json!(target));
        let when = json!(["decide", { "submit": over }]);
        let id = format!("{place}/{decision}/{which}");
        book.add((&id, VALIDATION), given, &when, decided);
        let after = [given, &[when]].concat();
        if matches!((decision, which), ("CONTINUE" | "ABORT", "bare") | ("RETRY", "reason"))
            && book.tried(&after).is_reached
        {
            let then = |next: &str| format!("{id}/then-{next}");
            book.add((&then("retry"), APPLIED), &after, &json!(["retry"]), moved);
            book.add((&then("instruct"), INSTRUCTED), &after, &json!(["instruct"]), begun);
        }
    }
}

/// The next instruction of a loop that a person let go on, as it is not to be begun or written.
fn instructed(book: &mut Book) {
    let given = asked("SUCCESS", 2, None);
    let decided = json!(["decide", { "submit": { "decision": "CONTINUE" } }]);
    let given = [given, vec![decided]].concat();
    for (which, over) in [
        ("another-hash", json!({ "instruction_envelope_hash": EMPTY })),
        ("no-hash", json!({ "instruction_envelope_hash": "" })),
        ("without-a-stated-fact", json!({ "facts": { "intent_clear": null } })),
        ("without-authorization", json!({ "facts": { "authorization_present": false } })),
        ("another-loop", json!({ "loop_id": "LOOP-$NEXT" })),
    ] {
        let when = json!(["instruct", { "submit": over }]);
        book.add((&format!("instruct/{which}"), INSTRUCTED), &given, &when, begun);
    }
    let given = [given, vec![json!(["instruct"])]].concat();
    for next in ["instruct", "await", "complete", "retry"] {
        let id = format!("instruct/then-{next}");
        book.add((&id, INSTRUCTED), &given, &json!([next]), begun);
    }
}

/// The attempt that begins, with its instruction, or where the loop comes to.
fn begun(answered: &Answered) -> Value {
    answered.recorded(&[
        ("evidence_capture.stop_condition_detected", &["condition"]),
        ("execution_loop.dispatched", &["attempt", "instruction"]),
        ("execution_loop.halted", &["from", "requested", "reason", "stop_condition"]),
    ])
}

/// What is on record of the decision, and where the loop comes to.
fn decided(answered: &Answered) -> Value {
    let Outcome::Done(_) = answered.outcome else {
        return json!({ "records": { "human_decision.answered": null } });
    };
    let mut expected = answered.recorded(&[
        ("human_decision.answered", &["outcome", "record"]),
        ("execution_loop.halted", &["from", "reason"]),
    ]);
    let names = expected["receipt"]["events"].clone();
    expected.as_object_mut().unwrap().remove("receipt");
    let record = expected.pointer_mut("/records/human_decision.answered/record").unwrap();
    let kept = ["decision", "reason", "escalation_target"];
    *record = kept.iter().map(|name| (name.to_string(), record[*name].clone())).collect();
    if !names.as_array().unwrap().contains(&json!("execution_loop.halted")) {
        expected["records"]["execution_loop.halted"] = Value::Null;
    }
    expected["exit"] = 0.into();
    expected
}
