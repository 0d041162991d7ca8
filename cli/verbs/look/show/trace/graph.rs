//! A story as a graph: for Mermaid, and for Graphviz.

use super::text::{beginning, cause_of};
use crate::log::run_facts::proven;
use crate::ui::text::cut;
use crate::ui::{Output, moment};
use holdpoint_replay::{Beginning, Role, Step, Trace, records_named};
use std::fmt::Write;

/// Records of a step that its box names; more are counted.
const RECORDS_IN_BOX: usize = 4;
/// Longest line in a box, in bytes.
const LINE_BYTES_MAX: usize = 96;

/// Writes a Mermaid flowchart.
pub(super) fn mermaid(out: &mut Output, story: &Trace, is_verbose: bool) {
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
pub(super) fn dot(out: &mut Output, story: &Trace, is_verbose: bool) {
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
