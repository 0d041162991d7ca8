//! Records that were written since HEAD was, some of which are damaged: `copy --salvage` keeps the
//! whole ones without proof, the map names the damaged ones, and both count as `verify` does.

use crate::program::json;
use crate::records_support::{holdpoint, saying, told};
use crate::salvage_forged::{facts_of, taken_over, unproven_of, verified};
use holdpoint_forger::Log;
use holdpoint_testing::hand_made::HandMadeLog;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;

/// A log of which HEAD names no record of the last three batches, and the record that it names.
fn newer_than_head(directory: &Path) -> u64 {
    let mut log = HandMadeLog::new();
    log.run();
    let head = log.head();
    for batch in 0..3 {
        log.events((0..3).map(|word| saying(&format!("word {word} of {batch}"))).collect());
    }
    log.write_with_head(directory, &head);
    head.newest_sequence
}

/// Asserts that a salvage keeps all records but these, and that it and the map name no other ones.
fn assert_lost(directory: &Path, genuine: &Log, damaged: &[u64], what: &str) {
    let (old, new) = (directory.join("old"), directory.join("new"));
    let mapped = json(&holdpoint(&old, &["verify", "--map", "--json"]));
    let damage = &mapped["damage"];
    let blamed: BTreeSet<u64> = damage["regions"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|region| {
            let of = |end: &str| region["records"][end].as_u64().unwrap();
            of("first")..=of("last")
        })
        .collect();
    assert_eq!(blamed, damaged.iter().copied().collect(), "{what}: {damage:#}");
    let words = ["copy", "--salvage", old.to_str().unwrap(), new.to_str().unwrap(), "--json"];
    let (code, stdout, stderr) = told(&holdpoint(directory, &words));
    assert_eq!(code, 0, "{what}: {stdout}{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let lost = [&report["salvaged"]["records_lost"], &damage["salvage"]["records_lost"]];
    assert_eq!(lost, [damaged.len(), damaged.len()], "{what}");
    let unproven = unproven_of(&new);
    let found = taken_over(&Log::read(&new).unwrap());
    let newest = facts_of(genuine).last().unwrap().0;
    let kept: Vec<_> = facts_of(genuine);
    let kept = kept.iter().filter(|(at, _)| !damaged.contains(at)).map(|(_, fact)| fact);
    assert!(kept.eq(found.iter().map(|(_, fact)| fact)), "{what}");
    let since = (newest - 8..=newest).filter(|at| !damaged.contains(at)).count();
    assert_eq!(unproven.len(), since, "{what}");
    let (code, report) = verified(&new);
    let expected = (0, Some("intact, with unproven records"));
    assert_eq!((code, report["verdict"].as_str()), expected, "{what}: {report:#}");
    std::fs::remove_dir_all(new).unwrap();
}

#[test]
fn whole_records_behind_a_flipped_bit_are_kept_where_head_does_not_reach_them() {
    let directory = TempDir::new().unwrap();
    let old = directory.path().join("old");
    let named = newer_than_head(&old);
    let genuine = Log::read(&old).unwrap();
    for sequence in named + 1..named + 9 {
        let at = genuine.records()[sequence as usize - 1];
        let begin = genuine.segment(at.segment).offset_of(at.item);
        let file = old.join(&genuine.segment_paths()[at.segment]);
        let whole = std::fs::read(&file).unwrap();
        // Size, checksum, kind, sequence, link, payload.
        for byte in [0, 5, 8, 16, 40, 90] {
            let mut flipped = whole.clone();
            flipped[begin + byte] ^= 8;
            std::fs::write(&file, flipped).unwrap();
            let what = format!("byte {byte} of record {sequence}");
            assert_lost(directory.path(), &genuine, &[sequence], &what);
        }
        std::fs::write(&file, whole).unwrap();
    }
}

#[test]
fn a_salvage_counts_what_is_missing_as_verify_does() {
    let directory = TempDir::new().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    let named = newer_than_head(&old);
    let mut log = Log::read(&old).unwrap();
    // The last batch claims that the ones before it are durable, and is out of its place.
    for sequence in named + 1..=named + 6 {
        let at = log.records()[sequence as usize - 1];
        *log.record_mut(at).payload.last_mut().unwrap() ^= 1;
    }
    let last = log.records().pop().unwrap();
    log.segment_mut(last.segment).items.swap(last.item - 1, last.item);
    std::fs::remove_dir_all(&old).unwrap();
    log.write(&old).unwrap();
    let (code, report) = verified(&old);
    let findings = report["findings"].to_string();
    let missing = format!("{} to {}", named + 1, named + 6);
    assert!(code == 6 && findings.contains(&missing), "{findings}");
    let words = ["copy", "--salvage", old.to_str().unwrap(), new.to_str().unwrap(), "--json"];
    let report = json(&holdpoint(directory.path(), &words));
    assert_eq!(report["salvaged"]["source_last_sequence"].as_u64(), Some(named + 6), "{report:#}");
}
