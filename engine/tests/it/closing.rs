//! The end of an engine that several share: everybody who waits is told, what was acknowledged
//! stays, and what was handed over is answered.

use crate::embedder::{Gate, LONG, accept, accepted, gated, hand_over};
use holdpoint_domain::application::RecordEvent;
use holdpoint_domain::decision_point::{
    APPROVE, CreateDecisionPoint, DENY, DecisionOption, DecisionPointCommand, OnTimeout,
};
use holdpoint_domain::execution_loop::HaltReason;
use holdpoint_domain::human_decision::{HoldPolicy, HoldTerms, RequestOutcome};
use holdpoint_domain::world::Term;
use holdpoint_domain::{ActorId, Refusal};
use holdpoint_engine::Engine;
use holdpoint_engine::executor::{Discard, NoSignals};
use holdpoint_engine::log::{CloseError, Options, Ownership};
use holdpoint_engine::shell::{
    ArchivePlan, Callback, Clock, DecisionPointRecord, EngineOptions, HeldRun, Identity, KeyedRun,
    MoveError, NoPrompt, PersonInput, Prompter, Question, QueueError, Reading, RunError,
    SubmitError, SubscriptionError, Transaction, WaitError, WaitPolicy, Wake,
};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_testing::shell::commands::{fresh, small};
use holdpoint_testing::shell::{Place, START_NS, actor, origin, shell};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

const EIGHT_HOURS: Duration = Duration::from_secs(8 * 60 * 60);

/// A clock that stands still and counts how often it is read.
#[derive(Clone, Default)]
struct Counted(Arc<(Mutex<usize>, Condvar)>);

impl Clock for Counted {
    fn now(&self) -> Reading {
        *self.0.0.lock() += 1;
        self.0.1.notify_all();
        Reading { wall_ns: START_NS, since_boot_ns: 1_000_000_000 }
    }
}

impl Counted {
    fn count(&self) -> usize {
        *self.0.0.lock()
    }

    fn await_count(&self, count: usize) {
        let mut read = self.0.0.lock();
        while *read < count {
            self.0.1.wait(&mut read);
        }
    }
}

fn asked(engine: &Engine) -> String {
    let by = engine.identity().principal(actor().kind, &actor().id);
    let options = DecisionOption::approve_or_deny([APPROVE, DENY], ["Approve", "Deny"]).to_vec();
    let create = CreateDecisionPoint {
        timeout_ms: Some(EIGHT_HOURS.as_millis() as u64),
        on_timeout: Some(OnTimeout::Abort),
        ..CreateDecisionPoint::asking(fresh(), by, "Refund?", options)
    };
    let create = DecisionPointCommand::CreateDecisionPoint(Box::new(create));
    let receipt = accepted(engine.submit(&origin(), (), &create.into()));
    receipt.events[0].decision_point().expect("it is one").to_string()
}

#[test]
fn an_engine_with_an_eight_hour_question_closes_and_the_question_stays() {
    let place = Place::new();
    let clock = Counted::default();
    let options = EngineOptions::simulated().clock(Box::new(clock.clone()));
    let engine = Engine::open_with(place.storage(), options).expect("the log opens");
    let id = asked(&engine);
    let before = clock.count();
    let waited = thread::scope(|scope| {
        let waiting = scope.spawn(|| engine.wait_for_decision(&id, EIGHT_HOURS));
        // The wait reads it when it begins, and last before it blocks.
        clock.await_count(before + 4);
        engine.close().expect("it closes");
        waiting.join().expect("no panic")
    });
    assert!(matches!(waited, Err(WaitError::Submit(SubmitError::Closed))), "{waited:?}");
    let point = place.engine().decision_point(&id).expect("it can be read").expect("it is there");
    assert!(point.is_open());
    place.assert_intact();
}

/// Says when it waits, and waits for the log alone.
struct Announcing(Sender<()>);

impl Prompter for Announcing {
    fn asked(&mut self, _: &Question) -> WaitPolicy {
        WaitPolicy::Wait
    }

    fn wait(&mut self, _: &Question, wake: &Wake<'_>) -> Option<PersonInput> {
        let _ = self.0.send(());
        wake.wait(None);
        None
    }

    fn show_output(&mut self, _: &Question, _: Result<(), &SubmitError>) {}
    fn warned(&mut self, _: &Question) {}
    fn refused(&mut self, _: &Question, _: &Refusal) {}
    fn settled(&mut self, _: &Question, _: &RequestOutcome) {}
}

#[test]
fn a_run_that_waits_for_a_person_is_told_that_its_engine_closed() {
    let place = Place::new();
    let engine = place.engine();
    let (sender, waits) = channel();
    let hold = HoldTerms { policy: HoldPolicy::After, ..HoldTerms::never() };
    let (ask, run) = (&mut Announcing(sender), shell("exit 0"));
    let ran = thread::scope(|scope| {
        let held =
            || engine.run_held(&origin(), (), &run, &hold, ask, &mut Discard, &mut NoSignals);
        let running = scope.spawn(held);
        waits.recv_timeout(LONG).expect("a person is asked");
        engine.close().expect("it closes");
        running.join().expect("no panic")
    });
    let Err(RunError::NotConcluded { source, exit_status: 0, .. }) = ran else { panic!("{ran:?}") };
    assert!(matches!(*source, RunError::Submit(SubmitError::Closed)), "{source:?}");
    let engine = place.engine();
    assert_eq!(engine.query(|world| world.open_requests().count()).expect("the log works"), 1);
    place.assert_intact();
}

/// An engine of the user of this process, who owns the file of a run.
fn of_process(place: &Place) -> Engine {
    let options = EngineOptions::simulated().identity(Identity::of_process());
    Engine::open_with(place.storage(), options).expect("the log opens")
}

#[test]
fn what_a_command_under_way_comes_to_is_taken_up_by_the_next_engine() {
    let place = Place::new();
    let (began, go_on) = (place.beside("began"), place.beside("go-on"));
    let script = "touch \"$0\"; until test -e \"$1\"; do sleep 0.01; done; exit 3";
    let script = script.replace("$0", &began.to_string_lossy());
    let run = shell(&script.replace("$1", &go_on.to_string_lossy()));
    let engine = of_process(&place);
    let ran = thread::scope(|scope| {
        let held = || {
            let hold = HoldTerms::never();
            engine.run_held(&origin(), (), &run, &hold, &mut NoPrompt, &mut Discard, &mut NoSignals)
        };
        let running = scope.spawn(held);
        while !began.exists() {
            thread::yield_now();
        }
        engine.close().expect("it closes while the command is under way");
        std::fs::write(&go_on, "").expect("it is made");
        running.join().expect("no panic")
    });
    let ran = ran.expect("its end is kept");
    let KeyedRun::Now(HeldRun::EndWaits(end)) = &ran else { panic!("{ran:?}") };
    assert_eq!(end.exit_status, 3);
    let next = of_process(&place);
    next.expire().expect("the log works");
    let rebuilt = place.rebuilt();
    let entity = rebuilt.find_loop(&end.summary.loop_id).expect("it is on the log");
    let reason = entity.halt.as_ref().map(|halt| halt.reason);
    assert_eq!(reason, Some(HaltReason::ResponseRejected));
    place.assert_intact();
}

/// Every call that would write or wait.
fn every_call(engine: &Engine, place: &Place) -> Vec<(&'static str, String)> {
    let origin = &origin();
    let event = || RecordEvent::new("order-1", "order.placed", "42");
    let archive = DirectoryStorage::new(place.beside("archive"));
    let caller: ActorId = actor();
    let run = shell("exit 0");
    let submitted = |answer: Result<_, SubmitError>| format!("{:?}", answer.map(drop));
    let moved = engine.archive(&archive, ArchivePlan::default()).map(drop);
    let moved = moved.map_err(|error| match error {
        MoveError::Submit(error) => error,
        other => panic!("{other:?}"),
    });
    let ran = engine.run(origin, (), &run, &mut Discard, &mut NoSignals).map(drop);
    let ran = ran.map_err(|error| match error {
        RunError::Submit(error) => error,
        other => panic!("{other:?}"),
    });
    let waited = engine.wait_for_decision("DP-1", EIGHT_HOURS).map(drop);
    let waited = waited.map_err(|error| match error {
        WaitError::Submit(error) => error,
        other => panic!("{other:?}"),
    });
    let thread = engine.thread(&caller, "tenant", "story").map(drop);
    let record = DecisionPointRecord::default();
    vec![
        ("submit", submitted(engine.submit(origin, (), &small(1)).map(drop))),
        ("record", submitted(engine.record(origin, (), event()).map(drop))),
        ("commit", {
            let all = Transaction::new().record(event());
            submitted(engine.commit(origin, (), &all).map(drop))
        }),
        ("transaction", {
            submitted(engine.transaction(origin).record(event()).commit(()).map(drop))
        }),
        ("expire", submitted(engine.expire().map(drop))),
        ("query", submitted(engine.query(|_| ()))),
        ("records_with", submitted(engine.records_with(&Term::Stream("order-1")).map(drop))),
        ("decision_point", submitted(engine.decision_point("DP-1").map(drop))),
        ("list", submitted(engine.list_pending_decisions().map(drop))),
        ("thread", format!("{thread:?}").replace("Submit(Closed)", "Closed")),
        ("update", {
            let updated = engine.update_decision_point(origin, (), &record).map(drop);
            format!("{updated:?}").replace("Find(Submit(Closed))", "Closed")
        }),
        ("reducers", submitted(engine.reducer_access().position().map(drop))),
        ("archive", submitted(moved)),
        ("run", submitted(ran)),
        ("wait_for_decision", submitted(waited)),
    ]
}

#[test]
fn behind_a_close_every_call_that_would_write_or_wait_says_so_and_what_was_recorded_stays() {
    let place = Place::new();
    let engine = place.engine();
    let mut following = engine.subscribe(0).expect("it can be followed");
    accept(&engine, 1);
    engine.close().expect("it closes");
    engine.close().expect("to close again does nothing");
    engine.close_without_waiting().expect("nor does this");
    for (call, answer) in every_call(&engine, &place) {
        assert_eq!(answer, "Err(Closed)", "{call}");
    }
    let later = engine.submit_later(&origin(), (), &small(2));
    assert!(matches!(later, Err(QueueError::Closed)), "{later:?}");
    let delivered: Vec<_> = following.by_ref().map(|it| it.map(|it| it.sequence)).collect();
    let [Ok(1), Ok(2), Err(SubscriptionError::Closed)] = delivered[..] else {
        panic!("{delivered:?}")
    };
    assert!(following.has_ended());
    assert!(engine.link_of(2).expect("it is read").is_some());
    place.assert_intact();
}

#[test]
fn a_closed_engine_leaves_the_lock_to_the_next_one_while_somebody_still_holds_it() {
    let place = Place::new();
    let exclusive =
        || EngineOptions::simulated().log(Options::default().ownership(Ownership::Exclusive));
    let first = Engine::open_with(place.storage(), exclusive()).expect("the log opens");
    accept(&first, 1);
    first.close().expect("it closes");
    let next = Engine::open_with(place.storage(), exclusive()).expect("the log is free");
    assert_eq!(next.report().recovered.rewritten_bytes, 0, "it was left cleanly");
    accept(&next, 2);
    drop(first);
    accept(&next, 3);
    next.close().expect("it closes");
    place.assert_intact();
}

#[test]
fn a_callback_and_others_may_close_at_once_and_each_ticket_is_answered() {
    let place = Place::new();
    let gate = Gate::default();
    let engine = Arc::new(gated(place.storage(), &gate, 8));
    gate.shut();
    let first = hand_over(&engine, 1);
    gate.await_somebody();
    let rest = [hand_over(&engine, 2), hand_over(&engine, 3)];
    let (sender, closed) = channel();
    let its = Arc::clone(&engine);
    first.on_done(move |outcome| {
        sender.send((accepted(outcome).last_sequence, its.close().is_ok())).expect("it listens");
    });
    let others: Vec<_> = (0..3)
        .map(|_| Arc::clone(&engine))
        .map(|engine| thread::spawn(move || engine.close()))
        .collect();
    gate.open();
    assert_eq!(closed.recv_timeout(LONG), Ok((2, true)));
    for other in others {
        other.join().expect("no panic").expect("it closes");
    }
    let rest = rest.map(|ticket| accepted(ticket.poll().expect("it is resolved")).last_sequence);
    assert_eq!(rest, [3, 4]);
    place.assert_intact();
}

#[test]
fn a_close_within_a_turn_is_refused_and_the_engine_works_on() {
    let place = Place::new();
    let engine = place.engine();
    let closed = engine.query(|_| engine.close()).expect("the log works");
    assert!(matches!(closed, Err(CloseError::Reentrant(Callback::Query))), "{closed:?}");
    accept(&engine, 1);
    engine.close().expect("it closes");
}
