//! The seed's evidence hash, and the injective hashes that are relied on.

use alloc::string::String;

use sha2::Sha256;

use super::{
    ChainHead, EvidenceRecord, EvidenceType, ObservationContext, ObservationPoint, OfferedEvidence,
};
use crate::hash::{Digest, HashBuilder, Preimage, nul_joined_sha256, sha256};

/// The seed's hash of a record (Phase-31, "Evidence hash computation"): lower-hex SHA-256 over id,
/// point, type, timestamp, raw data and prior hash, joined by NUL. Two different records can have
/// the same one: kept for compatibility, never relied on. `self_hash` is not read.
#[must_use]
pub fn evidence_hash(record: &EvidenceRecord) -> String {
    RecordView::of(record).seed_hash().to_text()
}

/// A record, wherever its parts lie: what both hashes are made of, with nothing copied.
#[derive(Clone, Copy)]
pub(crate) struct RecordView<'a> {
    pub(crate) record_id: &'a str,
    pub(crate) observation_point: ObservationPoint,
    pub(crate) evidence_type: EvidenceType,
    pub(crate) timestamp: &'a str,
    pub(crate) raw_data: &'a [u8],
    pub(crate) prior_hash: &'a str,
    pub(crate) self_hash: &'a str,
    pub(crate) offered: Option<(ObservationPoint, EvidenceType, &'a [u8])>,
}

impl<'a> RecordView<'a> {
    fn of(record: &'a EvidenceRecord) -> Self {
        let offered = |offered: &'a OfferedEvidence| {
            (offered.observation_point, offered.evidence_type, offered.raw_data.as_bytes())
        };
        Self {
            record_id: &record.record_id,
            observation_point: record.observation_point,
            evidence_type: record.evidence_type,
            timestamp: &record.timestamp,
            raw_data: record.raw_data.as_bytes(),
            prior_hash: &record.prior_hash,
            self_hash: &record.self_hash,
            offered: record.offered.as_ref().map(offered),
        }
    }

    /// See [`evidence_hash`].
    pub(crate) fn seed_hash(&self) -> Digest {
        nul_joined_sha256(&[
            self.record_id.as_bytes(),
            self.observation_point.name().as_bytes(),
            self.evidence_type.name().as_bytes(),
            self.timestamp.as_bytes(),
            self.raw_data,
            self.prior_hash.as_bytes(),
        ])
    }

    /// See [`injective_record_hash`]. `raw_sha256` is that of [`Self::raw_data`].
    pub(crate) fn injective_hash(
        &self,
        session: &SessionHash,
        index: u64,
        prior: &Digest,
        raw_sha256: &Digest,
    ) -> Digest {
        let mut fields = Preimage::after(session.0.clone());
        fields.number(index);
        fields.digest(prior);
        fields.text(self.record_id);
        fields.text(self.observation_point.name());
        fields.text(self.evidence_type.name());
        fields.text(self.timestamp);
        fields.number(self.raw_data.len() as u64);
        fields.digest(raw_sha256);
        fields.text(self.prior_hash);
        fields.text(self.self_hash);
        match self.offered {
            None => fields.absent(),
            Some(offered) => add_offered(&mut fields, offered),
        }
        fields.finish()
    }
}

/// The hash function once it has taken what all records of one session's chain begin with. Follows
/// from the session and the chain's id, so it is no part of any state.
#[derive(Clone, Debug)]
pub(crate) struct SessionHash(Sha256);

impl SessionHash {
    pub(crate) fn of(context: &ObservationContext, chain_id: &str) -> Self {
        Self(identity("holdpoint.evidence-record", context, chain_id).into_hasher())
    }
}

/// As [`injective_record_hash`], for the next record of a chain whose session was hashed already.
/// `raw_sha256` is that of the record's raw data.
pub(crate) fn next_injective_hash(
    session: &SessionHash,
    head: &ChainHead,
    record: &EvidenceRecord,
    raw_sha256: &Digest,
) -> Digest {
    let (index, prior) = (head.length, &head.injective_head);
    RecordView::of(record).injective_hash(session, index, prior, raw_sha256)
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
    let session = SessionHash::of(place.context, place.chain_id);
    let raw_sha256 = sha256(record.raw_data.as_bytes());
    RecordView::of(record).injective_hash(&session, place.index, place.prior, &raw_sha256)
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
fn identity(tag: &str, context: &ObservationContext, chain_id: &str) -> Preimage {
    let mut fields = Preimage::default();
    fields.begin(tag, 1);
    fields.text(chain_id);
    fields.text(&context.session_id);
    fields.text(&context.loop_id);
    fields.text(&context.executor_id);
    fields.text(&context.envelope_hash);
    fields.text(&context.created_at);
    fields
}

fn add_offered(
    fields: &mut Preimage,
    (observation_point, evidence_type, raw_data): (ObservationPoint, EvidenceType, &[u8]),
) {
    fields.text(observation_point.name());
    fields.text(evidence_type.name());
    fields.number(raw_data.len() as u64);
    fields.digest(&sha256(raw_data));
}
