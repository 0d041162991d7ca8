//! On the way from one moment to a later one: record by record, batch by batch.

use super::moment::Moment;
use crate::read::{Committed, ReadError};
use crate::rebuild::Until;
use holdpoint_log_files::follow::VisitPlaced;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{FollowError, Follower, ReadStorage, RecordPlace, Run, Stop};
use holdpoint_log_format::{ChainPosition, Record, SegmentHeader, names};
use std::ops::ControlFlow;

/// Shows records from a place on, across segments, until `visit` has had enough. Each is checked
/// against the chain. Damage behind the last record of a segment, of the seal itself, hides nothing
/// of what follows it.
///
/// # Errors
/// The log cannot be read, or is not as it was when it was checked: it ends before `visit` had
/// enough.
pub(super) fn walk_on<S: ReadStorage>(
    storage: &S,
    mut place: Follower,
    visit: &mut VisitPlaced<'_>,
) -> Result<(), ReadError> {
    loop {
        let run = place.walk(storage, visit).map_err(unfollowed)?;
        if run.stop == Stop::Asked {
            return Ok(());
        }
        let file = segment_path(place.header.first_sequence());
        place = place.behind(storage, &run).map_err(|error| match (error, run.stop) {
            (FollowError::Gone { .. }, Stop::Nothing | Stop::Fault(_)) => {
                ReadError::Changed { file }
            }
            (error, _) => unfollowed(error),
        })?;
    }
}

/// The start of a segment.
pub(super) fn at_segment<S: ReadStorage>(
    storage: &S,
    first_sequence: u64,
) -> Result<Follower, ReadError> {
    Follower::at_segment(storage, first_sequence).map_err(unfollowed)
}

/// A log that cannot be followed is another than when it was checked.
pub(crate) fn unfollowed(error: FollowError) -> ReadError {
    match error {
        FollowError::Read(error) => ReadError::Survey(error),
        FollowError::Damaged(finding) => ReadError::Changed { file: finding.place.file },
        FollowError::Gone { file, .. } | FollowError::Header { file, .. } => {
            ReadError::Changed { file }
        }
        _ => ReadError::Changed { file: names::SEGMENTS.to_string() },
    }
}

/// A moment on its way to another.
pub(crate) struct Trip {
    moment: Moment,
    until: Until,
    /// The last record that may be applied.
    newest: u64,
    batch: Vec<Committed>,
}

impl Trip {
    pub(crate) fn new(moment: Moment, until: Until, newest: u64) -> Self {
        Self { moment, until, newest, batch: Vec::new() }
    }

    pub(crate) fn into_moment(self) -> Moment {
        self.moment
    }

    /// Returns where the trip stands; `None` at the anchor.
    pub(super) fn place(&self) -> Option<Follower> {
        self.moment.place.clone()
    }

    /// Returns whether nothing is left to apply.
    pub(super) fn is_over(&self) -> bool {
        let at = self.moment.applied.sequence;
        let is_there = matches!(self.until, Until::Sequence(wanted) if at >= wanted);
        is_there || at >= self.newest || self.moment.stopped_before.is_some()
    }

    /// Takes the next record; `witness` sees those of a batch when it is applied.
    pub(crate) fn take(
        &mut self,
        segment: &SegmentHeader,
        place: &RecordPlace,
        record: &Record<'_>,
        witness: &mut dyn FnMut(&Committed),
    ) -> ControlFlow<()> {
        self.batch.push(Committed::of(place, record));
        if record.header.flags.more_follows() {
            return ControlFlow::Continue(());
        }
        let batch = std::mem::take(&mut self.batch);
        if !self.enters(&batch) {
            return ControlFlow::Break(());
        }
        self.apply(&batch);
        batch.iter().for_each(witness);
        self.arrive_behind(segment, place, record);
        if self.is_over() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns whether a batch is to be applied. What is behind one that cannot be read is not
    /// known.
    fn enters(&mut self, batch: &[Committed]) -> bool {
        let is_within = batch.last().is_some_and(|last| self.until.includes(&last.header));
        if !is_within {
            self.moment.inside_batch_until = self.until.cuts(batch);
            return false;
        }
        self.moment.stopped_before = batch.iter().find_map(Committed::unread);
        self.moment.stopped_before.is_none()
    }

    fn apply(&mut self, batch: &[Committed]) {
        if let Some(watch) = &mut self.moment.watch {
            watch.look(&self.moment.world, batch);
        }
        for record in batch {
            let (sequence, at) = (record.header.sequence, record.time());
            match record.envelope() {
                // What the rules forbid is for `verify` to tell.
                Some(envelope) => self.moment.world.evolve(sequence, at, envelope),
                None => self.moment.world.pass_over(sequence, at),
            }
        }
        let count = u64::try_from(batch.len()).unwrap_or(u64::MAX);
        self.moment.records_applied = self.moment.records_applied.saturating_add(count);
    }

    fn arrive_behind(&mut self, segment: &SegmentHeader, place: &RecordPlace, record: &Record<'_>) {
        let header = &record.header;
        let chain =
            ChainPosition { sequence: header.sequence, link: header.link, time: header.time };
        let run = Run::from(chain, place.offset, place.offset.saturating_add(place.length));
        self.moment.applied = chain;
        self.moment.place = Some(Follower { header: *segment, run });
    }
}
