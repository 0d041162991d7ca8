//! The closed enums of Phase-31.

use crate::closed::closed_enum;

closed_enum! {
    /// Where in the execution loop something is observed.
    pub enum ObservationPoint {
        /// Before INIT -> DISPATCHED.
        PreDispatch = "PRE_DISPATCH",
        /// After the dispatch.
        PostDispatch = "POST_DISPATCH",
        /// Before AWAITING_RESPONSE -> EVALUATED.
        PreEvaluate = "PRE_EVALUATE",
        /// After EVALUATED, before the loop goes on or halts.
        PostEvaluate = "POST_EVALUATE",
        /// Any state -> HALTED.
        HaltEntry = "HALT_ENTRY",
    }
}

closed_enum! {
    /// What kind of evidence is captured.
    pub enum EvidenceType {
        /// A change of the execution state.
        StateTransition = "STATE_TRANSITION",
        /// What the executor put out, raw.
        ExecutorOutput = "EXECUTOR_OUTPUT",
        /// A timed observation.
        TimestampEvent = "TIMESTAMP_EVENT",
        /// Resource metrics.
        ResourceSnapshot = "RESOURCE_SNAPSHOT",
        /// What triggered a halt.
        StopCondition = "STOP_CONDITION",
    }
}

closed_enum! {
    /// What halts a loop at once. [`super::STOP_TRIGGERS`] says what triggers each.
    pub enum StopCondition {
        /// Nobody authorized the execution.
        MissingAuthorization = "MISSING_AUTHORIZATION",
        /// The executor is not known.
        ExecutorNotRegistered = "EXECUTOR_NOT_REGISTERED",
        /// The instruction is not the one that was authorized.
        EnvelopeHashMismatch = "ENVELOPE_HASH_MISMATCH",
        /// There is no usable observation context.
        ContextUninitialized = "CONTEXT_UNINITIALIZED",
        /// The evidence chain does not verify.
        EvidenceChainBroken = "EVIDENCE_CHAIN_BROKEN",
        /// A resource limit was exceeded.
        ResourceLimitExceeded = "RESOURCE_LIMIT_EXCEEDED",
        /// A time is no time, or goes backwards.
        TimestampInvalid = "TIMESTAMP_INVALID",
        /// An earlier execution has not ended.
        PriorExecutionPending = "PRIOR_EXECUTION_PENDING",
        /// What is wanted is not clear.
        AmbiguousIntent = "AMBIGUOUS_INTENT",
        /// A human said stop.
        HumanAbort = "HUMAN_ABORT",
    }
}
