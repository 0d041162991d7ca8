//! Optimistic concurrency: a command may carry the version that it was made for (property E6).

use alloc::string::String;

use super::{RequestPlace, World};
use crate::command::Command;
use crate::refusal::Refusal;

impl World {
    /// The version of what a command is about: the sequence of the last record that changed its
    /// loop, its thread or its decision point. `None` where the command is about nothing that
    /// lives; a thread or a decision point is known for a while after it ended.
    #[must_use]
    pub fn version_of(&self, command: &Command) -> Option<u64> {
        self.subject_of(command).map(|(_, version)| version)
    }

    /// Whether what a command is about is still as the caller saw it. What no longer lives is
    /// left to `decide`, which knows more to say about it.
    ///
    /// # Errors
    /// [`Refusal::StaleVersion`] with both versions.
    pub fn check_version(&self, command: &Command, expected: u64) -> Result<(), Refusal> {
        match self.subject_of(command) {
            Some((entity, found)) if found != expected => {
                Err(Refusal::StaleVersion { entity: String::from(entity), expected, found })
            }
            _ => Ok(()),
        }
    }

    /// The record of what a command asks for, where exactly this was answered before: whoever asks
    /// again is told so, whatever changed since.
    #[must_use]
    pub fn given_before(&self, command: &Command) -> Option<u64> {
        let Command::RespondToDecisionPoint(c) = command else { return None };
        let point = self.known_point(&c.decision_id)?;
        point.given_before(&c.by, &c.response, c.comment.as_deref())
    }

    /// The sequence of the last record that changed a thread, also where only the log knows that it
    /// was closed, and that was looked for.
    #[must_use]
    pub fn thread_version(&self, tenant_id: &str, correlation_id: &str) -> Option<u64> {
        let known = self.thread(tenant_id, correlation_id).map(|thread| thread.version);
        known.or_else(|| self.closed_with(tenant_id, correlation_id))
    }

    /// The name and the version of the loop or thread.
    fn subject_of<'a>(&'a self, command: &'a Command) -> Option<(&'a str, u64)> {
        if let Some((tenant_id, correlation_id)) = command.thread() {
            return Some((correlation_id, self.thread_version(tenant_id, correlation_id)?));
        }
        if let Some(decision_id) = command.decision_point() {
            let point = self.known_point(decision_id)?;
            return Some((&point.decision_id, point.version));
        }
        let subject = command.subject().filter(|_| !command.is_registration())?;
        let entity = self.live_loop(subject).or_else(|| match self.find_request(subject)? {
            RequestPlace::Live(entity, _) => Some(entity),
            RequestPlace::Closed(_) => None,
        });
        entity.map(|entity| (entity.loop_id(), entity.version))
    }
}
