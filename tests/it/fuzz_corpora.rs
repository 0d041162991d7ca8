//! The corpora of the fuzz targets, replayed without a fuzzer: what once was interesting keeps its
//! promises.
use holdpoint_fuzz_targets as targets;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Most files that a corpus may hold, and most bytes that one of them may have: they are replayed
/// on every run, and read by people when one of them fails.
const CORPUS_FILES_MAX: usize = 60;
const FILE_BYTES_MAX: u64 = 12_288;

/// What a target does with its bytes.
type Read = fn(&[u8]);

/// Every target.
const TARGETS: [(&str, Read); 13] = [
    ("apply", targets::apply::read),
    ("damage_map", targets::damage_map::read),
    ("directory", targets::directory::read),
    ("export", targets::export::read),
    ("index", targets::index::read),
    ("operations", targets::operations::read),
    ("payload", targets::payload::read),
    ("predicate", targets::predicate::read),
    ("record", targets::record::read),
    ("records", targets::records::read),
    ("segment", targets::segment::read),
    ("sha256_lanes", targets::sha256_lanes::read),
    ("travel", targets::travel::read),
];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The files of a target's corpus; a target without one fails.
fn corpus(target: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(fuzz().join("corpus").join(target));
    assert!(entries.is_ok(), "{target} has no corpus");
    let entries = entries.unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{target} has an empty corpus");
    files
}

/// Replays a corpus, and names the file that fails.
fn replay(target: &str) {
    let (_, read) = TARGETS.into_iter().find(|(name, _)| *name == target).unwrap();
    for file in corpus(target) {
        let bytes = fs::read(&file).unwrap();
        let read = std::panic::catch_unwind(|| read(&bytes));
        assert!(read.is_ok(), "{} breaks a promise of its target", file.display());
    }
}

#[test]
fn every_line_of_the_corpus_is_read_as_standard_json_or_refused_in_its_place() {
    replay("apply");
}

#[test]
fn every_directory_of_the_corpus_has_a_map_of_its_damage_that_is_bounded_and_blames_no_seam() {
    replay("damage_map");
}

#[test]
fn every_directory_of_the_corpus_is_opened_exactly_when_it_verifies() {
    replay("directory");
}

#[test]
fn every_log_of_the_corpus_is_exported_as_far_as_it_is_proven_in_every_form_alike() {
    replay("export");
}

#[test]
fn every_index_of_the_corpus_is_what_was_built_or_is_not_believed() {
    replay("index");
}

#[test]
fn every_life_of_the_corpus_loses_nothing_and_invents_nothing() {
    replay("operations");
}

#[test]
fn every_payload_of_the_corpus_encodes_to_the_bytes_that_it_was_decoded_from() {
    replay("payload");
}

#[test]
fn every_text_of_the_corpus_is_asked_about_a_state_or_refused_in_its_column() {
    replay("predicate");
}

#[test]
fn every_log_of_the_corpus_shows_the_same_records_in_both_directions_and_bounded_stories() {
    replay("records");
}

#[test]
fn every_log_of_the_corpus_has_at_every_place_the_state_that_is_rebuilt_there() {
    replay("travel");
}

#[test]
fn every_record_of_the_corpus_encodes_to_the_bytes_that_it_was_decoded_from() {
    replay("record");
}

#[test]
fn every_segment_of_the_corpus_is_read_up_to_its_first_change() {
    replay("segment");
}

#[test]
fn all_messages_of_the_corpus_have_the_same_digests_however_they_are_hashed() {
    replay("sha256_lanes");
}

#[test]
fn every_target_is_replayed_and_has_a_small_corpus() {
    let targets = fs::read_dir(fuzz().join("fuzz_targets")).unwrap();
    let stem = |path: PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    let built: BTreeSet<String> = targets.map(|entry| stem(entry.unwrap().path())).collect();
    let replayed = TARGETS.map(|(name, _)| name.to_string()).into();
    assert_eq!(built, replayed, "a target that is built is replayed here");
    for target in &built {
        let files = corpus(target);
        assert!(files.len() <= CORPUS_FILES_MAX, "{target}: {} files", files.len());
        for file in files {
            let length = fs::metadata(&file).unwrap().len();
            assert!(length <= FILE_BYTES_MAX, "{}: {length} bytes", file.display());
        }
    }
}
