//! The ties of a log, by the indexes that the log vouches for and by reading.
//!
//! An index is believed when its digest is the one that an event in the chain states. These events
//! stand behind the segments that they are about, so that they are looked for from the log's end
//! on: the newest segments have no index yet and are read, and an index that is believed names the
//! events that vouch for the ones before it.

use super::leap::Leap;
use super::vouched::{Believed, RightIndex, Vouched};
use crate::read::{ReadError, unproven_by};
use holdpoint_domain::Event;
use holdpoint_domain::log::{
    LogEvent, RECORDS_UNPROVEN, SALVAGED, SEGMENT_INDEXED, SegmentIndexed, SegmentIndexes,
    UnprovenRecords,
};
use holdpoint_domain::world::Term;
use holdpoint_domain::world::envelope::decode;
use holdpoint_log_files::Standing::Proven;
use holdpoint_log_files::blocks::{Make, VisitWithValue};
use holdpoint_log_files::reader::{Disregard, OpenSegment};
use holdpoint_log_files::survey::{io_error, segment_path};
use holdpoint_log_files::{
    Finding, LogReader, ReadFile, ReadStorage, RecordPlace, Run, Standing, SurveyError, Ties,
};
use holdpoint_log_format::limits::{RECORD_HEADER_LENGTH, SEGMENT_HEADER_LENGTH};
use holdpoint_log_format::{ChainPosition, Record, RecordHeader};
use holdpoint_log_index::layout::INDEX_VERSION;
use holdpoint_log_index::read_indexed;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::ops::ControlFlow;

/// The kinds of events that vouch for an index, and that say what is unproven.
const STATEMENTS: [u16; 3] = [SEGMENT_INDEXED, SALVAGED, RECORDS_UNPROVEN];

/// Statement of an event about other records.
pub(crate) enum RecordStatement {
    Index(SegmentIndexed),
    /// The first and the last of each range.
    Unproven(Vec<(u64, u64)>),
}

impl RecordStatement {
    /// Adds the records that it says are unproven.
    pub(crate) fn add_unproven(&self, to: &mut UnprovenRecords) {
        if let Self::Unproven(ranges) = self {
            ranges.iter().for_each(|(first, last)| to.add(*first, *last));
        }
    }
}

/// The ties of a log, and the indexes that tied records vouch for.
pub(crate) struct LogTies {
    pub(super) ties: Ties,
    pub(super) vouched: Vouched,
    /// Segments that can be tied by what a state says, whatever lies behind them.
    pub(super) leap: Leap,
    /// The record that states that state, where some were.
    pub(super) stated_by: Option<u64>,
    /// The segments that are tied by what their indexes state.
    by_index: BTreeSet<u64>,
    /// The index of the last of them: of no other one is anything kept.
    opened: Option<(u64, Believed)>,
    /// True if something that is no record follows the newest one.
    is_followed: bool,
    pub(super) uses_indexes: bool,
}

impl LogTies {
    /// Nothing is tied yet. What lies behind HEAD's record is read for what it says is unproven:
    /// HEAD may have been set back.
    pub(crate) fn begin<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        found: &mut impl Extend<Finding>,
    ) -> Result<Self, ReadError> {
        let BehindHead { unproven, is_followed, .. } = BehindHead::read(reader, found)?;
        Ok(Self::behind(reader, unproven, is_followed))
    }

    /// Nothing is tied yet, and this is known of what lies behind HEAD's record.
    fn behind<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        unproven: UnprovenRecords,
        is_followed: bool,
    ) -> Self {
        Self {
            ties: Ties::begin(reader),
            vouched: Vouched { unproven, ..Vouched::default() },
            leap: Leap::default(),
            stated_by: None,
            by_index: BTreeSet::new(),
            opened: None,
            is_followed,
            uses_indexes: true,
        }
    }

    /// Nothing is tied yet. What was said to be unproven stays so, and what lies behind HEAD's
    /// record is not read a second time.
    pub(super) fn again<S: ReadStorage>(&self, reader: &LogReader<'_, S>) -> Self {
        let mut again = Self::behind(reader, self.vouched.unproven.clone(), self.is_followed);
        again.vouched.asked_by = self.indexes_stated_by();
        again
    }

    /// The records that state the indexes which were asked.
    pub(crate) fn indexes_stated_by(&self) -> BTreeSet<u64> {
        let by_state = self.leap.vouched().into_iter().flat_map(|vouched| &vouched.asked_by);
        self.vouched.asked_by.iter().chain(by_state).copied().collect()
    }

    /// A segment is tied by its index.
    pub(super) fn keep(&mut self, first: u64, believed: Believed) {
        self.by_index.insert(first);
        self.opened = Some((first, believed));
    }

    /// The record that states the state by which segments were tied, whatever lies behind them;
    /// `None` where none was.
    pub(crate) const fn stated_by(&self) -> Option<u64> {
        self.stated_by
    }

    /// Nothing is tied yet; a state says which indexes the log vouches for.
    pub(crate) fn knowing<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        indexes: &SegmentIndexes,
        found: &mut impl Extend<Finding>,
    ) -> Result<Self, ReadError> {
        let vouched = |(first, _)| {
            let digest = indexes.vouched(first, INDEX_VERSION)?.digest;
            Some((first, Some(RightIndex { digest, by: None })))
        };
        let mut tied = Self::begin(reader, found)?;
        tied.vouched.indexes = indexes.iter().filter_map(vouched).collect();
        Ok(tied)
    }

    /// The index of a segment that is believed, whether the segment is tied by it or not.
    pub(crate) fn vouched<S: ReadStorage>(
        &mut self,
        storage: &S,
        first: u64,
    ) -> Result<Option<Believed>, ReadError> {
        self.vouched.index(storage, first)
    }

    /// Nothing is tied yet, and every link will be computed: for whoever reads whole segments. What
    /// an index states ties what is hashed between its links, and nothing else that lies there.
    pub(crate) fn by_reading<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        found: &mut impl Extend<Finding>,
    ) -> Result<Self, ReadError> {
        Ok(Self { uses_indexes: false, ..Self::begin(reader, found)? })
    }

    /// Returns whether something that is no record follows the newest one.
    pub(crate) const fn is_followed(&self) -> bool {
        self.is_followed
    }

    /// Begins again, and computes every link this time.
    pub(crate) fn begin_by_reading<S: ReadStorage>(&mut self, reader: &LogReader<'_, S>) {
        *self = Self { uses_indexes: false, ..self.again(reader) };
    }

    /// Ties the records from `first` on, and a few before it: through the indexes that what is tied
    /// vouches for, and by reading the segments that have none.
    pub(crate) fn back_to<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        first: u64,
        found: &mut impl Extend<Finding>,
    ) -> Result<(), ReadError> {
        while let Some(due) = self.due(reader, first) {
            if !self.step_over(reader, due, found)? {
                self.read(reader, found)?;
            }
        }
        Ok(())
    }

    /// The segment that is tied next, where it can hold records from `first` on.
    pub(crate) fn due<S: ReadStorage>(&self, reader: &LogReader<'_, S>, first: u64) -> Option<u64> {
        self.ties.due(reader).filter(|_| !self.ties.reach(reader, first))
    }

    /// Ties the segment that is due by its index, where there is one to be believed.
    pub(crate) fn step_over<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        due: u64,
        found: &mut impl Extend<Finding>,
    ) -> Result<bool, ReadError> {
        let is_due = self.uses_indexes && self.ties.due(reader) == Some(due);
        let believed = if is_due { self.vouched.index(reader.storage(), due)? } else { None };
        let Some(believed) = believed else { return Ok(false) };
        let Some(mut segment) = reader.open(due, found)? else { return Ok(false) };
        let (scope, stretch) = (*believed.index.scope(), believed.index.stretch_of(due));
        let Ok(Some(stretch)) = stretch else { return Ok(false) };
        let Some(stated) = statements_in_index(&believed, &mut segment)? else { return Ok(false) };
        if !self.ties.step_over(reader, &segment.header, &scope.last, stretch.before) {
            return Ok(false);
        }
        stated.iter().for_each(|(by, stated)| self.vouched.take(*by, stated));
        self.keep(due, believed);
        Ok(true)
    }

    /// Ties the records of the segment that is due from the newest one back, and shows them, until
    /// `visit` has seen enough. `false`: something is not as it must be, and was not shown.
    pub(crate) fn read_back<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        segment: &mut OpenSegment<S::File>,
        visit: &mut dyn FnMut(
            &ChainPosition,
            &RecordPlace,
            &Record<'_>,
            Standing,
        ) -> ControlFlow<()>,
    ) -> Result<bool, ReadError> {
        let vouched = &mut self.vouched;
        Ok(self.ties.read_back(reader, segment, &mut |before, place, record| {
            let by = record.header.sequence;
            statement_of(record).iter().for_each(|stated| vouched.take(by, stated));
            let standing = Standing::of_tied(&record.header);
            visit(before, place, record, vouched.standing(record.header.sequence, standing))
        })?)
    }

    fn read<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        found: &mut impl Extend<Finding>,
    ) -> Result<(), ReadError> {
        self.read_seeing(reader, found, &mut |_, _| {})
    }

    /// Ties the segment that is due by reading it whole, and gives the place before one of its
    /// records. `None`: something is wrong with it, or it has no such record, and nothing is tied.
    pub(crate) fn read_to_place<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        wanted: u64,
    ) -> Result<Option<Run>, ReadError> {
        let before = (self.ties.clone(), self.vouched.clone());
        let (mut found, mut begin) = (Vec::<Finding>::new(), None);
        self.read_seeing(reader, &mut found, &mut |place, record| {
            if record.header.sequence.checked_add(1) == Some(wanted) {
                let end = place.offset.saturating_add(place.length);
                begin = Some(Run::from(ChainPosition::of(&record.header), place.offset, end));
            }
        })?;
        if begin.is_none() || !found.is_empty() {
            ((self.ties, self.vouched), begin) = (before, None);
        }
        Ok(begin)
    }

    fn read_seeing<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        found: &mut impl Extend<Finding>,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>),
    ) -> Result<(), ReadError> {
        self.read_making(reader, found, &|_, _| (), &mut |place, record, ()| visit(place, record))
    }

    /// Ties the segment that is due by reading it whole, and shows its records up to the first
    /// fault, with what `make` makes of each in the threads that check them.
    pub(crate) fn read_making<S: ReadStorage, T: Send>(
        &mut self,
        reader: &LogReader<'_, S>,
        found: &mut impl Extend<Finding>,
        make: &Make<'_, T>,
        visit: &mut VisitWithValue<'_, T>,
    ) -> Result<(), ReadError> {
        let mut stated = Vec::new();
        self.ties.read_making(reader, found, make, &mut |place, record, made| {
            visit(place, record, made);
            stated.extend(statement_of(record).map(|body| (record.header.clone(), body)));
        })?;
        // What nothing ties vouches for no index.
        stated.retain(|(header, stated)| {
            matches!(stated, RecordStatement::Unproven { .. })
                || self.ties.standing(header) == Proven
        });
        stated.iter().for_each(|(header, stated)| self.vouched.take(header.sequence, stated));
        Ok(())
    }

    /// Returns whether a segment is tied by its index.
    pub(crate) fn is_by_index(&self, first: u64) -> bool {
        self.by_index.contains(&first)
    }

    /// The index of a segment that is tied by it, if it can still be had.
    pub(crate) fn take_index<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        first: u64,
    ) -> Result<Option<Believed>, ReadError> {
        match self.opened.take() {
            _ if !self.is_by_index(first) => Ok(None),
            Some((segment, believed)) if segment == first => Ok(Some(believed)),
            _ => self.vouched.index(reader.storage(), first),
        }
    }

    /// Ties a segment by reading it, although its index is believed.
    pub(crate) fn read_after_all<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        first: u64,
        found: &mut impl Extend<Finding>,
    ) -> Result<(), ReadError> {
        // What lies before it was tied by way of it.
        self.by_index.retain(|segment| *segment > first);
        Ok(self.ties.read_after_all(reader, first, found)?)
    }

    /// Takes back that a segment is tied by its index, which is not asked again: it is due to be
    /// read.
    pub(super) fn untie(&mut self, first: u64) {
        // What lies before it was tied by way of it.
        self.by_index.retain(|segment| *segment > first);
        self.vouched.indexes.insert(first, None);
        self.ties.untie(first);
    }

    /// Ties a segment anew where reading it did not lead to what is tied of it. It may be damaged,
    /// and was tied by what is stated of it; or it was changed between two readings. So it is tied
    /// anew by computing every link, which finds what is wrong with it.
    ///
    /// # Errors
    /// Nothing is wrong with it: it was changed.
    pub(crate) fn read_anew<S: ReadStorage>(
        &mut self,
        reader: &LogReader<'_, S>,
        first: u64,
        found: &mut impl Extend<Finding>,
    ) -> Result<(), ReadError> {
        let mut wrong: Vec<Finding> = Vec::new();
        self.read_after_all(reader, first, &mut wrong)?;
        if wrong.is_empty() {
            return Err(ReadError::Changed { file: segment_path(first) });
        }
        found.extend(wrong);
        Ok(())
    }

    /// Returns what was tied.
    pub(crate) fn ties(&self) -> &Ties {
        &self.ties
    }

    /// The records that others say are unproven.
    pub(crate) fn said_unproven(&self) -> &UnprovenRecords {
        &self.vouched.unproven
    }

    /// Returns what is proven of the record with a sequence.
    pub(crate) fn standing_of(&self, sequence: u64) -> Standing {
        self.vouched.standing(sequence, self.ties.standing_of(sequence))
    }

    /// Returns what is proven of a record.
    pub(crate) fn standing(&self, header: &RecordHeader) -> Standing {
        self.vouched.standing(header.sequence, self.ties.standing(header))
    }
}

/// Statements of what lies behind HEAD's record, and of the log's first record: no walk back from
/// HEAD comes to them.
#[derive(Debug, Default)]
pub(crate) struct BehindHead {
    /// The records that those say are unproven.
    pub(crate) unproven: UnprovenRecords,
    /// The newest of them; where there is none, HEAD's.
    pub(crate) newest: u64,
    /// True if something that is no record follows them.
    pub(crate) is_followed: bool,
}

impl BehindHead {
    pub(crate) fn read<S: ReadStorage>(
        reader: &LogReader<'_, S>,
        found: &mut impl Extend<Finding>,
    ) -> Result<Self, ReadError> {
        let (mut unproven, mut newest) = (UnprovenRecords::default(), reader.witnessed());
        let is_followed = reader.walk_behind_head(found, &mut |record| {
            newest = newest.max(record.header.sequence);
            statement_of(record).iter().for_each(|it| it.add_unproven(&mut unproven));
        })?;
        // What is wrong there is not in the reach of this.
        let mut beyond = Disregard("who reads that far is told");
        if let Some(first) = reader.firsts().first()
            && begins_with_report(reader.storage(), *first)?
            && let Some(mut segment) = reader.open(*first, &mut beyond)?
        {
            let from = Run::at_start(&segment.header);
            reader.walk(&mut segment, from, &mut beyond, &mut |_, record| {
                statement_of(record).iter().for_each(|it| it.add_unproven(&mut unproven));
                ControlFlow::Break(())
            })?;
        }
        Ok(Self { unproven, newest, is_followed })
    }
}

/// Returns whether the first record of a segment says that it is the report of a salvage. Reads its
/// header alone.
fn begins_with_report<S: ReadStorage>(storage: &S, first: u64) -> Result<bool, SurveyError> {
    let file = segment_path(first);
    let mut bytes = [0; RECORD_HEADER_LENGTH];
    let opened = match storage.open(&file) {
        // It is no regular file: nothing is there to be read.
        Err(error) if error.kind() == ErrorKind::InvalidInput => None,
        opened => opened.map_err(io_error(&file))?,
    };
    let Some(opened) = opened else { return Ok(false) };
    opened.read_at(SEGMENT_HEADER_LENGTH as u64, &mut bytes).map_err(io_error(&file))?;
    Ok(RecordHeader::decode(&bytes).is_ok_and(|header| header.kind == SALVAGED))
}

/// The events of a segment that say something of other records, by its own index, and which records
/// these are; `None` where it cannot be used.
fn statements_in_index<F: ReadFile>(
    believed: &Believed,
    segment: &mut OpenSegment<F>,
) -> Result<Option<Vec<(u64, RecordStatement)>>, ReadError> {
    // What could not be read when the index was built says nothing.
    let kinds = STATEMENTS.map(Term::Kind);
    let Ok(candidates) = believed.with_any(&kinds) else { return Ok(None) };
    let candidates: Vec<u64> = candidates.into_iter().collect();
    let mut found = Vec::new();
    let read = read_indexed(&believed.index, segment, &candidates, &mut |_, record| {
        found.extend(statement_of(record).map(|stated| (record.header.sequence, stated)));
    });
    let file = segment_path(segment.header.first_sequence());
    Ok(read.map_err(|source| SurveyError::Io { file, source })?.map(|()| found))
}

pub(crate) fn statement_of(record: &Record<'_>) -> Option<RecordStatement> {
    let header = &record.header;
    if !STATEMENTS.contains(&header.kind) {
        return None;
    }
    let is_withheld = header.flags.withheld();
    let read = || decode(header.kind, header.version, record.payload).ok().map(|it| it.event);
    let event = if is_withheld { None } else { read() };
    match event {
        Some(Event::Log(LogEvent::SegmentIndexed(body))) => Some(RecordStatement::Index(body)),
        event => {
            let ranges = unproven_by(header, event.as_ref());
            (!ranges.is_empty()).then_some(RecordStatement::Unproven(ranges))
        }
    }
}
