//! What an embedder can measure, and that measuring holds nothing up.

use crate::embedder::{accept, hand_over};
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Options, Ownership, PoisonCause, Storage};
use holdpoint_engine::shell::{AppendMeasure, EngineOptions, Metrics, TurnMeasure};
use holdpoint_testing::shell::brittle::Brittle;
use holdpoint_testing::shell::commands::dispatch;
use holdpoint_testing::shell::{Place, origin};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

/// What was told so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Counts {
    appends: usize,
    records: u64,
    refusals: usize,
    turns: usize,
    turns_not_had: usize,
    syncs: usize,
    bytes: u64,
    poisons: Vec<PoisonCause>,
}

#[derive(Default)]
struct Counting(Mutex<Counts>);

impl Counting {
    fn so_far(&self) -> Counts {
        self.0.lock().clone()
    }
}

impl Metrics for Counting {
    fn appended(&self, append: &AppendMeasure) {
        let mut counts = self.0.lock();
        counts.appends += 1;
        counts.records += append.records;
    }

    fn refused(&self, _latency: Duration) {
        self.0.lock().refusals += 1;
    }

    fn turn_ended(&self, turn: &TurnMeasure) {
        let mut counts = self.0.lock();
        counts.turns += 1;
        counts.turns_not_had += usize::from(turn.held.is_none());
    }

    fn written(&self, bytes: u64, _took: Duration) {
        self.0.lock().bytes += bytes;
    }

    fn synced(&self, _took: Duration) {
        self.0.lock().syncs += 1;
    }

    fn poisoned(&self, cause: &PoisonCause) {
        self.0.lock().poisons.push(cause.clone());
    }
}

/// HEAD follows at the end only, so that the counts depend on nothing but what is submitted.
fn options(metrics: &Arc<Counting>) -> EngineOptions {
    let log = Options::default().head_delay(Duration::MAX);
    let metrics: Arc<Counting> = Arc::clone(metrics);
    EngineOptions::simulated().log(log).metrics(metrics)
}

fn counted<S: Storage>(storage: S) -> (Engine<S>, Arc<Counting>) {
    let metrics = Arc::new(Counting::default());
    let engine = Engine::open_with(storage, options(&metrics)).expect("the log opens");
    (engine, metrics)
}

#[test]
fn appends_refusals_turns_syncs_and_bytes_are_counted() {
    let place = Place::new();
    let (engine, metrics) = counted(place.storage());
    let before = metrics.so_far();
    assert!(before.syncs > 0 && before.bytes > 0, "making a log writes and syncs");
    assert_eq!((before.appends, before.turns), (0, 0));
    for number in 0..3 {
        accept(&engine, number);
    }
    hand_over(&engine, 3).wait().expect("the log works").accepted().expect("it fits");
    let refused = engine.submit(&origin(), (), &dispatch("LOOP-unknown")).expect("the log works");
    refused.accepted().expect_err("there is no such loop");
    engine.query(|_| ()).expect("the log works");
    let after = metrics.so_far();
    // A question has none where nothing was appended by others, and all is durable.
    assert_eq!((after.appends, after.records, after.refusals, after.turns), (4, 4, 1, 5));
    // Each batch is one record here, and one sync; a refusal may be a record of its own.
    let lines = place.asked_lines().len();
    assert_eq!((after.syncs - before.syncs, after.turns_not_had), (lines, 0));
    assert!(after.bytes - before.bytes > lines as u64 * 64);
    assert_eq!(after.poisons, []);
}

#[test]
fn a_question_is_answered_while_another_holds_the_lock_unless_that_one_may_have_appended() {
    let place = Place::new();
    let metrics = Arc::new(Counting::default());
    let log = options(&metrics).log.lock_wait(Duration::ZERO);
    let asking = Engine::open_with(place.storage(), options(&metrics).log(log)).expect("it opens");
    accept(&asking, 1);
    let lock = std::fs::File::open(place.storage().root().join("LOCK")).expect("it is there");
    lock.try_lock().expect("nobody has it");
    asking.query(|_| ()).expect("nothing was appended");
    asking.submit(&origin(), (), &dispatch("LOOP-unknown")).expect_err("the lock is held");
    drop(lock);
    let owner = EngineOptions::simulated().log(Options::default().ownership(Ownership::Exclusive));
    let owner = Engine::open_with(place.storage(), owner).expect("the log opens");
    asking.query(|_| ()).expect_err("who holds it may have appended");
    owner.close().expect("it closes");
    asking.query(|_| ()).expect("it was left cleanly");
}

#[test]
fn a_lock_that_is_not_to_be_had_is_counted() {
    let place = Place::new();
    let metrics = Arc::new(Counting::default());
    let log = options(&metrics).log.lock_wait(Duration::ZERO);
    let waiting = options(&metrics).log(log.clone());
    let waiting = Engine::open_with(place.storage(), waiting).expect("the log opens");
    let log = log.ownership(Ownership::Exclusive);
    let owner = EngineOptions::simulated().log(log);
    let owner = Engine::open_with(place.storage(), owner).expect("the log opens");
    waiting.submit(&origin(), (), &dispatch("LOOP-unknown")).expect_err("the lock is held");
    assert_eq!((metrics.so_far().turns, metrics.so_far().turns_not_had), (1, 1));
    owner.close().expect("it closes");
    accept(&waiting, 1);
    assert_eq!((metrics.so_far().turns, metrics.so_far().turns_not_had), (2, 1));
    assert_eq!(metrics.so_far().poisons, []);
}

#[test]
fn poison_is_told_once_with_its_first_cause() {
    let place = Place::new();
    let disk = Brittle::new(place.storage());
    let (engine, metrics) = counted(disk.clone());
    accept(&engine, 1);
    assert_eq!(metrics.so_far().poisons, []);
    disk.break_down();
    for _ in 0..3 {
        hand_over(&engine, 2).wait().expect_err("the disk is gone");
    }
    let [cause]: [PoisonCause; 1] = metrics.so_far().poisons.try_into().expect("one cause");
    assert_eq!((cause.operation, cause.message.as_str()), ("sync", "the disk is gone"));
}

/// Asks the engine whenever a command was recorded.
#[derive(Default)]
struct Asking {
    engine: OnceLock<Weak<Engine>>,
    seen: Mutex<Vec<u64>>,
}

impl Metrics for Asking {
    fn appended(&self, _append: &AppendMeasure) {
        let engine = self.engine.get().and_then(Weak::upgrade).expect("the engine lives");
        let newest = engine.query(|world| world.totals().last_sequence).expect("the log works");
        self.seen.lock().push(newest);
    }
}

#[test]
fn what_is_told_of_a_command_is_told_outside_of_every_lock() {
    let place = Place::new();
    let metrics = Arc::new(Asking::default());
    let hooks: Arc<Asking> = Arc::clone(&metrics);
    let options = EngineOptions::simulated().metrics(hooks);
    let engine = Engine::open_with(place.storage(), options).expect("the log opens");
    let engine = Arc::new(engine);
    metrics.engine.set(Arc::downgrade(&engine)).expect("it is set once");
    accept(&engine, 1);
    accept(&engine, 2);
    assert_eq!(*metrics.seen.lock(), [2, 3]);
}

#[test]
fn hooks_that_are_not_written_do_nothing() {
    struct Silent;
    impl Metrics for Silent {}
    let place = Place::new();
    let options = EngineOptions::simulated().metrics(Arc::new(Silent));
    let engine = Engine::open_with(place.storage(), options).expect("the log opens");
    accept(&engine, 1);
    engine.close().expect("it closes");
}

#[test]
fn where_nothing_is_measured_no_hook_is_called() {
    struct Off;
    impl Metrics for Off {
        fn is_measuring(&self) -> bool {
            false
        }

        fn appended(&self, append: &AppendMeasure) {
            unreachable!("{append:?}");
        }

        fn turn_ended(&self, turn: &TurnMeasure) {
            unreachable!("{turn:?}");
        }

        fn written(&self, bytes: u64, _took: Duration) {
            unreachable!("{bytes}");
        }

        fn synced(&self, took: Duration) {
            unreachable!("{took:?}");
        }
    }
    let place = Place::new();
    let options = EngineOptions::simulated().metrics(Arc::new(Off));
    let engine = Engine::open_with(place.storage(), options).expect("the log opens");
    accept(&engine, 1);
    engine.close().expect("it closes");
}
