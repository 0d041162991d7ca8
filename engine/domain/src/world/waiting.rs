//! A command that waits in a run's own file until a writer takes it up.

use alloc::format;
use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::core::actor::{ActorId, Authentication};
use crate::core::ids::Idempotency;
use crate::decision_point::command::DecisionPointCommand;
use crate::world::command::Command;
use crate::world::questions::MEANS_OF_HOOK;

/// Tenant of the keys of entries.
pub const KEY_TENANT: &str = "holdpoint";

/// The engine in the keys of entries.
pub const KEY_ENGINE: &str = "holdpoint.run-file";

/// The key under which an entry of a run's file is recorded.
#[must_use]
pub fn key_of_entry(loop_id: &str, attempt: u8, number: u64) -> String {
    format!("{loop_id} {attempt} {number}")
}

/// The attempt and the number of the entry of a run's file that was recorded under a key; `None`
/// where it is no such key.
#[must_use]
pub fn entry_of_key(idempotency: &Idempotency) -> Option<(u8, u64)> {
    let is_of_entry = idempotency.tenant == KEY_TENANT && idempotency.engine == KEY_ENGINE;
    let mut words = idempotency.key.rsplit(' ').filter(|_| is_of_entry);
    let (number, attempt) = (words.next()?, words.next()?);
    words.next()?;
    Some((attempt.parse().ok()?, number.parse().ok()?))
}

/// A command as it waits in the file of its run: by whom, and what proved it. No record yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitingCommand {
    /// Actor who gives it.
    pub actor: ActorId,
    /// Proof of that name; the user number is that of the record of the start.
    pub proven_by: Authentication,
    /// Command that it asks for.
    pub command: Command,
}

impl WaitingCommand {
    /// Returns whether a hook that this user ran claims the outcome of what this approval was spent
    /// for: the only thing that may wait without a signature.
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
