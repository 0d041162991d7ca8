//! What is said of an action that was approved and done is a claim, and nothing more.

use crate::points::{APPROVER, Stage, action, agent, bound, choice, person, told};
use holdpoint_domain::decision_point::{
    ClaimedStatus, DecisionPoint, MAX_EXCERPT_BYTES, OutcomeClaim,
};
use holdpoint_testing::story::points::claim;

/// What a host says of an approved action is said once, by whoever spent the approval, and changes
/// nothing of what was decided.
#[test]
fn an_outcome_is_claimed_once_by_whoever_spent_the_approval() {
    let mut stage = Stage::new();
    let id = stage.ask(bound());
    let (spender, claimed) = (agent("a"), claim(ClaimedStatus::Failed));
    assert_eq!(told(&stage.report(&id, &spender, claimed.clone())), Err("NOT_SPENT"));
    stage.respond(&id, &person(APPROVER), choice("yes")).unwrap();
    assert_eq!(told(&stage.report(&id, &spender, claimed.clone())), Err("NOT_SPENT"));
    stage.consume(&id, &spender, &action("rm")).unwrap();
    let before = stage.point(&id).clone();
    assert_eq!(told(&stage.report(&id, &agent("b"), claimed.clone())), Err("NOT_SPENDER"));
    let long = OutcomeClaim { head: "x".repeat(MAX_EXCERPT_BYTES + 1).into(), ..claimed.clone() };
    assert_eq!(told(&stage.report(&id, &spender, long)), Err("TOO_LONG"));
    let nameless = OutcomeClaim { tool_use_id: "".into(), ..claimed.clone() };
    assert!(stage.report(&id, &spender, nameless).is_err());
    assert_eq!(told(&stage.report(&id, &spender, claimed.clone())), Ok(vec!["outcome_reported"]));
    for again in [claimed, claim(ClaimedStatus::Succeeded)] {
        assert_eq!(told(&stage.report(&id, &spender, again)), Err("OUTCOME_REPORTED"));
    }
    let point = stage.point(&id);
    let outcome = point.outcome.clone().unwrap();
    assert_eq!((outcome.status, outcome.by.id.as_str()), (ClaimedStatus::Failed, "a"));
    let unchanged = DecisionPoint { outcome: None, version: before.version, ..point.clone() };
    assert_eq!(unchanged, before);
}
