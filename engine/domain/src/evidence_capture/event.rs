//! Events of evidence chains (seed Phase-31). Kinds 64 to 95.

use crate::core::hash::Digest;
use crate::core::payload::{Raw, Text};
use crate::core::time::Timestamp;
use crate::core::{events, recorded};
use crate::evidence_capture::pieces::OutputGap;
use crate::evidence_capture::types::{
    EvidenceContent, EvidenceType, ObservationPoint, Offered, OutputStream, StopCondition,
};

events! {
    /// Event of a loop's evidence.
    #[expect(
        clippy::large_enum_variant,
        reason = "events lie in the union of all systems, which is as large as the largest"
    )]
    EvidenceCaptureEvent of "evidence_capture" kinds 64..=95, {
        /// An observer was attached.
        64 v 1 "evidence_capture.observer_attached" => ObserverAttached;
        /// Evidence was captured.
        65 v 1 "evidence_capture.evidence_captured" => EvidenceCaptured;
        /// A stop condition was found.
        66 v 1 "evidence_capture.stop_condition_detected" => StopConditionDetected;
        /// A chain was sealed.
        67 v 1 "evidence_capture.chain_sealed" => ChainSealed;
        /// A piece of output was recorded while its command ran.
        68 v 1 "evidence_capture.output_recorded" => OutputRecorded;
    }
    /// The loop that the event is about.
    pub fn loop_id(body) -> &str { &body.loop_id }
}

recorded! {
    /// An observer was attached to a loop in INIT, and its empty chain began.
    ObserverAttached {
        /// `OBS-` and 128 random bits.
        session_id: Text,
        /// The loop that is observed.
        loop_id: Text,
        /// The executor that the observer expects.
        executor_id: Text,
        /// The instruction that the observer expects.
        envelope_hash: Text,
        /// Time of the record as RFC 3339 text, as the chain's hashes cover the text.
        created_at: Text,
        /// True if the expectations differ from the loop's, so that nothing but its end is
        /// observed.
        is_halted: bool,
        /// `CHAIN-` and 128 random bits.
        chain_id: Text,
    }

    /// One record was appended to a loop's evidence chain.
    EvidenceCaptured {
        /// The observed loop.
        loop_id: Text,
        /// Its chain.
        chain_id: Text,
        /// Place in the chain, from 0.
        index: u64,
        /// `REC-` and 128 bits.
        record_id: Text,
        /// Place in the loop.
        observation_point: ObservationPoint,
        /// Kind of evidence.
        evidence_type: EvidenceType,
        /// Time of the record as RFC 3339 text, as the seed's hash covers the text.
        timestamp: Text,
        /// The evidence itself, never parsed.
        raw_data: Raw,
        /// The seed's hash of the record before, lower-case hex; empty for the first.
        prior_hash: Text,
        /// The seed's hash of this record, lower-case hex.
        self_hash: Text,
        /// Our own hash of this record, which no other record can share.
        injective_hash: Digest,
        /// Content of the raw bytes, where more is known than their type.
        content: EvidenceContent,
        /// Evidence that a halted observer was offered, whose own record says only that it is
        /// halted.
        offered: Option<Offered>,
    }

    /// A stop condition was found. The evidence and the halt follow in the same batch.
    StopConditionDetected {
        /// The loop that stops.
        loop_id: Text,
        /// Condition that was found, one of the ten.
        condition: StopCondition,
        /// The details, in words.
        details: Text,
    }

    /// A piece of what a command printed. Its bytes are recorded here and nowhere else: the
    /// evidence of the attempt states the pieces.
    OutputRecorded {
        /// The loop.
        loop_id: Text,
        /// The attempt that runs, from 1.
        attempt: u8,
        /// The stream.
        stream: OutputStream,
        /// Place in the stream where it begins, in bytes.
        offset: u64,
        /// Time when its first byte was read: a claim of the recorder's clock.
        first_byte_at: Timestamp,
        /// The bytes, 1 to 64 KiB, never parsed.
        raw_data: Raw,
        /// Gap before it, once bytes are left out.
        gap: Option<OutputGap>,
    }

    /// A chain ended with its loop. Nothing is captured after the seal.
    ChainSealed {
        /// The observed loop.
        loop_id: Text,
        /// Its chain.
        chain_id: Text,
        /// Number of records it has.
        length: u64,
        /// The seed's hash of the last record.
        head_hash: Text,
        /// Our own hash over the whole chain.
        injective_head: Digest,
        /// The hash of the seal itself.
        seal_hash: Digest,
    }
}
