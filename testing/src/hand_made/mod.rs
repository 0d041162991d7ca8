//! Logs made by hand, byte by byte, with the format's own functions and no writer.

mod questions;
mod runs;
mod snapshots;

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::world::envelope;
use holdpoint_domain::world::envelope::Encoded;
use holdpoint_domain::{ActorId, Command, Envelope, Event, World, decide};
use holdpoint_log_format::limits::{
    SEAL_LENGTH, SEGMENT_HEADER_LENGTH, next_capacity, record_footprint,
};
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::record::{encode_into, size_for};
use holdpoint_log_format::{
    BootId, ChainPosition, Flags, Head, LinkPrefix, Lock, LogId, OwnerState, RecordHeader, Seal,
    SegmentHeader, names,
};
use std::path::Path;

/// What a command printed: no reading verb may show it.
pub const SECRET: &str = "hunter2-secret-output";

/// 2026-01-25T16:00:00Z.
pub const BEGINNING_NS: u64 = 1_769_356_800_000_000_000;

/// The boot in which hand-made logs were written: no real one.
pub const OTHER_BOOT: BootId = BootId([0xb0; 16]);

/// A log in memory.
pub struct HandMadeLog {
    pub world: World,
    pub log: LogId,
    pub chain: ChainPosition,
    pub now: Timestamp,
    pub boot: BootId,
    /// Whether envelopes are of a form of their own.
    pub has_foreign_envelopes: bool,
    /// What a forger writes in the place of an event that a command came to.
    pub forge: fn(&mut Event),
    segments: Vec<(SegmentHeader, Vec<u8>)>,
    newest: (u64, u64, u64),
    /// The last record of the newest whole batch.
    whole: u64,
    commands: u128,
}

impl HandMadeLog {
    /// A log with one empty segment.
    pub fn new() -> Self {
        Self::of(LogId([7; 16]))
    }

    pub fn of(log: LogId) -> Self {
        let previous = ChainPosition::genesis(log);
        let header =
            SegmentHeader { log, previous, capacity: next_capacity(0, 0), previous_seal_offset: 0 };
        Self {
            world: World::default(),
            log,
            chain: previous,
            now: Timestamp::from_nanoseconds(BEGINNING_NS),
            boot: OTHER_BOOT,
            has_foreign_envelopes: false,
            forge: |_| {},
            segments: vec![(header, header.encode().to_vec())],
            newest: (0, 0, 0),
            whole: 0,
            commands: 0,
        }
    }

    /// One batch, as the rules make it.
    pub fn command(&mut self, command: &Command) {
        self.command_in(command, |envelope| envelope);
    }

    /// The same, with envelopes of which this is said as well.
    pub fn command_in(&mut self, command: &Command, change: impl Fn(Envelope) -> Envelope) {
        let events = decide(&self.world, command, self.now)
            .unwrap_or_else(|refusal| panic!("{}: {refusal}", refusal.code()));
        let decided = events.into_iter().map(|event| change(envelope(event)));
        self.recorded_as(decided, self.forge);
    }

    /// One batch of these events, whether or not the rules would have made them.
    pub fn events(&mut self, events: Vec<Event>) {
        self.recorded(events.into_iter().map(envelope));
    }

    /// One batch of these events, with whoever caused each.
    pub fn recorded(&mut self, envelopes: impl Iterator<Item = Envelope>) {
        self.recorded_as(envelopes, |_| {});
    }

    /// The same, where what is written is not what was decided.
    fn recorded_as(&mut self, envelopes: impl Iterator<Item = Envelope>, forge: fn(&mut Event)) {
        let envelopes: Vec<Envelope> = envelopes.collect();
        let written = |mut envelope: Envelope| {
            forge(&mut envelope.event);
            envelope::encode(&envelope).unwrap()
        };
        let encoded: Vec<Encoded> = envelopes.iter().cloned().map(written).collect();
        let first = self.chain.sequence + 1;
        for (sequence, envelope) in (first..).zip(&envelopes) {
            self.world.evolve(sequence, self.now, envelope);
        }
        self.batch(&encoded);
    }

    /// One batch of these payloads. The clock moves on by a millisecond afterwards.
    pub fn batch(&mut self, records: &[Encoded]) {
        self.batch_with(records, Flags::NONE, true);
    }

    /// A batch whose records carry `extra` flags; an unfinished one says that more follows.
    pub fn batch_with(&mut self, records: &[Encoded], extra: Flags, finished: bool) {
        let length: u64 = records.iter().map(|r| record_footprint(r.payload.len())).sum();
        let (header, bytes) = self.segments.last().unwrap();
        if bytes.len() as u64 + length + SEAL_LENGTH as u64 > header.capacity {
            self.roll_for(length);
        }
        let durable = self.whole;
        for (index, record) in records.iter().enumerate() {
            let more = !finished || index + 1 < records.len();
            self.record(record, flags(more, extra), durable);
        }
        self.now = Timestamp::from_nanoseconds(self.now.nanoseconds() + 1_000_000);
    }

    /// Seals the active segment and begins the next.
    pub fn roll(&mut self) {
        self.roll_for(0);
    }

    fn roll_for(&mut self, batch: u64) {
        let (header, _) = self.segments.last().unwrap();
        self.roll_to(next_capacity(header.capacity, batch));
    }

    /// Seals the active segment and begins the next, of a capacity.
    pub fn roll_to(&mut self, capacity: u64) {
        let (header, bytes) = self.segments.last_mut().unwrap();
        let seal = Seal { last: self.chain, offset: bytes.len() as u64 };
        bytes.extend_from_slice(&seal.encode(header.seed()));
        let next = SegmentHeader {
            log: self.log,
            previous: self.chain,
            capacity,
            previous_seal_offset: if seal.last.sequence == 0 { 0 } else { seal.offset },
        };
        self.segments.push((next, next.encode().to_vec()));
    }

    fn record(&mut self, record: &Encoded, flags: Flags, durable: u64) {
        let (segment, bytes) = self.segments.last_mut().unwrap();
        let withheld = payload_digest(&record.payload);
        let digest = withheld;
        let payload: &[u8] = if flags.withheld() { &withheld } else { &record.payload };
        let sequence = self.chain.sequence + 1;
        let unsynced = u32::try_from(sequence - 1 - durable).unwrap();
        let time = self.now.nanoseconds();
        let prefix = LinkPrefix::new(self.log, record.kind, record.version, flags, &digest);
        let link = prefix.link(&self.chain.link, unsynced, sequence, time);
        let header = RecordHeader {
            size: size_for(payload.len()),
            checksum: 0,
            kind: record.kind,
            version: record.version,
            flags,
            unsynced,
            sequence,
            time,
            link,
        };
        let offset = bytes.len() as u64;
        encode_into(bytes, &header, payload, segment.seed());
        self.chain = ChainPosition { sequence, link, time };
        if !flags.more_follows() {
            self.whole = sequence;
            self.newest = (segment.first_sequence(), offset, bytes.len() as u64);
        }
    }

    /// HEAD at the newest record.
    pub fn head(&self) -> Head {
        let genesis = ChainPosition::genesis(self.log);
        let (segment, record_offset, end_offset) = self.newest;
        Head {
            newest_sequence: self.chain.sequence,
            newest_link: self.chain.link,
            segment,
            record_offset,
            end_offset,
            ..Head::at_anchor(self.log, &genesis, self.boot)
        }
    }

    /// Path of the segment that is written to, relative to the log's directory.
    pub fn active_path(&self) -> String {
        let (header, _) = self.segments.last().unwrap();
        format!("{}/{}", names::SEGMENTS, names::segment(header.first_sequence()))
    }

    /// Offset behind the newest item of the active segment.
    pub fn active_end(&self) -> u64 {
        self.segments.last().unwrap().1.len() as u64
    }

    /// Writes the log as a writer that closed cleanly leaves it.
    pub fn write(&self, directory: &Path) {
        self.write_with_head(directory, &self.head());
    }

    pub fn write_with_head(&self, directory: &Path, head: &Head) {
        let segments = directory.join(names::SEGMENTS);
        std::fs::create_dir_all(&segments).unwrap();
        for (header, bytes) in &self.segments {
            let mut whole = bytes.clone();
            whole.resize(usize::try_from(header.capacity).unwrap(), 0);
            std::fs::write(segments.join(names::segment(header.first_sequence())), whole).unwrap();
        }
        std::fs::write(directory.join(names::HEAD), head.encode()).unwrap();
        let lock = Lock {
            pid: 1,
            state: OwnerState::Idle,
            previous_state: OwnerState::Idle,
            boot: self.boot,
            durable_sequence: self.chain.sequence,
            wall_minus_boot: 0,
        };
        std::fs::write(directory.join(names::LOCK), lock.encode()).unwrap();
    }
}

/// An event's payload.
pub fn encoded(event: Event) -> Encoded {
    envelope::encode(&envelope(event)).unwrap()
}

pub fn envelope(event: Event) -> Envelope {
    Envelope {
        clock: None,
        proof: None,
        actor: speaker(&event),
        correlation: "story-1".into(),
        causation: None,
        idempotency: None,
        event,
    }
}

/// An automation, where SYSTEM does not speak alone.
pub fn speaker(event: &Event) -> ActorId {
    let (kind, id) = match event.is_of_system() {
        true => (Actor::System, "holdpoint"),
        false => (Actor::Automation, "ci"),
    };
    ActorId { kind, id: id.into() }
}

/// Changes one byte of a file.
pub fn flip(file: &Path, offset: u64) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[usize::try_from(offset).unwrap()] ^= 0x01;
    std::fs::write(file, bytes).unwrap();
}

/// Puts another HEAD in the place of a log's, its checksum good.
pub fn change_head(log: &Path, change: impl FnOnce(Head) -> Head) {
    let file = log.join(names::HEAD);
    let head = Head::decode(&std::fs::read(&file).unwrap()).unwrap();
    std::fs::write(file, change(head).encode()).unwrap();
}

/// Makes HEAD or a segment one of format version 2, its checksum good.
pub fn make_newer(file: &Path) {
    let whole = std::fs::read(file).unwrap();
    let (block, rest) = whole.split_at(whole.len().min(SEGMENT_HEADER_LENGTH));
    let mut block = block.to_vec();
    block[8..12].copy_from_slice(&2_u32.to_le_bytes());
    let covered: Vec<u8> = block[..12].iter().chain(&block[16..]).copied().collect();
    block[12..16].copy_from_slice(&crc32(&covered).to_le_bytes());
    std::fs::write(file, [&block, rest].concat()).unwrap();
}

/// CRC-32 as zlib's, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// The offset of the segment's first record.
pub const FIRST_RECORD: u64 = SEGMENT_HEADER_LENGTH as u64;

fn flags(more: bool, extra: Flags) -> Flags {
    let more = if more { Flags::MORE_FOLLOWS.bits() } else { 0 };
    Flags::from_bits(more | extra.bits()).unwrap()
}
