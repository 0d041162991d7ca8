//! What was written without a sync begins to go to the disk before a sync has to wait for it.

use holdpoint_engine::log::{Level, Log};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_testing::log::faulty::{FaultyStorage, WriteOut};
use holdpoint_testing::log::{exclusive, open, record};
use std::path::Path;

const STRETCH: u64 = 1 << 20;

/// Where the records of a segment begin.
const FIRST: u64 = SEGMENT_HEADER_LENGTH as u64;

/// Appends records of 100 kB at a level, and gives what the system was let begin with, each with
/// the offset behind what its file has of records by then.
fn begun(directory: &Path, level: Level, records: u64) -> Vec<(WriteOut, u64)> {
    let storage = FaultyStorage::new(directory);
    let log = Log::open(storage.clone(), exclusive()).unwrap().0;
    let mut begun = Vec::new();
    for tag in 0..records {
        log.append(&[record(tag, 100_000)], tag, level).unwrap();
        let behind = log.begin().unwrap().place().run.end_offset;
        begun.extend(storage.take_begun().into_iter().map(|it| (it, behind)));
    }
    log.close().unwrap();
    begun
}

#[test]
fn each_whole_stretch_of_a_segment_begins_once_and_nothing_unwritten_does() {
    for level in [Level::Staged, Level::Os] {
        let directory = tempfile::tempdir().unwrap();
        let begun = begun(directory.path(), level, 200);
        let mut before = FIRST;
        for (WriteOut { range, .. }, behind) in &begun {
            assert!([before, FIRST].contains(&range.start), "{range:?} behind {before}");
            assert!(range.end.is_multiple_of(STRETCH) && range.end > range.start, "{range:?}");
            assert!(range.end <= *behind, "{range:?}, where records end at {behind}");
            before = range.end;
        }
        assert!(begun.len() >= 10, "{} of some 19 stretches of 20 MB", begun.len());
    }
}

#[test]
fn a_log_that_goes_on_begins_behind_what_it_found() {
    let directory = tempfile::tempdir().unwrap();
    begun(directory.path(), Level::Os, 25);
    let found = open(directory.path(), exclusive()).begin().unwrap().place();
    let path = segment_path(found.header.first_sequence());
    let begun = begun(directory.path(), Level::Os, 25);
    let (first, _) = begun.iter().find(|(it, _)| it.path == path).unwrap();
    assert_eq!(first.range.start, found.run.end_offset);
}
