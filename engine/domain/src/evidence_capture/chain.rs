//! The chain of evidence (Phase-31): its hashes, its head, its seal, and how it is verified, with
//! the place of what is wrong.
//!
//! The seed's evidence hash is kept beside the injective hashes that are relied on.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use sha2::Sha256;
use thiserror::Error;

use crate::core::hash::{Digest, HashBuilder, Preimage, nul_joined_sha256, sha256};
use crate::core::ids::id;
use crate::evidence_capture::types::{
    EvidenceRecord, EvidenceType, ObservationContext, ObservationPoint, OfferedEvidence,
};

/// An append-only chain of evidence, as the seed has it. Appending is
/// [`capture_evidence`](crate::evidence_capture::capture_evidence).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceChain {
    /// `CHAIN-` and the entropy it was made with, or the caller's own.
    pub chain_id: String,
    /// The records, oldest first.
    pub records: Vec<EvidenceRecord>,
    /// The seed's hash of the newest record; empty for an empty chain.
    pub head_hash: String,
    /// The number of records.
    pub length: u64,
}

/// An empty chain with the caller's id, or with `CHAIN-` and the entropy.
#[must_use]
pub fn create_empty_chain(chain_id: Option<&str>, entropy: &str) -> EvidenceChain {
    let chain_id = chain_id.map_or_else(|| id("CHAIN-", entropy), String::from);
    EvidenceChain { chain_id, records: Vec::new(), head_hash: String::new(), length: 0 }
}

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

    /// The head once this record is appended.
    #[must_use]
    pub fn after(&self, context: &ObservationContext, record: &EvidenceRecord) -> Self {
        let place = RecordPlace {
            context,
            chain_id: &self.chain_id,
            index: self.length,
            prior: &self.injective_head,
        };
        Self {
            chain_id: self.chain_id.clone(),
            length: self.length.saturating_add(1),
            head_hash: record.self_hash.clone(),
            injective_head: injective_record_hash(place, record),
            is_sealed: self.is_sealed,
        }
    }

    /// Takes a record with these hashes.
    pub(crate) fn advance(&mut self, self_hash: &str, injective_hash: Digest) {
        self.length = self.length.saturating_add(1);
        self.head_hash.clear();
        self.head_hash.push_str(self_hash);
        self.injective_head = injective_hash;
    }

    /// The head of a whole chain, recomputed from its records.
    #[must_use]
    pub fn of(context: &ObservationContext, chain: &EvidenceChain) -> Self {
        let genesis = Self::genesis(context, &chain.chain_id);
        chain.records.iter().fold(genesis, |head, record| head.after(context, record))
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

/// A chain that nothing can be appended to: there is no function that takes one and adds to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedChain {
    chain: EvidenceChain,
    seal: ChainSeal,
}

/// Seals a chain (Phase-31, "Stop condition enforcement", step 3).
///
/// # Errors
/// [`ChainFinding`]: a chain that does not verify is not sealed.
pub fn seal_chain(
    context: &ObservationContext,
    chain: EvidenceChain,
) -> Result<SealedChain, ChainFinding> {
    inspect_chain(&chain)?;
    let (_, seal) = ChainHead::of(context, &chain).sealed();
    Ok(SealedChain { chain, seal })
}

impl SealedChain {
    /// The chain.
    #[must_use]
    pub const fn chain(&self) -> &EvidenceChain {
        &self.chain
    }

    /// The seal.
    #[must_use]
    pub const fn seal(&self) -> &ChainSeal {
        &self.seal
    }
}

impl ChainSeal {
    /// Verifies a chain against this seal: the records, the anchor, and the seal's own hash.
    ///
    /// # Errors
    /// [`ChainFinding`]: the first thing that is wrong.
    pub fn verify(
        &self,
        context: &ObservationContext,
        chain: &EvidenceChain,
    ) -> Result<(), ChainFinding> {
        let expected = injective_seal_hash(&self.chain_id, self.length, &self.injective_head);
        if self.seal_hash != expected {
            return Err(ChainFinding::Seal { expected, found: self.seal_hash });
        }
        let anchor = ChainHead {
            chain_id: self.chain_id.clone(),
            length: self.length,
            head_hash: chain.head_hash.clone(),
            injective_head: self.injective_head,
            is_sealed: true,
        };
        inspect_anchored_chain(context, chain, &anchor)
    }
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

/// The first thing wrong with a chain. Indexes count records from 0.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChainFinding {
    /// A chain of length 0 with a head or with records.
    #[error("an empty chain has no head and no records; found {records} records, head {head:?}")]
    Empty {
        /// How many records there are.
        records: u64,
        /// The head.
        head: String,
    },
    /// The length is not the number of records.
    #[error("the chain says it has {expected} records, but {found} are there")]
    Length {
        /// What the chain says.
        expected: u64,
        /// How many there are.
        found: u64,
    },
    /// A record does not link to the one before it.
    #[error("record {index} links to {found:?}, but the record before it is {expected:?}")]
    PriorHash {
        /// The record.
        index: u64,
        /// The hash of the record before it; empty for the first.
        expected: String,
        /// What the record says.
        found: String,
    },
    /// A record is not what its hash says.
    #[error("record {index} hashes to {expected}, but says {found:?}")]
    SelfHash {
        /// The record.
        index: u64,
        /// The recomputed hash.
        expected: String,
        /// What the record says.
        found: String,
    },
    /// The head is not the newest record.
    #[error("the newest record is {expected}, but the head says {found:?}")]
    HeadHash {
        /// The hash of the newest record.
        expected: String,
        /// What the chain says.
        found: String,
    },
    /// Two records have the same id.
    #[error("record {index} has the id {record_id:?} of record {first}")]
    DuplicateRecordId {
        /// The later record.
        index: u64,
        /// The earlier record.
        first: u64,
        /// Their id.
        record_id: String,
    },
    /// The chain verifies on its own, but is not the one that was anchored.
    #[error("the chain is not the anchored one: {expected} was recorded, {found} recomputed")]
    Anchor {
        /// The injective head that was recorded.
        expected: Digest,
        /// The injective head of this chain.
        found: Digest,
    },
    /// A seal whose own hash is wrong.
    #[error("the seal hashes to {expected}, but says {found}")]
    Seal {
        /// The recomputed hash.
        expected: Digest,
        /// What the seal says.
        found: Digest,
    },
}

/// Whether the chain is valid. [`inspect_chain`] says what is wrong and where.
#[must_use]
pub fn validate_chain(chain: &EvidenceChain) -> bool {
    inspect_chain(chain).is_ok()
}

/// Validates a chain by the seed's rules, in their order, and then requires that record ids are
/// unique. A chain that verifies may still be truncated or rewritten as a whole: only an anchor
/// tells, see [`inspect_anchored_chain`].
///
/// # Errors
/// [`ChainFinding`]: the first thing that is wrong.
pub fn inspect_chain(chain: &EvidenceChain) -> Result<(), ChainFinding> {
    inspect_length(chain)?;
    let mut prior = "";
    for (index, record) in (0..).zip(&chain.records) {
        inspect_record(index, record, prior)?;
        prior = &record.self_hash;
    }
    inspect_head(chain, prior)?;
    inspect_record_ids(chain)
}

/// Validates a chain, then that it is the chain whose head was recorded: same chain, session,
/// loop, executor, envelope, and every record unchanged, in place, with none missing or added.
///
/// # Errors
/// [`ChainFinding`]: the first thing that is wrong.
pub fn inspect_anchored_chain(
    context: &ObservationContext,
    chain: &EvidenceChain,
    anchor: &ChainHead,
) -> Result<(), ChainFinding> {
    inspect_chain(chain)?;
    let (expected, found) = (anchor.injective_head, ChainHead::of(context, chain).injective_head);
    if found == expected { Ok(()) } else { Err(ChainFinding::Anchor { expected, found }) }
}

/// What an append relies on: the length, the newest record, its link, and the head.
pub(crate) fn inspect_newest_link(chain: &EvidenceChain) -> Result<(), ChainFinding> {
    inspect_length(chain)?;
    let Some(newest) = chain.records.last() else { return Ok(()) };
    let before = chain.records.iter().rev().nth(1);
    let prior = before.map_or("", |record| record.self_hash.as_str());
    inspect_record(chain.length.saturating_sub(1), newest, prior)?;
    inspect_head(chain, &newest.self_hash)
}

fn inspect_length(chain: &EvidenceChain) -> Result<(), ChainFinding> {
    let (expected, found) = (chain.length, chain.records.len() as u64);
    if expected == 0 && (found != 0 || !chain.head_hash.is_empty()) {
        return Err(ChainFinding::Empty { records: found, head: chain.head_hash.clone() });
    }
    if found == expected { Ok(()) } else { Err(ChainFinding::Length { expected, found }) }
}

fn inspect_record(index: u64, record: &EvidenceRecord, prior: &str) -> Result<(), ChainFinding> {
    if record.prior_hash != prior {
        let (expected, found) = (String::from(prior), record.prior_hash.clone());
        return Err(ChainFinding::PriorHash { index, expected, found });
    }
    let expected = evidence_hash(record);
    if record.self_hash != expected {
        return Err(ChainFinding::SelfHash { index, expected, found: record.self_hash.clone() });
    }
    Ok(())
}

fn inspect_head(chain: &EvidenceChain, newest: &str) -> Result<(), ChainFinding> {
    if chain.head_hash == newest {
        return Ok(());
    }
    let (expected, found) = (String::from(newest), chain.head_hash.clone());
    Err(ChainFinding::HeadHash { expected, found })
}

fn inspect_record_ids(chain: &EvidenceChain) -> Result<(), ChainFinding> {
    let mut seen = BTreeMap::new();
    for (index, record) in (0..).zip(&chain.records) {
        if let Some(first) = seen.insert(record.record_id.as_str(), index) {
            let record_id = record.record_id.clone();
            return Err(ChainFinding::DuplicateRecordId { index, first, record_id });
        }
    }
    Ok(())
}
