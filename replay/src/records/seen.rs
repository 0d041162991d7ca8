//! Wanted records that are met while segments are tied by reading them whole: no such segment has
//! to be read a second time for them.

use super::Judged;
use super::filter::Filter;
use super::prefilter::Prefilter;
use crate::read::cause_named_by;
use holdpoint_domain::world::envelope::check;
use holdpoint_domain::world::{RowFact, kind_may_begin, row_of_record, written_in_rows};
use holdpoint_log_files::RecordPlace;
use holdpoint_log_format::{Record, RecordHeader};
use memchr::memmem::Finder;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// So many records are kept, of all segments together. A segment with more of them is read again.
const SEEN_MAX: usize = 4_096;

/// A record that is wanted, or of which nobody can tell.
pub(super) struct SeenRecord {
    pub(super) header: RecordHeader,
    pub(super) judged: Box<Judged>,
}

/// Records that were met, by the first record of their segment.
#[derive(Default)]
pub(super) struct MetRecords {
    segments: BTreeMap<u64, Vec<SeenRecord>>,
    kept: usize,
    is_full: AtomicBool,
}

/// Questions to the records of the newest segment besides whether they are wanted: which causes
/// they name, and which ids begin with them.
pub(crate) struct NewestQuery {
    beginnings: Vec<Finder<'static>>,
}

/// Answer of one record.
pub(super) struct RecordAnswer {
    cause: Option<u64>,
    begun: Option<Box<str>>,
    /// True if something may begin with it, and it cannot be read.
    may_begin: bool,
}

/// Answers of the records of the newest segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NewestSegment {
    /// The segment's first record.
    pub(crate) first: u64,
    causes: Vec<u64>,
    /// The wanted ones of the ids of the runs and the questions that begin in it.
    pub(super) begun: BTreeSet<String>,
    batch: Vec<String>,
    /// True if all can be read with which something may begin.
    pub(super) is_whole: bool,
}

impl NewestQuery {
    /// Wanted are the ids that begin in one of these ways.
    pub(crate) fn about(beginnings: &BTreeSet<String>) -> Self {
        Self { beginnings: beginnings.iter().map(|it| Finder::new(it).into_owned()).collect() }
    }

    pub(super) fn answer(&self, record: &Record<'_>) -> RecordAnswer {
        let Record { header, payload } = record;
        let cause = cause_named_by(record).flatten();
        let may_begin = kind_may_begin(header.kind)
            && (header.flags.withheld() || check(header.kind, header.version, payload).is_err());
        RecordAnswer { cause, begun: self.begun(record), may_begin }
    }

    /// The wanted id of what begins with a record. It is written out in the payload.
    fn begun(&self, record: &Record<'_>) -> Option<Box<str>> {
        let Record { header, payload } = record;
        let may_begin = kind_may_begin(header.kind)
            && !header.flags.withheld()
            && self.beginnings.iter().any(|it| it.find(payload).is_some());
        let row = may_begin.then(|| row_of_record(header.kind, header.version, payload)).flatten();
        RowFact::id_begun(&row?, |id| self.is_meant(id).then(|| id.into())).flatten()
    }

    /// One of these stands in the row of each wanted id.
    pub(super) fn written_in_rows(&self) -> BTreeSet<Vec<u8>> {
        written_in_rows(self.beginnings.iter().filter_map(|it| str::from_utf8(it.needle()).ok()))
    }

    /// Returns whether an id begins in one of the ways.
    pub(super) fn is_meant(&self, id: &str) -> bool {
        self.beginnings.iter().any(|it| id.as_bytes().starts_with(it.needle()))
    }
}

impl NewestSegment {
    pub(super) fn from(first: u64) -> Self {
        let (causes, begun, batch) = (Vec::new(), BTreeSet::new(), Vec::new());
        Self { first, causes, begun, batch, is_whole: true }
    }

    /// The next record. What a batch begins counts when it is complete.
    pub(super) fn take(&mut self, header: &RecordHeader, said: RecordAnswer) {
        self.causes.extend(said.cause);
        self.is_whole &= !said.may_begin;
        self.batch.extend(said.begun.map(String::from));
        if !header.flags.more_follows() {
            self.begun.extend(self.batch.drain(..));
        }
    }

    /// Returns whether one of these records is named as a cause.
    pub(crate) fn name_any(&self, records: &BTreeSet<u64>) -> bool {
        self.causes.iter().any(|cause| records.contains(cause))
    }
}

/// Records that are met in one segment.
#[derive(Default)]
pub(super) struct SeenIn {
    records: Vec<SeenRecord>,
    batch: Vec<SeenRecord>,
    is_cut: bool,
}

impl MetRecords {
    /// Returns what becomes of a record, where it is due and can still be kept.
    pub(super) fn judged(
        &self,
        place: &RecordPlace,
        record: &Record<'_>,
        filter: &Filter,
        prefilter: &Prefilter,
    ) -> Option<Box<Judged>> {
        if self.is_full.load(Ordering::Relaxed) {
            return None;
        }
        // Hardly a record is wanted, and room is made for what each of them gives.
        Judged::of(place, record, filter, prefilter).map(Box::new)
    }

    /// The next record of a segment, and what becomes of it where it is due.
    pub(super) fn meet(
        &self,
        met: &mut SeenIn,
        header: &RecordHeader,
        judged: Option<Box<Judged>>,
    ) {
        met.batch.extend(judged.map(|judged| SeenRecord { header: header.clone(), judged }));
        if !header.flags.more_follows() {
            met.records.append(&mut met.batch);
        }
        if self.kept.saturating_add(met.records.len()) > SEEN_MAX {
            self.is_full.store(true, Ordering::Relaxed);
        }
        met.is_cut |= self.is_full.load(Ordering::Relaxed);
        if met.is_cut {
            *met = SeenIn { is_cut: true, ..SeenIn::default() };
        }
    }

    /// The segment was read to its end.
    pub(super) fn keep(&mut self, first: u64, met: SeenIn) {
        if !met.is_cut {
            self.kept = self.kept.saturating_add(met.records.len());
            self.segments.insert(first, met.records);
        }
    }

    /// All that was met in a segment, in the order of the records; `None` where not all was kept.
    pub(super) fn take(&mut self, first: u64) -> Option<Vec<SeenRecord>> {
        self.segments.remove(&first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::prefilter::tests::header;
    use holdpoint_log_format::Flags;

    /// A record whose payload was withheld, and whether its batch goes on.
    fn withheld(sequence: u64, more: bool) -> RecordHeader {
        let goes_on = if more { Flags::MORE_FOLLOWS.bits() } else { 0 };
        let flags = Flags::from_bits(Flags::WITHHELD.bits() | goes_on).expect("both are known");
        RecordHeader { flags, sequence, time: sequence, ..header() }
    }

    fn meet(seen: &mut MetRecords, first: u64, headers: impl Iterator<Item = RecordHeader>) {
        let mut met = SeenIn::default();
        for header in headers {
            let judged = Judged { line: None, unread: None };
            seen.meet(&mut met, &header, Some(judged.into()));
        }
        seen.keep(first, met);
    }

    #[test]
    fn a_segment_of_which_not_all_is_kept_gives_nothing() {
        let (mut seen, most) = (MetRecords::default(), SEEN_MAX as u64);
        meet(&mut seen, 1, (1..=10).map(|one| withheld(one, false)));
        meet(&mut seen, 11, (11..=most + 1).map(|one| withheld(one, false)));
        meet(&mut seen, most + 2, std::iter::once(withheld(most + 2, false)));
        assert_eq!(seen.take(1).map(|records| records.len()), Some(10));
        assert!(seen.take(11).is_none() && seen.take(most + 2).is_none());
    }

    #[test]
    fn a_batch_that_does_not_end_is_not_met() {
        let mut seen = MetRecords::default();
        let batches = [(1, false), (2, true), (3, false), (4, true)];
        meet(&mut seen, 1, batches.into_iter().map(|(one, more)| withheld(one, more)));
        let met = seen.take(1).expect("all was kept");
        let sequences: Vec<u64> = met.iter().map(|one| one.header.sequence).collect();
        assert_eq!(sequences, [1, 2, 3]);
    }
}
