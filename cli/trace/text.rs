//! A story as a tree: a step that caused one other stands above it, one that caused several has
//! them as branches.

use crate::arguments::{Global, program};
use crate::output::Output;
use crate::runs::ID_CHARACTERS;
use crate::show::proven;
use crate::text::{command_line, counted, doer, moment};
use anstyle::Style;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::execution_loop::Exit;
use holdpoint_replay::{Beginning, Role, RunOutcome, Step, StepRecord, Trace, TracedRun};
use std::collections::BTreeMap;

/// So many runs of a story are named; more are counted.
const RUNS_MAX: usize = 8;

pub(super) fn show(out: &mut Output, global: &Global, story: &Trace) {
    story.runs.iter().take(RUNS_MAX).for_each(|it| out.line(format_args!("run      {}", run(it))));
    let more = story.runs.len().saturating_sub(RUNS_MAX);
    if more > 0 {
        let more = counted(more as u64, "more run");
        out.line(format_args!("         and {more}: --json names all"));
    }
    out.line(format_args!("person   {}", person(story)));
    let asked = story.steps.iter().find(|step| step.role == Role::Asked);
    if let Some(correlation) = asked.and_then(|step| step.correlation.as_deref()) {
        out.line(format_args!("story    {}", visible(correlation)));
        out.line(format_args!(
            "         {} log show --correlation ID shows all of it",
            program(&global.log)
        ));
    }
    out.line(format_args!("begins   {}", beginning(&story.beginning)));
    out.line("");
    for Drawn { step, own, rest } in tree(&story.steps) {
        show_step(out, story.sequence, step, &own, &rest);
    }
}

/// A run in a line: which, what, and what became of it, as far as the story has it.
fn run(run: &TracedRun) -> String {
    let id = visible(run.run.get(..ID_CHARACTERS).unwrap_or(&run.run)).to_string();
    let command = match &run.command_line {
        Some(command) => command_line(command),
        None => "its command is not in this story".to_string(),
    };
    let exit = match run.exit {
        Some(Exit::Status(status)) => format!(", exit status {status}"),
        Some(Exit::Signal(signal)) => format!(", signal {signal}"),
        Some(Exit::Unknown) | None => String::new(),
    };
    let outcome = run.outcome.map_or("its end is not in this story", RunOutcome::name);
    format!("{id}: {command} ({outcome}{exit})")
}

fn person(story: &Trace) -> String {
    match (&story.person, story.steps.first()) {
        (Some(person), _) => {
            format!("{}, record {}", proven(&person.actor, person.proof), person.sequence)
        }
        (None, Some(Step { actor: Some(first), proof, .. })) => {
            format!("nobody up to this record; it began with {}", proven(first, *proof))
        }
        (None, _) => "nobody up to this record".to_string(),
    }
}

/// How a story begins, in words.
pub(super) fn beginning(beginning: &Beginning) -> String {
    match *beginning {
        Beginning::Begun { sequence } => format!("with record {sequence}, which nothing caused"),
        Beginning::Archived { sequence } => {
            format!("before this log: record {sequence} was moved to an archive")
        }
        Beginning::TooFar { sequence } => {
            format!("further back than was asked for: record {sequence} is next")
        }
        Beginning::NotEarlier { sequence, causation } => format!(
            "where record {sequence} names record {causation} as its cause, which is no earlier one"
        ),
        Beginning::Unreadable { sequence } => {
            format!("at or before record {sequence}, which does not say what caused it")
        }
        Beginning::Damaged { sequence } => {
            format!("at or before record {sequence}, which is damaged or missing")
        }
    }
}

fn show_step(out: &mut Output, asked: u64, step: &Step, own: &str, rest: &str) {
    let mut before = own;
    for record in &step.records {
        let line = format!("{before}{}", line_of(record));
        match record.sequence == asked {
            true => out.line(out.paint(Style::new().bold(), format_args!("> {line}"))),
            false => out.line(format_args!("  {line}")),
        }
        before = rest;
    }
    let told = step.records.last().map_or(step.first, |record| record.sequence);
    if told < step.last {
        out.line(format_args!("  {rest}records up to {} of the same command", step.last));
    }
}

fn line_of(record: &StepRecord) -> String {
    format!(
        "{}  {}  {}  {}  {}",
        record.sequence,
        moment(record.time),
        record.actor.as_ref().map(|it| doer(it, record.proof)).unwrap_or_default(),
        record.summary,
        record.kind
    )
}

/// A step, and what stands before its first line and before its others.
struct Drawn<'s> {
    step: &'s Step,
    own: String,
    rest: String,
}

/// The steps from the first one on, each before what it caused.
fn tree(steps: &[Step]) -> Vec<Drawn<'_>> {
    let children = children_of(steps);
    let mut drawn = Vec::new();
    let roots = steps.iter().filter(|step| cause_of(steps, step).is_none());
    let mut due: Vec<Drawn<'_>> =
        roots.rev().map(|step| Drawn { step, own: String::new(), rest: String::new() }).collect();
    while let Some(next) = due.pop() {
        let caused = children.get(&next.step.first).map_or(&[][..], Vec::as_slice);
        let last = caused.last().map(|step| step.first);
        for step in caused.iter().rev() {
            let rest = &next.rest;
            let (own, rest) = match (caused.len(), Some(step.first) == last) {
                (1, _) => (rest.clone(), rest.clone()),
                (_, true) => (format!("{rest}`- "), format!("{rest}   ")),
                (_, false) => (format!("{rest}|- "), format!("{rest}|  ")),
            };
            due.push(Drawn { step, own, rest });
        }
        drawn.push(next);
    }
    drawn
}

/// By the first record of a step, the steps that it caused.
fn children_of(steps: &[Step]) -> BTreeMap<u64, Vec<&Step>> {
    let mut children: BTreeMap<u64, Vec<&Step>> = BTreeMap::new();
    for step in steps {
        if let Some(cause) = cause_of(steps, step) {
            children.entry(cause.first).or_default().push(step);
        }
    }
    children
}

/// The step of the story that caused one; steps are in the order of the log.
pub(super) fn cause_of<'s>(steps: &'s [Step], step: &Step) -> Option<&'s Step> {
    let causation = step.causation.filter(|_| step.is_caused)?;
    let at = steps.partition_point(|other| other.last < causation);
    steps.get(at).filter(|other| other.first <= causation)
}
