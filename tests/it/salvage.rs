//! `holdpoint copy --salvage`, as a person meets it: what it says, how it ends, and that what it
//! makes is a log like any other.

use crate::program;
use crate::program::{Place, contents, json, status, text};
use holdpoint_engine::log::{Log, Options, Ownership};
use holdpoint_log_files::DirectoryStorage;
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Output;

const FIRST_SEGMENT: &str = "segments/00000000000000000001.seg";

/// A log of three governed commands.
fn place() -> Place {
    let place = Place::new();
    for number in 1..=3 {
        assert_eq!(status(&place.shell(&format!("echo command {number}"))), 0);
    }
    place
}

fn beside(place: &Place, name: &str) -> PathBuf {
    place.directory.path().join(name)
}

fn salvage(place: &Place, arguments: &[&str]) -> Output {
    place.holdpoint(&[&["copy", "--salvage"], arguments].concat())
}

/// The same program on the new log.
fn on_new(place: &Place, arguments: &[&str]) -> Output {
    place.holdpoint(&[arguments, &["--log", "new"]].concat())
}

/// Flips a byte of the record with this sequence.
fn damage(place: &Place, sequence: u64) {
    let path = place.log.join(FIRST_SEGMENT);
    let mut bytes = std::fs::read(&path).unwrap();
    let mut at = 4_096;
    for _ in 1..sequence {
        let size = u32::from_le_bytes(*bytes[at..].first_chunk().unwrap()) as usize;
        at += size.next_multiple_of(8);
    }
    bytes[at + 70] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

/// A loop without what the place of its records decides.
fn without_sequences(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|name, _| !name.contains("sequence") && !name.contains("version"));
            fields.values_mut().for_each(|field| *field = without_sequences(field.take()));
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| *item = without_sequences(item.take()));
        }
        _ => {}
    }
    value
}

#[test]
fn an_intact_log_gives_the_same_state_in_a_log_that_verifies() {
    let place = place();
    let before = contents(&place.log);
    let output = salvage(&place, &["log", "new", "--json"]);
    assert_eq!(status(&output), 0);
    let report = json(&output);
    let records = place.verified()["records"].as_u64().unwrap();
    assert_eq!(report["salvaged"]["records_kept"], records);
    assert_eq!(report["losses"], Value::Array(Vec::new()));
    assert!(contents(&place.log) == before, "the old log was touched");
    let verified = on_new(&place, &["verify", "--json"]);
    assert_eq!((status(&verified), &json(&verified)["verdict"]), (0, &"intact".into()));
    assert_eq!(json(&verified)["axes"]["meaning"]["state"], "proven");
    let state = |output: &Output| -> Vec<Value> {
        program::loops(output).into_iter().map(without_sequences).collect()
    };
    let old = state(&place.holdpoint(&["replay", "--json"]));
    assert_eq!(old.len(), 3);
    assert_eq!(old, state(&on_new(&place, &["replay", "--json"])));
    assert_eq!(status(&on_new(&place, &["run", "--hold", "never", "--", "true"])), 0);
}

#[test]
fn what_a_log_holds_beside_its_records_is_no_finding_and_what_it_does_not_hold_is() {
    let place = place();
    for name in ["00000000000000000001.idx", "00000000000000000001.idx.tmp"] {
        std::fs::write(place.log.join("segments").join(name), "derived").unwrap();
    }
    let report = json(&salvage(&place, &["log", "new", "--json"]));
    assert_eq!(report["salvaged"]["findings"], Value::Array(Vec::new()), "{report:#}");
    std::fs::write(place.log.join("segments/1.idx"), "foreign").unwrap();
    let told = text(&salvage(&place, &["log", "newer"]).stdout);
    assert!(told.contains("segments/1.idx: it has no segment's name"), "{told}");
}

#[test]
fn a_loss_is_said_and_copied_and_what_lacks_it_is_no_finding() {
    let place = place();
    damage(&place, 6);
    assert_eq!(status(&place.holdpoint(&["verify"])), 6);
    let output = salvage(&place, &["log", "new"]);
    let told = text(&output.stdout);
    assert_eq!((status(&output), text(&output.stderr)), (0, String::new()));
    for part in ["1 record known to be missing", "record 6", "cut/", "holdpoint --log "] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let verified = on_new(&place, &["verify", "--json"]);
    let report = json(&verified);
    let verdict = "intact, with unproven records";
    assert_eq!((status(&verified), &report["verdict"]), (0, &verdict.into()), "{report:#}");
    let meaning = &report["axes"]["meaning"];
    assert_eq!(meaning["state"], "not checked");
    assert!(meaning["reason"].as_str().unwrap().contains("is unproven"), "{meaning}");
    let notes = report["notes"].as_array().unwrap().iter();
    let events: BTreeSet<u64> = notes.map(|note| note["sequence"].as_u64().unwrap()).collect();
    let counted = format!("; {} event", events.len());
    assert!(!events.is_empty() && meaning["reason"].as_str().unwrap().contains(&counted));
    let shown = text(&on_new(&place, &["log"]).stdout);
    assert!(shown.contains("log.salvaged") && shown.contains("log.records_lost"), "{shown}");
    // And what was salvaged can be salvaged.
    assert_eq!(status(&salvage(&place, &["new", "newer"])), 0);
    let again = place.holdpoint(&["verify", "--log", "newer"]);
    assert_eq!(status(&again), 0, "{}", text(&again.stdout));
}

#[test]
fn a_damaged_witness_alone_weakens_nothing() {
    let place = place();
    std::fs::remove_file(place.log.join("HEAD")).unwrap();
    let output = salvage(&place, &["log", "new"]);
    assert!(text(&output.stdout).contains("HEAD is missing"), "{}", text(&output.stdout));
    let report = json(&on_new(&place, &["verify", "--json"]));
    assert_eq!(report["axes"]["meaning"]["state"], "proven", "{report:#}");
}

#[test]
fn what_stands_in_the_place_of_the_cut_bytes_keeps_no_record_from_being_salvaged() {
    let place = place();
    let records = place.verified()["records"].clone();
    let cut = place.log.join("cut");
    std::fs::write(&cut, "mine").unwrap();
    assert_eq!(status(&place.holdpoint(&["verify"])), 6);
    let report = json(&salvage(&place, &["log", "of-file", "--json"]));
    assert_eq!(report["salvaged"]["records_kept"], records);
    std::fs::remove_file(&cut).unwrap();
    symlink(beside(&place, "of-file"), &cut).unwrap();
    let report = json(&salvage(&place, &["log", "of-link", "--json"]));
    assert_eq!(report["salvaged"]["records_kept"], records);
}

#[test]
fn a_place_that_is_taken_or_inside_the_old_log_is_refused() {
    let place = place();
    std::fs::create_dir(beside(&place, "full")).unwrap();
    std::fs::write(beside(&place, "full/file"), "mine").unwrap();
    std::fs::write(beside(&place, "file"), "mine").unwrap();
    symlink(&place.log, beside(&place, "link")).unwrap();
    symlink(beside(&place, "nowhere"), beside(&place, "dangling")).unwrap();
    let before = contents(&place.log);
    let refused = [
        ("full", 5, "target_not_empty"),
        ("file", 5, "target_not_empty"),
        ("dangling", 5, "target_not_empty"),
        ("log", 2, "target_inside"),
        ("log/new", 2, "target_inside"),
        ("log/../log/deep/new", 2, "target_inside"),
        ("link", 2, "target_inside"),
        ("link/new", 2, "target_inside"),
    ];
    for (target, exit, code) in refused {
        let output = salvage(&place, &["log", target, "--json"]);
        assert_eq!(
            (status(&output), &json(&output)["error"]["code"]),
            (exit, &code.into()),
            "{target}"
        );
    }
    assert!(contents(&place.log) == before);
    assert_eq!(contents(&beside(&place, "full")).len(), 1);
}

#[test]
fn an_empty_directory_is_taken_and_an_unfinished_salvage_is_named() {
    let place = place();
    std::fs::create_dir(beside(&place, "new")).unwrap();
    std::fs::create_dir(beside(&place, "new.salvaging")).unwrap();
    let output = salvage(&place, &["log", "new", "--json"]);
    assert_eq!(
        (status(&output), &json(&output)["error"]["code"]),
        (5, &"target_unfinished".into())
    );
    assert!(text(&output.stderr).contains("new.salvaging"));
    std::fs::remove_dir(beside(&place, "new.salvaging")).unwrap();
    assert_eq!(status(&salvage(&place, &["log", "new"])), 0);
    assert_eq!(status(&on_new(&place, &["verify"])), 0);
    assert!(!beside(&place, "new.salvaging").exists());
}

#[test]
fn where_there_is_nothing_the_exit_is_3() {
    let place = Place::new();
    for (old, make) in [("none", false), ("empty", true)] {
        if make {
            std::fs::create_dir(beside(&place, old)).unwrap();
        }
        let output = salvage(&place, &[old, "new", "--json"]);
        assert_eq!((status(&output), &json(&output)["error"]["code"]), (3, &"nothing_here".into()));
    }
    std::fs::create_dir_all(beside(&place, "noise/segments")).unwrap();
    std::fs::write(beside(&place, "noise").join(FIRST_SEGMENT), [9; 9_999]).unwrap();
    let output = salvage(&place, &["noise", "new", "--json"]);
    assert_eq!((status(&output), &json(&output)["error"]["code"]), (3, &"nothing_kept".into()));
    assert!(!beside(&place, "new").exists());
}

#[test]
fn a_log_that_may_only_be_read_is_salvaged_and_a_living_writer_is_named() {
    let place = place();
    let storage = DirectoryStorage::new(&place.log);
    let options = Options::default().ownership(Ownership::Exclusive);
    let (writer, _) = Log::open(storage, options).unwrap();
    for (path, mode) in [("segments", 0o500), ("", 0o500)] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.log.join(path), permissions).unwrap();
    }
    let before = contents(&place.log);
    let output = salvage(&place, &["log", "new"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    assert!(contents(&place.log) == before);
    if cfg!(target_os = "linux") {
        let said = text(&output.stderr);
        assert!(said.contains(&format!("process {} is writing", std::process::id())), "{said}");
    }
    for path in ["", "segments"] {
        let permissions = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(place.log.join(path), permissions).unwrap();
    }
    drop(writer);
}
