//! A run under a key is carried out once.

use holdpoint_domain::application::RecordEvent;
use holdpoint_domain::execution_loop::HaltReason;
use holdpoint_domain::human_decision::HoldTerms;
use holdpoint_engine::Engine;
use holdpoint_engine::executor::{Discard, NoSignals, OutputSink, OutputStream};
use holdpoint_engine::shell::{
    ArchivePlan, Conditions, EarlierRun, GovernedRun, KeyedRun, NoPrompt, RunError,
};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_testing::shell::{Place, names, origin, shell};
use std::io;

fn run(engine: &Engine, run: &GovernedRun, sink: &mut dyn OutputSink) -> KeyedRun {
    let key = Conditions::once("nightly 2026-01-25");
    engine.run(&origin(), &key, run, sink, &mut NoSignals).expect("the log works")
}

fn before(keyed: KeyedRun) -> EarlierRun {
    match keyed {
        KeyedRun::Before(earlier) => earlier,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_same_run_under_its_key_is_not_started_and_answers_with_the_first_ones_loop() {
    let place = Place::new();
    let marks = place.beside("marks");
    let script = shell(&format!("echo once >> {}; exit 3", marks.display()));
    let engine = place.engine();
    let first = run(&engine, &script, &mut Discard).ended().expect("it runs");
    engine.close().expect("it closes");

    let written = place.lines().len();
    let engine = place.engine();
    let again = before(run(&engine, &script, &mut Discard));
    let refused = run(&engine, &script, &mut Discard).ended().expect_err("nothing was started");
    let RunError::BegunBefore { first_sequence } = refused else { panic!("{refused:?}") };
    assert_eq!(first_sequence, first.summary.first_sequence);
    let held = engine.run_held(
        &origin(),
        Conditions::once("nightly 2026-01-25"),
        &script,
        &HoldTerms::never(),
        &mut NoPrompt,
        &mut Discard,
        &mut NoSignals,
    );
    assert_eq!(before(held.expect("the log works")), again);
    engine.close().expect("it closes");
    assert_eq!(
        (again.loop_id, again.first_sequence),
        (first.summary.loop_id, first.summary.first_sequence)
    );
    assert_eq!(again.halted.map(|end| end.reason), Some(HaltReason::ResponseRejected));
    assert_eq!(std::fs::read_to_string(&marks).expect("it ran"), "once\n");
    let begun = place.events();
    assert_eq!(names(&begun).iter().filter(|name| **name == "initialized").count(), 1);
    assert_eq!(place.lines().len(), written);
    place.assert_intact();
}

#[test]
fn another_run_under_the_same_key_conflicts_and_is_not_started() {
    let place = Place::new();
    let engine = place.engine();
    run(&engine, &shell("exit 0"), &mut Discard).ended().expect("it runs");
    let key = Conditions::once("nightly 2026-01-25");
    let other = engine.run(&origin(), &key, &shell("exit 1"), &mut Discard, &mut NoSignals);
    let Err(RunError::Refused(refusal)) = other else { panic!("{other:?}") };
    assert_eq!(refusal.code(), "IDEMPOTENCY_CONFLICT");
    engine.close().expect("it closes");
    place.rebuilt();
}

#[test]
fn a_run_whose_records_were_archived_is_not_started_again_and_said_to_be_there() {
    let place = Place::new();
    let engine = place.engine();
    let first = run(&engine, &shell("exit 0"), &mut Discard).ended().expect("it runs");
    let archive = DirectoryStorage::new(place.beside("archive"));
    let filler = || RecordEvent::new("filler", "filled", "x".repeat(8 << 10).as_str());
    let plan = || ArchivePlan { keep_segments: 0, ..ArchivePlan::default() };
    for _ in 0..400 {
        engine.record(&origin(), (), filler()).expect("the log works").accepted().expect("it fits");
        if engine.archive(&archive, plan()).expect("it can be moved").moved.is_some() {
            break;
        }
    }
    let key = Conditions::once("nightly 2026-01-25");
    let again = engine.run(&origin(), &key, &shell("exit 0"), &mut Discard, &mut NoSignals);
    let Err(RunError::BeginningArchived { first_sequence }) = again else { panic!("{again:?}") };
    assert_eq!(first_sequence, first.summary.first_sequence);
    engine.close().expect("it closes");
}

/// Asks for the same run while it is under way.
struct Meanwhile<'a> {
    engine: &'a Engine,
    script: &'a GovernedRun,
    found: Option<EarlierRun>,
}

impl OutputSink for Meanwhile<'_> {
    fn accept(&mut self, _: OutputStream, chunk: &[u8]) -> io::Result<usize> {
        self.found = Some(before(run(self.engine, self.script, &mut Discard)));
        Ok(chunk.len())
    }
}

#[test]
fn while_the_first_run_is_under_way_its_loop_is_told_and_nobody_waits() {
    let place = Place::new();
    let (engine, script) = (place.engine(), shell("echo under way"));
    let mut sink = Meanwhile { engine: &engine, script: &script, found: None };
    let report = run(&engine, &script, &mut sink).ended().expect("it runs");
    let found = sink.found.expect("the command said something");
    assert_eq!((found.loop_id, found.halted), (report.summary.loop_id, None));
    assert_eq!(report.exit_status, 0);
    engine.close().expect("it closes");
    place.rebuilt();
}
