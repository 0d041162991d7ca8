//! What happened to evidence chains (seed Phase-31). Kinds 64 to 95.

use serde::{Deserialize, Serialize};

use crate::core::events;
use crate::core::hash::Digest;
use crate::core::payload::{Raw, Text};
use crate::evidence_capture::types::{
    EvidenceContent, EvidenceType, ObservationPoint, Offered, StopCondition,
};

events! {
    /// What happened to a loop's evidence.
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
    }
    /// The loop that the event is about.
    pub fn loop_id(body) -> &str { &body.loop_id }
}

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

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::made_of! {
    ObserverAttached {
        session_id, loop_id, executor_id, envelope_hash, created_at, is_halted, chain_id,
    }
    EvidenceCaptured {
        loop_id, chain_id, index, record_id, observation_point, evidence_type, timestamp,
        raw_data, prior_hash, self_hash, injective_hash, content, offered,
    }
    StopConditionDetected { loop_id, condition, details }
    ChainSealed { loop_id, chain_id, length, head_hash, injective_head, seal_hash }
}
