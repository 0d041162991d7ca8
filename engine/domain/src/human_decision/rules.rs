//! Asking a person with a curated summary, checking the answer, and whether it can be applied
//! (Phase-32). Nothing is executed here.

use alloc::string::{String, ToString as _};

use thiserror::Error;

use crate::core::ids::id;
use crate::core::payload::Text;
use crate::core::refusal::refusals;
use crate::core::text::{TIMEOUT_NAME, bounded, is_reserved_name, readable, visible};
use crate::core::time::{TimeFault, Timestamp};
use crate::execution_loop::types::ExecutionLoopState;
use crate::human_decision::terms::HumanDecisionTimeout;
use crate::human_decision::types::{
    EvidenceSummary, HumanDecision, HumanDecisionOutcome, HumanDecisionRecord, HumanDecisionRequest,
};

/// Why no request is made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RequestRefusal {
    /// There is no evidence.
    #[error("the evidence chain is empty; capture evidence before asking a person")]
    NoEvidence,
    /// The newest evidence carries no time that could be shown.
    #[error("the newest evidence has no valid time: {0}")]
    EvidenceTime(TimeFault),
    /// The deadline would lie past the end of the calendar.
    #[error("{timeout_ms} ms after {created_at} the calendar has ended; give less time")]
    NoDeadline {
        /// Time when the request would be made.
        created_at: Timestamp,
        /// The timeout, in milliseconds.
        timeout_ms: u64,
    },
}

/// Creates a request from the summary of evidence that was verified as it was captured: raw
/// evidence stays where it is, the timeout decision is ABORT. It offers every decision, and for a
/// HALTED loop nothing but ABORT; [`HumanDecisionRequest::without`] narrows it.
///
/// # Errors
/// [`RequestRefusal`]: the evidence's time is no time, or the deadline lies past the calendar.
pub fn create_request(
    session_id: &str,
    evidence_summary: EvidenceSummary,
    timeout: HumanDecisionTimeout,
    created_at: Timestamp,
    entropy: &str,
) -> Result<HumanDecisionRequest, RequestRefusal> {
    let time: Result<Timestamp, _> = evidence_summary.timestamp.parse();
    time.map_err(RequestRefusal::EvidenceTime)?;
    let timeout_ms = timeout.milliseconds();
    let no_deadline = RequestRefusal::NoDeadline { created_at, timeout_ms };
    let timeout_at = timeout.deadline(created_at).ok_or(no_deadline)?;
    let halted = evidence_summary.execution_state == ExecutionLoopState::Halted;
    let offered = |decision: &HumanDecision| !halted || *decision == HumanDecision::Abort;
    Ok(HumanDecisionRequest {
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
pub fn present_evidence(request: &HumanDecisionRequest) -> EvidenceSummary {
    let summary = &request.evidence_summary;
    let time: Result<Timestamp, _> = summary.timestamp.parse();
    EvidenceSummary {
        timestamp: if time.is_ok() { summary.timestamp.clone() } else { "NOT A TIME".into() },
        chain_hash: visible(bounded(&summary.chain_hash, 128)).to_string().into(),
        ..summary.clone()
    }
}

/// The name under which nobody answers. No person may use it.
pub const SYSTEM_TIMEOUT: &str = TIMEOUT_NAME;

/// The reason of a decision that nobody made.
pub const TIMEOUT_REASON: &str = "TIMEOUT";

refusals! {
    /// Why an answer is not accepted.
    AnswerRefusal holding {}
    /// Nobody's name, or one that nobody can see.
    #[error("human_id is required")]
    HumanMissing = "HUMAN_ID_REQUIRED",
    /// The name of the timeout.
    #[error("human_id {SYSTEM_TIMEOUT} is reserved for timeouts; answer under your own name")]
    HumanReserved = "HUMAN_ID_RESERVED",
    /// The request does not offer the decision.
    #[error("Decision {decision} not in allowed decisions")]
    NotAllowed {
        /// The decision.
        decision: HumanDecision,
    } = "DECISION_NOT_ALLOWED" in Gating,
    /// RETRY or ESCALATE without a reason that anybody can see.
    #[error("{decision} decision requires a reason")]
    ReasonMissing {
        /// The decision.
        decision: HumanDecision,
    } = "REASON_REQUIRED",
    /// ESCALATE to nobody.
    #[error("ESCALATE decision requires an escalation_target")]
    TargetMissing = "TARGET_REQUIRED",
    /// Before the request was made.
    #[error("the answer is dated {found}, before the request of {expected}; check the clock")]
    TooEarly {
        /// Time when the request was made.
        expected: Timestamp,
        /// The answer's time.
        found: Timestamp,
    } = "ANSWER_TOO_EARLY",
    /// At the deadline or later.
    #[error("the answer of {found} came too late: the request timed out at {expected}")]
    TooLate {
        /// The deadline.
        expected: Timestamp,
        /// The answer's time.
        found: Timestamp,
    } = "ANSWER_TOO_LATE",
}

/// Accepts a person's decision, or says why not; first match wins, in the reference's order. The
/// time is not looked at: see [`accept_decision_in_time`], by which commands are decided.
///
/// # Errors
/// [`AnswerRefusal`] names what is missing.
pub fn accept_decision(
    request: &HumanDecisionRequest,
    decision: HumanDecision,
    human_id: &str,
    reason: Option<&str>,
    escalation_target: Option<&str>,
    timestamp: &str,
    entropy: &str,
) -> Result<HumanDecisionRecord, AnswerRefusal> {
    check_human(human_id)?;
    if !request.allows(decision) {
        return Err(AnswerRefusal::NotAllowed { decision });
    }
    check_required(decision, reason, escalation_target, is_missing)?;
    Ok(HumanDecisionRecord {
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

/// Decides like [`accept_decision`], for an answer at a known time: it counts from the request's
/// creation on and strictly before its deadline.
///
/// # Errors
/// [`AnswerRefusal`] names what is missing, or by how much the time is off.
pub fn accept_decision_in_time(
    request: &HumanDecisionRequest,
    decision: HumanDecision,
    human_id: &str,
    reason: Option<&str>,
    escalation_target: Option<&str>,
    at: Timestamp,
    entropy: &str,
) -> Result<HumanDecisionRecord, AnswerRefusal> {
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
/// is for the caller to know; commands are decided by [`HumanDecisionRequest::is_expired`].
#[must_use]
pub fn create_timeout_decision(
    request: &HumanDecisionRequest,
    timestamp: &str,
    entropy: &str,
) -> HumanDecisionRecord {
    HumanDecisionRecord {
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

fn check_human(human_id: &str) -> Result<(), AnswerRefusal> {
    if is_missing(Some(human_id)) {
        return Err(AnswerRefusal::HumanMissing);
    }
    if is_reserved_name(human_id) { Err(AnswerRefusal::HumanReserved) } else { Ok(()) }
}

/// The table "Required fields".
pub(crate) fn check_required(
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

/// Missing is what nobody can read: absent, or blanks, dotless patterns (U+2800), zero-width
/// characters and controls alone.
fn is_missing(text: Option<&str>) -> bool {
    readable(text).is_none()
}

/// The text, or nothing where nobody could see any.
pub(crate) fn visible_or_none(text: Option<&str>) -> Option<String> {
    readable(text).map(String::from)
}

/// Decides what becomes of a decision in this state, after so many retries of so many.
///
/// | decision | APPLIED | PENDING | REJECTED |
/// |---|---|---|---|
/// | ABORT | always; of a timeout: TIMEOUT | | |
/// | CONTINUE | loop not HALTED | | HALTED |
/// | RETRY | reason, not HALTED, 0 <= count < max | | otherwise |
/// | ESCALATE | | reason and target, in any state | otherwise |
///
/// A record that lacks what its decision requires is REJECTED, except ABORT. That nobody is asked
/// about a HALTED loop, and that the target is one that can be asked, is for the command to see to.
#[must_use]
pub fn apply_decision(
    record: &HumanDecisionRecord,
    current_state: ExecutionLoopState,
    retry_count: i64,
    max_retries: i64,
) -> HumanDecisionOutcome {
    let is_complete = record.check().is_ok();
    let stands = is_complete && current_state != ExecutionLoopState::Halted;
    match record.decision {
        HumanDecision::Abort if record.is_timeout() => HumanDecisionOutcome::Timeout,
        HumanDecision::Abort => HumanDecisionOutcome::Applied,
        HumanDecision::Continue if stands => HumanDecisionOutcome::Applied,
        HumanDecision::Retry if stands && (0..max_retries).contains(&retry_count) => {
            HumanDecisionOutcome::Applied
        }
        HumanDecision::Escalate if is_complete => HumanDecisionOutcome::Pending,
        HumanDecision::Continue | HumanDecision::Retry | HumanDecision::Escalate => {
            HumanDecisionOutcome::Rejected
        }
    }
}
