//! The decision table of Phase-21.

use alloc::format;
use alloc::string::String;

use crate::sandbox_fault::types::{
    DEFAULT_MAX_RETRIES, ExecutionFaultType, FaultMismatch, FaultReport, RetryPolicy,
    SandboxContext, SandboxDecision, SandboxDecisionResult, classify_fault,
};

/// Decides what follows from a fault in an execution (Phase-21, section 3). First match wins:
///
/// | fault | and | decision | policy | code |
/// |---|---|---|---|---|
/// | SECURITY_VIOLATION | | TERMINATE | NO_RETRY | SBX-001 |
/// | RESOURCE_EXHAUSTED | | ESCALATE | HUMAN_DECISION | SBX-002 |
/// | PARTIAL, INVALID_RESPONSE | | TERMINATE | NO_RETRY | SBX-003 |
/// | CRASH, TIMEOUT | attempt >= limit | TERMINATE | NO_RETRY | SBX-004 |
/// | CRASH, TIMEOUT | attempt below 1, or limit above 3 | TERMINATE | NO_RETRY | SBX-006 |
/// | CRASH, TIMEOUT | another execution or attempt | TERMINATE | NO_RETRY | SBX-005 |
/// | CRASH, TIMEOUT | otherwise | RETRY | RETRY_LIMITED | SBX-OK |
///
/// The ceiling is set by the caller beforehand: RETRY_ONCE allows two attempts whatever the limit,
/// HUMAN_DECISION escalates instead of retrying, NO_RETRY terminates. It only ever narrows what the
/// fault itself allows, and RETRY_LIMITED narrows nothing.
#[must_use]
pub fn decide_sandbox_outcome(
    ceiling: RetryPolicy,
    fault: &FaultReport,
    context: &SandboxContext,
) -> SandboxDecisionResult {
    let name = fault.fault_type.name();
    if fault.fault_type == ExecutionFaultType::SecurityViolation {
        return terminate("SBX-001", format!("{name}: immediate termination"));
    }
    match classify_fault(fault.fault_type).narrowed_by(ceiling) {
        RetryPolicy::NoRetry => terminate("SBX-003", format!("{name}: not retryable")),
        RetryPolicy::HumanDecision => escalate(format!("{name}: human decision required")),
        policy @ (RetryPolicy::RetryOnce | RetryPolicy::RetryLimited) => {
            decide_retry(policy, fault, context)
        }
    }
}

/// Returns whether another attempt may follow this one. Out of bounds is no: attempts are counted
/// from 1 and a limit above [`DEFAULT_MAX_RETRIES`] is no limit.
#[must_use]
pub fn is_retry_allowed(context: &SandboxContext) -> bool {
    is_within_bounds(context) && context.attempt_number < context.max_retries
}

/// The same rule under the name that Phase-21 enforces it by.
#[must_use]
pub fn enforce_retry_limit(context: &SandboxContext) -> bool {
    is_retry_allowed(context)
}

/// Checks whether the fault happened in the execution and the attempt of this context.
///
/// # Errors
/// [`FaultMismatch`] names what was expected and what the fault says.
pub fn check_fault_identity(
    fault: &FaultReport,
    context: &SandboxContext,
) -> Result<(), FaultMismatch> {
    if fault.execution_id != context.execution_id {
        let (expected, found) = (context.execution_id.clone(), fault.execution_id.clone());
        return Err(FaultMismatch::Execution { expected, found });
    }
    let (expected, found) = (context.attempt_number, fault.attempt_number);
    if found == expected { Ok(()) } else { Err(FaultMismatch::Attempt { expected, found }) }
}

/// The rows of CRASH and TIMEOUT. `policy` is RETRY_ONCE or RETRY_LIMITED.
fn decide_retry(
    policy: RetryPolicy,
    fault: &FaultReport,
    context: &SandboxContext,
) -> SandboxDecisionResult {
    let name = fault.fault_type.name();
    let (attempt, max) = (context.attempt_number, context.max_retries);
    let is_allowed = enforce_retry_limit(context);
    if !is_allowed && attempt < max {
        let most = DEFAULT_MAX_RETRIES;
        let found = format!("{name}: attempt {attempt}/{max} is outside 1..={most}");
        return terminate("SBX-006", found);
    }
    if !is_allowed || attempt >= policy.max_attempts(DEFAULT_MAX_RETRIES) {
        return terminate("SBX-004", format!("{name}: max retries reached"));
    }
    if check_fault_identity(fault, context).is_err() {
        return terminate("SBX-005", format!("{name}: fault of another execution or attempt"));
    }
    let limit = policy.max_attempts(max);
    SandboxDecisionResult {
        decision: SandboxDecision::Retry,
        retry_policy: policy,
        reason_code: String::from("SBX-OK"),
        reason_description: format!("{name}: retry allowed (attempt {attempt}/{limit})"),
    }
}

fn is_within_bounds(context: &SandboxContext) -> bool {
    context.attempt_number >= 1 && context.max_retries <= DEFAULT_MAX_RETRIES
}

fn terminate(code: &str, description: String) -> SandboxDecisionResult {
    SandboxDecisionResult {
        decision: SandboxDecision::Terminate,
        retry_policy: RetryPolicy::NoRetry,
        reason_code: String::from(code),
        reason_description: description,
    }
}

fn escalate(description: String) -> SandboxDecisionResult {
    SandboxDecisionResult {
        decision: SandboxDecision::Escalate,
        retry_policy: RetryPolicy::HumanDecision,
        reason_code: String::from("SBX-002"),
        reason_description: description,
    }
}
