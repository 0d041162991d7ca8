//! A story as a tree: a step that caused one other stands above it, one that caused several has
//! them as branches.

use crate::arguments::{Global, program};
use crate::output::Output;
use crate::text::{doer, moment};
use anstyle::Style;
use holdpoint_domain::core::text::visible;
use holdpoint_replay::{Beginning, Role, Step, StepRecord, Trace};
use std::collections::BTreeMap;

pub(super) fn show(out: &mut Output, global: &Global, story: &Trace) {
    let asked = story.steps.iter().find(|step| step.role == Role::Asked);
    if let Some(correlation) = asked.and_then(|step| step.correlation.as_deref()) {
        out.line(format_args!("story    {}", visible(correlation)));
        out.line(format_args!(
            "         {} log show --correlation ID shows all of it",
            program(&global.log)
        ));
    }
    out.line(format_args!("person   {}", person(story)));
    out.line(format_args!("begins   {}", beginning(&story.beginning)));
    out.line("");
    for Drawn { step, own, rest } in tree(&story.steps) {
        show_step(out, story.sequence, step, &own, &rest);
    }
}

fn person(story: &Trace) -> String {
    match (&story.person, story.steps.first()) {
        (Some(person), _) => {
            format!("{}, record {}", doer(&person.actor, person.proof), person.sequence)
        }
        (None, Some(Step { actor: Some(first), proof, .. })) => {
            format!("nobody up to this record; it began with {}", doer(first, *proof))
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
        let line = format!("{before}{}", line_of(step, record));
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

fn line_of(step: &Step, record: &StepRecord) -> String {
    format!(
        "{}  {}  {}  {}  {}",
        record.sequence,
        moment(record.time),
        record.kind,
        step.actor.as_ref().map(|it| doer(it, step.proof)).unwrap_or_default(),
        record.summary
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
