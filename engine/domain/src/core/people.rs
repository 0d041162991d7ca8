//! The user numbers behind the names in policies, questions and the terms of runs. A name is who
//! it was when it was recorded: whoever answers under it has to have that number. Two names of one
//! number are one person.
//!
//! What was recorded before there were numbers is not judged by them.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::actor::{
    Actor, Authentication, NamedUsers, PersonTerms, Principal, Proof, RecordedNumber,
};
use crate::core::payload::Text;
use crate::core::refusal::CommonRefusal;
use crate::core::text::visible;

/// The numbers behind the names of the log's policy and of what lives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct People {
    policy: Option<NamedUsers>,
    loops: BTreeMap<String, NamedUsers>,
    points: BTreeMap<String, Voters>,
}

/// People who may answer a round, and those who voted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Voters {
    named: NamedUsers,
    /// Each proven vote: the name and the number of the voter.
    votes: Vec<(Text, u32)>,
}

impl People {
    pub(crate) fn policy_changed(&mut self, people: Option<&NamedUsers>) {
        self.policy = people.cloned();
    }

    pub(crate) const fn of_policy(&self) -> Option<&NamedUsers> {
        self.policy.as_ref()
    }

    pub(crate) fn loop_began(&mut self, loop_id: &str, people: Option<&NamedUsers>) {
        if let Some(people) = people {
            self.loops.insert(loop_id.to_string(), people.clone());
        }
    }

    pub(crate) fn loop_settled(&mut self, loop_id: &str) {
        self.loops.remove(loop_id);
    }

    pub(crate) fn point_began(&mut self, decision_id: &str, people: Option<&NamedUsers>) {
        if let Some(named) = people.cloned() {
            self.points.insert(decision_id.to_string(), Voters { named, votes: Vec::new() });
        }
    }

    /// The next round has the people of the one before, and no votes.
    pub(crate) fn round_began(&mut self, prior_id: &str, next_id: &str) {
        let named = self.points.get(prior_id).map(|voters| voters.named.clone());
        self.point_began(next_id, named.as_ref());
    }

    pub(crate) fn point_forgotten(&mut self, decision_id: &str) {
        self.points.remove(decision_id);
    }

    /// A vote counted. A claim has no number of its own.
    pub(crate) fn voted(&mut self, decision_id: &str, name: &Text, proof: Option<Proof>) {
        let Some(proof) = proof.filter(|proof| !proof.is_claim()) else { return };
        if let Some(voters) = self.points.get_mut(decision_id) {
            voters.votes.push((name.clone(), proof.user));
        }
    }

    /// The terms of a loop for somebody of this name.
    pub(crate) fn in_loop(&self, loop_id: &str, name: &str, terms: PersonTerms) -> PersonTerms {
        let number = self.loops.get(loop_id).map(|named| named.number_of(name));
        PersonTerms { number: number.unwrap_or(RecordedNumber::Unstated), ..terms }
    }

    /// The terms of a round for somebody of this name.
    pub(crate) fn in_point(
        &self,
        decision_id: &str,
        name: &str,
        terms: PersonTerms,
    ) -> PersonTerms {
        let number = self.points.get(decision_id).map(|voters| voters.named.number_of(name));
        PersonTerms { number: number.unwrap_or(RecordedNumber::Unstated), ..terms }
    }

    /// The other name under which this user voted already.
    pub(crate) fn voted_as(
        &self,
        decision_id: &str,
        name: &str,
        proof: Option<Proof>,
    ) -> Option<&Text> {
        let proof = proof.filter(|proof| !proof.is_claim())?;
        let votes = &self.points.get(decision_id)?.votes;
        let other = votes.iter().find(|(voter, user)| *user == proof.user && **voter != *name);
        other.map(|(voter, _)| voter)
    }

    /// Returns whether this is the user who asked, whose name was proven then and who is another
    /// name now.
    pub(crate) fn is_requester(
        &self,
        decision_id: &str,
        (requester, asked_by): (&Principal, u32),
        proof: Option<Proof>,
    ) -> bool {
        let is_known = self.points.contains_key(decision_id);
        let is_proven = requester.authenticated_by > Authentication::None;
        let is_person = requester.kind == Actor::Human;
        let is_same = proof.is_some_and(|proof| !proof.is_claim() && proof.user == asked_by);
        is_known && is_person && is_proven && is_same
    }
}

/// Checks whether each list names each user once.
///
/// # Errors
/// [`CommonRefusal::NamedTwice`] names the first two names of one user.
pub fn check_each_once(list: &[Text], people: &NamedUsers) -> Result<(), CommonRefusal> {
    for (place, name) in list.iter().enumerate() {
        let RecordedNumber::User(user) = people.number_of(name) else { continue };
        let mut before = list.iter().take(place);
        let is_same = |other: &&Text| people.number_of(other) == RecordedNumber::User(user);
        if let Some(other) = before.find(is_same) {
            let (one, other) = (visible(other).to_string(), visible(name).to_string());
            return Err(CommonRefusal::NamedTwice { one, other, user });
        }
    }
    Ok(())
}
