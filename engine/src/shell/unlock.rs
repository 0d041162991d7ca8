//! A policy that nobody can approve any more: root sets another one, and is no approver by that.

use super::append::append;
use super::behind::{login, sudo};
use super::engine::Engine;
use super::error::SubmitError;
use super::person_terminal::TypedLine;
use super::submit::{By, Origin, Submitted, come_up_to_date, moment_of_next, receipt, with_turn};
use super::user::{numbers_of, numbers_that_answer};
use crate::floors::FloorsError;
use crate::log::Storage;
use holdpoint_domain::core::actor::{
    Authentication, NamedUser, NamedUsers, Principal, Proof, RecordedNumber,
};
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::log::{GatePolicy, PolicyUnlocked};
use holdpoint_domain::{Refusal, World, WriterCommand, decide_for_writer};
use std::io;

/// The approvers of the log's policy who are gone: the user database no longer has the name, or has
/// it under another number.
///
/// # Errors
/// The database does not answer: whether they are there is not known.
pub fn approvers_who_are_gone(world: &World) -> io::Result<Vec<Text>> {
    let approvers = world.policy().approvers;
    let names: Vec<&str> = approvers.iter().map(|name| name.as_str()).collect();
    let named = approvers.iter().zip(numbers_that_answer(&names)?);
    let is_gone = |name: &Text, now: Option<u32>| match world.number_in_policy(name) {
        RecordedNumber::User(recorded) => now != Some(recorded),
        RecordedNumber::Unstated | RecordedNumber::Missing => now.is_none(),
    };
    Ok(named.filter(|(name, now)| is_gone(name, *now)).map(|(name, _)| name.clone()).collect())
}

impl<S: Storage> Engine<S> {
    /// Sets a policy without an approval, where the one before names somebody who is gone: root
    /// does, who typed a line at a terminal. Who logged in is recorded beside. Anybody else is
    /// refused.
    ///
    /// # Errors
    /// As [`Engine::submit`], and where the user database does not answer.
    pub fn unlock_policy(
        &self,
        origin: &Origin,
        policy: GatePolicy,
        line: TypedLine,
    ) -> Result<Submitted, SubmitError> {
        let core = self.core();
        let identity = core.identity.at_terminal_of(line);
        let proof = identity.proof_of(&origin.actor);
        if proof != (Proof { user: 0, by: Authentication::Terminal }) {
            return Ok(Submitted::Refused(Refusal::ApprovalNeeded));
        }
        let by: Principal = identity.principal(origin.actor.kind, &origin.actor.id);
        let people = people_of(&policy)?;
        let (login_user, sudo_user) = (login(), sudo());
        let done = with_turn(core, |turn| {
            let now = come_up_to_date(turn)?;
            let gone = approvers_who_are_gone(&turn.hot.world).map_err(unknown)?;
            let gone: List<Text> = gone.into_iter().collect();
            let body = PolicyUnlocked { by, policy, gone, people, login_user, sudo_user };
            let command = WriterCommand::UnlockPolicy(Box::new(body));
            let now = moment_of_next(now, turn);
            let events = match decide_for_writer(&turn.hot.world, &command, now) {
                Ok(events) => events,
                Err(refusal) => return Ok(Submitted::Refused(refusal)),
            };
            let by = By { origin, proof: Some(proof) };
            let (appended, events) = append(turn, by, None, events, now)?;
            Ok(Submitted::Accepted(receipt(&appended, now.at, events)))
        })?;
        Ok(done)
    }
}

fn unknown(source: io::Error) -> SubmitError {
    FloorsError::UnknownNumbers { source }.into()
}

/// Whom a policy names, with the numbers that they have.
fn people_of(policy: &GatePolicy) -> Result<NamedUsers, SubmitError> {
    let others = [policy.escalation_approvers.as_deref(), policy.override_approvers.as_deref()];
    let others = others.into_iter().flatten().flatten();
    let mut names: Vec<&Text> = Vec::new();
    policy.approvers.iter().chain(others).for_each(|name| {
        if !names.contains(&name) {
            names.push(name);
        }
    });
    let texts: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    let numbers = numbers_of(&texts).map_err(unknown)?;
    let named = |(name, user): (&Text, Option<u32>)| NamedUser { name: name.clone(), user };
    Ok(names.into_iter().zip(numbers).map(named).collect())
}
