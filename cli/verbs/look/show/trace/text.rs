//! A story as a tree: a step that caused one other stands above it, one that caused several has
//! them as branches.

use crate::args::Global;
use crate::log::records::breakable;
use crate::log::run_facts::{REPORTED, marked_command, proven};
use crate::log::run_records::ID_CHARACTERS;
use crate::ui::program::program;
use crate::ui::screen::{columns_of_screen, folded};
use crate::ui::text::command_line;
use crate::ui::{Output, counted, moment};
use anstyle::Style;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::execution_loop::Exit;
use holdpoint_engine::executor::command_line as shell_line;
use holdpoint_replay::words::exit_in_words;
use holdpoint_replay::{Beginning, Person, Role, RunOutcome, Step, StepRecord, Trace, TracedRun};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

/// So many runs of a story are named; more are counted.
const RUNS_MAX: usize = 8;

/// True if a line is of the record that was asked about, and the line.
type TraceLine = (bool, String);

/// Names of rows are so wide, with the space behind them.
const NAME_COLUMNS: usize = 9;

pub(super) fn show(out: &mut Output, global: &Global, story: &Trace, is_verbose: bool) {
    let screen = Screen { columns: columns_of_screen(), is_verbose };
    for (is_asked, line) in lines(story, &program(&global.log), screen) {
        let style = if is_asked { Style::new().bold() } else { Style::new() };
        out.line(out.paint(style, line));
    }
}

/// How a story is laid out.
#[derive(Clone, Copy)]
struct Screen {
    /// In so many columns, where there are any.
    columns: Option<usize>,
    /// With the codes of each record.
    is_verbose: bool,
}

/// The screen. `program` is how this one is called for the log.
fn lines(story: &Trace, program: &str, screen: Screen) -> Vec<TraceLine> {
    let columns = screen.columns;
    let mut lines = Vec::new();
    let mut row = |name: &str, value: &str| {
        let name = format!("{name:<NAME_COLUMNS$}");
        let others = " ".repeat(if columns.is_some_and(is_narrow) { 2 } else { NAME_COLUMNS });
        let laid_out = laid_out(value, (&name, &others), columns).into_iter();
        lines.extend(laid_out.map(|line| (false, line)));
    };
    let is_whole = story.effects_left_out == 0 && !story.effects_cut;
    story.runs.iter().take(RUNS_MAX).for_each(|it| row("run", &run(it, is_whole)));
    let more = story.runs.len().saturating_sub(RUNS_MAX);
    if more > 0 {
        let more = counted(more as u64, "more run");
        row("", &format!("and {more}: --json names all"));
    }
    row("person", &person(story));
    let asked = story.steps.iter().find(|step| step.role == Role::Asked);
    if let Some(correlation) = asked.and_then(|step| step.correlation.as_deref()) {
        row("story", &visible(correlation).to_string());
        row("", &format!("`{program} {}` shows all of it", showing(correlation)));
    }
    row("begins", &beginning(&story.beginning));
    lines.push((false, String::new()));
    for drawn in tree(&story.steps) {
        put_step(&mut lines, story.sequence, &drawn, screen);
    }
    lines
}

/// The verb that shows all of a story, as a shell takes it.
fn showing(correlation: &str) -> String {
    shell_line(OsStr::new("log"), &[OsString::from(format!("correlation={correlation}"))])
}

const fn is_narrow(columns: usize) -> bool {
    columns < 60
}

/// A text behind what stands before it: one line, or in so many columns as many as it takes.
fn laid_out(text: &str, before: (&str, &str), columns: Option<usize>) -> Vec<String> {
    match columns {
        Some(columns) => folded(text, before, columns),
        None => vec![format!("{}{text}", before.0)],
    }
}

/// A run in a line: which, what, and what became of it, as far as the story has it.
fn run(run: &TracedRun, is_whole: bool) -> String {
    let id = visible(run.run.get(..ID_CHARACTERS).unwrap_or(&run.run)).to_string();
    let command = match &run.command_line {
        Some(command) => marked_command(&command_line(command), run.command_claimed),
        None => "its command is not in this story".to_string(),
    };
    let exit = run.exit().filter(|exit| *exit != Exit::Unknown);
    let exit = exit.map(|exit| format!(", {}", exit_in_words(exit, "", "signal")));
    let exit = exit.unwrap_or_default();
    let outcome = run.outcome.map_or("its end is not in this story", RunOutcome::name);
    format!("{id}: {command} ({outcome}{exit}){}", known(run, is_whole))
}

/// How it is known how a process ended, where nothing in the story says that somebody watched it.
fn known(run: &TracedRun, is_whole: bool) -> String {
    use RunOutcome::{Crashed, Failed, Ok, Timeout};
    let is_result = matches!(run.outcome, Some(Ok | Failed | Crashed | Timeout));
    match run.exit() {
        _ if run.is_measured() => String::new(),
        Some(_) if is_whole => format!(" {REPORTED}"),
        Some(_) => ", as its recorder states".to_string(),
        None if is_result => ", as its recorder states".to_string(),
        None => String::new(),
    }
}

/// The person before the record that was asked for, else the first one behind it.
fn person(story: &Trace) -> String {
    let told = |Person { actor, proof, sequence }: &Person| {
        format!("{}, record {sequence}", proven(actor, *proof))
    };
    if let Some(person) = &story.person {
        return told(person);
    }
    let began = match story.steps.first() {
        Some(Step { actor: Some(first), proof, .. }) => {
            format!("; it began with {}", proven(first, *proof))
        }
        _ => String::new(),
    };
    let later = story.steps.iter().find_map(Step::person);
    let later = later.map(|person| format!("; later {}", told(&person))).unwrap_or_default();
    format!("nobody up to this record{began}{later}")
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

fn put_step(
    lines: &mut Vec<TraceLine>,
    asked: u64,
    TreeRow { step, own, rest }: &TreeRow<'_>,
    Screen { columns, is_verbose }: Screen,
) {
    // What is deep in a story keeps half of the line.
    let fitting = |before: &str| {
        let most = columns.map_or(before.len(), |columns| columns / 2);
        before.get(before.len().saturating_sub(most)..).unwrap_or_default().to_string()
    };
    let (own, rest) = (fitting(own), fitting(rest));
    // In few columns an id keeps its line.
    let others = format!("  {rest}{}", if columns.is_some_and(is_narrow) { "" } else { "    " });
    let room = is_verbose
        .then(|| columns.map_or(usize::MAX, |columns| columns.saturating_sub(others.len())));
    let mut before = &own;
    for record in &step.records {
        let is_asked = record.sequence == asked;
        let first = format!("{}{before}", if is_asked { "> " } else { "  " });
        let told = laid_out(&line_of(record, room), (&first, &others), columns);
        lines.extend(told.into_iter().map(|line| (is_asked, line)));
        before = &rest;
    }
    let told = step.records.last().map_or(step.first, |record| record.sequence);
    if told < step.last {
        let more = format!("records up to {} of the same command", step.last);
        let told = laid_out(&more, (&format!("  {rest}"), &others), columns);
        lines.extend(told.into_iter().map(|line| (false, line)));
    }
}

/// A record in a line: in plain words, or in the codes where there is room for their kind.
fn line_of(record: &StepRecord, codes: Option<usize>) -> String {
    let who = record.actor.as_ref().map(|it| proven(it, record.proof)).unwrap_or_default();
    let told = match codes {
        Some(room) => format!("{}  {}", record.summary, breakable(record.kind.as_ref(), room)),
        None => record.words.clone(),
    };
    format!("{}  {}  {who}  {told}", record.sequence, moment(record.time))
}

/// A step, and what stands before its first line and before its others.
struct TreeRow<'s> {
    step: &'s Step,
    own: String,
    rest: String,
}

/// The steps from the first one on, each before what it caused.
fn tree(steps: &[Step]) -> Vec<TreeRow<'_>> {
    let children = children_of(steps);
    let mut drawn = Vec::new();
    let roots = steps.iter().filter(|step| cause_of(steps, step).is_none());
    let mut due: Vec<TreeRow<'_>> =
        roots.rev().map(|step| TreeRow { step, own: String::new(), rest: String::new() }).collect();
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
            due.push(TreeRow { step, own, rest });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::{self, Sample};
    use holdpoint_log_format::BootId;
    use holdpoint_replay::{ReadOptions, Traced, trace};

    #[test]
    fn the_verb_that_shows_a_story_is_one_that_a_shell_takes_whole() {
        assert_eq!(showing("story-1"), "log correlation=story-1");
        assert_eq!(showing("the story"), "log 'correlation=the story'");
        assert_eq!(showing("-x"), "log correlation=-x");
    }

    #[test]
    fn a_story_keeps_its_words_and_its_branches_at_every_width() {
        let sample = Sample::begun_again();
        let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
        let run = &sample.listed()[2];
        let retry = run.retries().next().unwrap();
        let Ok(Traced::Story(story)) = trace(&sample.storage(), retry, 64, options) else {
            panic!("record {retry} has no story")
        };
        for columns in golden::COLUMNS {
            for (name, is_verbose) in [("trace", false), ("trace-verbose", true)] {
                let screen = Screen { columns: Some(columns), is_verbose };
                let shown = lines(&story, "holdpoint", screen).into_iter();
                let shown: Vec<String> = shown.map(|(_, line)| line).collect();
                golden::compare(name, columns, &shown);
            }
        }
    }
}
