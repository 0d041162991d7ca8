//! The command that reports a fault (Phase-21).

use alloc::string::String;

use crate::core::ids::Entropy;
use crate::core::{bodies, commands};
use crate::execution_loop::types::Exit;
use crate::sandbox_fault::types::ExecutionFaultType;

commands! {
    /// Command on a failed attempt.
    SandboxFaultCommand {
        /// AWAITING_RESPONSE to EVALUATED: the attempt failed; let Phase-21 decide what follows.
        "sandbox_fault.report" ReportFault(ReportFault) with entropy;
    }
}

bodies! {
    /// See [`SandboxFaultCommand::ReportFault`]. The fault's id is `FAULT-` and
    /// the entropy.
    ReportFault {
        /// The loop: the execution that failed.
        loop_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// The attempt that failed; refused if it is not the one that runs.
        attempt: u8,
        /// Type of the fault.
        fault_type: ExecutionFaultType,
        /// Message about it, in words.
        fault_message: String,
        /// Exit of its process.
        exit: Exit,
    }
}
