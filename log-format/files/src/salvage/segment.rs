//! One segment: which of its records are kept. First what follows from the place before it, then,
//! behind each hole, what a mark ties.

use super::plan::{Kept, Loss, Plan};
use super::source::text;
use super::survey::Visit;
use crate::finding::Problem;
use crate::run::{Onward, Run, Stop, walk};
use crate::storage::ReadFile;
use crate::survey::segment_path;
use crate::tie::{Edge, Mark, tied};
use crate::window::Window;
use holdpoint_log_format::limits::{SEAL_LENGTH, SEGMENT_HEADER_LENGTH};
use holdpoint_log_format::{ChainPosition, Fault, Head, Record, SegmentHeader};
use std::io;

/// Where the first record of a segment begins.
pub(super) const FIRST_RECORD: u64 = SEGMENT_HEADER_LENGTH as u64;

/// How many holes of one segment are searched behind. Each search reads the segment once more, so
/// that a segment made of holes costs no more than this.
const SEARCHES_MAX: usize = 16;

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
    /// HEAD, to be compared.
    pub(super) head: Option<Head>,
    /// Where the outcome goes.
    pub(super) plan: &'a mut Plan,
    /// Told of every record that verifies.
    pub(super) visit: &'a mut Visit<'a>,
}

/// The valid records from a place on.
struct Stretch {
    run: Run,
    /// The last valid record, of an unfinished batch too.
    seen: ChainPosition,
    /// Time of the first record, and of the first one behind the last whole batch.
    first_time: u64,
    front_time: u64,
    /// Withheld records in whole batches, and behind them.
    withheld: u64,
    front_withheld: u64,
    /// Whether there are records behind the last whole batch that are valid.
    has_front: bool,
    /// The first record of the last batch, whole or not; `None` where there is no record.
    last_batch: Option<u64>,
}

/// What speaks against the last record of a stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// The next record does not follow from it.
    Followed,
    /// HEAD names another one.
    Named,
}

const ONE_OF_TWO: &str = "either this record or the one before it was changed";
const ANOTHER_IS_NAMED: &str = "HEAD names another record here: either of the two was changed";

/// Where the valid records end and something else begins.
struct Gap {
    /// Offset behind the last whole batch.
    from: u64,
    edge: Edge,
    /// The valid beginning of a batch between the two.
    front: Option<Kept>,
    problem: String,
    may_hold_records: bool,
}

impl<F: ReadFile> SegmentSurvey<'_, F> {
    /// Surveys the records from the first one on; `start` is the place before it where that is
    /// known. Gives the last record kept.
    pub(super) fn survey(
        mut self,
        start: Option<ChainPosition>,
    ) -> io::Result<Option<ChainPosition>> {
        let mut reached = start;
        let mut gap = match start {
            Some(chain) => self.keep_from(chain, FIRST_RECORD, &mut reached)?,
            None => Some(self.unknown_start()),
        };
        for _ in 0..SEARCHES_MAX {
            let Some(open) = gap.take() else { return Ok(reached) };
            let Some((chain, offset)) = self.tie_behind(&open.edge)? else {
                gap = Some(open);
                break;
            };
            let hole = self.keep_front(open, true, &mut reached);
            self.lose(&hole, Some(offset))?;
            gap = self.keep_from(chain, offset, &mut reached)?;
        }
        if let Some(open) = gap {
            let hole = self.keep_front(open, false, &mut reached);
            self.lose(&hole, None)?;
        }
        Ok(reached)
    }

    /// Nothing is known of the place before the first record.
    fn unknown_start(&self) -> Gap {
        let problem = "the header is damaged, and the segment before it is missing".to_string();
        let edge = Edge { offset: FIRST_RECORD, after: None };
        Gap { from: FIRST_RECORD, edge, front: None, problem, may_hold_records: true }
    }

    /// Keeps the whole batches from `offset` on. Gives what lies behind them, if anything does.
    fn keep_from(
        &mut self,
        chain: ChainPosition,
        offset: u64,
        reached: &mut Option<ChainPosition>,
    ) -> io::Result<Option<Gap>> {
        let mut stretch = self.walk(chain, offset)?;
        let doubt = self.doubt(&stretch);
        if doubt.is_some() {
            self.take_back(&mut stretch, (chain, offset))?;
        }
        let run = &stretch.run;
        if run.chain.sequence > chain.sequence {
            self.plan.keep(Kept {
                last: run.chain.sequence,
                last_time: run.chain.time,
                first_time: stretch.first_time,
                withheld: stretch.withheld,
                ..self.kept(chain, offset)
            });
            *reached = Some(run.chain);
        }
        match &run.stop {
            Stop::Seal(seal) if doubt.is_none() => {
                let behind = seal.offset + SEAL_LENGTH as u64;
                self.lose_behind_seal(behind)?;
                Ok(None)
            }
            stop => {
                let problem = match doubt {
                    Some(Doubt::Named) => ANOTHER_IS_NAMED.to_string(),
                    Some(Doubt::Followed) => {
                        format!("{}; {ONE_OF_TWO}", self.problem_at(stop, &stretch))
                    }
                    None => self.problem_at(stop, &stretch),
                };
                self.gap_behind(&stretch, problem)
            }
        }
    }

    /// Why the last record of a stretch is not believed for what it says of itself: its link may
    /// have been made anew with it. A record that is named from outside is believed.
    fn doubt(&self, stretch: &Stretch) -> Option<Doubt> {
        let ChainPosition { sequence, link, .. } = stretch.seen;
        let here = || self.marks.iter().filter(|mark| mark.sequence == sequence);
        let is_there = stretch.last_batch.is_some();
        if !is_there || here().any(|mark| mark.link == link) {
            return None;
        }
        match &stretch.run.stop {
            Stop::Fault(Fault::Link { .. }) => Some(Doubt::Followed),
            _ => here().any(|mark| !mark.ends_segment).then_some(Doubt::Named),
        }
    }

    /// Ends a stretch before its last batch. What lies behind stays as it was found.
    fn take_back(
        &mut self,
        stretch: &mut Stretch,
        (chain, offset): (ChainPosition, u64),
    ) -> io::Result<()> {
        let Some(last_batch) = stretch.last_batch else { return Ok(()) };
        let mut seen = Seen::at(chain, None);
        let mut run = Run::from(chain, 0, offset);
        if last_batch > chain.sequence.saturating_add(1) {
            run = walk(&mut self.window, &self.header, run, &mut |_, record| {
                seen.take(record);
                match record.header.sequence.saturating_add(1) < last_batch {
                    true => Onward::Go,
                    false => Onward::Stop,
                }
            })?;
        }
        let found = &stretch.run;
        run.stop = found.stop.clone();
        (run.stop_offset, run.stop_sequence) = (found.stop_offset, found.stop_sequence);
        (stretch.run, stretch.withheld, stretch.has_front) = (run, seen.withheld, false);
        Ok(())
    }

    fn kept(&self, from: ChainPosition, offset: u64) -> Kept {
        Kept {
            segment: self.name,
            header: self.header,
            from,
            offset,
            last: from.sequence,
            first_time: 0,
            last_time: 0,
            withheld: 0,
        }
    }

    fn gap_behind(&mut self, stretch: &Stretch, problem: String) -> io::Result<Option<Gap>> {
        let run = &stretch.run;
        if self.window.nonzero_end(run.end_offset)?.is_none() {
            return Ok(None);
        }
        let front = stretch.has_front.then(|| Kept {
            last: stretch.seen.sequence,
            last_time: stretch.seen.time,
            first_time: stretch.front_time,
            withheld: stretch.front_withheld,
            ..self.kept(run.chain, run.end_offset)
        });
        let is_seal = self.marks.iter().any(|mark| {
            mark.ends_segment && mark.end == run.end_offset && mark.link == run.chain.link
        });
        Ok(Some(Gap {
            from: run.end_offset,
            edge: Edge { offset: run.stop_offset, after: Some(stretch.seen) },
            front,
            problem,
            may_hold_records: !is_seal,
        }))
    }

    fn walk(&mut self, chain: ChainPosition, offset: u64) -> io::Result<Stretch> {
        let mut seen = Seen::at(chain, self.head);
        let (segment, told) = (self.name, &mut *self.visit);
        let mut visit = |_: &_, record: &Record<'_>| {
            seen.take(record);
            told(segment, record);
            Onward::Go
        };
        let run = walk(&mut self.window, &self.header, Run::from(chain, 0, offset), &mut visit)?;
        if let Some(problem) = seen.rewritten {
            let file = segment_path(self.name);
            self.plan.findings.push(text(&file, 0, seen.witnessed, problem));
        }
        Ok(Stretch {
            has_front: seen.chain.sequence > run.chain.sequence,
            last_batch: (seen.count > 0).then_some(seen.last_batch),
            run,
            seen: seen.chain,
            first_time: seen.first_time,
            front_time: seen.front_time,
            withheld: seen.withheld,
            front_withheld: seen.front_withheld,
        })
    }

    fn problem_at(&self, stop: &Stop, stretch: &Stretch) -> String {
        let problem: Problem = match stop {
            Stop::Fault(fault) => fault.clone().into(),
            _ if stretch.has_front => {
                Fault::UnfinishedBatch { found: stretch.seen.sequence }.into()
            }
            _ => return "behind the newest record there is something that is none".to_string(),
        };
        problem.to_string()
    }

    /// The nearest place behind a hole from which the records are proven.
    fn tie_behind(&mut self, edge: &Edge) -> io::Result<Option<(ChainPosition, u64)>> {
        for mark in self.marks.clone() {
            if mark.end <= edge.offset {
                continue;
            }
            if let Some(found) = tied(&mut self.window, &self.header, &mark, edge)? {
                return Ok(Some(found));
            }
        }
        Ok(self.behind_witness(edge))
    }

    /// The record that HEAD names is damaged, and what follows it follows from what HEAD says.
    fn behind_witness(&self, edge: &Edge) -> Option<(ChainPosition, u64)> {
        let after = edge.after?;
        let is_behind = |mark: &&Mark| mark.end > edge.offset && mark.sequence > after.sequence;
        let mark = self.marks.iter().filter(is_behind).find(|mark| !mark.ends_segment)?;
        let chain = ChainPosition { sequence: mark.sequence, link: mark.link, time: after.time };
        Some((chain, mark.end))
    }

    /// Keeps the beginning of a batch whose rest is damaged, when the batch is known to have been
    /// whole. Of one that may never have been finished nothing is kept. Gives the rest.
    fn keep_front(
        &mut self,
        mut gap: Gap,
        is_tied: bool,
        reached: &mut Option<ChainPosition>,
    ) -> Gap {
        let proven = self.proven;
        let front = gap.front.take().filter(|front| is_tied || proven >= front.last);
        if let (Some(front), Some(seen)) = (front, gap.edge.after) {
            self.plan.keep(front);
            *reached = Some(seen);
            gap.from = gap.edge.offset;
        }
        gap
    }

    /// Gives up the bytes of a gap, up to `end` or to the last one that is not zero.
    fn lose(&mut self, gap: &Gap, end: Option<u64>) -> io::Result<()> {
        let nonzero = match end {
            Some(end) => self.window.nonzero_end_within(gap.from, end)?,
            None => self.window.nonzero_end(gap.from)?,
        };
        let length = nonzero.map_or(0, |nonzero| nonzero - gap.from);
        if length > 0 || end.is_some() {
            let problem = gap.problem.clone();
            let loss = Loss::new(self.name, gap.from, length, problem);
            self.plan.lose(Loss { may_hold_records: gap.may_hold_records, ..loss });
        }
        Ok(())
    }

    fn lose_behind_seal(&mut self, behind: u64) -> io::Result<()> {
        if let Some(end) = self.window.nonzero_end(behind)? {
            let problem = "nothing may follow a seal".to_string();
            let loss = Loss::new(self.name, behind, end - behind, problem);
            self.plan.lose(Loss { may_hold_records: false, ..loss });
        }
        Ok(())
    }
}

/// What a walk has seen.
struct Seen {
    chain: ChainPosition,
    head: Option<Head>,
    first_time: u64,
    front_time: u64,
    withheld: u64,
    front_withheld: u64,
    in_batch: bool,
    last_batch: u64,
    count: u64,
    rewritten: Option<Problem>,
    witnessed: u64,
}

impl Seen {
    fn at(chain: ChainPosition, head: Option<Head>) -> Self {
        let witnessed = head.map_or(0, |head| head.newest_sequence);
        Self {
            chain,
            head,
            first_time: 0,
            front_time: 0,
            withheld: 0,
            front_withheld: 0,
            in_batch: false,
            last_batch: 0,
            count: 0,
            rewritten: None,
            witnessed,
        }
    }

    fn take(&mut self, record: &Record<'_>) {
        let header = &record.header;
        if self.count == 0 {
            self.first_time = header.time;
        }
        if !self.in_batch {
            self.front_time = header.time;
            self.last_batch = header.sequence;
        }
        self.count += 1;
        self.front_withheld += u64::from(header.flags.withheld());
        self.in_batch = header.flags.more_follows();
        if !self.in_batch {
            self.withheld += self.front_withheld;
            self.front_withheld = 0;
        }
        self.chain =
            ChainPosition { sequence: header.sequence, link: header.link, time: header.time };
        self.compare(record);
    }

    fn compare(&mut self, record: &Record<'_>) {
        let found = record.header.link;
        let here = self.head.filter(|head| head.newest_sequence == record.header.sequence);
        if let Some(head) = here.filter(|head| head.newest_link != found) {
            self.rewritten = Some(Problem::Rewritten { expected: head.newest_link, found });
        }
    }
}
