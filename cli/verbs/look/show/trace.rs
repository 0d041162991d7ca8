//! The causal story of a record.

pub(crate) mod id_meaning;
mod text;

use crate::args::Global;
use crate::log::coverage::UntiedRecords;
use crate::log::records::of_part;
use crate::log::run_facts::proven;
use crate::log::verdict::verify_tells;
use crate::log::{Directory, IdOf, ids, other_logs, warn};
use crate::ui::text::cut;
use crate::ui::{Exit, Failure, Output, complain, moment};
use crate::verbs::look::show::Args;
use crate::verbs::look::show::trace::id_meaning::{RecordName, meant};
use clap::ValueEnum;
use holdpoint_replay::trace::DEPTH_MAX;
use holdpoint_replay::{
    Beginning, Part, Role, Span, Step, Trace, Traced, leading, records_named, trace,
};
use std::fmt::Write;
use text::{beginning, cause_of};

/// How deep a story is told where nothing else is said.
const DEPTH: u32 = 64;

/// Options of `show --trace`.
#[derive(Debug, clap::Args)]
pub(crate) struct TraceArgs {
    /// Show the causes of a record, back to a person, and its effects; for another ID, of its first
    /// record.
    #[arg(long, group = "form")]
    pub(super) trace: bool,
    /// Maximum number of steps in each direction.
    #[arg(long = "limit", short = 'n', value_name = "N", requires = "trace")]
    #[arg(default_value_t = DEPTH)]
    #[arg(value_parser = clap::value_parser!(u32).range(..=i64::from(DEPTH_MAX)))]
    depth: u32,
    /// Format of the trace: a tree, or a graph for Mermaid or Graphviz.
    #[arg(long, value_enum, requires = "trace", default_value_t = Format::Text)]
    format: Format,
}

/// How a story is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A tree.
    Text,
    /// A Mermaid flowchart.
    Mermaid,
    /// A Graphviz digraph.
    Dot,
}

/// Tells what led to a record, back to where its story began and to the person in it, and
/// everything that it caused. Exit 3 when there is no log, no such record and nothing of that id, 4
/// where several begin so, 6 when the log does not verify as far as it was read.
pub(super) fn show(global: &Global, args: &Args) -> Result<Exit, Failure> {
    args.times.expect_utc()?;
    let wanted = meant(&args.id).map_err(|why| Failure::new(Exit::USAGE, "no_id", why))?;
    let outcome = tell(global, args, &wanted);
    match &wanted {
        RecordName::Named(id) => other_logs::told(global, id, outcome),
        RecordName::Record(_) => outcome,
    }
}

fn tell(global: &Global, args: &Args, wanted: &RecordName) -> Result<Exit, Failure> {
    let directory = Directory::open_with_archives(global, &args.archives)?;
    let sequence = wanted.sequence(&directory)?;
    let traced = directory.read(|log, options| trace(log, sequence, args.trace.depth, options))?;
    let story = match traced {
        Traced::Story(story) => story,
        Traced::NoRecord { span, checked } => {
            return Err(no_record(&directory, sequence, span, &checked)?);
        }
    };
    let mut out = Output::paged(global.json);
    match args.trace.format {
        _ if global.json => out.json(&story),
        Format::Text => text::show(&mut out, global, &story, args.verbose),
        Format::Mermaid => mermaid(&mut out, &story, args.verbose),
        Format::Dot => dot(&mut out, &story, args.verbose),
    }
    out.finish()?;
    if !global.json {
        tell_untied(&story);
    }
    tell_left_out(&story);
    if let Beginning::Archived { .. } = story.beginning {
        directory.tell_unread();
    }
    Ok(of_part(global, &story.checked))
}

/// Says where what is told ceases to be proven.
fn tell_untied(story: &Trace) {
    let mut untied = UntiedRecords::default();
    for step in &story.steps {
        let standing = story.reach.standing_of(step.first, step.last);
        [step.first, step.last].into_iter().for_each(|sequence| untied.take(sequence, standing));
    }
    untied.tell(&story.reach);
}

/// Says so when there is more than was told.
fn tell_left_out(story: &Trace) {
    if story.effects_cut {
        complain("some of what it caused lies deeper: `--limit` says how deep to look");
    }
    if story.effects_left_out > 0 {
        let more = story.effects_left_out;
        complain(&format!("at least {more} more of what it caused: trace one of those shown"));
    }
}

/// Why there is no such record.
fn no_record(
    directory: &Directory,
    sequence: u64,
    span: Option<Span>,
    checked: &Part,
) -> Result<Failure, Failure> {
    if let Some(first) = leading(&checked.findings) {
        let tells = verify_tells(&checked.findings);
        let message = format!("record {sequence} cannot be read: {first}; {tells}");
        return Ok(Failure::new(Exit::VERIFICATION_FAILED, "damaged", message));
    }
    let Some(span) = span else {
        let report = directory.verified()?;
        directory.expect_log(&report)?;
        warn(&report);
        let exit = if report.failed() { Exit::VERIFICATION_FAILED } else { Exit::NOT_FOUND };
        return Ok(Failure::new(exit, "no_such_record", "the log has no record that can be read"));
    };
    let Span { first, last, since, until } = span;
    if sequence > 0 && sequence < first {
        let message = format!("record {sequence} lies before record {first}, the first one here");
        return Ok(directory.or_unread(Failure::new(Exit::NOT_FOUND, "no_such_record", message)));
    }
    let closest = if sequence < first { first } else { last };
    let message = format!(
        "there is no record {sequence}: the log has records {first} to {last}, from {} to {}; {}",
        moment(since),
        moment(until),
        ids::meaning(directory, &sequence.to_string(), &IdOf::ALL)
            .unwrap_or_else(|| format!("did you mean {closest}?"))
    );
    Ok(directory.or_missing(Failure::new(Exit::NOT_FOUND, "no_such_record", message)))
}

/// Records of a step that its box names; more are counted.
const RECORDS_IN_BOX: usize = 4;
/// Longest line in a box, in bytes.
const LINE_BYTES_MAX: usize = 96;

/// Writes a Mermaid flowchart.
fn mermaid(out: &mut Output, story: &Trace, is_verbose: bool) {
    out.line("flowchart TD");
    if let Some(before) = before(story) {
        out.line(format_args!("    before([\"{}\"])", in_mermaid(&before)));
    }
    for step in &story.steps {
        let lines: Vec<String> =
            box_of(step, is_verbose).iter().map(|line| in_mermaid(line)).collect();
        out.line(format_args!("    r{}[\"{}\"]", step.first, lines.join("<br/>")));
    }
    for (cause, effect) in edges(story) {
        out.line(format_args!("    {cause} --> r{effect}"));
    }
    for step in story.steps.iter().filter(|step| step.role == Role::Asked) {
        out.line(format_args!("    style r{} stroke-width:4px", step.first));
    }
}

/// Writes a Graphviz digraph.
fn dot(out: &mut Output, story: &Trace, is_verbose: bool) {
    out.line("digraph trace {");
    out.line("    node [shape=box];");
    if let Some(before) = before(story) {
        out.line(format_args!("    before [shape=oval, label=\"{}\"];", in_dot(&before)));
    }
    for step in &story.steps {
        let lines: Vec<String> = box_of(step, is_verbose).iter().map(|line| in_dot(line)).collect();
        let bold = if step.role == Role::Asked { ", style=bold" } else { "" };
        let label = lines.join("\\n");
        out.line(format_args!("    r{} [label=\"{label}\"{bold}];", step.first));
    }
    for (cause, effect) in edges(story) {
        out.line(format_args!("    {cause} -> r{effect};"));
    }
    out.line("}");
}

/// What stands before the first step, where the story does not begin with it.
fn before(story: &Trace) -> Option<String> {
    match story.beginning {
        Beginning::Begun { .. } => None,
        _ => Some(format!("begins {}", beginning(&story.beginning))),
    }
}

/// Causes and effects, by name and by first record.
fn edges(story: &Trace) -> Vec<(String, u64)> {
    let first = story.steps.first().filter(|_| before(story).is_some());
    let unknown = first.map(|step| ("before".to_string(), step.first));
    let caused = story.steps.iter().filter_map(|step| {
        let cause = cause_of(&story.steps, step)?;
        Some((format!("r{}", cause.first), step.first))
    });
    unknown.into_iter().chain(caused).collect()
}

/// The lines in the box of a step.
fn box_of(step: &Step, is_verbose: bool) -> Vec<String> {
    let numbers = records_named(step.first, step.last);
    let time = step.records.first().map(|record| format!(", {}", moment(record.time)));
    let mut lines = vec![numbers + time.unwrap_or_default().as_str()];
    lines.extend(step.actor.as_ref().map(|who| cut_line(&proven(who, step.proof))));
    for record in step.records.iter().take(RECORDS_IN_BOX) {
        lines.push(match is_verbose {
            true => cut_line(&format!("{}: {}", record.kind, record.summary)),
            false => cut_line(&record.words),
        });
    }
    let count = step.last.saturating_sub(step.first).saturating_add(1);
    let more = count.saturating_sub(RECORDS_IN_BOX as u64);
    lines.extend((more > 0).then(|| format!("and {more} more")));
    lines
}

/// What was made visible before stays as it is.
fn cut_line(line: &str) -> String {
    cut(line, LINE_BYTES_MAX).replace("\\\\", "\\")
}

/// Text inside the quotes of a Mermaid label. Everything that Mermaid, its Markdown or HTML gives a
/// meaning is a character by its number.
fn in_mermaid(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            ' ' | ',' | '.' | ':' | '-' | '/' | '(' | ')' => escaped.push(character),
            plain if plain.is_ascii_alphanumeric() => escaped.push(plain),
            // Writing to a string never fails.
            other => drop(write!(escaped, "#{};", u32::from(other))),
        }
    }
    escaped
}

/// Text inside the quotes of a Graphviz label.
fn in_dot(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_label_has_a_meaning_to_mermaid() {
        let hostile = "a\"]; %%{init}%% <b> `x` # & \u{e9}";
        let shown = in_mermaid(hostile);
        assert!(!shown.contains(['"', ']', '%', '{', '<', '`', '&']), "{shown}");
        assert!(shown.starts_with("a#34;#93;#59; "), "{shown}");
    }

    #[test]
    fn a_label_does_not_end_early_in_graphviz() {
        assert_eq!(in_dot("a\"b\\"), "a\\\"b\\\\");
    }
}
