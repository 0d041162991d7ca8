//! Readers beside a writer that appends and moves the log's beginning to an archive, again and
//! again: whoever exits with 0 told what a quiet log could tell, and nobody called the log damaged.

use crate::decision_support::asked;
use crate::program::{Place, json, status, text, with_hold};
use crate::real_support::record;
use crate::thread_support::interrupted;
use holdpoint_engine::log::{Level, Log, Options};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_testing::part::times;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Output;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How often each verb reads in a usual run; [`times`] as often in another one.
const TURNS: u64 = 1;

/// Records of so many bytes, and so many of them between two moves: more than a segment.
const FILLER_BYTES: usize = 4_000;
const FILLERS: u64 = 40;

/// What was in the log before the first of them read, and what was when this one began.
#[derive(Clone)]
struct Promise {
    decision: String,
    request: String,
    held_loop: String,
    /// The decision, the question and the thread, as verbs showed them then.
    shown: BTreeMap<&'static str, Value>,
    newest: u64,
}

/// What depends on how far the log reaches, on the clock, and on where a record lies.
const UNSTEADY: [&str; 8] = [
    "time_left_ms",
    "standing",
    "stated_by",
    "no_witness_from",
    "durable",
    "head",
    "state_after_record",
    "state_note",
];

/// What has to be in the answer of a verb that exits with 0.
type Check = fn(&Promise, &Output) -> bool;

const DECISIONS: &str = "decision list --json";
const HOLDS: &str = "decision list --kind hold --json";
const THREADS: &str = "thread list --json";
const DECISION: &str = "decision show DECISION --json";
const HOLD: &str = "decision show REQUEST --json";
const THREAD: &str = "thread show talk --json";

const VERBS: [(&str, Check); 22] = [
    (DECISIONS, |it, output| is_listed(output, "id", &it.decision, &it.shown[DECISIONS])),
    (HOLDS, |it, output| is_listed(output, "id", &it.request, &it.shown[HOLDS])),
    (THREADS, |it, output| is_listed(output, "correlation_id", "talk", &it.shown[THREADS])),
    (DECISION, |it, output| steady(json(output)) == it.shown[DECISION]),
    (HOLD, |it, output| steady(json(output)) == it.shown[HOLD]),
    (THREAD, |it, output| steady(json(output)) == it.shown[THREAD]),
    ("replay --json", |it, output| reaches(it, &json(output)) && shows_loop(it, output)),
    ("replay LOOP --story --json", shows_loop),
    ("replay --live --json", |_, output| json(output).is_object()),
    ("export", |it, output| is_whole(it, sequences(output))),
    ("export --format csv", |it, output| is_whole(it, rows(output))),
    ("log --json", |it, output| is_whole(it, sequences(output))),
    ("log -n 5 --json", |it, output| is_newest(it, 5, sequences(output))),
    ("log --reverse --json", |it, output| {
        is_whole(it, sequences(output).into_iter().rev().collect())
    }),
    ("log kind=log.command_refused --json", |it, output| is_recent(it, &sequences(output))),
    ("log -n 5 --json", |it, output| is_newest(it, 5, sequences(output))),
    ("log --stat --json", |it, output| {
        let counted = json(output);
        reaches(it, &counted) && counted["records"] == counted["head"]["sequence"]
    }),
    ("verify --json", |it, output| reaches(it, &json(output))),
    ("verify --caches --json", |it, output| reaches(it, &json(output))),
    ("verify --map --json", |it, output| reaches(it, &json(output))),
    ("copy LOG COPY --json", |it, output| reaches(it, &json(output))),
    ("doctor --json", |_, output| json(output)["checks"].is_array()),
];

fn is_listed(output: &Output, field: &str, wanted: &str, shown: &Value) -> bool {
    let Value::Array(listed) = steady(json(output)) else { return false };
    let of_shown = shown.as_array().unwrap().iter().find(|one| one[field] == wanted);
    of_shown.is_some() && listed.iter().find(|one| one[field] == wanted) == of_shown
}

/// What does not depend on what others write meanwhile.
fn steady(mut shown: Value) -> Value {
    match &mut shown {
        Value::Object(fields) => {
            fields.retain(|name, _| !UNSTEADY.contains(&name.as_str()));
            fields.values_mut().for_each(|value| *value = steady(value.take()));
        }
        Value::Array(all) => all.iter_mut().for_each(|value| *value = steady(value.take())),
        _ => {}
    }
    shown
}

fn shows_loop(promise: &Promise, output: &Output) -> bool {
    let state = json(output);
    let loops = state["execution_loops"].as_array().unwrap();
    loops.iter().any(|one| one["loop_id"] == *promise.held_loop)
}

/// Whether a reading went at least as far as the log did when it began.
fn reaches(promise: &Promise, shown: &Value) -> bool {
    shown["head"]["sequence"].as_u64().is_some_and(|head| head >= promise.newest)
}

/// Whether no record is missing from the very first to the end, wherever it lies by now.
fn is_whole(promise: &Promise, sequences: Vec<u64>) -> bool {
    sequences.first() == Some(&1) && has_no_gap(promise, &sequences)
}

fn is_newest(promise: &Promise, count: usize, sequences: Vec<u64>) -> bool {
    sequences.len() == count && has_no_gap(promise, &sequences)
}

fn has_no_gap(promise: &Promise, sequences: &[u64]) -> bool {
    sequences.windows(2).all(|two| two[0] + 1 == two[1]) && is_recent(promise, sequences)
}

fn is_recent(promise: &Promise, sequences: &[u64]) -> bool {
    sequences.last().is_some_and(|last| *last >= promise.newest)
}

/// Of JSON Lines.
fn sequences(output: &Output) -> Vec<u64> {
    let shown = text(&output.stdout);
    let lines = shown.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line["sequence"].as_u64()).collect()
}

/// Of CSV with the sequence in front.
fn rows(output: &Output) -> Vec<u64> {
    let shown = text(&output.stdout);
    let rows = shown.lines().skip(1).filter_map(|row| row.split(',').next()?.parse().ok());
    rows.collect()
}

/// Somebody who writes as long as others read.
struct Writer<'a> {
    place: &'a Place,
    /// The newest record that was acknowledged.
    newest: AtomicU64,
    moves: AtomicU64,
    is_over: AtomicBool,
}

impl Writer<'_> {
    fn write(&self) {
        while !self.is_over.load(Ordering::Relaxed) {
            self.newest.store(self.append(), Ordering::Release);
            let output = self.place.holdpoint(&["archive", "archive", "--json"]);
            assert!([0, 4].contains(&status(&output)), "{}", text(&output.stderr));
            self.moves.fetch_add(u64::from(status(&output) == 0), Ordering::Relaxed);
        }
    }

    fn append(&self) -> u64 {
        let storage = DirectoryStorage::new(&self.place.log);
        let (log, _) = Log::open(storage, Options::default()).unwrap();
        for _ in 0..FILLERS {
            log.append_any_kind(&[record(FILLER_BYTES)], 0, Level::Os).unwrap();
        }
        let newest = log.position().sequence;
        log.close().unwrap();
        newest
    }
}

/// Ends the writer also where a check panics.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A decision, a question, its loop and a thread.
fn sample(place: &Place) -> Promise {
    let options = ["run", "--hold", "after", "--no-wait", "--expires", "after=90days"];
    assert_eq!(status(&place.holdpoint(&[&options[..], &["--", "false"]].concat())), 122);
    let asked_of_person =
        with_hold(json(&place.holdpoint(&["decision", "list", "--kind", "hold", "--json"])));
    let request = asked_of_person[0]["request_id"].as_str().unwrap().to_string();
    let held_loop = asked_of_person[0]["loop_id"].as_str().unwrap().to_string();
    let decision = asked(place, &[]);
    interrupted(place, "acme", "talk", "It is sunny today. Tomorrow it rains.");
    let mut promise = Promise { decision, request, held_loop, shown: BTreeMap::new(), newest: 0 };
    for line in [DECISIONS, HOLDS, THREADS, DECISION, HOLD, THREAD] {
        let output = read(place, line, &promise);
        assert_eq!(status(&output), 0, "{line}: {}", text(&output.stderr));
        promise.shown.insert(line, steady(json(&output)));
    }
    promise
}

fn read(place: &Place, line: &str, promise: &Promise) -> Output {
    let copy = place.directory.path().join("copy");
    if copy.exists() {
        std::fs::remove_dir_all(&copy).unwrap();
    }
    let words = line.split(' ').map(|word| match word {
        "DECISION" => &promise.decision,
        "REQUEST" => &promise.request,
        "LOOP" => &promise.held_loop,
        "LOG" => place.log.to_str().unwrap(),
        "COPY" => copy.to_str().unwrap(),
        word => word,
    });
    place.holdpoint(&words.collect::<Vec<_>>())
}

/// What is wrong with an answer: it may be that the log changed too often meanwhile, and nothing
/// else.
fn wrong(promise: &Promise, check: Check, output: &Output) -> Option<String> {
    let told = text(&output.stderr);
    let why = told.lines().next().unwrap_or_default();
    match output.status.code() {
        Some(0) if check(promise, output) => None,
        Some(0) => {
            Some(format!("since record {} there was more: {}", promise.newest, told_of(output)))
        }
        Some(1) if told.contains("changed") => None,
        code => Some(format!("{code:?} {why}")),
    }
}

fn told_of(output: &Output) -> String {
    let shown = text(&output.stdout);
    let (first, last) = (shown.lines().next(), shown.lines().last());
    let beginning =
        |line: Option<&str>| line.unwrap_or_default().chars().take(30).collect::<String>();
    format!("{} lines, {:?} to {:?}", shown.lines().count(), beginning(first), beginning(last))
}

#[test]
fn no_reader_beside_a_move_to_an_archive_tells_less_than_was_there_throughout() {
    let place = Place::with_log();
    let promise = sample(&place);
    let turns = TURNS * times();
    let (newest, moves, is_over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let writer = Writer { place: &place, newest, moves, is_over };
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    std::thread::scope(|scope| {
        let _over = Over(&writer.is_over);
        scope.spawn(|| writer.write());
        for (line, check) in (0..turns).flat_map(|_| VERBS) {
            let newest = writer.newest.load(Ordering::Acquire);
            let now = Promise { newest, ..promise.clone() };
            let output = read(&place, line, &now);
            found.entry(line).or_default().extend(wrong(&now, check, &output));
        }
    });
    let moves = writer.moves.load(Ordering::Relaxed);
    found.retain(|_, wrong| !wrong.is_empty());
    eprintln!("{moves} moves to the archive meanwhile");
    assert!(moves > turns, "the log was moved {moves} times only");
    assert!(found.is_empty(), "{found:#?}");
    let archive = place.directory.path().join("archive");
    let both = place.holdpoint(&["verify", "--archive", archive.to_str().unwrap()]);
    assert_eq!(status(&both), 0, "{}", text(&both.stderr));
}
