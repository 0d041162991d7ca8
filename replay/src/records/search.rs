//! Looking for records without reading more of the log than is needed, in both directions.

use super::Line;
use super::filter::Filter;
use super::indexes::{Believed, Candidate, Vouched, read_candidate};
use super::segments::{Part, Segment, Segments, io_error};
use super::whole::records;
use crate::progress::Progress;
use crate::read::{ReadError, ReadOptions};
use crate::report::Report;
use holdpoint_log_files::run::walk;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{Onward, ReadFile, ReadStorage, RecordPlace, Run};
use holdpoint_log_format::{ChainPosition, Record};
use serde::Serialize;

/// A segment is read from its end in pieces of about so many bytes.
const PIECE_BYTES: u64 = 1 << 20;

/// In which order records are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they were recorded.
    OldestFirst,
    /// The newest one first.
    NewestFirst,
}

/// How far a record that is shown was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// It follows from everything before it, from the log's first record on.
    Log,
    /// It follows from everything before it in its segment.
    Segment,
    /// It holds by itself, and it follows from the record before it.
    Record,
}

/// How much of a log was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All of it: what the bytes prove. Events are not judged.
    Whole(Box<Report>),
    /// What was needed.
    Part(Part),
}

/// Shows every wanted record of complete batches in an order. Where the log is read whole anyway it
/// is verified, and nothing behind damage is shown. Where bounds, indexes that the log vouches for,
/// or the order let it read less, only that is checked: `visit` is told how far, and damage that is
/// met is among the part's findings. Which records are shown does not depend on it, unless the log
/// is damaged. `visit` says when it has seen enough.
///
/// # Errors
/// As [`crate::verify()`].
pub fn search<S: ReadStorage>(
    storage: &S,
    filter: &Filter,
    order: Order,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    visit: &mut dyn FnMut(Line, Checked) -> Onward,
) -> Result<Reach, ReadError> {
    let segments = Segments::of(storage)?;
    let mut search = Search::of(segments, filter, order)?;
    if search.reads_all() {
        return whole(storage, filter, options, progress, visit);
    }
    search.run(progress, visit)?;
    Ok(Reach::Part(search.part))
}

fn whole<S: ReadStorage>(
    storage: &S,
    filter: &Filter,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    visit: &mut dyn FnMut(Line, Checked) -> Onward,
) -> Result<Reach, ReadError> {
    let mut onward = Onward::Go;
    let report = records(storage, filter, options, progress, &mut |line| {
        if onward == Onward::Go {
            onward = visit(line, Checked::Log);
        }
    })?;
    Ok(Reach::Whole(Box::new(report)))
}

struct Search<'s, 'f, S> {
    segments: Segments<'s, S>,
    filter: &'f Filter,
    order: Order,
    vouched: Vouched,
    /// Time of the record before each segment, where times matter.
    times: Vec<u64>,
    part: Part,
}

/// Where records of a segment are shown to.
struct Shown<'v> {
    order: Order,
    checked: Checked,
    /// The newest record shown, in the order.
    last: Option<u64>,
    onward: Onward,
    visit: &'v mut dyn FnMut(Line, Checked) -> Onward,
}

impl<'s, 'f, S: ReadStorage> Search<'s, 'f, S> {
    fn of(segments: Segments<'s, S>, filter: &'f Filter, order: Order) -> Result<Self, ReadError> {
        let is_bounded = filter.first.or(filter.last).is_some();
        let is_timed = filter.since.or(filter.until).is_some();
        let is_narrow = is_bounded || is_timed || !filter.terms().is_empty();
        let vouched = if is_narrow { Vouched::of(&segments)? } else { Vouched::default() };
        let mut part = Part { segments: segments.firsts.len() as u64, ..Part::default() };
        let times = if is_timed { times_before(&segments, &mut part)? } else { Vec::new() };
        Ok(Self { segments, filter, order, vouched, times, part })
    }

    /// Whether nothing is gained over reading the log whole, which proves more.
    fn reads_all(&self) -> bool {
        let has_terms = !self.filter.terms().is_empty();
        let firsts = &self.segments.firsts;
        let is_read = |(at, first): (usize, &u64)| {
            self.can_hold(at) && !(has_terms && self.vouched.names(*first))
        };
        firsts.is_empty()
            || self.order == Order::OldestFirst
                && (!self.segments.has_head() || firsts.iter().enumerate().all(is_read))
    }

    /// Whether a segment can hold a wanted record, by the records and times at its ends.
    fn can_hold(&self, at: usize) -> bool {
        let Filter { first, last, since, until, .. } = *self.filter;
        let begin = self.segments.firsts.get(at).copied().unwrap_or(u64::MAX);
        let time = |at: usize| self.times.get(at).copied();
        let ended = time(at.saturating_add(1));
        last.is_none_or(|last| begin <= last)
            && first.is_none_or(|first| self.segments.end_of(at) >= first)
            && until.zip(time(at)).is_none_or(|(until, began)| began <= until.nanoseconds())
            && since.zip(ended).is_none_or(|(since, ended)| ended >= since.nanoseconds())
    }

    fn run(
        &mut self,
        progress: &mut dyn FnMut(Progress),
        visit: &mut dyn FnMut(Line, Checked) -> Onward,
    ) -> Result<(), ReadError> {
        self.segments.check_ends(&mut self.part)?;
        let mut at: Vec<usize> =
            (0..self.segments.firsts.len()).filter(|at| self.can_hold(*at)).collect();
        if self.order == Order::NewestFirst {
            at.reverse();
        }
        let expected = self.segments.expected();
        for at in at {
            let onward = self.scan(at, visit)?;
            progress(Progress { sequence: self.segments.end_of(at).min(expected), expected });
            if onward == Onward::Stop {
                break;
            }
        }
        Ok(())
    }

    /// One segment.
    fn scan(
        &mut self,
        at: usize,
        visit: &mut dyn FnMut(Line, Checked) -> Onward,
    ) -> Result<Onward, ReadError> {
        let first = self.segments.firsts.get(at).copied().unwrap_or_default();
        let opened = self.segments.open(first, &mut self.part)?;
        let Some(mut segment) = opened else { return Ok(Onward::Go) };
        let index = self.vouched.index(self.segments.storage, first);
        let mut shown = Shown::to(visit, self.order);
        if let Some(index) = &index
            && let Some(candidates) = index.candidates(self.filter)
            && shown.candidates(&mut segment, &candidates, self.filter).is_some()
        {
            self.part.segments_by_index += 1;
            return Ok(shown.onward);
        }
        self.part.segments_read += 1;
        let rest = shown.rest_of(self.filter);
        let from = index.and_then(|index: Believed| index.run_before(&rest, &mut segment));
        shown.checked = if from.is_some() { Checked::Record } else { Checked::Segment };
        let from = from.unwrap_or_else(|| Run::at_start(&segment.header));
        match self.order {
            Order::OldestFirst => self.forwards(&mut segment, from, &rest, &mut shown)?,
            Order::NewestFirst => self.backwards(&mut segment, from, &rest, &mut shown)?,
        }
        Ok(shown.onward)
    }

    fn forwards(
        &mut self,
        segment: &mut Segment<S::File>,
        from: Run,
        filter: &Filter,
        shown: &mut Shown<'_>,
    ) -> Result<(), ReadError> {
        let mut batch = Vec::new();
        self.segments.walk(segment, from, &mut self.part, &mut |place, record| {
            batch.extend(Line::wanted(place, record, filter));
            if record.header.flags.more_follows() {
                return Onward::Go;
            }
            shown.show(std::mem::take(&mut batch));
            if filter.ends_before(&record.header) { Onward::Stop } else { shown.onward }
        })?;
        Ok(())
    }

    /// Once through the segment to find where pieces of it begin, and then each piece, from the
    /// last one on.
    fn backwards(
        &mut self,
        segment: &mut Segment<S::File>,
        from: Run,
        filter: &Filter,
        shown: &mut Shown<'_>,
    ) -> Result<(), ReadError> {
        let mut pieces = Pieces::from(from.clone());
        self.segments.walk(segment, from, &mut self.part, &mut |place, record| {
            pieces.follow(place, record, filter);
            let ends_batch = !record.header.flags.more_follows();
            let is_enough = ends_batch && filter.ends_before(&record.header);
            if is_enough { Onward::Stop } else { Onward::Go }
        })?;
        let file = segment_path(segment.header.first_sequence());
        for (begin, end_offset) in pieces.with_wanted().into_iter().rev() {
            let (mut lines, mut batch) = (Vec::new(), Vec::new());
            walk(&mut segment.window, &segment.header, begin, &mut |place, record| {
                batch.extend(Line::wanted(place, record, filter));
                if record.header.flags.more_follows() {
                    return Onward::Go;
                }
                lines.append(&mut batch);
                let is_end = place.offset.saturating_add(place.length) >= end_offset;
                if is_end { Onward::Stop } else { Onward::Go }
            })
            .map_err(io_error(&file))?;
            shown.show(lines);
            if shown.onward == Onward::Stop {
                break;
            }
        }
        Ok(())
    }
}

impl<'v> Shown<'v> {
    fn to(visit: &'v mut dyn FnMut(Line, Checked) -> Onward, order: Order) -> Self {
        Self { order, checked: Checked::Record, last: None, onward: Onward::Go, visit }
    }

    /// Shows what an index names. `None`: a record is not where the index says, and what was not
    /// shown yet is to be looked for without it.
    fn candidates<F: ReadFile>(
        &mut self,
        segment: &mut Segment<F>,
        candidates: &[Candidate],
        filter: &Filter,
    ) -> Option<()> {
        let mut pieces: Vec<&[Candidate]> = pieces_of(candidates);
        if self.order == Order::NewestFirst {
            pieces.reverse();
        }
        let first = segment.header.first_sequence();
        for piece in pieces {
            let mut lines = Vec::new();
            for candidate in piece {
                let line = read_candidate(segment, candidate, |record, length| {
                    let place = RecordPlace { segment: first, offset: candidate.offset, length };
                    Line::wanted(&place, record, filter)
                })?;
                lines.extend(line);
            }
            self.show(lines);
            if self.onward == Onward::Stop {
                break;
            }
        }
        Some(())
    }

    fn show(&mut self, mut lines: Vec<Line>) {
        if self.order == Order::NewestFirst {
            lines.reverse();
        }
        for line in lines {
            if self.onward == Onward::Stop {
                return;
            }
            self.last = Some(line.sequence);
            self.onward = (self.visit)(line, self.checked);
        }
    }

    /// The filter of what was not shown yet.
    fn rest_of(&self, filter: &Filter) -> Filter {
        let mut rest = filter.clone();
        match (self.last, self.order) {
            (None, _) => {}
            (Some(last), Order::OldestFirst) => rest.first = Some(last.saturating_add(1)),
            (Some(last), Order::NewestFirst) => rest.last = Some(last.saturating_sub(1)),
        }
        rest
    }
}

/// Where pieces of a segment begin, each at the end of a batch, and whether they hold a record
/// that can be wanted.
struct Pieces {
    begun: Vec<(Run, bool)>,
    is_wanted: bool,
    end_offset: u64,
}

impl Pieces {
    fn from(run: Run) -> Self {
        Self { end_offset: run.end_offset, begun: vec![(run, false)], is_wanted: false }
    }

    fn follow(&mut self, place: &RecordPlace, record: &Record<'_>, filter: &Filter) {
        self.is_wanted |= filter.admits(&record.header);
        if record.header.flags.more_follows() {
            return;
        }
        self.end_offset = place.offset.saturating_add(place.length);
        let begun = self.begun.last_mut();
        let Some((begin, is_wanted)) = begun else { return };
        *is_wanted |= self.is_wanted;
        self.is_wanted = false;
        if self.end_offset.saturating_sub(begin.end_offset) >= PIECE_BYTES {
            let header = &record.header;
            let (sequence, link, time) = (header.sequence, header.link, header.time);
            let chain = ChainPosition { sequence, link, time };
            self.begun.push((Run::from(chain, place.offset, self.end_offset), false));
        }
    }

    /// Those with such a record, each with the offset behind it.
    fn with_wanted(self) -> Vec<(Run, u64)> {
        let ends = self.begun.iter().skip(1).map(|(run, _)| run.end_offset);
        let ends: Vec<u64> = ends.chain([self.end_offset]).collect();
        let pieces = self.begun.into_iter().zip(ends);
        pieces.filter(|((_, is_wanted), _)| *is_wanted).map(|((run, _), end)| (run, end)).collect()
    }
}

/// Cut so that all but the last record of a piece lie within [`PIECE_BYTES`].
fn pieces_of(candidates: &[Candidate]) -> Vec<&[Candidate]> {
    let mut begin = None;
    let is_near = |_: &Candidate, next: &Candidate| {
        let from: u64 = *begin.get_or_insert(next.offset);
        let is_near = next.offset.saturating_sub(from) < PIECE_BYTES;
        if !is_near {
            begin = Some(next.offset);
        }
        is_near
    };
    candidates.chunk_by(is_near).collect()
}

/// The time of the record before each segment.
fn times_before<S: ReadStorage>(
    segments: &Segments<'_, S>,
    part: &mut Part,
) -> Result<Vec<u64>, ReadError> {
    let mut times: Vec<u64> = Vec::with_capacity(segments.firsts.len());
    for first in &segments.firsts {
        let opened = segments.open(*first, part)?;
        let before = times.last().copied().unwrap_or(0);
        times.push(opened.map_or(before, |segment| segment.header.previous.time));
    }
    Ok(times)
}
