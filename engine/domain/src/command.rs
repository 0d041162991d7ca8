//! Requests that the rules may refuse. Ids, randomness and facts about the world outside arrive
//! here as arguments (property E4); `decide` mints and looks up nothing.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::event::{
    ClockStepped, Exit, HeadMissingAccepted, OutputStream, RecoveryPerformed, ResourceUsage,
};
use crate::evidence_capture::{StopCondition, StopFacts};
use crate::execution_loop::{ExecutorIdentityStatus, ExecutorResponseType};
use crate::hash::Digest;
use crate::limits::ENTROPY_BYTES;
use crate::sandbox_fault::{ExecutionFaultType, RetryPolicy};

/// A request. Closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Create a loop in INIT, shake hands with its executor, attach its observer.
    InitializeLoop(InitializeLoop),
    /// INIT to DISPATCHED: the first attempt. All ten stop conditions are checked.
    DispatchLoop(DispatchLoop),
    /// DISPATCHED to AWAITING_RESPONSE.
    AwaitResponse(AwaitResponse),
    /// Capture raw evidence at the observation point that the loop's state stands for.
    CaptureEvidence(CaptureEvidence),
    /// AWAITING_RESPONSE to EVALUATED: normalize and evaluate a response.
    ReportResponse(ReportResponse),
    /// AWAITING_RESPONSE to EVALUATED: the attempt failed; let Phase-21 decide what follows.
    ReportFault(ReportFault),
    /// EVALUATED to DISPATCHED: the next attempt, where a decision permits it. All ten stop
    /// conditions are checked.
    RetryLoop(DispatchLoop),
    /// EVALUATED to HALTED, with the reason that the last evaluation gives.
    CompleteLoop(CompleteLoop),
    /// Any state to HALTED by one of the ten stop conditions.
    StopLoop(StopLoop),
    /// Record what happened to the log itself.
    RecordSystemEvent(SystemEvent),
    /// Record the fingerprint of the state before this record.
    RecordFingerprint,
}

/// 128 random bits, supplied by whoever issues a command. Every id that the command brings into
/// the world is made of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entropy([u8; ENTROPY_BYTES]);

impl Entropy {
    /// Entropy of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; ENTROPY_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; ENTROPY_BYTES] {
        &self.0
    }
}

/// As 32 lower-case hexadecimal digits.
impl fmt::Display for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base16ct::lower::encode_string(&self.0))
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Entropy({self})")
    }
}

/// See [`Command::InitializeLoop`]. The new loop's id is `LOOP-` and the entropy, its observer's
/// `OBS-` and its chain's `CHAIN-` with the same digits; see [`InitializeLoop::loop_id`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InitializeLoop {
    /// Fresh random bits.
    pub entropy: Entropy,
    /// Who will execute.
    pub executor_id: String,
    /// The instruction envelope, canonically encoded: captured as PRE_DISPATCH evidence.
    pub envelope: Vec<u8>,
    /// SHA-256 of the envelope, lower-case hex. Checked against the bytes.
    pub instruction_envelope_hash: String,
    /// The instruction as a person may read it, already redacted.
    pub command_line: String,
    /// How many attempts there may be, 1 to 3.
    pub max_attempts: u8,
    /// What a caller allows at most after a fault; it can only narrow what the fault allows.
    pub retry_ceiling: RetryPolicy,
    /// How long one attempt may take, in milliseconds. `None`: as long as it wants.
    pub timeout_ms: Option<u64>,
    /// How the executor presents itself (Phase-28).
    pub handshake: Handshake,
    /// What the observer expects to see (Phase-31).
    pub observer: ObserverExpectation,
}

impl InitializeLoop {
    /// The id that the new loop will have.
    #[must_use]
    pub fn loop_id(&self) -> String {
        crate::text::id("LOOP-", &alloc::format!("{}", self.entropy))
    }
}

/// How an executor presents itself before it is given an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    /// Its id.
    pub executor_id: String,
    /// What is known about it.
    pub trust_status: ExecutorIdentityStatus,
    /// The hash of the envelope that it holds.
    pub instruction_envelope_hash: String,
}

/// What an observer expects of the loop that it is attached to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObserverExpectation {
    /// The executor that it expects.
    pub executor_id: String,
    /// The instruction that it expects.
    pub envelope_hash: String,
}

/// See [`Command::DispatchLoop`] and [`Command::RetryLoop`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchLoop {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    pub entropy: Entropy,
    /// The hash of what is about to be executed.
    pub envelope_hash: String,
    /// What only the caller can know.
    pub facts: DispatchFacts,
}

/// Facts about the world outside at dispatch. `None` is "not stated", and what is not stated
/// halts the loop. The facts behind the other stop conditions are the loop's own and are not
/// asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DispatchFacts {
    /// False: MISSING_AUTHORIZATION.
    pub authorization_present: Option<bool>,
    /// False: EXECUTOR_NOT_REGISTERED.
    pub executor_registered: Option<bool>,
    /// False: RESOURCE_LIMIT_EXCEEDED.
    pub resources_available: Option<bool>,
    /// False: AMBIGUOUS_INTENT.
    pub intent_clear: Option<bool>,
    /// True: HUMAN_ABORT.
    pub human_abort_signaled: Option<bool>,
}

/// See [`Command::AwaitResponse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitResponse {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    pub entropy: Entropy,
}

/// See [`Command::CaptureEvidence`]. All items are captured, in order, or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureEvidence {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    pub entropy: Entropy,
    /// One to eight items.
    pub items: Vec<EvidenceItem>,
}

/// Evidence that is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EvidenceItem {
    /// EXECUTOR_OUTPUT: a stream of output, or its beginning. Only while a response is awaited.
    ExecutorOutput {
        /// Which stream.
        stream: OutputStream,
        /// The bytes captured, at most 16 MiB.
        raw_data: Vec<u8>,
        /// Length of the whole stream, in bytes; not below that of the bytes captured.
        true_length: u64,
        /// SHA-256 of the whole stream; checked where the bytes captured are the whole.
        whole_sha256: Digest,
    },
    /// RESOURCE_SNAPSHOT: what the attempt used.
    ResourceSnapshot(ResourceUsage),
    /// TIMESTAMP_EVENT: something timed, in the caller's own bytes, at most 16 MiB.
    TimestampEvent(Vec<u8>),
}

/// See [`Command::ReportResponse`]. The attempt's raw output must have been captured before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportResponse {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    pub entropy: Entropy,
    /// Who answers. Anyone but the loop's executor is rejected.
    pub executor_id: String,
    /// The hash of the instruction that is answered.
    pub instruction_hash: String,
    /// What the executor reports.
    pub reported_status: ExecutorResponseType,
    /// The error that it reports, in words.
    pub error: Option<String>,
    /// How its process ended.
    pub exit: Exit,
}

/// See [`Command::ReportFault`]. The fault's id is `FAULT-` and the entropy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFault {
    /// Which loop: the execution that failed.
    pub loop_id: String,
    /// Fresh random bits.
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

/// See [`Command::CompleteLoop`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompleteLoop {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    pub entropy: Entropy,
}

/// See [`Command::StopLoop`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StopLoop {
    /// Which loop.
    pub loop_id: String,
    /// Fresh random bits.
    pub entropy: Entropy,
    /// Which of the ten.
    pub condition: StopCondition,
    /// What is known. Only the fact of this condition is looked at; not known stops, and known
    /// to be well is refused.
    pub facts: StopFacts,
    /// The details, in words.
    pub details: String,
}

/// What happened to the log itself, as the shell saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SystemEvent {
    /// A writer put the log's end in order.
    RecoveryPerformed(RecoveryPerformed),
    /// A missing HEAD was accepted.
    HeadMissingAccepted(HeadMissingAccepted),
    /// The clock stepped.
    ClockStepped(ClockStepped),
}
