//! The chain of evidence, its head, and its seal (Phase-31).

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::hashing::{injective_genesis_hash, injective_record_hash, injective_seal_hash};
use super::{
    ChainFinding, EvidenceRecord, ObservationContext, RecordPlace, inspect_anchored_chain,
    inspect_chain,
};
use crate::hash::Digest;
use crate::text::id;

/// An append-only chain of evidence, as the seed has it. Appending is
/// [`super::capture_evidence`].
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
