//! Two processes that write to one log at once: no data is lost, and whoever saw an old state is
//! told so.

use crate::apply_support::{Session, answers, apply, awaited, dispatch, initialize};
use crate::program::{Place, status, text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Barrier;
use tempfile::TempDir;

/// Transactions of each process, and how many of them are on the same loop: a loop's evidence is
/// bounded.
const TRANSACTIONS: usize = 5_000;
const ON_ONE_LOOP: usize = 1_000;
const LOOPS: usize = TRANSACTIONS / ON_ONE_LOOP;

const CAPTURED: &str = "evidence_capture.evidence_captured";

/// One carried out transaction.
struct Done {
    loop_id: String,
    expected: u64,
    sequence: u64,
}

/// What one process did.
#[derive(Default)]
struct Work {
    done: Vec<Done>,
    stale: usize,
}

#[test]
fn interleaved_transactions_of_two_processes_are_all_there_and_no_conflict_is_missed() {
    let place = in_memory();
    let loops = begin_loops(&place);
    let barrier = Barrier::new(2);
    let work = std::thread::scope(|scope| {
        let one = scope.spawn(|| work(&place, "one", &loops, &barrier));
        let other = scope.spawn(|| work(&place, "other", &loops, &barrier));
        [one.join().unwrap(), other.join().unwrap()]
    });
    let stale = work[0].stale + work[1].stale;
    let done: Vec<&Done> = work.iter().flat_map(|work| &work.done).collect();
    eprintln!("{} carried out, {stale} told of an old state", done.len());
    assert_eq!(done.len() + stale, 2 * TRANSACTIONS);
    // Where a loop begins both saw the same state, so one of them was too late.
    assert!(stale >= LOOPS);
    assert_recorded(&place, &done, stale);
    place.verified();
}

/// Thousands of syncs are slow on a disk, and what a sync is worth is no matter here.
fn in_memory() -> Place {
    let memory = Path::new("/dev/shm");
    let directory = TempDir::new_in(memory).or_else(|_| TempDir::new()).unwrap();
    Place { log: directory.path().join("log"), directory }
}

/// Ids and versions of loops that await a response.
fn begin_loops(place: &Place) -> Vec<(String, u64)> {
    let mut lines = Vec::new();
    for number in 0..LOOPS {
        let entropy = format!("{number:032}");
        let loop_id = format!("LOOP-{entropy}");
        let commands = [initialize(&entropy), dispatch(&loop_id), awaited(&loop_id)];
        lines.extend(commands.map(|command| json!({ "submit": command })));
    }
    let output = apply(place, &lines);
    assert_eq!(status(&output), 0, "{}", text(&output.stdout));
    let ready = answers(&output).into_iter().skip(2).step_by(3);
    ready.map(|answer| version_of(&answer["receipt"])).collect()
}

fn version_of(receipt: &Value) -> (String, u64) {
    let loop_id = receipt["loop_id"].as_str().unwrap().to_string();
    (loop_id, receipt["last_sequence"].as_u64().unwrap())
}

fn work(place: &Place, name: &str, loops: &[(String, u64)], barrier: &Barrier) -> Work {
    let mut session = Session::begin(place);
    let mut work = Work::default();
    for (loop_id, version) in loops {
        let mut version = *version;
        barrier.wait();
        for _ in 0..ON_ONE_LOOP {
            version = transact(&mut session, name, loop_id, version, &mut work);
        }
    }
    let is_refused = work.stale > 0;
    assert_eq!(session.end(), if is_refused { 5 } else { 0 });
    work
}

/// One transaction on the version that was seen last; gives the version that is known then.
fn transact(
    session: &mut Session,
    name: &str,
    loop_id: &str,
    expected: u64,
    work: &mut Work,
) -> u64 {
    let line = json!({ "correlation": name, "expected_version": expected, "submit": {
        "command": "evidence_capture.capture", "loop_id": loop_id,
        "items": [{ "timestamp_event": "00ff" }] } });
    let answer = session.ask(line.to_string().as_bytes());
    if let Some(refusal) = answer.get("refusal") {
        assert_eq!(refusal["code"], "STALE_VERSION", "{answer}");
        work.stale += 1;
        let message = refusal["message"].as_str().unwrap();
        let (_, found) = message.split_once("at version ").unwrap();
        return found.split(',').next().unwrap().parse().unwrap();
    }
    let (loop_id, sequence) = version_of(&answer["receipt"]);
    work.done.push(Done { loop_id, expected, sequence });
    sequence
}

/// Every transaction is a record of its own, none is there that nobody did, and nothing happened
/// to a loop between what its writer saw and what it wrote.
fn assert_recorded(place: &Place, done: &[&Done], stale: usize) {
    let shown = text(&place.holdpoint(&["log", "--json"]).stdout);
    let mut by_loop: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    let (mut refused, mut captured) = (0, 0);
    for line in shown.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        refused += usize::from(line["kind"] == "log.command_refused");
        let is_of_work = ["one", "other"].iter().any(|name| line["correlation"] == *name);
        captured += usize::from(is_of_work && line["kind"] == CAPTURED);
        if let Some(loop_id) = line["loop_id"].as_str() {
            let records = by_loop.entry(loop_id.to_string()).or_default();
            records.insert(line["sequence"].as_u64().unwrap());
        }
    }
    assert_eq!(refused, stale, "every conflict is on record");
    let sequences: BTreeSet<u64> = done.iter().map(|done| done.sequence).collect();
    assert_eq!(sequences.len(), done.len(), "no record is claimed twice");
    for Done { loop_id, expected, sequence } in done {
        let records = &by_loop[loop_id];
        assert!(records.contains(sequence), "record {sequence} of {loop_id} is lost");
        let between: Vec<&u64> = records.range(expected + 1..*sequence).collect();
        assert!(between.is_empty(), "{between:?} overtook {expected} before {sequence}");
    }
    assert_eq!(captured, done.len(), "every transaction is on record, and no other");
}
