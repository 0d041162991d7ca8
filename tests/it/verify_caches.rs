//! `verify --caches` says what everything that is derived from a log is worth, and a wrong cache
//! changes neither the verdict on the log nor the exit code.

use crate::program::{Place, json, status, text};
use holdpoint_domain::world::{TERMS_VERSION, row_of_record, terms_of_record};
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{EngineOptions, FingerprintDistance};
use holdpoint_log_files::{DirectoryStorage, Entry, ReadStorage};
use holdpoint_log_format::limits::SNAPSHOT_HEADER_LENGTH;
use holdpoint_log_format::names;
use holdpoint_log_index::file::{build_index, index_path};
use holdpoint_replay::{CacheState, check_caches};
use serde_json::Value;
use std::fs;
use std::io;
use std::path::PathBuf;

/// A log of several segments.
fn place() -> Place {
    let place = Place::new();
    for _ in 0..4 {
        assert_eq!(status(&place.shell("head -c 50000 /dev/zero")), 0);
    }
    assert!(segments(&place).len() >= 2);
    place
}

/// First sequences of the segments.
fn segments(place: &Place) -> Vec<u64> {
    let entries = fs::read_dir(place.log.join(names::SEGMENTS)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<u64> = names.filter_map(|name| names::parse_segment(&name)).collect();
    found.sort_unstable();
    found
}

fn index(place: &Place, first: u64) -> PathBuf {
    place.log.join(index_path(first))
}

/// Puts the right index beside every sealed segment.
fn write_indexes(place: &Place) {
    let storage = DirectoryStorage::new(&place.log);
    let segments = segments(place);
    for first in &segments[..segments.len() - 1] {
        let built = build_index(&storage, *first, TERMS_VERSION, &mut |record, terms| {
            terms.add_record(record, terms_of_record, row_of_record);
        })
        .unwrap();
        fs::write(index(place, *first), built.bytes).unwrap();
    }
}

fn verified(place: &Place) -> (i32, Value) {
    let output = place.holdpoint(&["verify", "--caches", "--json"]);
    (status(&output), json(&output))
}

fn states(report: &Value) -> Vec<String> {
    let indexes = report["caches"]["indexes"].as_array().unwrap();
    indexes.iter().map(|index| index["state"].as_str().unwrap().to_string()).collect()
}

fn flip(file: &PathBuf, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 1;
    fs::write(file, bytes).unwrap();
}

#[test]
fn what_the_program_leaves_beside_a_log_is_right_or_missing() {
    let place = place();
    let (exit, report) = verified(&place);
    assert_eq!((exit, &report["verdict"]), (0, &"intact".into()), "{report:#}");
    let states = states(&report);
    assert_eq!(states.len(), segments(&place).len() - 1);
    assert!(states.iter().all(|state| state == "right" || state == "missing"), "{report:#}");
    assert!(place.verified().get("caches").is_none(), "nobody asked");
}

#[test]
fn every_cache_is_told_and_none_changes_the_verdict() {
    let place = place();
    write_indexes(&place);
    let right = verified(&place);
    assert!(right.0 == 0 && states(&right.1).iter().all(|state| state == "right"));
    flip(&index(&place, 1), 4_100);
    let (exit, report) = verified(&place);
    assert_eq!((exit, &report["verdict"]), (0, &"intact".into()));
    assert_eq!(states(&report)[0], "damaged");
    assert!(report["caches"]["indexes"][0]["reason"].as_str().unwrap().contains("digest"));
    let shown = place.holdpoint(&["verify", "--caches"]);
    let lines = text(&shown.stdout);
    assert_eq!(status(&shown), 0);
    assert!(lines.contains(&format!("1. {}: damaged", index_path(1))), "{lines}");
    assert!(
        lines.contains(
            "what to do      nothing: verbs that write, such as `run`, build indexes again"
        ),
        "{lines}"
    );
    fs::remove_file(index(&place, 1)).unwrap();
    let (exit, report) = verified(&place);
    assert_eq!((exit, states(&report)[0].as_str()), (0, "missing"));
    let lines = text(&place.holdpoint(&["verify", "--caches"]).stdout);
    assert!(lines.contains("1 missing") && !lines.contains("what to do"), "{lines}");
}

#[test]
fn tamper_the_cache_of_a_damaged_segment_is_not_checked_and_the_log_is_corrupt() {
    let place = place();
    write_indexes(&place);
    flip(&place.log.join(names::SEGMENTS).join(names::segment(1)), 4_200);
    let (exit, report) = verified(&place);
    assert_eq!((exit, &report["verdict"]), (6, &"corrupt".into()));
    assert_eq!(states(&report)[0], "not_checked");
}

#[test]
fn what_lies_in_place_of_a_cache_is_told_whatever_it_is() {
    let place = place();
    write_indexes(&place);
    let (at, elsewhere) = (place.log.join(names::SNAPSHOTS), place.directory.path().join("else"));
    fs::create_dir_all(&elsewhere).unwrap();
    fs::remove_dir_all(&at).ok();
    for is_link in [false, true] {
        match is_link {
            true => std::os::unix::fs::symlink(&elsewhere, &at).unwrap(),
            false => fs::write(&at, b"not a directory").unwrap(),
        }
        let (exit, report) = verified(&place);
        assert_eq!((exit, &report["verdict"]), (0, &"intact".into()));
        let snapshot = &report["caches"]["snapshots"][0];
        assert_eq!(
            (&snapshot["file"], &snapshot["state"]),
            (&"snapshots".into(), &"damaged".into())
        );
        let lines = text(&place.holdpoint(&["verify", "--caches"]).stdout);
        assert!(lines.contains("in place of a directory"), "{lines}");
        fs::remove_file(&at).unwrap();
    }
    let right = index(&place, 1);
    fs::remove_file(&right).unwrap();
    fs::create_dir(&right).unwrap();
    assert_eq!(states(&verified(&place).1)[0], "damaged");
    fs::remove_dir(&right).unwrap();
    std::os::unix::fs::symlink(elsewhere.join("nothing"), &right).unwrap();
    assert_eq!(states(&verified(&place).1)[0], "damaged");
}

#[test]
fn caches_are_asked_for_where_there_is_a_log_and_of_one_log() {
    let place = Place::new();
    let (exit, report) = verified(&place);
    assert_eq!((exit, states(&report)), (3, vec![]));
    let both = place.holdpoint(&["verify", "--caches", "--archive", "elsewhere"]);
    assert_eq!(status(&both), 2);
}

#[test]
fn tamper_every_byte_of_a_snapshot_counts() {
    let place = place();
    let fingerprints =
        FingerprintDistance { records: u64::MAX, bytes: u64::MAX, records_at_close: 1 };
    let options = EngineOptions::simulated().fingerprints(fingerprints);
    let storage = DirectoryStorage::new(&place.log);
    let engine = Engine::open_with(storage.clone(), options).unwrap();
    engine.query(|_| ()).unwrap();
    engine.close().unwrap();
    let found = || check_caches(&storage, &mut |_| {}).unwrap().snapshots;
    let [snapshot] = found().try_into().unwrap();
    assert_eq!(snapshot.state, CacheState::Right, "{snapshot:?}");
    let file = place.log.join(&snapshot.file);
    let length = fs::read(&file).unwrap().len();
    for at in (0..SNAPSHOT_HEADER_LENGTH).chain((SNAPSHOT_HEADER_LENGTH..length).step_by(97)) {
        flip(&file, at);
        assert_ne!(found()[0].state, CacheState::Right, "byte {at}");
        flip(&file, at);
    }
}

#[test]
fn a_directory_of_snapshots_that_may_not_be_read_is_told() {
    struct Unlisted(DirectoryStorage);
    impl ReadStorage for Unlisted {
        type File = <DirectoryStorage as ReadStorage>::File;

        fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
            match directory {
                names::SNAPSHOTS => Err(io::ErrorKind::PermissionDenied.into()),
                other => self.0.list(other),
            }
        }

        fn open(&self, path: &str) -> io::Result<Option<Self::File>> {
            self.0.open(path)
        }
    }
    let place = place();
    fs::create_dir_all(place.log.join(names::SNAPSHOTS)).unwrap();
    let storage = Unlisted(DirectoryStorage::new(&place.log));
    let [told] = check_caches(&storage, &mut |_| {}).unwrap().snapshots.try_into().unwrap();
    assert_eq!((told.file.as_str(), told.state), (names::SNAPSHOTS, CacheState::Unreadable));
}
