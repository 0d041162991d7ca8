//! A session, a work order and a thread that ended long ago bar, and answer, exactly as while they
//! were in the state: whatever names them, with indexes and snapshots and without (property E8).

use crate::conversation::{TENANT, THREAD, caller, chat, close_session, close_thread, set_up, yes};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::interruption_thread::{
    ClarifyCommitRow, ConfirmCommitRow, DispatchCommitRow, InterruptionThreadCommand,
    MAX_ENDED_THREADS, PendingState, ReasonCode, RespondCommitRow, TakeTurn, ThreadCommand,
    WaitCommitRow,
};
use holdpoint_domain::log::LogEvent;
use holdpoint_domain::registration::{
    LeaseStatus, MAX_ENDED_REGISTRATIONS, RegisterLease, RegisterSession, RegisterWorkOrder,
    RegistrationCommand, SessionStatus, WorkOrderStatus,
};
use holdpoint_domain::{Command, Event, Refusal, Time};
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Level, Options, Ownership};
use holdpoint_engine::shell::{
    Conditions, EngineOptions, FingerprintDistance, Origin, Receipt, Submitted,
};
use holdpoint_log_format::names;
use holdpoint_testing::shell::{Place, SetClock};
use std::fs;
use std::path::Path;

/// The places of a turn or a row in its thread.
struct At<'a> {
    turn_id: u64,
    pending_state: PendingState,
    key: &'a str,
}

macro_rules! scoped {
    ($Body:ident, $at:ident, { $($field:ident: $value:expr),+ $(,)? }) => {
        Command::InterruptionThread(InterruptionThreadCommand::$Body($Body {
            tenant_id: TENANT.to_string(),
            correlation_id: THREAD.to_string(),
            turn_id: $at.turn_id,
            session_id: Some("session_1".to_string()),
            user_id: "user_1".to_string(),
            device_id: "device_1".to_string(),
            work_order_id: "order_1".to_string(),
            work_order_status_snapshot: WorkOrderStatus::Executing,
            pending_state: $at.pending_state,
            idempotency_key: $at.key.to_string(),
            $($field: $value),+
        }))
    };
}

/// What ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Session,
    WorkOrder,
    /// With its session and its work order.
    Thread,
}

/// What is deleted before the log is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Without {
    Nothing,
    Indexes,
    Snapshots,
    Both,
}

fn engine(place: &Place, clock: &SetClock) -> Engine {
    let log = Options::default().ownership(Ownership::Exclusive);
    let fingerprints =
        FingerprintDistance { records_at_close: 1, ..FingerprintDistance::default() };
    let clock = Box::new(clock.clone());
    let level = Level::Os;
    let options =
        EngineOptions::simulated().log(log).level(level).clock(clock).fingerprints(fingerprints);
    Engine::open_with(place.storage(), options).expect("the log opens")
}

fn submit(engine: &Engine, correlation: &str, command: &Command) -> Submitted {
    let origin = Origin { actor: caller(), correlation: correlation.to_string(), causation: None };
    engine.submit(&origin, (), command).expect("the log works")
}

fn accepted(engine: &Engine, correlation: &str, command: &Command) {
    let submitted = submit(engine, correlation, command);
    assert!(matches!(submitted, Submitted::Accepted(_)), "{command:?}: {submitted:?}");
}

fn take_turn(at: &At<'_>, words: &str) -> Command {
    let request = chat("order", words).into();
    scoped!(TakeTurn, at, { lease_token_hash: None, request: request })
}

/// The five rows of a caller, behind each other from a turn on.
fn rows(from: u64, key: &str, pending: [PendingState; 5]) -> [Command; 5] {
    let reason_code = ReasonCode::NlpChat;
    let mut numbered = (from..).zip(pending);
    let mut next = |make: &dyn Fn(&At<'_>) -> Command| {
        let (turn_id, pending_state) = numbered.next().expect("there is always one more");
        let key = format!("{key} {turn_id}");
        make(&At { turn_id, pending_state, key: &key })
    };
    [
        next(&|at| {
            scoped!(WaitCommitRow, at, {
                wait_kind: "TOOL".to_string(), reason_code: reason_code,
            })
        }),
        next(&|at| {
            scoped!(RespondCommitRow, at, {
                response_kind: "CHAT".to_string(), reason_code: reason_code,
            })
        }),
        next(&|at| {
            scoped!(DispatchCommitRow, at, {
                dispatch_target: "TOOL".to_string(),
                lease_token_hash: Some(sha256(b"token")),
                reason_code: reason_code,
            })
        }),
        next(&|at| {
            scoped!(ClarifyCommitRow, at, {
                what_is_missing: "when".to_string(),
                clarification_unit_id: "CLAR-1".to_string(),
                reason_code: reason_code,
            })
        }),
        next(&|at| {
            scoped!(ConfirmCommitRow, at, {
                confirm_kind: "ORDER".to_string(), reason_code: reason_code,
            })
        }),
    ]
}

/// What was carried out while everything lived.
fn story() -> Vec<Command> {
    use PendingState::{Clarify, Confirm, None};
    let first = At { turn_id: 1, pending_state: None, key: "turn 1" };
    let last = At { turn_id: 7, pending_state: Confirm, key: "row 7" };
    let answered = scoped!(RespondCommitRow, last, {
        response_kind: "CHAT".to_string(), reason_code: ReasonCode::NlpChat,
    });
    let mut story = vec![take_turn(&first, "It ships on Monday.")];
    story.extend(rows(2, "row", [None, None, None, None, Clarify]));
    story.push(answered);
    story
}

fn session(status: SessionStatus, user_id: &str) -> Command {
    Command::Registration(RegistrationCommand::RegisterSession(RegisterSession {
        tenant_id: TENANT.to_string(),
        session_id: "session_1".to_string(),
        user_id: user_id.to_string(),
        device_id: "device_1".to_string(),
        status,
    }))
}

fn work_order(name: &str, correlation_id: &str, status: WorkOrderStatus) -> Command {
    Command::Registration(RegistrationCommand::RegisterWorkOrder(RegisterWorkOrder {
        tenant_id: TENANT.to_string(),
        work_order_id: name.to_string(),
        correlation_id: correlation_id.to_string(),
        status,
    }))
}

fn lease(token: &[u8], status: LeaseStatus) -> Command {
    Command::Registration(RegistrationCommand::RegisterLease(RegisterLease {
        tenant_id: TENANT.to_string(),
        work_order_id: "order_1".to_string(),
        lease_token_hash: sha256(token),
        expires_at: Time::from_nanoseconds(u64::MAX),
        status,
    }))
}

/// Every command that names the session, the work order or the thread: as it was given before,
/// under a key that was used for something else, and new.
fn questions() -> Vec<Command> {
    let mut asked = story();
    let other = At { turn_id: 1, pending_state: PendingState::None, key: "turn 1" };
    asked.push(take_turn(&other, "It ships on Tuesday."));
    asked.extend(rows(2, "row", [PendingState::Confirm; 5]));
    for user in ["user_1", "somebody else"] {
        asked.extend(SessionStatus::ALL.iter().map(|status| session(*status, user)));
    }
    for correlation in [THREAD, "another thread"] {
        let status = WorkOrderStatus::ALL.iter();
        asked.extend(status.map(|status| work_order("order_1", correlation, *status)));
    }
    for token in [b"token".as_slice(), b"another token"] {
        asked.extend(LeaseStatus::ALL.iter().map(|status| lease(token, *status)));
    }
    let new = At { turn_id: 20, pending_state: PendingState::None, key: "turn 20" };
    let request = yes("order").into();
    asked.push(scoped!(TakeTurn, new, { lease_token_hash: None, request: request }));
    asked.push(take_turn(&new, "It has shipped."));
    asked.extend(rows(21, "new row", [PendingState::None; 5]));
    let unnamed = At { turn_id: 30, pending_state: PendingState::None, key: "no session" };
    if let Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn)) =
        take_turn(&unnamed, "It has shipped.")
    {
        asked.push(Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(TakeTurn {
            session_id: None,
            ..turn
        })));
    }
    let thread =
        || ThreadCommand { tenant_id: TENANT.to_string(), correlation_id: THREAD.to_string() };
    asked.push(Command::InterruptionThread(InterruptionThreadCommand::ExpireThread(thread())));
    asked.push(Command::InterruptionThread(InterruptionThreadCommand::ReadAuditRows(thread())));
    asked.push(close_thread());
    asked
}

/// Whether the answer to a command was given before; what it is; or why there is none.
type Answer = Result<(bool, Receipt), Refusal>;

fn answer(submitted: Submitted) -> Answer {
    match submitted {
        Submitted::Accepted(receipt) => {
            // When and where it was written is all that may differ.
            Ok((false, Receipt { first_sequence: 0, last_sequence: 0, at: None, ..receipt }))
        }
        Submitted::Repeated(receipt) => Ok((true, receipt)),
        Submitted::Refused(refusal) => Err(refusal),
    }
}

/// What everything is answered with, and what is written of it.
fn answers(place: &Place, engine: &Engine) -> (Vec<Answer>, Vec<Event>) {
    let before = place.lines().len();
    let seen = Conditions::default().expecting(1);
    let origin = Origin { actor: caller(), correlation: THREAD.to_string(), causation: None };
    let new = At { turn_id: 19, pending_state: PendingState::None, key: "turn 19" };
    let stale = engine.submit(&origin, &seen, &take_turn(&new, "It is late."));
    let mut answers = vec![answer(stale.expect("the log works"))];
    let commands = questions();
    answers.extend(commands.iter().map(|command| answer(submit(engine, THREAD, command))));
    let written = place.events().into_iter().skip(before);
    let is_told = |event: &Event| {
        !matches!(
            event,
            Event::Log(LogEvent::FingerprintRecorded(_)) | Event::Log(LogEvent::SegmentIndexed(_))
        )
    };
    (answers, written.filter(is_told).collect())
}

/// A log in which something ended.
fn ended(place: &Place, clock: &SetClock, ended: Ended) -> Engine {
    let engine = engine(place, clock);
    set_up(&engine);
    story().iter().for_each(|command| accepted(&engine, THREAD, command));
    let complete = work_order("order_1", THREAD, WorkOrderStatus::Completed);
    match ended {
        Ended::Session => accepted(&engine, THREAD, &close_session()),
        Ended::WorkOrder => accepted(&engine, THREAD, &complete),
        Ended::Thread => {
            for command in [close_thread(), complete, close_session()] {
                accepted(&engine, THREAD, &command);
            }
        }
    }
    engine
}

/// So much ends after it that the state forgets it.
fn forget(engine: &Engine, what: Ended) {
    if what != Ended::Thread {
        for number in 0..=MAX_ENDED_REGISTRATIONS {
            let name = format!("order of later {number}");
            let command = work_order(&name, "later", WorkOrderStatus::Canceled);
            accepted(engine, "later", &command);
        }
        return;
    }
    for number in 0..=MAX_ENDED_THREADS {
        let name = format!("later {number}");
        begin_and_end_thread(engine, &name);
    }
}

fn begin_and_end_thread(engine: &Engine, name: &str) {
    let at = At { turn_id: 1, pending_state: PendingState::None, key: "a key" };
    let row = scoped!(WaitCommitRow, at, {
        wait_kind: "TOOL".to_string(), reason_code: ReasonCode::NlpChat,
    });
    let Command::InterruptionThread(InterruptionThreadCommand::WaitCommitRow(row)) = row else {
        unreachable!("it is this one")
    };
    let (correlation_id, work_order_id) = (name.to_string(), name.to_string());
    let row = WaitCommitRow { correlation_id, work_order_id, session_id: None, ..row };
    let (tenant_id, correlation_id) = (TENANT.to_string(), name.to_string());
    for command in [
        work_order(name, name, WorkOrderStatus::Executing),
        Command::InterruptionThread(InterruptionThreadCommand::WaitCommitRow(row)),
        Command::InterruptionThread(InterruptionThreadCommand::CloseThread(ThreadCommand {
            tenant_id,
            correlation_id,
        })),
        work_order(name, name, WorkOrderStatus::Completed),
    ] {
        accepted(engine, name, &command);
    }
}

/// The same log in another place.
fn copied(from: &Place, without: Without) -> Place {
    let to = Place::new();
    copy(&from.log(), &to.log(), without);
    to
}

fn copy(from: &Path, to: &Path, without: Without) {
    fs::create_dir(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        let is_index = path.extension().is_some_and(|extension| extension == "idx");
        let is_left_out = match without {
            Without::Nothing => false,
            Without::Indexes => is_index,
            Without::Snapshots => name == names::SNAPSHOTS,
            Without::Both => is_index || name == names::SNAPSHOTS,
        };
        if is_left_out {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name), without);
        } else {
            fs::copy(&path, to.join(name)).expect("it can be copied");
        }
    }
}

/// The answers while the state knows what ended are those when it is forgotten.
fn assert_same(what: Ended) {
    let clock = SetClock::new();
    let (known, gone) = (Place::new(), Place::new());
    let expected = answers(&known, &ended(&known, &clock, what));
    let mut repeats = expected.0.iter().skip(1).take(story().len());
    assert!(repeats.all(|answer| matches!(answer, Ok((true, _)))), "{what:?}: {expected:?}");
    let engine_of = |place: &Place| engine(place, &clock);
    let left = ended(&gone, &clock, what);
    forget(&left, what);
    assert!(left.query(|world| world.registrations_forgotten()).expect("the log works") > 0);
    left.close().expect("it closes");
    for without in [Without::Nothing, Without::Indexes, Without::Snapshots, Without::Both] {
        let place = copied(&gone, without);
        let engine = engine_of(&place);
        assert_answers(&answers(&place, &engine), &expected, &format!("{what:?} {without:?}"));
        engine.close().expect("it closes");
        place.rebuilt();
        place.assert_intact();
    }
}

fn assert_answers(
    found: &(Vec<Answer>, Vec<Event>),
    expected: &(Vec<Answer>, Vec<Event>),
    what: &str,
) {
    let stale = std::iter::once("a turn for another version".to_string());
    let asked = stale.chain(questions().into_iter().map(|command| format!("{command:?}")));
    for ((asked, found), expected) in asked.zip(&found.0).zip(&expected.0) {
        assert_eq!(found, expected, "{what}: {asked}");
    }
    assert_eq!(found.1, expected.1, "{what}: what was written");
}

#[test]
fn a_session_that_was_closed_long_ago_answers_as_when_it_had_just_been() {
    assert_same(Ended::Session);
}

#[test]
fn a_work_order_that_ended_long_ago_answers_as_when_it_had_just_ended() {
    assert_same(Ended::WorkOrder);
}

#[test]
fn a_thread_that_was_closed_long_ago_answers_as_when_it_had_just_been() {
    assert_same(Ended::Thread);
}

/// In the engine in which it was forgotten, too.
#[test]
fn what_is_forgotten_while_the_log_is_open_answers_as_before() {
    for what in [Ended::Session, Ended::WorkOrder] {
        let clock = SetClock::new();
        let (known, gone) = (Place::new(), Place::new());
        let expected = answers(&known, &ended(&known, &clock, what));
        let engine = ended(&gone, &clock, what);
        forget(&engine, what);
        assert_answers(&answers(&gone, &engine), &expected, &format!("{what:?}"));
    }
}
