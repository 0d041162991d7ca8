//! The PH1.X vectors: turns, sequences of turns, and audit rows. Each is a command to a World.
//!
//! What the seed says (basis `seed`) holds without exception but for state that the seed does not
//! name. Everywhere else the answer is the recorded one, or what the seed, read literally, wants
//! (`seed_expect`), or falls into a category of `ph1x_categories.rs`, which are found by the input
//! alone.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use libtest_mimic::{Failed, Trial};
use serde_json::Value;

use crate::ph1x_answer::{Aspect, TurnAnswer, differences, is_as_the_seed_wants};
use crate::ph1x_categories::{self, Category};
use crate::ph1x_report::{Report, Verdict};
use crate::ph1x_world::decide;
use crate::{fail_with, ph1x_commit, ph1x_replay, vectors};

/// A file of PH1.X vectors.
#[derive(Debug)]
pub(crate) struct ThreadFile {
    path: PathBuf,
    stem: String,
    records: Vec<Value>,
    faults: Vec<String>,
}

impl ThreadFile {
    /// Its name as a part of test names.
    pub(crate) fn stem(&self) -> &str {
        &self.stem
    }

    /// Every recorded turn.
    pub(crate) fn turns(&self) -> Vec<TurnCase> {
        by_group(&self.records).into_values().flatten().collect()
    }
}

/// One recorded turn with the state that it was taken in.
#[derive(Clone, Debug)]
pub(crate) struct TurnCase {
    /// The record's id; in a sequence with the turn's place.
    pub(crate) id: String,
    /// `state_before`.
    pub(crate) before: Value,
    /// `request`.
    pub(crate) request: Value,
    /// `expect`.
    pub(crate) expect: Value,
    /// `basis`.
    pub(crate) basis: String,
    /// `seed_expect`, or null.
    pub(crate) wanted: Value,
}

/// The files to run; `skipped` learns of each that should be there and is not.
pub(crate) fn find(skipped: &mut Vec<String>) -> Vec<Arc<ThreadFile>> {
    let (paths, missing) = vectors::find_paths("ph1x");
    skipped.extend(missing);
    let mut stems = BTreeSet::new();
    paths.into_iter().map(|path| Arc::new(read(path, &mut stems))).collect()
}

/// The tests of a file.
pub(crate) fn trials(file: &Arc<ThreadFile>, report: &Arc<Mutex<Report>>) -> Vec<Trial> {
    let mut trials = vec![lines_trial(file, report)];
    let groups = by_group(&file.records);
    trials.extend(groups.into_iter().map(|(group, cases)| {
        let report = Arc::clone(report);
        let name = format!("conformance_{}_{group}", file.stem);
        Trial::test(name, move || run_turns(&group, &cases, &report))
    }));
    trials.push(record_trial(file, report, "commit_rows", "commit_sequence", ph1x_commit::run));
    trials.push(record_trial(file, report, "replay_is_live", "sequence", ph1x_replay::run));
    trials
}

fn read(path: PathBuf, stems: &mut BTreeSet<String>) -> ThreadFile {
    let stem = vectors::unique_stem(&path, stems);
    let mut file = ThreadFile { path, stem, records: Vec::new(), faults: Vec::new() };
    let text = std::fs::read_to_string(&file.path).unwrap_or_default();
    let mut ids = BTreeSet::new();
    for (index, line) in text.lines().enumerate() {
        match read_line(line, &mut ids) {
            Ok(record) => file.records.push(record),
            Err(why) => file.faults.push(format!("{}:{}: {why}", file.path.display(), index + 1)),
        }
    }
    if file.records.is_empty() && file.faults.is_empty() {
        file.faults.push(format!("{}: has no record", file.path.display()));
    }
    file
}

fn read_line(line: &str, ids: &mut BTreeSet<String>) -> Result<Value, String> {
    let record: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let id = record["id"].as_str().ok_or("no id")?;
    let kind = record["kind"].as_str().unwrap_or_default();
    if !["decide", "sequence", "commit_sequence"].contains(&kind) {
        return Err(format!("unknown kind {kind:?}"));
    }
    if !ids.insert(id.to_owned()) {
        return Err(format!("the id {id:?} was there before"));
    }
    Ok(record)
}

fn lines_trial(file: &Arc<ThreadFile>, report: &Arc<Mutex<Report>>) -> Trial {
    let (file, report) = (Arc::clone(file), Arc::clone(report));
    Trial::test(format!("conformance_{}_lines", file.stem), move || {
        let (path, count) = (file.path.display(), file.records.len());
        report.lock().unwrap().read(format!("{path} ({count} records)"));
        fail_with(&file.faults)
    })
}

/// One test for all records of a kind.
fn record_trial(
    file: &Arc<ThreadFile>,
    report: &Arc<Mutex<Report>>,
    name: &str,
    kind: &'static str,
    run: fn(&Value, &Mutex<Report>) -> Vec<String>,
) -> Trial {
    let (file, report) = (Arc::clone(file), Arc::clone(report));
    Trial::test(format!("conformance_{}_{name}", file.stem), move || {
        let records = file.records.iter().filter(|record| record["kind"] == kind);
        let failures: Vec<String> = records.flat_map(|record| run(record, &report)).collect();
        fail_with(&failures)
    })
}

/// Every turn, by the group of its record.
fn by_group(records: &[Value]) -> BTreeMap<String, Vec<TurnCase>> {
    let mut groups: BTreeMap<String, Vec<TurnCase>> = BTreeMap::new();
    for record in records {
        let group = record["group"].as_str().unwrap_or("unnamed").to_owned();
        let cases = match record["kind"].as_str() {
            Some("decide") => vec![turn_case(record, &record["id"], &record["state_before"])],
            Some("sequence") => sequence_cases(record),
            _ => continue,
        };
        groups.entry(group).or_default().extend(cases);
    }
    groups
}

/// The turns of a sequence, each in the state that the record says the one before it left.
pub(crate) fn sequence_cases(record: &Value) -> Vec<TurnCase> {
    let turns = record["turns"].as_array().map(Vec::as_slice).unwrap_or_default();
    let left = turns.iter().map(|turn| &turn["expect"]["state_after"]);
    let befores = std::iter::once(&record["state_before"]).chain(left);
    let cases = turns.iter().zip(befores).enumerate();
    cases
        .map(|(place, (turn, before))| {
            let id = format!("{}#{place}", record["id"].as_str().unwrap_or_default());
            turn_case(turn, &Value::String(id), before)
        })
        .collect()
}

fn turn_case(turn: &Value, id: &Value, before: &Value) -> TurnCase {
    TurnCase {
        id: id.as_str().unwrap_or_default().into(),
        before: before.clone(),
        request: turn["request"].clone(),
        expect: turn["expect"].clone(),
        basis: turn["basis"].as_str().unwrap_or_default().into(),
        wanted: turn["seed_expect"].clone(),
    }
}

fn run_turns(group: &str, cases: &[TurnCase], report: &Mutex<Report>) -> Result<(), Failed> {
    let mut failures = Vec::new();
    for case in cases {
        let (verdict, used) = judge(case);
        let mut report = report.lock().unwrap();
        report.judged(group, &verdict);
        used.iter().for_each(|category| report.explained(category.name, category.reason));
        if let Verdict::Fails(why) = verdict {
            failures.push(format!("{} ({}): {why}", case.id, case.basis));
        }
    }
    fail_with(&failures)
}

/// Judges a turn.
pub(crate) fn judge(case: &TurnCase) -> (Verdict, Vec<&'static Category>) {
    let decided = catch_unwind(AssertUnwindSafe(|| decide(&case.before, &case.request)));
    match decided {
        Ok(Ok(answered)) => judge_answer(case, &answered),
        Ok(Err(why)) => (Verdict::Fails(why), Vec::new()),
        Err(_) => (Verdict::Fails("panicked".into()), Vec::new()),
    }
}

/// Judges what came of a turn. A category is found by the input alone; once it applies, the answer
/// has to be one that it prescribes, whether or not that is the recorded one.
pub(crate) fn judge_answer(
    case: &TurnCase,
    answered: &TurnAnswer,
) -> (Verdict, Vec<&'static Category>) {
    let categories = ph1x_categories::of(case);
    if let Some(broken) = categories.iter().find(|c| !(c.prescribes)(case, answered)) {
        let name = broken.name;
        return (fails(&format!("not as the category {name:?} says"), answered), Vec::new());
    }
    let differing = differences(&case.expect, answered);
    if differing.is_empty() {
        return (Verdict::Matches, Vec::new());
    }
    if case.basis != "seed" && is_as_the_seed_wants(&case.wanted, answered) {
        return (Verdict::AsTheSeedWants, Vec::new());
    }
    let excusing = |aspect: &Aspect| {
        let excuses = |c: &&&'static Category| c.excuses(case, *aspect);
        categories.iter().find(excuses).copied()
    };
    let unexcused: Vec<&Aspect> = differing.iter().filter(|a| excusing(a).is_none()).collect();
    if !unexcused.is_empty() {
        return (fails(&format!("differs in {unexcused:?}"), answered), Vec::new());
    }
    let mut used: Vec<&'static Category> = differing.iter().filter_map(excusing).collect();
    used.dedup_by_key(|category| category.name);
    let name = used.first().map_or("", |category| category.name);
    (Verdict::Differs(name), used)
}

fn fails(what: &str, answer: &TurnAnswer) -> Verdict {
    let found = match answer {
        TurnAnswer::Refused(why) => format!("refused: {why}"),
        TurnAnswer::Decided { decision, .. } => format!("{decision:?}"),
    };
    Verdict::Fails(format!("{what}: {found}"))
}
