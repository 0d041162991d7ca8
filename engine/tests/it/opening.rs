//! Opening says why it fails, and leaves what it refuses as it was.

use holdpoint_engine::Engine;
use holdpoint_engine::log::{Level, Log, NewRecord, OpenError, Options, Ownership};
use holdpoint_engine::shell::{EngineError, EngineOptions, SubmitError};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_testing::hand_made::make_newer;
use holdpoint_testing::shell::Place;
use std::fs;
use std::path::Path;
use std::time::Duration;

fn refused(directory: &Path) -> OpenError {
    match Engine::open(directory) {
        Err(EngineError::Open(error)) => error,
        other => panic!("{:?}", other.err()),
    }
}

/// A log of one record or more, closed.
fn closed(place: &Place) {
    place.engine().close().expect("it closes");
}

#[test]
fn what_is_no_directory_of_a_log_is_named() {
    let place = Place::new();
    let file = place.beside("file");
    fs::write(&file, "a file").unwrap();
    assert!(matches!(refused(&file), OpenError::NotADirectory { path } if path == file));

    closed(&place);
    let link = place.beside("link");
    std::os::unix::fs::symlink(place.log(), &link).unwrap();
    assert!(matches!(refused(&link), OpenError::SymbolicLink { path } if path == link));

    let foreign = place.beside("foreign");
    fs::create_dir(&foreign).unwrap();
    fs::write(foreign.join("notes.txt"), "somebody's").unwrap();
    assert!(matches!(refused(&foreign), OpenError::Foreign { path } if path == foreign));
    assert_eq!(fs::read_dir(&foreign).unwrap().count(), 1);

    let nowhere = place.beside("file").join("log");
    assert!(matches!(refused(&nowhere), OpenError::Io { .. }));
}

#[test]
fn a_log_that_is_not_to_be_made_is_not_there() {
    let place = Place::new();
    let options = EngineOptions::default().log(Options::default().create(false));
    let opened = Engine::open_with(place.storage(), options);
    let Err(EngineError::Open(error)) = opened else { panic!("it opened") };
    assert!(matches!(error, OpenError::NothingHere { .. }), "{error}");
    assert!(!place.log().exists());
}

#[test]
fn a_log_that_another_holds_is_locked_and_says_by_whom() {
    let place = Place::new();
    let options = Options::default().ownership(Ownership::Exclusive);
    let (_held, _) = Log::open(place.storage(), options).unwrap();
    let at_once = Options::default().lock_wait(Duration::ZERO);
    let opened = Engine::open_with(place.storage(), EngineOptions::default().log(at_once));
    let Err(EngineError::Open(OpenError::Locked { pid, .. })) = opened else { panic!("it opened") };
    assert_eq!(pid, std::process::id());
}

#[test]
fn a_log_that_is_damaged_or_without_its_witness_is_refused_untouched() {
    for damage in [without_head as fn(&Path), flipped] {
        let place = Place::new();
        closed(&place);
        damage(&place.log());
        let before = place.bytes();
        let error = refused(&place.log());
        assert!(matches!(error, OpenError::Refused { .. }), "{error}");
        assert_eq!(place.bytes(), before);
    }
}

fn without_head(log: &Path) {
    fs::remove_file(log.join("HEAD")).unwrap();
}

/// A bit of the first record's payload.
fn flipped(log: &Path) {
    let segment = log.join("segments/00000000000000000001.seg");
    let mut bytes = fs::read(&segment).unwrap();
    bytes[4_096 + 70] ^= 1;
    fs::write(&segment, bytes).unwrap();
}

#[test]
fn a_log_of_a_newer_format_is_not_read() {
    let place = Place::new();
    closed(&place);
    make_newer(&place.log().join("HEAD"));
    let error = refused(&place.log());
    assert!(matches!(error, OpenError::Survey { .. }), "{error}");
}

#[test]
fn a_record_that_cannot_be_read_leaves_the_state_unknown_and_is_named() {
    let place = Place::new();
    closed(&place);
    let (log, _) = Log::open(DirectoryStorage::new(place.log()), Options::default()).unwrap();
    let unreadable = NewRecord { kind: 224, version: 1, payload: vec![0xff; 8] };
    let appended = log.append_any_kind(&[unreadable], 1, Level::Always).unwrap();
    log.close().unwrap();
    match Engine::open(place.log()) {
        Err(EngineError::Submit(SubmitError::Undecodable { sequence, .. })) => {
            assert_eq!(sequence, appended.last_sequence);
        }
        other => panic!("{:?}", other.err()),
    }
}
