//! Whom commands name, and whether they may name them so.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use crate::core::actor::{Authentication, NamedUsers, NotAPerson, ProcessDoubt, RecordedNumber};
use crate::core::payload::Text;
use crate::core::people::check_each_once;
use crate::core::refusal::CommonRefusal;
use crate::core::text::visible;
use crate::decision_point::command::DecisionPointCommand;
use crate::decision_point::refusal::DecisionPointRefusal;
use crate::execution_loop::command::ExecutionLoopCommand;
use crate::governed::aggregate::RequestPlace;
use crate::human_decision::command::{
    AnswerHumanDecision, HumanDecisionCommand, OverrideVisibility,
};
use crate::human_decision::terms::HoldTerms;
use crate::log::command::LogCommand;
use crate::log::policy::{GatePolicy, Loosened, PolicyRefusal};
use crate::world::World;
use crate::world::command::Command;
use crate::world::refusal::Refusal;

/// The lists of people in a command, and their numbers.
struct Lists<'c> {
    people: Option<&'c NamedUsers>,
    approvers: &'c [Text],
    others: Vec<&'c [Text]>,
}

impl Command {
    /// Everybody whom a command names as somebody who may answer, each once; `None`: the command
    /// is no question, no run and no policy.
    #[must_use]
    pub fn people_named(&self) -> Option<Vec<&Text>> {
        let lists = Lists::of(self)?;
        let mut names: Vec<&Text> = Vec::new();
        let all = lists.approvers.iter().chain(lists.others.into_iter().flatten());
        all.for_each(|name| {
            if !names.contains(&name) {
                names.push(name);
            }
        });
        Some(names)
    }

    /// Puts numbers beside the names.
    pub fn state_people(&mut self, people: NamedUsers) {
        match self {
            Self::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(c)) => {
                c.people = Some(people);
            }
            Self::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(c)) => c.people = Some(people),
            Self::Log(LogCommand::SetPolicy(c) | LogCommand::RelaxPolicy(c)) => {
                c.people = Some(people);
            }
            Self::DecisionPoint(_)
            | Self::ExecutionLoop(_)
            | Self::Log(_)
            | Self::EvidenceCapture(_)
            | Self::SandboxFault(_)
            | Self::HumanDecision(_)
            | Self::Registration(_)
            | Self::InterruptionThread(_)
            | Self::Application(_) => {}
        }
    }
}

impl<'c> Lists<'c> {
    fn of(command: &'c Command) -> Option<Self> {
        Some(match command {
            Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(c)) => {
                let approvers = c.policy.as_ref().map_or(&[][..], |policy| &policy.approvers);
                Self { people: c.people.as_ref(), approvers, others: Vec::new() }
            }
            Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(c)) => {
                Self { people: c.people.as_ref(), ..Self::of_hold(&c.hold) }
            }
            Command::Log(LogCommand::SetPolicy(c) | LogCommand::RelaxPolicy(c)) => {
                Self { people: c.people.as_ref(), ..Self::of_policy(&c.policy) }
            }
            Command::DecisionPoint(_)
            | Command::ExecutionLoop(_)
            | Command::Log(_)
            | Command::EvidenceCapture(_)
            | Command::SandboxFault(_)
            | Command::HumanDecision(_)
            | Command::Registration(_)
            | Command::InterruptionThread(_)
            | Command::Application(_) => return None,
        })
    }

    fn of_hold(hold: &'c HoldTerms) -> Self {
        let mut others: Vec<&[Text]> = Vec::from([&*hold.override_approvers]);
        others.extend(hold.escalation_targets.iter().map(
            |entry| match entry.approvers.is_empty() {
                true => core::slice::from_ref(&entry.target),
                false => &*entry.approvers,
            },
        ));
        Self { people: None, approvers: &hold.approvers, others }
    }

    fn of_policy(policy: &'c GatePolicy) -> Self {
        let others = [policy.escalation_approvers.as_deref(), policy.override_approvers.as_deref()];
        let others = others.into_iter().flatten().collect();
        Self { people: None, approvers: &policy.approvers, others }
    }
}

impl Refusal {
    /// The same with the reason why nothing is proven of the process that was refused.
    #[must_use]
    pub fn with_doubt(mut self, doubt: ProcessDoubt) -> Self {
        if let Self::Common(CommonRefusal::PersonNeeded { reason, .. })
        | Self::DecisionPoint(DecisionPointRefusal::Common(CommonRefusal::PersonNeeded {
            reason,
            ..
        })) = &mut self
            && *reason == NotAPerson::Claimed
        {
            *reason = NotAPerson::Doubted(doubt);
        }
        self
    }
}

/// A question that somebody answers: who asked it, and whom its terms name.
#[derive(Debug, Clone)]
pub struct AskedPerson<'w> {
    /// The number of the user whose process asked.
    pub asked_by: u32,
    /// True if names count that nothing proves.
    pub takes_claims: bool,
    names: Vec<&'w Text>,
}

impl AskedPerson<'_> {
    /// Returns whether the terms name this name.
    #[must_use]
    pub fn names(&self, name: &str) -> bool {
        self.names.iter().any(|listed| ***listed == *name)
    }
}

impl World {
    /// The number that a name had when the policy of the log was recorded.
    #[must_use]
    pub fn number_in_policy(&self, name: &str) -> RecordedNumber {
        let policy = self.hot.gates.people.of_policy();
        policy.map_or(RecordedNumber::Unstated, |people| people.number_of(name))
    }

    /// The question that a command of a person answers, where only a person may; `None`: it answers
    /// none, or one of before there were proofs.
    #[must_use]
    pub fn asked_person(&self, command: &Command) -> Option<AskedPerson<'_>> {
        let (terms, names) = match command {
            Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(c)) => {
                let point =
                    self.known_point(&c.decision_id).filter(|point| point.needs_person())?;
                let policy = point.terms.policy.as_ref();
                let names = policy.map_or(&[][..], |policy| &policy.approvers).iter().collect();
                (self.person_for_point(&point.decision_id)?, names)
            }
            Command::HumanDecision(
                HumanDecisionCommand::AnswerHumanDecision(AnswerHumanDecision {
                    request_id, ..
                })
                | HumanDecisionCommand::OverrideVisibility(OverrideVisibility { request_id, .. }),
            ) => {
                let Some(RequestPlace::Live(entity, _)) = self.find_request(request_id) else {
                    return None;
                };
                let Lists { approvers, others, .. } = Lists::of_hold(&entity.hold);
                let names = approvers.iter().chain(others.into_iter().flatten()).collect();
                (self.person_for_loop(entity.loop_id())?, names)
            }
            Command::DecisionPoint(_)
            | Command::ExecutionLoop(_)
            | Command::Log(_)
            | Command::EvidenceCapture(_)
            | Command::SandboxFault(_)
            | Command::HumanDecision(_)
            | Command::Registration(_)
            | Command::InterruptionThread(_)
            | Command::Application(_) => return None,
        };
        let takes_claims = terms.authentication == Authentication::None;
        Some(AskedPerson { asked_by: terms.asked_by?, takes_claims, names })
    }

    /// Checks whether a command names each user once, and those whom the policy of the log names by
    /// the numbers that the policy was recorded with.
    pub(crate) fn check_people(&self, command: &Command) -> Result<(), Refusal> {
        let Some(Lists { people: Some(people), approvers, others }) = Lists::of(command) else {
            return Ok(());
        };
        check_each_once(approvers, people)?;
        others.iter().try_for_each(|list| check_each_once(list, people))?;
        if matches!(command, Command::Log(_)) {
            return Ok(());
        }
        let Some(policy) = self.hot.gates.people.of_policy() else { return Ok(()) };
        let changed = approvers.iter().find_map(|name| {
            let RecordedNumber::User(expected) = policy.number_of(name) else { return None };
            match people.number_of(name) {
                RecordedNumber::User(found) if found == expected => None,
                RecordedNumber::User(found) => {
                    Some((name, expected, alloc::format!("user {found}")))
                }
                RecordedNumber::Missing | RecordedNumber::Unstated => {
                    Some((name, expected, "no user".to_string()))
                }
            }
        });
        let Some((name, expected, found)) = changed else { return Ok(()) };
        let name = visible(name).to_string();
        let loosened = Loosened {
            field: "approvers",
            expected: alloc::format!("{name} as user {expected}"),
            found: alloc::format!("{name} as {found}"),
        };
        Err(PolicyRefusal::from(loosened).into())
    }
}
