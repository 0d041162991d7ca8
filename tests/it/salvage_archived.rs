//! Salvage of a log whose first records are in an archive: where the event is kept that carries the
//! state at its beginning, the new log begins behind the same record and the state goes on. And
//! what salvage says where nothing of a log is left that could be kept.

use crate::program::{Place, contents, json, status, text};
use crate::records_support::segments;
use holdpoint_log_format::names;
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Output;

/// Prints more than a quarter of the first segment's space.
const LONG_OUTPUT: &str = "head -c 20000 /dev/zero | tr '\\000' x";

/// An open question, and records behind it that fill segments.
fn place() -> (Place, String) {
    let place = Place::new();
    let output = place.holdpoint(&["run", "--hold", "on-failure", "--no-wait", "--", "false"]);
    assert_eq!(status(&output), 122, "{}", text(&output.stderr));
    grow(&place);
    let request =
        open_requests(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"]))
            .pop()
            .unwrap();
    (place, request)
}

fn grow(place: &Place) {
    for _ in 0..8 {
        assert_eq!(status(&place.shell(LONG_OUTPUT)), 0);
    }
}

/// Moves sealed segments and gives the last record moved.
fn archive(place: &Place, to: &str) -> (u64, u64) {
    let output = place.holdpoint(&["archive", to, "--json"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let moved = json(&output);
    (moved["anchor_sequence"].as_u64().unwrap(), moved["stated_by"].as_u64().unwrap())
}

fn beside(place: &Place, name: &str) -> PathBuf {
    place.directory.path().join(name)
}

fn salvage(place: &Place, arguments: &[&str]) -> Output {
    place.holdpoint(&[&["copy", "--salvage"], arguments].concat())
}

fn on(place: &Place, log: &str, arguments: &[&str]) -> Output {
    place.holdpoint(&[arguments, &["--log", log]].concat())
}

fn open_requests(listed: &Output) -> Vec<String> {
    let id = |request: &Value| request["id"].as_str().unwrap().to_string();
    json(listed).as_array().unwrap().iter().map(id).collect()
}

fn losses(report: &Value) -> &[Value] {
    report["losses"].as_array().unwrap()
}

fn first_record(place: &Place, log: &str) -> (u64, String) {
    let shown = text(&on(place, log, &["log", "--json"]).stdout);
    let record: Value = serde_json::from_str(shown.lines().next().unwrap()).unwrap();
    (record["sequence"].as_u64().unwrap(), record["kind"].as_str().unwrap().to_string())
}

/// The new log is intact, begins with the report behind `anchor`, and has the question open.
fn assert_goes_on(place: &Place, log: &str, anchor: u64, request: &str) {
    assert_goes_on_as("intact", place, log, anchor, request);
}

fn assert_goes_on_as(verdict: &str, place: &Place, log: &str, anchor: u64, request: &str) {
    let verified = on(place, log, &["verify", "--json"]);
    let report = json(&verified);
    assert_eq!((status(&verified), &report["verdict"]), (0, &verdict.into()), "{report:#}");
    assert_eq!(report["axes"]["meaning"]["state"], "proven", "{report:#}");
    assert_eq!(first_record(place, log), (anchor + 1, "log.salvaged".to_string()));
    assert_eq!(
        open_requests(&on(place, log, &["decision", "list", "--kind", "hold", "--json"])),
        [request]
    );
}

/// Flips a byte of a record in the only segment of a log that begins behind `anchor`.
fn damage(place: &Place, anchor: u64, sequence: u64) {
    let path = place.log.join(names::SEGMENTS).join(names::segment(anchor + 1));
    let mut bytes = std::fs::read(&path).unwrap();
    let mut at = 4_096;
    for _ in anchor + 1..sequence {
        let size = u32::from_le_bytes(*bytes[at..].first_chunk().unwrap()) as usize;
        at += size.next_multiple_of(8);
    }
    bytes[at + 70] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn the_new_log_begins_behind_the_same_record_and_the_state_goes_on() {
    let (place, request) = place();
    let (anchor, _) = archive(&place, "archive");
    let before = contents(&place.log);
    let output = salvage(&place, &["log", "new", "--json"]);
    let report = json(&output);
    assert_eq!((status(&output), &report["begins_behind"]), (0, &anchor.into()), "{report:#}");
    assert_eq!(losses(&report), [] as [Value; 0]);
    assert_eq!(report["salvaged"]["findings_total"], 0);
    assert!(contents(&place.log) == before, "the old log was touched");
    assert_goes_on(&place, "new", anchor, &request);
    // It is a log like any other: it is written to, archived and salvaged again.
    assert_eq!(status(&on(&place, "new", &["run", "--hold", "never", "--", "true"])), 0);
    assert_eq!(status(&salvage(&place, &["new", "newer"])), 0);
    assert_goes_on(&place, "newer", anchor, &request);
    let answer = ["decision", "respond", &request, "--yes", "ABORT"];
    let answered = on(&place, "newer", &answer);
    assert_eq!(status(&answered), 0, "{}", text(&answered.stderr));
    assert!(
        open_requests(&on(&place, "newer", &["decision", "list", "--kind", "hold", "--json"]))
            .is_empty()
    );
    assert_eq!(status(&on(&place, "newer", &["verify"])), 0);
    let archived = on(&place, "new", &["archive", "other"]);
    assert_eq!(status(&archived), 0, "{}", text(&archived.stderr));
    assert_eq!(status(&on(&place, "new", &["verify"])), 0);
}

/// Moves what it may of a salvaged log to an archive, and gives the exit code and the error.
fn archive_of_new(place: &Place) -> (i32, Value) {
    let output = on(place, "new", &["archive", "other", "--json"]);
    (status(&output), json(&output)["error"]["code"].clone())
}

#[test]
fn a_salvaged_log_with_fingerprints_is_archived_and_no_event_of_it_is_forbidden() {
    let (place, _) = place();
    let commands = beside(&place, "commands");
    std::fs::write(&commands, "{\"submit\": {\"command\": \"log.record_fingerprint\"}}\n").unwrap();
    let recorded = place.holdpoint(&["apply", commands.to_str().unwrap()]);
    assert_eq!(status(&recorded), 0, "{}", text(&recorded.stderr));
    assert_eq!(status(&salvage(&place, &["log", "new"])), 0);
    assert_eq!(archive_of_new(&place), (0, Value::Null));
    for log in ["new", "other"] {
        let verified = on(&place, log, &["verify", "--json"]);
        let report = json(&verified);
        assert_eq!((status(&verified), &report["verdict"]), (0, &"intact".into()), "{report:#}");
    }
    let told = text(&on(&place, "new", &["verify"]).stdout);
    assert!(told.contains("1 of another state schema or log were not checked"), "{told}");
}

#[test]
fn what_only_the_report_of_a_salvage_allows_is_not_parted_from_it() {
    let (place, request) = place();
    let answer = ["decision", "respond", &request, "--yes", "ABORT"];
    assert_eq!(status(&place.holdpoint(&answer)), 0);
    damage(&place, 0, 2);
    assert_eq!(status(&salvage(&place, &["log", "new"])), 0);
    assert_eq!(status(&on(&place, "new", &["verify"])), 0);
    assert_eq!(archive_of_new(&place), (5, "apart_from_report".into()));
    assert!(!beside(&place, "other").exists());
    assert_eq!(status(&on(&place, "new", &["verify"])), 0);
}

/// Where a move of the first segment alone is refused, what it says to do is done.
fn assert_advice(place: &Place, code: &str) {
    let until = (segments(&beside(place, "new"))[1] - 1).to_string();
    let moved = |until: &str| {
        let words = ["archive", "other", "--json", "--until", until];
        let output = on(place, "new", &words);
        (status(&output), json(&output)["error"].clone())
    };
    let (exit, error) = moved(&until);
    assert_eq!((exit, &error["code"]), (5, &code.into()), "{error}");
    assert!(!beside(place, "other").exists(), "{error}");
    let message = error["message"].as_str().unwrap();
    let advised = message.split_once("move all up to record ").unwrap().1;
    let advised: String = advised.chars().take_while(char::is_ascii_digit).collect();
    assert_eq!(moved(&advised), (0, Value::Null), "{message}");
    for log in ["new", "other"] {
        assert_eq!(status(&on(place, log, &["verify"])), 0, "{log}");
    }
}

#[test]
fn what_a_move_that_is_refused_advises_is_taken() {
    // Records of the first run lack what was lost, and the last one is not in the first segment.
    let (damaged, request) = place();
    let answer = ["decision", "respond", &request, "--yes", "ABORT"];
    assert_eq!(status(&damaged.holdpoint(&answer)), 0);
    (0..2).for_each(|_| grow(&damaged));
    damage(&damaged, 0, 2);
    assert_eq!(status(&salvage(&damaged, &["log", "new"])), 0);
    assert_advice(&damaged, "apart_from_report");
    // The record that states the beginning lies behind the first segment.
    let (old, _) = place();
    assert_eq!(status(&old.holdpoint(&["archive", "archive", "--keep-segments", "1"])), 0);
    assert_eq!(status(&salvage(&old, &["log", "new"])), 0);
    let new = Place { log: beside(&old, "new"), ..old };
    grow(&new);
    assert_advice(&new, "without_beginning");
}

#[test]
fn where_the_policy_may_be_lost_the_doctor_says_so() {
    let (place, _) = place();
    damage(&place, 0, 1);
    assert_eq!(status(&salvage(&place, &["log", "new"])), 0);
    let new = Place { log: beside(&place, "new"), ..place };
    let output = new.holdpoint(&["run", "--hold", "never", "--", "true"]);
    assert!(text(&output.stderr).contains("POLICY_LOST"), "{}", text(&output.stderr));
    let output = new.holdpoint(&["doctor"]);
    let told = text(&output.stdout);
    assert_eq!(status(&output), 1, "{told}");
    assert!(told.contains("fail  policy") && told.contains("holdpoint policy set"), "{told}");
}

#[test]
fn an_archive_that_would_part_unproven_records_is_refused_before_anything_is_copied() {
    let (place, _) = place();
    std::fs::remove_file(place.log.join(names::HEAD)).unwrap();
    assert_eq!(status(&salvage(&place, &["log", "new"])), 0);
    assert_eq!(archive_of_new(&place), (5, "CONTRADICTS_LOG".into()));
    assert!(!beside(&place, "other").exists());
    assert_eq!(first_record(&place, "new").0, 1);
    assert_eq!(status(&on(&place, "new", &["verify"])), 0);
}

#[test]
fn what_is_in_the_archive_is_said_to_be_there_and_not_lost() {
    let (place, _) = place();
    let (anchor, _) = archive(&place, "archive");
    let output = salvage(&place, &["log", "new"]);
    let told = text(&output.stdout);
    let parts = [
        format!("record {} is the report", anchor + 1),
        format!("records 1 to {anchor}: in an archive, not here"),
        "0 records known to be missing".to_string(),
    ];
    assert!(parts.iter().all(|part| told.contains(part)), "{told}");
}

#[test]
fn no_archive_is_asked_for_where_none_fits_the_new_log() {
    let (place, _) = place();
    archive(&place, "archive");
    assert_eq!(status(&salvage(&place, &["log", "new"])), 0);
    for (line, code) in
        [(&["log"][..], 0), (&["show", "--trace", "1"], 3), (&["log", "--archive", "archive"], 6)]
    {
        let output = on(&place, "new", line);
        let said = text(&output.stderr);
        assert_eq!(status(&output), code, "{line:?}: {said}");
        assert!(said.contains("no archive fits it"), "{line:?}: {said}");
        assert!(!said.contains("--archive DIR"), "{line:?}: {said}");
    }
}

#[test]
fn without_head_the_first_segment_says_where_the_log_begins() {
    let (place, request) = place();
    let (anchor, _) = archive(&place, "archive");
    std::fs::remove_file(place.log.join(names::HEAD)).unwrap();
    assert_eq!(status(&salvage(&place, &["log", "new"])), 0);
    // Nothing witnesses a record.
    let verdict = "intact, with unproven records";
    assert_goes_on_as(verdict, &place, "new", anchor, &request);
}

#[test]
fn segments_that_are_archived_and_not_yet_removed_are_kept() {
    let (place, request) = place();
    let (anchor, _) = archive(&place, "archive");
    // Each segment is twice as large as the one before it.
    (0..4).for_each(|_| grow(&place));
    let before = contents(&place.log.join(names::SEGMENTS));
    assert!(archive(&place, "archive").0 > anchor);
    for (path, bytes) in before.iter().filter(|(path, _)| !path.exists()) {
        std::fs::write(path, bytes).unwrap();
    }
    assert_eq!(status(&salvage(&place, &["log", "new"])), 0);
    assert_goes_on(&place, "new", anchor, &request);
}

#[test]
fn where_the_state_is_lost_the_archived_records_are_told_as_lost_and_no_file_is_named() {
    for without_head in [false, true] {
        let (place, _) = place();
        let (anchor, stated_by) = archive(&place, "archive");
        damage(&place, anchor, stated_by);
        if without_head {
            std::fs::remove_file(place.log.join(names::HEAD)).unwrap();
        }
        let output = salvage(&place, &["log", "new", "--json"]);
        let report = json(&output);
        assert_eq!((status(&output), &report["begins_behind"]), (0, &0.into()));
        let first = &losses(&report)[0];
        assert_eq!(first["source_first_sequence"], 1);
        assert_eq!(first["source_last_sequence"], anchor);
        assert_eq!((&first["file"], &first["length"]), (&names::SEGMENTS.into(), &0.into()));
        assert_eq!(first_record(&place, "new"), (1, "log.salvaged".to_string()));
        let verified = on(&place, "new", &["verify", "--json"]);
        assert_eq!(status(&verified), 0, "{}", text(&verified.stdout));
    }
}

#[test]
fn where_no_segment_is_left_what_head_names_is_said() {
    let place = Place::new();
    assert_eq!(status(&place.shell("true")), 0);
    let records = place.verified()["records"].as_u64().unwrap();
    let segments = place.log.join(names::SEGMENTS);
    std::fs::rename(&segments, beside(&place, "moved")).unwrap();
    let told = |what: &str, part: &str| {
        let output = salvage(&place, &["log", "new", "--json"]);
        let error = &json(&output)["error"];
        assert_eq!((status(&output), &error["code"]), (3, &"nothing_kept".into()), "{what}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(part), "{what}: {message}");
        assert!(message.contains("no segment is left"), "{what}: {message}");
        assert!(!beside(&place, "new").exists(), "{what}");
    };
    let named = format!("HEAD names {records} records");
    told("missing", &named);
    std::fs::create_dir(&segments).unwrap();
    told("empty", &named);
    std::fs::remove_dir(&segments).unwrap();
    std::fs::write(&segments, "mine").unwrap();
    told("a file", "segments: it is not a directory");
    std::fs::remove_file(&segments).unwrap();
    symlink(beside(&place, "moved"), &segments).unwrap();
    told("a link", "segments: it is not a directory");
    std::fs::write(place.log.join(names::HEAD), "noise").unwrap();
    told("a damaged HEAD", "HEAD does not say what there was");
}

#[test]
fn a_file_is_no_log_to_salvage() {
    let place = Place::new();
    std::fs::write(beside(&place, "old"), "mine").unwrap();
    let output = salvage(&place, &["old", "new", "--json"]);
    let error = &json(&output)["error"];
    assert_eq!((status(&output), &error["code"]), (1, &"not_a_directory".into()));
    assert!(error["message"].as_str().unwrap().contains("old is not a directory"), "{error}");
}
