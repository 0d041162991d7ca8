//! Conformance: what Holdpoint answers to the cases recorded from the public references.
//!
//! Every case of the phases that are built is run, from `../shared/vectors/ygb-open.jsonl` and
//! from any `ygb-*.jsonl` in the folder that `HOLDPOINT_VECTORS` names. An answer matches the
//! recorded one, or falls into one of the documented categories in `categories.rs`, which decide
//! by the input of a case and never by its outcome. Everything else fails. Counts are printed
//! even when all pass; files that are not there are skipped in plain sight.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic here fails the test")]

mod categories;
mod decode;
mod judge;
mod phase21;
mod phase29;
mod phase30;
mod phase31;
mod report;
mod tamper;
mod vectors;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};

use report::Report;
use vectors::{Case, VectorFile};

/// The phases that are built. The others are counted as not covered yet.
const COVERED: [&str; 4] = ["21", "29", "30", "31"];
/// The phases that the vectors have beyond those.
const NOT_COVERED_YET: [&str; 2] = ["32", "e2e"];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let (files, skipped) = vectors::find();
    let report = Arc::new(Mutex::new(Report::default()));
    let mut trials: Vec<Trial> = skipped.iter().map(skipped_trial).collect();
    for file in &files {
        trials.extend(file_trials(file, &report));
    }
    trials.extend(evidence_trials(&files, &report));
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        for line in &skipped {
            println!("conformance: SKIPPED: {line}");
        }
        print!("{}", report.lock().unwrap());
    }
    conclusion.exit_code()
}

/// A line of the result that says what was not there.
fn skipped_trial(line: &String) -> Trial {
    Trial::test(format!("conformance_skipped: {line}"), || Ok(())).with_ignored_flag(true)
}

/// One test for the lines of the file, and one for each function in it.
fn file_trials(file: &Arc<VectorFile>, report: &Arc<Mutex<Report>>) -> Vec<Trial> {
    let mut by_function: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    for (index, case) in file.cases.iter().enumerate() {
        by_function.entry((case.phase.clone(), case.function.clone())).or_default().push(index);
    }
    let lines = {
        let (file, report) = (Arc::clone(file), Arc::clone(report));
        Trial::test(format!("conformance_{}_lines", file.stem), move || {
            report.lock().unwrap().read(&file);
            fail_with(&file.faults)
        })
    };
    let functions = by_function.into_iter().map(|((phase, function), indexes)| {
        let (file, report) = (Arc::clone(file), Arc::clone(report));
        let name = format!("conformance_{}_{phase}_{function}", file.stem);
        Trial::test(name, move || {
            let cases = indexes.iter().map(|index| &file.cases[*index]);
            run_function(&phase, &function, cases, &report)
        })
    });
    std::iter::once(lines).chain(functions).collect()
}

fn run_function<'a>(
    phase: &str,
    function: &str,
    cases: impl Iterator<Item = &'a Case>,
    report: &Mutex<Report>,
) -> Result<(), Failed> {
    if NOT_COVERED_YET.contains(&phase) {
        report.lock().unwrap().not_covered(phase, function, cases.count());
        return Ok(());
    }
    if !COVERED.contains(&phase) {
        return Err(format!("unknown phase {phase:?}").into());
    }
    let mut failures = Vec::new();
    for case in cases {
        let verdict = judge::judge(case);
        if let judge::Verdict::Fails(why) = &verdict {
            failures.push(format!("{}: {why}", case.id));
        }
        report.lock().unwrap().judged(phase, function, &verdict);
    }
    fail_with(&failures)
}

/// What the recorded answers cannot show: the altered chains that the reference takes for valid,
/// and the different records to which it gives one hash, are told apart here.
fn evidence_trials(files: &[Arc<VectorFile>], report: &Arc<Mutex<Report>>) -> Vec<Trial> {
    if files.is_empty() {
        return Vec::new();
    }
    let caught = {
        let (files, report) = (files.to_vec(), Arc::clone(report));
        Trial::test("conformance_31_undetected_tamper_is_caught", move || {
            let mut failures = Vec::new();
            let cases = files.iter().flat_map(|file| &file.cases);
            for case in cases.filter(|case| tamper::is_undetected_tamper(case)) {
                let result = tamper::catch(case);
                report.lock().unwrap().tampered(&tamper::kind(case), result.is_ok());
                failures.extend(result.err().map(|why| format!("{}: {why}", case.id)));
            }
            fail_with(&failures)
        })
    };
    let collisions = {
        let (files, report) = (files.to_vec(), Arc::clone(report));
        Trial::test("conformance_31_colliding_records_differ", move || {
            let (counts, failures) = tamper::tell_groups_apart(files.iter().flat_map(|f| &f.cases));
            report.lock().unwrap().groups(counts);
            fail_with(&failures)
        })
    };
    vec![caught, collisions]
}

/// The failures, at most twenty of them in full.
fn fail_with(failures: &[String]) -> Result<(), Failed> {
    if failures.is_empty() {
        return Ok(());
    }
    let shown: Vec<&str> = failures.iter().take(20).map(String::as_str).collect();
    Err(format!("{} failures, the first of them:\n{}", failures.len(), shown.join("\n")).into())
}
