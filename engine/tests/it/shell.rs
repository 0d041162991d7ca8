//! The shell: what a receipt promises, what a refusal leaves untouched, what the clock may do, and
//! what becomes of a state whose log failed.

use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_domain::log::{ClockStepped, LogEvent};
use holdpoint_domain::{Command, Event};
use holdpoint_engine::Engine;
use holdpoint_engine::log::{AppendError, OpenError, Options, PoisonCause};
use holdpoint_engine::shell::{
    EngineError, EngineOptions, Origin, Receipt, SubmitError, Submitted,
};
use holdpoint_log_files::{Extent, SurveyOptions, survey};
use holdpoint_log_format::recovery::Row;
use holdpoint_log_format::{BootId, Lock};
use holdpoint_testing::shell::brittle::Brittle;
use holdpoint_testing::shell::commands::{complete, dispatch, initialize, whole_story};
use holdpoint_testing::shell::{Place, SECOND_NS, START_NS, SetClock, names, origin};
use std::os::unix::fs::FileExt;

fn accept(engine: &Engine, command: &Command) -> Receipt {
    match engine.submit(&origin(), (), command).expect("the log works") {
        Submitted::Accepted(receipt) | Submitted::Repeated(receipt) => receipt,
        Submitted::Refused(refusal) => unreachable!("{}: {refusal}", refusal.code()),
    }
}

/// A new loop in INIT.
fn new_loop(engine: &Engine) -> (String, Receipt) {
    let command = initialize(1);
    (
        command.loop_id(),
        accept(engine, &Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command))),
    )
}

/// A loop from its beginning to its end.
fn settled_loop(engine: &Engine) -> String {
    let (loop_id, _) = new_loop(engine);
    for command in whole_story(&loop_id) {
        accept(engine, &command);
    }
    loop_id
}

#[test]
fn a_receipt_names_the_records_that_readers_find() {
    let place = Place::new();
    let engine = place.engine();
    let (loop_id, first) = new_loop(&engine);
    let second = accept(&engine, &dispatch(&loop_id));
    assert_eq!((first.first_sequence, second.first_sequence), (2, first.last_sequence + 1));
    let lines = place.lines();
    for receipt in [&first, &second] {
        let of_receipt =
            |sequence| (receipt.first_sequence..=receipt.last_sequence).contains(&sequence);
        let found: Vec<_> = lines.iter().filter(|line| of_receipt(line.sequence)).collect();
        let events: Vec<_> = found.iter().map(|line| line.envelope.event.clone()).collect();
        assert_eq!(events, receipt.events);
        assert!(found.iter().all(|line| Some(line.time) == receipt.at.map(|at| at.nanoseconds())));
    }
    assert_eq!(lines.last().map(|line| line.sequence), Some(second.last_sequence));
}

#[test]
fn every_record_says_who_asked_within_what_story_and_because_of_what() {
    let place = Place::new();
    let engine = place.engine();
    let (loop_id, first) = new_loop(&engine);
    let caused = Origin { causation: Some(first.last_sequence), ..origin() };
    let submitted = engine.submit(&caused, (), &dispatch(&loop_id)).expect("the log works");
    let receipt = submitted.receipt().expect("it is accepted");
    for line in place.asked_lines() {
        let envelope = line.envelope;
        assert_eq!((envelope.actor, envelope.correlation.as_str()), (origin().actor, "a story"));
        let is_caused = line.sequence >= receipt.first_sequence;
        assert_eq!(envelope.causation, is_caused.then_some(first.last_sequence));
    }
}

#[test]
fn a_refusal_writes_nothing() {
    let place = Place::new();
    let engine = place.engine();
    let (loop_id, _) = new_loop(&engine);
    engine.close().expect("it closes");
    let engine = place.engine();
    let before = without_lock(&place);
    let refused = engine.submit(&origin(), (), &complete(&loop_id)).expect("the log works");
    assert!(matches!(&refused, Submitted::Refused(refusal) if refusal.code() == "WRONG_STATE"));
    let nobody = Origin { correlation: "\u{200b}".to_string(), ..origin() };
    let refused = engine.submit(&nobody, (), &dispatch(&loop_id)).expect("the log works");
    assert!(
        matches!(&refused, Submitted::Refused(refusal) if refusal.code() == "INVALID_IDENTIFIER")
    );
    engine.close().expect("it closes");
    assert_eq!(without_lock(&place), before);
}

/// LOCK says who has a turn, refused or not; it is no part of what is recorded.
fn without_lock(place: &Place) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    place.bytes().into_iter().filter(|(path, _)| !path.ends_with("LOCK")).collect()
}

#[test]
fn two_engines_on_one_log_see_each_others_records() {
    let place = Place::new();
    let (one, other) = (place.engine(), place.engine());
    let (loop_id, first) = new_loop(&one);
    let second = accept(&other, &dispatch(&loop_id));
    assert_eq!(second.first_sequence, first.last_sequence + 1);
    let seen = one.query(|world| world.live_loop(&loop_id).map(|entity| entity.attempt_count()));
    assert_eq!(seen.expect("the log works"), Some(1));
    let (one, other) = (one.query(|w| w.fingerprint()), other.query(|w| w.fingerprint()));
    assert_eq!(one.expect("the log works"), other.expect("the log works"));
}

#[test]
fn many_writers_never_share_a_sequence() {
    let place = Place::new();
    let engines = [place.engine(), place.engine()];
    let mut receipts: Vec<Receipt> = std::thread::scope(|scope| {
        let writers: Vec<_> = engines
            .iter()
            .chain(&engines)
            .map(|engine| scope.spawn(|| (0..8).map(|_| new_loop(engine).1).collect::<Vec<_>>()))
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().expect("a writer")).collect()
    });
    receipts.sort_by_key(|receipt| receipt.first_sequence);
    let mut next = 2;
    for receipt in receipts {
        assert_eq!(receipt.first_sequence, next);
        next = receipt.last_sequence + 1;
    }
    for engine in &engines {
        let seen = engine.query(|world| world.live_loops().count());
        assert_eq!(seen.expect("the log works"), 32);
    }
    place.assert_intact();
}

#[test]
fn a_step_of_the_wall_clock_by_a_second_is_on_record_and_a_smaller_one_is_not() {
    let place = Place::new();
    let clock = SetClock::new();
    let engine = place.engine_with(&clock);
    new_loop(&engine);
    clock.pass(50 * SECOND_NS);
    clock.step(999_999_999);
    new_loop(&engine);
    assert!(steps(&place).is_empty());
    clock.step(7_000_000_000);
    new_loop(&engine);
    engine.close().expect("it closes");
    clock.step(-3_000_000_000);
    new_loop(&place.engine_with(&clock));
    assert_eq!(steps(&place), [7_000_000_000, -3_000_000_000]);
}

fn steps(place: &Place) -> Vec<i64> {
    let step = |event: &Event| match event {
        Event::Log(LogEvent::ClockStepped(ClockStepped { step_ns })) => Some(*step_ns),
        _ => None,
    };
    place.events().iter().filter_map(step).collect()
}

#[test]
fn recorded_time_never_goes_back_when_the_clock_does() {
    let place = Place::new();
    let clock = SetClock::new();
    let engine = place.engine_with(&clock);
    for step in [0, 5_000_000_000, -60_000_000_000, 1, -1, 2_000_000_000] {
        clock.step(step);
        new_loop(&engine);
    }
    let times: Vec<u64> = place.lines().iter().map(|line| line.time).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!((times.first(), times.last()), (Some(&START_NS), Some(&(START_NS + 5 * SECOND_NS))));
    place.rebuilt();
}

#[test]
fn recovery_is_on_record_with_what_it_cut_and_where_the_copy_is() {
    let place = Place::new();
    let engine = place.engine();
    let (_, receipt) = new_loop(&engine);
    engine.close().expect("it closes");
    let torn = tear(&place);
    let engine = place.engine();
    let recovered = engine.report().recovered.clone();
    assert_eq!(recovered.cut_bytes, torn.len() as u64);
    let Some(Event::Log(LogEvent::RecoveryPerformed(event))) = place.events().pop() else {
        unreachable!("recovery is the newest event")
    };
    assert_eq!(event.last_kept_sequence, receipt.last_sequence);
    assert_eq!(
        (event.cut_bytes, event.copied_to.as_deref()),
        (torn.len() as u64, recovered.copied_to.as_deref())
    );
    let copy = event.copied_to.expect("what was cut is copied aside");
    let copy = std::fs::read(place.log().join(&*copy)).expect("the copy");
    assert!(copy.starts_with(&torn));
    assert_eq!(engine.query(|world| world.live_loops().count()).expect("the log works"), 1);
    place.rebuilt();
    place.assert_intact();
}

#[test]
fn what_a_live_engine_cuts_on_taking_over_is_on_record_too() {
    let place = Place::new();
    let engine = place.engine();
    new_loop(&engine);
    engine.expire().expect("the log works");
    let torn = tear(&place);
    assert_eq!(engine.query(|world| world.live_loops().count()).expect("the log works"), 1);
    let Some(Event::Log(LogEvent::RecoveryPerformed(event))) = place.events().pop() else {
        unreachable!("recovery is the newest event")
    };
    assert_eq!(event.cut_bytes, torn.len() as u64);
    let (_, receipt) = new_loop(&engine);
    assert!(receipt.first_sequence > event.last_kept_sequence + 1);
    engine.close().expect("it closes");
    place.rebuilt();
    place.assert_intact();
}

/// What a power loss in the middle of a write may leave: bytes after the last record, and a LOCK
/// of another boot.
fn tear(place: &Place) -> Vec<u8> {
    let options = SurveyOptions::new(Extent::FromAnchor, BootId::UNKNOWN);
    let found = survey(&place.storage(), options, &mut |_, _| {}).expect("it can be read");
    let end = found.last.expect("a segment").run.end_offset;
    let path = place.log().join("segments/00000000000000000001.seg");
    let torn = vec![0xab; 100];
    let file = std::fs::OpenOptions::new().write(true).open(path).expect("the segment");
    file.write_all_at(&torn, end).expect("it can be written");
    let lock = place.log().join("LOCK");
    let before = Lock::decode(&std::fs::read(&lock).expect("LOCK")).expect("it decodes");
    let elsewhere = Lock { boot: BootId([7; 16]), ..before };
    std::fs::write(lock, elsewhere.encode()).expect("it can be written");
    torn
}

#[test]
fn a_log_without_head_is_refused_untouched_unless_told_to_go_on_and_that_is_on_record() {
    let place = Place::new();
    let engine = place.engine();
    let (_, receipt) = new_loop(&engine);
    engine.close().expect("it closes");
    std::fs::remove_file(place.log().join("HEAD")).expect("HEAD is there");
    let before = place.bytes();
    let refused = Engine::open_with(
        holdpoint_log_files::DirectoryStorage::new(place.log()),
        holdpoint_engine::shell::EngineOptions::simulated(),
    )
    .err()
    .expect("it is refused");
    let is_no_witness =
        matches!(&refused, EngineError::Open(OpenError::Refused { row: Row::NoWitness, .. }));
    assert!(is_no_witness, "{refused}");
    assert_eq!(place.bytes(), before);

    let log = Options::default().without_head(true);
    let options = EngineOptions::simulated().log(log);
    let engine = Engine::open_with(place.storage(), options).expect("it goes on");
    let Some(Event::Log(LogEvent::HeadMissingAccepted(event))) = place.events().pop() else {
        unreachable!("it is the newest event")
    };
    assert_eq!((event.first_sequence, event.last_sequence), (1, receipt.last_sequence));
    engine.close().expect("it closes");
    assert!(place.log().join("HEAD").exists());
    place.engine().close().expect("it opens and closes as ever");
}

#[test]
fn a_failed_sync_poisons_the_engine_with_its_first_cause_and_discards_the_state() {
    let place = Place::new();
    let disk = Brittle::new(place.storage());
    let engine = Engine::open_with(disk.clone(), EngineOptions::simulated()).expect("it opens");
    let acknowledged = initialize(1);
    let command =
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(acknowledged.clone()));
    engine
        .submit(&origin(), (), &command)
        .expect("the disk still works")
        .accepted()
        .expect("it begins");
    disk.break_down();
    let failed = engine.submit(
        &origin(),
        (),
        &Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize(1))),
    );
    let Err(SubmitError::Append(AppendError::Failed(cause))) = failed else {
        unreachable!("{failed:?}")
    };
    for command in [
        dispatch(&acknowledged.loop_id()),
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize(1))),
    ] {
        let again = engine.submit(&origin(), (), &command);
        assert!(is_poisoned_by(&again, &cause), "{again:?}");
    }
    let asked = engine.query(|world| world.live_loops().count());
    assert!(is_poisoned_by(&asked, &cause), "{asked:?}");
    assert!(engine.close().is_err());

    let engine = place.engine();
    let is_there = engine.query(|world| world.live_loop(&acknowledged.loop_id()).is_some());
    assert!(is_there.expect("the log works again"));
    place.rebuilt();
}

fn is_poisoned_by<T>(result: &Result<T, SubmitError>, cause: &PoisonCause) -> bool {
    matches!(result, Err(SubmitError::Append(AppendError::Poisoned(found))) if found == cause)
}

#[test]
fn settled_loops_leave_the_hot_state_and_stay_in_the_counts() {
    let place = Place::new();
    let engine = place.engine();
    let settled: Vec<String> = (0..3).map(|_| settled_loop(&engine)).collect();
    let (live, _) = new_loop(&engine);
    for engine in [&engine, &place.engine()] {
        let hot = engine.query(|world| {
            let ids = world.live_loops().map(|entity| entity.loop_id().to_string());
            (
                ids.collect::<Vec<_>>(),
                world.settled_loops().count(),
                world.totals().loops_initialized,
            )
        });
        assert_eq!(hot.expect("the log works"), (vec![live.clone()], 0, 4));
    }
    let rebuilt = place.rebuilt();
    assert!(settled.iter().all(|id| rebuilt.find_loop(id).is_some_and(|found| found.is_settled())));
}

#[test]
fn a_settled_loop_is_final() {
    let place = Place::new();
    let engine = place.engine();
    let loop_id = settled_loop(&engine);
    for command in whole_story(&loop_id) {
        let refused = engine.submit(&origin(), (), &command).expect("the log works");
        assert!(
            matches!(refused, Submitted::Refused(refusal) if refusal.code() == "LOOP_NOT_LIVE")
        );
    }
    let expected = ["initialized", "observer_attached", "evidence_captured"];
    assert_eq!(names(&place.events()).get(..3), Some(&expected[..]));
}
