//! By whom, and under which policy, what waits for a person was asked, and whether somebody is the
//! person whom a command needs: asked before a command is carried out, and again of every record of
//! one.
//!
//! Only what was recorded with proofs has a gate. What is older is judged by the rules of its time.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::core::actor::{
    Actor, ActorId, Authentication, Gate, PersonTerms, Proof, RecordedNumber,
};
use crate::core::doubt::{Doubt, Doubts as _, records_named};
use crate::core::people::People;
use crate::core::refusal::person_needed;
use crate::core::text::shown;
use crate::decision_point::command::DecisionPointCommand;
use crate::decision_point::event::DecisionPointCreated;
use crate::decision_point::state::DecisionPoint;
use crate::evidence_capture::types::StopCondition;
use crate::execution_loop::command::ExecutionLoopCommand;
use crate::execution_loop::event::LoopInitialized;
use crate::governed::aggregate::RequestPlace;
use crate::human_decision::command::HumanDecisionCommand;
use crate::human_decision::refusal::HumanDecisionRefusal;
use crate::interruption_thread::refusal::ThreadRefusal;
use crate::interruption_thread::types::ReasonCode;
use crate::log::command::LogCommand;
use crate::log::policy::{GatePolicy, GateTerms};
use crate::registration::command::RegistrationCommand;
use crate::registration::state::Mismatch;
use crate::world::World;
use crate::world::command::Command;
use crate::world::refusal::Refusal;

/// The policy of the log, and the gates of what lives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gates {
    /// Policy that a person recorded last; `None`: nothing yet.
    pub(crate) policy: Option<GatePolicy>,
    /// The record that says so. 0: none.
    pub(crate) policy_record: u64,
    /// True if records were lost that may have held a policy.
    pub(crate) is_policy_lost: bool,
    pub(crate) loops: BTreeMap<String, Gate>,
    pub(crate) points: BTreeMap<String, Gate>,
    /// The numbers behind the names, which are carried in a room of their own.
    #[serde(skip)]
    pub(crate) people: People,
}

impl Gates {
    /// Returns how the policy in force wants people to prove who they are.
    pub(crate) fn authentication(&self) -> Option<Authentication> {
        self.policy.as_ref().and_then(|policy| policy.authentication)
    }

    /// A loop began.
    pub(crate) fn loop_began(&mut self, body: &LoopInitialized, proof: Option<Proof>) {
        let Some(Proof { user, .. }) = proof else { return };
        // Before there were gates, the system's user proved a person.
        let default = GateTerms { authentication: Authentication::OsUser, ..GateTerms::default() };
        let terms = body.gate.as_ref().unwrap_or(&default);
        let (authentication, separation) = (terms.authentication, terms.separation);
        let gate = Gate { asked_by: user, authentication, separation };
        self.loops.insert(String::from(body.loop_id.as_str()), gate);
        self.people.loop_began(&body.loop_id, body.people.as_ref());
    }

    /// A loop settled.
    pub(crate) fn loop_settled(&mut self, loop_id: &str) {
        self.loops.remove(loop_id);
        self.people.loop_settled(loop_id);
    }

    /// Returns who counts as the person who is asked about a loop; `None`: it is judged as it was
    /// before there were proofs.
    pub(crate) fn of_loop(&self, loop_id: &str) -> Option<PersonTerms> {
        self.loops.get(loop_id).map(|gate| gate.terms())
    }

    /// Does the same as [`Gates::of_loop`], for somebody of this name.
    pub(crate) fn of_loop_for(&self, loop_id: &str, name: &str) -> Option<PersonTerms> {
        self.of_loop(loop_id).map(|terms| self.people.in_loop(loop_id, name, terms))
    }

    /// A question was asked. Nothing is said of what proves who answers: then it is a terminal, and
    /// before there were numbers it was the system's user.
    pub(crate) fn point_began(
        &mut self,
        point: &DecisionPoint,
        body: &DecisionPointCreated,
        proof: Option<Proof>,
    ) {
        let Some(Proof { user, .. }) = proof else { return };
        let policy = point.terms.policy.as_ref();
        let of_log = self.policy.as_ref().and_then(|policy| policy.authentication);
        let usual = of_log.unwrap_or(match body.people {
            Some(_) => Authentication::Terminal,
            None => Authentication::OsUser,
        });
        let separation = body.separation;
        let authentication = policy.map_or(usual, |policy| policy.authentication);
        let gate = Gate { asked_by: user, authentication, separation };
        self.points.insert(String::from(point.decision_id.as_str()), gate);
        self.people.point_began(&point.decision_id, body.people.as_ref());
    }

    /// The next round of a question has the gate of the one before.
    pub(crate) fn round_began(&mut self, prior_id: &str, next_id: &str) {
        if let Some(gate) = self.points.get(prior_id).copied() {
            self.points.insert(String::from(next_id), gate);
        }
        self.people.round_began(prior_id, next_id);
    }

    /// A question that ended is remembered no longer.
    pub(crate) fn point_forgotten(&mut self, decision_id: &str) {
        self.points.remove(decision_id);
        self.people.point_forgotten(decision_id);
    }

    /// Does the same as [`Gates::of_loop`], about a decision point.
    fn of_point(&self, decision_id: &str) -> Option<PersonTerms> {
        self.points.get(decision_id).map(|gate| gate.terms())
    }
}

impl World {
    /// The policy that a person recorded in the log, which every hold point in it keeps; one that
    /// demands nothing where nobody recorded any.
    #[must_use]
    pub fn policy(&self) -> GatePolicy {
        self.hot.gates.policy.clone().unwrap_or_default()
    }

    /// The record with which a person set the policy of the log; `None` where nobody did.
    #[must_use]
    pub fn policy_record(&self) -> Option<u64> {
        self.hot.gates.policy.as_ref().map(|_| self.hot.gates.policy_record)
    }

    /// Returns whether the records that were lost may have held the policy of the log: then nothing
    /// begins that a policy could hold, until a person sets one.
    #[must_use]
    pub const fn is_policy_lost(&self) -> bool {
        self.hot.gates.is_policy_lost
    }

    /// Returns the terms of who counts as the person who may answer about a loop; `None` for one of
    /// before there were proofs.
    #[must_use]
    pub fn person_for_loop(&self, loop_id: &str) -> Option<PersonTerms> {
        self.hot.gates.of_loop(loop_id)
    }

    /// Returns the terms of who counts as the person who may answer a decision point that needs
    /// one; `None` for one of before there were proofs.
    #[must_use]
    pub fn person_for_point(&self, decision_id: &str) -> Option<PersonTerms> {
        self.hot.gates.of_point(decision_id)
    }

    /// Returns whether what waits for the answer of a decision point may go on. Where a person is
    /// needed, silence releases nothing; questions of before that was a rule keep theirs.
    #[must_use]
    pub fn is_released(&self, point: &DecisionPoint) -> bool {
        self.points_view(None).is_released(point)
    }
}

impl World {
    /// Checks whether somebody with this proof may give a command that only a person may give.
    /// Which person it has to be is for the rules of each system to say.
    ///
    /// # Errors
    /// [`CommonRefusal::PersonNeeded`](crate::core::refusal::CommonRefusal::PersonNeeded), or what
    /// the command's own system says of programs.
    pub fn check_person(
        &self,
        actor: &ActorId,
        proof: Option<Proof>,
        command: &Command,
    ) -> Result<(), Refusal> {
        match command {
            Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(c)) => {
                self.check_answerer(&c.request_id, (c.actor, &actor.id), proof)
            }
            Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(c)) => {
                self.check_answerer(&c.request_id, (c.actor, &actor.id), proof)
            }
            Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(c))
                if c.condition == StopCondition::HumanAbort =>
            {
                self.check_aborter(&c.loop_id, actor, proof)
            }
            Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(c))
            | Command::ExecutionLoop(ExecutionLoopCommand::RetryLoop(c))
                if c.facts.human_abort_signaled == Some(true) =>
            {
                self.check_aborter(&c.loop_id, actor, proof)
            }
            Command::ExecutionLoop(ExecutionLoopCommand::InstructLoop(c))
                if c.facts.human_abort_signaled == Some(true) =>
            {
                self.check_aborter(&c.loop_id, actor, proof)
            }
            Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(c)) => {
                let Some(point) = self.known_point(&c.decision_id) else { return Ok(()) };
                // A person's words count for nothing when the round is over, and need no proof. A
                // program may not even say them.
                if !point.is_open() && actor.kind == Actor::Human {
                    return Ok(());
                }
                let who = (actor.kind, &*actor.id);
                Ok(self.points_view(None).check_respondent(point, who, proof)?)
            }
            Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(c)) => {
                self.check_other(&c.decision_id, actor, proof)
            }
            Command::DecisionPoint(DecisionPointCommand::RefineDecisionPoint(c)) => {
                self.check_other(&c.decision_id, actor, proof)
            }
            Command::Registration(RegistrationCommand::ChangeCapability(_)) => {
                self.check_granter(proof)
            }
            Command::Log(LogCommand::SetPolicy(_)) | Command::Log(LogCommand::RelaxPolicy(_)) => {
                let is_human = actor.kind == Actor::Human;
                let terms = PersonTerms::AT_A_TERMINAL;
                Ok(person_needed("setting a policy", is_human, terms.admit(proof))?)
            }
            Command::Log(_)
            | Command::ExecutionLoop(_)
            | Command::EvidenceCapture(_)
            | Command::SandboxFault(_)
            | Command::HumanDecision(_)
            | Command::Registration(_)
            | Command::InterruptionThread(_)
            | Command::DecisionPoint(_)
            | Command::Application(_) => Ok(()),
        }
    }

    /// About a question of a loop. Who is no person at all needs no proof to be told so.
    fn check_answerer(
        &self,
        request_id: &str,
        (found, name): (Actor, &str),
        proof: Option<Proof>,
    ) -> Result<(), Refusal> {
        let Some(RequestPlace::Live(entity, held)) = self.find_request(request_id) else {
            return Ok(());
        };
        if held.outcome.is_some() {
            return Ok(());
        }
        let terms = self.hot.gates.of_loop_for(entity.loop_id(), name);
        let Some(terms) = terms else { return Ok(()) };
        if found != Actor::Human {
            let request_id = request_id.into();
            return Err(HumanDecisionRefusal::NotHuman { request_id, found }.into());
        }
        Ok(person_needed("answering this question", true, terms.admit(proof))?)
    }

    /// HUMAN_ABORT is a person's doing.
    fn check_aborter(
        &self,
        loop_id: &str,
        actor: &ActorId,
        proof: Option<Proof>,
    ) -> Result<(), Refusal> {
        let Some(terms) = self.person_for_loop(loop_id) else { return Ok(()) };
        let terms = PersonTerms { separation: false, ..terms };
        Ok(person_needed("aborting as a human", actor.kind == Actor::Human, terms.admit(proof))?)
    }

    /// Checks that whoever takes back or words anew what somebody else asked is a person whose name
    /// is proven.
    fn check_other(
        &self,
        decision_id: &str,
        actor: &ActorId,
        proof: Option<Proof>,
    ) -> Result<(), Refusal> {
        let Some(point) = self.known_point(decision_id) else { return Ok(()) };
        let is_gated = self.person_for_point(decision_id).is_some() && point.needs_person();
        if !is_gated || actor.kind != Actor::Human || point.requested_by.is(actor) {
            return Ok(());
        }
        let (authentication, separation) = (Authentication::OsUser, false);
        let number = RecordedNumber::Unstated;
        let terms = PersonTerms { authentication, separation, asked_by: None, number };
        Ok(person_needed("changing what somebody else asks", true, terms.admit(proof))?)
    }

    /// Capabilities are granted and taken away by a person at a terminal, unless the policy of the
    /// log asks for less.
    fn check_granter(&self, proof: Option<Proof>) -> Result<(), Refusal> {
        let stated = self.hot.gates.policy.as_ref().and_then(|policy| policy.authentication);
        let terms = PersonTerms::for_grants(stated);
        terms.admit(proof).map_err(|reason| {
            let expected = alloc::format!("a HUMAN proven by {}", terms.authentication);
            let found = alloc::format!("{reason}");
            let reason_code = ReasonCode::FailCallerNotAllowed;
            ThreadRefusal::Barred { reason_code, field: "actor", expected, found }.into()
        })
    }
}

impl World {
    /// Checks whether this actor may give this command: it holds the capability that the command
    /// needs, by a grant that is proven and behind all that is lost, and only a HUMAN changes
    /// capabilities.
    ///
    /// # Errors
    /// [`ThreadRefusal::Barred`] with `X_FAIL_CALLER_NOT_ALLOWED`.
    pub fn check_caller(&self, actor: &ActorId, command: &Command) -> Result<(), Refusal> {
        let mut found = format!("{} {}", actor.kind, shown(&actor.id));
        let expected = match command.needed_capability() {
            Some(needed) => {
                if let Some(by) = self.hot.registry.granted_by(actor, needed) {
                    let Some(doubt) = self.hot.of_made(by) else { return Ok(()) };
                    let doubt = match doubt {
                        Doubt::Unproven { first, last } => format!(
                            "to whom it may be granted by the unproven {} alone",
                            records_named(first, last)
                        ),
                        Doubt::LostBefore(record) => format!(
                            "from whom it may have been taken in a record that is lost, before \
                             record {record}"
                        ),
                    };
                    found += &format!(", {doubt}; a person has to take it away and grant it anew");
                }
                format!("one with {needed}")
            }
            None if is_capability_change(command) && actor.kind != Actor::Human => {
                String::from("a HUMAN")
            }
            _ => return Ok(()),
        };
        let mismatch = Mismatch { field: "actor", expected, found };
        Err(ThreadRefusal::barred(ReasonCode::FailCallerNotAllowed, mismatch).into())
    }
}

const fn is_capability_change(command: &Command) -> bool {
    matches!(command, Command::Registration(RegistrationCommand::ChangeCapability(_)))
}
