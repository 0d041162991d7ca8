//! Events of attempts that failed (seed Phase-21). Kinds 96 to 127.

use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::core::{events, recorded};
use crate::sandbox_fault::types::{ExecutionFaultType, RetryPolicy, SandboxDecision};

events! {
    /// Event of a failed attempt.
    SandboxFaultEvent of "sandbox_fault" kinds 96..=127, {
        /// An attempt failed.
        96 v 1 "sandbox_fault.fault_reported" => FaultReported;
        /// It was decided what becomes of a failed attempt.
        97 v 1 "sandbox_fault.sandbox_decided" => SandboxDecided;
    }
    /// The loop that the event is about.
    pub fn loop_id(body) -> &str { &body.loop_id }
}

recorded! {
    /// An attempt failed.
    FaultReported {
        /// `FAULT-` and 128 random bits.
        fault_id: Text,
        /// The execution that failed: the loop's id.
        loop_id: Text,
        /// The attempt that failed.
        attempt: u8,
        /// Type of the fault.
        fault_type: ExecutionFaultType,
        /// Message of the executor or its guard, control characters visible.
        fault_message: Text,
        /// Time.
        occurred_at: Timestamp,
    }

    /// Phase-21 decided what becomes of a failed attempt. RETRY is a permission, not a retry.
    SandboxDecided {
        /// The loop.
        loop_id: Text,
        /// The fault that is decided on.
        fault_id: Text,
        /// The attempt that failed.
        attempt: u8,
        /// TERMINATE, RETRY or ESCALATE.
        sandbox_decision: SandboxDecision,
        /// Under which policy.
        retry_policy: RetryPolicy,
        /// `SBX-...`.
        reason_code: Text,
        /// Why, in words.
        reason_description: Text,
    }
}
