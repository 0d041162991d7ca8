//! Adoption: which logs answer for people here.
//!
//! A log that was brought from elsewhere holds approvals that nobody here gave. A log answers a
//! spender only where this user number has begun it on this machine, where its person adopted it at
//! a terminal, or where root names it in `/etc/holdpoint`. A copy is another log. One that a git
//! repository carries answers nobody. Reading asks for nothing of this.

mod entry;
mod fault;
mod git_index;
mod machine;
mod registry;

pub use entry::{Adoption, LogPlace};
pub use fault::{NotAdopted, RegistryError};
pub use registry::LogRegistry;

use crate::floors::Floors;
use entry::Entry;
use holdpoint_domain::log::PolicyRefusal;
use holdpoint_domain::{Command, Refusal};
use std::path::Path;

/// Ground on which a log answers a spender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ground {
    /// This user number began it here.
    Begun,
    /// A person adopted it at a terminal.
    Adopted,
    /// Root names it in the configuration of the machine.
    NamedByRoot,
    /// A test says so.
    Simulated,
}

/// Returns whether a command spends what a person said, or begins what only a person's answer will
/// end: an approval, by whichever command, and a run with a hold after its attempts.
pub(crate) fn spends(command: &Command) -> bool {
    use holdpoint_domain::decision_point::DecisionPointCommand;
    use holdpoint_domain::execution_loop::ExecutionLoopCommand;
    use holdpoint_domain::human_decision::HoldPolicy;
    use holdpoint_domain::log::LogCommand;
    match command {
        Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(_)) => true,
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(begun)) => {
            begun.approval.is_some() || begun.hold.policy != HoldPolicy::Never
        }
        Command::Log(LogCommand::RelaxPolicy(change)) => change.approval.is_some(),
        _ => false,
    }
}

impl LogRegistry {
    /// Returns what lets this log answer a spender.
    ///
    /// # Errors
    /// Nothing does.
    pub fn ground(&self, floors: &Floors, log: &LogPlace) -> Result<Ground, NotAdopted> {
        if self.is_simulated() {
            return Ok(Ground::Simulated);
        }
        if let Some(index) = git_index::standing_in(log.path())? {
            return Err(NotAdopted::InGitIndex { log: log.path().to_path_buf(), index });
        }
        if floors.trusted().iter().any(|named| is_at(named, log.path())) {
            return Ok(Ground::NamedByRoot);
        }
        let entries = self.read().map_err(|error| NotAdopted::Unknown {
            log: log.path().to_path_buf(),
            source: Box::new(error),
        })?;
        let entry = entries.iter().find(|entry| entry.path() == log.path());
        match entry.map(|entry| (entry.is_of(log), entry.adoption())) {
            Some((true, Adoption::Begun)) => Ok(Ground::Begun),
            Some((true, Adoption::Adopted)) => Ok(Ground::Adopted),
            Some((false, Adoption::Begun | Adoption::Adopted)) => {
                Err(NotAdopted::Another { log: log.path().to_path_buf() })
            }
            Some((_, Adoption::Declined)) => {
                Err(NotAdopted::Declined { log: log.path().to_path_buf() })
            }
            None => Err(match entries.iter().find(|entry| entry.id() == log.id()) {
                Some(known) => NotAdopted::KnownElsewhere {
                    log: log.path().to_path_buf(),
                    known: Entry::path(known).to_path_buf(),
                },
                None => NotAdopted::Stranger { log: log.path().to_path_buf() },
            }),
        }
    }
}

/// The same directory, by whatever name root gave it.
fn is_at(named: &Path, log: &Path) -> bool {
    named == log || named.canonicalize().is_ok_and(|named| named == log)
}

impl From<NotAdopted> for Refusal {
    fn from(fault: NotAdopted) -> Self {
        PolicyRefusal::NotAdopted { reason: fault.to_string() }.into()
    }
}
