//! What has left the state and was found again in the log, for the command in hand: whoever has
//! the log looks, and tells the rules. Nothing of it is part of the state.

use alloc::string::String;

use super::interruption_thread::{ClosedThread, MAX_CLOSED_THREADS};
use super::{DecisionPoint, Registry, World};
use crate::decision_point::MAX_CLOSED_DECISION_POINTS;
use crate::event::{Event, Text};
use crate::limits::MAX_CLOSED_REQUESTS;

/// What was found again. Each is what the log says: the rules believe it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recalled {
    /// A thread that was closed, and with which record.
    pub(super) closed_thread: Option<ClosedThread>,
    /// The id of a loop, request or decision point that the command would begin, and that one had
    /// before.
    used_id: Option<String>,
    /// The session and the work order that the command names, as they were registered last.
    registrations: Registry,
    /// The decision point that the command is about: it ended.
    pub(super) decision_point: Option<DecisionPoint>,
}

impl Recalled {
    /// A thread was closed with this record.
    pub fn thread_was_closed(&mut self, tenant_id: &str, correlation_id: &str, sequence: u64) {
        let key = (Text::from(tenant_id), Text::from(correlation_id));
        self.closed_thread = Some((key, sequence));
    }

    /// A session or a work order was registered like this, last.
    pub fn was_registered(&mut self, event: &Event) {
        self.registrations.apply(event, 0);
    }

    pub(super) const fn registrations(&self) -> &Registry {
        &self.registrations
    }

    /// A decision point went like this. One that is not over is in the state, and not taken.
    pub fn decision_point_ended(&mut self, point: DecisionPoint) {
        self.decision_point = Some(point).filter(|point| !point.is_live());
    }
}

impl World {
    /// Tells the rules what the log says of what the state has forgotten: until the next time that
    /// this is called.
    pub fn recall(&mut self, recalled: Recalled) {
        self.recalled = recalled;
    }

    /// Adds to what was recalled for the command in hand that a loop, request or decision point
    /// had this id.
    pub fn recall_used_id(&mut self, id: String) {
        self.recalled.used_id = Some(id);
    }

    /// Whether loops have left the state.
    #[must_use]
    pub fn forgets_loops(&self) -> bool {
        !self.hot.totals.loops_settled.is_empty()
    }

    /// Whether requests of loops that settled may have left the state.
    #[must_use]
    pub fn forgets_requests(&self) -> bool {
        self.hot.requests.closed_count() >= MAX_CLOSED_REQUESTS
    }

    /// Whether decision points that ended may have left the state.
    #[must_use]
    pub fn forgets_decision_points(&self) -> bool {
        self.hot.decision_points.closed_count() >= MAX_CLOSED_DECISION_POINTS
    }

    /// Whether threads that ended may have left the state.
    #[must_use]
    pub fn forgets_threads(&self) -> bool {
        self.hot.threads.closed_count() >= MAX_CLOSED_THREADS
    }

    /// Whether something that is not in the state any more had this id, as far as was looked.
    pub(crate) fn was_used(&self, id: &str) -> bool {
        self.recalled.used_id.as_deref() == Some(id)
    }

    /// Whether a decision point is in the state, and was not only found again.
    pub(crate) fn remembers(&self, point: &DecisionPoint) -> bool {
        self.hot.decision_points.find(&point.decision_id).is_some()
    }

    /// The decision point with this id: in the state, or found again for the command in hand.
    pub(crate) fn known_point(&self, decision_id: &str) -> Option<&DecisionPoint> {
        let recalled = self.recalled.decision_point.as_ref();
        let recalled = recalled.filter(|point| *point.decision_id == *decision_id);
        self.hot.decision_points.find(decision_id).or(recalled)
    }
}
