//! The seed's evidence hash, and the injective hashes that are relied on.

use alloc::string::String;

use super::{EvidenceRecord, ObservationContext, OfferedEvidence};
use crate::hash::{Digest, HashBuilder, nul_joined_sha256_hex, sha256};

/// The seed's hash of a record (Phase-31, "Evidence hash computation"): lower-hex SHA-256 over id,
/// point, type, timestamp, raw data and prior hash, joined by NUL. Two different records can have
/// the same one: kept for compatibility, never relied on. `self_hash` is not read.
#[must_use]
pub fn evidence_hash(record: &EvidenceRecord) -> String {
    nul_joined_sha256_hex(&[
        record.record_id.as_bytes(),
        record.observation_point.name().as_bytes(),
        record.evidence_type.name().as_bytes(),
        record.timestamp.as_bytes(),
        record.raw_data.as_bytes(),
        record.prior_hash.as_bytes(),
    ])
}

/// Where a record lies: what the seed's hash leaves out.
#[derive(Clone, Copy, Debug)]
pub struct RecordPlace<'a> {
    /// The session, with its loop, executor and envelope.
    pub context: &'a ObservationContext,
    /// The chain.
    pub chain_id: &'a str,
    /// The record's index in the chain, from 0.
    pub index: u64,
    /// The injective hash of the record before it, or of the genesis.
    pub prior: &'a Digest,
}

/// The injective head of an empty chain: binds the chain to its session, loop, executor, envelope.
#[must_use]
pub fn injective_genesis_hash(context: &ObservationContext, chain_id: &str) -> Digest {
    identity("holdpoint.evidence-genesis", context, chain_id).finish()
}

/// The injective hash of a record: its place and all its fields, the seed's hashes included. Raw
/// data enters as length and SHA-256, so that a copy from which it was withheld still verifies.
#[must_use]
pub fn injective_record_hash(place: RecordPlace<'_>, record: &EvidenceRecord) -> Digest {
    let raw_data = record.raw_data.as_bytes();
    let fields = identity("holdpoint.evidence-record", place.context, place.chain_id)
        .number(place.index)
        .digest(place.prior)
        .text(&record.record_id)
        .text(record.observation_point.name())
        .text(record.evidence_type.name())
        .text(&record.timestamp)
        .number(raw_data.len() as u64)
        .digest(&sha256(raw_data))
        .text(&record.prior_hash)
        .text(&record.self_hash);
    offered(fields, record.offered.as_ref()).finish()
}

/// The hash of a seal: nothing follows `length` records ending in `injective_head`.
#[must_use]
pub fn injective_seal_hash(chain_id: &str, length: u64, injective_head: &Digest) -> Digest {
    HashBuilder::new("holdpoint.evidence-seal", 1)
        .text(chain_id)
        .number(length)
        .digest(injective_head)
        .finish()
}

/// `is_halted` is left out on purpose: the same session captures before and after it halts.
fn identity(tag: &str, context: &ObservationContext, chain_id: &str) -> HashBuilder {
    HashBuilder::new(tag, 1)
        .text(chain_id)
        .text(&context.session_id)
        .text(&context.loop_id)
        .text(&context.executor_id)
        .text(&context.envelope_hash)
        .text(&context.created_at)
}

fn offered(fields: HashBuilder, offered: Option<&OfferedEvidence>) -> HashBuilder {
    let Some(offered) = offered else { return fields.absent() };
    let raw_data = offered.raw_data.as_bytes();
    fields
        .text(offered.observation_point.name())
        .text(offered.evidence_type.name())
        .number(raw_data.len() as u64)
        .digest(&sha256(raw_data))
}
