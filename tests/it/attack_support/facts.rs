//! What is told to have happened, and how two readings differ in it.

use super::reading::Reading;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Something that is told to have happened, without what proves it.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub(super) said: String,
    pub(super) sequence: Option<u64>,
    pub(crate) standing: Option<String>,
}

/// What says how it is known, where it lies, or what changes from one moment to the next.
const NO_FACTS: [&str; 18] = [
    "link",
    "standing",
    "stated_by",
    "no_witness_from",
    "reach",
    "durable",
    "head",
    "verdict",
    "time_left_ms",
    "archive",
    "log",
    "from",
    "to",
    "states",
    "states_from_snapshots",
    "records_applied",
    "state_after_record",
    "not_counted",
];

/// Keys that `log --stat` counts; the rest is its verdict.
const COUNTED: [&str; 4] = ["records_by_kind", "batches", "first_time", "last_time"];

/// The standing of a record of which `verify` of a salvaged log finds that it states what is false.
pub(crate) const FOUND_FALSE: &str = "found false";

/// What a record says that salvage takes over under another number.
const KEPT: [&str; 6] = ["time", "kind", "actor", "correlation", "summary", "event"];

impl Fact {
    pub(super) fn of(value: &Value, standing: Option<&Value>) -> Self {
        let mut said = value.clone();
        if let Value::Object(fields) = &mut said {
            let is_counts = fields.contains_key("records_by_kind");
            fields.retain(|key, _| match is_counts {
                true => COUNTED.contains(&key.as_str()),
                false => !NO_FACTS.contains(&key.as_str()),
            });
        }
        let sequence =
            ["sequence", "audit_event_id"].iter().find_map(|key| said.get(key)?.as_u64());
        Self {
            sequence,
            said: said.to_string(),
            standing: standing.and_then(Value::as_str).map(ToString::to_string),
        }
    }

    /// What a salvaged log says of itself is none.
    pub(super) fn of_kept(line: &Value) -> Option<Self> {
        let is_of_log = line["kind"].as_str().is_some_and(|kind| kind.starts_with("log."));
        let kept = KEPT.map(|key| (key.to_string(), line[key].clone()));
        let kept = Value::Object(kept.into_iter().collect::<Map<_, _>>());
        (!is_of_log).then(|| Self::of(&kept, line.get("standing")))
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
    /// From its records as `log` shows them and as `export` does.
    pub(crate) fn of(shown: &Reading, exported: &Reading) -> Self {
        let in_steps = shown.values.iter().map(|line| {
            let keys = ["sequence", "time", "kind", "summary"];
            let short = keys.map(|key| (key.to_string(), line[key].clone()));
            Fact::of(&Value::Object(short.into_iter().collect()), None).said
        });
        let in_lines = shown.facts.iter().chain(&exported.facts).map(|fact| fact.said.clone());
        let kept = shown.values.iter().filter_map(Fact::of_kept).map(|fact| fact.said);
        Self(in_lines.chain(in_steps).chain(kept).collect())
    }
}

/// How a reading of the attacked log differs from that of the genuine one.
#[derive(Debug)]
pub(crate) struct Difference {
    /// Facts that the genuine log does not have.
    pub(crate) forged: Vec<Fact>,
    /// How many genuine facts are not shown, and nothing in their place.
    pub(crate) hidden: usize,
}

impl Difference {
    /// Where a part is shown up to a record, `up_to` is what the genuine log shows up to there.
    pub(crate) fn between(
        (genuine, up_to): (&Reading, &Reading),
        known: &Known,
        attacked: &Reading,
    ) -> Self {
        let said = |of: &Reading| -> BTreeSet<String> {
            of.facts.iter().map(|fact| fact.said.clone()).collect()
        };
        let (before, now) = (said(genuine), said(attacked));
        let in_part = said(up_to);
        let is_known = |fact: &&Fact| {
            [&before, &in_part, &known.0].iter().any(|facts| facts.contains(&fact.said))
        };
        let forged = attacked.facts.iter().filter(|fact| !is_known(fact)).cloned().collect();
        let places: BTreeSet<u64> =
            attacked.facts.iter().filter_map(|fact| fact.sequence).collect();
        // What is newer may push something out of the newest so many: that hides nothing.
        let are_as_many = attacked.facts.len() >= genuine.facts.len();
        let is_shown = |fact: &&Fact| match fact.sequence {
            Some(sequence) => are_as_many || places.contains(&sequence),
            None => now.contains(&fact.said),
        };
        let hidden = genuine.facts.iter().filter(|fact| !is_shown(fact)).count();
        Self { forged, hidden }
    }
}
