//! When a person is asked, and who may answer.

use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::human_decision::{
    HoldPolicy, HoldTerms, HumanDecisionTimeout, MAX_TIMEOUT_MS, warning_time,
};

fn terms(json: &str) -> HoldTerms {
    serde_json::from_str(json).unwrap()
}

#[test]
fn who_may_answer_follows_the_terms() {
    let anyone = HoldTerms::of(HoldPolicy::After);
    assert!(anyone.may_answer("alice", None));
    assert!(!anyone.may_answer("alice", Some("boss")));
    assert!(!anyone.may_override("alice"));
    let named = terms(
        r#"{"policy":"AFTER","approvers":["alice"],"override_approvers":["carol"],
            "escalation_targets":[{"target":"boss","timeout_ms":1000},
            {"target":"board","approvers":["dave"],"timeout_ms":1000}]}"#,
    );
    assert_eq!(named.check(), Ok(()));
    assert!(named.may_answer("alice", None) && !named.may_answer("bob", None));
    assert!(named.may_answer("boss", Some("boss")) && !named.may_answer("alice", Some("boss")));
    assert!(named.may_answer("dave", Some("board")) && !named.may_answer("board", Some("board")));
    assert!(named.may_override("carol") && !named.may_override("alice"));
}

#[test]
fn terms_that_cannot_be_recorded_are_refused() {
    let bad = [
        r#"{"policy":"AFTER","approvers":[" "]}"#,
        r#"{"policy":"AFTER","override_approvers":["a\u202eb"]}"#,
        r#"{"policy":"AFTER","approvers":["SYSTEM_TIMEOUT"]}"#,
        r#"{"policy":"AFTER","approvers":["system_timeout"]}"#,
        r#"{"policy":"AFTER","override_approvers":["System_Timeout"]}"#,
        r#"{"policy":"AFTER","escalation_targets":[{"target":"a","timeout_ms":1},
            {"target":"a","timeout_ms":1}]}"#,
    ];
    for json in bad {
        assert!(terms(json).check().is_err(), "{json}");
    }
    let undecodable = [
        r#"{"policy":"SOMETIMES"}"#,
        r#"{"policy":"NEVER","decision_timeout_ms":0}"#,
        r#"{"policy":"NEVER","else":1}"#,
    ];
    for json in undecodable {
        assert!(serde_json::from_str::<HoldTerms>(json).is_err(), "{json}");
    }
}

#[test]
fn timeouts_lie_between_a_millisecond_and_366_days() {
    for milliseconds in [1, 1000, MAX_TIMEOUT_MS] {
        let timeout = HumanDecisionTimeout::from_milliseconds(milliseconds).unwrap();
        assert_eq!(timeout.milliseconds(), milliseconds);
    }
    for milliseconds in [0, MAX_TIMEOUT_MS + 1, u64::MAX] {
        assert!(HumanDecisionTimeout::from_milliseconds(milliseconds).is_err(), "{milliseconds}");
    }
    let five_minutes = HumanDecisionTimeout::from_milliseconds(300_000);
    assert_eq!(five_minutes, Ok(HumanDecisionTimeout::DEFAULT));
    assert!(serde_json::from_str::<HumanDecisionTimeout>("0").is_err());
}

#[test]
fn the_warning_comes_at_exactly_80_percent_rounded_down() {
    let at = Timestamp::from_nanoseconds;
    for (whole, warning) in [(0, 0), (1, 0), (2, 1), (4, 3), (5, 4), (10, 8), (1_000_003, 800_002)]
    {
        assert_eq!(warning_time(at(7), at(7 + whole)), at(7 + warning), "{whole}");
    }
    assert!(warning_time(at(0), at(u64::MAX)) < at(u64::MAX));
}

#[test]
fn a_deadline_past_the_calendar_is_none() {
    let late = Timestamp::from_nanoseconds(u64::MAX - 1);
    assert_eq!(HumanDecisionTimeout::DEFAULT.deadline(late), None);
}
