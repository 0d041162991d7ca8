//! Capturing evidence: append-only, verified before every append (Phase-31).

use alloc::string::String;

use thiserror::Error;

use super::validate::inspect_newest_link;
use super::{
    ChainFinding, ChainHead, EvidenceChain, EvidenceRecord, EvidenceType, ObservationContext,
    ObservationPoint, OfferedEvidence, RawData, evidence_hash,
};
use crate::text::id;

/// What a halted context captures instead of what it is offered.
pub const CONTEXT_HALTED: &[u8] = b"CONTEXT_HALTED";

/// Why evidence is not appended.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CaptureRefusal {
    /// The chain was sealed.
    #[error("chain {chain_id:?} is sealed after {length} records; start a new loop")]
    Sealed {
        /// The chain.
        chain_id: String,
        /// Its length.
        length: u64,
    },
    /// The prior chain does not verify ("chain link verified before append").
    #[error("the evidence chain is broken, nothing can be appended: {0}")]
    Broken(#[from] ChainFinding),
}

/// Captures evidence and returns the chain with the record appended. The prior chain is consumed,
/// so an append copies nothing; clone it first to keep it. Its newest link is verified, in
/// constant time; [`super::inspect_chain`] verifies all of it.
///
/// A halted context captures HALT_ENTRY / STOP_CONDITION / `CONTEXT_HALTED`, as the seed has it,
/// and keeps what it was offered in [`EvidenceRecord::offered`].
///
/// # Errors
/// [`CaptureRefusal::Broken`]: the newest link of the prior chain does not verify.
pub fn capture_evidence(
    context: &ObservationContext,
    observation_point: ObservationPoint,
    evidence_type: EvidenceType,
    raw_data: RawData,
    timestamp: &str,
    prior_chain: EvidenceChain,
    entropy: &str,
) -> Result<EvidenceChain, CaptureRefusal> {
    inspect_newest_link(&prior_chain)?;
    let mut chain = prior_chain;
    let offer = OfferedEvidence { observation_point, evidence_type, raw_data };
    let record = make_record(context, offer, timestamp, &chain.head_hash, entropy);
    chain.head_hash.clone_from(&record.self_hash);
    chain.length = chain.length.saturating_add(1);
    chain.records.push(record);
    Ok(chain)
}

/// As [`capture_evidence`], for a caller that keeps the head and not the records. The head is the
/// caller's own state; [`ChainHead::after`] gives the next one.
///
/// # Errors
/// [`CaptureRefusal::Sealed`]: nothing is captured after the seal.
pub fn capture_record(
    context: &ObservationContext,
    offer: OfferedEvidence,
    timestamp: &str,
    head: &ChainHead,
    entropy: &str,
) -> Result<EvidenceRecord, CaptureRefusal> {
    if head.is_sealed {
        let (chain_id, length) = (head.chain_id.clone(), head.length);
        return Err(CaptureRefusal::Sealed { chain_id, length });
    }
    Ok(make_record(context, offer, timestamp, &head.head_hash, entropy))
}

fn make_record(
    context: &ObservationContext,
    offer: OfferedEvidence,
    timestamp: &str,
    prior_hash: &str,
    entropy: &str,
) -> EvidenceRecord {
    let (taken, offered) = if context.is_halted { (halted(), Some(offer)) } else { (offer, None) };
    let mut record = EvidenceRecord {
        record_id: id("REC-", entropy),
        observation_point: taken.observation_point,
        evidence_type: taken.evidence_type,
        timestamp: String::from(timestamp),
        raw_data: taken.raw_data,
        prior_hash: String::from(prior_hash),
        self_hash: String::new(),
        offered,
    };
    record.self_hash = evidence_hash(&record);
    record
}

fn halted() -> OfferedEvidence {
    OfferedEvidence {
        observation_point: ObservationPoint::HaltEntry,
        evidence_type: EvidenceType::StopCondition,
        raw_data: RawData::from(CONTEXT_HALTED.to_vec()),
    }
}
