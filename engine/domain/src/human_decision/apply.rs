//! Whether a decision can be applied (Phase-32). Nothing is executed here.

use super::{DecisionOutcome, DecisionRecord, HumanDecision};
use crate::execution_loop::ExecutionLoopState;

/// What becomes of a decision in this state, after so many retries of so many.
///
/// | decision | APPLIED | PENDING | REJECTED |
/// |---|---|---|---|
/// | ABORT | always; of a timeout: TIMEOUT | | |
/// | CONTINUE | loop not HALTED | | HALTED |
/// | RETRY | reason, not HALTED, 0 <= count < max | | otherwise |
/// | ESCALATE | | reason and target, in any state | otherwise |
///
/// A record that lacks what its decision requires is REJECTED, except ABORT. That nobody is asked
/// about a HALTED loop, and that the target is one that can be asked, is for the command to see to.
#[must_use]
pub fn apply_decision(
    record: &DecisionRecord,
    current_state: ExecutionLoopState,
    retry_count: i64,
    max_retries: i64,
) -> DecisionOutcome {
    let is_complete = record.check().is_ok();
    let stands = is_complete && current_state != ExecutionLoopState::Halted;
    match record.decision {
        HumanDecision::Abort if record.is_timeout() => DecisionOutcome::Timeout,
        HumanDecision::Abort => DecisionOutcome::Applied,
        HumanDecision::Continue if stands => DecisionOutcome::Applied,
        HumanDecision::Retry if stands && (0..max_retries).contains(&retry_count) => {
            DecisionOutcome::Applied
        }
        HumanDecision::Escalate if is_complete => DecisionOutcome::Pending,
        HumanDecision::Continue | HumanDecision::Retry | HumanDecision::Escalate => {
            DecisionOutcome::Rejected
        }
    }
}
