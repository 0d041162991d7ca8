//! Durations of runs, and of their waits for people.

use crate::outcome::RunOutcome;
use crate::run::Run;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::human_decision::{HeldRequest, RequestOutcome};

/// An end that is recorded so much later than it was waited for its recorder, which was stopped.
const LATE_NS: u64 = 1_000_000_000;

impl Run {
    /// Length from its beginning to its end, in nanoseconds, without the time in which it waited
    /// for a person. `None` where it has not ended, or where nobody saw its end.
    #[must_use]
    pub fn lasted(&self) -> Option<u64> {
        self.entity.halt.as_ref()?;
        if RunOutcome::of(&self.entity) != RunOutcome::Lost {
            return Some(self.ran(self.ended_at()?));
        }
        // What its guards saw, where they did.
        let seen = self.entity.attempts.iter().map(|attempt| {
            attempt.response.as_ref().and(attempt.resources.as_ref()).map(|usage| usage.wall_ns)
        });
        seen.sum::<Option<u64>>().filter(|_| !self.entity.attempts.is_empty())
    }

    /// The same for whoever reads it: where the log's time stood still, for the log was ahead of
    /// the clock, as long as its attempts were measured.
    #[must_use]
    pub fn took_ns(&self) -> Option<u64> {
        let walls = self.entity.attempts.iter().filter_map(|attempt| attempt.resources.as_ref());
        let measured = walls.map(|usage| usage.wall_ns).fold(0, u64::saturating_add);
        self.lasted().map(|lasted| lasted.max(measured))
    }

    /// Time when it ended; of one that was lost, when that was recorded.
    #[must_use]
    pub fn ended_at(&self) -> Option<Timestamp> {
        let recorded_at = self.entity.halt.as_ref()?.at;
        if RunOutcome::of(&self.entity) == RunOutcome::Lost {
            return Some(recorded_at);
        }
        let ended = self.command_ended();
        if self.is_end_taken_up {
            return ended;
        }
        let late = ended.filter(|ended| between(*ended, recorded_at) > LATE_NS && !self.was_held());
        Some(late.unwrap_or(recorded_at))
    }

    /// Time when the command of the last attempt ended, where that was recorded later: by how long
    /// its recorder or its guard saw it run.
    fn command_ended(&self) -> Option<Timestamp> {
        let attempt = self.entity.current_attempt()?;
        let ran_ns = attempt.resources.as_ref()?.wall_ns;
        Some(Timestamp::from_nanoseconds(
            attempt.dispatched_at.nanoseconds().saturating_add(ran_ns),
        ))
    }

    /// Tells whether somebody was asked about the last attempt, which delays the end of the run.
    fn was_held(&self) -> bool {
        let attempt = self.entity.current_attempt();
        attempt.is_some_and(|attempt| {
            let mut asked = self.entity.decisions.requests.iter();
            asked.any(|held| held.request.created_at >= attempt.dispatched_at)
        })
    }

    /// Length up to a moment, without the time in which it waited for a person.
    #[must_use]
    pub fn ran(&self, until: Timestamp) -> u64 {
        between(self.entity.started_at, until).saturating_sub(self.waited(until))
    }

    /// Length of its waits for a person, up to a moment.
    #[must_use]
    pub fn waited(&self, until: Timestamp) -> u64 {
        let wait = |held: &HeldRequest| {
            let end = match &held.outcome {
                Some(RequestOutcome::Decided(decided)) => decided.at.min(until),
                Some(RequestOutcome::Withdrawn { at, .. }) => (*at).min(until),
                None => until,
            };
            between(held.request.created_at.max(self.entity.started_at), end)
        };
        self.entity.decisions.requests.iter().map(wait).fold(0, u64::saturating_add)
    }
}

const fn between(from: Timestamp, to: Timestamp) -> u64 {
    to.nanoseconds().saturating_sub(from.nanoseconds())
}
