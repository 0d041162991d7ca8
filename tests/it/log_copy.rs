//! A copy of a log, taken at any time, is a log that verifies and holds everything that was
//! acknowledged before.

use crate::filler::fill;
use crate::program::{Place, command_in, contents, json, sizes, status, text};
use holdpoint_domain::Event;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::log::FingerprintRecorded;
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_engine::log::{
    Copied, CopyDirectoryError, CopyError, Level, Ownership, copy_directory, copy_log,
};
use holdpoint_forger::Log;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{Head, names};
use holdpoint_testing::hand_made::HandMadeLog;
use holdpoint_testing::log::{
    append, append_each, exclusive, memory_directory, open, quiet, record, records_of, segments_of,
    survey_whole,
};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Enough for several rolls, and for copies to be made meanwhile.
const WRITTEN_BATCHES: u32 = 200;

fn copy(source: &Path, destination: &Path) -> Result<Copied, CopyDirectoryError> {
    copy_directory(source, destination, &mut |_, _| {})
}

/// The names beside the log, which tell what a copy left behind.
fn names_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Some records in three segments.
fn sample(directory: &Path) -> PathBuf {
    let path = directory.join("log");
    let log = open(&path, quiet());
    append_each(&log, 1..30, 10_000);
    log.close().unwrap();
    assert!(segments_of(&path).len() >= 3);
    path
}

#[test]
fn a_copy_is_the_same_log_byte_for_byte_up_to_its_newest_record() {
    let directory = memory_directory();
    let log = sample(directory.path());
    let before = contents(&log);
    let destination = directory.path().join("copy");
    let copied = copy(&log, &destination).unwrap();
    assert_eq!(contents(&log), before);
    assert_eq!((copied.records, copied.first_sequence, copied.newest.sequence), (29, 1, 29));
    assert_eq!(records_of(&destination), records_of(&log));
    for (of_copy, of_log) in segments_of(&destination).iter().zip(segments_of(&log)) {
        assert!(std::fs::read(of_copy).unwrap() == std::fs::read(of_log).unwrap());
    }
    let survey = survey_whole(&destination);
    assert_eq!(survey.findings, []);
    assert_eq!((survey.mark, survey.head.valid().unwrap().newest_link), (29, copied.newest.link));
    assert_eq!(names_in(&destination), [".gitignore", "HEAD", "segments"]);
    assert_eq!(names_in(directory.path()), ["copy", "log"]);
}

#[test]
fn files_of_a_copy_are_owner_only_and_take_no_more_space() {
    let directory = tempfile::tempdir().unwrap();
    let log = sample(directory.path());
    let destination = directory.path().join("copy");
    copy(&log, &destination).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&destination), 0o700);
    assert_eq!(mode(&destination.join("segments")), 0o700);
    assert!(contents(&destination).keys().all(|path| mode(path) == 0o600));
    let (of_log, of_copy) = (sizes(&log.join("segments")), sizes(&destination.join("segments")));
    assert_eq!(of_log.0, of_copy.0);
    assert!(of_copy.1 <= of_log.1 + 64 * 1_024, "{of_copy:?} against {of_log:?}");
}

#[test]
fn a_copy_of_a_copy_is_the_same_and_goes_on_as_a_log() {
    let directory = memory_directory();
    let log = sample(directory.path());
    let (first, second) = (directory.path().join("first"), directory.path().join("second"));
    let of_log = copy(&log, &first).unwrap();
    assert_eq!(copy(&first, &second).unwrap(), of_log);
    assert_eq!(records_of(&second), records_of(&log));
    let goes_on = open(&second, quiet());
    assert_eq!(append(&goes_on, 30, 100), 30);
    goes_on.close().unwrap();
    assert_eq!(records_of(&second).len(), 30);
}

#[test]
fn an_unfinished_write_and_an_empty_segment_are_copied_as_what_is_whole() {
    let directory = memory_directory();
    let path = directory.path().join("log");
    open(&path, quiet()).close().unwrap();
    let empty = copy(&path, &directory.path().join("empty")).unwrap();
    assert_eq!((empty.records, empty.newest.sequence), (0, 0));
    let log = open(&path, quiet());
    append(&log, 1, 100);
    log.close().unwrap();
    let segment = segments_of(&path).pop().unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    let end = survey_whole(&path).last.unwrap().run.end_offset as usize;
    bytes[end..end + 2].copy_from_slice(&[0x90, 0x01]);
    std::fs::write(&segment, bytes).unwrap();
    // An owner of whom nothing is known may have left this behind.
    std::fs::remove_file(path.join("LOCK")).unwrap();
    let destination = directory.path().join("copy");
    assert_eq!(copy(&path, &destination).unwrap().newest.sequence, 1);
    assert_eq!(survey_whole(&destination).last.unwrap().tail_end, None);
}

#[test]
fn every_copy_taken_while_others_write_holds_what_was_acknowledged_before() {
    for ownership in [Ownership::PerTransaction, Ownership::Exclusive] {
        let directory = memory_directory();
        let path = directory.path().join("log");
        let options = exclusive().ownership(ownership);
        let log = open(&path, options);
        let acknowledged = AtomicU64::new(append(&log, 0, 9_000));
        let copies = std::thread::scope(|threads| {
            let writer = threads.spawn(|| {
                for _ in 0..WRITTEN_BATCHES {
                    let batch = [record(1, 9_000), record(2, 100)];
                    let appended = log.append_any_kind(&batch, 1, Level::Always).unwrap();
                    acknowledged.store(appended.last_sequence, Ordering::Release);
                }
            });
            let mut copies = 0;
            while !writer.is_finished() {
                let before = acknowledged.load(Ordering::Acquire);
                let destination = directory.path().join("copy");
                let copied = copy(&path, &destination).unwrap();
                assert!(copied.newest.sequence >= before);
                assert_eq!(records_of(&destination).len() as u64, copied.newest.sequence);
                std::fs::remove_dir_all(&destination).unwrap();
                copies += 1;
            }
            copies
        });
        assert!(copies > 0 && segments_of(&path).len() > 3, "{copies} copies");
    }
}

#[test]
fn a_copy_begins_anew_where_records_are_moved_to_an_archive_meanwhile() {
    let place = Place::with_log();
    fill(&place.log, 100);
    let (copy, archive) = (place.directory.path().join("copy"), "archive");
    let mut is_moved = false;
    let copied = copy_directory(&place.log, &copy, &mut |_, _| {
        if !std::mem::replace(&mut is_moved, true) {
            let output = place.holdpoint(&["archive", archive]);
            assert_eq!(status(&output), 0, "{}", text(&output.stderr));
        }
    });
    let copied = copied.unwrap();
    assert!(copied.first_sequence > 1, "it begins where the log does now");
    let (of_copy, of_log) = (survey_whole(&copy), survey_whole(&place.log));
    assert_eq!((of_copy.records, of_copy.findings), (of_log.records, of_log.findings));
    assert_eq!(names_in(place.directory.path()), ["archive", "copy", "log"]);
}

#[test]
fn a_segment_that_goes_while_it_is_copied_is_told_as_a_change_of_the_log() {
    let directory = memory_directory();
    let path = sample(directory.path());
    let newest = segments_of(&path).pop().unwrap();
    let storage = |path| DirectoryStorage::new(path);
    let copy = directory.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    let refused = copy_log(&storage(&path), &storage(&copy), &|| Ok(false), &mut |_, _| {
        let _ = std::fs::remove_file(&newest);
    });
    assert!(matches!(refused, Err(CopyError::Moved { .. })), "{refused:?}");
}

#[test]
fn every_damaged_byte_below_the_newest_record_is_refused_and_nothing_is_left_behind() {
    let directory = memory_directory();
    let path = directory.path().join("log");
    let log = open(&path, quiet());
    append_each(&log, 1..12, 9_000);
    log.close().unwrap();
    let segments = segments_of(&path);
    for segment in &segments {
        let whole = std::fs::read(segment).unwrap();
        for offset in [0, 40, 4_096 + 4, 4_096 + 100, 4_096 + 8_000] {
            if offset >= whole.len() || survey_end(&path, segment, &segments) <= offset {
                continue;
            }
            let mut damaged = whole.clone();
            damaged[offset] ^= 1;
            std::fs::write(segment, damaged).unwrap();
            let refused = copy(&path, &directory.path().join("copy"));
            let is_damage = matches!(
                refused,
                Err(CopyDirectoryError::Copy(CopyError::Damaged { ref findings, .. }))
                    if !findings.is_empty()
            );
            assert!(is_damage, "{}, byte {offset}: {refused:?}", segment.display());
            assert_eq!(names_in(directory.path()), ["log"]);
        }
        std::fs::write(segment, whole).unwrap();
    }
    copy(&path, &directory.path().join("copy")).unwrap();
}

/// Where the last segment's newest record ends; the others are full.
fn survey_end(path: &Path, segment: &PathBuf, segments: &[PathBuf]) -> usize {
    match segments.last() == Some(segment) {
        true => survey_whole(path).last.unwrap().run.end_offset as usize,
        false => usize::MAX,
    }
}

#[test]
fn the_place_of_a_copy_must_be_free_and_outside_of_the_log() {
    let directory = memory_directory();
    let log = sample(directory.path());
    let place = |name: &str| directory.path().join(name);
    std::fs::create_dir(place("full")).unwrap();
    std::fs::write(place("full").join("note"), "mine").unwrap();
    std::fs::write(place("file"), "mine").unwrap();
    std::os::unix::fs::symlink("file", place("link")).unwrap();
    std::fs::create_dir(place("free")).unwrap();
    let before = contents(directory.path());
    for name in ["full", "file", "link"] {
        let refused = copy(&log, &place(name));
        assert!(matches!(refused, Err(CopyDirectoryError::Taken { .. })), "{name}: {refused:?}");
    }
    let inside = copy(&log, &log.join("copy"));
    assert!(matches!(inside, Err(CopyDirectoryError::Inside { .. })));
    let nothing = copy(&place("nowhere"), &place("free"));
    let is_nothing = matches!(nothing, Err(CopyDirectoryError::Copy(CopyError::NothingHere)));
    assert!(is_nothing, "{nothing:?}");
    assert_eq!(contents(directory.path()), before);
    copy(&log, &place("free")).unwrap();
}

#[test]
fn a_person_copies_a_log_and_is_told_how_far_it_reaches() {
    let place = Place::new();
    assert_eq!(status(&place.shell("echo recorded")), 0);
    let destination = place.directory.path().join("copy");
    let (log, copy) = (place.log.to_str().unwrap(), destination.to_str().unwrap());
    let output = place.holdpoint(&["copy", log, copy, "--json"]);
    let (summary, report) = (json(&output), place.verified());
    assert_eq!(status(&output), 0);
    for key in ["log_id", "records", "record_bytes", "head"] {
        assert_eq!(summary[key], report[key], "{key}");
    }
    let again = place.holdpoint(&["copy", log, copy]);
    assert_eq!(status(&again), 5);
    assert!(text(&again.stderr).contains("not empty"), "{}", text(&again.stderr));
    for inside in [log, &format!("{log}/copy")] {
        let output = place.holdpoint(&["copy", log, inside, "--json"]);
        let code = &json(&output)["error"]["code"];
        assert_eq!((status(&output), code), (2, &"inside_the_log".into()), "{inside}");
    }
    let nothing = place.holdpoint(&["copy", "nowhere", "other"]);
    assert_eq!(status(&nothing), 3);
    let third = place.holdpoint(&["copy", log, "third"]);
    let shown = text(&third.stdout);
    let sequence = report["head"]["sequence"].to_string();
    assert!(shown.contains(&format!("up to           record {sequence},")), "{shown}");
    let of_copy = Place { log: destination.clone(), ..place }.verified();
    assert_eq!(
        (&of_copy["axes"]["meaning"], &of_copy["mark"]),
        (&report["axes"]["meaning"], &report["head"]["sequence"])
    );
}

#[test]
fn of_a_log_whose_tail_is_unproven_no_copy_is_called_intact() {
    let place = Place::new();
    assert_eq!(status(&place.shell("echo recorded")), 0);
    let log = place.log.to_str().unwrap();
    let index = place.log.join(names::SEGMENTS).join(names::index(9_999));
    std::fs::write(index, "of records that the log does not have").unwrap();
    let verdict = json(&place.holdpoint(&["verify", "--json"]))["verdict"].clone();
    assert_eq!(verdict, "intact, tail unproven");
    let copied = place.holdpoint(&["copy", log, "copy", "--json"]);
    assert_eq!((status(&copied), &json(&copied)["verdict"]), (0, &verdict));
    let copied = place.holdpoint(&["copy", log, "other"]);
    assert!(text(&copied.stdout).contains("verdict         intact, tail unproven\n"));
}

#[test]
fn no_log_is_copied_or_salvaged_by_a_symbolic_link_as_none_is_read_by_one() {
    let place = Place::with_log();
    std::os::unix::fs::symlink("log", place.directory.path().join("link")).unwrap();
    let words = [&["verify", "--log", "link"][..], &["copy", "link", "copy"]];
    for words in words.into_iter().chain([&["copy", "--salvage", "link/", "new"][..]]) {
        let output = place.holdpoint(&[words, &["--json"]].concat());
        let error = &json(&output)["error"];
        let expected = (1, "symbolic_link".into());
        assert_eq!((status(&output), error["code"].clone()), expected, "{words:?}: {error}");
        assert_eq!(names_in(place.directory.path()), ["link", "log"]);
    }
}

/// An event that says of the state what is not so.
fn false_statement() -> Event {
    let fingerprint = Digest::from_bytes([7; 32]);
    FingerprintRecorded { schema: STATE_SCHEMA_VERSION, fingerprint }.into()
}

/// A log whose last record is withheld, and one whose last event the rules forbid.
fn wrong_but_undamaged(place: &Place) -> [PathBuf; 2] {
    let made = |name: &str, events: Vec<Event>| {
        let mut log = HandMadeLog::new();
        log.run();
        log.events(events);
        let path = place.directory.path().join(name);
        log.write(&path);
        path
    };
    let forbidden = made("forbidden", vec![false_statement()]);
    let withheld = made("withheld", vec![]);
    let mut log = Log::read(&withheld).unwrap();
    let last = *log.records().last().unwrap();
    log.withhold(last);
    log.remake_link(last);
    assert!(log.segment_mut(last.segment).fit());
    log.head_follows();
    log.write(&withheld).unwrap();
    [withheld, forbidden]
}

#[test]
fn a_copy_that_does_not_verify_because_the_log_does_not_is_kept_and_exits_as_verify_does() {
    let place = Place::new();
    for (log, verdict) in wrong_but_undamaged(&place).iter().zip(["corrupt", "forbidden events"]) {
        let copy = place.directory.path().join(format!("{verdict} copy"));
        let words = ["copy", log.to_str().unwrap(), copy.to_str().unwrap(), "--json"];
        let output = place.holdpoint(&words);
        let (summary, said) = (json(&output), text(&output.stderr));
        assert_eq!((status(&output), &summary["verdict"]), (6, &verdict.into()), "{said}");
        assert!(said.contains("the copy is kept") && said.contains(verdict), "{said}");
        assert_eq!(summary["withheld"], u64::from(verdict == "corrupt"), "{summary}");
        assert_eq!(records_of(&copy), records_of(log));
        // The command that is named finds it.
        let named = said.split('`').nth(1).unwrap().strip_prefix("holdpoint --log ").unwrap();
        assert_eq!(named, format!("'{}' verify", copy.display()));
        let of_copy = ["--log", copy.to_str().unwrap(), "verify", "--json"];
        let verified = command_in(place.directory.path(), &of_copy).output().unwrap();
        assert_eq!(status(&verified), status(&output));
        assert_eq!(json(&verified)["findings"][0], summary["first_finding"]);
        // Nothing is added to what lacks a payload.
        let of_log = ["archive", "archive", "--log", log.to_str().unwrap(), "--json"];
        let archived = command_in(place.directory.path(), &of_log).output().unwrap();
        let (code, error) = (status(&archived), json(&archived)["error"]["code"].clone());
        let due = if verdict == "corrupt" { (5, "withheld".into()) } else { (0, Value::Null) };
        assert_eq!((code, error), due, "{}", text(&archived.stderr));
    }
}

#[test]
fn an_archive_that_does_not_verify_because_the_log_did_not_is_made_and_exits_as_verify_does() {
    let place = Place::new();
    let mut log = HandMadeLog::new();
    log.run();
    log.events(vec![false_statement()]);
    log.roll();
    log.run();
    log.write(&place.log);
    let output = place.holdpoint(&["archive", "archive", "--json"]);
    let (summary, said) = (json(&output), text(&output.stderr));
    assert_eq!((status(&output), &summary["verdict"]), (6, &"forbidden events".into()), "{said}");
    assert!(said.contains("the records were moved as they are"), "{said}");
    let words = ["--log", "archive", "verify", "--json"];
    let verified = command_in(place.directory.path(), &words).output().unwrap();
    assert_eq!(status(&verified), 6);
    assert_eq!(json(&verified)["findings"][0], summary["first_finding"]);
    // What is left has nothing wrong in it, and nothing is moved a second time.
    assert_eq!(status(&place.holdpoint(&["archive", "archive"])), 0);
}

#[test]
fn what_has_no_witness_in_a_log_has_none_in_its_copy_and_that_is_said() {
    let place = Place::new();
    let mut log = HandMadeLog::new();
    log.run();
    let head = log.head();
    log.run();
    log.write_with_head(&place.log, &head);
    let first = head.newest_sequence + 1;
    let words = ["copy", place.log.to_str().unwrap()];
    let as_text = place.holdpoint(&[&words[..], &["copy"]].concat());
    let said = text(&as_text.stdout);
    assert!(
        said.contains(&format!("witness         no witness yet from record {first}")),
        "{said}"
    );
    let summary = json(&place.holdpoint(&[&words[..], &["second", "--json"]].concat()));
    assert_eq!(summary["no_witness_from"], first, "{summary:#}");
    let copied = place.directory.path().join("copy");
    let found = Head::decode(&std::fs::read(copied.join("HEAD")).unwrap()).unwrap();
    assert_eq!(
        (found.newest_sequence, found.newest_link),
        (head.newest_sequence, head.newest_link)
    );
    assert_eq!(records_of(&copied), records_of(&place.log));
    let of_copy = Place { log: copied.clone(), ..place };
    let shown = text(&of_copy.holdpoint(&["log", "--json"]).stdout);
    for line in shown.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let is_witnessed = line["sequence"].as_u64().unwrap() < first;
        assert_eq!(line["standing"], if is_witnessed { "proven" } else { "unproven" }, "{line}");
    }
    // Whoever goes on with it witnesses what is there by then.
    open(&copied, quiet()).close().unwrap();
    assert_eq!(survey_whole(&copied).mark, log.chain.sequence);
}

#[test]
fn a_damaged_log_is_not_copied_and_salvage_is_named() {
    let place = Place::new();
    assert_eq!(status(&place.shell("echo recorded")), 0);
    let segment = segments_of(&place.log).pop().unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[4_096 + 70] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let log = place.log.to_str().unwrap();
    let refused = place.holdpoint(&["copy", log, "copy", "--json"]);
    assert_eq!((status(&refused), &json(&refused)["error"]["code"]), (6, &"damaged".into()));
    assert!(text(&refused.stderr).contains("salvage"), "{}", text(&refused.stderr));
    assert_eq!(names_in(place.directory.path()), ["log"]);
}

#[test]
fn a_log_that_may_only_be_read_is_copied() {
    let directory = memory_directory();
    let log = sample(directory.path());
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    for path in contents(&log).keys() {
        std::fs::set_permissions(path, mode(0o400)).unwrap();
    }
    std::fs::set_permissions(log.join("segments"), mode(0o500)).unwrap();
    std::fs::set_permissions(&log, mode(0o500)).unwrap();
    let copied = copy(&log, &directory.path().join("copy"));
    std::fs::set_permissions(log.join("segments"), mode(0o700)).unwrap();
    std::fs::set_permissions(&log, mode(0o700)).unwrap();
    assert_eq!(copied.unwrap().records, 29);
}

#[test]
fn what_a_killed_copy_left_is_removed_by_the_next_one_to_the_same_place_and_nothing_else_is() {
    let directory = memory_directory();
    let log = sample(directory.path());
    let left = |name: &str, file: &str| {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.join("segments")).unwrap();
        std::fs::write(path.join(file), "").unwrap();
        path
    };
    left(".copy.0123456789abcdef.copying", "HEAD");
    let kept = [
        left(".copy.0123456789abcdee.copying", "note"),
        left(".copy.0123456789abcde.copying", "HEAD"),
        left(".copy.0123456789abcdeg.copying", "HEAD"),
        left(".other.0123456789abcdef.copying", "HEAD"),
        left(".copy.0000000000000000.copying", "HEAD"),
    ];
    // Somebody copies into this one.
    let held = std::fs::File::open(&kept[4]).unwrap();
    held.try_lock().unwrap();
    copy(&log, &directory.path().join("copy")).unwrap();
    assert!(kept.iter().all(|path| path.exists()));
    assert_eq!(names_in(directory.path()).len(), kept.len() + 2);
}
