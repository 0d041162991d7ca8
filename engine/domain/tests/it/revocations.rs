//! A yes is taken back until it is spent, by whoever asked, answered or may approve; a policy that
//! got stricter counts at the spending; and root unlocks a policy that names somebody who is gone.

use holdpoint_domain::core::actor::{Actor, Authentication, NamedUsers, Proof};
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::decision_point::{
    CancelDecisionPoint, CreateDecisionPoint, DecisionPointCommand, DecisionPointEvent,
    DecisionPointState,
};
use holdpoint_domain::log::{ChangePolicy, GatePolicy, LogCommand, PolicyChanged, PolicyUnlocked};
use holdpoint_domain::{Command, Envelope, Event, WriterCommand, decide_for_writer};
use holdpoint_testing::story::{Story, envelope, points};

use crate::points::{
    HOUR_MS, REQUESTER, Stage, action, agent, approval, bound, choice, person, policy, principal,
    question, told,
};

const APPROVERS: [&str; 2] = ["bob", "cleo"];

/// A question of `robot` that bob answered with yes, and is not spent.
fn approved() -> (Stage, String) {
    let mut stage = Stage::new();
    let id = stage.ask(CreateDecisionPoint { policy: Some(policy(&APPROVERS, 1)), ..bound() });
    stage.respond(&id, &person("bob"), choice("yes")).unwrap();
    (stage, id)
}

#[test]
fn who_asked_who_answered_or_another_approver_revokes_an_approval_before_it_is_spent() {
    for who in ["the requester", "bob", "cleo"] {
        let (mut stage, id) = approved();
        let by = match who {
            "the requester" => stage.point(&id).requested_by.clone(),
            name => person(name),
        };
        assert_eq!(told(&stage.cancel(&id, &by)), Ok(vec!["approval_revoked"]), "{who}");
        let point = stage.point(&id);
        assert_eq!((point.state, point.approves()), (DecisionPointState::Resolved, false));
        assert_eq!(point.selected_option(), Some("yes"), "the answer stays");
        assert!(!point.is_live() && point.outcome_line().contains("revoked by"), "{who}");
        assert_eq!(told(&stage.consume(&id, &agent("robot"), &action("rm"))), Err("REVOKED"));
        assert_eq!(told(&stage.cancel(&id, &by)), Err("ALREADY_DONE"), "once is enough");
        stage.assert_rebuilt();
    }
}

#[test]
fn nobody_else_revokes_an_approval_and_no_claimed_name_does() {
    let (mut stage, id) = approved();
    let claimed = principal(Actor::Human, "bob", Authentication::None);
    for (by, code) in [
        (person("mallory"), "NOT_AN_APPROVER"),
        (agent("other"), "AGENT_EXCLUDED"),
        (claimed, "NOT_AUTHENTICATED"),
    ] {
        assert_eq!(told(&stage.cancel(&id, &by)), Err(code));
        assert!(stage.point(&id).approves());
    }
}

#[test]
fn an_approval_without_an_action_is_revoked_too_and_a_no_or_a_plain_answer_is_not() {
    let mut stage = Stage::new();
    let yes = stage.ask(approval(&["bob"], 1));
    let no = stage.ask(approval(&["bob"], 1));
    let plain = stage.ask(crate::points::question());
    stage.respond(&yes, &person("bob"), choice("yes")).unwrap();
    stage.respond(&no, &person("bob"), choice("no")).unwrap();
    stage.respond(&plain, &person("bob"), choice("yes")).unwrap();
    assert_eq!(told(&stage.cancel(&yes, &person("bob"))), Ok(vec!["approval_revoked"]));
    for id in [&no, &plain] {
        assert_eq!(told(&stage.cancel(id, &person("bob"))), Err("ALREADY_ENDED"));
    }
    stage.assert_rebuilt();
}

#[test]
fn what_was_spent_is_not_revoked_and_what_it_started_is_named() {
    let (mut stage, id) = approved();
    stage.consume(&id, &agent("robot"), &action("rm")).unwrap();
    let late = stage.cancel(&id, &person("bob"));
    assert_eq!(told(&late), Err("ALREADY_SPENT"));
    assert!(Stage::message(&late).contains("started bash"), "{}", Stage::message(&late));
    let (mut stage, id) = approved();
    stage.pass_ms(48 * HOUR_MS);
    stage.expire_due();
    assert_eq!(told(&stage.cancel(&id, &person("bob"))), Err("ALREADY_ENDED"), "it lapsed");
}

#[test]
fn an_approval_that_had_longer_than_the_policy_now_lets_is_not_spent() {
    let timeout = |milliseconds| GatePolicy {
        approval_timeout_ms: Some(u64_timeout(milliseconds)),
        ..GatePolicy::default()
    };
    for (most, is_spent) in [(HOUR_MS, true), (HOUR_MS - 1, false)] {
        let mut stage = Stage::new();
        let question = CreateDecisionPoint { timeout_ms: Some(HOUR_MS), ..bound() };
        let id = stage.ask(CreateDecisionPoint { policy: Some(policy(&[], 1)), ..question });
        stage.respond(&id, &person("bob"), choice("yes")).unwrap();
        let change = ChangePolicy {
            people: None,
            by: principal(Actor::Human, "bob", Authentication::Terminal),
            policy: timeout(most),
            approval: None,
        };
        stage.give(&Command::Log(LogCommand::SetPolicy(Box::new(change)))).unwrap();
        let spent = told(&stage.consume(&id, &agent("robot"), &action("rm")));
        let expected = if is_spent { Ok(vec!["consumed"]) } else { Err("POLICY_LOOSENED") };
        assert_eq!(spent, expected, "at most {most} ms");
    }
}

fn u64_timeout(ms: u64) -> holdpoint_domain::human_decision::HumanDecisionTimeout {
    holdpoint_domain::human_decision::HumanDecisionTimeout::from_milliseconds(ms).unwrap()
}

fn names(names: &[&str]) -> List<Text> {
    names.iter().map(|name| Text::from(*name)).collect()
}

/// A log whose policy names alice and bob, and root's statement that somebody of them is gone.
fn locked(gone: &[&str]) -> (Story, PolicyUnlocked) {
    let mut story = Story::adopted();
    let policy = GatePolicy { approvers: names(&["alice", "bob"]), ..GatePolicy::default() };
    let by = points::person("alice");
    story.record(PolicyChanged { by, policy, approval: None, people: None }.into());
    let body = PolicyUnlocked {
        by: principal(Actor::Human, "root", Authentication::Terminal),
        policy: GatePolicy { approvers: names(&["carol"]), ..GatePolicy::default() },
        gone: names(gone),
        people: NamedUsers::default(),
        login_user: Some(1000),
        sudo_user: Some(1000),
    };
    (story, body)
}

fn proven(body: &PolicyUnlocked, user: u32, by: Authentication) -> Envelope {
    Envelope { proof: Some(Proof { user, by }), ..envelope(body.clone().into()) }
}

#[test]
fn root_at_a_terminal_unlocks_a_policy_that_names_somebody_who_is_gone() {
    let (mut story, body) = locked(&["alice"]);
    let command = WriterCommand::UnlockPolicy(Box::new(body.clone()));
    assert_eq!(decide_for_writer(&story.world, &command, story.now).unwrap().len(), 1);
    let unlocked = proven(&body, 0, Authentication::Terminal);
    assert_eq!(story.record_envelope(unlocked), []);
    assert_eq!(story.world.policy(), body.policy);
}

#[test]
fn nobody_else_unlocks_a_policy_and_no_policy_whose_approvers_are_there() {
    use Authentication::{OsUser, Terminal};
    let (story, body) = locked(&["alice"]);
    for (user, by) in [(1000, Terminal), (0, OsUser), (0, Authentication::None)] {
        let mut story = story.clone();
        let findings = story.record_envelope(proven(&body, user, by));
        assert!(findings.iter().any(|it| it.rule == Rule::PolicyInForce), "{user} {by}");
        assert_ne!(story.world.policy(), body.policy, "it counts for nothing");
    }
    for gone in [&[][..], &["carol"]] {
        let (mut story, body) = locked(gone);
        let command = WriterCommand::UnlockPolicy(Box::new(body.clone()));
        let refused = decide_for_writer(&story.world, &command, story.now).unwrap_err();
        assert_eq!(refused.code(), "APPROVAL_NEEDED");
        assert_ne!(story.record_envelope(proven(&body, 0, Terminal)), []);
        assert_ne!(story.world.policy(), body.policy);
    }
}

/// White space, and blanks that are none of it, say nothing.
#[test]
fn a_reason_of_blanks_is_none() {
    for blank in ["", " ", "\u{2800}"] {
        let mut stage = Stage::new();
        let (decision_id, by) = (stage.ask(question()), person(REQUESTER));
        let cancel = CancelDecisionPoint { decision_id, by, reason: Some(blank.into()) };
        let command = Command::DecisionPoint(DecisionPointCommand::CancelDecisionPoint(cancel));
        let events = stage.give(&command).unwrap();
        let [Event::DecisionPoint(DecisionPointEvent::DecisionPointCancelled(cancelled))] =
            &events[..]
        else {
            panic!("{events:?}")
        };
        assert_eq!(cancelled.reason, None, "{blank:?}");
    }
}
