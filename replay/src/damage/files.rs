//! The files of a log, one after another: names, headers, HEAD, and each segment's records.

use super::cause::Explained;
use super::header::{by_checksum, compared, head, unknown};
use super::ledger::Ledger;
use super::region::{Cause, Records, Region, Witness};
use super::segment::{Ended, FIRST_RECORD, SegmentMapper};
use super::view::View;
use super::{DamageMap, MappedSegment, SalvageYield};
use crate::read::ReadError;
use crate::verify::{OutsideState, Witnessed};
use holdpoint_log_files::damage_scan::{
    DamageScan, Frame, Piece, SegmentState, Source, inferred_header,
};
use holdpoint_log_files::survey::{HeadFile, HeaderBlock, SegmentFile, segment_path};
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{Problem, ReadFile, ReadStorage, Survey, SurveyError};
use holdpoint_log_format::limits::{HEAD_LENGTH, next_capacity};
use holdpoint_log_format::{ChainPosition, Fault, Head, Link, LogId, SegmentHeader, names};
use std::collections::BTreeMap;
use std::io;

/// A log while it is mapped.
pub(super) struct Mapper<'s, S> {
    storage: &'s S,
    survey: &'s Survey,
    scanned: Option<&'s (Source, DamageScan)>,
    is_being_written: bool,
    log: Option<LogId>,
    head: Option<Head>,
    seeds: Vec<(u64, u32)>,
    ledger: Ledger,
    segments: Vec<MappedSegment>,
    /// Pieces that the scan tells of each file, by the number in its name.
    pieces: BTreeMap<u64, Vec<&'s Piece>>,
    /// The last record so far, and where its segment's seal is.
    ended: Option<Ended>,
    /// The newest record that was kept or blamed.
    accounted: u64,
    capacity: u64,
}

impl<'s, S: ReadStorage> Mapper<'s, S> {
    pub(super) fn new(
        storage: &'s S,
        survey: &'s Survey,
        scanned: Option<&'s (Source, DamageScan)>,
        is_being_written: bool,
        outside: u64,
    ) -> Self {
        let log = scanned.map(|(source, _)| source.log);
        let head = scanned.and_then(|(source, _)| source.head);
        let seed = |segment: &SegmentFile| {
            let first = segment.first_sequence;
            Some((first, inferred_header(log?, first, 0).seed().of(&[])))
        };
        Self {
            storage,
            survey,
            scanned,
            is_being_written,
            log,
            head,
            seeds: survey.segments.iter().filter_map(seed).collect(),
            ledger: Ledger::new(outside),
            segments: Vec::new(),
            pieces: scanned.map(|(_, scan)| by_file(scan)).unwrap_or_default(),
            ended: None,
            accounted: head.map_or(0, |head| head.anchor_sequence),
            capacity: 0,
        }
    }

    /// Maps HEAD, then the segments.
    pub(super) fn map(&mut self) -> Result<(), ReadError> {
        self.map_head()?;
        let anchor = self.anchor();
        self.ended = anchor.map(|chain| Ended { chain, seal: Some(0) });
        for index in 0..self.survey.segments.len() {
            self.map_segment(index)?;
        }
        self.map_missing(self.head.map_or(0, |head| head.newest_sequence));
        Ok(())
    }

    /// Says of each head that was kept outside and that the log does not agree with.
    pub(super) fn map_heads(&mut self, heads: &[Witnessed]) {
        let newest = self.ended.map_or(0, |ended| ended.chain.sequence);
        for head in heads {
            let (first, to) = (newest.saturating_add(1), head.sequence);
            let (cause, records) = match head.state {
                OutsideState::Differs => (self.ledger.rechained(to, Witness::OutsideHead), None),
                OutsideState::Missing => (Cause::Truncated, Records::new(first, to)),
                _ => continue,
            };
            self.add(names::SEGMENTS, 0, 0, records, Explained::proven(cause));
        }
    }

    /// The map, with a region for every finding that no region tells of yet.
    pub(super) fn finish(mut self, salvage: SalvageYield) -> DamageMap {
        self.ledger.find_moved();
        self.ledger.find_renamed();
        for finding in &self.survey.findings {
            let place = &finding.place;
            let is_told = match is_consequence(&finding.problem) {
                true => !self.ledger.regions.is_empty(),
                false => self.ledger.tells_of(&place.file),
            };
            if !is_told {
                let why = match &finding.problem {
                    Problem::NotRegular => Explained::proven(Cause::NotAFile),
                    problem => unknown(problem),
                };
                self.add(&place.file, place.offset, 0, None, why);
            }
        }
        let ledger = self.ledger;
        DamageMap {
            picture: ledger.drawing.finish(),
            segments: self.segments,
            regions: ledger.regions,
            regions_left_out: ledger.regions_left_out,
            stretches: ledger.stretches,
            stretches_left_out: ledger.stretches_left_out,
            salvage,
        }
    }

    fn add(
        &mut self,
        file: &str,
        offset: u64,
        length: u64,
        records: Option<Records>,
        why: Explained,
    ) {
        let (file, cause, certainty) = (file.to_string(), why.cause, why.certainty);
        self.ledger.add(Region { file, offset, length, records, cause, certainty });
    }

    fn map_head(&mut self) -> Result<(), ReadError> {
        let length = HEAD_LENGTH as u64;
        match &self.survey.head {
            HeadFile::Missing if self.survey.segments.is_empty() => {}
            HeadFile::Missing => {
                self.add(names::HEAD, 0, 0, None, Explained::proven(Cause::Missing));
            }
            HeadFile::Garbage(fault) => {
                let file = self.storage.open(names::HEAD).map_err(of(names::HEAD))?;
                let mut bytes = [0; HEAD_LENGTH + 1];
                let read = file.map_or(Ok(0), |file| file.read_at(0, &mut bytes));
                let read = read.map_err(of(names::HEAD))?;
                let bytes = bytes.get(..read).unwrap_or_default();
                self.add(names::HEAD, 0, bytes.len() as u64, None, head(bytes, fault));
            }
            HeadFile::Valid(found) if Some(found.log) != self.log => {
                let cause = Cause::Foreign { log: Some(found.log.to_string()), segment: None };
                self.add(names::HEAD, 0, length, None, Explained::proven(cause));
            }
            HeadFile::Valid(found) => {
                let genesis = Link::genesis(found.log);
                if found.anchor_sequence == 0 && found.anchor_link != genesis {
                    let cause = Cause::Forged { field: "anchor link".to_string() };
                    self.add(names::HEAD, 0, length, None, Explained::proven(cause));
                }
            }
        }
        Ok(())
    }

    /// The place before the first record, as HEAD or the log's identity tells it.
    fn anchor(&self) -> Option<ChainPosition> {
        let (source, _) = self.scanned?;
        let first = self.survey.segments.first().map(|first| first.first_sequence);
        (source.head.is_some() || first == Some(1)).then(|| source.anchor())
    }

    fn map_segment(&mut self, index: usize) -> Result<(), ReadError> {
        let Some(segment) = self.survey.segments.get(index) else { return Ok(()) };
        let path = segment_path(segment.first_sequence);
        let opened = self.storage.open(&path).map_err(of(&path))?;
        let Some(opened) = opened else { return Ok(()) };
        let mapped = || -> io::Result<()> {
            let mut window = Window::new(opened)?;
            let used = window.nonzero_end(0)?.unwrap_or(0);
            let (first, length) = (segment.first_sequence, window.length());
            self.segments.push(MappedSegment { file: path.clone(), first, length, used });
            self.ledger.drawing.begin(first, used);
            let Some((header, start)) = self.map_header(index, segment, &mut window, used)? else {
                return Ok(());
            };
            if self.ended.is_some_and(|ended| header.first_sequence() <= ended.chain.sequence) {
                let again = Cause::Duplicated { sequence: header.first_sequence() };
                self.add(&path, 0, used, None, Explained::fits(again));
                return Ok(());
            }
            self.map_missing(header.previous.sequence);
            self.map_records(index, header, start, (window, used, &path))
        };
        mapped().map_err(of(&path))
    }

    /// Looks at a segment's header; gives what it is to be read with, and the place before its
    /// first record where that is known. `None`: there is nothing of this log to be read.
    fn map_header(
        &mut self,
        index: usize,
        segment: &SegmentFile,
        window: &mut Window<S::File>,
        used: u64,
    ) -> io::Result<Option<(SegmentHeader, Option<ChainPosition>)>> {
        let Some(log) = self.log else { return Ok(None) };
        let name = segment.first_sequence;
        let length = window.length();
        match &segment.header {
            HeaderBlock::Valid(header) if header.log == log && header.first_sequence() == name => {
                self.map_good_header(index, *header, window).map(Some)
            }
            HeaderBlock::Valid(header) => {
                if self.is_damaged(name) {
                    let field = if header.log == log { "first sequence" } else { "log id" };
                    let why = Explained::proven(Cause::Forged { field: field.to_string() });
                    self.add(&segment_path(name), 0, FIRST_RECORD, None, why);
                    return Ok(Some(self.rebuilt(log, name, length)));
                }
                let cause = match header.log == log {
                    true => Cause::Renamed { holds: header.first_sequence() },
                    false => Cause::Foreign { log: Some(header.log.to_string()), segment: None },
                };
                let why = Explained::proven(cause);
                self.add(&segment_path(name), 0, used, None, why);
                Ok(None)
            }
            HeaderBlock::Bad(fault) => {
                let is_last = index + 1 == self.survey.segments.len();
                self.map_bad_header(name, fault, window, used, is_last)
            }
            HeaderBlock::NotRead => Ok(None),
        }
    }

    /// Returns whether the scan reads a segment by its name, for its header is not to be believed.
    fn is_damaged(&self, name: u64) -> bool {
        let segments = self.scanned.map(|(source, _)| source.segments.as_slice());
        let mut same = segments.unwrap_or_default().iter().filter(|segment| segment.name == name);
        same.any(|segment| matches!(segment.state, SegmentState::Damaged(..)))
    }

    /// The header that follows from what is before it, and the place before its first record.
    fn rebuilt(
        &self,
        log: LogId,
        name: u64,
        length: u64,
    ) -> (SegmentHeader, Option<ChainPosition>) {
        let header = inferred_header(log, name, length);
        let before = self.ended.filter(|ended| ended.chain.sequence.checked_add(1) == Some(name));
        let Some(before) = before else { return (header, None) };
        let previous_seal_offset = before.seal.unwrap_or(0);
        let previous = before.chain;
        (SegmentHeader { previous, previous_seal_offset, ..header }, Some(previous))
    }

    fn map_bad_header(
        &mut self,
        name: u64,
        fault: &Fault,
        window: &mut Window<S::File>,
        used: u64,
        is_last: bool,
    ) -> io::Result<Option<(SegmentHeader, Option<ChainPosition>)>> {
        let Some(log) = self.log else { return Ok(None) };
        let length = window.length();
        let (due, start) = self.rebuilt(log, name, length);
        let path = segment_path(name);
        // A roll that lost power before anything was written to the new segment: nothing is wrong.
        if used == 0 && is_last && self.survey.mark < name {
            return Ok(None);
        }
        if length < FIRST_RECORD {
            self.add(&path, length, 0, None, Explained::proven(Cause::Truncated));
            return Ok(None);
        }
        if used == 0 {
            let sectors = length / super::cause::SECTOR;
            let why = Explained::proven(Cause::Zeroed { from: 0, to: length, sectors });
            self.add(&path, 0, length, None, why);
            return Ok(Some((due, start)));
        }
        let block = window.bytes(0, FIRST_RECORD)?;
        let is_exact = start.is_some() && self.ended.is_some_and(|ended| ended.seal.is_some());
        let holds = |block: &[u8]| {
            block.first_chunk().is_some_and(|block| SegmentHeader::decode(block).is_ok())
        };
        let why = match by_checksum(block, fault, &holds) {
            Some(flip) => flip,
            None if is_exact => compared(&due, block),
            None => unknown(fault),
        };
        self.add(&path, 0, FIRST_RECORD, None, why);
        Ok(Some((due, start)))
    }

    /// A header that holds, beside what lies before it and behind it.
    fn map_good_header(
        &mut self,
        index: usize,
        header: SegmentHeader,
        window: &mut Window<S::File>,
    ) -> io::Result<(SegmentHeader, Option<ChainPosition>)> {
        let path = segment_path(header.first_sequence());
        let before = self.ended.filter(|ended| ended.chain.sequence == header.previous.sequence);
        let usual = next_capacity(self.capacity, 0);
        if window.length() == usual && header.capacity != usual {
            let field = "capacity".to_string();
            self.add(&path, 0, FIRST_RECORD, None, Explained::fits(Cause::Forged { field }));
            let header = SegmentHeader { capacity: usual, ..header };
            return Ok((header, Some(header.previous)));
        }
        let first = Frame::at(window, &header, FIRST_RECORD)?;
        let Some(before) = before else {
            self.ledger.begin(index == 0 && self.ended.is_none());
            return Ok((header, Some(header.previous)));
        };
        if before.chain.link == header.previous.link {
            self.ledger.witness(before.chain.sequence, Witness::NextSegment);
            if let Some(start) = first.and_then(|first| in_time(&header, &before.chain, &first)) {
                let field = PREVIOUS_TIME.to_string();
                self.add(&path, 0, FIRST_RECORD, None, Explained::proven(Cause::Forged { field }));
                return Ok((header, Some(start)));
            }
            self.map_header_fields(index, &header, &before, &path);
            return Ok((header, Some(header.previous)));
        }
        let follows =
            |link: &Link| first.as_ref().is_some_and(|first| first.follows(header.log, link));
        if follows(&before.chain.link) {
            let cause = Cause::Forged { field: "previous link".to_string() };
            self.add(&path, 0, FIRST_RECORD, None, Explained::proven(cause));
            return Ok((header, Some(before.chain)));
        }
        let why = match follows(&header.previous.link) || first.is_none() {
            true => {
                let to = before.chain.sequence;
                Explained::fits(self.ledger.rechained(to, Witness::NextSegment))
            }
            false => Explained::fits(Cause::ForgedOrRechained),
        };
        self.add(&path, 0, 0, None, why);
        self.ledger.begin(false);
        Ok((header, Some(header.previous)))
    }

    /// Time and place of the record before, as the header repeats them.
    fn map_header_fields(
        &mut self,
        index: usize,
        header: &SegmentHeader,
        before: &Ended,
        path: &str,
    ) {
        if index == 0 {
            return;
        }
        let file = self.segments.iter().rev().nth(1).map(|segment| segment.file.as_str());
        if file.is_some_and(|file| self.ledger.tells_of(file)) {
            return;
        }
        let is_seal = before.seal.is_none_or(|seal| seal == header.previous_seal_offset);
        let field = match before.chain.time == header.previous.time {
            true if is_seal => return,
            true => "previous seal offset",
            false => PREVIOUS_TIME,
        };
        let cause = Cause::Forged { field: field.to_string() };
        self.add(path, 0, FIRST_RECORD, None, Explained::fits(cause));
    }

    /// Records up to `last` that no file holds.
    fn map_missing(&mut self, last: u64) {
        let missing = Records::new(self.accounted.saturating_add(1), last);
        if missing.is_some() {
            self.add(names::SEGMENTS, 0, 0, missing, Explained::proven(Cause::Missing));
            self.ledger.begin(false);
        }
        self.accounted = self.accounted.max(last);
    }

    fn map_records(
        &mut self,
        index: usize,
        header: SegmentHeader,
        start: Option<ChainPosition>,
        (window, used, path): (Window<S::File>, u64, &str),
    ) -> io::Result<()> {
        let next = self.survey.segments.get(index + 1..).unwrap_or_default();
        let next = next.iter().find_map(SegmentFile::good_header);
        let next = next.filter(|next| Some(next.log) == self.log);
        let behind = next.map(|next| (next.previous, next.previous_seal_offset));
        let is_last = index + 1 == self.survey.segments.len();
        // Where HEAD is, no claim of what may be an image says more.
        let due = match behind {
            Some((last, _)) => last.sequence,
            None if is_last => self.head.map_or_else(|| self.mark(), |head| head.newest_sequence),
            None => 0,
        };
        let length = window.length();
        let mut view = View::new(window, header, due);
        let first = header.first_sequence();
        view.head = self.head.filter(|head| {
            head.newest_sequence >= first && (head.newest_sequence <= due || is_last)
        });
        view.next = behind;
        let pieces = self.pieces.remove(&first).unwrap_or_default();
        let mapper = SegmentMapper {
            view,
            file: path.to_string(),
            is_being_written: self.is_being_written,
            seeds: &self.seeds,
            ledger: &mut self.ledger,
            data_end: used,
        };
        let ended = mapper.map(start, &pieces)?;
        self.map_length(path, &header, length, used);
        let is_sealed = ended.seal.is_some();
        self.accounted = self.accounted.max(ended.chain.sequence);
        if !is_sealed {
            self.accounted = self.accounted.max(due);
        }
        self.capacity = header.capacity;
        self.ended = Some(ended);
        Ok(())
    }

    /// A file that is shorter or longer than its header says, where no record is lost by it.
    fn map_length(&mut self, path: &str, header: &SegmentHeader, length: u64, used: u64) {
        if length < header.capacity && !self.ledger.tells_of_cut(path) {
            let why = Explained::proven(Cause::Truncated);
            self.add(path, length, header.capacity - length, None, why);
        } else if length > header.capacity && used <= header.capacity {
            let why = Explained::proven(Cause::StrayBytes);
            self.add(path, header.capacity, length - header.capacity, None, why);
        }
    }

    /// The highest mark, unless it may be of another log's HEAD.
    fn mark(&self) -> u64 {
        let foreign = self.survey.head.valid().filter(|_| self.head.is_none());
        let is_foreign = foreign.is_some_and(|head| head.newest_sequence == self.survey.mark);
        if is_foreign { 0 } else { self.survey.mark }
    }
}

/// The field of a header that repeats the time of the record before.
const PREVIOUS_TIME: &str = "previous time";

/// The place before a segment's first record, where the header says a later time than that record
/// and the one before it have.
fn in_time(header: &SegmentHeader, before: &ChainPosition, first: &Frame) -> Option<ChainPosition> {
    let time = first.header.time;
    let is_late = (before.time..header.previous.time).contains(&time);
    let follows = first.follows(header.log, &header.previous.link);
    (is_late && follows).then_some(ChainPosition { time: before.time, ..header.previous })
}

/// Returns whether a region of another file may be what a finding is about.
fn is_consequence(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::Gap { .. }
            | Problem::SealMissing { .. }
            | Problem::NotTheAnchor { .. }
            | Problem::SegmentsGone { .. }
            | Problem::BelowMark { .. }
            | Problem::ShortOfHead { .. }
            | Problem::ForeignLog { .. }
            | Problem::Rewritten { .. }
            | Problem::Fault(Fault::Link { .. })
    )
}

fn by_file(scan: &DamageScan) -> BTreeMap<u64, Vec<&Piece>> {
    let mut pieces: BTreeMap<u64, Vec<&Piece>> = BTreeMap::new();
    for piece in scan.in_place() {
        let name = match piece {
            Piece::Kept(kept) => kept.segment,
            Piece::Lost(loss) => loss.segment,
            Piece::Unproven(_) => continue,
        };
        pieces.entry(name).or_default().push(piece);
    }
    pieces
}

fn of(file: &str) -> impl Fn(io::Error) -> ReadError {
    let file = file.to_string();
    move |source| ReadError::Survey(SurveyError::Io { file: file.clone(), source })
}
