//! An id is used once. What began twice under one was written past the program, and no reading of
//! a part of the log tells it as if it had begun once.

use crate::attack_support::{state_indexes, submit};
use crate::export::has_python;
use crate::records_support::{holdpoint, told};
use crate::thread_support::{chat, line, setting, turn};
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::core::limits::MAX_CLOSED_REQUESTS;
use holdpoint_domain::decision_point::{
    CancelDecisionPoint, DecisionPointCommand, MAX_CLOSED_DECISION_POINTS,
};
use holdpoint_domain::{ActorId, Command, Envelope};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::BootId;
use holdpoint_replay::{Filter, ReadOptions, records};
use holdpoint_testing::hand_made::{HandMadeLog, envelope};
use holdpoint_testing::story::points::agent;
use serde_json::json;
use std::path::Path;
use tempfile::TempDir;

/// A run in which somebody was asked, and more decisions than a state remembers, all of which
/// ended; and whatever comes behind a snapshot of that.
struct Sample {
    directory: TempDir,
    log: HandMadeLog,
    run: String,
    request: String,
    /// The first of the decisions, and the record with which it began.
    decision: (String, u64),
}

impl Sample {
    fn new() -> Self {
        Self::of(1)
    }

    /// The same of so many such runs.
    fn of(runs: usize) -> Self {
        let (directory, mut log) = (TempDir::new().unwrap(), HandMadeLog::new());
        let (run, _) = log.retry_of_halted("make test");
        let request = log.world.closed_requests().next().unwrap().request_id().to_string();
        (1..runs).for_each(|_| drop(log.retry_of_halted("make test")));
        let began = log.chain.sequence + 1;
        let ids: Vec<_> =
            (0..=MAX_CLOSED_DECISION_POINTS as u64).map(|at| settle(&mut log, at)).collect();
        log.run();
        log.roll();
        log.write(directory.path());
        state_indexes(&mut log, directory.path());
        log.snapshot(directory.path());
        log.run();
        log.ask(Entropy::from_bytes([0xcc; 16]));
        log.write(directory.path());
        Self { directory, log, run, request, decision: (ids[0].clone(), began) }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Each of these is asked, with this exit code and this in what it says.
    fn expect(&self, lines: &[&str], code: i32, says: &str) {
        for line in lines {
            let line = line.replace("RUN", &self.run).replace("REQ", &self.request);
            let line = line.replace("DP", &self.decision.0);
            let words: Vec<&str> = line.split(' ').collect();
            let (exit, stdout, stderr) = told(&holdpoint(self.path(), &words));
            assert_eq!(exit, code, "{line}: {stdout}{stderr}");
            assert!(format!("{stdout}{stderr}").contains(says), "{line}: {stdout}{stderr}");
        }
    }
}

/// A question that was asked and taken back.
fn settle(log: &mut HandMadeLog, number: u64) -> String {
    let decision_id = log.ask(Entropy::from_bytes(u128::from(number).to_be_bytes()));
    let cancel =
        CancelDecisionPoint { decision_id: decision_id.clone(), by: agent(), reason: None };
    let actor = ActorId { kind: agent().kind, id: (*agent().id).into() };
    let cancel = Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(cancel));
    log.command_in(&cancel, |envelope| Envelope { actor: actor.clone(), ..envelope });
    decision_id
}

/// Appends what another log has from the first record of a kind on, up to the first one of another
/// kind, as a writer does that knows of nothing before. Gives the first record of that.
fn forge(log: &mut HandMadeLog, other: &HandMadeLog, (begin, end): (&str, &str)) -> u64 {
    let directory = TempDir::new().unwrap();
    other.write(directory.path());
    let (storage, options) =
        (DirectoryStorage::new(directory.path()), ReadOptions::new(BootId::UNKNOWN, &|| Ok(false)));
    let (mut lines, mut batch, first) = (Vec::new(), Vec::new(), log.chain.sequence + 1);
    records(&storage, &Filter::default(), options, &mut |_| {}, &mut |it| lines.push(it)).unwrap();
    let mut is_over = false;
    for line in lines.into_iter().skip_while(|line| line.kind != begin) {
        is_over |= line.kind == end;
        batch.push(Envelope { actor: line.actor.unwrap(), ..envelope(line.event.unwrap()) });
        if line.ends_batch {
            log.recorded(batch.drain(..));
            if is_over {
                break;
            }
        }
    }
    first
}

/// Appends a run again up to the question that it asked.
fn forge_run(log: &mut HandMadeLog) -> u64 {
    let mut other = HandMadeLog::new();
    other.retry_of_halted("make test");
    forge(log, &other, ("execution_loop.initialized", "human_decision.requested"))
}

const RUNS: [&str; 4] =
    ["runs -n 1", "runs -n 1 --json", "runs status=running", "runs status=waiting"];

#[test]
fn a_run_that_began_twice_is_told_by_no_list_and_both_beginnings_are_named() {
    let mut sample = Sample::new();
    sample.expect(&["runs -n 1", "runs --since 1", "show RUN", "show --trace RUN"], 0, "");
    let second = forge_run(&mut sample.log);
    sample.log.write(sample.path());
    let twice =
        format!("began twice, with record 1 and again with record {second}: only the first");
    let since = format!("runs --since {second}");
    sample.expect(&RUNS, 6, &twice);
    sample.expect(
        &["show RUN", "output RUN", "show --trace RUN", "runs -n 5000", &since],
        6,
        &twice,
    );
    let (_, listed, _) = told(&holdpoint(sample.path(), &["runs", "-q", "-n", "2"]));
    assert!(!listed.contains(&sample.run), "{listed}");
    sample.expect(&["show --trace 1", &format!("show --trace {second}")], 0, "");
    expect_once_in_a_database(&sample);
}

/// A database has the first one alone.
fn expect_once_in_a_database(sample: &Sample) {
    if !has_python() {
        return;
    }
    let out = TempDir::new().unwrap();
    let file = out.path().join("log.db");
    let words = ["export", "--format", "sqlite", "--output", file.to_str().unwrap()];
    assert_eq!(told(&holdpoint(sample.path(), &words)).0, 6);
    let script = "import sqlite3, sys\ndb = sqlite3.connect(sys.argv[1])\nprint(db.execute('SELECT \
                  count(*), max(started_sequence) FROM execution_loops WHERE loop_id = ?', \
                  sys.argv[2:]).fetchone())";
    let mut python = std::process::Command::new("python3");
    let counted = python.args(["-c", script]).arg(&file).arg(&sample.run).output().unwrap();
    assert_eq!(told(&counted), (0, "(1, 1)\n".to_string(), String::new()));
}

#[test]
fn a_request_that_began_twice_is_not_told_as_what_waits() {
    // The state remembers so many that ended.
    let mut sample = Sample::of(MAX_CLOSED_REQUESTS + 1);
    let lists = ["decision list", "decision list --json", "decision list --whole", "inbox"];
    sample.expect(&lists, 0, "");
    sample.expect(&["decision show REQ", "show --trace REQ"], 0, "");
    forge_run(&mut sample.log);
    sample.log.write(sample.path());
    sample.expect(&lists, 6, "which alone counts");
    sample.expect(&["decision show REQ", "show REQ"], 6, "which alone counts");
    sample.expect(&["show --trace REQ"], 6, "began twice, with record");
}

#[test]
fn a_decision_that_ended_and_began_again_is_not_told_as_what_waits() {
    let mut sample = Sample::new();
    let lists = ["decision list", "decision list --json", "decision list state=all", "inbox"];
    sample.expect(&lists, 0, "");
    sample.expect(&["decision show DP", "show DP", "show --trace DP"], 0, "");
    let mut other = HandMadeLog::new();
    other.ask(Entropy::from_bytes([0; 16]));
    let created = "decision_point.created";
    let second = forge(&mut sample.log, &other, (created, created));
    sample.log.write(sample.path());
    let first = sample.decision.1;
    let says = format!("what began with record {first}, which alone counts");
    sample.expect(&lists, 6, &says);
    sample.expect(&["decision show DP", "show DP"], 6, &says);
    let twice = format!("began twice, with record {first} and again with record {second}");
    sample.expect(&["show --trace DP"], 6, &twice);
}

/// A thread with one turn.
fn talk(log: &mut HandMadeLog) {
    setting("acme", "talk").iter().for_each(|line| submit(log, line));
    submit(log, &turn("acme", "talk", 1, chat("It is noon, and it rains.")));
}

#[test]
fn a_thread_that_was_closed_and_began_again_is_not_told_as_open() {
    let (directory, mut log, mut other) =
        (TempDir::new().unwrap(), HandMadeLog::new(), HandMadeLog::new());
    talk(&mut log);
    submit(&mut log, &line("close", json!({ "tenant_id": "acme", "correlation_id": "talk" })));
    log.snapshot(directory.path());
    log.write(directory.path());
    let asked = |words: &str, code: i32, says: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let (exit, stdout, stderr) = told(&holdpoint(directory.path(), &words));
        assert_eq!(exit, code, "{words:?}: {stdout}{stderr}");
        assert!(format!("{stdout}{stderr}").contains(says), "{words:?}: {stdout}{stderr}");
    };
    let verbs =
        ["thread list", "thread list state=open", "thread show talk", "show --trace thread:talk"];
    verbs.iter().for_each(|words| asked(words, 0, ""));
    talk(&mut other);
    let turn = "interruption_thread.turn_taken";
    forge(&mut log, &other, (turn, turn));
    log.write(directory.path());
    verbs.iter().for_each(|words| asked(words, 6, "which alone counts"));
}
