//! The segments of a log, one by one, each checked from its own header on: for whoever does not
//! need the whole log.

use crate::anchor::Anchor;
use crate::finding::{Finding, Problem};
use crate::head::{read_head, wrong_witness};
use crate::read::ReadError;
use holdpoint_domain::time::Timestamp;
use holdpoint_log_files::run::walk;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{
    Entry, Onward, Place, Problem as LogProblem, ReadFile, ReadStorage, RecordPlace, Run, Stop,
    SurveyError,
};
use holdpoint_log_format::{
    ChainPosition, Fault, Head, Item, Link, LogId, Record, SegmentHeader, names,
};
use serde::Serialize;
use std::io;

/// More findings than this are not kept: of a damaged log, each segment can give one.
const FINDINGS_MAX: usize = 100;

/// What was read of a log of which only a part was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The log's segments.
    pub segments: u64,
    /// Those of which every record up to the last one that was needed was read and checked.
    pub segments_read: u64,
    /// Those of which no more was read than what an index names.
    pub segments_by_index: u64,
    /// What was found wrong there.
    pub findings: Vec<Finding>,
}

impl Part {
    pub(crate) fn found(&mut self, finding: Finding) {
        if self.findings.len() < FINDINGS_MAX && !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }
}

/// The segments that there were when the log was looked at.
pub(crate) struct Segments<'s, S> {
    pub(crate) storage: &'s S,
    /// The first record of each, in order.
    pub(crate) firsts: Vec<u64>,
    /// The first record that a blank segment behind them would have had.
    blank: Option<u64>,
    /// The last record before the log's first one; 0 in a whole log.
    anchor: u64,
    /// What is wrong with the directory of segments.
    wrong_directory: Option<Finding>,
    /// What HEAD says, or what is wrong with it.
    head: Result<Head, LogProblem>,
}

/// A segment that is open.
pub(crate) struct Segment<F> {
    pub(crate) header: SegmentHeader,
    pub(crate) window: Window<F>,
}

impl<'s, S: ReadStorage> Segments<'s, S> {
    /// Lists them. What lies before the log's beginning is none of them. There are none where
    /// something else is in their directory's place.
    pub(crate) fn of(storage: &'s S) -> Result<Self, ReadError> {
        let Listing { anchor, head, listed } = Listing::of(storage)?;
        let anchor = anchor.position.sequence;
        let wrong_directory = listed.as_ref().err().cloned();
        let mut firsts = firsts(&listed.unwrap_or_default());
        firsts.retain(|first| *first > anchor);
        let blank = take_blank(storage, newest_of(&head), &mut firsts)?;
        Ok(Self { storage, firsts, blank, anchor, wrong_directory, head })
    }

    /// What is wrong with HEAD, and what it says that is missing at the ends of the log: for
    /// whoever does not read to both of them.
    pub(crate) fn check_ends(&self, part: &mut Part) -> Result<(), ReadError> {
        let witness = || wrong_witness(&self.head, self.firsts.is_empty());
        self.wrong_directory.clone().or_else(witness).into_iter().for_each(|f| part.found(f));
        let (Ok(head), Some(first)) = (&self.head, self.firsts.first()) else { return Ok(()) };
        wrong_first(self.anchor, *first).into_iter().for_each(|finding| part.found(finding));
        let holding = self.holding(head.newest_sequence).and_then(|at| self.firsts.get(at));
        let Some(holding) = holding.filter(|_| head.newest_sequence > self.anchor) else {
            return Ok(());
        };
        let Some(mut segment) = self.open(*holding, part)? else { return Ok(()) };
        if !is_there(&mut segment, head).map_err(io_error(&segment_path(*holding)))? {
            let from = Run::at_start(&segment.header);
            self.walk(&mut segment, from, part, &mut |_, _| Onward::Go)?;
        }
        Ok(())
    }

    /// The log's identity, as far as HEAD says it.
    fn log(&self) -> Option<LogId> {
        self.head.as_ref().ok().map(|head| head.log)
    }

    /// Whether HEAD can be read.
    pub(crate) fn has_head(&self) -> bool {
        self.head.is_ok()
    }

    /// The newest record that HEAD witnesses; 0 where it cannot be read.
    pub(crate) fn expected(&self) -> u64 {
        newest_of(&self.head)
    }

    /// The last record that can be in the segment at this place of the list.
    pub(crate) fn end_of(&self, at: usize) -> u64 {
        self.firsts.get(at.saturating_add(1)).map_or(u64::MAX, |next| next.saturating_sub(1))
    }

    /// The place in the list of the segment that would hold a record.
    pub(crate) fn holding(&self, sequence: u64) -> Option<usize> {
        self.firsts.partition_point(|first| *first <= sequence).checked_sub(1)
    }

    /// Opens a segment whose header holds; else what is wrong is among the findings. One that was
    /// moved to an archive meanwhile is passed over.
    pub(crate) fn open(
        &self,
        first: u64,
        part: &mut Part,
    ) -> Result<Option<Segment<S::File>>, ReadError> {
        let file = segment_path(first);
        let opened = match self.storage.open(&file) {
            Ok(Some(opened)) => opened,
            Ok(None) if Anchor::of(self.storage).position.sequence >= first => return Ok(None),
            Ok(None) => return Err(io_error(&file)(io::ErrorKind::NotFound.into()).into()),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                part.found(at_begin(first, LogProblem::NotRegular));
                return Ok(None);
            }
            Err(error) => return Err(io_error(&file)(error).into()),
        };
        let mut window = Window::new(opened).map_err(io_error(&file))?;
        match window.header().map_err(io_error(&file))? {
            Ok(header) if header.first_sequence() == first => {
                if let Some(expected) = self.log().filter(|log| *log != header.log) {
                    let found = header.log;
                    part.found(at_begin(first, LogProblem::ForeignLog { expected, found }));
                }
                Ok(Some(Segment { header, window }))
            }
            Ok(header) => {
                let found = header.first_sequence();
                part.found(at_begin(first, LogProblem::Renamed { expected: first, found }));
                Ok(None)
            }
            Err(fault) => {
                newer(&file, &fault)?;
                part.found(at_begin(first, fault.into()));
                Ok(None)
            }
        }
    }

    /// Shows the records of a segment from a place on, each checked. Where they end otherwise than
    /// they should, that is among the findings.
    pub(crate) fn walk(
        &self,
        segment: &mut Segment<S::File>,
        from: Run,
        part: &mut Part,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>) -> Onward,
    ) -> Result<Run, ReadError> {
        let first = segment.header.first_sequence();
        let mut compared = |place: &RecordPlace, record: &Record<'_>| {
            self.rewritten(place, record).into_iter().for_each(|finding| part.found(finding));
            visit(place, record)
        };
        let run = walk(&mut segment.window, &segment.header, from, &mut compared)
            .map_err(io_error(&segment_path(first)))?;
        self.wrong_end(first, &run).into_iter().for_each(|finding| part.found(finding));
        Ok(run)
    }

    /// HEAD names another record in the place of this one.
    fn rewritten(&self, place: &RecordPlace, record: &Record<'_>) -> Option<Finding> {
        let (head, found) = (self.head.as_ref().ok()?, record.header.link);
        let (expected, sequence) = (head.newest_link, head.newest_sequence);
        let is_another = record.header.sequence == sequence && found != expected;
        let problem = Problem::Log(LogProblem::Rewritten { expected, found });
        let place = Place { file: segment_path(place.segment), offset: place.offset, sequence };
        is_another.then_some(Finding { place, problem })
    }

    /// What is wrong about the end of a segment's records: all but the newest segment end with a
    /// seal that the next one names, and what HEAD or a blank segment witnesses is there.
    fn wrong_end(&self, first: u64, run: &Run) -> Option<Finding> {
        let at = self.holding(first)?;
        let is_last = at.saturating_add(1) >= self.firsts.len();
        let newest = run.chain.sequence;
        let expected = self.expected().max(before(self.blank));
        let problem = match &run.stop {
            Stop::Asked => return None,
            Stop::Seal(seal) if !is_last => return self.wrong_successor(at, seal.last),
            _ if is_last && newest >= expected => {
                return self.blank.and_then(|blank| gap(newest, blank));
            }
            Stop::Fault(fault) => LogProblem::Fault(fault.clone()),
            Stop::Nothing | Stop::Seal(_) if is_last => {
                LogProblem::BelowMark { first: newest.saturating_add(1), last: expected }
            }
            Stop::Nothing | Stop::Seal(_) => LogProblem::SealMissing { expected: newest },
        };
        let (offset, sequence) = (run.stop_offset, run.stop_sequence);
        let place = Place { file: segment_path(first), offset, sequence };
        Some(Finding { place, problem: Problem::Log(problem) })
    }

    fn wrong_successor(&self, at: usize, last: ChainPosition) -> Option<Finding> {
        let next = *self.firsts.get(at.saturating_add(1))?;
        gap(last.sequence, next).or_else(|| {
            wrong_link(&last, next, crate::read::read_header(self.storage, next)?.previous.link)
        })
    }
}

/// Whether the record that HEAD names is where HEAD says.
fn is_there<F: ReadFile>(segment: &mut Segment<F>, head: &Head) -> io::Result<bool> {
    let item = segment.window.item(head.record_offset, &segment.header)?;
    let Ok((Item::Record(record), _)) = item else { return Ok(false) };
    Ok((record.header.sequence, record.header.link) == (head.newest_sequence, head.newest_link))
}

/// Where a log begins, HEAD and the list of segments, which fit each other: they are read again
/// while the first segments are moved to an archive.
pub(crate) struct Listing {
    pub(crate) anchor: Anchor,
    pub(crate) head: Result<Head, LogProblem>,
    /// What is in the directory of segments, or what is wrong with it.
    pub(crate) listed: Result<Vec<Entry>, Finding>,
}

impl Listing {
    pub(crate) fn of<S: ReadStorage>(storage: &S) -> Result<Self, ReadError> {
        loop {
            let (anchor, head) = (Anchor::of(storage), read_head(storage)?);
            let listed = list(storage)?;
            if Anchor::of(storage).position.sequence == anchor.position.sequence {
                return Ok(Self { anchor, head, listed });
            }
        }
    }
}

/// The finding where the first segment that is there is not the one behind the anchor.
pub(crate) fn wrong_first(anchor: u64, found: u64) -> Option<Finding> {
    let expected = anchor.saturating_add(1);
    let place = Place { file: segment_path(found), offset: 0, sequence: expected };
    let problem = Problem::Log(LogProblem::NotTheAnchor { expected, found });
    (found != expected).then_some(Finding { place, problem })
}

/// Takes a last segment that is all zero off the list, where HEAD witnesses none of its records: a
/// roll lost power before anything was written to it, and nothing is wrong with that.
pub(crate) fn take_blank<S: ReadStorage>(
    storage: &S,
    witnessed: u64,
    firsts: &mut Vec<u64>,
) -> Result<Option<u64>, ReadError> {
    match firsts.last().copied() {
        Some(last) if witnessed < last && is_blank(storage, last)? => Ok(firsts.pop()),
        _ => Ok(None),
    }
}

/// The newest record that was sealed when a blank segment got its name; 0 where there is none.
pub(crate) fn before(blank: Option<u64>) -> u64 {
    blank.map_or(0, |blank| blank.saturating_sub(1))
}

/// The finding on a segment that begins elsewhere than behind the record before it.
pub(crate) fn gap(before: u64, found: u64) -> Option<Finding> {
    let expected = before.saturating_add(1);
    let place = Place { file: segment_path(found), offset: 0, sequence: expected };
    let problem = Problem::Log(LogProblem::Gap { expected, found });
    (found != expected).then_some(Finding { place, problem })
}

/// The finding on a segment whose header repeats another link than that of the record before it.
pub(crate) fn wrong_link(before: &ChainPosition, segment: u64, found: Link) -> Option<Finding> {
    let expected = before.link;
    let problem = LogProblem::Fault(Fault::Link { expected, found });
    (found != expected).then(|| at_begin(segment, problem))
}

/// What else is wrong with a header is told when the segment is opened.
fn is_blank<S: ReadStorage>(storage: &S, first: u64) -> Result<bool, ReadError> {
    let file = segment_path(first);
    let Ok(Some(opened)) = storage.open(&file) else { return Ok(false) };
    let mut window = Window::new(opened).map_err(io_error(&file))?;
    let is_good = window.header().map_err(io_error(&file))?.is_ok();
    Ok(!is_good && window.nonzero_end(0).map_err(io_error(&file))?.is_none())
}

/// A finding on a segment as a whole.
pub(crate) fn at_begin(first: u64, problem: LogProblem) -> Finding {
    let place = Place { file: segment_path(first), offset: 0, sequence: first };
    Finding { place, problem: Problem::Log(problem) }
}

/// What the disk said of a file, for `map_err`.
pub(crate) fn io_error(file: &str) -> impl FnOnce(io::Error) -> SurveyError {
    let file = file.to_string();
    move |source| SurveyError::Io { file, source }
}

/// A file of a newer format is an error, and no damage.
fn newer(file: &str, fault: &Fault) -> Result<(), ReadError> {
    match fault {
        Fault::NewerVersion { found, supported } => {
            let (found, supported) = (*found, *supported);
            Err(SurveyError::NewerVersion { file: file.to_string(), found, supported }.into())
        }
        _ => Ok(()),
    }
}

/// The ends of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The first record that there is.
    pub first: u64,
    /// When it was recorded.
    pub since: Timestamp,
    /// The newest record that ends a batch.
    pub last: u64,
    /// When it was recorded.
    pub until: Timestamp,
}

/// The first and the newest record of a log; `None` where there is none. Reads the newest segment.
///
/// # Errors
/// The log cannot be read.
pub fn span<S: ReadStorage>(storage: &S) -> Result<Option<Span>, ReadError> {
    let segments = Segments::of(storage)?;
    let (Some(first), Some(last)) = (segments.firsts.first(), segments.firsts.last()) else {
        return Ok(None);
    };
    let mut part = Part::default();
    let Some(mut segment) = segments.open(*last, &mut part)? else { return Ok(None) };
    let from = Run::at_start(&segment.header);
    let newest = segments.walk(&mut segment, from, &mut part, &mut |_, _| Onward::Go)?.chain;
    let Some(mut segment) = segments.open(*first, &mut part)? else { return Ok(None) };
    let mut since = None;
    let from = Run::at_start(&segment.header);
    segments.walk(&mut segment, from, &mut part, &mut |_, record| {
        since = Some(record.header.time);
        Onward::Stop
    })?;
    let Some(since) = since.filter(|_| newest.sequence >= *first) else { return Ok(None) };
    Ok(Some(Span {
        first: *first,
        since: Timestamp::from_nanoseconds(since),
        last: newest.sequence,
        until: Timestamp::from_nanoseconds(newest.time),
    }))
}

/// The newest record that HEAD witnesses; 0 where it cannot be read.
pub(crate) fn witnessed<S: ReadStorage>(storage: &S) -> Result<u64, ReadError> {
    Ok(newest_of(&read_head(storage)?))
}

fn newest_of(head: &Result<Head, LogProblem>) -> u64 {
    head.as_ref().map_or(0, |head| head.newest_sequence)
}

/// The first record of each segment that a listing names, in order.
pub(crate) fn firsts(listed: &[Entry]) -> Vec<u64> {
    let named = listed.iter().filter_map(|entry| names::parse_segment(&entry.name));
    let mut firsts: Vec<u64> = named.collect();
    firsts.sort_unstable();
    firsts
}

/// What is in the directory of segments; the inner error is a finding: something else stands in its
/// place.
pub(crate) fn list<S: ReadStorage>(
    storage: &S,
) -> Result<Result<Vec<Entry>, Finding>, SurveyError> {
    match storage.list(names::SEGMENTS) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            let place = Place { file: names::SEGMENTS.to_string(), offset: 0, sequence: 0 };
            Ok(Err(Finding { place, problem: Problem::Log(LogProblem::NotRegular) }))
        }
        listed => listed.map(Ok).map_err(io_error(names::SEGMENTS)),
    }
}
