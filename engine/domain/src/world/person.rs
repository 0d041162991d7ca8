//! Whether somebody is the person whom a command needs. Asked before a command is carried out, and
//! again of every record of one.

use super::{DecisionPoint, RequestPlace, World};
use crate::command::Command;
use crate::decision_point::Authentication;
use crate::envelope::ActorId;
use crate::evidence_capture::StopCondition;
use crate::execution_loop::Actor;
use crate::interruption_thread::ReasonCode;
use crate::principal::{NotAPerson, PersonTerms, Proof};
use crate::refusal::{DecisionPointRefusal, Refusal, ThreadRefusal};
use crate::text::visible;

impl World {
    /// Whether somebody with this proof may give a command that only a person may give. Which
    /// person it has to be is for the rules of each system to say.
    ///
    /// # Errors
    /// [`Refusal::PersonNeeded`], or what the command's own system says of programs.
    pub fn check_person(
        &self,
        actor: &ActorId,
        proof: Option<Proof>,
        command: &Command,
    ) -> Result<(), Refusal> {
        match command {
            Command::AnswerDecision(c) => self.check_answerer(&c.request_id, proof),
            Command::OverrideVisibility(c) => self.check_answerer(&c.request_id, proof),
            Command::StopLoop(c) if c.condition == StopCondition::HumanAbort => {
                self.check_aborter(&c.loop_id, actor, proof)
            }
            Command::DispatchLoop(c) | Command::RetryLoop(c)
                if c.facts.human_abort_signaled == Some(true) =>
            {
                self.check_aborter(&c.loop_id, actor, proof)
            }
            Command::RespondToDecisionPoint(c) => match self.known_point(&c.decision_id) {
                Some(point) => self.check_respondent(point, (actor.kind, &actor.id), proof),
                None => Ok(()),
            },
            Command::CancelDecisionPoint(c) => self.check_other(&c.decision_id, actor, proof),
            Command::RefineDecisionPoint(c) => self.check_other(&c.decision_id, actor, proof),
            Command::ChangeCapability(_) => self.check_granter(proof),
            Command::SetPolicy(_) | Command::RelaxPolicy(_) => {
                let is_human = actor.kind == Actor::Human;
                let terms = PersonTerms::AT_A_TERMINAL;
                needed("setting a policy", is_human, terms.admit(proof))
            }
            _ => Ok(()),
        }
    }

    /// About a question of a loop.
    fn check_answerer(&self, request_id: &str, proof: Option<Proof>) -> Result<(), Refusal> {
        let Some(RequestPlace::Live(entity, _)) = self.find_request(request_id) else {
            return Ok(());
        };
        let Some(terms) = self.person_for_loop(entity.loop_id()) else { return Ok(()) };
        needed("answering this question", true, terms.admit(proof))
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
        needed("aborting as a human", actor.kind == Actor::Human, terms.admit(proof))
    }

    /// An answer to a decision point: where approval is asked for, or something waits, it is a
    /// person's, unless its creator lets agents answer.
    pub(crate) fn check_respondent(
        &self,
        point: &DecisionPoint,
        (kind, id): (Actor, &str),
        proof: Option<Proof>,
    ) -> Result<(), Refusal> {
        let Some(terms) = self.person_for_point(&point.decision_id) else { return Ok(()) };
        if !point.needs_person() {
            return Ok(());
        }
        let lets_agents = point.terms.policy.as_ref().is_some_and(|policy| policy.allow_agents);
        match kind {
            Actor::Human => needed("answering this decision", true, terms.admit(proof)),
            Actor::Agent | Actor::Automation if lets_agents => Ok(()),
            _ => Err(DecisionPointRefusal::AgentExcluded {
                decision_id: alloc::string::ToString::to_string(&point.decision_id),
                by: alloc::string::ToString::to_string(&visible(id)),
            }
            .into()),
        }
    }

    /// Whoever takes back or words anew what somebody else asked is a person whose name is proven.
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
        let terms = PersonTerms { authentication, separation, asked_by: None };
        needed("changing what somebody else asks", true, terms.admit(proof))
    }

    /// Capabilities are granted and taken away by a person at a terminal, unless the policy of the
    /// log asks for less.
    pub(crate) fn check_granter(&self, proof: Option<Proof>) -> Result<(), Refusal> {
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

fn needed(
    what: &'static str,
    is_human: bool,
    admitted: Result<(), NotAPerson>,
) -> Result<(), Refusal> {
    let admitted = if is_human { admitted } else { Err(NotAPerson::Claimed) };
    admitted.map_err(|reason| Refusal::PersonNeeded { what, reason })
}
