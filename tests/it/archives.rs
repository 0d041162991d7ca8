//! A log and the archives of its first records are read as one sequence: what was recorded is shown
//! as before it was moved, with what is proven of it, and damage is named where it lies.

use crate::archive_support::{Sample, beside, duplicate, fifo, sequences, values};
use crate::program::{json, status, text};
use holdpoint_log_files::joined::{Archive, Archives, fit};
use holdpoint_log_files::{DirectoryStorage, Entry, JoinedLog, ReadStorage};
use holdpoint_log_format::{Head, names};
use holdpoint_replay::machine::this_boot;
use holdpoint_replay::{ReadOptions, verify};
use holdpoint_testing::log::segments_of;
use serde_json::Value;
use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[test]
fn what_was_moved_is_shown_as_it_was_before() {
    let sample = Sample::new();
    let (newest, second) = (sample.newest(), beside(&sample.place, "second"));
    let before = sample.answers(newest);
    // Into an archive, further into the same one, and into a second one.
    for to in [&sample.archive, &sample.archive, &second] {
        let anchor = sample.archive_to(to);
        let now = sample.answers(newest);
        for (now, due) in now.iter().zip(&before) {
            assert_eq!(now, due, "behind record {anchor}");
        }
        assert_eq!(now.len(), before.len());
        sample.grow();
    }
    assert!(before.iter().all(|(_, code, shown)| *code == 0 && !shown.is_empty()), "{before:#?}");
    let all = sample.ask("log --json", newest);
    assert!(sequences(&all).iter().copied().eq(1..=sample.newest()));
}

#[test]
fn programs_are_told_where_a_record_lies_and_what_is_proven_of_it() {
    let (sample, anchor) = Sample::archived();
    let archive = sample.archive.to_str().unwrap();
    let shown = values(&sample.ask("log --json", 1));
    for line in &shown {
        let place = (line["sequence"].as_u64().unwrap() <= anchor).then_some(archive);
        assert_eq!(line["archive"].as_str(), place, "{line:#}");
        assert_eq!(line["standing"], "proven", "{line:#}");
    }
    assert!(shown.len() as u64 > anchor);
    let story = json(&sample.ask("show --trace 3 --json", 1));
    assert_eq!(story["steps"][0]["records"][0]["archive"], archive, "{story:#}");
    assert_eq!(story["steps"][0]["standing"], "proven");
    let replayed = json(&sample.ask("replay LOOP --story --json", 1));
    assert_eq!(replayed["story"][0]["archive"], archive, "{replayed:#}");
    let counted = json(&sample.ask("log --stat --json", 1));
    let expected = serde_json::json!(
        [{ "first_sequence": 1, "last_sequence": anchor, "archive": archive }]
    );
    assert_eq!(counted["archives"], expected);
    assert_eq!(counted["records"].as_u64(), Some(sample.newest()));
}

#[test]
fn an_archive_that_was_taken_elsewhere_is_read_where_it_is_named() {
    let sample = Sample::new();
    let newest = sample.newest();
    let before = sample.answers(newest);
    let second = beside(&sample.place, "second");
    sample.archive_to(&sample.archive);
    sample.grow();
    sample.archive_to(&second);
    let [one, two] = ["one", "two"].map(|name| beside(&sample.place, name));
    fs::rename(&sample.archive, &one).unwrap();
    fs::rename(&second, &two).unwrap();
    for (line, code, shown) in before.iter().filter(|(line, ..)| !line.ends_with("--json")) {
        for names in ["--archive one --archive two", "--archive two --archive one"] {
            let now = sample.ask(&format!("{line} {names}"), newest);
            assert_eq!((status(&now), &text(&now.stdout)), (*code, shown), "{line} {names}");
        }
    }
    // The first of them is not found by itself, and neither is it by a name for the second alone.
    for line in ["show --trace 3", "show --trace 3 --archive two", "replay --until 5 --archive two"]
    {
        sample.expect("the first archive is elsewhere", line, 3, "there is no archive there");
    }
    sample.expect(
        "the first archive alone",
        "show --trace 3 --archive one",
        6,
        "one is not read as",
    );
}

#[test]
fn a_move_that_was_interrupted_leaves_one_sequence() {
    let (sample, first) = Sample::archived();
    sample.grow();
    let (newest, log) = (sample.newest(), beside(&sample.place, "before"));
    let before = sample.answers(newest);
    duplicate(&sample.place.log, &log);
    let second = sample.archive_to(&sample.archive);
    assert!(second > first);
    let after = beside(&sample.place, "after");
    duplicate(&sample.place.log, &after);
    // The archive is whole, and the log says nothing of it.
    duplicate(&log, &sample.place.log);
    assert_eq!(sample.answers(newest), before);
    sample.expect("an archive that is ahead", "show --trace 3 --archive archive", 0, "");
    // HEAD says it, and nothing was removed.
    duplicate(&after, &sample.place.log);
    for segment in segments_of(&log) {
        let place = sample.place.log.join(names::SEGMENTS).join(segment.file_name().unwrap());
        if !place.exists() {
            fs::copy(segment, place).unwrap();
        }
    }
    assert_eq!(sample.answers(newest), before);
}

/// A directory that becomes another one right before a call: a move to an archive ends then.
struct Moving {
    directory: DirectoryStorage,
    to: RefCell<Option<(Before, PathBuf)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Listing,
    Opening,
}

impl Moving {
    fn new(directory: &Path, to: Option<(Before, PathBuf)>) -> Self {
        Self { directory: DirectoryStorage::new(directory), to: RefCell::new(to) }
    }

    fn at(&self, call: Before) {
        if let Some((_, to)) = self.to.borrow_mut().take_if(|(before, _)| *before == call) {
            duplicate(&to, self.directory.root());
        }
    }
}

impl ReadStorage for Moving {
    type File = fs::File;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        if directory == names::SEGMENTS {
            self.at(Before::Listing);
        }
        self.directory.list(directory)
    }

    fn open(&self, path: &str) -> io::Result<Option<fs::File>> {
        if path.starts_with(names::SEGMENTS) {
            self.at(Before::Opening);
        }
        self.directory.open(path)
    }
}

#[test]
fn a_move_that_ends_while_a_log_is_read_leaves_one_sequence() {
    let sample = Sample::new();
    let log = &sample.place.log;
    let states = ["whole", "moved", "grown", "moved again"].map(|name| beside(&sample.place, name));
    for (number, state) in states.iter().enumerate() {
        match number {
            0 => {}
            2 => sample.grow(),
            _ => drop(sample.archive_to(&sample.archive)),
        }
        duplicate(log, &state.join("log"));
        if number % 2 == 1 {
            duplicate(&sample.archive, &state.join("archive"));
        }
    }
    for (from, to) in [(&states[0], &states[1]), (&states[2], &states[3])] {
        for before in [Before::Listing, Before::Opening] {
            duplicate(&from.join("log"), log);
            let moving = Moving::new(log, Some((before, to.join("log"))));
            let archive = to.join("archive");
            let joined = JoinedLog::new(
                moving,
                Box::new(move |log, head| {
                    let storage = Moving::new(&archive, None);
                    let head = fit(&storage, log, head).map_err(io::Error::other)?;
                    let path = "archive".into();
                    Ok(Archives { read: vec![Archive { storage, path, head }], unread: None })
                }),
            );
            let options = ReadOptions::new(this_boot(), &|| Ok(false));
            let report = verify(&joined, options, &mut |_| {}).unwrap();
            assert_eq!(report.findings, [], "{before:?}");
            assert_eq!(report.head.unwrap().sequence, report.records, "{before:?}");
            assert!(segments_of(log).len() < segments_of(&from.join("log")).len());
        }
    }
}

/// Damages the first segment of the archive.
type Damage = fn(&Path);

const DAMAGES: [(&str, Damage, &str); 6] = [
    (
        "a changed byte",
        |segment| {
            let mut bytes = fs::read(segment).unwrap();
            bytes[6_000] ^= 1;
            fs::write(segment, bytes).unwrap();
        },
        "",
    ),
    ("a pipe", fifo, "it is not a regular file"),
    (
        "a directory",
        |segment| {
            fs::remove_file(segment).unwrap();
            fs::create_dir(segment).unwrap();
        },
        "it is not a regular file",
    ),
    (
        "a file of a tebibyte",
        |segment| fs::File::options().write(true).open(segment).unwrap().set_len(1 << 40).unwrap(),
        "",
    ),
    (
        "a hole of a tebibyte",
        |segment| fs::File::create(segment).unwrap().set_len(1 << 40).unwrap(),
        "",
    ),
    ("no byte", |segment| drop(fs::File::create(segment).unwrap()), ""),
];

#[test]
fn damage_in_an_archive_is_found_where_it_is_read_and_named_with_its_path() {
    for (what, damage, told) in DAMAGES {
        let (sample, anchor) = Sample::archived();
        let segment = segments_of(&sample.archive).remove(0);
        damage(&segment);
        for line in ["log", "replay", "export", "log --stat"] {
            let output = sample.expect(what, line, 6, told);
            let stderr = text(&output.stderr);
            assert!(stderr.contains(segment.to_str().unwrap()), "{what}: {line}: {stderr}");
        }
        let behind = format!("log --since {}", anchor + 1);
        for line in ["log -n 3", &behind, "log -n 3"] {
            sample.expect(what, line, 0, "");
        }
        let counted = json(&sample.ask("log --stat --json", 1));
        assert_eq!(counted["findings"][0]["segment"].as_str(), segment.to_str(), "{counted:#}");
    }
}

#[test]
fn a_segment_that_is_missing_in_an_archive_is_found() {
    let (sample, _) = Sample::archived();
    let segments = segments_of(&sample.archive);
    assert!(segments.len() > 1, "{segments:?}");
    fs::remove_file(segments.last().unwrap()).unwrap();
    for line in ["log", "replay", "export", "show --trace 3"] {
        sample.expect("a missing segment", line, 6, "");
    }
}

/// The log's own segment behind it is whole, and so is what `verify` of the log alone reads.
#[test]
fn what_is_missing_at_the_end_of_an_archive_is_found_there_and_verifying_that_one_tells_all() {
    let (mut sample, anchor) = Sample::archived();
    let gone = segments_of(&sample.archive).pop().unwrap();
    fs::remove_file(&gone).unwrap();
    let first: u64 = gone.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let archive = sample.archive.to_str().unwrap().to_string();
    let place =
        format!("{archive}/segments, byte 0, sequence {first}: records {first} to {anchor}");
    let advice = format!("`holdpoint --log {archive} verify` tells all");
    for line in ["log", "replay", "log --stat", "runs", "show --trace 3", "show LOOP"] {
        let output = sample.expect("a missing segment", line, 6, &place);
        let stderr = text(&output.stderr);
        assert!(stderr.contains(&advice), "{line}: {stderr}");
        assert!(!stderr.contains(" verify` tells all;"), "{line}: {stderr}");
    }
    sample.expect("the log alone", "verify", 0, "");
    sample.place.log = sample.archive.clone();
    assert_eq!(status(&sample.place.holdpoint(&["verify"])), 6);
}

#[test]
fn a_forged_head_of_an_archive_lends_no_record_a_standing() {
    let (sample, anchor) = Sample::archived();
    // Another history under the HEAD that the log goes on from.
    let (other, _) = Sample::archived();
    let head = fs::read(sample.archive.join(names::HEAD)).unwrap();
    duplicate(&other.archive, &sample.archive);
    fs::write(sample.archive.join(names::HEAD), &head).unwrap();
    assert_eq!(Head::decode(&head).unwrap().newest_sequence, anchor);
    let output = sample.ask("log --reverse --json", 1);
    assert_eq!(status(&output), 6, "{}", text(&output.stderr));
    let lines = values(&output);
    let is_ours = |line: &&Value| line["archive"].is_null();
    assert!(lines.iter().filter(is_ours).all(|line| line["standing"] == "proven"));
    let theirs = lines.iter().filter(|line| !line["archive"].is_null());
    assert!(theirs.into_iter().all(|line| line["standing"] == "unproven"), "{lines:#?}");
    for line in ["log", "replay", "export"] {
        sample.expect("a forged HEAD", line, 6, "");
    }
}
