//! Ties of records to the newest witness (`FORMAT.md`, section 33).

use super::{LogReader, OpenSegment, at_begin};
use crate::blocks::{Make, VisitWithValue};
use crate::finding::Finding;
use crate::run::{RecordPlace, Run};
use crate::storage::{ReadFile, ReadStorage};
use crate::survey::{SurveyError, io_error, segment_path};
use crate::tie::{Back, Edge, Mark, tied, walk_back};
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::{ChainPosition, Fault, Head, Link, Record, RecordHeader, SegmentHeader};
use std::ops::ControlFlow;
use std::ops::RangeInclusive;
use std::thread::available_parallelism;

/// More threads than this do not check: the disk is as fast.
const THREADS_MAX: usize = 8;

/// Returns the number of threads that check the records of a segment.
pub(crate) fn threads_to_check() -> usize {
    available_parallelism().map_or(1, |threads| threads.get().min(THREADS_MAX))
}

/// Proof of a record that is shown, or named and not to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is tied to the newest witness by links, without a break.
    Proven,
    /// It is tied, and its payload was replaced by the digest of it.
    Withheld,
    /// Nothing ties it: there is damage between it and the newest witness.
    Unproven,
    /// Nothing ties it: it lies behind the newest witness, which follows within a second.
    Unwitnessed,
    /// It is named, and in its place there is no such record.
    Damaged,
    /// It is named, and lies in an archive that was not read with the log.
    Archived,
}

impl Standing {
    /// Returns what is proven of a record that is tied.
    #[must_use]
    pub fn of_tied(header: &RecordHeader) -> Self {
        if header.flags.withheld() { Self::Withheld } else { Self::Proven }
    }

    /// A stable name for programs: which of the two kinds of unproven it is, a record's sequence
    /// tells.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Withheld => "withheld",
            Self::Unproven | Self::Unwitnessed => "unproven",
            Self::Damaged => "damaged",
            Self::Archived => "archived elsewhere",
        }
    }
}

/// The records that were tied to the newest witness, as far back as was asked for: from the newest
/// segment on, one after another.
#[derive(Clone, Debug)]
pub struct Ties {
    /// From the newest ones on.
    tied: Vec<SegmentTies>,
    /// The record that the next segment must end with; `None` where nothing leads further back.
    mark: Option<Mark>,
    /// The newest record that is witnessed; `None` where no witness can be read.
    witnessed: Option<u64>,
}

/// The tied records of a segment.
#[derive(Clone, Debug)]
struct SegmentTies {
    segment: u64,
    /// The one of them that is named from outside of the segment.
    mark: Mark,
    records: RangeInclusive<u64>,
    /// The links that were kept of those that were computed, in the order of the records.
    links: Links,
}

/// Links of some records, each with its sequence, in their order.
type Links = Vec<(u64, Link)>;

/// The link of a record is kept when the record reaches over a multiple of so many bytes.
const LINKS_APART: u64 = 256 * 1_024;

impl Ties {
    /// From HEAD on; nothing is tied yet.
    pub fn begin<S: ReadStorage>(reader: &LogReader<'_, S>) -> Self {
        let head = reader.head().ok();
        let witnessed = head.map(|head| head.newest_sequence);
        let named = head.filter(|head| !head.is_at_anchor());
        Self { tied: Vec::new(), mark: named.map(Mark::of_head), witnessed }
    }

    /// From the newest witness on: HEAD, or a head that was kept outside of the log for a later
    /// record, where that record has the link that it names. What is wrong on the way is found.
    ///
    /// # Errors
    /// The segment that holds such a record cannot be read.
    pub fn witnessed_by<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        outside: &[(u64, Link)],
        found: &mut impl Extend<Finding>,
    ) -> Result<Self, SurveyError> {
        let mut ties = Self::begin(reader);
        for (sequence, link) in outside {
            if ties.witnessed.is_some_and(|witnessed| *sequence > witnessed)
                && let Some(mark) = Mark::of_outside(reader, *sequence, *link, found)?
            {
                (ties.mark, ties.witnessed) = (Some(mark), Some(*sequence));
            }
        }
        Ok(ties)
    }

    /// The first sequence of the segment that is tied next; `None` where nothing leads further
    /// back.
    #[must_use]
    pub fn due<S: ReadStorage>(&self, reader: &LogReader<'_, S>) -> Option<u64> {
        let mark = self.mark.as_ref()?;
        let name = *reader.firsts().get(reader.holding(mark.sequence)?)?;
        self.tied.last().is_none_or(|last| name < last.segment).then_some(name)
    }

    /// Returns whether records from `first` on were tied, or as many as can be.
    #[must_use]
    pub fn reach<S: ReadStorage>(&self, reader: &LogReader<'_, S>, first: u64) -> bool {
        self.due(reader).is_none_or(|due| reader.end_of(reader.holding(due).unwrap_or(0)) < first)
    }

    /// Ties the records of the segment that is due by computing every link. What keeps them from
    /// being tied is found. `visit` sees the records of the segment up to the first fault.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn read<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        found: &mut impl Extend<Finding>,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>),
    ) -> Result<(), SurveyError> {
        self.read_making(reader, found, &|_, _| (), &mut |place, record, ()| visit(place, record))
    }

    /// Reads like [`Self::read`], with what `make` makes of each record in the threads that check
    /// them.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn read_making<S: ReadStorage, T: Send>(
        &mut self,
        reader: &LogReader<'_, S>,
        found: &mut impl Extend<Finding>,
        make: &Make<'_, T>,
        visit: &mut VisitWithValue<'_, T>,
    ) -> Result<(), SurveyError> {
        let due = self.due(reader);
        let (Some(mark), Some(name)) = (self.mark.take(), due) else { return Ok(()) };
        let Some(mut segment) = reader.open(name, found)? else { return Ok(()) };
        let (behind, links) = tie_segment(reader, &mut segment, &mark, found, make, visit)?;
        self.mark = (behind == Some(name.saturating_sub(1))).then(|| Mark::before(&segment.header));
        self.take(name, mark, behind, links);
        Ok(())
    }

    /// Ties the records of the segment that is due from the newest one back, and shows each with
    /// the place behind the record before it, until `visit` has seen enough: then nothing before
    /// is tied.
    /// `false` where something that was not shown yet is not as it must be; the segment must be
    /// [read](Self::read) then, which finds what.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn read_back<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        segment: &mut OpenSegment<S::File>,
        visit: &mut dyn FnMut(&ChainPosition, &RecordPlace, &Record<'_>) -> ControlFlow<()>,
    ) -> Result<bool, SurveyError> {
        let name = segment.header.first_sequence();
        let is_due = self.due(reader) == Some(name);
        let Some(mark) = self.mark.filter(|_| is_due) else { return Ok(false) };
        let is_there = mark.ends_segment || reader.at_head(segment)?.is_some();
        let OpenSegment { header, window } = segment;
        if !is_there || reader.wrong_beginning(header).is_some() {
            return Ok(false);
        }
        let (mut behind, mut links) = (mark.sequence, Vec::new());
        let reached = walk_back(window, header, &mark, &mut |before, place, record| {
            behind = before.sequence;
            links.extend(link_between(place, &record.header));
            visit(before, place, record)
        });
        match reached.map_err(io_error(&segment_path(name)))? {
            Back::Broken => return Ok(false),
            Back::Asked => self.mark = None,
            Back::Whole => self.mark = Some(Mark::before(header)),
        }
        links.reverse();
        self.take(name, mark, Some(behind), links);
        Ok(true)
    }

    /// Ties the records of the segment that is due by links that are stated, in what was tied
    /// already: of its last record, and before its first one. `false` where they are no part of
    /// the same chain; the segment must be read then.
    #[must_use]
    pub fn step_over<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        header: &SegmentHeader,
        last: &ChainPosition,
        before: Link,
    ) -> bool {
        let is_due = self.due(reader) == Some(header.first_sequence());
        let is_chain = |mark: &Mark| (mark.sequence, mark.link) == (last.sequence, last.link);
        let Some(mark) = self.mark.filter(|mark| is_due && is_chain(mark)) else { return false };
        if header.previous.link != before {
            return false;
        }
        self.take(header.first_sequence(), mark, Some(header.previous.sequence), Vec::new());
        self.mark = Some(Mark::before(header));
        true
    }

    /// Ties the records of a segment before what was tied, by links that are stated in it: of its
    /// last record, and before its first one. The header of the segment behind it has to name the
    /// same last record. What lies between is not tied. `false`: nothing was tied.
    #[must_use]
    pub fn leap_to(
        &mut self,
        header: &SegmentHeader,
        last: &ChainPosition,
        before: Link,
        next: &SegmentHeader,
    ) -> bool {
        let (first, mark) = (header.first_sequence(), Mark::before(next));
        let is_earlier = self.tied.last().is_none_or(|tied| first < tied.segment);
        let is_chain = (mark.sequence, mark.link) == (last.sequence, last.link);
        if !(is_earlier && is_chain && header.previous.link == before) {
            return false;
        }
        self.take(first, mark, Some(header.previous.sequence), Vec::new());
        self.mark = Some(Mark::before(header));
        true
    }

    /// Ties the records of a segment that was stepped over by computing every link after all.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn read_after_all<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        segment: u64,
        found: &mut impl Extend<Finding>,
    ) -> Result<(), SurveyError> {
        if self.untie(segment) {
            self.read(reader, found, &mut |_, _| {})?;
        }
        Ok(())
    }

    /// Takes back that the records of a segment are tied: it is due again. What lies before it was
    /// tied by way of it. `false`: none was tied.
    pub fn untie(&mut self, segment: u64) -> bool {
        let at = self.tied.iter().position(|tied| tied.segment == segment);
        let Some(untied) = at.and_then(|at| self.tied.drain(at..).next()) else { return false };
        self.mark = Some(untied.mark);
        true
    }

    /// The first record from which all up to the witness are tied.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.ranges().first().map(|(first, _)| *first)
    }

    /// The first and the last of the records that are tied, in a row each, the newest ones first.
    #[must_use]
    pub fn ranges(&self) -> Vec<(u64, u64)> {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for tied in self.tied.iter().filter(|tied| !tied.records.is_empty()) {
            let (first, last) = (*tied.records.start(), *tied.records.end());
            match ranges.last_mut() {
                Some(behind) if behind.0 == last.saturating_add(1) => behind.0 = first,
                _ => ranges.push((first, last)),
            }
        }
        ranges
    }

    /// Counts the segments that were tied, whole or in part.
    #[must_use]
    pub fn segments(&self) -> u64 {
        self.tied.len() as u64
    }

    /// The newest record that is witnessed; `None` where no witness can be read.
    #[must_use]
    pub const fn witnessed(&self) -> Option<u64> {
        self.witnessed
    }

    /// Returns what is proven of a record.
    #[must_use]
    pub fn standing(&self, header: &RecordHeader) -> Standing {
        match self.standing_of(header.sequence) {
            Standing::Proven => Standing::of_tied(header),
            standing => standing,
        }
    }

    /// Returns what is proven of the record with a sequence, whether its payload is there or
    /// withheld.
    #[must_use]
    pub fn standing_of(&self, sequence: u64) -> Standing {
        match self.holding(sequence).is_some() {
            true => Standing::Proven,
            false if self.witnessed.is_some_and(|witnessed| sequence > witnessed) => {
                Standing::Unwitnessed
            }
            false => Standing::Unproven,
        }
    }

    /// Returns whether a record that is read once more is the one that was tied, and so is every
    /// one before it that was read with it. `None`: its link was not kept; one behind it was. What
    /// nothing ties is what it is.
    #[must_use]
    pub fn is_as_tied(&self, header: &RecordHeader) -> Option<bool> {
        self.has_link(header.sequence, &header.link)
    }

    /// Checks like [`Self::is_as_tied`], of the record with a sequence and its link.
    #[must_use]
    pub fn has_link(&self, sequence: u64, link: &Link) -> Option<bool> {
        let Some(tied) = self.holding(sequence) else { return Some(true) };
        if tied.mark.sequence == sequence {
            return Some(tied.mark.link == *link);
        }
        let at = tied.links.binary_search_by_key(&sequence, |(kept, _)| *kept).ok()?;
        tied.links.get(at).map(|(_, kept)| kept == link)
    }

    /// The segment of which this record is tied.
    fn holding(&self, sequence: u64) -> Option<&SegmentTies> {
        let at = self.tied.partition_point(|tied| tied.segment > sequence);
        self.tied.get(at).filter(|tied| tied.records.contains(&sequence))
    }

    fn take(&mut self, segment: u64, mark: Mark, behind: Option<u64>, links: Links) {
        let first = behind.map_or(u64::MAX, |behind| behind.saturating_add(1));
        self.tied.push(SegmentTies { segment, mark, records: first..=mark.sequence, links });
    }
}

/// A record and its link, where that is kept wherever the record lies in the chain.
fn link_between(place: &RecordPlace, header: &RecordHeader) -> Option<(u64, Link)> {
    let end = place.offset.saturating_add(place.length);
    let reaches_over = place.offset / LINKS_APART != end / LINKS_APART;
    reaches_over.then_some((header.sequence, header.link))
}

/// Ties the records of a segment to one of them that is named from outside. Gives the record
/// behind which they are, and the links that are kept.
fn tie_segment<S: ReadStorage, T: Send>(
    reader: &LogReader<'_, S>,
    segment: &mut OpenSegment<S::File>,
    mark: &Mark,
    found: &mut impl Extend<Finding>,
    make: &Make<'_, T>,
    visit: &mut VisitWithValue<'_, T>,
) -> Result<(Option<u64>, Links), SurveyError> {
    let header = segment.header;
    let (mut last, mut at_mark, mut links) = (header.previous, None, Vec::new());
    let from = Run::at_start(&header);
    let run = reader.walk_making(segment, from, make, found, &mut |place, record, made| {
        last = ChainPosition::of(&record.header);
        if last.sequence == mark.sequence {
            at_mark = Some(last.link);
        }
        links.extend(link_between(place, &record.header));
        visit(place, record, made);
        ControlFlow::Continue(())
    })?;
    if at_mark == Some(mark.link) {
        found.extend(reader.wrong_beginning(&header));
        return Ok((Some(header.previous.sequence), links));
    }
    // What was read is not what is tied then.
    Ok((behind_break(segment, mark, &run, last)?, Vec::new()))
}

/// Returns what is tied behind the place where a run from the segment's beginning stopped.
fn behind_break<F: ReadFile>(
    segment: &mut OpenSegment<F>,
    mark: &Mark,
    run: &Run,
    last: ChainPosition,
) -> Result<Option<u64>, SurveyError> {
    let edge = match last.sequence < mark.sequence {
        true => Edge { offset: run.stop_offset, after: Some(last) },
        false => Edge { offset: SEGMENT_HEADER_LENGTH as u64, after: None },
    };
    let file = segment_path(segment.header.first_sequence());
    let found = tied(&mut segment.window, &segment.header, mark, &edge).map_err(io_error(&file))?;
    let behind = found.map(|chain| chain.sequence);
    Ok(behind.filter(|behind| *behind < mark.sequence))
}

impl Mark {
    /// The record that HEAD witnesses.
    pub(crate) fn of_head(head: &Head) -> Self {
        Self {
            sequence: head.newest_sequence,
            link: head.newest_link,
            end: head.end_offset,
            ends_segment: false,
        }
    }

    /// A record behind the one that HEAD witnesses, where it has this link.
    fn of_outside<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        sequence: u64,
        link: Link,
        found: &mut impl Extend<Finding>,
    ) -> Result<Option<Self>, SurveyError> {
        let holding = reader.holding(sequence).and_then(|at| reader.firsts().get(at));
        let Some(holding) = holding else { return Ok(None) };
        let Some(mut segment) = reader.open(*holding, found)? else { return Ok(None) };
        let from = reader.behind_head(&mut segment)?;
        let mut mark = None;
        reader.walk(&mut segment, from, found, &mut |place, record| {
            let end = place.offset.saturating_add(place.length);
            let is_it = (record.header.sequence, record.header.link) == (sequence, link);
            mark = is_it.then_some(Self { sequence, link, end, ends_segment: false });
            if record.header.sequence >= sequence {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        Ok(mark)
    }

    /// The last record of the segment before, as a header names it.
    pub(crate) fn before(header: &SegmentHeader) -> Self {
        Self {
            sequence: header.previous.sequence,
            link: header.previous.link,
            end: header.previous_seal_offset,
            ends_segment: true,
        }
    }
}

impl<S: ReadStorage> LogReader<'_, S> {
    /// The record and its link, where that link is kept when the record is tied: that of the last
    /// one of a segment, of the one that HEAD names, and of a few between.
    #[must_use]
    pub fn kept_link(&self, place: &RecordPlace, header: &RecordHeader) -> Option<(u64, Link)> {
        let RecordHeader { sequence, link, .. } = *header;
        let is_end = || {
            sequence == self.witnessed()
                || self.holding(sequence).is_some_and(|at| self.end_of(at) == sequence)
        };
        let between = link_between(place, header);
        between.or_else(|| is_end().then_some((sequence, link)))
    }

    /// The finding on a first segment that follows from another record than HEAD's anchor.
    fn wrong_beginning(&self, header: &SegmentHeader) -> Option<Finding> {
        let head = self.head().ok()?;
        let (expected, found) = (head.anchor_link, header.previous.link);
        let is_wrong = header.previous.sequence == head.anchor_sequence && found != expected;
        is_wrong.then(|| at_begin(header.first_sequence(), Fault::Link { expected, found }.into()))
    }
}
