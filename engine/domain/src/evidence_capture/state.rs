//! The evidence chain of one loop, without its raw bytes.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::codec::Remembered;
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
    /// True if some event contradicted the chain; the loop then stops with EVIDENCE_CHAIN_BROKEN.
    pub is_broken: bool,
    /// Beginning of every record's hash, once it was needed.
    #[serde(skip)]
    pub(crate) session: Remembered<SessionHash>,
    /// The ends of the records' ids, once somebody asked for one.
    #[serde(skip)]
    ends: Remembered<BTreeSet<IdEnd>>,
}

/// One evidence record, its raw bytes replaced by their length and SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainRecord {
    /// `REC-` and 128 bits.
    pub record_id: Text,
    /// Place in the loop.
    pub observation_point: ObservationPoint,
    /// Kind of evidence.
    pub evidence_type: EvidenceType,
    /// Time, as the seed's hash covers it.
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
    /// Content of the raw bytes.
    pub content: EvidenceContent,
    /// The sequence of the log record that holds them.
    pub sequence: u64,
}

/// The last bytes of an id; zeros of a shorter one.
type IdEnd = [u8; 16];

fn id_end(record_id: &str) -> IdEnd {
    record_id.as_bytes().last_chunk().copied().unwrap_or_default()
}

impl Chain {
    /// An empty chain.
    pub(crate) fn new(head: ChainHead) -> Self {
        let (session, ends) = (Remembered::default(), Remembered::default());
        // A loop that runs through once captures five or six, and few capture more.
        let records = Vec::with_capacity(8);
        Self { head, records, last_at: None, is_broken: false, session, ends }
    }

    /// Returns what every record's hash begins with in this session.
    pub(crate) fn session(&self, context: &ObservationContext) -> &SessionHash {
        self.session.get_or_make(|| SessionHash::of(context, &self.head.chain_id))
    }

    /// The same, where a record needed it already.
    pub(crate) fn known_session(&self) -> Option<&SessionHash> {
        self.session.get()
    }

    /// Adds a record.
    pub(crate) fn push(&mut self, record: ChainRecord) {
        if let Some(ends) = self.ends.get_mut() {
            ends.insert(id_end(&record.record_id));
        }
        self.records.push(record);
    }

    /// Returns whether a record with this id is there. A new id ends otherwise than all others,
    /// which is seen without a look at each.
    #[must_use]
    pub fn contains(&self, record_id: &str) -> bool {
        let ends = || self.records.iter().map(|record| id_end(&record.record_id)).collect();
        self.ends.get_or_make(ends).contains(&id_end(record_id))
            && self.records.iter().any(|record| *record.record_id == *record_id)
    }
}

/// A readable evidence chain.
#[derive(Debug, Serialize)]
pub struct ChainView<'a> {
    /// `CHAIN-...`.
    pub chain_id: &'a str,
    /// Number of records.
    pub length: u64,
    /// The seed's hash of the last record.
    pub head_hash: &'a str,
    /// Our own hash over the whole chain.
    pub injective_head: &'a Digest,
    /// True if the chain has ended.
    pub sealed: bool,
    /// True if some event contradicted it.
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

#[cfg(test)]
mod tests {
    use super::{Chain, ChainRecord};
    use crate::core::hash::Digest;
    use crate::evidence_capture::chain::ChainHead;
    use crate::evidence_capture::types::{EvidenceContent, EvidenceType, ObservationPoint};

    fn record(record_id: &str) -> ChainRecord {
        let digest = Digest::from_bytes([0; 32]);
        ChainRecord {
            record_id: record_id.into(),
            observation_point: ObservationPoint::PostDispatch,
            evidence_type: EvidenceType::ExecutorOutput,
            timestamp: "".into(),
            raw_length: 0,
            raw_sha256: digest,
            prior_hash: "".into(),
            self_hash: "".into(),
            injective_hash: digest,
            content: EvidenceContent::Opaque,
            sequence: 1,
        }
    }

    /// Short ids, and ids that end alike, are told apart.
    #[test]
    fn an_id_is_found_whenever_its_record_came_and_no_other() {
        let head = ChainHead {
            chain_id: "CHAIN-1".into(),
            length: 0,
            head_hash: "".into(),
            injective_head: Digest::from_bytes([0; 32]),
            is_sealed: false,
        };
        let ids = ["", "a", "b", "REC-0123456789abcdef", "RED-0123456789abcdef", "REC-1"];
        for asked_from in 0..=ids.len() {
            let mut chain = Chain::new(head.clone());
            for (place, id) in ids.iter().enumerate() {
                if place >= asked_from {
                    assert!(!chain.contains(id), "{id:?} before it came");
                }
                chain.push(record(id));
            }
            assert!(ids.iter().all(|id| chain.contains(id)) && !chain.contains("c"));
        }
    }
}
