//! A command that waits in a run's own file until a writer takes it up.

use serde::{Deserialize, Serialize};

use crate::core::actor::{ActorId, Authentication};
use crate::decision_point::command::DecisionPointCommand;
use crate::world::command::Command;
use crate::world::open_questions::MEANS_OF_HOOK;

/// A command as it waits in the file of its run: by whom, and what proved it. No record yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingCommand {
    /// Who gives it.
    pub actor: ActorId,
    /// What proved that name; the user number is that of the record of the start.
    pub proven_by: Authentication,
    /// What it asks for.
    pub command: Command,
}

impl WaitingCommand {
    /// Whether a hook that this user ran claims the outcome of what this approval was spent for:
    /// the only thing that may wait without a signature.
    #[must_use]
    pub fn is_outcome_of(&self, decision_id: &str, user: u32) -> bool {
        let Command::DecisionPoint(DecisionPointCommand::ReportOutcome(report)) = &self.command
        else {
            return false;
        };
        let number = report.by.means.strip_prefix(MEANS_OF_HOOK);
        let number = number.and_then(|means| means.split_once(',')).map(|(number, _)| number);
        report.decision_id == decision_id
            && number.and_then(|number| number.parse().ok()) == Some(user)
            && self.actor == report.by.actor()
            && self.proven_by == Authentication::None
            && report.by.authenticated_by == Authentication::None
    }
}
