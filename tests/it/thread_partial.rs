//! What is said of a thread whose log is not whole: which records are not here, and where to look.

use crate::filler::fill;
use crate::program::{Place, json, status, text};
use crate::thread_support::{accepted, chat, interrupted, turn};
use std::process::Output;

/// A log that begins behind an archive, in which one more turn of a thread was taken.
fn archived() -> (Place, u64) {
    let place = Place::new();
    interrupted(&place, "acme", "talk", "It is sunny today.");
    fill(&place.log, 40);
    let moved = place.holdpoint(&["archive", "archive", "--json"]);
    let anchor = json(&moved)["anchor_sequence"].as_u64().unwrap();
    accepted(&place, &[turn("acme", "talk", 3, chat("Hello."))]);
    (place, anchor)
}

/// The line of a person's output that says what is not here, or nothing; and nothing else is said.
fn not_here(output: &Output) -> String {
    assert_eq!((status(output), text(&output.stderr).as_str()), (0, ""));
    line_not_here(output)
}

fn line_not_here(output: &Output) -> String {
    let all = text(&output.stdout);
    let line = all.lines().find(|line| line.starts_with("not here: ")).unwrap_or_default();
    line.to_string()
}

#[test]
fn behind_an_archive_that_is_gone_a_thread_says_what_is_there() {
    let (place, anchor) = archived();
    for form in [&["--story"][..], &["--rows"]] {
        assert_eq!(not_here(&place.holdpoint(&[&["thread", "show", "talk"], form].concat())), "");
    }
    let archive = place.directory.path().join("archive");
    std::fs::rename(&archive, place.directory.path().join("elsewhere")).unwrap();
    let missing = format!(
        "records 1 to {anchor} are in the archive {}, which was not read (there is no archive \
         there): the thread began there, with record 7; name its directory with --archive DIR",
        archive.display()
    );
    for form in [&["--story"][..], &["--rows"]] {
        let output = place.holdpoint(&[&["thread", "show", "talk"], form].concat());
        assert_eq!(not_here(&output), format!("not here: {missing}"));
        assert!(text(&output.stdout).contains("turn-3"));
        let output = place.holdpoint(&[&["thread", "show", "talk", "--json"], form].concat());
        assert!(json(&output).is_array());
        assert_eq!(text(&output.stderr), format!("holdpoint: {missing}\n"));
    }
}

#[test]
fn behind_an_archive_the_list_says_what_it_cannot_list() {
    let (place, anchor) = archived();
    let output = place.holdpoint(&["thread", "list"]);
    let archive = place.directory.path().join("archive");
    let missing = format!(
        "records 1 to {anchor} are in the archive {} (`--log` shows it): threads that ended there \
         may not be listed",
        archive.display()
    );
    assert_eq!(line_not_here(&output), format!("not here: {missing}"));
    let said = text(&output.stderr);
    let carried = format!(": what is before record {} was not read; ", anchor + 1);
    assert!(said.contains(&carried) && said.lines().count() == 1, "{said}");
    assert!(text(&output.stdout).contains("talk"));
    let output = place.holdpoint(&["thread", "list", "--json"]);
    assert_eq!(json(&output).as_array().map(Vec::len), Some(1));
    assert_eq!(text(&output.stderr), format!("holdpoint: {missing}\n"));
}

#[test]
fn an_archive_says_where_the_newer_records_are() {
    let (place, anchor) = archived();
    for form in [&["--story"][..], &["--rows"]] {
        let output =
            place.holdpoint(&[&["thread", "show", "talk", "--log", "archive"], form].concat());
        let missing = format!(
            "not here: records behind {anchor} are in the log that this archive was moved from: \
             they may tell of the thread"
        );
        assert_eq!(not_here(&output), missing);
    }
}

#[test]
fn health_says_from_which_record_on_it_counts() {
    let (place, anchor) = archived();
    assert!(
        !text(&place.holdpoint(&["thread", "list", "--health"]).stdout).contains("counted from")
    );
    let archive = place.directory.path().join("archive");
    let output = place.holdpoint(&["thread", "list", "--health", "--archive=none"]);
    let not_counted = format!(
        "records 1 to {anchor} are in an archive, which was not read: they are not counted; \
         leave --archive none away, and it is read"
    );
    let line = format!("counted from record {} on; {not_counted}", anchor + 1);
    assert_eq!(text(&output.stdout).lines().last(), Some(line.as_str()));
    std::fs::remove_dir_all(archive).unwrap();
    let report =
        json(&place.holdpoint(&["thread", "list", "--health", "--archive=none", "--json"]));
    assert_eq!(report["counted_from_record"], anchor + 1);
    assert_eq!(report["not_counted"], not_counted);
    assert!(report["rows"].is_array() && report["refusals"].is_object(), "{report:#}");
}

#[test]
fn a_whole_log_lacks_nothing() {
    let place = Place::new();
    interrupted(&place, "acme", "talk", "It is sunny today.");
    for form in [&["--story"][..], &["--rows"]] {
        assert_eq!(not_here(&place.holdpoint(&[&["thread", "show", "talk"], form].concat())), "");
    }
    let report = json(&place.holdpoint(&["thread", "list", "--health", "--json"]));
    assert_eq!(report["counted_from_record"], 1);
    assert!(report.get("not_counted").is_none(), "{report:#}");
    assert!(
        !text(&place.holdpoint(&["thread", "list", "--health"]).stdout).contains("counted from")
    );
}

#[test]
fn a_salvaged_log_says_where_records_were_lost() {
    let place = Place::new();
    interrupted(&place, "acme", "talk", "It is sunny today.");
    accepted(&place, &[turn("acme", "talk", 3, chat("Hello."))]);
    damage(&place, 7);
    let salvaged = place.holdpoint(&["copy", "--salvage", "log", "new"]);
    assert_eq!(status(&salvaged), 0, "{}", text(&salvaged.stderr));
    let whole = place.holdpoint(&["log", "kind=log.records_lost", "--log", "new"]);
    let first: u64 = text(&whole.stdout).split_whitespace().next().unwrap().parse().unwrap();
    let lost = format!("record {first} tells of records that were lost when this log was salvaged");
    for form in [&["--story"][..], &["--rows"]] {
        let output = place.holdpoint(&[&["thread", "show", "talk", "--log", "new"], form].concat());
        let (told, said) = (text(&output.stdout), text(&output.stderr));
        assert!(told.lines().any(|line| line.starts_with(&format!("not here: {lost}"))), "{told}");
        // What stood before the damage is tied to nothing.
        assert!(status(&output) == 0 && said.contains("records 2 to 7 are unproven"), "{said}");
    }
    let report = json(&place.holdpoint(&["thread", "list", "--health", "--json", "--log", "new"]));
    assert!(report["not_counted"].as_str().unwrap().starts_with(&lost), "{report:#}");
}

/// Flips a byte of the payload of the record with this sequence.
fn damage(place: &Place, sequence: u64) {
    let path = place.log.join("segments/00000000000000000001.seg");
    let mut bytes = std::fs::read(&path).unwrap();
    let mut at = 4_096;
    for _ in 1..sequence {
        let size = u32::from_le_bytes(*bytes[at..].first_chunk().unwrap()) as usize;
        at += size.next_multiple_of(8);
    }
    bytes[at + 70] ^= 1;
    std::fs::write(path, bytes).unwrap();
}
