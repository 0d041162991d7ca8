//! The circumstances of a start as whoever is asked sees them, and what of them differs later.

use super::facts::{COMMAND, Fact, Facts, VARIABLE};
use super::program::{INTERPRETER, PROGRAM};
use super::shown_command::in_context;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::text::bounded;
use holdpoint_domain::decision_point::MAX_CONTEXT_BYTES;

/// What stands before the facts.
const BOUND: &str = "Bound, and looked at again at the start:";
/// What stands behind them.
const NOT_BOUND: &str = "\
Not bound, and free to change until it is read:
  the program that an interpreter such as env looks up, and what a script's interpreter finds at \
the script's path after the last look
  what the program reads later: the modules, configuration and data files of an interpreter, \
libraries, and files that its arguments name and --bind-file does not
  what standard input's terminal or file holds later
  the limits of the run, and when a person is asked after an attempt";
/// Behind the number of facts for which there is no room.
const LEFT_OUT: &str = " more, which are bound too: there is no room to show them";
/// Between the title of a fact and its value.
const SEPARATOR: &str = " = ";
/// How wide the kinds of facts are.
const KIND_WIDTH: usize = 10;
/// The longest value that is shown whole besides the command's, in bytes: a keyed digest and a path
/// are shorter.
const VALUE_BYTES: usize = 600;
/// The room for the facts, in bytes; the rest is for what stands around them.
const FACTS_BYTES: usize = MAX_CONTEXT_BYTES - 2048;

/// How a question shows the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wording {
    /// Whole, where there is room.
    Present,
    /// As any other value: so asked programs before this one.
    Former,
}

/// The context of the question: what is bound, and what is not.
pub(super) fn context(facts: &Facts, wording: Wording) -> String {
    let mut text = format!("{BOUND}\n");
    let (mut room, mut left_out) = (FACTS_BYTES, 0_usize);
    for fact in &facts.all {
        let line = line_in(fact, wording);
        match room.checked_sub(line.len() + 1) {
            Some(rest) if left_out == 0 => {
                text.push_str(&line);
                text.push('\n');
                room = rest;
            }
            _ => left_out += 1,
        }
    }
    if left_out > 0 {
        text.push_str(&format!("  and {left_out}{LEFT_OUT}\n"));
    }
    text + NOT_BOUND
}

/// What differs from what was asked about, item by item.
pub(super) fn differences(asked: &str, facts: &Facts) -> Vec<String> {
    let bound = asked.split(NOT_BOUND).next().unwrap_or_default();
    let mut before: Vec<&str> = bound.lines().filter(|line| line.contains(SEPARATOR)).collect();
    let mut found = Vec::new();
    for fact in &facts.all {
        let (title, now) = (title(fact), line(fact));
        let about = plain(&title);
        let Some(at) = before.iter().position(|line| line.starts_with(&title)) else {
            let now = value(fact);
            found.push(format!("{about}: nothing was approved, {now} is asked for"));
            continue;
        };
        let then = before.remove(at);
        if then != now && then != line_in(fact, Wording::Former) {
            let (then, now) = (then.strip_prefix(&title).unwrap_or_default(), value(fact));
            found.push(format!("{about}: {then} was approved, {now} is asked for"));
        }
    }
    // What the question had no room for may still be there.
    let is_whole = !bound.contains(LEFT_OUT);
    let gone = before.into_iter().filter(|_| is_whole);
    found.extend(gone.map(|line| format!("{} was approved, and is not there", plain(line))));
    if found.is_empty() {
        found.push("something that the question had no room to show".to_string());
    }
    found
}

/// What a question shows of the program, and of its interpreters behind it. Empty where it shows
/// no program.
pub(super) fn program_lines(context: &str) -> Vec<String> {
    let bound = context.split(NOT_BOUND).next().unwrap_or_default();
    let titles = [format!("  {PROGRAM:<KIND_WIDTH$}{SEPARATOR}"), format!("  {INTERPRETER} ")];
    let is_of = |line: &&str| titles.iter().any(|title| line.starts_with(title));
    bound.lines().filter(is_of).map(str::to_string).collect()
}

/// The circumstances of a start without its variables and what is not bound, for whoever is shown
/// little at first, and how many variables are left away.
#[must_use]
pub fn without_variables(context: &str) -> (String, usize) {
    let bound = context.split(NOT_BOUND).next().unwrap_or_default();
    let title = format!("  {VARIABLE:<KIND_WIDTH$} ");
    let (variables, others): (Vec<&str>, Vec<&str>) =
        bound.lines().partition(|line| line.starts_with(&title));
    (others.join("\n"), variables.len())
}

pub(super) fn line(fact: &Fact) -> String {
    line_in(fact, Wording::Present)
}

fn line_in(fact: &Fact, wording: Wording) -> String {
    let value = match wording {
        Wording::Present => value(fact),
        Wording::Former => short(&fact.shown),
    };
    format!("{}{value}", title(fact))
}

/// What a fact is about: the beginning of its line.
fn title(fact: &Fact) -> String {
    let name = fact.shown_name();
    let kind = fact.kind;
    match name.is_empty() {
        true => format!("  {kind:<KIND_WIDTH$}{SEPARATOR}"),
        false => format!("  {kind:<KIND_WIDTH$} {}{SEPARATOR}", short(&name)),
    }
}

/// A title or a line in a sentence.
fn plain(title: &str) -> String {
    let title = title.strip_suffix(SEPARATOR).unwrap_or(title);
    title.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn value(fact: &Fact) -> String {
    match fact.kind == COMMAND {
        true => in_context(&fact.shown),
        false => short(&fact.shown),
    }
}

/// A text, or its beginning and the digest of the whole.
fn short(text: &str) -> String {
    match bounded(text, VALUE_BYTES) {
        whole if whole.len() == text.len() => whole.to_string(),
        cut => format!("{cut}.. ({} bytes, SHA-256 {})", text.len(), sha256(text.as_bytes())),
    }
}
