//! What happened to attempts that failed (seed Phase-21). Kinds 96 to 127.

use serde::{Deserialize, Serialize};

use crate::core::events;
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::sandbox_fault::types::{ExecutionFaultType, RetryPolicy, SandboxDecision};

events! {
    /// What happened to an attempt that failed.
    SandboxFaultEvent of "sandbox_fault" kinds 96..=127, {
        /// An attempt failed.
        96 v 1 "sandbox_fault.fault_reported" => FaultReported;
        /// It was decided what becomes of a failed attempt.
        97 v 1 "sandbox_fault.sandbox_decided" => SandboxDecided;
    }
    /// The loop that the event is about.
    pub fn loop_id(body) -> &str { &body.loop_id }
}

/// An attempt failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultReported {
    /// `FAULT-` and 128 random bits.
    pub fault_id: Text,
    /// The execution that failed: the loop's id.
    pub loop_id: Text,
    /// The attempt that failed.
    pub attempt: u8,
    /// How.
    pub fault_type: ExecutionFaultType,
    /// What the executor or its guard said, control characters visible.
    pub fault_message: Text,
    /// When.
    pub occurred_at: Timestamp,
}

/// Phase-21 decided what becomes of a failed attempt. RETRY is a permission, not a retry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SandboxDecided {
    /// The loop.
    pub loop_id: Text,
    /// The fault that is decided on.
    pub fault_id: Text,
    /// The attempt that failed.
    pub attempt: u8,
    /// TERMINATE, RETRY or ESCALATE.
    pub sandbox_decision: SandboxDecision,
    /// Under which policy.
    pub retry_policy: RetryPolicy,
    /// `SBX-...`.
    pub reason_code: Text,
    /// Why, in words.
    pub reason_description: Text,
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::made_of! {
    FaultReported { fault_id, loop_id, attempt, fault_type, fault_message, occurred_at }
    SandboxDecided {
        loop_id, fault_id, attempt, sandbox_decision, retry_policy, reason_code,
        reason_description,
    }
}
