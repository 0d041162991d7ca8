//! What silence comes to: the default that was named, unless the answer is a person's, and nothing
//! once it is dropped; and what accepting the proposal or the guidance answers.

use crate::points::{
    APPROVER, REQUESTER, Stage, approval, choice, option, person, policy, question, refinement,
    rejecting, text, timed, told, view,
};
use holdpoint_domain::decision_point::{
    CreateDecisionPoint, DecisionPointState as State, OnTimeout, RefineDecisionPoint, Response,
};

/// Where silence took the default, it aborts once there is none.
#[test]
fn a_refinement_drops_the_default_or_changes_it() {
    for (default_option, drop_default, then) in [
        (None, true, (None, OnTimeout::Abort)),
        (Some("no".to_string()), false, (Some("no"), OnTimeout::Default)),
    ] {
        let mut stage = Stage::adopted();
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
        let mut stage = Stage::adopted();
        let blocks = Vec::new();
        let mut asked =
            CreateDecisionPoint { on_timeout: None, blocks, ..timed(OnTimeout::Default) };
        change(&mut asked);
        let id = stage.ask(asked);
        assert_eq!(stage.point(&id).terms.on_timeout, expected, "case {number}");
    }
}

/// Without something that waits for it, the proposal can be accepted also before it is made anew.
#[test]
fn accepting_takes_the_proposal_of_that_round_with_its_default() {
    let by = person(APPROVER);
    for default in [Some("yes"), None] {
        for response in [Response::Accept, choice("_accept"), Response::option("_accept")] {
            let mut stage = Stage::adopted();
            let default_option = default.map(String::from);
            let (blocks, allow_text) = (Vec::new(), Some(false));
            let asked = CreateDecisionPoint { default_option, blocks, allow_text, ..question() };
            let first = stage.ask(asked);
            assert_eq!(
                told(&stage.respond(&first, &by, response.clone())),
                Err("NOTHING_TO_ACCEPT")
            );
            let guidance = stage.respond(&first, &by, choice("_guidance"));
            assert_eq!(told(&guidance), Err("NOTHING_TO_ACCEPT"));
            let id = stage.guide(&first, &by, "Smaller, please.");
            let shown = view(&stage, &id)["options"].to_string();
            assert!(shown.contains("_accept") && shown.contains("_guidance"), "{shown}");
            assert_eq!(told(&stage.respond(&id, &by, response)), Ok(vec!["resolved"]));
            let view = view(&stage, &id);
            assert_eq!(view["resolution_kind"], "accept");
            assert_eq!(view["selected_option"], serde_json::json!(default));
            assert_eq!(view["response_text"], serde_json::Value::Null);
        }
    }
}

/// The guidance is a person's own word: it is an answer where other texts are none.
#[test]
fn accepting_the_guidance_answers_with_its_words_where_no_text_is_taken() {
    let mut stage = Stage::adopted();
    let by = person(APPROVER);
    let first = stage.ask(CreateDecisionPoint { allow_text: Some(false), ..question() });
    let id = stage.guide(&first, &by, "Smaller, please.");
    assert_eq!(told(&stage.respond(&id, &by, text("Larger."))), Err("NOT_REFINED"));
    stage.refine_prompt(&id);
    assert_eq!(told(&stage.respond(&id, &by, text("Larger."))), Err("TEXT_NOT_ALLOWED"));
    stage.respond(&id, &by, choice("_guidance")).unwrap();
    let view = view(&stage, &id);
    assert_eq!(view["resolution_kind"], "text");
    assert_eq!(view["response_text"], "Smaller, please.");
    assert_eq!(view["selected_option"], serde_json::Value::Null);
}

/// The default of the proposal is what an acceptance chooses, whoever chooses it by its id.
#[test]
fn who_accepts_a_proposal_chooses_its_default_and_approves_by_that_alone() {
    for (default, approves) in [(Some("small"), true), (Some("no"), false), (None, false)] {
        let mut stage = Stage::adopted();
        let first = stage.ask(approval(&[], 2));
        let id = stage.guide(&first, &person("bob"), "Smaller.");
        let options = Some(vec![option("small"), rejecting("no")]);
        let default_option = default.map(String::from);
        let by = person(REQUESTER);
        let anew = RefineDecisionPoint { options, default_option, ..refinement(&id, &by) };
        stage.refine(RefineDecisionPoint { drop_default: default.is_none(), ..anew }).unwrap();
        let voted = stage.respond(&id, &person("bob"), Response::Accept);
        assert!(voted.is_ok(), "{voted:?}");
        if approves {
            assert_eq!(stage.state(&id), State::Pending, "a quorum of two");
            let other = stage.respond(&id, &person("cleo"), choice("small"));
            assert_eq!(told(&other), Ok(vec!["vote", "resolved", "released"]));
        }
        let point = stage.point(&id);
        assert_eq!(point.approves(), approves, "{default:?}");
        assert_eq!(point.state == State::Resolved, default.is_some(), "{default:?}");
        assert_eq!(point.selected_option(), default);
    }
}
