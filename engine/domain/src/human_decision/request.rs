//! Asking a person: the curated summary, and the request that presents it (Phase-32).

use alloc::string::{String, ToString as _};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{DecisionTimeout, HumanDecision, warning_time};
use crate::confidence::Confidence;
use crate::event::{List, Text};
use crate::evidence_capture::{
    ChainFinding, EvidenceChain, EvidenceType, ObservationPoint, inspect_chain,
};
use crate::execution_loop::ExecutionLoopState;
use crate::text::{bounded, id, visible};
use crate::time::{TimeFault, Timestamp};

/// What a person is shown of the evidence. There is no field for raw data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvidenceSummary {
    /// The observation point of the newest record. A member of the closed set, so that no text of
    /// an executor can stand here.
    pub observation_point: ObservationPoint,
    /// The type of the newest record.
    pub evidence_type: EvidenceType,
    /// When the newest record was captured: ISO-8601, checked, as the evidence hash covers it.
    pub timestamp: Text,
    /// How many records the chain has.
    pub chain_length: u64,
    /// The loop's state.
    pub execution_state: ExecutionLoopState,
    /// Phase-30's confidence, in basis points below 1.
    #[serde(rename = "confidence_basis_points")]
    pub confidence_score: Confidence,
    /// The chain's head: the seed's hash of the newest record.
    pub chain_hash: Text,
}

/// A request for a person's decision. Immutable once created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionRequest {
    /// `REQ-` and the entropy it was made with.
    pub request_id: Text,
    /// The observer's session.
    pub session_id: Text,
    /// What the person sees.
    pub evidence_summary: EvidenceSummary,
    /// What the person may decide, in the order of [`HumanDecision::ALL`]. ABORT always may.
    pub allowed_decisions: List<HumanDecision>,
    /// When it was created.
    pub created_at: Timestamp,
    /// From when on no answer counts any more. A time, not a text: now is already too late.
    pub timeout_at: Timestamp,
    /// What happens then: always ABORT.
    pub timeout_decision: HumanDecision,
}

/// Why no request is made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestRefusal {
    /// The evidence does not verify, so it is shown to nobody.
    #[error("the evidence chain is broken, nobody can decide on it: {0}")]
    Broken(#[from] ChainFinding),
    /// There is no evidence.
    #[error("the evidence chain is empty; capture evidence before asking a person")]
    NoEvidence,
    /// The newest evidence carries no time that could be shown.
    #[error("the newest evidence has no valid time: {0}")]
    EvidenceTime(TimeFault),
    /// The deadline would lie past the end of the calendar.
    #[error("{timeout_ms} ms after {created_at} the calendar has ended; give less time")]
    NoDeadline {
        /// When the request would be made.
        created_at: Timestamp,
        /// The timeout, in milliseconds.
        timeout_ms: u64,
    },
}

/// Creates a request from evidence: the chain is verified, raw evidence stays in it, the summary
/// is of its newest record, the timeout decision is ABORT. See [`request_from_summary`].
///
/// # Errors
/// [`RequestRefusal`] says what is wrong with the evidence or the times.
pub fn create_request(
    session_id: &str,
    evidence_chain: &EvidenceChain,
    execution_state: ExecutionLoopState,
    confidence_score: Confidence,
    timeout: DecisionTimeout,
    timestamp: Timestamp,
    entropy: &str,
) -> Result<DecisionRequest, RequestRefusal> {
    inspect_chain(evidence_chain)?;
    let newest = evidence_chain.records.last().ok_or(RequestRefusal::NoEvidence)?;
    let summary = EvidenceSummary {
        observation_point: newest.observation_point,
        evidence_type: newest.evidence_type,
        timestamp: newest.timestamp.as_str().into(),
        chain_length: evidence_chain.length,
        execution_state,
        confidence_score,
        chain_hash: evidence_chain.head_hash.as_str().into(),
    };
    request_from_summary(session_id, summary, timeout, timestamp, entropy)
}

/// Creates a request from the summary of evidence that was verified before. It offers every
/// decision, and for a HALTED loop nothing but ABORT; [`DecisionRequest::without`] narrows it.
///
/// # Errors
/// [`RequestRefusal`]: the evidence's time is no time, or the deadline lies past the calendar.
pub fn request_from_summary(
    session_id: &str,
    evidence_summary: EvidenceSummary,
    timeout: DecisionTimeout,
    created_at: Timestamp,
    entropy: &str,
) -> Result<DecisionRequest, RequestRefusal> {
    let time: Result<Timestamp, _> = evidence_summary.timestamp.parse();
    time.map_err(RequestRefusal::EvidenceTime)?;
    let timeout_ms = timeout.milliseconds();
    let no_deadline = RequestRefusal::NoDeadline { created_at, timeout_ms };
    let timeout_at = timeout.deadline(created_at).ok_or(no_deadline)?;
    let halted = evidence_summary.execution_state == ExecutionLoopState::Halted;
    let offered = |decision: &HumanDecision| !halted || *decision == HumanDecision::Abort;
    Ok(DecisionRequest {
        request_id: id("REQ-", entropy).into(),
        session_id: session_id.into(),
        allowed_decisions: HumanDecision::ALL.iter().copied().filter(offered).collect(),
        evidence_summary,
        created_at,
        timeout_at,
        timeout_decision: HumanDecision::Abort,
    })
}

/// The summary as it may be shown: its names are of closed sets, its time is a time, its hash on
/// one line with nothing hidden. A time that is none is shown as such, never as it is.
#[must_use]
pub fn present_evidence(request: &DecisionRequest) -> EvidenceSummary {
    let summary = &request.evidence_summary;
    let time: Result<Timestamp, _> = summary.timestamp.parse();
    EvidenceSummary {
        timestamp: if time.is_ok() { summary.timestamp.clone() } else { "NOT A TIME".into() },
        chain_hash: shown_hash_text(&summary.chain_hash).into(),
        ..summary.clone()
    }
}

impl DecisionRequest {
    /// The same request without some decision. ABORT cannot be taken away.
    #[must_use]
    pub fn without(mut self, decision: HumanDecision) -> Self {
        let kept = |d: &HumanDecision| *d != decision || *d == HumanDecision::Abort;
        self.allowed_decisions = self.allowed_decisions.iter().copied().filter(kept).collect();
        self
    }

    /// Whether this decision may be given. ABORT always may, whatever the list says.
    #[must_use]
    pub fn allows(&self, decision: HumanDecision) -> bool {
        decision == HumanDecision::Abort || self.allowed_decisions.contains(&decision)
    }

    /// When the person is warned: at exactly 80 % of the time.
    #[must_use]
    pub fn warning_at(&self) -> Timestamp {
        warning_time(self.created_at, self.timeout_at)
    }

    /// Whether the deadline has passed: at the deadline it has.
    #[must_use]
    pub fn is_expired(&self, at: Timestamp) -> bool {
        at >= self.timeout_at
    }
}

/// A hash of the seed is 64 hexadecimal digits. Other text is made visible, and cut.
fn shown_hash_text(hash: &str) -> String {
    visible(bounded(hash, 128)).to_string()
}
