//! The chain of evidence (Phase-31): its hashes, its head, its seal, and the one step by which a
//! record is found to be the next one.
//!
//! The seed's evidence hash is kept beside the injective hashes that are relied on.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use serde::{Deserialize, Serialize};
use sha2::Sha256;
use thiserror::Error;

use crate::core::hash::{Digest, HashBuilder, Preimage, nul_joined_sha256, sha256};
use crate::evidence_capture::event::EvidenceCaptured;
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
    /// Number of records it has.
    pub length: u64,
    /// The seed's hash of the newest record; empty for an empty chain.
    pub head_hash: String,
    /// The injective hash of the newest record, or of the genesis.
    pub injective_head: Digest,
    /// True if the chain is sealed: a sealed chain takes no record.
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
            injective_head: identity("holdpoint.evidence-genesis", context, chain_id).finish(),
            is_sealed: false,
        }
    }

    /// Checks whether this record, whose seed's hash was computed, is the next one: it names the
    /// newest record, and is what its own hash says.
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

/// Record of the sealing of a chain.
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
    /// Makes the view of a record that was captured.
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

    /// Returns the view of what an event says.
    pub(crate) fn of_event(body: &'a EvidenceCaptured) -> Self {
        Self {
            record_id: &body.record_id,
            observation_point: body.observation_point,
            evidence_type: body.evidence_type,
            timestamp: &body.timestamp,
            raw_data: body.raw_data.as_bytes(),
            prior_hash: &body.prior_hash,
            self_hash: &body.self_hash,
            offered: body.offered.as_ref().map(|offered| {
                (offered.observation_point, offered.evidence_type, offered.raw_data.as_bytes())
            }),
        }
    }

    /// See [`evidence_hash`].
    #[must_use]
    pub fn seed_hash(&self) -> Digest {
        nul_joined_sha256(&self.seed_parts())
    }

    const fn seed_parts(&self) -> [&'a [u8]; 6] {
        [
            self.record_id.as_bytes(),
            self.observation_point.name().as_bytes(),
            self.evidence_type.name().as_bytes(),
            self.timestamp.as_bytes(),
            self.raw_data,
            self.prior_hash.as_bytes(),
        ]
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

/// The hashes of evidence that follow from its record alone, as [`EvidenceMessages`] gives them: of
/// its raw bytes, and the seed's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvidenceHashes(pub(crate) [Digest; 2]);

impl EvidenceHashes {
    /// Returns the hashes of what an event captured.
    pub(crate) fn of(body: &EvidenceCaptured) -> Self {
        Self([body.raw_data.sha256(), RecordView::of_event(body).seed_hash()])
    }
}

/// Evidence whose hashes are computed together, by whoever can hash many messages at once.
#[derive(Debug, Default)]
pub struct EvidenceMessages {
    /// Bytes that the seed hashes of each, one behind the other.
    bytes: Vec<u8>,
    evidence: Vec<Message>,
}

#[derive(Debug)]
enum Message {
    /// Place of its raw bytes, within what the seed hashes.
    Gathered { raw: Range<usize>, seed: Range<usize> },
    /// It is not copied.
    Hashed(EvidenceHashes),
}

/// Returns whether raw bytes are few enough to be copied beside others; more fill a hash function
/// alone.
const fn is_gathered(raw: &[u8]) -> bool {
    raw.len() <= 16 * 1024
}

impl EvidenceMessages {
    /// Forgets them, for the next ones.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.evidence.clear();
    }

    /// Adds what an event captured.
    pub fn add(&mut self, body: &EvidenceCaptured) {
        if !is_gathered(body.raw_data.as_bytes()) {
            return self.evidence.push(Message::Hashed(EvidenceHashes::of(body)));
        }
        let start = self.bytes.len();
        let [id, point, kind, timestamp, raw, prior] = RecordView::of_event(body).seed_parts();
        for part in [id, point, kind, timestamp] {
            self.bytes.extend_from_slice(part);
            self.bytes.push(0);
        }
        let raw_start = self.bytes.len();
        self.bytes.extend_from_slice(raw);
        let raw = raw_start..self.bytes.len();
        self.bytes.push(0);
        self.bytes.extend_from_slice(prior);
        self.evidence.push(Message::Gathered { raw, seed: start..self.bytes.len() });
    }

    /// The hashes of each, in the order in which they were added. `digest_each` writes the SHA-256
    /// of each message to its place.
    pub fn hashes(
        &self,
        digest_each: impl FnOnce(&[&[u8]], &mut [[u8; 32]]),
    ) -> impl Iterator<Item = EvidenceHashes> {
        let of = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        let messages: Vec<&[u8]> =
            self.gathered().flat_map(|(raw, seed)| [of(raw), of(seed)]).collect();
        let mut digests = vec![[0; 32]; messages.len()];
        digest_each(&messages, &mut digests);
        let mut digests = digests.into_iter().map(Digest::from_bytes);
        let mut next = move || digests.next().unwrap_or(Digest::from_bytes([0; 32]));
        self.evidence.iter().map(move |message| match message {
            Message::Hashed(hashes) => *hashes,
            Message::Gathered { .. } => EvidenceHashes([next(), next()]),
        })
    }

    fn gathered(&self) -> impl Iterator<Item = (&Range<usize>, &Range<usize>)> {
        self.evidence.iter().filter_map(|message| match message {
            Message::Gathered { raw, seed } => Some((raw, seed)),
            Message::Hashed(_) => None,
        })
    }
}

/// The hash function once it has taken what all records of one session's chain begin with. Follows
/// from the session and the chain's id, so it is no part of any state.
#[derive(Clone, Debug)]
pub struct SessionHash(Sha256);

impl SessionHash {
    /// Makes the genesis of this session's chain with this id.
    #[must_use]
    pub fn of(context: &ObservationContext, chain_id: &str) -> Self {
        Self(identity("holdpoint.evidence-record", context, chain_id).into_hasher())
    }
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
    /// Value in the record.
    pub found: String,
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::{EvidenceHashes, EvidenceMessages, is_gathered};
    use crate::core::hash::{Digest, sha256};
    use crate::evidence_capture::event::EvidenceCaptured;
    use crate::evidence_capture::types::{EvidenceContent, EvidenceType, ObservationPoint};

    fn captured(length: usize) -> EvidenceCaptured {
        EvidenceCaptured {
            loop_id: "LOOP-1".into(),
            chain_id: "CHAIN-1".into(),
            index: 0,
            record_id: "REC-1".into(),
            observation_point: ObservationPoint::PostDispatch,
            evidence_type: EvidenceType::ExecutorOutput,
            timestamp: "2026-01-01T00:00:00Z".into(),
            raw_data: vec![7; length].into(),
            prior_hash: "".into(),
            self_hash: "".into(),
            injective_hash: Digest::from_bytes([0; 32]),
            content: EvidenceContent::Opaque,
            offered: None,
        }
    }

    /// Long evidence stands among short: each has its own hashes.
    #[test]
    fn evidence_of_every_length_has_the_same_hashes_together_as_alone() {
        let most = 16 * 1024;
        assert!(is_gathered(&vec![0; most]) && !is_gathered(&vec![0; most + 1]));
        let bodies = [0, 1, most + 1, 55, 64, most, 2 * most, 300].map(captured);
        let mut messages = EvidenceMessages::default();
        bodies.iter().for_each(|body| messages.add(body));
        let together = messages.hashes(|messages, digests| {
            let hashed = messages.iter().map(|message| *sha256(message).as_bytes());
            hashed.zip(digests).for_each(|(digest, place)| *place = digest);
        });
        assert!(together.eq(bodies.iter().map(EvidenceHashes::of)));
    }
}
