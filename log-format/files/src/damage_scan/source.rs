//! The log that is scanned, as its names, HEAD and headers tell of it. It is only read.

use super::frames::Frame;
use crate::finding::{Finding, Place, Problem};
use crate::head::read_head;
use crate::storage::{Entry, EntryKind, ReadStorage};
use crate::survey::{SurveyError, io_error, newer, segment_path};
use crate::window::Window;
use holdpoint_log_format::limits::{
    SEGMENT_CAPACITY_LEAST, SEGMENT_CAPACITY_MAX, SEGMENT_HEADER_LENGTH,
};
use holdpoint_log_format::{ChainPosition, Fault, Head, Link, LogId, SegmentHeader, names};
use std::collections::BTreeMap;

/// The log that is scanned.
#[derive(Debug)]
pub struct Source {
    /// Its id; what belongs to another one is not kept.
    pub log: LogId,
    /// Its HEAD, when it holds and is this log's.
    pub head: Option<Head>,
    /// Its segments by first sequence.
    pub segments: Vec<SourceSegment>,
    /// Findings of its names and of HEAD.
    pub findings: Vec<String>,
}

/// A file with a segment's name.
#[derive(Clone, Debug)]
pub struct SourceSegment {
    /// The number in its name.
    pub name: u64,
    /// Its length in bytes.
    pub length: u64,
    /// State of the segment.
    pub state: SegmentState,
}

/// State of a segment: what can be made of it.
#[derive(Clone, Debug)]
pub enum SegmentState {
    /// Its header holds and is this log's.
    Good(SegmentHeader),
    /// Its header is damaged, or says another log or beginning than its first record does. What it
    /// must have said: the log, and the first sequence by its name; the link before its first
    /// record is not known.
    Damaged(SegmentHeader, Problem),
    /// Nothing in it is a record of this log, or its records are there already.
    NotKept(Problem),
}

impl SourceSegment {
    /// The sequence of its first record, as far as anything tells.
    #[must_use]
    pub fn first_sequence(&self) -> u64 {
        self.header().map_or(self.name, SegmentHeader::first_sequence)
    }

    /// Its header, or what that must have said.
    pub(super) fn header(&self) -> Option<&SegmentHeader> {
        match &self.state {
            SegmentState::Good(header) | SegmentState::Damaged(header, _) => Some(header),
            SegmentState::NotKept(_) => None,
        }
    }

    /// Its header, when it holds.
    #[must_use]
    pub fn good_header(&self) -> Option<&SegmentHeader> {
        match &self.state {
            SegmentState::Good(header) => Some(header),
            SegmentState::Damaged(..) | SegmentState::NotKept(_) => None,
        }
    }
}

impl Source {
    /// Looks at a log. `None` when there is neither HEAD nor anything in a segment's place.
    ///
    /// # Errors
    /// The disk refused a call, or a file is of a newer format version.
    pub fn look<S: ReadStorage>(storage: &S) -> Result<Option<Self>, SurveyError> {
        let mut findings = Vec::new();
        let head = witness(storage, &mut findings)?;
        let is_witness = |entry: &Entry| entry.name == names::HEAD;
        let is_witnessed = storage.list("").map_err(io_error("."))?.iter().any(is_witness);
        let told = findings.len();
        let files = read_headers(storage, &mut findings)?;
        if files.is_empty() && findings.len() == told && !is_witnessed {
            return Ok(None);
        }
        let log = identity(head.as_ref(), &files);
        let head = head.filter(|head| {
            let is_ours = head.log == log;
            if !is_ours {
                let problem = Problem::ForeignLog { expected: log, found: head.log };
                findings.push(text(names::HEAD, 0, 0, problem));
            }
            is_ours
        });
        let mut judged = Vec::with_capacity(files.len());
        for file in files {
            judged.push(file.judged(storage, log)?);
        }
        let segments = sorted(judged, &mut findings);
        find_wrong_anchor(head.as_ref(), &segments, &mut findings);
        Ok(Some(Self { log, head, segments, findings }))
    }

    /// The place before the first record that the log holds: HEAD's anchor, unless a segment
    /// begins before it. Without HEAD, what the first segment says.
    #[must_use]
    pub fn anchor(&self) -> ChainPosition {
        let first = self.segments.iter().find_map(SourceSegment::good_header);
        let begins_behind =
            |head: &Head| first.is_none_or(|first| first.previous.sequence >= head.anchor_sequence);
        match self.head.filter(begins_behind) {
            Some(head) => self.timed(head.anchor_sequence, head.anchor_link),
            None => self.first_place(),
        }
    }

    /// Returns whether HEAD says that the records up to `place` are in an archive.
    #[must_use]
    pub fn is_archived(&self, place: &ChainPosition) -> bool {
        self.head.is_some_and(|head| place.sequence <= head.anchor_sequence)
    }

    /// Returns how many records HEAD names; `None` without HEAD.
    #[must_use]
    pub fn records_named(&self) -> Option<u64> {
        self.head.map(|head| head.newest_sequence.saturating_sub(head.anchor_sequence))
    }

    /// The place before the first segment, when its header holds.
    fn first_place(&self) -> ChainPosition {
        let mut ours = self.segments.iter().filter(|segment| segment.header().is_some());
        let header = ours.next().and_then(SourceSegment::good_header);
        let previous = header.map(|header| header.previous).filter(|place| place.sequence > 0);
        previous.unwrap_or_else(|| ChainPosition::genesis(self.log))
    }

    /// The place with the time that a header names for it, if one does.
    fn timed(&self, sequence: u64, link: Link) -> ChainPosition {
        let previous = self.segments.iter().filter_map(SourceSegment::good_header);
        let mut previous =
            previous.map(|header| header.previous).filter(|place| place.sequence > 0);
        let same = previous.find(|place| (place.sequence, place.link) == (sequence, link));
        same.unwrap_or(ChainPosition { sequence, link, time: 0 })
    }

    /// The highest sequence that HEAD or a header names.
    #[must_use]
    pub fn witnessed(&self) -> u64 {
        let headers = self.segments.iter().filter_map(SourceSegment::good_header);
        let named = headers.map(|header| header.previous.sequence);
        named.chain(self.head.map(|head| head.newest_sequence)).max().unwrap_or(0)
    }
}

/// A finding in words.
pub(super) fn text(file: &str, offset: u64, sequence: u64, problem: Problem) -> String {
    let place = Place { file: file.to_string(), offset, sequence };
    Finding { place, problem }.to_string()
}

/// Returns what HEAD says; what is wrong with it is a finding.
fn witness<S: ReadStorage>(
    storage: &S,
    findings: &mut Vec<String>,
) -> Result<Option<Head>, SurveyError> {
    let head = read_head(storage)?;
    Ok(head.map_err(|problem| findings.push(text(names::HEAD, 0, 0, problem))).ok())
}

/// A file with a segment's name, and its header or what is wrong with that.
struct SegmentHeaderFile {
    name: u64,
    length: u64,
    header: Result<SegmentHeader, Fault>,
}

fn read_headers<S: ReadStorage>(
    storage: &S,
    findings: &mut Vec<String>,
) -> Result<Vec<SegmentHeaderFile>, SurveyError> {
    let mut files = Vec::new();
    let is_link = storage
        .list("")
        .map_err(io_error("."))?
        .into_iter()
        .any(|entry| entry.name == names::SEGMENTS && entry.kind != EntryKind::Directory);
    if is_link {
        findings.push(format!("{}: it is not a directory", names::SEGMENTS));
        return Ok(files);
    }
    let mut entries = storage.list(names::SEGMENTS).map_err(io_error(names::SEGMENTS))?;
    entries.sort();
    for entry in entries {
        match names::parse_segment(&entry.name) {
            Some(name) if entry.kind == EntryKind::File => files.extend(named(storage, name)?),
            Some(name) => findings.push(text(&segment_path(name), 0, name, Problem::NotRegular)),
            None if is_no_evidence(&entry.name) => {}
            None => findings.push(format!(
                "{}/{}: it has no segment's name and was left alone",
                names::SEGMENTS,
                entry.name
            )),
        }
    }
    Ok(files)
}

/// Returns whether a name is one that a log may hold beside its segments: a file that is made ready
/// for one, or an index, which is made anew from the records.
fn is_no_evidence(name: &str) -> bool {
    let parsers = [names::parse_prepared, names::parse_index, names::parse_index_temporary];
    parsers.iter().any(|parse| parse(name).is_some())
}

/// A file that went away meanwhile is not there.
fn named<S: ReadStorage>(storage: &S, name: u64) -> Result<Option<SegmentHeaderFile>, SurveyError> {
    let file = segment_path(name);
    let Some(opened) = storage.open(&file).map_err(io_error(&file))? else { return Ok(None) };
    let mut window = Window::new(opened).map_err(io_error(&file))?;
    let header = window.header().map_err(io_error(&file))?;
    if let Some(error) = header.as_ref().err().and_then(|fault| newer(&file, fault)) {
        return Err(error);
    }
    Ok(Some(SegmentHeaderFile { name, length: window.length(), header }))
}

/// The log that is scanned: HEAD's when any segment agrees, else the one of most segments.
fn identity(head: Option<&Head>, files: &[SegmentHeaderFile]) -> LogId {
    let mut counts: BTreeMap<LogId, usize> = BTreeMap::new();
    for header in files.iter().filter_map(|file| file.header.as_ref().ok()) {
        *counts.entry(header.log).or_default() += 1;
    }
    let witnessed = head.map(|head| head.log);
    let most = counts.iter().max_by_key(|(_, count)| **count).map(|(log, _)| *log);
    witnessed
        .filter(|log| counts.contains_key(log))
        .or(most)
        .or(witnessed)
        .unwrap_or(LogId([0; 16]))
}

/// Gives every file its standing, and sorts by first sequence. Of several that say they begin at
/// the same record, the one with the right name counts, else the first.
fn sorted(mut segments: Vec<SourceSegment>, findings: &mut Vec<String>) -> Vec<SourceSegment> {
    segments.sort_by_key(|segment| {
        let first = segment.first_sequence();
        let is_good = segment.good_header().is_some();
        (first, !is_good, segment.name != first, segment.name)
    });
    let mut taken = None;
    for segment in &mut segments {
        let (expected, found) = (segment.name, segment.first_sequence());
        let counts = segment.header().is_some();
        let renamed = Problem::Renamed { expected, found };
        if counts && taken == Some(found) {
            segment.state = SegmentState::NotKept(renamed);
        } else if counts {
            taken = Some(found);
            if expected != found {
                findings.push(text(&segment_path(expected), 0, expected, renamed));
            }
        }
    }
    segments
}

/// HEAD names an anchor that is not where the log begins.
fn find_wrong_anchor(head: Option<&Head>, segments: &[SourceSegment], findings: &mut Vec<String>) {
    let first = segments.iter().find(|segment| segment.good_header().is_some());
    let (Some(head), Some(first)) = (head, first) else { return };
    let (expected, found) = (head.anchor_sequence.saturating_add(1), first.first_sequence());
    if found != expected {
        let problem = Problem::NotTheAnchor { expected, found };
        findings.push(text(&segment_path(first.name), 0, found, problem));
    }
}

impl SegmentHeaderFile {
    fn judged<S: ReadStorage>(self, storage: &S, log: LogId) -> Result<SourceSegment, SurveyError> {
        let (name, length) = (self.name, self.length);
        let inferred = name.checked_sub(1).map(|_| inferred_header(log, name, length));
        let problem = match self.header {
            Ok(header) if header.log != log => {
                Problem::ForeignLog { expected: log, found: header.log }
            }
            Ok(header) if header.first_sequence() != name => {
                Problem::Renamed { expected: name, found: header.first_sequence() }
            }
            Ok(header) => {
                return Ok(SourceSegment { name, length, state: SegmentState::Good(header) });
            }
            Err(ref fault) => fault.clone().into(),
        };
        let is_damaged = match (&inferred, &self.header) {
            (Some(header), Ok(_)) => begins_with_record_of(storage, name, header)?,
            (inferred, _) => inferred.is_some(),
        };
        let state = match (inferred, self.header) {
            (Some(inferred), _) if is_damaged => SegmentState::Damaged(inferred, problem),
            (_, Ok(header)) if header.log == log => SegmentState::Good(header),
            _ => SegmentState::NotKept(problem),
        };
        Ok(SourceSegment { name, length, state })
    }
}

/// Returns whether the first record of a segment has a checksum that this header seeds.
fn begins_with_record_of<S: ReadStorage>(
    storage: &S,
    name: u64,
    header: &SegmentHeader,
) -> Result<bool, SurveyError> {
    let file = segment_path(name);
    let Some(opened) = storage.open(&file).map_err(io_error(&file))? else { return Ok(false) };
    let mut window = Window::new(opened).map_err(io_error(&file))?;
    let first = Frame::at(&mut window, header, SEGMENT_HEADER_LENGTH as u64);
    Ok(first.map_err(io_error(&file))?.is_some())
}

/// Infers what the header of a segment must have said, but for the link and time before its first
/// record, by its name and length.
#[must_use]
pub fn inferred_header(log: LogId, first: u64, length: u64) -> SegmentHeader {
    let genesis = ChainPosition::genesis(log);
    let previous = ChainPosition { sequence: first.saturating_sub(1), ..genesis };
    let capacity = length.clamp(SEGMENT_CAPACITY_LEAST, SEGMENT_CAPACITY_MAX) / 8 * 8;
    SegmentHeader { log, previous, capacity, previous_seal_offset: 0 }
}
