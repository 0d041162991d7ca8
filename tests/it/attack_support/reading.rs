//! What a reading tells of the log.

use super::cell::found_false;
use super::facts::{FOUND_FALSE, Fact};
use super::verbs::{Shows, Verb};
use crate::records_support::told;
use holdpoint_domain::core::hash::sha256;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Where a log is, and its archive if it has one.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) log: PathBuf,
    pub(crate) archive: PathBuf,
}

/// The record that an attack is about, as the genuine log shows it, and what else is asked for.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) sequence: u64,
    kind: String,
    text: String,
    entities: Entities,
}

/// What may be asked for by its id.
#[derive(Clone, Debug)]
pub(crate) struct Entities {
    pub(crate) loop_id: String,
    pub(crate) decision_id: String,
    pub(crate) request_id: String,
}

impl Target {
    /// Where the record is about no loop or no decision, the given ones are asked for.
    pub(crate) fn of(line: &Value, otherwise: &Entities) -> Self {
        let text = |key: &str| line[key].as_str().map(ToString::to_string);
        let mut entities = otherwise.clone();
        entities.loop_id = text("loop_id").unwrap_or(entities.loop_id);
        entities.decision_id = text("decision_id").unwrap_or(entities.decision_id);
        Self {
            sequence: line["sequence"].as_u64().unwrap(),
            kind: text("kind").unwrap(),
            text: text("summary").unwrap(),
            entities,
        }
    }
}

impl Verb {
    /// The words of a verb, still without a place.
    pub(crate) fn words(self, target: &Target) -> Vec<String> {
        let sequence = target.sequence.to_string();
        let words = self.line.split(' ').map(|word| match word {
            "kind=KIND" => format!("kind={}", target.kind),
            "LOOP" => target.entities.loop_id.clone(),
            "loop=LOOP" => format!("loop={}", target.entities.loop_id),
            "DECISION" => target.entities.decision_id.clone(),
            "decision=DECISION" => format!("decision={}", target.entities.decision_id),
            "REQUEST" => target.entities.request_id.clone(),
            "text=TEXT" => format!("text={}", target.text),
            word => word.replace("SEQ", &sequence),
        });
        words.chain(["--json".to_string()]).collect()
    }

    /// The words of a verb that is asked for no record.
    pub(crate) fn plain(self) -> Vec<String> {
        self.line.split(' ').chain(["--json"]).map(ToString::to_string).collect()
    }

    pub(crate) fn read(self, place: &Place, words: &[String]) -> Reading {
        let made = TempDir::new().unwrap();
        let new = made.path().join("new");
        let path = |path: &Path| path.to_str().unwrap().to_string();
        let words = words.iter().map(|word| match &**word {
            "LOG" => path(&place.log),
            "ARCHIVE" => path(&place.archive),
            "NEW" => path(&new),
            word => word.to_string(),
        });
        let answer = Answer::of(place, &words.collect::<Vec<_>>());
        let facts = match self.shows {
            Shows::Made | Shows::Kept if answer.code == 0 => {
                let place = Place { log: new, archive: place.archive.clone() };
                return self.read_made(answer, &place);
            }
            Shows::Made | Shows::Kept => Vec::new(),
            _ => answer.values.iter().flat_map(|value| self.facts_in(value, place)).collect(),
        };
        Reading::of(answer, facts)
    }

    /// What another log says that was made of this one.
    fn read_made(self, made: Answer, place: &Place) -> Reading {
        let words = ["log", "--archive=none", "--json"].map(ToString::to_string);
        let shown = Answer::of(place, &words);
        let verb = Verb::on_log("verify");
        let found_false = found_false(&verb.read(place, &verb.plain()));
        let facts = shown.values.iter().flat_map(|line| {
            let is_false = line["sequence"].as_u64().is_some_and(|it| found_false.contains(&it));
            let mut facts = self.facts_in(line, place);
            let kept = facts.iter_mut().filter(|_| is_false && self.shows == Shows::Kept);
            kept.for_each(|fact| fact.standing = Some(FOUND_FALSE.into()));
            facts
        });
        let mut reading = Reading::of(made, facts.collect());
        reading.code = shown.code;
        reading
    }

    /// What a value tells of what happened; none where it tells of the log alone.
    fn facts_in(self, value: &Value, place: &Place) -> Vec<Fact> {
        if value.get("error").is_some() {
            return Vec::new();
        }
        match self.shows {
            Shows::Verdict => Vec::new(),
            Shows::Caches => right_caches(value, place),
            Shows::Records | Shows::Made => vec![Fact::of(value, value.get("standing"))],
            Shows::Kept => Fact::of_kept(value).into_iter().collect(),
            Shows::Steps => in_steps(value),
            Shows::State => match value {
                Value::Array(all) => each_of(all),
                one => vec![Fact::of(one, one.get("standing"))],
            },
            Shows::Parts(lists) => in_parts(value, lists),
        }
    }
}

/// What is said of a log that somebody changes.
const CHANGED: &str = "changed while it was read";

/// What the program answers.
struct Answer {
    code: i32,
    values: Vec<Value>,
    stderr: String,
    says_why: bool,
    says_changed: bool,
}

impl Answer {
    fn of(place: &Place, words: &[String]) -> Self {
        let above = place.log.parent().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        command.env_remove("HOLDPOINT_LOG").env("HOME", above).current_dir(above);
        let output = command.arg("--log").arg(&place.log).args(words).output().unwrap();
        let (code, stdout, stderr) = told(&output);
        let stream = serde_json::Deserializer::from_str(&stdout).into_iter();
        let values: Vec<Value> = stream.map_while(Result::ok).collect();
        let says_why = !(stdout.is_empty() && stderr.is_empty());
        let says_changed = [&stdout, &stderr].iter().any(|told| told.contains(CHANGED));
        Self { code, values, stderr, says_why, says_changed }
    }
}

/// The records that are named as those which state what was shown: each item names one, or a
/// sentence where there is none, and the reach of those that states and indexes were taken from.
fn stated_by(values: &[Value], stderr: &str) -> BTreeSet<u64> {
    let items = values.iter().filter_map(Value::as_array).flatten();
    let named = items.chain(values).filter_map(|item| item["stated_by"].as_u64());
    let said = stderr.split_once("as stated by record ").map(|(_, rest)| rest);
    let said = said.and_then(|rest| rest.split_once(':')?.0.parse().ok());
    let (named, in_reach) = (named.chain(said).next(), stated_in_reach(values, stderr));
    // A state is what the records come to that follow what is named, up to the newest one.
    let behind = values.first().filter(|_| named.is_none());
    named.or_else(|| state_behind(behind?)).into_iter().chain(in_reach).collect()
}

/// The record behind which a state is shown.
fn state_behind(shown: &Value) -> Option<u64> {
    let behind = ["head", "to"].iter().find_map(|key| shown.get(key)?["sequence"].as_u64());
    behind.or_else(|| shown["state_after_record"].as_u64())
}

/// The records that state the snapshots and the indexes which were used, by the reach beside what
/// was shown or in it; and the one that carries the state with which the log begins.
fn stated_in_reach(values: &[Value], stderr: &str) -> Vec<u64> {
    let beside = stderr.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let reaches = beside.chain(values.iter().cloned());
    let reaches: Vec<Value> = reaches.map(|it| it["reach"].clone()).collect();
    let lists = ["stated_by", "indexes_stated_by"];
    let listed = reaches.iter().flat_map(|reach| lists.iter().map(|key| &reach[*key]));
    let listed = listed.filter_map(Value::as_array).flatten();
    let carried = reaches.iter().map(|reach| &reach["carried_by"]);
    listed.chain(carried).filter_map(Value::as_u64).collect()
}

fn each_of(items: &[Value]) -> Vec<Fact> {
    items.iter().map(|one| Fact::of(one, one.get("standing"))).collect()
}

fn in_steps(value: &Value) -> Vec<Fact> {
    let steps = value["steps"].as_array().into_iter().flatten();
    let records = |step: &Value| -> Vec<Fact> {
        let records = step["records"].as_array().into_iter().flatten();
        records.map(|record| Fact::of(record, step.get("standing"))).collect()
    };
    steps.flat_map(records).collect()
}

/// The items of these lists, and what stands beside them.
fn in_parts(value: &Value, lists: &[&str]) -> Vec<Fact> {
    let mut rest = value.clone();
    let mut facts = Vec::new();
    for list in lists {
        if let Some(Value::Array(items)) = rest.get_mut(*list).map(Value::take) {
            facts.extend(each_of(&items));
        }
    }
    if let Some(Value::Array(operations)) = rest.get_mut("patch") {
        operations.retain(|one| one["path"] != "/head");
    }
    facts.push(Fact::of(&rest, rest.get("standing")));
    facts
}

/// The files that are said to be right, by their bytes.
fn right_caches(value: &Value, place: &Place) -> Vec<Fact> {
    let lists = ["indexes", "snapshots"].map(|list| value["caches"][list].as_array());
    let all = lists.into_iter().flatten().flatten();
    let right = all.filter(|cache| cache["state"] == "right").map(|cache| {
        let file = cache["file"].as_str().unwrap();
        let bytes = std::fs::read(place.log.join(file)).unwrap();
        let said = format!("{file} {}", sha256(&bytes));
        Fact { said, sequence: None, standing: None }
    });
    right.collect()
}

/// What a reading gave.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) code: i32,
    /// The records by which what was shown is known, where not all of the log was read.
    pub(crate) stated_by: BTreeSet<u64>,
    /// Output of `log` and `export`, and the report of the others.
    pub(crate) values: Vec<Value>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) says_why: bool,
    /// Whether it is said that the log was changed meanwhile.
    pub(crate) says_changed: bool,
    /// Whether it is said that records are in an archive, and that this was not read.
    pub(crate) leaves_archive: bool,
}

impl Reading {
    fn of(answer: Answer, facts: Vec<Fact>) -> Self {
        let Answer { code, values, stderr, says_why, says_changed } = answer;
        let (stated_by, told) = (stated_by(&values, &stderr), "which was not read");
        let not_counted = values.first().and_then(|value| value["not_counted"].as_str());
        let says_so =
            [Some(&*stderr), not_counted].into_iter().flatten().any(|it| it.contains(told));
        let leaves_archive = code == 0 && says_so;
        Self { code, stated_by, values, facts, says_why, says_changed, leaves_archive }
    }

    /// The record up to which a difference was told.
    pub(crate) fn told_up_to(&self) -> Option<u64> {
        self.values.first()?.get("to")?["sequence"].as_u64()
    }

    /// How many records a salvage says that it lost, or that are in an archive.
    pub(crate) fn says_lost(&self) -> u64 {
        let Some(report) = self.values.first() else { return 0 };
        let losses = report["losses"].as_array().into_iter().flatten();
        let is_archived = |loss: &&Value| loss["problem"].as_str().unwrap().contains("archive");
        let known = |loss: &Value| {
            let ends = ["source_first_sequence", "source_last_sequence"];
            let [first, last] = ends.map(|end| loss[end].as_u64().unwrap());
            last + 1 - first
        };
        let archived: u64 = losses.filter(is_archived).map(known).sum();
        archived + report["salvaged"]["records_lost"].as_u64().unwrap_or_default()
    }
}
