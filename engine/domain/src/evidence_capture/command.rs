//! The commands that capture evidence (Phase-31) and record output while it comes.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::hash::Digest;
use crate::core::ids::{Entropy, hex};
use crate::core::{bodies, commands};
use crate::evidence_capture::pieces::OutputPiece;
use crate::evidence_capture::types::{OutputStream, ResourceSnapshot, ResourceUsage};

commands! {
    /// Command on a loop's evidence.
    EvidenceCaptureCommand {
        /// Capture raw evidence at the observation point that the loop's state stands for.
        "evidence_capture.capture" CaptureEvidence(CaptureEvidence) with entropy;
        /// Record what a command printed, while a response is awaited.
        "evidence_capture.record_output" RecordOutput(RecordOutput) with entropy;
    }
}

bodies! {
    /// See [`EvidenceCaptureCommand::CaptureEvidence`]. All items are captured,
    /// in order, or none.
    CaptureEvidence {
        /// The loop.
        loop_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// One to eight items.
        items: Vec<EvidenceItem>,
    }

    /// See [`EvidenceCaptureCommand::RecordOutput`]. All pieces are recorded, in order, or none;
    /// and of the snapshots those for which the loop's evidence has room.
    RecordOutput {
        /// The loop.
        loop_id: String,
        /// Fresh random bits.
        #[serde(default)]
        entropy: Entropy,
        /// Attempt that the output is of: the one that runs.
        attempt: u8,
        /// At most 1,024 pieces, in the order in which they came; one at least, unless there are
        /// snapshots.
        pieces: Vec<OutputPiece>,
        /// Snapshots of the attempt's processes, in the order in which they were taken.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        snapshots: Vec<ResourceSnapshot>,
    }
}

/// Evidence that is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EvidenceItem {
    /// EXECUTOR_OUTPUT: a stream of output, or its beginning alone. Only while a response is
    /// awaited.
    ExecutorOutput {
        /// The stream.
        stream: OutputStream,
        /// The bytes captured, at most 16 MiB.
        #[serde(with = "hex")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::core::schema::Hex"))]
        raw_data: Vec<u8>,
        /// Length of the whole stream, in bytes; not below that of the bytes captured.
        true_length: u64,
        /// SHA-256 of the whole stream; checked where the bytes captured are the whole.
        whole_sha256: Digest,
    },
    /// RESOURCE_SNAPSHOT: what the attempt used.
    ResourceSnapshot(ResourceUsage),
    /// TIMESTAMP_EVENT: something timed, in the caller's own bytes, at most 16 MiB.
    TimestampEvent(
        #[serde(with = "hex")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::core::schema::Hex"))]
        Vec<u8>,
    ),
    /// EXECUTOR_OUTPUT: the beginning and the end of a stream of output that is longer than what
    /// is kept of it. Only while a response is awaited.
    ExecutorOutputCut {
        /// The stream.
        stream: OutputStream,
        /// The first bytes, right before the last ones; at most 16 MiB.
        #[serde(with = "hex")]
        #[cfg_attr(feature = "schema", schemars(with = "crate::core::schema::Hex"))]
        raw_data: Vec<u8>,
        /// Number of them that are the beginning of the stream.
        head_length: u64,
        /// Length of the whole stream, in bytes; above that of the bytes captured.
        true_length: u64,
        /// SHA-256 of the whole stream.
        whole_sha256: Digest,
    },
    /// EXECUTOR_OUTPUT: a stream of output whose bytes are recorded in pieces before. Only while a
    /// response is awaited.
    ExecutorOutputPieces {
        /// The stream.
        stream: OutputStream,
        /// Length of the whole stream, in bytes; not below where its last piece ends.
        true_length: u64,
        /// SHA-256 of the whole stream.
        whole_sha256: Digest,
    },
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::one_of! {
    EvidenceItem of
    ExecutorOutput { stream, raw_data, true_length, whole_sha256 },
    ResourceSnapshot(ResourceUsage),
    TimestampEvent(Vec<u8>),
    ExecutorOutputCut { stream, raw_data, head_length, true_length, whole_sha256 },
    ExecutorOutputPieces { stream, true_length, whole_sha256 },
}
