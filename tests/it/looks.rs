//! What lives is listed from the newest snapshot that the log vouches for: as reading the whole log
//! lists it, with how it is known, and with nothing that a snapshot alone says.

use crate::attack_support::{ask, give, put, state_indexes, talk};
use crate::decision_support::asked;
use crate::filler::fill;
use crate::program::{Place, status, text};
use crate::records_support::{holdpoint, segments, told};
use crate::thread_support::interrupted;
use crate::travel_support::ArbitraryIn;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{
    CreateDecisionPoint, DecisionPointCommand, MAX_CLOSED_DECISION_POINTS,
};
use holdpoint_domain::log::{RecordsUnproven, UnprovenReason};
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::{ActorId, Command, Time};
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Options, Ownership};
use holdpoint_engine::shell::{EngineOptions, FingerprintDistance};
use holdpoint_forger::Log;
use holdpoint_forger::snapshot::{Snapshot, path};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{SnapshotHeader, names};
use holdpoint_testing::hand_made::{FIRST_RECORD, HandMadeLog, flip};
use holdpoint_testing::history::History;
use holdpoint_testing::part::times;
use holdpoint_testing::story::points::{option, person};
use holdpoint_testing::story::{Story, seed};
use quickcheck::{Arbitrary as _, Gen};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Lists that are told by what lives and what ended lately.
const LISTS: [&[&str]; 7] = [
    &["decision", "list", "--kind", "hold"],
    &["decision", "list"],
    &["decision", "list", "state=open"],
    &["decision", "list", "state=all"],
    &["decision", "list", "state=all", "--limit", "3"],
    &["thread", "list"],
    &["thread", "list", "state=open"],
];

/// How something is known.
const STANDING: [&str; 4] = ["standing", "stated_by", "no_witness_from", "durable"];

/// A log of several segments in which something waits, was answered, settled and was said, with
/// snapshots where the seed puts them; and the record that states the newest of them.
struct Sample {
    directory: TempDir,
    log: HandMadeLog,
    stated_by: u64,
}

impl Sample {
    fn of(seed: u64) -> Self {
        let mut random = Gen::from_size_and_seed(40, seed);
        let directory = TempDir::new().unwrap();
        let (mut log, mut stated_by) = (HandMadeLog::new(), 0);
        let history = History::of(150 + usize::from(u8::arbitrary_in(&mut random, 200)));
        let batches: Vec<_> = history.entries.chunk_by(|one, next| one.at == next.at).collect();
        for batch in &batches {
            put(&mut log, &history, batch);
            match u8::arbitrary_in(&mut random, 40) {
                0 => stated_by = take_snapshot(&mut log, directory.path()),
                1 => log.roll(),
                _ => {}
            }
        }
        talk(&mut log);
        if stated_by == 0 || bool::arbitrary(&mut random) {
            stated_by = take_snapshot(&mut log, directory.path());
        }
        ask(&mut log);
        // Of the sealed segments the state knows an index, of the newest records there is none.
        log.write(directory.path());
        state_indexes(&mut log, directory.path());
        log.run();
        log.write(directory.path());
        Self { directory, log, stated_by }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The files of the snapshots, oldest first.
    fn snapshots(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path().join(names::SNAPSHOTS)).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }
}

/// A snapshot of a log's own state. Gives the record that states it.
fn take_snapshot(log: &mut HandMadeLog, directory: &Path) -> u64 {
    // The histories know when their next record is due.
    log.now = Time::from_nanoseconds(log.chain.time);
    log.snapshot(directory)
}

/// A question that waits, by its number.
fn put_question(log: &mut HandMadeLog, number: u64) -> String {
    let entropy = Entropy::from_bytes((u128::from(number) + 1).to_be_bytes());
    let question = Story::new().question();
    let question =
        CreateDecisionPoint { entropy, timeout_ms: None, default_option: None, ..question };
    let (agent, id) = (ActorId { kind: Actor::Agent, id: "agent".into() }, question.decision_id());
    let ask = DecisionPointCommand::CreateDecisionPoint(question.into());
    give(log, agent, &Command::DecisionPoint(ask));
    id
}

fn answer(log: &mut HandMadeLog, id: &str) {
    let answer = Story::new().responds(id, person("alice"), option("go"));
    give(log, ActorId { kind: Actor::Human, id: "alice".into() }, &answer);
}

/// The items of a list for programs, which exits with 0.
fn listed(log: &Path, words: &[&str]) -> Vec<Value> {
    let (code, stdout, stderr) = told(&holdpoint(log, &[words, &["--json"]].concat()));
    assert_eq!(code, 0, "{words:?}: {stderr}");
    match serde_json::from_str(&stdout).unwrap() {
        Value::Array(items) => items,
        one => vec![one],
    }
}

fn whole<'w>(words: &[&'w str]) -> Vec<&'w str> {
    [words, &["--whole"]].concat()
}

/// What is told, without how it is known and how much time is left.
fn facts(items: &[Value]) -> Vec<Value> {
    let fact = |item: &Value| {
        let mut fact = item.as_object().unwrap().clone();
        STANDING.iter().for_each(|key| assert!(fact.remove(*key).is_some(), "{key}"));
        fact.remove("time_left_ms");
        Value::Object(fact)
    };
    items.iter().map(fact).collect()
}

fn assert_stands(items: &[Value], standing: &str, stated_by: &Value, what: &str) {
    for item in items {
        assert_eq!(
            (&item["standing"], &item["stated_by"]),
            (&json!(standing), stated_by),
            "{what}"
        );
    }
}

/// Every list, which is to be known from the record that states a snapshot.
fn assert_stated(log: &Path, stated_by: u64, what: &str) -> Vec<Vec<Value>> {
    let lists = LISTS.map(|words| {
        let items = listed(log, words);
        assert_stands(&items, "stated", &json!(stated_by), &format!("{what}, {words:?}"));
        items
    });
    assert!(lists.iter().any(|items| !items.is_empty()), "{what}: nothing is listed");
    lists.map(|items| facts(&items)).to_vec()
}

/// Every list, which is to be known from the whole log.
fn assert_proven(log: &Path, what: &str) -> Vec<Vec<Value>> {
    let lists = LISTS.map(|words| {
        let items = listed(log, words);
        assert_stands(&items, "proven", &Value::Null, &format!("{what}, {words:?}"));
        facts(&items)
    });
    lists.to_vec()
}

fn remove_snapshots(log: &Path) {
    fs::remove_dir_all(log.join(names::SNAPSHOTS)).unwrap();
}

fn file_of(log: &Path, segment: u64) -> PathBuf {
    log.join(names::SEGMENTS).join(names::segment(segment))
}

/// The words of a text, without numbers: ages and times to go.
fn without_numbers(output: &std::process::Output) -> String {
    text(&output.stdout).chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

#[test]
fn lists_say_which_records_of_a_salvaged_log_are_unproven() {
    let directory = TempDir::new().unwrap();
    let mut log = HandMadeLog::new();
    ask(&mut log);
    let (first_sequence, last_sequence) = (1, log.chain.sequence);
    let reason = UnprovenReason::Damage;
    log.events(vec![RecordsUnproven { first_sequence, last_sequence, reason }.into()]);
    log.roll();
    log.run();
    let stated_by = take_snapshot(&mut log, directory.path());
    log.run();
    log.write(directory.path());
    for words in LISTS {
        for json in [false, true] {
            let words: Vec<&str> = words.iter().copied().chain(json.then_some("--json")).collect();
            let (code, stdout, stderr) = told(&holdpoint(directory.path(), &words));
            let said = format!("records 1 to {last_sequence} are unproven");
            assert!(code == 0 && stderr.contains(&said), "{words:?}: {stdout}{stderr}");
            let from_snapshot = stderr.contains(&format!("as stated by record {stated_by}:"));
            assert!(from_snapshot || !words.contains(&"hold"), "{words:?}: {stderr}");
            let entries: Value = serde_json::from_str(&stdout).unwrap_or_default();
            for entry in entries.as_array().into_iter().flatten() {
                assert_eq!(entry["standing"], "unproven", "{words:?}: {entry:#}");
            }
        }
    }
}

#[test]
fn a_list_from_a_snapshot_is_that_of_the_whole_log_but_for_how_it_is_known() {
    let (seed, histories) = (seed(), 2 * times());
    for number in 0..histories {
        let sample = Sample::of(seed.wrapping_add(number));
        let (log, stated_by) = (sample.path(), sample.stated_by);
        let from_snapshot = assert_stated(log, stated_by, "from a snapshot");
        for (words, facts_told) in LISTS.iter().zip(&from_snapshot) {
            let items = listed(log, &whole(words));
            assert_stands(&items, "proven", &Value::Null, &format!("{words:?}"));
            assert_eq!(&facts(&items), facts_told, "{words:?}");
            let [told, of_whole] =
                [words.to_vec(), whole(words)].map(|words| holdpoint(log, &words));
            assert_eq!(without_numbers(&told), without_numbers(&of_whole), "{words:?}");
            let said = format!("as stated by record {stated_by}");
            assert!(text(&told.stderr).contains(&said), "{}", text(&told.stderr));
            assert!(!text(&of_whole.stderr).contains("as stated by"));
        }
    }
}

#[test]
fn what_lives_is_shown_from_a_snapshot_as_from_the_whole_log() {
    let sample = Sample::of(seed());
    let (log, stated_by) = (sample.path(), sample.stated_by);
    let name = |item: &Value, key: &str| item[key].as_str().unwrap().to_string();
    let mut shows = Vec::new();
    for item in listed(log, &["decision", "list", "--kind", "hold"]) {
        shows.push(vec!["decision".to_string(), "show".into(), name(&item, "id")]);
    }
    for item in listed(log, &["decision", "list", "state=all"]) {
        shows.push(vec!["decision".to_string(), "show".into(), name(&item, "id")]);
        shows.push(vec!["decision".into(), "show".into(), name(&item, "id"), "--chain".into()]);
    }
    for item in listed(log, &["thread", "list"]) {
        let thread = format!("{}/{}", name(&item, "tenant_id"), name(&item, "correlation_id"));
        let words = ["thread", "show", &thread];
        shows.push(words.map(String::from).to_vec());
    }
    assert!(!shows.is_empty());
    let shown =
        |words: &Vec<String>| listed(log, &words.iter().map(String::as_str).collect::<Vec<_>>());
    let told: Vec<Vec<Value>> = shows.iter().map(shown).collect();
    told.iter().for_each(|items| assert_stands(items, "stated", &json!(stated_by), "a show"));
    remove_snapshots(log);
    for (words, told) in shows.iter().zip(&told) {
        let of_whole = shown(words);
        assert_stands(&of_whole, "proven", &Value::Null, "a show");
        assert_eq!(facts(&of_whole), facts(told), "{words:?}");
    }
}

/// More decisions than a writer remembers, of which one waits; and the record that states the state
/// behind them.
fn with_full_windows() -> (TempDir, u64) {
    let directory = TempDir::new().unwrap();
    let mut log = HandMadeLog::new();
    for number in 0..=MAX_CLOSED_DECISION_POINTS as u64 {
        let id = put_question(&mut log, number);
        answer(&mut log, &id);
    }
    put_question(&mut log, u64::MAX);
    let stated_by = take_snapshot(&mut log, directory.path());
    log.run();
    log.write(directory.path());
    (directory, stated_by)
}

#[test]
fn what_has_left_the_state_is_looked_for_in_the_whole_log() {
    let (directory, stated_by) = with_full_windows();
    let log = directory.path();
    let open = listed(log, &["decision", "list"]);
    assert_eq!(open.len(), 1);
    assert_stands(&open, "stated", &json!(stated_by), "what waits");
    let all = listed(log, &["decision", "list", "state=all"]);
    assert_eq!(all.len(), MAX_CLOSED_DECISION_POINTS + 2);
    assert_stands(&all, "proven", &Value::Null, "what ended as well");
    assert_eq!(facts(&listed(log, &whole(&["decision", "list"]))), facts(&open));
    let [first, last] = [&all[0], &all[all.len() - 2]].map(|it| it["id"].as_str().unwrap());
    let shown = |id| listed(log, &["decision", "show", id]);
    assert_stands(&shown(first), "proven", &Value::Null, "long ago");
    assert_stands(&shown(last), "stated", &json!(stated_by), "lately");
    assert_eq!(shown(first), all[..1]);
    for id in [first, last] {
        let behind = listed(log, &["decision", "list", "--after", id]);
        assert_eq!(facts(&behind), facts(&open), "{id}");
    }
}

#[test]
fn a_snapshot_that_the_log_does_not_vouch_for_changes_nothing() {
    let mut sample = Sample::of(11);
    let stated_by = take_snapshot(&mut sample.log, sample.directory.path());
    sample.log.run();
    sample.log.write(sample.path());
    let (log, files) = (sample.path(), sample.snapshots());
    let told = assert_stated(log, stated_by, "as it is");
    let (newest, before) = (files.last().unwrap(), files[files.len() - 2].clone());
    let genuine = fs::read(newest).unwrap();
    let older = before.file_stem().unwrap().to_str().unwrap().parse::<u64>().unwrap() + 1;
    let (own, state) = SnapshotHeader::decode(&genuine).unwrap();
    let foreign = fs::read(Sample::of(12).snapshots().last().unwrap()).unwrap();
    let foreign_state = SnapshotHeader::decode(&foreign).unwrap().1.to_vec();
    let flipped = |at: usize| {
        let mut bytes = genuine.clone();
        bytes[at] ^= 1;
        bytes
    };
    let other_log = SnapshotHeader { log: holdpoint_log_format::LogId([8; 16]), ..own };
    for (what, bytes) in [
        ("another state", own.encode_with(&foreign_state)),
        ("another log's", foreign),
        ("the name of another log", other_log.encode_with(state)),
        ("a flipped link", flipped(45)),
        ("a flipped state", flipped(genuine.len() - 1)),
        ("cut", genuine[..genuine.len() / 2].to_vec()),
        ("empty", Vec::new()),
    ] {
        fs::write(newest, bytes).unwrap();
        assert_eq!(assert_stated(log, older, what), told, "{what}");
    }
    fs::remove_file(newest).unwrap();
    fs::create_dir(newest).unwrap();
    assert_eq!(assert_stated(log, older, "a directory"), told);
    for file in &files[..files.len() - 1] {
        fs::write(file, "no snapshot").unwrap();
    }
    assert_eq!(assert_proven(log, "none is one"), told);
    remove_snapshots(log);
    assert_eq!(assert_proven(log, "there are none"), told);
    fs::write(log.join(names::SNAPSHOTS), "").unwrap();
    assert_eq!(assert_proven(log, "something else stands in their place"), told);
}

#[test]
fn what_a_record_states_falsely_is_shown_as_stated_by_it_and_verify_finds_that_record() {
    let directory = TempDir::new().unwrap();
    let (mut log, mut other) = (HandMadeLog::new(), HandMadeLog::new());
    log.run();
    put_question(&mut other, 1);
    let stated_by = log.snapshot_of(&mut other.world, directory.path());
    log.run();
    log.write(directory.path());
    let items = listed(directory.path(), &["decision", "list"]);
    assert_eq!(items.len(), 1, "nobody asked this");
    assert_stands(&items, "stated", &json!(stated_by), "a lie");
    assert_eq!(told(&holdpoint(directory.path(), &whole(&["decision", "list"]))).0, 6);
    let (code, stdout, _) = told(&holdpoint(directory.path(), &["verify", "--json"]));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &report["findings"][0]["sequence"]), (6, &json!(stated_by)), "{report:#}");
}

#[test]
fn a_snapshot_that_an_unproven_record_states_is_believed_by_nobody() {
    let directory = TempDir::new().unwrap();
    let (mut log, mut other) = (HandMadeLog::new(), HandMadeLog::new());
    log.run();
    let id = put_question(&mut other, 1);
    let stated_by = log.snapshot_of(&mut other.world, directory.path());
    log.run();
    let reason = UnprovenReason::Damage;
    let (first_sequence, last_sequence) = (stated_by, stated_by);
    log.events(vec![RecordsUnproven { first_sequence, last_sequence, reason }.into()]);
    log.write(directory.path());
    let asked = |words: &[&str]| told(&holdpoint(directory.path(), words));
    // The rules forbid what it states, which whoever reads the whole log is told.
    for words in [&["decision", "list"][..], &["decision", "show", &id]] {
        let (code, stdout, stderr) = asked(&[words, &["--json"]].concat());
        assert!(code == 6 && !stdout.contains("\"options\""), "{words:?}: {stdout}{stderr}");
        assert!(!stderr.contains("as stated by"), "{words:?}: {stderr}");
    }
    assert_eq!(asked(&["decision", "cancel", &id, "--reason", "nobody asked this"]).0, 3);
    let replay = ["replay", "--live", "--json"];
    let without = asked(&[&replay[..], &["--whole"]].concat());
    assert_eq!(asked(&replay), without);
}

#[test]
fn a_fingerprint_that_a_salvage_took_over_vouches_for_no_snapshot() {
    let directory = TempDir::new().unwrap();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    let mut log = HandMadeLog::new();
    put_question(&mut log, 1);
    log.write(&old);
    let stated_by = take_snapshot(&mut log, &old);
    log.run();
    log.write(&old);
    let words = ["copy", "--salvage", old.to_str().unwrap(), new.to_str().unwrap()];
    assert_eq!(told(&holdpoint(&old, &words)).0, 0);
    // The same state, as that of the new log behind the record before the one that stated it.
    let snapshot = fs::read(old.join(path(stated_by - 1))).unwrap();
    let state = Snapshot::decode(&snapshot).unwrap().state;
    let salvaged = Log::read(&new).unwrap();
    let records = salvaged.records();
    let statement = records.iter().position(|at| salvaged.record(*at).kind() == 4).unwrap();
    let before = records[statement - 1];
    let forged = Snapshot::behind(&salvaged, before, STATE_SCHEMA_VERSION.into(), state);
    fs::create_dir(new.join(names::SNAPSHOTS)).unwrap();
    fs::write(new.join(path(salvaged.record(before).sequence())), forged.encode()).unwrap();
    for (log, is_believed) in [(&old, true), (&new, false)] {
        let (code, _, stderr) = told(&holdpoint(log, &["decision", "list"]));
        assert_eq!((code, stderr.contains("as stated by")), (0, is_believed), "{stderr}");
    }
    let replay =
        |more: &[&str]| told(&holdpoint(&new, &[&["replay", "--live", "--json"], more].concat()));
    assert_eq!(replay(&[]), replay(&["--whole"]));
}

/// A log of several segments with a snapshot in the last but one, and the record that states it.
fn with_segments() -> (TempDir, u64) {
    let directory = TempDir::new().unwrap();
    let mut log = HandMadeLog::new();
    log.run();
    log.roll();
    put_question(&mut log, 1);
    log.run();
    log.roll();
    log.run();
    let stated_by = take_snapshot(&mut log, directory.path());
    log.run();
    log.roll();
    log.run();
    log.write(directory.path());
    (directory, stated_by)
}

#[test]
fn damage_before_the_snapshot_is_not_in_the_reach_of_a_list() {
    let (directory, stated_by) = with_segments();
    let log = directory.path();
    flip(&file_of(log, segments(log)[0]), FIRST_RECORD + 70);
    assert_eq!(told(&holdpoint(log, &["verify"])).0, 6);
    // A person is shown no links, for which the segments of the decisions are read.
    let (code, stdout, stderr) = told(&holdpoint(log, &["decision", "list"]));
    assert_eq!((code, stdout.lines().count()), (0, 3), "{stderr}");
    assert!(stderr.contains(&format!("as stated by record {stated_by}")), "{stderr}");
    for words in [&["decision", "list"][..], &["thread", "list", "state=open"]] {
        assert_eq!(told(&holdpoint(log, &[words, &["--json"]].concat())).0, 0, "{words:?}");
        assert_eq!(told(&holdpoint(log, &whole(words))).0, 6, "{words:?}");
    }
}

#[test]
fn damage_behind_the_snapshot_is_told_as_by_reading_the_whole_log() {
    let (directory, _) = with_segments();
    let log = directory.path();
    let genuine: Vec<(PathBuf, Vec<u8>)> = segments(log)[2..]
        .iter()
        .map(|first| file_of(log, *first))
        .map(|file| (file.clone(), fs::read(&file).unwrap()))
        .collect();
    let assert_told = |what: &str| {
        for words in [&["decision", "list"][..], &["thread", "list", "state=open"]] {
            assert_eq!(told(&holdpoint(log, words)).0, 6, "{what}, {words:?}");
            let (code, stdout, stderr) = told(&holdpoint(log, &[words, &["--json"]].concat()));
            let value = if stdout.is_empty() { stderr.lines().last().unwrap() } else { &*stdout };
            let shown: Value = serde_json::from_str(value).unwrap();
            // What is known is shown, and nothing as proven; where nothing is, there is no list.
            let is_right = match shown.as_array() {
                Some(known) => {
                    !known.is_empty() && known.iter().all(|one| one["standing"] == "unproven")
                }
                None => shown["error"]["code"] == "damaged",
            };
            assert_eq!((code, is_right), (6, true), "{what}, {words:?}: {shown:#}");
        }
    };
    for (file, bytes) in &genuine {
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
        for at in [100, end - 200, end - 20] {
            flip(file, at as u64);
            assert_told(&format!("byte {at} of {file:?}"));
            fs::write(file, bytes).unwrap();
        }
    }
    let (file, bytes) = &genuine[1];
    fs::write(file, &bytes[..FIRST_RECORD as usize + 40]).unwrap();
    assert_told("cut");
    fs::remove_file(file).unwrap();
    assert_told("gone");
}

#[test]
fn what_has_no_witness_yet_is_shown_so_and_states_no_snapshot() {
    let mut sample = Sample::of(21);
    let head = sample.log.head();
    put_question(&mut sample.log, 7);
    take_snapshot(&mut sample.log, sample.directory.path());
    // No record behind the newest one says that it is durable.
    put_question(&mut sample.log, 8);
    sample.log.write_with_head(sample.path(), &head);
    let newest = sample.log.chain.sequence;
    let (log, stated_by) = (sample.path(), sample.stated_by);
    let first = head.newest_sequence + 1;
    for words in
        [&["decision", "list", "state=open"][..], &["decision", "list", "state=open", "--whole"]]
    {
        let items = listed(log, words);
        let is_whole = words.contains(&"--whole");
        assert!(items.iter().any(|item| item["no_witness_from"] == first), "{words:?}");
        for item in &items {
            let is_witnessed = item["version"].as_u64().unwrap() < first;
            let known = if is_whole { "proven" } else { "stated" };
            let standing = if is_witnessed { known } else { "unproven" };
            assert_eq!(item["standing"], standing, "{item:#}");
            assert_eq!(item["durable"], item["version"] != newest, "{item:#}");
            let stated = if is_whole { Value::Null } else { json!(stated_by) };
            assert_eq!(item["stated_by"], stated, "the newer snapshot has no witness");
        }
        let (code, _, stderr) = told(&holdpoint(log, words));
        let not_durable = format!("not proven durable from record {newest}");
        assert_eq!(code, 0, "{stderr}");
        for said in [format!("no witness yet from record {first}"), not_durable] {
            assert_eq!(stderr.matches(&said).count(), 1, "{said}: {stderr}");
        }
    }
}

/// Lets an engine close that writes a snapshot however little was recorded.
fn write_snapshot(log: &Path) {
    let fingerprints =
        FingerprintDistance { records: u64::MAX, bytes: u64::MAX, records_at_close: 1 };
    let options = EngineOptions::simulated().fingerprints(fingerprints);
    let engine = Engine::open_with(DirectoryStorage::new(log), options).unwrap();
    engine.query(|_| ()).unwrap();
    engine.close().unwrap();
}

#[test]
fn lists_and_shows_are_told_beside_an_exclusive_owner() {
    let place = Place::with_log();
    let decision = asked(&place, &["PROJ-1"]);
    interrupted(&place, "acme", "talk", "It is sunny today. Tomorrow it rains.");
    write_snapshot(&place.log);
    let log = Options::default().ownership(Ownership::Exclusive);
    let options = EngineOptions::simulated().log(log);
    let owner = Engine::open_with(DirectoryStorage::new(&place.log), options).unwrap();
    let kept = owner.query(|world| world.fingerprint()).unwrap();
    for words in [
        &["decision", "list", "--kind", "hold"][..],
        &["decision", "list"],
        &["decision", "show", &decision],
        &["thread", "list"],
        &["thread", "show", "talk"],
    ] {
        let items = listed(&place.log, words);
        assert_eq!(items.len(), usize::from(!words.contains(&"hold")), "{words:?}");
        items.iter().for_each(|item| assert_eq!(item["standing"], "stated", "{words:?}"));
    }
    assert_eq!(owner.query(|world| world.fingerprint()).unwrap(), kept);
    owner.close().unwrap();
}

#[test]
fn a_log_whose_beginning_is_in_an_archive_is_looked_at_as_any_other() {
    let place = Place::with_log();
    let decision = asked(&place, &["PROJ-1"]);
    interrupted(&place, "acme", "talk", "It is sunny today. Tomorrow it rains.");
    fill(&place.log, 40);
    let moved = place.holdpoint(&["archive", "archive", "--json"]);
    assert_eq!(status(&moved), 0, "{}", text(&moved.stderr));
    write_snapshot(&place.log);
    fill(&place.log, 3);
    let items = listed(&place.log, &["decision", "list"]);
    assert_eq!((&items[0]["id"], &items[0]["standing"]), (&json!(decision), &json!("stated")));
    assert_eq!(items[0]["head"]["hash"], Value::Null, "its record is in the archive");
    assert_eq!(facts(&listed(&place.log, &["decision", "list", "--whole"])), facts(&items));
    let open = listed(&place.log, &["thread", "list", "state=open"]);
    assert_eq!((open.len(), &open[0]["standing"]), (1, &json!("stated")));
    // What ended there may be missing, and where it is has to be read.
    let all = place.holdpoint(&["thread", "list"]);
    assert!(text(&all.stdout).contains("not here: records 1 to "), "{}", text(&all.stdout));
    assert_eq!(facts(&listed(&place.log, &["thread", "list"])), facts(&open));
}
