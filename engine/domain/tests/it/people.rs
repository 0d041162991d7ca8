//! Numbers beside names: who a name was when it was recorded is who answers under it, and two names
//! of one number are one person.

use crate::points::{approval, choice, policy, question, told};
use holdpoint_domain::core::actor::{
    Actor, Authentication, NamedUser, NamedUsers, Principal, Proof,
};
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{
    CreateDecisionPoint, DecisionPointCommand, RespondToDecisionPoint,
};
use holdpoint_domain::log::{ChangePolicy, GatePolicy, LogCommand};
use holdpoint_domain::{ActorId, Command, Envelope, Event, Refusal, Time, World, decide};

/// A world whose records state proofs.
#[derive(Clone, Default)]
struct Proven {
    world: World,
    sequence: u64,
}

const NOW: Time = Time::from_nanoseconds(1_700_000_000_000_000_000);

fn people(named: &[(&str, Option<u32>)]) -> NamedUsers {
    named.iter().map(|(name, user)| NamedUser { name: (*name).into(), user: *user }).collect()
}

impl Proven {
    fn give(
        &mut self,
        actor: &ActorId,
        proof: Proof,
        command: Command,
    ) -> Result<Vec<Event>, Refusal> {
        self.world.check_person(actor, Some(proof), &command)?;
        let events = decide(&self.world, &command, NOW)?;
        for event in events.clone() {
            let (actor, correlation) = (actor.clone(), "story".into());
            let (proof, causation, idempotency) = (Some(proof), None, None);
            let said =
                Envelope { clock: None, proof, actor, correlation, causation, idempotency, event };
            self.sequence += 1;
            assert_eq!(self.world.judge_and_evolve(self.sequence, NOW, &said), []);
        }
        assert_eq!(World::from_carried(&self.world.carry()).unwrap(), self.world);
        Ok(events)
    }

    /// User 1 asks; the id of the question.
    fn ask(&mut self, asked: CreateDecisionPoint, named: &[(&str, Option<u32>)]) -> String {
        self.try_ask(asked, named).unwrap()
    }

    fn try_ask(
        &mut self,
        asked: CreateDecisionPoint,
        named: &[(&str, Option<u32>)],
    ) -> Result<String, Refusal> {
        let mut asked = CreateDecisionPoint {
            entropy: Entropy::from_bytes((u128::from(self.sequence) + 1).to_be_bytes()),
            people: Some(people(named)),
            ..asked
        };
        asked.by.authenticated_by = Authentication::OsUser;
        let (id, actor) = (asked.decision_id(), asked.by.actor());
        let proof = Proof { user: 1, by: Authentication::OsUser };
        let command = DecisionPointCommand::CreateDecisionPoint(Box::new(asked));
        self.give(&actor, proof, Command::DecisionPoint(command)).map(|_| id)
    }

    fn answer(&mut self, id: &str, name: &str, user: u32) -> Result<Vec<Event>, Refusal> {
        let by = Principal {
            kind: Actor::Human,
            id: name.into(),
            authenticated_by: Authentication::Terminal,
            means: "terminal /dev/pts/1".into(),
        };
        let proof = Proof { user, by: Authentication::Terminal };
        let actor = by.actor();
        let command = DecisionPointCommand::RespondToDecisionPoint(RespondToDecisionPoint {
            decision_id: id.into(),
            entropy: Entropy::default(),
            by,
            response: choice("yes"),
            comment: None,
        });
        self.give(&actor, proof, Command::DecisionPoint(command))
    }
}

#[test]
fn an_approver_answers_with_the_number_that_is_on_record_and_a_name_without_one_is_a_claim() {
    let mut at = Proven::default();
    let id = at.ask(approval(&["ada", "bob", "ghost"], 1), &[("ada", Some(2)), ("ghost", None)]);
    assert_eq!(told(&at.answer(&id, "ada", 3)), Err("OTHER_USER"));
    assert_eq!(told(&at.answer(&id, "ghost", 3)), Err("CLAIM_NOT_TAKEN"));
    assert!(at.clone().answer(&id, "bob", 4).is_ok(), "nothing is on record for this name");
    assert!(at.answer(&id, "ada", 2).is_ok());
}

#[test]
fn two_names_of_one_number_are_one_vote() {
    let mut at = Proven::default();
    let id = at.ask(approval(&[], 2), &[]);
    assert_eq!(told(&at.answer(&id, "ada", 2)), Ok(vec!["vote"]));
    assert_eq!(told(&at.answer(&id, "ada.too", 2)), Err("SAME_PERSON"));
    assert_eq!(told(&at.answer(&id, "bob", 3)), Ok(vec!["vote", "resolved", "released"]));
}

#[test]
fn a_requester_under_another_name_approves_nothing_either() {
    let mut at = Proven::default();
    let id = at.ask(approval(&[], 1), &[]);
    assert_eq!(told(&at.answer(&id, "somebody", 1)), Err("SELF_APPROVAL"));
    let mut lets = policy(&[], 1);
    lets.allow_requester = true;
    let id = at.ask(CreateDecisionPoint { policy: Some(lets), ..question() }, &[]);
    assert!(at.answer(&id, "somebody", 1).is_ok());
}

#[test]
fn a_policy_or_a_question_that_names_one_user_twice_is_refused() {
    let mut at = Proven::default();
    let twice = [("ada", Some(2)), ("ada.too", Some(2))];
    let asked = at.try_ask(approval(&["ada", "ada.too"], 2), &twice);
    assert_eq!(asked.as_ref().unwrap_err().code(), "NAMED_TWICE");
    let said = asked.unwrap_err().to_string();
    assert!(said.contains("ada and ada.too are one user (2)"), "{said}");
    assert_eq!(at.set(&["ada", "ada.too"], &twice).unwrap_err().code(), "NAMED_TWICE");
}

#[test]
fn a_question_names_those_of_the_policy_by_the_numbers_that_they_had_in_it() {
    let mut at = Proven::default();
    at.set(&["ada"], &[("ada", Some(2))]).unwrap();
    for number in [Some(3), None] {
        let asked = at.try_ask(approval(&["ada"], 1), &[("ada", number)]);
        assert_eq!(asked.unwrap_err().code(), "POLICY_LOOSENED", "{number:?}");
    }
    at.ask(approval(&["ada"], 1), &[("ada", Some(2))]);
}

impl Proven {
    fn set(&mut self, names: &[&str], named: &[(&str, Option<u32>)]) -> Result<(), Refusal> {
        let policy = GatePolicy {
            approvers: names.iter().map(|name| (*name).into()).collect(),
            ..GatePolicy::default()
        };
        let proof = Proof { user: 1, by: Authentication::Terminal };
        let by = Principal {
            kind: Actor::Human,
            id: "root".into(),
            authenticated_by: Authentication::Terminal,
            means: "terminal /dev/pts/1".into(),
        };
        let (actor, people) = (by.actor(), Some(people(named)));
        let change = ChangePolicy { by, policy, approval: None, people };
        let command = Command::Log(LogCommand::SetPolicy(Box::new(change)));
        self.give(&actor, proof, command).map(drop)
    }
}
