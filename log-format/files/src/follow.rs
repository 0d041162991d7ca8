//! Following a log from a known record on, across rolls: what a writer does to catch up with what
//! others appended, and what a reader at the tail does.

use crate::blocks::{BlockLength, Make, VisitWithValue, Workers, walk_blocks, walk_blocks_while};
use crate::finding::{Finding, Place, Problem};
use crate::mapped::Mapped;
use crate::reader::{OpenSegment, threads_to_check};
use crate::run::{RecordPlace, Run, Stop, walk};
use crate::storage::{ReadFile, ReadStorage};
use crate::survey::{SurveyError, io_error, segment_path};
use crate::window::Window;
use holdpoint_log_format::{ChainPosition, Fault, Record, SegmentHeader};
use std::io;
use std::ops::ControlFlow;
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
        /// Fault of it.
        fault: Fault,
    },
}

/// Is shown records, each with the header of its segment.
pub type VisitPlaced<'v> =
    dyn FnMut(&SegmentHeader, &RecordPlace, &Record<'_>) -> ControlFlow<()> + 'v;

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
        let header = OpenSegment::of(storage.open(&file), first_sequence)?.header;
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
        self.catch_up_while(storage, &mut |_, place, record| {
            visit(place, record);
            ControlFlow::Continue(())
        })
    }

    /// [`Follower::catch_up`] until `visit` has had enough: the place is then behind the last
    /// record that it saw, or behind the batch before.
    ///
    /// # Errors
    /// As [`Follower::catch_up`].
    pub fn catch_up_while<S: ReadStorage>(
        &mut self,
        storage: &S,
        visit: &mut VisitPlaced<'_>,
    ) -> Result<(), FollowError> {
        loop {
            self.walk_on(storage, visit)?;
            let Stop::Seal(_) = self.run.stop else { return Ok(()) };
            *self = match self.behind(storage, &self.run) {
                Err(FollowError::Gone { .. }) => return Ok(()),
                next => next?,
            };
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
        self.expect(newest)
    }

    /// Checks whether the place is behind the record `newest`, which is known to be written.
    ///
    /// # Errors
    /// [`FollowError::Damaged`]: what was read ends before.
    pub fn expect(&self, newest: u64) -> Result<(), FollowError> {
        if self.run.chain.sequence < newest { Err(self.damaged(newest)) } else { Ok(()) }
    }

    /// Goes on to a record that is known to be written, with its link, and stands there. Each link
    /// on that way depends on the link of this place and on the records between: where they lead to
    /// that one, it was so all along. Where this fails, nothing that `visit` saw is proven.
    ///
    /// # Errors
    /// As [`Follower::catch_up_to`]; that record has another link.
    pub fn follow_to<S: ReadStorage>(
        &mut self,
        storage: &S,
        newest: &ChainPosition,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>),
    ) -> Result<(), FollowError> {
        if self.run.chain.sequence < newest.sequence {
            self.catch_up_while(storage, &mut |_, place, record| {
                visit(place, record);
                let is_there = record.header.sequence >= newest.sequence;
                if is_there { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        self.expect(newest.sequence)?;
        self.expect_link(newest, (self.run.chain, self.run.record_offset))
    }

    /// Checks whether the record at an offset, to which the records led, is the one that is known.
    fn expect_link(
        &self,
        newest: &ChainPosition,
        (chain, record_offset): (ChainPosition, u64),
    ) -> Result<(), FollowError> {
        if (chain.sequence, chain.link) == (newest.sequence, newest.link) {
            return Ok(());
        }
        let file = segment_path(self.header.first_sequence());
        let place = Place { file, offset: record_offset, sequence: chain.sequence };
        let problem = Problem::Rewritten { expected: newest.link, found: chain.link };
        Err(FollowError::Damaged(Finding { place, problem }))
    }

    /// [`Follower::follow_to`] a record in the segment of this place: records are checked, and
    /// something is made of each, by as many threads as there are. `visit` sees them in order.
    ///
    /// # Errors
    /// As [`Follower::follow_to`]; the record is not in this segment.
    pub fn follow_within<S: ReadStorage, T: Send>(
        &mut self,
        storage: &S,
        newest: &ChainPosition,
        make: &Make<'_, T>,
        visit: &mut VisitWithValue<'_, T>,
    ) -> Result<(), FollowError> {
        let file = segment_path(self.header.first_sequence());
        let window = window_of(storage.open(&file), &file, self.run.chain.sequence)?;
        let workers = Workers::new(threads_to_check(), BlockLength::default(), make);
        let mut reached = (self.run.chain, self.run.record_offset);
        let from = self.run.clone();
        let run = walk_blocks(&window, &self.header, from, &workers, &mut |at, record, made| {
            if record.header.sequence <= newest.sequence {
                reached = (ChainPosition::of(&record.header), at.offset);
                visit(at, record, made);
            }
        });
        self.run = run.map_err(io_error(&file))?;
        self.expect(newest.sequence)?;
        self.expect_link(newest, reached)
    }

    /// [`Follower::follow_to`], where it is not known whether the records lead there. `visit` stops
    /// at the newest record; `None` where it has had enough before, or where they lead elsewhere.
    ///
    /// # Errors
    /// A file cannot be read, or is gone.
    pub fn lead_to<S: ReadStorage>(
        mut self,
        storage: &S,
        newest: &ChainPosition,
        visit: &mut VisitPlaced<'_>,
    ) -> Result<Option<Self>, FollowError> {
        match self.catch_up_while(storage, visit) {
            Err(FollowError::Header { .. } | FollowError::Damaged(_)) => Ok(None),
            reached => reached.map(|()| (self.run.chain == *newest).then_some(self)),
        }
    }

    /// Goes on in the segment.
    fn walk_on<S: ReadStorage>(
        &mut self,
        storage: &S,
        visit: &mut VisitPlaced<'_>,
    ) -> Result<(), FollowError> {
        let file = segment_path(self.header.first_sequence());
        // Whoever stands behind a record reads the little that was written since.
        let opened = match self.run.record_offset {
            0 => storage.open(&file).map(|opened| opened.map(Mapped::File)),
            _ => storage.open_mapped(&file),
        };
        let mut window = window_of(opened, &file, self.run.chain.sequence)?;
        // A segment without a record may have been replaced by a larger one of the same name,
        // because the first batch did not fit.
        if self.run.record_offset == 0
            && let Ok(header) = window.header().map_err(io_error(&file))?
            && header.previous == self.header.previous
        {
            self.header = header;
        }
        let (run, header) = (&self.run, &self.header);
        let from = Run::from(run.chain, run.record_offset, run.end_offset);
        // From a segment's start many records are to be expected, which are hashed in lanes.
        let walked = match run.record_offset {
            0 => {
                let workers = Workers::new(1, BlockLength::default(), &|_, _| ());
                let mut visit =
                    |place: &RecordPlace, record: &Record<'_>, ()| visit(header, place, record);
                walk_blocks_while(&window, header, from, &workers, &mut visit)
            }
            _ => {
                let mut visit =
                    |place: &RecordPlace, record: &Record<'_>| visit(header, place, record);
                walk(&mut window, header, from, &mut visit)
            }
        };
        self.run = walked.map_err(io_error(&file))?;
        Ok(())
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

impl<F: ReadFile> OpenSegment<F> {
    /// Makes it of what was opened under the name of the segment that begins at `first_sequence`.
    ///
    /// # Errors
    /// It cannot be read, is not there, or its header does not hold.
    pub fn of(opened: io::Result<Option<F>>, first_sequence: u64) -> Result<Self, FollowError> {
        let file = segment_path(first_sequence);
        let mut window = window_of(opened, &file, first_sequence.saturating_sub(1))?;
        let named = |header: SegmentHeader| match header.first_sequence() {
            found if found == first_sequence => Ok(header),
            found => Err(Fault::Sequence { expected: first_sequence, found }),
        };
        match window.header().map_err(io_error(&file))?.and_then(named) {
            Ok(header) => Ok(Self { header, window }),
            Err(fault) => Err(FollowError::Header { file, fault }),
        }
    }
}

fn window_of<F: ReadFile>(
    opened: io::Result<Option<F>>,
    file: &str,
    sequence: u64,
) -> Result<Window<F>, FollowError> {
    let gone = || FollowError::Gone { file: file.to_string(), sequence };
    let opened = regular(opened, file, sequence)?.ok_or_else(gone)?;
    Ok(Window::new(opened).map_err(io_error(file))?)
}

/// Returns what was opened behind a record. What is no regular file is damage of the log.
fn regular<F>(
    opened: io::Result<Option<F>>,
    file: &str,
    sequence: u64,
) -> Result<Option<F>, FollowError> {
    opened.map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => {
            let sequence = sequence.saturating_add(1);
            let place = Place { file: file.to_string(), offset: 0, sequence };
            FollowError::Damaged(Finding { place, problem: Problem::NotRegular })
        }
        _ => io_error(file)(error).into(),
    })
}
