//! The command that reports a fault (Phase-21).

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::core::ids::Entropy;
use crate::execution_loop::types::Exit;
use crate::sandbox_fault::types::ExecutionFaultType;

/// See [`Command::ReportFault`](crate::Command::ReportFault). The fault's id is `FAULT-` and the
/// entropy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ReportFault {
    /// Which loop: the execution that failed.
    pub loop_id: String,
    /// Fresh random bits.
    #[serde(default)]
    pub entropy: Entropy,
    /// The attempt that failed; refused if it is not the one that runs.
    pub attempt: u8,
    /// How it failed.
    pub fault_type: ExecutionFaultType,
    /// What is said about it, in words.
    pub fault_message: String,
    /// How its process ended.
    pub exit: Exit,
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::made_of! {
    ReportFault { loop_id, entropy, attempt, fault_type, fault_message, exit }
}
