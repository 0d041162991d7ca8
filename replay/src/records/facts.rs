//! Statements of a log's records about runs and questions, segment by segment from the newest one
//! back: out of the rows of the indexes that tied records vouch for, and out of the records where
//! there is no such index.

use super::exclude::rows_of;
use super::filter::Filter;
use super::search::{Order, RecordSearch, Searched};
use crate::progress::Progress;
use crate::read::{Committed, ReadError, ReadOptions};
use holdpoint_domain::world::{RowFact, RowKind, kind_may_begin, row_of_record};
use holdpoint_log_files::reader::OpenSegment;
use holdpoint_log_files::{LogReader, ReadStorage, RecordPlace, Run};
use holdpoint_log_format::{Record, RecordHeader};
use holdpoint_log_index::Rows;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Statements of the records of one segment about runs and questions.
pub(crate) struct SegmentFacts {
    /// Sequence of its first record.
    pub(crate) first_sequence: u64,
    rows: Rows,
    /// True if every record could be read: else one that has no row may say more.
    pub(crate) is_whole: bool,
}

/// Shows what each segment says, the newest first, until `visit` has seen enough. Of segments that
/// are read, records of the wanted kinds alone are asked; one of these that is withheld or
/// cannot be read is found, for nobody can tell what it says.
///
/// # Errors
/// As [`crate::verify()`].
pub(crate) fn row_facts<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    is_wanted: &(dyn Fn(u16) -> bool + Sync),
    visit: &mut dyn FnMut(SegmentFacts) -> Result<ControlFlow<()>, ReadError>,
) -> Result<Searched, ReadError> {
    let reader = LogReader::of(storage)?;
    let all = Filter::default();
    let mut search = RecordSearch::of(&reader, &all, Order::NewestFirst, None)?;
    search.check_ends(options)?;
    let expected = reader.witnessed();
    let mut onward = ControlFlow::Continue(());
    for at in (0..reader.firsts().len()).rev() {
        if let Some(facts) = search.facts(at, is_wanted)? {
            onward = visit(facts)?;
        }
        let sequence = reader.end_of(at).min(expected);
        progress(Progress { sequence: expected.saturating_sub(sequence), expected });
        if onward.is_break() {
            break;
        }
    }
    if onward.is_continue() {
        search.check_beginning()?;
    }
    Ok(Searched::Part(search.into_part(expected).into()))
}

impl<S: ReadStorage> RecordSearch<'_, '_, '_, S> {
    /// Returns what a segment says; `None` where it cannot be opened, which is a finding.
    fn facts(
        &mut self,
        at: usize,
        is_wanted: &(dyn Fn(u16) -> bool + Sync),
    ) -> Result<Option<SegmentFacts>, ReadError> {
        let first = self.reader.firsts().get(at).copied().unwrap_or_default();
        if let Some(rows) = rows_of(self.reader, &mut self.tied, first, &mut self.part)? {
            self.part.segments_by_index += 1;
            return Ok(Some(SegmentFacts { first_sequence: first, rows, is_whole: true }));
        }
        let is_by_index = self.tie(at)?;
        if is_by_index {
            if let Some(facts) = self.facts_by_index(first)? {
                self.part.segments_by_index += 1;
                return Ok(Some(facts));
            }
            self.tied.read_after_all(self.reader, first, &mut self.part)?;
        }
        let opened = self.reader.open(first, &mut self.part)?;
        let Some(segment) = opened else { return Ok(None) };
        self.part.segments_read += 1;
        self.facts_by_reading(&segment, is_wanted).map(Some)
    }

    fn facts_by_index(&mut self, first: u64) -> Result<Option<SegmentFacts>, ReadError> {
        let Some(believed) = self.tied.take_index(self.reader, first)? else { return Ok(None) };
        let Ok(rows) = believed.index.rows() else { return Ok(None) };
        let is_whole = believed.index.without_terms() == 0;
        Ok(Some(SegmentFacts { first_sequence: first, rows, is_whole }))
    }

    fn facts_by_reading(
        &mut self,
        segment: &OpenSegment<S::File>,
        is_wanted: &(dyn Fn(u16) -> bool + Sync),
    ) -> Result<SegmentFacts, ReadError> {
        let Self { reader, tied, part, .. } = self;
        let first_sequence = segment.header.first_sequence();
        let mut read = SegmentFacts { first_sequence, rows: Rows::default(), is_whole: true };
        let (mut batch, mut unread) = (Vec::new(), Vec::new());
        let row = |_: &RecordPlace, record: &Record<'_>| {
            let Record { header, payload } = record;
            let is_asked = is_wanted(header.kind) && !header.flags.withheld();
            if is_asked { row_of_record(header.kind, header.version, payload) } else { None }
        };
        let unread_in = |place: &RecordPlace, record: &Record<'_>| {
            if is_wanted(record.header.kind) { Committed::of(place, record).unread() } else { None }
        };
        let mut take = |place: &RecordPlace, record: &Record<'_>, row: Option<Vec<u8>>| {
            let header = &record.header;
            if row.is_none()
                && let Some(found) = unread_in(place, record)
            {
                read.is_whole = false;
                unread.push(found);
            }
            read.take(header, row, &mut batch);
        };
        if tied.due(reader, first_sequence) == Some(first_sequence) {
            tied.read_making(reader, part, &row, &mut take)?;
        } else {
            tied.back_to(reader, first_sequence, part)?;
            let (from, mut is_tied) = (Run::at_start(&segment.header), true);
            reader.walk_making(segment, from, &row, part, &mut |place, record, row| {
                take(place, record, row);
                is_tied &= tied.ties().is_as_tied(&record.header) != Some(false);
                ControlFlow::Continue(())
            })?;
            if !is_tied {
                tied.read_anew(reader, first_sequence, part)?;
                read = SegmentFacts { is_whole: false, rows: Rows::default(), ..read };
            }
        }
        part.extend(unread);
        Ok(read)
    }
}

impl SegmentFacts {
    /// The facts of the wanted kinds, each with the sequence of its record, in the order of the
    /// records; `None` is a row that is none. The others are not decoded.
    pub(crate) fn of_kinds(
        &self,
        is_wanted: impl Fn(RowKind) -> bool,
    ) -> impl DoubleEndedIterator<Item = (u64, Option<RowFact>)> {
        // A row of no kind is none.
        let is_wanted = move |row: &[u8]| RowKind::of(row).is_none_or(&is_wanted);
        let rows = self.rows.iter().filter(move |(_, row)| is_wanted(row));
        rows.map(|(sequence, row)| (sequence, RowFact::decode(row)))
    }

    /// The wanted ones of the ids of the runs and the questions that begin in it.
    pub(crate) fn begun(&self, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = String> {
        begun(&self.rows, is_wanted)
    }

    /// The next record. What a batch says counts when it is complete.
    fn take(
        &mut self,
        header: &RecordHeader,
        row: Option<Vec<u8>>,
        batch: &mut Vec<(u64, Vec<u8>)>,
    ) {
        self.is_whole &= !header.flags.withheld();
        batch.extend(row.map(|row| (header.sequence, row)));
        if !header.flags.more_follows() {
            batch.drain(..).for_each(|(sequence, row)| self.rows.push(sequence, &row));
        }
    }
}

/// The wanted ones of the ids of the runs and the questions that begin with the records of rows.
pub(super) fn begun(rows: &Rows, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = String> {
    let wanted = move |id: &str| is_wanted(id).then(|| id.to_string());
    rows.iter().filter_map(move |(_, row)| RowFact::id_begun(row, &wanted).flatten())
}

/// The ids of the runs, the rounds of decision points and the requests whose id begins in one of
/// these ways. All are looked for in one pass.
///
/// # Errors
/// As [`crate::verify()`].
pub fn ids_beginning_with<S: ReadStorage>(
    storage: &S,
    beginnings: &BTreeSet<String>,
    options: ReadOptions<'_>,
) -> Result<(BTreeSet<String>, Searched), ReadError> {
    let is_meant = |id: &str| beginnings.iter().any(|it| id.starts_with(it.as_str()));
    let mut found = BTreeSet::new();
    let searched = row_facts(storage, options, &mut |_| {}, &kind_may_begin, &mut |segment| {
        found.extend(segment.begun(is_meant));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((found, searched))
}

/// Names on record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunNames {
    /// Names of those who began a run.
    pub began: BTreeSet<String>,
    /// Names of those who answered a question before a run, or said yes to one of a run.
    pub answered: BTreeSet<String>,
}

/// Every name of both kinds.
///
/// # Errors
/// As [`crate::verify()`].
pub fn names_of_runs<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
) -> Result<(RunNames, Searched), ReadError> {
    let mut names = RunNames::default();
    let searched = row_facts(storage, options, &mut |_| {}, &|_| true, &mut |segment| {
        let names_somebody =
            |kind| matches!(kind, RowKind::Began | RowKind::Answered | RowKind::Agreed);
        for (_, fact) in segment.of_kinds(names_somebody) {
            match fact {
                Some(RowFact::Began { by, .. }) => keep(&mut names.began, by.as_str()),
                Some(RowFact::Answered { by, .. } | RowFact::Agreed { by, .. }) => {
                    keep(&mut names.answered, by.as_str());
                }
                _ => {}
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((names, searched))
}

fn keep(names: &mut BTreeSet<String>, name: &str) {
    if !names.contains(name) {
        names.insert(name.to_string());
    }
}
