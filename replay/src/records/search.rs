//! Looking for records without reading more of the log than is needed, in both directions.

use super::Line;
use super::exclude::may_hold;
use super::filter::Filter;
use super::indexes::LogTies;
use super::part::{Part, check_end, times_before};
use super::prefilter::Prefilter;
pub use super::searched::Searched;
use super::seen::{MetRecords, NewestQuery, NewestSegment, SeenIn, SeenRecord};
use super::shown::RecordSink;
use super::whole::{each, wrong_beginning};
use crate::progress::Progress;
use crate::reach::Reach;
use crate::read::{ReadError, ReadOptions};
use holdpoint_domain::world::Term;
use holdpoint_log_files::reader::OpenSegment;
use holdpoint_log_files::survey::{io_error, segment_path};
use holdpoint_log_files::{LogReader, ReadStorage, RecordPlace, Run, Standing};
use holdpoint_log_format::Record;
use holdpoint_log_index::{TermHash, read_indexed};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

/// More terms than this are not asked for one by one: some segment's filter would seem to hold one.
const EXCLUDED_BY_MAX: usize = 64;

/// Going back over so many records takes no time that somebody notices.
const READ_BACK_MAX: u64 = 4_096;

/// In which order records are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Oldest first, as they were recorded.
    OldestFirst,
    /// The newest one first.
    NewestFirst,
}

/// Shows every wanted record of complete batches in an order, with its standing: what ties it to
/// HEAD. Where the log is read whole anyway it is verified, and nothing behind damage is shown.
/// Where bounds, indexes that tied records vouch for, or the order let it read less, only what was
/// read for that is checked; what is found there is among the part's findings. Which records are
/// shown does not depend on it, unless the log is damaged. `visit` says when it has seen enough.
///
/// # Errors
/// As [`crate::verify()`].
pub fn search<S: ReadStorage>(
    storage: &S,
    filter: &Filter,
    order: Order,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    visit: &mut dyn FnMut(Line, Standing) -> ControlFlow<()>,
) -> Result<Searched, ReadError> {
    let reader = LogReader::of(storage)?;
    RecordSearch::of(&reader, filter, order, None)?.carried_out(options, progress, visit)
}

/// Does the same as [`search`], from the oldest record on; the records of the newest segment are
/// asked as well.
pub(crate) fn search_asking<S: ReadStorage>(
    storage: &S,
    filter: &Filter,
    asked: &NewestQuery,
    options: ReadOptions<'_>,
    visit: &mut dyn FnMut(Line, Standing) -> ControlFlow<()>,
) -> Result<Searched, ReadError> {
    let reader = LogReader::of(storage)?;
    let search = RecordSearch::of(&reader, filter, Order::OldestFirst, Some(asked))?;
    search.carried_out(options, &mut |_| {}, visit)
}

pub(super) struct RecordSearch<'r, 's, 'f, S> {
    pub(super) reader: &'r LogReader<'s, S>,
    pub(super) filter: &'f Filter,
    order: Order,
    pub(super) prefilter: Arc<Prefilter>,
    pub(super) tied: LogTies,
    seen: MetRecords,
    /// The terms by which segments are excluded: a wanted record holds one of each list.
    pub(super) excluded_by: Vec<Vec<TermHash>>,
    /// Segments, by their place in the list, of which it was found that they are.
    excluded: BTreeSet<usize>,
    /// Place where reading forwards begins in a segment of which no more was tied.
    begin: Option<(u64, Run)>,
    /// Time of the record before each segment, where times matter.
    times: Vec<u64>,
    pub(super) part: Part,
    /// Query that the newest segment's records are asked besides.
    asked: Option<&'f NewestQuery>,
}

impl<'r, 's, 'f, S: ReadStorage> RecordSearch<'r, 's, 'f, S> {
    pub(super) fn of(
        reader: &'r LogReader<'s, S>,
        filter: &'f Filter,
        order: Order,
        asked: Option<&'f NewestQuery>,
    ) -> Result<Self, ReadError> {
        let is_timed = filter.since.or(filter.until).is_some();
        let mut part = Part::begin(reader);
        let times = if is_timed { times_before(reader, &mut part)? } else { Vec::new() };
        let (tied, begin) = (LogTies::begin(reader, &mut part)?, None);
        let (prefilter, seen) = (Prefilter::of(filter).into(), MetRecords::default());
        let (excluded, excluded_by) = (BTreeSet::new(), terms_to_exclude_by(filter));
        let mut search = Self {
            reader,
            filter,
            order,
            prefilter,
            tied,
            seen,
            excluded_by,
            excluded,
            begin,
            times,
            part,
            asked,
        };
        if !filter.terms().is_empty() && order == Order::OldestFirst {
            search.exclude_all()?;
            search.tie_all()?;
        }
        Ok(search)
    }

    pub(super) fn carried_out(
        mut self,
        options: ReadOptions<'_>,
        progress: &mut dyn FnMut(Progress),
        visit: &mut dyn FnMut(Line, Standing) -> ControlFlow<()>,
    ) -> Result<Searched, ReadError> {
        if self.reads_all() {
            return self.whole(options, progress, visit);
        }
        let mut newest = 0;
        self.run(options, progress, &mut |line, standing| {
            newest = newest.max(line.sequence);
            visit(line, standing)
        })?;
        Ok(Searched::Part(self.into_part(newest).into()))
    }

    /// Returns whether a segment is not looked into: the filter of a sealed one's index tells at
    /// once that it holds nothing of what is wanted.
    fn excludes(&mut self, at: usize) -> Result<bool, ReadError> {
        let firsts = self.reader.firsts();
        let is_sealed = at.saturating_add(1) < firsts.len();
        let Some(first) = firsts.get(at).filter(|_| is_sealed && !self.excluded_by.is_empty())
        else {
            return Ok(false);
        };
        let Self { reader, tied, excluded_by, part, .. } = self;
        let is_excluded = may_hold(reader, tied, *first, excluded_by, part)? == Some(false);
        self.part.segments_by_index += u64::from(is_excluded);
        Ok(is_excluded)
    }

    /// Finds all that are, before the first of the others is tied.
    pub(super) fn exclude_all(&mut self) -> Result<(), ReadError> {
        for at in 0..self.reader.firsts().len() {
            if self.can_hold(at) && self.excludes(at)? {
                self.excluded.insert(at);
            }
        }
        Ok(())
    }

    /// Ties every segment that can hold a wanted record, from the newest one on.
    pub(super) fn tie_all(&mut self) -> Result<(), ReadError> {
        let holding = (0..self.reader.firsts().len()).filter(|at| self.can_hold(*at));
        let holding: Vec<usize> = holding.collect();
        let Some((begin, behind)) = holding.split_first() else { return Ok(()) };
        for at in behind.iter().rev() {
            self.tie_at(*at, None)?;
        }
        self.tie_at(*begin, self.filter.first)
    }

    /// Ties a segment before those that are tied, or, where records from one on are wanted alone,
    /// that part of it.
    pub(super) fn tie_at(&mut self, at: usize, wanted: Option<u64>) -> Result<(), ReadError> {
        let Some(first) = self.reader.firsts().get(at).copied() else { return Ok(()) };
        if self.tied.leap_to(self.reader, at)? {
            return Ok(());
        }
        if let Some(next) = self.reader.firsts().get(at.saturating_add(1)) {
            self.tie_seeing(*next)?;
        }
        if let Some(wanted) = wanted.filter(|wanted| *wanted > first)
            && !self.tied.is_by_index(first)
            && !self.tied.step_over(self.reader, first, &mut self.part)?
        {
            self.tie_back_to(first, wanted)?;
        }
        self.tie_seeing(first)
    }

    /// Ties a segment as if it had no index, or, where records from one on are wanted alone, that
    /// part of it: what is damaged before that is not met.
    fn tie_instead(&mut self, first: u64, wanted: Option<u64>) -> Result<(), ReadError> {
        self.tied.untie(first);
        match wanted.filter(|wanted| *wanted > first) {
            Some(wanted) => self.tie_back_to(first, wanted),
            None => Ok(()),
        }
    }

    /// Ties the records from `first` on, and keeps what is wanted of the segments that are read for
    /// that.
    fn tie_seeing(&mut self, first: u64) -> Result<(), ReadError> {
        let Self { reader, filter, prefilter, tied, seen, part, .. } = self;
        while let Some(due) = tied.due(reader, first) {
            if tied.step_over(reader, due, part)? {
                continue;
            }
            let asked = self.asked.filter(|_| reader.firsts().last() == Some(&due));
            let (mut met, mut said) = (SeenIn::default(), NewestSegment::from(due));
            let make = |place: &RecordPlace, record: &Record<'_>| {
                let answer = asked.map(|asked| asked.answer(record));
                (seen.judged(place, record, filter, prefilter), answer)
            };
            tied.read_making(reader, part, &make, &mut |_, record, (judged, answer)| {
                seen.meet(&mut met, &record.header, judged);
                answer.into_iter().for_each(|answer| said.take(&record.header, answer));
            })?;
            seen.keep(due, met);
            part.newest = asked.map(|_| said).or_else(|| part.newest.take());
        }
        Ok(())
    }

    /// Ties what lies behind a segment.
    fn tie_behind(&mut self, at: usize) -> Result<(), ReadError> {
        match self.reader.firsts().get(at.saturating_add(1)) {
            Some(next) => self.tied.back_to(self.reader, *next, &mut self.part),
            None => Ok(()),
        }
    }

    /// Ties the segment that is due from its end back to a record, where that is possible.
    fn tie_back_to(&mut self, first: u64, wanted: u64) -> Result<(), ReadError> {
        if self.lies_far_back(first, wanted)
            && let Some(begin) = self.tied.read_to_place(self.reader, wanted)?
        {
            self.begin = Some((first, begin));
            return Ok(());
        }
        let opened = self.reader.open(first, &mut self.part)?;
        let Some(mut segment) = opened else { return Ok(()) };
        let mut begin = None;
        let is_tied =
            self.tied.read_back(self.reader, &mut segment, &mut |before, place, record, _| {
                if record.header.sequence > wanted {
                    return ControlFlow::Continue(());
                }
                begin = Some((first, Run::from(*before, 0, place.offset)));
                ControlFlow::Break(())
            })?;
        if is_tied {
            self.begin = begin;
        }
        Ok(())
    }

    /// Returns whether it takes longer to go back from a segment's end to a record, one after
    /// another, than to read the segment whole, many at once.
    fn lies_far_back(&self, first: u64, wanted: u64) -> bool {
        let end = self.reader.end_of(self.reader.holding(first).unwrap_or(0));
        let end = end.min(self.reader.witnessed());
        let (behind, before) = (end.saturating_sub(wanted), wanted.saturating_sub(first));
        behind > before && behind > READ_BACK_MAX
    }

    /// Returns whether nothing is gained over reading the log whole, which proves more. Whoever
    /// asks for what is behind lost first segments asks for a part.
    fn reads_all(&self) -> bool {
        let firsts = self.reader.firsts();
        let is_read =
            |(at, first): (usize, &u64)| self.can_hold(at) && !self.tied.is_by_index(*first);
        let head = self.reader.head();
        let begins = head.map_or(1, |head| head.anchor_sequence.saturating_add(1));
        let begins = firsts.first().map_or(begins, |first| begins.min(*first));
        let is_cut = self.filter.first.is_some_and(|first| first > begins);
        firsts.is_empty()
            || self.order == Order::OldestFirst
                && (head.is_err() || !is_cut && firsts.iter().enumerate().all(is_read))
    }

    /// Reads the whole log; what is tied is known before the first record is shown.
    fn whole(
        &mut self,
        options: ReadOptions<'_>,
        progress: &mut dyn FnMut(Progress),
        visit: &mut dyn FnMut(Line, Standing) -> ControlFlow<()>,
    ) -> Result<Searched, ReadError> {
        self.tied.begin_by_reading(self.reader);
        self.tied.back_to(self.reader, 0, &mut self.part)?;
        let (tied, storage) = (&self.tied, self.reader.storage());
        let mut onward = ControlFlow::Continue(());
        let mut report = each(storage, self.filter, options, progress, &mut |record| {
            if onward.is_continue() {
                let line = Line::of(record).lying_in(&storage.archives());
                onward = visit(line, tied.standing(&record.header));
            }
        })?;
        report.take_findings(&self.part.findings);
        let newest = report.head.as_ref().map_or(0, |head| head.sequence);
        report.reach.take_ties(&self.tied);
        report.reach.take_newest(newest);
        Ok(Searched::Whole(Box::new(report)))
    }

    /// Returns what was read, when records up to the newest one were shown.
    pub(super) fn into_part(mut self, newest: u64) -> Part {
        self.part.reach = Reach::of_part(self.reader, &self.part, &self.tied);
        self.part.reach.take_newest(newest);
        self.part
    }

    /// Looks at HEAD, and at the log's end where it is asked for.
    pub(super) fn check_ends(&mut self, options: ReadOptions<'_>) -> Result<(), ReadError> {
        // Whether HEAD's record is there was looked at for the ties.
        self.part.extend(self.reader.witness(true));
        if self.filter.last.is_none_or(|last| last >= self.reader.witnessed()) {
            self.part.reach.followed =
                check_end(self.reader, self.tied.is_followed(), options, &mut self.part)?;
        }
        Ok(())
    }

    /// Looks at the log's beginning where it is asked for.
    pub(super) fn check_beginning(&mut self) -> Result<(), ReadError> {
        let wrong = wrong_beginning(self.reader.storage(), self.filter)?;
        let archives = &self.part.archives;
        self.part.findings.extend(wrong.map(|finding| finding.located(archives)));
        Ok(())
    }

    /// Returns whether a segment can hold a wanted record, by the records and times at its ends.
    fn can_hold(&self, at: usize) -> bool {
        let Filter { first, last, since, until, .. } = *self.filter;
        let begin = self.reader.firsts().get(at).copied().unwrap_or(u64::MAX);
        let time = |at: usize| self.times.get(at).copied();
        let ended = time(at.saturating_add(1));
        !self.excluded.contains(&at)
            && last.is_none_or(|last| begin <= last)
            && first.is_none_or(|first| self.reader.end_of(at) >= first)
            && until.zip(time(at)).is_none_or(|(until, began)| began <= until.nanoseconds())
            && since.zip(ended).is_none_or(|(since, ended)| ended >= since.nanoseconds())
    }

    fn run(
        &mut self,
        options: ReadOptions<'_>,
        progress: &mut dyn FnMut(Progress),
        visit: &mut dyn FnMut(Line, Standing) -> ControlFlow<()>,
    ) -> Result<(), ReadError> {
        self.check_ends(options)?;
        let mut at: Vec<usize> =
            (0..self.reader.firsts().len()).filter(|at| self.can_hold(*at)).collect();
        match self.order {
            Order::NewestFirst => at.reverse(),
            Order::OldestFirst => {
                self.check_beginning()?;
                self.tie_all()?;
            }
        }
        let expected = self.reader.witnessed();
        for at in at {
            let onward = self.scan(at, visit)?;
            progress(Progress { sequence: self.reader.end_of(at).min(expected), expected });
            if onward.is_break() {
                return Ok(());
            }
        }
        // Whoever begins at the end may have seen enough before the beginning.
        if self.order == Order::NewestFirst {
            self.check_beginning()?;
        }
        Ok(())
    }

    /// Ties a segment, by its index where that can be. Says whether it is tied so.
    pub(super) fn tie(&mut self, at: usize) -> Result<bool, ReadError> {
        let first = self.reader.firsts().get(at).copied().unwrap_or_default();
        if self.order == Order::OldestFirst || !self.tied.leap_to(self.reader, at)? {
            self.tie_behind(at)?;
        }
        Ok(self.tied.is_by_index(first)
            || self.tied.step_over(self.reader, first, &mut self.part)?)
    }

    /// One segment.
    fn scan(
        &mut self,
        at: usize,
        visit: &mut dyn FnMut(Line, Standing) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, ReadError> {
        // Whoever goes back may soon have seen enough: no segment is asked before its turn.
        if self.order == Order::NewestFirst && self.excludes(at)? {
            return Ok(ControlFlow::Continue(()));
        }
        let first = self.reader.firsts().get(at).copied().unwrap_or_default();
        let is_by_index = self.tie(at)?;
        let opened = self.reader.open(first, &mut self.part)?;
        let Some(mut segment) = opened else { return Ok(ControlFlow::Continue(())) };
        let mut filter = self.filter.clone();
        if is_by_index {
            let mut is_other = false;
            match self.by_index(&mut segment, visit)? {
                Some(Ok(onward)) => {
                    self.part.segments_by_index += 1;
                    return Ok(onward);
                }
                Some(Err(rest)) => (filter, is_other) = (rest, true),
                None => {}
            }
            match self.order {
                Order::OldestFirst => self.tie_instead(first, filter.first)?,
                Order::NewestFirst if is_other => self.tied.untie(first),
                Order::NewestFirst => {
                    self.tied.read_after_all(self.reader, first, &mut self.part)?;
                }
            }
        }
        self.part.segments_read += 1;
        let mut shown = RecordSink::to(visit, self.order, filter, &self.prefilter, &self.part);
        match self.order {
            Order::OldestFirst => self.forwards(&mut segment, &mut shown)?,
            Order::NewestFirst => self.backwards(&mut segment, &mut shown)?,
        }
        let (onward, unread) = (shown.onward, shown.unread);
        self.part.extend(unread);
        Ok(onward)
    }

    /// Reads a segment forwards, once what is tied of it is known.
    fn forwards(
        &mut self,
        segment: &mut OpenSegment<S::File>,
        shown: &mut RecordSink<'_>,
    ) -> Result<(), ReadError> {
        let first = segment.header.first_sequence();
        self.tie_seeing(first)?;
        let Self { reader, tied, seen, begin, part, .. } = self;
        if let Some(seen) = seen.take(first) {
            let due = seen.into_iter().filter(|seen| shown.filter.admits(&seen.header));
            let lines = due
                .map(|SeenRecord { header, judged }| shown.take(*judged, tied.standing(&header)));
            let lines = lines.collect();
            shown.show(lines);
            return Ok(());
        }
        let begin = begin.take().filter(|(begin, _)| *begin == first);
        let from = begin.map_or_else(|| Run::at_start(&segment.header), |(_, from)| from);
        let (mut held, mut is_tied) = (Vec::new(), true);
        reader.walk(segment, from, part, &mut |place, record| {
            held.extend(shown.wanted(place, record, tied.standing(&record.header)));
            if record.header.flags.more_follows() {
                return ControlFlow::Continue(());
            }
            // What is read again is shown when it has led to a link that was tied.
            match tied.ties().is_as_tied(&record.header) {
                Some(true) => shown.show(std::mem::take(&mut held)),
                Some(false) => is_tied = false,
                None if held.is_empty() => {}
                None => return ControlFlow::Continue(()),
            }
            let is_over = !is_tied || shown.filter.ends_before(&record.header);
            if is_over { ControlFlow::Break(()) } else { shown.onward }
        })?;
        match is_tied && held.is_empty() {
            true => Ok(()),
            false => tied.read_anew(reader, first, part),
        }
    }

    /// From the newest record back, each tied as it is shown. Where that is not possible, the
    /// segment is read from its beginning, and what keeps it from being tied is found.
    fn backwards(
        &mut self,
        segment: &mut OpenSegment<S::File>,
        shown: &mut RecordSink<'_>,
    ) -> Result<(), ReadError> {
        let Self { reader, tied, part, .. } = self;
        let first = segment.header.first_sequence();
        // Behind HEAD's record, nothing can be tied.
        if let Some(head) = reader.at_head(segment)?
            && !shown.in_pieces(reader, tied, segment, head, part)?
        {
            tied.read_anew(reader, first, part)?;
        }
        let is_tied = shown.onward.is_break()
            || tied.read_back(reader, segment, &mut |_, place, record, standing| {
                let wanted = shown.wanted(place, record, standing);
                shown.show(wanted.into_iter().collect());
                let is_first = shown.filter.begins_with(&record.header);
                if is_first { ControlFlow::Break(()) } else { shown.onward }
            })?;
        if !is_tied {
            tied.back_to(reader, first, part)?;
            shown.filter = shown.rest();
            let from = Run::at_start(&segment.header);
            if !shown.in_pieces(reader, tied, segment, from, part)? {
                tied.read_anew(reader, first, part)?;
            }
        }
        Ok(())
    }

    /// Shows what an index names. `None`: there is none to be used. The inner error: a record is
    /// not what the index says, and this is what was not shown yet.
    fn by_index(
        &mut self,
        segment: &mut OpenSegment<S::File>,
        visit: &mut dyn FnMut(Line, Standing) -> ControlFlow<()>,
    ) -> Result<Option<Result<ControlFlow<()>, Filter>>, ReadError> {
        let first = segment.header.first_sequence();
        let Some(believed) = self.tied.take_index(self.reader, first)? else { return Ok(None) };
        let Ok(Some(candidates)) = believed.candidates(self.filter, self.order) else {
            return Ok(None);
        };
        let tied = &self.tied;
        let filter = self.filter.clone();
        let mut shown = RecordSink::to(visit, self.order, filter, &self.prefilter, &self.part);
        for piece in in_order(&candidates, self.order) {
            let mut lines = Vec::new();
            let read = read_indexed(&believed.index, segment, piece, &mut |place, record| {
                lines.extend(shown.wanted(place, record, tied.standing(&record.header)));
            });
            if read.map_err(io_error(&segment_path(first)))?.is_none() {
                let (rest, unread) = (shown.rest(), shown.unread);
                self.part.extend(unread);
                return Ok(Some(Err(rest)));
            }
            shown.show(lines);
            if shown.onward.is_break() {
                break;
            }
        }
        let (onward, unread) = (shown.onward, shown.unread);
        self.part.segments_read_by_index += u64::from(!candidates.is_empty());
        self.part.extend(unread);
        Ok(Some(Ok(onward)))
    }
}

/// Returns the terms by which wanted records are known, of the lists that are short enough.
pub(super) fn terms_to_exclude_by(filter: &Filter) -> Vec<Vec<TermHash>> {
    let hash = |term: &Term<'_>| TermHash::of(&term.canonical());
    let lists = filter.terms();
    let short = lists.iter().filter(|list| list.len() <= EXCLUDED_BY_MAX);
    short.map(|list| list.iter().map(hash).collect()).collect()
}

/// Number of records named by an index that are read before they are shown.
const CANDIDATES_AT_ONCE: usize = 256;

/// Returns what an index names, in pieces, in an order.
fn in_order(candidates: &[u64], order: Order) -> Vec<&[u64]> {
    match order {
        Order::OldestFirst => candidates.chunks(CANDIDATES_AT_ONCE).collect(),
        Order::NewestFirst => candidates.rchunks(CANDIDATES_AT_ONCE).collect(),
    }
}
