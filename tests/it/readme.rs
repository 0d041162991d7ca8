//! The README is true: its session and its tables are run.

use crate::program::{Place, loops, status, text};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const README: &str = include_str!("../../README.md");

/// The body of the first fenced block in this language.
fn block(language: &str) -> &'static str {
    let (_, after) = README.split_once(&format!("```{language}\n")).unwrap();
    after.split_once("```").unwrap().0
}

/// One command of the session and what it printed, as the README shows both.
#[derive(Debug, Default)]
struct Step {
    command: String,
    shown: String,
}

fn session() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block("console").lines() {
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

/// With nothing but the first command: which program cargo runs, and that it does what is said.
#[test]
fn the_first_command_runs_the_program_and_records_a_command() {
    let arguments = block("sh").strip_prefix("cargo run --release --locked -- ").unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"]);
    let told = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let packages = told["packages"].as_array().unwrap().iter();
    let default_runs: Vec<&str> = packages.filter_map(|one| one["default_run"].as_str()).collect();
    assert_eq!(default_runs, ["holdpoint"], "cargo run must know what it runs");
    let place = Place::new();
    let ran = shell(&place, &format!("holdpoint {arguments}"));
    assert_eq!((status(&ran), text(&ran.stdout)), (0, "out\n".to_string()));
    assert!(text(&ran.stderr).contains("err\n"));
    assert_eq!(status(&shell(&place, "holdpoint verify")), 0);
}

/// A shell in a directory of its own, with the program on its path.
fn shell(place: &Place, script: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_holdpoint"));
    let folder = program.parent().unwrap().display();
    let mut command = Command::new("sh");
    command.env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap()));
    command.env_remove("HOLDPOINT_LOG").env_remove("HOLDPOINT_LOCK_WAIT");
    command.env("XDG_STATE_HOME", place.directory.path().join("state"));
    command.current_dir(place.directory.path()).args(["-c", script]).output().unwrap()
}

/// What each step of the session really prints, in one shell.
fn really(steps: &[Step]) -> Vec<String> {
    const END: &str = "@end of step@";
    let commands: Vec<String> =
        steps.iter().map(|step| format!("{}\nprintf '%s\\n' '{END}'\n", step.command)).collect();
    let output = shell(&Place::new(), &format!("exec 2>&1\n{}", commands.concat()));
    let printed = text(&output.stdout);
    let mut parts: Vec<String> = printed.split(&format!("{END}\n")).map(String::from).collect();
    assert_eq!(parts.pop().as_deref(), Some(""));
    parts
}

#[test]
fn the_session_is_what_really_happens() {
    let steps = session();
    let really = really(&steps);
    assert_eq!(really.len(), steps.len());
    for (step, really) in steps.iter().zip(&really) {
        assert_eq!(masked(&step.shown), masked(really), "{}\nreally:\n{really}", step.command);
    }
}

/// Text without what differs from run to run: ids, hashes, times, users, sizes and places that
/// follow from the environment, and how wide a table is.
fn masked(text: &str) -> Vec<String> {
    text.lines().map(masked_line).collect()
}

fn masked_line(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let masked = words.iter().enumerate().map(|(index, word)| {
        let before = index.checked_sub(1).map_or("", |before| words[before]);
        let after = words.get(index + 1).copied().unwrap_or("");
        masked_word(before, word, after)
    });
    masked.collect::<Vec<_>>().join(" ")
}

fn masked_word(before: &str, word: &str, after: &str) -> String {
    const UNITS: [&str; 6] = ["bytes", "B", "KiB", "MiB", "ms", "s"];
    let is_number = word.trim_matches(['(', ',']).parse::<f64>().is_ok();
    let has_unit = UNITS.contains(&after.trim_end_matches([')', ',', ':']));
    if is_time(word) {
        "TIME".to_string()
    } else if before == "AUTOMATION" {
        "USER".to_string()
    } else if is_number && (before == "byte" || has_unit) {
        "N".to_string()
    } else {
        without_hex(word)
    }
}

/// `2026-01-25T16:00:00.000Z`
fn is_time(word: &str) -> bool {
    let word = word.trim_end_matches(',');
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
    assert_eq!(masked_line(line), "34 TIME AUTOMATION USER LOOP-#: N bytes, 3");
    assert_eq!(masked_line("byte 4096, sequence 34"), "byte N sequence 34");
    assert_eq!(masked_line("42 (15.3 KiB) in 1 segment"), "42 N KiB) in 1 segment");
}

/// The cells of every row below a header that begins so.
fn table(header: &str) -> Vec<Vec<String>> {
    let lines = README.lines().skip_while(|line| !line.starts_with(header)).skip(2);
    let rows = lines.take_while(|line| line.starts_with('|'));
    rows.map(cells).collect()
}

/// Cells are parted by bars; a bar inside a cell has a backslash before it.
fn cells(row: &str) -> Vec<String> {
    let row = row.replace("\\|", "\u{1}");
    let inner = row.trim().trim_start_matches('|').trim_end_matches('|');
    inner.split('|').map(|cell| cell.trim().replace('\u{1}', "|")).collect()
}

/// The first text in backticks.
fn code(cell: &str) -> &str {
    cell.split('`').nth(1).unwrap()
}

#[test]
fn every_outcome_of_run_is_what_the_table_says() {
    let rows = table("| outcome |");
    assert_eq!(rows.len(), 13);
    for row in rows {
        let [_, example, exit, ending, cause, phase_21, events] = &row[..] else {
            panic!("{row:?}");
        };
        let place = Place::new();
        let output = shell(&place, &format!("holdpoint run {}", code(example)));
        let said = text(&output.stderr);
        assert_eq!(status(&output).to_string(), *exit, "{example}: {said}");
        if ending.is_empty() {
            assert!(!place.directory.path().join(".holdpoint").exists() && !said.is_empty());
            continue;
        }
        let found = &loops(&shell(&place, "holdpoint replay --json"))[0];
        assert_eq!(found["halt_reason"], **ending, "{example}");
        assert_eq!(cause_of(found), *cause, "{example}");
        assert_eq!(judgement_of(found), *phase_21, "{example}");
        assert_in_order(&place, events);
    }
}

fn cause_of(found: &Value) -> String {
    let fault = &found["attempts"][0]["fault"]["fault_type"];
    let cause = if fault.is_null() { &found["stop_condition"] } else { fault };
    cause.as_str().unwrap_or("").to_string()
}

/// What Phase-21 made of the first attempt.
fn judgement_of(found: &Value) -> String {
    let outcome = &found["attempts"][0]["fault"]["outcome"];
    match (outcome["reason_code"].as_str(), outcome["decision"].as_str()) {
        (Some(code), Some(decision)) => format!("{code} {decision}"),
        _ => String::new(),
    }
}

/// The log holds these events in this order, others between them.
fn assert_in_order(place: &Place, events: &str) {
    let lines = text(&shell(place, "holdpoint log show --json").stdout);
    let mut recorded = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for event in events.split(", ") {
        let is_it = |line: Value| line["kind"].as_str().unwrap().ends_with(&format!(".{event}"));
        assert!(recorded.any(is_it), "{event} in {events}: {lines}");
    }
}

#[test]
fn every_exit_code_is_what_the_table_says() {
    for row in table("| code |") {
        let [exit, _, example] = &row[..] else { panic!("{row:?}") };
        if example.ends_with("above") {
            assert!(block("console").contains(&format!("exit status {exit}\n")));
            continue;
        }
        let output = shell(&Place::new(), code(example));
        assert_eq!(status(&output).to_string(), *exit, "{example}: {}", text(&output.stderr));
    }
}

#[test]
fn the_two_commands_are_those_that_are_checked() {
    let ci = include_str!("../../.ci/run");
    let tests = "cargo test --locked";
    assert!(README.contains(&format!("```sh\n{tests}\n```")));
    assert!(
        ci.lines().any(|line| line.ends_with(&format!(" {tests}"))),
        ".ci/run runs the README's test command"
    );
    let one = block("sh").trim();
    let arguments = one.strip_prefix("cargo run --release --locked -- ").unwrap();
    let output = shell(&Place::new(), &format!("holdpoint {arguments}"));
    let streams = (text(&output.stdout), text(&output.stderr));
    assert_eq!((status(&output), streams), (0, ("out\n".into(), "err\n".into())));
}

#[test]
fn a_decision_is_asked_and_answered_as_shown() {
    let (_, section) = README.split_once("## Decision points\n").unwrap();
    let (script, links) = section.split_once("```sh\n").unwrap().1.split_once("```").unwrap();
    let output = shell(&Place::new(), script);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("Which cache?") && printed.contains("redis"), "{printed}");
    let (links, _) = links.split_once("\n## ").unwrap();
    let files = links.split("](").skip(1).map(|link| link.split_once(')').unwrap().0);
    assert_eq!(files.clone().count(), 3);
    for file in files {
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(file).is_file(), "{file}");
    }
}

#[test]
fn the_rooms_on_the_map_are_there() {
    let (_, map) = README.split_once("## The rooms").unwrap();
    let rooms: Vec<&str> = map
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|w| w.len() > 1 && w.ends_with('/'))
        .collect();
    assert_eq!(rooms.len(), 9);
    for room in rooms {
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(room).is_dir(), "{room}");
    }
}

const WAYS: &str = include_str!("../../docs/ways-past-a-hold.md");

/// The names of all tests in these folders' files.
fn tests_in(folder: &Path, names: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_in(&path, names);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let source = std::fs::read_to_string(path).unwrap();
            let (_, functions) = source.split_once("#[test]").unwrap_or_default();
            let named = functions.split("#[test]").filter_map(|behind| behind.split_once("fn "));
            names.extend(named.map(|(_, name)| name.split('(').next().unwrap().to_string()));
        }
    }
}

#[test]
fn every_way_past_a_hold_names_its_adversary_and_a_test_that_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut known = Vec::new();
    for folder in ["tests", "engine/tests"] {
        tests_in(&root.join(folder), &mut known);
    }
    let rows = WAYS.lines().filter(|line| line.starts_with('|')).skip(2).map(cells);
    let (titles, rows): (Vec<_>, Vec<_>) = rows.partition(|row| row[0].starts_with("**"));
    assert!(titles.len() > 5 && rows.len() > 80, "{} and {}", titles.len(), rows.len());
    for row in rows {
        let [way, adversary, happens, tests] = &row[..] else { panic!("{row:?}") };
        assert!(["(a)", "(b)", "(a) (b)", "(c)"].contains(&adversary.as_str()), "{way}");
        assert!(!happens.is_empty(), "{way}");
        let tests: Vec<&str> = tests.split(['`', ' ']).filter(|name| !name.is_empty()).collect();
        assert_eq!(tests.is_empty(), adversary == "(c)", "{way}: {tests:?}");
        for test in tests {
            assert!(known.iter().any(|name| name == test), "{way}: there is no test {test}");
        }
    }
}
