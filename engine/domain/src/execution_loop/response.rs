//! What an executor's response is worth (Phase-30): data, not truth.

use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use super::ExecutionLoopContext;
use crate::closed::closed_enum;
use crate::confidence::Confidence;
use crate::evidence_capture::RawData;
use crate::text::{MAX_IDENTIFIER_BYTES, is_blank};

closed_enum! {
    /// What the executor reported.
    pub enum ExecutorResponseType {
        /// It says it succeeded.
        Success = "SUCCESS",
        /// It says it failed.
        Failure = "FAILURE",
        /// It did not answer in time.
        Timeout = "TIMEOUT",
        /// It says it finished in part.
        Partial = "PARTIAL",
        /// Its answer could not be read.
        Malformed = "MALFORMED",
    }
}

closed_enum! {
    /// What becomes of a response.
    pub enum ResponseDecision {
        /// Taken as it is, subject to verification.
        Accept = "ACCEPT",
        /// Not taken.
        Reject = "REJECT",
        /// A human has to look.
        Escalate = "ESCALATE",
    }
}

/// A response as it came in. The payload is opaque: it is never read to decide anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorRawResponse {
    /// Who answers.
    pub executor_id: String,
    /// The hash of the instruction that is answered.
    pub instruction_hash: String,
    /// The answer itself.
    pub raw_payload: RawData,
    /// What the executor says about it.
    pub reported_status: ExecutorResponseType,
}

/// A response after normalization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NormalizedExecutionResult {
    /// ACCEPT, REJECT or ESCALATE.
    pub decision: ResponseDecision,
    /// Why. A mismatch quotes both hashes word for word: show it through
    /// [`crate::text::visible`].
    pub reason: String,
    /// How far the result may be trusted.
    pub confidence_score: Confidence,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution_loop::initialize_execution_loop;
    use alloc::vec::Vec;

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
