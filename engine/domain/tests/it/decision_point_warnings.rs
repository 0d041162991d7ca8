//! A warning when 80 % of the time to answer a question are over: one event of the next writer.

use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::decision_point::{DecisionPointEvent, DecisionPointWarned, OnTimeout};
use holdpoint_domain::{Event, World};
use holdpoint_testing::story::Story;

/// A question that has a minute, and what becomes of it then.
fn asked(on_timeout: OnTimeout) -> (Story, String) {
    let mut story = Story::adopted();
    let id = story.asks_with(|c| c.on_timeout = Some(on_timeout));
    (story, id)
}

fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.kind().name).collect()
}

const WARNED: &str = "decision_point.warned";

#[test]
fn a_question_is_warned_of_once_when_80_percent_of_its_time_are_over() {
    for on_timeout in [OnTimeout::Default, OnTimeout::Abort, OnTimeout::Hold] {
        let (mut story, id) = asked(on_timeout);
        let created_at = story.world.decision_point(&id).unwrap().created_at;
        story.now = created_at.plus_ms(47_999);
        assert_eq!(story.world.due(story.now), []);
        assert_eq!(story.when(story.lets_expire(&id)).unwrap_err().code(), "NOTHING_DUE");
        story.now = created_at.plus_ms(48_000);
        let due = story.world.due(story.now);
        assert_eq!(due.len(), 1, "{due:?}");
        assert_eq!((due[0].due_at, due[0].timed_out), (created_at.plus_ms(48_000), false));
        let expires = story.lets_expire(&id);
        assert_eq!(names(&story.given(expires)), [WARNED]);
        let point = story.world.decision_point(&id).unwrap();
        assert!(point.is_open());
        let view = serde_json::to_value(point.view(story.now, None)).unwrap();
        assert_eq!(view["warning"]["due_at"], view["warning_at"]);
        assert_eq!(view["warning_at"], serde_json::json!(created_at.plus_ms(48_000)));
        assert_eq!(story.world.due(story.now), [], "once");
        assert_eq!(story.when(story.lets_expire(&id)).unwrap_err().code(), "NOTHING_DUE");
        let carried = World::from_carried(&story.world.carry()).unwrap();
        assert_eq!(carried.decision_point(&id), story.world.decision_point(&id));
        story.now = created_at.plus_ms(60_000);
        let over: &[&str] = match on_timeout {
            OnTimeout::Default => &["decision_point.default_taken"],
            OnTimeout::Abort => &["decision_point.aborted"],
            OnTimeout::Hold => &[],
        };
        let ended = story.when(story.lets_expire(&id)).map(|events| names(&events));
        assert_eq!(ended.unwrap_or_default(), over);
    }
}

/// Whoever can be asked no more is warned of nothing; who still can is, however late.
#[test]
fn the_end_of_a_question_comes_before_a_warning_of_it() {
    for (on_timeout, expected) in [
        (OnTimeout::Default, "decision_point.default_taken"),
        (OnTimeout::Abort, "decision_point.aborted"),
        (OnTimeout::Hold, WARNED),
    ] {
        let (mut story, id) = asked(on_timeout);
        story.wait(60_000);
        let expires = story.lets_expire(&id);
        assert_eq!(names(&story.given(expires)), [expected]);
        assert_eq!(story.world.due(story.now), []);
    }
}

/// An answer at 80 % of the time counts.
#[test]
fn a_warning_that_is_due_bars_no_answer() {
    let (mut story, id) = asked(OnTimeout::Abort);
    story.wait(50_000);
    let person = holdpoint_testing::story::points::person("alice");
    let answer = story.responds(&id, person, holdpoint_testing::story::points::option("go"));
    assert_eq!(names(&story.given(answer)), ["decision_point.resolved"]);
    assert_eq!(story.world.due(story.now), []);
}

#[test]
fn a_warning_that_comes_early_twice_or_late_is_found_and_changes_nothing() {
    let (mut story, id) = asked(OnTimeout::Abort);
    let created_at = story.world.decision_point(&id).unwrap().created_at;
    let due_at = created_at.plus_ms(48_000);
    let warned =
        |due_at| DecisionPointWarned { decision_id: id.as_str().into(), due_at, steady: None };
    let forged = |story: &mut Story, body: DecisionPointWarned| {
        let before = story.world.decision_point(&id).cloned().unwrap();
        let found = story.record(DecisionPointEvent::from(body).into());
        assert!(found.iter().any(|it| it.rule == Rule::DecisionPointExpiry), "{found:?}");
        assert_eq!(story.world.decision_point(&id), Some(&before));
    };
    let mut early = story.clone();
    early.now = created_at;
    forged(&mut early, warned(due_at));
    story.now = due_at;
    forged(&mut story, warned(due_at.plus_ms(1)));
    let mut late = story.clone();
    assert_eq!(story.record(DecisionPointEvent::from(warned(due_at)).into()), []);
    forged(&mut story, warned(due_at));
    late.now = created_at.plus_ms(60_000);
    forged(&mut late, warned(due_at));
}
