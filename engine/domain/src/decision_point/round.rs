//! Rules for who may do what with a round, when, and what each event does to it. `decide` asks
//! before it makes an event, and every replay asks again.

use alloc::format;
use alloc::string::{String, ToString as _};

use crate::core::actor::{Actor, Authentication, Principal};
use crate::core::doubt::Doubt;
use crate::core::payload::Text;
use crate::core::text::visible;
use crate::core::time::Timestamp;
use crate::decision_point::check::{check_proposal, shown};
use crate::decision_point::event::{
    DecisionPointCancelled, DecisionPointCreated, DecisionPointEscalated, DecisionPointRefined,
    DecisionPointResolved, DecisionPointSuperseded, DefaultTaken, GuidanceGiven,
    LateResponseRecorded, OutcomeReported, RoundOpened, VoteCast,
};
use crate::decision_point::refusal::DecisionPointRefusal as No;
use crate::decision_point::state::{
    ClaimedOutcome, Consumed, DecisionPoint, Ending, Escalation, GivenResponse, Revocation,
};
use crate::decision_point::types::{
    ActionBinding, ApprovalPolicy, DecisionPointState, MAX_VOTES, OnTimeout, OutcomeClaim,
    Proposal, ResolutionKind, Response,
};
use crate::human_decision::terms::Warning;
use crate::log::policy::{GatePolicy, Loosened};

impl DecisionPoint {
    /// Checks whether the approval keeps a policy, but for how long there was to answer.
    pub(crate) fn check_spent(&self, floor: &GatePolicy, separation: bool) -> Result<(), Loosened> {
        let floor = GatePolicy { approval_timeout_ms: None, ..floor.clone() };
        self.check_spending(&floor, separation)
    }

    /// Checks whether the approval keeps a policy now, how long there was to answer included: what
    /// is recorded as spent was not always asked this.
    pub(crate) fn check_spending(
        &self,
        floor: &GatePolicy,
        separation: bool,
    ) -> Result<(), Loosened> {
        let authentication = Authentication::OsUser;
        let people = ApprovalPolicy { authentication, ..ApprovalPolicy::people() };
        let policy = self.terms.policy.as_ref().unwrap_or(&people);
        let end = self.terms.expires_at.filter(|_| self.terms.on_timeout != OnTimeout::Hold);
        let had_ms = end.map(|end| end.nanoseconds_since(self.created_at) / 1_000_000);
        floor.check_approval(policy, separation, had_ms)
    }

    /// Checks whether somebody may give this answer to the round as it stands, at a time.
    ///
    /// # Errors
    /// The first rule that says no.
    pub(crate) fn check_response(
        &self,
        by: &Principal,
        response: &Response,
        at: Timestamp,
    ) -> Result<(), No> {
        self.check_open(at)?;
        if let Some(policy) = &self.terms.policy {
            self.check_approver(policy, by)?;
        }
        if let Some(vote) = self.votes.iter().find(|vote| vote.by.id == by.id) {
            return Err(No::VoteConflict {
                decision_id: self.id(),
                by: name(by),
                before: said(&vote.response),
            });
        }
        if self.votes.len() >= MAX_VOTES && !matches!(response, Response::Guidance(_)) {
            let (expected, found) = (MAX_VOTES, self.votes.len().saturating_add(1));
            return Err(No::TooMany { field: "votes", expected, found });
        }
        self.check_offered(response)
    }

    /// Checks whether the round is open at a time.
    pub(crate) fn check_open(&self, at: Timestamp) -> Result<(), No> {
        if !self.is_open() {
            return Err(self.ended());
        }
        match self.deadline() {
            Some(expires_at) if expires_at <= at => {
                Err(No::Expired { decision_id: self.id(), state: self.state, expires_at })
            }
            _ => Ok(()),
        }
    }

    /// The refusal of whatever comes when the round is over.
    #[must_use]
    pub fn ended(&self) -> No {
        let (decision_id, state) = (self.id(), self.state);
        if matches!(state, DecisionPointState::Expired | DecisionPointState::Aborted) {
            let ended_at = self.ending.as_ref().map(|ending| ending.ended_at);
            return No::Expired { decision_id, state, expires_at: ended_at.unwrap_or_default() };
        }
        No::AlreadyEnded { decision_id, state, outcome: outcome_line(self) }
    }

    pub(super) fn check_approver(&self, policy: &ApprovalPolicy, by: &Principal) -> Result<(), No> {
        let (decision_id, who) = (self.id(), name(by));
        if by.kind != Actor::Human && !(policy.allow_agents && by.kind != Actor::System) {
            return Err(No::AgentExcluded { decision_id, by: who });
        }
        if by.id == self.requested_by.id && !policy.allow_requester {
            return Err(No::SelfApproval { decision_id, by: who });
        }
        if !policy.approvers.is_empty() && !policy.approvers.contains(&by.id) {
            let approvers = policy.approvers.iter().map(|name| visible(name).to_string());
            let approvers = approvers.collect::<alloc::vec::Vec<_>>().join(", ");
            return Err(No::NotAnApprover { decision_id, by: who, approvers });
        }
        let (expected, found) = (policy.authentication, by.authenticated_by);
        if found < expected {
            return Err(No::NotAuthenticated { decision_id, by: who, expected, found });
        }
        Ok(())
    }

    /// Checks whether this is the requester, or a person.
    pub(crate) fn check_requester(&self, by: &Principal) -> Result<(), No> {
        let asked = &self.requested_by;
        if by.kind == Actor::Human || (by.kind == asked.kind && by.id == asked.id) {
            return Ok(());
        }
        Err(No::NotRequester { decision_id: self.id(), by: name(by), requester: self.requester() })
    }

    /// Checks whether this may be proposed anew, at a time.
    pub(crate) fn check_refinement(
        &self,
        by: &Principal,
        proposal: &Proposal,
        at: Timestamp,
    ) -> Result<(), No> {
        self.check_open(at)?;
        if self.state != DecisionPointState::Refining {
            return Err(No::NotRefining { decision_id: self.id(), state: self.state });
        }
        self.check_requester(by)?;
        check_proposal(proposal, self.terms.allow_text)?;
        self.check_still_rejects(proposal)
    }

    /// Checks that what said no before does not say yes now, and that where somebody has to approve
    /// there stays a way to say no.
    fn check_still_rejects(&self, proposal: &Proposal) -> Result<(), No> {
        let mut rejecting = self.terms.proposal.options.iter().filter(|option| option.reject);
        let turned = rejecting
            .clone()
            .find(|before| proposal.option(&before.id).is_some_and(|now| !now.reject));
        if let Some(option) = turned {
            return Err(No::RejectDropped {
                decision_id: self.id(),
                option: option.id.to_string(),
            });
        }
        let is_approval = self.terms.policy.is_some() || self.terms.binding.is_some();
        let stays = proposal.options.iter().any(|option| option.reject);
        match rejecting.next() {
            Some(option) if is_approval && !stays => {
                Err(No::RejectDropped { decision_id: self.id(), option: option.id.to_string() })
            }
            _ => Ok(()),
        }
    }

    /// The record of the same answer by the same somebody, where it counted or is a vote. Another
    /// comment makes it another answer, and a name that is proven less than the policy asks is not
    /// the same somebody.
    pub(crate) fn given_before(
        &self,
        by: &Principal,
        response: &Response,
        comment: Option<&str>,
    ) -> Option<u64> {
        let is_it = |vote: &&GivenResponse| {
            vote.is_by(by, response) && is_said(comment, vote.comment.as_deref())
        };
        let vote = self.votes.iter().find(is_it).filter(|_| self.is_proven(by));
        vote.map(|vote| vote.sequence).or_else(|| self.ended_by(by, response, comment))
    }

    /// The record that ended the round, where that was the same answer by the same somebody.
    #[must_use]
    pub fn ended_by(
        &self,
        by: &Principal,
        response: &Response,
        comment: Option<&str>,
    ) -> Option<u64> {
        let ending = self.ending.as_ref().filter(|_| self.is_proven(by))?;
        let who = ending.by.as_ref()?;
        let is_same = who.id == by.id
            && who.kind == by.kind
            && ending.response.as_ref() == Some(response)
            && is_said(comment, ending.comment.as_deref());
        is_same.then_some(ending.sequence)
    }

    /// Returns whether a name is proven as much as the policy asks.
    fn is_proven(&self, by: &Principal) -> bool {
        let policy = self.terms.policy.as_ref();
        policy.is_none_or(|policy| by.authenticated_by >= policy.authentication)
    }

    /// Checks whether the approval may be spent for this action, at a time.
    pub(crate) fn check_consumption(
        &self,
        binding: &ActionBinding,
        at: Timestamp,
    ) -> Result<(), No> {
        let decision_id = self.id();
        if self.binding() != Some(binding) {
            let expected = self.binding().map_or_else(|| "no action".to_string(), action);
            return Err(No::BindingMismatch { decision_id, expected, found: action(binding) });
        }
        match self.spendable_until() {
            Some(until) if until > at => Ok(()),
            _ => Err(self.not_spendable()),
        }
    }

    /// Why there is nothing to be spent any more.
    #[must_use]
    pub fn not_spendable(&self) -> No {
        let decision_id = self.id();
        if let Some(consumed) = &self.consumed {
            let (at, by) = (consumed.at, name(&consumed.by));
            return No::AlreadyConsumed { decision_id, at, by };
        }
        if let Some(Revocation { by, at, .. }) = &self.revoked {
            return No::Revoked { decision_id, at: *at, by: name(by) };
        }
        match self.lapsed_at.or(self.spendable_until()) {
            Some(until) => No::ApprovalLapsed { decision_id, until },
            None => {
                let outcome = outcome_line(self);
                No::NotApproved { decision_id, state: self.state, outcome }
            }
        }
    }

    /// Why an approval that is in doubt permits nothing.
    #[must_use]
    pub fn in_doubt(&self, doubt: Doubt) -> No {
        let decision_id = self.id();
        match doubt {
            Doubt::Unproven { first, last } => No::ApprovalUnproven { decision_id, first, last },
            Doubt::LostBefore(sequence) => No::ApprovalBeforeLoss { decision_id, sequence },
        }
    }

    /// Checks whether the outcome of the action may be reported by somebody: once, by whoever spent
    /// the approval.
    pub(crate) fn check_report(&self, by: &Principal) -> Result<(), No> {
        let decision_id = self.id();
        let Some(spent) = &self.consumed else {
            return Err(No::NotSpent { decision_id, state: self.state });
        };
        if (spent.by.kind, &spent.by.id) != (by.kind, &by.id) {
            let (by, spender) = (name(by), name(&spent.by));
            return Err(No::NotSpender { decision_id, by, spender });
        }
        match &self.outcome {
            Some(ClaimedOutcome { at, status, .. }) => {
                Err(No::OutcomeReported { decision_id, at: *at, status: *status })
            }
            None => Ok(()),
        }
    }

    pub(super) fn id(&self) -> String {
        self.decision_id.to_string()
    }
}

/// Returns how it ended, in one line.
pub(crate) fn outcome_line(point: &DecisionPoint) -> String {
    let Some(ending) = &point.ending else { return "nobody answered yet".to_string() };
    let by = ending.by.as_ref().map_or_else(|| "the deadline".to_string(), name);
    let what = match (&ending.kind, &ending.response) {
        (_, Some(response)) => said(response),
        (Some(ResolutionKind::Default), None) => {
            format!("default {}", ending.default_taken.as_deref().unwrap_or_default())
        }
        (Some(kind), None) => kind.to_string(),
        (None, None) => "guidance".to_string(),
    };
    let after = match (&ending.superseded_by, &point.next_id) {
        (Some(other), _) => format!(", see {other}"),
        (None, Some(next)) => format!(", go on with {next}"),
        (None, None) => String::new(),
    };
    let revoked = point.revoked.as_ref().map(|Revocation { by, reason, at, .. }| {
        let why = reason.as_ref().map(|reason| format!(": {}", shown(reason)));
        format!("; revoked by {} at {at}{}", name(by), why.unwrap_or_default())
    });
    format!("{what} by {by} at {}{after}{}", ending.ended_at, revoked.unwrap_or_default())
}

/// An answer as a refusal shows it.
fn said(response: &Response) -> String {
    match response {
        Response::Option(id) => format!("option {}", shown(id)),
        Response::Text(words) => format!("text \"{}\"", shown(words)),
        Response::Accept | Response::Proposal(None) => "accept".to_string(),
        Response::Proposal(Some(id)) => format!("accept, which is option {}", shown(id)),
        Response::Guidance(words) => format!("guidance \"{}\"", shown(words)),
    }
}

/// Returns whether a comment is the one of before. None asks for none.
fn is_said(comment: Option<&str>, before: Option<&str>) -> bool {
    comment.is_none_or(|comment| before == Some(comment))
}

pub(super) fn name(by: &Principal) -> String {
    visible(&by.id).to_string()
}

fn action(binding: &ActionBinding) -> String {
    format!("{} with input {}", visible(&binding.tool), binding.input_sha256)
}

impl DecisionPoint {
    /// Notes that whoever is asked was warned.
    pub(crate) fn warn(&mut self, due_at: Timestamp, recorded_at: Timestamp, sequence: u64) {
        self.warning = Some(Warning { due_at, recorded_at, sequence });
    }

    /// The first round of a question.
    pub(crate) fn created(
        body: &DecisionPointCreated,
        correlation: String,
        at: Timestamp,
        sequence: u64,
    ) -> Self {
        Self {
            decision_id: body.decision_id.clone(),
            chain_id: body.decision_id.clone(),
            prior_id: None,
            next_id: None,
            terms: (*body.terms).clone(),
            iteration: 1,
            guidance: None,
            requested_by: body.by.clone(),
            state: DecisionPointState::Pending,
            votes: alloc::vec::Vec::new(),
            ending: None,
            late_responses: alloc::vec::Vec::new(),
            late_total: 0,
            reminders: 0,
            escalation: None,
            consumed: None,
            outcome: None,
            revoked: None,
            warning: None,
            lapsed_at: None,
            released_at: None,
            created_at: at,
            created_sequence: sequence,
            correlation,
            version: sequence,
        }
    }

    /// The round that guidance leads to: everything but what was answered is copied.
    pub(crate) fn next_round(&self, body: &RoundOpened, at: Timestamp, sequence: u64) -> Self {
        let given = self.ending.as_ref().and_then(|ending| ending.response.as_ref());
        let mut terms = self.terms.clone();
        terms.expires_at = body.expires_at;
        terms.supersedes = None;
        let created = DecisionPointCreated {
            decision_id: body.decision_id.clone(),
            by: self.requested_by.clone(),
            terms: terms.into(),
            separation: false,
            people: None,
        };
        Self {
            chain_id: self.chain_id.clone(),
            prior_id: Some(self.decision_id.clone()),
            iteration: self.iteration.saturating_add(1),
            guidance: given.and_then(Response::words).cloned(),
            state: DecisionPointState::Refining,
            ..Self::created(&created, self.correlation.clone(), at, sequence)
        }
    }

    /// Returns when the next round's time is over, where it begins at a time.
    pub(crate) fn next_round_expires_at(&self, at: Timestamp) -> Option<Timestamp> {
        match self.terms.round_timeout_ms {
            Some(ms) => Some(at.plus_ms(ms)),
            None => self.terms.expires_at,
        }
    }

    pub(crate) fn refine(&mut self, body: &DecisionPointRefined) {
        self.terms.proposal = (*body.proposal).clone();
        // There is no default to be taken any more.
        if self.terms.on_timeout == OnTimeout::Default && body.proposal.default_option.is_none() {
            self.terms.on_timeout = OnTimeout::Abort;
        }
        // Whoever voted has not seen this proposal.
        self.votes.clear();
        self.state = DecisionPointState::Pending;
    }

    pub(crate) fn count_vote(&mut self, body: &VoteCast, at: Timestamp, sequence: u64) {
        let (by, response) = (body.by.clone(), body.response.clone());
        self.votes.push(GivenResponse {
            by,
            response,
            comment: body.comment.clone(),
            at,
            sequence,
        });
    }

    pub(crate) fn resolve(&mut self, body: &DecisionPointResolved, at: Timestamp, sequence: u64) {
        let kind = match &body.response {
            Response::Option(_) => ResolutionKind::Option,
            Response::Text(_) | Response::Guidance(_) => ResolutionKind::Text,
            Response::Accept | Response::Proposal(_) => ResolutionKind::Accept,
        };
        self.state = DecisionPointState::Resolved;
        self.ending = Some(Ending {
            kind: Some(kind),
            response: Some(body.response.clone()),
            by: Some(body.by.clone()),
            comment: body.comment.clone(),
            ..Ending::at(at, sequence)
        });
    }

    pub(crate) fn guide(&mut self, body: &GuidanceGiven, at: Timestamp, sequence: u64) {
        self.state = DecisionPointState::Iterated;
        self.next_id = Some(body.next_id.clone());
        self.ending = Some(Ending {
            response: Some(Response::Guidance(body.guidance.clone())),
            by: Some(body.by.clone()),
            comment: body.comment.clone(),
            ..Ending::at(at, sequence)
        });
    }

    pub(crate) fn take_default(&mut self, body: &DefaultTaken, at: Timestamp, sequence: u64) {
        self.state = DecisionPointState::Expired;
        self.ending = Some(Ending {
            kind: Some(ResolutionKind::Default),
            default_taken: Some(body.option_id.clone()),
            ended_at: body.expires_at,
            ..Ending::at(at, sequence)
        });
    }

    pub(crate) fn abort(&mut self, expires_at: Timestamp, at: Timestamp, sequence: u64) {
        self.state = DecisionPointState::Aborted;
        let kind = Some(ResolutionKind::Abort);
        // By the own clock it may be over before the log's time says so.
        let ended_at = expires_at.min(at);
        self.ending = Some(Ending { kind, ended_at, ..Ending::at(at, sequence) });
    }

    pub(crate) fn cancel(&mut self, body: &DecisionPointCancelled, at: Timestamp, sequence: u64) {
        self.state = DecisionPointState::Cancelled;
        self.ending = Some(Ending {
            kind: Some(ResolutionKind::Cancel),
            by: Some(body.by.clone()),
            comment: body.reason.clone(),
            ..Ending::at(at, sequence)
        });
    }

    pub(crate) fn supersede(
        &mut self,
        body: &DecisionPointSuperseded,
        at: Timestamp,
        sequence: u64,
    ) {
        self.state = DecisionPointState::Superseded;
        self.ending = Some(Ending {
            kind: Some(ResolutionKind::Supersede),
            by: Some(body.by.clone()),
            superseded_by: Some(body.superseded_by.clone()),
            ..Ending::at(at, sequence)
        });
    }

    pub(crate) fn escalate(&mut self, body: &DecisionPointEscalated, at: Timestamp) {
        let count = self.escalation.as_ref().map_or(0, |before| before.count).saturating_add(1);
        let (to, by) = (body.to.clone(), body.by.clone());
        self.escalation = Some(Escalation { to, reason: body.reason.clone(), by, at, count });
    }

    pub(crate) fn keep_late(&mut self, body: &LateResponseRecorded, at: Timestamp, sequence: u64) {
        self.late_total = self.late_total.saturating_add(1);
        if self.late_responses.len() < crate::decision_point::types::MAX_LATE_RESPONSES {
            let (by, response) = (body.by.clone(), body.response.clone());
            let comment: Option<Text> = body.comment.clone();
            self.late_responses.push(GivenResponse { by, response, comment, at, sequence });
        }
    }

    pub(crate) fn consume(&mut self, by: &Principal, at: Timestamp, sequence: u64) {
        self.consumed = Some(Consumed { by: by.clone(), at, sequence });
    }

    pub(crate) fn report(&mut self, body: &OutcomeReported, at: Timestamp, sequence: u64) {
        let OutcomeClaim { tool_use_id, status, response_bytes, response_sha256, .. } =
            &*body.claim;
        self.outcome = Some(ClaimedOutcome {
            by: body.by.clone(),
            tool_use_id: tool_use_id.clone(),
            status: *status,
            response_bytes: *response_bytes,
            response_sha256: *response_sha256,
            at,
            sequence,
        });
    }
}

impl Ending {
    /// An end at the time of its record.
    fn at(at: Timestamp, sequence: u64) -> Self {
        Self {
            kind: None,
            response: None,
            default_taken: None,
            by: None,
            comment: None,
            superseded_by: None,
            ended_at: at,
            recorded_at: at,
            sequence,
        }
    }
}
