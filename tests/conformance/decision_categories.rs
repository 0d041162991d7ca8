//! The documented categories of Phase-32; see `categories.rs`.
//!
//! | category | why | marked |
//! |---|---|---|
//! | confidence that is no basis points below 1 | confidence is basis points below 1 | - |
//! | length that is no count | a length is a count | W7 |
//! | time that is no time | times are checked before they are shown or compared | W7 |
//! | deadline that is no time | a deadline is a time: 1 s to 366 days | - |
//! | request about a halted loop | a halted loop offers nothing but ABORT | W7 |
//! | deadline as a text | a deadline is a time, not text | - |
//! | ABORT that is not listed | ABORT is always allowed (seed, decision validation) | - |
//! | name of the timeout | nobody answers as SYSTEM_TIMEOUT | W6 |
//! | name or reason that nobody sees | missing is what nobody can see | - |
//! | audit or record that does not verify | both are verified before every append | W5 |
//! | record without a person | a decision is somebody's | - |
//! | decision of a timeout | its outcome is TIMEOUT (seed, DecisionOutcome) | W8 |
//! | decision of nobody that can be seen | a decision is somebody's | - |
//! | decision that cannot be applied | state, count, reason and target are looked at | W8 |

use holdpoint_domain::core::text::{has_visible_character, is_blank};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::evidence_capture::{EvidenceType, ObservationPoint};
use holdpoint_domain::execution_loop::ExecutionLoopState;
use holdpoint_domain::human_decision::{HumanDecision, HumanDecisionRecord, record_hash};
use serde_json::{Value, json};

use crate::categories::Category;
use crate::decisions::{audit, confidence, decision_record, timeout};
use crate::decode::{Answer, field, text};
use crate::vectors::Case;

/// The rows.
pub(crate) const CATEGORIES: [Category; 14] = [
    Category {
        name: "confidence that is no basis points below 1",
        reason: "confidence is basis points below 1",
        weakness: None,
        applies: has_loose_confidence,
        prescribes: is_undecodable,
    },
    Category {
        name: "length that is no count",
        reason: "a length is a count",
        weakness: Some("W7"),
        applies: |case| creates(case) && !is_count(case.input.get("chain_length")),
        prescribes: is_undecodable,
    },
    Category {
        name: "time that is no time",
        reason: "times are checked before they are shown or compared",
        weakness: Some("W7"),
        applies: |case| {
            creates(case)
                && !(is_time(case, "current_timestamp") && is_time(case, "evidence_timestamp"))
        },
        prescribes: |_, answer| !matches!(answer, Answer::Value(_)),
    },
    Category {
        name: "deadline that is no time",
        reason: "a deadline is a time: 1 s to 366 days",
        weakness: None,
        applies: |case| creates(case) && timeout(&case.input).is_err(),
        prescribes: is_undecodable,
    },
    Category {
        name: "request about a halted loop",
        reason: "a halted loop offers nothing but ABORT",
        weakness: Some("W7"),
        applies: |case| {
            creates(case) && case.input.get("execution_state") == Some(&json!("HALTED"))
        },
        prescribes: |case, answer| is_timed_request(case, answer, Some(&json!(["ABORT"]))),
    },
    Category {
        name: "deadline as a text",
        reason: "a deadline is a time, not text",
        weakness: None,
        applies: creates,
        prescribes: |case, answer| is_timed_request(case, answer, None),
    },
    Category {
        name: "ABORT that is not listed",
        reason: "ABORT is always allowed (seed, decision validation)",
        weakness: None,
        applies: is_unlisted_abort,
        prescribes: |_, answer| answer_is(answer, "decision", "ABORT"),
    },
    Category {
        name: "name of the timeout",
        reason: "nobody answers as SYSTEM_TIMEOUT",
        weakness: Some("W6"),
        applies: |case| {
            accepts(case) && case.input.get("human_id") == Some(&json!("SYSTEM_TIMEOUT"))
        },
        prescribes: is_refused,
    },
    Category {
        name: "name or reason that nobody sees",
        reason: "missing is what nobody can see",
        weakness: None,
        applies: has_invisible_text,
        prescribes: is_refused,
    },
    Category {
        name: "audit or record that does not verify",
        reason: "both are verified before every append",
        weakness: Some("W5"),
        applies: has_broken_audit_or_record,
        prescribes: is_refused,
    },
    Category {
        name: "record without a person",
        reason: "a decision is somebody's",
        weakness: None,
        applies: has_record_without_a_person,
        prescribes: is_refused,
    },
    Category {
        name: "decision of a timeout",
        reason: "its outcome is TIMEOUT (seed, DecisionOutcome)",
        weakness: Some("W8"),
        applies: |case| applied(case).is_some_and(|record| record.is_timeout()),
        prescribes: |_, answer| *answer == Answer::Value(json!("TIMEOUT")),
    },
    Category {
        name: "decision of nobody that can be seen",
        reason: "a decision is somebody's",
        weakness: None,
        applies: |case| {
            applied(case).is_some_and(|record| {
                record.decision != HumanDecision::Abort
                    && !is_blank(&record.human_id)
                    && !has_visible_character(&record.human_id)
            })
        },
        prescribes: |_, answer| *answer == Answer::Value(json!("REJECTED")),
    },
    Category {
        name: "decision that cannot be applied",
        reason: "state, count, reason and target are looked at",
        weakness: Some("W8"),
        applies: cannot_be_applied,
        prescribes: |_, answer| *answer == Answer::Value(json!("REJECTED")),
    },
];

/// Whether a name of Phase-32 or of a session lies outside its closed enum.
pub(crate) fn has_name_outside(case: &Case) -> bool {
    let input = &case.input;
    let decision = |name: Option<&Value>| outside(HumanDecision::from_name, name);
    let summary = |summary: &Value| {
        outside(ObservationPoint::from_name, summary.get("observation_point"))
            || outside(EvidenceType::from_name, summary.get("evidence_type"))
            || outside(ExecutionLoopState::from_name, summary.get("execution_state"))
    };
    let asked = input.pointer("/request/evidence_summary");
    match case.function.as_str() {
        "create_request" => summary(input),
        "present_evidence" | "create_timeout_decision" => asked.is_some_and(summary),
        "accept_decision" => asked.is_some_and(summary) || decision(input.get("decision")),
        "record_hash" => decision(input.get("decision")),
        "apply_decision" => {
            outside(ExecutionLoopState::from_name, input.get("current_state"))
                || decision(input.pointer("/record/decision"))
        }
        _ => false,
    }
}

fn outside<T>(from_name: fn(&str) -> Option<T>, name: Option<&Value>) -> bool {
    name.is_some_and(|name| name.as_str().and_then(from_name).is_none())
}

fn is_undecodable(_: &Case, answer: &Answer) -> bool {
    matches!(answer, Answer::Undecodable(_))
}

fn is_refused(_: &Case, answer: &Answer) -> bool {
    matches!(answer, Answer::Refused(_))
}

fn answer_is(answer: &Answer, name: &str, expected: &str) -> bool {
    matches!(answer, Answer::Value(value) if value.get(name) == Some(&json!(expected)))
}

fn creates(case: &Case) -> bool {
    case.function == "create_request"
}

fn accepts(case: &Case) -> bool {
    case.function == "accept_decision"
}

fn has_loose_confidence(case: &Case) -> bool {
    let input = &case.input;
    let score = match case.function.as_str() {
        "create_request" => input.get("confidence_score"),
        "present_evidence" | "accept_decision" | "create_timeout_decision" => {
            input.pointer("/request/evidence_summary/confidence_score")
        }
        _ => None,
    };
    score.is_some_and(|score| confidence(score).is_err())
}

fn is_count(length: Option<&Value>) -> bool {
    length.is_some_and(Value::is_u64)
}

fn is_time(case: &Case, name: &str) -> bool {
    text(&case.input, name).is_ok_and(|time| time.parse::<Timestamp>().is_ok())
}

/// The recorded request with times for texts, and these decisions where they differ.
fn is_timed_request(case: &Case, answer: &Answer, allowed: Option<&Value>) -> bool {
    let Some(mut expected) = case.expect.get("ok").cloned() else { return false };
    let created = text(&case.input, "current_timestamp").map(str::parse::<Timestamp>);
    let (Ok(Ok(created)), Ok(timeout)) = (created, timeout(&case.input)) else { return false };
    expected["created_at"] = json!(created);
    expected["timeout_at"] = json!(timeout.deadline(created));
    if let Some(allowed) = allowed {
        expected["allowed_decisions"] = allowed.clone();
    }
    *answer == Answer::Value(expected)
}

/// A named human says ABORT, and the request does not list it.
fn is_unlisted_abort(case: &Case) -> bool {
    let listed = case.input.pointer("/request/allowed_decisions").and_then(Value::as_array);
    accepts(case)
        && case.input.get("decision") == Some(&json!("ABORT"))
        && text(&case.input, "human_id").is_ok_and(|human| !is_blank(human))
        && listed.is_some_and(|listed| !listed.contains(&json!("ABORT")))
}

fn has_invisible_text(case: &Case) -> bool {
    let invisible =
        |name| text(&case.input, name).is_ok_and(|t| !is_blank(t) && !has_visible_character(t));
    let decision = case.input.get("decision").and_then(Value::as_str).unwrap_or("");
    accepts(case)
        && (invisible("human_id")
            || (matches!(decision, "RETRY" | "ESCALATE") && invisible("reason"))
            || (decision == "ESCALATE" && invisible("escalation_target")))
}

fn has_broken_audit_or_record(case: &Case) -> bool {
    if case.function != "record_decision" {
        return false;
    }
    let before = field(&case.input, "audit").and_then(audit);
    let record = field(&case.input, "record").and_then(decision_record);
    let (Ok(before), Ok(record)) = (before, record) else { return true };
    let head = before.records.iter().fold(String::new(), |prior, r| record_hash(r, &prior));
    before.length != before.records.len() as u64
        || before.head_hash != head
        || is_incomplete(&record)
}

fn has_record_without_a_person(case: &Case) -> bool {
    let record = field(&case.input, "record").and_then(decision_record);
    case.function == "record_decision"
        && record.is_ok_and(|record| !has_visible_character(&record.human_id))
}

/// The seed's "Required fields".
fn is_incomplete(record: &HumanDecisionRecord) -> bool {
    let missing = |text: Option<&str>| text.is_none_or(is_blank);
    let needs_reason = matches!(record.decision, HumanDecision::Retry | HumanDecision::Escalate);
    !has_visible_character(&record.human_id)
        || (needs_reason && missing(record.reason.as_deref()))
        || (record.decision == HumanDecision::Escalate
            && missing(record.escalation_target.as_deref()))
}

fn applied(case: &Case) -> Option<HumanDecisionRecord> {
    let record = field(&case.input, "record").and_then(decision_record).ok()?;
    (case.function == "apply_decision").then_some(record)
}

fn cannot_be_applied(case: &Case) -> bool {
    let Some(record) = applied(case) else { return false };
    let halted = case.input.get("current_state") == Some(&json!("HALTED"));
    let negative = case.input.get("retry_count").and_then(Value::as_i64).is_some_and(|n| n < 0);
    match record.decision {
        HumanDecision::Abort => false,
        HumanDecision::Continue => halted || is_incomplete(&record),
        HumanDecision::Retry => halted || negative || is_incomplete(&record),
        HumanDecision::Escalate => is_incomplete(&record),
    }
}
