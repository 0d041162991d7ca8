//! The hashes of the documents: what is hashed, and what comes of it.

use super::attempts::define_loop;
use super::{Answered, Book};
use holdpoint_domain::evidence_capture::EvidenceCaptureEvent;
use holdpoint_domain::{Event, core::hash::sha256};
use serde_json::{Value, json};

const RULE: &str = "PHASE-31 DESIGN, EVIDENCE HASH COMPUTATION";

pub(super) fn vectors() -> String {
    let mut book = Book::new();
    define_loop(&mut book);
    formulas(&mut book);
    let short = ["dispatch", "await", "output", "report"];
    let stories: [(&str, &[&str], &str); 4] = [
        ("completed", &short, "complete"),
        ("interrupted", &short[..2], "interrupt"),
        ("stopped", &short[..1], "stop"),
        ("dispatched-twice", &short[..2], "dispatch"),
    ];
    for (name, steps, when) in stories {
        let given: Vec<_> = std::iter::once(json!(["begin"]))
            .chain(steps.iter().map(|step| json!([step])))
            .collect();
        let id = format!("chain/{name}");
        book.add((&id, RULE), &given, &json!([when]), chain);
    }
    timed_out(&mut book);
    book.lines
}

/// A decision that nobody made in time: its hash is recorded, and made again from its fields.
fn timed_out(book: &mut Book) {
    let rule = "PHASE-32 DESIGN, TIMEOUT BEHAVIOR: Decision = ABORT, Reason = TIMEOUT";
    let hold = json!({ "submit": { "hold": { "policy": "AFTER", "decision_timeout_ms": 1 } } });
    let steps = ["dispatch", "await", "output", "report"].map(|step| json!([step]));
    let mut given: Vec<_> = std::iter::once(json!(["begin", hold])).chain(steps).collect();
    given.push(json!(["ask", { "submit": { "entropy": "$ID" } }]));
    let expire = json!({ "command": "human_decision.expire", "request_id": "REQ-$ID" });
    given.push(json!([{ "submit": expire, "when_due": true }]));
    book.add(("decision/timed-out", rule), &given, &json!(["complete"]), |it| it.recorded(&[]));
}

/// The recipe alone: fields between NULs, and their digest.
fn formulas(book: &mut Book) {
    let evidence = ["REC-1", "PRE_DISPATCH", "STATE_TRANSITION", "2026-01-25T16:00:00Z"];
    for (name, raw, prior) in [
        ("first", "raw", String::new()),
        ("empty", "", String::new()),
        ("next", "raw", sha256(b"before").to_string()),
        ("separator", "a\0b", String::new()),
    ] {
        let fields = [&evidence[..], &[raw, &prior]].concat();
        formula(book, &format!("formula/evidence/{name}"), RULE, &fields);
    }
    let rule = "PHASE-32 DESIGN, record_decision(): New record hash computed";
    let chain = sha256(b"chain").to_string();
    for (name, decision, reason, target) in [
        ("continue", "CONTINUE", "", ""),
        ("retry", "RETRY", "once more", ""),
        ("escalate", "ESCALATE", "not mine", "lead"),
    ] {
        let time = "2026-01-25T16:00:00Z";
        let fields = ["DEC-1", "REQ-1", "ada", decision, reason, target, time, &chain, ""];
        formula(book, &format!("formula/decision/{name}"), rule, &fields);
    }
}

fn formula(book: &mut Book, id: &str, rule: &str, fields: &[&str]) {
    let digest = sha256(fields.join("\0").as_bytes());
    let (id, rule, fields) = (json!(id), json!(rule), json!(fields));
    let expect = json!({ "digest": digest });
    book.push(&format!(
        "{{\"id\":{id},\"rule\":{rule},\"preimage\":{fields},\"expect\":{expect}}}"
    ));
}

/// Every piece of the loop's evidence: point, type, and the bytes that are hashed.
fn chain(answered: &Answered) -> Value {
    let mut expected = answered.recorded(&[]);
    expected["evidence"] = answered.evidence.clone().into();
    expected
}

/// What is hashed of an event, where it is evidence.
pub(super) fn evidence(event: &Event) -> Option<Value> {
    let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = event else {
        return None;
    };
    let raw = String::from_utf8(body.raw_data.as_bytes().to_vec()).unwrap();
    Some(json!([body.observation_point.name(), body.evidence_type.name(), raw]))
}
