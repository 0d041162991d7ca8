//! What is derived from a log is compared with what the log gives, and whatever is wrong with it
//! changes no verdict on the log.

use holdpoint_domain::log::ClockStepped;
use holdpoint_domain::world::{REGISTRY, TERMS_VERSION, Term, row_of_record, terms_of_record};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{BootId, LogId, names};
use holdpoint_log_index::file::{build_index, index_path};
use holdpoint_log_index::layout::INDEX_HEADER_LENGTH;
use holdpoint_log_index::{Index, TermHash};
use holdpoint_replay::{CacheState, CachedIndex, ReadOptions, Verdict, check_caches, verify};
use holdpoint_testing::hand_made::{HandMadeLog, flip};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A log of three segments, two of them sealed, in a directory.
fn written(log: LogId) -> (HandMadeLog, TempDir) {
    let mut log = HandMadeLog::of(log);
    log.run();
    log.roll();
    log.run();
    log.roll();
    log.events(vec![ClockStepped { step_ns: 1 }.into()]);
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    (log, directory)
}

/// First sequences of the segments.
fn segments(directory: &Path) -> Vec<u64> {
    let entries = fs::read_dir(directory.join(names::SEGMENTS)).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<u64> = names.filter_map(|name| names::parse_segment(&name)).collect();
    found.sort_unstable();
    found
}

fn index(directory: &Path, first: u64) -> PathBuf {
    directory.join(index_path(first))
}

fn built(directory: &Path, first: u64) -> Vec<u8> {
    let storage = DirectoryStorage::new(directory);
    build_index(&storage, first, TERMS_VERSION, &mut |record, terms| {
        terms.add_record(record, terms_of_record, row_of_record);
    })
    .unwrap()
    .bytes
}

/// Writes the right index of every sealed segment.
fn write_indexes(directory: &Path) {
    let segments = segments(directory);
    for first in &segments[..segments.len() - 1] {
        fs::write(index(directory, *first), built(directory, *first)).unwrap();
    }
}

fn found(directory: &Path) -> Vec<CachedIndex> {
    check_caches(&DirectoryStorage::new(directory), &mut |_| {}).unwrap().indexes
}

fn states(directory: &Path) -> Vec<CacheState> {
    found(directory).into_iter().map(|index| index.state).collect()
}

fn verdict(directory: &Path) -> Verdict {
    let options = ReadOptions::new(BootId([1; 16]), &|| Ok(false));
    verify(&DirectoryStorage::new(directory), options, &mut |_| {}).unwrap().verdict
}

#[test]
fn indexes_of_sealed_segments_are_missing_until_they_are_there_and_then_right() {
    let (_, directory) = written(LogId([7; 16]));
    assert_eq!(states(directory.path()), [CacheState::Missing; 2]);
    write_indexes(directory.path());
    for (found, first) in found(directory.path()).iter().zip(segments(directory.path())) {
        let bytes = built(directory.path(), first);
        let digest = Index::new(&bytes[..]).unwrap().digest().to_string();
        assert_eq!((found.state, found.first_sequence), (CacheState::Right, first));
        assert_eq!((&found.digest, &found.reason), (&Some(digest), &None));
        assert_eq!(found.file, index_path(first));
    }
    assert_eq!(verdict(directory.path()), Verdict::Intact);
}

#[test]
fn a_run_is_found_again_by_its_loop_and_by_every_kind_of_its_events() {
    let (log, directory) = written(LogId([7; 16]));
    let segments = segments(directory.path());
    let bytes = built(directory.path(), segments[0]);
    let index = Index::new(&bytes[..]).unwrap();
    let with = |term: Term<'_>| -> Vec<u64> {
        let found = index.records_with(TermHash::of(&term.canonical())).unwrap();
        found.map(Result::unwrap).collect()
    };
    let of_kinds: usize = REGISTRY.iter().map(|entry| with(Term::Kind(entry.kind)).len()).sum();
    assert_eq!(of_kinds as u64, segments[1] - 1, "every record is of one kind");
    assert!(log.chain.sequence > segments[1]);
    let initialized = REGISTRY.iter().find(|entry| entry.name == "execution_loop.initialized");
    assert_eq!(with(Term::Kind(initialized.unwrap().kind)), [1]);
}

#[test]
fn tamper_every_wrong_index_is_told_by_what_is_wrong_with_it() {
    let (_, directory) = written(LogId([7; 16]));
    let (_, other) = written(LogId([8; 16]));
    let at = |first| index(directory.path(), first);
    let segments = segments(directory.path());
    write_indexes(directory.path());
    let right = fs::read(at(1)).unwrap();
    let state = || found(directory.path()).remove(0);

    fs::write(at(1), built(other.path(), 1)).unwrap();
    assert_eq!(state().state, CacheState::Foreign);
    fs::write(at(1), fs::read(at(segments[1])).unwrap()).unwrap();
    assert_eq!(state().state, CacheState::Stale);
    for length in [0, 100, INDEX_HEADER_LENGTH, right.len() - 1] {
        fs::write(at(1), &right[..length]).unwrap();
        assert_eq!(state().state, CacheState::Damaged, "{length}");
    }
    fs::write(at(1), [&right[..], &[0; 9_000]].concat()).unwrap();
    assert_eq!(state().state, CacheState::Damaged);
    for offset in (0..right.len()).step_by(97) {
        fs::write(at(1), &right).unwrap();
        flip(&at(1), offset as u64);
        assert_eq!(state().state, CacheState::Damaged, "{offset}");
    }
    fs::remove_file(at(1)).unwrap();
    std::os::unix::fs::symlink("/dev/zero", at(1)).unwrap();
    assert_eq!(state().state, CacheState::Damaged);
    assert!(state().reason.unwrap().contains("regular file"));
    assert_eq!(verdict(directory.path()), Verdict::Intact, "a cache is no part of the log");
}

#[test]
fn tamper_a_forged_index_whose_digests_all_hold_is_damaged() {
    let (_, directory) = written(LogId([7; 16]));
    write_indexes(directory.path());
    let storage = DirectoryStorage::new(directory.path());
    let forged = build_index(&storage, 1, TERMS_VERSION, &mut |record, terms| {
        terms.add_record(record, terms_of_record, row_of_record);
        if record.header.sequence == 1 {
            terms.add_key(b"a key that nobody gave");
        }
    });
    let forged = forged.unwrap().bytes;
    Index::new(&forged[..]).unwrap().check().unwrap();
    fs::write(index(directory.path(), 1), forged).unwrap();
    let found = found(directory.path()).remove(0);
    assert_eq!(found.state, CacheState::Damaged);
    assert!(found.reason.unwrap().contains("does not say what the records say"));
}

#[test]
fn an_index_by_other_rules_or_of_no_segment_or_of_one_being_written_is_stale() {
    let (_, directory) = written(LogId([7; 16]));
    write_indexes(directory.path());
    let segments = segments(directory.path());
    let storage = DirectoryStorage::new(directory.path());
    let other_rules = build_index(&storage, 1, TERMS_VERSION + 1, &mut |record, terms| {
        terms.add_record(record, terms_of_record, row_of_record);
    })
    .unwrap()
    .bytes;
    fs::write(index(directory.path(), 1), &other_rules).unwrap();
    for first in [segments[2], segments[2] + 500] {
        fs::write(index(directory.path(), first), &other_rules).unwrap();
    }
    let due = [CacheState::Stale, CacheState::Right, CacheState::Stale, CacheState::Stale];
    assert_eq!(states(directory.path()), due);
    assert!(found(directory.path()).iter().all(|one| one.state.is_wrong() == one.reason.is_some()));
}

#[test]
fn the_index_of_a_damaged_segment_is_not_checked() {
    let (_, directory) = written(LogId([7; 16]));
    write_indexes(directory.path());
    let segment = directory.path().join(names::SEGMENTS).join(names::segment(1));
    flip(&segment, 4_200);
    let found = found(directory.path());
    assert_eq!((found[0].state, found[1].state), (CacheState::NotChecked, CacheState::Right));
    assert_eq!(found[0].digest, None);
    assert_eq!(verdict(directory.path()), Verdict::Corrupt);
}

/// As after a reading that found nothing wrong: the segment was put there since.
#[test]
fn the_index_of_a_segment_that_became_another_logs_is_unreadable() {
    let (_, directory) = written(LogId([7; 16]));
    let (_, other) = written(LogId([8; 16]));
    write_indexes(directory.path());
    let second = segments(directory.path())[1];
    let segment = |of: &Path| of.join(names::SEGMENTS).join(names::segment(second));
    fs::copy(segment(other.path()), segment(directory.path())).unwrap();
    let caches = check_caches(&DirectoryStorage::new(directory.path()), &mut |_| {}).unwrap();
    let states: Vec<CacheState> = caches.indexes.iter().map(|index| index.state).collect();
    assert_eq!(states, [CacheState::Right, CacheState::Unreadable]);
    let (file, why) = caches.unreadable().unwrap();
    assert_eq!(file, index_path(second));
    assert!(why.contains(&LogId([8; 16]).to_string()), "{why}");
}

#[test]
fn a_directory_without_a_log_has_no_caches() {
    let directory = TempDir::new().unwrap();
    assert_eq!(found(directory.path()), []);
    assert_eq!(found(&directory.path().join("missing")), []);
}
