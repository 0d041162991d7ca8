//! What the events alone say of decision points. It asks neither the world nor the rules' code.

use std::collections::{BTreeMap, BTreeSet};

use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalConsumed, DecisionPointEvent, DecisionPointResolved, DependentsReleased,
    OnTimeout, Proposal, Response, RoundOpened, Terms, VoteCast,
};
use holdpoint_domain::{Event, Time};

/// How a round ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Approved,
    /// Words or a default, where no approval is asked for.
    Words,
    /// Nothing that releases or approves.
    Other,
}

/// One round.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    terms: Terms,
    requester: Text,
    iteration: u8,
    /// Whether the requester has to propose anew.
    is_refining: bool,
    votes: Vec<(Text, Response)>,
    pub(crate) end: Option<End>,
    ended_at: Time,
    is_released: bool,
    /// Spent or lapsed.
    is_spent: bool,
    is_reported: bool,
}

/// Every round that the events tell of.
#[derive(Debug, Default)]
pub(crate) struct Accountant {
    pub(crate) rounds: BTreeMap<String, Round>,
    /// The next round's id, and the round that guidance ended.
    promised: BTreeMap<Text, Text>,
    /// Rounds in the order in which nothing was left to happen to them.
    pub(crate) over: Vec<String>,
    /// Rounds in the order of their beginning.
    pub(crate) begun: Vec<String>,
    pub(crate) kinds: BTreeSet<u16>,
}

impl Round {
    fn begun(terms: Terms, requester: Text) -> Self {
        Self {
            terms,
            requester,
            iteration: 1,
            is_refining: false,
            votes: Vec::new(),
            end: None,
            ended_at: Time::default(),
            is_released: false,
            is_spent: false,
            is_reported: false,
        }
    }

    fn is_over(&self) -> bool {
        let is_spendable = self.end == Some(End::Approved) && self.terms.binding.is_some();
        self.end.is_some() && (!is_spendable || self.is_spent)
    }

    fn rejects(&self, id: &str) -> bool {
        let proposal: &Proposal = &self.terms.proposal;
        proposal.options.iter().any(|option| *option.id == *id && option.reject)
    }

    fn assert_open(&self, event: &Event) {
        assert_eq!(self.end, None, "the round is over, and then: {event:?}");
    }

    /// Whoever answers is asked to.
    fn assert_counts(&self, by: &Principal) {
        let Some(policy) = &self.terms.policy else { return };
        let is_asked = policy.approvers.is_empty() || policy.approvers.contains(&by.id);
        let may_be_program = policy.allow_agents && by.kind != Actor::System;
        assert!(by.kind == Actor::Human || may_be_program, "a program counted: {by:?}");
        assert!(policy.allow_requester || by.id != self.requester, "{by:?} approved its own");
        assert!(is_asked, "{by:?} was not asked");
        let proofs = [Authentication::None, Authentication::OsUser, Authentication::Terminal];
        let rank = |level| proofs.iter().position(|proof| *proof == level);
        assert!(rank(by.authenticated_by) >= rank(policy.authentication), "{by:?} is not proven");
    }

    /// What an answer that counts makes of the round.
    fn end_by(&self, response: &Response) -> End {
        let asks_approval = self.terms.policy.is_some() || self.terms.binding.is_some();
        match response {
            Response::Option(id) | Response::Proposal(Some(id)) if self.rejects(id) => End::Other,
            Response::Option(_) | Response::Proposal(Some(_)) => End::Approved,
            Response::Proposal(None) if !asks_approval => End::Words,
            Response::Proposal(None) | Response::Accept => End::Other,
            Response::Text(_) if !asks_approval => End::Words,
            Response::Text(_) | Response::Guidance(_) => End::Other,
        }
    }

    fn assert_suffices(&self, body: &DecisionPointResolved) {
        let Some(policy) = &self.terms.policy else { return };
        let chosen = body.response.chosen();
        let is_same = |other: &Response| chosen.is_some() && other.chosen() == chosen;
        let agree =
            self.votes.iter().filter(|(_, choice)| *choice == body.response || is_same(choice));
        let names: BTreeSet<&Text> = agree.map(|(name, _)| name).collect();
        let is_rejected = chosen.is_some_and(|id| self.rejects(id));
        assert!(names.contains(&body.by.id), "resolved by somebody who did not vote: {body:?}");
        let enough = names.len() >= usize::from(policy.quorum);
        assert!(is_rejected || enough, "no quorum: {names:?} of {}", policy.quorum);
    }
}

impl Accountant {
    /// One batch. Guidance and its round come together, or neither does.
    pub(crate) fn follow(&mut self, events: &[Event], at: Time) {
        for event in events {
            self.kinds.insert(event.kind().kind);
            match event {
                Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(body)) => {
                    let round = Round::begun((*body.terms).clone(), body.by.id.clone());
                    self.insert(&body.decision_id, round);
                }
                Event::DecisionPoint(DecisionPointEvent::RoundOpened(body)) => self.open(body),
                other => self.change(other, at),
            }
        }
        assert!(self.promised.is_empty(), "guidance without its round: {:?}", self.promised);
    }

    fn insert(&mut self, id: &Text, round: Round) {
        assert!(self.rounds.insert(id.to_string(), round).is_none(), "{id} began twice");
        self.begun.push(id.to_string());
    }

    fn open(&mut self, body: &RoundOpened) {
        let prior_id = self.promised.remove(&body.decision_id);
        assert_eq!(prior_id.as_ref(), Some(&body.prior_id), "a round without guidance: {body:?}");
        let prior = &self.rounds[&*body.prior_id];
        let mut round = Round::begun(prior.terms.clone(), prior.requester.clone());
        (round.iteration, round.is_refining) = (prior.iteration + 1, true);
        round.terms.expires_at = body.expires_at;
        assert_eq!(body.iteration, round.iteration);
        assert!(round.iteration <= round.terms.max_iterations, "too many rounds: {body:?}");
        self.insert(&body.decision_id, round);
    }

    fn change(&mut self, event: &Event, at: Time) {
        let id = event.decision_point().expect("an event of a decision point").to_string();
        let round = self.rounds.get_mut(&id).expect("a round that began");
        let was_over = round.is_over();
        match event {
            Event::DecisionPoint(DecisionPointEvent::VoteCast(body)) => vote(round, body, event),
            Event::DecisionPoint(DecisionPointEvent::ApprovalConsumed(body)) => {
                spend(round, body, at)
            }
            Event::DecisionPoint(DecisionPointEvent::DependentsReleased(body)) => {
                release(round, body)
            }
            Event::DecisionPoint(DecisionPointEvent::ApprovalLapsed(body)) => {
                assert!(round.end == Some(End::Approved) && !round.is_spent);
                assert_eq!(body.valid_until, round.ended_at.plus_ms(round.terms.valid_for_ms));
                round.is_spent = true;
            }
            Event::DecisionPoint(DecisionPointEvent::ApprovalRevoked(_)) => {
                assert!(round.end == Some(End::Approved) && !round.is_spent, "{event:?}");
                round.is_spent = true;
            }
            Event::DecisionPoint(DecisionPointEvent::OutcomeReported(_)) => {
                assert!(round.end == Some(End::Approved) && round.is_spent, "{event:?}");
                assert!(!std::mem::replace(&mut round.is_reported, true), "reported twice");
            }
            Event::DecisionPoint(DecisionPointEvent::LateResponseRecorded(_)) => {
                assert!(round.end.is_some(), "late, yet open")
            }
            Event::DecisionPoint(DecisionPointEvent::DecisionPointRefined(body)) => {
                round.assert_open(event);
                assert!(std::mem::take(&mut round.is_refining), "refined without guidance");
                round.terms.proposal = (*body.proposal).clone();
                round.votes.clear();
            }
            Event::DecisionPoint(DecisionPointEvent::GuidanceGiven(body)) => {
                round.assert_counts(&body.by);
                end(round, event, at, End::Other);
                self.promised.insert(body.next_id.clone(), body.decision_id.clone());
            }
            other => end_otherwise(round, other, at),
        }
        if !was_over && self.rounds[&id].is_over() {
            self.over.push(id);
        }
    }
}

fn end_otherwise(round: &mut Round, event: &Event, at: Time) {
    match event {
        Event::DecisionPoint(DecisionPointEvent::DecisionPointResolved(body)) => {
            round.assert_counts(&body.by);
            round.assert_suffices(body);
            end(round, event, at, round.end_by(&body.response));
        }
        Event::DecisionPoint(DecisionPointEvent::DefaultTaken(body)) => {
            assert_eq!(round.terms.on_timeout, OnTimeout::Default);
            assert!(!round.is_refining, "a default that was guided away from");
            assert!(round.terms.expires_at.is_some_and(|end| end <= at));
            let says_so = round.terms.policy.as_ref().map(|policy| policy.default_approves);
            let ending = match says_so {
                _ if round.rejects(&body.option_id) => End::Other,
                Some(true) => End::Approved,
                None if round.terms.binding.is_none() => End::Words,
                _ => End::Other,
            };
            end(round, event, body.expires_at, ending);
        }
        Event::DecisionPoint(DecisionPointEvent::DecisionPointAborted(_)) => {
            assert_ne!(round.terms.on_timeout, OnTimeout::Hold);
            assert!(round.terms.expires_at.is_some_and(|end| end <= at));
            end(round, event, at, End::Other);
        }
        Event::DecisionPoint(DecisionPointEvent::DecisionPointCancelled(_))
        | Event::DecisionPoint(DecisionPointEvent::DecisionPointSuperseded(_)) => {
            end(round, event, at, End::Other);
        }
        _ => round.assert_open(event),
    }
}

/// One end for each round.
fn end(round: &mut Round, event: &Event, at: Time, end: End) {
    round.assert_open(event);
    (round.end, round.ended_at) = (Some(end), at);
}

fn vote(round: &mut Round, body: &VoteCast, event: &Event) {
    round.assert_open(event);
    round.assert_counts(&body.by);
    assert!(round.votes.iter().all(|(name, _)| *name != body.by.id), "a second vote: {body:?}");
    round.votes.push((body.by.id.clone(), body.response.clone()));
}

fn spend(round: &mut Round, body: &ApprovalConsumed, at: Time) {
    assert_eq!(round.end, Some(End::Approved), "spent, yet not approved");
    assert!(!std::mem::replace(&mut round.is_spent, true), "spent twice, or after it lapsed");
    let binding: Option<&ActionBinding> = round.terms.binding.as_ref();
    assert_eq!(binding, Some(&body.binding), "spent for something else");
    assert!(at < round.ended_at.plus_ms(round.terms.valid_for_ms), "spent too late");
}

fn release(round: &mut Round, body: &DependentsReleased) {
    assert!(matches!(round.end, Some(End::Approved | End::Words)), "released: {:?}", round.end);
    assert!(!std::mem::replace(&mut round.is_released, true), "released twice");
    assert_eq!(body.blocks, round.terms.blocks);
}
