use crate::checksum;
use crate::layout::{MORE_FOLLOWS, NO_CLAIM, head, header, lock, record};
use crate::log::{Log, RecordAt};
use crate::segment::Item;

/// How far the chain is made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// So many records.
    Records(usize),
    /// Every record up to the segment's end, and its seal left as it was.
    Segment,
    /// The same, and the seal.
    Seal,
    /// All later segments as well, with their headers, names and seals.
    Log,
}

/// A place in the chain: a record, or what is before the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub sequence: u64,
    pub link: [u8; 32],
    pub time: u64,
}

impl Log {
    /// What a record follows from: the record before it, or what its segment's header says.
    pub fn before(&self, at: RecordAt) -> Position {
        let segment = self.segment(at.segment);
        let previous = segment.items[..at.item].iter().rev().find_map(Item::record);
        match previous {
            Some(record) => {
                Position { sequence: record.sequence(), link: record.link(), time: record.time() }
            }
            None => Position {
                sequence: segment.first_sequence().wrapping_sub(1),
                link: segment.header.array(header::PREVIOUS_LINK),
                time: segment.header.number(header::PREVIOUS_TIME),
            },
        }
    }

    /// Only the checksum of a record.
    pub fn remake_checksum(&mut self, at: RecordAt) {
        let seed = self.segment(at.segment).seed();
        self.record_mut(at).remake_checksum(seed);
    }

    /// Link and checksum of a record, whatever its other fields say.
    pub fn remake_link(&mut self, at: RecordAt) {
        let (log, seed) = (self.segment(at.segment).log(), self.segment(at.segment).seed());
        let previous = self.before(at).link;
        self.record_mut(at).remake_link(&log, &previous, seed);
    }

    /// Sequences, links and checksums from a record on. Whether everything has room.
    #[must_use]
    pub fn remake(&mut self, from: RecordAt, reach: Reach) -> bool {
        let mut ends = self.ends_before(from);
        let mut position = self.before(from);
        let last = if reach == Reach::Log { self.segments().len() - 1 } else { from.segment };
        for place in from.segment..=last {
            let first_item = if place == from.segment { from.item } else { 0 };
            if place > from.segment {
                self.remake_header(place, &position);
            }
            let records = if let Reach::Records(count) = reach { count } else { usize::MAX };
            position = self.remake_records(place, first_item, position, records, &mut ends);
            let segment = self.segment_mut(place);
            if matches!(reach, Reach::Seal | Reach::Log) && segment.seal_place().is_some() {
                segment.remake_seal();
            }
            if !segment.fit() {
                return false;
            }
        }
        if reach == Reach::Log {
            self.rename_segments();
        }
        true
    }

    /// A header that follows from the segment before it.
    pub fn remake_header(&mut self, place: usize, previous: &Position) {
        let before = self.segment(place - 1);
        let seal = before.seal_place().map_or(0, |seal| before.offset_of(seal));
        let segment = self.segment_mut(place);
        segment.header.set_number(header::FIRST_SEQUENCE, previous.sequence + 1);
        segment.header.set(header::PREVIOUS_LINK, &previous.link);
        segment.header.set_number(header::PREVIOUS_TIME, previous.time);
        segment.header.set_number(header::PREVIOUS_SEAL_OFFSET, seal as u64);
        segment.remake_header_checksum();
    }

    fn remake_records(
        &mut self,
        place: usize,
        first_item: usize,
        mut position: Position,
        count: usize,
        ends: &mut Vec<u64>,
    ) -> Position {
        let segment = self.segment_mut(place);
        let (log, seed) = (segment.log(), segment.seed());
        let items = segment.items.iter_mut().skip(first_item);
        let records = items.filter_map(|item| match item {
            Item::Record(record) => Some(record),
            _ => None,
        });
        for record in records.take(count) {
            let sequence = position.sequence + 1;
            if record.sequence() != sequence {
                let claim = claim_of(record.header.number(record::UNSYNCED), record.sequence());
                record.header.set_number(record::SEQUENCE, sequence);
                let unsynced = claim.map_or(NO_CLAIM, |claim| unsynced_for(claim, sequence, ends));
                record.header.set_number(record::UNSYNCED, unsynced);
            }
            record.remake_link(&log, &position.link, seed);
            position = Position { sequence, link: record.link(), time: record.time() };
            if !record.has(MORE_FOLLOWS) {
                ends.push(sequence);
            }
        }
        position
    }

    /// The sequences before a record that end a batch.
    fn ends_before(&self, at: RecordAt) -> Vec<u64> {
        let before = self.records().into_iter().filter(|place| *place < at);
        let records = before.map(|place| self.record(place));
        records.filter(|record| !record.has(MORE_FOLLOWS)).map(|record| record.sequence()).collect()
    }

    /// HEAD names the newest record that ends a batch.
    pub fn head_follows(&mut self) {
        let newest = self.newest_end();
        let named = newest.map(|at| {
            let segment = self.segment(at.segment);
            let offset = segment.offset_of(at.item);
            let record = self.record(at);
            let places =
                [segment.first_sequence(), offset as u64, (offset + record.length()) as u64];
            (record.sequence(), record.link(), places)
        });
        let Some(block) = self.head_mut() else { return };
        let anchor = (block.number(head::ANCHOR_SEQUENCE), block.array(head::ANCHOR_LINK), [0; 3]);
        let (sequence, link, [first, begin, end]) = named.unwrap_or(anchor);
        block.set_number(head::NEWEST_SEQUENCE, sequence);
        block.set(head::NEWEST_LINK, &link);
        block.set_number(head::SEGMENT, first);
        block.set_number(head::RECORD_OFFSET, begin);
        block.set_number(head::END_OFFSET, end);
        checksum::remake_of_block(block);
    }

    /// LOCK names the newest record as durable.
    pub fn lock_follows(&mut self) {
        let newest = self.newest_end().map_or(0, |at| self.record(at).sequence());
        if let Some(block) = self.lock_mut() {
            block.set_number(lock::DURABLE_SEQUENCE, newest);
            checksum::remake_of_block(block);
        }
    }

    /// The newest record that ends a batch.
    pub fn newest_end(&self) -> Option<RecordAt> {
        self.records().into_iter().rev().find(|at| !self.record(*at).has(MORE_FOLLOWS))
    }
}

/// The sequence that a record claims to be durable.
fn claim_of(unsynced: u64, sequence: u64) -> Option<u64> {
    let is_claim = unsynced != NO_CLAIM;
    sequence.checked_sub(1)?.checked_sub(unsynced).filter(|_| is_claim)
}

/// The claim of a record with a new sequence: the nearest end of a batch at or before the old one.
fn unsynced_for(claim: u64, sequence: u64, ends: &[u64]) -> u64 {
    let claim = claim.min(sequence - 1);
    let at_or_before = ends.partition_point(|end| *end <= claim);
    let end = at_or_before.checked_sub(1).map_or(0, |place| ends[place]);
    sequence - 1 - end
}
