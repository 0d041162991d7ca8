//! Reading a log whole, once: the survey of the log's rooms, with batches handed on only when they
//! are complete and follow from everything before them.

mod content;
mod stock;

use crate::anchor::Anchor;
use crate::finding::{Finding, Problem};
use crate::indexed_as_read::IndexedAsRead;
use crate::meaning::place_of;
use crate::progress::{Meter, Progress};
use crate::report::{MEANING_FINDINGS_MAX, Unproven};
pub(crate) use content::{Beside, cause_named_by, content_of, not_known, unread};
use content::{WorkerResult, complete};
use holdpoint_domain::application::{ApplicationEvent, ApplicationRecorded};
use holdpoint_domain::core::codec::DecodeError;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::log::{LogEvent, RECORDS_UNPROVEN, UnprovenRecords};
use holdpoint_domain::world::FIRST_OPAQUE_KIND;
use holdpoint_domain::{Envelope, Event};
use holdpoint_log_files::blocks::{Complete, Make};
use holdpoint_log_files::later::Later;
use holdpoint_log_files::reader::read_header;
use holdpoint_log_files::run::{Stop, walk};
use holdpoint_log_files::survey::{LastSegment, io_error, segment_path};
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{
    ArchivePlaces, Extent, Finding as LogFinding, Place, Problem as LogProblem, READINGS_MAX,
    ReadStorage, RecordPlace, Run, Survey, SurveyError, SurveyOptions, survey_completing,
};
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::tail::TailShape;
use holdpoint_log_format::{
    BootId, ChainPosition, Fault, Record, RecordHeader, SegmentHeader, names,
};
use std::cell::Cell;
use std::io;
use std::ops::ControlFlow;
use std::thread::available_parallelism;
use stock::{Returns, Spent};
use thiserror::Error;

/// More threads than this do not check and decode: the state is rebuilt by one.
const THREADS_MAX: usize = 8;

/// Facts about the machine that the reader is told.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ReadOptions<'a> {
    /// This boot; see [`crate::machine::this_boot`].
    pub boot: BootId,
    /// Returns whether a living writer holds LOCK now, or why that cannot be told; see
    /// [`crate::machine::is_locked`]. What follows the newest record is then "not yet" instead of
    /// damage.
    pub is_locked: &'a dyn Fn() -> io::Result<bool>,
}

impl<'a> ReadOptions<'a> {
    /// Makes them of what is told.
    #[must_use]
    pub const fn new(boot: BootId, is_locked: &'a dyn Fn() -> io::Result<bool>) -> Self {
        Self { boot, is_locked }
    }

    /// Returns whether a living writer holds LOCK now.
    ///
    /// # Errors
    /// LOCK cannot be looked at.
    pub fn is_being_written(&self) -> Result<bool, SurveyError> {
        (self.is_locked)().map_err(io_error(names::LOCK))
    }
}

/// Why a log cannot be read. Damage is no error: it is among the findings.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A file cannot be read, or is of a newer format version.
    #[error(transparent)]
    Survey(#[from] SurveyError),
    /// The state was asked for at a place that is not in this log any more.
    #[error(
        "the log begins behind record {anchor}, and what was asked for lies before: ask the archive"
    )]
    BeforeAnchor {
        /// The last record that was moved to an archive.
        anchor: u64,
    },
    /// The log changed while it was read: two readings of one place disagree, and the second one
    /// finds nothing wrong with it.
    #[error("the log was changed while it was read, in {file}; run it again")]
    Changed {
        /// The file, relative to the log's directory.
        file: String,
    },
    /// The log begins behind an anchor, and the state there is not known.
    #[error("no state can be told, for the one that the log begins with is not known: {finding}")]
    NoBeginning {
        /// Why not.
        finding: Box<Finding>,
    },
}

/// A record of a complete batch, in its place in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// Place of the record.
    pub place: RecordPlace,
    /// Its header.
    pub header: RecordHeader,
    /// Content of the record.
    pub content: Content,
    pub(crate) beside: Beside,
}

/// Content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// An event, and who caused it.
    Event(Box<Envelope>),
    /// It is no event: its kind is the log's user's own, and of no meaning to the rules.
    Opaque,
    /// Its payload was withheld: only the digest is here.
    Withheld,
    /// A payload that this program cannot read.
    Undecodable(DecodeError),
    /// Nobody asked what it says.
    NotRead,
}

impl Committed {
    /// Tenant and correlation of the thread that the record's event is about, where it can be read.
    #[must_use]
    pub fn thread(&self) -> Option<(&str, &str)> {
        self.envelope().and_then(|envelope| envelope.event.thread())
    }

    /// A record as it lies there.
    pub(crate) fn of(place: &RecordPlace, record: &Record<'_>) -> Self {
        let content = content_of(record, &|_| true);
        Self { place: *place, header: record.header.clone(), content, beside: Beside::default() }
    }

    /// Adds the records that it says are unproven.
    pub(crate) fn state_unproven(&self, unproven: &mut UnprovenRecords) {
        if self.content != Content::NotRead {
            let ranges = unproven_by(&self.header, self.envelope().map(|it| &it.event));
            ranges.into_iter().for_each(|(first, last)| unproven.add(first, last));
        }
    }

    /// Returns what the application says happened, where the record is an event of the application.
    #[must_use]
    pub fn application(&self) -> Option<&ApplicationRecorded> {
        match &self.envelope()?.event {
            Event::Application(ApplicationEvent::ApplicationRecorded(event)) => Some(event),
            _ => None,
        }
    }

    /// Returns when it was recorded.
    #[must_use]
    pub fn time(&self) -> Timestamp {
        Timestamp::from_nanoseconds(self.header.time)
    }

    /// The envelope, when it can be read.
    #[must_use]
    pub fn envelope(&self) -> Option<&Envelope> {
        match &self.content {
            Content::Event(envelope) => Some(envelope),
            Content::Opaque | Content::Withheld | Content::Undecodable(_) | Content::NotRead => {
                None
            }
        }
    }

    /// Why the state behind it is not known: its payload is withheld, or cannot be read. Of what is
    /// opaque none follows, also where its payload is withheld.
    pub(crate) fn unread(&self) -> Option<Finding> {
        let problem = match &self.content {
            _ if self.is_opaque() => return None,
            Content::Event(_) | Content::Opaque | Content::NotRead => return None,
            Content::Withheld => Problem::Log(LogProblem::Withheld),
            Content::Undecodable(error) => {
                let RecordHeader { kind, version, .. } = self.header;
                Problem::Payload { kind, version, error: error.clone() }
            }
        };
        Some(Finding { place: place_of(self), problem })
    }

    /// Returns whether it is no event.
    #[must_use]
    pub const fn is_opaque(&self) -> bool {
        self.header.kind >= FIRST_OPAQUE_KIND
    }
}

/// The first and the last of the records that this one says are unproven, before it or behind it:
/// where it does not tell which, for it is withheld or cannot be read, all before it.
pub(crate) fn unproven_by(header: &RecordHeader, event: Option<&Event>) -> Vec<(u64, u64)> {
    let sequence = header.sequence;
    match event {
        Some(Event::Log(LogEvent::RecordsUnproven(body)))
            if body.is_of_records_before(sequence) =>
        {
            vec![(body.first_sequence, body.last_sequence)]
        }
        Some(Event::Log(LogEvent::Salvaged(body))) => body.unproven_behind(sequence).collect(),
        None if header.kind == RECORDS_UNPROVEN && sequence > 1 => vec![(1, sequence - 1)],
        _ => Vec::new(),
    }
}

/// Result of one reading.
pub(crate) struct Reading {
    /// Everything the recovery table looked at, and its verdict.
    pub(crate) survey: Survey,
    /// Somebody was writing meanwhile.
    pub(crate) is_being_written: bool,
    /// Anchor at which the log begins.
    pub(crate) anchor: Anchor,
    /// Batches end here: the newest record handed on; at first the anchor.
    pub(crate) handed_on: ChainPosition,
    /// There is more in this segment, which does not follow from there.
    cut_off: Option<u64>,
    /// Bytes of all valid records, headers and padding included.
    pub(crate) record_bytes: u64,
    /// Withheld records; no event can authorise one yet.
    pub(crate) withheld: Vec<Finding>,
    /// Places of records that are not in the log's own directory.
    pub(crate) archives: ArchivePlaces,
    /// A file that tells of a record which is not here; looked for by whoever verifies.
    pub(crate) later: Option<Later>,
    /// The records that others of them say are unproven.
    pub(crate) unproven: UnprovenRecords,
    /// The indexes of segments, where they were asked for.
    pub(crate) indexes: IndexedAsRead,
}

impl Reading {
    /// Records behind those that were handed on were moved to an archive while the log was read:
    /// the log begins behind them by now, or nothing is wrong with it and yet they are missing.
    fn has_moved(&self) -> bool {
        let anchor = self.survey.head.valid().map_or(0, |head| head.anchor_sequence);
        anchor > self.handed_on.sequence
            || self.cut_off.is_some() && self.survey.findings.is_empty()
    }

    /// The unproven records that are in this log, not before its first one.
    pub(crate) fn unproven_here(&self) -> Vec<Unproven> {
        let first = self.anchor.position.sequence.saturating_add(1);
        let here = self.unproven.iter().filter(|(_, last)| *last >= first);
        here.map(|(begin, last)| Unproven { first: begin.max(first), last }).collect()
    }
}

/// An attempt at a reading, which counts how often the log is read.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    options: ReadOptions<'a>,
    /// Amount of the log that is read.
    pub(crate) extent: Extent,
    /// True if its events are judged, so that their evidence is hashed.
    pub(crate) judges: bool,
    /// True if the indexes of its segments are built.
    pub(crate) builds_indexes: bool,
    begun: &'a Cell<u32>,
}

impl Attempt<'_> {
    /// Counts one more beginning; `false` where there were enough.
    fn begins(self) -> bool {
        let begun = self.begun.get();
        self.begun.set(begun.saturating_add(1));
        begun < READINGS_MAX
    }

    /// Returns whether the log is not read again.
    fn is_last(self) -> bool {
        self.begun.get() >= READINGS_MAX
    }
}

/// Reads again, from the anchor on, as long as the anchor moves on before anything is handed on.
/// Reading again because the end moves counts among the same few times.
///
/// # Errors
/// Those of the attempts; [`ReadError::Changed`] where the anchor moves on again and again, or
/// moved past what was handed on.
pub(crate) fn steadily<T>(
    options: ReadOptions<'_>,
    mut read: impl FnMut(Attempt<'_>) -> Result<(Reading, T), ReadError>,
) -> Result<(Reading, T), ReadError> {
    let begun = Cell::new(0);
    let (extent, judges, builds_indexes) = (Extent::FromAnchor, false, false);
    let attempt = Attempt { options, extent, judges, builds_indexes, begun: &begun };
    let mut file = names::HEAD.to_string();
    while attempt.begins() {
        match read(attempt) {
            Ok((reading, found)) if !reading.has_moved() => return Ok((reading, found)),
            Ok((reading, _)) => {
                file = reading.cut_off.map_or(names::HEAD.to_string(), segment_path);
                if reading.handed_on != reading.anchor.position {
                    break;
                }
            }
            Err(ReadError::Survey(error)) if error.is_gone() => {}
            Err(error) => return Err(error),
        }
    }
    Err(ReadError::Changed { file })
}

/// Reads a log that begins at `anchor`. `visit` sees each complete batch once, in order, as long as
/// nothing is missing or damaged before it. Only the payloads of `wanted` records are decoded: by
/// the threads that check them.
pub(crate) fn read<S: ReadStorage>(
    storage: &S,
    anchor: Anchor,
    attempt: Attempt<'_>,
    wanted: &(dyn Fn(&RecordHeader) -> bool + Sync),
    progress: &mut dyn FnMut(Progress),
    visit: &mut dyn FnMut(&[Committed]),
) -> Result<Reading, ReadError> {
    let threads = available_parallelism().map_or(1, |threads| threads.get().min(THREADS_MAX));
    let made = |_: &RecordPlace, record: &Record<'_>| WorkerResult::of(content_of(record, wanted));
    let returns = Returns::default();
    let complete = |block: &mut [WorkerResult]| {
        returns.take_own();
        complete(block, attempt.judges, attempt.builds_indexes);
    };
    let meter = Meter::new(storage, progress);
    let mut batches = Batches::new(storage, meter, anchor, returns.spent(), visit);
    let Attempt { options, extent, builds_indexes, .. } = attempt;
    loop {
        // The last reading takes whatever follows the newest record as "not yet".
        let is_held = options.is_being_written()?;
        let is_being_written = is_held || attempt.is_last();
        batches.restart(builds_indexes);
        let survey_options =
            SurveyOptions::new(extent, options.boot).being_written(is_being_written);
        let mut take = |place: &RecordPlace, record: &Record<'_>, made| {
            batches.take(*place, record, made);
        };
        let make: (&Make<'_, WorkerResult>, &Complete<'_, WorkerResult>) = (&made, &complete);
        let survey = survey_completing(storage, survey_options, threads, make, &mut take)
            .map_err(|error| batches.moved(error))?;
        if is_being_written || is_settled(storage, options, &survey)? {
            let is_followed = survey.evidence.tail != TailShape::Zero;
            return Ok(batches.into_reading(survey, is_held || is_being_written && is_followed)?);
        }
        attempt.begins();
    }
}

/// Returns whether what follows the newest record was left behind, rather than being written just
/// now: it is read again, and nobody holds LOCK.
fn is_settled<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    survey: &Survey,
) -> Result<bool, ReadError> {
    if survey.evidence.tail == TailShape::Zero {
        return Ok(true);
    }
    let stands_still = tail_stands_still(storage, survey)
        .map_err(|(file, source)| ReadError::Survey(SurveyError::Io { file, source }))?;
    Ok(stands_still && !options.is_being_written()?)
}

fn tail_stands_still<S: ReadStorage>(
    storage: &S,
    survey: &Survey,
) -> Result<bool, (String, io::Error)> {
    let Some(last) = &survey.last else { return Ok(true) };
    let file = segment_path(last.header.first_sequence());
    let stop = (last.run.stop_offset, &last.run.stop);
    // A claim about a record before the run is only known to be false where that one was read.
    let makes_claim = |place: &RecordPlace, header: &RecordHeader| {
        let found = header.mark().ok().flatten().unwrap_or(0);
        let claim = Fault::ClaimInBatch { sequence: header.sequence, found };
        (place.offset, &Stop::Fault(claim)) == stop
    };
    let mut is_claimed = false;
    let mut again = || -> io::Result<Option<(Run, Option<u64>)>> {
        let Some(opened) = storage.open(&file)? else { return Ok(None) };
        let mut window = Window::new(opened)?;
        let from = Run::from(last.run.chain, last.run.record_offset, last.run.end_offset);
        let run = walk(&mut window, &last.header, from, &mut |place, record| {
            is_claimed = makes_claim(place, &record.header);
            if is_claimed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let end = window.nonzero_end(last.run.end_offset)?;
        Ok(Some((run, end)))
    };
    let found = again().map_err(|source| (file.clone(), source))?;
    Ok(found.is_some_and(|(run, end)| {
        (is_claimed || (run.stop_offset, &run.stop) == stop) && end == last.tail_end
    }))
}

/// Gathers records into batches. A record counts only when it follows from the last one: behind a
/// gap or a splice nothing is handed on any more. A second reading skips what was handed on.
struct Batches<'s, 'v, S> {
    storage: &'s S,
    anchor: Anchor,
    meter: Meter<'v>,
    visit: &'v mut dyn FnMut(&[Committed]),
    last: ChainPosition,
    record_bytes: u64,
    segment: u64,
    /// The segment in which something does not follow.
    cut_off: Option<u64>,
    pending: Vec<Committed>,
    spent: Spent<'v>,
    withheld: Vec<Finding>,
    unproven: UnprovenRecords,
    /// The newest record that the report of a salvage says is there.
    stated: u64,
    /// Error of the disk on a header that was read again.
    failed: Option<SurveyError>,
    indexes: Option<IndexedAsRead>,
}

impl<'s, 'v, S: ReadStorage> Batches<'s, 'v, S> {
    fn new(
        storage: &'s S,
        meter: Meter<'v>,
        anchor: Anchor,
        spent: Spent<'v>,
        visit: &'v mut dyn FnMut(&[Committed]),
    ) -> Self {
        Self {
            storage,
            anchor,
            meter,
            visit,
            last: anchor.position,
            record_bytes: 0,
            segment: 0,
            cut_off: None,
            pending: Vec::new(),
            spent,
            withheld: Vec::new(),
            unproven: UnprovenRecords::default(),
            stated: 0,
            failed: None,
            indexes: None,
        }
    }

    fn into_reading(
        self,
        mut survey: Survey,
        is_being_written: bool,
    ) -> Result<Reading, SurveyError> {
        find_cut_off(&mut survey, self.stated);
        self.failed.map_or(Ok(()), Err)?;
        Ok(Reading {
            survey,
            is_being_written,
            anchor: self.anchor,
            handed_on: self.last,
            cut_off: self.cut_off,
            record_bytes: self.record_bytes,
            withheld: self.withheld,
            archives: self.storage.archives(),
            later: None,
            unproven: self.unproven,
            indexes: self.indexes.unwrap_or_default().complete(),
        })
    }

    /// A segment that is gone: a reading that has handed nothing on yet can begin anew.
    fn moved(&self, error: SurveyError) -> ReadError {
        let is_gone = error.is_gone() && self.last != self.anchor.position;
        match error {
            SurveyError::Io { file, .. } if is_gone => ReadError::Changed { file },
            error => error.into(),
        }
    }

    fn restart(&mut self, builds_indexes: bool) {
        self.indexes = builds_indexes.then(IndexedAsRead::default);
        self.segment = 0;
        self.record_bytes = 0;
        self.cut_off = None;
        self.pending.clear();
    }

    fn take(&mut self, place: RecordPlace, record: &Record<'_>, made: WorkerResult) {
        self.record_bytes = self.record_bytes.saturating_add(place.length);
        if place.offset == SEGMENT_HEADER_LENGTH as u64 {
            // A batch ends in the segment in which it began, and each segment has its own threads.
            self.pending.clear();
            self.spent.free_all();
        }
        self.add_to_index(&place, &record.header, &made);
        let due = self.last.sequence.saturating_add(1).saturating_add(self.pending.len() as u64);
        if self.cut_off.is_some() || record.header.sequence < due {
            return;
        }
        let is_next = record.header.sequence == due && self.follows_across(place);
        if !is_next {
            self.cut_off = Some(place.segment);
            return;
        }
        let (header, WorkerResult { content, beside }) = (record.header.clone(), made);
        self.pending.push(Committed { place, header, content, beside });
        if !record.header.flags.more_follows() {
            self.hand_on(record);
        }
    }

    /// Adds a record to the index; where a header cannot be read again, the index is built from the
    /// segment when it is needed.
    fn add_to_index(&mut self, place: &RecordPlace, header: &RecordHeader, made: &WorkerResult) {
        let Some(indexes) = &mut self.indexes else { return };
        if place.offset == SEGMENT_HEADER_LENGTH as u64 {
            let header = read_header(self.storage, place.segment).ok().flatten();
            indexes.begin_segment(header.as_ref());
        }
        indexes.add(place.offset, header, &made.content, made.beside.terms.as_ref());
    }

    fn hand_on(&mut self, record: &Record<'_>) {
        let header = &record.header;
        self.last =
            ChainPosition { sequence: header.sequence, link: header.link, time: header.time };
        self.find_withheld();
        for record in &self.pending {
            record.state_unproven(&mut self.unproven);
            if let Some(Event::Log(LogEvent::Salvaged(body))) =
                record.envelope().map(|it| &it.event)
            {
                self.stated = self.stated.max(body.last_sequence);
            }
        }
        (self.visit)(&self.pending);
        self.meter.reached(header.sequence);
        for Committed { header, content, beside, .. } in self.pending.drain(..) {
            self.spent.take(beside.made_by, content, header.size);
        }
    }

    fn find_withheld(&mut self) {
        let withheld = self.pending.iter().filter(|record| record.content == Content::Withheld);
        let problem = Problem::Log(LogProblem::Withheld);
        let room = MEANING_FINDINGS_MAX.saturating_sub(self.withheld.len());
        let found = withheld.take(room);
        let finding = |record| Finding { place: place_of(record), problem: problem.clone() };
        self.withheld.extend(found.map(finding));
    }

    /// Inside a segment the survey has checked the chain; from one to the next the header must
    /// name the record that was handed on last.
    fn follows_across(&mut self, place: RecordPlace) -> bool {
        if self.segment == place.segment || place.offset != SEGMENT_HEADER_LENGTH as u64 {
            return true;
        }
        self.segment = place.segment;
        let header = match read_header(self.storage, place.segment) {
            Ok(header) => header,
            Err(error) => {
                self.failed = Some(error);
                None
            }
        };
        header.is_some_and(|header| header.previous == self.due_before(&header))
    }

    fn due_before(&self, header: &SegmentHeader) -> ChainPosition {
        if self.last.sequence == 0 { ChainPosition::genesis(header.log) } else { self.last }
    }
}

/// Finds a log that a salvage made and that ends earlier than its report says. An archive holds the
/// beginning alone.
fn find_cut_off(survey: &mut Survey, stated: u64) {
    let Some(LastSegment { header, run, .. }) = &survey.last else { return };
    if survey.is_archive || stated <= run.chain.sequence {
        return;
    }
    let file = segment_path(header.first_sequence());
    let place = Place { file, offset: run.stop_offset, sequence: run.stop_sequence };
    let first = run.chain.sequence.saturating_add(1);
    let problem = LogProblem::BelowMark { first, last: stated };
    if survey.findings.iter().all(|finding| finding.place != place) {
        survey.findings.push(LogFinding::new(place, problem));
    }
}
