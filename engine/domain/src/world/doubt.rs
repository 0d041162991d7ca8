//! Records that permit nothing after a salvage: they may rest on records that nothing proves, or
//! may have ended in records that are lost.
//!
//! What is recorded already is judged without it: only what is to follow is refused.

use crate::core::doubt::{Doubt, Doubts};
use crate::decision_point::rules::PointsView;
use crate::decision_point::state::DecisionPoint;
use crate::governed::aggregate::{ExecutionLoop, RequestPlace};
use crate::interruption_thread::state::Thread;
use crate::registration::state::RegistrationView;
use crate::world::{LiveState, World};

impl LiveState {
    /// Why something is in doubt that began with this record and that another one changed last;
    /// `ended` is the record that ended it, where it lives no more. What ended before records were
    /// lost is as it was.
    pub(crate) fn doubt(&self, began: u64, newest: u64, ended: Option<u64>) -> Option<Doubt> {
        if let Some((first, last)) = self.unproven.among(began, newest) {
            return Some(Doubt::Unproven { first, last });
        }
        let may_have_ended =
            began < self.lost_before && ended.is_none_or(|it| it > self.lost_before);
        may_have_ended.then_some(Doubt::LostBefore(self.lost_before))
    }
}

impl Doubts for LiveState {
    fn of_made(&self, by: u64) -> Option<Doubt> {
        self.doubt(by, if by == 0 { u64::MAX } else { by }, None)
    }
}

impl World {
    /// The newest record that says that records before it are lost, or may be; `None`: none does.
    #[must_use]
    pub fn lost_before(&self) -> Option<u64> {
        (self.hot.lost_before > 0).then_some(self.hot.lost_before)
    }

    /// Why nothing is permitted by what was decided, where it is not: of all that was recorded from
    /// the question on, in its first round, to the newest that is about this one.
    #[must_use]
    pub fn doubt_of_point(&self, point: &DecisionPoint) -> Option<Doubt> {
        if self.hot.lost_before == 0 && self.hot.unproven.is_empty() {
            return None;
        }
        let ended = point.ending.as_ref().filter(|_| !point.is_live());
        let ended = ended.map(|ending| ending.sequence);
        self.hot.doubt(self.asked_from(point), point.version, ended)
    }

    /// Why nothing is permitted by a loop that lives: of all that was recorded from its beginning
    /// on to the newest that is about it.
    #[must_use]
    pub fn doubt_of_loop(&self, entity: &ExecutionLoop) -> Option<Doubt> {
        self.hot.doubt(entity.started_sequence, entity.version, None)
    }

    /// The same of a thread that lives. One that was closed permits nothing anyway.
    #[must_use]
    pub fn doubt_of_thread(&self, thread: &Thread) -> Option<Doubt> {
        let doubt = self.hot.doubt(thread.started_sequence, thread.version, None);
        doubt.filter(|_| !thread.is_closed)
    }

    /// The same of a question and its answer: while its loop lives, of all that is about the loop,
    /// else from the question on to its end.
    #[must_use]
    pub fn doubt_of_request(&self, place: RequestPlace<'_>) -> Option<Doubt> {
        let held = match place {
            RequestPlace::Live(entity, _) => return self.doubt_of_loop(entity),
            RequestPlace::Closed(held) => held,
        };
        let ended = held.ended_sequence();
        let newest = ended.unwrap_or(self.hot.totals.last_sequence);
        self.hot.doubt(held.requested_sequence, newest, ended)
    }

    /// The record that asked the question in its first round. Where that is not known any more, 0:
    /// any may have.
    #[must_use]
    pub fn asked_from(&self, point: &DecisionPoint) -> u64 {
        let mut round = point;
        while let Some(prior_id) = &round.prior_id {
            match self.decision_point(prior_id) {
                Some(prior) if prior.created_sequence < round.created_sequence => round = prior,
                _ => return 0,
            }
        }
        round.created_sequence
    }
}

impl World {
    /// Everything that is registered, by kind and name. Of the sessions and work orders that ended
    /// the newest are among it.
    pub fn registrations(&self) -> impl Iterator<Item = RegistrationView<'_>> {
        let registry = &self.hot.registry;
        registry
            .plain(&self.hot)
            .chain(registry.sessions(&self.hot))
            .chain(registry.work(&self.hot))
    }
}

impl World {
    /// The decision point with this id: in the state, or found again for the command in hand.
    pub(crate) fn known_point(&self, decision_id: &str) -> Option<&DecisionPoint> {
        self.points_view(None).known(decision_id)
    }

    /// Returns what the rules of decision points know, for a command on this one.
    pub(crate) fn points_view(&self, about: Option<&str>) -> PointsView<'_> {
        let LiveState { decision_points, gates, clocks, .. } = &self.hot;
        let mut view = PointsView {
            points: decision_points,
            recalled: self.recalled.decision_point(),
            used_id: self.recalled.used_id(),
            gates: &gates.points,
            people: &gates.people,
            policy: gates.policy.as_ref(),
            is_policy_lost: gates.is_policy_lost,
            doubt: None,
            clocks,
        };
        view.doubt = about.and_then(|id| self.doubt_of_point(view.known(id)?));
        view
    }
}
