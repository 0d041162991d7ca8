//! Pipes, sockets, devices, directories, links and files of a terabyte in every place of a log's
//! directory, and files that become another while they are read: whoever reads ends soon and by
//! himself, within little memory, and shows what he shows when all is well, or fails and names the
//! file.

use crate::injection_support::sample::Sample;
use crate::injection_support::verbs::Verb;
use crate::injection_support::{Answer, first, seed};
use crate::program::{Place, skip};
use crate::strange_support::{Replaced, Strange, Swap, Swapped, Wrong, answer, judge};
use crate::verify_py::{has_python, python, verifier};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::{LogId, names};
use holdpoint_testing::hand_made::HandMadeLog;
use holdpoint_testing::inject::{Call, Kind, refusal, run_beside};
use holdpoint_testing::part::step;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A run tries one of so many things in the place of a file, and the next seed others: a prime, so
/// that every verb meets every place and every kind.
const PART: usize = 227;

/// A run tries one of so many changes of a file while it is read.
const PART_OF_CHANGES: usize = 1_657;

/// What went wrong, and how much was tried.
#[derive(Default)]
struct Found {
    cells: usize,
    wrong: Vec<String>,
}

impl Found {
    fn take(&mut self, cell: &str, wrong: Option<Wrong>, answer: &Answer) {
        self.cells += 1;
        let told = answer.told.lines().next().unwrap_or_default();
        let line = |wrong| format!("{cell}: {wrong:?}, {:?}, told {told:?}", answer.code);
        self.wrong.extend(wrong.map(line));
    }

    fn assert_nothing(self) {
        let Self { cells, wrong } = self;
        eprintln!("{cells} tried");
        assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}

// ---- What stands there when the reading begins --------------------------------------------------

/// Every name below a directory, and those that may be there as well.
fn places(directory: &Path) -> Vec<String> {
    let mut found = below(directory, directory);
    let more = [names::HEAD_TEMPORARY, names::ARCHIVE, names::CUT].map(String::from);
    found.extend(more.into_iter().filter(|name| !directory.join(name).exists()));
    found.sort();
    found
}

fn below(root: &Path, directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        found.push(path.strip_prefix(root).unwrap().to_str().unwrap().to_string());
        if path.is_dir() {
            found.extend(below(root, &path));
        }
    }
    found
}

/// Whether a verb tells of what is wrong with the very file, and goes on: of caches, of what other
/// users can do, and of what could not be kept.
fn tells(verb: &Verb, place: &str, answer: &Answer) -> bool {
    let verb_words = verb.to_string();
    let goes_on =
        ["--caches", "doctor", "--salvage"].iter().any(|words| verb_words.contains(words));
    // An index is told of by the name of its own file.
    goes_on && answer.code == Some(0) && answer.names(verb, place.trim_end_matches("seg"))
}

/// Whether a verb stopped at a finding before the file, as it was asked to.
fn stops_before(verb: &Verb, answer: &Answer) -> bool {
    verb.to_string().contains("--fail-fast") && answer.code == Some(6)
}

/// Whether what a verb says is right of each of the moments at which it looked: each check of
/// `doctor` is a look of its own, and beside another log's HEAD each segment is another log's, or
/// lies in an archive that is not of that log.
fn is_of_two_moments(verb: &Verb, swap: Swap, path: &str, answer: &Answer) -> bool {
    let is_doctor = verb.to_string().contains("doctor") && answer.code == Some(0);
    let is_head = path == names::HEAD && swap == Swap::OfOtherLog && answer.code != Some(0);
    let told = ["it belongs to log", "it was there a moment ago; the log changed"];
    is_doctor || is_head && told.iter().any(|words| answer.told.contains(words))
}

/// Whether it would be what its name says.
fn is_as_named(watched: &Path, place: &str, strange: Strange) -> bool {
    let is_directory = strange == Strange::Directory && watched.join(place).is_dir();
    // A regular file of this name is a mark, whatever is in it.
    is_directory || place == names::ARCHIVE && strange.is_file()
}

fn try_strange() -> Found {
    let (step, mut number) = (step(PART), seed());
    let (sample, mut found) = (Sample::new(), Found::default());
    for verb in Verb::all(&sample) {
        let mut due = None;
        for place in places(&verb.watched) {
            let strange = |it: &Strange| !is_as_named(&verb.watched, &place, *it);
            for strange in Strange::ALL.into_iter().filter(strange) {
                number += 1;
                if number.is_multiple_of(step) {
                    let due = due.get_or_insert_with(|| answer(&sample, &verb));
                    assert_eq!(due.code, Some(0), "{verb}: {}", due.told);
                    try_cell(&sample, &verb, (&place, strange), due, &mut found);
                }
            }
        }
    }
    found
}

fn try_cell(
    sample: &Sample,
    verb: &Verb,
    (place, strange): (&str, Strange),
    due: &Answer,
    found: &mut Found,
) {
    let replaced = Replaced::by(sample, verb.watched.join(place), strange);
    let now = answer(sample, verb);
    drop(replaced);
    let is_told = tells(verb, place, &now) || stops_before(verb, &now);
    let wrong = judge(&now, due, verb, place).filter(|_| !is_told);
    found.take(&format!("{verb}: {strange:?} at {place}"), wrong, &now);
}

#[test]
fn whatever_stands_in_the_place_of_a_file_a_reading_ends_and_is_right_or_names_it() {
    try_strange().assert_nothing();
}

// ---- What becomes of a file while it is read ----------------------------------------------------

/// A log that is another one.
struct Other(Place);

impl Other {
    fn new() -> Self {
        Self(Place::with_log())
    }

    /// What lies there under a name; else its first segment.
    fn file(&self, name: &str) -> PathBuf {
        let named = self.0.log.join(name);
        if named.is_file() { named } else { self.0.log.join(segment_path(1)) }
    }
}

fn try_swaps() -> Found {
    let (step, mut number) = (step(PART_OF_CHANGES), seed());
    let (sample, other, mut found) = (Sample::new(), Other::new(), Found::default());
    for verb in Verb::all(&sample) {
        let mut calls = Vec::new();
        let quiet = run_beside(verb.command(&sample), &verb.watched, &mut |call| {
            calls.push(call.clone());
            None
        });
        let due = Answer::of(&verb, &quiet.unwrap().output);
        calls.retain(|call| verb.watched.join(&call.path).is_file());
        for call in first(calls) {
            for swap in Swap::ALL {
                number += 1;
                if number.is_multiple_of(step) {
                    try_swap(&sample, &verb, (&call, swap), (&due, &other), &mut found);
                }
            }
        }
    }
    found
}

fn try_swap(
    sample: &Sample,
    verb: &Verb,
    (call, swap): (&Call, Swap),
    (due, other): (&Answer, &Other),
    found: &mut Found,
) {
    let path = call.path.as_str();
    let swapped = Swapped::new(verb.watched.join(path));
    let ended = run_beside(verb.command(sample), &verb.watched, &mut |now| {
        if now == call {
            swapped.swap(swap, &other.file(path));
        }
        None
    });
    let during = Answer::of(verb, &ended.unwrap().output);
    let mut wrong = judge(&during, due, verb, path);
    // It may have read all of it after that.
    if wrong.is_some_and(|wrong| wrong != Wrong::Broke) {
        wrong = wrong.filter(|_| !during.is_same(&answer(sample, verb)));
    }
    drop(swapped);
    let is_told = tells(verb, path, &during) || stops_before(verb, &during);
    let is_told = is_told || is_of_two_moments(verb, swap, path, &during);
    let wrong = wrong.filter(|wrong| *wrong == Wrong::Broke || !is_told);
    let Call { kind, number, .. } = call;
    found.take(&format!("{verb}: {swap:?} at {kind:?} #{number} of {path}"), wrong, &during);
}

#[test]
fn whatever_becomes_of_a_file_while_it_is_read_a_reading_ends_and_is_right_or_names_it() {
    if let Some(error) = refusal() {
        return skip(&format!(
            "files that change: the kernel lets no filter be used here ({error})"
        ));
    }
    try_swaps().assert_nothing();
}

/// All of it was well when the log was verified, and is not when the run is looked for: every look
/// at a segment is tried, because few of them are in a run of the test above.
#[test]
fn a_run_is_said_to_be_missing_only_where_all_that_may_begin_it_was_read() {
    if let Some(error) = refusal() {
        return skip(&format!(
            "files that change: the kernel lets no filter be used here ({error})"
        ));
    }
    let (sample, other, mut found) = (Sample::new(), Other::new(), Found::default());
    let verbs = ["export --format html LOOP --output NEW", "runs --after LOOP"];
    let is_wanted = |verb: &Verb| verbs.iter().any(|words| verb.to_string().contains(words));
    for verb in Verb::all(&sample).into_iter().filter(is_wanted) {
        let mut calls = Vec::new();
        let quiet = run_beside(verb.command(&sample), &verb.watched, &mut |call| {
            calls.push(call.clone());
            None
        });
        let due = Answer::of(&verb, &quiet.unwrap().output);
        calls.retain(|call| call.path == segment_path(1));
        for call in calls {
            try_swap(&sample, &verb, (&call, Swap::Directory), (&due, &other), &mut found);
        }
    }
    assert!(found.cells > 0);
    found.assert_nothing();
}

#[test]
fn verify_py_ends_whatever_becomes_of_a_file_between_two_of_its_looks() {
    if let Some(error) = refusal() {
        return skip(&format!(
            "files that change: the kernel lets no filter be used here ({error})"
        ));
    }
    if !has_python() {
        return;
    }
    let place = Place::with_log();
    let verified = |before: &mut dyn FnMut(&Call)| {
        let script = verifier().to_str().unwrap().to_string();
        let command = python(&[&script, place.log.to_str().unwrap()]);
        let ended = run_beside(command, &place.log, &mut |call| {
            before(call);
            None
        });
        ended.unwrap().output.status.code()
    };
    let mut calls = Vec::new();
    assert_eq!(verified(&mut |call| calls.push(call.clone())), Some(0));
    calls.retain(|call| call.kind == Kind::Open && place.log.join(&call.path).is_file());
    assert!(!calls.is_empty());
    for call in calls {
        for swap in [Swap::Pipe, Swap::Directory] {
            let swapped = Swapped::new(place.log.join(&call.path));
            let code = verified(&mut |now| {
                if *now == call {
                    swapped.swap(swap, Path::new(""));
                }
            });
            // The lock is taken, or is not: what lies there tells nothing of the records.
            let is_lock = call.path == names::LOCK;
            assert!(code.is_some_and(|code| is_lock || code != 0), "{call:?}: {swap:?}, {code:?}");
        }
    }
}

/// The log was intact when it was verified: no verdict on it is changed, and the check is
/// not whole.
#[test]
fn caches_beside_a_segment_that_became_another_logs_are_not_all_checked() {
    if let Some(error) = refusal() {
        return skip(&format!(
            "files that change: the kernel lets no filter be used here ({error})"
        ));
    }
    let logs = [7, 8].map(|log| {
        let mut made = HandMadeLog::of(LogId([log; 16]));
        made.run();
        made.roll();
        let second = made.chain.sequence + 1;
        made.run();
        made.roll();
        made.run();
        let directory = TempDir::new().unwrap();
        made.write(directory.path());
        (directory, segment_path(second))
    });
    let [(directory, segment), (other, _)] = &logs;
    let verified = |before: &mut dyn FnMut(&Call)| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        command.arg("--log").arg(directory.path()).args(["verify", "--caches"]);
        let ended = run_beside(command, directory.path(), &mut |call| {
            before(call);
            None
        });
        ended.unwrap().output
    };
    let mut opened = Vec::new();
    let quiet = verified(&mut |call| {
        opened.extend((call.kind == Kind::Open && call.path == *segment).then(|| call.clone()));
    });
    assert_eq!(quiet.status.code(), Some(0));
    // What reads it last builds its index.
    let last = opened.pop().unwrap();
    let swapped = verified(&mut |call| {
        if *call == last {
            std::fs::copy(other.path().join(segment), directory.path().join(segment)).unwrap();
        }
    });
    let told = String::from_utf8_lossy(&swapped.stderr).into_owned();
    assert_eq!(swapped.status.code(), Some(1), "{told}");
    assert!(told.contains("so not all was checked: its segment is another log's"), "{told}");
    assert!(String::from_utf8_lossy(&swapped.stdout).starts_with("verdict         intact"));
}
