//! The chain of evidence (Phase-31): its hashes, its head, its seal, and the one step by which a
//! record is found to be the next one.
//!
//! The seed's evidence hash is kept beside the injective hashes that are relied on.

use alloc::string::String;

use serde::{Deserialize, Serialize};
use sha2::Sha256;
use thiserror::Error;

use crate::core::hash::{Digest, HashBuilder, Preimage, nul_joined_sha256, sha256};
use crate::evidence_capture::types::{
    EvidenceRecord, EvidenceType, ObservationContext, ObservationPoint, OfferedEvidence,
};

/// All that appending needs to know of a chain, in constant space: appending never copies or
/// re-reads what came before. Recorded outside the chain it is the anchor that tells a truncated
/// or rewritten chain from the one that was captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHead {
    /// The chain.
    pub chain_id: String,
    /// How many records it has.
    pub length: u64,
    /// The seed's hash of the newest record; empty for an empty chain.
    pub head_hash: String,
    /// The injective hash of the newest record, or of the genesis.
    pub injective_head: Digest,
    /// Whether the chain is sealed: a sealed chain takes no record.
    pub is_sealed: bool,
}

impl ChainHead {
    /// The head of an empty chain of this session.
    #[must_use]
    pub fn genesis(context: &ObservationContext, chain_id: &str) -> Self {
        Self {
            chain_id: String::from(chain_id),
            length: 0,
            head_hash: String::new(),
            injective_head: injective_genesis_hash(context, chain_id),
            is_sealed: false,
        }
    }

    /// Whether this record, whose seed's hash was computed, is the next one: it names the newest
    /// record, and is what its own hash says.
    ///
    /// # Errors
    /// [`ChainFinding`]: the first hash that is wrong.
    pub fn link(&self, record: &RecordView<'_>, seed_hash: &Digest) -> Result<(), ChainFinding> {
        let finding = |field, expected, found: &str| {
            Err(ChainFinding { index: self.length, field, expected, found: String::from(found) })
        };
        if record.prior_hash != self.head_hash {
            return finding("prior_hash", self.head_hash.clone(), record.prior_hash);
        }
        if !seed_hash.is_text(record.self_hash) {
            return finding("self_hash", seed_hash.to_text(), record.self_hash);
        }
        Ok(())
    }

    /// Takes a record with these hashes, as they are stated.
    pub fn advance(&mut self, self_hash: &str, injective_hash: Digest) {
        self.length = self.length.saturating_add(1);
        self.head_hash.clear();
        self.head_hash.push_str(self_hash);
        self.injective_head = injective_hash;
    }

    /// The same head with the seal set, and the seal itself.
    #[must_use]
    pub fn sealed(&self) -> (Self, ChainSeal) {
        let seal_hash = injective_seal_hash(&self.chain_id, self.length, &self.injective_head);
        let seal = ChainSeal {
            chain_id: self.chain_id.clone(),
            length: self.length,
            injective_head: self.injective_head,
            seal_hash,
        };
        (Self { is_sealed: true, ..self.clone() }, seal)
    }
}

/// What is recorded when a chain is sealed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainSeal {
    /// The chain.
    pub chain_id: String,
    /// Its final length.
    pub length: u64,
    /// Its final injective head.
    pub injective_head: Digest,
    /// The hash over the three.
    pub seal_hash: Digest,
}

/// The seed's hash of a record (Phase-31, "Evidence hash computation"): lower-hex SHA-256 over id,
/// point, type, timestamp, raw data and prior hash, joined by NUL. Two different records can have
/// the same one: kept for compatibility, never relied on. `self_hash` is not read.
#[must_use]
pub fn evidence_hash(record: &EvidenceRecord) -> String {
    RecordView::of(record).seed_hash().to_text()
}

/// A record, wherever its parts lie: what both hashes are made of, with nothing copied.
#[derive(Clone, Copy)]
pub struct RecordView<'a> {
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
    /// Of a record that was captured.
    #[must_use]
    pub fn of(record: &'a EvidenceRecord) -> Self {
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
    #[must_use]
    pub fn seed_hash(&self) -> Digest {
        nul_joined_sha256(&[
            self.record_id.as_bytes(),
            self.observation_point.name().as_bytes(),
            self.evidence_type.name().as_bytes(),
            self.timestamp.as_bytes(),
            self.raw_data,
            self.prior_hash.as_bytes(),
        ])
    }

    /// The injective hash of the record after this head of this session's chain: its place and all
    /// its fields, the seed's hashes included. Raw data enters as length and SHA-256, so that a
    /// copy from which it was withheld still verifies.
    #[must_use]
    pub fn injective_hash(
        &self,
        session: &SessionHash,
        head: &ChainHead,
        raw_sha256: &Digest,
    ) -> Digest {
        let mut fields = Preimage::after(session.0.clone());
        fields.number(head.length);
        fields.digest(&head.injective_head);
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
pub struct SessionHash(Sha256);

impl SessionHash {
    /// Of this session's chain with this id.
    #[must_use]
    pub fn of(context: &ObservationContext, chain_id: &str) -> Self {
        Self(identity("holdpoint.evidence-record", context, chain_id).into_hasher())
    }
}

/// The injective head of an empty chain: binds the chain to its session, loop, executor, envelope.
fn injective_genesis_hash(context: &ObservationContext, chain_id: &str) -> Digest {
    identity("holdpoint.evidence-genesis", context, chain_id).finish()
}

/// The hash of a seal: nothing follows `length` records ending in `injective_head`.
fn injective_seal_hash(chain_id: &str, length: u64, injective_head: &Digest) -> Digest {
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

/// Why a record is not the next one of its chain.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("record {index}: the {field} should be {expected:?}, but is {found:?}")]
pub struct ChainFinding {
    /// The record, from 0.
    pub index: u64,
    /// Its hash that is wrong: `prior_hash` or `self_hash`.
    pub field: &'static str,
    /// The seed's hash of the record before it, empty for the first; or the recomputed one.
    pub expected: String,
    /// What the record says.
    pub found: String,
}
