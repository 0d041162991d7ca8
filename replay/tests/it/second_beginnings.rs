//! Nothing begins twice under one id, and no key stands for two things, however long ago the first
//! one was: verifying finds the second one, and names the record of the first.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::core::ids::{Entropy, Idempotency};
use holdpoint_domain::core::limits::MAX_RETIRED_KEYS;
use holdpoint_domain::core::payload::RawData;
use holdpoint_domain::decision_point::{
    CancelDecisionPoint, CreateDecisionPoint, DecisionPointCommand, MAX_CLOSED_DECISION_POINTS,
};
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::interruption_thread::InterruptionThreadCommand;
use holdpoint_domain::log::{ClockStepped, HistoryArchived};
use holdpoint_domain::registration::{
    LeaseStatus, MAX_ENDED_REGISTRATIONS, RegisterDevice, RegisterLease, RegisterSession,
    RegisterTenant, RegisterUser, RegisterWorkOrder, RegistrationCommand, RegistrationStatus,
    SessionStatus, WorkOrderStatus,
};
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::{ActorId, Command, Envelope, Event, Time, World, decide};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{BootId, Head, names};
use holdpoint_replay::archives::with_archives;
use holdpoint_replay::{
    AxisState, BegunOnce, BegunTwice, Filter, ReadOptions, Report, RunFilter, RunLookup, Tells,
    Until, Verdict, find_runs, rebuild, run_of, stated, verify, verify_together,
};
use holdpoint_testing::hand_made::{HandMadeLog, change_head, envelope};
use holdpoint_testing::story::Story;
use holdpoint_testing::story::points::agent;
use holdpoint_testing::threads::requests::{chat, request};
use holdpoint_testing::threads::{
    Stage, caller, lease_of, permission, thread_command, turn, work_order_of,
};
use tempfile::TempDir;

const SCOPE: [&str; 4] = ["tenant", "thread", "user", "device"];

fn options() -> ReadOptions<'static> {
    ReadOptions::new(BootId::UNKNOWN, &|| Ok(false))
}

fn verified(log: &HandMadeLog) -> Report {
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    verify(&DirectoryStorage::new(directory.path()), options(), &mut |_| {}).unwrap()
}

/// The one finding, by its record, its rule and what it says.
fn expect_one(report: &Report, second: u64, first: u64, rule: &str) {
    let found: Vec<_> =
        report.findings.iter().map(|it| (it.place.sequence, it.rule(), it.found())).collect();
    let said = format!("what began with record {first}, which alone counts");
    assert_eq!(found, [(second, Some(rule), said)]);
    assert_eq!(report.verdict, Verdict::ForbiddenEvents);
    assert_eq!(report.axes.meaning.state, AxisState::Failed);
}

/// What a writer records that knows nothing but this. Gives its first record.
fn forged(log: &mut HandMadeLog, knows: &World, command: &Command) -> u64 {
    let (first, events) = (log.chain.sequence + 1, decide(knows, command, log.now).unwrap());
    log.events(events);
    first
}

/// The command that began the first run of a log.
fn first_run() -> Command {
    let initialize = HandMadeLog::new().initialize("sh -c true");
    Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize))
}

fn question(number: u64) -> (String, Command) {
    let entropy = Entropy::from_bytes(u128::from(number).to_be_bytes());
    let options = Story::new().question().options;
    let question = CreateDecisionPoint::asking(entropy, agent(), "May it go?", options);
    let id = question.decision_id();
    (id, Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(question.into())))
}

fn give(log: &mut HandMadeLog, actor: &ActorId, command: &Command) {
    log.command_in(command, |envelope| Envelope { actor: actor.clone(), ..envelope });
}

fn asker() -> ActorId {
    ActorId { kind: agent().kind, id: (*agent().id).into() }
}

/// Questions that were asked and taken back.
fn settle_questions(log: &mut HandMadeLog, numbers: std::ops::Range<u64>) {
    let by = asker();
    for number in numbers {
        let (decision_id, create) = question(number);
        give(log, &by, &create);
        let cancel = CancelDecisionPoint { decision_id, by: agent(), reason: None };
        give(log, &by, &Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(cancel)));
    }
}

#[test]
fn a_loop_that_settled_begins_no_second_time() {
    let mut log = HandMadeLog::new();
    let loop_id = log.run();
    log.run();
    assert_eq!(verified(&log).verdict, Verdict::Intact);
    let second = forged(&mut log, &World::default(), &first_run());
    let report = verified(&log);
    expect_one(&report, second, 1, "INITIALIZATION");
    let value = serde_json::to_value(&report.findings[0]).unwrap();
    assert_eq!(value["kind"], "execution_loop.initialized");
    let live = log.world.live_loop(&loop_id).unwrap();
    assert_eq!(live.started_sequence, second, "the state itself takes it for new");
}

#[test]
fn a_state_rebuilt_from_the_whole_log_is_reported_with_the_second_beginning() {
    let (directory, mut log) = (TempDir::new().unwrap(), HandMadeLog::new());
    log.run();
    let before = log.chain.sequence;
    let second = forged(&mut log, &World::default(), &first_run());
    log.write(directory.path());
    let storage = DirectoryStorage::new(directory.path());
    let state = |until| rebuild(&storage, until, options(), &mut |_| {}, &mut |_| {}).unwrap();
    expect_one(&state(Until::End).report, second, 1, "INITIALIZATION");
    assert_eq!(state(Until::Sequence(before)).report.verdict, Verdict::Intact);
}

#[test]
fn a_decision_point_that_ended_long_ago_begins_no_second_time() {
    let mut log = HandMadeLog::new();
    settle_questions(&mut log, 0..MAX_CLOSED_DECISION_POINTS as u64 + 1);
    assert_eq!(verified(&log).verdict, Verdict::Intact);
    let second = log.chain.sequence + 1;
    give(&mut log, &asker(), &question(0).1);
    expect_one(&verified(&log), second, 1, "DECISION_POINT_TERMS");
}

#[test]
fn a_second_beginning_that_the_state_itself_finds_is_one_finding() {
    let mut log = HandMadeLog::new();
    settle_questions(&mut log, 0..2);
    forged(&mut log, &World::default(), &question(0).1);
    let report = verified(&log);
    let rules: Vec<_> = report.findings.iter().map(|finding| finding.rule()).collect();
    assert_eq!(rules, [Some("DECISION_POINT_TERMS")], "{report:#?}");
}

/// A caller may register and talk, and there are a tenant, a user and a device.
fn register(log: &mut HandMadeLog) {
    let person = ActorId { kind: Actor::Human, id: "person".into() };
    give(log, &person, &permission(true));
    let [tenant_id, _, user_id, device_id] = SCOPE.map(String::from);
    let (tenant, user) = (|| tenant_id.clone(), || user_id.clone());
    let status = RegistrationStatus::Active;
    for command in [
        RegistrationCommand::RegisterTenant(RegisterTenant { tenant_id: tenant(), status }),
        RegistrationCommand::RegisterUser(RegisterUser {
            tenant_id: tenant(),
            user_id: user(),
            status,
        }),
        RegistrationCommand::RegisterDevice(RegisterDevice {
            tenant_id: tenant(),
            device_id,
            user_id: user(),
            status,
        }),
        RegistrationCommand::RegisterWorkOrder(RegisterWorkOrder {
            tenant_id: tenant(),
            work_order_id: work_order_of(SCOPE[1]),
            correlation_id: SCOPE[1].into(),
            status: WorkOrderStatus::Executing,
        }),
        RegistrationCommand::RegisterLease(RegisterLease {
            tenant_id: tenant(),
            work_order_id: work_order_of(SCOPE[1]),
            lease_token_hash: lease_of(SCOPE[1]),
            expires_at: Time::from_nanoseconds(u64::MAX),
            status: LeaseStatus::Active,
        }),
    ] {
        give(log, &caller(), &Command::Registration(command));
    }
}

fn turn_of_thread() -> Command {
    let request = request(SCOPE[2], "a subject", chat("Here you are."));
    let taken = turn(&Stage::default(), SCOPE, 1, request);
    Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(taken))
}

fn talk_and_close(log: &mut HandMadeLog) {
    give(log, &caller(), &turn_of_thread());
    let close = InterruptionThreadCommand::CloseThread(thread_command(SCOPE[0], SCOPE[1]));
    give(log, &caller(), &Command::InterruptionThread(close));
}

/// As a writer does that does not know that the thread was closed. Gives its first record.
fn talk_again(log: &mut HandMadeLog) -> u64 {
    let mut early = HandMadeLog::new();
    register(&mut early);
    let (second, events) =
        (log.chain.sequence + 1, decide(&early.world, &turn_of_thread(), log.now));
    let by = |event| Envelope { actor: caller(), ..envelope(event) };
    log.recorded(events.unwrap().into_iter().map(by));
    second
}

#[test]
fn a_thread_that_was_closed_begins_no_second_time() {
    let mut log = HandMadeLog::new();
    register(&mut log);
    let first = log.chain.sequence + 1;
    talk_and_close(&mut log);
    let report = verified(&log);
    assert_eq!((report.verdict, report.findings), (Verdict::Intact, vec![]));
    let second = talk_again(&mut log);
    expect_one(&verified(&log), second, first, "THREAD_TURN");
}

fn session(name: &str, status: SessionStatus) -> Command {
    let [tenant_id, _, user_id, device_id] = SCOPE.map(String::from);
    let session_id = name.into();
    let session = RegisterSession { tenant_id, session_id, user_id, device_id, status };
    Command::Registration(RegistrationCommand::RegisterSession(session))
}

#[test]
fn a_session_that_was_closed_long_ago_is_registered_no_second_time() {
    let mut log = HandMadeLog::new();
    register(&mut log);
    let first = log.chain.sequence + 1;
    for number in 0..=MAX_ENDED_REGISTRATIONS {
        for status in [SessionStatus::Active, SessionStatus::Closed] {
            give(&mut log, &caller(), &session(&format!("session {number}"), status));
        }
    }
    let report = verified(&log);
    assert_eq!((report.verdict, report.findings), (Verdict::Intact, vec![]));
    give(&mut log, &caller(), &session("session 0", SessionStatus::Active));
    expect_one(&verified(&log), log.chain.sequence, first, "REGISTRATION");
}

/// A small event under a key, for a content. Gives its record.
fn keyed(log: &mut HandMadeLog, key: u64, content: &[u8]) -> u64 {
    let (tenant, engine, key) = ("t".into(), "e".into(), format!("key {key}"));
    let idempotency = Some(Idempotency { tenant, engine, key, content: sha256(content) });
    let event = envelope(ClockStepped { step_ns: 1 }.into());
    log.recorded([Envelope { idempotency, ..event }].into_iter());
    log.chain.sequence
}

#[test]
fn a_key_stands_for_nothing_else_once_the_state_has_forgotten_it() {
    let mut log = HandMadeLog::new();
    for key in 0..=MAX_RETIRED_KEYS as u64 {
        keyed(&mut log, key, b"one");
    }
    keyed(&mut log, 0, b"one");
    let report = verified(&log);
    assert_eq!((report.verdict, report.findings), (Verdict::Intact, vec![]), "the same again");
    let second = keyed(&mut log, 1, b"two");
    let report = verified(&log);
    let found: Vec<_> =
        report.findings.iter().map(|it| (it.place.sequence, it.rule(), it.expected())).collect();
    let expected = "what record 2 was recorded for, under the same key".to_string();
    assert_eq!(found, [(second, Some("IDEMPOTENCY"), expected)]);
    assert_eq!(report.verdict, Verdict::ForbiddenEvents);
}

#[test]
fn a_key_with_which_a_log_begins_stands_for_nothing_else_in_it() {
    let (directory, second) = moved(
        |log| {
            keyed(log, 0, b"one");
        },
        |log| {
            for key in 1..=MAX_RETIRED_KEYS as u64 {
                keyed(log, key, b"one");
            }
            keyed(log, 0, b"two")
        },
    );
    let log_itself = DirectoryStorage::new(directory.path().join("log"));
    let report = verify(&log_itself, options(), &mut |_| {}).unwrap();
    let found: Vec<_> = report.findings.iter().map(|it| (it.place.sequence, it.rule())).collect();
    assert_eq!(found, [(second, Some("IDEMPOTENCY"))], "{report:#?}");
}

/// A log whose first segment is in an archive: what was done before and behind the move, and the
/// record that the latter gives.
fn moved(
    before: impl FnOnce(&mut HandMadeLog),
    behind: impl FnOnce(&mut HandMadeLog) -> u64,
) -> (TempDir, u64) {
    let (directory, mut log) = (TempDir::new().unwrap(), HandMadeLog::new());
    before(&mut log);
    let (anchor, state) = (log.chain, log.world.clone());
    log.roll();
    let archive = directory.path().join("archive");
    log.write(&archive);
    std::fs::remove_file(archive.join(log.active_path())).unwrap();
    std::fs::write(archive.join(names::ARCHIVE), "").unwrap();
    let stated = HistoryArchived {
        first_sequence: 1,
        anchor_sequence: anchor.sequence,
        anchor_link: Digest::from_bytes(anchor.link.0),
        archived_to: archive.to_string_lossy().into_owned().into(),
        state_schema: STATE_SCHEMA_VERSION,
        state_fingerprint: Digest::from_bytes(state.fingerprint()),
        state: RawData::from(state.carry()).into(),
    };
    log.events(vec![Event::from(stated)]);
    let second = behind(&mut log);
    let path = directory.path().join("log");
    log.write(&path);
    let segments = path.join(names::SEGMENTS);
    std::fs::remove_file(segments.join(names::segment(1))).unwrap();
    change_head(&path, |head| Head {
        anchor_sequence: anchor.sequence,
        anchor_link: anchor.link,
        ..head
    });
    (directory, second)
}

#[test]
fn what_began_in_an_archive_is_known_where_that_is_verified_with_the_log() {
    let (directory, second) =
        moved(|log| drop(log.run()), |log| forged(log, &World::default(), &first_run()));
    let [archive, path] =
        ["archive", "log"].map(|name| DirectoryStorage::new(directory.path().join(name)));
    let alone = verify(&path, options(), &mut |_| {}).unwrap();
    assert_eq!((alone.verdict, &*alone.findings), (Verdict::Intact, &[][..]));
    let is_told = |report: &Report| {
        let told = report.not_checked.iter().filter(|told| told.contains("whether ids of records"));
        told.count()
    };
    assert_eq!(is_told(&alone), 1, "{alone:#?}");
    let both = verify_together((&archive, options()), (&path, options()), &mut |_| {}).unwrap();
    assert_eq!(both.verdict, Verdict::ForbiddenEvents, "{both:#?}");
    assert_eq!((is_told(&both.log), is_told(&both.archive)), (0, 0), "{both:#?}");
    expect_one(&both.log, second, 1, "INITIALIZATION");
}

#[test]
fn what_a_log_begins_with_alive_begins_no_second_time_in_it() {
    let loop_id = HandMadeLog::new().initialize("sh -c true").loop_id();
    let (directory, second) = moved(
        |log| drop(log.awaited("sh -c true")),
        |log| {
            log.end(&loop_id);
            forged(log, &World::default(), &first_run())
        },
    );
    let log_itself = DirectoryStorage::new(directory.path().join("log"));
    let report = verify(&log_itself, options(), &mut |_| {}).unwrap();
    expect_one(&report, second, 1, "INITIALIZATION");
}

/// Whoever writes looks a name up in the log, and not in archives.
#[test]
fn a_thread_may_have_the_name_of_one_that_is_in_an_archive() {
    let begun = |log: &mut HandMadeLog| {
        register(log);
        talk_and_close(log);
    };
    let (directory, _) = moved(begun, talk_again);
    let path = |name| DirectoryStorage::new(directory.path().join(name));
    let (archive, log) = (path("archive"), path("log"));
    let both = verify_together((&archive, options()), (&log, options()), &mut |_| {}).unwrap();
    assert_eq!(both.verdict, Verdict::Intact, "{both:#?}");
    let joined = with_archives(path("log"), Vec::new());
    let state = rebuild(&joined, Until::End, options(), &mut |_| {}, &mut |_| {}).unwrap();
    assert_eq!((state.report.verdict, state.report.findings), (Verdict::Intact, vec![]));
}

/// Nobody can tell which of the records behind a second beginning are about which run.
#[test]
fn a_run_that_began_twice_is_not_told() {
    let (directory, mut log) = (TempDir::new().unwrap(), HandMadeLog::new());
    let (loop_id, other) = (log.run(), log.run());
    let second = forged(&mut log, &World::default(), &first_run());
    log.write(directory.path());
    let storage = DirectoryStorage::new(directory.path());
    let found = |id: &str| run_of(&storage, id, options()).unwrap().0;
    let twice = BegunTwice { what: BegunOnce::Loop(loop_id.clone()), first: 1, again: second };
    assert!(matches!(found(&loop_id), RunLookup::BegunTwice(told) if told == twice));
    assert!(matches!(found(&other), RunLookup::Run(_)));
    let (all, by) = (RunFilter::default(), Some("ci".to_string()));
    let by = RunFilter { by, ..RunFilter::default() };
    // Of the newest one alone, only the second beginning is met.
    for (wanted, most, count) in [(&all, 1, 0), (&all, 2, 1), (&all, 9, 1), (&by, 9, 1)] {
        let range = Filter::default();
        let listed = find_runs(&storage, &range, wanted, most, options(), &mut |_| {}).unwrap();
        let told: Vec<_> = listed.runs.iter().map(|run| run.entity.loop_id()).collect();
        let uncounted: Vec<_> = listed.uncounted.iter().map(|it| it.twice.as_ref()).collect();
        assert_eq!((told, uncounted), (vec![other.as_str(); count], vec![Some(&twice)]), "{most}");
    }
}

/// Only a reading of the whole log tells what a state tells of that began under a used id.
#[test]
fn a_state_that_forgot_what_ended_is_not_told_where_that_began_again_behind_it() {
    let (directory, mut log) = (TempDir::new().unwrap(), HandMadeLog::new());
    register(&mut log);
    talk_and_close(&mut log);
    settle_questions(&mut log, 0..MAX_CLOSED_DECISION_POINTS as u64 + 1);
    let told = |log: &HandMadeLog, tells| {
        log.write(directory.path());
        let storage = DirectoryStorage::new(directory.path());
        stated(&storage, tells, options()).unwrap().is_some()
    };
    log.snapshot(directory.path());
    give(&mut log, &asker(), &question(u64::MAX).1);
    assert!(told(&log, Tells::Questions) && told(&log, Tells::Threads), "both begin once");
    give(&mut log, &asker(), &question(0).1);
    assert!(!told(&log, Tells::Questions));
    assert!(told(&log, Tells::Threads), "it tells of no decision");
    talk_again(&mut log);
    assert!(!told(&log, Tells::Threads));
    // What a snapshot holds is as the record behind it states.
    log.snapshot(directory.path());
    assert!(told(&log, Tells::Questions) && told(&log, Tells::Threads));
}
