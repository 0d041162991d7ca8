//! The clock, read in one place. Rules see only the time that is recorded.

use holdpoint_domain::Time;
use rustix::time::{ClockId, clock_gettime};

/// Statement of the clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// UTC nanoseconds since 1970; 0 before.
    pub wall_ns: u64,
    /// Nanoseconds since the machine was booted, sleep included where the system counts it.
    pub since_boot_ns: u64,
}

impl Reading {
    /// Wall clock minus time since boot: constant until somebody sets the wall clock.
    #[must_use]
    pub fn wall_minus_boot(&self) -> i64 {
        let difference = i128::from(self.wall_ns) - i128::from(self.since_boot_ns);
        i64::try_from(difference).unwrap_or(i64::MAX)
    }

    /// The wall clock of this reading as the monotonic clock continues it until another reading,
    /// whatever became of the wall clock since.
    #[must_use]
    pub fn continued(&self, now: Self) -> Time {
        let since_ns = now.since_boot_ns.saturating_sub(self.since_boot_ns);
        Time::from_nanoseconds(self.wall_ns.saturating_add(since_ns))
    }
}

/// A source of time, injected so that tests choose it.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Reading;
}

/// The machine's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Reading {
        #[cfg(target_os = "linux")]
        let since_boot = ClockId::Boottime;
        #[cfg(not(target_os = "linux"))]
        let since_boot = ClockId::Monotonic;
        Reading { wall_ns: nanoseconds(ClockId::Realtime), since_boot_ns: nanoseconds(since_boot) }
    }
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let fraction = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_minus_boot_shows_a_step_of_the_wall_clock() {
        let before = Reading { wall_ns: 10_000, since_boot_ns: 1_000 };
        let after = Reading { wall_ns: 7_500, since_boot_ns: 1_500 };
        assert_eq!(after.wall_minus_boot() - before.wall_minus_boot(), -3_000);
    }
}
