//! The evidence chain of one loop, without its raw bytes.

use alloc::vec::Vec;
use core::cell::OnceCell;

use serde::{Deserialize, Serialize};

use crate::core::hash::Digest;
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::evidence_capture::chain::{ChainHead, SessionHash};
use crate::evidence_capture::types::{
    EvidenceContent, EvidenceType, ObservationContext, ObservationPoint,
};

/// A chain of evidence records. Raw bytes stay in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    /// Id, length, both heads, seal.
    pub head: ChainHead,
    /// The records, first to last.
    pub records: Vec<ChainRecord>,
    /// The time of the last record.
    pub last_at: Option<Timestamp>,
    /// Whether some event contradicted the chain; the loop then stops with
    /// EVIDENCE_CHAIN_BROKEN.
    pub is_broken: bool,
    /// What every record's hash begins with, once it was needed.
    #[serde(skip)]
    pub(crate) session: Remembered,
}

/// Something that follows from a chain's other parts, and so is no part of its state: however it
/// is, chains are equal that are so without it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Remembered(OnceCell<SessionHash>);

impl PartialEq for Remembered {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Remembered {}

/// One evidence record, its raw bytes replaced by their length and SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainRecord {
    /// `REC-` and 128 bits.
    pub record_id: Text,
    /// Where in the loop.
    pub observation_point: ObservationPoint,
    /// What kind of evidence.
    pub evidence_type: EvidenceType,
    /// When, as the seed's hash covers it.
    pub timestamp: Text,
    /// Length of the raw bytes.
    pub raw_length: u64,
    /// SHA-256 of the raw bytes.
    pub raw_sha256: Digest,
    /// The seed's hash of the record before.
    pub prior_hash: Text,
    /// The seed's hash of this record.
    pub self_hash: Text,
    /// Our own hash of this record.
    pub injective_hash: Digest,
    /// What the raw bytes are.
    pub content: EvidenceContent,
    /// The sequence of the log record that holds them.
    pub sequence: u64,
}

impl Chain {
    /// An empty chain.
    pub(crate) fn new(head: ChainHead) -> Self {
        let session = Remembered::default();
        Self { head, records: Vec::new(), last_at: None, is_broken: false, session }
    }

    /// What every record's hash begins with in this session.
    pub(crate) fn session(&self, context: &ObservationContext) -> &SessionHash {
        self.session.0.get_or_init(|| SessionHash::of(context, &self.head.chain_id))
    }

    /// The same, where a record needed it already.
    pub(crate) fn known_session(&self) -> Option<&SessionHash> {
        self.session.0.get()
    }

    /// Whether a record with this id is there.
    #[must_use]
    pub fn contains(&self, record_id: &str) -> bool {
        self.records.iter().any(|record| *record.record_id == *record_id)
    }
}

/// A readable evidence chain.
#[derive(Debug, Serialize)]
pub struct ChainView<'a> {
    /// `CHAIN-...`.
    pub chain_id: &'a str,
    /// How many records.
    pub length: u64,
    /// The seed's hash of the last record.
    pub head_hash: &'a str,
    /// Our own hash over the whole chain.
    pub injective_head: &'a Digest,
    /// Whether the chain has ended.
    pub sealed: bool,
    /// Whether some event contradicted it.
    pub broken: bool,
    /// The records.
    pub records: &'a [ChainRecord],
}

impl Chain {
    /// The readable form.
    #[must_use]
    pub fn view(&self) -> ChainView<'_> {
        ChainView {
            chain_id: &self.head.chain_id,
            length: self.head.length,
            head_hash: &self.head.head_hash,
            injective_head: &self.head.injective_head,
            sealed: self.head.is_sealed,
            broken: self.is_broken,
            records: &self.records,
        }
    }
}
