//! The verbs that read, and what each of them tells of the log.

use crate::records_support::{holdpoint, told};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// What a reading shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shows {
    /// Whether the log holds.
    Verdict,
    /// Records, each on a line of its own.
    Records,
    /// Records in steps.
    Steps,
    /// What has become of things.
    State,
}

/// A verb with the options that make another reading of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    pub(crate) shows: Shows,
    /// `SEQ`, `KIND`, `LOOP`, `DECISION` and `TEXT` stand for what the attacked record has.
    words: &'static [&'static str],
}

const fn verb(name: &'static str, shows: Shows, words: &'static [&'static str]) -> Verb {
    Verb { name, shows, words }
}

/// Every reading, in the order of the columns.
pub(crate) const VERBS: [Verb; 18] = [
    verb("verify", Shows::Verdict, &["verify"]),
    verb("verify --range", Shows::Verdict, &["verify", "--range", "SEQ..SEQ"]),
    verb("log show", Shows::Records, &["log", "show"]),
    verb("log show --reverse", Shows::Records, &["log", "show", "--reverse"]),
    verb("log show --last", Shows::Records, &["log", "show", "--last", "3"]),
    verb("log show --from --to", Shows::Records, &["log", "show", "--from", "SEQ", "--to", "SEQ"]),
    verb("log show --kind", Shows::Records, &["log", "show", "--kind", "KIND"]),
    verb("log show --loop", Shows::Records, &["log", "show", "--loop", "LOOP"]),
    verb("log show --decision", Shows::Records, &["log", "show", "--decision", "DECISION"]),
    verb("log show --text", Shows::Records, &["log", "show", "--text", "TEXT"]),
    verb("log tail -n", Shows::Records, &["log", "tail", "-n", "3"]),
    verb("trace", Shows::Steps, &["trace", "SEQ"]),
    verb("replay", Shows::State, &["replay"]),
    verb("export", Shows::Records, &["export", "--format", "jsonl", "--out", "-"]),
    verb("decision list", Shows::State, &["decision", "list"]),
    verb("hold list", Shows::State, &["hold", "list"]),
    verb("thread list", Shows::State, &["thread", "list"]),
    verb("log stat", Shows::State, &["log", "stat"]),
];

/// The record that an attack is about, as the genuine log shows it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) sequence: u64,
    kind: String,
    text: String,
    loop_id: String,
    decision_id: String,
}

impl Target {
    /// Where the record is about no loop or no decision, the given one's are asked for.
    pub(crate) fn of(line: &Value, else_loop: &str, else_decision: &str) -> Self {
        let text = |key: &str| line[key].as_str().map(ToString::to_string);
        Self {
            sequence: line["sequence"].as_u64().unwrap(),
            kind: text("kind").unwrap(),
            text: text("summary").unwrap(),
            loop_id: text("loop_id").unwrap_or_else(|| else_loop.into()),
            decision_id: text("decision_id").unwrap_or_else(|| else_decision.into()),
        }
    }

    /// The loop and the decision.
    pub(crate) fn entities(&self) -> (&str, &str) {
        (&self.loop_id, &self.decision_id)
    }
}

impl Verb {
    /// The words of a verb that is asked for no record.
    pub(crate) fn plain(&self) -> Vec<String> {
        self.words.iter().chain(&["--json"]).map(ToString::to_string).collect()
    }

    pub(crate) fn words(&self, target: &Target) -> Vec<String> {
        let sequence = target.sequence.to_string();
        let filled = self.words.iter().map(|word| match *word {
            "KIND" => target.kind.clone(),
            "LOOP" => target.loop_id.clone(),
            "DECISION" => target.decision_id.clone(),
            "TEXT" => target.text.clone(),
            word => word.replace("SEQ", &sequence),
        });
        filled.chain(["--json".to_string()]).collect()
    }

    pub(crate) fn read(&self, log: &Path, words: &[String]) -> Reading {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (code, stdout, stderr) = told(&holdpoint(log, &words));
        let stream = serde_json::Deserializer::from_str(&stdout).into_iter();
        let values: Vec<Value> = stream.map_while(Result::ok).collect();
        let facts = values.iter().flat_map(|value| self.facts_in(value)).collect();
        let says_why = !(stdout.is_empty() && stderr.is_empty());
        Reading { code, stated_by: stated_by(&values, &stderr), values, facts, says_why }
    }

    /// What a value tells of what happened; none where it tells of the log alone.
    fn facts_in(&self, value: &Value) -> Vec<Fact> {
        if value.get("error").is_some() {
            return Vec::new();
        }
        match self.shows {
            Shows::Verdict => Vec::new(),
            Shows::Records => vec![Fact::of(value, value.get("standing"))],
            Shows::Steps => in_steps(value),
            Shows::State => match value {
                Value::Array(all) => {
                    all.iter().map(|one| Fact::of(one, one.get("standing"))).collect()
                }
                one => vec![Fact::of(one, None)],
            },
        }
    }
}

/// The record that states what was shown: each item names it, and a sentence where there is none.
fn stated_by(values: &[Value], stderr: &str) -> Option<u64> {
    let items = values.iter().filter_map(Value::as_array).flatten();
    let named = items.filter_map(|item| item["stated_by"].as_u64());
    let said = stderr.split_once("as stated by record ").map(|(_, rest)| rest);
    let said = said.and_then(|rest| rest.split_once(':')?.0.parse().ok());
    named.chain(said).next()
}

fn in_steps(value: &Value) -> Vec<Fact> {
    let steps = value["steps"].as_array().into_iter().flatten();
    let records = |step: &Value| -> Vec<Fact> {
        let records = step["records"].as_array().into_iter().flatten();
        records.map(|record| Fact::of(record, step.get("standing"))).collect()
    };
    steps.flat_map(records).collect()
}

/// What a reading gave.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    pub(crate) code: i32,
    /// The record by which what was shown is known, where not all of the log was read.
    pub(crate) stated_by: Option<u64>,
    pub(crate) values: Vec<Value>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) says_why: bool,
}

/// Something that is told to have happened, without what proves it.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    said: String,
    sequence: Option<u64>,
    pub(crate) standing: Option<String>,
}

/// What says how it is known, or what changes from one moment to the next.
const NO_FACTS: [&str; 9] = [
    "link",
    "standing",
    "stated_by",
    "no_witness_from",
    "reach",
    "durable",
    "head",
    "verdict",
    "time_left_ms",
];

/// What `log stat` counts; the rest is its verdict.
const COUNTED: [&str; 4] = ["records_by_kind", "batches", "first_time", "last_time"];

impl Fact {
    fn of(value: &Value, standing: Option<&Value>) -> Self {
        let mut said = value.clone();
        if let Value::Object(fields) = &mut said {
            let is_counts = fields.contains_key("records_by_kind");
            fields.retain(|key, _| match is_counts {
                true => COUNTED.contains(&key.as_str()),
                false => !NO_FACTS.contains(&key.as_str()),
            });
        }
        Self {
            sequence: said.get("sequence").and_then(Value::as_u64),
            said: said.to_string(),
            standing: standing.and_then(Value::as_str).map(ToString::to_string),
        }
    }

    pub(crate) fn sequence(&self) -> Option<u64> {
        self.sequence
    }

    pub(crate) fn stands(&self, as_what: &str) -> bool {
        self.standing.as_deref() == Some(as_what)
    }
}

/// Everything that the genuine log says, in each of the forms in which it is shown.
pub(crate) struct Known(BTreeSet<String>);

impl Known {
    /// From its records as `log show` shows them and as `export` does.
    pub(crate) fn of(shown: &Reading, exported: &Reading) -> Self {
        let in_steps = shown.values.iter().map(|line| {
            let keys = ["sequence", "time", "kind", "summary"];
            let short = keys.map(|key| (key.to_string(), line[key].clone()));
            Fact::of(&Value::Object(short.into_iter().collect()), None).said
        });
        let in_lines = shown.facts.iter().chain(&exported.facts).map(|fact| fact.said.clone());
        Self(in_lines.chain(in_steps).collect())
    }
}

/// How a reading of the attacked log differs from that of the genuine one.
#[derive(Debug)]
pub(crate) struct Difference {
    /// Facts that the genuine log does not have.
    pub(crate) forged: Vec<Fact>,
    /// Whether genuine facts are not shown, and nothing in their place.
    pub(crate) hides: bool,
}

impl Difference {
    pub(crate) fn between(genuine: &Reading, known: &Known, attacked: &Reading) -> Self {
        let said = |of: &Reading| -> BTreeSet<String> {
            of.facts.iter().map(|fact| fact.said.clone()).collect()
        };
        let (before, now) = (said(genuine), said(attacked));
        let is_known = |fact: &&Fact| before.contains(&fact.said) || known.0.contains(&fact.said);
        let forged = attacked.facts.iter().filter(|fact| !is_known(fact)).cloned().collect();
        let places: BTreeSet<u64> =
            attacked.facts.iter().filter_map(|fact| fact.sequence).collect();
        // What is newer may push something out of the newest so many: that hides nothing.
        let are_as_many = attacked.facts.len() >= genuine.facts.len();
        let is_shown = |fact: &Fact| match fact.sequence {
            Some(sequence) => are_as_many || places.contains(&sequence),
            None => now.contains(&fact.said),
        };
        Self { forged, hides: !genuine.facts.iter().all(is_shown) }
    }
}
