//! An id is used once. What began twice under one was written past the program, and no reading of
//! a part of the log tells it as if it had begun once.

use crate::attack_support::state_indexes;
use crate::records_support::{holdpoint, told};
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{
    CancelDecisionPoint, DecisionPointCommand, MAX_CLOSED_DECISION_POINTS,
};
use holdpoint_domain::{ActorId, Command, Envelope};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::BootId;
use holdpoint_replay::{Filter, ReadOptions, records};
use holdpoint_testing::hand_made::{HandMade, envelope};
use holdpoint_testing::story::points::agent;
use std::path::Path;
use tempfile::TempDir;

/// A run in which somebody was asked, and more decisions than a state remembers, all of which
/// ended; and whatever comes behind a snapshot of that.
struct Sample {
    directory: TempDir,
    log: HandMade,
    run: String,
    request: String,
    /// The first of the decisions.
    decision: String,
}

impl Sample {
    fn new() -> Self {
        let (directory, mut log) = (TempDir::new().unwrap(), HandMade::new());
        let (run, _) = log.retry_of_halted("make test");
        let request = log.world.closed_requests().next().unwrap().request_id().to_string();
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
        Self { directory, log, run, request, decision: ids[0].clone() }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Each of these is asked, with this exit code and this in what it says.
    fn expect(&self, lines: &[&str], code: i32, says: &str) {
        for line in lines {
            let line = line.replace("RUN", &self.run).replace("REQ", &self.request);
            let line = line.replace("DP", &self.decision);
            let words: Vec<&str> = line.split(' ').collect();
            let (exit, stdout, stderr) = told(&holdpoint(self.path(), &words));
            assert_eq!(exit, code, "{line}: {stdout}{stderr}");
            assert!(format!("{stdout}{stderr}").contains(says), "{line}: {stdout}{stderr}");
        }
    }
}

/// A question that was asked and taken back.
fn settle(log: &mut HandMade, number: u64) -> String {
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
fn forge(log: &mut HandMade, other: &HandMade, (begin, end): (&str, &str)) -> u64 {
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
fn forge_run(log: &mut HandMade) -> u64 {
    let mut other = HandMade::new();
    other.retry_of_halted("make test");
    forge(log, &other, ("execution_loop.initialized", "human_decision.requested"))
}

const RUNS: [&str; 4] =
    ["runs -n 1", "runs -n 1 --json", "runs --running", "runs --status waiting"];

#[test]
fn a_run_that_began_twice_is_told_by_no_list_and_both_beginnings_are_named() {
    let mut sample = Sample::new();
    sample.expect(&["runs -n 1", "runs --since 1", "show RUN", "trace RUN"], 0, "");
    let second = forge_run(&mut sample.log);
    sample.log.write(sample.path());
    let twice =
        format!("began twice, with record 1 and again with record {second}: only the first");
    let since = format!("runs --since {second}");
    sample.expect(&RUNS, 6, &twice);
    sample.expect(&["show RUN", "output RUN", "trace RUN", "runs -n 5000", &since], 6, &twice);
    let (_, listed, _) = told(&holdpoint(sample.path(), &["runs", "-q", "-n", "2"]));
    assert!(!listed.contains(&sample.run), "{listed}");
    sample.expect(&["trace 1", &format!("trace {second}")], 0, "");
}
