//! The states of an execution loop, the one table of its transitions, and what an executor says
//! and is told (Phase-28 to Phase-30).

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::core::closed_enum;
use crate::core::confidence::Confidence;
use crate::core::payload::RawData;

use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};

closed_enum! {
    /// State of an execution loop.
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

closed_enum! {
    /// Fate of a command whose output cannot be recorded, because the disk is full.
    #[derive(Default)]
    pub enum OnFull {
        /// It is ended.
        #[default]
        Stop = "stop",
        /// It runs on. What it prints meanwhile is missing, and the record says how much.
        Continue = "continue",
    }
}

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

/// An execution loop at one moment. Frozen: nothing outside this module can set the state, so a
/// HALTED loop cannot be copied back to life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionLoopContext {
    pub(crate) loop_id: String,
    pub(crate) instruction_envelope_hash: String,
    pub(crate) current_state: ExecutionLoopState,
    pub(crate) executor_id: String,
}

impl ExecutionLoopContext {
    /// `LOOP-` and the entropy it was made with.
    #[must_use]
    pub fn loop_id(&self) -> &str {
        &self.loop_id
    }

    /// The hash of the exact instruction that may be executed.
    #[must_use]
    pub fn instruction_envelope_hash(&self) -> &str {
        &self.instruction_envelope_hash
    }

    /// Returns the state of the loop.
    #[must_use]
    pub const fn current_state(&self) -> ExecutionLoopState {
        self.current_state
    }

    /// The only executor whose response counts.
    #[must_use]
    pub fn executor_id(&self) -> &str {
        &self.executor_id
    }
}

closed_enum! {
    /// Status of an executor's identity.
    pub enum ExecutorIdentityStatus {
        /// Nothing is known.
        Unknown = "UNKNOWN",
        /// The executor is registered.
        Registered = "REGISTERED",
        /// The registration was withdrawn.
        Revoked = "REVOKED",
    }
}

closed_enum! {
    /// The outcome of a handshake. A loop whose handshake was rejected halts.
    pub enum HandshakeDecision {
        /// The executor is eligible for this envelope.
        Accept = "ACCEPT",
        /// Anything else: ambiguity is rejection.
        Reject = "REJECT",
    }
}

/// An executor as it presents itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorIdentity {
    /// Its id.
    pub executor_id: String,
    /// Status of its identity.
    pub trust_status: ExecutorIdentityStatus,
}

/// Values that are compared in a handshake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeContext {
    /// The hash of the envelope that the executor says it holds.
    pub instruction_envelope_hash: String,
    /// The executor.
    pub executor_identity: ExecutorIdentity,
    /// Time, as ISO-8601 text.
    pub timestamp: String,
}

/// A handshake decision and its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandshakeResult {
    /// ACCEPT or REJECT.
    pub decision: HandshakeDecision,
    /// Why, as a fixed sentence.
    pub reason: String,
}

closed_enum! {
    /// Report of the executor.
    pub enum ExecutorResponseType {
        /// It says it succeeded.
        Success = "SUCCESS",
        /// It says it failed.
        Failure = "FAILURE",
        /// It did not answer in time.
        Timeout = "TIMEOUT",
        /// It says it finished in part.
        Partial = "PARTIAL",
        /// Its answer could not be read.
        Malformed = "MALFORMED",
    }
}

closed_enum! {
    /// Outcome of a response.
    pub enum ResponseDecision {
        /// Taken as it is, subject to verification.
        Accept = "ACCEPT",
        /// Not taken.
        Reject = "REJECT",
        /// A human has to look.
        Escalate = "ESCALATE",
    }
}

/// A response as it came in. The payload is opaque: it is never read to decide anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutorRawResponse {
    /// Executor that answers.
    pub executor_id: String,
    /// The hash of the instruction that is answered.
    pub instruction_hash: String,
    /// The answer itself.
    pub raw_payload: RawData,
    /// Report of the executor about it.
    pub reported_status: ExecutorResponseType,
}

/// A response after normalization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NormalizedExecutionResult {
    /// ACCEPT, REJECT or ESCALATE.
    pub decision: ResponseDecision,
    /// Why. A mismatch quotes both hashes word for word: show it through
    /// [`visible`](crate::core::text::visible).
    pub reason: String,
    /// Degree to which the result may be trusted.
    pub confidence_score: Confidence,
}

closed_enum! {
    /// Continuation of a loop after an evaluation. CONTINUE here is the loop's own and never stands
    /// for the CONTINUE of a human.
    pub enum ExecutionDecision {
        /// The loop may go on.
        Continue = "CONTINUE",
        /// The loop ends.
        Stop = "STOP",
        /// A human has to look.
        Escalate = "ESCALATE",
    }
}

/// An evaluation and its reason. The reason quotes what the executor said, word for word: show it
/// through [`visible`](crate::core::text::visible).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionEvaluationResult {
    /// CONTINUE, STOP or ESCALATE.
    pub decision: ExecutionDecision,
    /// Why.
    pub reason: String,
}

closed_enum! {
    /// Why a loop is HALTED. Closed.
    pub enum HaltReason {
        /// It finished well: the last response was accepted. No stop condition.
        Completed = "COMPLETED",
        /// It finished, and the last response was rejected.
        ResponseRejected = "RESPONSE_REJECTED",
        /// It finished, and the last response needed a person.
        ResponseEscalated = "RESPONSE_ESCALATED",
        /// Phase-21 decided TERMINATE.
        FaultTerminated = "FAULT_TERMINATED",
        /// Phase-21 decided ESCALATE, and nothing was done about it.
        FaultEscalated = "FAULT_ESCALATED",
        /// Phase-21 permitted a retry and it was not taken.
        FaultNotRetried = "FAULT_NOT_RETRIED",
        /// One of the ten stop conditions.
        StopCondition = "STOP_CONDITION",
        /// A transition that the table does not allow was asked for.
        IllegalTransition = "ILLEGAL_TRANSITION",
        /// The Phase-28 handshake failed.
        HandshakeFailed = "HANDSHAKE_FAILED",
        /// A person was asked and nobody answered in time (Phase-32: ABORT, reason TIMEOUT).
        HumanDecisionTimedOut = "DECISION_TIMED_OUT",
        /// A signal that is not known to be a person's asked for the end. No stop condition.
        Interrupted = "INTERRUPTED",
        /// The process that recorded it is gone, and how it went on is not known.
        RecorderLost = "RECORDER_LOST",
    }
}

/// End of an executor's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Not a process, or it is not known.
    Unknown,
    /// It returned this status.
    Status(i32),
    /// This signal killed it.
    Signal(i32),
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::one_of! {
    Exit:
    |_| Ok(Exit::Unknown),
    |input| input.arbitrary().map(Exit::Status),
    |input| input.arbitrary().map(Exit::Signal),
}
