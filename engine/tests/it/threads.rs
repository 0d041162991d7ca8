//! Interruption threads through the engine: what is said, what expires, what is repeated, who may
//! look, and what a crash leaves.

use crate::conversation::{
    TENANT, THREAD, UNSAID, accepted, barge_in, caller, chat, close_session, close_thread,
    conversation, give, origin_of, refused, register_user, respond_row, set_up, set_up_tenant,
    stranger, switching, thread, turn, turn_of,
};
use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::core::refusal::CommonRefusal;
use holdpoint_domain::interruption_thread::{Directive, InterruptionThreadEvent, ReasonCode};
use holdpoint_domain::log::{LogCommand, LogEvent, RecordFingerprint};
use holdpoint_domain::registration::RegistrationStatus;
use holdpoint_domain::{Command, Event, Refusal, World};
use holdpoint_engine::Engine;
use holdpoint_engine::log::Level;
use holdpoint_engine::shell::{
    Conditions, EngineOptions, IdempotencyKey, Origin, ReadMode, RowContent, Submitted,
    ThreadReadError,
};
use holdpoint_testing::shell::commands::small;
use holdpoint_testing::shell::{Place, SECOND_NS, SetClock, names};

/// Where the tenant is set up, at a time that stands still.
fn set_up_place() -> (Place, SetClock, Engine) {
    let (place, clock) = (Place::new(), SetClock::new());
    let engine = place.engine_with(&clock);
    set_up(&engine);
    (place, clock, engine)
}

/// The same, with words left unsaid in turn 2.
fn interrupted_place() -> (Place, SetClock, Engine) {
    let (place, clock, engine) = set_up_place();
    for command in conversation(&clock).iter().take(2) {
        accepted(&engine, command);
    }
    (place, clock, engine)
}

fn reasons(events: &[Event]) -> Vec<ReasonCode> {
    let rows = events.iter().filter_map(|event| match event {
        Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(row)) => {
            Some(row.reason_code)
        }
        _ => None,
    });
    rows.collect()
}

fn state_of(engine: &Engine) -> ([u8; 32], u64) {
    engine
        .query(|world| (world.fingerprint(), world.totals().last_sequence))
        .expect("the log works")
}

/// The live state of the thread and of everything is the one that the records give, and the one
/// that is carried to where the records are not.
fn assert_live_is_rebuilt(place: &Place, engine: &Engine) {
    let rebuilt = place.rebuilt();
    assert_eq!(rebuilt.thread(TENANT, THREAD).cloned(), thread(engine));
    assert_eq!(rebuilt.fingerprint(), state_of(engine).0);
    let live = engine.query(World::clone).expect("the log works");
    assert_eq!(World::from_carried(&live.carry()), Ok(live));
}

#[test]
fn a_conversation_is_what_its_records_say_after_every_turn() {
    let (place, clock, engine) = set_up_place();
    let mut said = Vec::new();
    for command in conversation(&clock) {
        let receipt = accepted(&engine, &command);
        assert_eq!(names(&receipt.events), ["turn_taken", "row_committed"]);
        let at = receipt.at.map(|at| at.nanoseconds());
        let lines =
            place.lines().into_iter().filter(|line| line.sequence >= receipt.first_sequence);
        assert!(lines.into_iter().all(|line| Some(line.time) == at));
        said.extend(reasons(&receipt.events));
        assert_live_is_rebuilt(&place, &engine);
        clock.pass(SECOND_NS);
    }
    let expected = [
        ReasonCode::NlpChat,
        ReasonCode::InterruptCancel,
        ReasonCode::InterruptReturnCheckAsked,
        ReasonCode::InterruptResumeNow,
    ];
    assert_eq!(said, expected);
    let Some(Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(last))) =
        place.events().into_iter().rev().nth(1)
    else {
        unreachable!("a turn and its row")
    };
    let words = last.decision.response_text.expect("it is said");
    assert!(words.contains(UNSAID), "{words}");
    assert_eq!(thread(&engine).map(|thread| thread.state.resume_buffers), Some(Vec::new()));
}

#[test]
fn engines_on_one_log_take_turns_in_one_thread() {
    let (place, clock, first) = set_up_place();
    let second = place.engine_with(&clock);
    for (index, command) in conversation(&clock).iter().enumerate() {
        let (speaking, listening) =
            if index % 2 == 0 { (&first, &second) } else { (&second, &first) };
        accepted(speaking, command);
        assert_eq!(thread(speaking), thread(listening));
        assert_eq!(state_of(speaking), state_of(listening));
        clock.pass(SECOND_NS);
    }
    assert_live_is_rebuilt(&place, &first);
}

#[test]
fn a_restart_in_the_middle_changes_nothing() {
    let (place, clock, mut engine) = set_up_place();
    for command in conversation(&clock) {
        accepted(&engine, &command);
        let before = (thread(&engine), state_of(&engine));
        engine.close().expect("it closes");
        engine = place.engine_with(&clock);
        assert_eq!((thread(&engine), state_of(&engine)), before);
    }
    assert_live_is_rebuilt(&place, &engine);
}

#[test]
fn what_expired_is_recorded_by_the_next_writer_in_the_threads_own_story() {
    let (place, clock, engine) = interrupted_place();
    let version = thread(&engine).expect("it is live").version;
    clock.pass(60 * SECOND_NS - 1);
    assert_eq!(engine.expire().expect("the log works"), []);
    clock.pass(1);
    let elsewhere = Origin { correlation: "another story".to_string(), ..origin_of(caller()) };
    engine.submit(&elsewhere, (), &small(1)).expect("the log works").accepted().expect("it fits");
    let lines = place.lines();
    let [.., expired, _] = lines.as_slice() else { unreachable!("two records at least") };
    let Event::InterruptionThread(InterruptionThreadEvent::BufferExpired(body)) =
        &expired.envelope.event
    else {
        unreachable!("{expired:?}")
    };
    assert_eq!((body.captured_turn, body.reason_code), (2, ReasonCode::BufferExpired));
    assert_eq!(expired.envelope.correlation, THREAD);
    assert_eq!(expired.envelope.causation, Some(version));
    let found = thread(&engine).expect("it is live");
    assert!(found.state.resume_buffers.is_empty());
    assert_eq!(found.version, expired.sequence);
    assert_eq!(engine.expire().expect("the log works"), []);
    assert_live_is_rebuilt(&place, &engine);
}

#[test]
fn a_return_check_and_its_words_expire_when_somebody_looks() {
    let (place, clock, engine) = interrupted_place();
    clock.pass(SECOND_NS);
    accepted(&engine, &turn(3, switching(chat("weather", "It will rain."))));
    let due = engine.query(World::next_due).expect("the log works");
    assert!(due.is_some());
    clock.pass(60 * SECOND_NS);
    let receipts = engine.expire().expect("the log works");
    let [receipt] = receipts.as_slice() else { unreachable!("one batch: {receipts:?}") };
    // The question whether to go back expires with the words that it is about.
    assert_eq!(names(&receipt.events), ["return_check_expired", "buffer_expired"]);
    assert_eq!(engine.query(World::next_due).expect("the log works"), None);
    assert_live_is_rebuilt(&place, &engine);
}

#[test]
fn the_same_turn_again_is_the_first_receipt_across_a_restart() {
    let (place, clock, engine) = set_up_place();
    let commands = conversation(&clock);
    let first: Vec<_> = commands.iter().map(|command| accepted(&engine, command)).collect();
    let written = place.lines().len();
    engine.close().expect("it closes");
    // Long after everything in the turns would be too old to be taken now.
    clock.pass(30 * SECOND_NS);
    let engine = place.engine_with(&clock);
    for (command, receipt) in commands.iter().zip(first) {
        assert_eq!(give(&engine, command), Submitted::Repeated(receipt));
    }
    assert_eq!(place.lines().len(), written);
    place.rebuilt();
}

#[test]
fn another_turn_under_the_same_key_conflicts_and_that_is_a_row() {
    let (place, _, engine) = set_up_place();
    accepted(&engine, &turn(1, chat("order", "It ships on Monday.")));
    let before = thread(&engine);
    let other = turn(1, chat("order", "It does not ship."));
    let Submitted::Refused(refusal) = give(&engine, &other) else { unreachable!("it conflicts") };
    let Some(Event::InterruptionThread(InterruptionThreadEvent::RowRefused(row))) =
        place.events().pop()
    else {
        unreachable!("it is a row")
    };
    assert_eq!(row.reason_code, ReasonCode::FailIdempotencyConflict);
    assert_eq!(refusal.code(), row.reason_code.name(), "one name in answer and row");
    assert_eq!(refusal.to_string(), row.message.as_str());
    assert_eq!((row.class, row.directive), (RefusalClass::Idempotency, None));
    assert_eq!(row.idempotency_key.as_str(), "turn 1");
    assert_eq!(thread(&engine), before);
    // Within the thread of another tenant the key is another one.
    set_up_tenant(&engine, "tenant_b");
    accepted(&engine, &turn_of("tenant_b", 1, chat("order", "It does not ship.")));
    place.rebuilt();
}

#[test]
fn a_repeat_tells_nothing_to_a_scope_that_may_not_be_used_any_more() {
    let (place, _, engine) = set_up_place();
    let command = turn(1, chat("order", "It ships on Monday."));
    accepted(&engine, &command);
    accepted(&engine, &register_user(TENANT, RegistrationStatus::Suspended));
    assert_eq!(refused(give(&engine, &command)), "X_FAIL_TENANT_SCOPE_INVALID");
    let by_stranger = engine.submit(&origin_of(stranger()), (), &command).expect("the log works");
    assert_eq!(refused(by_stranger), "X_FAIL_CALLER_NOT_ALLOWED");
    place.rebuilt();
}

#[test]
fn a_turn_takes_no_other_key_and_no_other_story() {
    let (place, _, engine) = set_up_place();
    let before = place.bytes();
    let command = turn(1, chat("order", "It ships on Monday."));
    let key = |key| Conditions::once(IdempotencyKey::new(TENANT, "PH1.X", key));
    let elsewhere = Origin { correlation: "another story".to_string(), ..origin_of(caller()) };
    let field_of = |submitted: Submitted| match submitted {
        Submitted::Refused(refusal) => refusal.to_string(),
        other => unreachable!("{other:?}"),
    };
    let submitted = engine.submit(&elsewhere, (), &command).expect("the log works");
    assert!(field_of(submitted).starts_with("correlation_id: "));
    let submitted = engine.submit(&origin_of(caller()), key("other"), &command);
    assert!(field_of(submitted.expect("the log works")).starts_with("idempotency_key: "));
    assert_eq!(place.bytes(), before, "nothing is written of what is malformed");
    let submitted = engine.submit(&origin_of(caller()), key("turn 1"), &command);
    assert!(matches!(submitted.expect("the log works"), Submitted::Accepted(_)));
}

#[test]
fn malformed_turns_leave_no_trace_whoever_gives_them_under_whatever_key() {
    let (place, _, engine) = set_up_place();
    accepted(&engine, &turn(1, chat("order", "It ships on Monday.")));
    let before = place.bytes();
    let malformed = |turn_id| turn(turn_id, chat(" ", "It ships on Monday."));
    let known_key = malformed(1);
    let stale = Conditions::default().expecting(1);
    for (actor, conditions, command) in [
        (stranger(), Conditions::default(), malformed(2)),
        (caller(), Conditions::default(), known_key),
        (caller(), stale, malformed(2)),
    ] {
        let submitted = engine.submit(&origin_of(actor), &conditions, &command);
        assert_eq!(refused(submitted.expect("the log works")), "MALFORMED_REQUEST");
        assert_eq!(place.bytes(), before);
    }
}

#[test]
fn nobody_else_takes_a_key_of_turns_and_rows() {
    let (place, _, engine) = set_up_place();
    let before = place.bytes();
    let key = IdempotencyKey {
        tenant: TENANT.to_string(),
        engine: "PH1.X".to_string(),
        key: "turn 1".to_string(),
    };
    let conditions = Conditions::once(key);
    let command = Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {}));
    let submitted = engine.submit(&origin_of(stranger()), &conditions, &command);
    assert_eq!(refused(submitted.expect("the log works")), "MALFORMED_REQUEST");
    assert_eq!(place.bytes(), before);
    accepted(&engine, &turn(1, chat("order", "It ships on Monday.")));
}

#[test]
fn a_turn_on_a_version_that_is_stale_conflicts() {
    let (place, _, engine) = set_up_place();
    let seen = |version| Conditions::default().expecting(version);
    let submit = |version, command: &Command| {
        engine.submit(&origin_of(caller()), seen(version), command).expect("the log works")
    };
    let first = turn(1, chat("order", "It ships on Monday."));
    assert_eq!(refused(submit(7, &first)), "STALE_VERSION");
    let Some(Event::InterruptionThread(InterruptionThreadEvent::RowRefused(row))) =
        place.events().pop()
    else {
        unreachable!("it is a row")
    };
    assert_eq!(row.reason_code, ReasonCode::FailStaleVersion);
    assert!(matches!(submit(0, &first), Submitted::Accepted(_)), "no thread is version 0");
    let version = thread(&engine).expect("it is live").version;
    let second = turn(2, chat("order", "On Monday."));
    assert_eq!(refused(submit(version - 1, &second)), "STALE_VERSION");
    assert!(matches!(submit(version, &second), Submitted::Accepted(_)));
    // What registers something is about no thread.
    let register = register_user(TENANT, RegistrationStatus::Suspended);
    assert!(matches!(submit(1, &register), Submitted::Accepted(_)));
    place.rebuilt();
}

#[test]
fn who_lacks_the_capability_is_refused_and_that_is_on_record() {
    let (place, _, engine) = set_up_place();
    let asks = |command: &Command| {
        refused(engine.submit(&origin_of(stranger()), (), command).expect("the log works"))
    };
    assert_eq!(asks(&turn(1, chat("order", "Hello."))), "X_FAIL_CALLER_NOT_ALLOWED");
    let Some(Event::InterruptionThread(InterruptionThreadEvent::RowRefused(row))) =
        place.events().pop()
    else {
        unreachable!("it is a row")
    };
    assert_eq!(row.class, RefusalClass::Scope);
    for command in [register_user(TENANT, RegistrationStatus::Suspended), close_thread()] {
        assert_eq!(asks(&command), "X_FAIL_CALLER_NOT_ALLOWED");
        let Some(Event::Log(LogEvent::CommandRefused(refusal))) = place.events().pop() else {
            unreachable!()
        };
        assert_eq!(refusal.code.as_str(), "X_FAIL_CALLER_NOT_ALLOWED");
    }
    // What has no legal name is malformed whoever gives it, and nothing is written of it.
    let before = place.bytes();
    assert_eq!(asks(&turn_of("tenant\u{0}", 1, chat("order", "Hello."))), "MALFORMED_REQUEST");
    assert_eq!(asks(&turn(0, chat("order", "Hello."))), "MALFORMED_REQUEST");
    assert_eq!(place.bytes(), before);
    assert_eq!(thread(&engine), None);
    place.rebuilt();
}

#[test]
fn who_lacks_the_capability_sees_nothing_and_that_is_on_record() {
    let (place, _, engine) = interrupted_place();
    let shown = [
        engine.thread(&stranger(), TENANT, THREAD).map(drop),
        engine.audit_rows(&stranger(), TENANT, THREAD, ReadMode::Plain).map(drop),
        engine.audit_rows(&stranger(), TENANT, THREAD, ReadMode::Diagnostic).map(drop),
    ];
    let recorded = place.lines().into_iter().rev().take(shown.len());
    for (one, line) in shown.into_iter().zip(recorded) {
        let Err(ThreadReadError::Refused(refusal)) = one else { unreachable!("{one:?}") };
        assert_eq!(refusal.code(), "X_FAIL_CALLER_NOT_ALLOWED");
        assert!(matches!(line.envelope.event, Event::Log(LogEvent::CommandRefused(_))), "{line:?}");
        assert_eq!(line.envelope.actor, stranger());
    }
    let nameless = engine.thread(&caller(), "", THREAD);
    assert!(matches!(
        nameless,
        Err(ThreadReadError::Refused(Refusal::Common(CommonRefusal::InvalidIdentifier(_))))
    ));
    place.rebuilt();
}

#[test]
fn rows_are_read_in_order_with_what_was_refused_and_of_one_tenant_only() {
    let (place, clock, engine) = interrupted_place();
    assert_eq!(
        refused(give(&engine, &turn(2, chat("order", "Late.")))),
        "X_FAIL_IDEMPOTENCY_CONFLICT"
    );
    clock.pass(SECOND_NS);
    accepted(&engine, &respond_row(3));
    set_up_tenant(&engine, "tenant_b");
    accepted(&engine, &turn_of("tenant_b", 1, chat("order", "Theirs.")));

    let before = place.bytes();
    let read = |tenant| engine.audit_rows(&caller(), tenant, THREAD, ReadMode::Plain);
    let rows = read(TENANT).expect("the caller may look");
    let turns: Vec<_> = rows
        .iter()
        .map(|row| match &row.content {
            RowContent::Committed(row) => (row.turn_id, Some(row.payload.directive)),
            RowContent::Refused(row) => (row.turn_id, None),
            RowContent::Ended(row) => panic!("nothing ended yet: {row:?}"),
        })
        .collect();
    let (respond, wait) = (Some(Directive::Respond), Some(Directive::Wait));
    assert_eq!(turns, [(1, respond), (2, wait), (2, None), (3, respond)]);
    let lines = place.lines();
    for row in &rows {
        let line = lines.iter().find(|line| line.sequence == row.sequence);
        assert_eq!(line.map(|line| line.time), Some(row.at.nanoseconds()));
    }
    assert_eq!(read("tenant_b").expect("the caller may look").len(), 1);
    assert_eq!(read("tenant_c").expect("the caller may look"), []);
    let theirs = engine.thread(&caller(), "tenant_c", THREAD).expect("the caller may look");
    assert_eq!(theirs, None);
    assert_eq!(place.bytes(), before, "who only looks leaves no trace");
}

#[test]
fn a_diagnostic_read_is_on_record_before_rows_are_shown() {
    let (place, _, engine) = interrupted_place();
    let plain = engine.audit_rows(&caller(), TENANT, THREAD, ReadMode::Plain);
    let before = (place.lines().len(), thread(&engine));
    let rows = engine.audit_rows(&caller(), TENANT, THREAD, ReadMode::Diagnostic);
    assert_eq!(rows.expect("the caller may look"), plain.expect("the caller may look"));
    assert_eq!((place.lines().len(), thread(&engine)), (before.0 + 1, before.1));
    let Some(Event::InterruptionThread(InterruptionThreadEvent::RowsRead(read))) =
        place.events().pop()
    else {
        unreachable!("it is recorded")
    };
    assert_eq!((read.tenant_id.as_str(), read.correlation_id.as_str()), (TENANT, THREAD));
    place.rebuilt();
}

#[test]
fn a_closed_session_gives_up_the_words_left_in_it_in_the_threads_own_story() {
    let (place, _, engine) = interrupted_place();
    accepted(&engine, &close_session());
    let lines = place.lines();
    let gone = lines.iter().rev().find_map(|line| match &line.envelope.event {
        Event::InterruptionThread(InterruptionThreadEvent::RemaindersDiscarded(body)) => {
            Some((&line.envelope, body))
        }
        _ => None,
    });
    let Some((envelope, body)) = gone else { unreachable!("the words are given up by event") };
    assert_eq!(
        (envelope.correlation.as_str(), body.reason_code),
        (THREAD, ReasonCode::SessionClosed)
    );
    assert_eq!(body.session_id.as_deref(), Some("session_1"));
    assert!(thread(&engine).is_some_and(|thread| thread.state.resume_buffers.is_empty()));
    assert_live_is_rebuilt(&place, &engine);
}

/// Of keys without a live owner the newest 4096 are kept in memory; those of a thread live with it,
/// and are found in the log for ever.
#[test]
fn a_thread_remembers_its_keys_while_it_lives_and_the_log_remembers_them_afterwards() {
    let place = Place::new();
    let open = || {
        let options = EngineOptions::simulated().level(Level::Os);
        Engine::open_with(place.storage(), options).expect("the log opens")
    };
    let engine = open();
    set_up(&engine);
    let first = turn(1, chat("order", "It ships on Monday."));
    accepted(&engine, &first);
    use_up_keys(&engine);
    assert!(matches!(give(&engine, &first), Submitted::Repeated(_)));
    engine.close().expect("it closes");
    let engine = open();
    assert!(matches!(give(&engine, &first), Submitted::Repeated(_)), "after a restart too");
    accepted(&engine, &close_thread());
    assert!(engine.query(World::keys_forgotten).expect("the log works") > 0);
    assert!(matches!(give(&engine, &first), Submitted::Repeated(_)), "the log has it");
    let another = turn(2, chat("order", "It ships on Tuesday."));
    assert_eq!(refused(give(&engine, &another)), "X_FAIL_THREAD_CLOSED");
    place.rebuilt();
}

/// As many keys as are remembered without a live owner.
fn use_up_keys(engine: &Engine) {
    let step = small(1);
    for number in 0..holdpoint_domain::core::limits::MAX_RETIRED_KEYS {
        let key = IdempotencyKey {
            tenant: TENANT.to_string(),
            engine: "test".to_string(),
            key: number.to_string(),
        };
        let conditions = Conditions::once(key);
        let submitted = engine.submit(&origin_of(caller()), &conditions, &step);
        assert!(matches!(submitted, Ok(Submitted::Accepted(_))));
    }
}

#[test]
fn closing_a_thread_says_what_becomes_of_the_words_and_no_turn_follows() {
    let (place, clock, engine) = interrupted_place();
    let receipt = accepted(&engine, &close_thread());
    assert_eq!(names(&receipt.events), ["remainders_discarded", "thread_closed"]);
    let after = give(&engine, &turn(3, barge_in("weather", &clock)));
    assert_eq!(refused(after), "X_FAIL_THREAD_CLOSED");
    assert!(thread(&engine).is_some_and(|thread| thread.is_closed));
    assert_eq!(engine.query(World::next_due).expect("the log works"), None);
    assert_live_is_rebuilt(&place, &engine);
}

mod on_a_simulated_disk {
    use super::*;
    use holdpoint_domain::world::envelope;
    use holdpoint_domain::{Envelope, Time};
    use holdpoint_engine::log::Options;
    use holdpoint_log_files::Follower;
    use holdpoint_simulation::SimulatedDisk;
    use std::time::Duration;

    fn open(disk: &SimulatedDisk, clock: &SetClock) -> Engine<SimulatedDisk> {
        let log = Options::default().head_delay(Duration::MAX);
        let options = EngineOptions::simulated().log(log).clock(Box::new(clock.clone()));
        Engine::open_with(disk.clone(), options).expect("the log opens")
    }

    /// Every record as it lies on the disk.
    fn records(disk: &SimulatedDisk) -> Vec<(u64, Time, Envelope)> {
        let mut records = Vec::new();
        let mut follower = Follower::at_segment(disk, 1).expect("a first segment");
        let read = follower.catch_up(disk, &mut |_, record| {
            let header = &record.header;
            let envelope = envelope::decode(header.kind, header.version, record.payload);
            let at = Time::from_nanoseconds(header.time);
            records.push((header.sequence, at, envelope.expect("a record decodes")));
        });
        read.expect("the log can be read");
        records
    }

    fn rebuilt(disk: &SimulatedDisk) -> World {
        let mut world = World::default();
        for (sequence, at, envelope) in records(disk) {
            assert_eq!(world.judge_and_evolve(sequence, at, &envelope), []);
        }
        world
    }

    #[test]
    fn a_conversation_goes_on_after_power_was_lost_between_its_turns() {
        let clock = SetClock::new();
        let mut disk = SimulatedDisk::new(11);
        let mut engine = open(&disk, &clock);
        set_up(&engine);
        for command in conversation(&clock) {
            accepted(&engine, &command);
            let before = thread(&engine);
            let after = disk.power_loss(&[]);
            disk.turn_off();
            disk = after;
            engine = open(&disk, &clock);
            assert_eq!(thread(&engine), before, "what was acknowledged is there");
            assert_eq!(rebuilt(&disk).thread(TENANT, THREAD).cloned(), before);
            assert!(matches!(give(&engine, &command), Submitted::Repeated(_)));
        }
    }

    /// Power is lost, or the process is killed, before each call that a turn makes: afterwards the
    /// turn and its row are both there or neither is, and giving the turn again comes to the same.
    #[test]
    fn a_turn_and_its_row_are_recorded_together_or_not_at_all() {
        let clock = SetClock::new();
        let disk = SimulatedDisk::new(12);
        let engine = open(&disk, &clock);
        set_up(&engine);
        let commands = conversation(&clock);
        let [first, second, ..] = &commands;
        accepted(&engine, first);
        disk.record_moments();
        accepted(&engine, second);
        let expected = thread(&engine);
        let moments = disk.take_moments();
        assert!(!moments.is_empty());
        for moment in &moments {
            let survives = vec![1; moment.disk.pending().len()];
            let images = [
                moment.disk.kill(),
                moment.disk.power_loss(&[]),
                moment.disk.power_loss(&survives),
            ];
            for image in images {
                let engine = open(&image, &clock);
                let turns = counted(&image, |event| {
                    matches!(
                        event,
                        Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(_))
                    )
                });
                let rows = counted(&image, |event| {
                    matches!(
                        event,
                        Event::InterruptionThread(InterruptionThreadEvent::RowCommitted(_))
                    )
                });
                assert_eq!(turns, rows, "before call {}", moment.calls);
                give(&engine, second).accepted().expect("it is given");
                let found = thread(&engine).map(|thread| thread.state);
                assert_eq!(found, expected.clone().map(|thread| thread.state));
                assert_eq!(
                    counted(&image, |event| matches!(
                        event,
                        Event::InterruptionThread(InterruptionThreadEvent::TurnTaken(_))
                    )),
                    2
                );
                rebuilt(&image);
            }
        }
    }

    fn counted(disk: &SimulatedDisk, is_counted: impl Fn(&Event) -> bool) -> usize {
        records(disk).iter().filter(|(_, _, envelope)| is_counted(&envelope.event)).count()
    }
}
