//! A command that waits in a run's own file until a writer takes it up.

use serde::{Deserialize, Serialize};

use crate::core::actor::{ActorId, Authentication};
use crate::world::command::Command;

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
