//! Appending: one record at a time, many in a commit, many threads at once.

use super::filled::Filled;
use crate::error::{Doing, MeasureError};
use crate::pace::{Pace, Stopwatch, repeat_until};
use crate::plan::Plan;
use crate::rounds::{Sample, Samples, Work};
use crate::store::{Candidate, Mode, Store, payload};
use std::sync::Barrier;
use std::time::Instant;
use tempfile::TempDir;

/// Records in a commit of many.
const BATCH: u64 = 64;
/// Appends whose median is the latency of one round.
const LATENCIES: usize = 2_000;

/// Who appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hands {
    /// One thread, one record at a time.
    One,
    /// The same, and the link of each record is asked for.
    Linked,
    /// One thread, many records in a commit.
    Batch,
    /// So many threads, one record at a time each.
    Many(usize),
}

/// Appends to the same store in every round; it is opened and closed outside of the time.
pub(super) fn appending(
    plan: &Plan,
    candidate: Candidate,
    mode: Mode,
    length: usize,
    hands: Hands,
) -> Work {
    let mut place = Place::new(plan, candidate);
    let (pace, payload) = (plan.pace(), payload(length));
    Box::new(move || {
        let at = place.ready()?;
        let store = (candidate.open)(at.path(), mode, &payload)?;
        let (sample, records) = match hands {
            Hands::One => one(pace, &*store, &|| store.append())?,
            Hands::Linked => one(pace, &*store, &|| store.append_linked())?,
            Hands::Batch => batches(pace, &*store)?,
            Hands::Many(writers) => many(pace, &*store, writers)?,
        };
        store.close()?;
        place.bytes += records * (length as u64 + 64);
        Ok(sample)
    })
}

/// Where a candidate's store lies from one round to the next, begun anew when it grew too large.
struct Place {
    plan: Plan,
    candidate: Candidate,
    directory: Option<TempDir>,
    bytes: u64,
}

impl Place {
    fn new(plan: &Plan, candidate: Candidate) -> Self {
        Self { plan: plan.clone(), candidate, directory: None, bytes: 0 }
    }

    fn ready(&mut self) -> Result<&TempDir, MeasureError> {
        if self.bytes > self.plan.store_bytes_max() {
            self.directory = None;
        }
        let directory = match self.directory.take() {
            Some(directory) => directory,
            None => self.begin()?,
        };
        Ok(self.directory.insert(directory))
    }

    fn begin(&mut self) -> Result<TempDir, MeasureError> {
        self.bytes = 0;
        let directory = tempfile::tempdir_in(&self.plan.directory).doing("make a directory")?;
        if let Some(grow) = self.candidate.grow {
            grow(directory.path(), self.plan.growth_bytes())?;
        }
        Ok(directory)
    }
}

/// Appends once.
type Append<'a> = &'a dyn Fn() -> Result<(), MeasureError>;

/// Everything is in the file when the time ends, and in a chain has its hash.
fn one(pace: Pace, store: &dyn Store, append: Append<'_>) -> Result<(Sample, u64), MeasureError> {
    let watch = Stopwatch::start();
    let done = repeat_until(pace, &watch, &mut || append())?;
    store.settle()?;
    Ok((watch.per(done), done))
}

fn batches(pace: Pace, store: &dyn Store) -> Result<(Sample, u64), MeasureError> {
    let pace = Pace { records_max: pace.records_max / BATCH, ..pace };
    let watch = Stopwatch::start();
    let commits = repeat_until(pace, &watch, &mut || store.append_batch(BATCH))?;
    store.settle()?;
    let records = commits * BATCH;
    Ok((watch.per(records), records))
}

/// The time of all writers together, for each of all their records.
fn many(pace: Pace, store: &dyn Store, count: usize) -> Result<(Sample, u64), MeasureError> {
    let all_ready = Barrier::new(count);
    let pace = Pace { records_max: pace.records_max / count as u64, ..pace };
    let writer = || {
        all_ready.wait();
        let begun = Instant::now();
        let records = repeat_until(pace, &Stopwatch::start(), &mut || store.append())?;
        Ok((begun, Instant::now(), records))
    };
    let spans: Result<Vec<Span>, MeasureError> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..count).map(|_| scope.spawn(writer)).collect();
        let joined = writers.into_iter().map(|writer| writer.join().map_err(|_| "it panicked"));
        joined.map(|span| span.doing("join a writer")?).collect()
    });
    let spans = spans?;
    let begun = spans.iter().map(|(begun, _, _)| begun).min();
    let ended = spans.iter().map(|(_, ended, _)| ended).max();
    let time = begun.zip(ended).map_or(0.0, |(begun, ended)| (*ended - *begun).as_secs_f64());
    let records: u64 = spans.iter().map(|(_, _, records)| records).sum();
    Ok((Sample { value: time / records.max(1) as f64, cpu: None }, records))
}

/// When a writer began and ended, and what it wrote.
type Span = (Instant, Instant, u64);

/// The median time of one append to a log that holds so many records already.
pub(super) fn latency(plan: &Plan, candidate: Candidate, records: u64) -> Work {
    let text = payload(256);
    let mut filled = Filled::with(plan, candidate, text.len(), records);
    Box::new(move || {
        let store = (candidate.open)(filled.ready()?, Mode::Os, &text)?;
        let mut taken = Vec::with_capacity(LATENCIES);
        for _ in 0..LATENCIES {
            let begun = Instant::now();
            store.append()?;
            taken.push(begun.elapsed().as_secs_f64());
        }
        store.close()?;
        Ok(Sample::of(Samples(taken).median()))
    })
}
