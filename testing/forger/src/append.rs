use crate::block::Block;
use crate::chain::{Position, Reach};
use crate::checksum;
use crate::layout::{
    CAPACITY_FIRST, CAPACITY_USUAL_MAX, HEAD_LENGTH, HEAD_MAGIC, LOCK_LENGTH, LOCK_MAGIC,
    MORE_FOLLOWS, SEAL_LENGTH, SEGMENT_HEADER_LENGTH, common, head, header, lock, record,
};
use crate::link;
use crate::log::{File, Log, RecordAt, SEGMENTS, segment_path};
use crate::record::Record;
use crate::segment::{Item, Segment};

/// What a record states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    pub kind: u16,
    pub version: u8,
    pub payload: Vec<u8>,
}

/// From one batch to the next.
const STEP_NS: u64 = 1_000_000;

/// 2026-01-25T16:00:00Z.
const BEGINNING_NS: u64 = 1_769_356_800_000_000_000;

impl Log {
    /// A log without a record, as its creation leaves it (16).
    pub fn new(id: [u8; 16], boot: [u8; 16]) -> Self {
        let mut log = Self::default();
        log.directories.insert(SEGMENTS.into());
        log.files.insert(".gitignore".into(), File::Other(b"*\n".to_vec()));
        log.files.insert("LOCK".into(), File::Lock(idle(boot)));
        log.files.insert("HEAD".into(), File::Head(head_of_empty(id, boot)));
        let mut first = Segment::new(&id, CAPACITY_FIRST);
        first.header.set_number(header::FIRST_SEQUENCE, 1);
        first.header.set(header::PREVIOUS_LINK, &link::genesis(&id));
        first.remake_header_checksum();
        log.files.insert(segment_path(1), File::Segment(first));
        log
    }

    /// A batch behind the newest record, correctly chained. HEAD and LOCK stay.
    pub fn append(&mut self, batch: &[Fact]) {
        let time = self.newest_time().max(BEGINNING_NS) + STEP_NS;
        let last = batch.len() - 1;
        let records = batch.iter().enumerate().map(|(place, fact)| {
            let mut new = Record::new(fact.kind, fact.version, fact.payload.clone());
            new.set_flags(if place < last { MORE_FOLLOWS } else { 0 });
            new.header.set_number(record::UNSYNCED, place as u64);
            new.header.set_number(record::TIME, time);
            new
        });
        self.append_records(records.collect());
    }

    /// Records of a whole batch behind the newest one: sequences, links and checksums are made.
    pub fn append_records(&mut self, mut records: Vec<Record>) {
        let length = records.iter().map(Record::length).sum();
        if !self.has_room_for(length) {
            self.roll_for(length);
        }
        let segment = self.segments().len() - 1;
        let mut sequence = self.position_in(segment).sequence;
        for new in &mut records {
            // Stated already, so that what is claimed stays as it is.
            sequence += 1;
            new.header.set_number(record::SEQUENCE, sequence);
        }
        let active = self.segment_mut(segment);
        let item = active.items.len();
        active.items.extend(records.into_iter().map(Item::Record));
        assert!(self.remake(RecordAt { segment, item }, Reach::Segment), "room was made");
    }

    fn newest_time(&self) -> u64 {
        self.position_in(self.segments().len() - 1).time
    }

    /// What follows in a segment follows from here.
    fn position_in(&self, segment: usize) -> Position {
        self.before(RecordAt { segment, item: self.segment(segment).items.len() })
    }

    fn has_room_for(&self, length: usize) -> bool {
        let active = self.segment(self.segments().len() - 1);
        let capacity = active.header.number(header::CAPACITY);
        let end = active.end() + length + SEAL_LENGTH;
        active.seal_place().is_none() && end as u64 <= capacity
    }

    /// Seals the active segment and begins the next (17).
    pub fn roll(&mut self) {
        self.roll_for(0);
    }

    fn roll_for(&mut self, length: usize) {
        let place = self.segments().len() - 1;
        let active = self.segment_mut(place);
        active.remake_seal();
        assert!(active.fit(), "there is always room for the seal");
        let capacity = usize::try_from(active.header.number(header::CAPACITY)).expect("a length");
        let own = (SEGMENT_HEADER_LENGTH + length + SEAL_LENGTH).next_multiple_of(4096);
        let next = Segment::new(&active.log(), (capacity * 2).min(CAPACITY_USUAL_MAX).max(own));
        let position = self.position_in(place);
        self.files.insert(segment_path(position.sequence + 1), File::Segment(next));
        self.remake_header(place + 1, &position);
    }
}

fn idle(boot: [u8; 16]) -> Block {
    let mut block = Block::zeros(LOCK_LENGTH);
    block.set(common::MAGIC, LOCK_MAGIC);
    block.set_number(common::VERSION, 1);
    block.set_number(lock::PID, 1);
    block.set_number(lock::STATE, lock::IDLE);
    block.set_number(lock::PREVIOUS_STATE, lock::IDLE);
    block.set(lock::BOOT, &boot);
    checksum::remake_of_block(&mut block);
    block
}

fn head_of_empty(id: [u8; 16], boot: [u8; 16]) -> Block {
    let mut block = Block::zeros(HEAD_LENGTH);
    block.set(common::MAGIC, HEAD_MAGIC);
    block.set_number(common::VERSION, 1);
    block.set(head::LOG, &id);
    block.set(head::ANCHOR_LINK, &link::genesis(&id));
    block.set(head::NEWEST_LINK, &link::genesis(&id));
    block.set(head::BOOT, &boot);
    checksum::remake_of_block(&mut block);
    block
}
