//! Times at which something is due.

use std::time::Instant;

use rustix::event::Timespec;

/// The first of some instants, if there is one.
pub(super) fn earliest<const N: usize>(instants: [Option<Instant>; N]) -> Option<Instant> {
    instants.into_iter().flatten().min()
}

/// The time from now until an instant, rounded up so that it has come when the wait is over.
pub(super) fn timespec(due: Instant, now: Instant) -> Timespec {
    let wait = due.saturating_duration_since(now);
    let too_long = Timespec { tv_sec: i64::from(i32::MAX), tv_nsec: 0 };
    Timespec::try_from(wait).unwrap_or(too_long)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_wait_that_is_already_over_is_no_time_at_all() {
        let now = Instant::now();
        let wait = timespec(now, now + Duration::from_secs(1));
        assert_eq!((wait.tv_sec, wait.tv_nsec), (0, 0));
    }

    #[test]
    fn the_earliest_of_what_is_due_is_waited_for() {
        let now = Instant::now();
        let later = now + Duration::from_secs(1);
        assert_eq!(earliest([Some(later), None, Some(now)]), Some(now));
        assert_eq!(earliest([None, None]), None);
    }
}
