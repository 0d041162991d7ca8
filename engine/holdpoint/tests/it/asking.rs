//! A question is asked and waited for in one call, and the first answer of a person counts.

use holdpoint::{
    Conditions, DecisionPointState, DirectoryStorage, Engine, EngineOptions, Origin, Question,
    RecordEvent, Submitted, Verdict, WaitOutcome, ask, respond, verify,
};
use std::path::Path;
use std::time::Duration;

/// Far longer than anything takes: a test that waits so long has failed.
const LONG: Duration = Duration::from_secs(120);

/// An engine to which everybody is the person whose name is given.
fn simulated(log: &Path) -> Engine {
    Engine::open_with(DirectoryStorage::new(log), EngineOptions::simulated()).unwrap()
}

/// Answers the first question that is asked, in a process of its own as it were.
fn answer(log: &Path, who: &Origin, option: &str) -> Submitted {
    let engine = simulated(log);
    let mut following = engine.subscribe(0).unwrap();
    loop {
        let record = following.next_timeout(LONG).unwrap().expect("a question");
        if let Some(decision_id) = record.envelope.event.decision_point() {
            return respond(&engine, who, decision_id, option).unwrap();
        }
    }
}

#[test]
fn an_answer_from_another_process_ends_the_wait() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    let engine = simulated(&log);
    let cache = Question::choice("Which cache?").option("redis", "Redis").option("memory", "RAM");
    let waited = std::thread::scope(|scope| {
        scope.spawn(|| answer(&log, &Origin::human("ada"), "redis"));
        ask(&engine, &Origin::agent("agent-7"), (), &cache, LONG).unwrap()
    });
    assert_eq!(waited.outcome, WaitOutcome::Answered);
    assert_eq!(waited.point.selected_option(), Some("redis"));
    engine.close().unwrap();
    assert_eq!(verify(&log).unwrap().verdict, Verdict::Intact);
}

#[test]
fn what_is_asked_again_under_its_key_is_answered_once() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    let engine = simulated(&log);
    let (shop, key) = (Origin::automation("shop").within("order-1"), Conditions::once("refund"));
    let refund = Question::approval("Refund?").about("order-1").context("12 EUR");
    let first = std::thread::scope(|scope| {
        scope.spawn(|| answer(&log, &Origin::human("ada"), "approve"));
        ask(&engine, &shop, &key, &refund, LONG).unwrap()
    });
    assert!(first.point.approves());
    let again = ask(&engine, &shop, &key, &refund, LONG).unwrap();
    assert_eq!(again.point.decision_id, first.point.decision_id);
    assert!(again.point.approves());
}

#[test]
fn nobody_but_a_person_answers_and_silence_decides_nothing() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    let engine = Engine::open(&log).unwrap();
    let shop = Origin::automation("shop");
    let soon = Duration::from_millis(50);
    let asked = ask(&engine, &shop, (), &Question::approval("Refund?"), soon).unwrap();
    assert_eq!(asked.outcome, WaitOutcome::Aborted);
    assert_eq!(asked.point.state, DecisionPointState::Aborted);
    assert!(!asked.point.approves());
    let late = respond(&engine, &shop, &asked.point.decision_id, "approve").unwrap();
    assert!(matches!(late, Submitted::Refused(_)), "{late:?}");
    engine.close().unwrap();
    assert!(!verify(&log).unwrap().failed());
}

#[test]
fn a_question_in_a_transaction_is_asked_with_its_event_or_not_at_all() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    let engine = simulated(&log);
    let (shop, key) = (Origin::automation("shop").within("order-1"), Conditions::once("refund"));
    let refund = Question::approval("Refund?").about("order-1");
    let both = |version: u64| {
        let requested = RecordEvent::new("order-1", "refund.requested", "1200");
        let command = refund.command(&engine, &shop, LONG).unwrap();
        engine.transaction(&shop).record(requested).expecting(version).submit(command)
    };
    assert!(matches!(both(7).commit(()).unwrap(), Submitted::Refused(_)));
    assert_eq!(engine.query(|world| world.live_decision_points().count()).unwrap(), 0);

    let first = both(0).commit(&key).unwrap().accepted().unwrap();
    let again = both(0).commit(&key).unwrap();
    assert_eq!(again, Submitted::Repeated(first.clone()), "its random bits are no part of it");
    let id = first.events.iter().find_map(|event| event.decision_point()).unwrap();
    respond(&engine, &Origin::human("ada"), id, "approve").unwrap().accepted().unwrap();
    assert!(engine.wait_for_decision(id, LONG).unwrap().point.approves());
}
