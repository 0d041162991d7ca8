//! What the log says of what the state has forgotten, for the command in hand.

use alloc::string::String;

use crate::core::payload::Text;
use crate::decision_point::state::DecisionPoint;
use crate::interruption_thread::state::ClosedThread;
use crate::registration::event::RegistrationEvent;
use crate::registration::state::Registry;

/// What was found again. Each is what the log says: the rules believe it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recalled {
    /// A thread that was closed, and with which record.
    pub(crate) closed_thread: Option<ClosedThread>,
    /// The id of a loop, request or decision point that the command would begin, and that one had
    /// before.
    used_id: Option<String>,
    /// The session and the work order that the command names, as they were registered last.
    registrations: Registry,
    /// The stream that the command is about, and its last event.
    stream: Option<(String, u64)>,
    /// The decision point that the command is about: it ended.
    pub(crate) decision_point: Option<DecisionPoint>,
}

impl Recalled {
    pub(crate) fn take_used_id(&mut self, id: String) {
        self.used_id = Some(id);
    }

    pub(crate) fn used_id(&self) -> Option<&str> {
        self.used_id.as_deref()
    }

    /// A thread was closed with this record.
    pub fn thread_was_closed(&mut self, tenant_id: &str, correlation_id: &str, sequence: u64) {
        let key = (Text::from(tenant_id), Text::from(correlation_id));
        self.closed_thread = Some((key, sequence));
    }

    /// A session or a work order was registered like this, last.
    pub fn was_registered(&mut self, event: &RegistrationEvent) {
        self.registrations.apply(event, 0);
    }

    /// A stream's last event is this record.
    pub fn stream_came_to(&mut self, stream: &str, sequence: u64) {
        self.stream = Some((String::from(stream), sequence));
    }

    pub(crate) fn stream(&self, stream: &str) -> Option<u64> {
        self.stream.as_ref().filter(|(name, _)| name == stream).map(|(_, version)| *version)
    }

    pub(crate) const fn registrations(&self) -> &Registry {
        &self.registrations
    }

    /// A decision point went like this. One that is not over is in the state, and not taken.
    pub fn decision_point_ended(&mut self, point: DecisionPoint) {
        self.decision_point = Some(point).filter(|point| !point.is_live());
    }
}
