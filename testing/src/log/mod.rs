//! What the tests of the log share: opening, appending, reading everything back, and other
//! processes.
#![allow(
    unreachable_pub,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    reason = "the helpers of a test may fail like the test"
)]

pub mod faulty;
pub mod gated;
pub mod image;
pub mod process;

use holdpoint_engine::log::{
    Level, Log, NewRecord, OpenError, OpenReport, Options, Ownership, Storage,
};
use holdpoint_log_files::{DirectoryStorage, Extent, ReadStorage, Survey, SurveyOptions, survey};
use holdpoint_log_format::{BootId, RecordHeader};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Far beyond any test: nothing happens in the background unless the test asks for it.
pub const NEVER: Duration = Duration::from_secs(1 << 30);

/// Options under which nothing happens in the background.
pub fn quiet() -> Options {
    Options::default().head_delay(NEVER)
}

/// The same, as the only writer.
pub fn exclusive() -> Options {
    quiet().ownership(Ownership::Exclusive)
}

pub fn try_open(directory: &Path, options: Options) -> Result<(Log, OpenReport), OpenError> {
    Log::open(DirectoryStorage::new(directory), options)
}

pub fn open(directory: &Path, options: Options) -> Log {
    open_reporting(directory, options).0
}

pub fn open_reporting(directory: &Path, options: Options) -> (Log, OpenReport) {
    try_open(directory, options).unwrap_or_else(|error| panic!("{error}"))
}

/// A record of `length` bytes that tells its tag in the first of them.
pub fn record(tag: u64, length: usize) -> NewRecord {
    let payload = tag.to_le_bytes().into_iter().chain(std::iter::repeat(0xa5)).take(length);
    NewRecord { kind: 32_775, version: 1, payload: payload.collect() }
}

/// Appends one record durably and gives its sequence.
pub fn append<S: Storage>(log: &Log<S>, tag: u64, length: usize) -> u64 {
    let appended = log.append(&[record(tag, length)], tag, Level::Always);
    appended.unwrap_or_else(|error| panic!("{error}")).last_sequence
}

/// Appends one durable record of `length` bytes for each tag.
pub fn append_each<S: Storage>(log: &Log<S>, tags: std::ops::Range<u64>, length: usize) {
    for tag in tags {
        append(log, tag, length);
    }
}

/// A record as it lies in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub segment: u64,
    pub offset: u64,
    pub length: u64,
    pub header: RecordHeader,
    pub payload: Vec<u8>,
}

impl Stored {
    /// The tag of [`record`].
    pub fn tag(&self) -> u64 {
        self.payload.first_chunk::<8>().map_or(0, |tag| u64::from_le_bytes(*tag))
    }
}

/// This boot, as the real disk says it.
pub fn this_boot() -> BootId {
    Storage::boot(&DirectoryStorage::new("/"))
}

/// Surveys every record in this boot.
pub fn survey_whole(directory: &Path) -> Survey {
    read_whole(directory).0
}

/// Surveys every record, and gives those of whole batches.
pub fn read_whole(directory: &Path) -> (Survey, Vec<Stored>) {
    let storage = DirectoryStorage::new(directory);
    read_storage(&storage, this_boot())
}

pub fn read_storage<S: ReadStorage>(storage: &S, boot: BootId) -> (Survey, Vec<Stored>) {
    let options = SurveyOptions::new(Extent::FromAnchor, boot);
    let mut records = Vec::new();
    let survey = survey(storage, options, &mut |place, record| {
        records.push(Stored {
            segment: place.segment,
            offset: place.offset,
            length: place.length,
            header: record.header.clone(),
            payload: record.payload.to_vec(),
        });
    });
    let newest = |survey: &Survey| survey.last.as_ref().map_or(0, |last| last.run.chain.sequence);
    let survey = survey.unwrap_or_else(|error| panic!("{error}"));
    records.retain(|record| record.header.sequence <= newest(&survey));
    (survey, records)
}

/// Every record of whole batches, checked to be numbered from 1 without gaps.
pub fn records_of(directory: &Path) -> Vec<Stored> {
    let (survey, records) = read_whole(directory);
    assert_eq!(survey.findings, [], "{:?}", survey.row);
    let sequences: Vec<u64> = records.iter().map(|record| record.header.sequence).collect();
    assert_eq!(sequences, (1..=records.len() as u64).collect::<Vec<_>>());
    records
}

/// Every file below a directory with its bytes.
pub fn content_of(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(content_of(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap();
            found.insert(path, bytes);
        }
    }
    found
}

/// Paths of the segments, oldest first.
pub fn segments_of(directory: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(directory.join("segments")).unwrap();
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "seg"));
    paths.sort();
    paths
}

/// A directory whose syncs cost little, for tests with very many of them: what they are about is
/// not the disk.
pub fn memory_directory() -> tempfile::TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory.or_else(|_| tempfile::tempdir()).unwrap()
}

/// Numbers that look random and come from a seed alone: `HOLDPOINT_SEED`, or one drawn from the
/// clock and printed, so that a failure can be repeated.
pub struct Random(u64);

impl Random {
    pub fn new() -> Self {
        Self::of(crate::story::seed())
    }

    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    pub fn flips(&mut self) -> bool {
        self.below(2) == 0
    }
}
