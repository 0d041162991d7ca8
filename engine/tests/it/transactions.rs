//! Several commands as one batch: all of it or nothing, on the state that was seen, once for its
//! key, at one time.

use holdpoint_domain::application::{Data, RecordEvent};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::log::{LogCommand, LogEvent, RecordFingerprint};
use holdpoint_domain::{ActorId, Command, Event, World};
use holdpoint_engine::Engine;
use holdpoint_engine::log::Storage;
use holdpoint_engine::shell::{
    Conditions, IdempotencyKey, MAX_MEMBERS, Origin, Receipt, Submitted, Transaction,
};
use holdpoint_replay::verify_directory;
use holdpoint_testing::shell::commands::{dispatch, initialize};
use holdpoint_testing::shell::{Place, names, origin};

fn to(stream: &str, data: &str) -> RecordEvent {
    RecordEvent {
        stream: stream.to_string(),
        event_type: "changed".to_string(),
        type_version: 1,
        content_type: "text/plain".to_string(),
        data: Data::from(data),
    }
}

fn key(key: &str) -> IdempotencyKey {
    let [tenant, engine, key] = ["acme", "shop", key].map(str::to_string);
    IdempotencyKey { tenant, engine, key }
}

fn accepted<S: Storage>(engine: &Engine<S>, transaction: &Transaction) -> Receipt {
    match engine.commit(&origin(), (), transaction).expect("the log works") {
        Submitted::Accepted(receipt) => receipt,
        other => unreachable!("{other:?}"),
    }
}

fn refused(submitted: Submitted) -> String {
    match submitted {
        Submitted::Refused(refusal) => format!("{} {refusal}", refusal.code()),
        other => unreachable!("{other:?}"),
    }
}

/// A run and what the application says of it.
fn begun() -> (String, Transaction) {
    let command = initialize(1);
    let loop_id = command.loop_id();
    let start = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command));
    let transaction = Transaction::new().record(to("order-1", "placed")).submit(start);
    (loop_id.clone(), transaction.submit(dispatch(&loop_id)).record(to("order-1", "sent")))
}

#[test]
fn members_are_decided_behind_one_another_and_recorded_as_one_batch() {
    let place = Place::new();
    let engine = place.engine();
    let (loop_id, transaction) = begun();
    let receipt = accepted(&engine, &transaction);
    let names = names(&receipt.events);
    assert_eq!((names.first(), names.last()), (Some(&"recorded"), Some(&"recorded")));
    assert!(names.contains(&"dispatched"), "{names:?}");
    let known = engine.query(|world| {
        let version = world.stream_version("order-1");
        (version, world.live_loop(&loop_id).is_some(), world.totals().last_sequence)
    });
    let newest = receipt.last_sequence;
    assert_eq!(known.expect("the log works"), (newest, true, newest));
    engine.close().expect("it closes");
    let events = place.events();
    let of_batch = events.len() - names.len();
    assert_eq!(events[of_batch..], receipt.events[..]);
    place.rebuilt();
}

#[test]
fn one_that_refuses_leaves_nothing_of_the_others_and_the_state_as_it_was() {
    let place = Place::new();
    let engine = place.engine();
    accepted(&engine, &Transaction::new().record(to("order-1", "placed")));
    let before = engine.query(|world| (world.fingerprint(), world.totals().last_sequence));
    let (_, transaction) = begun();
    let malformed = transaction.clone().record(to("", "nothing"));
    let told = refused(engine.commit(&origin(), (), &malformed).expect("the log works"));
    assert!(told.starts_with("MALFORMED_REQUEST stream"), "{told}");
    let (_, twice) = begun();
    let start = initialize(1);
    let again = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(start));
    let told = refused(
        engine
            .commit(&origin(), (), &twice.submit(again.clone()).submit(again))
            .expect("the log works"),
    );
    assert!(told.starts_with("LOOP_EXISTS"), "{told}");
    let after = engine.query(|world| (world.fingerprint(), world.totals().last_sequence));
    assert_eq!(after.expect("the log works"), before.expect("the log works"));
    // The next one goes on from there.
    accepted(&engine, &transaction);
    engine.close().expect("it closes");
    place.rebuilt();
}

#[test]
fn a_fingerprint_among_them_is_of_the_state_behind_those_before_it() {
    let place = Place::new();
    let engine = place.engine();
    accepted(&engine, &Transaction::new().record(to("order-1", "placed")));
    let fingerprint = LogCommand::RecordFingerprint(RecordFingerprint {});
    let between = Transaction::new().record(to("order-2", "placed")).submit(fingerprint);
    accepted(&engine, &between.record(to("order-1", "paid")));
    let versions = engine.query(|world| {
        ["order-1", "order-2"]
            .map(|stream| world.totals().last_sequence - world.stream_version(stream))
    });
    assert_eq!(versions.expect("the log works"), [0, 2]);
    let live = engine.query(World::fingerprint).expect("the log works");
    assert_eq!(place.rebuilt().fingerprint(), live);
    engine.close().expect("it closes");
    let report = verify_directory(place.log()).expect("it can be read");
    let reason = report.axes.meaning.reason;
    assert!(
        report.findings.is_empty() && reason.contains("1 recorded fingerprint matches"),
        "{reason}"
    );
}

#[test]
fn a_cause_is_a_record_that_is_there_before_the_batch() {
    let place = Place::new();
    let engine = place.engine();
    let newest = accepted(&engine, &Transaction::new().record(to("a", "1"))).last_sequence;
    let caused_by = |causation: u64| {
        let origin = Origin { causation: Some(causation), ..origin() };
        let both = Transaction::new().record(to("a", "2")).record(to("b", "1"));
        engine.commit(&origin, (), &both).expect("the log works")
    };
    for missing in [0, newest + 1, newest + 2] {
        let told = refused(caused_by(missing));
        assert!(told.starts_with("MALFORMED_REQUEST causation"), "{told}");
    }
    assert!(matches!(caused_by(newest), Submitted::Accepted(_)));
    engine.close().expect("it closes");
    place.rebuilt();
}

#[test]
fn versions_are_those_of_the_state_before_the_batch() {
    let place = Place::new();
    let engine = place.engine();
    let first = accepted(&engine, &Transaction::new().record(to("a", "1")).record(to("b", "1")));
    let both = |a: u64, b: u64| {
        let of_a = Transaction::new().record(to("a", "2")).expecting(a);
        // The second one of a stream says what its caller saw as well.
        of_a.record(to("a", "3")).expecting(a).record(to("b", "2")).expecting(b)
    };
    let stale = both(first.first_sequence, first.first_sequence);
    let told = refused(engine.commit(&origin(), (), &stale).expect("the log works"));
    assert!(told.starts_with("STALE_VERSION b"), "{told}");
    let Some(Event::Log(LogEvent::CommandRefused(body))) = place.events().pop() else {
        unreachable!("a stale version is a fact")
    };
    assert_eq!(body.subject.as_deref(), Some("b"));
    accepted(&engine, &both(first.first_sequence, first.last_sequence));
    assert!(matches!(
        engine.commit(&origin(), (), &Transaction::new().record(to("new", "1")).expecting(0)),
        Ok(Submitted::Accepted(_))
    ));
}

#[test]
fn a_key_stands_for_all_members_in_their_order() {
    let place = Place::new();
    let engine = place.engine();
    let transaction = Transaction::new().record(to("a", "1")).record(to("b", "1"));
    let commit = |engine: &Engine, transaction: &Transaction| {
        engine
            .commit(&origin(), Conditions::once(key("first")), transaction)
            .expect("the log works")
    };
    let Submitted::Accepted(first) = commit(&engine, &transaction) else { unreachable!() };
    assert_eq!(commit(&engine, &transaction), Submitted::Repeated(first.clone()));
    engine.close().expect("it closes");
    let engine = place.engine();
    assert_eq!(commit(&engine, &transaction), Submitted::Repeated(first));
    let turned = Transaction::new().record(to("b", "1")).record(to("a", "1"));
    for other in [turned, Transaction::new().record(to("a", "1"))] {
        assert!(refused(commit(&engine, &other)).starts_with("IDEMPOTENCY_CONFLICT"));
    }
}

#[test]
fn what_goes_alone_and_how_many_go_together_is_said() {
    let place = Place::new();
    let engine = place.engine();
    let commit = |transaction: &Transaction| engine.commit(&origin(), (), transaction);
    let told = refused(commit(&Transaction::new()).expect("the log works"));
    assert!(told.contains("1 to 1024 members"), "{told}");
    let many =
        (0..MAX_MEMBERS).fold(Transaction::new(), |all, it| all.record(to(&format!("s{it}"), "1")));
    let told = refused(commit(&many.clone().record(to("s", "1"))).expect("the log works"));
    assert!(told.contains("found 1025"), "{told}");
    assert_eq!(accepted(&engine, &many).events.len(), MAX_MEMBERS);
    let nobody =
        Origin { actor: ActorId { kind: Actor::Automation, id: String::new() }, ..origin() };
    let one = Transaction::new().record(to("s", "1"));
    let told = refused(engine.commit(&nobody, (), &one).expect("the log works"));
    assert!(told.starts_with("INVALID_IDENTIFIER"), "{told}");
}

#[test]
fn a_batch_beyond_the_logs_bound_changes_nothing() {
    let place = Place::new();
    let engine = place.engine();
    let big = "x".repeat(60 << 20);
    let five = (0..5).fold(Transaction::new(), |all, _| all.record(to("big", &big)));
    engine.commit(&origin(), (), &five).expect_err("300 MiB are too many");
    assert_eq!(engine.query(|world| world.stream_version("big")).expect("the log works"), 0);
    accepted(&engine, &Transaction::new().record(to("big", "small")));
    engine.close().expect("it closes");
    place.rebuilt();
}

#[test]
fn a_transaction_written_at_its_engine_is_what_the_value_is() {
    let place = Place::new();
    let (engine, origin) = (place.engine(), origin());
    let draft = engine.transaction(&origin).record(to("a", "1")).expecting(0);
    let draft = draft.submit(to("b", "1"));
    let value = Transaction::new().record(to("a", "1")).expecting(0).record(to("b", "1"));
    let conditions = Conditions::once("both");
    let first = match draft.commit(&conditions).expect("the log works") {
        Submitted::Accepted(receipt) => receipt,
        other => unreachable!("{other:?}"),
    };
    let again = engine.commit(&origin, &conditions, &value).expect("the log works");
    assert_eq!(again, Submitted::Repeated(first));
    let stale = engine.transaction(&origin).record(to("a", "2")).expecting(0).commit(());
    assert!(refused(stale.expect("the log works")).starts_with("STALE_VERSION"));
    drop(engine.transaction(&origin).record(to("never", "1")));
    assert_eq!(engine.query(|world| world.stream_version("never")).expect("the log works"), 0);
}

#[test]
fn a_version_is_expected_of_a_member_and_not_of_all() {
    let place = Place::new();
    let engine = place.engine();
    let one = Transaction::new().record(to("a", "1"));
    let told = engine.commit(&origin(), Conditions::default().expecting(0), &one);
    assert!(refused(told.expect("the log works")).contains("each member expects its own"));
    assert_eq!(engine.query(|world| world.stream_version("a")).expect("the log works"), 0);
}

#[test]
fn a_version_that_is_expected_before_any_member_is_refused() {
    let place = Place::new();
    let (engine, origin) = (place.engine(), origin());
    let value = Transaction::new().expecting(7).record(to("a", "1"));
    let draft = engine.transaction(&origin).expecting(7).record(to("a", "1")).expecting(0);
    for told in [engine.commit(&origin, (), &value), draft.commit(())] {
        let told = refused(told.expect("the log works"));
        assert!(told.starts_with("MALFORMED_REQUEST expected_version"), "{told}");
        assert!(told.contains("behind the member that expects it, found 7"), "{told}");
    }
    assert_eq!(engine.query(|world| world.stream_version("a")).expect("the log works"), 0);
}
