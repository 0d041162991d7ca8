//! `log -f`: the newest records, and every one that follows, each once and in order, across
//! rolls and archives, until nobody reads any more.

use crate::archive_support::duplicate;
use crate::filler::fill;
use crate::program::{Place, json, status, text};
use crate::records_support::besides_reach;
use holdpoint_domain::Envelope;
use holdpoint_domain::log::ClockStepped;
use holdpoint_domain::world::envelope::{self, Encoded};
use holdpoint_engine::log::{Level, Log, NewRecord, Options};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::names;
use holdpoint_testing::hand_made;
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Lines, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

/// So many fill more than a segment.
const FILLERS: u64 = 40;

/// A log with records in it.
fn place() -> Place {
    let place = Place::new();
    fill(&place.log, FILLERS);
    place
}

/// A tail that follows.
struct Tailing {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Tailing {
    fn start(place: &Place, options: &[&str]) -> Self {
        Self::of(place, &[&["log", "-f", "--json"], options].concat())
    }

    fn of(place: &Place, words: &[&str]) -> Self {
        let mut command = place.command(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    fn next_sequence(&mut self) -> u64 {
        self.next()["sequence"].as_u64().unwrap()
    }

    /// The same, where it is not told to end.
    fn ended_by_itself(mut self) -> (std::process::ExitStatus, String) {
        assert!(self.lines.next().is_none());
        self.ended()
    }

    /// Exit status and standard error, but for the reach.
    fn ended(mut self) -> (std::process::ExitStatus, String) {
        drop(self.lines);
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (self.child.wait().unwrap(), besides_reach(&stderr))
    }
}

fn newest(place: &Place) -> u64 {
    json(&place.holdpoint(&["log", "--stat", "--json"]))["records"].as_u64().unwrap()
}

#[test]
fn the_newest_so_many_records_are_shown() {
    let place = place();
    let newest = newest(&place);
    for (options, count) in [(&["-n", "10"][..], 10), (&["-n", "3"], 3), (&["-n", "1"], 1)] {
        let output = place.holdpoint(&[&["log", "--json"], options].concat());
        let said = besides_reach(&text(&output.stderr));
        assert_eq!((status(&output), said.as_str()), (0, ""));
        let shown: Vec<u64> = text(&output.stdout)
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["sequence"].as_u64().unwrap())
            .collect();
        assert_eq!(shown, (newest + 1 - count..=newest).collect::<Vec<u64>>());
    }
    let all = place.holdpoint(&["log", "-n", "100000"]);
    assert_eq!(text(&all.stdout).lines().count() as u64, newest);
    let some = place.holdpoint(&["log", "-n", "2", "kind=log.command_refused"]);
    assert_eq!(text(&some.stdout).lines().count(), 2);
    let none = place.holdpoint(&["log", "-n", "10", "actor=nobody-of-that-name"]);
    assert_eq!(status(&none), 3);
}

#[test]
fn where_the_newest_segment_cannot_be_read_what_is_before_it_is_shown_and_that_it_is_damaged() {
    let place = place();
    let segments = place.log.join("segments");
    let listed = std::fs::read_dir(&segments).unwrap().map(|entry| entry.unwrap().path());
    let last = listed.filter(|path| path.extension().is_some_and(|is| is == "seg")).max().unwrap();
    let first: u64 = last.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    assert!(first > 1);
    let spoil: [fn(&Path); 2] = [
        |file| std::fs::write(file, "").unwrap(),
        |file| {
            std::fs::remove_file(file).unwrap();
            std::fs::create_dir(file).unwrap();
        },
    ];
    for spoil in spoil {
        spoil(&last);
        for options in [&["-n", "3", "--json"][..], &["-n", "3", "--json", "-f"]] {
            let output = place.holdpoint(&[&["log"], options].concat());
            assert_eq!(status(&output), 6, "{}", text(&output.stderr));
            assert!(text(&output.stderr).contains(" verify`"), "{}", text(&output.stderr));
            let shown = text(&output.stdout);
            let shown = shown.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let shown: Vec<u64> = shown.filter_map(|line| line["sequence"].as_u64()).collect();
            assert_eq!(shown, [first - 3, first - 2, first - 1]);
        }
    }
}

#[test]
fn what_is_written_is_shown_once_and_in_order_across_rolls() {
    let place = place();
    let begin = newest(&place);
    let mut tailing = Tailing::start(&place, &["-n", "2"]);
    let first = tailing.next_sequence();
    assert!(first >= begin - 1);
    let mut due = first + 1;
    for round in 1..=3 {
        fill(&place.log, FILLERS);
        let until = begin + round * FILLERS;
        while due <= until {
            assert_eq!(tailing.next_sequence(), due);
            due += 1;
        }
    }
    tailing.child.kill().unwrap();
    let (_, stderr) = tailing.ended();
    assert_eq!(stderr, "");
}

#[test]
fn a_filter_holds_for_what_is_written_later() {
    let place = place();
    let mut tailing = Tailing::start(&place, &["-n", "1", "kind=execution_loop.initialized"]);
    assert_eq!(status(&place.shell("true")), 0);
    assert_eq!(tailing.next()["kind"], "execution_loop.initialized");
    assert_eq!(status(&place.shell("true")), 0);
    assert_eq!(tailing.next()["kind"], "execution_loop.initialized");
    tailing.child.kill().unwrap();
    tailing.ended();
}

/// What cannot be read may be about what is asked for: it is told as where nothing is followed.
#[test]
fn a_record_that_cannot_be_read_is_told_to_who_follows_an_id() {
    let place = place();
    let event = hand_made::envelope(ClockStepped { step_ns: 1 }.into());
    let story = Envelope { correlation: "later".into(), ..event };
    let Encoded { kind, version, payload } = envelope::encode(&story).unwrap();
    let wanted = NewRecord { kind, version, payload };
    let garbled = NewRecord { payload: vec![0xff; 9], ..wanted.clone() };
    let append = |record: &NewRecord| {
        let (log, _) = Log::open(DirectoryStorage::new(&place.log), Options::default()).unwrap();
        log.append_any_kind(std::slice::from_ref(record), 0, Level::Always).unwrap();
        log.close().unwrap();
    };
    append(&wanted);
    let newest = newest(&place);
    let mut tailing = Tailing::start(&place, &["-n", "1", "correlation=later"]);
    assert_eq!(tailing.next_sequence(), newest);
    [&garbled, &wanted].into_iter().for_each(append);
    assert_eq!(tailing.next_sequence(), newest + 2);
    tailing.child.kill().unwrap();
    let (_, stderr) = tailing.ended();
    let due = format!("sequence {}: ", newest + 1);
    assert!(stderr.contains(&due) && stderr.contains("verify` tells all"), "{stderr}");
    let output = place.holdpoint(&["log", "-n", "2", "correlation=later", "--json"]);
    assert_eq!((status(&output), besides_reach(&text(&output.stderr))), (6, stderr));
}

#[test]
fn following_goes_on_when_the_first_segments_move_to_an_archive() {
    let place = place();
    let begin = newest(&place);
    let mut tailing = Tailing::start(&place, &["-n", "1"]);
    assert_eq!(tailing.next_sequence(), begin);
    let output = place.holdpoint(&["archive", "archive", "--json"]);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    fill(&place.log, FILLERS);
    for due in begin + 1..=begin + FILLERS {
        assert_eq!(tailing.next_sequence(), due);
    }
    tailing.child.kill().unwrap();
    let (_, stderr) = tailing.ended();
    assert_eq!(stderr, "");
}

#[test]
fn it_ends_quietly_when_nobody_reads_any_more_and_on_ctrl_c() {
    let place = place();
    let begin = newest(&place);
    let mut tailing = Tailing::start(&place, &["-n", "1"]);
    assert_eq!(tailing.next_sequence(), begin);
    // Nothing more is written, which it could not be told by.
    let (ended, stderr) = tailing.ended();
    assert_eq!((ended.success(), stderr.as_str()), (true, ""));

    let mut tailing = Tailing::start(&place, &["-n", "1"]);
    tailing.next();
    let pid = Pid::from_child(&tailing.child);
    kill_process(pid, Signal::INT).unwrap();
    let (ended, stderr) = tailing.ended();
    assert_eq!((ended.signal(), stderr.as_str()), (Some(Signal::INT.as_raw()), ""));
}

#[test]
fn where_there_is_no_log_there_is_nothing_to_follow() {
    let place = Place::new();
    for options in [&[][..], &["-f"]] {
        let output = place.holdpoint(&[&["log"], options].concat());
        assert_eq!((status(&output), text(&output.stdout).as_str()), (3, ""));
        assert!(text(&output.stderr).contains("no such directory"));
    }
}

/// Puts an older copy in the place of a log, at once.
fn set_back(place: &Place, older: &Path) {
    renameat_with(CWD, older, CWD, &place.log, RenameFlags::EXCHANGE).unwrap();
}

/// That the log was set back behind a record, up to which it is there.
fn assert_told(tailing: Tailing, seen: u64, now: u64) {
    let (ended, stderr) = tailing.ended_by_itself();
    assert_eq!(ended.code(), Some(6), "{stderr}");
    for words in [format!("record {seen} was the newest"), format!("record {now}")] {
        assert!(stderr.contains("set back") && stderr.contains(&words), "{words}: {stderr}");
    }
}

#[test]
fn that_a_log_is_set_back_while_it_is_followed_is_told_with_what_was_seen_and_what_is_there() {
    let place = place();
    let (begin, older) = (newest(&place), place.directory.path().join("older"));
    duplicate(&place.log, &older);
    let mut tailing = Tailing::start(&place, &["-n", "1"]);
    assert_eq!(tailing.next_sequence(), begin);
    fill(&place.log, 2);
    assert_eq!([tailing.next_sequence(), tailing.next_sequence()], [begin + 1, begin + 2]);
    set_back(&place, &older);
    assert_told(tailing, begin + 2, begin);
    set_back(&place, &older);
    let mut tailing = Tailing::start(&place, &["-n", "1"]);
    tailing.next();
    fill(&place.log, 1);
    assert_eq!(tailing.next_sequence(), begin + 3);
    std::fs::rename(older.join(names::HEAD), place.log.join(names::HEAD)).unwrap();
    assert_told(tailing, begin + 3, begin);
}

#[test]
fn that_a_log_is_set_back_is_told_to_who_follows_its_runs() {
    let place = Place::with_log();
    assert_eq!(status(&place.shell("true")), 0);
    let (begin, older) = (newest(&place), place.directory.path().join("older"));
    duplicate(&place.log, &older);
    let mut tailing = Tailing::of(&place, &["runs", "--follow", "--json"]);
    tailing.next();
    assert_eq!(status(&place.shell("echo later")), 0);
    while tailing.next()["outcome"] != "ok" {}
    let seen = newest(&place);
    set_back(&place, &older);
    assert_told(tailing, seen, begin);
}

#[test]
fn that_head_is_lost_while_a_log_is_followed_is_told_as_verify_tells_it() {
    let lose: [fn(&Path); 3] = [
        |head| std::fs::remove_file(head).unwrap(),
        |head| std::fs::write(head, "garbage").unwrap(),
        |head| {
            std::fs::remove_file(head).unwrap();
            mknodat(CWD, head, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        },
    ];
    let place = Place::with_log();
    assert_eq!(status(&place.shell("true")), 0);
    let (head, kept) = (place.log.join(names::HEAD), place.directory.path().join("HEAD"));
    std::fs::copy(&head, &kept).unwrap();
    for lose in lose {
        for words in [&["log", "-f", "-n", "1"][..], &["runs", "--follow", "-n", "1"]] {
            for json in [&[][..], &["--json"]] {
                let mut tailing = Tailing::of(&place, &[words, json].concat());
                // As text, runs stand below their heading.
                let lines = if words[0] == "runs" && json.is_empty() { 2 } else { 1 };
                (0..lines).for_each(|_| assert!(tailing.lines.next().is_some()));
                lose(&head);
                let (ended, stderr) = tailing.ended_by_itself();
                assert_eq!(ended.code(), Some(6), "{words:?}: {stderr}");
                assert!(stderr.contains("HEAD") && stderr.contains("verify`"), "{stderr}");
                std::fs::remove_file(&head).unwrap_or_default();
                std::fs::copy(&kept, &head).unwrap();
            }
        }
    }
}

/// Records are put into a log whose HEAD stays as it was: a writer that was killed leaves it so.
#[test]
fn what_stays_without_a_witness_is_said_once_to_whoever_follows() {
    for words in [&["log", "-f"][..], &["runs", "--follow"]] {
        let mut place = Place::with_log();
        assert_eq!(status(&place.shell("true")), 0);
        let (log, ahead) = (place.log.clone(), place.directory.path().join("ahead"));
        let said = format!("no witness yet from record {}", newest(&place) + 1);
        duplicate(&log, &ahead);
        let mut tailing = Tailing::of(&place, words);
        assert!(tailing.lines.next().is_some());
        place.log = ahead;
        assert_eq!(status(&place.shell("echo later")), 0);
        let segment = segment_path(1);
        std::fs::rename(place.log.join(&segment), log.join(&segment)).unwrap();
        let stderr = BufReader::new(tailing.child.stderr.take().unwrap());
        let mut told = stderr.lines().map(Result::unwrap);
        assert!(told.any(|line| line.contains(&said)), "{words:?}");
        tailing.child.kill().unwrap();
        assert!(!told.any(|line| line.contains("no witness yet")), "{words:?}");
        tailing.child.wait().unwrap();
    }
}
