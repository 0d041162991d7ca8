//! Phase-28 to Phase-31: every command in every state, and what a loop is stopped by.

use super::{Answered, Book};
use holdpoint_domain::evidence_capture::StopCondition;
use holdpoint_domain::execution_loop::{ExecutorIdentityStatus, ExecutorResponseType};
use serde_json::{Value, json};

/// SHA-256 of no bytes.
pub(super) const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// SHA-256 of `next`, the instruction that follows.
const NEXT: &str = "c6c1c9a9c8543f1e4cd980064cf1625eeb61a90703b2464fff039f21682508b3";

const TABLE: &str = "PHASE-31 DESIGN, Attachment to Phase-29: the transitions of a loop";
const HANDSHAKE: &str = "PHASE-31 DESIGN, imports: Phase-28 HandshakeDecision";
const ATTACH: &str = "PHASE-31 DESIGN, attach_observer(): Any mismatch -> HALTED";
const RESPONSE: &str = "PHASE-31 DESIGN, Attachment to Phase-30: ACCEPT, REJECT, ESCALATE";
const STOP: &str = "PHASE-31 DESIGN, check_stop() and STOP CONDITION ENFORCEMENT";
const PERSON: &str = "PHASE-32 DESIGN, ARCHITECTURAL PRINCIPLES: Only humans issue decisions";
const ASKED: &str = "PHASE-32 DESIGN, TIMEOUT BEHAVIOR: request created";

/// Where a loop may be, and the lines that lead there.
const STATES: [(&str, &[&str]); 5] = [
    ("INIT", &[]),
    ("DISPATCHED", &["dispatch"]),
    ("AWAITING_RESPONSE", &["dispatch", "await"]),
    ("EVALUATED", &["dispatch", "await", "output", "report"]),
    ("HALTED", &["dispatch", "await", "output", "report", "complete"]),
];

pub(super) fn vectors() -> String {
    let mut book = Book::new();
    define_loop(&mut book);
    transitions(&mut book);
    handshakes(&mut book);
    responses(&mut book);
    stops(&mut book);
    asked(&mut book);
    book.lines
}

/// The lines of a loop that is never held.
pub(super) fn define_loop(book: &mut Book) {
    book.define(
        "begin",
        json!({ "submit": { "command": "execution_loop.initialize", "entropy": "$ID",
            "executor_id": "worker", "envelope": "", "instruction_envelope_hash": EMPTY,
            "command_line": "work", "max_attempts": 1, "retry_ceiling": "RETRY_LIMITED",
            "timeout_ms": null, "hold": { "policy": "NEVER" },
            "handshake": { "executor_id": "worker", "trust_status": "REGISTERED",
                "instruction_envelope_hash": EMPTY },
            "observer": { "executor_id": "worker", "envelope_hash": EMPTY } } }),
    );
    let dispatch = json!({ "envelope_hash": EMPTY, "facts": { "authorization_present": true,
        "executor_registered": true, "resources_available": true, "intent_clear": true,
        "human_abort_signaled": false } });
    let line = |command: &str, mut body: Value| {
        body["command"] = command.into();
        body["loop_id"] = "LOOP-$ID".into();
        json!({ "submit": body })
    };
    book.define("dispatch", line("execution_loop.dispatch", dispatch.clone()));
    book.define("retry", line("execution_loop.retry", dispatch.clone()));
    let instruct = json!({ "envelope": "6e657874", "instruction_envelope_hash": NEXT,
        "command_line": "next", "facts": dispatch["facts"] });
    book.define("instruct", line("execution_loop.instruct", instruct));
    book.define("await", line("execution_loop.await_response", json!({})));
    let output = json!({ "items": [{ "executor_output": { "stream": "STDOUT",
        "raw_data": "616263", "true_length": 3,
        "whole_sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" } }] });
    book.define("output", line("evidence_capture.capture", output));
    let report = json!({ "executor_id": "worker", "instruction_hash": EMPTY,
        "reported_status": "SUCCESS", "error": null, "exit": { "status": 0 } });
    book.define("report", line("execution_loop.report_response", report));
    let fault = json!({ "attempt": 1, "fault_message": "it failed", "exit": "unknown" });
    book.define("fault", line("sandbox_fault.report", fault));
    book.define("complete", line("execution_loop.complete", json!({})));
    let stop = json!({ "condition": "AMBIGUOUS_INTENT", "facts": { "intent_clear": false },
        "details": "asked for" });
    book.define("stop", line("execution_loop.stop", stop));
    book.define("interrupt", line("execution_loop.interrupt", json!({ "signal": 15 })));
    book.define("ask", line("human_decision.request", json!({})));
}

/// The first line of a loop with so many attempts.
pub(super) fn begin(max: u8) -> Value {
    match max {
        1 => json!(["begin"]),
        max => json!(["begin", { "submit": { "max_attempts": max } }]),
    }
}

/// The lines that lead into a state.
fn given(steps: &[&str]) -> Vec<Value> {
    std::iter::once(json!(["begin"])).chain(steps.iter().map(|step| json!([step]))).collect()
}

fn transitions(book: &mut Book) {
    let fault = json!(["fault", { "submit": { "fault_type": "CRASH" } }]);
    let commands =
        ["dispatch", "await", "report", "retry", "instruct", "complete", "stop", "interrupt"];
    let commands = commands.map(|name| (name, json!([name])));
    for (state, steps) in STATES {
        for (name, when) in commands.iter().chain([&("fault", fault.clone())]) {
            book.add((&format!("{state}/{name}"), TABLE), &given(steps), when, moved);
        }
    }
}

/// Where a loop comes to, and why.
pub(super) fn moved(answered: &Answered) -> Value {
    answered.recorded(&[
        ("execution_loop.initialized", &["handshake_decision"]),
        ("evidence_capture.observer_attached", &["is_halted"]),
        ("evidence_capture.stop_condition_detected", &["condition"]),
        ("execution_loop.dispatched", &["attempt"]),
        ("execution_loop.response_awaited", &["attempt"]),
        (
            "execution_loop.response_evaluated",
            &["response_type", "response_decision", "confidence", "execution_decision"],
        ),
        ("execution_loop.halted", &["from", "requested", "reason", "stop_condition"]),
    ])
}

fn handshakes(book: &mut Book) {
    for status in ExecutorIdentityStatus::ALL {
        for (whose, executor) in [("own", "worker"), ("other", "somebody"), ("blank", " ")] {
            for (which, hash) in [("own", EMPTY), ("other", "00"), ("blank", "")] {
                let when = json!(["begin", { "submit": { "handshake": {
                    "trust_status": status.name(), "executor_id": executor,
                    "instruction_envelope_hash": hash } } }]);
                let id = format!("handshake/{status}/{whose}-executor/{which}-envelope");
                book.add((&id, HANDSHAKE), &[], &when, moved);
            }
        }
    }
    for (whose, executor) in [("own", "worker"), ("other", "somebody")] {
        for (which, hash) in [("own", EMPTY), ("other", "00")] {
            let when = json!(["begin", { "submit": { "observer": {
                "executor_id": executor, "envelope_hash": hash } } }]);
            let id = format!("observer/{whose}-executor/{which}-envelope");
            book.add((&id, ATTACH), &[], &when, moved);
        }
    }
}

fn responses(book: &mut Book) {
    let steps = ["dispatch", "await", "output"];
    let errors =
        [("no-error", json!(null)), ("error", json!("x")), ("critical", json!("Critical"))];
    for status in ExecutorResponseType::ALL {
        for (which, error) in &errors {
            let report = json!(["report", { "submit": {
                "reported_status": status.name(), "error": error } }]);
            let id = format!("response/{status}/{which}");
            book.add((&id, RESPONSE), &given(&steps), &report, moved);
            let after = [given(&steps), vec![report]].concat();
            let id = format!("{id}/then-complete");
            book.add((&id, RESPONSE), &after, &json!(["complete"]), moved);
        }
    }
    for (which, over) in [
        ("another-executor", json!({ "executor_id": "somebody" })),
        ("another-instruction", json!({ "instruction_hash": "00" })),
    ] {
        let report = json!(["report", { "submit": over }]);
        book.add((&format!("response/of-{which}"), RESPONSE), &given(&steps), &report, moved);
    }
    let id = "response/without-raw-output";
    book.add((id, RESPONSE), &given(&steps[..2]), &json!(["report"]), moved);
}

/// The facts that a caller states as an attempt begins, and what each condition is stopped by.
fn stops(book: &mut Book) {
    let facts = [
        ("authorization_present", true),
        ("executor_registered", true),
        ("resources_available", true),
        ("intent_clear", true),
        ("human_abort_signaled", false),
    ];
    for (fact, well) in facts {
        for (which, value) in
            [("well", json!(well)), ("ill", json!(!well)), ("not-stated", json!(null))]
        {
            let when = json!(["dispatch", { "submit": { "facts": { fact: value } } }]);
            let id = format!("facts/{fact}/{which}");
            if (fact, which) == ("human_abort_signaled", "ill") {
                book.add_told((&id, PERSON), &given(&[]), &when, "CLAIM_NOT_TAKEN");
            } else {
                book.add((&id, STOP), &given(&[]), &when, moved);
            }
        }
    }
    let hash = json!(["dispatch", { "submit": { "envelope_hash": "00" } }]);
    book.add(("facts/another-envelope", STOP), &given(&[]), &hash, moved);
    for condition in StopCondition::ALL {
        for (which, is_well) in [("well", Some(true)), ("ill", Some(false)), ("not-stated", None)] {
            let facts = stated(*condition, is_well);
            let when = json!(["stop", { "submit": {
                "condition": condition.name(), "facts": facts } }]);
            let id = format!("stop/{condition}/{which}");
            if *condition == StopCondition::HumanAbort {
                book.add_told((&id, PERSON), &given(&[]), &when, "CLAIM_NOT_TAKEN");
            } else {
                book.add((&id, STOP), &given(&[]), &when, moved);
            }
        }
    }
}

/// The fact of a condition, and of no other.
fn stated(condition: StopCondition, is_well: Option<bool>) -> Value {
    let fact = match condition {
        StopCondition::MissingAuthorization => "authorization_present",
        StopCondition::ExecutorNotRegistered => "executor_registered",
        StopCondition::EnvelopeHashMismatch => "envelope_hash_matches",
        StopCondition::EvidenceChainBroken => "chain_valid",
        StopCondition::ResourceLimitExceeded => "resources_available",
        StopCondition::TimestampInvalid => "timestamp_valid",
        StopCondition::PriorExecutionPending => "prior_execution_complete",
        StopCondition::ContextUninitialized | StopCondition::AmbiguousIntent => "intent_clear",
        StopCondition::HumanAbort => "human_abort_signaled",
    };
    let value = is_well.map(|it| it != (condition == StopCondition::HumanAbort));
    let mut facts = json!({ "intent_clear": null });
    facts[fact] = json!(value);
    facts
}

/// When a person is asked, under each policy, and what the question offers.
fn asked(book: &mut Book) {
    for policy in ["AFTER", "ON_FAILURE", "NEVER"] {
        let mut begin = json!(["begin", { "submit": { "hold": {
            "policy": policy,
            "escalation_targets": [{ "target": "lead", "timeout_ms": 60_000 }] } } }]);
        for (state, steps) in STATES {
            if policy != "NEVER" && state == "HALTED" {
                continue;
            }
            let mut lines = given(steps);
            lines[0] = begin.clone();
            let id = format!("ask/{policy}/{state}");
            book.add((&id, ASKED), &lines, &json!(["ask"]), request);
            for end in ["complete", "retry"] {
                if state == "EVALUATED" {
                    let id = format!("hold/{policy}/{end}");
                    book.add((&id, ASKED), &lines, &json!([end]), moved);
                }
            }
        }
        begin[1]["submit"]["max_attempts"] = 2.into();
        begin[1]["submit"]["hold"]["escalation_targets"] = json!([]);
        let lines: Vec<_> = std::iter::once(begin)
            .chain(["dispatch", "await", "output", "report"].map(|step| json!([step])))
            .collect();
        let id = format!("ask/{policy}/with-an-attempt-left-and-no-target");
        book.add((&id, ASKED), &lines, &json!(["ask"]), request);
    }
}

fn request(answered: &Answered) -> Value {
    let mut expected = answered.recorded(&[("human_decision.requested", &["request"])]);
    let Some(request) = expected.pointer_mut("/records/human_decision.requested/request") else {
        return expected;
    };
    let kept = ["allowed_decisions", "timeout_decision"];
    *request = kept.iter().map(|name| (name.to_string(), request[*name].clone())).collect();
    expected
}
