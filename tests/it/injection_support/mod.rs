//! A log in which there is something for every verb that reads, the verbs, and what the program
//! answers where one of its calls fails.

pub(crate) mod sample;
pub(crate) mod verbs;

use crate::program::text;
use holdpoint_testing::inject::{Call, Ended, Errno, Kind, run};
use sample::Sample;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::process::Output;
use verbs::Verb;

/// So many calls of a kind are tried of each verb.
const CALLS_OF_A_KIND_MAX: usize = 40;

/// Where the quick tests begin, unless `HOLDPOINT_SEED` says so.
const SEED: usize = 0;

/// The seed, which is printed.
pub(crate) fn seed() -> usize {
    let given = std::env::var("HOLDPOINT_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or(SEED);
    eprintln!("this repeats it: HOLDPOINT_SEED={seed}");
    seed
}

/// The first calls of each kind.
pub(crate) fn first(calls: Vec<Call>) -> Vec<Call> {
    let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
    let mut is_among = |call: &Call| {
        let count = counts.entry(call.kind).or_default();
        *count += 1;
        *count <= CALLS_OF_A_KIND_MAX
    };
    calls.into_iter().filter(|call| is_among(call)).collect()
}

/// What the program answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// `None` where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) shown: String,
    pub(crate) told: String,
}

impl Answer {
    pub(crate) fn of(verb: &Verb, output: &Output) -> Self {
        let mut shown = verb.steady(&text(&output.stdout));
        shown.extend(verb.made().map(|made| format!("made {made:x}")));
        Self { code: output.status.code(), shown, told: text(&output.stderr) }
    }

    /// Whether it is what was answered otherwise, whatever is told beside it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.code, &self.shown) == (other.code, &other.shown)
    }

    /// Whether it says that there is no log, or that it is gone.
    fn says_nothing_is_there(&self) -> bool {
        ["there is no log", " is gone"].iter().any(|words| self.told.contains(words))
    }

    /// Whether a file is named, as it is called in the verb's directory.
    pub(crate) fn names(&self, verb: &Verb, path: &str) -> bool {
        let directory = || verb.watched.to_str().unwrap().to_string();
        let name = if path.is_empty() { directory() } else { path.to_string() };
        self.told.contains(&name) || self.shown.contains(&name)
    }
}

/// How a verb was wrong about a call that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wrong {
    /// It did not end by itself.
    Broke,
    /// It said that all was well, and something else than it says when all is well.
    OtherAnswer,
    /// It said that something is not there, which it had not been able to look at.
    NotThere,
    /// It said that the log does not verify, which it had not been able to find out.
    Accused,
    /// It failed, and named no file.
    NothingNamed,
}

/// What is wrong with an answer, if anything is.
fn judge(answer: &Answer, without: &Answer, verb: &Verb, failed: &Call) -> Option<Wrong> {
    match answer.code {
        None | Some(101) => Some(Wrong::Broke),
        _ if answer.is_same(without) => None,
        Some(0) => Some(Wrong::OtherAnswer),
        Some(3) if !verb.exits_alike() || answer.says_nothing_is_there() => Some(Wrong::NotThere),
        Some(6) => Some(Wrong::Accused),
        _ if answer.names(verb, &failed.path) => None,
        _ => Some(Wrong::NothingNamed),
    }
}

/// A verb, a call that fails in it, and with what.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) call: Call,
    pub(crate) error: Errno,
}

/// A cell that went wrong.
pub(crate) struct Failing {
    verb: String,
    cell: Cell,
    wrong: Wrong,
    answer: Answer,
    /// The first lines in which it is not what it is when all is well.
    difference: Option<(String, String)>,
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, cell: Cell { call, error }, wrong, answer, .. } = self;
        let Call { kind, path, number } = call;
        let (class, code) = (class_of(path), answer.code);
        writeln!(f, "{verb}: {kind:?} {class} ({path:?} #{number}, {error}): {wrong:?}, {code:?}")?;
        writeln!(f, "  told {:?}", answer.told.lines().next().unwrap_or_default())?;
        write!(f, "  shown and due {:?}", self.difference)
    }
}

/// What a file is to a log: those of one kind are read alike.
fn class_of(path: &str) -> &str {
    let name = Path::new(path);
    match name.extension().and_then(|extension| extension.to_str()) {
        Some("seg") => "*.seg",
        Some("idx") => "*.idx",
        Some("snapshot") => "*.snapshot",
        _ if path.starts_with("runs/") => "runs/*",
        _ if path.is_empty() => ".",
        _ => path,
    }
}

/// A verb, and its answer when all is well.
pub(crate) struct Reading<'a> {
    sample: &'a Sample,
    pub(crate) verb: &'a Verb,
    without: Answer,
}

impl<'a> Reading<'a> {
    /// Gives also the calls that can fail.
    pub(crate) fn without_faults(sample: &'a Sample, verb: &'a Verb) -> (Self, Vec<Call>) {
        let Ended { output, calls } = run(verb.command(sample), &verb.watched, None).unwrap();
        let without = Answer::of(verb, &output);
        let again = run(verb.command(sample), &verb.watched, None).unwrap().output;
        assert_eq!(without, Answer::of(verb, &again), "{verb}: it is another each time");
        assert_eq!(without.code, Some(0), "{verb}: {}", without.told);
        assert_ne!((&*without.shown, calls.len()), ("", 0), "{verb}: {}", without.told);
        (Self { sample, verb, without }, calls)
    }

    /// What is wrong with its answer where a call fails.
    pub(crate) fn with_fault(&self, cell: Cell) -> Option<Failing> {
        let Self { sample, verb, without } = self;
        let failing = Some((&cell.call, cell.error));
        let output = run(verb.command(sample), &verb.watched, failing).unwrap().output;
        let answer = Answer::of(verb, &output);
        let wrong = judge(&answer, without, verb, &cell.call)?;
        let difference = first_difference(&answer.shown, &without.shown);
        Some(Failing { verb: verb.to_string(), cell, wrong, answer, difference })
    }
}

fn first_difference(shown: &str, due: &str) -> Option<(String, String)> {
    let end = std::iter::once("(the end)");
    let mut both = shown.lines().chain(end.clone()).zip(due.lines().chain(end));
    let (shown, due) = both.find(|(shown, due)| shown != due)?;
    Some((shown.to_string(), due.to_string()))
}
