//! Property E2 for what time brings about and for approvals: what is forged of them is found, and
//! neither ends, releases nor spends anything.

use crate::forbidden::{
    aborted, approved, asked, assert_forbidden, assert_genuine, consumed, default_taken, overdue,
    released, resolved,
};
use holdpoint_domain::Time;
use holdpoint_domain::core::clocks::EndedBy;
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalLapsed, CreateDecisionPoint, DecisionPointAborted, DefaultTaken,
    DependentsReleased, OnTimeout, Response,
};
use holdpoint_testing::story::Story;
use holdpoint_testing::story::points::{binding, option, person, two_people};

#[test]
fn what_time_did_not_bring_about_is_found() {
    let rule = Rule::DecisionPointExpiry;
    for on_timeout in OnTimeout::ALL.iter().copied() {
        let (mut story, id) = overdue(on_timeout);
        let (abort, default) = (aborted(&story, &id), default_taken(&story, &id));
        let sooner = Time::from_nanoseconds(abort.expires_at.nanoseconds() - 1);
        for expires_at in [sooner, story.now, Time::default()] {
            if expires_at != abort.expires_at {
                let other = DecisionPointAborted { expires_at, ..abort.clone() };
                assert_forbidden(&story, other, rule);
                assert_forbidden(&story, DefaultTaken { expires_at, ..default.clone() }, rule);
            }
        }
        for option_id in ["go", "", "none", "\u{1b}"] {
            let option_id = option_id.into();
            assert_forbidden(&story, DefaultTaken { option_id, ..default.clone() }, rule);
        }
        match on_timeout {
            OnTimeout::Abort => assert_genuine(&story, abort.clone()),
            OnTimeout::Default | OnTimeout::Hold => assert_forbidden(&story, abort.clone(), rule),
        }
        match on_timeout {
            OnTimeout::Default => assert_genuine(&story, default.clone()),
            OnTimeout::Abort | OnTimeout::Hold => assert_forbidden(&story, default.clone(), rule),
        }
        story.now = sooner;
        assert_early_forbidden(on_timeout, abort, default);
    }
    let mut story = Story::new();
    let endless = story.asks_with(|c| c.timeout_ms = None);
    assert_forbidden(&story, aborted(&story, &endless), rule);
    assert_forbidden(&story, default_taken(&story, &endless), rule);
}

/// One nanosecond before the deadline.
fn assert_early_forbidden(
    on_timeout: OnTimeout,
    abort: DecisionPointAborted,
    default: DefaultTaken,
) {
    let mut story = Story::new();
    let id = story.asks_with(|c| c.on_timeout = Some(on_timeout));
    assert_eq!(*abort.decision_id, id);
    story.now = Time::from_nanoseconds(abort.expires_at.nanoseconds() - 1);
    assert_forbidden(&story, abort, Rule::DecisionPointExpiry);
    assert_forbidden(&story, default, Rule::DecisionPointExpiry);
}

#[test]
fn the_end_of_an_approval_that_did_not_end_is_found() {
    let rule = Rule::DecisionPointExpiry;
    let (mut story, id) = approved();
    let valid_until = story.point(&id).spendable_until().unwrap();
    let lapsed = |id: &str| ApprovalLapsed {
        decision_id: id.into(),
        valid_until,
        ended_by: Some(EndedBy::Both),
        steady: None,
    };
    story.now = Time::from_nanoseconds(valid_until.nanoseconds() - 1);
    assert_forbidden(&story, lapsed(&id), rule);
    let mut spent = story.clone();
    spent.given(spent.consumes(&id));
    spent.wait(2_000);
    assert_forbidden(&spent, lapsed(&id), rule);
    story.wait(1);
    let earlier = ApprovalLapsed { valid_until: story.now, ..lapsed(&id) };
    assert_forbidden(&story, earlier, rule);
    assert_genuine(&story, lapsed(&id));
    let (mut unbound, id) = asked();
    unbound.wait(10_000);
    assert_forbidden(&unbound, lapsed(&id), rule);
    unbound.given(unbound.responds(&id, person("alice"), option("go")));
    assert_forbidden(&unbound, lapsed(&id), rule);
}

#[test]
fn an_approval_spent_for_another_action_twice_or_too_late_is_found() {
    let rule = Rule::DecisionPointApproval;
    let (mut story, id) = approved();
    let input = ActionBinding { input_sha256: sha256(b"{\"force\":true}"), ..binding() };
    let tool = ActionBinding { tool: "bash".into(), ..binding() };
    assert_forbidden(&story, consumed(&id, input), rule);
    assert_forbidden(&story, consumed(&id, tool), rule);
    let mut spent = story.clone();
    spent.given(spent.consumes(&id));
    assert_forbidden(&spent, consumed(&id, binding()), rule);
    story.now = story.point(&id).spendable_until().unwrap();
    assert_forbidden(&story, consumed(&id, binding()), rule);
    story.given(story.lets_expire(&id));
    assert_forbidden(&story, consumed(&id, binding()), rule);
}

#[test]
fn spending_what_nobody_approved_is_found() {
    let rule = Rule::DecisionPointApproval;
    let mut story = Story::new();
    let id = story.asks_with(|c| {
        c.binding = Some(binding());
        c.allow_text = Some(true);
    });
    assert_forbidden(&story, consumed(&id, binding()), rule);
    for response in [option("stop"), Response::Text("do what you like".into())] {
        let mut answered = story.clone();
        answered.given(answered.responds(&id, person("alice"), response));
        assert_forbidden(&answered, consumed(&id, binding()), rule);
    }
    let mut cancelled = story.clone();
    cancelled.given(cancelled.cancels(&id));
    assert_forbidden(&cancelled, consumed(&id, binding()), rule);
    let (mut unbound, id) = asked();
    unbound.given(unbound.responds(&id, person("alice"), option("go")));
    assert_forbidden(&unbound, consumed(&id, binding()), rule);
}

/// A default that silence brings about approves nothing where a policy does not say so.
#[test]
fn spending_what_only_silence_approved_is_found() {
    for default_approves in [false, true] {
        let mut story = Story::new();
        let question = |c: &mut CreateDecisionPoint| {
            c.binding = Some(binding());
            c.on_timeout = Some(OnTimeout::Default);
            c.policy = Some(two_people());
        };
        let id = match default_approves {
            true => story.asked_where_silence_approves(question),
            false => story.asks_with(question),
        };
        story.wait(60_000);
        story.given(story.lets_expire(&id));
        match default_approves {
            true => assert_genuine(&story, consumed(&id, binding())),
            false => {
                assert_forbidden(&story, consumed(&id, binding()), Rule::DecisionPointApproval);
            }
        }
    }
}

#[test]
fn a_release_that_nobody_allowed_or_of_something_else_is_found() {
    let rule = Rule::DecisionPointApproval;
    let (story, id) = asked();
    assert_forbidden(&story, released(&id), rule);
    let mut aborted = story.clone();
    aborted.wait(60_000);
    aborted.given(aborted.lets_expire(&id));
    let mut cancelled = story.clone();
    cancelled.given(cancelled.cancels(&id));
    let mut rejected = story.clone();
    rejected.given(rejected.responds(&id, person("alice"), option("stop")));
    let mut guided = story.clone();
    guided.guides(&id);
    for ended in [aborted, cancelled, rejected, guided] {
        assert_forbidden(&ended, released(&id), rule);
    }
    let mut answered = story.clone();
    assert_eq!(answered.record(resolved(&id, person("alice"), option("go")).into()), []);
    for names in [vec![], vec!["other"], vec!["job", "job"], vec!["job", "other"]] {
        let blocks = names.into_iter().map(Text::from).collect();
        assert_forbidden(&answered, DependentsReleased { blocks, ..released(&id) }, rule);
    }
    assert_genuine(&answered, released(&id));
    answered.record(released(&id).into());
    assert_forbidden(&answered, released(&id), rule);
}
