//! Conformance: what Holdpoint answers to the cases recorded from the public references.
//!
//! Every case is run, from `../shared/vectors/ygb-open.jsonl` and
//! from any `ygb-*.jsonl` in the folder that `HOLDPOINT_VECTORS` names. An answer matches the
//! recorded one, or falls into one of the documented categories in `categories.rs`, which decide
//! by the input of a case and never by its outcome. Everything else fails. Counts are printed
//! even when all pass; files that are not there are skipped in plain sight. The `ph1x-*.jsonl`
//! files of the same places are run by `ph1x.rs`, with a table of their own. That the table in
//! `docs/conformance.md` is true is asked by `conformance_table.rs`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic here fails the test")]

mod audit_tamper;
mod categories;
mod conformance_owner;
mod conformance_table;
mod decision_categories;
mod decisions;
mod decode;
mod judge;
mod made;
mod ph1x;
mod ph1x_answer;
mod ph1x_categories;
mod ph1x_commit;
mod ph1x_decode;
mod ph1x_oracle;
mod ph1x_random;
mod ph1x_replay;
mod ph1x_report;
mod ph1x_world;
mod phase21;
mod phase29;
mod phase30;
mod phase31;
mod phase32;
mod report;
mod session_categories;
mod session_chains;
mod session_oracle;
mod session_random;
mod session_times;
mod session_world;
mod sessions;
mod tamper;
mod vectors;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Arguments, Failed, Trial};

use report::Report;
use vectors::{Case, VectorFile};

/// The phases, and whole sessions.
const PHASES: [&str; 6] = ["21", "29", "30", "31", "32", "e2e"];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let (files, mut skipped) = vectors::find();
    let threads = ph1x::find(&mut skipped);
    let table = conformance_table::trials(&mut skipped);
    let report = Arc::new(Mutex::new(Report::default()));
    let mut trials: Vec<Trial> = skipped.iter().map(skipped_trial).collect();
    trials.extend(table);
    for file in &files {
        trials.extend(file_trials(file, &report));
    }
    trials.push(session_random::trial(&report));
    // What is made of recorded cases is made of those that everybody has.
    let open_files = files.iter().filter(|file| file.stem == "ygb_open");
    trials.extend(open_files.map(|file| made::decisions(file, &report)));
    trials.extend(evidence_trials(&files, &report));
    let thread_report = Arc::new(Mutex::new(ph1x_report::Report::default()));
    trials.extend(threads.iter().flat_map(|file| ph1x::trials(file, &thread_report)));
    for file in threads.iter().filter(|file| file.stem() == "ph1x_open") {
        trials.extend(made::turns(file, &thread_report));
        trials.extend(ph1x_random::trials(file, &thread_report));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        for line in &skipped {
            println!("conformance: SKIPPED: {line}");
        }
        print!("{}{}", report.lock().unwrap(), thread_report.lock().unwrap());
        print!("{}", conformance_table::counts());
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
    if !PHASES.contains(&phase) {
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
    let tampered = |report: &mut Report, case: &Case, caught| {
        report.tampered(&format!("{} {}", case.phase, tamper::kind(case)), caught);
    };
    let evidence = catching(
        "conformance_31_undetected_tamper_is_caught",
        (files, report),
        tamper::is_undetected_tamper,
        tamper::catch,
        tampered,
    );
    let audits = catching(
        "conformance_32_undetected_tamper_is_caught",
        (files, report),
        audit_tamper::is_undetected_tamper,
        audit_tamper::catch,
        tampered,
    );
    let divergences = catching(
        "conformance_32_divergence_of_the_reference_is_caught",
        (files, report),
        audit_tamper::is_divergence,
        audit_tamper::catch_divergence,
        |report, _, caught| report.diverged(caught),
    );
    let collisions = {
        let (files, report) = (files.to_vec(), Arc::clone(report));
        Trial::test("conformance_colliding_records_differ", move || {
            let (counts, failures) = tamper::tell_groups_apart(files.iter().flat_map(|f| &f.cases));
            report.lock().unwrap().groups(counts);
            fail_with(&failures)
        })
    };
    vec![evidence, audits, divergences, collisions]
}

/// One test for all cases of a kind, each of which has to be caught.
fn catching(
    name: &str,
    (files, report): (&[Arc<VectorFile>], &Arc<Mutex<Report>>),
    is_of_kind: fn(&Case) -> bool,
    catch: fn(&Case) -> Result<(), String>,
    count: fn(&mut Report, &Case, bool),
) -> Trial {
    let (files, report) = (files.to_vec(), Arc::clone(report));
    Trial::test(name, move || {
        let mut failures = Vec::new();
        let cases = files.iter().flat_map(|file| &file.cases);
        for case in cases.filter(|case| is_of_kind(case)) {
            let result = catch(case);
            count(&mut report.lock().unwrap(), case, result.is_ok());
            failures.extend(result.err().map(|why| format!("{}: {why}", case.id)));
        }
        fail_with(&failures)
    })
}

/// The failures, at most twenty of them in full.
pub(crate) fn fail_with(failures: &[String]) -> Result<(), Failed> {
    if failures.is_empty() {
        return Ok(());
    }
    let shown: Vec<&str> = failures.iter().take(20).map(String::as_str).collect();
    Err(format!("{} failures, the first of them:\n{}", failures.len(), shown.join("\n")).into())
}
