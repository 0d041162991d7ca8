//! Where the archive of a log's first records cannot be read, that is said, and what may be in it
//! is not denied. What only passes for the archive is not read.

use crate::archive_support::{Sample, beside, duplicate, fifo, sequences};
use crate::decision_support::asked;
use crate::program::{json, status, text};
use crate::records_support::holdpoint;
use holdpoint_log_format::{Head, names};
use holdpoint_testing::log::segments_of;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;

#[test]
fn what_may_be_in_an_archive_that_is_gone_is_not_denied() {
    let (sample, anchor) = Sample::archived();
    let newest = sample.newest();
    fs::remove_dir_all(&sample.archive).unwrap();
    let told = format!("records 1 to {anchor} are in the archive {}", sample.archive.display());
    let before = format!("log --since {anchor}");
    let until = format!("export --until {anchor}");
    let behind = format!("log --since {} --json", anchor + 1);
    let diff = format!("diff {newest}");
    for line in [
        "replay LOOP --story",
        "replay --until 5",
        "log loop=LOOP",
        "log loop=NOBODY",
        "log loop=LOOP kind=log.salvaged",
        "log --until 3",
        "log --since 3 --until 4",
        &before,
        &until,
        "log decision=UNKNOWN",
        "log -n 10 loop=NOBODY",
        "show --trace 3",
        "export --since 3",
        "diff 3 4",
        "diff --when totals.loops_initialized>0",
        "diff --when totals.loops_initialized>0 entity=NOBODY",
        "replay NOBODY",
    ] {
        let output = sample.expect("gone", line, 3, &told);
        assert!(text(&output.stderr).contains("--archive DIR"), "{line}");
    }
    let lists = ["log", "log -n 9000", "log --reverse", "export", "replay", "log --stat"];
    for line in lists {
        sample.expect("gone", line, 0, &told);
    }
    for line in [&behind, "log -n 3", "log -n 3"] {
        let output = sample.expect("gone, and not asked for", line, 0, "");
        assert!(!text(&output.stderr).contains("archive"), "{line}: {}", text(&output.stderr));
    }
    for line in ["replay --live", &diff] {
        let said = format!("what is before record {} was not read", anchor + 1);
        sample.expect("gone, and a state is told that rests on it", line, 0, &said);
    }
    assert!(sequences(&sample.ask(&behind, 1)).into_iter().eq(anchor + 1..=newest));
    let refused = json(&sample.ask("replay LOOP --story --json", 1));
    let error = &refused["error"];
    assert_eq!(error["code"], "before_the_log", "{refused:#}");
    assert_eq!(error["archive"].as_str(), sample.archive.to_str(), "{refused:#}");
    assert_eq!(error["archived_to_sequence"].as_u64(), Some(anchor));
    let alone = sample.expect(
        "a log alone",
        "show --trace 3 --archive none",
        3,
        "leave --archive none away",
    );
    assert!(!text(&alone.stderr).contains("--archive DIR"), "{}", text(&alone.stderr));
    // Whether the id of a run was used before may be known there.
    assert_eq!(status(&sample.place.shell("echo behind")), 0);
    let run = text(&sample.ask("runs -q -n 1", 1).stdout);
    sample.expect("gone", &format!("show {}", run.trim()), 0, &told);
}

/// The record that carries the state with which the log begins.
fn carrier(sample: &Sample) -> u64 {
    let shown = sample.ask("log kind=log.history_archived --archive none --json -n 1", 1);
    sequences(&shown)[0]
}

#[test]
fn what_began_before_the_log_is_as_stated_by_the_record_that_carries_the_state() {
    let (sample, anchor) = Sample::archived();
    let (log, by) = (&sample.place.log, carrier(&sample));
    let new = asked(&sample.place, &["PROJ-2"]);
    let _ = fs::remove_dir_all(log.join(names::SNAPSHOTS));
    let said = format!("as stated by record {by}: what is before record {} ", anchor + 1);
    for line in ["decision list", "decision list --whole", "decision list state=all"] {
        let listed = json(&sample.ask(&format!("{line} --json"), 1));
        for item in listed.as_array().unwrap() {
            let is_new = item["id"] == *new;
            let known = if is_new { ("proven", None) } else { ("stated", Some(by)) };
            let told = (item["standing"].as_str().unwrap(), item["stated_by"].as_u64());
            assert_eq!(told, known, "{line}: {item:#}");
        }
        assert_eq!(listed.as_array().unwrap().len(), 2, "{line}");
        sample.expect("carried", line, 0, &said);
    }
    let shown = json(&sample.ask("decision show PROJ-1 --json", 1));
    assert_eq!((&shown["standing"], &shown["stated_by"]), (&"stated".into(), &by.into()));
    sample.expect("carried", "decision show PROJ-1", 0, &said);
    let id = shown["id"].as_str().unwrap().to_string();
    let output = sample.ask("decision show PROJ-2", 1);
    assert!(!text(&output.stderr).contains("as stated by"), "{}", text(&output.stderr));
    let inbox = sample.ask("inbox --all --json", 1);
    let items = text(&inbox.stdout);
    let items = items.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let stated = items.filter(|item| item["stated_by"] == by && item["standing"] == "stated");
    assert_eq!(stated.count(), 1);
    let entity = format!("replay {} --json", shown["id"].as_str().unwrap());
    assert_eq!(json(&sample.ask(&entity, 1))["reach"].get("carried_by"), None, "it was read");
    fs::remove_dir_all(&sample.archive).unwrap();
    assert_eq!(json(&sample.ask(&entity, 1))["reach"]["carried_by"], by);
    // The beginning of an id that a list prints is known, wherever its first record lies.
    sample.expect("gone", &format!("show {}", &id[..id.len().min(12)]), 0, &said);
    sample.expect("gone", entity.trim_end_matches(" --json"), 0, &said);
}

/// Every verb that takes an id of something, where it reads archives and where it does not. A
/// refusal is on record about its id: no verb that reads has the same one.
pub(crate) const BY_ID: [&str; 38] = [
    "show LOOP",
    "show LOOP-00000000",
    "show REQ-00000000000000000000000000000000",
    "show REQ-00000000",
    "show DP-00000000000000000000000000000000",
    "show DP-00000000",
    "show 3",
    "show session:3",
    "show thread:nobody",
    "show correlation:nobody",
    "show stream:nobody",
    "show FAULT-00000000000000000000000000000000",
    "output LOOP",
    "runs --after LOOP",
    "show --trace LOOP",
    "show --trace REQ-00000000000000000000000000000000",
    "show --trace DP-00000000000000000000000000000000",
    "show --trace session:3",
    "show --trace thread:nobody",
    "show --trace correlation:nobody",
    "show --trace stream:nobody",
    "replay LOOP --story",
    "replay LOOP",
    "diff LOOP",
    "diff LOOP LOOP",
    "export --format html LOOP --output page.html",
    "decision show REQ-00000000000000000000000000000000",
    "decision show REQ-00000000",
    "decision wait REQ-00000000000000000000000000000000",
    "decision respond REQ-11111111111111111111111111111111 ABORT --yes",
    "decision respond DP-11111111111111111111111111111111 yes",
    "decision show DP-00000000000000000000000000000000",
    "decision show PROJ-0",
    "decision wait DP-00000000000000000000000000000000",
    "decision cancel DP-11111111111111111111111111111111",
    "thread show nobody",
    "thread show --rows nobody",
    "thread show --story nobody",
];

#[test]
fn no_verb_that_takes_an_id_denies_what_may_be_in_an_archive() {
    let (sample, anchor) = Sample::archived();
    let told = format!("records 1 to {anchor} are in the archive {}", sample.archive.display());
    let alone = ["hold ", "answer ", "decision ", "thread show nobody"];
    for line in BY_ID.iter().filter(|line| alone.iter().any(|verb| line.starts_with(verb))) {
        sample.expect("not read", line, 3, &told);
    }
    fs::remove_dir_all(&sample.archive).unwrap();
    for line in BY_ID {
        sample.expect("gone", line, 3, &told);
        let told = sample.ask(&format!("{line} --json"), 1);
        // A list is a stream, which holds nothing then.
        if told.stdout.is_empty() {
            continue;
        }
        let value = json(&told);
        assert_eq!(value["error"]["code"], "before_the_log", "{line}: {value:#}");
        assert_eq!(value["error"]["archived_to_sequence"], anchor, "{line}: {value:#}");
    }
}

/// Puts something in the place of the archive; says what is told of it.
type Replace = fn(&Sample) -> &'static str;

const NOT_THE_ARCHIVE: [(&str, i32, Replace); 10] = [
    ("another log's archive", 6, |sample| {
        let (other, _) = Sample::archived();
        duplicate(&other.archive, &sample.archive);
        "it belongs to log"
    }),
    ("an older copy of it", 6, |sample| {
        let older = beside(&sample.place, "older");
        duplicate(&sample.archive, &older);
        sample.grow();
        sample.archive_to(&sample.archive);
        duplicate(&older, &sample.archive);
        "and the log begins behind record"
    }),
    ("it, beside an older copy of the log", 6, |sample| {
        let older = beside(&sample.place, "older");
        duplicate(&sample.place.log, &older);
        sample.grow();
        sample.archive_to(&sample.archive);
        duplicate(&older, &sample.place.log);
        "no segment of the log goes on from that"
    }),
    ("a copy of the log", 2, |sample| {
        duplicate(&sample.place.log, &sample.archive);
        "it is a log, and not an archive of one"
    }),
    ("an archive that was not finished", 3, |sample| {
        fs::remove_file(sample.archive.join(names::HEAD)).unwrap();
        "it is an unfinished archive"
    }),
    ("an empty directory", 3, |sample| {
        fs::remove_dir_all(&sample.archive).unwrap();
        fs::create_dir(&sample.archive).unwrap();
        "there is no archive there"
    }),
    ("a pipe in the place of its mark", 6, |sample| {
        fifo(&sample.archive.join(names::ARCHIVE));
        "ARCHIVE there: it is not a regular file"
    }),
    ("a pipe in the place of its HEAD", 6, |sample| {
        fifo(&sample.archive.join(names::HEAD));
        "HEAD there: it is not a regular file"
    }),
    ("an archive without segments", 6, |sample| {
        fs::remove_dir_all(sample.archive.join(names::SEGMENTS)).unwrap();
        "there is no segment"
    }),
    ("it, with a HEAD of one that begins later", 6, |sample| {
        let moved_first = head_of(&sample.archive);
        sample.grow();
        sample.archive_to(&sample.archive);
        let head = Head {
            anchor_sequence: moved_first.newest_sequence,
            anchor_link: moved_first.newest_link,
            ..head_of(&sample.archive)
        };
        fs::write(sample.archive.join(names::HEAD), head.encode()).unwrap();
        "is due first, and the first segment begins at 1"
    }),
];

fn head_of(archive: &Path) -> Head {
    Head::decode(&fs::read(archive.join(names::HEAD)).unwrap()).unwrap()
}

#[test]
fn what_is_not_the_archive_is_refused_where_it_was_named_and_told_where_the_log_names_it() {
    for (what, code, replace) in NOT_THE_ARCHIVE {
        let (sample, _) = Sample::archived();
        let told = replace(&sample);
        for line in ["log", "replay", "show --trace 3", "export", "log --stat", "log -n 10"] {
            let named = format!("{line} --archive archive");
            let output = sample.expect(what, &named, code, told);
            assert_eq!(text(&output.stdout), "", "{what}: {line}");
            // It was named, and the log begins behind these records.
            let said = text(&output.stderr);
            assert!(!said.contains("--archive DIR") && !said.contains("still holds"), "{said}");
        }
        for line in ["log", "replay", "export", "log --stat"] {
            sample.expect(what, line, 0, told);
        }
        for line in ["show --trace 3", "replay LOOP --story", "log loop=LOOP"] {
            sample.expect(what, line, 3, told);
        }
    }
}

#[test]
fn the_log_itself_is_not_its_own_archive_under_any_name() {
    let (sample, _) = Sample::archived();
    let link = beside(&sample.place, "link");
    symlink(&sample.place.log, &link).unwrap();
    for line in ["log --archive log", "replay --archive log/../log"] {
        sample.expect("the log", line, 2, "is the log itself");
    }
    sample.expect("a link to the log", "log --archive link", 1, "is a symbolic link");
    fs::remove_file(&link).unwrap();
    fs::rename(&sample.archive, beside(&sample.place, "moved")).unwrap();
    for make in [
        (|sample: &Sample| symlink("moved", &sample.archive).unwrap()) as fn(&Sample),
        |sample| symlink("archive", &sample.archive).unwrap(),
        |sample| fifo(&sample.archive),
        |sample| fs::write(&sample.archive, "mine").unwrap(),
    ] {
        make(&sample);
        sample.expect("a name that is none", "log", 0, "it is not a directory");
        sample.expect("a name that is none", "show --trace 3", 3, "it is not a directory");
        sample.expect("a name that is none", "show --trace 3 --archive archive", 1, "archive is ");
        fs::remove_file(&sample.archive).unwrap();
    }
}

#[test]
fn a_log_of_which_nothing_was_moved_takes_no_archive_of_another() {
    let (other, _) = Sample::archived();
    let sample = Sample::new();
    let named = format!("log --archive {}", other.archive.display());
    sample.expect("a whole log", &named, 6, "it belongs to log");
    duplicate(&sample.place.log, &beside(&sample.place, "whole"));
    sample.archive_to(&sample.archive);
    duplicate(&beside(&sample.place, "whole"), &sample.place.log);
    sample.expect("a whole log", "log --archive archive", 0, "archive is not read");
}

#[test]
fn the_name_of_an_archive_is_never_shown_as_it_is() {
    let sample = Sample::new();
    let named = beside(&sample.place, "a\u{1b}[2J\nb\u{202e}");
    sample.archive_to(&named);
    let is_shown_safely = |output: &Output| {
        let all = [text(&output.stdout), text(&output.stderr)].concat();
        !all.contains('\u{1b}') && all.contains("u{1b}[2J")
    };
    for line in ["log --stat", "log --json", "show --trace 3 --json"] {
        let output = sample.expect("a strange name", line, 0, "");
        assert!(is_shown_safely(&output), "{line}");
    }
    fs::write(&segments_of(&named)[0], "").unwrap();
    assert!(is_shown_safely(&sample.expect("damage", "log", 6, "")));
    fs::remove_dir_all(&named).unwrap();
    assert!(is_shown_safely(&sample.expect("gone", "log", 0, "")));
    assert!(is_shown_safely(&sample.expect("gone", "show --trace 3", 3, "")));
}

#[test]
fn two_logs_are_not_told_apart_by_what_is_in_an_archive_without_a_word() {
    let sample = Sample::new();
    let copy = beside(&sample.place, "copy");
    duplicate(&sample.place.log, &copy);
    let anchor = sample.archive_to(&sample.archive);
    fs::remove_dir_all(&sample.archive).unwrap();
    let told = format!("records 1 to {anchor} are in the archive {}", sample.archive.display());
    sample.expect("gone", "diff ./copy", 0, &told);
    let log = sample.place.log.to_str().unwrap();
    let output = holdpoint(&copy, &["diff", log]);
    assert!(text(&output.stderr).contains(&told), "{}", text(&output.stderr));
}

#[test]
fn what_waits_at_the_end_of_an_archive_is_told_with_that_it_is_one() {
    let (sample, _) = Sample::archived();
    for line in ["decision list", "decision show PROJ-1", "decision list"] {
        let output = holdpoint(&sample.archive, &line.split(' ').collect::<Vec<_>>());
        let stderr = text(&output.stderr);
        assert_eq!(status(&output), 0, "{line}: {stderr}");
        assert_eq!(stderr.matches("this is an archive").count(), 1, "{line}: {stderr}");
        assert!(!text(&sample.ask(line, 1).stderr).contains("this is an archive"), "{line}");
    }
}
