//! On the way from one moment to a later one: record by record, batch by batch.

use super::moment::Moment;
use crate::read::{Committed, ReadError};
use crate::rebuild::Until;
use holdpoint_log_files::run::walk;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{
    FollowError, Follower, Onward, ReadStorage, RecordPlace, Run, Stop, SurveyError,
};
use holdpoint_log_format::{ChainPosition, Record, SegmentHeader};
use std::io;

/// Shows records from a place on, across segments, until `visit` has had enough. Each is checked
/// against the chain.
///
/// # Errors
/// The log cannot be read, or is not as it was when it was checked: it ends before `visit` had
/// enough.
pub(super) fn walk_on<S: ReadStorage>(
    storage: &S,
    mut place: Follower,
    visit: &mut dyn FnMut(&SegmentHeader, &RecordPlace, &Record<'_>) -> Onward,
) -> Result<(), ReadError> {
    loop {
        let file = segment_path(place.header.first_sequence());
        let io =
            |source: io::Error| ReadError::from(SurveyError::Io { file: file.clone(), source });
        let changed = || ReadError::Changed { file: file.clone() };
        let opened = storage.open(&file).map_err(io)?.ok_or_else(changed)?;
        let mut window = Window::new(opened).map_err(io)?;
        let header = place.header;
        let run =
            walk(&mut window, &header, place.run, &mut |at, record| visit(&header, at, record));
        let run = run.map_err(io)?;
        if run.stop == Stop::Asked {
            return Ok(());
        }
        // Damage behind the last record, of the seal itself, hides nothing of what follows it.
        let next = run.chain.sequence.saturating_add(1);
        place = match Follower::at_segment(storage, next) {
            Ok(place) if next > header.first_sequence() => place,
            Err(FollowError::Read(error)) => return Err(error.into()),
            _ => return Err(changed()),
        };
        let follows = place.header.log == header.log && place.header.previous == run.chain;
        if !follows {
            return Err(ReadError::Changed { file: segment_path(place.header.first_sequence()) });
        }
    }
}

/// The start of a segment.
pub(super) fn at_segment<S: ReadStorage>(
    storage: &S,
    first_sequence: u64,
) -> Result<Follower, ReadError> {
    Follower::at_segment(storage, first_sequence).map_err(|error| match error {
        FollowError::Read(error) => ReadError::Survey(error),
        _ => ReadError::Changed { file: segment_path(first_sequence) },
    })
}

/// A moment on its way to another.
pub(super) struct Trip<'w> {
    moment: Moment,
    until: Until,
    /// The last record that may be applied.
    newest: u64,
    batch: Vec<Committed>,
    witness: &'w mut dyn FnMut(&Committed),
}

impl<'w> Trip<'w> {
    pub(super) fn new(
        moment: Moment,
        until: Until,
        newest: u64,
        witness: &'w mut dyn FnMut(&Committed),
    ) -> Self {
        Self { moment, until, newest, batch: Vec::new(), witness }
    }

    pub(super) fn into_moment(self) -> Moment {
        self.moment
    }

    /// Where the trip stands; `None` at the anchor.
    pub(super) fn place(&self) -> Option<Follower> {
        self.moment.place.clone()
    }

    /// Whether nothing is left to apply.
    pub(super) fn is_over(&self) -> bool {
        let at = self.moment.applied.sequence;
        let is_there = matches!(self.until, Until::Sequence(wanted) if at >= wanted);
        is_there || at >= self.newest || self.moment.stopped_before.is_some()
    }

    /// Takes the next record.
    pub(super) fn take(
        &mut self,
        segment: &SegmentHeader,
        place: &RecordPlace,
        record: &Record<'_>,
    ) -> Onward {
        self.batch.push(Committed::of(place, record));
        if record.header.flags.more_follows() {
            return Onward::Go;
        }
        let batch = std::mem::take(&mut self.batch);
        if !self.enters(&batch) {
            return Onward::Stop;
        }
        self.apply(&batch);
        self.arrive_behind(segment, place, record);
        if self.is_over() { Onward::Stop } else { Onward::Go }
    }

    /// Whether a batch is to be applied. What is behind one that cannot be read is not known.
    fn enters(&mut self, batch: &[Committed]) -> bool {
        let is_within = batch.last().is_some_and(|last| self.until.includes(&last.header));
        if !is_within {
            self.moment.inside_batch_until = self.until.cuts(batch);
            return false;
        }
        let unread = batch.iter().find(|record| record.envelope().is_none());
        self.moment.stopped_before = unread.map(|record| record.header.sequence);
        unread.is_none()
    }

    fn apply(&mut self, batch: &[Committed]) {
        if let Some(watch) = &mut self.moment.watch {
            watch.look(&self.moment.world, batch);
        }
        for record in batch {
            let Some(envelope) = record.envelope() else { continue };
            // What the rules forbid is for `verify` to tell.
            self.moment.world.evolve(record.header.sequence, record.time(), envelope);
            (self.witness)(record);
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
