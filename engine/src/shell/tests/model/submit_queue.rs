//! The queue on the real engine: every ticket is resolved once, in order, whoever closes the engine
//! and whatever fails.

use crate::Engine;
use crate::log::tests::model::disk::{ModelDisk, Plan};
use crate::log::tests::model::{NEVER, explore};
use crate::log::{Level, Options, Ownership};
use crate::shell::error::SubmitError;
use crate::shell::submit::{Origin, Submitted};
use crate::shell::ticket::Outcome;
use crate::shell::{Clock, EngineOptions, EntropySource, Reading};
use crate::sync::Mutex;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::log::{ConfigurationChanged, LogCommand};
use holdpoint_domain::{ActorId, Command};
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use std::sync::Arc;

/// Time stands still, and nothing is random.
struct Still;

impl Clock for Still {
    fn now(&self) -> Reading {
        Reading { wall_ns: 1_700_000_000_000_000_000, since_boot_ns: 1_000_000_000 }
    }
}

impl EntropySource for Still {
    fn draw(&self) -> Result<Entropy, String> {
        Ok(Entropy::from_bytes([7; 16]))
    }
}

fn opened(disk: &ModelDisk) -> Engine<ModelDisk> {
    let log = Options {
        ownership: Ownership::Exclusive,
        lock_wait: NEVER,
        head_delay: NEVER,
        ..Options::default()
    };
    let (clock, entropy) = (Box::new(Still), Box::new(Still));
    let level = Level::Always;
    let options = EngineOptions { log, clock, entropy, level, ..EngineOptions::default() };
    Engine::open_with(disk.clone(), options).unwrap()
}

fn origin() -> Origin {
    let actor = ActorId { kind: Actor::Automation, id: "model".to_string() };
    Origin { actor, correlation: "a story".to_string(), causation: None }
}

fn command(number: i64) -> Command {
    let digest = Some(sha256(&number.to_be_bytes()));
    Command::Log(LogCommand::RecordConfiguration(ConfigurationChanged { digest }))
}

/// The record before every command's: the one that states the rules of a new log.
const RULES: u64 = 1;

/// What the callbacks were called with, in order.
type Told = Arc<Mutex<Vec<(i64, Outcome)>>>;

/// Hands over `count` commands, numbered from `first` on.
fn hand_over(engine: &Engine<ModelDisk>, told: &Told, first: i64, count: i64) {
    for number in first..first + count {
        let told = Arc::clone(told);
        let ticket = engine.submit_later(&origin(), (), &command(number)).unwrap();
        ticket.on_done(move |outcome| told.lock().push((number, outcome)));
    }
}

fn sequence(outcome: &Outcome) -> u64 {
    match outcome {
        Ok(Submitted::Accepted(receipt)) => receipt.last_sequence,
        other => panic!("{other:?}"),
    }
}

#[test]
fn model_every_ticket_is_resolved_once_and_in_order_when_the_engine_closes() {
    explore(1_500, || {
        let disk = ModelDisk::default();
        let engine = opened(&disk);
        let told = Told::default();
        thread::scope(|scope| {
            scope.spawn(|| hand_over(&engine, &told, 0, 2));
            scope.spawn(|| hand_over(&engine, &told, 10, 2));
        });
        engine.close().unwrap();
        let told = told.lock();
        let sequences: Vec<u64> = told.iter().map(|(_, outcome)| sequence(outcome)).collect();
        assert_eq!(sequences, [1, 2, 3, 4].map(|number| RULES + number));
        let numbers = |from: std::ops::Range<i64>| {
            told.iter().map(|(number, _)| *number).filter(|n| from.contains(n)).collect::<Vec<_>>()
        };
        assert_eq!((numbers(0..10), numbers(10..20)), (vec![0, 1], vec![10, 11]));
        assert_eq!(disk.durable_newest(), RULES + 4);
    });
}

#[test]
fn model_a_callback_may_close_the_engine_and_the_tickets_behind_it_are_resolved() {
    explore(1_500, || {
        let disk = ModelDisk::default();
        let engine = opened(&disk);
        let told = Told::default();
        let ending = engine.submit_later(&origin(), (), &command(0)).unwrap();
        hand_over(&engine, &told, 1, 2);
        let seen = Arc::clone(&told);
        ending.on_done(move |outcome| {
            let closed = engine.close().is_ok();
            seen.lock().push((if closed { 100 } else { -100 }, outcome));
        });
        while told.lock().len() < 3 || disk.is_locked() {
            thread::yield_now();
        }
        let mut numbers: Vec<i64> = told.lock().iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, [1, 2, 100], "it closed, and each is told once");
        assert!(told.lock().iter().all(|(_, outcome)| sequence(outcome) > 0));
        assert_eq!(disk.durable_newest(), RULES + 3);
    });
}

#[test]
fn model_a_failed_sync_fails_every_ticket_behind_it_and_none_waits_for_ever() {
    explore(1_500, || {
        let disk = ModelDisk::default();
        let engine = opened(&disk);
        let good_syncs = Some(thread_rng().gen_range(0..3));
        disk.plan(Plan { good_syncs, ..Plan::default() });
        let told = Told::default();
        thread::scope(|scope| {
            scope.spawn(|| hand_over(&engine, &told, 0, 2));
            scope.spawn(|| hand_over(&engine, &told, 10, 2));
        });
        drop(engine);
        let told = told.lock();
        assert_eq!(told.len(), 4, "each is told once");
        let first_failure = told.iter().position(|(_, outcome)| outcome.is_err());
        for (_, outcome) in told.iter().skip(first_failure.unwrap_or(told.len())) {
            let is_failure = matches!(outcome, Err(SubmitError::Append(_) | SubmitError::Closed));
            assert!(is_failure, "{outcome:?}");
        }
        let durable = disk.durable_newest();
        let acknowledged = told.iter().filter(|(_, outcome)| outcome.is_ok());
        assert!(acknowledged.map(|(_, outcome)| sequence(outcome)).all(|s| s <= durable));
    });
}
