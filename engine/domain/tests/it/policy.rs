//! The policy of a log: it binds what begins, gets tighter by a person, and looser only with the
//! approval of those whom it names. What is recorded against it counts for nothing.

use holdpoint_domain::core::actor::{Authentication, Principal};
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::{Digest, sha256};
use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::decision_point::{
    ActionBinding, ApprovalConsumed, ApprovalPolicy, CreateDecisionPoint, DecisionPointCommand,
    DecisionPointEvent,
};
use holdpoint_domain::execution_loop::{
    ExecutionLoopCommand, ExecutionLoopEvent, InitializeLoop, SpentApproval,
};
use holdpoint_domain::human_decision::{HoldPolicy, HoldTerms};
use holdpoint_domain::log::{
    ChangePolicy, GatePolicy, GateTerms, LogCommand, PolicyChanged, PolicyUnknown, RELAX_TOOL,
    RUN_TOOL, relax_binding, relax_proposal, run_binding,
};
use holdpoint_domain::{Command, Envelope, Event, ForbiddenEvent, Proof};
use holdpoint_testing::story::points::{agent, binding, option, person};
use holdpoint_testing::story::{Story, envelope};

fn names(names: &[&str]) -> List<Text> {
    names.iter().map(|name| Text::from(*name)).collect()
}

fn strict() -> GatePolicy {
    GatePolicy { before: true, approvers: names(&["alice", "bob"]), ..GatePolicy::default() }
}

fn set(policy: GatePolicy) -> Command {
    Command::Log(LogCommand::SetPolicy(Box::new(ChangePolicy {
        by: person("alice"),
        policy,
        approval: None,
        people: None,
    })))
}

fn approved_by(approvers: &[&str]) -> ApprovalPolicy {
    ApprovalPolicy { approvers: names(approvers), ..ApprovalPolicy::people() }
}

/// Alice at a terminal of her own.
fn alice() -> Principal {
    Principal { authenticated_by: Authentication::Terminal, ..person("alice") }
}

/// Asks for an approval of this action; alice says yes.
fn approval(story: &mut Story, tool: &str, input_sha256: Digest, approvers: &[&str]) -> String {
    let id = story.asks_with(|c| {
        c.policy = Some(approved_by(approvers));
        c.binding = Some(ActionBinding { tool: tool.into(), input_sha256 });
    });
    story.given(story.responds(&id, alice(), option("go")));
    id
}

/// Asks, as the rules word it, whether the log's policy may be relaxed, but for what is changed of
/// the question; alice approves.
fn relaxing(
    story: &mut Story,
    after: &GatePolicy,
    change: impl Fn(&mut CreateDecisionPoint),
) -> String {
    let before = story.world.policy();
    let input_sha256 = relax_binding(&before, after);
    let shown = relax_proposal(&before, after);
    let id = story.asks_with(|c| {
        c.policy = Some(approved_by(&["alice"]));
        c.binding = Some(ActionBinding { tool: RELAX_TOOL.into(), input_sha256 });
        c.prompt = shown.prompt.to_string();
        c.context = shown.context.as_ref().map(|context| context.to_string());
        c.options = shown.options.to_vec();
        (c.default_option, c.issue_id, c.allow_text) = (None, None, Some(false));
        (c.blocks, c.evidence) = (vec![], vec![]);
        c.max_iterations = Some(1);
        change(c);
    });
    story.given(story.responds(&id, alice(), option("approve")));
    id
}

fn held(story: &Story, approval: Option<SpentApproval>) -> InitializeLoop {
    let gate = GateTerms { before: true, ..GateTerms::default() };
    InitializeLoop { gate, approval, ..story.initialize() }
}

fn refused(story: &mut Story, command: Command) -> &'static str {
    story.when(command).unwrap_err().code()
}

fn is_found(findings: &[ForbiddenEvent], rule: Rule) -> bool {
    findings.iter().any(|finding| finding.rule == rule)
}

#[test]
fn a_policy_gets_tighter_and_never_looser_by_being_set() {
    let mut story = Story::new();
    story.given(set(strict()));
    assert_eq!(story.world.policy(), strict());
    let tighter = GatePolicy { approvers: names(&["alice"]), separation: true, ..strict() };
    story.given(set(tighter.clone()));
    for looser in [
        GatePolicy::default(),
        strict(),
        GatePolicy { before: false, ..tighter.clone() },
        GatePolicy { approvers: names(&["alice", "mallory"]), ..tighter.clone() },
        GatePolicy { separation: false, ..tighter.clone() },
    ] {
        assert_eq!(refused(&mut story, set(looser)), "POLICY_LOOSENED");
    }
    assert_eq!(story.world.policy(), tighter);
}

#[test]
fn what_no_policy_can_mean_is_refused() {
    let mut story = Story::new();
    for bad in [
        GatePolicy { quorum: 0, ..strict() },
        GatePolicy { quorum: 3, ..strict() },
        GatePolicy { quorum: 17, approvers: List::default(), ..strict() },
        GatePolicy { quorum: 2, after: HoldPolicy::After, ..strict() },
        GatePolicy { approvers: names(&[" "]), ..strict() },
    ] {
        assert!(story.when(set(bad.clone())).is_err(), "{bad:?}");
    }
    assert!(story.world.policy().is_none());
}

#[test]
fn a_looser_policy_needs_the_approval_of_exactly_this_change() {
    let mut story = Story::new();
    story.given(set(strict()));
    let after = GatePolicy { before: false, ..strict() };
    let relax = |approval: &str, policy: &GatePolicy| {
        let approval = Some(approval.to_owned());
        let policy = policy.clone();
        let change = ChangePolicy { by: person("alice"), policy, approval, people: None };
        Command::Log(LogCommand::RelaxPolicy(Box::new(change)))
    };
    let bound = relax_binding(&strict(), &after);
    let other = approval(&mut story, RELAX_TOOL, sha256(b"another change"), &["alice"]);
    assert_eq!(refused(&mut story, relax(&other, &after)), "BINDING_MISMATCH");
    // A question about something else, bound to the same: whoever said yes to it did not see this.
    let colour = approval(&mut story, RELAX_TOOL, bound, &["alice"]);
    assert_eq!(refused(&mut story, relax(&colour, &after)), "BINDING_MISMATCH");
    let besides: [fn(&mut CreateDecisionPoint); 7] = [
        |c| c.prompt.push('!'),
        |c| c.context = None,
        |c| c.options.reverse(),
        |c| c.default_option = Some("approve".to_owned()),
        |c| c.allow_text = Some(true),
        |c| c.max_iterations = Some(2),
        |c| c.issue_id = Some("something else".to_owned()),
    ];
    for change in besides {
        let other = relaxing(&mut story, &after, change);
        assert_eq!(refused(&mut story, relax(&other, &after)), "BINDING_MISMATCH");
    }
    let fitting = relaxing(&mut story, &after, |_| {});
    assert_eq!(refused(&mut story, relax(&fitting, &GatePolicy::default())), "BINDING_MISMATCH");
    let consume = story.consumes(&fitting);
    assert_eq!(refused(&mut story, consume), "SPENT_ELSEWHERE");
    story.given(relax(&fitting, &after));
    assert_eq!(story.world.policy(), after);
    assert_eq!(refused(&mut story, relax(&fitting, &GatePolicy::default())), "BINDING_MISMATCH");
}

/// The question about a looser policy is for those whom the policy names.
#[test]
fn whoever_the_policy_does_not_name_relaxes_nothing() {
    let mut story = Story::new();
    story.given(set(strict()));
    let question = |approvers: &[&str]| {
        let mut asked = story.question();
        asked.policy = Some(approved_by(approvers));
        Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(asked.into()))
    };
    let (anybody, mallory) = (question(&[]), question(&["mallory"]));
    for command in [anybody, mallory] {
        assert_eq!(refused(&mut story, command), "POLICY_LOOSENED");
    }
}

#[test]
fn nothing_starts_without_the_approval_of_exactly_this_start() {
    let mut story = Story::new();
    story.given(set(strict()));
    let details = sha256(b"where and with what");
    let spent = |decision_id: &str, details| {
        Some(SpentApproval { decision_id: decision_id.to_owned(), by: agent(), details })
    };
    let begin = |story: &Story, approval| {
        Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(held(story, approval)))
    };
    let unheld = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(story.initialize()));
    assert_eq!(refused(&mut story, unheld), "POLICY_LOOSENED");
    let command = begin(&story, None);
    assert_eq!(refused(&mut story, command), "APPROVAL_NEEDED");
    let hash = story.initialize().instruction_envelope_hash;
    let id = approval(&mut story, RUN_TOOL, run_binding(&hash, &details), &["alice"]);
    let command = begin(&story, spent(&id, sha256(b"elsewhere")));
    assert_eq!(refused(&mut story, command), "BINDING_MISMATCH");
    let mut other = held(&story, spent(&id, details));
    other.envelope = b"another command".to_vec();
    other.instruction_envelope_hash = sha256(&other.envelope).to_string();
    let command = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(other));
    assert_eq!(refused(&mut story, command), "BINDING_MISMATCH");
    let command = begin(&story, spent(&id, details));
    let events = story.given(command.clone());
    let [
        Event::DecisionPoint(DecisionPointEvent::ApprovalConsumed(_)),
        Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)),
        ..,
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(body.approval.as_deref(), Some(&*id));
    let again = begin(&story, spent(&id, details));
    assert_eq!(refused(&mut story, again), "ALREADY_CONSUMED");
}

/// An approval that was given under a looser policy is none under the one of now.
#[test]
fn an_approval_keeps_the_policy_of_the_time_when_it_is_spent() {
    let mut story = Story::new();
    let details = sha256(b"details");
    let hash = story.initialize().instruction_envelope_hash;
    let id = approval(&mut story, RUN_TOOL, run_binding(&hash, &details), &[]);
    story.given(set(strict()));
    let spent = Some(SpentApproval { decision_id: id, by: agent(), details });
    let command = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(held(&story, spent)));
    assert_eq!(refused(&mut story, command), "POLICY_LOOSENED");
}

/// The same for an approval that a program spends itself; what is recorded against it counts for
/// nothing.
#[test]
fn an_approval_that_no_longer_keeps_the_policy_is_not_spent() {
    let mut story = Story::new();
    let id = approval(&mut story, &binding().tool, binding().input_sha256, &[]);
    let named = approval(&mut story, &binding().tool, binding().input_sha256, &["alice"]);
    story.given(set(strict()));
    let consume = story.consumes(&id);
    assert_eq!(refused(&mut story, consume), "POLICY_LOOSENED");
    let decision_id = Text::from(&id);
    let forged = ApprovalConsumed { decision_id, by: agent(), binding: binding() };
    assert!(is_found(&story.record(forged.into()), Rule::DecisionPointApproval));
    let spent =
        |story: &Story, id: &str| story.world.decision_point(id).unwrap().consumed.is_some();
    assert!(!spent(&story, &id));
    let consume = story.consumes(&named);
    story.given(consume);
    assert!(spent(&story, &named), "one that keeps it is");
}

#[test]
fn a_loop_that_was_recorded_against_the_policy_does_not_exist() {
    let mut story = Story::new();
    let command = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(held(&story, None)));
    let began = |story: &Story, hold: HoldTerms, before: bool| {
        let command = InitializeLoop { hold, ..story.initialize() };
        let events = holdpoint_domain::decide(
            &story.world,
            &Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)),
            story.now,
        );
        let began = events.unwrap().into_iter().find_map(|event| match event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) => Some(body),
            _ => None,
        });
        let mut body = began.unwrap();
        body.gate = Some(GateTerms { before, ..GateTerms::default() });
        body
    };
    assert_eq!(refused(&mut story, command), "APPROVAL_NEEDED");
    let forged = began(&story, HoldTerms::never(), true);
    let loop_id = forged.loop_id.clone();
    let findings = story.record(forged.into());
    assert!(is_found(&findings, Rule::PolicyInForce));
    assert!(story.world.live_loop(&loop_id).is_none());
    let unheld = began(&story, HoldTerms::never(), false);
    story.given(set(GatePolicy { after: HoldPolicy::OnFailure, ..GatePolicy::default() }));
    let findings = story.record(unheld.into());
    assert!(is_found(&findings, Rule::PolicyInForce));
    assert!(story.world.live_loop(&loop_id).is_none());
}

#[test]
fn a_policy_that_nobody_may_set_is_not_in_force() {
    let mut story = Story::new();
    let changed = |policy, approval: Option<&str>| -> Event {
        {
            let approval = approval.map(Text::from);
            PolicyChanged { by: person("alice"), policy, approval, people: None }.into()
        }
    };
    story.given(set(strict()));
    for event in [
        changed(GatePolicy::default(), None),
        changed(GatePolicy::default(), Some("DP-0")),
        changed(GatePolicy { quorum: 0, ..strict() }, None),
    ] {
        assert!(is_found(&story.record(event), Rule::PolicyInForce));
        assert_eq!(story.world.policy(), strict());
    }
    let tighter = GatePolicy { separation: true, ..strict() };
    for by in [Authentication::None, Authentication::OsUser] {
        let proof = Some(Proof { user: 1000, by });
        let forged = Envelope { proof, ..envelope(changed(tighter.clone(), None)) };
        assert!(is_found(&story.record_envelope(forged), Rule::PolicyInForce));
        assert_eq!(story.world.policy(), strict());
    }
}

#[test]
fn nothing_that_a_policy_could_hold_begins_where_it_may_be_lost() {
    let mut story = Story::new();
    story.given(set(strict()));
    assert_eq!(story.record(PolicyUnknown { records_lost: 1 }.into()), []);
    assert!(story.world.is_policy_lost());
    let begin = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(story.initialize()));
    assert_eq!(refused(&mut story, begin), "POLICY_LOST");
    let mut question = story.question();
    question.policy = Some(approved_by(&["alice"]));
    assert_eq!(
        refused(
            &mut story,
            Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(question.into()))
        ),
        "POLICY_LOST"
    );
    story.given(set(GatePolicy::default()));
    assert!(!story.world.is_policy_lost() && story.world.policy().is_none());
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(story.initialize())));
}

#[test]
fn a_policy_is_carried_with_the_state() {
    let mut story = Story::new();
    story.given(set(strict()));
    let carried = holdpoint_domain::World::from_carried(&story.world.carry()).unwrap();
    assert_eq!(carried.policy(), strict());
    assert_eq!(carried.fingerprint(), story.world.fingerprint());
}
