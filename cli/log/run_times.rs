//! How long runs took, and how long they waited for people.

use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::human_decision::{HeldRequest, RequestOutcome};
use holdpoint_replay::{Run, RunOutcome};

/// How long it took from its beginning to its end, without the time in which it waited for a
/// person. `None` where it has not ended, or where nobody saw its end.
pub(crate) fn lasted(run: &Run) -> Option<u64> {
    run.entity.halt.as_ref()?;
    if RunOutcome::of(&run.entity) != RunOutcome::Lost {
        return Some(ran(run, ended_at(run)?));
    }
    // What its guards saw, where they did.
    let seen = run.entity.attempts.iter().map(|attempt| {
        attempt.response.as_ref().and(attempt.resources.as_ref()).map(|usage| usage.wall_ns)
    });
    seen.sum::<Option<u64>>().filter(|_| !run.entity.attempts.is_empty())
}

/// The same for whoever reads it: where the log's time stood still, for the log was ahead of the
/// clock, as long as its attempts were measured.
pub(crate) fn took_ns(run: &Run) -> Option<u64> {
    let walls = run.entity.attempts.iter().filter_map(|attempt| attempt.resources.as_ref());
    let measured = walls.map(|usage| usage.wall_ns).fold(0, u64::saturating_add);
    lasted(run).map(|lasted| lasted.max(measured))
}

/// An end that is recorded so much later than it was waited for its recorder, which was stopped.
const LATE_NS: u64 = 1_000_000_000;

/// When it ended; of one that was lost, when that was recorded.
pub(crate) fn ended_at(run: &Run) -> Option<Timestamp> {
    let recorded_at = run.entity.halt.as_ref()?.at;
    if RunOutcome::of(&run.entity) == RunOutcome::Lost {
        return Some(recorded_at);
    }
    let ended = command_ended(run);
    if run.is_end_taken_up {
        return ended;
    }
    let late = ended.filter(|ended| between(*ended, recorded_at) > LATE_NS && !was_held(run));
    Some(late.unwrap_or(recorded_at))
}

/// When the command of the last attempt ended, where that was recorded later: by how long its
/// recorder or its guard saw it run.
fn command_ended(run: &Run) -> Option<Timestamp> {
    let attempt = run.entity.current_attempt()?;
    let ran_ns = attempt.resources.as_ref()?.wall_ns;
    Some(Timestamp::from_nanoseconds(attempt.dispatched_at.nanoseconds().saturating_add(ran_ns)))
}

/// Whether somebody was asked about the last attempt, which delays the end of the run.
fn was_held(run: &Run) -> bool {
    let attempt = run.entity.current_attempt();
    attempt.is_some_and(|attempt| {
        let mut asked = run.entity.decisions.requests.iter();
        asked.any(|held| held.request.created_at >= attempt.dispatched_at)
    })
}

/// How long it ran up to a moment, without the time in which it waited for a person.
pub(crate) fn ran(run: &Run, until: Timestamp) -> u64 {
    between(run.entity.started_at, until).saturating_sub(waited(run, until))
}

/// How long it waited for a person, up to a moment.
pub(crate) fn waited(run: &Run, until: Timestamp) -> u64 {
    let wait = |held: &HeldRequest| {
        let end = match &held.outcome {
            Some(RequestOutcome::Decided(decided)) => decided.at.min(until),
            Some(RequestOutcome::Withdrawn { at, .. }) => (*at).min(until),
            None => until,
        };
        between(held.request.created_at.max(run.entity.started_at), end)
    };
    run.entity.decisions.requests.iter().map(wait).fold(0, u64::saturating_add)
}

const fn between(from: Timestamp, to: Timestamp) -> u64 {
    to.nanoseconds().saturating_sub(from.nanoseconds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::Sample;
    use holdpoint_domain::execution_loop::HaltReason;

    #[test]
    fn what_a_run_took_holds_no_wait_for_a_person_and_no_end_that_nobody_saw() {
        let mut runs = Sample::begun_again().listed();
        let run = &mut runs[2];
        let (began, end) = (run.entity.started_at, run.entity.halt.as_ref().unwrap().at);
        assert_eq!((waited(run, end), lasted(run)), (1_000_000, Some(6_000_000)));
        assert_eq!(between(began, end), 7_000_000);
        run.entity.halt.as_mut().unwrap().reason = HaltReason::RecorderLost;
        let attempt = run.entity.attempts.last().unwrap();
        assert_eq!(lasted(run), attempt.resources.map(|usage| usage.wall_ns));
        run.entity.attempts.last_mut().unwrap().response = None;
        assert_eq!(lasted(run), None);
    }
}
