//! When questions end, by the log's time and by a clock.

use holdpoint_domain::core::clocks::Moment;
use holdpoint_domain::decision_point::{AtDeadline, DecisionPoint};
use holdpoint_domain::{Time, World};

/// The time by which a question, or the approval that it became, is over or not: the latest that
/// the log's time and this clock give.
pub fn time_of(world: &World, id: &str, now: Time) -> Time {
    world.times_of(id, Moment::seen(world.totals().last_at, now)).latest()
}

/// Predicts what becomes of a decision at its deadline, as seen at a time by this clock.
pub fn at_deadline<'p>(world: &World, point: &'p DecisionPoint, now: Time) -> AtDeadline<'p> {
    world.at_deadline(point, Moment::seen(world.totals().last_at, now))
}

/// Returns the time when a question ends by this clock; at once, where the log's time says that it is over.
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
