//! Interruption threads that a record is about.

use crate::read::Committed;
use holdpoint_domain::Event;

/// Tenant and correlation of the thread that an event is about; `None` for events of other
/// systems, and for registrations, which are about a tenant.
#[must_use]
pub fn thread_of(event: &Event) -> Option<(&str, &str)> {
    event.thread()
}

impl Committed {
    /// [`thread_of`] the record's event, where it can be read.
    #[must_use]
    pub fn thread(&self) -> Option<(&str, &str)> {
        self.envelope().and_then(|envelope| thread_of(&envelope.event))
    }
}
