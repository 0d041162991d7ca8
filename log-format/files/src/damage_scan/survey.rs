//! The reading of a log for a scan: segment by segment.

use super::frames::Search;
use super::moved::Recall;
use super::outcome::{DamageScan, Loss};
use super::segment::{FIRST_RECORD, SEARCHES_MAX, SegmentSurvey};
use super::source::{SegmentState, Source, SourceSegment, text};
use crate::finding::Problem;
use crate::run::RecordPlace;
use crate::storage::ReadStorage;
use crate::survey::{SurveyError, io_error, segment_path};
use crate::tie::Mark;
use crate::window::Window;
use holdpoint_log_format::zeros::last_nonzero;
use holdpoint_log_format::{ChainPosition, Fault, Record, SegmentHeader};
use std::io;

/// Called with each record that verifies, which may not be kept in the end, and may be shown more
/// than once. Its place names the number in its file's name. Says what its payload is.
pub type Visit<'a> = dyn FnMut(&RecordPlace, &Record<'_>) -> Payload + 'a;

/// Kind of a record's payload for who scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// It can be read, or is none that a reader would have to know.
    Readable,
    /// It is none of its kind.
    Unreadable,
    /// Its kind, or the version of that, is not known.
    Unknown,
}

impl Payload {
    /// Judges it by what decoding it came to.
    pub fn of<T, E>(
        decoded: &Result<T, E>,
        is_opaque: impl FnOnce(&E) -> bool,
        is_unknown: impl FnOnce(&E) -> bool,
    ) -> Self {
        match decoded {
            Ok(_) => Self::Readable,
            Err(error) if is_opaque(error) => Self::Readable,
            Err(error) if is_unknown(error) => Self::Unknown,
            Err(_) => Self::Unreadable,
        }
    }
}

impl DamageScan {
    /// Scans every segment in order. Records up to `mark` were durable; `None`: somebody writes
    /// now, and what lies behind a hole at the end is "not yet". It says nothing of records before
    /// the place that the log begins behind; [`DamageScan::lose_before`] does.
    ///
    /// # Errors
    /// The disk refused a call.
    pub fn of<S: ReadStorage>(
        storage: &S,
        source: &Source,
        mark: Option<u64>,
        visit: &mut Visit<'_>,
    ) -> Result<Self, SurveyError> {
        let durable = source.witnessed().max(mark.unwrap_or(0));
        let is_being_written = mark.is_none();
        let anchor = source.anchor();
        let mut scan = Self::behind(anchor.sequence);
        scan.findings.clone_from(&source.findings);
        let reached = anchor;
        let mut surveyor =
            DamageSurveyor { storage, source, durable, is_being_written, scan, reached, visit };
        for (index, segment) in source.segments.iter().enumerate() {
            surveyor.take(index, segment)?;
        }
        let DamageSurveyor { mut scan, visit, .. } = surveyor;
        let recalled = Recall::new(storage, source, visit).in_order(&scan.pieces)?;
        if let Some((pieces, moved)) = recalled {
            scan.take_moved(anchor.sequence, pieces, moved);
        }
        let head = source.head.filter(|head| !head.is_at_anchor());
        scan.finish(durable, head.as_ref());
        Ok(scan)
    }
}

struct DamageSurveyor<'a, S> {
    storage: &'a S,
    source: &'a Source,
    /// The newest record that was durable.
    durable: u64,
    is_being_written: bool,
    scan: DamageScan,
    /// The last record that is kept; the anchor before the first.
    reached: ChainPosition,
    visit: &'a mut Visit<'a>,
}

impl<S: ReadStorage> DamageSurveyor<'_, S> {
    fn take(&mut self, index: usize, segment: &SourceSegment) -> Result<(), SurveyError> {
        let file = segment_path(segment.name);
        let found = segment.first_sequence();
        let expected = self.scan.reached.saturating_add(1);
        let opened = self.storage.open(&file).map_err(io_error(&file))?;
        let Some(opened) = opened else { return Ok(()) };
        let mut window = Window::new(opened).map_err(io_error(&file))?;
        let taken = match &segment.state {
            SegmentState::NotKept(problem) => self.lose_whole(segment, problem, &mut window),
            _ if found < expected => {
                self.lose_whole(segment, &Problem::Gap { expected, found }, &mut window)
            }
            SegmentState::Good(header) => self.take_good(index, segment, *header, window),
            SegmentState::Damaged(header, problem) => {
                self.take_damaged(index, segment, *header, problem, window)
            }
        };
        taken.map_err(io_error(&file))
    }

    fn take_good(
        &mut self,
        index: usize,
        segment: &SourceSegment,
        header: SegmentHeader,
        mut window: Window<S::File>,
    ) -> io::Result<()> {
        if window.header()? != Ok(header) {
            return Err(io::Error::other("it was changed while it was read"));
        }
        self.check_length(segment, &header);
        self.check_history(segment, &header);
        // Where the header and the record before it agree on the link, one of them may say a later
        // time than it was.
        let (named, before) = (header.previous, self.reached);
        let is_same = (named.sequence, named.link) == (before.sequence, before.link);
        let time = if is_same { named.time.min(before.time) } else { named.time };
        let start = ChainPosition { time, ..named };
        self.survey(index, segment, header, Some(start), window)
    }

    /// The records hold what the header no longer says: the first one must follow from the record
    /// before it.
    fn take_damaged(
        &mut self,
        index: usize,
        segment: &SourceSegment,
        header: SegmentHeader,
        problem: &Problem,
        mut window: Window<S::File>,
    ) -> io::Result<()> {
        let is_blank = window.nonzero_end(0)?.is_none();
        // A blank one behind all records was made ready for the next.
        if is_blank && segment.name > self.source.witnessed() {
            return Ok(());
        }
        let file = segment_path(segment.name);
        self.scan.findings.push(text(&file, 0, segment.name, problem.clone()));
        if is_blank {
            return Ok(());
        }
        let last = last_nonzero(window.bytes(0, FIRST_RECORD)?);
        let length = last.map_or(0, |last| last as u64 + 1);
        let loss = Loss::new(segment.name, 0, length, problem.to_string());
        self.scan.lose(Loss { may_hold_records: false, ..loss });
        let follows = self.reached.sequence == header.previous.sequence;
        let start = follows.then_some(self.reached);
        let header = SegmentHeader { previous: start.unwrap_or(header.previous), ..header };
        self.survey(index, segment, header, start, window)
    }

    fn survey(
        &mut self,
        index: usize,
        segment: &SourceSegment,
        header: SegmentHeader,
        start: Option<ChainPosition>,
        window: Window<S::File>,
    ) -> io::Result<()> {
        let survey = SegmentSurvey {
            name: segment.name,
            header,
            search: Search::of(window.length()),
            window,
            marks: self.marks(index, &header),
            proven: self.durable,
            limit: self.limit(index),
            head: self.source.head,
            scan: &mut self.scan,
            visit: &mut *self.visit,
            searches_left: SEARCHES_MAX,
            breaks_left: SEARCHES_MAX,
        };
        if let Some(reached) = survey.survey(start)? {
            self.reached = reached;
        }
        Ok(())
    }

    /// HEAD's record when it lies here, and the last record as the next segment names it.
    fn marks(&self, index: usize, header: &SegmentHeader) -> Vec<Mark> {
        let first = header.first_sequence();
        let head = self.source.head.filter(|head| head.segment == first && !head.is_at_anchor());
        let witnessed = head.map(|head| Mark::of_head(&head));
        let behind = self.source.segments.get(index + 1..).unwrap_or_default();
        let next = behind.iter().find_map(SourceSegment::good_header).map(Mark::before);
        let mut marks: Vec<Mark> = witnessed.into_iter().chain(next).collect();
        marks.sort_by_key(|mark| mark.end);
        marks
    }

    /// The records of a segment are before this one: a later segment begins there, or a witness
    /// names that one.
    fn limit(&self, index: usize) -> u64 {
        let behind = self.source.segments.get(index + 1..).unwrap_or_default();
        match behind.iter().find_map(SourceSegment::header) {
            Some(next) => next.first_sequence().max(self.source.witnessed()),
            None if self.is_being_written => self.source.witnessed(),
            None => u64::MAX,
        }
    }

    fn check_length(&mut self, segment: &SourceSegment, header: &SegmentHeader) {
        if segment.length != header.capacity {
            let problem = Problem::Length { expected: header.capacity, found: segment.length };
            let offset = segment.length.min(header.capacity);
            let file = segment_path(segment.name);
            self.scan.findings.push(text(&file, offset, segment.name, problem));
        }
    }

    /// Two histories meet where a header names another link than that of the record before it. Both
    /// are kept, for nothing here tells which one was rewritten, and the place is marked.
    fn check_history(&mut self, segment: &SourceSegment, header: &SegmentHeader) {
        let (before, named) = (self.reached, header.previous);
        if before.sequence != named.sequence || before.link == named.link {
            return;
        }
        let fault = Fault::Link { expected: before.link, found: named.link };
        let problem = format!("it goes on from another history than the one before it: {fault}");
        let loss = Loss::new(segment.name, 0, 0, problem);
        self.scan.lose(Loss { first: header.first_sequence(), ..loss });
    }

    /// A file of which no record is kept.
    fn lose_whole(
        &mut self,
        segment: &SourceSegment,
        problem: &Problem,
        window: &mut Window<S::File>,
    ) -> io::Result<()> {
        let length = window.nonzero_end(0)?.unwrap_or(0);
        let loss = Loss::new(segment.name, 0, length, problem.to_string());
        self.scan.lose(Loss { may_hold_records: false, ..loss });
        Ok(())
    }
}
