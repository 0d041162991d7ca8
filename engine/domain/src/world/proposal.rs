//! The one way in which a request is made of a loop's own evidence. `decide` records what it
//! gives, and every replay compares.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::ExecutionLoop;
use crate::event::{DecisionRequested, Text};
use crate::human_decision::{
    DecisionRequest, EscalationTarget, EvidenceSummary, HumanDecision, RequestContext,
    RequestRefusal, injective_request_hash, request_from_summary,
};
use crate::time::Timestamp;

impl ExecutionLoop {
    /// The next request about the current attempt: the first one, or the one that an ESCALATE to
    /// this target leads to. `entropy` are the digits of the request's id, and of the audit
    /// trail's where there is none yet.
    pub(crate) fn next_request(
        &self,
        target: Option<&EscalationTarget>,
        at: Timestamp,
        entropy: &str,
    ) -> Result<DecisionRequested, RequestRefusal> {
        let summary = self.evidence_summary().ok_or(RequestRefusal::NoEvidence)?;
        let context = self.request_context(target).ok_or(RequestRefusal::NoEvidence)?;
        let timeout = target.map_or(self.hold.decision_timeout_ms, |target| target.timeout_ms);
        let session_id = self.observer.as_ref().map_or("", |observer| &observer.session_id);
        let request = request_from_summary(session_id, summary, timeout, at, entropy)?;
        let request = self.narrowed(request, target);
        let audit = self.decisions.audit.as_ref().map(|audit| audit.audit_id.as_str());
        Ok(DecisionRequested {
            audit_id: audit.map_or_else(|| format!("AUDIT-{entropy}").into(), Text::from),
            warning_at: request.warning_at(),
            request_hash: injective_request_hash(&context, &request),
            request,
            context,
        })
    }

    /// The targets that were not asked about the current attempt yet.
    pub(crate) fn escalation_path(&self) -> Vec<&EscalationTarget> {
        let asked: Vec<&str> =
            self.attempt_requests().filter_map(|c| c.asked_of.as_deref()).collect();
        let open = |entry: &&EscalationTarget| !asked.contains(&entry.target.as_str());
        self.hold.escalation_targets.iter().filter(open).collect()
    }

    fn evidence_summary(&self) -> Option<EvidenceSummary> {
        let chain = self.chain.as_ref()?;
        let newest = chain.records.last()?;
        Some(EvidenceSummary {
            observation_point: newest.observation_point,
            evidence_type: newest.evidence_type,
            timestamp: newest.timestamp.as_str().into(),
            chain_length: chain.head.length,
            execution_state: self.state(),
            confidence_score: self.current_attempt()?.response.as_ref()?.confidence,
            chain_hash: chain.head.head_hash.as_str().into(),
        })
    }

    fn request_context(&self, target: Option<&EscalationTarget>) -> Option<RequestContext> {
        let newest = self.chain.as_ref()?.records.last()?;
        let before = self.attempt_requests().count();
        let from = self.decisions.requests.last().map(|held| held.request.request_id.clone());
        Some(RequestContext {
            loop_id: self.loop_id().into(),
            attempt: self.attempt_count(),
            command_line: self.command_line.as_str().into(),
            executor_claim: self.current_attempt()?.response.as_ref()?.response_type,
            self_hash: newest.self_hash.as_str().into(),
            prior_hash: newest.prior_hash.as_str().into(),
            escalation_depth: u8::try_from(before).unwrap_or(u8::MAX),
            asked_of: target.map(|target| target.target.clone()),
            escalated_from: from.filter(|_| before > 0),
        })
    }

    /// RETRY while attempts are left, ESCALATE while there is somebody who was not asked.
    fn narrowed(
        &self,
        request: DecisionRequest,
        target: Option<&EscalationTarget>,
    ) -> DecisionRequest {
        let is_path =
            |entry: &&EscalationTarget| target.is_none_or(|target| target.target != entry.target);
        let escalates = self.escalation_path().into_iter().any(|entry| is_path(&entry));
        let retries = self.attempt_count() < self.max_attempts;
        let request = if retries { request } else { request.without(HumanDecision::Retry) };
        if escalates { request } else { request.without(HumanDecision::Escalate) }
    }

    fn attempt_requests(&self) -> impl Iterator<Item = &RequestContext> {
        let attempt = self.attempt_count();
        let contexts = self.decisions.requests.iter().map(|held| &held.context);
        contexts.filter(move |context| context.attempt == attempt)
    }
}

/// The digits of an id: what stands after its prefix.
pub(crate) fn digits(id: &str) -> String {
    String::from(id.split_once('-').map_or(id, |(_, digits)| digits))
}
