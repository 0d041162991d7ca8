//! The documented categories in which an answer may differ from the recorded one.
//!
//! | category | why | marked |
//! |---|---|---|
//! | name outside a closed enum | the enums are closed: such a name does not decode | - |
//! | `check_stop` is not told | what it is not told is HALT | - |
//! | `check_stop` is given a blank context | a blank field says nothing: it halts | - |
//! | broken prior chain | the newest link is verified before every append | W9 |
//! | blank envelope or executor | missing means blank in every phase: HALTED | W12 |
//! | success with an error | a report that contradicts itself escalates | W13 |
//! | critical in another case | the alarm is heard in any case | W13 |
//! | attempt or limit out of bounds | attempts from 1, limits to 3: never retried | W15 |
//! | fault of something else | a fault belongs to one execution and attempt: never retried | W15 |
//!
//! The rows of Phase-32 follow in `decision_categories.rs`, those of whole sessions in
//! `session_categories.rs`.
//!
//! A category looks at the input only. One that names a weakness applies only to cases that are
//! marked with it.

use holdpoint_domain::core::text::is_blank;
use holdpoint_domain::evidence_capture::{
    EvidenceType, ObservationContext, ObservationPoint, StopCondition, evidence_hash,
};
use holdpoint_domain::execution_loop::{ExecutionLoopState, ExecutorResponseType};
use holdpoint_domain::sandbox_fault::{ExecutionFaultType, FaultReport, SandboxContext};
use serde_json::{Value, json};

use crate::decision_categories;
use crate::decode::{Answer, chain, field, text, typed};
use crate::vectors::Case;

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Category {
    /// What the input is like.
    pub(crate) name: &'static str,
    /// Why the answer differs.
    pub(crate) reason: &'static str,
    /// The weakness that a case has to be marked with.
    pub(crate) weakness: Option<&'static str>,
    /// Whether the input is like that.
    pub(crate) applies: fn(&Case) -> bool,
    /// Whether this is the answer that the category prescribes for the input.
    pub(crate) prescribes: fn(&Case, &Answer) -> bool,
}

/// The rows of Phases 21 to 31.
const CATEGORIES: [Category; 9] = [
    Category {
        name: "name outside a closed enum",
        reason: "the enums are closed: such a name does not decode",
        weakness: None,
        applies: has_name_outside_a_closed_enum,
        prescribes: |_, answer| matches!(answer, Answer::Undecodable(_)),
    },
    Category {
        name: "check_stop is not told",
        reason: "what it is not told is HALT",
        weakness: None,
        applies: is_stop_without_its_fact,
        prescribes: |_, answer| *answer == Answer::Value(json!(true)),
    },
    Category {
        name: "check_stop is given a blank context",
        reason: "a blank field says nothing: CONTEXT_UNINITIALIZED",
        weakness: None,
        applies: is_stop_with_blank_context,
        prescribes: |_, answer| *answer == Answer::Value(json!(true)),
    },
    Category {
        name: "broken prior chain",
        reason: "the newest link is verified before every append",
        weakness: Some("W9"),
        applies: has_broken_prior_chain,
        prescribes: |_, answer| matches!(answer, Answer::Refused(_)),
    },
    Category {
        name: "blank envelope or executor",
        reason: "missing means blank in every phase: HALTED",
        weakness: Some("W12"),
        applies: starts_from_blank_text,
        prescribes: |_, answer| answer_field(answer, "current_state") == Some("HALTED"),
    },
    Category {
        name: "success with an error",
        reason: "a report that contradicts itself escalates",
        weakness: Some("W13"),
        applies: is_success_with_error,
        prescribes: |_, answer| answer_field(answer, "decision") == Some("ESCALATE"),
    },
    Category {
        name: "critical in another case",
        reason: "the alarm is heard in any case",
        weakness: Some("W13"),
        applies: is_alarm_in_another_case,
        prescribes: |_, answer| answer_field(answer, "decision") == Some("ESCALATE"),
    },
    Category {
        name: "attempt or limit out of bounds",
        reason: "attempts are counted from 1 and limits end at 3: never retried",
        weakness: Some("W15"),
        applies: is_retry_out_of_bounds,
        prescribes: |_, answer| is_no_retry(answer, "SBX-006"),
    },
    Category {
        name: "fault of something else",
        reason: "a fault belongs to one execution and one attempt: never retried",
        weakness: Some("W15"),
        applies: is_retry_of_something_else,
        prescribes: |_, answer| is_no_retry(answer, "SBX-005"),
    },
];

/// The whole table, in order.
pub(crate) fn all() -> impl Iterator<Item = &'static Category> {
    CATEGORIES.iter().chain(&decision_categories::CATEGORIES)
}

/// The category of a case, if it has one: the first row that applies.
pub(crate) fn of(case: &Case) -> Option<&'static Category> {
    all().find(|category| {
        let marked = |weakness: &str| case.weak.iter().any(|weak| weak == weakness);
        category.weakness.is_none_or(marked) && (category.applies)(case)
    })
}

fn has_name_outside_a_closed_enum(case: &Case) -> bool {
    fn outside<T>(from_name: fn(&str) -> Option<T>, name: Option<&Value>) -> bool {
        name.is_some_and(|name| name.as_str().and_then(from_name).is_none())
    }
    let input = &case.input;
    let state = |name| outside(ExecutionLoopState::from_name, name);
    let place = |record: &Value| {
        outside(ObservationPoint::from_name, record.get("observation_point"))
            || outside(EvidenceType::from_name, record.get("evidence_type"))
    };
    match case.function.as_str() {
        "transition_execution_state" => {
            state(input.get("to_state")) || state(input.pointer("/context/current_state"))
        }
        "execution_trace" => list(input, "/to_states").iter().any(|s| state(Some(s))),
        "decide_response_outcome" | "evaluate_response_trust" => {
            outside(ExecutorResponseType::from_name, input.get("response_type"))
        }
        "normalize_executor_response" => {
            outside(ExecutorResponseType::from_name, input.pointer("/raw/reported_status"))
        }
        "check_stop" => outside(StopCondition::from_name, input.get("condition")),
        "evidence_hash" => place(input),
        "capture_evidence" => place(input) || list(input, "/prior_chain/records").iter().any(place),
        "capture_sequence" => list(input, "/steps").iter().any(place),
        "validate_chain" => list(input, "/chain/records").iter().any(place),
        "classify_fault" => outside(ExecutionFaultType::from_name, input.get("fault_type")),
        "decide_sandbox_outcome" => {
            outside(ExecutionFaultType::from_name, input.pointer("/fault/fault_type"))
        }
        _ => decision_categories::has_name_outside(case),
    }
}

fn list<'a>(input: &'a Value, pointer: &str) -> &'a [Value] {
    input.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A usable context, a condition that depends on a fact, and no word about that fact.
fn is_stop_without_its_fact(case: &Case) -> bool {
    let flag = match case.input.get("condition").and_then(Value::as_str) {
        Some("MISSING_AUTHORIZATION") => "authorization_present",
        Some("EXECUTOR_NOT_REGISTERED") => "executor_registered",
        Some("ENVELOPE_HASH_MISMATCH") => "envelope_hash_matches",
        Some("EVIDENCE_CHAIN_BROKEN") => "chain_valid",
        Some("RESOURCE_LIMIT_EXCEEDED") => "resources_available",
        Some("TIMESTAMP_INVALID") => "timestamp_valid",
        Some("PRIOR_EXECUTION_PENDING") => "prior_execution_complete",
        Some("AMBIGUOUS_INTENT") => "intent_clear",
        Some("HUMAN_ABORT") => "human_abort_signaled",
        _ => return false,
    };
    let told = case.input.pointer(&format!("/flags/{flag}")).is_some_and(Value::is_boolean);
    stop_context(case).is_some() && !told
}

fn is_stop_with_blank_context(case: &Case) -> bool {
    let condition = case.input.get("condition").and_then(Value::as_str);
    condition == Some("CONTEXT_UNINITIALIZED")
        && stop_context(case).is_some_and(|c| {
            [c.session_id, c.loop_id, c.executor_id, c.envelope_hash, c.created_at]
                .iter()
                .any(|field| is_blank(field))
        })
}

/// The context of a `check_stop` that is there and not halted.
fn stop_context(case: &Case) -> Option<ObservationContext> {
    if case.function != "check_stop" {
        return None;
    }
    let context: Option<ObservationContext> = typed(&case.input, "context").ok()?;
    context.filter(|context| !context.is_halted)
}

/// Length, newest record, its link and head disagree, or the length is no count.
fn has_broken_prior_chain(case: &Case) -> bool {
    if case.function != "capture_evidence" {
        return false;
    }
    let Ok(prior) = chain(&case.input, "prior_chain") else { return true };
    let newest = prior.records.last();
    let before = prior.records.iter().rev().nth(1);
    prior.length != prior.records.len() as u64
        || prior.head_hash != newest.map_or("", |record| record.self_hash.as_str())
        || newest.is_some_and(|record| {
            record.self_hash != evidence_hash(record)
                || record.prior_hash != before.map_or("", |record| record.self_hash.as_str())
        })
}

/// Blank, and not merely empty.
fn starts_from_blank_text(case: &Case) -> bool {
    let blank = |name| text(&case.input, name).is_ok_and(|t| is_blank(t) && !t.is_empty());
    case.function == "initialize_execution_loop"
        && (blank("instruction_envelope_hash") || blank("executor_id"))
}

fn is_success_with_error(case: &Case) -> bool {
    case.function == "evaluate_executor_response"
        && field(&case.input, "success") == Ok(&json!(true))
        && text(&case.input, "error").is_ok_and(|error| !error.is_empty())
}

fn is_alarm_in_another_case(case: &Case) -> bool {
    case.function == "evaluate_executor_response"
        && field(&case.input, "success") == Ok(&json!(false))
        && text(&case.input, "error").is_ok_and(|error| {
            !error.contains("CRITICAL") && error.to_ascii_uppercase().contains("CRITICAL")
        })
}

/// The reference would retry, but a number is out of bounds.
fn is_retry_out_of_bounds(case: &Case) -> bool {
    retried_context(case).is_some_and(|context| !is_within_bounds(&context))
}

/// The reference would retry, but the fault is of another execution or attempt.
fn is_retry_of_something_else(case: &Case) -> bool {
    let Ok(fault) = typed::<FaultReport>(&case.input, "fault") else { return false };
    retried_context(case).is_some_and(|context| {
        is_within_bounds(&context)
            && (fault.execution_id != context.execution_id
                || fault.attempt_number != context.attempt_number)
    })
}

/// The context of a question that is about retrying, with attempts left.
fn retried_context(case: &Case) -> Option<SandboxContext> {
    let retryable = match case.function.as_str() {
        "is_retry_allowed" | "enforce_retry_limit" => true,
        "decide_sandbox_outcome" => {
            let fault = case.input.pointer("/fault/fault_type").and_then(Value::as_str);
            matches!(fault, Some("CRASH" | "TIMEOUT"))
        }
        _ => false,
    };
    let context: SandboxContext = typed(&case.input, "context").ok()?;
    (retryable && context.attempt_number < context.max_retries).then_some(context)
}

fn is_within_bounds(context: &SandboxContext) -> bool {
    context.attempt_number >= 1 && context.max_retries <= 3
}

fn is_no_retry(answer: &Answer, code: &str) -> bool {
    match answer {
        Answer::Value(Value::Bool(allowed)) => !allowed,
        _ => {
            answer_field(answer, "decision") == Some("TERMINATE")
                && answer_field(answer, "reason_code") == Some(code)
        }
    }
}

fn answer_field<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    match answer {
        Answer::Value(value) => value.get(name)?.as_str(),
        _ => None,
    }
}
