//! The segments' headers, what they say of each other, and the records of all but the last.

use super::{
    Extent, HeaderBlock, Records, SegmentFile, SurveyError, Surveyor, io_error, newer, segment_path,
};
use crate::blocks::walk_blocks;
use crate::finding::{Problem, wrong_witnessed};
use crate::run::{RecordPlace, Run, Stop, walk};
use crate::storage::{ReadFile, ReadStorage};
use crate::window::Window;
use holdpoint_log_format::recovery::LastHeader;
use holdpoint_log_format::{
    ChainPosition, Fault, Head, Item, Link, LogId, Record, SegmentHeader, zeros,
};
use std::io;
use std::ops::ControlFlow;

impl<S: ReadStorage> Surveyor<'_, S> {
    pub(super) fn read_segments(&mut self) -> Result<(), SurveyError> {
        let count = self.survey.segments.len();
        let from = self.first_relied_on();
        let beginning = (from > 0).then_some(0);
        for index in beginning.into_iter().chain(from..count) {
            let Some(first_sequence) = self.first_sequence(index) else { continue };
            let segment = self.read_segment(first_sequence, index + 1 == count)?;
            if let Some(place) = self.survey.segments.get_mut(index) {
                *place = segment;
            }
        }
        Ok(())
    }

    /// Place in the list of the first segment whose records or seal count: the one before HEAD's,
    /// when only what lies behind HEAD is asked for and HEAD's is there.
    fn first_relied_on(&self) -> usize {
        let head = self.survey.head.valid().filter(|_| self.options.extent == Extent::FromHead);
        let segments = &self.survey.segments;
        let witnessed = head.and_then(|head| {
            segments.binary_search_by_key(&head.segment, |segment| segment.first_sequence).ok()
        });
        witnessed.map_or(0, |index| index.saturating_sub(1))
    }

    fn read_segment(
        &mut self,
        first_sequence: u64,
        is_last: bool,
    ) -> Result<SegmentFile, SurveyError> {
        let mut window = self.window(first_sequence)?;
        let file = segment_path(first_sequence);
        let header = match window.header().map_err(io_error(&file))? {
            Ok(header) => HeaderBlock::Valid(header),
            Err(fault) => match newer(&file, &fault) {
                Some(error) => return Err(error),
                None => {
                    self.bad_header(is_last, first_sequence, fault.clone(), &mut window)?;
                    HeaderBlock::Bad(fault)
                }
            },
        };
        Ok(SegmentFile { first_sequence, length: window.length(), header })
    }

    /// A blank last file that no mark reaches is a roll that lost power, and no finding.
    fn bad_header(
        &mut self,
        is_last: bool,
        first_sequence: u64,
        fault: Fault,
        window: &mut Window<S::File>,
    ) -> Result<(), SurveyError> {
        let file = segment_path(first_sequence);
        if !is_last {
            self.survey.evidence.has_earlier_fault = true;
        } else {
            let is_blank = window.nonzero_end(0).map_err(io_error(&file))?.is_none();
            let witnessed = self.survey.head.valid().map_or(0, |head| head.newest_sequence);
            if is_blank && witnessed < first_sequence {
                self.survey.evidence.last_header = LastHeader::BlankAboveMarks;
                return Ok(());
            }
            self.survey.evidence.last_header = LastHeader::Bad;
        }
        self.find(&file, 0, first_sequence, fault);
        Ok(())
    }

    /// Names against headers, log ids, and the first segment against HEAD's anchor.
    pub(super) fn check_layout(&mut self) {
        self.find_renamed();
        let headers = self.good_headers();
        let log = self.survey.log.or_else(|| headers.first().map(|(_, header)| header.log));
        self.survey.log = log;
        for (name, header) in &headers {
            let path = segment_path(*name);
            if let Some(expected) = log.filter(|log| *log != header.log) {
                self.layout_fault(
                    &path,
                    *name,
                    Problem::ForeignLog { expected, found: header.log },
                );
            }
        }
        self.check_first_name();
        if let Some((name, header)) = headers.first().filter(|(name, _)| self.is_first(*name)) {
            self.check_anchor_link(*name, header, log);
        }
    }

    /// Finds renamed segments: what a header says counts only in the file that it names.
    fn find_renamed(&mut self) {
        for segment in self.survey.segments.clone() {
            let expected = segment.first_sequence;
            let found = segment.header.valid().map_or(expected, SegmentHeader::first_sequence);
            if found != expected {
                let problem = Problem::Renamed { expected, found };
                self.layout_fault(&segment_path(expected), expected, problem);
            }
        }
    }

    /// HEAD's anchor names the first segment, whatever is in its file.
    fn check_first_name(&mut self) {
        let anchor = self.survey.head.valid().map(|head| head.anchor_sequence);
        let (Some(anchor), Some(found)) = (anchor, self.first_sequence(0)) else { return };
        let expected = anchor.saturating_add(1);
        if found != expected {
            let problem = Problem::NotTheAnchor { expected, found };
            self.layout_fault(&segment_path(found), expected, problem);
        }
    }

    fn check_anchor_link(&mut self, name: u64, header: &SegmentHeader, log: Option<LogId>) {
        let head = self.survey.head.valid().copied();
        let due = anchor_link(head.as_ref(), log, header);
        if let Some(expected) = due.filter(|due| *due != header.previous.link) {
            let fault = Fault::Link { expected, found: header.previous.link };
            self.find(&segment_path(name), 0, name, fault);
            self.header_fault(name);
        }
    }

    /// Each segment but the last must end in the seal that its successor names.
    pub(super) fn check_successors(&mut self) -> Result<(), SurveyError> {
        let segments = self.survey.segments.clone();
        for pair in segments.windows(2) {
            let [before, after] = pair else { continue };
            if let (Some(before), Some(after)) = (before.good_header(), after.good_header()) {
                self.check_successor(before, after)?;
            }
        }
        Ok(())
    }

    fn check_successor(
        &mut self,
        before: &SegmentHeader,
        after: &SegmentHeader,
    ) -> Result<(), SurveyError> {
        let file = segment_path(before.first_sequence());
        let mut window = self.window(before.first_sequence())?;
        let named = window.item(after.previous_seal_offset, before).map_err(io_error(&file))?;
        let last = match named {
            Ok((Item::Seal(seal), _)) => Some(seal.last),
            _ => None,
        };
        let length = window.length();
        self.check_length(before, length);
        match last {
            Some(last) if last == after.previous => Ok(()),
            Some(last) if last.sequence == after.previous.sequence => {
                let fault = Fault::Link { expected: last.link, found: after.previous.link };
                self.find(&segment_path(after.first_sequence()), 0, after.first_sequence(), fault);
                self.header_fault(after.first_sequence());
                Ok(())
            }
            _ => self.missing_seal(before, after, &mut window),
        }
    }

    /// Tells a missing segment (the one before is sealed, and something else should follow) from a
    /// damaged seal.
    fn missing_seal(
        &mut self,
        before: &SegmentHeader,
        after: &SegmentHeader,
        window: &mut Window<S::File>,
    ) -> Result<(), SurveyError> {
        let name = before.first_sequence();
        let file = segment_path(name);
        let run =
            walk(window, before, Run::at_start(before), &mut |_, _| ControlFlow::Continue(()))
                .map_err(io_error(&file))?;
        let found = after.first_sequence();
        match run.stop {
            Stop::Seal(seal) if seal.last.sequence.saturating_add(1) != found => {
                let expected = seal.last.sequence.saturating_add(1);
                let problem = Problem::Gap { expected, found };
                self.layout_fault(&segment_path(found), expected, problem);
            }
            _ => {
                let expected = after.previous.sequence;
                let problem = Problem::SealMissing { expected };
                self.find(&file, after.previous_seal_offset, expected, problem);
                self.survey.evidence.has_earlier_fault = true;
            }
        }
        Ok(())
    }

    fn check_length(&mut self, header: &SegmentHeader, length: u64) {
        if length != header.capacity {
            let problem = Problem::Length { expected: header.capacity, found: length };
            let name = header.first_sequence();
            self.find_in_segment(name, length.min(header.capacity), name, problem);
            self.survey.evidence.has_earlier_fault = true;
        }
    }

    /// Reads the records of every segment but the last, or only of the one that HEAD names when
    /// its record is not where HEAD says.
    pub(super) fn walk_earlier<T: Send>(
        &mut self,
        records: &mut Records<'_, '_, '_, T>,
    ) -> Result<(), SurveyError> {
        let headers = self.good_headers();
        let earlier = headers.split_last().map_or(&[][..], |(_, earlier)| earlier);
        for (_, header) in earlier {
            if self.has_enough_before(header.first_sequence()) {
                break;
            }
            if self.is_to_be_walked(header)? {
                self.walk_sealed(header, records)?;
            }
        }
        Ok(())
    }

    fn is_to_be_walked(&mut self, header: &SegmentHeader) -> Result<bool, SurveyError> {
        if self.options.extent != Extent::FromHead {
            return Ok(true);
        }
        let head = self.survey.head.valid().copied();
        match head.filter(|head| head.segment == header.first_sequence()) {
            Some(head) => Ok(self.witnessed_record(header, &head)?.is_none()),
            None => Ok(false),
        }
    }

    /// The place of HEAD's record in its segment, when it is there and is the one.
    pub(super) fn witnessed_record(
        &mut self,
        header: &SegmentHeader,
        head: &Head,
    ) -> Result<Option<Run>, SurveyError> {
        let file = segment_path(header.first_sequence());
        let mut window = self.window(header.first_sequence())?;
        let item = window.item(head.record_offset, header).map_err(io_error(&file))?;
        let Ok((Item::Record(record), length)) = item else { return Ok(None) };
        let chain = ChainPosition {
            sequence: record.header.sequence,
            link: record.header.link,
            time: record.header.time,
        };
        let is_the_one = chain.sequence == head.newest_sequence
            && chain.link == head.newest_link
            && head.record_offset.saturating_add(length) == head.end_offset
            && !record.header.flags.more_follows();
        Ok(is_the_one.then(|| Run::from(chain, head.record_offset, head.end_offset)))
    }

    fn walk_sealed<T: Send>(
        &mut self,
        header: &SegmentHeader,
        records: &mut Records<'_, '_, '_, T>,
    ) -> Result<(), SurveyError> {
        let name = header.first_sequence();
        let file = segment_path(name);
        let mut window = self.window(name)?;
        self.take_length(name, window.length());
        let run = self.walk_and_count(&window, header, Run::at_start(header), records)?;
        let Stop::Seal(seal) = &run.stop else {
            self.find_stop(name, &run);
            self.survey.evidence.has_earlier_fault = true;
            return Ok(());
        };
        let behind = seal.offset + holdpoint_log_format::limits::SEAL_LENGTH as u64;
        if let Some(found) = first_nonzero(&mut window, behind).map_err(io_error(&file))? {
            self.find_in_segment(name, found.0, run.stop_sequence, trailing(found.1));
            self.survey.evidence.has_earlier_fault = true;
        }
        Ok(())
    }

    /// Walks a run, counting its records and comparing the one that HEAD names.
    pub(super) fn walk_and_count<T: Send>(
        &mut self,
        window: &Window<S::File>,
        header: &SegmentHeader,
        from: Run,
        shown: &mut Records<'_, '_, '_, T>,
    ) -> Result<Run, SurveyError> {
        let head = self.survey.head.valid().copied();
        let (mut records, mut withheld, mut wrong) = (0, 0, None);
        let file = segment_path(header.first_sequence());
        let run = {
            let Records { workers, visit } = shown;
            let mut counting = |place: &RecordPlace, record: &Record<'_>, made| {
                records += 1;
                withheld += u64::from(record.header.flags.withheld());
                let problem = head.and_then(|head| wrong_witnessed(&head, &record.header));
                wrong =
                    problem.map(|it| (place.offset, record.header.sequence, it)).or(wrong.take());
                visit(place, record, made);
            };
            walk_blocks(window, header, from, workers, &mut counting).map_err(io_error(&file))?
        };
        self.survey.records += records;
        self.survey.withheld += withheld;
        if let Some((offset, sequence, problem)) = wrong {
            self.find(&file, offset, sequence, problem);
            self.survey.evidence.is_rewritten = true;
        }
        Ok(run)
    }

    /// The finding for a run that stopped where it should not have.
    pub(super) fn find_stop(&mut self, segment: u64, run: &Run) {
        let reached = run.chain.sequence;
        let last = self.last_before_successor(segment);
        let problem = match &run.stop {
            Stop::Fault(fault) => Problem::Fault(fault.clone()),
            _ if reached < last => Problem::BelowMark { first: reached.saturating_add(1), last },
            _ => Problem::SealMissing { expected: reached },
        };
        self.find_in_segment(segment, run.stop_offset, run.stop_sequence, problem);
    }

    /// The last sequence of a segment as the next one names it; 0 when there is none.
    fn last_before_successor(&self, segment: u64) -> u64 {
        let mut behind = self.survey.segments.iter().filter(|s| s.first_sequence > segment);
        let header = behind.next().and_then(|next| next.header.valid());
        header.map_or(0, |header| header.previous.sequence)
    }

    pub(super) fn good_headers(&self) -> Vec<(u64, SegmentHeader)> {
        let segments = self.survey.segments.iter();
        let good = |segment: &SegmentFile| Some((segment.first_sequence, *segment.good_header()?));
        segments.filter_map(good).collect()
    }

    /// A header that decodes and does not follow from what is before it.
    fn header_fault(&mut self, name: u64) {
        if self.survey.segments.last().is_some_and(|last| last.first_sequence == name) {
            self.survey.evidence.last_header = LastHeader::Bad;
        } else {
            self.survey.evidence.has_earlier_fault = true;
        }
    }

    fn first_sequence(&self, index: usize) -> Option<u64> {
        self.survey.segments.get(index).map(|segment| segment.first_sequence)
    }

    fn is_first(&self, name: u64) -> bool {
        self.first_sequence(0) == Some(name)
    }
}

/// The link that the first segment must follow from: HEAD's anchor, or genesis for a whole log.
fn anchor_link(head: Option<&Head>, log: Option<LogId>, header: &SegmentHeader) -> Option<Link> {
    match head {
        Some(head) if head.anchor_sequence == header.previous.sequence => Some(head.anchor_link),
        Some(_) => None,
        None if header.previous.sequence == 0 => log.map(Link::genesis),
        None => None,
    }
}

/// The first byte from `offset` on that is not zero, and where.
pub(super) fn first_nonzero<F: ReadFile>(
    window: &mut Window<F>,
    offset: u64,
) -> io::Result<Option<(u64, u8)>> {
    let mut at = offset;
    loop {
        let bytes = window.bytes(at, 64 * 1_024)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let found = zeros::first_nonzero(bytes).and_then(|index| Some((index, bytes.get(index)?)));
        if let Some((index, byte)) = found {
            return Ok(Some((at + index as u64, *byte)));
        }
        at += bytes.len() as u64;
    }
}

pub(super) fn trailing(found: u8) -> Problem {
    Problem::Fault(Fault::Trailing { found })
}
