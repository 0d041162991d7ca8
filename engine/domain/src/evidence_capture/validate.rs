//! Validating a chain, with the place of what is wrong (Phase-31).

use alloc::collections::BTreeMap;
use alloc::string::String;

use thiserror::Error;

use super::{ChainHead, EvidenceChain, EvidenceRecord, ObservationContext, evidence_hash};
use crate::hash::Digest;

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
pub(super) fn inspect_newest_link(chain: &EvidenceChain) -> Result<(), ChainFinding> {
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
