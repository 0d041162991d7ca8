//! The functions of Phase-21.

use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, RetryPolicy, classify_fault, decide_sandbox_outcome, enforce_retry_limit,
    is_retry_allowed,
};
use serde_json::{Value, json};

use crate::decode::{Answer, Decoded, shaped, typed};

/// Runs a function; `None` if there is none of that name.
pub(crate) fn run(function: &str, input: &Value) -> Option<Decoded<Answer>> {
    Some(match function {
        "classify_fault" => typed::<ExecutionFaultType>(input, "fault_type")
            .map(|fault_type| shaped(&classify_fault(fault_type))),
        "is_retry_allowed" => {
            typed(input, "context").map(|context| shaped(&is_retry_allowed(&context)))
        }
        "enforce_retry_limit" => {
            typed(input, "context").map(|context| shaped(&enforce_retry_limit(&context)))
        }
        "decide_sandbox_outcome" => typed(input, "fault").and_then(|fault| {
            let context = typed(input, "context")?;
            let outcome = decide_sandbox_outcome(RetryPolicy::RetryLimited, &fault, &context);
            // Recorded under a name that no other decision has.
            Ok(shaped(&json!({
                "decision": outcome.decision,
                "retry_policy": outcome.retry_policy,
                "reason_code": outcome.reason_code,
                "reason_description": outcome.reason_description,
            })))
        }),
        _ => return None,
    })
}
