//! Answers that a round takes: its options, words, guidance, and what is there as it is.

use alloc::string::ToString as _;

use crate::core::payload::Text;
use crate::decision_point::check::{option_ids, shown};
use crate::decision_point::refusal::DecisionPointRefusal as No;
use crate::decision_point::state::DecisionPoint;
use crate::decision_point::types::{ACCEPT, DecisionPointState, GUIDANCE, Response};

impl DecisionPoint {
    /// Tells whether the answer is one that this round takes.
    pub(super) fn check_offered(&self, response: &Response) -> Result<(), No> {
        let decision_id = self.id();
        if response.is_acceptance() && self.iteration <= 1 {
            return Err(No::NothingToAccept { decision_id });
        }
        if *response == Response::Accept || self.is_own_guidance(response) {
            return Ok(());
        }
        if let Response::Proposal(default) = response {
            return self.check_accepted(default.as_ref());
        }
        if self.state == DecisionPointState::Refining {
            return Err(No::NotRefined { decision_id, requester: self.requester() });
        }
        self.check_option(response)?;
        match response {
            Response::Text(_) if !self.terms.allow_text => {
                let options = option_ids(&self.terms.proposal);
                Err(No::TextNotAllowed { decision_id, options })
            }
            Response::Guidance(_) if self.iteration >= self.terms.max_iterations => {
                Err(No::IterationLimit { decision_id, max: self.terms.max_iterations })
            }
            Response::Option(_)
            | Response::Text(_)
            | Response::Guidance(_)
            | Response::Accept
            | Response::Proposal(_) => Ok(()),
        }
    }

    /// Tells whether an acceptance is of what is proposed, with its default. Where somebody has to
    /// approve, nobody accepts what may be proposed anew while they read it.
    fn check_accepted(&self, default: Option<&Text>) -> Result<(), No> {
        let (decision_id, proposal) = (self.id(), &self.terms.proposal);
        if !self.takes_acceptance() {
            return Err(No::NotRefined { decision_id, requester: self.requester() });
        }
        if default == proposal.default_option.as_ref() {
            return Ok(());
        }
        let found = default.map_or_else(|| "no default".to_string(), |id| shown(id));
        Err(No::BadOption { decision_id, found, options: option_ids(proposal) })
    }

    /// Tells whether the current proposal can be accepted as it is.
    pub(crate) fn takes_acceptance(&self) -> bool {
        let is_proposed = self.state == DecisionPointState::Pending || !self.needs_person();
        self.iteration > 1 && is_proposed
    }

    /// Tells whether an answer in words is the guidance that led to the round, as it is.
    pub(crate) fn is_own_guidance(&self, response: &Response) -> bool {
        let Response::Text(words) = response else { return false };
        self.guidance.as_ref() == Some(words)
    }

    /// Tells whether an option is one that this round ever offered, whatever became of it since.
    ///
    /// # Errors
    /// It never did.
    pub(crate) fn check_option(&self, response: &Response) -> Result<(), No> {
        let Response::Option(id) = response else { return Ok(()) };
        if self.terms.proposal.option(id).is_some() {
            return Ok(());
        }
        let (decision_id, options) = (self.id(), option_ids(&self.terms.proposal));
        Err(No::BadOption { decision_id, found: shown(id), options })
    }

    /// Tells whether an answer ends the round, once it is counted.
    pub(crate) fn ends_round(&self, response: &Response) -> bool {
        let Some(policy) = &self.terms.policy else { return true };
        self.rejects(response) || self.votes_for(response) >= usize::from(policy.quorum)
    }

    /// Tells whether an answer is an option that rejects.
    pub(crate) fn rejects(&self, response: &Response) -> bool {
        let Some(id) = response.chosen() else { return false };
        self.terms.proposal.option(id).is_some_and(|option| option.reject)
    }

    /// Returns what an answer means by the names that are no options: `_accept` accepts the
    /// proposal, and `_guidance` answers with the words of the guidance that led to the round. In
    /// the first round there is nothing to accept.
    #[must_use]
    pub fn meant(&self, response: &Response) -> Response {
        let name = match response {
            Response::Accept => ACCEPT,
            Response::Option(id) => id,
            Response::Text(_) | Response::Guidance(_) | Response::Proposal(_) => "",
        };
        match (name, &self.guidance) {
            (ACCEPT, Some(_)) => Response::Proposal(self.terms.proposal.default_option.clone()),
            (GUIDANCE, Some(words)) => Response::Text(words.clone()),
            (ACCEPT | GUIDANCE, None) => Response::Accept,
            _ => response.clone(),
        }
    }
}
