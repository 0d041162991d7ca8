//! An engine inside of somebody's program: what may cross threads, the example for async code, and
//! everything at once in any order.
//!
//! A failure prints its seed; HOLDPOINT_SEED reproduces what each thread does.

use crate::embedder::{LONG, accept, accepted};
use crate::example;
use holdpoint_domain::world::OpenBounds;
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Log, Storage};
use holdpoint_engine::shell::{
    DecisionPointRecord, Delivered, EngineOptions, Metrics, Origin, Outcome, QueueError, Receipt,
    SubmitError, Submitted, Subscription, SubscriptionError, Ticket,
};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_testing::shell::brittle::Brittle;
use holdpoint_testing::shell::commands::small;
use holdpoint_testing::shell::{Line, Place, origin};
use parking_lot::Mutex;
use quickcheck::{Arbitrary, Gen};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const ROUNDS: u64 = 6;
const WRITERS: u64 = 3;
const COMMANDS: i64 = 25;

const fn may_cross_threads<T: Send + Sync + 'static>() {}

const _: () = {
    may_cross_threads::<Engine>();
    may_cross_threads::<Engine<Brittle>>();
    may_cross_threads::<Log<DirectoryStorage>>();
    may_cross_threads::<EngineOptions>();
    may_cross_threads::<Ticket>();
    may_cross_threads::<Subscription>();
    may_cross_threads::<Receipt>();
    may_cross_threads::<Outcome>();
    may_cross_threads::<SubmitError>();
    may_cross_threads::<SubscriptionError>();
    may_cross_threads::<Arc<dyn Metrics>>();
};

/// The same for every storage, which a list of types could not say: that it compiles is the proof.
const fn any_storage_gives_an_engine_that_may_cross_threads<S: Storage>() {
    may_cross_threads::<Engine<S>>();
    may_cross_threads::<Subscription<S>>();
}

const _: () = any_storage_gives_an_engine_that_may_cross_threads::<Brittle>();

#[test]
fn the_example_for_async_code_does_what_it_says() {
    let place = Place::new();
    let told = example::printed("async_submission", &place.log());
    assert_eq!(told, "recorded 2 to 4, read back 2, 3, 4\n");
    let again = example::printed("async_submission", &place.log());
    assert_eq!(again, "recorded 5 to 7, read back 5, 6, 7\n");
    place.assert_intact();
}

#[test]
fn any_interleaving_records_everything_in_order_and_delivers_it_once() {
    for seed in seeds() {
        eprintln!("HOLDPOINT_SEED={seed}");
        one_round(seed);
    }
}

/// The seed of HOLDPOINT_SEED alone, or as many as there are rounds, from the time on.
fn seeds() -> Vec<u64> {
    match std::env::var("HOLDPOINT_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => vec![seed],
        None => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
            let first = u64::try_from(now.as_millis()).expect("before the year 500000000") << 8;
            (0..ROUNDS).map(|round| first + round).collect()
        }
    }
}

/// Threads that hand over, a second engine that submits, and readers, all at once.
fn one_round(seed: u64) {
    let place = Place::new();
    let engine = Engine::open_with(place.storage(), EngineOptions::simulated().queue(4));
    let engine = engine.expect("the log opens");
    let early = engine.subscribe(0).expect("it can be followed");
    let late = engine.subscribe(5).expect("it can be followed");
    let readers = [early, late].into_iter().enumerate().map(|(number, subscription)| {
        let random = random_of(seed, 100 + number as u64);
        std::thread::spawn(move || follow(subscription, random))
    });
    let readers: Vec<_> = readers.collect();
    let written: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let other = scope.spawn(|| submit_all(&place.engine()));
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| (number, &engine))
            .map(|(number, engine)| scope.spawn(move || write(engine, random_of(seed, number))))
            .collect();
        let writers = writers.into_iter().chain([other]);
        writers.map(|writer| writer.join().expect("a writer")).collect()
    });
    engine.close().expect("it closes");
    let lines = place.lines();
    check_written(written, &lines);
    for (reader, from) in readers.into_iter().zip([1, 5]) {
        let expected: Vec<Line> =
            lines.iter().filter(|line| line.sequence >= from).cloned().collect();
        assert_eq!(reader.join().expect("a reader"), expected);
    }
    place.assert_intact();
}

fn random_of(seed: u64, thread: u64) -> Gen {
    Gen::from_size_and_seed(30, seed.wrapping_mul(1_000).wrapping_add(thread))
}

/// Each writer's commands were recorded in its order, and nothing else was.
fn check_written(written: Vec<Vec<u64>>, lines: &[Line]) {
    let mut all = Vec::new();
    for sequences in written {
        assert!(sequences.is_sorted(), "{sequences:?}");
        all.extend(sequences);
    }
    all.sort_unstable();
    // The first of them says by which rules.
    all.insert(0, 1);
    assert_eq!(all, lines.iter().map(|line| line.sequence).collect::<Vec<_>>());
}

fn submit_all(engine: &Engine) -> Vec<u64> {
    (0..COMMANDS).map(|number| accept(engine, number).last_sequence).collect()
}

/// Hands commands over and learns what became of them, each in a way that chance chose. Gives the
/// sequences in the order of submission.
fn write(engine: &Engine, mut random: Gen) -> Vec<u64> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let mut open = Vec::new();
    for number in 0..COMMANDS {
        let ticket = hand_over_in_time(engine, number, &mut open, &found);
        match u8::arbitrary(&mut random) % 4 {
            0 => keep(&found, number, ticket.wait()),
            1 => open.push((number, ticket)),
            2 => match ticket.poll() {
                Ok(outcome) => keep(&found, number, outcome),
                Err(ticket) => open.push((number, ticket)),
            },
            _ => {
                let found = Arc::clone(&found);
                ticket.on_done(move |outcome| keep(&found, number, outcome));
            }
        }
    }
    settle(&mut open, &found);
    // A last command behind all others: when it is answered, every callback was called.
    let ticket = hand_over_in_time(engine, COMMANDS, &mut open, &found);
    keep(&found, COMMANDS, ticket.wait_timeout(LONG).expect("it is resolved"));
    let mut found = std::mem::take(&mut *found.lock());
    found.sort_unstable();
    assert!(found.iter().map(|(number, _)| *number).eq(0..=COMMANDS));
    found.into_iter().map(|(_, sequence)| sequence).collect()
}

type Found = Arc<Mutex<Vec<(i64, u64)>>>;

fn keep(found: &Found, number: i64, outcome: Outcome) {
    found.lock().push((number, accepted(outcome).last_sequence));
}

/// Waits for its own tickets, or for others', when the queue is full.
fn hand_over_in_time(
    engine: &Engine,
    number: i64,
    open: &mut Vec<(i64, Ticket)>,
    found: &Found,
) -> Ticket {
    loop {
        match engine.submit_later(&origin(), (), &small(number)) {
            Ok(ticket) => return ticket,
            Err(QueueError::Full { .. }) => {
                settle(open, found);
                std::thread::yield_now();
            }
            Err(error) => unreachable!("{error}"),
        }
    }
}

fn settle(open: &mut Vec<(i64, Ticket)>, found: &Found) {
    for (number, ticket) in open.drain(..) {
        keep(found, number, ticket.wait_timeout(LONG).expect("it is resolved"));
    }
}

/// Reads until the engine is closed, each record in a way that chance chose.
fn follow(mut subscription: Subscription, mut random: Gen) -> Vec<Line> {
    let mut lines = Vec::new();
    while !subscription.has_ended() {
        let next = match u8::arbitrary(&mut random) % 3 {
            0 => subscription.try_next(),
            1 => subscription.next_timeout(Duration::from_millis(1)),
            _ => subscription.next().transpose(),
        };
        match next {
            Err(SubscriptionError::Closed) => {}
            next => lines.extend(next.expect("the log can be read").map(line)),
        }
    }
    lines
}

fn line(delivered: Delivered) -> Line {
    let Delivered { sequence, at, envelope, .. } = delivered;
    Line { sequence, time: at.nanoseconds(), envelope }
}

/// Whoever embeds the engine meets the bounds on open questions as well.
#[test]
fn a_question_beyond_those_that_may_be_open_is_refused() {
    let bounds = OpenBounds { per_log: 1, ..OpenBounds::DEFAULT };
    let options = EngineOptions::simulated().open_bounds(Some(bounds));
    let place = Place::new();
    let engine = Engine::open_with(place.storage(), options).expect("the log opens");
    let ask = |issue_id: &str| {
        let question = DecisionPointRecord {
            issue_id: issue_id.to_string(),
            prompt: "Which?".to_string(),
            requested_by: "agent-7".to_string(),
            ..DecisionPointRecord::default()
        };
        engine
            .create_decision_point(&Origin::agent("agent-7"), (), &question)
            .expect("the log works")
    };
    assert!(matches!(ask("bd-1"), Submitted::Accepted(_)));
    let Submitted::Refused(refusal) = ask("bd-2") else { panic!("it was asked") };
    assert_eq!(refusal.code(), "TOO_MANY_OPEN");
}
