//! Places of records, remembered while a log is checked, from which reading can go on.

use super::trip::at_segment;
use crate::read::{Committed, Content, ReadError};
use holdpoint_log_files::{Follower, ReadStorage, Run};
use holdpoint_log_format::ChainPosition;
use std::collections::BTreeSet;

/// Distance between places that are remembered, in records. Whoever reads again reads on to the
/// next one.
const DISTANCE: u64 = 1_024;

/// The place of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The record.
    pub(crate) chain: ChainPosition,
    /// The first sequence of its segment.
    pub(crate) segment: u64,
    /// Its offset in that segment.
    pub(crate) record_offset: u64,
    /// The offset behind it.
    pub(crate) end_offset: u64,
}

impl Mark {
    fn of(record: &Committed) -> Self {
        let (header, place) = (&record.header, &record.place);
        Self {
            chain: ChainPosition {
                sequence: header.sequence,
                link: header.link,
                time: header.time,
            },
            segment: place.segment,
            record_offset: place.offset,
            end_offset: place.offset.saturating_add(place.length),
        }
    }

    /// The place from which reading goes on behind the record.
    pub(super) fn follower<S: ReadStorage>(&self, storage: &S) -> Result<Follower, ReadError> {
        let header = at_segment(storage, self.segment)?.header;
        let run = Run::from(self.chain, self.record_offset, self.end_offset);
        Ok(Follower { header, run })
    }
}

/// Places that are remembered of a log.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Every [`DISTANCE`] records, in order.
    known: Vec<Mark>,
    /// Records that end a batch and behind which there may be a snapshot, in order.
    with_snapshots: Vec<Mark>,
    wanted: BTreeSet<u64>,
    first_withheld: Option<u64>,
}

impl Marks {
    /// Returns the marks of a log that may have snapshots behind these records.
    pub(super) fn new(wanted: BTreeSet<u64>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Takes in a whole batch.
    pub(super) fn take(&mut self, batch: &[Committed]) {
        for record in batch {
            let sequence = record.header.sequence;
            if sequence.is_multiple_of(DISTANCE) {
                self.known.push(Mark::of(record));
            }
            if record.content == Content::Withheld && !record.is_opaque() {
                self.first_withheld.get_or_insert(sequence);
            }
        }
        if let Some(last) = batch.last().filter(|r| self.wanted.contains(&r.header.sequence)) {
            self.with_snapshots.push(Mark::of(last));
        }
    }

    pub(super) fn known(&self) -> &[Mark] {
        &self.known
    }

    pub(super) fn with_snapshots(&self) -> &[Mark] {
        &self.with_snapshots
    }

    /// The first record whose payload is withheld: what the state is behind it is not known.
    pub(super) const fn first_withheld(&self) -> Option<u64> {
        self.first_withheld
    }

    /// The nearest place before a record.
    pub(super) fn last_before(&self, sequence: u64) -> Option<&Mark> {
        let before = self.known.partition_point(|mark| mark.chain.sequence < sequence);
        before.checked_sub(1).and_then(|index| self.known.get(index))
    }
}
