//! Which faults may be retried, and how often (Phase-21).

use super::ExecutionFaultType;
use crate::closed::closed_enum;

/// The most attempts that an execution may have, the first included. The seed's "Max 3" and the
/// name `max_retries` count *attempts*: attempts are numbered from 1, so with 3 the first two may
/// be followed by another and the third may not.
pub const DEFAULT_MAX_RETRIES: i64 = 3;

closed_enum! {
    /// How often an execution may be tried again after a fault.
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
    /// How many attempts this policy allows without a human under a limit of `max_retries`.
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
/// see [`super::decide_sandbox_outcome_within`].
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
