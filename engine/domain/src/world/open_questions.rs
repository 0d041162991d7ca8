//! How many questions may be open at once. Whoever asks without an end buries what a person has to
//! see.
//!
//! The bounds are asked where a question is put, not of what is recorded: a log in which more are
//! open, since the bounds were others, is as good as any.

use serde::{Deserialize, Serialize};

use crate::core::actor::{Actor, Authentication, Principal, Proof};
use crate::core::time::Timestamp;
use crate::decision_point::command::{CreateDecisionPoint, DecisionPointCommand};
use crate::decision_point::refusal::DecisionPointRefusal;
use crate::decision_point::state::DecisionPoint;
use crate::human_decision::command::HumanDecisionCommand;
use crate::world::World;
use crate::world::command::Command;
use crate::world::refusal::Refusal;

/// The bounds on open questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenBounds {
    /// Of one session of an agent: of a hook's or MCP host.
    pub per_session: usize,
    /// Of the processes of one user.
    pub per_user: usize,
    /// Of a log.
    pub per_log: usize,
}

impl OpenBounds {
    /// The bounds where no file says otherwise.
    pub const DEFAULT: Self = Self { per_session: 20, per_user: 500, per_log: 1000 };

    /// The smaller one of each.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            per_session: self.per_session.min(other.per_session),
            per_user: self.per_user.min(other.per_user),
            per_log: self.per_log.min(other.per_log),
        }
    }

    /// Whether a command that puts a question keeps the bounds. `proof` is that of the process
    /// which gives it.
    ///
    /// # Errors
    /// [`DecisionPointRefusal::TooManyOpen`] names the bound that is reached.
    pub fn check(
        self,
        world: &World,
        command: &Command,
        proof: Option<Proof>,
        at: Timestamp,
    ) -> Result<(), Refusal> {
        match command {
            Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(command)) => {
                self.check_new(world, command, proof, at).map_err(Refusal::from)
            }
            Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(_)) => {
                let open = world.open_questions(at).count();
                self.check_log(world, open).map_err(Refusal::from)
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

    fn check_new(
        self,
        world: &World,
        command: &CreateDecisionPoint,
        proof: Option<Proof>,
        at: Timestamp,
    ) -> Result<(), DecisionPointRefusal> {
        // One question in the place of another adds none.
        let replaced = command.supersedes.as_deref();
        let open = || {
            world.open_questions(at).filter(|point| Some(point.decision_id.as_str()) != replaced)
        };
        self.check_log(world, open().count())?;
        if let Some(Proof { user, .. }) = proof {
            let is_of_user = |point: &&DecisionPoint| {
                let gate = world.hot.gates.points.get(point.decision_id.as_str());
                gate.is_some_and(|gate| gate.asked_by == user)
            };
            let found = open().filter(is_of_user).count();
            within("this user", self.per_user, found)?;
        }
        if is_session(&command.by) {
            let found = open().filter(|point| is_same(&point.requested_by, &command.by)).count();
            within("this session", self.per_session, found)?;
        }
        Ok(())
    }

    fn check_log(self, world: &World, points: usize) -> Result<(), DecisionPointRefusal> {
        let requests = world.open_requests().count();
        within("this log", self.per_log, points.saturating_add(requests))
    }
}

impl Default for OpenBounds {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl World {
    /// The decision points that take an answer now.
    fn open_questions(&self, at: Timestamp) -> impl Iterator<Item = &DecisionPoint> {
        self.hot.decision_points.open(at)
    }
}

/// With what the means of a session begin for which a hook asks.
pub const MEANS_OF_HOOK: &str = "hook run by uid ";
/// With what the means of a client begin that asks over the Model Context Protocol.
pub const MEANS_OF_MCP: &str = "mcp, uid ";

/// Whether an agent asks by way of its host: a session of a hook's, or a client.
fn is_session(by: &Principal) -> bool {
    let is_of_host = by.means.starts_with(MEANS_OF_HOOK) || by.means.starts_with(MEANS_OF_MCP);
    by.kind == Actor::Agent && by.authenticated_by == Authentication::None && is_of_host
}

fn is_same(one: &Principal, other: &Principal) -> bool {
    one.kind == other.kind && one.id == other.id
}

fn within(whose: &'static str, expected: usize, found: usize) -> Result<(), DecisionPointRefusal> {
    match found < expected {
        true => Ok(()),
        false => Err(DecisionPointRefusal::TooManyOpen { whose, expected, found }),
    }
}
