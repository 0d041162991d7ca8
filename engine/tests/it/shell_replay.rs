//! The same log gives the same state (property E1): random commands through the real log on disk,
//! by two engines in turns, and then the live states, the state of an engine that opens the log
//! afresh, and the state rebuilt from the records alone.
//!
//! A failure prints its seed; HOLDPOINT_SEED reproduces it.

use holdpoint_domain::evidence_capture::StopCondition;
use holdpoint_domain::execution_loop::{DispatchFacts, ExecutionLoopCommand, InitializeLoop};
use holdpoint_domain::execution_loop::{
    ExecutionLoopState, ExecutorIdentityStatus, ExecutorResponseType,
};
use holdpoint_domain::log::{LogCommand, RecordFingerprint};
use holdpoint_domain::sandbox_fault::{ExecutionFaultType, RetryPolicy};
use holdpoint_domain::{Command, World};
use holdpoint_engine::Engine;
use holdpoint_engine::log::Level;
use holdpoint_engine::shell::{EngineOptions, Submitted};
use holdpoint_testing::shell::commands::{
    await_response, clear, complete, dispatch, dispatch_with, fault, initialize, output, report,
    retry, small, stop,
};
use holdpoint_testing::shell::{Place, SECOND_NS, SetClock, origin};
use quickcheck::{Arbitrary, Gen};
use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

const ROUNDS: u64 = 12;
const COMMANDS: usize = 60;

#[test]
fn replay_live_state_equals_rebuilt_state_after_any_commands() {
    let mut reached = BTreeSet::new();
    for seed in seeds() {
        eprintln!("HOLDPOINT_SEED={seed}");
        reached.extend(one_round(&mut Gen::from_size_and_seed(30, seed)));
    }
    if std::env::var("HOLDPOINT_SEED").is_err() {
        let expected = ["accepted", "refused", "settled", "stepped"];
        assert_eq!(reached.into_iter().collect::<Vec<_>>(), expected, "the commands get about");
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

/// Random commands, and the comparison. Says what was reached.
fn one_round(random: &mut Gen) -> BTreeSet<&'static str> {
    let place = Place::new();
    let clock = SetClock::new();
    let mut engines = [open(&place, &clock), open(&place, &clock)];
    let mut known = Vec::new();
    let mut reached = BTreeSet::new();
    for _ in 0..COMMANDS {
        move_clock(&clock, random);
        let [one, other] = &mut engines;
        let engine = if bool::arbitrary(random) { one } else { other };
        if one_in(random, 25) {
            *engine = open(&place, &clock);
        }
        let command = next_command(engine, &mut known, random);
        reached.insert(match engine.submit(&origin(), (), &command).expect("the log works") {
            Submitted::Accepted(_) | Submitted::Repeated(_) => "accepted",
            Submitted::Refused(_) => "refused",
        });
    }
    let states: Vec<_> = engines.iter().map(state).collect();
    drop(engines);
    let rebuilt = place.rebuilt();
    let fresh = state(&open(&place, &clock));
    let expected = (rebuilt.fingerprint(), rebuilt.totals().last_sequence);
    assert_eq!(states, [expected, expected], "live, in turns");
    assert_eq!(fresh, expected, "opened afresh");
    place.assert_intact();
    reached.extend((rebuilt.settled_loops().count() > 0).then_some("settled"));
    let has_stepped = place.events().iter().any(|event| event.kind().name == "log.clock_stepped");
    reached.extend(has_stepped.then_some("stepped"));
    reached
}

fn state(engine: &Engine) -> ([u8; 32], u64) {
    let answer = |world: &World| (world.fingerprint(), world.totals().last_sequence);
    engine.query(answer).expect("the log works")
}

fn open(place: &Place, clock: &SetClock) -> Engine {
    let clock = Box::new(clock.clone());
    let options = EngineOptions::simulated().clock(clock).level(Level::Os);
    Engine::open_with(place.storage(), options).expect("the log opens")
}

/// Mostly time goes by; sometimes somebody sets the clock.
fn move_clock(clock: &SetClock, random: &mut Gen) {
    clock.pass(u64::from(u32::arbitrary(random)));
    if one_in(random, 10) {
        let seconds = i64::from(i8::arbitrary(random));
        clock.step(seconds * i64::try_from(SECOND_NS).expect("it fits"));
    }
}

/// Mostly what the state of some loop asks for; sometimes anything.
fn next_command(engine: &Engine, known: &mut Vec<String>, random: &mut Gen) -> Command {
    if known.is_empty() || one_in(random, 8) {
        let command = new_loop(random);
        known.push(command.loop_id());
        return Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command));
    }
    let loop_id = random.choose(known).expect("some loop is known").clone();
    if one_in(random, 6) {
        return anything(&loop_id, random);
    }
    let seen = engine.query(|world| {
        let entity = world.live_loop(&loop_id)?;
        Some((entity.state(), entity.attempt_count()))
    });
    fitting(&loop_id, seen.expect("the log works"), random)
}

fn fitting(loop_id: &str, seen: Option<(ExecutionLoopState, u8)>, random: &mut Gen) -> Command {
    match seen {
        Some((ExecutionLoopState::Init, _)) if one_in(random, 8) => {
            let facts = DispatchFacts { intent_clear: None, ..clear() };
            Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(dispatch_with(
                loop_id, facts,
            )))
        }
        Some((ExecutionLoopState::Init, _)) => dispatch(loop_id),
        Some((ExecutionLoopState::Dispatched, _)) => await_response(loop_id),
        Some((ExecutionLoopState::AwaitingResponse, attempt)) => match u8::arbitrary(random) % 4 {
            0 => report(loop_id, *random.choose(ExecutorResponseType::ALL).expect("not empty")),
            1 => {
                fault(loop_id, attempt, *random.choose(ExecutionFaultType::ALL).expect("not empty"))
            }
            _ => output(loop_id, &Vec::arbitrary(random)),
        },
        Some((ExecutionLoopState::Evaluated, _)) if bool::arbitrary(random) => retry(loop_id),
        Some(_) | None => complete(loop_id),
    }
}

fn anything(loop_id: &str, random: &mut Gen) -> Command {
    match u8::arbitrary(random) % 8 {
        0 => dispatch(loop_id),
        1 => retry(loop_id),
        2 => await_response(loop_id),
        3 => output(loop_id, b""),
        4 => stop(loop_id, *random.choose(StopCondition::ALL).expect("not empty")),
        5 => Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {})),
        6 => small(i64::arbitrary(random)),
        _ => fault(loop_id, u8::arbitrary(random), ExecutionFaultType::Crash),
    }
}

fn new_loop(random: &mut Gen) -> InitializeLoop {
    let mut command = initialize(1 + u8::arbitrary(random) % 3);
    command.retry_ceiling = *random.choose(RetryPolicy::ALL).expect("not empty");
    command.timeout_ms = Option::arbitrary(random);
    command.command_line = String::arbitrary(random);
    match u8::arbitrary(random) % 12 {
        0 => command.handshake.trust_status = ExecutorIdentityStatus::Revoked,
        1 => command.observer.executor_id = "someone else".to_string(),
        2 => command.executor_id = String::arbitrary(random),
        3 => command.envelope = Vec::arbitrary(random),
        _ => {}
    }
    command
}

fn one_in(random: &mut Gen, n: u8) -> bool {
    u8::arbitrary(random) % n == 0
}
