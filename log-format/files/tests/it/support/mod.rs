//! Logs made by hand, in memory, whose readings are counted.
use holdpoint_log_files::{Entry, EntryKind, Extent, ReadFile, ReadStorage, SurveyOptions};
use holdpoint_log_format::limits::{SEAL_LENGTH, SEGMENT_CAPACITY_MIN, SEGMENT_HEADER_LENGTH};
use holdpoint_log_format::record::encode_into;
use holdpoint_log_format::{
    BootId, ChainPosition, Flags, Head, LinkPrefix, LogId, Record, RecordHeader, Seal,
    SegmentHeader, link, names,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

pub(crate) const LOG: LogId = LogId([6; 16]);
pub(crate) const BOOT: BootId = BootId([5; 16]);

/// A segment while it is written.
#[derive(Clone)]
pub(crate) struct Segment {
    pub(crate) header: SegmentHeader,
    pub(crate) bytes: Vec<u8>,
    pub(crate) last: ChainPosition,
    /// The newest record that ends a batch.
    batch_end: u64,
    /// Where its newest record starts.
    pub(crate) newest_at: u64,
}

impl Segment {
    pub(crate) fn first() -> Self {
        let previous = ChainPosition::genesis(LOG);
        let capacity = SEGMENT_CAPACITY_MIN;
        Self::begun(SegmentHeader { log: LOG, previous, capacity, previous_seal_offset: 0 })
    }

    pub(crate) fn begun(header: SegmentHeader) -> Self {
        let bytes = header.encode().to_vec();
        let (last, batch_end) = (header.previous, header.previous.sequence);
        Self { header, bytes, last, batch_end, newest_at: 0 }
    }

    /// Appends a record that claims that everything before its batch was durable.
    pub(crate) fn push(&mut self, flags: Flags, payload: &[u8]) {
        self.push_claiming(self.batch_end, flags, payload);
    }

    /// Appends a record that claims that everything up to a record was durable.
    pub(crate) fn push_claiming(&mut self, durable: u64, flags: Flags, payload: &[u8]) {
        let (sequence, time) = (self.last.sequence + 1, self.last.time + 1);
        let unsynced = u32::try_from(sequence - 1 - durable).unwrap();
        let digest = digest_of(flags, payload);
        let prefix = LinkPrefix::new(LOG, 1, 1, flags, &digest);
        let link = prefix.link(&self.last.link, unsynced, sequence, time);
        self.put(&header_of(flags, unsynced, (sequence, time), link), payload);
    }

    /// Writes a record as it is said to be, whether or not it follows.
    pub(crate) fn put(&mut self, header: &RecordHeader, payload: &[u8]) {
        self.newest_at = self.end();
        encode_into(&mut self.bytes, header, payload, self.header.seed());
        self.last = ChainPosition::of(header);
        if !header.flags.more_follows() {
            self.batch_end = header.sequence;
        }
    }

    pub(crate) fn end(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Seals it and begins the next one.
    pub(crate) fn rolled(&mut self) -> Self {
        let seal = Seal { last: self.last, offset: self.end() };
        self.bytes.extend(seal.encode(self.header.seed()));
        let header =
            SegmentHeader { previous: seal.last, previous_seal_offset: seal.offset, ..self.header };
        Self::begun(header)
    }

    /// The file, zeros up to the capacity.
    pub(crate) fn file(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.resize(bytes.len().max(usize::try_from(self.header.capacity).unwrap()), 0);
        bytes
    }

    pub(crate) fn path(&self) -> String {
        format!("{}/{}", names::SEGMENTS, names::segment(self.header.first_sequence()))
    }

    /// Where its records start, and the end.
    pub(crate) fn boundaries(&self) -> Vec<usize> {
        let mut at = SEGMENT_HEADER_LENGTH;
        let mut boundaries = vec![at];
        while let Ok(record) = Record::decode(&self.bytes[at..], self.header.seed()) {
            at += usize::try_from(record.header.footprint()).unwrap();
            boundaries.push(at);
            if at + SEAL_LENGTH > self.bytes.len() {
                break;
            }
        }
        boundaries
    }
}

/// The digest that a payload stands for: of a withheld one, the payload is it.
pub(crate) fn digest_of(flags: Flags, payload: &[u8]) -> [u8; 32] {
    let withheld = payload.try_into().ok().filter(|_| flags.withheld());
    withheld.unwrap_or_else(|| link::payload_digest(payload))
}

fn header_of(
    flags: Flags,
    unsynced: u32,
    (sequence, time): (u64, u64),
    link: link::Link,
) -> RecordHeader {
    RecordHeader {
        size: 0,
        checksum: 0,
        kind: 1,
        version: 1,
        flags,
        unsynced,
        sequence,
        time,
        link,
    }
}

/// What was asked of an [`Image`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) opened: u64,
    pub(crate) reads: u64,
    pub(crate) bytes: u64,
}

/// A log's directory in memory.
#[derive(Clone, Default)]
pub(crate) struct Image {
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) opened: RefCell<Vec<String>>,
    asked: Arc<Mutex<Asked>>,
}

impl Image {
    /// A log of so many segments of three records each, HEAD naming the newest record.
    pub(crate) fn of_segments(count: usize) -> Self {
        let mut image = Self::default();
        let mut segment = Segment::first();
        for number in 1..=count {
            (0..3).for_each(|_| segment.push(Flags::NONE, b"one of three"));
            let done = if number == count { None } else { Some(segment.rolled()) };
            image.put(&segment);
            match done {
                Some(next) => segment = next,
                None => image.witness(&segment),
            }
        }
        image
    }

    pub(crate) fn put(&mut self, segment: &Segment) {
        self.files.insert(segment.path(), segment.file());
    }

    /// HEAD names the newest record of `segment`.
    pub(crate) fn witness(&mut self, segment: &Segment) {
        let genesis = ChainPosition::genesis(LOG);
        let head = Head {
            newest_sequence: segment.last.sequence,
            newest_link: segment.last.link,
            segment: segment.header.first_sequence(),
            record_offset: segment.newest_at,
            end_offset: segment.end(),
            ..Head::at_anchor(LOG, &genesis, BOOT)
        };
        self.files.insert(names::HEAD.into(), head.encode().to_vec());
    }

    /// First sequences of its segments.
    pub(crate) fn firsts(&self) -> Vec<u64> {
        let names = self.files.keys().filter_map(|path| path.strip_prefix("segments/"));
        names.filter_map(names::parse_segment).collect()
    }

    pub(crate) fn asked(&self) -> Asked {
        *self.asked.lock().unwrap()
    }
}

pub(crate) fn options(extent: Extent) -> SurveyOptions {
    SurveyOptions::new(extent, BOOT)
}

impl ReadStorage for Image {
    type File = CountedFile;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        let file = |path: &String| {
            let name = match directory {
                "" => path.split('/').next()?,
                _ => path.strip_prefix(directory)?.strip_prefix('/')?,
            };
            let is_file =
                directory.len() + name.len() + usize::from(!directory.is_empty()) == path.len();
            let kind = if is_file { EntryKind::File } else { EntryKind::Directory };
            Some(Entry { name: name.into(), kind })
        };
        let mut entries: Vec<Entry> = self.files.keys().filter_map(file).collect();
        entries.dedup();
        Ok(entries)
    }

    fn open(&self, path: &str) -> io::Result<Option<CountedFile>> {
        let Some(bytes) = self.files.get(path) else { return Ok(None) };
        self.opened.borrow_mut().push(path.into());
        self.asked.lock().unwrap().opened += 1;
        Ok(Some(CountedFile { bytes: Memory(bytes.clone()), asked: Arc::clone(&self.asked) }))
    }
}

/// A file of an [`Image`].
pub(crate) struct CountedFile {
    bytes: Memory,
    asked: Arc<Mutex<Asked>>,
}

impl ReadFile for CountedFile {
    fn length(&self) -> io::Result<u64> {
        self.bytes.length()
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.bytes.read_some_at(offset, buffer)?;
        let mut asked = self.asked.lock().unwrap();
        asked.reads += 1;
        asked.bytes += length as u64;
        Ok(length)
    }
}

/// A file in memory.
pub(crate) struct Memory(pub(crate) Vec<u8>);

impl ReadFile for Memory {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap().min(self.0.len());
        let length = buffer.len().min(self.0.len() - start);
        buffer[..length].copy_from_slice(&self.0[start..start + length]);
        Ok(length)
    }
}
