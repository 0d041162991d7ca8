//! Every attack under every verb.

use super::archived::archived_log;
use super::attacked_log;
use super::cell::{Cell, Pair, Verdict, found_false};
use super::facts::Known;
use super::reading::{Entities, Place, Reading, Target};
use super::verbs::{DIFF, ON_LOG, ON_PAIR, Shows, Verb};
use holdpoint_forger::pair::{ARCHIVE, LOG};
use holdpoint_forger::{Attack, Effect, Outcome, Victim, attacks, pair_attacks};
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
    pub(crate) name: &'static str,
    pub(crate) verbs: &'static [Verb],
    pub(crate) cells: Vec<Cell>,
}

impl Row {
    /// The line of the document.
    pub(crate) fn told(&self) -> String {
        let letters: Vec<String> = self.cells.iter().map(|cell| cell.letter().into()).collect();
        format!("| {} | {} |", self.name, letters.join(" | "))
    }
}

/// What is attacked, how, and what is read of it.
struct Sample<V: 'static> {
    attacks: &'static [Attack<V>],
    verbs: &'static [Verb],
    /// Where the log is in its directory.
    log: &'static str,
    /// What is said of the whole.
    whole: Verb,
}

/// The attacks on the log, from one on each so many further.
pub(crate) fn log_rows(part: (usize, usize)) -> Vec<Row> {
    let (attacks, whole) = (attacks(), ON_LOG[0]);
    rows(Sample { attacks, verbs: &ON_LOG, log: "", whole }, attacked_log(), part)
}

/// The same on the log with its archive.
pub(crate) fn pair_rows(part: (usize, usize)) -> Vec<Row> {
    let (attacks, whole) = (pair_attacks(), ON_PAIR[0]);
    rows(Sample { attacks, verbs: &ON_PAIR, log: LOG, whole }, archived_log(), part)
}

fn rows<V: Victim + Send + Sync>(
    sample: Sample<V>,
    directory: TempDir,
    (begin, step): (usize, usize),
) -> Vec<Row> {
    let all: Vec<&'static Attack<V>> = sample.attacks.iter().skip(begin).step_by(step).collect();
    let (stage, all) = (&Stage::of(sample, directory), &all);
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

/// The genuine log and what is read of it.
struct Stage<V: 'static> {
    sample: Sample<V>,
    place: Place,
    log: V,
    /// Its records, as `log` shows them.
    lines: BTreeMap<u64, Value>,
    known: Known,
    /// What an attack on no record is looked at by.
    entities: Entities,
    read: Mutex<BTreeMap<Vec<String>, Arc<Reading>>>,
    _directory: TempDir,
}

impl<V: Victim> Stage<V> {
    fn of(sample: Sample<V>, directory: TempDir) -> Self {
        let place = sample.place(directory.path());
        let read = |line: &str| {
            let verb = Verb::on_log(line);
            verb.read(&place, &verb.plain())
        };
        let (shown, exported) = (read("log"), read("export --format jsonl --output -"));
        let known = Known::of(&shown, &exported);
        let of = |line: &Value| (line["sequence"].as_u64().unwrap(), line.clone());
        let lines: BTreeMap<u64, Value> = shown.values.iter().map(of).collect();
        let first =
            |key: &str| lines.values().find_map(|line| line[key].as_str()).unwrap().to_string();
        let listed = read("decision list").values[0].clone();
        let mut listed = listed.as_array().unwrap().iter();
        let waiting = &listed.find(|question| question["kind"] == "hold").unwrap()["id"];
        let entities = Entities {
            loop_id: first("loop_id"),
            decision_id: first("decision_id"),
            request_id: waiting.as_str().unwrap().to_string(),
        };
        let log = V::read(directory.path()).unwrap();
        let (read, _directory) = (Mutex::default(), directory);
        Self { sample, place, log, lines, known, entities, read, _directory }
    }

    fn row(&self, attack: &'static Attack<V>) -> Row {
        let directory = TempDir::new().unwrap();
        let mut log = self.log.clone();
        let effect = applied(attack, &mut log);
        log.write(directory.path()).unwrap();
        let (place, target) = (self.sample.place(directory.path()), self.target_of(&effect));
        let whole = self.sample.whole;
        let verified = whole.read(&place, &whole.plain());
        let found_false = &found_false(&verified);
        let cells = self.sample.verbs.iter().map(|verb| {
            let words = verb.words(&target);
            let attacked = &verb.read(&place, &words);
            let genuine = &self.genuine_as(*verb, words, attacked);
            let pair = Pair {
                verb: *verb,
                genuine,
                up_to: &self.up_to(attacked).unwrap_or_else(|| Arc::clone(genuine)),
                attacked,
                known: &self.known,
                vouches: vouches(*verb, &effect, target.sequence),
                verdict: Verdict::of(&verified),
                found_false,
            };
            pair.cell()
        });
        Row { name: attack.name, verbs: self.sample.verbs, cells: cells.collect() }
    }

    /// The first genuine record that the attack changed, took away or put something beside.
    fn target_of(&self, effect: &Effect) -> Target {
        let attacked = [&effect.changed, &effect.removed, &effect.invented, &effect.remade];
        let line = attacked.into_iter().flatten().find_map(|sequence| self.lines.get(sequence));
        let otherwise =
            || self.lines.values().find(|line| line["decision_id"].is_string()).unwrap();
        Target::of(line.unwrap_or_else(otherwise), &self.entities)
    }

    /// What the genuine log shows, without its archive where that was not read.
    fn genuine_as(&self, verb: Verb, mut words: Vec<String>, attacked: &Reading) -> Arc<Reading> {
        words.extend(attacked.leaves_archive.then(|| "--archive=none".to_string()));
        self.genuine(verb, &words)
    }

    /// The genuine difference up to where one was told that ends at damage.
    fn up_to(&self, attacked: &Reading) -> Option<Arc<Reading>> {
        let end = attacked.told_up_to().filter(|_| attacked.code != 0)?;
        let words = ["diff", "0", &end.to_string(), "--json"].map(ToString::to_string);
        Some(self.genuine(DIFF, &words))
    }

    fn genuine(&self, verb: Verb, words: &[String]) -> Arc<Reading> {
        if let Some(known) = self.read.lock().unwrap().get(words) {
            return Arc::clone(known);
        }
        let reading = Arc::new(verb.read(&self.place, words));
        assert_eq!(reading.code, 0, "{words:?}: {:#?}", reading.values.first());
        let is_empty = reading.facts.is_empty();
        assert!(!is_empty || verb.shows == Shows::Verdict, "{words:?} shows nothing");
        self.read.lock().unwrap().insert(words.to_vec(), Arc::clone(&reading));
        reading
    }
}

impl<V> Sample<V> {
    fn place(&self, directory: &Path) -> Place {
        let log = match self.log {
            "" => directory.to_path_buf(),
            name => directory.join(name),
        };
        Place { log, archive: directory.join(ARCHIVE) }
    }
}

/// Makes the attack at the first of the places at which it can be made.
pub(crate) fn applied<V: Victim>(attack: &Attack<V>, log: &mut V) -> Effect {
    let outcomes = [1, 0, 2, 3].into_iter().map(|variant| attack.apply(log, variant));
    let mut effects = outcomes.filter_map(|outcome| match outcome {
        Outcome::Applied(effect) => Some(effect),
        Outcome::NotApplicable(_) => None,
    });
    effects.next().unwrap_or_else(|| panic!("{} cannot be made", attack.name))
}

/// Whether exit 0 of a verb that shows no facts says that the attacked ones are genuine.
fn vouches(verb: Verb, effect: &Effect, sequence: u64) -> bool {
    let gone = [&effect.changed, &effect.removed];
    match verb.is_of_whole() {
        true => !effect.invented.is_empty() || gone.iter().any(|set| !set.is_empty()),
        false => gone.iter().any(|set| set.contains(&sequence)),
    }
}
