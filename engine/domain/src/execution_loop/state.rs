//! The states of an execution loop and the one table of its transitions (Phase-29).

use crate::closed::closed_enum;

closed_enum! {
    /// Where an execution loop is.
    pub enum ExecutionLoopState {
        /// Made, not yet dispatched.
        Init = "INIT",
        /// The instruction was handed to the executor.
        Dispatched = "DISPATCHED",
        /// The executor is at work.
        AwaitingResponse = "AWAITING_RESPONSE",
        /// Its response was evaluated.
        Evaluated = "EVALUATED",
        /// Over, for ever.
        Halted = "HALTED",
    }
}

use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};

/// Every allowed transition (Phase-29). Any pair that is not here leads to HALTED.
pub const ALLOWED_TRANSITIONS: [(ExecutionLoopState, ExecutionLoopState); 9] = [
    (Init, Dispatched),
    (Init, Halted),
    (Dispatched, AwaitingResponse),
    (Dispatched, Halted),
    (AwaitingResponse, Evaluated),
    (AwaitingResponse, Halted),
    (Evaluated, Dispatched),
    (Evaluated, Halted),
    (Halted, Halted),
];
