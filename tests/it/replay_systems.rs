//! `replay` shows every system, what settled included, and each thing in the form in which its own
//! verb shows it.

use crate::program::{Place, json, status, text, with_hold};
use crate::records_support::holdpoint;
use holdpoint_testing::hand_made::HandMadeLog;
use holdpoint_testing::part::part_of;
use holdpoint_testing::story::commands::Generator;
use holdpoint_testing::story::{Story, seed};
use serde_json::{Value, to_value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tempfile::TempDir;

/// So many commands make a log; a run looks behind one of so many, and there at one of so many
/// things.
const COMMANDS: usize = 800;
const COMMANDS_PART: usize = 200;
const THINGS_PART: usize = 5;

/// The seed of a story in which something of every system is looked at.
const STORY_OF_ALL: u64 = 1;

const LISTS: [&str; 4] =
    ["execution_loops", "human_decisions", "interruption_threads", "decision_points"];

/// A log over all systems, and what its writer's state was behind some records.
struct History {
    directory: TempDir,
    captured: BTreeMap<u64, Value>,
}

impl History {
    fn new(seed: u64) -> Self {
        let (mut story, mut log) = (Story::adopted(), HandMadeLog::new());
        let (mut generator, mut captured) = (Generator::seeded(seed), BTreeMap::new());
        let looked_at = part_of(seed, (0..COMMANDS).collect(), COMMANDS_PART);
        let mut known = 0;
        for command in 0..COMMANDS {
            generator.step(&mut story);
            for batch in story.records[known..].chunk_by(|one, next| one.at == next.at) {
                log.now = batch[0].at;
                log.batch(&batch.iter().map(|record| record.encoded.clone()).collect::<Vec<_>>());
            }
            known = story.records.len();
            if looked_at.contains(&command) || command + 1 == COMMANDS {
                captured.insert(log.chain.sequence, to_value(&story.world).unwrap());
            }
        }
        let directory = TempDir::new().unwrap();
        log.write(directory.path());
        Self { directory, captured }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }
}

fn replayed(log: &Path, more: &[&str]) -> Value {
    shown(log, &[&["replay", "--json"], more].concat())
}

fn shown(log: &Path, line: &[&str]) -> Value {
    let output = holdpoint(log, line);
    // What the writer says of archives and indexes, and of times, is made up here.
    assert!([0, 6].contains(&status(&output)), "{line:?}: {}", text(&output.stderr));
    with_hold(json(&output))
}

fn list<'v>(state: &'v Value, name: &str) -> &'v [Value] {
    state[name].as_array().unwrap_or_else(|| panic!("{name} in {state:#}"))
}

/// Asserts that a verb shows all of this, in this form, and perhaps more.
fn assert_shown(log: &Path, line: &[&str], whole: &Value) {
    let (shown, whole) = (shown(log, line), whole.as_object().unwrap());
    for (key, value) in whole {
        assert_eq!(&shown[key], value, "{key} of {line:?}");
    }
}

#[test]
fn replay_shows_the_state_that_was_captured_live_in_the_form_of_each_verb() {
    // Not every story has a hold at the records that are looked at; this one has everything.
    assert_eq!(verbs_compared(STORY_OF_ALL), ["decision", "hold", "thread"].into());
    verbs_compared(seed());
}

/// Compares a history's states with what was captured live, and says by which verbs.
fn verbs_compared(seed: u64) -> BTreeSet<&'static str> {
    let history = History::new(seed);
    let mut seen = BTreeSet::new();
    for (at, captured) in &history.captured {
        let at = at.to_string();
        let mut state = replayed(history.path(), &["--until", &at]);
        seen.extend(assert_each_shown(history.path(), &at, &state, seed));
        // Which links records have is no part of the state.
        let points = state["decision_points"].as_array_mut().unwrap();
        points.iter_mut().for_each(|point| point["head"]["hash"] = Value::Null);
        for (key, value) in captured.as_object().unwrap() {
            assert_eq!(&state[key], value, "{key} at {at}, seed {seed}");
        }
    }
    seen
}

/// Asserts of some things of a state that their verbs show the same, and says which verbs.
fn assert_each_shown(log: &Path, at: &str, state: &Value, seed: u64) -> BTreeSet<&'static str> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap().to_string();
    let mut seen = BTreeSet::new();
    let things = |name| {
        let all: Vec<&Value> = list(state, name).iter().collect();
        let newest = all.last().copied();
        part_of(seed, all, THINGS_PART).into_iter().chain(newest)
    };
    for request in things("human_decisions") {
        let id = text(request, "request_id");
        assert_shown(log, &["decision", "show", &id, "--at", at, "--json"], request);
        seen.insert("hold");
    }
    for point in things("decision_points") {
        assert_shown(log, &["decision", "show", &text(point, "id"), "--at", at, "--json"], point);
        seen.insert("decision");
    }
    for thread in things("interruption_threads") {
        let [tenant, id] = ["tenant_id", "correlation_id"].map(|key| text(thread, key));
        let name = format!("{tenant}/{id}");
        let line = ["thread", "show", &name, "--at", at, "--json"];
        assert_shown(log, &line, thread);
        seen.insert("thread");
    }
    seen
}

#[test]
fn one_system_is_shown_alone_and_as_among_all() {
    let history = History::new(seed());
    let all = replayed(history.path(), &[]);
    let named = [
        ("execution_loop", "execution_loops"),
        ("human_decision", "human_decisions"),
        ("interruption_thread", "interruption_threads"),
        ("decision_point", "decision_points"),
        ("application", "streams"),
        ("registration", "registrations"),
    ];
    for (system, key) in named {
        let one = replayed(history.path(), &["--kind", system]);
        let others = named.iter().filter(|(_, other)| *other != key);
        assert_eq!(one[key], all[key], "{system}");
        others.for_each(|(_, other)| assert_eq!(one[*other], Value::Null, "{system}"));
        assert_eq!(one["fingerprint"], all["fingerprint"]);
    }
    let chains = replayed(history.path(), &["--kind", "evidence_capture"]);
    let of_loops =
        list(&all, "execution_loops").iter().filter(|it| !it["evidence_chain"].is_null());
    let found: BTreeSet<&str> = list(&chains, "evidence_chains").iter().map(head_hash).collect();
    assert_eq!(found, of_loops.map(|it| head_hash(&it["evidence_chain"])).collect());
    let faults = replayed(history.path(), &["--kind", "sandbox_fault"]);
    let counted = all["totals"]["faults_reported"].as_u64().unwrap();
    assert_eq!(list(&faults, "sandbox_faults").len() as u64, counted);
}

fn head_hash(chain: &Value) -> &str {
    chain["head_hash"].as_str().unwrap()
}

#[test]
fn every_id_that_is_printed_is_found() {
    let seed = seed();
    let history = History::new(seed);
    let mut ids = BTreeSet::new();
    collect_ids(&replayed(history.path(), &[]), &mut ids);
    let kinds: BTreeSet<&str> = ids.iter().map(|id| id.split('-').next().unwrap()).collect();
    assert!(kinds.is_superset(&["LOOP", "REC", "CHAIN", "OBS", "DP"].into()), "{kinds:?}");
    for id in kinds.iter().filter_map(|kind| ids.iter().rfind(|id| id.starts_with(kind))) {
        let output = holdpoint(history.path(), &["log", &format!("entity={id}"), "--json"]);
        assert!(text(&output.stdout).contains(id), "{id}, seed {seed}: {}", text(&output.stderr));
    }
}

/// Every text that is a prefix and 32 hexadecimal digits.
fn collect_ids(value: &Value, ids: &mut BTreeSet<String>) {
    let is_id = |text: &&String| {
        text.split_once('-').is_some_and(|(kind, digits)| {
            kind.bytes().all(|byte| byte.is_ascii_uppercase())
                && digits.len() == 32
                && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    match value {
        Value::String(text) => ids.extend(Some(text).filter(is_id).cloned()),
        Value::Array(items) => items.iter().for_each(|item| collect_ids(item, ids)),
        Value::Object(fields) => fields.values().for_each(|field| collect_ids(field, ids)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn what_settled_is_shown_with_what_lives() {
    let place = Place::new();
    place.shell("exit 0");
    place.shell("exit 3");
    let created = place.holdpoint(&["decision", "create", "--prompt", "Now?", "--option", "a:A"]);
    let id = text(&created.stdout).lines().next().unwrap().to_string();
    assert_eq!(status(&created), 0, "{}", text(&created.stderr));
    assert_eq!(status(&place.holdpoint(&["decision", "cancel", &id])), 0);
    let state = replayed(&place.log, &[]);
    assert_eq!(LISTS.map(|name| list(&state, name).len()), [2, 0, 0, 1], "{state:#}");
    let shown = text(&place.holdpoint(&["replay"]).stdout);
    for part in ["HALTED", &id, "cancelled"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let one = text(&place.holdpoint(&["replay", "--kind", "decision_point"]).stdout);
    assert!(one.contains(&id) && !one.contains("HALTED"), "{one}");
}
