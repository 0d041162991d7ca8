//! The types of Phase-21, and which faults may be retried how often.

use alloc::string::String;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::core::closed_enum;

closed_enum! {
    /// Fault of an execution. None of them is success.
    pub enum ExecutionFaultType {
        /// It died.
        Crash = "CRASH",
        /// It did not end in time.
        Timeout = "TIMEOUT",
        /// Its output is incomplete.
        Partial = "PARTIAL",
        /// Its output is not what it should be.
        InvalidResponse = "INVALID_RESPONSE",
        /// It used up what it was given.
        ResourceExhausted = "RESOURCE_EXHAUSTED",
        /// It tried what it may not do.
        SecurityViolation = "SECURITY_VIOLATION",
    }
}

closed_enum! {
    /// Consequence of a fault.
    pub enum SandboxDecision {
        /// The execution is over.
        Terminate = "TERMINATE",
        /// The same execution may be tried again: a permission. Where a hold applies, a human
        /// still decides.
        Retry = "RETRY",
        /// A human has to decide.
        Escalate = "ESCALATE",
    }
}

/// One attempt at one execution. The numbers keep the whole range of their type, so that a number
/// out of bounds is judged (and never retried) instead of lost in conversion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxContext {
    /// The execution.
    pub execution_id: String,
    /// The instruction it executes.
    pub instruction_id: String,
    /// Number of this attempt, counted from 1.
    pub attempt_number: i64,
    /// Number of attempts there may be in all: 1 to [`DEFAULT_MAX_RETRIES`].
    pub max_retries: i64,
    /// Time that an attempt may take, in milliseconds.
    pub timeout_ms: i64,
    /// Time when the attempt started, as ISO-8601 text.
    pub timestamp: String,
}

/// A fault as it was reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FaultReport {
    /// The fault.
    pub fault_id: String,
    /// The execution it happened in.
    pub execution_id: String,
    /// Kind of fault.
    pub fault_type: ExecutionFaultType,
    /// Message about it. Data, never read to decide anything.
    pub fault_message: String,
    /// Time when it happened, as ISO-8601 text.
    pub occurred_at: String,
    /// The attempt it happened in, counted from 1.
    pub attempt_number: i64,
}

/// Consequence of a fault, with the policy that was applied and a stable reason code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxDecisionResult {
    /// TERMINATE, RETRY or ESCALATE; as it is recorded, `sandbox_decision`.
    #[serde(rename = "sandbox_decision")]
    pub decision: SandboxDecision,
    /// The policy in force; `NO_RETRY` once nothing is left to retry.
    pub retry_policy: RetryPolicy,
    /// `SBX-OK`, or `SBX-001` to `SBX-006`.
    pub reason_code: String,
    /// The reason as a sentence.
    pub reason_description: String,
}

/// A fault that is not of the execution, or not of the attempt, that it is judged in.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultMismatch {
    /// Another execution.
    #[error("the fault is of another execution; report it to the loop it happened in")]
    Execution {
        /// The execution that is judged.
        expected: String,
        /// The execution that the fault names.
        found: String,
    },
    /// Another attempt.
    #[error("the fault is of attempt {found}, but attempt {expected} is running; report it once")]
    Attempt {
        /// The attempt that is judged.
        expected: i64,
        /// The attempt that the fault names.
        found: i64,
    },
}

/// The most attempts that an execution may have, the first included. The seed's "Max 3" and the
/// name `max_retries` count *attempts*: attempts are numbered from 1, so with 3 the first two may
/// be followed by another and the third may not.
pub const DEFAULT_MAX_RETRIES: i64 = 3;

closed_enum! {
    /// Number of times an execution may be tried again after a fault.
    pub enum RetryPolicy {
        /// Never: one attempt.
        NoRetry = "NO_RETRY",
        /// Once, whatever the limit: two attempts.
        RetryOnce = "RETRY_ONCE",
        /// Up to the limit of the context.
        RetryLimited = "RETRY_LIMITED",
        /// Only a human may allow another attempt.
        HumanDecision = "HUMAN_DECISION",
    }
}

impl RetryPolicy {
    /// Counts the attempts this policy allows without a human under a limit of `max_retries`.
    #[must_use]
    pub const fn max_attempts(self, max_retries: i64) -> i64 {
        let most = match self {
            Self::NoRetry | Self::HumanDecision => 1,
            Self::RetryOnce => 2,
            Self::RetryLimited => DEFAULT_MAX_RETRIES,
        };
        if max_retries < most { max_retries } else { most }
    }

    /// The stricter of two policies: a caller can narrow what a fault allows, never widen it.
    /// From strict to lenient: NO_RETRY, HUMAN_DECISION, RETRY_ONCE, RETRY_LIMITED.
    #[must_use]
    pub const fn narrowed_by(self, other: Self) -> Self {
        if self.leniency() <= other.leniency() { self } else { other }
    }

    const fn leniency(self) -> u8 {
        match self {
            Self::NoRetry => 0,
            Self::HumanDecision => 1,
            Self::RetryOnce => 2,
            Self::RetryLimited => 3,
        }
    }
}

/// The policy for a fault. RETRY_ONCE is no fault's own policy: callers choose it as a ceiling,
/// see [`decide_sandbox_outcome`](crate::sandbox_fault::decide_sandbox_outcome).
#[must_use]
pub const fn classify_fault(fault_type: ExecutionFaultType) -> RetryPolicy {
    match fault_type {
        ExecutionFaultType::Crash | ExecutionFaultType::Timeout => RetryPolicy::RetryLimited,
        ExecutionFaultType::ResourceExhausted => RetryPolicy::HumanDecision,
        ExecutionFaultType::Partial
        | ExecutionFaultType::InvalidResponse
        | ExecutionFaultType::SecurityViolation => RetryPolicy::NoRetry,
    }
}
