//! What differs between two runs. Whatever is known of a run has a name here, and is compared with
//! what the other run has under the same name.

use crate::log::run_facts::{directory, exit_of, marked, marked_command, proven, told_exit};
use crate::ui::screen::fits_in_row;
use crate::ui::time_format::{Clock, took};
use crate::ui::{Page, counted, named};
use holdpoint_engine::executor::{InstructionEnvelope, ShownValue, command_line, visible};
use holdpoint_replay::run_list::RunRow;
use holdpoint_replay::{Run, RunOutcome};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;

/// What of a run is compared, in the order in which it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Aspect {
    Command,
    Directory,
    Outcome,
    Exit,
    By,
    ApprovedBy,
    Label,
    Environment,
    Attempts,
    Took,
}

impl Aspect {
    const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Directory => "directory",
            Self::Outcome => "outcome",
            Self::Exit => "exit",
            Self::By => "by",
            Self::ApprovedBy => "approved by",
            Self::Label => "label",
            Self::Environment => "environment",
            Self::Attempts => "attempts",
            Self::Took => "took",
        }
    }
}

/// A thing of a run: what it is about, and the name of the label or variable where it is one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Thing {
    what: Aspect,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// What a run has under a name.
#[derive(Clone, Debug, PartialEq)]
enum Fact {
    /// Words of this program.
    Own { value: Value, words: String },
    /// A text of others, as it is for a program and as it was written.
    Text { value: Value, text: String },
    /// There is something, and nothing of it is on record.
    NotKept,
}

impl Fact {
    fn own(value: impl Into<Value>, words: impl Into<String>) -> Self {
        Self::Own { value: value.into(), words: words.into() }
    }

    fn text(text: &str) -> Self {
        Self::Text { value: text.into(), text: text.to_string() }
    }

    /// A command that nothing proves to be what was hashed.
    fn claim(command: &str) -> Self {
        let text = marked_command(command, true);
        Self::Text { value: json!({ "claimed": command }), text }
    }

    /// Bytes that are not text are made visible for a program, so that two stay different.
    fn bytes(bytes: &OsStr) -> Self {
        let text = bytes.to_string_lossy().into_owned();
        Self::Text { value: visible(bytes).into(), text }
    }

    fn value(&self) -> Value {
        match self {
            Self::Own { value, .. } | Self::Text { value, .. } => value.clone(),
            Self::NotKept => json!({ "not_kept": true }),
        }
    }

    /// Whether it is the same. No two runs take the same nanoseconds: lengths are alike that are
    /// told alike.
    fn is_like(&self, other: &Self, what: Aspect) -> bool {
        self.value() == other.value() || (what == Aspect::Took && self.whole() == other.whole())
    }

    /// In a row, where it fits one.
    fn in_row(&self) -> Option<String> {
        match self {
            Self::Own { words, .. } => Some(words.clone()),
            Self::Text { text, .. } => fits_in_row(text).then(|| named(text)),
            Self::NotKept => Some("a value that is not on record".to_string()),
        }
    }

    /// The whole of it.
    fn whole(&self) -> &str {
        match self {
            Self::Own { words, .. } => words,
            Self::Text { text, .. } => text,
            Self::NotKept => "a value that is not on record",
        }
    }
}

/// Something that two runs do not have alike; `None`: the run does not have it.
struct Change {
    thing: Thing,
    from: Option<Fact>,
    to: Option<Fact>,
}

/// What differs between two runs, what does not, and what is not known of one of them at least.
#[derive(Default)]
pub(crate) struct Difference {
    changes: Vec<Change>,
    same: Vec<Thing>,
    not_known: Vec<Thing>,
}

impl Difference {
    /// Between two runs that were read whole.
    pub(crate) fn between(from: &Run, to: &Run) -> Self {
        let (mut ours, mut theirs) = (facts(from), facts(to));
        let environment = Thing { what: Aspect::Environment, name: None };
        if [&ours, &theirs].into_iter().any(|facts| facts.contains_key(&environment)) {
            for facts in [&mut ours, &mut theirs] {
                facts.retain(|thing, _| thing.what != Aspect::Environment);
                facts.insert(environment.clone(), Fact::NotKept);
            }
        }
        let mut difference = Self::default();
        for (thing, from) in ours {
            let to = theirs.remove(&thing);
            difference.take(thing, Some(from), to);
        }
        for (thing, to) in theirs {
            difference.take(thing, None, Some(to));
        }
        difference.changes.sort_by(|a, b| a.thing.cmp(&b.thing));
        difference
    }

    fn take(&mut self, thing: Thing, from: Option<Fact>, to: Option<Fact>) {
        match (&from, &to) {
            (Some(Fact::NotKept), Some(_)) | (Some(_), Some(Fact::NotKept)) => {
                self.not_known.push(thing);
            }
            (Some(one), Some(other)) if one.is_like(other, thing.what) => self.same.push(thing),
            _ => self.changes.push(Change { thing, from, to }),
        }
    }
}

/// All that is known of a run and compared.
fn facts(run: &Run) -> BTreeMap<Thing, Fact> {
    let envelope = InstructionEnvelope::decode(&run.instruction);
    let mut facts = BTreeMap::new();
    let mut put = |what, name: Option<&str>, fact| {
        facts.insert(Thing { what, name: name.map(String::from) }, fact);
    };
    let command = envelope.as_ref().map_or_else(
        || Fact::claim(&run.entity.command_line),
        |it| Fact::text(&command_line(&it.program, &it.arguments)),
    );
    put(Aspect::Command, None, command);
    let in_directory = envelope.as_ref().map(|it| Fact::bytes(it.directory.as_os_str()));
    put(Aspect::Directory, None, in_directory.unwrap_or(Fact::NotKept));
    put_end(run, &mut put);
    put(Aspect::By, None, by(run));
    put(Aspect::ApprovedBy, None, approved_by(run));
    for (name, value) in &run.labels {
        put(Aspect::Label, Some(name), Fact::text(value));
    }
    match &envelope {
        Some(envelope) => {
            for (name, value) in &envelope.environment {
                let fact = match value {
                    ShownValue::Shown(value) => Fact::bytes(value),
                    ShownValue::Redacted => Fact::NotKept,
                };
                put(Aspect::Environment, Some(&visible(name)), fact);
            }
        }
        None => put(Aspect::Environment, None, Fact::NotKept),
    }
    facts
}

fn put_end(run: &Run, put: &mut dyn FnMut(Aspect, Option<&str>, Fact)) {
    let ended = run.entity.current_attempt();
    let outcome = RunOutcome::of(&run.entity).name();
    put(Aspect::Outcome, None, Fact::own(outcome, marked(ended, outcome.to_string())));
    let exit = ended.and_then(|attempt| exit_of(attempt).zip(told_exit(attempt)));
    let exit = exit.map_or(Fact::own(Value::Null, "none"), |(exit, told)| Fact::own(exit, told));
    put(Aspect::Exit, None, exit);
    let attempts = run.entity.attempt_count();
    put(Aspect::Attempts, None, Fact::own(attempts, attempts.to_string()));
    let lasted = run.lasted();
    let unknown = if run.entity.halt.is_some() { "its end was not seen" } else { "has not ended" };
    let words = lasted.map_or(unknown.to_string(), took);
    put(Aspect::Took, None, Fact::own(lasted, words));
}

fn by(run: &Run) -> Fact {
    let Some(doer) = run.doers.get(&run.entity.started_sequence) else { return Fact::NotKept };
    Fact::own(json!({ "actor": doer.actor, "proof": doer.proof }), proven(&doer.actor, doer.proof))
}

fn approved_by(run: &Run) -> Fact {
    let value = run.approvers().map(|who| json!({ "id": who.id, "is_claim": who.is_claim }));
    let value: Vec<Value> = value.collect();
    let words = run
        .approvers()
        .map(|who| format!("{}{}", named(who.id), if who.is_claim { " (not proven)" } else { "" }));
    let words: Vec<String> = words.collect();
    // No name has a space in it without quotes.
    let words = if words.is_empty() { "none".to_string() } else { words.join(", ") };
    Fact::own(value, words)
}

/// What a program is shown.
#[derive(Serialize)]
pub(crate) struct DifferenceDocument<'r> {
    from: Side<'r>,
    to: Side<'r>,
    changes: Vec<ShownChange<'r>>,
    same: &'r [Thing],
    not_known: &'r [Thing],
}

#[derive(Serialize)]
struct Side<'r> {
    #[serde(flatten)]
    row: RunRow<'r>,
    directory: Option<String>,
}

#[derive(Serialize)]
struct ShownChange<'r> {
    #[serde(flatten)]
    thing: &'r Thing,
    from: Option<Value>,
    to: Option<Value>,
}

impl<'r> DifferenceDocument<'r> {
    pub(crate) fn of(from: &'r Run, to: &'r Run, difference: &'r Difference) -> Self {
        let side = |run: &'r Run| Side { row: RunRow::of(run), directory: directory(run) };
        let changes = difference.changes.iter().map(|Change { thing, from, to }| ShownChange {
            thing,
            from: from.as_ref().map(Fact::value),
            to: to.as_ref().map(Fact::value),
        });
        Self {
            from: side(from),
            to: side(to),
            changes: changes.collect(),
            same: &difference.same,
            not_known: &difference.not_known,
        }
    }
}

/// How two runs are called on a screen, and when it is looked at.
#[derive(Clone, Copy)]
pub(crate) struct View<'v> {
    pub(crate) columns: usize,
    pub(crate) clock: &'v Clock,
    /// How this program is called for the log.
    pub(crate) program: &'v str,
}

/// The screen: both runs, what differs, what does not.
pub(crate) fn lines(from: &Run, to: &Run, view: &View<'_>) -> Vec<String> {
    let mut page = Page::new(view.columns);
    put_run(&mut page, "from", from, view.clock);
    put_run(&mut page, "to", to, view.clock);
    put_difference(&mut page, &Difference::between(from, to), view.program);
    page.lines()
}

/// A run in a row: which, and when it began.
pub(crate) fn put_run(page: &mut Page, name: &str, run: &Run, clock: &Clock) {
    let begun = clock.told_with_moment(run.entity.started_at);
    page.row(name, &format!("{}, began {begun}", run.entity.loop_id()));
}

/// What differs first, then what does not.
pub(crate) fn put_difference(page: &mut Page, difference: &Difference, program: &str) {
    difference.changes.iter().for_each(|change| put_change(page, change));
    if difference.changes.is_empty() {
        page.sentence("no recorded difference");
    }
    put_same(page, &difference.same);
    put_not_known(page, &difference.not_known);
    page.sentence(&format!("`{program} output RUN` has what each printed: it is not compared"));
}

fn put_change(page: &mut Page, Change { thing, from, to }: &Change) {
    let (what, name) = (thing.what.name(), thing.name.as_deref().map(named));
    let in_row = |fact: &Option<Fact>| match fact {
        Some(fact) => fact.in_row().filter(|_| thing.what != Aspect::Command),
        None => Some("not set".to_string()),
    };
    if let (Some(from), Some(to)) = (in_row(from), in_row(to)) {
        let of = name.map(|name| format!("{name}: ")).unwrap_or_default();
        let claim = if thing.what == Aspect::Label { " (not proven)" } else { "" };
        return page.row(what, &format!("{of}{from} -> {to}{claim}"));
    }
    let of = name.map(|name| format!(" {name}")).unwrap_or_default();
    for (side, fact) in [("from", from), ("to", to)] {
        let text = fact.as_ref().map_or("not set", Fact::whole);
        let title = format!("{what}{of}, {side}");
        match thing.what {
            Aspect::Command => page.recorded(&title, text),
            _ => page.foreign(&title, text),
        }
    }
}

/// What does not differ: labels and variables are counted.
fn put_same(page: &mut Page, things: &[Thing]) {
    let mut counts: BTreeMap<Aspect, u64> = BTreeMap::new();
    for thing in things {
        let count = counts.entry(thing.what).or_default();
        *count = count.saturating_add(u64::from(thing.name.is_some()));
    }
    let words = counts.into_iter().map(|(what, count)| match (what, count) {
        (what, 0) => what.name().to_string(),
        (Aspect::Environment, count) => counted(count, "variable"),
        (what, count) => counted(count, what.name()),
    });
    let words: Vec<String> = words.collect();
    if !words.is_empty() {
        page.row("same", &words.join(", "));
    }
}

/// What nobody can say whether it differs.
fn put_not_known(page: &mut Page, things: &[Thing]) {
    let words = things.iter().map(|Thing { what, name }| match name {
        Some(name) => format!("{} {}", what.name(), named(name)),
        None => what.name().to_string(),
    });
    let words: Vec<String> = words.collect();
    if !words.is_empty() {
        page.row("not known", &words.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Sample};

    fn shown(from: &Run, to: &Run, clock: &Clock, columns: usize) -> Vec<String> {
        lines(from, to, &View { columns, clock, program: "holdpoint" })
    }

    #[test]
    fn two_runs_are_compared_on_one_screen_at_every_width() {
        let sample = Sample::new();
        let runs = sample.whole();
        for columns in golden::COLUMNS {
            let lines = shown(&runs[0], &runs[1], &Clock::at(sample.now), columns);
            golden::compare("diff-runs", columns, &lines);
        }
        let alike = shown(&runs[0], &runs[0], &Clock::at(sample.now), 80);
        assert!(alike.iter().any(|line| line.starts_with("no recorded difference")), "{alike:?}");
    }

    /// A run whose instruction, directory and environment are on record, with labels.
    fn of(run: &Run, variables: &[(&str, Option<&str>)], label: &str) -> Run {
        let shown = |value: Option<&str>| {
            value.map_or(ShownValue::Redacted, |value| ShownValue::Shown(value.into()))
        };
        let environment = variables.iter().map(|(name, value)| (name.into(), shown(*value)));
        let envelope = InstructionEnvelope {
            program: "make".into(),
            arguments: vec!["deploy".into()],
            directory: "/srv/app".into(),
            environment: environment.collect(),
        };
        let labels = [("env".to_string(), label.to_string())].into();
        Run { instruction: envelope.encode(), labels, ..run.clone() }
    }

    #[test]
    fn what_differs_is_shown_whole_and_what_is_not_on_record_is_not_guessed() {
        let sample = Sample::new();
        let runs = sample.whole();
        let long = "/usr/local/bin:".repeat(9);
        let variables = [("LANG", Some("C")), ("PATH", Some(&*long)), ("TOKEN", None)];
        let from = of(&runs[0], &variables, "test\u{1b}[31m");
        let longer = format!("{long}/opt/bin");
        let variables =
            [("CI", Some("true")), ("LANG", Some("C")), ("PATH", Some(&*longer)), ("TOKEN", None)];
        let to = of(&runs[1], &variables, "prod");
        for columns in golden::COLUMNS {
            golden::compare(
                "diff-runs-known",
                columns,
                &shown(&from, &to, &Clock::at(sample.now), columns),
            );
        }
    }
}
