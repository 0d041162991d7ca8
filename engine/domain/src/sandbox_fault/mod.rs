//! Runtime sandbox and fault isolation (Phase-21): what follows when an execution goes wrong.
//!
//! A fault never ends in more than it started with. The outcome of a fault is TERMINATE, RETRY of
//! the very same execution, or ESCALATE to a human; none of them can name another instruction,
//! another executor, a longer timeout or a higher limit, because a [`SandboxDecisionResult`] has
//! no field for any of these. RETRY is a permission, not an order.

mod decide;
mod policy;
mod types;

pub use decide::{
    check_fault_identity, decide_sandbox_outcome, decide_sandbox_outcome_within,
    enforce_retry_limit, is_retry_allowed,
};
pub use policy::{DEFAULT_MAX_RETRIES, RetryPolicy, classify_fault};
pub use types::{
    ExecutionFaultType, FaultMismatch, FaultReport, SandboxContext, SandboxDecision,
    SandboxDecisionResult,
};
