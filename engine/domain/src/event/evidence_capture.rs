//! What happened to evidence chains (seed Phase-31). Kinds 64 to 95.

use serde::{Deserialize, Serialize};

use super::{Raw, Text};
use crate::closed::closed_enum;
use crate::evidence_capture::{EvidenceType, ObservationPoint, StopCondition};
use crate::execution_loop::{ExecutionLoopState, ResponseDecision};
use crate::hash::Digest;

/// An observer was attached to a loop in INIT, and its empty chain began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObserverAttached {
    /// `OBS-` and 128 random bits.
    pub session_id: Text,
    /// The loop that is observed.
    pub loop_id: Text,
    /// The executor that the observer expects.
    pub executor_id: Text,
    /// The instruction that the observer expects.
    pub envelope_hash: Text,
    /// When: the record's time as RFC 3339 text, as the chain's hashes cover the text.
    pub created_at: Text,
    /// Whether the expectations differ from the loop's, so that nothing but its end is observed.
    pub is_halted: bool,
    /// `CHAIN-` and 128 random bits.
    pub chain_id: Text,
}

/// One record was appended to a loop's evidence chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvidenceCaptured {
    /// The observed loop.
    pub loop_id: Text,
    /// Its chain.
    pub chain_id: Text,
    /// Place in the chain, from 0.
    pub index: u64,
    /// `REC-` and 128 bits.
    pub record_id: Text,
    /// Where in the loop.
    pub observation_point: ObservationPoint,
    /// What kind of evidence.
    pub evidence_type: EvidenceType,
    /// When: the record's time as RFC 3339 text, as the seed's hash covers the text.
    pub timestamp: Text,
    /// The evidence itself, never parsed.
    pub raw_data: Raw,
    /// The seed's hash of the record before, lower-case hex; empty for the first.
    pub prior_hash: Text,
    /// The seed's hash of this record, lower-case hex.
    pub self_hash: Text,
    /// Our own hash of this record, which no other record can share.
    pub injective_hash: Digest,
    /// What the raw bytes are, where more is known than their type.
    pub content: EvidenceContent,
    /// What a halted observer was offered, whose own record says only that it is halted.
    pub offered: Option<Offered>,
}

/// Evidence that a halted observer was offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Offered {
    /// The point it was offered for.
    pub observation_point: ObservationPoint,
    /// The type it was offered as.
    pub evidence_type: EvidenceType,
    /// What was offered.
    pub raw_data: Raw,
}

/// What is known about raw evidence besides its bytes.
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
    /// What an attempt used; the raw bytes spell the same out.
    Resources(ResourceUsage),
    /// A change of the loop's state; the raw bytes spell it out.
    Transition {
        /// The state before.
        from: ExecutionLoopState,
        /// The state after.
        to: ExecutionLoopState,
    },
    /// What a response is worth; the raw bytes are its name.
    Decision(ResponseDecision),
    /// A stop condition; the raw bytes are its name and details.
    Stop(StopCondition),
    /// The beginning and the end of a stream of an executor's output; what lay between is missing.
    OutputCut(OutputCut),
}

impl EvidenceContent {
    /// How much of an output stream the evidence holds, where it holds any.
    #[must_use]
    pub fn output(&self) -> Option<OutputExtent> {
        match self {
            Self::Output(extent) => Some(extent.clone()),
            Self::OutputCut(cut) => Some(cut.extent()),
            _ => None,
        }
    }
}

/// How much of an output stream the evidence holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutputExtent {
    /// Which stream.
    pub stream: OutputStream,
    /// Length of the whole stream, in bytes.
    pub true_length: u64,
    /// SHA-256 of the whole stream.
    pub whole_sha256: Digest,
    /// Whether the evidence holds less than the whole.
    pub truncated: bool,
}

/// What evidence holds of an output stream of which the middle is missing: its first bytes, right
/// before its last ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutputCut {
    /// Which stream.
    pub stream: OutputStream,
    /// Length of the whole stream, in bytes.
    pub true_length: u64,
    /// SHA-256 of the whole stream.
    pub whole_sha256: Digest,
    /// How many of the bytes are the beginning of the stream; the others are its end.
    pub head_length: u64,
    /// How many bytes of the stream are missing between the two.
    pub gap_length: u64,
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
    /// Where output came from. Closed.
    pub enum OutputStream {
        /// Standard output.
        Stdout = "STDOUT",
        /// Standard error.
        Stderr = "STDERR",
        /// Anything else that an executor answers with.
        Payload = "PAYLOAD",
    }
}

/// What one attempt used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResourceUsage {
    /// Time passed, in nanoseconds.
    pub wall_ns: u64,
    /// Processor time in the program, in nanoseconds.
    pub user_cpu_ns: u64,
    /// Processor time in the system for it, in nanoseconds.
    pub system_cpu_ns: u64,
    /// Most memory resident at once, in bytes.
    pub peak_memory_bytes: u64,
}

/// A stop condition was found. The evidence and the halt follow in the same batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StopConditionDetected {
    /// The loop that stops.
    pub loop_id: Text,
    /// Which of the ten.
    pub condition: StopCondition,
    /// The details, in words.
    pub details: Text,
}

/// A chain ended with its loop. Nothing is captured after the seal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChainSealed {
    /// The observed loop.
    pub loop_id: Text,
    /// Its chain.
    pub chain_id: Text,
    /// How many records it has.
    pub length: u64,
    /// The seed's hash of the last record.
    pub head_hash: Text,
    /// Our own hash over the whole chain.
    pub injective_head: Digest,
    /// The hash of the seal itself.
    pub seal_hash: Digest,
}
