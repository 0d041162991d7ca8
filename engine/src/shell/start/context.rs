//! The circumstances of a start as whoever is asked sees them, and what of them differs later.

use super::facts::{COMMAND, Fact, Facts};
use super::named_files::{FILE, UNREAD};
use super::program::{INTERPRETER, PROGRAM};
use super::shown_command::in_context;
use super::variables::{CODE, SEARCH, SESSION_VARIABLES, STEP_VARIABLES, UNBOUND, VARIABLE};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::text::bounded;
use holdpoint_domain::decision_point::MAX_CONTEXT_BYTES;
use std::collections::BTreeSet;

/// Text before the facts in a question of the first edition.
const BOUND: &str = "Bound, and looked at again at the start:";
/// The same in the second one.
const BOUND_SECOND: &str = "Bound (edition 2), and looked at again at the start:";
/// Text before the files and variables that are not bound, by name.
const NOT_BOUND_BY_NAME: &str = "Not bound, by name:";
/// Text behind them in a question of the first edition.
const NOT_BOUND: &str = "\
Not bound, and free to change until it is read:
  the program that an interpreter such as env looks up, and what a script's interpreter finds at \
the script's path after the last look
  what the program reads later: the modules, configuration and data files of an interpreter, \
libraries, and files that its arguments name and --bind-file does not
  what standard input's terminal or file holds later
  the limits of the run, and when a person is asked after an attempt";
/// The same in the second one; the variables follow.
const NOT_BOUND_SECOND: &str = "\
Not bound, and free to change until it is read:
  what the program reads by itself: a Makefile, modules and imports, configuration, libraries, \
files in directories
  the program that an interpreter such as env looks up, and what is found at a bound file's path \
after the last look
  what standard input's terminal or file holds later
  the limits of the run, and when a person is asked after an attempt
  where it is started, by these variables: ";
/// Behind the number of facts for which there is no room.
const LEFT_OUT: &str = " more, which are bound too: there is no room to show them";
/// Behind the number of files and variables that are not bound, for which there is no room.
const UNBOUND_LEFT_OUT: &str = " more, which are NOT bound: there is no room to show them";
/// Between the title of a fact and its value.
pub(super) const SEPARATOR: &str = " = ";
/// Width of the kinds of facts.
const KIND_WIDTH: usize = 10;
/// The longest value that is shown whole besides the command's, in bytes: a keyed digest and a path
/// are shorter.
const VALUE_BYTES: usize = 600;
/// The room for the facts in bytes, of the first edition; the rest is for what stands around them.
const FACTS_BYTES: usize = MAX_CONTEXT_BYTES - 2048;
/// The room for what is not bound, by name, in bytes.
const UNBOUND_BYTES: usize = 12 * 1024;
/// The room for the facts of the second edition.
const FACTS_BYTES_SECOND: usize = MAX_CONTEXT_BYTES - UNBOUND_BYTES - 4096;

/// The kinds of facts.
const KINDS: [&str; 13] = [
    COMMAND,
    "user",
    "log",
    "directory",
    PROGRAM,
    INTERPRETER,
    CODE,
    SEARCH,
    FILE,
    VARIABLE,
    "input",
    UNREAD,
    UNBOUND,
];

/// Facts that a question binds, and the form in which it shows them: programs before this one asked
/// in the first edition, and what they asked keeps what it was bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edition {
    /// Every variable, and the files that were named for it.
    First,
    /// The files that words of the command name too; not the variables of a session or step.
    Second,
}

impl Edition {
    /// The edition in which a question was asked, by its context.
    pub(super) fn of_context(context: &str) -> Self {
        match context.lines().next() {
            Some(BOUND_SECOND) => Self::Second,
            _ => Self::First,
        }
    }

    /// Its number in the digest.
    pub(super) const fn number(self) -> u16 {
        match self {
            Self::First => 1,
            Self::Second => 2,
        }
    }
}

/// Form in which a question shows the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wording {
    /// Whole, where there is room.
    Present,
    /// Shown as any other value: so asked programs before this one.
    Former,
}

/// The context of the question: what is bound, and what is not.
pub(super) fn context(facts: &Facts, wording: Wording) -> String {
    match facts.edition {
        Edition::First => former_context(facts, wording),
        Edition::Second => newest_context(facts),
    }
}

fn former_context(facts: &Facts, wording: Wording) -> String {
    let lines = facts.all.iter().map(|fact| line_in(fact, wording));
    let mut text = format!("{BOUND}\n");
    push_lines(&mut text, lines, FACTS_BYTES, LEFT_OUT);
    text + NOT_BOUND
}

fn newest_context(facts: &Facts) -> String {
    let (unbound, bound): (Vec<&Fact>, Vec<&Fact>) =
        facts.all.iter().partition(|fact| is_unbound(fact));
    let mut text = format!("{BOUND_SECOND}\n");
    push_lines(&mut text, bound.into_iter().map(line), FACTS_BYTES_SECOND, LEFT_OUT);
    if !unbound.is_empty() {
        text.push_str(&format!("{NOT_BOUND_BY_NAME}\n"));
        push_lines(&mut text, unbound.into_iter().map(line), UNBOUND_BYTES, UNBOUND_LEFT_OUT);
    }
    text + NOT_BOUND_SECOND + &never_bound()
}

/// Returns the number of variables that carry code and that the context had no room for.
pub(super) fn code_left_out(facts: &Facts, context: &str) -> usize {
    let lines: BTreeSet<&str> = context.lines().collect();
    let code = facts.all.iter().filter(|fact| fact.kind == CODE);
    code.filter(|fact| !lines.contains(&*line(fact))).count()
}

fn is_unbound(fact: &Fact) -> bool {
    [UNREAD, UNBOUND].contains(&fact.kind)
}

/// The variables that are never bound, by name.
fn never_bound() -> String {
    let of_steps =
        STEP_VARIABLES.iter().map(|(service, names)| format!("of {service} {}", names.join(", ")));
    let session = SESSION_VARIABLES.join(", ");
    [session].into_iter().chain(of_steps).collect::<Vec<_>>().join("; ")
}

/// Lines for which there is room, and how many there are besides.
fn push_lines(
    text: &mut String,
    lines: impl Iterator<Item = String>,
    room: usize,
    left_out_words: &str,
) {
    let (mut room, mut left_out) = (room, 0_usize);
    for line in lines {
        match room.checked_sub(line.len().saturating_add(1)) {
            Some(rest) if left_out == 0 => {
                text.push_str(&line);
                text.push('\n');
                room = rest;
            }
            _ => left_out = left_out.saturating_add(1),
        }
    }
    if left_out > 0 {
        text.push_str(&format!("  and {left_out}{left_out_words}\n"));
    }
}

/// Returns what differs from what was asked about, item by item.
pub(super) fn differences(asked: &str, facts: &Facts) -> Vec<String> {
    let bound = facts_in(asked);
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
        let is_unbound = fact.kind == UNBOUND;
        if !is_unbound && then != now && then != line_in(fact, Wording::Former) {
            let (then, now) = (then.strip_prefix(&title).unwrap_or_default(), value(fact));
            found.push(format!("{about}: {then} was approved, {now} is asked for"));
        }
    }
    // What the question had no room for may still be there.
    let is_whole = !bound.contains(LEFT_OUT) && !bound.contains(UNBOUND_LEFT_OUT);
    let gone = before.into_iter().filter(|_| is_whole);
    found.extend(gone.map(|line| format!("{} was approved, and is not there", plain(line))));
    if found.is_empty() {
        found.push("something that the question had no room to show".to_string());
    }
    found
}

/// The part of a question's context that has the facts.
pub(super) fn facts_in(context: &str) -> &str {
    let behind = match Edition::of_context(context) {
        Edition::First => NOT_BOUND,
        Edition::Second => NOT_BOUND_SECOND,
    };
    context.split(behind).next().unwrap_or_default()
}

/// Returns what a question shows of the program, and of its interpreters behind it. Empty where it
/// shows no program.
pub(super) fn program_lines(context: &str) -> Vec<String> {
    let titles = [format!("  {PROGRAM:<KIND_WIDTH$}{SEPARATOR}"), format!("  {INTERPRETER} ")];
    let is_of = |line: &&str| titles.iter().any(|title| line.starts_with(title));
    facts_in(context).lines().filter(is_of).map(str::to_string).collect()
}

/// The names and values of one kind of facts in a question's context, as they stand there.
pub(super) fn of_kind<'c>(
    context: &'c str,
    kind: &str,
) -> impl Iterator<Item = (&'c str, &'c str)> {
    let title = format!("  {kind:<KIND_WIDTH$}");
    facts_in(context).lines().filter_map(move |line| {
        let rest = line.strip_prefix(&title)?;
        match rest.strip_prefix(SEPARATOR) {
            Some(value) => Some(("", value)),
            None => rest.strip_prefix(' ')?.split_once(SEPARATOR),
        }
    })
}

/// Returns whether a line of a question's context is one of those that this program writes.
pub(super) fn is_usual_line(line: &str) -> bool {
    let is_fact = KINDS.iter().any(|kind| {
        let rest = line.strip_prefix(&format!("  {kind:<KIND_WIDTH$}"));
        rest.is_some_and(|rest| rest.starts_with(' ') && rest.contains(SEPARATOR))
    });
    let count = line.strip_prefix("  and ").and_then(|rest| rest.split_once(' '));
    let is_count = count.is_some_and(|(count, rest)| {
        let words = [LEFT_OUT, UNBOUND_LEFT_OUT].map(str::trim_start);
        count.parse::<usize>().is_ok() && words.contains(&rest)
    });
    let variables = format!("{NOT_BOUND_SECOND}{}", never_bound());
    let texts = [BOUND, BOUND_SECOND, NOT_BOUND_BY_NAME, NOT_BOUND, &variables];
    is_fact || is_count || texts.iter().any(|text| text.lines().any(|known| known == line))
}

/// Counts the facts that are not bound and for which a question has no room.
pub(super) fn unbound_left_out(context: &str) -> usize {
    let counts = facts_in(context).lines().filter_map(|line| {
        line.strip_prefix("  and ")?.strip_suffix(UNBOUND_LEFT_OUT)?.parse::<usize>().ok()
    });
    counts.fold(0, usize::saturating_add)
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

/// Returns what a fact is about: the beginning of its line.
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
