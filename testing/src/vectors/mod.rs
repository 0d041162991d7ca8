//! The rules as data: lines for `holdpoint apply`, and what the rules answer to them.
//!
//! Each vector is decided here by the rules alone, without a log. `docs/conformance/vectors` holds
//! the files, and its `check.py` runs them through a program.

mod answers;
mod attempts;
mod branches;
mod decisions;
mod faults;
mod hashes;

use crate::story::adoption;
use crate::threads::{Outcome, Stage};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::{ActorId, Command, Event, Time};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// When everything happens here, in nanoseconds.
const NOW: u64 = 1_769_356_800_000_000_000;

/// How much later what is due is recorded, in nanoseconds.
const DUE: u64 = 1_000_000_000;

/// Every file: its name and its lines.
pub fn files() -> Vec<(&'static str, String)> {
    vec![
        ("phase-21.jsonl", faults::vectors()),
        ("phase-29.jsonl", attempts::vectors()),
        ("phase-32.jsonl", answers::vectors()),
        ("hashes.jsonl", hashes::vectors()),
        ("decision-points.jsonl", decisions::vectors()),
        ("interruption-threads.jsonl", branches::vectors()),
    ]
}

/// A file while it is written.
struct Book {
    lines: String,
    defined: BTreeMap<String, Value>,
    /// Lines that have a name.
    named: Vec<(String, Vec<Value>)>,
    /// Where every vector begins.
    setting: Stage,
    count: u64,
}

/// What the lines before a vector lead to.
struct Tried {
    stage: Stage,
    evidence: Vec<Value>,
    is_reached: bool,
}

/// What came of a vector's line.
struct Answered {
    outcome: Outcome,
    stage: Stage,
    /// What was captured by then.
    evidence: Vec<Value>,
    number: u64,
}

impl Book {
    fn new() -> Self {
        let mut setting = Stage::default();
        let at = Time::from_nanoseconds(NOW);
        setting.record(&adoption(&setting.world), at);
        Self {
            lines: String::new(),
            defined: BTreeMap::new(),
            named: Vec::new(),
            setting,
            count: 0,
        }
    }

    /// Names a part of lines.
    fn define(&mut self, name: &str, line: Value) {
        self.push(&format!("{{\"define\":{},\"line\":{line}}}", json!(name)));
        assert!(self.defined.insert(name.into(), line).is_none(), "{name} twice");
    }

    /// Names lines that are given before vectors.
    fn define_lines(&mut self, name: &str, lines: &[Value]) {
        if !self.named.iter().any(|(_, named)| named == lines) {
            self.push(&format!("{{\"define\":{},\"line\":{}}}", json!(name), json!(lines)));
            self.named.push((name.into(), lines.to_vec()));
        }
    }

    /// Gives a line before all vectors.
    fn set_up(&mut self, parts: &Value) {
        self.push(&format!("{{\"setup\":{parts}}}"));
        let line = self.line(parts, &digits(0));
        let outcome = give(&mut self.setting, &line);
        assert!(matches!(outcome, Outcome::Done(_)), "{line}: {outcome:?}");
    }

    /// Adds a vector: `expect` picks what the rule determines.
    fn add(
        &mut self,
        (id, rule): (&str, &str),
        given: &[Value],
        when: &Value,
        expect: impl Fn(&Answered) -> Value,
    ) {
        self.add_by(id, |_| rule, given, when, expect);
    }

    /// The same, where the rule is told by what is expected.
    fn add_by<'a>(
        &mut self,
        id: &str,
        rule: impl Fn(&Value) -> &'a str,
        given: &[Value],
        when: &Value,
        expect: impl Fn(&Answered) -> Value,
    ) {
        self.count += 1;
        let Tried { mut stage, mut evidence, is_reached } = self.tried(given);
        assert!(is_reached, "{id}: a line before it is refused");
        let outcome = give(&mut stage, &self.line(when, &digits(self.count)));
        evidence.extend(pieces(&outcome));
        let answered = Answered { outcome, stage, evidence, number: self.count };
        let expect = expect(&answered);
        let named = self.named.iter().find(|(_, lines)| lines == given);
        let given = named.map_or_else(|| json!(given), |(name, _)| json!(name));
        let (id, rule) = (json!(id), json!(rule(&expect)));
        self.push(&format!(
            "{{\"id\":{id},\"rule\":{rule},\"given\":{given},\"when\":{when},\"expect\":{expect}}}"
        ));
    }

    /// Adds a vector of which the writer of the log decides, and not the rules.
    fn add_told(&mut self, (id, rule): (&str, &str), given: &[Value], when: &Value, code: &str) {
        self.count += 1;
        let (id, rule, given) = (json!(id), json!(rule), json!(given));
        let expect = json!({ "refusal": { "code": code } });
        self.push(&format!(
            "{{\"id\":{id},\"rule\":{rule},\"given\":{given},\"when\":{when},\"expect\":{expect}}}"
        ));
    }

    /// What lines lead to, as long as they are accepted.
    fn tried(&self, given: &[Value]) -> Tried {
        let (mut stage, mut evidence) = (self.setting.clone(), Vec::new());
        let is_reached = given.iter().all(|parts| {
            let outcome = give(&mut stage, &self.line(parts, &digits(self.count)));
            evidence.extend(pieces(&outcome));
            matches!(outcome, Outcome::Done(_))
        });
        Tried { stage, evidence, is_reached }
    }

    fn push(&mut self, line: &str) {
        self.lines.push_str(line);
        self.lines.push('\n');
    }

    /// The line that parts are: each laid over those before it.
    fn line(&self, parts: &Value, digits: &[String; 2]) -> Value {
        let mut line = json!({});
        for part in parts.as_array().unwrap() {
            let over = match part {
                Value::String(name) => self.defined.get(name).unwrap_or_else(|| panic!("{name}")),
                part => part,
            };
            lay_over(&mut line, over);
        }
        let text = line.to_string().replace("\"$NOW\"", &NOW.to_string());
        let [own, next] = digits;
        let text = text.replace("$ID", own).replace("$NEXT", next).replace("$USER", "person");
        serde_json::from_str(&text).unwrap()
    }
}

impl Answered {
    /// The code of the refusal, else what is picked of the events.
    fn or_refusal(&self, pick: impl Fn(&[Event]) -> Value) -> Value {
        match &self.outcome {
            Outcome::Done(events) => pick(events),
            Outcome::Refused(refusal) if refusal.code() == "ALREADY_DONE" => {
                json!({ "receipt": { "repeated": true } })
            }
            Outcome::Refused(refusal) => json!({ "refusal": { "code": refusal.code() } }),
            Outcome::Repeated(_) => panic!("a key was used twice"),
        }
    }

    /// What stands for digits of the vector, as it is here.
    fn named(&self, text: &str) -> String {
        let [own, next] = digits(self.number);
        text.replace("$ID", &own).replace("$NEXT", &next)
    }

    /// The same the other way round.
    fn placed(&self, value: &Value) -> Value {
        let [own, next] = digits(self.number);
        let text = value.to_string().replace(&own, "$ID").replace(&next, "$NEXT");
        serde_json::from_str(&text).unwrap()
    }

    /// The names of the events, and of each kind the fields that are asked for.
    fn recorded(&self, wanted: &[(&str, &[&str])]) -> Value {
        self.or_refusal(|events| {
            let names: Vec<_> = events.iter().map(|event| event.kind().name).collect();
            let mut records = json!({});
            for event in events {
                let found = wanted.iter().find(|(kind, _)| *kind == event.kind().name);
                if let Some((kind, fields)) = found {
                    let written = serde_json::to_value(event).unwrap();
                    fields.iter().for_each(|name| records[*kind][*name] = written[*name].clone());
                }
            }
            json!({ "receipt": { "events": names }, "records": records })
        })
    }
}

/// Lays one value over another: objects member by member, everything else in its place.
fn lay_over(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (name, value) in over {
                lay_over(under.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}

/// The digits of a vector: its own, and those of what follows.
fn digits(number: u64) -> [String; 2] {
    [format!("a{number:031x}"), format!("b{number:031x}")]
}

/// The evidence that was captured.
fn pieces(outcome: &Outcome) -> Vec<Value> {
    let Outcome::Done(events) = outcome else { return Vec::new() };
    events.iter().filter_map(hashes::evidence).collect()
}

/// Gives a line to the rules, as `apply` does.
fn give(stage: &mut Stage, line: &Value) -> Outcome {
    let mut command: Command = serde_json::from_value(line["submit"].clone())
        .unwrap_or_else(|error| panic!("{error}: {line}"));
    if line["submit"]["entropy"].is_null() && command.entropy().is_some() {
        let drawn: Entropy =
            serde_json::from_value(json!(format!("f{:031x}", stage.sequence))).unwrap();
        command = command.with_entropy(drawn);
    }
    let (kind, id) = (&line["actor"]["kind"], &line["actor"]["id"]);
    let kind = match kind.as_str() {
        Some("HUMAN") => Actor::Human,
        Some("AGENT") => Actor::Agent,
        _ => Actor::Automation,
    };
    let actor = ActorId { kind, id: id.as_str().unwrap_or("person").into() };
    let at = if line["when_due"] == true { NOW + DUE } else { NOW.max(stage.newest) };
    stage.give_as(&actor, &command, Time::from_nanoseconds(at))
}
