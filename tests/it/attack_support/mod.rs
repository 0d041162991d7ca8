//! The log that is attacked, what is read of it, and what a reading of the attacked log is worth.

pub(crate) mod archived;
pub(crate) mod cell;
pub(crate) mod document;
pub(crate) mod facts;
pub(crate) mod matrix;
pub(crate) mod reading;
pub(crate) mod verbs;

use crate::records_support::build_all;
use crate::thread_support::{chat, interruption_at, setting, turn};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{CreateDecisionPoint, DecisionPointCommand};
use holdpoint_domain::interruption_thread::InterruptionThreadCommand;
use holdpoint_domain::log::{ChangePolicy, GatePolicy, LogCommand, SegmentIndexed};
use holdpoint_domain::world::envelope;
use holdpoint_domain::world::envelope::Encoded;
use holdpoint_domain::{ActorId, Command, Envelope, Idempotency, decide};
use holdpoint_log_index::file::index_path;
use holdpoint_log_index::{Index, layout::INDEX_VERSION};
use holdpoint_replay::machine::this_boot;
use holdpoint_testing::hand_made::{HandMadeLog, envelope};
use holdpoint_testing::history::{Entry, History};
use holdpoint_testing::story::Story;
use holdpoint_testing::story::points::{option, person};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

/// Enough for runs of which one fails and one waits for a person.
const EVENTS: usize = 90;
const PARTS: usize = 2;

/// A log of several segments with all that a reader may lean on, the same bytes at every call.
pub(crate) fn attacked_log() -> TempDir {
    let directory = TempDir::new().unwrap();
    let mut log = sealed_log();
    log.write(directory.path());
    state_indexes(&mut log, directory.path());
    log.snapshot(directory.path());
    log.run();
    log.write(directory.path());
    directory
}

/// Runs, a thread and decisions in sealed segments, and behind them one that is empty.
fn sealed_log() -> HandMadeLog {
    let history = History::of(EVENTS);
    let mut log = HandMadeLog::new();
    log.boot = this_boot();
    for part in history.entries.chunks(history.entries.len().div_ceil(PARTS)) {
        if log.chain.sequence > 0 {
            log.roll();
        }
        part.chunk_by(|one, next| one.at == next.at)
            .for_each(|batch| put(&mut log, &history, batch));
    }
    talk(&mut log);
    interrupt(&mut log);
    ask(&mut log);
    demand(&mut log);
    log.roll();
    log
}

/// One batch of a history, at the end of the log.
pub(crate) fn put(log: &mut HandMadeLog, history: &History, batch: &[Entry]) {
    log.now = batch[0].at;
    for (sequence, entry) in (log.chain.sequence + 1..).zip(batch) {
        log.world.judge_and_evolve(sequence, entry.at, &history.decode(entry));
    }
    let encoded = |entry: &Entry| Encoded {
        kind: entry.kind,
        version: entry.version,
        payload: history.payload(entry).to_vec(),
    };
    log.batch(&batch.iter().map(encoded).collect::<Vec<_>>());
}

/// A thread with one turn. The history has registered whom a person allows to take it.
pub(crate) fn talk(log: &mut HandMadeLog) {
    let mut lines = setting("acme", "talk").split_off(1);
    lines.push(turn("acme", "talk", 1, chat("It is noon, and it rains.")));
    lines.iter().for_each(|line| submit(log, line));
}

/// Two more turns of it, which leave an outcome for `thread list --health`.
fn interrupt(log: &mut HandMadeLog) {
    let said = interruption_at(log.now.nanoseconds(), "It is noon, and it rains.", 1);
    submit(log, &turn("acme", "talk", 2, said));
    let mut back = chat("At eight.");
    back["subject_ref"] = "dinner".into();
    back["interrupt_subject_relation"] = "SWITCH".into();
    back["interrupt_subject_relation_confidence_bp"] = 7000.into();
    submit(log, &turn("acme", "talk", 3, back));
}

pub(crate) fn submit(log: &mut HandMadeLog, line: &Value) {
    let actor = serde_json::from_value(line["actor"].clone()).unwrap();
    give(log, actor, &serde_json::from_value(line["submit"].clone()).unwrap());
}

/// A policy, by a person.
fn demand(log: &mut HandMadeLog) {
    let policy = GatePolicy { retry_needs_person: true, ..GatePolicy::default() };
    let change = ChangePolicy { people: None, by: person("alice"), policy, approval: None };
    let alice = ActorId { kind: Actor::Human, id: "alice".into() };
    give(log, alice, &Command::Log(LogCommand::SetPolicy(Box::new(change))));
}

/// A question that is answered, and one that is not.
pub(crate) fn ask(log: &mut HandMadeLog) {
    for entropy in [0xdd, 0xde] {
        let mut question = Story::new().question();
        question.entropy = Entropy::from_bytes([entropy; 16]);
        (question.timeout_ms, question.default_option) = (None, None);
        let agent = ActorId { kind: Actor::Agent, id: "agent".into() };
        give(
            log,
            agent,
            &Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(question.into())),
        );
    }
    let answered =
        CreateDecisionPoint { entropy: Entropy::from_bytes([0xdd; 16]), ..Story::new().question() };
    let answer = Story::new().responds(&answered.decision_id(), person("alice"), option("go"));
    give(log, ActorId { kind: Actor::Human, id: "alice".into() }, &answer);
}

/// One batch of what somebody's command makes.
pub(crate) fn give(log: &mut HandMadeLog, actor: ActorId, command: &Command) {
    let events = decide(&log.world, command, log.now).unwrap();
    let mut encoded = Vec::new();
    for (sequence, event) in (log.chain.sequence + 1..).zip(events) {
        let idempotency = key_of(command);
        let sealed = Envelope { actor: actor.clone(), idempotency, ..envelope(event) };
        log.world.judge_and_evolve(sequence, log.now, &sealed);
        encoded.push(envelope::encode(&sealed).unwrap());
    }
    log.batch(&encoded);
}

/// The key under which a turn is taken.
fn key_of(command: &Command) -> Option<Idempotency> {
    let Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn)) = command else {
        return None;
    };
    let key = format!("turn-{}", turn.turn_id);
    let content = sha256(key.as_bytes());
    let (tenant, engine) = ("acme".into(), "PH1.X".into());
    Some(Idempotency { tenant, engine, key, content })
}

/// Puts the index of every sealed segment beside it, and states it.
pub(crate) fn state_indexes(log: &mut HandMadeLog, directory: &Path) {
    for (first_sequence, built) in build_all(directory) {
        let index = Index::new(&built[..]).unwrap();
        let last_sequence = index.scope().last.sequence;
        let digest = Digest::from_bytes(index.digest().0);
        std::fs::write(directory.join(index_path(first_sequence)), &built).unwrap();
        let told = SegmentIndexed { first_sequence, last_sequence, format: INDEX_VERSION, digest };
        log.events(vec![told.into()]);
    }
}
