//! Two programs that share no line of code say the same of every log: `holdpoint verify`, and
//! `replay/verify.py`, which was written from FORMAT.md alone. Intact logs, archived, salvaged and
//! withheld ones, forged beginnings, logs with their archives, and every kind of single damage: the
//! same row, the same verdict, the same first bad place, the same records tied to HEAD.

use crate::filler::fill;
use crate::program;
use crate::program::{Place, skip, status, text};
use crate::tamper::memory::{ACTIVE, Image, SEALED};
use crate::verify_py_support;
use crate::verify_py_support::Damage;
use holdpoint_domain::log::ClockStepped;
use holdpoint_log_files::{DirectoryStorage, LogReader, Ties};
use holdpoint_log_format::{Flags, Head, LogId, SegmentHeader, names};
use holdpoint_replay::machine::this_boot;
use holdpoint_replay::{Problem, ReadOptions, Report, Verdict, verify};
use holdpoint_testing::hand_made as support;
use holdpoint_testing::hand_made::{HandMadeLog, change_head, encoded};
use holdpoint_testing::part::part;
use rustix::io::Errno;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Reads paths, one a line, and answers each with what the verifier says of the log there.
const DRIVER: &str = r#"
import importlib.util, json, pathlib, sys
spec = importlib.util.spec_from_file_location("verify", sys.argv[1])
verify = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verify)
for line in sys.stdin:
    log = verify.settled(pathlib.Path(line.rstrip("\n")))
    first = list(log.findings[0][:3]) if log.findings else None
    said = {"row": log.row, "verdict": log.verdict, "first": first}
    print(json.dumps(said | {"standing": verify.standing(log)}), flush=True)
"#;

pub(crate) fn verifier() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("replay/verify.py")
}

pub(crate) fn python(arguments: &[&str]) -> Command {
    let mut python = Command::new("python3");
    python.arg("-B").args(arguments);
    python
}

/// Whether there is a Python to compare with; says so where there is none.
pub(crate) fn has_python() -> bool {
    let is_there = python(&["--version"]).output().is_ok_and(|output| output.status.success());
    if !is_there {
        skip("no python3 here, so verify.py is not compared with `holdpoint verify`");
    }
    is_there
}

// ---- What both say -----------------------------------------------------------------------------

/// What a verifier says, as far as both can: one of them knows nothing of events.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) row: u64,
    pub(crate) verdict: String,
    pub(crate) first: Option<(String, u64, u64)>,
}

impl Said {
    pub(crate) fn of_report(report: &Report) -> Self {
        let of_bytes =
            |finding: &&holdpoint_replay::Finding| matches!(finding.problem, Problem::Log(_));
        let places = report.findings.iter().filter(of_bytes).map(|finding| &finding.place);
        let first = places.min_by_key(|place| (place.file.contains('/'), *place));
        let unstated = report.findings.iter().find(|finding| is_unstated(finding));
        let first = first.or(unstated.map(|finding| &finding.place));
        let is_unproven = report.row == 12 || report.unproven.is_some();
        let verdict = match report.verdict {
            Verdict::ForbiddenEvents if unstated.is_some() => Verdict::ForbiddenEvents,
            Verdict::ForbiddenEvents if !report.unproven_records.is_empty() => {
                Verdict::UnprovenRecords
            }
            Verdict::ForbiddenEvents if is_unproven || is_contradicted(report) => {
                Verdict::TailUnproven
            }
            Verdict::ForbiddenEvents => Verdict::Intact,
            of_bytes => of_bytes,
        };
        Self {
            row: report.row.into(),
            verdict: verdict.to_string(),
            first: first.map(|place| (place.file.clone(), place.offset, place.sequence)),
        }
    }

    pub(crate) fn of_python(said: &Value) -> Self {
        let first = said["first"].as_array().map(|first| {
            let file = first[0].as_str().unwrap().to_string();
            (file, first[1].as_u64().unwrap(), first[2].as_u64().unwrap())
        });
        let verdict = said["verdict"].as_str().unwrap().to_string();
        Self { row: said["row"].as_u64().unwrap(), verdict, first }
    }
}

/// A file beside the log tells of records that it does not have.
fn is_contradicted(report: &Report) -> bool {
    report.axes.completeness.reason.starts_with("unproven: ")
}

/// The one finding about events that both know.
pub(crate) fn is_unstated(finding: &holdpoint_replay::Finding) -> bool {
    matches!(finding.problem, Problem::BeginningUnstated { .. })
}

/// First and last record, and how they stand.
pub(crate) type Part = (u64, u64, String);

/// Records at either end of a part that are compared: a forged HEAD can name 2^64 of them.
pub(crate) const COMPARED: u64 = 20;

/// Asserts that the ties of the reading verbs, without any index, and what records say is unproven,
/// say the same of these records. They do not tell a withheld payload from one that is
/// there.
pub(crate) fn assert_standing(directory: &Path, parts: &[Part], what: &str) {
    let storage = DirectoryStorage::new(directory);
    let reader = LogReader::of(&storage).unwrap();
    let mut ties = Ties::begin(&reader);
    while ties.due(&reader).is_some() {
        ties.read(&reader, &mut Vec::new(), &mut |_, _| {}).unwrap();
    }
    let unproven = report(directory).unproven_records;
    let is_said = |at: u64| unproven.iter().any(|range| (range.first..=range.last).contains(&at));
    for (first, last, standing) in parts {
        let behind_first = first.saturating_add(COMPARED).min(*last);
        let before_last = last.saturating_sub(COMPARED).max(*first);
        for sequence in (*first..=behind_first).chain(before_last..=*last) {
            let by_ties = ties.standing_of(sequence).name();
            let found = if is_said(sequence) { "unproven" } else { by_ties };
            let stated = if standing == "withheld" { "proven" } else { standing };
            assert_eq!(stated, found, "{what}: record {sequence} of {parts:?}");
        }
    }
}

pub(crate) fn rust(directory: &Path) -> Said {
    Said::of_report(&report(directory))
}

pub(crate) fn report(directory: &Path) -> Report {
    let storage = DirectoryStorage::new(directory);
    let options = ReadOptions::new(this_boot(), &|| Ok(false));
    verify(&storage, options, &mut |_| {}).unwrap()
}

/// A Python that verifies one directory after another.
pub(crate) struct Verifier {
    python: Child,
    paths: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Verifier {
    pub(crate) fn start() -> Self {
        let mut command = python(&["-c", DRIVER]);
        command.arg(verifier()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut python = command.spawn().unwrap();
        let answers = BufReader::new(python.stdout.take().unwrap());
        let paths = python.stdin.take();
        Self { python, paths, answers }
    }

    pub(crate) fn verify(&mut self, directory: &Path) -> Said {
        let (said, parts) = self.verify_with_standing(directory);
        assert_standing(directory, &parts, &directory.display().to_string());
        said
    }

    pub(crate) fn verify_with_standing(&mut self, directory: &Path) -> (Said, Vec<Part>) {
        writeln!(self.paths.as_mut().unwrap(), "{}", directory.display()).unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        let said = serde_json::from_str(&answer);
        let said: Value = said.unwrap_or_else(|error| panic!("{directory:?}: {error}: {answer:?}"));
        (Said::of_python(&said), serde_json::from_value(said["standing"].clone()).unwrap())
    }
}

impl Drop for Verifier {
    fn drop(&mut self) {
        drop(self.paths.take());
        let ended = self.python.wait();
        assert!(ended.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Asserts that both say the same of every image; gives how many said which verdict.
pub(crate) fn assert_agreement(damages: &[Damage]) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let share = damages.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for damages in damages.chunks(share) {
            scope.spawn(|| compare(damages));
        }
    });
}

pub(crate) fn compare(damages: &[Damage]) {
    let mut verifier = Verifier::start();
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(names::SEGMENTS)).unwrap();
    for (what, image) in damages {
        for file in [names::HEAD, names::LOCK, SEALED, ACTIVE] {
            fs::write(directory.path().join(file), image.bytes(file)).unwrap();
        }
        let (said, parts) = verifier.verify_with_standing(directory.path());
        assert_eq!(said, rust(directory.path()), "{what}");
        assert_standing(directory.path(), &parts, what);
    }
}

// ---- One damage at a time ----------------------------------------------------------------------

#[test]
fn both_verifiers_name_the_same_place_for_every_single_damage() {
    if !has_python() {
        return;
    }
    let damages = verify_py_support::all(&Image::sample());
    assert!(damages.len() > 2_500, "{}", damages.len());
    assert_agreement(&part(damages, 6));
}

#[test]
fn both_verifiers_tell_a_torn_tail_from_damage_whoever_left_it() {
    if !has_python() {
        return;
    }
    let unwitnessed = verify_py_support::unwitnessed(&Image::sample());
    let mut damages = Vec::new();
    for (owner, image) in verify_py_support::owners(&unwitnessed) {
        let tails = verify_py_support::tails(&image).into_iter();
        damages.extend(tails.map(|(what, image)| (format!("{what}, owner {owner}"), image)));
    }
    assert!(damages.len() > 600, "{}", damages.len());
    assert_agreement(&damages);
}

#[test]
fn both_verifiers_agree_on_files_that_are_missing_moved_or_of_another_kind() {
    if !has_python() {
        return;
    }
    let mut verifier = Verifier::start();
    for (what, change) in changes() {
        let directory = tempfile::tempdir().unwrap();
        Image::sample().write(directory.path());
        change(directory.path());
        let (said, parts) = verifier.verify_with_standing(directory.path());
        assert_eq!(said, rust(directory.path()), "{what}");
        // Where a name that is no segment's is wrong, `verify` looks at no segment; the reading
        // verbs do.
        if !["cut is a file", "ARCHIVE is a directory"].iter().any(|wrong| what.contains(wrong)) {
            assert_standing(directory.path(), &parts, what);
        }
    }
}

type Change = (&'static str, fn(&Path));

/// What becomes of names in the directory.
fn changes() -> Vec<Change> {
    pub(crate) fn gone(directory: &Path, name: &str) {
        fs::remove_file(directory.join(name)).unwrap();
    }
    pub(crate) fn linked(directory: &Path, name: &str) {
        fs::rename(directory.join(name), directory.join("elsewhere")).unwrap();
        symlink(directory.join("elsewhere"), directory.join(name)).unwrap();
    }
    pub(crate) fn renamed(directory: &Path, from: &str, to: u64) {
        let to = directory.join(names::SEGMENTS).join(names::segment(to));
        fs::rename(directory.join(from), to).unwrap();
    }
    pub(crate) fn blank(directory: &Path, first: u64) {
        let file = directory.join(names::SEGMENTS).join(names::segment(first));
        fs::write(file, vec![0; 65_536]).unwrap();
    }
    pub(crate) fn garbage_head(directory: &Path) {
        fs::write(directory.join(names::HEAD), "garbage").unwrap();
    }
    pub(crate) fn numbered_too_high(directory: &Path) -> PathBuf {
        directory.join(names::SEGMENTS).join("18446744073709551616.seg")
    }
    vec![
        ("no HEAD", |directory| gone(directory, names::HEAD)),
        ("no LOCK", |directory| gone(directory, names::LOCK)),
        ("no first segment", |directory| gone(directory, SEALED)),
        ("no last segment", |directory| gone(directory, ACTIVE)),
        ("HEAD alone", |directory| fs::remove_dir_all(directory.join("segments")).unwrap()),
        ("HEAD linked", |directory| linked(directory, names::HEAD)),
        ("LOCK linked", |directory| linked(directory, names::LOCK)),
        ("a segment linked", |directory| linked(directory, ACTIVE)),
        ("segments linked", |directory| linked(directory, names::SEGMENTS)),
        ("a segment renamed", |directory| renamed(directory, ACTIVE, 8)),
        ("the first renamed", |directory| renamed(directory, SEALED, 3)),
        ("another file beside", |directory| fs::write(directory.join("notes"), "x").unwrap()),
        ("ARCHIVE is a directory", |directory| {
            fs::create_dir(directory.join(names::ARCHIVE)).unwrap();
        }),
        ("a segment twice", |directory| {
            let again = directory.join(names::SEGMENTS).join(names::segment(9));
            fs::copy(directory.join(ACTIVE), again).unwrap();
        }),
        ("a blank segment behind", |directory| blank(directory, 11)),
        ("a blank segment behind records that are not there", |directory| blank(directory, 15)),
        ("a blank segment behind a seal and records that are not there", |directory| {
            gone(directory, ACTIVE);
            blank(directory, 15);
        }),
        ("no segment but a blank one", |directory| {
            gone(directory, SEALED);
            gone(directory, ACTIVE);
            blank(directory, 15);
        }),
        ("a blank segment below the mark", |directory| {
            let length = fs::metadata(directory.join(ACTIVE)).unwrap().len();
            fs::write(directory.join(ACTIVE), vec![0; usize::try_from(length).unwrap()]).unwrap();
        }),
        ("an empty segment", |directory| fs::write(directory.join(ACTIVE), "").unwrap()),
        ("a segment with a number that no sequence has", |directory| {
            fs::copy(directory.join(SEALED), numbered_too_high(directory)).unwrap();
        }),
        ("no segment but one with such a number", |directory| {
            gone(directory, SEALED);
            fs::rename(directory.join(ACTIVE), numbered_too_high(directory)).unwrap();
        }),
        ("garbage in HEAD and cut is a file", |directory| {
            garbage_head(directory);
            fs::write(directory.join(names::CUT), "").unwrap();
        }),
        ("garbage in HEAD and segments linked", |directory| {
            garbage_head(directory);
            linked(directory, names::SEGMENTS);
        }),
        ("no HEAD and ARCHIVE is a directory", |directory| {
            gone(directory, names::HEAD);
            fs::create_dir(directory.join(names::ARCHIVE)).unwrap();
        }),
        ("no HEAD and cut is a file", |directory| {
            gone(directory, names::HEAD);
            fs::write(directory.join(names::CUT), "").unwrap();
        }),
        ("no HEAD and segments linked", |directory| {
            gone(directory, names::HEAD);
            linked(directory, names::SEGMENTS);
        }),
        ("no HEAD, no LOCK and segments linked", |directory| {
            gone(directory, names::HEAD);
            gone(directory, names::LOCK);
            linked(directory, names::SEGMENTS);
        }),
        ("cut is a file and segments linked", |directory| {
            fs::write(directory.join(names::CUT), "").unwrap();
            linked(directory, names::SEGMENTS);
        }),
        ("no segment, and HEAD at the end of an archive", |directory| {
            fs::remove_dir_all(directory.join("segments")).unwrap();
            change_head(directory, |head| Head {
                anchor_sequence: head.newest_sequence,
                anchor_link: head.newest_link,
                ..head
            });
        }),
        ("a HEAD at its anchor with another link", |directory| {
            change_head(directory, |head| Head { newest_sequence: 0, ..head });
        }),
        ("a HEAD that begins at another link than genesis", |directory| {
            change_head(directory, |head| Head { anchor_link: head.newest_link, ..head });
        }),
        ("a HEAD at the last number of all", |directory| {
            change_head(directory, |head| Head { newest_sequence: u64::MAX, ..head });
        }),
        ("a HEAD just before it", |directory| {
            change_head(directory, |head| Head { newest_sequence: u64::MAX - 1, ..head });
        }),
        ("nothing at all", |directory| {
            fs::remove_dir_all(directory.join("segments")).unwrap();
            gone(directory, names::HEAD);
        }),
    ]
}

// ---- Whole logs --------------------------------------------------------------------------------

#[test]
fn both_verifiers_agree_on_the_stored_log_of_version_1() {
    if !has_python() {
        return;
    }
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("log-format/tests/golden/v1-segment.bin");
    let mut segment = fs::read(golden).unwrap();
    segment.resize(65_536, 0);
    let header = SegmentHeader::decode(segment.first_chunk().unwrap()).unwrap();
    let head = Head::at_anchor(header.log, &header.previous, this_boot());
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(names::SEGMENTS)).unwrap();
    fs::write(directory.path().join(names::HEAD), head.encode()).unwrap();
    fs::write(directory.path().join(SEALED), segment).unwrap();
    let said = Verifier::start().verify(directory.path());
    assert_eq!((said.row, said.verdict.as_str()), (9, "intact"));
    assert_eq!(said, rust(directory.path()));
}

#[test]
fn both_verifiers_agree_on_filled_archived_and_salvaged_logs_and_on_damage_in_them() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    fill(&place.log, 200);
    let mut verifier = Verifier::start();
    let mut assert_same = |directory: &Path| {
        let said = verifier.verify(directory);
        assert_eq!(said, rust(directory), "{directory:?}");
        said.verdict
    };
    assert_eq!(assert_same(&place.log), "intact");
    let (archive, salvaged) =
        (place.directory.path().join("old"), place.directory.path().join("new"));
    let moved = place.holdpoint(&["archive", archive.to_str().unwrap()]);
    assert_eq!(status(&moved), 0, "{}", program::text(&moved.stderr));
    assert_eq!(assert_same(&place.log), "intact");
    assert_eq!(assert_same(&archive), "intact");
    for at in [4_096 + 40, 50_000, 120_000] {
        support::flip(&archive.join(SEALED), at.min(65_000));
        assert_eq!(assert_same(&archive), "corrupt");
    }
    let (from, to) = (archive.to_str().unwrap(), salvaged.to_str().unwrap());
    let output = place.holdpoint(&["copy", "--salvage", from, to]);
    assert!(salvaged.join(names::HEAD).exists(), "{}", program::text(&output.stderr));
    assert_eq!(assert_same(&salvaged), "intact, with unproven records");
}

#[test]
fn both_verifiers_find_withheld_records_that_nothing_authorises() {
    if !has_python() {
        return;
    }
    let mut log = HandMadeLog::of(LogId([9; 16]));
    log.run();
    let record = || encoded(ClockStepped { step_ns: 1 }.into());
    log.batch_with(&[record(), record()], Flags::WITHHELD, true);
    log.run();
    let directory = tempfile::tempdir().unwrap();
    log.write(directory.path());
    let said = Verifier::start().verify(directory.path());
    assert_eq!(said, rust(directory.path()));
    assert_eq!((said.row, said.verdict.as_str()), (10, "corrupt"));
    log.batch_with(&[record(), record()], Flags::WITHHELD, false);
    log.write(directory.path());
    assert_eq!(Verifier::start().verify(directory.path()), rust(directory.path()));
    support::flip(&directory.path().join(SEALED), log.head().end_offset + 64);
    let said = Verifier::start().verify(directory.path());
    assert_eq!(said, rust(directory.path()));
    assert!(said.first.is_some_and(|(_, offset, _)| offset < log.head().end_offset));
}

// ---- Where a log begins ------------------------------------------------------------------------

#[test]
fn both_programs_end_with_the_same_exit_code_and_print_the_verdict_and_the_first_bad_place() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    assert_eq!(exits(&place), [3, 3]);
    assert_eq!(status(&place.run(&["true"])), 0);
    assert_eq!(exits(&place), [0, 0]);
    let segment = place.log.join(SEALED);
    support::flip(&segment, 4_096 + 70);
    assert_eq!(exits(&place), [6, 6]);
    let shown = python(&[verifier().to_str().unwrap()]).arg(&place.log).output().unwrap();
    let shown = program::text(&shown.stdout);
    assert!(shown.starts_with("corrupt\n"), "{shown}");
    assert!(shown.contains(&format!("{SEALED}, byte 4096, sequence 1:")), "{shown}");
    let output = python(&[verifier().to_str().unwrap(), "--json"]).arg(&place.log).output();
    let found = program::json(&output.unwrap());
    assert_eq!(
        (&found["verdict"], &found["findings"][0]["offset"]),
        (&"corrupt".into(), &4_096.into())
    );
    support::make_newer(&place.log.join(names::HEAD));
    assert_eq!(exits(&place), [1, 1]);
    let wrong = python(&[verifier().to_str().unwrap(), "--no-such-option"]).output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

/// Only that another process holds the lock says that somebody writes, and only that there is none
/// to hold says that nobody does.
#[test]
fn what_the_other_verifier_cannot_ask_of_lock_it_tells() {
    if !has_python() {
        return;
    }
    let place = Place::new();
    assert_eq!(status(&place.shell("true")), 0);
    let asked = "import fcntl, runpy, sys
number, path = int(sys.argv.pop(1)), sys.argv.pop(1)
def flock(*_): raise OSError(number, 'it is refused')
fcntl.flock = flock
runpy.run_path(path, run_name='__main__')";
    for (refusal, code) in [(Errno::NOLCK, 1), (Errno::WOULDBLOCK, 0)] {
        let number = refusal.raw_os_error().to_string();
        let mut ended = python(&["-c", asked, &number]);
        let ended = ended.arg(verifier()).arg(&place.log).output().unwrap();
        assert_eq!(status(&ended), code, "{}", program::text(&ended.stderr));
        assert_eq!(program::text(&ended.stderr).contains("it is refused"), code == 1);
    }
}

/// How `holdpoint verify` and `verify.py` end.
fn exits(place: &Place) -> [i32; 2] {
    let other = python(&[verifier().to_str().unwrap()]).arg(&place.log).output().unwrap();
    [status(&place.holdpoint(&["verify"])), status(&other)]
}

#[test]
fn the_other_verifier_ends_quietly_where_nobody_reads_what_it_says() {
    if !has_python() {
        return;
    }
    let place = Place::with_log();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut verify = python(&[verifier().to_str().unwrap()]);
    let ended = verify.arg(&place.log).stdout(writer).output().unwrap();
    assert_eq!(text(&ended.stderr), "");
}

#[test]
fn the_other_verifier_is_short_and_needs_the_standard_library_alone() {
    let text = fs::read_to_string(verifier()).unwrap();
    assert!(text.lines().count() <= 600 && text.lines().all(|line| line.len() <= 100));
    let imports: Vec<&str> = text
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with("import ") || line.starts_with("from "))
        .collect();
    let standard = "import argparse, base64, hashlib, json, os, pathlib, re, signal, stat, struct, \
                    sys, zlib";
    let of_locks = "import fcntl  # Whoever checks a page may have no such module.";
    assert_eq!(imports, [standard, "from collections import namedtuple", of_locks]);
}
