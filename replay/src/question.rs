//! A question that waits for a person: a request of a hold, or a round of a decision point.

use holdpoint_domain::core::clocks::Moment;
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::decision_point::{
    AtDeadline, DecisionPoint, DecisionPointState, DecisionPointView, Urgency,
};
use holdpoint_domain::governed::{ExecutionLoop, RequestPlace};
use holdpoint_domain::human_decision::HeldRequest;
use holdpoint_domain::{Time, World};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The rules that a question follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A request about an attempt of a run.
    Hold,
    /// A decision point.
    Decision,
}

/// A question of a state.
#[derive(Clone, Copy, Debug)]
pub enum Question<'w> {
    /// A request, with its run where that is in the state.
    Hold(Option<&'w ExecutionLoop>, &'w HeldRequest),
    /// A round of a decision point.
    Decision(&'w DecisionPoint),
}

impl<'w> Question<'w> {
    /// Every question of a state, in no order, each once.
    pub fn all(world: &'w World) -> impl Iterator<Item = Self> {
        Self::holds(world).chain(known_decisions(world).map(Self::Decision))
    }

    /// Every request of a state, each once.
    pub fn holds(world: &'w World) -> impl Iterator<Item = Self> {
        let loops = world.live_loops().chain(world.settled_loops());
        let requests = loops.flat_map(move |entity| {
            let requests = entity.decisions.requests.iter();
            requests.map(move |held| (Some(entity), newest(world, held)))
        });
        let known: BTreeSet<&str> = world.settled_loops().flat_map(requests_of).collect();
        let closed = world.closed_requests().filter(move |it| !known.contains(it.request_id()));
        let all = requests.chain(closed.map(|held| (None, held)));
        all.map(|(entity, held)| Self::Hold(entity, held))
    }

    /// The question with this id.
    pub fn find(world: &'w World, id: &str) -> Option<Self> {
        if let Some(RequestPlace::Live(entity, held)) = world.find_request(id) {
            return Some(Self::Hold(Some(entity), held));
        }
        let decision = world.decision_point(id).map(Self::Decision);
        decision.or_else(|| Self::holds(world).find(|question| question.id() == id))
    }

    /// Its rules.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Hold(..) => Kind::Hold,
            Self::Decision(_) => Kind::Decision,
        }
    }

    /// Its id.
    pub fn id(self) -> &'w str {
        match self {
            Self::Hold(_, held) => held.request_id(),
            Self::Decision(point) => &point.decision_id,
        }
    }

    /// Its state.
    pub fn state(self) -> DecisionPointState {
        match self {
            Self::Hold(_, held) => held.decision_state(),
            Self::Decision(point) => point.state,
        }
    }

    /// True if it can still end.
    pub fn is_open(self) -> bool {
        self.state().is_open()
    }

    /// Its work item.
    pub fn issue(self) -> Option<&'w str> {
        match self {
            Self::Hold(..) => None,
            Self::Decision(point) => point.terms.issue_id.as_deref(),
        }
    }

    /// Its urgency.
    pub const fn urgency(self) -> Urgency {
        match self {
            Self::Hold(..) => HeldRequest::URGENCY,
            Self::Decision(point) => point.terms.urgency,
        }
    }

    /// The name of its requester.
    pub fn requested_by(self) -> &'w str {
        match self {
            Self::Hold(..) => HeldRequest::REQUESTED_BY,
            Self::Decision(point) => &point.requested_by.id,
        }
    }

    /// Time when it was asked.
    pub fn created_at(self) -> Time {
        match self {
            Self::Hold(_, held) => held.request.created_at,
            Self::Decision(point) => point.created_at,
        }
    }

    /// Time when it ends by itself; `None` where it does not, or has ended.
    pub fn deadline(self) -> Option<Time> {
        match self {
            Self::Hold(_, held) => held.is_open().then_some(held.request.timeout_at),
            Self::Decision(point) => point.deadline(),
        }
    }

    /// Time when the warning is due that 80 % of its time are over; `None` where none is.
    pub fn warning_at(self) -> Option<Time> {
        match self {
            Self::Hold(_, held) => held.is_open().then(|| held.warning_at()),
            Self::Decision(point) => point.warning_at(),
        }
    }

    /// True if it is open although its time is over.
    pub fn is_overdue(self, now: Time) -> bool {
        match self {
            Self::Hold(_, held) => held.is_open() && held.request.is_expired(now),
            Self::Decision(point) => point.is_overdue(now),
        }
    }

    /// The sequence of the record that ended it; `None` while it is open.
    pub fn ended_sequence(self) -> Option<u64> {
        match self {
            Self::Hold(_, held) => held.ended_sequence(),
            Self::Decision(point) => {
                point.ending.as_ref().filter(|_| !point.is_open()).map(|ending| ending.sequence)
            }
        }
    }

    /// The sequence of the newest record that changed it.
    pub fn version(self) -> u64 {
        match self {
            Self::Hold(_, held) => held.version(),
            Self::Decision(point) => point.version,
        }
    }

    /// The first and the newest record that it rests on.
    pub fn records(self, world: &World) -> (u64, u64) {
        match self {
            Self::Hold(Some(entity), _) => (entity.started_sequence, entity.version),
            Self::Hold(None, held) => (held.requested_sequence, held.requested_sequence),
            Self::Decision(point) => (world.asked_from(point), point.version),
        }
    }

    /// Why an answer to it permits nothing.
    pub fn doubt(self, world: &World) -> Option<Doubt> {
        match self {
            Self::Hold(_, held) => world.doubt_of_request(world.find_request(held.request_id())?),
            Self::Decision(point) => world.doubt_of_point(point),
        }
    }

    /// The question that took its place because somebody passed it on.
    pub fn passed_on(self, world: &'w World) -> Option<Self> {
        let Self::Hold(entity, held) = self else { return None };
        if self.state() != DecisionPointState::Superseded {
            return None;
        }
        let is_next =
            |next: &&HeldRequest| next.context.escalated_from.as_deref() == Some(held.request_id());
        // Whoever is asked instead is asked about the same run.
        let of_run = entity.and_then(|entity| entity.decisions.requests.iter().find(is_next));
        let next = of_run.or_else(|| world.closed_requests().find(is_next))?;
        Some(Self::Hold(entity, newest(world, next)))
    }

    /// Its place in the order of a list: the most urgent first, then the oldest. Two questions
    /// never have the same place, and neither moves while others come and go.
    pub fn place(self) -> (Reverse<Urgency>, Time, u64) {
        let asked = match self {
            Self::Hold(_, held) => held.requested_sequence,
            Self::Decision(point) => point.created_sequence,
        };
        (Reverse(self.urgency()), self.created_at(), asked)
    }

    /// Its readable form as a decision, at a time on the scale of its own times. `link` is that of
    /// its newest record.
    pub fn decision_view(
        self,
        world: &'w World,
        now: Time,
        link: Option<&'w str>,
    ) -> DecisionPointView<'w> {
        match self {
            Self::Hold(_, held) => {
                held.as_decision(now, link, self.passed_on(world).map(Question::id))
            }
            Self::Decision(point) => point.view(now, link),
        }
    }
}

/// The request as it is now: answers that come after the loop settled are counted where requests
/// are remembered.
fn newest<'w>(world: &'w World, held: &'w HeldRequest) -> &'w HeldRequest {
    world.find_request(held.request_id()).map_or(held, RequestPlace::held)
}

fn requests_of(entity: &ExecutionLoop) -> impl Iterator<Item = &str> {
    entity.decisions.requests.iter().map(HeldRequest::request_id)
}

/// Every decision point that is known, in no order.
pub fn known_decisions(world: &World) -> impl Iterator<Item = &DecisionPoint> {
    world.live_decision_points().chain(world.closed_decision_points())
}

/// The time by which a question, or the approval that it became, is over or not: the latest that
/// the log's time and this clock give.
pub fn time_of(world: &World, id: &str, now: Time) -> Time {
    world.times_of(id, Moment::seen(world.totals().last_at, now)).latest()
}

/// Predicts what becomes of a decision at its deadline, as seen at a time by this clock.
pub fn at_deadline<'p>(world: &World, point: &'p DecisionPoint, now: Time) -> AtDeadline<'p> {
    world.at_deadline(point, Moment::seen(world.totals().last_at, now))
}

/// Returns the time when a question ends by this clock; at once, where the log's time says that it
/// is over.
pub fn end_of(world: &World, id: &str, end: Time, now: Time) -> Time {
    let seen = Moment::seen(world.totals().last_at, now);
    let times = world.times_of(id, seen);
    let left_ns = times.left_ns(end);
    let by_this_clock = now.nanoseconds().saturating_add(left_ns);
    match times.over(end) {
        None => Time::from_nanoseconds(by_this_clock),
        Some(_) => end.min(now),
    }
}
