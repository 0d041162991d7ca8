//! Reading parts of a log: its witness, its segments, and the records of each, with what is wrong
//! about them. What of it is tied to the witness is told by [`Ties`].

mod ties;

use crate::blocks::{BlockLength, Make, VisitWithValueWhile, Workers, walk_blocks_while};
use crate::finding::{Finding, Place, Problem, wrong_witnessed};
use crate::follow::FollowError;
use crate::head::{read_head, read_witness, wrong_witness};
use crate::run::{RecordPlace, Run, Stop, walk};
use crate::storage::{Entry, ReadStorage};
use crate::survey::{READINGS_MAX, SurveyError, durable_by, gone, io_error, newer, segment_path};
use crate::window::Window;
use holdpoint_log_format::limits::SEAL_LENGTH;
use holdpoint_log_format::{
    BootId, ChainPosition, Fault, Head, Item, Link, Lock, LogId, Record, SegmentHeader, names,
};
use std::io;
use std::ops::ControlFlow;
pub(crate) use ties::threads_to_check;
pub use ties::{Standing, Ties};

/// So many bytes behind the newest record are looked at by whoever reads a few records.
const FOLLOWED_WITHIN: u64 = 4 * 1_024;

/// Takes findings that may not matter to whoever reads: because of this. Every reading needs
/// something that takes what it finds.
pub struct Disregard(pub &'static str);

impl Extend<Finding> for Disregard {
    fn extend<T: IntoIterator<Item = Finding>>(&mut self, findings: T) {
        findings.into_iter().for_each(drop);
    }
}

/// A log as it was when it was looked at: HEAD, and the segments from the anchor on.
pub struct LogReader<'s, S> {
    storage: &'s S,
    listing: Listing,
}

/// A segment that is open.
pub struct OpenSegment<F> {
    /// Its header, which holds and is of the file's name.
    pub header: SegmentHeader,
    /// Its bytes.
    pub window: Window<F>,
}

impl<'s, S: ReadStorage> LogReader<'s, S> {
    /// Looks at HEAD and the list of segments, which fit each other.
    ///
    /// # Errors
    /// They cannot be read, or are of a newer format version.
    pub fn of(storage: &'s S) -> Result<Self, SurveyError> {
        Ok(Self { storage, listing: Listing::of(storage)? })
    }

    /// Returns where the log lies.
    #[must_use]
    pub fn storage(&self) -> &'s S {
        self.storage
    }

    /// The first sequence of each segment, in order; a blank one behind them is left out.
    #[must_use]
    pub fn firsts(&self) -> &[u64] {
        &self.listing.firsts
    }

    /// Returns what HEAD says, or what is wrong with it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn head(&self) -> Result<&Head, &Problem> {
        self.listing.head.as_ref()
    }

    /// The last record before the log's first one; 0 in a whole log.
    #[must_use]
    pub fn anchor(&self) -> u64 {
        self.listing.anchor()
    }

    /// The newest record that HEAD witnesses; 0 where it cannot be read.
    #[must_use]
    pub fn witnessed(&self) -> u64 {
        self.head().map_or(0, |head| head.newest_sequence)
    }

    /// The place in the list of the segment that would hold a record.
    #[must_use]
    pub fn holding(&self, sequence: u64) -> Option<usize> {
        self.firsts().partition_point(|first| *first <= sequence).checked_sub(1)
    }

    /// The last record that can be in the segment at this place of the list.
    #[must_use]
    pub fn end_of(&self, at: usize) -> u64 {
        self.firsts().get(at.saturating_add(1)).map_or(u64::MAX, |next| next.saturating_sub(1))
    }

    /// Returns what is wrong with HEAD, with the directory, or, where that is asked for, with the
    /// log's beginning.
    #[must_use]
    pub fn witness(&self, with_beginning: bool) -> Option<Finding> {
        let Listing { head, firsts, wrong_directory, .. } = &self.listing;
        let beginning = || firsts.first().and_then(|first| wrong_first(self.anchor(), *first));
        let witness = wrong_directory.clone().or_else(|| wrong_witness(head, firsts.is_empty()));
        witness.or_else(|| if with_beginning { beginning() } else { None })
    }

    /// The newest record that HEAD, or LOCK of this boot, says was durable; 0: none.
    #[must_use]
    pub fn durable(&self, boot: BootId) -> u64 {
        self.witnessed().max(durable_by(self.listing.lock.as_ref(), boot))
    }

    /// Checks that what LOCK of this boot says was durable is there: for whoever shows or searches
    /// the newest records.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn check_durable(
        &self,
        boot: BootId,
        found: &mut impl Extend<Finding>,
    ) -> Result<(), SurveyError> {
        let durable = self.durable(boot);
        if durable <= self.witnessed() {
            return Ok(());
        }
        let Some(last) = self.firsts().last() else {
            let place = Place { file: names::SEGMENTS.into(), offset: 0, sequence: durable };
            found.extend([Finding { place, problem: Problem::SegmentsGone { newest: durable } }]);
            return Ok(());
        };
        let Some(mut segment) = self.open(*last, found)? else { return Ok(()) };
        let from = self.behind_head(&mut segment)?;
        let run = self.walk(&mut segment, from, found, &mut |_, _| ControlFlow::Continue(()))?;
        if run.chain.sequence < durable {
            let (offset, sequence) = (run.stop_offset, run.stop_sequence);
            let place = Place { file: segment_path(*last), offset, sequence };
            let problem = self.missing_at_end(*last, &run, durable)?;
            found.extend([Finding { place, problem }]);
        }
        Ok(())
    }

    /// A run that goes on behind the record that HEAD names; `None` where no such record ends a
    /// batch where HEAD says in this segment.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn at_head(&self, segment: &mut OpenSegment<S::File>) -> Result<Option<Run>, SurveyError> {
        let OpenSegment { header, window } = segment;
        let first = header.first_sequence();
        let Some(head) = self.head().ok().filter(|head| head.segment == first) else {
            return Ok(None);
        };
        let item = window.item(head.record_offset, header);
        let item = item.map_err(io_error(&segment_path(first)))?;
        let Ok((Item::Record(record), length)) = item else { return Ok(None) };
        let chain = ChainPosition::of(&record.header);
        let is_it = (chain.sequence, chain.link) == (head.newest_sequence, head.newest_link)
            && head.record_offset.checked_add(length) == Some(head.end_offset)
            && !record.header.flags.more_follows();
        Ok(is_it.then(|| Run::from(chain, head.record_offset, head.end_offset)))
    }

    /// Reads like [`Self::at_head`]; else a run from the segment's beginning.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn behind_head(&self, segment: &mut OpenSegment<S::File>) -> Result<Run, SurveyError> {
        Ok(self.at_head(segment)?.unwrap_or_else(|| Run::at_start(&segment.header)))
    }

    /// Shows every record behind the one that HEAD witnesses, segment by segment; of the segment
    /// that should hold that one, and does not, every record. What is wrong there is found. Where
    /// HEAD cannot be read, nothing is shown. Says whether something that is no record follows the
    /// last one within 4 KiB.
    ///
    /// # Errors
    /// A segment cannot be read.
    pub fn walk_behind_head(
        &self,
        found: &mut impl Extend<Finding>,
        visit: &mut dyn FnMut(&Record<'_>),
    ) -> Result<bool, SurveyError> {
        let mut is_followed = false;
        let Ok(head) = self.head() else { return Ok(is_followed) };
        let holding = self.holding(head.newest_sequence).unwrap_or(0);
        for first in self.firsts().iter().skip(holding) {
            let Some(mut segment) = self.open(*first, found)? else { continue };
            let from = self.behind_head(&mut segment)?;
            let run = self.walk(&mut segment, from, found, &mut |_, record| {
                visit(record);
                ControlFlow::Continue(())
            })?;
            let (begin, end) = (run.end_offset, run.end_offset.saturating_add(FOLLOWED_WITHIN));
            let near = segment.window.nonzero_end_within(begin, end);
            is_followed = near.map_err(io_error(&segment_path(*first)))?.is_some();
        }
        Ok(is_followed)
    }

    /// Opens a segment whose header holds; else what is wrong is found. One that was moved to an
    /// archive meanwhile is passed over.
    ///
    /// # Errors
    /// It cannot be read, or is of a newer format version.
    pub fn open(
        &self,
        first: u64,
        found: &mut impl Extend<Finding>,
    ) -> Result<Option<OpenSegment<S::File>>, SurveyError> {
        let file = segment_path(first);
        let problem = match OpenSegment::of(self.storage.open(&file), first) {
            Ok(segment) => {
                let other = segment.header.log;
                let expected = self.log().filter(|log| *log != other);
                let foreign = |expected| Problem::ForeignLog { expected, found: other };
                found.extend(expected.map(|expected| at_begin(first, foreign(expected))));
                return Ok(Some(segment));
            }
            Err(FollowError::Gone { .. }) => {
                let has_moved = Listing::of(self.storage)?.anchor() >= first;
                return if has_moved { Ok(None) } else { Err(gone(&file)) };
            }
            Err(FollowError::Read(error)) => return Err(error),
            Err(FollowError::Damaged(finding)) => finding.problem,
            Err(FollowError::Header { fault: Fault::Sequence { expected, found }, .. }) => {
                Problem::Renamed { expected, found }
            }
            Err(FollowError::Header { fault, .. }) => {
                newer(&file, &fault).map_or(Ok(()), Err)?;
                fault.into()
            }
        };
        found.extend([at_begin(first, problem)]);
        Ok(None)
    }

    /// Shows the records of a segment from a place on, each checked. Where they end otherwise than
    /// they should, that is found.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn walk(
        &self,
        segment: &mut OpenSegment<S::File>,
        from: Run,
        found: &mut impl Extend<Finding>,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>) -> ControlFlow<()>,
    ) -> Result<Run, SurveyError> {
        let first = segment.header.first_sequence();
        let mut compared = |place: &RecordPlace, record: &Record<'_>| {
            found.extend(self.wrong_witnessed(place, record));
            visit(place, record)
        };
        let run = walk(&mut segment.window, &segment.header, from, &mut compared)
            .map_err(io_error(&segment_path(first)))?;
        found.extend(self.wrong_end(first, &run)?);
        Ok(run)
    }

    /// Walks like [`Self::walk`], in lanes and threads, with what `make` makes of each record: for
    /// whoever reads much.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn walk_making<T: Send>(
        &self,
        segment: &OpenSegment<S::File>,
        from: Run,
        make: &Make<'_, T>,
        found: &mut impl Extend<Finding>,
        visit: &mut VisitWithValueWhile<'_, T>,
    ) -> Result<Run, SurveyError> {
        let OpenSegment { header, window } = segment;
        let first = header.first_sequence();
        let workers = Workers::new(threads_to_check(), BlockLength::default(), make);
        let mut compared = |place: &RecordPlace, record: &Record<'_>, made| {
            found.extend(self.wrong_witnessed(place, record));
            visit(place, record, made)
        };
        let run = walk_blocks_while(window, header, from, &workers, &mut compared)
            .map_err(io_error(&segment_path(first)))?;
        found.extend(self.wrong_end(first, &run)?);
        Ok(run)
    }

    /// The log's identity, as far as HEAD says it.
    #[must_use]
    pub fn log(&self) -> Option<LogId> {
        self.head().ok().map(|head| head.log)
    }

    /// HEAD names another record in the place of this one, or one that ends no batch.
    fn wrong_witnessed(&self, place: &RecordPlace, record: &Record<'_>) -> Option<Finding> {
        let problem = wrong_witnessed(self.head().ok()?, &record.header)?;
        let (offset, sequence) = (place.offset, record.header.sequence);
        Some(Finding {
            place: Place { file: segment_path(place.segment), offset, sequence },
            problem,
        })
    }

    /// Returns what is wrong about the end of a segment's records: all but the newest segment end
    /// with a seal that the next one names, and what HEAD or a blank segment witnesses is there.
    fn wrong_end(&self, first: u64, run: &Run) -> Result<Option<Finding>, SurveyError> {
        let Some(at) = self.holding(first) else { return Ok(None) };
        let is_last = at.saturating_add(1) >= self.firsts().len();
        let newest = run.chain.sequence;
        let blank = self.listing.blank;
        let expected = self.witnessed().max(before(blank));
        let problem = match &run.stop {
            Stop::Asked => return Ok(None),
            Stop::Seal(seal) if !is_last => return self.wrong_successor(at, seal.last),
            _ if is_last && newest >= expected => {
                return Ok(blank.and_then(|blank| gap(newest, blank)));
            }
            Stop::Fault(fault) => Problem::Fault(fault.clone()),
            Stop::Nothing | Stop::Seal(_) if is_last && blank.is_none() => {
                self.missing_at_end(first, run, expected)?
            }
            Stop::Nothing | Stop::Seal(_) if is_last => {
                Problem::BelowMark { first: newest.saturating_add(1), last: expected }
            }
            Stop::Nothing | Stop::Seal(_) => Problem::SealMissing { expected: newest },
        };
        let (offset, sequence) = (run.stop_offset, run.stop_sequence);
        let place = Place { file: segment_path(first), offset, sequence };
        Ok(Some(Finding { place, problem }))
    }

    /// Records behind the newest one are missing, as HEAD or LOCK says: damaged, or nowhere in the
    /// last segment, as the survey tells them apart.
    fn missing_at_end(&self, segment: u64, run: &Run, last: u64) -> Result<Problem, SurveyError> {
        let first = run.chain.sequence.saturating_add(1);
        let whole = self.is_whole_to(segment, run).map_err(io_error(&segment_path(segment)))?;
        Ok(match whole {
            true => Problem::ShortOfHead { first, last },
            false => Problem::BelowMark { first, last },
        })
    }

    /// Returns whether nothing lies behind the run in the last segment, whose file is as long as it
    /// says.
    fn is_whole_to(&self, segment: u64, run: &Run) -> io::Result<bool> {
        let Some(file) = self.storage.open(&segment_path(segment))? else { return Ok(false) };
        let mut window = Window::new(file)?;
        let behind = match &run.stop {
            Stop::Seal(seal) => seal.offset + SEAL_LENGTH as u64,
            _ => run.end_offset,
        };
        let capacity = window.header()?.map_or(0, |header| header.capacity);
        let is_log = self.storage.open(names::ARCHIVE)?.is_none();
        Ok(is_log
            && run.mark <= run.chain.sequence
            && window.length() == capacity
            && window.nonzero_end(behind)?.is_none())
    }

    fn wrong_successor(
        &self,
        at: usize,
        last: ChainPosition,
    ) -> Result<Option<Finding>, SurveyError> {
        let Some(next) = self.firsts().get(at.saturating_add(1)).copied() else { return Ok(None) };
        if let Some(finding) = gap(last.sequence, next) {
            return Ok(Some(finding));
        }
        // What else is wrong with the next header is found when that segment is opened.
        let header = read_header(self.storage, next)?;
        Ok(header.and_then(|header| wrong_link(&last, next, header.previous.link)))
    }
}

/// The header of a segment; `None` where there is no such file or it does not hold.
///
/// # Errors
/// It cannot be read.
pub fn read_header<S: ReadStorage>(
    storage: &S,
    first: u64,
) -> Result<Option<SegmentHeader>, SurveyError> {
    let file = segment_path(first);
    let opened = match storage.open(&file) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(None),
        opened => opened.map_err(io_error(&file))?,
    };
    let Some(opened) = opened else { return Ok(None) };
    let header = Window::new(opened).and_then(|mut window| window.header());
    Ok(header.map_err(io_error(&file))?.ok())
}

/// The finding where the first segment that is there is not the one behind the anchor.
fn wrong_first(anchor: u64, found: u64) -> Option<Finding> {
    let expected = anchor.saturating_add(1);
    let place = Place { file: segment_path(found), offset: 0, sequence: expected };
    (found != expected)
        .then_some(Finding { place, problem: Problem::NotTheAnchor { expected, found } })
}

/// The newest record that was sealed when a blank segment got its name; 0 where there is none.
fn before(blank: Option<u64>) -> u64 {
    blank.map_or(0, |blank| blank.saturating_sub(1))
}

/// The finding on a segment that begins elsewhere than behind the record before it.
fn gap(before: u64, found: u64) -> Option<Finding> {
    let expected = before.saturating_add(1);
    let place = Place { file: segment_path(found), offset: 0, sequence: expected };
    (found != expected).then_some(Finding { place, problem: Problem::Gap { expected, found } })
}

/// The finding on a segment whose header repeats another link than that of the record before it.
fn wrong_link(before: &ChainPosition, segment: u64, found: Link) -> Option<Finding> {
    let expected = before.link;
    (found != expected).then(|| at_begin(segment, Fault::Link { expected, found }.into()))
}

/// A finding on a segment as a whole.
fn at_begin(first: u64, problem: Problem) -> Finding {
    let place = Place { file: segment_path(first), offset: 0, sequence: first };
    Finding { place, problem }
}

/// Looks until what is found holds together, as often as a reading begins. After that, whoever
/// reads does not begin anew either.
pub(crate) fn steadily<T, E>(
    of: impl FnOnce(io::Error) -> E,
    mut look: impl FnMut() -> Result<Option<T>, E>,
) -> Result<T, E> {
    for _ in 0..READINGS_MAX {
        if let Some(found) = look()? {
            return Ok(found);
        }
    }
    let moving = "it was changed again and again by moves to an archive; try again later";
    Err(of(io::Error::new(io::ErrorKind::Interrupted, moving)))
}

/// Content of a log's directory.
#[derive(Clone, Debug)]
pub struct Listing {
    /// LOCK as it was before all else was read, where it holds.
    pub lock: Option<Lock>,
    /// Content of HEAD, or what is wrong with it.
    pub head: Result<Head, Problem>,
    /// The first sequence of each segment behind the anchor, in order. There are none where
    /// something else is in their directory's place.
    pub firsts: Vec<u64>,
    /// The first record that a blank segment behind them would have had.
    pub blank: Option<u64>,
    /// Problem of the directory of segments.
    pub wrong_directory: Option<Finding>,
}

impl Listing {
    /// Reads LOCK, HEAD, then the list, then HEAD again: where the anchor has moved on meanwhile,
    /// what is on the list may be gone.
    ///
    /// # Errors
    /// They cannot be read, or the anchor moves on again and again.
    pub fn of<S: ReadStorage>(storage: &S) -> Result<Self, SurveyError> {
        steadily(io_error(names::HEAD), || {
            let lock = read_witness(storage, names::LOCK).map_err(io_error(names::LOCK))?;
            let head = read_head(storage)?;
            let listed = list(storage)?;
            let anchor = anchor_of(&head);
            if anchor_of(&read_head(storage)?) != anchor {
                return Ok(None);
            }
            let lock = lock.and_then(|bytes| Lock::decode(&bytes.ok()?).ok());
            Self::from(storage, lock, head, listed).map(Some)
        })
    }

    fn from<S: ReadStorage>(
        storage: &S,
        lock: Option<Lock>,
        head: Result<Head, Problem>,
        listed: Result<Vec<Entry>, Finding>,
    ) -> Result<Self, SurveyError> {
        let wrong_directory = listed.as_ref().err().cloned();
        let mut firsts = firsts(&listed.unwrap_or_default());
        let anchor = anchor_of(&head);
        firsts.retain(|first| *first > anchor);
        let witnessed = head.as_ref().map_or(0, |head| head.newest_sequence);
        let blank = take_blank(storage, witnessed, &mut firsts)?;
        Ok(Self { lock, head, firsts, blank, wrong_directory })
    }

    /// The last record before the log's first one; 0 in a whole log. A log whose HEAD does not hold
    /// is read as a whole one.
    #[must_use]
    pub fn anchor(&self) -> u64 {
        anchor_of(&self.head)
    }
}

fn anchor_of(head: &Result<Head, Problem>) -> u64 {
    head.as_ref().map_or(0, |head| head.anchor_sequence)
}

/// The first record of each segment that a listing names, in order.
#[must_use]
pub fn firsts(listed: &[Entry]) -> Vec<u64> {
    let named = listed.iter().filter_map(|entry| names::parse_segment(&entry.name));
    let mut firsts: Vec<u64> = named.collect();
    firsts.sort_unstable();
    firsts
}

/// Lists what is in the directory of segments; the inner error is a finding: something else stands
/// in its place.
///
/// # Errors
/// It cannot be read.
pub fn list<S: ReadStorage>(storage: &S) -> Result<Result<Vec<Entry>, Finding>, SurveyError> {
    match storage.list(names::SEGMENTS) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            let place = Place { file: names::SEGMENTS.to_string(), offset: 0, sequence: 0 };
            Ok(Err(Finding { place, problem: Problem::NotRegular }))
        }
        listed => listed.map(Ok).map_err(io_error(names::SEGMENTS)),
    }
}

/// Takes a last segment that is all zero off the list, where HEAD witnesses none of its records: a
/// roll lost power before anything was written to it, and nothing is wrong with that.
fn take_blank<S: ReadStorage>(
    storage: &S,
    witnessed: u64,
    firsts: &mut Vec<u64>,
) -> Result<Option<u64>, SurveyError> {
    match firsts.last().copied() {
        Some(last) if witnessed < last && is_blank(storage, last)? => Ok(firsts.pop()),
        _ => Ok(None),
    }
}

/// Returns whether a segment is blank; what else is wrong with a header is told when the segment is
/// opened.
fn is_blank<S: ReadStorage>(storage: &S, first: u64) -> Result<bool, SurveyError> {
    let file = segment_path(first);
    let opened = match storage.open(&file) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(false),
        opened => opened.map_err(io_error(&file))?,
    };
    let Some(opened) = opened else { return Ok(false) };
    let mut window = Window::new(opened).map_err(io_error(&file))?;
    let is_good = window.header().map_err(io_error(&file))?.is_ok();
    Ok(!is_good && window.nonzero_end(0).map_err(io_error(&file))?.is_none())
}
