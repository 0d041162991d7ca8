//! Limits end by the log's time or by this machine's own clock, whichever says so first, and while
//! somebody waits by the monotonic clock: whatever other clocks did.

use holdpoint_domain::application::RecordEvent;
use holdpoint_domain::core::actor::{Actor, Authentication, Principal};
use holdpoint_domain::core::clocks::EndedBy;
use holdpoint_domain::decision_point::{
    CreateDecisionPoint, DecisionPointCommand, DecisionPointEvent, OnTimeout,
};
use holdpoint_domain::{ActorId, Command, Event};
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{Clock as _, Origin, Submitted, WaitOutcome};
use holdpoint_testing::shell::commands::fresh;
use holdpoint_testing::shell::{Place, SECOND_NS, SetClock};
use std::time::Duration;

const HOUR_NS: i64 = 3_600_000_000_000;

fn ada() -> Principal {
    Principal {
        kind: Actor::Human,
        id: "ada".into(),
        authenticated_by: Authentication::None,
        means: "a test".into(),
    }
}

/// A question with a default: a minute to answer.
fn asks(engine: &Engine) -> String {
    let mut question = CreateDecisionPoint::asking(fresh(), ada(), "Deploy?", Vec::new());
    question.options = serde_json::from_value(serde_json::json!([
        { "id": "go", "short": "go", "label": "Go" }
    ]))
    .unwrap();
    question.default_option = Some("go".to_string());
    question.on_timeout = Some(OnTimeout::Default);
    question.timeout_ms = Some(60_000);
    let id = question.decision_id();
    let actor = ActorId { kind: Actor::Human, id: "ada".to_string() };
    let origin = Origin { actor, correlation: "a story".to_string(), causation: None };
    let command =
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(Box::new(question)));
    let submitted = engine.submit(&origin, (), &command).unwrap();
    assert!(matches!(submitted, Submitted::Accepted(_)), "{submitted:?}");
    id
}

/// A clock that is two hours ahead writes, and is set right.
fn ahead() -> (Place, SetClock, Engine) {
    let (place, clock) = (Place::new(), SetClock::new());
    let engine = place.engine_with(&clock);
    clock.step(2 * HOUR_NS);
    engine
        .record(&Origin::automation("fast"), (), RecordEvent::new("s", "t", "x"))
        .unwrap()
        .accepted()
        .unwrap();
    clock.step(-2 * HOUR_NS);
    (place, clock, engine)
}

/// How a question ended; `None`: it is open.
fn ended(place: &Place) -> Option<EndedBy> {
    place.events().into_iter().find_map(|event| match event {
        Event::DecisionPoint(DecisionPointEvent::DecisionPointAborted(body)) => body.ended_by,
        Event::DecisionPoint(DecisionPointEvent::DefaultTaken(_)) => Some(EndedBy::Both),
        _ => None,
    })
}

#[test]
fn a_question_of_a_log_that_is_ahead_ends_by_the_own_clock_and_takes_no_default() {
    let (place, clock, engine) = ahead();
    assert!(
        engine.ahead_of_clock_ns().unwrap().is_some_and(|ahead_ns| ahead_ns > 7_000 * SECOND_NS)
    );
    let id = asks(&engine);
    clock.pass(59 * SECOND_NS);
    let receipts = engine.expire().unwrap();
    let codes: Vec<&str> =
        receipts.iter().flat_map(|it| &it.events).map(|it| it.kind().name).collect();
    assert_eq!(codes, ["decision_point.warned"], "nothing ends");
    clock.pass(SECOND_NS);
    assert_eq!(engine.expire().unwrap().len(), 1);
    let waited = engine.wait_for_decision(&id, Duration::from_secs(60)).unwrap();
    assert_eq!(waited.outcome, WaitOutcome::Aborted);
    engine.close().unwrap();
    assert_eq!(ended(&place), Some(EndedBy::OwnClock));
    place.assert_intact();
}

#[test]
fn a_wall_clock_that_is_set_back_lengthens_no_wait() {
    let (place, clock) = (Place::new(), SetClock::new());
    let engine = place.engine_with(&clock);
    let id = asks(&engine);
    let since = clock.now();
    clock.pass(30 * SECOND_NS);
    clock.step(-HOUR_NS);
    assert_eq!(engine.expire_waited(&id, since).unwrap().len(), 0);
    clock.pass(30 * SECOND_NS);
    assert_eq!(engine.expire().unwrap(), [], "nobody waits, and no clock says that it is over");
    assert_eq!(engine.expire_waited(&id, since).unwrap().len(), 1);
    let waited = engine.wait_for_decision(&id, Duration::from_secs(60)).unwrap();
    assert_eq!(waited.outcome, WaitOutcome::Aborted, "a default needs the wall clocks");
    engine.close().unwrap();
    assert_eq!(ended(&place), Some(EndedBy::Monotonic));
    place.assert_intact();
}
