//! Start and moves of a loop, and the worth of an executor's answer (Phase-28 to Phase-30).
//!
//! A handshake proves that an executor is eligible and grants no authority. Its response is data,
//! not truth.

use alloc::format;
use alloc::string::String;

use crate::core::confidence::Confidence;
use crate::core::ids::id;
use crate::core::text::{MAX_IDENTIFIER_BYTES, is_blank};
use crate::execution_loop::types::{
    ALLOWED_TRANSITIONS, ExecutionDecision, ExecutionEvaluationResult, ExecutionLoopContext,
    ExecutionLoopState, ExecutorIdentityStatus, ExecutorRawResponse, ExecutorResponseType,
    HandshakeContext, HandshakeDecision, HandshakeResult, NormalizedExecutionResult,
    ResponseDecision,
};

/// Starts a loop in INIT, or HALTED when the envelope hash or the executor is missing. Missing
/// means blank, as in the other phases; the reference of Phase-29 starts a loop on `" "`.
#[must_use]
pub fn initialize_execution_loop(
    instruction_envelope_hash: &str,
    executor_id: &str,
    entropy: &str,
) -> ExecutionLoopContext {
    let missing = is_blank(instruction_envelope_hash) || is_blank(executor_id);
    ExecutionLoopContext {
        loop_id: id("LOOP-", entropy),
        instruction_envelope_hash: String::from(instruction_envelope_hash),
        current_state: if missing { ExecutionLoopState::Halted } else { ExecutionLoopState::Init },
        executor_id: String::from(executor_id),
    }
}

/// Moves a loop, and says whether the table allows it. A transition that is not allowed halts the
/// loop, and has to be recorded with its reason.
pub fn transition_execution_state(
    context: &mut ExecutionLoopContext,
    to_state: ExecutionLoopState,
) -> bool {
    let is_allowed = is_transition_allowed(context.current_state, to_state);
    context.current_state = if is_allowed { to_state } else { ExecutionLoopState::Halted };
    is_allowed
}

/// Returns whether the table of Phase-29 has this transition.
#[must_use]
pub fn is_transition_allowed(from: ExecutionLoopState, to: ExecutionLoopState) -> bool {
    ALLOWED_TRANSITIONS.contains(&(from, to))
}

/// Decides whether this executor may be given this loop's envelope: registered, named, the
/// loop's own executor, and holding exactly the loop's envelope. Everything else is REJECT.
#[must_use]
pub fn decide_handshake(
    loop_context: &ExecutionLoopContext,
    handshake: &HandshakeContext,
) -> HandshakeResult {
    let (decision, reason) = match handshake_fault(loop_context, handshake) {
        None => (HandshakeDecision::Accept, "Executor is registered and bound to the envelope"),
        Some(fault) => (HandshakeDecision::Reject, fault),
    };
    HandshakeResult { decision, reason: String::from(reason) }
}

fn handshake_fault(
    loop_context: &ExecutionLoopContext,
    handshake: &HandshakeContext,
) -> Option<&'static str> {
    let identity = &handshake.executor_identity;
    if is_blank(&identity.executor_id) || is_blank(&handshake.instruction_envelope_hash) {
        return Some("Executor id or envelope hash is missing");
    }
    if is_blank(&handshake.timestamp) {
        return Some("Timestamp is missing");
    }
    match identity.trust_status {
        ExecutorIdentityStatus::Unknown => return Some("Executor is not registered"),
        ExecutorIdentityStatus::Revoked => return Some("Executor registration was revoked"),
        ExecutorIdentityStatus::Registered => {}
    }
    if identity.executor_id != loop_context.executor_id() {
        return Some("Executor is not the executor of this loop");
    }
    if handshake.instruction_envelope_hash != loop_context.instruction_envelope_hash() {
        return Some("Envelope hash differs from the envelope of this loop");
    }
    None
}

/// Decides what becomes of a response of this type (Phase-30).
#[must_use]
pub const fn decide_response_outcome(response_type: ExecutorResponseType) -> ResponseDecision {
    match response_type {
        ExecutorResponseType::Success => ResponseDecision::Accept,
        ExecutorResponseType::Partial => ResponseDecision::Escalate,
        ExecutorResponseType::Failure
        | ExecutorResponseType::Timeout
        | ExecutorResponseType::Malformed => ResponseDecision::Reject,
    }
}

/// Decides how far a response of this type may be trusted (Phase-30).
#[must_use]
pub const fn evaluate_response_trust(response_type: ExecutorResponseType) -> Confidence {
    Confidence::literal(match response_type {
        ExecutorResponseType::Success => 8_500,
        ExecutorResponseType::Failure => 3_000,
        ExecutorResponseType::Timeout => 2_000,
        ExecutorResponseType::Partial => 5_000,
        ExecutorResponseType::Malformed => 1_000,
    })
}

/// Normalizes a response to the instruction with `expected_hash`. First match wins: a missing
/// executor, a missing hash, another hash (compared exactly), then the table.
#[must_use]
pub fn normalize_executor_response(
    raw: &ExecutorRawResponse,
    expected_hash: &str,
) -> NormalizedExecutionResult {
    if is_blank(&raw.executor_id) {
        return rejected(String::from("MALFORMED: Missing or empty executor_id"));
    }
    if is_blank(&raw.instruction_hash) {
        return rejected(String::from("MALFORMED: Missing or empty instruction_hash"));
    }
    let actual = &raw.instruction_hash;
    if actual != expected_hash {
        let expected = expected_hash;
        return rejected(format!("Instruction hash mismatch: expected {expected}, got {actual}"));
    }
    NormalizedExecutionResult {
        decision: decide_response_outcome(raw.reported_status),
        reason: String::from(status_reason(raw.reported_status)),
        confidence_score: evaluate_response_trust(raw.reported_status),
    }
}

/// Normalizes a response to a loop: only the loop's own executor is heard, and a hash too long to
/// be one is not quoted. Then [`normalize_executor_response`] with the loop's envelope hash.
#[must_use]
pub fn normalize_loop_response(
    loop_context: &ExecutionLoopContext,
    raw: &ExecutorRawResponse,
) -> NormalizedExecutionResult {
    if !is_blank(&raw.executor_id) && raw.executor_id != loop_context.executor_id() {
        return rejected(String::from("Executor mismatch: not the executor of this loop"));
    }
    if raw.instruction_hash.len() > MAX_IDENTIFIER_BYTES {
        return rejected(String::from("MALFORMED: instruction_hash is too long"));
    }
    normalize_executor_response(raw, loop_context.instruction_envelope_hash())
}

fn rejected(reason: String) -> NormalizedExecutionResult {
    let (decision, confidence_score) = (ResponseDecision::Reject, Confidence::ZERO);
    NormalizedExecutionResult { decision, reason, confidence_score }
}

const fn status_reason(status: ExecutorResponseType) -> &'static str {
    match status {
        ExecutorResponseType::Success => "Executor reported success (requires verification)",
        ExecutorResponseType::Failure => "Executor reported failure",
        ExecutorResponseType::Timeout => "Executor timed out",
        ExecutorResponseType::Partial => {
            "Executor reported partial completion - escalating to human"
        }
        ExecutorResponseType::Malformed => "Executor reported MALFORMED response",
    }
}

/// Evaluates a report. Success without an error is CONTINUE. Success *with* an error contradicts
/// itself and is ESCALATE. An error that says CRITICAL, in any case, is ESCALATE; the word alone
/// decides, because a false alarm costs a look and a missed one costs more. Any other error, and
/// an absent one, is STOP.
#[must_use]
pub fn evaluate_executor_response(success: bool, error: Option<&str>) -> ExecutionEvaluationResult {
    use ExecutionDecision::{Continue, Escalate, Stop};
    let error_text = error.unwrap_or("");
    let (decision, reason) = match (success, error_text) {
        (true, "") => (Continue, String::from("Executor reported success")),
        (true, error) => (Escalate, format!("Executor reported success with an error: {error}")),
        (false, error) if says_critical(error) => (Escalate, format!("Critical error: {error}")),
        (false, _) => (Stop, format!("Executor error: {}", error.unwrap_or("None"))),
    };
    ExecutionEvaluationResult { decision, reason }
}

fn says_critical(error: &str) -> bool {
    error.to_ascii_uppercase().contains("CRITICAL")
}
