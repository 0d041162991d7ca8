//! The next segment, made ahead: rolling takes it, nobody misses it, and nothing of it stays.

use holdpoint_engine::log::{AppendError, Level, Log, Options};
use holdpoint_testing::log::faulty::{Call, Failure, FaultyStorage};
use holdpoint_testing::log::image::Image;
use holdpoint_testing::log::{
    append, append_each, exclusive, open, quiet, record, records_of, survey_whole,
};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

const PREPARED: &str = "segments/00000000000000000000.prepared";

fn prepared(directory: &Path) -> PathBuf {
    directory.join(PREPARED)
}

/// A number that tells one file from every other, whatever its name.
fn identity(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

/// Everything is made ahead that can be.
fn eager() -> Options {
    exclusive().prepare_ahead(0)
}

fn open_faulty(directory: &Path) -> (Log<FaultyStorage>, FaultyStorage) {
    let storage = FaultyStorage::new(directory);
    (Log::open(storage.clone(), exclusive()).unwrap().0, storage)
}

#[test]
fn rolling_takes_the_file_that_was_made_ahead() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), exclusive());
    append(&log, 1, 40_000);
    log.prepare_next().unwrap();
    let made = identity(&prepared(directory.path()));
    assert_eq!(std::fs::metadata(prepared(directory.path())).unwrap().len(), 131_072);
    append(&log, 2, 40_000);
    assert!(!prepared(directory.path()).exists());
    let second = directory.path().join("segments/00000000000000000002.seg");
    assert_eq!(identity(&second), made, "the same file under its own name");
    log.close().unwrap();
    assert_eq!(records_of(directory.path()).len(), 2);
    assert!(survey_whole(directory.path()).findings.is_empty());
}

#[test]
fn half_a_segment_makes_the_keeper_prepare_the_next_and_closing_removes_it() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), eager());
    append(&log, 1, 10_000);
    assert!(!prepared(directory.path()).exists(), "not before it is half full");
    append(&log, 2, 30_000);
    while !prepared(directory.path()).exists() {
        thread::yield_now();
    }
    log.close().unwrap();
    assert!(
        !prepared(directory.path()).exists(),
        "a closed log holds no space that it does not use"
    );
}

#[test]
fn many_rolls_in_a_rush_beside_the_keeper_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), eager());
    thread::scope(|scope| {
        for writer in 0..2 {
            let log = &log;
            scope.spawn(move || append_each(log, writer * 100..writer * 100 + 100, 9_000));
        }
    });
    log.close().unwrap();
    assert!(!prepared(directory.path()).exists());
    let survey = survey_whole(directory.path());
    assert!(survey.segments.len() > 3 && survey.findings.is_empty(), "{:?}", survey.findings);
    assert_eq!(records_of(directory.path()).len(), 200);
}

#[test]
fn a_batch_too_large_for_the_file_made_ahead_gets_one_of_its_own_size() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), exclusive());
    append(&log, 1, 40_000);
    log.prepare_next().unwrap();
    append(&log, 2, 400_000);
    assert!(!prepared(directory.path()).exists(), "it is of no use any more");
    log.close().unwrap();
    assert_eq!(records_of(directory.path()).len(), 2);
}

#[test]
fn whoever_deletes_the_file_made_ahead_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), exclusive());
    append(&log, 1, 40_000);
    log.prepare_next().unwrap();
    std::fs::remove_file(prepared(directory.path())).unwrap();
    append(&log, 2, 40_000);
    log.close().unwrap();
    assert_eq!(records_of(directory.path()).len(), 2);
}

#[test]
fn crash_what_a_killed_owner_made_ahead_is_removed_by_whoever_opens_next() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), exclusive());
    append(&log, 1, 40_000);
    log.prepare_next().unwrap();
    let killed = Image::of(directory.path());
    log.close().unwrap();
    let again = tempfile::tempdir().unwrap();
    killed.restore(again.path());
    assert!(prepared(again.path()).exists());
    let log = open(again.path(), exclusive());
    assert!(!prepared(again.path()).exists());
    assert_eq!(append(&log, 2, 40_000), 2);
    log.close().unwrap();
}

#[test]
fn owners_who_give_the_lock_back_between_turns_make_nothing_ahead() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), quiet().prepare_ahead(0));
    append(&log, 1, 40_000);
    log.prepare_next().unwrap();
    assert!(!prepared(directory.path()).exists());
    log.close().unwrap();
}

#[test]
fn a_disk_without_space_ahead_is_an_error_only_when_the_segment_is_needed() {
    let directory = tempfile::tempdir().unwrap();
    let (log, storage) = open_faulty(directory.path());
    append(&log, 1, 40_000);
    let kind = ErrorKind::StorageFull;
    let on = ".prepared";
    let call = Call::Create;
    storage.fail(Some(Failure { call, number: 1, takes_effect: false, kind, on, lasts: true }));
    log.prepare_next().unwrap();
    assert_eq!(storage.hits(), 1);
    assert_eq!(append(&log, 2, 1_000), 2, "there is room for it");
    let refused = log.append(&[record(3, 40_000)], 3, Level::Always);
    assert!(matches!(refused, Err(AppendError::NoSpace { needed: 131_072, .. })), "{refused:?}");
    storage.fail(None);
    assert_eq!(append(&log, 3, 40_000), 3);
    log.close().unwrap();
}

#[test]
fn a_failed_sync_of_the_file_made_ahead_fails_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let (log, storage) = open_faulty(directory.path());
    append(&log, 1, 40_000);
    let (call, kind) = (Call::Sync, ErrorKind::Other);
    let on = ".prepared";
    storage.fail(Some(Failure { call, number: 1, takes_effect: false, kind, on, lasts: false }));
    log.prepare_next().unwrap();
    assert_eq!(storage.hits(), 1);
    assert!(!prepared(directory.path()).exists(), "a file of which nothing is known is not used");
    assert_eq!(append(&log, 2, 40_000), 2);
    assert_eq!(log.poison(), None);
    log.close().unwrap();
}

#[test]
fn a_durable_append_is_one_write_and_one_sync_and_changes_no_name() {
    let directory = tempfile::tempdir().unwrap();
    let (log, storage) = open_faulty(directory.path());
    append(&log, 1, 256);
    for tag in 2..100 {
        drop(storage.take_made());
        append(&log, tag, 256);
        assert_eq!(storage.take_made(), [(Call::Write, 320), (Call::Sync, 0)]);
    }
    let batch: Vec<_> = (0..64).map(|tag| record(tag, 256)).collect();
    drop(storage.take_made());
    log.append(&batch, 1, Level::Always).unwrap();
    assert_eq!(storage.take_made(), [(Call::Write, 64 * 320), (Call::Sync, 0)]);
    log.close().unwrap();
}
