//! Code of the embedder that an engine calls: what it may ask the engine, and what becomes of its
//! panics. Each row ends.

use crate::embedder::{LONG, accept, accepted, hand_over};
use holdpoint_domain::World;
use holdpoint_domain::application::RecordEvent;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::world::Term;
use holdpoint_engine::Engine;
use holdpoint_engine::executor::{Discard, NoSignals, OutputSink, OutputStream};
use holdpoint_engine::log::{CloseError, Options, Ownership};
use holdpoint_engine::shell::{
    AppendMeasure, ArchivePlan, Callback, Clock, DecisionPointRecord, EngineOptions, EntropySource,
    Metrics, Reading, SubmitError, SystemClock, SystemEntropy, TurnMeasure,
};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_testing::shell::commands::small;
use holdpoint_testing::shell::{Place, actor, origin, shell};
use parking_lot::Mutex;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

type Job = Box<dyn FnOnce(&Engine) + Send>;

/// Code of the embedder in every place where an engine calls some: it does one job, once, where it
/// was given one.
#[derive(Clone, Default)]
struct Embedder(Arc<Mutex<Jobs>>);

#[derive(Default)]
struct Jobs {
    engine: Weak<Engine>,
    place: Option<At>,
    job: Option<Job>,
}

/// Where the engine calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Query,
    QueryInTurn,
    Clock,
    Entropy,
    Written,
    Synced,
    Appended,
    TurnEnded,
    Ticket,
}

impl Embedder {
    fn is_at(&self, place: At) {
        let mut jobs = self.0.lock();
        if jobs.place != Some(place) {
            return;
        }
        let (engine, job) = (jobs.engine.upgrade(), jobs.job.take());
        drop(jobs);
        if let (Some(engine), Some(job)) = (engine, job) {
            job(&engine);
        }
    }

    fn engine(&self, place: &Place, ownership: Ownership) -> Arc<Engine> {
        let options = EngineOptions::simulated()
            .log(Options::default().ownership(ownership))
            .clock(Box::new(self.clone()))
            .entropy(Box::new(self.clone()))
            .metrics(Arc::new(self.clone()));
        let engine = Engine::open_with(place.storage(), options).expect("the log opens");
        let engine = Arc::new(engine);
        self.0.lock().engine = Arc::downgrade(&engine);
        engine
    }

    /// Has the engine call it there, on whichever thread that is.
    fn call(&self, engine: &Arc<Engine>, other: &Engine, at: At, job: Job) {
        if at == At::QueryInTurn {
            accept(other, 7);
        }
        let mut jobs = self.0.lock();
        (jobs.place, jobs.job) = (Some(at), Some(job));
        drop(jobs);
        let ask = |_: &World| self.is_at(at);
        match at {
            At::Query | At::QueryInTurn => engine.query(ask).expect("the log works"),
            At::Entropy => drop(engine.entropy().expect("there are bits")),
            At::Ticket => {
                let (sender, done) = channel();
                let own = self.clone();
                hand_over(engine, 8).on_done(move |_| {
                    // Where it is known already, this is no thread of the engine's.
                    if thread::current().name() == Some("holdpoint-tickets") {
                        own.is_at(At::Ticket);
                    }
                    sender.send(()).expect("the test listens");
                });
                done.recv_timeout(LONG).expect("it is called");
                if self.0.lock().job.is_some() {
                    let job = self.0.lock().job.take().expect("it is there");
                    self.call(engine, other, at, job);
                }
            }
            At::Clock | At::Written | At::Synced | At::Appended | At::TurnEnded => {
                drop(engine.submit(&origin(), (), &small(9)).expect("the log works"));
            }
        }
    }
}

impl Clock for Embedder {
    fn now(&self) -> Reading {
        self.is_at(At::Clock);
        SystemClock.now()
    }
}

impl EntropySource for Embedder {
    fn draw(&self) -> Result<Entropy, String> {
        self.is_at(At::Entropy);
        SystemEntropy.draw()
    }
}

impl Metrics for Embedder {
    fn appended(&self, _: &AppendMeasure) {
        self.is_at(At::Appended);
    }

    fn turn_ended(&self, _: &TurnMeasure) {
        self.is_at(At::TurnEnded);
    }

    fn written(&self, _: u64, _: Duration) {
        self.is_at(At::Written);
    }

    fn synced(&self, _: Duration) {
        self.is_at(At::Synced);
    }
}

/// What a call came to: whether it was refused as one that would wait for itself.
type Call = (&'static str, fn(&Engine) -> bool);

fn is_refused<T>(answer: Result<T, SubmitError>) -> bool {
    match answer {
        Err(SubmitError::Reentrant { .. }) => true,
        Err(error @ (SubmitError::Closed | SubmitError::Append(_))) => panic!("{error}"),
        _ => false,
    }
}

/// Whether an error of another operation is that it would wait for itself.
fn says_so<T, E: std::fmt::Debug>(answer: Result<T, E>) -> bool {
    answer.is_err_and(|error| format!("{error:?}").contains("Reentrant"))
}

fn event() -> RecordEvent {
    RecordEvent::new("order-1", "order.placed", "42")
}

/// Calls that take a turn, or wait for one.
const IN_TURN: &[Call] = &[
    ("submit", |it| is_refused(it.submit(&origin(), (), &small(1)))),
    ("record", |it| is_refused(it.record(&origin(), (), event()))),
    ("transaction", |it| is_refused(it.transaction(&origin()).record(event()).commit(()))),
    ("expire", |it| is_refused(it.expire())),
    ("expire_waited", |it| {
        is_refused(it.expire_waited("DP-1", Reading { wall_ns: 1, since_boot_ns: 1 }))
    }),
    ("query", |it| is_refused(it.query(|_| ()))),
    ("records_with", |it| is_refused(it.records_with(&Term::Stream("order-1")))),
    ("link_of", |it| is_refused(it.link_of(1))),
    ("decision_point", |it| is_refused(it.decision_point("DP-1"))),
    ("list_pending_decisions", |it| is_refused(it.list_pending_decisions())),
    ("get_decision_point", |it| says_so(it.get_decision_point("bd-1"))),
    ("update_decision_point", |it| {
        says_so(it.update_decision_point(&origin(), (), &DecisionPointRecord::default()))
    }),
    ("wait_for_decision", |it| says_so(it.wait_for_decision("DP-1", Duration::ZERO))),
    ("ahead_of_clock_ns", |it| is_refused(it.ahead_of_clock_ns())),
    ("thread", |it| says_so(it.thread(&actor(), "tenant", "story"))),
    ("run", |it| says_so(it.run(&origin(), (), &shell("exit 0"), &mut Discard, &mut NoSignals))),
    ("archive", |it| {
        let archive = DirectoryStorage::new("/no/such/archive");
        says_so(it.archive(&archive, ArchivePlan::default()))
    }),
    ("reducer_access", |it| is_refused(it.reducer_access().position())),
];

/// Calls that wait for what others do.
const OF_OTHERS: &[Call] = &[("subscription", |it| {
    let newest =
        it.subscribe(0).expect("it can be followed").map_while(|it| it.ok().map(|it| it.sequence));
    // Nobody writes behind the last one.
    let last = newest.take(2).last().expect("there are some");
    let mut following = it.subscribe(last + 1_000).expect("it can be followed");
    says_so(following.next().expect("an answer"))
})];

/// A wait for what the engine's own thread does.
const OF_OWN_THREAD: Call = ("ticket", |it| {
    is_refused(it.submit_later(&origin(), (), &small(1)).expect("it is taken in").wait())
});

/// Calls that wait for nobody.
const AT_ONCE: &[Call] = &[
    ("submit_later", |it| {
        drop(it.submit_later(&origin(), (), &small(1)).expect("it is taken in"));
        false
    }),
    ("subscribe", |it| {
        let first = it.subscribe(0).expect("it can be followed").try_next();
        first.expect("it can be read").is_none()
    }),
    ("identity", |it| it.identity().name().is_empty()),
    ("report", |it| it.report().recovered.rewritten_bytes > 0),
    ("floors", |it| it.floors().is_err()),
    ("adoption", |it| it.adoption().is_err()),
];

/// Makes each call at a place, on a thread that may hang, and gives those not as expected.
fn others_than(at: At, calls: &[Call], is_refused: bool) -> Vec<(At, &'static str, Option<bool>)> {
    let mut others = Vec::new();
    for (name, call) in calls {
        let (sender, answer) = channel();
        let call = *call;
        thread::spawn(move || {
            let (place, embedder) = (Place::new(), Embedder::default());
            let other = place.engine();
            let engine = embedder.engine(&place, Ownership::PerTransaction);
            accept(&engine, 1);
            let told = sender.clone();
            let job = move |engine: &Engine| {
                let told_by = catch_unwind(AssertUnwindSafe(|| call(engine))).ok();
                told.send(told_by).expect("the test listens");
            };
            embedder.call(&engine, &other, at, Box::new(job));
            accepted(engine.submit(&origin(), (), &small(2)));
            engine.close().expect("it closes");
        });
        let answer = answer.recv_timeout(LONG).expect("it ends");
        if answer != Some(is_refused) {
            others.push((at, *name, answer));
        }
    }
    others
}

#[test]
fn a_call_that_would_wait_for_itself_is_an_error_at_once() {
    let mut others = Vec::new();
    for at in [At::Query, At::QueryInTurn, At::Clock, At::Entropy, At::Written, At::Synced] {
        others.extend(others_than(at, IN_TURN, true));
        others.extend(others_than(at, OF_OTHERS, true));
        others.extend(others_than(at, &[OF_OWN_THREAD], true));
        others.extend(others_than(at, &[("close", is_close_refused)], true));
        others.extend(others_than(at, AT_ONCE, false));
    }
    assert_eq!(others, []);
}

fn is_close_refused(engine: &Engine) -> bool {
    matches!(engine.close(), Err(CloseError::Reentrant(_)))
}

#[test]
fn what_is_called_outside_of_a_turn_may_ask_the_engine() {
    let mut others = Vec::new();
    for at in [At::Appended, At::TurnEnded, At::Ticket] {
        others.extend(others_than(at, IN_TURN, false));
        others.extend(others_than(at, AT_ONCE, false));
    }
    others.extend(others_than(At::Ticket, &[OF_OWN_THREAD], true));
    assert_eq!(others, []);
}

#[test]
fn an_error_names_the_callback_and_says_what_to_do() {
    let place = Place::new();
    let engine = place.engine();
    let told = engine.query(|_| engine.expire()).expect("the log works").unwrap_err();
    assert!(matches!(told, SubmitError::Reentrant { inside: Callback::Query }), "{told:?}");
    let words = told.to_string();
    assert!(
        words.contains("the closure of `query`") && words.contains("another thread"),
        "{words}"
    );
    // Another engine is another matter.
    let other = place.engine();
    let answered = engine.query(|_| other.query(|world| world.totals().last_sequence));
    assert!(answered.expect("the log works").is_ok());
}

#[test]
fn a_panic_passes_to_the_caller_and_leaves_the_engine_working() {
    let all = [
        At::Query,
        At::QueryInTurn,
        At::Clock,
        At::Entropy,
        At::Written,
        At::Synced,
        At::Appended,
        At::TurnEnded,
    ];
    for ownership in [Ownership::PerTransaction, Ownership::Exclusive] {
        for at in all {
            if (ownership, at) == (Ownership::Exclusive, At::QueryInTurn) {
                continue;
            }
            let (place, embedder) = (Place::new(), Embedder::default());
            let other = place.engine();
            let engine = embedder.engine(&place, ownership);
            accept(&engine, 1);
            let job = |_: &Engine| resume_unwind(Box::new("the embedder's own business"));
            let call = || embedder.call(&engine, &other, at, Box::new(job));
            let panic = catch_unwind(AssertUnwindSafe(call)).expect_err("it passes on");
            let told = panic.downcast_ref::<&str>().copied();
            assert_eq!(told, Some("the embedder's own business"), "{at:?}");
            let newest = accepted(engine.submit(&origin(), (), &small(2))).last_sequence;
            let known = engine.query(|world| world.totals().last_sequence);
            assert_eq!(known.expect("the log works"), newest, "{at:?}");
            let ticket = engine.submit_later(&origin(), (), &small(3)).expect("it is taken in");
            assert_eq!(accepted(ticket.wait()).last_sequence, newest + 1);
            engine.close().expect("it closes");
            accept(&other, 4);
            place.assert_intact();
        }
    }
}

#[test]
fn a_panic_while_the_engine_closes_passes_to_who_closes_it_and_it_is_closed() {
    let (place, embedder) = (Place::new(), Embedder::default());
    let engine = embedder.engine(&place, Ownership::Exclusive);
    accept(&engine, 1);
    let job: Job = Box::new(|_| resume_unwind(Box::new("its own business")));
    let mut jobs = embedder.0.lock();
    (jobs.place, jobs.job) = (Some(At::Written), Some(job));
    drop(jobs);
    catch_unwind(AssertUnwindSafe(|| engine.close())).expect_err("it passes on");
    assert!(matches!(engine.expire(), Err(SubmitError::Closed)));
    accept(&place.engine(), 2);
    place.assert_intact();
}

/// Panics over the first output.
struct BrokenSink;

impl OutputSink for BrokenSink {
    fn accept(&mut self, _: OutputStream, _: &[u8]) -> io::Result<usize> {
        resume_unwind(Box::new("its own business"))
    }
}

#[test]
fn a_panic_in_a_sink_passes_to_the_caller_of_the_run_and_leaves_the_engine_working() {
    let place = Place::new();
    let engine = place.engine();
    let run = shell("echo printed");
    let call = || engine.run(&origin(), (), &run, &mut BrokenSink, &mut NoSignals);
    catch_unwind(AssertUnwindSafe(call)).expect_err("it passes on");
    accept(&engine, 1);
    engine.close().expect("it closes");
    place.assert_intact();
}

#[test]
fn a_panic_in_a_callback_of_a_ticket_that_is_known_passes_to_the_caller() {
    let place = Place::new();
    let engine = place.engine();
    let ticket = hand_over(&engine, 1);
    while !ticket.is_resolved() {
        thread::yield_now();
    }
    let call = || ticket.on_done(|_| resume_unwind(Box::new("its own business")));
    catch_unwind(AssertUnwindSafe(call)).expect_err("it passes on");
    accept(&engine, 2);
    engine.close().expect("it closes");
}
