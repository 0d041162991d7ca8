//! Changes of a state: from one moment to another of one log, or of two.

use crate::entity::value;
use crate::outcome::{EndRecords, RunOutcome, measured};
use crate::reach::Reach;
use crate::read::{Committed, ReadError};
use crate::rebuild::Until;
use crate::report::Head;
use crate::state::{ROOMS, STREAMS, began, entities_of, registration_id, state_of};
use crate::tell::{in_words, summary};
use crate::timeline::{Moment, Timeline};
use holdpoint_domain::Event;
use holdpoint_domain::decision_point::DecisionPointEvent;
use holdpoint_domain::execution_loop::ExecutionLoopEvent;
use holdpoint_domain::human_decision::HumanDecisionEvent;
use holdpoint_domain::registration::{RegistrationEvent, RegistrationName};
use holdpoint_domain::world::request_of;
use holdpoint_log_files::{ReadStorage, Standing};
use json_patch::Patch;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Number of entities above which those that came and went in between are counted and not named.
/// Only their names are kept, not what became of them step by step.
const PASSED_MAX: usize = 20_000;

/// The standing of what a state says that a record states.
const STATED: &str = "stated";

/// The room of runs.
const RUNS: &str = "execution_loops";

/// Difference between two states.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The record that the first state is the one behind; `None`: the beginning.
    pub from: Option<Head>,
    /// The same of the second state.
    pub to: Option<Head>,
    /// The entities that differ, by system and id.
    pub entities: Vec<EntityChange>,
    /// Records about entities that came and went in between and are not named here.
    pub records_left_out: u64,
    /// JSON Patch (RFC 6902) that makes the second state of the first, as
    /// [`state_of`] gives them.
    pub patch: Patch,
}

/// Change of one entity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EntityChange {
    /// The system that it belongs to, by the room of the state.
    pub room: &'static str,
    /// Its id; of a thread tenant and correlation, with `/` between them; of a registration what
    /// [`registration_id`] gives.
    pub id: String,
    /// Change that it went through.
    pub change: Change,
    /// Each value that differs, where it is in both states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValueChange>,
    /// The first record about it in between, where that is known.
    pub first_record: Option<u64>,
    /// The last one.
    pub last_record: Option<u64>,
    /// Summary of the last one, in one line.
    pub last_summary: Option<String>,
    /// The same, in words that need no other.
    pub last_words: Option<String>,
    /// Run that it is, and how it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunSummary>,
    /// Proof of the records about it up to the last one, of the weakest: a name that
    /// `holdpoint_log_files::Standing` gives; `stated` where it began before what was read for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<&'static str>,
}

/// Change of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It is in the second state alone.
    Appeared,
    /// It is in both and differs.
    Changed,
    /// It is in the first state alone: nothing can happen to it any more.
    Settled,
    /// It began and settled in between.
    CameAndSettled,
    /// It had settled before, and there are records about it nevertheless.
    LongSettled,
    /// A stream that is not among those that the state knows, which were written to last.
    Forgotten,
}

/// A value that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValueChange {
    /// Place in the entity's form: a JSON Pointer (RFC 6901).
    pub path: String,
    /// Value that was there; `None`: nothing.
    pub from: Option<Value>,
    /// Value that is there now; `None`: nothing.
    pub to: Option<Value>,
}

/// A run, as people know it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// Command that it runs, as whoever began it said.
    pub command_line: String,
    /// Outcome of it, where it ended in between and that is known.
    pub outcome: Option<RunOutcome>,
    /// True if how its process ended was told to its recorder, and observed by nobody: the records
    /// in between have no measurement of it. `None`: it did not end in between.
    pub is_reported: Option<bool>,
}

/// Compares two moments of one log, of which the second is not before the first.
///
/// # Errors
/// As [`Timeline::at`].
pub fn diff<S: ReadStorage>(
    line: &Timeline<'_, S>,
    from: &Moment,
    until: Until,
) -> Result<(Difference, Moment), ReadError> {
    let mut passed = Passed::default();
    let to = line.pass(from, until, &mut |record| passed.take(record))?;
    let mut difference = between(from, &to, &passed);
    let states = [from, &to];
    let reach = &line.report_on(&states).reach;
    difference.entities.iter_mut().for_each(|change| change.stand(states, reach));
    Ok((difference, to))
}

impl EntityChange {
    /// Says what is proven of all records that its states rest on: from the one that began it to
    /// the last one in between.
    fn stand(&mut self, states: [&Moment; 2], reach: &Reach) {
        let began = states.iter().filter_map(|state| began(&state.world, self.room, &self.id));
        let first = began.chain(self.first_record).min();
        self.standing =
            first.zip(self.last_record).map(|(first, last)| match reach.standing_of(first, last) {
                Standing::Proven if reach.is_stated(first) => STATED,
                standing => standing.name(),
            });
    }
}

/// Compares two states, whatever lies between them.
#[must_use]
pub fn diff_states(from: &Moment, to: &Moment) -> Difference {
    between(from, to, &Passed::default())
}

fn between(from: &Moment, to: &Moment, passed: &Passed) -> Difference {
    let (before, after) = (state_of(from), state_of(to));
    let mut entities: Vec<EntityChange> =
        ROOMS.iter().flat_map(|room| of_room(room, &before, &after, passed)).collect();
    entities.sort_by(|a, b| (rank(a.room), &a.id).cmp(&(rank(b.room), &b.id)));
    Difference {
        from: from.head(),
        to: to.head(),
        entities,
        records_left_out: passed.records_left_out,
        patch: json_patch::diff(&before, &after),
    }
}

fn rank(room: &str) -> usize {
    ROOMS.iter().position(|name| *name == room).unwrap_or(ROOMS.len())
}

fn of_room(
    room: &'static str,
    before: &Value,
    after: &Value,
    passed: &Passed,
) -> Vec<EntityChange> {
    let (before, after) = (entities_of(room, before), entities_of(room, after));
    let mut found = Vec::new();
    for (id, state) in &before {
        let (change, values) = match after.get(id) {
            Some(now) if now == state => continue,
            Some(now) => (Change::Changed, changed_values(state, now)),
            None => (gone(room, Change::Settled), Vec::new()),
        };
        found.push(EntityChange { values, ..passed.change(room, id, change, Some(state)) });
    }
    for (id, state) in after.iter().filter(|(id, _)| !before.contains_key(*id)) {
        found.push(passed.change(room, id, Change::Appeared, Some(state)));
    }
    let in_neither = |id: &String| !before.contains_key(id) && !after.contains_key(id);
    for (id, records) in passed.of_room(room).filter(|(id, _)| in_neither(id)) {
        let change = if records.began { Change::CameAndSettled } else { Change::LongSettled };
        found.push(passed.change(room, id, gone(room, change), None));
    }
    found
}

/// Returns what became of what has left the state. Streams never settle.
fn gone(room: &str, settled: Change) -> Change {
    if room == STREAMS { Change::Forgotten } else { settled }
}

/// Every value that differs.
fn changed_values(before: &Value, after: &Value) -> Vec<ValueChange> {
    let patch = value(json_patch::diff(before, after));
    let operations = patch.as_array().into_iter().flatten();
    let paths = operations.filter_map(|operation| operation.get("path")?.as_str());
    let changed = paths.map(|path| ValueChange {
        path: path.to_string(),
        from: before.pointer(path).cloned(),
        to: after.pointer(path).cloned(),
    });
    changed.collect()
}

/// The records about each entity on the way from one moment to another.
#[derive(Debug, Default)]
struct Passed {
    entities: BTreeMap<&'static str, BTreeMap<String, EntityRecords>>,
    count: usize,
    records_left_out: u64,
}

/// The records about one entity.
#[derive(Debug)]
struct EntityRecords {
    first: u64,
    last: u64,
    summary: String,
    words: String,
    /// The first of them is its beginning. Threads stay in the state for long after their end.
    began: bool,
    run: RunRecords,
}

/// Statements of the records about a run.
#[derive(Debug, Default)]
struct RunRecords {
    command_line: Option<String>,
    end: EndRecords,
    /// True if what its last process used was measured: somebody watched it.
    is_measured: bool,
}

impl RunRecords {
    fn take(&mut self, event: &Event) {
        self.is_measured = measured(event).unwrap_or(self.is_measured);
        let Event::ExecutionLoop(event) = event else { return };
        if let ExecutionLoopEvent::LoopInitialized(body) = event {
            self.command_line = Some(body.command_line.to_string());
        }
        self.end.go_on(EndRecords::of(event));
    }

    /// `before` is the state of the run before the first of the records: its process may have been
    /// measured then.
    fn is_reported(&self, before: Option<&Value>) -> Option<bool> {
        let is_exit_told = self.end.exit.flatten().is_some();
        is_exit_told.then(|| !self.is_measured && !before.is_some_and(is_measured))
    }

    /// Returns what became of it. Of a run that began before, how its process ended may have been
    /// recorded before as well.
    fn outcome(&self) -> Option<RunOutcome> {
        let is_known = self.end.exit.is_some() || self.command_line.is_some();
        self.end.outcome().filter(|_| is_known)
    }
}

impl Passed {
    fn take(&mut self, record: &Committed) {
        let Some(event) = record.envelope().map(|envelope| &envelope.event) else { return };
        let subjects = subjects_of(event);
        let mut is_left_out = false;
        for subject in subjects.into_iter().flatten() {
            is_left_out |= !self.take_about(subject, record.header.sequence, event);
        }
        if is_left_out {
            self.records_left_out = self.records_left_out.saturating_add(1);
        }
    }

    /// Returns whether there was room for what the record is about.
    fn take_about(&mut self, subject: Subject, sequence: u64, event: &Event) -> bool {
        let known = self.entities.entry(subject.room).or_default();
        if let Some(records) = known.get_mut(&subject.id) {
            records.last = sequence;
            records.summary = summary(event);
            records.words = in_words(event);
            records.run.take(event);
        } else if self.count < PASSED_MAX {
            self.count += 1;
            let (first, last) = (sequence, sequence);
            let (summary, words) = (summary(event), in_words(event));
            let (began, mut run) = (subject.begins, RunRecords::default());
            run.take(event);
            known.insert(subject.id, EntityRecords { first, last, summary, words, began, run });
        } else {
            return false;
        }
        true
    }

    fn of_room(&self, room: &str) -> impl Iterator<Item = (&String, &EntityRecords)> {
        self.entities.get(room).into_iter().flatten()
    }

    fn change(
        &self,
        room: &'static str,
        id: &str,
        change: Change,
        state: Option<&Value>,
    ) -> EntityChange {
        let records = self.entities.get(room).and_then(|known| known.get(id));
        let seen = records.map(|records| &records.run);
        let in_state = || Some(state?.get("command_line")?.as_str()?.to_string());
        let command_line = seen.and_then(|run| run.command_line.clone()).or_else(in_state);
        let outcome = seen.and_then(RunRecords::outcome);
        let is_reported = seen.and_then(|run| run.is_reported(state));
        let run = command_line.filter(|_| room == RUNS);
        EntityChange {
            room,
            id: id.to_string(),
            change,
            values: Vec::new(),
            first_record: records.map(|records| records.first),
            last_record: records.map(|records| records.last),
            last_summary: records.map(|records| records.summary.clone()),
            last_words: records.map(|records| records.words.clone()),
            run: run.map(|command_line| RunSummary { command_line, outcome, is_reported }),
            standing: None,
        }
    }
}

/// Returns whether what the last process of a run used was measured, by the state of the run.
fn is_measured(run: &Value) -> bool {
    let last = run.get("attempts").and_then(|attempts| attempts.as_array()?.last());
    last.and_then(|attempt| attempt.get("resources")).is_some_and(|usage| !usage.is_null())
}

/// Subject of an event.
struct Subject {
    room: &'static str,
    id: String,
    /// The event is its beginning.
    begins: bool,
}

/// Returns what an event is about. A request to a person is one of a loop, which is about both.
fn subjects_of(event: &Event) -> [Option<Subject>; 2] {
    let request = request_of(event).map(|id| Subject {
        room: "human_decisions",
        id: id.to_string(),
        begins: matches!(
            event,
            Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(_))
        ),
    });
    let subject = subject_of(event);
    let subject = subject.map(|(room, id)| Subject { room, id, begins: is_beginning(event) });
    [subject, request]
}

/// The room and the id of what an event is about, beside a request.
fn subject_of(event: &Event) -> Option<(&'static str, String)> {
    if let Some(id) = event.loop_id() {
        return Some((RUNS, id.to_string()));
    }
    if let Some(id) = event.decision_point() {
        return Some(("decision_points", id.to_string()));
    }
    if let Some(stream) = event.stream() {
        return Some((STREAMS, stream.to_string()));
    }
    if let Event::Registration(event) = event {
        return Some(("registrations", registration_id(&RegistrationName::of(event))));
    }
    let (tenant, correlation) = event.thread()?;
    Some(("interruption_threads", format!("{tenant}/{correlation}")))
}

fn is_beginning(event: &Event) -> bool {
    match event {
        Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(_))
        | Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(_))
        | Event::DecisionPoint(DecisionPointEvent::RoundOpened(_)) => true,
        Event::Registration(RegistrationEvent::CapabilityChanged(body)) => body.is_granted,
        Event::Registration(_) | Event::InterruptionThread(_) => true,
        _ => false,
    }
}
