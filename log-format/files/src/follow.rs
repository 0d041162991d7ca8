//! Following a log from a known record on, across rolls: what a writer does to catch up with what
//! others appended, and what a reader at the tail does.

use crate::finding::{Finding, Place, Problem};
use crate::mapped::Mapped;
use crate::run::{Onward, RecordPlace, Run, Stop, walk};
use crate::storage::{ReadFile, ReadStorage};
use crate::survey::{SurveyError, io_error, segment_path};
use crate::window::Window;
use holdpoint_log_format::{ChainPosition, Fault, Record, SegmentHeader};
use std::io;
use thiserror::Error;

/// Why following stopped short.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FollowError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] SurveyError),
    /// Records that were written are damaged or missing.
    #[error("{0}; look at the log with `holdpoint verify`")]
    Damaged(Finding),
    /// The segment is not there any more.
    #[error(
        "{file} is gone, and with it the records behind {sequence}: they were moved to an archive, \
         go on from where the log begins now"
    )]
    Gone {
        /// The segment.
        file: String,
        /// The newest record that was read.
        sequence: u64,
    },
    /// A successor's header that does not hold or does not follow.
    #[error("{file}: {fault}")]
    Header {
        /// The segment.
        file: String,
        /// What is wrong.
        fault: Fault,
    },
}

/// Is shown records, each with the header of its segment.
pub type VisitPlaced<'v> = dyn FnMut(&SegmentHeader, &RecordPlace, &Record<'_>) -> Onward + 'v;

/// A place in a log from which reading goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follower {
    /// Header of the segment that the place is in.
    pub header: SegmentHeader,
    /// The newest record seen that ends a batch.
    pub run: Run,
}

impl Follower {
    /// The start of the segment that begins at `first_sequence`.
    ///
    /// # Errors
    /// It cannot be read, or its header does not hold.
    pub fn at_segment<S: ReadStorage>(
        storage: &S,
        first_sequence: u64,
    ) -> Result<Self, FollowError> {
        let file = segment_path(first_sequence);
        let opened = storage.open(&file);
        let mut window = window_of(opened, &file, first_sequence.saturating_sub(1))?;
        let named = |header: SegmentHeader| match header.first_sequence() {
            found if found == first_sequence => Ok(header),
            found => Err(Fault::Sequence { expected: first_sequence, found }),
        };
        let header = read_header(&mut window, &file)?
            .and_then(named)
            .map_err(|fault| FollowError::Header { file, fault })?;
        Ok(Self { header, run: Run::at_start(&header) })
    }

    /// Reads every record that is there now, into the next segments too, and stands behind the
    /// last one that ends a batch. What is not yet whole is left for the next call. `visit` sees
    /// records of an unfinished batch again at the next call.
    ///
    /// # Errors
    /// A file cannot be read, or a successor does not follow.
    pub fn catch_up<S: ReadStorage>(
        &mut self,
        storage: &S,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>),
    ) -> Result<(), FollowError> {
        loop {
            let file = segment_path(self.header.first_sequence());
            // Whoever stands behind a record reads the little that was written since.
            let opened = match self.run.record_offset {
                0 => storage.open(&file).map(|opened| opened.map(Mapped::File)),
                _ => storage.open_mapped(&file),
            };
            let mut window = window_of(opened, &file, self.run.chain.sequence)?;
            let mut onward = |place: &RecordPlace, record: &Record<'_>| {
                visit(place, record);
                Onward::Go
            };
            if self.run.record_offset == 0 {
                self.refresh_header(&mut window, &file)?;
            }
            let from = Run::from(self.run.chain, self.run.record_offset, self.run.end_offset);
            self.run = walk(&mut window, &self.header, from, &mut onward)
                .map_err(|source| SurveyError::Io { file, source })?;
            let Stop::Seal(seal) = self.run.stop.clone() else { return Ok(()) };
            match read_successor(storage, &self.header, &seal)? {
                Some(header) => *self = Self { header, run: Run::at_start(&header) },
                None => return Ok(()),
            }
        }
    }

    /// [`Follower::catch_up`] for a caller who knows that the records up to `newest` are written:
    /// what stops before is damage, not "not yet".
    ///
    /// # Errors
    /// As [`Follower::catch_up`], and [`FollowError::Damaged`] where a record before `newest` is.
    pub fn catch_up_to<S: ReadStorage>(
        &mut self,
        storage: &S,
        newest: u64,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>),
    ) -> Result<(), FollowError> {
        self.catch_up(storage, visit)?;
        if self.run.chain.sequence < newest { Err(self.damaged(newest)) } else { Ok(()) }
    }

    /// Goes on to the newest record, and stands there; `visit` sees every record on the way, those
    /// of unfinished batches too. Each link on that way depends on the link of this place and on
    /// the records between: where they lead to the newest one, it was so all along. `None` where
    /// they do not, or where `visit` has had enough before.
    ///
    /// # Errors
    /// A file cannot be read, or is gone.
    pub fn lead_to<S: ReadStorage>(
        mut self,
        storage: &S,
        newest: &ChainPosition,
        visit: &mut VisitPlaced<'_>,
    ) -> Result<Option<Self>, FollowError> {
        while self.run.chain.sequence < newest.sequence {
            let run = self.walk(storage, visit)?;
            self = match run.stop {
                Stop::Asked if run.chain.sequence == newest.sequence => Self { run, ..self },
                Stop::Seal(_) => match self.behind(storage, &run) {
                    Err(FollowError::Header { .. } | FollowError::Damaged(_)) => return Ok(None),
                    next => next?,
                },
                _ => return Ok(None),
            };
        }
        Ok((self.run.chain == *newest).then_some(self))
    }

    /// Shows the records behind the place that are in its segment, until `visit` has had enough.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn walk<S: ReadStorage>(
        &self,
        storage: &S,
        visit: &mut VisitPlaced<'_>,
    ) -> Result<Run, FollowError> {
        let file = segment_path(self.header.first_sequence());
        let mut window = window_of(storage.open(&file), &file, self.run.chain.sequence)?;
        let mut visit =
            |place: &RecordPlace, record: &Record<'_>| visit(&self.header, place, record);
        let run = walk(&mut window, &self.header, self.run.clone(), &mut visit);
        Ok(run.map_err(io_error(&file))?)
    }

    /// The start of the segment behind the last record of a run in this one.
    ///
    /// # Errors
    /// It cannot be read, or does not follow from that record; this one has no record.
    pub fn behind<S: ReadStorage>(&self, storage: &S, run: &Run) -> Result<Self, FollowError> {
        let first = run.chain.sequence.saturating_add(1);
        if first <= self.header.first_sequence() {
            return Err(Self { run: run.clone(), ..self.clone() }.damaged(first));
        }
        let next = Self::at_segment(storage, first)?;
        let file = || segment_path(next.header.first_sequence());
        let header = follows(&self.header, &run.chain, next.header)
            .map_err(|fault| FollowError::Header { file: file(), fault })?;
        Ok(Self { header, ..next })
    }

    fn damaged(&self, newest: u64) -> FollowError {
        let place = Place {
            file: segment_path(self.header.first_sequence()),
            offset: self.run.stop_offset,
            sequence: self.run.stop_sequence,
        };
        let first = self.run.chain.sequence.saturating_add(1);
        let problem = match &self.run.stop {
            Stop::Fault(fault) => Problem::Fault(fault.clone()),
            _ => Problem::BelowMark { first, last: newest },
        };
        FollowError::Damaged(Finding { place, problem })
    }

    /// A segment without a record may have been replaced by a larger one of the same name, because
    /// the first batch did not fit.
    fn refresh_header<F: ReadFile>(
        &mut self,
        window: &mut Window<F>,
        file: &str,
    ) -> Result<(), FollowError> {
        if let Ok(header) = read_header(window, file)?
            && header.previous == self.header.previous
        {
            self.header = header;
        }
        Ok(())
    }
}

/// The header of the segment that follows `seal`; `None` while there is none.
fn read_successor<S: ReadStorage>(
    storage: &S,
    before: &SegmentHeader,
    seal: &holdpoint_log_format::Seal,
) -> Result<Option<SegmentHeader>, FollowError> {
    let file = segment_path(seal.last.sequence.saturating_add(1));
    let opened = storage.open(&file).map_err(io_error(&file))?;
    let Some(opened) = opened else { return Ok(None) };
    let mut window = Window::new(opened).map_err(io_error(&file))?;
    let header = read_header(&mut window, &file)?;
    let follows = header.and_then(|header| follows(before, &seal.last, header));
    follows.map(Some).map_err(|fault| FollowError::Header { file, fault })
}

fn read_header<F: ReadFile>(
    window: &mut Window<F>,
    file: &str,
) -> Result<Result<SegmentHeader, Fault>, FollowError> {
    let header = window.header().map_err(io_error(file))?;
    Ok(header)
}

fn follows(
    before: &SegmentHeader,
    last: &ChainPosition,
    header: SegmentHeader,
) -> Result<SegmentHeader, Fault> {
    if header.log != before.log || header.previous != *last {
        return Err(Fault::Link { expected: last.link, found: header.previous.link });
    }
    Ok(header)
}

fn window_of<F: ReadFile>(
    opened: io::Result<Option<F>>,
    file: &str,
    sequence: u64,
) -> Result<Window<F>, FollowError> {
    let gone = || FollowError::Gone { file: file.to_string(), sequence };
    let opened = opened.map_err(io_error(file))?.ok_or_else(gone)?;
    Ok(Window::new(opened).map_err(io_error(file))?)
}
