//! `trace`: what led to a record, back to the person, and everything that it caused; as a tree, as
//! a Mermaid flowchart and as a Graphviz digraph, also of a log that was forged.

use crate::attack_support::state_indexes;
use crate::program::{Place, json, text};
use crate::records_support::{holdpoint, saying, segments, told};
use crate::travel_support::ArbitraryIn;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::world::envelope::{Encoded, encode};
use holdpoint_domain::{ActorId, Envelope};
use holdpoint_log_format::{Flags, names};
use holdpoint_testing::hand_made::{FIRST_RECORD, HandMadeLog, flip};
use holdpoint_testing::story::seed;
use quickcheck::{Arbitrary as _, Gen};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;

/// What a hostile name or text may hold.
const HOSTILE: &str = "\"]; --> %%{init}%% <b>`x`</b> \\ & # \u{1b}[2J \u{202e}";

fn by(kind: Actor, id: &str, causation: Option<u64>, text: &str) -> Encoded {
    encode(&Envelope {
        clock: None,
        proof: None,
        actor: ActorId { kind, id: id.to_string() },
        correlation: "story-1".to_string(),
        causation,
        idempotency: None,
        event: saying(text),
    })
    .unwrap()
}

fn agent(causation: impl Into<Option<u64>>, text: &str) -> Encoded {
    by(Actor::Agent, "agent-7", causation.into(), text)
}

/// Ada (1) has an agent (2) begin two things (3 and 4 in one batch, 6), of which the first leads to
/// 5, and that to 10 in another segment; 7 is somebody else's. 8 says that it caused itself, 9 that
/// a record which is not there yet did.
fn story() -> (TempDir, HandMadeLog) {
    let mut log = HandMadeLog::new();
    log.batch(&[by(Actor::Human, "ada", None, "asked for it")]);
    log.batch(&[agent(1, "began")]);
    log.batch(&[agent(2, "one"), agent(2, "one more")]);
    log.batch(&[agent(4, HOSTILE)]);
    log.batch(&[agent(2, "two")]);
    log.batch(&[agent(None, "alone")]);
    log.batch(&[agent(8, "itself")]);
    log.batch(&[agent(99, "from the future")]);
    log.roll();
    log.batch(&[agent(5, "at last")]);
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    (directory, log)
}

fn traced(log: &Path, sequence: u64, options: &[&str]) -> Value {
    traced_with(0, log, sequence, options)
}

fn traced_with(exit: i32, log: &Path, sequence: u64, options: &[&str]) -> Value {
    let sequence = sequence.to_string();
    let output = holdpoint(log, &[&["show", "--trace", &sequence, "--json"], options].concat());
    let (code, stdout, _) = told(&output);
    assert_eq!(code, exit, "{stdout}");
    serde_json::from_str(&stdout).unwrap()
}

/// First record, role and distance of each step.
fn steps(story: &Value) -> Vec<(u64, &str, u64)> {
    let steps = story["steps"].as_array().unwrap().iter();
    steps
        .map(|step| {
            let role = step["role"].as_str().unwrap();
            (step["first"].as_u64().unwrap(), role, step["distance"].as_u64().unwrap())
        })
        .collect()
}

#[test]
fn a_story_goes_back_to_the_person_and_on_to_everything_that_was_caused() {
    let (directory, _) = story();
    let log = directory.path();
    let found = traced(log, 4, &[]);
    assert_eq!(
        steps(&found),
        [(1, "cause", 2), (2, "cause", 1), (3, "asked", 0), (5, "effect", 1), (10, "effect", 2)]
    );
    assert_eq!(found["person"]["actor"]["id"], "ada");
    assert_eq!(found["person"]["sequence"], 1);
    assert_eq!(found["beginning"], serde_json::json!({ "is": "begun", "sequence": 1 }));
    assert_eq!(found["steps"][2]["last"], 4);
    assert_eq!(found["steps"][2]["records"].as_array().unwrap().len(), 2);
    assert_eq!(found["checked"]["segments"], 2);
    assert_eq!(found["checked"]["segments_read"], 2);
    // From its beginning, and from its end.
    let all = traced(log, 1, &[]);
    let firsts: Vec<u64> = steps(&all).iter().map(|step| step.0).collect();
    assert_eq!(firsts, [1, 2, 3, 5, 6, 10]);
    let back = traced(log, 10, &[]);
    let firsts: Vec<u64> = steps(&back).iter().map(|step| step.0).collect();
    assert_eq!(firsts, [1, 2, 3, 5, 10]);
    let alone = traced(log, 7, &[]);
    assert_eq!(steps(&alone), [(7, "asked", 0)]);
    assert!(alone["person"].is_null());
}

#[test]
fn each_record_of_a_step_is_told_with_its_own_actor() {
    let place = Place::with_log();
    place.shell("true");
    let told = json(&place.holdpoint(&["show", "--trace", "2", "--json"]));
    let records = told["steps"][0]["records"].as_array().unwrap();
    let kinds: Vec<&str> =
        records.iter().take(2).map(|it| it["actor"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["SYSTEM", "AUTOMATION"], "{told:#}");
    let shown = text(&place.holdpoint(&["show", "--trace", "2", "--verbose"]).stdout);
    let rules = shown.lines().find(|line| line.ends_with("log.rules_adopted")).unwrap();
    assert!(rules.contains("  holdpoint (holdpoint)  "), "{shown}");
}

#[test]
fn a_story_is_told_in_plain_words_and_in_codes_where_they_are_asked_for() {
    let place = Place::with_log();
    place.shell("kill -SEGV $$");
    let shown = |options: &[&str]| {
        text(&place.holdpoint(&[&["show", "--trace", "2"], options].concat()).stdout)
    };
    let codes = ["handshake", "INIT", "DISPATCHED", "HALTED", "execution_loop.", "SBX-", "STDOUT"];
    for format in ["text", "mermaid", "dot"] {
        let plain = shown(&["--format", format]);
        for code in codes {
            assert!(!plain.contains(code), "{code}: {plain}");
        }
        assert!(plain.contains("the run begins: sh "), "{plain}");
        let verbose = shown(&["--format", format, "--verbose"]);
        assert!(verbose.contains("INIT: sh "), "{verbose}");
    }
    for words in ["the run has ended: it failed, and", "killed by signal 11, as its recorder"] {
        assert!(shown(&[]).contains(words), "{words}");
    }
}

#[test]
fn depth_bounds_a_story_in_both_directions_and_that_is_said() {
    let (directory, _) = story();
    let log = directory.path();
    let found = traced(log, 4, &["--limit", "1"]);
    assert_eq!(steps(&found), [(2, "cause", 1), (3, "asked", 0), (5, "effect", 1)]);
    assert_eq!(found["beginning"], serde_json::json!({ "is": "too_far", "sequence": 1 }));
    assert_eq!(found["effects_cut"], true);
    let (code, stdout, stderr) = told(&holdpoint(log, &["show", "--trace", "4", "--limit", "0"]));
    assert_eq!(code, 0);
    assert!(stdout.contains("further back than was asked for: record 2 is next"), "{stdout}");
    assert!(stderr.contains("--limit"), "{stderr}");
    assert_eq!(told(&holdpoint(log, &["show", "--trace", "4", "--limit", "1001"])).0, 2);
}

#[test]
fn a_forged_cause_is_told_and_not_followed() {
    let (directory, _) = story();
    for (sequence, causation) in [(8, 8), (9, 99)] {
        let found = traced(directory.path(), sequence, &[]);
        assert_eq!(steps(&found), [(sequence, "asked", 0)]);
        let expected = serde_json::json!(
            { "is": "not_earlier", "sequence": sequence, "causation": causation }
        );
        assert_eq!(found["beginning"], expected);
    }
}

#[test]
fn the_tree_has_a_branch_for_each_of_several_effects() {
    let (directory, _) = story();
    let (code, stdout, stderr) = told(&holdpoint(directory.path(), &["show", "--trace", "2"]));
    assert_eq!(code, 0, "{stderr}");
    let person = "person   ada (person and name not proven), record 1";
    for line in [person, "begins   with record 1, which nothing caused"] {
        assert!(stdout.contains(line), "{stdout}");
    }
    let begins: Vec<&str> = stdout
        .lines()
        .skip_while(|line| !line.is_empty())
        .skip(1)
        .map(|line| line.split("  2026").next().unwrap())
        .collect();
    assert_eq!(begins, ["  1", "> 2", "  |- 3", "  |  4", "  |  5", "  |  10", "  `- 6"]);
    assert!(!stdout.contains(['\u{1b}', '\u{202e}']), "{stdout}");
    assert!(stderr.contains(" verify`"), "{stderr}");
}

/// The nodes and edges of a Mermaid flowchart of one statement a line.
fn parse_mermaid(text: &str) -> (BTreeSet<String>, BTreeSet<(String, String)>) {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("flowchart TD"));
    let (mut nodes, mut edges) = (BTreeSet::new(), BTreeSet::new());
    let is_name = |name: &str| name.chars().all(|letter| letter.is_ascii_alphanumeric());
    for line in lines {
        let line = line.strip_prefix("    ").unwrap();
        if let Some((from, to)) = line.split_once(" --> ") {
            assert!(is_name(from) && is_name(to), "{line}");
            edges.insert((from.to_string(), to.to_string()));
        } else if let Some(rest) = line.strip_prefix("style ") {
            assert!(nodes.contains(rest.split(' ').next().unwrap()), "{line}");
        } else {
            let (name, label) = line.split_once(['[', '(']).unwrap();
            let label = label.trim_start_matches('[').trim_end_matches([']', ')']);
            let label = label.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
            let plain = label.replace("<br/>", "");
            assert!(is_name(name) && !plain.contains(['"', '<', '%', '`', '&']), "{line}");
            nodes.insert(name.to_string());
        }
    }
    (nodes, edges)
}

/// The nodes and edges of a Graphviz digraph, by its own rules for quoted strings.
fn parse_dot(text: &str) -> (BTreeSet<String>, BTreeSet<(String, String)>) {
    let body = text.strip_prefix("digraph trace {\n").unwrap().strip_suffix("}\n").unwrap();
    let (mut nodes, mut edges) = (BTreeSet::new(), BTreeSet::new());
    for statement in statements(body) {
        let plain = statement.trim();
        if let Some((from, to)) = plain.split_once(" -> ") {
            edges.insert((from.to_string(), to.to_string()));
        } else if !plain.is_empty() {
            let (name, attributes) = plain.split_once(" [").unwrap();
            assert!(attributes.ends_with(']'), "{plain}");
            nodes.insert(name.to_string());
        }
    }
    nodes.remove("node");
    (nodes, edges)
}

/// Cut at semicolons outside quotes; quoted strings stand for themselves without what is in them.
fn statements(body: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut letters = body.chars();
    let mut is_quoted = false;
    while let Some(letter) = letters.next() {
        match (is_quoted, letter) {
            (true, '\\') => drop(letters.next().unwrap()),
            (_, '"') => is_quoted = !is_quoted,
            (true, _) => {}
            (false, ';') => found.push(String::new()),
            (false, other) => found.last_mut().unwrap().push(other),
        }
    }
    assert!(!is_quoted, "a quoted string ends");
    found
}

#[test]
fn graphs_have_the_steps_as_nodes_and_the_causes_as_edges_whatever_texts_say() {
    let (directory, _) = story();
    let graph = |sequence: &str, format: &str| {
        let output =
            holdpoint(directory.path(), &["show", "--trace", sequence, "--format", format]);
        let (code, stdout, _) = told(&output);
        assert_eq!(code, 0);
        assert!(!stdout.contains(['\u{1b}', '\u{202e}']));
        stdout
    };
    let names = |all: &[&str]| all.iter().map(ToString::to_string).collect::<BTreeSet<String>>();
    let pair = |(from, to): &(&str, &str)| (from.to_string(), to.to_string());
    let edges: BTreeSet<(String, String)> =
        [("r1", "r2"), ("r2", "r3"), ("r3", "r5"), ("r5", "r10")].iter().map(pair).collect();
    let nodes = names(&["r1", "r2", "r3", "r5", "r10"]);
    assert_eq!(parse_mermaid(&graph("5", "mermaid")), (nodes.clone(), edges.clone()));
    assert_eq!(parse_dot(&graph("5", "dot")), (nodes, edges));
    let (nodes, edges) = parse_dot(&graph("9", "dot"));
    assert_eq!(nodes, names(&["before", "r9"]));
    assert_eq!(edges, [pair(&("before", "r9"))].into());
    assert_eq!(parse_mermaid(&graph("9", "mermaid")), (nodes, edges));
}

#[test]
fn a_record_that_is_not_there_is_not_found_and_the_closest_is_suggested() {
    let (directory, _) = story();
    for (sequence, closest) in
        [("0", "mean 1?"), ("11", "mean 10?"), ("18446744073709551615", "10?")]
    {
        for json in [&[][..], &["--json"]] {
            let output =
                holdpoint(directory.path(), &[&["show", "--trace", sequence], json].concat());
            let (code, _, stderr) = told(&output);
            assert_eq!(code, 3, "{stderr}");
            assert!(stderr.contains(closest) && stderr.contains("records 1 to 10"), "{stderr}");
        }
    }
    assert_eq!(told(&holdpoint(directory.path(), &["show", "--trace", "one"])).0, 2);
    let empty = TempDir::new().unwrap();
    assert_eq!(told(&holdpoint(empty.path(), &["show", "--trace", "1"])).0, 3);
}

#[test]
fn tamper_a_damaged_cause_is_named_and_exits_6() {
    let (directory, _) = story();
    let log = directory.path();
    let first = names::segment(segments(log)[0]);
    flip(&log.join(names::SEGMENTS).join(&first), FIRST_RECORD + 70);
    let (code, stdout, stderr) = told(&holdpoint(log, &["show", "--trace", "10"]));
    assert_eq!(code, 6, "{stderr}");
    assert!(stdout.contains("record 5, which is damaged or missing"), "{stdout}");
    assert!(stderr.contains(&first), "{stderr}");
    let (code, stdout, stderr) = told(&holdpoint(log, &["show", "--trace", "3"]));
    assert_eq!((code, stdout.as_str()), (6, ""));
    assert!(stderr.contains("record 3 cannot be read"), "{stderr}");
}

#[test]
fn a_withheld_record_does_not_say_what_caused_it_and_that_is_a_finding() {
    let mut log = HandMadeLog::new();
    log.batch(&[agent(None, "began")]);
    log.batch_with(&[agent(1, "secret")], Flags::WITHHELD, true);
    log.batch(&[agent(2, "after")]);
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let found = traced_with(6, directory.path(), 3, &[]);
    assert_eq!(steps(&found), [(2, "cause", 1), (3, "asked", 0)]);
    assert_eq!(found["beginning"], serde_json::json!({ "is": "unreadable", "sequence": 2 }));
    assert_eq!(found["steps"][0]["standing"], "withheld");
    // Nobody can tell whether the first record caused it.
    let found = traced_with(6, directory.path(), 1, &[]);
    assert_eq!(steps(&found), [(1, "asked", 0)]);
    assert_eq!(found["checked"]["findings"][0]["sequence"], 2, "{found:#}");
}

#[test]
fn a_batch_of_which_only_the_first_record_is_withheld_is_still_an_effect_and_a_finding() {
    let mut log = HandMadeLog::new();
    log.batch(&[agent(None, "began")]);
    log.batch_with(&[agent(1, "secret")], Flags::WITHHELD, false);
    log.batch(&[agent(1, "told")]);
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let found = traced_with(6, directory.path(), 1, &[]);
    assert_eq!(steps(&found), [(1, "asked", 0), (2, "effect", 1)]);
    assert_eq!(found["steps"][1]["causation"], 1);
    let back = traced_with(6, directory.path(), 3, &[]);
    assert_eq!(steps(&back), [(1, "cause", 1), (2, "asked", 0)]);
}

#[test]
fn a_long_chain_is_told_in_bounds_and_a_wide_one_is_counted() {
    let mut log = HandMadeLog::new();
    log.batch(&[agent(None, "began")]);
    for cause in 1..300 {
        log.batch(&[agent(cause, "next")]);
    }
    for _ in 0..1_010 {
        log.batch(&[agent(300, "branch")]);
    }
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let found = traced(directory.path(), 300, &[]);
    assert_eq!(steps(&found).len(), 65 + 1_000);
    assert_eq!(found["effects_left_out"], 10);
    assert_eq!(found["beginning"]["is"], "too_far");
    let whole = traced(directory.path(), 300, &["--limit", "1000"]);
    assert_eq!(steps(&whole).len(), 300 + 1_000);
    let (code, stdout, stderr) = told(&holdpoint(directory.path(), &["show", "--trace", "300"]));
    assert_eq!((code, stdout.lines().filter(|line| line.contains("|- ")).count()), (0, 999));
    assert!(stderr.contains("at least 10 more"), "{stderr}");
}

/// Several sealed segments with batches of all lengths, each caused by any one before, and a
/// snapshot that knows their indexes; then some more of them. One record, which is told, was caused
/// by nothing and causes nothing.
fn long_story(seed: u64) -> (TempDir, HandMadeLog, u64) {
    let mut random = Gen::from_size_and_seed(40, seed);
    let (directory, mut log, mut alone) = (TempDir::new().unwrap(), HandMadeLog::new(), 0);
    for number in 0..90 {
        let newest = log.chain.sequence;
        let is_caused = newest > 0 && !u8::arbitrary(&mut random).is_multiple_of(8);
        let cause = newest - u64::from(u8::arbitrary_in(&mut random, 250)).min(newest.max(1) - 1);
        let records = usize::from(1 + u8::arbitrary_in(&mut random, 4));
        let text = format!("number {number}");
        if number == 30 {
            log.batch(&[agent(None, &text)]);
            alone = newest + 1;
        } else {
            let cause = (is_caused && cause != alone).then_some(cause);
            log.batch(&vec![agent(cause, &text); records]);
        }
        match number {
            20 | 40 | 41 | 70 => log.roll(),
            80 => {
                log.write(directory.path());
                state_indexes(&mut log, directory.path());
                log.snapshot(directory.path());
            }
            _ => {}
        }
    }
    log.write(directory.path());
    (directory, log, alone)
}

#[test]
fn people_are_told_as_proven_what_programs_are_of_segments_that_a_state_ties() {
    let (directory, _, _) = long_story(seed());
    let (mut by_state, path) = (0, directory.path());
    for sequence in 1..=20_u64 {
        let found = traced(path, sequence, &[]);
        let steps = found["steps"].as_array().unwrap();
        assert!(steps.iter().all(|step| step["standing"] == "proven"), "{found}");
        let (code, _, stderr) = told(&holdpoint(path, &["show", "--trace", &sequence.to_string()]));
        assert_eq!((code, stderr.contains("unproven")), (0, false), "{sequence}: {stderr}");
        by_state += u32::from(stderr.contains("proven as far as the state is right"));
    }
    assert!(by_state > 0, "no record is tied by a state");
}

#[test]
fn a_story_that_indexes_tell_is_the_one_that_reading_tells() {
    let (directory, log, _) = long_story(seed());
    let (path, mut by_index) = (directory.path(), 0);
    let told_of = |sequence: u64| {
        let mut found = traced(path, sequence, &["--limit", "5"]);
        let checked = found.as_object_mut().unwrap().remove("checked").unwrap();
        assert!(found.as_object_mut().unwrap().remove("reach").is_some());
        (found, checked["segments_by_index"].as_u64().unwrap())
    };
    let every: Vec<u64> = (1..=log.chain.sequence).step_by(3).collect();
    let indexed: Vec<_> = every.iter().map(|sequence| told_of(*sequence)).collect();
    std::fs::remove_dir_all(path.join(names::SNAPSHOTS)).unwrap();
    for (sequence, (found, segments)) in every.iter().zip(indexed) {
        by_index += segments;
        assert_eq!((found, 0), told_of(*sequence), "record {sequence}");
    }
    assert!(by_index > 0, "no index was used");
}

#[test]
fn a_story_of_long_ago_is_told_whatever_became_of_the_segments_that_have_no_part_in_it() {
    let (directory, _, alone) = long_story(seed());
    let (path, all) = (directory.path(), segments(directory.path()));
    let own = all[all.partition_point(|first| *first <= alone) - 1];
    let damage = |first: u64| {
        flip(&path.join(names::SEGMENTS).join(names::segment(first)), FIRST_RECORD + 70);
    };
    all[..all.len() - 1].iter().filter(|first| **first != own).for_each(|first| damage(*first));
    assert_eq!(steps(&traced(path, alone, &[])), [(alone, "asked", 0)]);
    // What holds it is in its reach, and so is all that lies behind where no snapshot tells.
    damage(own);
    std::fs::remove_dir_all(path.join(names::SNAPSHOTS)).unwrap();
    assert_eq!(told(&holdpoint(path, &["show", "--trace", &alone.to_string()])).0, 6);
}

#[test]
fn a_run_or_a_session_is_traced_from_the_record_that_began_it() {
    let place = Place::with_log();
    place.shell("true");
    let run = place.newest_loop();
    let (id, first) = (run["loop_id"].as_str().unwrap(), &run["started_sequence"]);
    let digits = id.strip_prefix("LOOP-").unwrap();
    let trace = |wanted: &str| place.holdpoint(&["show", "--trace", wanted, "--json"]);
    for wanted in [id, digits, &id[..15]] {
        let story = json(&trace(wanted));
        assert_eq!((&story["sequence"], story["runs"][0]["run"].as_str()), (first, Some(id)));
    }
    let asked = crate::hook::ask(&place, &[], &crate::hook::call("s", "ls"));
    let shown = json(&place.holdpoint(&["runs", "--json", "by=claude-code:s"]));
    let story = json(&trace(shown["session"].as_str().unwrap()));
    assert_eq!(story["sequence"], shown["first_record"]);
    assert_eq!(json(&trace(&asked))["sequence"], shown["first_record"]);
    for (wanted, exit, words) in [
        ("LOOP-00000000000000000000000000000007", 3, "there is no run LOOP-0000"),
        ("LOOP-77", 2, "at least 6 of its first hexadecimal digits"),
        ("nothing", 2, "give the number of a record"),
        (&id.to_lowercase(), 2, "did you mean LOOP-"),
        (&format!("LOOP-{}A", &digits[..6]), 2, "ids have no capitals"),
        ("4711", 3, "there is no record 4711"),
    ] {
        let output = trace(wanted);
        let said = format!("{}{}", text(&output.stderr), text(&output.stdout));
        assert_eq!(output.status.code(), Some(exit), "{wanted}: {said}");
        assert!(said.contains(words) && !said.contains("invalid digit"), "{wanted}: {said}");
    }
}
