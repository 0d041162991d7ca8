//! Every attack under every verb.

use super::cell::{Cell, LEGEND, Pair, Verdict, found_false};
use super::reading::{Known, Reading, Target, VERBS, Verb};
use holdpoint_forger::{Attack, Effect, Log, Outcome, attacks};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use tempfile::TempDir;

/// How many attacks are looked at side by side.
const THREADS: usize = 2;

/// An attack with its cells, one for each verb.
pub(crate) struct Row {
    pub(crate) attack: &'static Attack,
    pub(crate) cells: Vec<Cell>,
}

/// The genuine log and what is read of it.
struct Stage {
    directory: TempDir,
    log: Log,
    /// Its records, as `log show` shows them.
    lines: BTreeMap<u64, Value>,
    known: Known,
    /// What an attack on no record is looked at by.
    target: Target,
    read: Mutex<BTreeMap<Vec<String>, Arc<Reading>>>,
}

impl Row {
    /// The line of the document.
    pub(crate) fn told(&self) -> String {
        let letters: Vec<String> = self.cells.iter().map(|cell| cell.letter().into()).collect();
        format!("| {} | {} |", self.attack.name, letters.join(" | "))
    }
}

/// From one attack on, each so many further.
pub(crate) fn rows(directory: TempDir, (begin, step): (usize, usize)) -> Vec<Row> {
    let stage = &Stage::of(directory);
    let all: Vec<&'static Attack> = attacks().iter().skip(begin).step_by(step).collect();
    let all = &all;
    let mut found: Vec<(usize, Row)> = thread::scope(|scope| {
        let part = |first: usize| {
            let places = (first..all.len()).step_by(THREADS);
            places.map(|place| (place, stage.row(all[place]))).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..THREADS).map(|first| scope.spawn(move || part(first))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().map(|(_, row)| row).collect()
}

impl Stage {
    fn of(directory: TempDir) -> Self {
        let path = directory.path();
        let (shown, exported) = (read(path, "log show"), read(path, "export"));
        let known = Known::of(&shown, &exported);
        let of = |line: &Value| (line["sequence"].as_u64().unwrap(), line.clone());
        let lines: BTreeMap<u64, Value> = shown.values.iter().map(of).collect();
        let first = |key: &str| lines.values().find(|line| line[key].is_string()).unwrap();
        let loop_id = first("loop_id")["loop_id"].as_str().unwrap();
        let about_decision = first("decision_id");
        let decision_id = about_decision["decision_id"].as_str().unwrap();
        let target = Target::of(about_decision, loop_id, decision_id);
        let log = Log::read(path).unwrap();
        Self { log, known, target, lines, directory, read: Mutex::default() }
    }

    fn row(&self, attack: &'static Attack) -> Row {
        let directory = TempDir::new().unwrap();
        let mut log = self.log.clone();
        let effect = applied(attack, &mut log);
        log.write(directory.path()).unwrap();
        let target = self.target_of(&effect);
        let verified = read(directory.path(), "verify");
        let found_false = &found_false(&verified);
        let cells = VERBS.iter().map(|verb| {
            let words = verb.words(&target);
            let pair = Pair {
                shows: verb.shows,
                genuine: &self.genuine(verb, &words),
                attacked: &verb.read(directory.path(), &words),
                known: &self.known,
                vouches: vouches(verb, &effect, target.sequence),
                verdict: Verdict::of(&verified),
                found_false,
            };
            pair.cell()
        });
        Row { attack, cells: cells.collect() }
    }

    /// The first genuine record that the attack changed, took away or put something beside.
    fn target_of(&self, effect: &Effect) -> Target {
        let attacked = [&effect.changed, &effect.removed, &effect.invented, &effect.remade];
        let line = attacked.into_iter().flatten().find_map(|sequence| self.lines.get(sequence));
        let (loop_id, decision_id) = self.target.entities();
        line.map_or_else(|| self.target.clone(), |line| Target::of(line, loop_id, decision_id))
    }

    fn genuine(&self, verb: &Verb, words: &[String]) -> Arc<Reading> {
        if let Some(known) = self.read.lock().unwrap().get(words) {
            return Arc::clone(known);
        }
        let reading = Arc::new(verb.read(self.directory.path(), words));
        assert_eq!(reading.code, 0, "{words:?}: {:#?}", reading.values.first());
        self.read.lock().unwrap().insert(words.to_vec(), Arc::clone(&reading));
        reading
    }
}

/// A reading by a verb that names no record.
fn read(log: &Path, name: &str) -> Reading {
    let verb = VERBS.iter().find(|verb| verb.name == name).unwrap();
    verb.read(log, &verb.plain())
}

/// Makes the attack at the first of the places at which it can be made.
pub(crate) fn applied(attack: &Attack, log: &mut Log) -> Effect {
    let outcomes = [1, 0, 2, 3].into_iter().map(|variant| attack.apply(log, variant));
    let mut effects = outcomes.filter_map(|outcome| match outcome {
        Outcome::Applied(effect) => Some(effect),
        Outcome::NotApplicable(_) => None,
    });
    effects.next().unwrap_or_else(|| panic!("{} cannot be made", attack.name))
}

/// Whether exit 0 of a verb that shows no facts says that the attacked ones are genuine.
fn vouches(verb: &Verb, effect: &Effect, sequence: u64) -> bool {
    let gone = [&effect.changed, &effect.removed];
    match verb.name {
        "verify" => !effect.invented.is_empty() || gone.iter().any(|set| !set.is_empty()),
        _ => gone.iter().any(|set| set.contains(&sequence)),
    }
}

/// The document that shows them.
pub(crate) fn document(rows: &[Row]) -> String {
    let mut text = String::from(HEADING);
    for (cell, letter, meaning) in LEGEND {
        let count = rows.iter().flat_map(|row| &row.cells).filter(|one| **one == cell).count();
        text += &format!("| `{letter}` | {count} | {meaning} |\n");
    }
    text += "\n| column | reading |\n|---|---|\n";
    for (place, verb) in VERBS.iter().enumerate() {
        text += &format!("| {} | `{}` |\n", place + 1, verb.name);
    }
    let columns: Vec<String> = (1..=VERBS.len()).map(|column| column.to_string()).collect();
    text +=
        &format!("\n| attack | {} |\n|---{}|\n", columns.join(" | "), "|---".repeat(VERBS.len()));
    for row in rows {
        text += &format!("{}\n", row.told());
    }
    text
}

const HEADING: &str = "\
# What forged logs get past the verbs that read

Each row is an attack on the directory of one small log, made by `testing/forger` from the documents
of the format alone; `forge list` says what each does. Each column is a reading of what is left, of
the record that was attacked where the verb can be asked for one. `tests/it/attacks.rs` makes this
table, allows no hole, and compares the table with this file; `HOLDPOINT_WRITE_ATTACKS=1` writes it
anew.

| letter | cells | meaning |
|---|---|---|
";
