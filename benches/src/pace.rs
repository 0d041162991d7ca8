//! The stopwatch: wall time and, beside it, the thread's CPU time.

use crate::error::MeasureError;
use crate::rounds::Sample;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, Instant};

/// Operations between two looks at the clock.
const BETWEEN_LOOKS: u64 = 8;

/// Time that one contender works in one round: until either is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Operations.
    pub records_max: u64,
    /// Time.
    pub time_max: Duration,
}

/// Started when it is made.
pub struct Stopwatch {
    begun: Instant,
    cpu: Duration,
}

impl Stopwatch {
    /// Starts one.
    #[must_use]
    pub fn start() -> Self {
        Self { begun: Instant::now(), cpu: thread_cpu_time() }
    }

    /// The time since its start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Seconds for each of `operations`.
    #[must_use]
    pub fn per(&self, operations: u64) -> Sample {
        let (wall, cpu) = (self.begun.elapsed(), thread_cpu_time() - self.cpu);
        let each = |time: Duration| time.as_secs_f64() / operations.max(1) as f64;
        Sample { value: each(wall), cpu: Some(each(cpu)) }
    }
}

/// Does something again and again at a pace, and gives the seconds that one took.
pub(crate) fn repeat(
    pace: Pace,
    mut once: impl FnMut() -> Result<(), MeasureError>,
) -> Result<Sample, MeasureError> {
    let watch = Stopwatch::start();
    let done = repeat_until(pace, &watch, &mut once)?;
    Ok(watch.per(done))
}

/// Does something until the pace is reached on a watch that runs, and says how often.
pub(crate) fn repeat_until(
    pace: Pace,
    watch: &Stopwatch,
    once: &mut dyn FnMut() -> Result<(), MeasureError>,
) -> Result<u64, MeasureError> {
    let mut done = 0;
    while done < pace.records_max && watch.elapsed() < pace.time_max {
        for _ in 0..BETWEEN_LOOKS.min(pace.records_max - done) {
            once()?;
            done += 1;
        }
    }
    Ok(done)
}

fn thread_cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(now.tv_nsec).unwrap_or_default())
}
