//! A log whose directory or files somebody moves, replaces or cuts while it is open: what is put in
//! their place is never written, and the next write fails by name.

use holdpoint_domain::Command;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_engine::Engine;
use holdpoint_engine::log::{AppendError, Level, Log, Options};
use holdpoint_engine::shell::EngineOptions;
use holdpoint_log_format::recovery::Row;
use holdpoint_testing::log::{
    append, append_each, content_of, exclusive, open, open_reporting, quiet, record, records_of,
    segments_of, survey_whole,
};
use holdpoint_testing::shell::commands::initialize;
use holdpoint_testing::shell::{Place, origin};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Records that were acknowledged before anything is moved: so many fill no segment.
const ACKNOWLEDGED: u64 = 4;

fn ownerships() -> [(&'static str, Options); 2] {
    [("in turns", quiet()), ("exclusive", exclusive())]
}

/// Two logs beside each other, the first one open.
struct Beside {
    place: TempDir,
    log: Log,
}

impl Beside {
    fn new(options: Options) -> Self {
        let place = tempfile::tempdir().unwrap();
        let other = open(&place.path().join("other"), quiet());
        append_each(&other, 100..102, 100);
        other.close().unwrap();
        let log = open(&place.path().join("log"), options);
        append_each(&log, 1..ACKNOWLEDGED + 1, 100);
        Self { place, log }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn active(&self) -> PathBuf {
        segments_of(&self.at("log")).pop().unwrap()
    }
}

fn tags_of(directory: &Path) -> Vec<u64> {
    records_of(directory).iter().map(|one| one.tag()).collect()
}

fn append_once(log: &Log, length: usize, level: Level) -> Result<(), String> {
    let appended = log.append(&[record(50, length)], 50, level);
    appended.map(drop).map_err(|error| error.to_string())
}

/// Ways to write to a log, each of which touches other files.
type Write = fn(Log) -> Result<(), String>;

const WRITES: [(&str, Write); 5] = [
    ("an append", |log| append_once(&log, 100, Level::Always)),
    ("an append with its witness", |log| append_once(&log, 100, Level::Witnessed)),
    ("a roll", |log| append_once(&log, 200_000, Level::Always)),
    ("a written record and its commit", |log| {
        append_once(&log, 100, Level::Os)?;
        log.commit(ACKNOWLEDGED + 1, Level::Always).map_err(|error| error.to_string())
    }),
    ("a close", |log| log.close().map_err(|error| error.to_string())),
];

#[test]
fn a_log_put_in_the_place_of_an_open_one_is_never_written() {
    for ((who, options), (what, write)) in
        ownerships().into_iter().flat_map(|it| WRITES.map(|write| (it.clone(), write)))
    {
        let beside = Beside::new(options);
        let [log_at, other_at, away] = ["log", "other", "away"].map(|name| beside.at(name));
        fs::rename(&log_at, &away).unwrap();
        fs::rename(&other_at, &log_at).unwrap();
        let before = content_of(&log_at);
        let Beside { place: _place, log } = beside;
        let refused = write(log).unwrap_err();
        for path in [&log_at, &away] {
            assert!(refused.contains(&*path.to_string_lossy()), "{who}, {what}: {refused}");
        }
        assert_eq!(content_of(&log_at), before, "{who}, {what}");
        assert_eq!((survey_whole(&log_at).row, tags_of(&log_at)), (Row::Clean, vec![100, 101]));
        let (log, report) = open_reporting(&away, quiet());
        assert!(report.position.sequence >= ACKNOWLEDGED, "{who}, {what}: {report:?}");
        append(&log, 60, 100);
        log.close().unwrap();
        let kept = tags_of(&away);
        assert!(
            kept.starts_with(&[1, 2, 3, 4]) && kept.ends_with(&[60]),
            "{who}, {what}: {kept:?}"
        );
        assert_eq!(survey_whole(&away).row, Row::Clean, "{who}, {what}");
    }
}

#[test]
fn who_waits_for_a_log_that_another_takes_the_place_of_opens_the_one_that_is_there() {
    let Beside { place, log } = Beside::new(exclusive());
    let [log_at, other_at, away] = ["log", "other", "away"].map(|name| place.path().join(name));
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| open(&log_at, quiet()));
        fs::rename(&log_at, &away).unwrap();
        fs::rename(&other_at, &log_at).unwrap();
        drop(log);
        let other = opened.join().unwrap();
        append(&other, 102, 100);
        other.close().unwrap();
    });
    assert_eq!(tags_of(&log_at), [100, 101, 102]);
    assert_eq!(tags_of(&away), [1, 2, 3, 4]);
}

/// A change to the files of the first log, and what is said of it.
type Change = (&'static str, fn(&Beside), &'static [&'static str]);

const CHANGES: [Change; 8] = [
    ("cut short", |it| cut(&it.active(), 4_096), &["segments/", "4096 bytes long", "65536"]),
    ("cut behind its records", |it| cut(&it.active(), 8_192), &["segments/", "8192 bytes long"]),
    (
        "replaced by a copy",
        |it| {
            fs::copy(it.active(), it.at("copy")).unwrap();
            fs::rename(it.at("copy"), it.active()).unwrap();
        },
        &["segments/", "another file has its name (device", "inode"],
    ),
    (
        "moved away, a copy in its place",
        |it| {
            let active = it.active();
            fs::rename(&active, it.at("moved")).unwrap();
            fs::copy(it.at("moved"), &active).unwrap();
        },
        &["segments/", "another file has its name (device", "inode"],
    ),
    (
        "removed",
        |it| fs::remove_file(it.active()).unwrap(),
        &["segments/", "nothing has its name any more", "the file that was opened is device"],
    ),
    (
        "another log's HEAD",
        |it| {
            fs::copy(it.at("other/HEAD"), it.at("copy")).unwrap();
            fs::rename(it.at("copy"), it.at("log/HEAD")).unwrap();
        },
        &["HEAD", "it is of log", "the log that was opened is"],
    ),
    (
        "another log's HEAD, in place",
        |it| {
            fs::copy(it.at("other/HEAD"), it.at("log/HEAD")).unwrap();
        },
        &["HEAD", "it is of log", "the log that was opened is"],
    ),
    ("no directory", |it| fs::remove_dir_all(it.at("log")).unwrap(), &["was opened", "inode"]),
];

fn cut(file: &Path, length: u64) {
    File::options().write(true).open(file).unwrap().set_len(length).unwrap();
}

/// The files of the log but for LOCK, which says who has it.
fn files_of(log: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = if log.exists() { content_of(log) } else { BTreeMap::new() };
    files.remove(&log.join("LOCK"));
    files
}

#[test]
fn a_change_to_the_files_of_an_open_log_fails_the_next_write_and_nothing_is_written() {
    for ((who, options), (what, change, said)) in
        ownerships().into_iter().flat_map(|it| CHANGES.map(|change| (it.clone(), change)))
    {
        let beside = Beside::new(options);
        change(&beside);
        let before = files_of(&beside.at("log"));
        let refused = append_once(&beside.log, 100, Level::Always).unwrap_err();
        for words in said {
            assert!(refused.contains(words), "{who}, {what}: {refused}");
        }
        let again = beside.log.append(&[record(51, 100)], 51, Level::Always);
        assert!(matches!(again, Err(AppendError::Poisoned(_))), "{who}, {what}: {again:?}");
        assert_eq!(files_of(&beside.at("log")), before, "{who}, {what}");
    }
}

#[test]
fn what_was_acknowledged_before_a_change_is_read_through_the_failed_handle_and_by_others() {
    for (who, options) in ownerships() {
        let beside = Beside::new(options);
        let (head, kept) = (beside.at("log/HEAD"), beside.at("HEAD"));
        fs::copy(&head, &kept).unwrap();
        fs::copy(beside.at("other/HEAD"), &head).unwrap();
        append_once(&beside.log, 100, Level::Always).unwrap_err();
        let mut read = Vec::new();
        let whole = beside.log.read_from(1, &mut |_, record| {
            read.push(record.header.sequence);
            ControlFlow::Continue(())
        });
        assert!(whole.is_ok() && read == [1, 2, 3, 4], "{who}: {read:?} {whole:?}");
        fs::rename(&kept, &head).unwrap();
        let Beside { place, log } = beside;
        drop(log);
        let log = open(&place.path().join("log"), quiet());
        append(&log, 5, 100);
        log.close().unwrap();
        assert_eq!(tags_of(&place.path().join("log")), [1, 2, 3, 4, 5], "{who}");
    }
}

#[test]
fn an_engine_whose_directory_was_moved_records_nothing_in_the_log_that_took_its_place() {
    let (place, other) = (Place::new(), Place::new());
    let engine = Engine::open_with(place.storage(), EngineOptions::simulated()).unwrap();
    let begin = || Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize(1)));
    engine.submit(&origin(), (), &begin()).unwrap().accepted().unwrap();
    Engine::open_with(other.storage(), EngineOptions::simulated()).unwrap().close().unwrap();
    let away = place.beside("away");
    fs::rename(place.log(), &away).unwrap();
    fs::rename(other.log(), place.log()).unwrap();
    let before = content_of(&place.log());
    let refused = engine.submit(&origin(), (), &begin()).unwrap_err().to_string();
    assert!(refused.contains(&*away.to_string_lossy()), "{refused}");
    assert!(engine.close().is_err());
    assert_eq!(content_of(&place.log()), before);
    assert!(!records_of(&away).is_empty());
}
