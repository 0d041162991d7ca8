//! A request to a person in the form of a decision point: the keys of `decision/1`.

use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;

use crate::core::actor::Authentication;
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::decision_point::{
    DECISION_SCHEMA, DecisionOption, DecisionPointState, DecisionPointView, HeadView, OnTimeout,
    ResolutionKind, RevokedView, Urgency, WarningView,
};
use crate::human_decision::{
    AnswerChannel, AnswerMeans, HeldRequest, HumanDecision, HumanDecisionOutcome, RequestOutcome,
};

/// Requester of every hold, and the name that stands for an answer which nobody gave in time.
/// No actor can have such a name.
const BY_HOLD: &str = "system:hold";
const BY_TIMEOUT: &str = "system:timeout";
const SYSTEM: &str = "system";

impl HeldRequest {
    /// State of the request among those of decision points. One that was passed on to somebody
    /// else is superseded by the next request.
    #[must_use]
    pub fn decision_state(&self) -> DecisionPointState {
        match &self.outcome {
            None => DecisionPointState::Pending,
            Some(RequestOutcome::Withdrawn { .. }) => DecisionPointState::Cancelled,
            Some(RequestOutcome::Decided(decided)) => match decided.record.decision {
                _ if decided.outcome == HumanDecisionOutcome::Timeout => {
                    DecisionPointState::Aborted
                }
                HumanDecision::Escalate => DecisionPointState::Superseded,
                HumanDecision::Continue | HumanDecision::Retry | HumanDecision::Abort => {
                    DecisionPointState::Resolved
                }
            },
        }
    }

    /// The sequence of the newest record that changed it.
    #[must_use]
    pub fn version(&self) -> u64 {
        let warned = self.warning.as_ref().map(|warning| warning.sequence);
        let shown = self.overrides.iter().map(|allowed| allowed.sequence);
        let newest = shown.chain(warned).chain(self.ended_sequence()).max();
        newest.unwrap_or(self.requested_sequence)
    }

    /// The sequence of the record that ended it; `None` while it is open.
    #[must_use]
    pub fn ended_sequence(&self) -> Option<u64> {
        match self.outcome.as_ref()? {
            RequestOutcome::Decided(decided) => Some(decided.sequence),
            RequestOutcome::Withdrawn { sequence, .. } => Some(*sequence),
        }
    }

    /// The form of a decision point at a time. `hash` is the link of the record
    /// [`HeldRequest::version`], `next` the request to which it was passed on.
    #[must_use]
    pub fn as_decision<'a>(
        &'a self,
        now: Timestamp,
        hash: Option<&'a str>,
        next: Option<&'a str>,
    ) -> DecisionPointView<'a> {
        let mut view = self.as_open_decision(now, hash);
        view.superseded_by = next;
        view.resolution_kind = self.resolution();
        (view.responded_at, view.recorded_at) = (self.ended_at(), self.ended_at());
        let Some(decided) = self.decided() else { return view };
        if decided.record.is_timeout() {
            (view.responded_by, view.responded_kind) = (Some(BY_TIMEOUT), Some(SYSTEM));
            return view;
        }
        view.selected_option = Some(decided.record.decision.name());
        view.approved = decided.record.decision == HumanDecision::Continue;
        view.comment = decided.record.reason.as_deref();
        view.responded_by = Some(&*decided.record.human_id);
        view.responded_kind = Some("human");
        view.authenticated_by = decided.means.as_ref().map(proof);
        view.responded_means = decided.means.as_ref().map(|means| means.detail.as_str());
        view
    }

    /// The same, with no word of how it ended.
    fn as_open_decision<'a>(
        &'a self,
        now: Timestamp,
        hash: Option<&'a str>,
    ) -> DecisionPointView<'a> {
        let (request, context) = (&self.request, &self.context);
        let offered = request.allowed_decisions.iter();
        DecisionPointView {
            schema: DECISION_SCHEMA,
            id: &request.request_id,
            issue_id: None,
            chain_id: &request.request_id,
            prior_id: None,
            next_id: None,
            state: self.decision_state(),
            waits_for: self.is_open().then_some("answer"),
            prompt: &context.command_line,
            context: None,
            options: offered.map(|it| Cow::Owned(option(*it))).collect(),
            default_option: None,
            selected_option: None,
            response_text: None,
            comment: None,
            guidance: None,
            guidance_given: None,
            iteration: 1,
            max_iterations: 1,
            allow_text: false,
            urgency: Urgency::Medium,
            requested_by: BY_HOLD,
            requested_kind: SYSTEM,
            created_at: request.created_at,
            expires_at: Some(request.timeout_at),
            on_timeout: OnTimeout::Abort,
            overdue: self.is_open() && request.is_expired(now),
            warning: self.warning_view(),
            resolution_kind: None,
            responded_by: None,
            responded_kind: None,
            authenticated_by: None,
            responded_means: None,
            responded_at: None,
            recorded_at: None,
            quorum: None,
            approvers: Vec::new(),
            allow_requester: None,
            allow_agents: None,
            authentication: None,
            approvals: Vec::new(),
            evidence: &[],
            blocks: vec![context.loop_id.as_str()],
            released_at: None,
            binding: None,
            approved: false,
            valid_until: None,
            lapsed_at: None,
            revoked: RevokedView { revoked_at: None, revoked_by: None, revoked_reason: None },
            consumed_at: None,
            consumed_by: None,
            claimed_outcome: None,
            supersedes: context.escalated_from.as_deref(),
            superseded_by: None,
            reminders: 0,
            escalated_to: context.asked_of.as_deref(),
            late_responses: Vec::new(),
            late_total: self.late_answers,
            version: self.version(),
            head: HeadView { seq: self.version(), hash },
        }
    }

    fn warning_view(&self) -> WarningView<'_> {
        let warning_at = Some(self.request.warning_at());
        WarningView { warning_at, warning: self.warning.as_ref() }
    }

    fn ended_at(&self) -> Option<Timestamp> {
        match self.outcome.as_ref()? {
            RequestOutcome::Decided(decided) => Some(decided.at),
            RequestOutcome::Withdrawn { at, .. } => Some(*at),
        }
    }

    fn resolution(&self) -> Option<ResolutionKind> {
        let RequestOutcome::Decided(decided) = self.outcome.as_ref()? else {
            return Some(ResolutionKind::Cancel);
        };
        Some(match decided.record.decision {
            _ if decided.record.is_timeout() => ResolutionKind::Abort,
            HumanDecision::Escalate => ResolutionKind::Supersede,
            HumanDecision::Continue | HumanDecision::Retry | HumanDecision::Abort => {
                ResolutionKind::Option
            }
        })
    }
}

/// A decision as an option.
fn option(decision: HumanDecision) -> DecisionOption {
    let label = match decision {
        HumanDecision::Continue => "Go on as the attempt left it",
        HumanDecision::Retry => "Run the command again",
        HumanDecision::Abort => "Stop the run",
        HumanDecision::Escalate => "Ask somebody else",
    };
    let id = Text::from(decision.name());
    let reject = decision == HumanDecision::Abort;
    DecisionOption { short: id.clone(), id, label: label.into(), description: None, reject }
}

/// Returns what proves the name of whoever answered by these means.
fn proof(means: &AnswerMeans) -> Authentication {
    match means.channel {
        AnswerChannel::Terminal | AnswerChannel::YesFlag | AnswerChannel::OsUser => {
            Authentication::OsUser
        }
        AnswerChannel::Api | AnswerChannel::Claim => Authentication::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_abort_rejects_among_the_options_of_a_hold() {
        for decision in HumanDecision::ALL {
            let option = option(*decision);
            assert_eq!(option.reject, *decision == HumanDecision::Abort, "{decision}");
            assert_eq!(&*option.id, decision.name());
        }
    }
}
