//! The first records of a log can be moved to an archive: no data is lost in union, the state goes
//! on as if nothing had been moved, and what was tampered with is found.

use crate::filler::fill;
use crate::program::{Place, contents, json, status, text};
use holdpoint_engine::Engine;
use holdpoint_engine::log::{ArchiveError, OpenError, Storage, copy_directory};
use holdpoint_engine::shell::{ArchivePlan, ArchiveReport, EngineError, EngineOptions, MoveError};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{ChainPosition, Head, Link, names};
use holdpoint_replay::machine::this_boot;
use holdpoint_replay::{
    AxisState, Progress, ReadError, ReadOptions, Report, Together, Until, Verdict, rebuild, verify,
    verify_together,
};
use holdpoint_testing::log::faulty::{CALLS, Call, Failure, FaultyStorage};
use holdpoint_testing::log::{memory_directory, quiet, segments_of};
use holdpoint_testing::shell::commands::small;
use holdpoint_testing::shell::origin;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

fn engine_on<S: Storage>(storage: S) -> Engine<S> {
    let options = EngineOptions::simulated().log(quiet());
    Engine::open_with(storage, options).unwrap_or_else(|error| panic!("{error}"))
}

fn engine(path: &Path) -> Engine {
    engine_on(DirectoryStorage::new(path))
}

/// A log with runs and fillers in several segments.
fn sample(place: &Place) {
    assert_eq!(status(&place.shell("echo first")), 0);
    fill(&place.log, 40);
    assert_eq!(status(&place.shell("echo second; exit 3")), 3);
    fill(&place.log, 30);
    assert!(segments_of(&place.log).len() >= 3);
}

fn archive(log: &Path, to: &Path, plan: ArchivePlan) -> Result<ArchiveReport, MoveError> {
    let engine = engine(log);
    let moved = engine.archive(&DirectoryStorage::new(to), plan);
    engine.close().unwrap();
    moved
}

fn options() -> ReadOptions<'static> {
    ReadOptions::new(this_boot(), &|| Ok(false))
}

fn verified(path: &Path) -> Report {
    verify(&DirectoryStorage::new(path), options(), &mut |_: Progress| {}).unwrap()
}

fn both(archive: &Path, log: &Path) -> Together {
    let (archive, log) = (DirectoryStorage::new(archive), DirectoryStorage::new(log));
    verify_together((&archive, options()), (&log, options()), &mut |_| {}).unwrap()
}

fn assert_intact(report: &Report) {
    assert_eq!(report.verdict, Verdict::Intact, "{:#?}", report.findings);
}

fn assert_together(archive: &Path, log: &Path) -> Together {
    let found = both(archive, log);
    assert_eq!(found.verdict, Verdict::Intact, "{found:#?}");
    found
}

fn fingerprint_at(path: &Path, sequence: u64) -> [u8; 32] {
    let storage = DirectoryStorage::new(path);
    let until = Until::Sequence(sequence);
    let rebuilt = rebuild(&storage, until, options(), &mut |_| {}, &mut |_| {}).unwrap();
    assert_eq!(rebuilt.head.unwrap().sequence, sequence);
    rebuilt.world.fingerprint()
}

fn head_of(log: &Path) -> Head {
    Head::decode(&std::fs::read(log.join("HEAD")).unwrap()).unwrap()
}

fn newest(path: &Path) -> u64 {
    verified(path).head.unwrap().sequence
}

/// The archive and the log in one directory, as if nothing had been moved.
fn union(archive: &Path, log: &Path, to: &Path) {
    std::fs::create_dir_all(to.join("segments")).unwrap();
    for segment in segments_of(archive).iter().chain(&segments_of(log)) {
        std::fs::copy(segment, to.join("segments").join(segment.file_name().unwrap())).unwrap();
    }
    let (first, last) = (head_of(archive), head_of(log));
    let (anchor_sequence, anchor_link) = (first.anchor_sequence, first.anchor_link);
    let whole = Head { anchor_sequence, anchor_link, ..last };
    std::fs::write(to.join("HEAD"), whole.encode()).unwrap();
}

/// Copies a directory of files and directories.
fn duplicate(from: &Path, to: &Path) {
    if to.exists() {
        std::fs::remove_dir_all(to).unwrap();
    }
    for (path, bytes) in contents(from) {
        let path = to.join(path.strip_prefix(from).unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

fn beside(place: &Place, name: &str) -> PathBuf {
    place.directory.path().join(name)
}

#[test]
fn a_day_is_archived_up_to_its_last_instant() {
    let place = Place::with_log();
    sample(&place);
    let newest = json(&place.holdpoint(&["log", "-n", "1", "--json"]));
    let day = &newest["time"].as_str().unwrap()[..10];
    let moved = |until: &str| {
        let words = ["archive", "kept", "--json", "--until", until];
        let output = place.command(&words).env("TZ", "UTC").output().unwrap();
        json(&output)["records"].as_u64().unwrap()
    };
    assert_eq!((moved("2020-01-25"), moved("1h")), (0, 0));
    assert!(moved(day) > 0);
}

#[test]
fn the_state_goes_on_as_if_nothing_had_been_moved() {
    let place = Place::new();
    sample(&place);
    let (whole, archived) = (beside(&place, "whole"), beside(&place, "archive"));
    copy_directory(&place.log, &whole, &mut |_, _| {}).unwrap();
    let end = newest(&whole);
    let moved = archive(&place.log, &archived, ArchivePlan::default()).unwrap();
    let (first, anchor) = moved.moved.unwrap();
    assert_eq!((first, moved.left_segments), (1, 0));
    assert!(moved.removed_segments >= 2 && anchor.sequence < end);
    assert_eq!(segments_of(&place.log).len(), 1);
    for sequence in anchor.sequence..=end {
        assert_eq!(fingerprint_at(&place.log, sequence), fingerprint_at(&whole, sequence));
    }
    // More is recorded, moved and recorded.
    assert_eq!(status(&place.shell("echo third")), 0);
    fill(&place.log, 60);
    let again = archive(&place.log, &archived, ArchivePlan::default()).unwrap();
    assert_eq!(again.moved.unwrap().0, anchor.sequence + 1);
    assert_eq!(status(&place.shell("echo fourth")), 0);
    assert_intact(&verified(&place.log));
    assert_together(&archived, &place.log);
    let joined = beside(&place, "union");
    union(&archived, &place.log, &joined);
    assert_intact(&verified(&joined));
    let end = newest(&place.log);
    assert_eq!(fingerprint_at(&place.log, end), fingerprint_at(&joined, end));
}

#[test]
fn what_lies_before_the_beginning_is_asked_of_the_archive() {
    let place = Place::new();
    sample(&place);
    let archived = beside(&place, "archive");
    let anchor = archive(&place.log, &archived, ArchivePlan::default()).unwrap().moved.unwrap().1;
    let storage = DirectoryStorage::new(&place.log);
    let until = Until::Sequence(anchor.sequence - 1);
    let before = rebuild(&storage, until, options(), &mut |_| {}, &mut |_| {});
    assert!(matches!(before, Err(ReadError::BeforeAnchor { anchor: a }) if a == anchor.sequence));
    let output = place.holdpoint(&["replay", "--until", "2", "--archive=none"]);
    assert_eq!(status(&output), 3);
    assert!(text(&output.stderr).contains("ask the archive"), "{}", text(&output.stderr));
    let engine = engine(&place.log);
    let refused = engine.subscribe(1).map(drop).unwrap_err().to_string();
    assert!(refused.contains(&format!("{}", anchor.sequence + 1)), "{refused}");
    fingerprint_at(&archived, anchor.sequence);
}

#[test]
fn a_plan_says_how_much_is_moved() {
    let place = Place::new();
    sample(&place);
    let archived = beside(&place, "archive");
    let ends: Vec<u64> = {
        let names = segments_of(&place.log);
        let firsts = names.iter().skip(1).map(|path| path.file_stem().unwrap().to_str().unwrap());
        firsts.map(|first| first.parse::<u64>().unwrap() - 1).collect()
    };
    let nothing = ArchivePlan { until_sequence: Some(ends[0] - 1), ..ArchivePlan::default() };
    assert_eq!(archive(&place.log, &archived, nothing).unwrap().moved, None);
    let keep_all = ArchivePlan { keep_segments: ends.len(), ..ArchivePlan::default() };
    assert_eq!(archive(&place.log, &archived, keep_all).unwrap().moved, None);
    assert!(!archived.exists());
    let first = ArchivePlan { until_sequence: Some(ends[0]), ..ArchivePlan::default() };
    let moved = archive(&place.log, &archived, first).unwrap().moved.unwrap();
    assert_eq!((moved.0, moved.1.sequence), (1, ends[0]));
    let rest = archive(&place.log, &archived, ArchivePlan::default()).unwrap().moved.unwrap();
    assert_eq!((rest.0, rest.1.sequence), (ends[0] + 1, ends[ends.len() - 1]));
    assert_together(&archived, &place.log);
}

#[test]
fn further_moves_go_to_the_same_archive_or_to_another() {
    let place = Place::new();
    sample(&place);
    let (one, two) = (beside(&place, "one"), beside(&place, "two"));
    archive(&place.log, &one, ArchivePlan::default()).unwrap();
    fill(&place.log, 100);
    let second = archive(&place.log, &two, ArchivePlan::default()).unwrap();
    assert_intact(&verified(&two));
    assert_together(&one, &two);
    assert_together(&two, &place.log);
    assert_eq!(head_of(&two).anchor_sequence, head_of(&one).newest_sequence);
    assert_eq!(head_of(&two).newest_sequence, second.moved.unwrap().1.sequence);
    // The first archive does not reach this log any more.
    fill(&place.log, 200);
    let refused = archive(&place.log, &one, ArchivePlan::default());
    let is_other = matches!(refused, Err(MoveError::Archive(ArchiveError::OtherArchive { .. })));
    assert!(is_other, "{refused:?}");
    assert_intact(&verified(&place.log));
}

#[test]
fn an_archive_of_another_log_or_another_place_is_refused() {
    let (place, other) = (Place::new(), Place::new());
    sample(&place);
    sample(&other);
    let (ours, theirs) = (beside(&place, "archive"), beside(&other, "archive"));
    archive(&place.log, &ours, ArchivePlan::default()).unwrap();
    archive(&other.log, &theirs, ArchivePlan::default()).unwrap();
    fill(&place.log, 100);
    let foreign = beside(&place, "foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("note"), "mine").unwrap();
    let before = contents(place.directory.path());
    let link = beside(&place, "link");
    std::os::unix::fs::symlink("archive", &link).unwrap();
    for wrong in [&theirs, &foreign, &other.log, &link] {
        let refused = archive(&place.log, wrong, ArchivePlan::default());
        let is_other =
            matches!(refused, Err(MoveError::Archive(ArchiveError::OtherArchive { .. })));
        assert!(is_other, "{}: {refused:?}", wrong.display());
    }
    for inside in [place.log.join("archive"), place.log.clone()] {
        let refused = archive(&place.log, &inside, ArchivePlan::default());
        assert!(matches!(refused, Err(MoveError::Inside { .. })), "{refused:?}");
    }
    let segments = |all: &std::collections::BTreeMap<PathBuf, Vec<u8>>| {
        let is_segment = |path: &&PathBuf| path.extension().is_some_and(|is| is == "seg");
        all.keys().filter(is_segment).cloned().collect::<Vec<_>>()
    };
    std::fs::remove_file(&link).unwrap();
    assert_eq!(segments(&contents(place.directory.path())), segments(&before));
    let found = both(&theirs, &place.log);
    assert_eq!(found.verdict, Verdict::Corrupt);
    assert!(!found.findings.is_empty());
}

#[test]
fn segments_that_an_interrupted_removal_left_are_no_part_of_the_log() {
    let place = Place::new();
    sample(&place);
    let archived = beside(&place, "archive");
    archive(&place.log, &archived, ArchivePlan::default()).unwrap();
    for segment in segments_of(&archived) {
        std::fs::copy(&segment, place.log.join("segments").join(segment.file_name().unwrap()))
            .unwrap();
    }
    let report = verified(&place.log);
    assert_intact(&report);
    assert_eq!(report.findings, []);
    assert!(report.axes.completeness.reason.contains("are no part of the log"));
    assert_together(&archived, &place.log);
    fill(&place.log, 1);
    // What the archive does not hold byte for byte stays.
    let first = segments_of(&place.log).remove(0);
    let mut bytes = std::fs::read(&first).unwrap();
    bytes[5_000] ^= 1;
    std::fs::write(&first, bytes).unwrap();
    let again = archive(&place.log, &archived, ArchivePlan::default()).unwrap();
    assert_eq!((again.moved, again.left_segments), (None, 1));
    assert!(again.removed_segments > 0 && first.exists());
    assert_intact(&verified(&place.log));
}

#[test]
fn handles_that_stood_in_what_was_moved_go_on_with_their_next_turn() {
    let place = Place::new();
    fill(&place.log, 2);
    let idle = engine(&place.log);
    idle.query(|_| ()).unwrap();
    let other = engine(&place.log);
    fill(&place.log, 60);
    other
        .archive(&DirectoryStorage::new(beside(&place, "archive")), ArchivePlan::default())
        .unwrap();
    other.close().unwrap();
    idle.submit(&origin(), (), &small(1)).unwrap().accepted().unwrap();
    let state = idle.query(holdpoint_domain::World::fingerprint).unwrap();
    idle.close().unwrap();
    assert_eq!(fingerprint_at(&place.log, newest(&place.log)), state);
    assert_intact(&verified(&place.log));
    assert_together(&beside(&place, "archive"), &place.log);
}

#[test]
fn tampering_with_the_beginning_or_with_the_archive_is_found() {
    let place = Place::new();
    sample(&place);
    let archived = beside(&place, "archive");
    let first = ArchivePlan { keep_segments: 1, ..ArchivePlan::default() };
    let anchor = archive(&place.log, &archived, first).unwrap().moved.unwrap().1;
    assert!(segments_of(&place.log).len() >= 2);
    let head = head_of(&place.log);
    let next = segments_of(&place.log).remove(1);
    let next_first: u64 = next.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    let whole = beside(&place, "whole");
    duplicate(&place.log, &whole);
    let corrupt = |what: &str| {
        let report = verified(&place.log);
        assert!(report.failed(), "{what}: {report:#?}");
        let options = EngineOptions::simulated().log(quiet());
        let opened = Engine::open_with(DirectoryStorage::new(&place.log), options);
        assert!(opened.is_err(), "{what}");
        duplicate(&whole, &place.log);
    };
    let forged = [
        (
            "an older anchor",
            Head { anchor_sequence: 0, anchor_link: Link::genesis(head.log), ..head },
        ),
        ("an anchor inside a segment", Head { anchor_sequence: anchor.sequence - 1, ..head }),
        ("another link", Head { anchor_link: Link([7; 32]), ..head }),
        (
            "a later anchor",
            Head { anchor_sequence: next_first - 1, anchor_link: link_before(&next), ..head },
        ),
    ];
    for (what, forged) in forged {
        std::fs::write(place.log.join("HEAD"), forged.encode()).unwrap();
        corrupt(what);
    }
    std::fs::remove_file(&segments_of(&place.log)[0]).unwrap();
    corrupt("the first segment removed by hand");
    let of_archive = segments_of(&archived).remove(0);
    let bytes = std::fs::read(&of_archive).unwrap();
    let mut damaged = bytes.clone();
    damaged[6_000] ^= 1;
    std::fs::write(&of_archive, damaged).unwrap();
    assert_eq!(both(&archived, &place.log).verdict, Verdict::Corrupt);
    std::fs::write(&of_archive, bytes).unwrap();
    assert_together(&archived, &place.log);
    std::fs::remove_file(segments_of(&archived).pop().unwrap()).unwrap();
    assert_eq!(both(&archived, &place.log).verdict, Verdict::Corrupt);
}

/// The link that a segment's header says is before it.
fn link_before(segment: &Path) -> Link {
    let bytes = std::fs::read(segment).unwrap();
    let header = holdpoint_log_format::SegmentHeader::decode(bytes.first_chunk().unwrap());
    header.unwrap().previous.link
}

#[test]
fn crash_at_every_call_of_a_move_loses_nothing_and_the_next_one_goes_on() {
    let directory = memory_directory();
    let (image, log) = (directory.path().join("image"), directory.path().join("log"));
    let archived = directory.path().join("archive");
    fill(&image, 40);
    let (mut points, mut after_head) = (0, 0);
    for side in [Side::Log, Side::Archive] {
        for call in CALLS {
            for takes_effect in [false, true] {
                let mut number = 0;
                loop {
                    number += 1;
                    duplicate(&image, &log);
                    drop(std::fs::remove_dir_all(&archived));
                    let failure = failure(call, number, takes_effect);
                    if !fails(side, &log, &archived, failure) {
                        break;
                    }
                    points += 1;
                    after_head += u32::from(head_of(&log).anchor_sequence > 0);
                    let what = format!("{side:?} {failure:?}");
                    check_after_crash(&what, &log, &archived);
                }
            }
        }
    }
    assert!(points >= 40 && after_head > 0, "{points} crash points, {after_head} after HEAD");
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Log,
    Archive,
}

fn failure(call: Call, number: u32, takes_effect: bool) -> Failure {
    Failure { call, number, takes_effect, kind: ErrorKind::Other, on: "", lasts: true }
}

/// Moves with a failure that lasts from its call on; says whether it was met.
fn fails(side: Side, log: &Path, archived: &Path, failure: Failure) -> bool {
    let (of_log, of_archive) = (FaultyStorage::new(log), FaultyStorage::new(archived));
    let engine = engine_on(of_log.clone());
    let failing = if side == Side::Log { &of_log } else { &of_archive };
    failing.fail(Some(failure));
    let moved = engine.archive(&of_archive, ArchivePlan::default());
    let hits = failing.hits();
    let is_tolerated = failure.call == Call::Punch;
    assert!(moved.is_err() || hits == 0 || is_tolerated, "{side:?} {failure:?}");
    drop(engine);
    hits > 0
}

fn check_after_crash(what: &str, log: &Path, archived: &Path) {
    // The program ends here: what it has left is looked at by the next one.
    let opened = engine(log);
    opened.close().unwrap();
    let report = verified(log);
    assert_eq!(report.verdict, Verdict::Intact, "{what}: {:#?}", report.findings);
    let of_archive = verified(archived);
    let is_well = matches!(of_archive.verdict, Verdict::Intact | Verdict::NothingHere);
    assert!(is_well, "{what}: {of_archive:#?}");
    let anchor = head_of(log).anchor_sequence;
    let reached = of_archive.head.map_or(0, |head| head.sequence);
    assert!(reached >= anchor, "{what}: {reached} of {anchor}");
    fill(log, 30);
    archive(log, archived, ArchivePlan::default()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let found = both(archived, log);
    assert_eq!(found.verdict, Verdict::Intact, "{what}: {found:#?}");
    assert_eq!(head_of(archived).newest_sequence, head_of(log).anchor_sequence, "{what}");
    assert_eq!(segments_of(log).len(), 1, "{what}");
}

#[test]
fn a_person_moves_records_and_verifies_both_together() {
    let place = Place::new();
    sample(&place);
    let output = place.holdpoint(&["archive", "archive", "--json"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let moved = json(&output);
    let anchor = moved["anchor_sequence"].as_u64().unwrap();
    assert_eq!(
        (moved["first_sequence"].as_u64(), moved["records"].as_u64()),
        (Some(1), Some(anchor))
    );
    let stated_by = newest(&place.log);
    assert_eq!(moved["stated_by"].as_u64(), Some(stated_by));
    let alone = place.holdpoint(&["verify"]);
    assert_eq!(status(&alone), 0);
    let told = format!("begins at record {}: the {anchor} records before it", anchor + 1);
    assert!(text(&alone.stdout).contains(&told), "{}", text(&alone.stdout));
    assert!(text(&alone.stdout).contains(&format!("record {stated_by} says so")));
    assert!(text(&alone.stdout).contains("--archive DIR"));
    let together = place.holdpoint(&["verify", "--archive", "archive", "--json"]);
    assert_eq!(status(&together), 0, "{}", text(&together.stdout));
    assert_eq!(json(&together)["verdict"], "intact");
    let shown = place.holdpoint(&["verify", "--archive", "archive"]);
    assert!(text(&shown.stdout).contains("together        intact"), "{}", text(&shown.stdout));
    let missing = place.holdpoint(&["verify", "--archive", "nowhere"]);
    assert_eq!(status(&missing), 3);
    let again = place.holdpoint(&["archive", "archive"]);
    assert_eq!(status(&again), 0);
    assert!(text(&again.stdout).contains("nothing"), "{}", text(&again.stdout));
    assert_eq!(status(&place.shell("echo more")), 0);
    assert_eq!(verified(&place.log).axes.meaning.state, AxisState::Proven);
    assert_eq!(place.loops().len(), 3);
}

#[test]
fn an_archive_is_read_and_never_written_to() {
    let place = Place::new();
    sample(&place);
    let archived = beside(&place, "archive");
    archive(&place.log, &archived, ArchivePlan::default()).unwrap();
    let before = contents(&archived);
    let options = EngineOptions::simulated().log(quiet());
    let opened = Engine::open_with(DirectoryStorage::new(&archived), options).map(drop);
    assert!(matches!(opened, Err(EngineError::Open(OpenError::Archive { .. }))), "{opened:?}");
    let of_archive = Place { log: archived.clone(), directory: tempfile::tempdir().unwrap() };
    let said = format!("is an archive of log {}", head_of(&archived).log);
    for (arguments, code) in [
        (&["run", "--hold", "never", "--", "true"][..], 125),
        (&["decision", "expire"], 5),
        (&["archive", "further"], 5),
    ] {
        let output = of_archive.holdpoint(arguments);
        assert_eq!(status(&output), code, "{arguments:?}");
        assert!(text(&output.stderr).contains(&said), "{}", text(&output.stderr));
    }
    assert_eq!(status(&of_archive.holdpoint(&["replay"])), 0);
    assert_eq!(contents(&archived), before);
    // Copies of it are logs.
    let (copied, salvaged) = (beside(&place, "copied"), beside(&place, "salvaged"));
    copy_directory(&archived, &copied, &mut |_, _| {}).unwrap();
    let words = ["copy", "--salvage", archived.to_str().unwrap(), salvaged.to_str().unwrap()];
    assert_eq!(status(&place.holdpoint(&words)), 0);
    for log in [copied, salvaged] {
        fill(&log, 1);
        assert_intact(&verified(&log));
    }
}

#[test]
fn an_unfinished_archive_is_named_as_one_and_finished_by_the_next_move() {
    let place = Place::new();
    sample(&place);
    let archived = beside(&place, "archive");
    std::fs::create_dir_all(archived.join("segments")).unwrap();
    std::fs::write(archived.join("ARCHIVE"), "").unwrap();
    std::fs::write(archived.join("segments/00000000000000000001.prepared"), "").unwrap();
    let head = head_of(&place.log);
    let position = ChainPosition::genesis(head.log);
    let at_anchor = Head::at_anchor(head.log, &position, head.boot);
    for content in [None, Some(at_anchor.encode())] {
        if let Some(content) = content {
            std::fs::write(archived.join("HEAD"), content).unwrap();
        }
        for words in [&["verify", "--log", "archive"][..], &["verify", "--archive", "archive"]] {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_holdpoint"));
            command.current_dir(place.directory.path()).env("HOLDPOINT_LOG", &place.log);
            let said = text(&command.args(words).output().unwrap().stderr);
            assert!(said.contains("unfinished archive"), "{said}");
            assert!(said.contains("archive"), "{said}");
        }
        let options = EngineOptions::simulated().log(quiet());
        let opened = Engine::open_with(DirectoryStorage::new(&archived), options).map(drop);
        assert!(matches!(opened, Err(EngineError::Open(OpenError::Archive { .. }))));
    }
    archive(&place.log, &archived, ArchivePlan::default()).unwrap();
    assert_together(&archived, &place.log);
}

#[test]
fn a_directory_with_the_name_of_a_file_that_is_made_anew_is_named_with_what_to_do() {
    let place = Place::new();
    sample(&place);
    let archive = place.directory.path().join("archive");
    let first = names::prepared(1);
    let in_the_way = [
        (place.log.join(names::HEAD_TEMPORARY), names::HEAD_TEMPORARY),
        (archive.join(names::SEGMENTS).join(&first), &first),
    ];
    for (directory, name) in in_the_way {
        std::fs::create_dir_all(&directory).unwrap();
        let output = place.holdpoint(&["archive", archive.to_str().unwrap()]);
        let said = text(&output.stderr);
        assert_eq!(status(&output), 1, "{said}");
        assert!(said.contains(name) && said.contains("a directory has the name"), "{said}");
        std::fs::remove_dir(&directory).unwrap();
        std::fs::remove_dir_all(&archive).unwrap_or_default();
    }
}
