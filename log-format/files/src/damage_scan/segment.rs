//! One segment: which of its records are kept. What a mark ties comes first; what nothing ties is
//! kept where it is whole, in its place, and takes no place of what is tied.

use super::frames::{Hole, HoleContent, Search};
use super::outcome::{DamageScan, Loss};
use super::part::Part;
use super::source::text;
use super::survey::{Payload, Visit};
use crate::finding::Problem;
use crate::run::{RecordPlace, Run, Stop, walk};
use crate::storage::ReadFile;
use crate::survey::segment_path;
use crate::tie::{Edge, Mark, TiedRecords};
use crate::window::Window;
use holdpoint_log_format::limits::{ALIGNMENT, SEAL_LENGTH, SEGMENT_HEADER_LENGTH};
use holdpoint_log_format::{ChainPosition, Fault, Head, Item, Link, Record, SegmentHeader};
use std::io;
use std::ops::ControlFlow;

/// Place where the first record of a segment begins.
pub(super) const FIRST_RECORD: u64 = SEGMENT_HEADER_LENGTH as u64;

/// Maximum number of searches of one segment for what its marks tie, and of its kept records that
/// do not follow from the one before. Each search reads the segment once more, so that a segment
/// made of holes costs no more than this.
pub(super) const SEARCHES_MAX: usize = 16;

/// A segment while it is surveyed.
pub(super) struct SegmentSurvey<'a, F> {
    /// The number in its name.
    pub(super) name: u64,
    /// Its header, or what that must have said.
    pub(super) header: SegmentHeader,
    /// Its bytes.
    pub(super) window: Window<F>,
    /// Records in it that are named from outside, by place.
    pub(super) marks: Vec<Mark>,
    /// Every record up to this one was durable as a whole batch.
    pub(super) proven: u64,
    /// Behind what marks name, its records are before this one.
    pub(super) limit: u64,
    /// HEAD, to be compared.
    pub(super) head: Option<Head>,
    /// Destination of the outcome.
    pub(super) scan: &'a mut DamageScan,
    /// Told of every record that verifies.
    pub(super) visit: &'a mut Visit<'a>,
    /// Number of times is still searched, and how many records are kept that do not follow.
    pub(super) searches_left: usize,
    pub(super) breaks_left: usize,
    /// For what lies in its holes.
    pub(super) search: Search,
}

/// A place from which records are read.
#[derive(Clone, Copy)]
struct Start {
    /// The record before. Where the next one does not follow from it, that one is read alone.
    before: ChainPosition,
    offset: u64,
    is_linked: bool,
    /// True if a mark proves the link of the first record here.
    is_tied: bool,
}

/// The valid records from a place on: those of whole batches, then the beginning of one.
struct Stretch {
    start: Start,
    whole: Part,
    front: Part,
    /// The newest record that a mark names.
    named: u64,
    ended: Ended,
}

/// Why a stretch ends.
enum Ended {
    /// With the record that HEAD names, or with one that is read alone.
    Asked,
    /// Before what is tied.
    Limit,
    /// Otherwise.
    Stopped(Stop),
}

/// Limit that a record must lie before, by all that it says: there begins what is tied. Where the
/// first tied record is damaged, a whole one with its link is that one, in another place.
#[derive(Clone, Copy)]
struct Limit {
    sequence: u64,
    offset: u64,
    time: u64,
    damaged: Option<Link>,
}

impl Limit {
    fn before(tied: Option<&TiedRecords>) -> Self {
        let none = Self { sequence: u64::MAX, offset: u64::MAX, time: u64::MAX, damaged: None };
        tied.map_or(none, |TiedRecords { first, is_whole, .. }| Self {
            sequence: first.header.sequence,
            offset: first.offset,
            time: if *is_whole { first.header.time } else { u64::MAX },
            damaged: (!is_whole).then_some(first.header.link),
        })
    }

    fn admits(&self, last: &ChainPosition, end: u64) -> bool {
        let is_it = last.sequence == self.sequence && self.damaged == Some(last.link);
        (last.sequence < self.sequence || is_it) && end <= self.offset && last.time <= self.time
    }
}

/// Records that are kept and lost so far.
struct Outcome {
    /// The last record kept, and the offset behind it.
    reached: Option<ChainPosition>,
    end: u64,
    /// The beginning of a batch of which the end is not known yet, with the holes in it.
    pending: Vec<Pending>,
    /// Problem behind the last record kept.
    problem: Option<String>,
}

/// Part that is kept, or lost by itself, where the batch that it belongs to is found to end.
enum Pending {
    Part(Part),
    /// A hole up to this byte, what is wrong with it, and what is found in it.
    Hole(u64, Option<String>, HoleContent),
}

impl<F: ReadFile> SegmentSurvey<'_, F> {
    /// Surveys the records from the first one on; `start` is the place before it where that is
    /// known. Gives the last record kept.
    pub(super) fn survey(
        mut self,
        start: Option<ChainPosition>,
    ) -> io::Result<Option<ChainPosition>> {
        let mut outcome =
            Outcome { reached: start, end: FIRST_RECORD, pending: Vec::new(), problem: None };
        if start.is_none() {
            let unknown = "the header is damaged, and the segment before it is missing";
            outcome.problem = Some(unknown.to_string());
        }
        let before = start.unwrap_or(self.header.previous);
        let is_linked = start.is_some();
        let mut next = Some(Start { before, offset: FIRST_RECORD, is_linked, is_tied: false });
        let mut tied: Option<TiedRecords> = None;
        while let Some(start) = next {
            let mut stretch = self.walk(start, Limit::before(tied.as_ref()))?;
            if tied.is_none() && !matches!(stretch.ended, Ended::Asked) {
                tied = self.find_tied(&stretch)?;
                stretch = self.up_to_tied(stretch, tied.as_ref())?;
            }
            let found;
            (next, found) = self.start_behind(&stretch, &mut tied)?;
            self.settle(&stretch, next.as_ref(), &mut outcome, found)?;
        }
        Ok(outcome.reached)
    }

    /// Reads whole records up to HEAD's, up to the limit, or up to something else.
    fn walk(&mut self, start: Start, limit: Limit) -> io::Result<Stretch> {
        let none = Part::behind(start.before, start.offset, start.is_linked);
        let ended = Ended::Stopped(Stop::Nothing);
        let mut stretch = Stretch { start, whole: none, front: none, named: 0, ended };
        let Self { window, header, visit, marks, head, name, .. } = self;
        let mut rewritten = None;
        let mut take = |place: &RecordPlace, record: &Record<'_>| {
            let payload = visit(&RecordPlace { segment: *name, ..*place }, record);
            rewritten = rewritten.take().or_else(|| rewritten_by(*head, record));
            stretch.take((record, place.length, payload), limit, marks, *head)
        };
        let stop = match start.is_linked {
            true => {
                let from = Run::from(start.before, 0, start.offset);
                walk(window, header, from, &mut take)?.stop
            }
            false => match window.item(start.offset, header)? {
                Ok((Item::Record(record), length)) if is_due(&record, &start.before) => {
                    let place = RecordPlace { segment: *name, offset: start.offset, length };
                    // It is the only one here: whether more is wanted makes no difference.
                    let _ = take(&place, &record);
                    Stop::Asked
                }
                Ok(_) => Stop::Nothing,
                Err(fault) => Stop::Fault(fault),
            },
        };
        match (stop, &stretch.ended) {
            (Stop::Asked, Ended::Limit) => {}
            (Stop::Asked, _) => stretch.ended = Ended::Asked,
            (stop, _) => stretch.ended = Ended::Stopped(stop),
        }
        if let Some((sequence, problem)) = rewritten {
            let told = text(&segment_path(self.name), 0, sequence, problem);
            if !self.scan.findings.contains(&told) {
                self.scan.findings.push(told);
            }
        }
        Ok(stretch)
    }

    /// Returns what a mark ties that a stretch did not come to.
    fn find_tied(&mut self, stretch: &Stretch) -> io::Result<Option<TiedRecords>> {
        let from = if stretch.start.is_tied { stretch.front.end } else { stretch.start.offset };
        for mark in self.marks.clone() {
            if mark.end <= from || mark.sequence <= stretch.named || self.searches_left == 0 {
                continue;
            }
            self.searches_left -= 1;
            let found = TiedRecords::find(&mut self.window, &self.header, &mark, from)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The stretch without what takes the place of tied records. What they were made from is tied
    /// itself, whatever time it says.
    fn up_to_tied(&mut self, stretch: Stretch, tied: Option<&TiedRecords>) -> io::Result<Stretch> {
        let (limit, last) = (Limit::before(tied), &stretch.front);
        let is_tied_itself = match tied {
            Some(tied) if tied.first.offset == last.end => {
                let edge = Edge { offset: last.end, after: Some(last.last) };
                tied.before(&mut self.window, &edge)?.is_some_and(|it| it.link == last.last.link)
            }
            _ => false,
        };
        match is_tied_itself || limit.admits(&last.last, last.end) {
            true => Ok(stretch),
            false => self.walk(stretch.start, limit),
        }
    }

    /// Returns where records are read on behind a stretch, and what lies before that.
    fn start_behind(
        &mut self,
        stretch: &Stretch,
        tied: &mut Option<TiedRecords>,
    ) -> io::Result<(Option<Start>, HoleContent)> {
        let (before, offset) = (stretch.front.last, stretch.front.end);
        let none = HoleContent::default();
        if matches!(stretch.ended, Ended::Asked) {
            let is_tied = !stretch.start.is_linked && stretch.start.is_tied;
            // What is wrong with one that is read alone may be its time.
            let time =
                if stretch.start.is_linked { before.time } else { stretch.start.before.time };
            let before = ChainPosition { time, ..before };
            return Ok((Some(Start { before, offset, is_linked: true, is_tied }), none));
        }
        if self.is_whole_at(before, offset, Limit::before(tied.as_ref()))? {
            self.breaks_left -= 1;
            return Ok((Some(Start { before, offset, is_linked: false, is_tied: false }), none));
        }
        let is_sealed = matches!(stretch.ended, Ended::Stopped(Stop::Seal(_)));
        if tied.is_none() && (is_sealed || self.window.nonzero_end(offset)?.is_none()) {
            return Ok((None, none));
        }
        let hole =
            hole(&mut self.window, (before, offset), &self.marks, self.limit, tied.as_ref())?;
        let (mut found, next) = self.search.find(&mut self.window, &self.header, &hole)?;
        if let Some(next) = next {
            let sequence = next.header.sequence.saturating_sub(1);
            let is_linked = sequence == before.sequence;
            let before = ChainPosition { sequence, ..before };
            return Ok((
                Some(Start { before, offset: next.offset, is_linked, is_tied: false }),
                found,
            ));
        }
        if let Some(tied) = tied.take() {
            let is_tried = stretch.start.is_tied && offset == stretch.start.offset;
            let start = self.start_of_tied(&tied, (before, offset), is_tried)?;
            return Ok((Some(start), found));
        }
        // A whole record across the place where HEAD's ends is another one.
        let is_across =
            |at: u64| found.frames.iter().any(|frame| frame.offset < at && at < frame.end);
        let start = self.behind_witness(before, offset).filter(|start| !is_across(start.offset));
        let end = start.map_or(u64::MAX, |start| start.offset);
        found.frames.retain(|frame| frame.end <= end);
        Ok((start, found))
    }

    /// Returns whether the next record is whole and in its place, although it does not follow.
    fn is_whole_at(
        &mut self,
        before: ChainPosition,
        offset: u64,
        limit: Limit,
    ) -> io::Result<bool> {
        let item = self.window.item(offset, &self.header)?;
        let Ok((Item::Record(record), length)) = item else { return Ok(false) };
        let is_free = limit.admits(&ChainPosition::of(&record.header), offset + length);
        Ok(is_free && is_due(&record, &before) && self.breaks_left > 0)
    }

    /// Returns the start of tied records: where the content of the first one is not proven, that
    /// one is read alone. Where it was tried and does not hold, it is left out.
    fn start_of_tied(
        &mut self,
        tied: &TiedRecords,
        (after, offset): (ChainPosition, u64),
        is_tried: bool,
    ) -> io::Result<Start> {
        let first = &tied.first;
        // What is wrong with it may be its time.
        let time = after.time.min(first.header.time);
        let behind = ChainPosition { time, ..first.chain() };
        if is_tried || !tied.is_whole {
            let offset = first.end();
            return Ok(Start { before: behind, offset, is_linked: true, is_tied: true });
        }
        let edge = Edge { offset, after: Some(after) };
        let proven = tied.before(&mut self.window, &edge)?;
        let sequence = first.header.sequence.saturating_sub(1);
        let before = proven.unwrap_or(ChainPosition { sequence, ..behind });
        let is_linked = proven.is_some();
        Ok(Start { before, offset: first.offset, is_linked, is_tied: true })
    }

    /// The record that HEAD names is damaged, and what follows it follows from what HEAD says.
    fn behind_witness(&self, after: ChainPosition, offset: u64) -> Option<Start> {
        let is_behind = |mark: &&Mark| mark.end > offset && mark.sequence > after.sequence;
        let mark = self.marks.iter().filter(is_behind).find(|mark| !mark.ends_segment)?;
        let before = ChainPosition { sequence: mark.sequence, link: mark.link, time: after.time };
        Some(Start { before, offset: mark.end, is_linked: true, is_tied: true })
    }

    /// Keeps the whole batches of a stretch, and gives up what lies between it and the next one.
    /// The beginning of a batch is kept when the batch is known to have been whole.
    fn settle(
        &mut self,
        stretch: &Stretch,
        next: Option<&Start>,
        outcome: &mut Outcome,
        found: HoleContent,
    ) -> io::Result<()> {
        let Stretch { whole, front, .. } = stretch;
        if !whole.is_empty() {
            self.keep_pending(outcome)?;
            self.keep(whole, outcome);
        }
        if !front.is_empty() {
            outcome.pending.push(Pending::Part(*front));
        }
        if !matches!(stretch.ended, Ended::Asked) {
            outcome.problem.get_or_insert_with(|| stretch.problem());
        }
        if next.is_some_and(|next| next.is_tied) || self.proven >= front.last.sequence {
            self.keep_pending(outcome)?;
        }
        match next {
            Some(next) if next.offset == front.end => {
                let problem = outcome.problem.take().filter(|_| !next.is_linked);
                problem.into_iter().for_each(|problem| self.find(front.end, &problem));
                Ok(())
            }
            Some(next) if outcome.pending.is_empty() => self.lose(outcome, next.offset, found),
            Some(next) => {
                let hole = Pending::Hole(next.offset, outcome.problem.take(), found);
                outcome.pending.push(hole);
                Ok(())
            }
            None => self.lose_end(stretch, outcome, found),
        }
    }

    fn keep_pending(&mut self, outcome: &mut Outcome) -> io::Result<()> {
        let behind = outcome.problem.take();
        for pending in std::mem::take(&mut outcome.pending) {
            match pending {
                Pending::Part(part) => self.keep(&part, outcome),
                Pending::Hole(end, problem, found) => {
                    outcome.problem = problem;
                    self.lose(outcome, end, found)?;
                }
            }
        }
        outcome.problem = behind;
        Ok(())
    }

    fn keep(&mut self, part: &Part, outcome: &mut Outcome) {
        self.scan.keep(part.kept(self.name, self.header));
        (outcome.reached, outcome.end) = (Some(part.last), part.end);
    }

    fn find(&mut self, offset: u64, problem: &str) {
        let file = segment_path(self.name);
        self.scan.findings.push(format!("{file}, byte {offset}: {problem}"));
    }

    /// Gives up the bytes behind the last record kept, up to the next place.
    fn lose(&mut self, outcome: &mut Outcome, end: u64, found: HoleContent) -> io::Result<()> {
        let from = outcome.end;
        let nonzero = self.window.nonzero_end_within(from, end)?;
        self.lose_bytes(outcome, nonzero.map_or(0, |nonzero| nonzero - from), found);
        outcome.end = end;
        Ok(())
    }

    /// Gives up what lies behind the last record kept, or behind the seal.
    fn lose_end(
        &mut self,
        stretch: &Stretch,
        outcome: &mut Outcome,
        mut found: HoleContent,
    ) -> io::Result<()> {
        if let Ended::Stopped(Stop::Seal(seal)) = &stretch.ended {
            self.keep_pending(outcome)?;
            return self.lose_behind_seal(seal.offset + SEAL_LENGTH as u64);
        }
        for pending in std::mem::take(&mut outcome.pending).into_iter().rev() {
            let Pending::Hole(_, problem, before) = pending else { continue };
            outcome.problem = problem;
            found.frames.splice(..0, before.frames);
        }
        let from = outcome.end;
        if let Some(end) = self.window.nonzero_end(from)? {
            self.lose_bytes(outcome, end - from, found);
        }
        Ok(())
    }

    fn lose_bytes(&mut self, outcome: &mut Outcome, length: u64, found: HoleContent) {
        let is_seal = |mark: &Mark| {
            let is_last = outcome.reached.is_some_and(|last| last.link == mark.link);
            mark.ends_segment && mark.end == outcome.end && is_last
        };
        let may_hold_records = !self.marks.iter().any(is_seal);
        let problem = outcome.problem.take().unwrap_or_default();
        let loss = Loss::new(self.name, outcome.end, length, problem);
        self.scan.lose(Loss { may_hold_records, found, ..loss });
    }

    fn lose_behind_seal(&mut self, behind: u64) -> io::Result<()> {
        if let Some(end) = self.window.nonzero_end(behind)? {
            let problem = "nothing may follow a seal".to_string();
            let loss = Loss::new(self.name, behind, end - behind, problem);
            self.scan.lose(Loss { may_hold_records: false, ..loss });
        }
        Ok(())
    }
}

impl Stretch {
    /// Takes the next record, unless it takes the place of what is tied.
    fn take(
        &mut self,
        (record, length, payload): (&Record<'_>, u64, Payload),
        limit: Limit,
        marks: &[Mark],
        head: Option<Head>,
    ) -> ControlFlow<()> {
        let (here, flags) = (ChainPosition::of(&record.header), record.header.flags);
        let end = self.front.end.saturating_add(length);
        let front = &mut self.front;
        if !limit.admits(&here, end) {
            self.ended = Ended::Limit;
            return ControlFlow::Break(());
        }
        front.take(record, length, payload);
        if marks.iter().any(|mark| (mark.sequence, mark.link) == (here.sequence, here.link)) {
            self.named = here.sequence;
        }
        let is_it =
            |head: Head| (head.newest_sequence, head.newest_link) == (here.sequence, here.link);
        let is_witnessed = head.is_some_and(is_it);
        if flags.more_follows() && !is_witnessed {
            return ControlFlow::Continue(());
        }
        // HEAD ties the record that it names, also where that one ends no batch.
        self.whole.join(front);
        *front = Part::behind(front.last, end, true);
        if is_witnessed { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Returns what is wrong behind its last record.
    fn problem(&self) -> String {
        let problem: Problem = match &self.ended {
            Ended::Stopped(Stop::Fault(fault)) => fault.clone().into(),
            Ended::Stopped(Stop::Nothing) if self.front.is_empty() => {
                return "behind the newest record there is something that is none".to_string();
            }
            Ended::Stopped(Stop::Nothing) => {
                Fault::UnfinishedBatch { found: self.front.last.sequence }.into()
            }
            _ => return "what is tied to a later record begins before this ends".to_string(),
        };
        problem.to_string()
    }
}

/// The hole behind a record: up to what is tied, else up to the record that a mark names, else to
/// the end, with records before the limit.
fn hole<'m, F: ReadFile>(
    window: &mut Window<F>,
    (after, from): (ChainPosition, u64),
    marks: &'m [Mark],
    limit: u64,
    tied: Option<&TiedRecords>,
) -> io::Result<Hole<'m>> {
    if tied.is_some() {
        let Limit { sequence: before, offset: to, time, .. } = Limit::before(tied);
        return Ok(Hole { after, from, to, before, time, is_closed: true, marks });
    }
    let end = window.nonzero_end(from)?.unwrap_or(from).next_multiple_of(ALIGNMENT as u64);
    let mark = marks.iter().find(|mark| mark.end > from && mark.sequence > after.sequence);
    let (before, to) = (mark.map_or(limit, |mark| mark.sequence), end);
    let time = u64::MAX;
    Ok(Hole { after, from, to, before, time, is_closed: false, marks })
}

/// Returns whether a record has the sequence and a time that may follow.
fn is_due(record: &Record<'_>, before: &ChainPosition) -> bool {
    let header = &record.header;
    let is_next = before.sequence.checked_add(1) == Some(header.sequence);
    is_next && header.time >= before.time && header.mark().is_ok()
}

/// HEAD names another record in the place of this one.
fn rewritten_by(head: Option<Head>, record: &Record<'_>) -> Option<(u64, Problem)> {
    let (sequence, found) = (record.header.sequence, record.header.link);
    let head = head.filter(|head| head.newest_sequence == sequence)?;
    let expected = head.newest_link;
    (expected != found).then_some((sequence, Problem::Rewritten { expected, found }))
}
