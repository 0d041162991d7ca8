//! Reading a whole store: scanning and verifying.

use super::filled::Filled;
use crate::pace::Stopwatch;
use crate::plan::Plan;
use crate::rounds::Work;
use crate::store::{Candidate, Read};

/// Reads a store that is filled before the first round; opening it is part of the time, as it is
/// for whoever wants to read.
pub(super) fn reading(
    plan: &Plan,
    candidate: Candidate,
    length: usize,
    read: Read,
    threads: usize,
) -> Work {
    let records = plan.records_read(length);
    let mut filled = Filled::with(plan, candidate, length, records);
    Box::new(move || {
        let at = filled.ready()?;
        let watch = Stopwatch::start();
        read(at, records, threads)?;
        Ok(watch.per(records))
    })
}
