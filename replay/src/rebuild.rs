//! Rebuilding the state at any record or moment.

use crate::anchor::Start;
use crate::axes::report;
use crate::meaning::{Meaning, Stopped};
use crate::progress::Progress;
use crate::reach::tie;
use crate::read::{Committed, ReadError, ReadOptions, read, steadily};
use crate::report::{Head, Report};
use holdpoint_domain::World;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_log_files::ReadStorage;
use holdpoint_log_format::{ChainPosition, RecordHeader};

/// Up to where the state is rebuilt. Batches are all or nothing (property L3): a place inside a
/// batch means the end of the last whole batch before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// All there is.
    End,
    /// The record with this sequence, itself included. Beyond the newest one: all there is.
    Sequence(u64),
    /// This moment, records of the very moment included.
    Time(Timestamp),
}

impl Until {
    /// Returns whether the place is at the log's anchor or behind it.
    pub(crate) fn reaches(self, anchor: &ChainPosition) -> bool {
        match self {
            Self::End => true,
            Self::Sequence(sequence) => sequence >= anchor.sequence,
            Self::Time(time) => anchor.sequence == 0 || time.nanoseconds() >= anchor.time,
        }
    }

    /// The last record of a batch, where the place lies inside it: before its last record.
    pub(crate) fn cuts(self, batch: &[Committed]) -> Option<u64> {
        let Self::Sequence(sequence) = self else { return None };
        let (first, last) = (batch.first()?.header.sequence, batch.last()?.header.sequence);
        (first..last).contains(&sequence).then_some(last)
    }

    /// Returns whether a batch that ends with this record lies within.
    pub(crate) fn includes(self, last_of_batch: &RecordHeader) -> bool {
        match self {
            Self::End => true,
            Self::Sequence(sequence) => last_of_batch.sequence <= sequence,
            Self::Time(time) => last_of_batch.time <= time.nanoseconds(),
        }
    }
}

/// A rebuilt state.
#[derive(Debug)]
pub struct Rebuilt {
    /// The state; of [`rebuild`], settled entities included.
    pub world: World,
    /// The record up to which it was rebuilt; none before the first.
    pub head: Option<Head>,
    /// The last record of the batch that the asked record is part of, where that is not the asked
    /// one: the state is the one before the batch.
    pub inside_batch_until: Option<u64>,
    /// In a salvaged log, the first record that tells of records lost, where it was applied: what
    /// they said is not in the state.
    pub lost_at: Option<u64>,
    /// Proof of the whole log, and what was found about the events up to [`Self::head`].
    pub report: Report,
}

/// Rebuilds the state, keeping what settles. The whole log is verified on the way, so that a state
/// is never taken from bytes that do not hold: behind damage nothing is applied. `witness` sees
/// each record that was applied, in order.
///
/// # Errors
/// As [`crate::verify()`], and [`ReadError::BeforeAnchor`] where the log begins behind `until`.
pub fn rebuild<S: ReadStorage>(
    storage: &S,
    until: Until,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    witness: &mut dyn FnMut(&Committed),
) -> Result<Rebuilt, ReadError> {
    rebuild_from(storage, until, options, Start::keeping_settled, progress, witness)
}

/// Rebuilds like [`rebuild`] at the end of the log, keeping no more than a writer does: what lives,
/// and what ended lately.
///
/// # Errors
/// As [`rebuild`].
pub fn rebuild_live<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    witness: &mut dyn FnMut(&Committed),
) -> Result<Rebuilt, ReadError> {
    rebuild_from(storage, Until::End, options, |start| start, progress, witness)
}

fn rebuild_from<S: ReadStorage>(
    storage: &S,
    until: Until,
    options: ReadOptions<'_>,
    keeping: fn(Start) -> Start,
    progress: &mut dyn FnMut(Progress),
    witness: &mut dyn FnMut(&Committed),
) -> Result<Rebuilt, ReadError> {
    let (reading, (mut meaning, inside_batch_until)) = steadily(options, |mut attempt| {
        let start = Start::of(storage)?;
        let anchor = start.anchor;
        if !until.reaches(&anchor.position) {
            return Err(ReadError::BeforeAnchor { anchor: anchor.position.sequence });
        }
        let mut meaning = Meaning::new(keeping(start), until);
        let mut inside_batch_until = None;
        (attempt.judges, attempt.builds_indexes) = (true, until == Until::End);
        let wanted = |header: &RecordHeader| until.includes(header);
        let reading = read(storage, anchor, attempt, &wanted, progress, &mut |batch| {
            if meaning.apply(batch) {
                batch.iter().for_each(&mut *witness);
            } else if meaning.stopped == Some(Stopped::Until) {
                inside_batch_until = inside_batch_until.or_else(|| until.cuts(batch));
            }
        })?;
        Ok((reading, (meaning, inside_batch_until)))
    })?;
    meaning.check_beginnings(storage, &reading, options)?;
    if until == Until::End {
        meaning.check_statements(storage, &reading, options)?;
    }
    let mut report = report(reading, Some(&meaning));
    report.take_unread(meaning.unknown.as_ref());
    tie(storage, &mut report)?;
    let (head, lost_at) = (Head::at(&meaning.applied), meaning.hole);
    Ok(Rebuilt { world: meaning.world, head, inside_batch_until, lost_at, report })
}
