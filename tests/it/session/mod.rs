//! Sessions and tables of documents: what is shown is what really happens.

use crate::program::{Place, by_person, text};
use std::path::Path;
use std::process::{Command, Output};

/// The user of every session that is shown.
const SHOWN_USER: &str = "ada";

/// One command of a session and what it printed, as the document shows both.
#[derive(Debug, Default)]
pub(crate) struct Step {
    pub(crate) command: String,
    pub(crate) shown: String,
}

/// The bodies of all fenced blocks in this language.
pub(crate) fn blocks<'a>(document: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("\n```{language}\n");
    let parts = document.split(fence.as_str()).skip(1);
    parts.map(|part| part.split_once("```").unwrap().0).collect()
}

/// What stands below this heading, up to the next one of its level.
pub(crate) fn section<'a>(document: &'a str, heading: &str) -> &'a str {
    let (_, rest) = document.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split_once("\n## ").map_or(rest, |(section, _)| section)
}

/// The steps of all sessions of a document.
pub(crate) fn steps(document: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in blocks(document, "console").into_iter().flat_map(str::lines) {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_string(), ..Step::default() });
            continue;
        }
        let step = steps.last_mut().unwrap();
        match line.strip_prefix("> ").filter(|_| step.shown.is_empty()) {
            Some(more) => step.command += &format!("\n{more}"),
            None => step.shown += &format!("{line}\n"),
        }
    }
    steps
}

/// A shell in a directory of its own, with the program on its path and a terminal to answer at.
pub(crate) fn shell(place: &Place, script: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_holdpoint"));
    let folder = program.parent().unwrap().display();
    let mut command = Command::new("sh");
    command.env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap()));
    for variable in ["HOLDPOINT_LOG", "HOLDPOINT_CONFIG", "HOLDPOINT_LOCK_WAIT", "COLUMNS"] {
        command.env_remove(variable);
    }
    command.current_dir(place.directory.path());
    by_person(command.args(["-c", script]))
}

/// The sessions of a document follow one another in one directory, and print what is shown.
pub(crate) fn happens(place: &Place, document: &str) {
    let user = text(&Command::new("id").arg("-un").output().unwrap().stdout);
    let steps = steps(document);
    assert!(steps.len() > 3, "{steps:?}");
    let mut runs: Vec<(String, String)> = Vec::new();
    for Step { command, shown } in steps {
        let typed = with_real_runs(&command, &runs);
        let really = text(&shell(place, &format!("exec 2>&1\n{typed}")).stdout);
        let (masked_shown, found) = (masked(&shown, SHOWN_USER), masked(&really, user.trim()));
        assert_eq!(masked_shown, found, "{typed}\nreally:\n{really}");
        runs.extend(named_runs(&shown).into_iter().zip(named_runs(&really)));
    }
}

/// The runs that a text names, as far as it has their digits.
fn named_runs(text: &str) -> Vec<String> {
    let digits = |rest: &str| rest.chars().take_while(char::is_ascii_hexdigit).collect();
    text.split("LOOP-").skip(1).map(digits).collect()
}

/// A command that names a run by what an earlier step shows names the one that really ran.
fn with_real_runs(command: &str, runs: &[(String, String)]) -> String {
    named_runs(command).into_iter().fold(command.to_string(), |command, named| {
        let (_, real) = runs.iter().find(|(shown, _)| shown.starts_with(&named)).unwrap();
        command.replace(&named, &real[..named.len()])
    })
}

/// Text without what differs from run to run: the user, ids, hashes, times and lengths, sizes and
/// places that follow from the environment, and how wide a table is.
fn masked(text: &str, user: &str) -> Vec<String> {
    text.lines().map(|line| masked_line(line, user)).collect()
}

fn masked_line(line: &str, user: &str) -> String {
    // What a short command used may be too little to be measured.
    let line = line.replace("under 1 ms", "1 ms").replace("memory not measured", "memory 1 B");
    let words: Vec<&str> = line.split_whitespace().collect();
    let masked = words.iter().enumerate().map(|(index, word)| {
        let before = index.checked_sub(1).map_or("", |before| words[before]);
        let after = words.get(index + 1).copied().unwrap_or("");
        masked_word(before, word, after, user)
    });
    // How long ago something was: below a second there is one word for it.
    masked.collect::<Vec<_>>().join(" ").replace("N UNIT ago", "now")
}

fn masked_word(before: &str, word: &str, after: &str, user: &str) -> String {
    let bare = word.trim_matches(['(', ')', ',', ':', ';']);
    let masked = if bare == user {
        "USER".to_string()
    } else if before == "host" && after == "(not" {
        "HOST".to_string()
    } else if is_time(bare) {
        "TIME".to_string()
    } else if bare.starts_with('/') {
        "PLACE".to_string()
    } else if is_number(bare) && (["byte", "user"].contains(&before) || is_unit(after)) {
        "N".to_string()
    } else if is_unit(bare) && is_number(before) {
        "UNIT".to_string()
    } else {
        without_hex(bare)
    };
    word.replacen(bare, &masked, 1)
}

fn is_number(word: &str) -> bool {
    word.trim_matches(['(', ',']).parse::<f64>().is_ok()
}

fn is_unit(word: &str) -> bool {
    let word = word.trim_end_matches([')', ',', ':']);
    ["bytes", "B", "KiB", "MiB", "ms", "s", "min"].contains(&word)
}

/// `2026-01-25T16:00:00.000Z`
fn is_time(word: &str) -> bool {
    word.len() >= 20 && word.ends_with('Z') && word.as_bytes()[4] == b'-' && word.contains('T')
}

/// Runs of eight or more hexadecimal digits stand for one another.
fn without_hex(word: &str) -> String {
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    let mut found = String::new();
    for part in word.split_inclusive(|c| !is_hex(c)) {
        let digits = part.trim_end_matches(|c| !is_hex(c));
        found.push_str(if digits.len() >= 8 { "#" } else { digits });
        found.push_str(&part[digits.len()..]);
    }
    found
}

#[test]
fn masks_hide_what_differs_and_nothing_else() {
    let line = "  34  2026-01-25T16:00:00.123Z  AUTOMATION ada  LOOP-0123456789abcdef: 12 bytes, 3";
    assert_eq!(masked_line(line, "ada"), "34 TIME AUTOMATION USER LOOP-#: N UNIT, 3");
    assert_eq!(masked_line("byte 4096, sequence 34", "ada"), "byte N, sequence 34");
    assert_eq!(masked_line("42 (15.3 KiB) in 1 segment", "ada"), "42 (N UNIT) in 1 segment");
    assert_eq!(masked_line("2 s ago, exit 1", "ada"), masked_line("now, exit 1", "ada"));
    assert_ne!(masked_line("failed, exit 1", "ada"), masked_line("failed, exit 2", "ada"));
}

/// The cells of every row of every table below a header that begins so.
pub(crate) fn table(document: &str, header: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut lines = document.lines();
    while lines.any(|line| line.starts_with(header)) {
        rows.extend(lines.by_ref().skip(1).take_while(|line| line.starts_with('|')).map(cells));
    }
    assert!(!rows.is_empty(), "{header}");
    rows
}

/// Cells are parted by bars; a bar inside a cell has a backslash before it.
pub(crate) fn cells(row: &str) -> Vec<String> {
    let row = row.replace("\\|", "\u{1}");
    let inner = row.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// The first text in backticks.
pub(crate) fn code(cell: &str) -> &str {
    cell.split('`').nth(1).unwrap()
}
