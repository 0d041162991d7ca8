//! Opening for writing: after a clean close, and after a crash.

use super::filled::Filled;
use crate::child;
use crate::error::MeasureError;
use crate::pace::Stopwatch;
use crate::plan::Plan;
use crate::rounds::{Sample, Work};
use crate::store::{Candidate, Mode, payload};
use std::path::Path;
use std::time::Duration;

/// Payload bytes of the records that are there.
const PAYLOAD: usize = 256;
/// A clean open is done so often in a round, one after the other, as long as all of them together
/// take no longer than this: what takes less than a millisecond varies by half with what the others
/// of the round left in the processor's caches.
const OPENINGS: usize = 9;
const OPENINGS_TIME_MAX: Duration = Duration::from_millis(50);
/// Records appended before each crash.
const BEFORE_CRASH: u64 = 1_000;

pub(super) fn clean(plan: &Plan, candidate: Candidate, records: u64) -> Work {
    let mut filled = Filled::with(plan, candidate, PAYLOAD, records);
    Box::new(move || {
        let at = filled.ready()?;
        let watch = Stopwatch::start();
        let mut openings = vec![timed(at, &candidate)?];
        while openings.len() < OPENINGS && watch.elapsed() < OPENINGS_TIME_MAX {
            openings.push(timed(at, &candidate)?);
        }
        Ok(Sample::median(openings))
    })
}

/// Each round a process of its own appends to the store and aborts.
pub(super) fn crashed(plan: &Plan, candidate: Candidate, records: u64) -> Work {
    let mut filled = Filled::with(plan, candidate, PAYLOAD, records);
    let plan = plan.clone();
    Box::new(move || {
        let at = filled.ready()?;
        child::crash(&plan, candidate.name, at, BEFORE_CRASH)?;
        timed(at, &candidate)
    })
}

fn timed(at: &Path, candidate: &Candidate) -> Result<Sample, MeasureError> {
    let payload = payload(PAYLOAD);
    let watch = Stopwatch::start();
    let store = (candidate.open)(at, Mode::Durable, &payload)?;
    let sample = watch.per(1);
    store.close()?;
    Ok(sample)
}
