//! No error of the disk is swallowed below a verb that reads: it exits with 0 only where it shows
//! what it shows when all is well, and else it fails and names what could not be read.

use crate::injection_support::sample::Sample;
use crate::injection_support::verbs::Verb;
use crate::injection_support::{Cell, Reading};
use crate::program::{skip, status, text};
use holdpoint_testing::inject::{Call, Errno, Kind, refusal, run};
use std::collections::BTreeMap;
use std::process::Command;
use tempfile::TempDir;

/// So many calls of a kind are tried of each verb.
const CALLS_OF_A_KIND_MAX: usize = 40;

/// Of those, the quick test tries every fifth. It begins at another one with each verb: most verbs
/// share their way of reading with others.
const STEP: usize = 5;

/// Where it begins, unless `HOLDPOINT_SEED` says so.
const SEED: usize = 0;

fn seed() -> usize {
    let given = std::env::var("HOLDPOINT_SEED").ok().and_then(|text| text.parse().ok());
    let seed = given.unwrap_or(SEED);
    eprintln!("this repeats it: HOLDPOINT_SEED={seed}");
    seed
}

/// The first calls of each kind.
fn first(calls: Vec<Call>) -> Vec<Call> {
    let mut counts: BTreeMap<Kind, usize> = BTreeMap::new();
    let mut is_among = |call: &Call| {
        let count = counts.entry(call.kind).or_default();
        *count += 1;
        *count <= CALLS_OF_A_KIND_MAX
    };
    calls.into_iter().filter(|call| is_among(call)).collect()
}

/// Each call with one error, another one than the call before.
fn one_error_each(seed: usize, calls: &[Call]) -> Vec<Cell> {
    let error = |(number, call): (usize, &Call)| {
        let errors = call.kind.errors();
        Cell { call: call.clone(), error: errors[(seed + number) % errors.len()] }
    };
    calls.iter().enumerate().map(error).collect()
}

/// Each call with each error.
fn all_errors(calls: &[Call]) -> Vec<Cell> {
    let all = calls.iter().flat_map(|call| call.kind.errors().iter().map(move |it| (call, it)));
    all.map(|(call, error)| Cell { call: call.clone(), error: *error }).collect()
}

/// What went wrong.
#[derive(Default)]
struct Found {
    cells: usize,
    wrong: Vec<String>,
}

impl Found {
    /// Tries these cells of a verb.
    fn try_verb(&mut self, reading: &Reading<'_>, cells: impl IntoIterator<Item = Cell>) {
        for cell in cells {
            self.cells += 1;
            self.wrong.extend(reading.with_fault(cell).map(|failing| failing.to_string()));
        }
    }

    fn assert_nothing(self) {
        let Self { cells, wrong } = self;
        eprintln!("{cells} calls failed");
        assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}

#[test]
fn the_call_that_is_to_fail_fails_as_is_said_and_no_other_does() {
    if let Some(error) = refusal() {
        return skip(&format!("calls that fail: the kernel lets no filter be used here ({error})"));
    }
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "words").unwrap();
    let cat = |number| {
        let mut command = Command::new("cat");
        command.arg(&file);
        let open = Call { kind: Kind::Open, path: "file".into(), number };
        let ended = run(command, directory.path(), Some((&open, Errno::MFILE))).unwrap();
        assert!(ended.calls.contains(&Call { number: 0, ..open }));
        (status(&ended.output), text(&ended.output.stdout), text(&ended.output.stderr))
    };
    let (code, shown, told) = cat(0);
    assert_eq!((code, &*shown), (1, ""));
    assert!(told.contains("Too many open files"), "{told}");
    assert_eq!(cat(1), (0, "words".into(), String::new()));
}

#[test]
fn no_reading_verb_is_wrong_about_a_log_when_a_call_fails() {
    if let Some(error) = refusal() {
        return skip(&format!("calls that fail: the kernel lets no filter be used here ({error})"));
    }
    let (seed, sample, mut found) = (seed(), Sample::new(), Found::default());
    for (number, verb) in Verb::all(&sample).iter().enumerate() {
        let (reading, calls) = Reading::without_faults(&sample, verb);
        let cells = one_error_each(seed, &first(calls));
        found.try_verb(&reading, cells.into_iter().skip((seed + number) % STEP).step_by(STEP));
    }
    found.assert_nothing();
}

#[test]
#[ignore = "every error at every call takes minutes"]
fn no_reading_verb_is_wrong_about_a_log_when_any_call_fails_in_any_way() {
    if let Some(error) = refusal() {
        return skip(&format!("calls that fail: the kernel lets no filter be used here ({error})"));
    }
    let (sample, mut found) = (Sample::new(), Found::default());
    for verb in Verb::all(&sample) {
        let (reading, calls) = Reading::without_faults(&sample, &verb);
        found.try_verb(&reading, all_errors(&first(calls)));
    }
    found.assert_nothing();
}
