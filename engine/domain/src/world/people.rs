//! Whom commands name, and whether they may name them so.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use crate::core::actor::{NamedUsers, RecordedNumber};
use crate::core::payload::Text;
use crate::core::people::check_each_once;
use crate::core::text::visible;
use crate::decision_point::command::DecisionPointCommand;
use crate::execution_loop::command::ExecutionLoopCommand;
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
            _ => {}
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
            _ => return None,
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

impl World {
    /// Whether a command names each user once, and those whom the policy of the log names by the
    /// numbers that the policy was recorded with.
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
                _ => Some((name, expected, "no user".to_string())),
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
