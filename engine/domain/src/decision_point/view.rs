//! A decision point as programs read it: every key is always there, and null is not left away.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Serialize;

use crate::core::actor::Authentication;
use crate::core::time::Timestamp;
use crate::decision_point::state::{ClaimedOutcome, DecisionPoint, GivenResponse};
use crate::decision_point::types::{
    ActionBinding, DecisionOption, DecisionPointState, EvidenceAttachment, OnTimeout,
    ResolutionKind, Response, Urgency,
};
use crate::human_decision::terms::Warning;

/// The version of this form.
pub const DECISION_SCHEMA: &str = "decision/1";

/// A readable decision point. The seed's fields keep the seed's names.
#[derive(Debug, Serialize)]
pub struct DecisionPointView<'a> {
    /// `decision/1`.
    pub schema: &'static str,
    /// The round.
    pub id: &'a str,
    /// The work item that it is about.
    pub issue_id: Option<&'a str>,
    /// The first round of the question.
    pub chain_id: &'a str,
    /// The round before.
    pub prior_id: Option<&'a str>,
    /// The round that guidance led to.
    pub next_id: Option<&'a str>,
    /// State of the round.
    pub state: DecisionPointState,
    /// Step that it waits for: `answer`, or `refinement` where it is the requester's turn; null
    /// where it is over.
    pub waits_for: Option<&'static str>,
    /// The question.
    pub prompt: &'a str,
    /// Facts that one should know to answer it.
    pub context: Option<&'a str>,
    /// The ways to answer: the requester's options, and from the second round on `_accept` and
    /// `_guidance`.
    pub options: Vec<Cow<'a, DecisionOption>>,
    /// The option that the requester prefers.
    pub default_option: Option<&'a str>,
    /// The option that was chosen, or taken at the deadline.
    pub selected_option: Option<&'a str>,
    /// The text of the answer; where the guidance was accepted, that guidance.
    pub response_text: Option<&'a str>,
    /// Comment beside the answer, or reason for taking it back.
    pub comment: Option<&'a str>,
    /// The guidance that led to this round.
    pub guidance: Option<&'a str>,
    /// The guidance that ended this round.
    pub guidance_given: Option<&'a str>,
    /// The round, from 1 on.
    pub iteration: u8,
    /// Number of rounds that there may be.
    pub max_iterations: u8,
    /// True if a text is an answer.
    pub allow_text: bool,
    /// Pressure of the answer.
    pub urgency: Urgency,
    /// Requester.
    pub requested_by: &'a str,
    /// `human`, `agent` or `system`.
    pub requested_kind: &'static str,
    /// Time when the round began.
    pub created_at: Timestamp,
    /// Time when its time is over.
    pub expires_at: Option<Timestamp>,
    /// Fate of the round then.
    pub on_timeout: OnTimeout,
    /// True if it is open although its time is over.
    pub overdue: bool,
    /// The warning before the end.
    #[serde(flatten)]
    pub warning: WarningView<'a>,
    /// Kind of its end; null while it is open, and where guidance led to another round.
    pub resolution_kind: Option<ResolutionKind>,
    /// Name of who ended it.
    pub responded_by: Option<&'a str>,
    /// `human`, `agent` or `system`.
    pub responded_kind: Option<&'static str>,
    /// Proof of who it was: `os-user` or `none`.
    pub authenticated_by: Option<Authentication>,
    /// By what means: the terminal, the user's number.
    pub responded_means: Option<&'a str>,
    /// Time when it ended: at the answer, or at the deadline.
    pub responded_at: Option<Timestamp>,
    /// Time when that was recorded.
    pub recorded_at: Option<Timestamp>,
    /// Number of people that have to choose the same; null where no policy is set.
    pub quorum: Option<u8>,
    /// People who may answer; empty: everybody whom the policy lets.
    pub approvers: Vec<&'a str>,
    /// True if the requester may; null where no policy is set.
    pub allow_requester: Option<bool>,
    /// True if agents may; null where no policy is set.
    pub allow_agents: Option<bool>,
    /// Weakest proof that counts for who answers; null where no policy is set.
    pub authentication: Option<Authentication>,
    /// The votes, oldest first.
    pub approvals: Vec<VoteView<'a>>,
    /// Evidence that the answer may rest on.
    pub evidence: &'a [EvidenceAttachment],
    /// Things that wait for the answer.
    pub blocks: Vec<&'a str>,
    /// Time when that was released.
    pub released_at: Option<Timestamp>,
    /// The one action that an approval is for.
    pub binding: Option<&'a ActionBinding>,
    /// True if it was approved, and nobody revoked that.
    pub approved: bool,
    /// Until when the approval of an action is or was good; null where there is none.
    pub valid_until: Option<Timestamp>,
    /// Time when it ended, where it was not spent in time.
    pub lapsed_at: Option<Timestamp>,
    /// Revocation of the approval.
    #[serde(flatten)]
    pub revoked: RevokedView<'a>,
    /// Time when it was spent.
    pub consumed_at: Option<Timestamp>,
    /// By whom.
    pub consumed_by: Option<&'a str>,
    /// Outcome of the action, as whoever spent the approval claims; null: nobody said.
    pub claimed_outcome: Option<&'a ClaimedOutcome>,
    /// The decision point whose place it takes.
    pub supersedes: Option<&'a str>,
    /// The decision point that took its place.
    pub superseded_by: Option<&'a str>,
    /// Number of times somebody was reminded.
    pub reminders: u64,
    /// Name of who was told of it last.
    pub escalated_to: Option<&'a str>,
    /// Answers that came when it was over, and do not count; the first 16.
    pub late_responses: Vec<VoteView<'a>>,
    /// Number of answers that came when it was over.
    pub late_total: u64,
    /// The sequence of the last record that changed it.
    pub version: u64,
    /// The newest record.
    pub head: HeadView<'a>,
}

/// A warning that 80 % of the time to answer are over.
#[derive(Debug, Serialize)]
pub struct WarningView<'a> {
    /// The time of the warning; null where none is due.
    pub warning_at: Option<Timestamp>,
    /// The warning, once it is on record; null before.
    pub warning: Option<&'a Warning>,
}

impl<'a> WarningView<'a> {
    fn of(point: &'a DecisionPoint) -> Self {
        Self { warning_at: point.warning_at(), warning: point.warning.as_ref() }
    }
}

/// Revocation of an approval before it was spent; null where nobody did.
#[derive(Debug, Serialize)]
pub struct RevokedView<'a> {
    /// Time.
    pub revoked_at: Option<Timestamp>,
    /// By whom.
    pub revoked_by: Option<&'a str>,
    /// Why.
    pub revoked_reason: Option<&'a str>,
}

impl<'a> RevokedView<'a> {
    fn of(point: &'a DecisionPoint) -> Self {
        let revoked = point.revoked.as_ref();
        Self {
            revoked_at: revoked.map(|revoked| revoked.at),
            revoked_by: revoked.map(|revoked| revoked.by.id.as_str()),
            revoked_reason: revoked.and_then(|revoked| revoked.reason.as_deref()),
        }
    }
}

/// One answer among others.
#[derive(Debug, Serialize)]
pub struct VoteView<'a> {
    /// Name of the actor.
    pub by: &'a str,
    /// The option, where one was chosen.
    pub option_id: Option<&'a str>,
    /// Kind of the answer: `option`, `text`, `accept` or `guidance`.
    pub kind: &'static str,
    /// The words of a text or guidance.
    pub text: Option<&'a str>,
    /// Comment that came with it.
    pub comment: Option<&'a str>,
    /// Time.
    pub at: Timestamp,
    /// The sequence of its record.
    pub event: u64,
}

/// A record and its link.
#[derive(Debug, Serialize)]
pub struct HeadView<'a> {
    /// Its sequence.
    pub seq: u64,
    /// Its link, 64 hexadecimal digits; null where the record is in an archive.
    pub hash: Option<&'a str>,
}

impl DecisionPoint {
    /// The options, and from the second round on those that accept the proposal or the guidance as
    /// it is. These are no part of the record.
    #[must_use]
    pub fn ways_to_answer(&self) -> Vec<Cow<'_, DecisionOption>> {
        let offered = self.terms.proposal.options.iter().map(Cow::Borrowed);
        offered.chain(self.own_ways().map(Cow::Owned)).collect()
    }

    /// The ways to answer that are no options of the requester: what is there is accepted.
    pub fn own_ways(&self) -> impl Iterator<Item = DecisionOption> {
        let accept = self.takes_acceptance().then(DecisionOption::accept);
        let guidance = self.guidance.is_some().then(DecisionOption::guidance);
        accept.into_iter().chain(guidance)
    }

    fn waits_for(&self) -> Option<&'static str> {
        let is_refining = self.state == DecisionPointState::Refining;
        self.state.is_open().then_some(if is_refining { "refinement" } else { "answer" })
    }

    /// The readable form at a time. `hash` is the link of the record [`DecisionPoint::version`].
    #[must_use]
    pub fn view<'a>(&'a self, now: Timestamp, hash: Option<&'a str>) -> DecisionPointView<'a> {
        let (terms, policy) = (&self.terms, self.terms.policy.as_ref());
        let ending = self.ending.as_ref();
        let by = ending.and_then(|ending| ending.by.as_ref());
        let is_timeout = ending.is_some_and(|ending| ending.by.is_none());
        DecisionPointView {
            schema: DECISION_SCHEMA,
            id: &self.decision_id,
            issue_id: terms.issue_id.as_deref(),
            chain_id: &self.chain_id,
            prior_id: self.prior_id.as_deref(),
            next_id: self.next_id.as_deref(),
            state: self.state,
            waits_for: self.waits_for(),
            prompt: &terms.proposal.prompt,
            context: terms.proposal.context.as_deref(),
            options: self.ways_to_answer(),
            default_option: terms.proposal.default_option.as_deref(),
            selected_option: self.selected_option(),
            response_text: self.response_text(),
            comment: ending.and_then(|ending| ending.comment.as_deref()),
            guidance: self.guidance.as_deref(),
            guidance_given: self.guidance_given(),
            iteration: self.iteration,
            max_iterations: terms.max_iterations,
            allow_text: terms.allow_text,
            urgency: terms.urgency,
            requested_by: &self.requested_by.id,
            requested_kind: self.requested_by.kind_name(),
            created_at: self.created_at,
            expires_at: terms.expires_at,
            on_timeout: terms.on_timeout,
            overdue: self.is_overdue(now),
            warning: WarningView::of(self),
            resolution_kind: ending.and_then(|ending| ending.kind),
            responded_by: by.map(|by| by.id.as_str()).or(is_timeout.then_some("system:timeout")),
            responded_kind: by.map(|by| by.kind_name()).or(is_timeout.then_some("system")),
            authenticated_by: by.map(|by| proof(by.authenticated_by)),
            responded_means: by.map(|by| by.means.as_str()),
            responded_at: ending.map(|ending| ending.ended_at),
            recorded_at: ending.map(|ending| ending.recorded_at),
            quorum: policy.map(|policy| policy.quorum),
            approvers: texts(policy.map_or(&[], |policy| &policy.approvers)),
            allow_requester: policy.map(|policy| policy.allow_requester),
            allow_agents: policy.map(|policy| policy.allow_agents),
            authentication: policy.map(|policy| policy.authentication),
            approvals: self.votes.iter().map(VoteView::of).collect(),
            evidence: &terms.evidence,
            blocks: texts(&terms.blocks),
            released_at: self.released_at,
            binding: terms.binding.as_ref(),
            approved: self.approves(),
            valid_until: self.valid_until(),
            lapsed_at: self.lapsed_at,
            revoked: RevokedView::of(self),
            consumed_at: self.consumed.as_ref().map(|consumed| consumed.at),
            consumed_by: self.consumed.as_ref().map(|consumed| consumed.by.id.as_str()),
            claimed_outcome: self.outcome.as_ref(),
            supersedes: terms.supersedes.as_deref(),
            superseded_by: ending.and_then(|ending| ending.superseded_by.as_deref()),
            reminders: self.reminders,
            escalated_to: self.escalation.as_ref().map(|escalation| escalation.to.as_str()),
            late_responses: self.late_responses.iter().map(VoteView::of).collect(),
            late_total: self.late_total,
            version: self.version,
            head: HeadView { seq: self.version, hash },
        }
    }

    /// The words that count as the answer.
    #[must_use]
    pub fn response_text(&self) -> Option<&str> {
        match self.ending.as_ref()?.response.as_ref()? {
            Response::Text(words) => Some(words),
            Response::Accept => self.guidance.as_deref(),
            Response::Option(_) | Response::Guidance(_) | Response::Proposal(_) => None,
        }
    }

    /// The guidance that ended the round.
    #[must_use]
    pub fn guidance_given(&self) -> Option<&str> {
        match self.ending.as_ref()?.response.as_ref()? {
            Response::Guidance(words) => Some(words),
            Response::Option(_) | Response::Text(_) | Response::Accept | Response::Proposal(_) => {
                None
            }
        }
    }
}

/// Returns what proves a name; a terminal is shown as the means.
fn proof(authenticated_by: Authentication) -> Authentication {
    match authenticated_by {
        Authentication::Terminal | Authentication::OsUser => Authentication::OsUser,
        Authentication::None => Authentication::None,
    }
}

fn texts(list: &[crate::core::payload::Text]) -> Vec<&str> {
    list.iter().map(|text| text.as_str()).collect()
}

impl<'a> VoteView<'a> {
    fn of(given: &'a GivenResponse) -> Self {
        let (option_id, kind): (Option<&str>, _) = match &given.response {
            Response::Option(id) => (Some(id), "option"),
            Response::Text(_) => (None, "text"),
            Response::Accept => (None, "accept"),
            Response::Proposal(default) => (default.as_deref(), "accept"),
            Response::Guidance(_) => (None, "guidance"),
        };
        Self {
            by: &given.by.id,
            option_id,
            kind,
            text: given.response.words().map(|words| words.as_str()),
            comment: given.comment.as_deref(),
            at: given.at,
            event: given.sequence,
        }
    }
}
