//! Hostile files: whatever lengths, offsets and sizes a directory claims, a survey ends with a
//! verdict, reads no more than a segment may hold, and panics on nothing.
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{
    DirectoryStorage, Entry, Extent, FollowError, Follower, ReadFile, ReadStorage, Survey,
    SurveyOptions, survey,
};
use holdpoint_log_format::limits::{
    SEGMENT_CAPACITY_MAX, SEGMENT_CAPACITY_MIN, SEGMENT_HEADER_LENGTH,
};
use holdpoint_log_format::record::encode_into;
use holdpoint_log_format::recovery::{Row, Verdict};
use holdpoint_log_format::{
    BootId, ChainPosition, Flags, Head, LinkPrefix, Lock, LogId, OwnerState, RecordHeader, Seal,
    SegmentHeader, link,
};
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

const LOG: LogId = LogId([6; 16]);
const FIRST: &str = "segments/00000000000000000001.seg";

fn header(capacity: u64) -> SegmentHeader {
    let previous = ChainPosition::genesis(LOG);
    SegmentHeader { log: LOG, previous, capacity, previous_seal_offset: 0 }
}

/// `count` records that follow `after`, each a batch of its own that claims nothing unsynced.
fn records(
    header: &SegmentHeader,
    mut after: ChainPosition,
    count: u64,
) -> (Vec<u8>, ChainPosition) {
    let mut bytes = Vec::new();
    for sequence in after.sequence + 1..=after.sequence + count {
        let payload = sequence.to_le_bytes();
        let digest = link::payload_digest(&payload);
        let prefix = LinkPrefix::new(LOG, 1, 1, Flags::NONE, &digest);
        let link = prefix.link(&after.link, 0, sequence, sequence);
        after = ChainPosition { sequence, link, time: sequence };
        let record = RecordHeader {
            size: 0,
            checksum: 0,
            kind: 1,
            version: 1,
            flags: Flags::NONE,
            unsynced: 0,
            sequence,
            time: sequence,
            link,
        };
        encode_into(&mut bytes, &record, &payload, header.seed());
    }
    (bytes, after)
}

/// A segment's header and records, without the zeros behind.
fn segment(header: &SegmentHeader, count: u64) -> (Vec<u8>, ChainPosition) {
    let (records, last) = records(header, header.previous, count);
    let mut bytes = header.encode().to_vec();
    bytes.extend(records);
    (bytes, last)
}

fn directory_of(files: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("segments")).unwrap();
    let head = Head::at_anchor(LOG, &ChainPosition::genesis(LOG), BootId::UNKNOWN);
    std::fs::write(directory.path().join("HEAD"), head.encode()).unwrap();
    for (name, bytes) in files {
        std::fs::write(directory.path().join(name), bytes).unwrap();
    }
    directory
}

fn survey_of(directory: &Path) -> Survey {
    let options = SurveyOptions::new(Extent::FromAnchor, BootId([1; 16]));
    survey(&DirectoryStorage::new(directory), options, &mut |_, _| {}).unwrap()
}

fn stretch(path: &Path, length: u64) {
    File::options().write(true).open(path).unwrap().set_len(length).unwrap();
}

#[test]
fn a_file_that_claims_to_be_a_terabyte_is_not_read_to_its_end() {
    for bytes in [segment(&header(SEGMENT_CAPACITY_MIN), 3).0, Vec::new(), vec![7; 5_000]] {
        let directory = directory_of(&[(FIRST, bytes)]);
        stretch(&directory.path().join(FIRST), 1 << 40);
        let survey = survey_of(directory.path());
        assert!([Row::Shape, Row::LastHeaderBad, Row::BlankSegment].contains(&survey.row));
    }
}

#[test]
fn a_header_that_claims_more_than_the_file_holds_is_a_finding() {
    for capacity in [SEGMENT_CAPACITY_MAX, SEGMENT_CAPACITY_MIN] {
        let (bytes, _) = segment(&header(capacity), 3);
        for length in [SEGMENT_HEADER_LENGTH, bytes.len() - 1, bytes.len()] {
            let directory = directory_of(&[(FIRST, bytes[..length].to_vec())]);
            let survey = survey_of(directory.path());
            assert_eq!(survey.row, Row::Shape, "{capacity} {length}");
            assert!(survey.findings.iter().any(|finding| finding.problem.name() == "length"));
        }
    }
}

#[test]
fn bytes_that_make_the_search_behind_damage_long_stop_it() {
    let header = header(SEGMENT_CAPACITY_MIN);
    let mut bytes = header.encode().to_vec();
    bytes.resize(usize::try_from(SEGMENT_CAPACITY_MIN).unwrap(), 0);
    bytes[SEGMENT_HEADER_LENGTH] = 1;
    for at in (SEGMENT_HEADER_LENGTH + 64..60_000).step_by(8) {
        // A record of 400 bytes with sequence 400 seems to begin everywhere.
        let size = if at % 16 == 0 { 400_u32 } else { 1 };
        bytes[at..at + 4].copy_from_slice(&size.to_le_bytes());
    }
    let survey = survey_of(directory_of(&[(FIRST, bytes)]).path());
    assert_eq!(survey.row, Row::Shape);
    assert!(survey.findings.iter().any(|finding| finding.problem.name() == "search_stopped"));
}

#[test]
fn random_damage_gives_a_verdict_and_never_a_panic() {
    let given = std::env::var("HOLDPOINT_SEED").ok().and_then(|text| text.parse().ok());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut seed: u64 = given.unwrap_or(now.as_micros() as u64);
    println!("HOLDPOINT_SEED={seed}");
    let mut below = move |bound: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % bound
    };
    let (mut bytes, _) = segment(&header(SEGMENT_CAPACITY_MIN), 20);
    bytes.resize(usize::try_from(SEGMENT_CAPACITY_MIN).unwrap(), 0);
    for _ in 0..300 {
        let mut damaged = bytes.clone();
        for _ in 0..=below(6) {
            let at = 4_096 + below(20 * 72 + 300);
            let length = 1 + below(40);
            damaged[at..at + length].fill_with(|| below(256) as u8);
        }
        damaged.truncate(if below(4) == 0 { below(bytes.len()) } else { bytes.len() });
        let survey = survey_of(directory_of(&[(FIRST, damaged)]).path());
        assert_ne!(survey.row.verdict(), Verdict::NothingHere);
    }
}

/// A directory in which LOCK is another file at every reading after the first.
struct ChangingLock {
    inner: DirectoryStorage,
    readings: Cell<u32>,
}

impl ReadStorage for ChangingLock {
    type File = File;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        self.inner.list(directory)
    }

    fn open(&self, path: &str) -> io::Result<Option<File>> {
        let is_again = path == "LOCK" && self.readings.replace(self.readings.get() + 1) > 0;
        self.inner.open(if is_again { "HEAD.tmp" } else { path })
    }
}

#[test]
fn a_writer_that_began_and_died_while_the_log_was_read_is_not_taken_for_damage() {
    let header = header(SEGMENT_CAPACITY_MIN);
    let mut bytes = header.encode().to_vec();
    let (mut torn, _) = records(&header, header.previous, 60);
    torn.truncate(4_096);
    bytes.extend(torn);
    bytes.resize(usize::try_from(SEGMENT_CAPACITY_MIN).unwrap(), 0);
    let boot = BootId([1; 16]);
    let lock = |state| {
        let (pid, durable_sequence, wall_minus_boot) = (1, 0, 0);
        Lock { pid, state, previous_state: state, boot, durable_sequence, wall_minus_boot }.encode()
    };
    for (later, row) in
        [(OwnerState::Idle, Row::DamagedTail), (OwnerState::InTransaction, Row::TornTail)]
    {
        let directory = directory_of(&[
            (FIRST, bytes.clone()),
            ("LOCK", lock(OwnerState::Idle).to_vec()),
            ("HEAD.tmp", lock(later).to_vec()),
        ]);
        let inner = DirectoryStorage::new(directory.path());
        let storage = ChangingLock { inner, readings: Cell::new(0) };
        let extent = Extent::FromAnchor;
        let options = SurveyOptions::new(extent, boot);
        assert_eq!(survey(&storage, options, &mut |_, _| {}).unwrap().row, row, "{later:?}");
    }
}

/// A file that counts how much of it is read.
struct Counted<'a> {
    bytes: Vec<u8>,
    read: &'a AtomicUsize,
    fails: bool,
}

impl ReadFile for Counted<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if self.fails {
            return Err(io::Error::other("it cannot be read"));
        }
        let start = usize::try_from(offset).unwrap().min(self.bytes.len());
        let length = buffer.len().min(self.bytes.len() - start);
        buffer[..length].copy_from_slice(&self.bytes[start..start + length]);
        self.read.fetch_add(length, Ordering::Relaxed);
        Ok(length)
    }
}

#[test]
fn a_window_gives_what_there_is_at_the_end_of_a_file_and_nothing_after_a_failure() {
    let read = AtomicUsize::new(0);
    let bytes: Vec<u8> = (1..=200).collect();
    let file = Counted { bytes: bytes.clone(), read: &read, fails: false };
    let mut window = Window::new(file).unwrap();
    for (offset, length, expected) in [
        (0, 200, &bytes[..]),
        (190, 100, &bytes[190..]),
        (200, 1, &[][..]),
        (u64::MAX, u64::MAX, &[][..]),
        (5, 0, &[][..]),
        (0, u64::MAX, &bytes[..]),
    ] {
        assert_eq!(window.bytes(offset, length).unwrap(), expected, "{offset} {length}");
    }
    assert_eq!(window.nonzero_end(0).unwrap(), Some(200));
    assert_eq!(window.nonzero_end(200).unwrap(), None);
    let mut failing = Window::new(Counted { bytes, read: &read, fails: true }).unwrap();
    for _ in 0..2 {
        assert!(failing.bytes(0, 10).is_err(), "what could not be read is not served as zeros");
    }
}

#[test]
fn the_end_of_a_segment_is_read_with_little_more_than_is_asked_for() {
    let read = AtomicUsize::new(0);
    let file = Counted { bytes: vec![1; 1 << 20], read: &read, fails: false };
    let mut window = Window::new(file).unwrap();
    window.bytes(500_000, 4).unwrap();
    let read = read.load(Ordering::Relaxed);
    assert!(read <= 8_192, "{read}");
}

#[test]
fn a_follower_crosses_a_roll_and_refuses_a_successor_that_does_not_follow() {
    let first = header(SEGMENT_CAPACITY_MIN);
    let (mut bytes, last) = segment(&first, 4);
    let seal = Seal { last, offset: bytes.len() as u64 };
    bytes.extend(seal.encode(first.seed()));
    bytes.resize(usize::try_from(SEGMENT_CAPACITY_MIN).unwrap(), 0);
    let next = |previous| SegmentHeader {
        previous,
        previous_seal_offset: seal.offset,
        ..header(SEGMENT_CAPACITY_MIN)
    };
    let second = "segments/00000000000000000005.seg";
    let follows = segment(&next(last), 2).0;
    let other = segment(&next(ChainPosition { time: last.time + 1, ..last }), 2).0;
    for (successor, is_good) in [(follows, true), (other, false)] {
        let directory = directory_of(&[(FIRST, bytes.clone()), (second, successor)]);
        let storage = DirectoryStorage::new(directory.path());
        let mut follower = Follower::at_segment(&storage, 1).unwrap();
        let mut seen = Vec::new();
        let mut visit = |_: &_, record: &holdpoint_log_format::Record<'_>| {
            seen.push(record.header.sequence);
        };
        let caught_up = follower.catch_up(&storage, &mut visit);
        if is_good {
            caught_up.unwrap();
            assert_eq!(seen, [1, 2, 3, 4, 5, 6]);
            let beyond = follower.catch_up_to(&storage, 7, &mut |_, _| {});
            assert!(matches!(beyond, Err(FollowError::Damaged(_))), "{beyond:?}");
        } else {
            assert!(matches!(caught_up, Err(FollowError::Header { .. })), "{caught_up:?}");
            assert_eq!(survey_of(directory.path()).row.verdict(), Verdict::Corrupt);
        }
    }
}
