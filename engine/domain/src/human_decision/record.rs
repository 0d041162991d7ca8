//! A person's answer, checked (Phase-32, "Decision validation").

use alloc::string::{String, ToString as _};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{DecisionRequest, HumanDecision};
use crate::event::Text;
use crate::text::{has_visible_character, id, is_blank};
use crate::time::Timestamp;

/// The name under which nobody answers. No person may use it.
pub const SYSTEM_TIMEOUT: &str = "SYSTEM_TIMEOUT";

/// The reason of a decision that nobody made.
pub const TIMEOUT_REASON: &str = "TIMEOUT";

/// A decision, as the audit trail holds it. Immutable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DecisionRecord {
    /// `DEC-` and the entropy it was made with.
    pub decision_id: Text,
    /// The request that it answers.
    pub request_id: Text,
    /// Who decided.
    pub human_id: Text,
    /// What.
    pub decision: HumanDecision,
    /// Why. Required for RETRY and ESCALATE.
    pub reason: Option<Text>,
    /// To whom. Required for ESCALATE.
    pub escalation_target: Option<Text>,
    /// When, as ISO-8601 text, as the seed's hash covers it.
    pub timestamp: Text,
    /// The head of the evidence chain that was decided on.
    pub evidence_chain_hash: Text,
}

/// Why an answer is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AnswerRefusal {
    /// Nobody's name, or one that nobody can see.
    #[error("human_id is required")]
    HumanMissing,
    /// The name of the timeout.
    #[error("human_id {SYSTEM_TIMEOUT} is reserved for timeouts; answer under your own name")]
    HumanReserved,
    /// The request does not offer the decision.
    #[error("Decision {decision} not in allowed decisions")]
    NotAllowed {
        /// The decision.
        decision: HumanDecision,
    },
    /// RETRY or ESCALATE without a reason that anybody can see.
    #[error("{decision} decision requires a reason")]
    ReasonMissing {
        /// The decision.
        decision: HumanDecision,
    },
    /// ESCALATE to nobody.
    #[error("ESCALATE decision requires an escalation_target")]
    TargetMissing,
    /// Before the request was made.
    #[error("the answer is dated {found}, before the request of {expected}; check the clock")]
    TooEarly {
        /// When the request was made.
        expected: Timestamp,
        /// The answer's time.
        found: Timestamp,
    },
    /// At the deadline or later.
    #[error("the answer of {found} came too late: the request timed out at {expected}")]
    TooLate {
        /// The deadline.
        expected: Timestamp,
        /// The answer's time.
        found: Timestamp,
    },
}

/// Accepts a person's decision, or says why not; first match wins, in the reference's order. The
/// time is not looked at: see [`accept_decision_in_time`], by which commands are decided.
///
/// # Errors
/// [`AnswerRefusal`] names what is missing.
pub fn accept_decision(
    request: &DecisionRequest,
    decision: HumanDecision,
    human_id: &str,
    reason: Option<&str>,
    escalation_target: Option<&str>,
    timestamp: &str,
    entropy: &str,
) -> Result<DecisionRecord, AnswerRefusal> {
    check_human(human_id)?;
    if !request.allows(decision) {
        return Err(AnswerRefusal::NotAllowed { decision });
    }
    check_required(decision, reason, escalation_target, is_missing)?;
    Ok(DecisionRecord {
        decision_id: id("DEC-", entropy).into(),
        request_id: request.request_id.clone(),
        human_id: human_id.into(),
        decision,
        reason: reason.map(Text::from),
        escalation_target: escalation_target.map(Text::from),
        timestamp: timestamp.into(),
        evidence_chain_hash: request.evidence_summary.chain_hash.clone(),
    })
}

/// As [`accept_decision`], for an answer at a known time: it counts from the request's creation
/// on and strictly before its deadline.
///
/// # Errors
/// [`AnswerRefusal`] names what is missing, or by how much the time is off.
pub fn accept_decision_in_time(
    request: &DecisionRequest,
    decision: HumanDecision,
    human_id: &str,
    reason: Option<&str>,
    escalation_target: Option<&str>,
    at: Timestamp,
    entropy: &str,
) -> Result<DecisionRecord, AnswerRefusal> {
    if at < request.created_at {
        return Err(AnswerRefusal::TooEarly { expected: request.created_at, found: at });
    }
    if request.is_expired(at) {
        return Err(AnswerRefusal::TooLate { expected: request.timeout_at, found: at });
    }
    let timestamp = at.to_string();
    accept_decision(request, decision, human_id, reason, escalation_target, &timestamp, entropy)
}

/// The decision that follows when nobody answers: ABORT, reason TIMEOUT. Whether the time is up
/// is for the caller to know; commands are decided by [`DecisionRequest::is_expired`].
#[must_use]
pub fn create_timeout_decision(
    request: &DecisionRequest,
    timestamp: &str,
    entropy: &str,
) -> DecisionRecord {
    DecisionRecord {
        decision_id: id("DEC-", entropy).into(),
        request_id: request.request_id.clone(),
        human_id: SYSTEM_TIMEOUT.into(),
        decision: HumanDecision::Abort,
        reason: Some(TIMEOUT_REASON.into()),
        escalation_target: None,
        timestamp: timestamp.into(),
        evidence_chain_hash: request.evidence_summary.chain_hash.clone(),
    }
}

impl DecisionRecord {
    /// Whether nobody made this decision: it is the one of a timeout.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        self.human_id.as_str() == SYSTEM_TIMEOUT
            && self.decision == HumanDecision::Abort
            && self.reason.as_deref() == Some(TIMEOUT_REASON)
    }

    /// Whether the record has what its decision requires: a person (or the timeout), a reason, a
    /// target. What is blank is missing; text that nobody can see is refused when an answer is
    /// accepted, not when a record of one is read.
    ///
    /// # Errors
    /// [`AnswerRefusal`] names what is missing.
    pub fn check(&self) -> Result<(), AnswerRefusal> {
        if is_blank(&self.human_id) {
            return Err(AnswerRefusal::HumanMissing);
        }
        let (reason, target) = (self.reason.as_deref(), self.escalation_target.as_deref());
        check_required(self.decision, reason, target, |text| text.is_none_or(is_blank))
    }
}

fn check_human(human_id: &str) -> Result<(), AnswerRefusal> {
    if is_missing(Some(human_id)) {
        return Err(AnswerRefusal::HumanMissing);
    }
    if human_id == SYSTEM_TIMEOUT { Err(AnswerRefusal::HumanReserved) } else { Ok(()) }
}

/// The table "Required fields".
fn check_required(
    decision: HumanDecision,
    reason: Option<&str>,
    target: Option<&str>,
    is_missing: fn(Option<&str>) -> bool,
) -> Result<(), AnswerRefusal> {
    use HumanDecision::{Abort, Continue, Escalate, Retry};
    match decision {
        Retry | Escalate if is_missing(reason) => Err(AnswerRefusal::ReasonMissing { decision }),
        Escalate if is_missing(target) => Err(AnswerRefusal::TargetMissing),
        Continue | Retry | Abort | Escalate => Ok(()),
    }
}

/// Missing is what nobody can see: absent, blank, zero-width, controls alone.
fn is_missing(text: Option<&str>) -> bool {
    text.is_none_or(|text| !has_visible_character(text))
}

/// The text, or nothing where nobody could see any.
pub(crate) fn visible_or_none(text: Option<&str>) -> Option<String> {
    text.filter(|text| !is_missing(Some(text))).map(String::from)
}
