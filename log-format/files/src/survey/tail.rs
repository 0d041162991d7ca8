//! The last segment: its run, its seal, what lies behind, and the marks.

use super::segments::{first_nonzero, trailing};
use super::witness::durable_by;
use super::{Extent, LastSegment, Records, SurveyError, Surveyor, io_error, segment_path};
use crate::finding::Problem;
use crate::run::{Run, Stop};
use crate::storage::ReadStorage;
use crate::window::Window;
use holdpoint_log_format::limits::{PIECE_LENGTH, RESYNC_BUDGET_SEGMENTS, SEAL_LENGTH};
use holdpoint_log_format::recovery::{self, LastHeader, LastOwner, Row};
use holdpoint_log_format::tail::{Tail, TailShape};
use holdpoint_log_format::{Lock, OwnerState, SegmentHeader, names};
use std::io;

/// Unused space that every opening looks through, in bytes: as long as the largest write.
const LOOKED_AT_MIN: u64 = PIECE_LENGTH as u64;

impl<S: ReadStorage> Surveyor<'_, S> {
    pub(super) fn walk_last<T: Send>(
        &mut self,
        records: &mut Records<'_, '_, '_, T>,
    ) -> Result<(), SurveyError> {
        self.survey.mark = self.survey.head.valid().map_or(0, |head| head.newest_sequence);
        let Some((_, header)) = self.good_headers().last().copied() else {
            self.name_head_faults();
            return Ok(());
        };
        let (name, durable) = (header.first_sequence(), self.known_durable());
        // What is found of HEAD is told with the sequence that is read here.
        if self.has_enough_before(name) && !self.has_head_fault() {
            return Ok(());
        }
        let mut window = self.window(name)?;
        self.take_length(name, window.length());
        let header = self.refreshed(header, &mut window)?;
        let from = self.start_of_last(&header)?;
        let began = from.clone();
        let run = self.walk_and_count(&window, &header, from, records)?;
        let marked_inside = header.previous.sequence.max(run.mark);
        self.raise_mark(marked_inside);
        self.check_last_length(&header, window.length());
        let tail_end = match &run.stop {
            Stop::Seal(seal) => {
                let behind = seal.offset + SEAL_LENGTH as u64;
                self.check_sealed(&header, &run, behind, &mut window)?
            }
            _ => self.check_tail(&header, &run, &mut window)?,
        };
        self.check_blank(&run);
        if durable > run.chain.sequence {
            self.raise_mark(durable);
        }
        // A blank file behind the run stands for a mark, and so may what a search behind it finds.
        self.survey.evidence.is_marked_outside = marked_inside <= run.chain.sequence
            && self.survey.evidence.last_header == LastHeader::Good;
        let is_sealed = matches!(run.stop, Stop::Seal(_));
        if self.survey.is_archive && !is_sealed {
            let problem = Problem::UnsealedArchive { expected: run.chain.sequence };
            self.find_in_segment(name, run.stop_offset, run.stop_sequence, problem);
            self.survey.evidence.has_shape_fault = true;
        }
        self.compare_run_to_mark(&header, &run);
        self.survey.last = Some(LastSegment { header, began, run, is_sealed, tail_end });
        self.name_head_faults();
        Ok(())
    }

    /// The header as it is now: while somebody writes, a segment without a record may have been
    /// replaced by a larger one since the list was read.
    fn refreshed(
        &self,
        header: SegmentHeader,
        window: &mut Window<S::File>,
    ) -> Result<SegmentHeader, SurveyError> {
        let file = segment_path(header.first_sequence());
        let now = window.header().map_err(io_error(&file))?;
        Ok(now.ok().filter(|now| now.previous == header.previous).unwrap_or(header))
    }

    /// Behind HEAD's record when it is in this segment and is the one, else the segment's start.
    fn start_of_last(&mut self, header: &SegmentHeader) -> Result<Run, SurveyError> {
        let head = self.survey.head.valid().copied();
        let here = head.filter(|head| {
            self.options.extent == Extent::FromHead && head.segment == header.first_sequence()
        });
        let witnessed = match here {
            Some(head) => self.witnessed_record(header, &head)?,
            None => None,
        };
        Ok(witnessed.unwrap_or_else(|| Run::at_start(header)))
    }

    /// The newest record that an owner of this boot knew to be durable, as LOCK said before all
    /// else was read. Nobody synced LOCK, so this is no mark; yet what it names was there.
    pub(super) fn known_durable(&self) -> u64 {
        durable_by(self.survey.lock.as_ref(), self.options.boot)
    }

    fn raise_mark(&mut self, sequence: u64) {
        self.survey.mark = self.survey.mark.max(sequence);
    }

    fn check_last_length(&mut self, header: &SegmentHeader, length: u64) {
        if length != header.capacity {
            let problem = Problem::Length { expected: header.capacity, found: length };
            let name = header.first_sequence();
            self.find_in_segment(name, length.min(header.capacity), name, problem);
            self.survey.evidence.has_shape_fault = true;
        }
    }

    /// A seal proves every record before it, and nothing may follow it.
    fn check_sealed(
        &mut self,
        header: &SegmentHeader,
        run: &Run,
        behind: u64,
        window: &mut Window<S::File>,
    ) -> Result<Option<u64>, SurveyError> {
        let name = header.first_sequence();
        self.survey.evidence.is_sealed = true;
        self.raise_mark(run.chain.sequence);
        let file = segment_path(name);
        if let Some((offset, byte)) = first_nonzero(window, behind).map_err(io_error(&file))? {
            self.find_in_segment(name, offset, run.stop_sequence, trailing(byte));
            self.survey.evidence.has_shape_fault = true;
        }
        Ok(None)
    }

    /// Classifies what lies behind the run and searches it for marks.
    fn check_tail(
        &mut self,
        header: &SegmentHeader,
        run: &Run,
        window: &mut Window<S::File>,
    ) -> Result<Option<u64>, SurveyError> {
        let file = segment_path(header.first_sequence());
        let end = self.find_end(run, window).map_err(io_error(&file))?;
        let Some(end) = end.filter(|_| !self.options.is_being_written) else {
            return Ok(None);
        };
        // Whoever wrote these bytes said so in LOCK before, perhaps since it was read first.
        self.read_lock()?;
        let length = end.saturating_sub(run.end_offset);
        let bytes = window.bytes(run.end_offset, length).map_err(io_error(&file))?;
        let tail = Tail {
            bytes,
            start: run.end_offset,
            capacity: header.capacity,
            log: header.log,
            seed: header.seed(),
            after: run.chain,
        };
        let shape = self.shape_left(tail.shape());
        let resync = tail.resync(header.capacity.saturating_mul(RESYNC_BUDGET_SEGMENTS));
        self.survey.evidence.tail = shape;
        self.raise_mark(resync.mark.map_or(0, |mark| mark.sequence));
        self.find_tail(header, run, shape, resync.budget_spent, window)?;
        Ok(Some(end))
    }

    /// Offset behind the last byte that is not zero. Behind an owner who left in this boot, and
    /// said that everything up to the run's end is durable, there is no write to find: while
    /// nothing is near, opening looks no further.
    fn find_end(&self, run: &Run, window: &mut Window<S::File>) -> io::Result<Option<u64>> {
        let from = run.end_offset;
        if self.options.extent == Extent::FromHead && self.was_left_whole(run) {
            let near = from.saturating_add(LOOKED_AT_MIN);
            if window.nonzero_end_within(from, near)?.is_none() {
                return Ok(None);
            }
        }
        window.nonzero_end(from)
    }

    fn was_left_whole(&self, run: &Run) -> bool {
        let is_said = |lock: &Lock| {
            lock.state == OwnerState::Idle && lock.durable_sequence == run.chain.sequence
        };
        self.survey.evidence.last_owner == LastOwner::SameBoot
            && self.survey.lock.as_ref().is_some_and(is_said)
    }

    /// An owner who left in this boot and said so left no unfinished write behind, so nothing may
    /// be there at all.
    fn shape_left(&self, shape: TailShape) -> TailShape {
        let state = self.survey.lock.map(|lock| lock.verdict_state());
        let left_idle = self.survey.evidence.last_owner == LastOwner::SameBoot
            && state == Some(OwnerState::Idle);
        if left_idle && shape == TailShape::Unfinished { TailShape::Other } else { shape }
    }

    fn find_tail(
        &mut self,
        header: &SegmentHeader,
        run: &Run,
        shape: TailShape,
        budget_spent: bool,
        window: &mut Window<S::File>,
    ) -> Result<(), SurveyError> {
        let name = header.first_sequence();
        if budget_spent {
            self.find_in_segment(name, run.end_offset, run.stop_sequence, Problem::SearchStopped);
            self.survey.evidence.has_shape_fault = true;
        }
        let is_damage = self.survey.evidence.last_owner == LastOwner::SameBoot;
        if shape != TailShape::Other || !is_damage || self.survey.mark > run.chain.sequence {
            return Ok(());
        }
        let file = segment_path(name);
        let first = first_nonzero(window, run.end_offset).map_err(io_error(&file))?;
        if let (Some((offset, found)), Stop::Nothing) = (first, &run.stop) {
            self.find_in_segment(name, offset, run.stop_sequence, Problem::DamagedTail { found });
        } else {
            self.find_stop(name, run);
        }
        Ok(())
    }

    /// A segment gets its name when every record before its first one is sealed and synced. So a
    /// blank one behind the last good segment says how far the records went.
    fn check_blank(&mut self, run: &Run) {
        let last = self.survey.segments.last().map(|segment| segment.first_sequence);
        let is_blank = self.survey.evidence.last_header == LastHeader::BlankAboveMarks;
        let Some(found) = last.filter(|_| is_blank) else { return };
        let expected = run.chain.sequence.saturating_add(1);
        if found < expected || found > expected && matches!(run.stop, Stop::Seal(_)) {
            self.layout_fault(&segment_path(found), expected, Problem::Gap { expected, found });
        } else {
            self.raise_mark(found.saturating_sub(1));
        }
    }

    fn compare_run_to_mark(&mut self, header: &SegmentHeader, run: &Run) {
        let reached = run.chain.sequence;
        self.survey.evidence.run_to_mark = reached.cmp(&self.survey.mark);
        // Behind a bad header nothing was read, and the header is what is wrong.
        if reached >= self.survey.mark || self.survey.evidence.last_header == LastHeader::Bad {
            return;
        }
        let name = header.first_sequence();
        if let Stop::Fault(fault) = &run.stop {
            self.find_in_segment(name, run.stop_offset, run.stop_sequence, fault.clone().into());
        }
        let first = reached.saturating_add(1);
        let last = self.survey.mark;
        let problem = match recovery::row_without_witness(&self.survey.evidence) {
            Row::ShortOfHead => Problem::ShortOfHead { first, last },
            _ => Problem::BelowMark { first, last },
        };
        self.find_in_segment(name, run.stop_offset, run.stop_sequence, problem);
    }

    fn has_head_fault(&self) -> bool {
        self.survey.findings.iter().any(|finding| finding.place.file == names::HEAD)
    }

    /// A finding on HEAD names the newest record there is, which HEAD should have named.
    fn name_head_faults(&mut self) {
        let newest = self.survey.last.as_ref().map_or(0, |last| last.run.chain.sequence);
        let on_head = self.survey.findings.iter_mut().filter(|f| f.place.file == names::HEAD);
        on_head.for_each(|finding| finding.place.sequence = newest);
    }
}
