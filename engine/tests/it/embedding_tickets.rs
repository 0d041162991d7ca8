//! Tickets: what is handed over is carried out in order, its outcome is what submitting returns,
//! and whatever becomes of the engine, nobody waits for ever and nothing acknowledged is lost.

use crate::embedder::{Gate, LONG, accepted, gated, hand_over};
use holdpoint_domain::Command;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{
    AppendMeasure, Clock, Conditions, EngineOptions, Metrics, Outcome, QueueError, Reading,
    SubmitError, Submitted,
};
use holdpoint_testing::shell::brittle::Brittle;
use holdpoint_testing::shell::commands::small;
use holdpoint_testing::shell::commands::{complete, dispatch, initialize, whole_story};
use holdpoint_testing::shell::{Place, origin};
use parking_lot::Mutex;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

#[test]
fn tickets_are_resolved_in_the_order_of_submission() {
    let place = Place::new();
    let engine = place.engine();
    let resolved = Arc::new(Mutex::new(Vec::new()));
    for number in 0..50 {
        let resolved = Arc::clone(&resolved);
        hand_over(&engine, number).on_done(move |outcome| {
            resolved.lock().push((number, accepted(outcome).last_sequence));
        });
    }
    engine.close().expect("it closes");
    let expected: Vec<(i64, u64)> = (0..50).zip(2..).collect();
    assert_eq!(*resolved.lock(), expected);
}

#[test]
fn a_ticket_gives_what_submit_returns() {
    let place = Place::new();
    let engine = place.engine();
    let command = initialize(1);
    let loop_id = command.loop_id();
    let begin = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command));
    let later = |command: &Command| {
        engine.submit_later(&origin(), (), command).expect("it is taken in").wait()
    };
    let mut receipts = vec![accepted(later(&begin))];
    receipts.extend(whole_story(&loop_id).iter().map(|command| accepted(later(command))));
    let lines = place.asked_lines();
    let events: Vec<_> = receipts.iter().flat_map(|receipt| receipt.events.clone()).collect();
    assert_eq!(lines.into_iter().map(|line| line.envelope.event).collect::<Vec<_>>(), events);
    for command in [complete(&loop_id), dispatch("LOOP-nobody-knows")] {
        let now = engine.submit(&origin(), (), &command).expect("the log works");
        let later = later(&command).expect("the log works");
        assert!(matches!(&now, Submitted::Refused(_)));
        assert_eq!(now, later);
    }
}

#[test]
fn a_ticket_is_pending_until_its_command_is_durable() {
    let place = Place::new();
    let gate = Gate::default();
    let engine = gated(place.storage(), &gate, 8);
    gate.shut();
    let ticket = hand_over(&engine, 1);
    gate.await_somebody();
    assert!(!ticket.is_resolved());
    let ticket = ticket.poll().expect_err("it is pending");
    let ticket = ticket.wait_timeout(Duration::ZERO).expect_err("it is pending");
    let ticket = ticket.wait_timeout(Duration::from_millis(1)).expect_err("it is pending");
    gate.open();
    let receipt = accepted(ticket.wait_timeout(LONG).expect("it is resolved"));
    assert_eq!(receipt.last_sequence, 2);
    let ticket = hand_over(&engine, 2);
    engine.close().expect("it closes");
    assert!(ticket.is_resolved());
    assert_eq!(accepted(ticket.poll().expect("it is resolved")).last_sequence, 3);
}

#[test]
fn a_deadline_that_never_comes_waits_as_without_one() {
    let place = Place::new();
    let engine = place.engine();
    let outcome = hand_over(&engine, 1).wait_timeout(Duration::MAX);
    assert_eq!(accepted(outcome.expect("it is resolved")).last_sequence, 2);
}

#[test]
fn a_dropped_ticket_withdraws_nothing() {
    let place = Place::new();
    let engine = place.engine();
    for number in 0..10 {
        drop(hand_over(&engine, number));
    }
    engine.close().expect("it closes");
    assert_eq!(place.asked_lines().len(), 10);
}

#[test]
fn a_full_queue_refuses_and_records_nothing_for_it() {
    let place = Place::new();
    let gate = Gate::default();
    let engine = gated(place.storage(), &gate, 2);
    gate.shut();
    let mut tickets = vec![hand_over(&engine, 1)];
    gate.await_somebody();
    tickets.extend([hand_over(&engine, 2), hand_over(&engine, 3)]);
    let refused = engine.submit_later(&origin(), (), &small(4));
    assert!(matches!(refused, Err(QueueError::Full { capacity: 2 })));
    gate.open();
    let sequences: Vec<u64> =
        tickets.into_iter().map(|ticket| accepted(ticket.wait()).last_sequence).collect();
    assert_eq!(sequences, [2, 3, 4]);
    engine.close().expect("it closes");
    assert_eq!(place.asked_lines().len(), 3);
}

#[test]
fn closing_carries_out_what_waits() {
    let place = Place::new();
    let gate = Gate::default();
    let engine = gated(place.storage(), &gate, 8);
    gate.shut();
    let tickets: Vec<_> = (0..5).map(|number| hand_over(&engine, number)).collect();
    gate.await_somebody();
    let closing = std::thread::spawn(move || engine.close());
    gate.open();
    closing.join().expect("no panic").expect("it closes");
    let outcomes = tickets.into_iter().map(|ticket| ticket.poll().expect("it is resolved"));
    let sequences: Vec<u64> = outcomes.map(|outcome| accepted(outcome).last_sequence).collect();
    assert_eq!(sequences, [2, 3, 4, 5, 6]);
    assert_eq!(place.asked_lines().len(), 5);
}

/// What became of three commands whose engine is gone once the first one was answered.
fn outcomes_when_the_callback(
    ends_the_engine: impl FnOnce(Engine<Brittle>) + Send + 'static,
    is_broken: bool,
) -> (Place, Vec<Outcome>) {
    let place = Place::new();
    let gate = Gate::default();
    let disk = Brittle::new(place.storage());
    let engine = gated(disk.clone(), &gate, 8);
    gate.shut();
    let first = hand_over(&engine, 1);
    gate.await_somebody();
    let rest = [hand_over(&engine, 2), hand_over(&engine, 3), hand_over(&engine, 4)];
    let (sender, first_outcome) = channel();
    first.on_done(move |outcome| {
        ends_the_engine(engine);
        sender.send(outcome).expect("the test listens");
    });
    if is_broken {
        disk.break_down();
    }
    gate.open();
    let mut outcomes = vec![first_outcome.recv().expect("the callback is called")];
    outcomes.extend(rest.map(|ticket| ticket.poll().expect("it is resolved by then")));
    (place, outcomes)
}

#[test]
fn a_callback_may_close_the_engine() {
    let close = |engine: Engine<Brittle>| engine.close().expect("it closes");
    let (place, outcomes) = outcomes_when_the_callback(close, false);
    let sequences: Vec<u64> =
        outcomes.into_iter().map(|outcome| accepted(outcome).last_sequence).collect();
    assert_eq!(sequences, [2, 3, 4, 5]);
    place.assert_intact();
    assert_eq!(place.engine().report().recovered.rewritten_bytes, 0, "it was left cleanly");
}

#[test]
fn closing_refuses_what_waits_behind_a_failure() {
    let (sender, later) = channel();
    let hand_over_and_drop = move |engine: Engine<Brittle>| {
        let late = [hand_over(&engine, 5), hand_over(&engine, 6), hand_over(&engine, 7)];
        drop(engine);
        sender.send(late.map(|ticket| ticket.wait())).expect("the test listens");
    };
    let (place, outcomes) = outcomes_when_the_callback(hand_over_and_drop, true);
    let later = later.recv().expect("the callback is called");
    let outcomes: Vec<Outcome> = outcomes.into_iter().chain(later).collect();
    // How many of the first four shared the sync that failed is a matter of time. The first one
    // behind them is tried, and fails at once.
    let failed = outcomes.iter().take_while(|it| matches!(it, Err(SubmitError::Append(_)))).count();
    assert!((2..=5).contains(&failed), "{outcomes:?}");
    for outcome in &outcomes[failed..] {
        assert!(matches!(outcome, Err(SubmitError::Closed)), "{outcomes:?}");
    }
    drop(place.engine());
    assert!(place.asked_lines().len() <= 4, "nothing is recorded for what was refused");
}

#[test]
fn a_failed_log_fails_every_ticket_with_the_first_cause() {
    let place = Place::new();
    let disk = Brittle::new(place.storage());
    let engine = gated(disk.clone(), &Gate::default(), 8);
    accepted(hand_over(&engine, 1).wait());
    disk.break_down();
    for number in 2..5 {
        let error = hand_over(&engine, number).wait().expect_err("the log failed");
        assert!(error.to_string().contains("the disk is gone"), "{error}");
    }
}

#[test]
fn a_callback_that_panics_ends_nothing_but_itself() {
    let place = Place::new();
    let gate = Gate::default();
    let engine = gated(place.storage(), &gate, 8);
    gate.shut();
    let first = hand_over(&engine, 1);
    gate.await_somebody();
    first.on_done(|_| std::panic::resume_unwind(Box::new("a callback's own business")));
    let second = hand_over(&engine, 2);
    gate.open();
    assert_eq!(accepted(second.wait()).last_sequence, 3);
    engine.close().expect("it closes");
}

/// Panics over every other command, without a word.
#[derive(Default)]
struct Panicking(Mutex<u64>);

impl Metrics for Panicking {
    fn appended(&self, _append: &AppendMeasure) {
        let mut count = self.0.lock();
        *count += 1;
        if *count % 2 == 1 {
            drop(count);
            std::panic::resume_unwind(Box::new("a hook's own business"));
        }
    }
}

#[test]
fn a_hook_that_panics_leaves_no_ticket_waiting() {
    let place = Place::new();
    let options = EngineOptions::simulated().metrics(Arc::new(Panicking::default()));
    let engine = Engine::open_with(place.storage(), options).expect("the log opens");
    let (first, second) = (hand_over(&engine, 1), hand_over(&engine, 2));
    assert!(matches!(first.wait(), Err(SubmitError::Panicked)));
    assert_eq!(accepted(second.wait()).last_sequence, 3);
    engine.close().expect("it closes");
    place.assert_intact();
}

#[test]
fn a_panic_in_a_turn_ends_that_turn_and_the_log_stays_whole() {
    struct Broken;
    impl Clock for Broken {
        fn now(&self) -> Reading {
            std::panic::resume_unwind(Box::new("a clock's own business"))
        }
    }
    let place = Place::new();
    let options = EngineOptions::simulated().clock(Box::new(Broken));
    let engine = Engine::open_with(place.storage(), options).expect("the log opens");
    let (first, second) = (hand_over(&engine, 1), hand_over(&engine, 2));
    assert!(matches!(first.wait(), Err(SubmitError::Panicked)));
    assert!(matches!(second.wait(), Err(SubmitError::Panicked)));
    drop(engine);
    assert_eq!(accepted(hand_over(&place.engine(), 3).wait()).last_sequence, 2);
    place.assert_intact();
}

#[test]
fn a_callback_on_a_known_outcome_is_called_at_once() {
    let place = Place::new();
    let engine = place.engine();
    let ticket = hand_over(&engine, 1);
    engine.close().expect("it closes");
    let mut called = None;
    let (sender, outcome) = channel();
    ticket.on_done(move |outcome| sender.send(outcome).expect("the test listens"));
    if let Ok(outcome) = outcome.try_recv() {
        called = Some(accepted(outcome).last_sequence);
    }
    assert_eq!(called, Some(2));
}

#[test]
fn an_awaited_ticket_gives_its_outcome_once_and_then_says_so() {
    let place = Place::new();
    let engine = place.engine();
    let mut ticket = hand_over(&engine, 1);
    engine.close().expect("it closes");
    let mut context = Context::from_waker(Waker::noop());
    let mut poll = || Pin::new(&mut ticket).poll(&mut context);
    assert!(matches!(poll(), Poll::Ready(Ok(Submitted::Accepted(_)))));
    assert!(matches!(poll(), Poll::Ready(Err(SubmitError::Taken))));
    assert!(ticket.is_resolved());
    assert!(matches!(ticket.wait(), Err(SubmitError::Taken)));
}

#[test]
fn a_command_that_was_handed_over_is_carried_out_under_its_conditions() {
    let place = Place::new();
    let engine = place.engine();
    let hand_over =
        |content| engine.submit_later(&origin(), Conditions::once("one"), &small(content));
    let tickets = [1, 1, 2].map(|content| hand_over(content).expect("it is taken in").wait());
    let [
        Ok(Submitted::Accepted(first)),
        Ok(Submitted::Repeated(again)),
        Ok(Submitted::Refused(no)),
    ] = tickets
    else {
        panic!("{tickets:?}")
    };
    assert_eq!((first, no.code()), (again, "IDEMPOTENCY_CONFLICT"));
}
