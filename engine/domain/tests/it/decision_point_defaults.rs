//! What silence comes to: the default that was named, unless the answer is a person's, and nothing
//! once it is dropped.

use crate::points::{APPROVER, REQUESTER, Stage, person, policy, refinement, timed, told};
use holdpoint_domain::Envelope;
use holdpoint_domain::decision_point::{CreateDecisionPoint, OnTimeout, RefineDecisionPoint};
use holdpoint_testing::story::adoption;

/// Where silence took the default, it aborts once there is none.
#[test]
fn a_refinement_drops_the_default_or_changes_it() {
    for (default_option, drop_default, then) in [
        (None, true, (None, OnTimeout::Abort)),
        (Some("no".to_string()), false, (Some("no"), OnTimeout::Default)),
    ] {
        let mut stage = Stage::new();
        let Envelope { actor, event, .. } = adoption(&stage.world);
        stage.record(&actor, event);
        let first = stage.ask(timed(OnTimeout::Default));
        let id = stage.guide(&first, &person(APPROVER), "Smaller.");
        let by = person(REQUESTER);
        let both = Some("no".to_string());
        let refinement = RefineDecisionPoint { default_option, ..refinement(&id, &by) };
        let contradicts =
            RefineDecisionPoint { default_option: both, drop_default: true, ..refinement.clone() };
        assert_eq!(told(&stage.refine(contradicts)), Err("BAD_DEFAULT"));
        let refined = stage.refine(RefineDecisionPoint { drop_default, ..refinement });
        assert_eq!(told(&refined), Ok(vec!["refined"]));
        let terms = &stage.point(&id).terms;
        assert_eq!((terms.proposal.default_option.as_deref(), terms.on_timeout), then);
    }
}

/// Silence decides by the default that was named, and approves nothing.
#[test]
fn a_default_with_a_time_to_answer_is_taken_unless_somebody_has_to_approve() {
    type Changed = fn(&mut CreateDecisionPoint);
    let cases: [(Changed, OnTimeout); 7] = [
        (|_| {}, OnTimeout::Default),
        (|c| c.default_option = None, OnTimeout::Abort),
        (|c| c.timeout_ms = None, OnTimeout::Abort),
        (|c| c.policy = Some(policy(&[], 1)), OnTimeout::Abort),
        (|c| c.blocks = vec!["deploy".into()], OnTimeout::Abort),
        (|c| c.on_timeout = Some(OnTimeout::Abort), OnTimeout::Abort),
        (|c| c.on_timeout = Some(OnTimeout::Hold), OnTimeout::Hold),
    ];
    for (number, (change, expected)) in cases.into_iter().enumerate() {
        let mut stage = Stage::new();
        let blocks = Vec::new();
        let mut asked =
            CreateDecisionPoint { on_timeout: None, blocks, ..timed(OnTimeout::Default) };
        change(&mut asked);
        let id = stage.ask(asked);
        assert_eq!(stage.point(&id).terms.on_timeout, expected, "case {number}");
    }
}
