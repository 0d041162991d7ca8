//! How a loop starts and moves, and what an executor's answer is worth (Phase-28 to Phase-30).
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

/// Moves a loop. A transition that is not allowed halts it. Ask [`is_transition_allowed`] to tell
/// a wanted halt from an illegal transition, which has to be recorded with its reason.
#[must_use]
pub fn transition_execution_state(
    context: &ExecutionLoopContext,
    to_state: ExecutionLoopState,
) -> ExecutionLoopContext {
    let mut moved = context.clone();
    moved.transition(to_state);
    moved
}

/// Whether the table of Phase-29 has this transition.
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

/// What becomes of a response of this type (Phase-30).
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

/// How far a response of this type may be trusted (Phase-30).
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

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{
        decide_handshake, evaluate_executor_response, initialize_execution_loop,
        is_transition_allowed, normalize_executor_response, normalize_loop_response,
        transition_execution_state,
    };
    use crate::core::confidence::Confidence;
    use crate::core::payload::RawData;
    use crate::execution_loop::types::{
        ExecutionDecision, ExecutionLoopContext, ExecutionLoopState, ExecutorIdentity,
        ExecutorIdentityStatus, ExecutorRawResponse, ExecutorResponseType, HandshakeContext,
        HandshakeDecision, ResponseDecision,
    };

    use ExecutionDecision::{Continue, Escalate, Stop};
    use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};

    fn in_state(state: ExecutionLoopState) -> ExecutionLoopContext {
        let loop_context = initialize_execution_loop("hash", "exec-1", "00000000");
        ExecutionLoopContext { current_state: state, ..loop_context }
    }

    /// The table once more, written as the state that results: rows are `from`, columns `to`.
    #[test]
    fn table_transitions_5_by_5() {
        let to = [Init, Dispatched, AwaitingResponse, Evaluated, Halted];
        let table = [
            (Init, [Halted, Dispatched, Halted, Halted, Halted]),
            (Dispatched, [Halted, Halted, AwaitingResponse, Halted, Halted]),
            (AwaitingResponse, [Halted, Halted, Halted, Evaluated, Halted]),
            (Evaluated, [Halted, Dispatched, Halted, Halted, Halted]),
            (Halted, [Halted, Halted, Halted, Halted, Halted]),
        ];
        for (from, row) in table {
            for (to, expected) in to.into_iter().zip(row) {
                let before = in_state(from);
                let after = transition_execution_state(&before, to);
                assert_eq!(after.current_state(), expected, "{from} -> {to}");
                assert_eq!(after, ExecutionLoopContext { current_state: expected, ..before });
                let allowed = is_transition_allowed(from, to);
                assert_eq!(allowed, to == expected, "{from} -> {to}");
            }
        }
    }

    #[test]
    fn a_loop_without_envelope_or_executor_is_halted_from_the_start() {
        for (hash, executor) in [("", "exec-1"), ("hash", ""), ("", ""), (" ", "x"), ("x", "\t")] {
            let context = initialize_execution_loop(hash, executor, "00000000");
            assert_eq!(context.current_state(), Halted, "{hash:?} {executor:?}");
            assert_eq!(context.instruction_envelope_hash(), hash);
            assert_eq!(context.executor_id(), executor);
            assert_eq!(context.loop_id(), "LOOP-00000000");
        }
        assert_eq!(in_state(Init), initialize_execution_loop("hash", "exec-1", "00000000"));
    }

    #[test]
    fn table_evaluation_of_success_and_error() {
        let table = [
            (true, None, Continue, "Executor reported success"),
            (true, Some(""), Continue, "Executor reported success"),
            (true, Some("x"), Escalate, "Executor reported success with an error: x"),
            (false, None, Stop, "Executor error: None"),
            (false, Some(""), Stop, "Executor error: "),
            (false, Some("x"), Stop, "Executor error: x"),
            (false, Some("CRITICAL: x"), Escalate, "Critical error: CRITICAL: x"),
            (false, Some("critical"), Escalate, "Critical error: critical"),
            (false, Some("NOT CRITICAL"), Escalate, "Critical error: NOT CRITICAL"),
        ];
        for (success, error, decision, reason) in table {
            let result = evaluate_executor_response(success, error);
            assert_eq!(result.decision, decision, "{success} {error:?}");
            assert_eq!(result.reason, reason, "{success} {error:?}");
        }
    }

    fn handshake(executor_id: &str, envelope: &str, status: ExecutorIdentityStatus) -> bool {
        let loop_context = initialize_execution_loop("hash", "exec-1", "00000000");
        let context = HandshakeContext {
            instruction_envelope_hash: envelope.into(),
            executor_identity: ExecutorIdentity {
                executor_id: executor_id.into(),
                trust_status: status,
            },
            timestamp: "2026-01-25T16:00:00Z".into(),
        };
        decide_handshake(&loop_context, &context).decision == HandshakeDecision::Accept
    }

    #[test]
    fn only_the_registered_executor_of_this_envelope_is_accepted() {
        use ExecutorIdentityStatus::{Registered, Revoked, Unknown};
        assert!(handshake("exec-1", "hash", Registered));
        assert!(!handshake("exec-1", "hash", Unknown));
        assert!(!handshake("exec-1", "hash", Revoked));
        assert!(!handshake("evil", "hash", Registered));
        assert!(!handshake("exec-1", "other", Registered));
        assert!(!handshake("", "hash", Registered));
        assert!(!handshake("exec-1", " ", Registered));
    }

    fn response(executor: &str, hash: &str, status: ExecutorResponseType) -> ExecutorRawResponse {
        ExecutorRawResponse {
            executor_id: executor.into(),
            instruction_hash: hash.into(),
            raw_payload: RawData::from(b"SUCCESS".to_vec()),
            reported_status: status,
        }
    }

    #[test]
    fn table_response_outcome_and_trust() {
        use ExecutorResponseType::{Failure, Malformed, Partial, Success, Timeout};
        use ResponseDecision::{Accept, Escalate, Reject};
        let table = [
            (Success, Accept, 8_500),
            (Failure, Reject, 3_000),
            (Timeout, Reject, 2_000),
            (Partial, Escalate, 5_000),
            (Malformed, Reject, 1_000),
        ];
        assert_eq!(table.map(|row| row.0).as_slice(), ExecutorResponseType::ALL);
        for (status, decision, basis_points) in table {
            let result = normalize_executor_response(&response("exec-1", "h", status), "h");
            assert_eq!(result.decision, decision, "{status}");
            assert_eq!(result.confidence_score.basis_points(), basis_points, "{status}");
        }
    }

    #[test]
    fn only_the_loops_executor_is_heard() {
        let loop_context = initialize_execution_loop("h", "exec-1", "00000000");
        let hear = |executor: &str, hash: &str| {
            let raw = response(executor, hash, ExecutorResponseType::Success);
            normalize_loop_response(&loop_context, &raw)
        };
        assert_eq!(hear("exec-1", "h").decision, ResponseDecision::Accept);
        for (executor, hash) in [("evil", "h"), ("\u{200b}", "h"), (" ", "h"), ("exec-1", "x")] {
            let result = hear(executor, hash);
            assert_eq!(result.decision, ResponseDecision::Reject, "{executor:?} {hash:?}");
            assert_eq!(result.confidence_score, Confidence::ZERO);
        }
        assert!(hear("exec-1", &"h".repeat(1_000_000)).reason.len() < 100);
    }

    #[test]
    fn the_payload_decides_nothing() {
        let mut results = Vec::new();
        for payload in [b"SUCCESS".as_slice(), b"", b"\0ACCEPT"] {
            let raw_payload = RawData::from(payload.to_vec());
            let raw = response("exec-1", "h", ExecutorResponseType::Failure);
            let raw = ExecutorRawResponse { raw_payload, ..raw };
            results.push(normalize_executor_response(&raw, "h"));
        }
        results.dedup();
        assert_eq!(results.len(), 1);
    }
}
