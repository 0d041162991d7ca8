//! A loop as a person or another program reads it: the seeds' names, hashes in hex, times in
//! RFC 3339, raw evidence absent. What is hidden of a question is absent, even by name.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use crate::core::actor::ActorId;
use crate::core::hash::Digest;
use crate::core::time::Timestamp;
use crate::evidence_capture::state::{Chain, ChainView};
use crate::evidence_capture::types::{ObservationContext, StopCondition};
use crate::execution_loop::types::{ExecutionLoopState, HaltReason, HandshakeDecision};
use crate::governed::aggregate::{Attempt, ExecutionLoop};
use crate::human_decision::rules::present_evidence;
use crate::human_decision::state::{Decided, Disclosed, HeldRequest, Override, RequestOutcome};
use crate::human_decision::terms::HoldTerms;
use crate::human_decision::terms::Warning;
use crate::human_decision::types::{
    AnswerMeans, EvidenceSummary, HumanDecision, HumanDecisionOutcome, HumanDecisionRecord,
    OverrideField, claimed,
};
use crate::sandbox_fault::types::{ExecutionFaultType, RetryPolicy};

/// A readable loop.
#[derive(Debug, Serialize)]
pub struct LoopView<'a> {
    /// `LOOP-...`.
    pub loop_id: &'a str,
    /// Executor of the loop.
    pub executor_id: &'a str,
    /// SHA-256 of the exact instruction.
    pub instruction_envelope_hash: &'a str,
    /// The instruction, redacted.
    pub command_line: &'a str,
    /// State of the loop.
    pub current_state: ExecutionLoopState,
    /// Why it halted.
    pub halt_reason: Option<HaltReason>,
    /// The stop condition that halted it.
    pub stop_condition: Option<StopCondition>,
    /// Its details, in words.
    pub stop_details: Option<&'a str>,
    /// The fault that halted it.
    pub halt_fault: Option<ExecutionFaultType>,
    /// The state in which it halted.
    pub halted_from: Option<ExecutionLoopState>,
    /// The state that was asked for when it halted.
    pub halt_requested: Option<ExecutionLoopState>,
    /// Number of attempts there may be.
    pub max_attempts: u8,
    /// Ceiling of the caller after a fault.
    pub retry_ceiling: RetryPolicy,
    /// Time that one attempt may take.
    pub timeout_ms: Option<u64>,
    /// Terms on which a person is asked.
    pub hold: &'a HoldTerms,
    /// Questions and their decisions, first to last.
    pub decision_requests: Vec<RequestView<'a>>,
    /// The audit trail of what was decided; null until somebody is asked.
    pub decision_audit: Option<HumanDecisionAuditView<'a>>,
    /// Decision on the executor's eligibility.
    pub handshake_decision: HandshakeDecision,
    /// Why.
    pub handshake_reason: &'a str,
    /// The attempts, first to last.
    pub attempts: &'a [Attempt],
    /// The observer's session.
    pub observer: Option<&'a ObservationContext>,
    /// The evidence, without raw bytes.
    pub evidence_chain: Option<ChainView<'a>>,
    /// Actor who initialized it.
    pub actor: &'a ActorId,
    /// The story that it belongs to.
    pub correlation: &'a str,
    /// Time when it began.
    pub started_at: Timestamp,
    /// With which record.
    pub started_sequence: u64,
    /// Time when it halted.
    pub ended_at: Option<Timestamp>,
    /// With which record.
    pub ended_sequence: Option<u64>,
    /// The last record that changed it.
    pub version: u64,
    /// True if nothing can happen to it any more.
    pub settled: bool,
}

impl ExecutionLoop {
    /// The readable form.
    #[must_use]
    pub fn view(&self) -> LoopView<'_> {
        let halt = self.halt.as_ref();
        LoopView {
            loop_id: self.loop_id(),
            executor_id: self.context.executor_id(),
            instruction_envelope_hash: self.context.instruction_envelope_hash(),
            command_line: &self.command_line,
            current_state: self.state(),
            halt_reason: halt.map(|h| h.reason),
            stop_condition: halt.and_then(|h| h.stop_condition),
            stop_details: self.stop.as_ref().map(|stop| stop.details.as_str()),
            halt_fault: halt.and_then(|h| h.fault_type),
            halted_from: halt.map(|h| h.from),
            halt_requested: halt.map(|h| h.requested),
            max_attempts: self.max_attempts,
            retry_ceiling: self.retry_ceiling,
            timeout_ms: self.timeout_ms,
            hold: &self.hold,
            decision_requests: self.request_views(),
            decision_audit: self.audit_view(),
            handshake_decision: self.handshake_decision,
            handshake_reason: &self.handshake_reason,
            attempts: &self.attempts,
            observer: self.observer.as_ref(),
            evidence_chain: self.chain.as_ref().map(Chain::view),
            actor: &self.actor,
            correlation: &self.correlation,
            started_at: self.started_at,
            started_sequence: self.started_sequence,
            ended_at: halt.map(|h| h.at),
            ended_sequence: halt.map(|h| h.sequence),
            version: self.version,
            settled: self.is_settled(),
        }
    }
}

/// A readable request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestView<'a> {
    /// `REQ-...`.
    pub request_id: &'a str,
    /// The loop that is decided on.
    pub loop_id: &'a str,
    /// The observer's session.
    pub session_id: &'a str,
    /// WAITING, WARNED, ANSWERED, TIMED_OUT or WITHDRAWN.
    pub state: &'static str,
    /// The instruction, redacted.
    pub command_line: &'a str,
    /// The attempt that is decided on.
    pub attempt: u8,
    /// Claim of the executor, marked as a claim.
    pub executor_claim: String,
    /// The curated summary of the evidence.
    pub evidence_summary: EvidenceSummary,
    /// The seed's hash of the newest evidence record.
    pub self_hash: &'a str,
    /// The seed's hash of the record before it.
    pub prior_hash: &'a str,
    /// Decisions that are allowed.
    pub allowed_decisions: &'a [HumanDecision],
    /// Time when it was asked.
    pub created_at: Timestamp,
    /// Time when the warning is due.
    pub warning_at: Timestamp,
    /// From when on no answer counts.
    pub timeout_at: Timestamp,
    /// Decision that is taken then.
    pub timeout_decision: HumanDecision,
    /// Number of times the question was passed on before.
    pub escalation_depth: u8,
    /// To whom it was passed on.
    pub asked_of: Option<&'a str>,
    /// From which request.
    pub escalated_from: Option<&'a str>,
    /// The record that asked.
    pub requested_sequence: u64,
    /// The warning, once given.
    pub warning: Option<&'a Warning>,
    /// Fields that were allowed to be shown, and their values while the loop lives.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub disclosed: BTreeMap<OverrideField, DisclosureView<'a>>,
    /// Decision that was taken.
    pub decision: Option<HumanDecisionView<'a>>,
    /// The record that withdrew it.
    pub withdrawn_sequence: Option<u64>,
    /// Number of answers that came too late.
    pub late_answers: u64,
    /// The hash of all that the person sees: what a decision binds.
    pub shown_hash: Digest,
}

/// A field that was allowed to be shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DisclosureView<'a> {
    /// Its value; absent where its loop settled and the value is only in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Disclosed>,
    /// Person who allowed it.
    pub human_id: &'a str,
    /// Why.
    pub reason: &'a str,
    /// By what means.
    pub means: &'a AnswerMeans,
    /// The record.
    pub sequence: u64,
}

/// A readable audit trail (Phase-32's `DecisionAudit`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HumanDecisionAuditView<'a> {
    /// `AUDIT-...`.
    pub audit_id: &'a str,
    /// The observer's session.
    pub session_id: &'a str,
    /// The seed's hash of the newest decision; empty where there is none.
    pub head_hash: &'a str,
    /// Our own.
    pub injective_head: &'a Digest,
    /// Number of decisions it has.
    pub length: u64,
    /// The decisions, oldest first.
    pub records: Vec<&'a HumanDecisionRecord>,
}

/// A readable decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HumanDecisionView<'a> {
    /// `DEC-...`.
    pub decision_id: &'a str,
    /// Person who decided, or `SYSTEM_TIMEOUT`.
    pub human_id: &'a str,
    /// Decision of the person.
    pub decision: HumanDecision,
    /// Why.
    pub reason: Option<&'a str>,
    /// To whom it was passed on.
    pub escalation_target: Option<&'a str>,
    /// Outcome of the decision.
    pub outcome: HumanDecisionOutcome,
    /// By what means; `None` for a timeout.
    pub means: Option<&'a AnswerMeans>,
    /// Time.
    pub at: Timestamp,
    /// The record.
    pub sequence: u64,
    /// Our own hash of the decision.
    pub injective_hash: &'a Digest,
}

impl ExecutionLoop {
    /// The readable form of a request of this loop, with the values that overrides disclose.
    #[must_use]
    pub fn request_view<'a>(&self, held: &'a HeldRequest) -> RequestView<'a> {
        let mut view = held.view();
        for (field, shown) in &mut view.disclosed {
            shown.value = self.disclosure(held.context.attempt, *field);
        }
        view
    }
}

impl HeldRequest {
    /// The readable form.
    #[must_use]
    pub fn view(&self) -> RequestView<'_> {
        let (request, context) = (&self.request, &self.context);
        RequestView {
            request_id: &request.request_id,
            loop_id: &context.loop_id,
            session_id: &request.session_id,
            state: self.state_name(),
            command_line: &context.command_line,
            attempt: context.attempt,
            executor_claim: claimed(context.executor_claim),
            evidence_summary: present_evidence(request),
            self_hash: &context.self_hash,
            prior_hash: &context.prior_hash,
            allowed_decisions: &request.allowed_decisions,
            created_at: request.created_at,
            warning_at: request.warning_at(),
            timeout_at: request.timeout_at,
            timeout_decision: request.timeout_decision,
            escalation_depth: context.escalation_depth,
            asked_of: context.asked_of.as_deref(),
            escalated_from: context.escalated_from.as_deref(),
            requested_sequence: self.requested_sequence,
            warning: self.warning.as_ref(),
            disclosed: self.overrides.iter().map(|o| (o.field, o.view())).collect(),
            decision: self.decided().map(Decided::view),
            withdrawn_sequence: self.withdrawn_sequence(),
            late_answers: self.late_answers,
            shown_hash: self.shown_hash(),
        }
    }

    fn state_name(&self) -> &'static str {
        match (&self.outcome, &self.warning) {
            (None, None) => "WAITING",
            (None, Some(_)) => "WARNED",
            (Some(RequestOutcome::Withdrawn { .. }), _) => "WITHDRAWN",
            (Some(RequestOutcome::Decided(decided)), _) => {
                if decided.outcome == HumanDecisionOutcome::Timeout {
                    "TIMED_OUT"
                } else {
                    "ANSWERED"
                }
            }
        }
    }

    const fn withdrawn_sequence(&self) -> Option<u64> {
        match &self.outcome {
            Some(RequestOutcome::Withdrawn { sequence, .. }) => Some(*sequence),
            _ => None,
        }
    }
}

impl Decided {
    /// The readable form.
    #[must_use]
    pub fn view(&self) -> HumanDecisionView<'_> {
        HumanDecisionView {
            decision_id: &self.record.decision_id,
            human_id: &self.record.human_id,
            decision: self.record.decision,
            reason: self.record.reason.as_deref(),
            escalation_target: self.record.escalation_target.as_deref(),
            outcome: self.outcome,
            means: self.means.as_ref(),
            at: self.at,
            sequence: self.sequence,
            injective_hash: &self.injective_hash,
        }
    }
}

impl Override {
    fn view(&self) -> DisclosureView<'_> {
        DisclosureView {
            value: None,
            human_id: &self.human_id,
            reason: &self.reason,
            means: &self.means,
            sequence: self.sequence,
        }
    }
}

impl ExecutionLoop {
    /// The audit trail of what was decided; `None` until somebody is asked.
    #[must_use]
    pub fn audit_view(&self) -> Option<HumanDecisionAuditView<'_>> {
        let head = self.decisions.audit.as_ref()?;
        let mut decided: Vec<&Decided> =
            self.decisions.requests.iter().filter_map(HeldRequest::decided).collect();
        decided.sort_unstable_by_key(|decided| decided.sequence);
        Some(HumanDecisionAuditView {
            audit_id: &head.audit_id,
            session_id: &head.session_id,
            head_hash: &head.head_hash,
            injective_head: &head.injective_head,
            length: head.length,
            records: decided.into_iter().map(|decided| &decided.record).collect(),
        })
    }

    /// Every request of the loop, first to last.
    #[must_use]
    pub fn request_views(&self) -> Vec<RequestView<'_>> {
        self.decisions.requests.iter().map(|held| self.request_view(held)).collect()
    }
}
