//! Optimistic concurrency: a command may carry the version that it was made for (property E6).

use alloc::string::String;

use super::{ExecutionLoop, World};
use crate::command::Command;
use crate::refusal::Refusal;

impl World {
    /// The version of what a command is about: the sequence of the last record that changed its
    /// loop. `None` where the command is about nothing that lives.
    #[must_use]
    pub fn version_of(&self, command: &Command) -> Option<u64> {
        self.subject_of(command).map(|entity| entity.version)
    }

    /// Whether what a command is about is still as the caller saw it. What no longer lives is
    /// left to `decide`, which knows more to say about it.
    ///
    /// # Errors
    /// [`Refusal::StaleVersion`] with both versions.
    pub fn check_version(&self, command: &Command, expected: u64) -> Result<(), Refusal> {
        match self.subject_of(command) {
            Some(entity) if entity.version != expected => {
                let (entity, found) = (String::from(entity.loop_id()), entity.version);
                Err(Refusal::StaleVersion { entity, expected, found })
            }
            _ => Ok(()),
        }
    }

    fn subject_of(&self, command: &Command) -> Option<&ExecutionLoop> {
        let subject = command.subject()?;
        self.live_loop(subject).or_else(|| match self.find_request(subject)? {
            super::RequestPlace::Live(entity, _) => Some(entity),
            super::RequestPlace::Closed(_) => None,
        })
    }
}
