//! How far checking a log is from its floor: every hash of it in lanes, without reading, checksums
//! or anything else; and whether a log is read faster through maps or with `pread`, in order and at
//! random. Rounds of all contenders, one after another in one process; medians of ratios.
//!
//! `cargo bench -p holdpoint-log-files --bench checking -- RECORDS PAYLOAD ROUNDS DIRECTORY`, or
//! the first few of these.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench may fail, and it reports")]

use holdpoint_log_files::map::guard;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{
    DirectoryStorage, Entry, Extent, Follower, Mapped, ReadStorage, SurveyOptions,
    survey_in_threads,
};
use holdpoint_log_format::limits::{
    SEAL_LENGTH, SEGMENT_CAPACITY_MIN, SEGMENT_CAPACITY_USUAL_MAX, SEGMENT_HEADER_LENGTH,
};
use holdpoint_log_format::record::{encode_into, size_for};
use holdpoint_log_format::{
    BootId, ChainPosition, Flags, Head, Item, LinkPrefix, LogId, RecordHeader, Seal, SegmentHeader,
    link,
};
use holdpoint_sha256_lanes::digest_each;
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::time::Instant;

const LOG: LogId = LogId([8; 16]);

fn main() {
    let numbers: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |index: usize, usual: usize| {
        numbers.get(index).and_then(|word| word.parse().ok()).unwrap_or(usual)
    };
    let (records, payload, rounds) = (number(0, 1_000_000), number(1, 256), number(2, 7));
    let root = numbers.get(3).map_or(std::env::temp_dir(), Into::into);
    let directory = tempfile::tempdir_in(root).unwrap();
    write_log(directory.path(), records as u64, payload);
    measure(&DirectoryStorage::new(directory.path()), records, payload, rounds);
}

type Contender<'a> = (&'static str, Box<dyn Fn() + 'a>);

fn measure(storage: &DirectoryStorage, records: usize, payload: usize, rounds: usize) {
    let floor = Floor::new(records, payload);
    guard().unwrap();
    let mapped = Through(storage.clone());
    let places = places(storage);
    let contenders: Vec<Contender<'_>> = vec![
        ("lane floor", Box::new(|| floor.hash())),
        ("whole log, 1 thread", Box::new(|| check(storage, 1, records))),
        ("whole log, 2 threads", Box::new(|| check(storage, 2, records))),
        ("scan and checksum", Box::new(|| scan(storage, records))),
        ("the same, mapped", Box::new(|| scan(&mapped, records))),
        ("records at random", Box::new(|| at_random(storage, &places))),
        ("the same, mapped", Box::new(|| at_random(&mapped, &places))),
    ];
    let mut times: Vec<Vec<[f64; 2]>> = vec![Vec::new(); contenders.len()];
    for _ in 0..rounds {
        for ((_, contender), times) in contenders.iter().zip(&mut times) {
            let (begun, begun_cpu) = (Instant::now(), cpu_seconds());
            contender();
            times.push([begun.elapsed().as_secs_f64(), cpu_seconds() - begun_cpu]);
        }
    }
    println!("{:24}{:>24}{:>24}", "", "wall: ns a record, floor", "processor: the same");
    let base = times.first().cloned().unwrap_or_default();
    for ((name, _), times) in contenders.iter().zip(&times) {
        print!("{name:24}");
        for clock in [0, 1] {
            let of = |time: &[f64; 2]| time.get(clock).copied().unwrap_or(f64::NAN);
            let ratios = times.iter().zip(&base).map(|(time, base)| of(time) / of(base)).collect();
            let each = median(times.iter().map(of).collect()) / records as f64 * 1e9;
            print!("{each:16.1}{:8.3}", median(ratios));
        }
        println!();
    }
}

/// What this process used of the processors. On a busy machine it says more than a watch.
fn cpu_seconds() -> f64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 / 1e9
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The same number of payloads and of preimages, in groups that a cache holds.
struct Floor {
    payloads: Vec<u8>,
    payload: usize,
    preimages: Vec<u8>,
}

impl Floor {
    const GROUP: usize = 800;

    fn new(records: usize, payload: usize) -> Self {
        let payloads = (0..records * payload).map(|index| (index / 7) as u8).collect();
        let preimages = vec![7; Self::GROUP * link::PREIMAGE_LENGTH];
        Self { payloads, payload, preimages }
    }

    fn hash(&self) {
        let links: Vec<&[u8]> = self.preimages.chunks(link::PREIMAGE_LENGTH).collect();
        let mut digests = vec![[0; 32]; Self::GROUP];
        for group in self.payloads.chunks(Self::GROUP * self.payload) {
            let payloads: Vec<&[u8]> = group.chunks(self.payload).collect();
            digest_each(&payloads, &mut digests);
            digest_each(links.get(..payloads.len()).unwrap_or_default(), &mut digests);
            black_box(&digests);
        }
    }
}

fn options() -> SurveyOptions {
    let extent = Extent::FromAnchor;
    SurveyOptions::new(extent, BootId::UNKNOWN)
}

fn check(storage: &DirectoryStorage, threads: usize, records: usize) {
    let mut seen = 0;
    let found = survey_in_threads(storage, options(), threads, &|_, _| (), &mut |_, _, ()| {
        seen += 1;
    });
    assert_eq!((found.unwrap().findings, seen), (Vec::new(), records));
}

/// Every frame in order, without links.
fn scan(storage: &impl ReadStorage, records: usize) {
    let (mut seen, mut first) = (0, 1);
    while let Some(opened) = storage.open(&segment_path(first)).unwrap() {
        let mut window = Window::new(opened).unwrap();
        let header = window.header().unwrap().unwrap();
        let mut offset = SEGMENT_HEADER_LENGTH as u64;
        while let (Item::Record(record), length) = window.item(offset, &header).unwrap().unwrap() {
            black_box(record.payload);
            (seen, first, offset) = (seen + 1, record.header.sequence + 1, offset + length);
        }
    }
    assert_eq!(seen, records);
}

/// Opens every file through a map.
struct Through(DirectoryStorage);

impl ReadStorage for Through {
    type File = Mapped<File>;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        self.0.list(directory)
    }

    fn open(&self, path: &str) -> io::Result<Option<Self::File>> {
        self.0.open_mapped(path)
    }
}

/// A record: its sequence, its segment's header, and where it begins.
type RecordAt = (u64, SegmentHeader, u64);

/// Every record, in an order in which no two that are near each other follow.
fn places(storage: &DirectoryStorage) -> Vec<RecordAt> {
    let mut places = Vec::new();
    let mut follower = Follower::at_segment(storage, 1).unwrap();
    let header_of = |first| Follower::at_segment(storage, first).unwrap().header;
    let mut header = follower.header;
    follower
        .catch_up(storage, &mut |place, record| {
            if place.segment != header.first_sequence() {
                header = header_of(place.segment);
            }
            places.push((record.header.sequence, header, place.offset));
        })
        .unwrap();
    let mut random = 1_u64;
    for at in (1..places.len()).rev() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        places.swap(at, (random >> 33) as usize % (at + 1));
    }
    places
}

/// Looks up each record as one who knows where it lies: the file is opened for it alone.
fn at_random<S: ReadStorage>(storage: &S, places: &[RecordAt]) {
    for (sequence, header, offset) in places {
        let file = storage.open(&segment_path(header.first_sequence())).unwrap().unwrap();
        let mut window = Window::new(file).unwrap();
        let (item, _) = window.item(*offset, header).unwrap().unwrap();
        let Item::Record(record) = item else { unreachable!("a record begins there") };
        assert_eq!(record.header.sequence, *sequence);
    }
}

/// Writes a log of opaque records, as an engine does that never syncs.
fn write_log(root: &Path, records: u64, payload: usize) {
    std::fs::create_dir(root.join("segments")).unwrap();
    let capacity = SEGMENT_CAPACITY_MIN;
    let mut previous = ChainPosition::genesis(LOG);
    let mut header = SegmentHeader { log: LOG, previous, capacity, previous_seal_offset: 0 };
    let mut bytes = header.encode().to_vec();
    for sequence in 1..=records {
        if bytes.len() + payload + 64 + 8 + SEAL_LENGTH > header.capacity as usize {
            let seal = Seal { last: previous, offset: bytes.len() as u64 };
            bytes.extend(seal.encode(header.seed()));
            finish(root, &header, &mut bytes);
            let capacity = (header.capacity * 2).min(SEGMENT_CAPACITY_USUAL_MAX);
            header =
                SegmentHeader { previous, capacity, previous_seal_offset: seal.offset, ..header };
            bytes.extend(header.encode());
        }
        let content = vec![sequence as u8; payload];
        previous = append(&mut bytes, &header, &previous, &content);
    }
    let end_offset = bytes.len() as u64;
    let head = Head {
        newest_sequence: previous.sequence,
        newest_link: previous.link,
        segment: header.first_sequence(),
        record_offset: end_offset - (u64::from(size_for(payload)).next_multiple_of(8)),
        end_offset,
        ..Head::at_anchor(LOG, &ChainPosition::genesis(LOG), BootId::UNKNOWN)
    };
    finish(root, &header, &mut bytes);
    std::fs::write(root.join("HEAD"), head.encode()).unwrap();
}

fn finish(root: &Path, header: &SegmentHeader, bytes: &mut Vec<u8>) {
    bytes.resize(header.capacity as usize, 0);
    std::fs::write(root.join(segment_path(header.first_sequence())), &bytes).unwrap();
    bytes.clear();
    assert!(SEGMENT_HEADER_LENGTH > bytes.len(), "the next header comes first");
}

fn append(
    bytes: &mut Vec<u8>,
    header: &SegmentHeader,
    previous: &ChainPosition,
    payload: &[u8],
) -> ChainPosition {
    let (sequence, time, flags) = (previous.sequence + 1, previous.time + 1, Flags::NONE);
    let digest = link::payload_digest(payload);
    let link = LinkPrefix::new(LOG, 7, 1, flags, &digest).link(&previous.link, 0, sequence, time);
    let (size, checksum, kind, version, unsynced) = (0, 0, 7, 1, 0);
    let record =
        RecordHeader { size, checksum, kind, version, flags, unsynced, sequence, time, link };
    encode_into(bytes, &record, payload, header.seed());
    ChainPosition { sequence, link, time }
}
