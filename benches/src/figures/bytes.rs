//! Bytes: on the disk, and on their way to it.

use super::filled::Filled;
use crate::error::{Doing, MeasureError};
use crate::plan::Plan;
use crate::rounds::{Sample, Work};
use crate::store::{Candidate, Mode, payload};

/// Synced records of one round.
const SYNCED: u64 = 64;

pub(super) fn on_disk(plan: &Plan, candidate: Candidate, length: usize) -> Work {
    let records = plan.records_read(length);
    let mut filled = Filled::with(plan, candidate, length, records);
    Box::new(move || {
        let bytes = (candidate.disk_bytes)(filled.ready()?)?;
        Ok(Sample::of(bytes as f64 / records as f64))
    })
}

/// Returns what the system counts as written to the device for this process: whole pages, each time
/// one that is clean is written into.
pub(super) fn to_device(plan: &Plan, candidate: Candidate, length: usize) -> Work {
    let growth = plan.growth_bytes();
    let mut place =
        Filled::by(plan, move |at| candidate.grow.map_or(Ok(()), |grow| grow(at, growth)));
    let payload = payload(length);
    Box::new(move || {
        let store = (candidate.open)(place.ready()?, Mode::Durable, &payload)?;
        // What opening put off is not what a record costs.
        (0..SYNCED).try_for_each(|_| store.append())?;
        let before = written_bytes()?;
        (0..SYNCED).try_for_each(|_| store.append())?;
        let written = written_bytes()? - before;
        store.close()?;
        Ok(Sample::of(written as f64 / SYNCED as f64))
    })
}

fn written_bytes() -> Result<u64, MeasureError> {
    let text = std::fs::read_to_string("/proc/self/io").doing("ask for the bytes written")?;
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|number| number.parse().ok()).ok_or("not told").doing("ask for the bytes written")
}
