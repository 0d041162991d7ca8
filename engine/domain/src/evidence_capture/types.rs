//! The types of Phase-31: closed enums, one piece of evidence, the session that it is captured in,
//! and what is said of an output with a gap.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::hash::Digest;
use crate::core::payload::{Raw, RawData};
use crate::core::time::Timestamp;
use crate::core::{bodies, closed_enum, recorded};
use crate::evidence_capture::pieces::OutputPieces;
use crate::execution_loop::types::{ExecutionLoopState, Exit, ResponseDecision};
use crate::sandbox_fault::types::ExecutionFaultType;

closed_enum! {
    /// Place in the execution loop where something is observed.
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
    /// Kind of evidence that is captured.
    pub enum EvidenceType {
        /// A change of the execution state.
        StateTransition = "STATE_TRANSITION",
        /// Output of the executor, raw.
        ExecutorOutput = "EXECUTOR_OUTPUT",
        /// A timed observation.
        TimestampEvent = "TIMESTAMP_EVENT",
        /// Resource metrics.
        ResourceSnapshot = "RESOURCE_SNAPSHOT",
        /// Trigger of a halt.
        StopCondition = "STOP_CONDITION",
    }
}

closed_enum! {
    /// Condition that halts a loop at once.
    /// [`STOP_TRIGGERS`](crate::evidence_capture::STOP_TRIGGERS) says what triggers each.
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
        /// The intent is not clear.
        AmbiguousIntent = "AMBIGUOUS_INTENT",
        /// A human said stop.
        HumanAbort = "HUMAN_ABORT",
    }
}

/// Evidence that was offered to a halted context. The seed puts a fixed `CONTEXT_HALTED` record in
/// its place; the offer itself is kept here, under the injective hash, so that nothing is dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedEvidence {
    /// The point it was offered for.
    pub observation_point: ObservationPoint,
    /// The type it was offered as.
    pub evidence_type: EvidenceType,
    /// Data that was offered.
    pub raw_data: RawData,
}

/// One immutable piece of evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceRecord {
    /// `REC-` and the entropy it was made with.
    pub record_id: String,
    /// Place in the loop where it was observed.
    pub observation_point: ObservationPoint,
    /// Kind of evidence.
    pub evidence_type: EvidenceType,
    /// Time, as ISO-8601 text.
    pub timestamp: String,
    /// The evidence, never parsed.
    pub raw_data: RawData,
    /// The seed's hash of the record before it, 64 lower-case hex digits; empty for the first.
    pub prior_hash: String,
    /// The seed's hash of this record; see
    /// [`evidence_hash`](crate::evidence_capture::evidence_hash).
    pub self_hash: String,
    /// Evidence that a halted context was offered; absent otherwise. Not in the seed's hash, but in
    /// the injective one.
    pub offered: Option<OfferedEvidence>,
}

/// One observation session. Frozen: a changed session is a new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservationContext {
    /// `OBS-` and the entropy it was made with.
    pub session_id: String,
    /// The loop that is observed.
    pub loop_id: String,
    /// The executor of that loop.
    pub executor_id: String,
    /// The instruction hash that is expected.
    pub envelope_hash: String,
    /// Time when the session started, as ISO-8601 text.
    pub created_at: String,
    /// True if the session may capture nothing but its halt.
    pub is_halted: bool,
}

bodies! {
    /// Facts that the caller knows. `None` is "not known" and halts, as everything does that
    /// [`check_stop`](crate::evidence_capture::check_stop) is not told.
    #[derive(Copy, Default)]
    StopFacts {
        /// A human or a rule that a human made authorized this execution.
        authorization_present: Option<bool>,
        /// The executor exists and is known.
        executor_registered: Option<bool>,
        /// The instruction to be executed hashes to the envelope's hash.
        envelope_hash_matches: Option<bool>,
        /// The evidence chain verifies up to its head.
        chain_valid: Option<bool>,
        /// Every resource limit holds.
        resources_available: Option<bool>,
        /// The time is a time and does not go backwards.
        timestamp_valid: Option<bool>,
        /// No earlier execution of this loop is still running.
        prior_execution_complete: Option<bool>,
        /// The action that is to be done has one meaning.
        intent_clear: Option<bool>,
        /// A human said stop.
        human_abort_signaled: Option<bool>,
    }
}

impl StopFacts {
    /// Every fact known, and none of them a reason to stop.
    pub const ALL_CLEAR: Self = Self {
        authorization_present: Some(true),
        executor_registered: Some(true),
        envelope_hash_matches: Some(true),
        chain_valid: Some(true),
        resources_available: Some(true),
        timestamp_valid: Some(true),
        prior_execution_complete: Some(true),
        intent_clear: Some(true),
        human_abort_signaled: Some(false),
    };
}

recorded! {
    /// Evidence that a halted observer was offered.
    Offered {
        /// The point it was offered for.
        observation_point: ObservationPoint,
        /// The type it was offered as.
        evidence_type: EvidenceType,
        /// Raw data that was offered.
        raw_data: Raw,
    }
}

/// Knowledge about raw evidence besides its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum EvidenceContent {
    /// Nothing more.
    Opaque,
    /// The instruction envelope.
    Instruction,
    /// A stream of an executor's output, whole or its beginning alone.
    Output(OutputExtent),
    /// Resources that an attempt used; the raw bytes spell the same out.
    Resources(ResourceUsage),
    /// A change of the loop's state; the raw bytes spell it out.
    Transition {
        /// The state before.
        from: ExecutionLoopState,
        /// The state after.
        to: ExecutionLoopState,
    },
    /// Worth of a response; the raw bytes are its name.
    Decision(ResponseDecision),
    /// A stop condition; the raw bytes are its name and details.
    Stop(StopCondition),
    /// The beginning and the end of a stream of an executor's output; what lay between is missing.
    OutputCut(OutputCut),
    /// A stream of an executor's output whose bytes are recorded in pieces; the raw bytes spell out
    /// the same.
    OutputPieces(OutputPieces),
    /// The processes of an attempt while it ran; the raw bytes spell out the same.
    Snapshot(ResourceSnapshot),
}

impl EvidenceContent {
    /// Returns how much of an output stream the evidence holds, where it holds any.
    #[must_use]
    pub fn output(&self) -> Option<OutputExtent> {
        match self {
            Self::Output(extent) => Some(extent.clone()),
            Self::OutputCut(cut) => Some(cut.extent()),
            Self::OutputPieces(pieces) => pieces.extent(),
            Self::Opaque
            | Self::Instruction
            | Self::Resources(_)
            | Self::Transition { .. }
            | Self::Decision(_)
            | Self::Stop(_)
            | Self::Snapshot(_) => None,
        }
    }
}

recorded! {
    /// Part of an output stream that the evidence holds.
    OutputExtent {
        /// The stream.
        stream: OutputStream,
        /// Length of the whole stream, in bytes.
        true_length: u64,
        /// SHA-256 of the whole stream.
        whole_sha256: Digest,
        /// True if the evidence holds less than the whole.
        truncated: bool,
    }

    /// Parts of an output stream that evidence holds where the middle is missing: its first bytes,
    /// right before its last ones.
    OutputCut {
        /// The stream.
        stream: OutputStream,
        /// Length of the whole stream, in bytes.
        true_length: u64,
        /// SHA-256 of the whole stream.
        whole_sha256: Digest,
        /// Number of the bytes that are the beginning of the stream; the others are its end.
        head_length: u64,
        /// Number of bytes of the stream that are missing between the two.
        gap_length: u64,
    }
}

impl OutputCut {
    /// The same as for a stream of which only the beginning is there.
    #[must_use]
    pub const fn extent(&self) -> OutputExtent {
        OutputExtent {
            stream: self.stream,
            true_length: self.true_length,
            whole_sha256: self.whole_sha256,
            truncated: true,
        }
    }
}

closed_enum! {
    /// Source of output. Closed.
    pub enum OutputStream {
        /// Standard output.
        Stdout = "STDOUT",
        /// Standard error.
        Stderr = "STDERR",
        /// Anything else that an executor answers with.
        Payload = "PAYLOAD",
    }
}

recorded! {
    /// Resources that one attempt used.
    #[derive(Copy)]
    ResourceUsage {
        /// Time passed, in nanoseconds.
        wall_ns: u64,
        /// Processor time in the program, in nanoseconds.
        user_cpu_ns: u64,
        /// Processor time in the system for it, in nanoseconds.
        system_cpu_ns: u64,
        /// Most memory resident at once, in bytes.
        peak_memory_bytes: u64,
    }

    /// The processes of an attempt at a moment while it ran.
    #[derive(Copy)]
    ResourceSnapshot {
        /// The attempt, from 1.
        attempt: u8,
        /// Time when it was taken: a claim of the recorder's clock.
        taken_at: Timestamp,
        /// Time that the command had run by then, in nanoseconds.
        ran_ns: u64,
        /// Number of processes that lived.
        processes: u64,
        /// Their resident memory, in bytes. A page that several of them share counts for each.
        resident_bytes: u64,
        /// Processor time in programs, in nanoseconds: of those that lived and of what they had
        /// waited for.
        user_cpu_ns: u64,
        /// Processor time in the system for them, in nanoseconds.
        system_cpu_ns: u64,
    }
}

impl ResourceUsage {
    /// The raw data of the evidence: the same, spelled out.
    #[must_use]
    pub fn spelled_out(&self) -> Vec<u8> {
        let Self { wall_ns, user_cpu_ns, system_cpu_ns, peak_memory_bytes } = self;
        format!(
            "wall_ns={wall_ns} user_cpu_ns={user_cpu_ns} system_cpu_ns={system_cpu_ns} \
             peak_memory_bytes={peak_memory_bytes}"
        )
        .into_bytes()
    }
}

/// Most snapshots of the processes of one attempt.
pub const MAX_SNAPSHOTS_PER_ATTEMPT: usize = 1088;

impl ResourceSnapshot {
    /// The raw data of the evidence: the same, spelled out.
    #[must_use]
    pub fn spelled_out(&self) -> Vec<u8> {
        let taken_at = self.taken_at.to_text();
        format!(
            "attempt={} taken_at={} ran_ns={} processes={} resident_bytes={} user_cpu_ns={} \
             system_cpu_ns={}",
            self.attempt,
            taken_at.as_str(),
            self.ran_ns,
            self.processes,
            self.resident_bytes,
            self.user_cpu_ns,
            self.system_cpu_ns
        )
        .into_bytes()
    }
}

/// End of a command, as its guard saw it, which outlived the recorder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardedEnd {
    /// End of its process.
    pub exit: Exit,
    /// The fault that this is, where it is one.
    pub fault: Option<ExecutionFaultType>,
    /// The same in words.
    pub message: String,
    /// Resources that it used.
    pub usage: ResourceUsage,
}

#[cfg(feature = "arbitrary")]
impl<'a> arbitrary::Arbitrary<'a> for GuardedEnd {
    fn arbitrary(input: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self {
            exit: input.arbitrary()?,
            fault: input.arbitrary()?,
            message: input.arbitrary()?,
            usage: input.arbitrary()?,
        })
    }
}

/// Statement about an output that contradicts the bytes that are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtentFault {
    /// Field of the statement.
    pub field: &'static str,
    /// Value that it should have.
    pub expected: String,
    /// Value that it has.
    pub found: u64,
}

/// Checks what must hold where so many bytes were captured: the beginning is part of them, and with
/// what is missing they are the whole. Something is missing.
///
/// # Errors
/// The first thing said that contradicts the bytes.
pub fn check_cut(cut: &OutputCut, captured: u64) -> Result<(), ExtentFault> {
    let fault = |field, expected, found| Err(ExtentFault { field, expected, found });
    let missing = cut.true_length.checked_sub(captured).filter(|missing| *missing > 0);
    match missing {
        None => {
            let expected = format!("more than the {captured} captured");
            fault("length", expected, cut.true_length)
        }
        Some(_) if cut.head_length > captured => {
            let expected = format!("at most the {captured} captured");
            fault("head length", expected, cut.head_length)
        }
        Some(missing) if cut.gap_length != missing => {
            fault("gap length", missing.to_string(), cut.gap_length)
        }
        Some(_) => Ok(()),
    }
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::one_of! {
    EvidenceContent:
    |_| Ok(EvidenceContent::Opaque),
    |_| Ok(EvidenceContent::Instruction),
    |input| input.arbitrary().map(EvidenceContent::Output),
    |input| input.arbitrary().map(EvidenceContent::Resources),
    |input| {
        Ok(EvidenceContent::Transition { from: input.arbitrary()?, to: input.arbitrary()? })
    },
    |input| input.arbitrary().map(EvidenceContent::Decision),
    |input| input.arbitrary().map(EvidenceContent::Stop),
    |input| input.arbitrary().map(EvidenceContent::OutputCut),
    |input| input.arbitrary().map(EvidenceContent::OutputPieces),
    |input| input.arbitrary().map(EvidenceContent::Snapshot),
}
