//! The documents are true: their sessions and tables are run, whatever they name is there, and
//! each of them is found from the index.

use crate::program::{Place, loops, status, text};
use crate::session::{blocks, cells, code, happens, section, shell, table};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every document in this folder and below it.
fn documents_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(documents_in(&path));
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
    found
}

/// The documents that users and contributors read.
fn documents() -> Vec<PathBuf> {
    let mut found = documents_in(&root().join("docs"));
    found.extend(documents_in(&root().join("log-format")));
    let names = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "fuzz/README.md"];
    found.extend(names.map(|name| root().join(name)));
    found.push(root().join("tests/ways-past-a-hold.md"));
    found
}

/// A document without what stands in fenced blocks.
fn prose(document: &str) -> String {
    document.split("\n```").step_by(2).collect::<Vec<_>>().join("\n")
}

/// Where the links of a document lead, but for those to other hosts.
fn links(document: &str) -> Vec<String> {
    let prose = prose(document);
    let all = prose.split("](").skip(1).filter_map(|link| link.split_once(')'));
    let ours = all.map(|(link, _)| link.to_string()).filter(|link| !link.contains("://"));
    ours.collect()
}

/// The places in a document that a link can name: its headings, and names that it gives.
fn anchors(document: &str) -> BTreeSet<String> {
    let prose = prose(document);
    let named = prose.split("<a name=\"").skip(1).filter_map(|rest| rest.split_once('"'));
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let headings = headings.map(|line| anchor_of(line.trim_start_matches('#').trim()));
    named.map(|(name, _)| name.to_string()).chain(headings).collect()
}

/// As GitHub makes it: small letters, hyphens for blanks, no other marks.
fn anchor_of(heading: &str) -> String {
    let small = heading.to_lowercase();
    let kept = small.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn no_link_in_a_document_is_dead() {
    let mut dead = Vec::new();
    let mut seen = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        for link in links(&text) {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            let is_there = target.exists()
                && (anchor.is_empty()
                    || anchors(&fs::read_to_string(&target).unwrap()).contains(anchor));
            if !is_there {
                dead.push(format!("{}: {link}", path.display()));
            }
            seen += 1;
        }
    }
    assert!(seen > 100 && dead.is_empty(), "of {seen} links:\n{}", dead.join("\n"));
}

#[test]
fn the_index_names_every_document_once_in_a_line_of_its_own() {
    let folder = root().join("docs");
    let index = fs::read_to_string(folder.join("README.md")).unwrap();
    let lines = index.lines().filter(|line| line.starts_with("- ["));
    let mut named: Vec<String> = lines.flat_map(|line| links(line).into_iter().take(1)).collect();
    let there = documents_in(&folder).into_iter();
    let there = there.map(|path| path.strip_prefix(&folder).unwrap().display().to_string());
    let mut there: Vec<String> = there.filter(|name| name != "README.md").collect();
    named.sort();
    there.sort();
    assert_eq!(named, there);
    for job in ["Record", "Approve", "Investigate", "Reference"] {
        assert!(section(&index, job).contains("\n- ["), "{job}");
    }
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(links(&readme).contains(&"docs/README.md".to_string()));
}

#[test]
fn every_verb_is_in_the_table_of_verbs_and_no_other() {
    let document = include_str!("../../docs/verbs.md");
    let help = text(&shell(&Place::new(), "holdpoint help --all").stdout);
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    let verbs = commands.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let verbs: BTreeSet<&str> = verbs
        .filter_map(|line| line.split_whitespace().next())
        .filter(|it| *it != "help")
        .collect();
    let named: BTreeSet<String> = table(document, "| verb |")
        .iter()
        .map(|row| code(&row[0]).split_whitespace().nth(1).unwrap().to_string())
        .collect();
    assert_eq!(named.iter().map(String::as_str).collect::<BTreeSet<_>>(), verbs);
    for row in table(document, "| verb |") {
        let words = code(&row[0]).split_whitespace();
        let words: Vec<&str> = words
            .take_while(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
            .take_while(|word| !word.starts_with('-'))
            .collect();
        let output = shell(&Place::new(), &format!("{} --help", words.join(" ")));
        assert_eq!(status(&output), 0, "{words:?}: {}", text(&output.stderr));
    }
}

#[test]
fn damage_to_a_log_is_found_as_the_document_of_verify_shows() {
    let document = include_str!("../../docs/verify.md");
    happens(&Place::new(), &format!("\n{}", section(document, "A session")));
}

#[test]
fn every_outcome_of_run_is_what_the_table_says() {
    let rows = table(include_str!("../../docs/run.md"), "| outcome |");
    assert_eq!(rows.len(), 13);
    for row in rows {
        let [_, example, exit, ending, cause, phase_21, events] = &row[..] else {
            panic!("{row:?}");
        };
        let place = Place::new();
        let output = shell(&place, &format!("holdpoint run {} </dev/null", code(example)));
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
    match (outcome["reason_code"].as_str(), outcome["sandbox_decision"].as_str()) {
        (Some(code), Some(decision)) => format!("{code} {decision}"),
        _ => String::new(),
    }
}

/// The log holds these events in this order, others between them.
fn assert_in_order(place: &Place, events: &str) {
    let lines = text(&shell(place, "holdpoint log --json").stdout);
    let mut recorded = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    for event in events.split(", ") {
        let is_it = |line: Value| line["kind"].as_str().unwrap().ends_with(&format!(".{event}"));
        assert!(recorded.any(is_it), "{event} in {events}: {lines}");
    }
}

#[test]
fn a_decision_is_asked_and_answered_as_shown() {
    let document = include_str!("../../docs/approvals.md");
    let script = blocks(section(document, "Ask a question"), "sh")[0];
    let output = shell(&Place::new(), script);
    assert_eq!(status(&output), 0, "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("Which cache?") && printed.contains("redis"), "{printed}");
}

#[test]
fn a_deploy_is_approved_where_no_terminal_is_as_shown() {
    happens(&Place::new(), include_str!("../../docs/ci.md"));
}

#[test]
fn the_rooms_on_the_map_are_there() {
    let map = section(include_str!("../../docs/map.md"), "The rooms");
    let rooms: Vec<&str> = map
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|w| w.len() > 1 && w.ends_with('/'))
        .collect();
    assert_eq!(rooms.len(), 9);
    for room in rooms {
        assert!(root().join(room).is_dir(), "{room}");
    }
}

/// The words that `docs/concepts.md` has to explain.
const WORDS: [&str; 25] = [
    "record",
    "log",
    "segment",
    "chain",
    "link",
    "head",
    "witness",
    "run",
    "attempt",
    "evidence",
    "fault",
    "hold",
    "decision point",
    "approval",
    "policy",
    "principal",
    "claim",
    "proof",
    "standing",
    "thread",
    "snapshot",
    "index",
    "event",
    "command",
    "archive",
];

#[test]
fn every_word_is_explained_once() {
    let rows = table(include_str!("../../docs/concepts.md"), "| word |");
    let explained: Vec<&str> = rows.iter().map(|row| row[0].trim_matches('*')).collect();
    for word in WORDS {
        assert_eq!(explained.iter().filter(|it| **it == word).count(), 1, "{word}");
    }
}

const WAYS: &str = include_str!("../ways-past-a-hold.md");

/// The names of all tests in these folders' files.
fn tests_in(folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tests_in(&path, names);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let source = fs::read_to_string(path).unwrap();
            let (_, functions) = source.split_once("#[test]").unwrap_or_default();
            let named = functions.split("#[test]").filter_map(|behind| behind.split_once("fn "));
            names.extend(named.map(|(_, name)| name.split('(').next().unwrap().to_string()));
        }
    }
}

#[test]
fn every_way_past_a_hold_names_its_adversary_and_a_test_that_is_there() {
    let mut known = Vec::new();
    for folder in ["tests", "engine/tests"] {
        tests_in(&root().join(folder), &mut known);
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
