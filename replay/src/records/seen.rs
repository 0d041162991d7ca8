//! Wanted records that are met while segments are tied by reading them whole: no such segment has
//! to be read a second time for them.

use super::Line;
use super::filter::Filter;
use super::prefilter::Prefilter;
use holdpoint_domain::world::envelope::decode_causation;
use holdpoint_log_files::RecordPlace;
use holdpoint_log_format::{Record, RecordHeader};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

/// So many records are kept, of all segments together. A segment with more of them is read again.
const SEEN_MAX: usize = 4_096;

/// A record that is wanted, or of which nobody can tell.
pub(super) struct SeenRecord {
    pub(super) place: RecordPlace,
    pub(super) header: RecordHeader,
    pub(super) line: Option<Line>,
}

/// What was met, by the first record of its segment.
#[derive(Default)]
pub(super) struct Seen {
    segments: BTreeMap<u64, Vec<SeenRecord>>,
    kept: usize,
    is_full: AtomicBool,
}

/// What the records of the newest segment name as their causes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CausesMet {
    /// The segment's first record.
    pub(crate) first: u64,
    pub(super) causes: Vec<u64>,
}

/// The cause that a record names.
pub(super) fn cause_of(record: &Record<'_>) -> Option<u64> {
    let Record { header, payload } = record;
    decode_causation(header.kind, header.version, payload).ok().flatten()
}

impl CausesMet {
    /// Whether one of these records is named.
    pub(crate) fn name_any(&self, records: &BTreeSet<u64>) -> bool {
        self.causes.iter().any(|cause| records.contains(cause))
    }
}

/// What is met in one segment.
#[derive(Default)]
pub(super) struct SeenIn {
    records: Vec<SeenRecord>,
    batch: Vec<SeenRecord>,
    is_cut: bool,
}

impl Seen {
    /// The line of a record, where it is wanted and can still be kept.
    pub(super) fn line(
        &self,
        place: &RecordPlace,
        record: &Record<'_>,
        filter: &Filter,
        prefilter: &Prefilter,
    ) -> Option<Line> {
        if self.is_full.load(Ordering::Relaxed) {
            return None;
        }
        Line::wanted(place, record, filter, prefilter)
    }

    /// The next record of a segment, with its line where it is wanted.
    pub(super) fn meet(
        &self,
        met: &mut SeenIn,
        place: &RecordPlace,
        header: &RecordHeader,
        line: Option<Line>,
    ) {
        if line.is_some() || header.flags.withheld() {
            met.batch.push(SeenRecord { place: *place, header: header.clone(), line });
        }
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

    fn meet(seen: &mut Seen, first: u64, headers: impl Iterator<Item = RecordHeader>) {
        let mut met = SeenIn::default();
        for header in headers {
            let place = RecordPlace { segment: first, offset: 0, length: 64 };
            seen.meet(&mut met, &place, &header, None);
        }
        seen.keep(first, met);
    }

    #[test]
    fn a_segment_of_which_not_all_is_kept_gives_nothing() {
        let (mut seen, most) = (Seen::default(), SEEN_MAX as u64);
        meet(&mut seen, 1, (1..=10).map(|one| withheld(one, false)));
        meet(&mut seen, 11, (11..=most + 1).map(|one| withheld(one, false)));
        meet(&mut seen, most + 2, std::iter::once(withheld(most + 2, false)));
        assert_eq!(seen.take(1).map(|records| records.len()), Some(10));
        assert!(seen.take(11).is_none() && seen.take(most + 2).is_none());
    }

    #[test]
    fn a_batch_that_does_not_end_is_not_met() {
        let mut seen = Seen::default();
        let batches = [(1, false), (2, true), (3, false), (4, true)];
        meet(&mut seen, 1, batches.into_iter().map(|(one, more)| withheld(one, more)));
        let met = seen.take(1).expect("all was kept");
        let sequences: Vec<u64> = met.iter().map(|one| one.header.sequence).collect();
        assert_eq!(sequences, [1, 2, 3]);
    }
}
