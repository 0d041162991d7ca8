//! An escalation reaches somebody: a question to a person, whatever the hold, that nobody waits
//! for; and the next instruction of a loop that a person let go on.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::forbidden::{Rule, Rules};
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::decision_point::{
    DecisionPointEvent, DecisionPointState, OnTimeout, Response,
};
use holdpoint_domain::execution_loop::{
    ExecutionLoopCommand, ExecutionLoopEvent, ExecutionLoopState, ExecutorResponseType, HaltReason,
};
use holdpoint_domain::human_decision::{HoldPolicy, HoldTerms, HumanDecision};
use holdpoint_domain::sandbox_fault::{ExecutionFaultType, RetryPolicy, SandboxDecision};
use holdpoint_domain::world::{
    DecisionPointTotals, MAX_OPEN_ESCALATIONS, OpenBounds, escalation_id,
};
use holdpoint_domain::{Command, Event, ForbiddenEvent, Refusal, decide};
use holdpoint_testing::story::Story;
use holdpoint_testing::story::held::terms;
use holdpoint_testing::story::points::{agent, at_terminal};

use ExecutionFaultType::{Crash, Partial, ResourceExhausted};
use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated};

/// A loop whose attempt runs, under these terms, in a log with the newest rules.
fn running(story: &mut Story, hold: HoldTerms, retry_ceiling: RetryPolicy) {
    let mut command = story.initialize();
    (command.hold, command.retry_ceiling) = (hold, retry_ceiling);
    story.loop_id = command.loop_id();
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)));
    story.advance_to(AwaitingResponse);
}

/// The kinds of some events, and the decision that was created among them.
fn asked(events: &[Event]) -> Option<String> {
    let created = events.iter().position(|event| {
        matches!(event, Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(_)))
    })?;
    let kind = events[created - 1].kind().name;
    assert_eq!(kind, "sandbox_fault.sandbox_decided", "behind what escalates");
    events[created].decision_point().map(String::from)
}

#[test]
fn whatever_the_hold_an_escalation_asks_a_person_and_the_run_ends_as_it_does() {
    for policy in HoldPolicy::ALL {
        for (fault, ceiling, is_escalated) in [
            (ResourceExhausted, RetryPolicy::RetryLimited, true),
            (Crash, RetryPolicy::HumanDecision, true),
            (Partial, RetryPolicy::HumanDecision, false),
            (Crash, RetryPolicy::RetryLimited, false),
            (ResourceExhausted, RetryPolicy::NoRetry, false),
        ] {
            let mut story = Story::adopted();
            let hold =
                if *policy == HoldPolicy::Never { HoldTerms::never() } else { terms(*policy) };
            running(&mut story, hold, ceiling);
            let events = story.given(story.fault(fault));
            let asked = asked(&events);
            assert_eq!(asked.is_some(), is_escalated, "{policy}: {fault} under {ceiling}");
            let Some(id) = asked else { continue };
            let told = story.entity().current_attempt().unwrap().fault.clone().unwrap();
            assert_eq!(told.outcome.as_ref().unwrap().decision, SandboxDecision::Escalate);
            assert_eq!(id, escalation_id(&told.fault_id));
            let point = story.world.escalation(&told).expect("it is open").clone();
            assert_eq!(point.state, DecisionPointState::Pending);
            assert_eq!(point.requested_by.kind, Actor::System);
            assert_eq!((point.deadline(), point.terms.on_timeout), (None, OnTimeout::Hold));
            let proposal = &point.terms.proposal;
            let ids: Vec<&str> = proposal.options.iter().map(|option| &*option.id).collect();
            assert_eq!((ids, &proposal.default_option), (vec!["seen", "retry"], &None));
            assert_eq!(story.entity().state(), Evaluated, "nothing waits for it");
            if *policy == HoldPolicy::Never {
                story.given(story.complete());
                let halt = story.entity().halt.as_ref().unwrap();
                assert_eq!(halt.reason, HaltReason::FaultEscalated);
            }
        }
    }
}

#[test]
fn a_person_alone_answers_an_escalation_and_nothing_is_started_by_it() {
    for choice in ["seen", "retry"] {
        let mut story = Story::adopted();
        running(&mut story, HoldTerms::never(), RetryPolicy::RetryLimited);
        let id = asked(&story.given(story.fault(ResourceExhausted))).unwrap();
        let answer = Response::Option(choice.into());
        let refused = story.when(story.responds(&id, agent(), answer.clone())).unwrap_err();
        assert_eq!(refused.code(), "AGENT_EXCLUDED");
        let alice = at_terminal("alice");
        let events = story.given(story.responds(&id, alice, answer));
        let kinds: Vec<&str> = events.iter().map(|event| event.kind().name).collect();
        assert_eq!(kinds, ["decision_point.vote", "decision_point.resolved"]);
        assert_eq!(story.world.decision_point(&id).unwrap().selected_option(), Some(choice));
        assert_eq!(story.entity().attempt_count(), 1);
    }
}

#[test]
fn a_question_about_an_escalation_that_is_missing_is_found_by_the_newest_rules_alone() {
    for (mut story, is_found) in [(Story::adopted(), true), (Story::new(), false)] {
        running(&mut story, HoldTerms::never(), RetryPolicy::RetryLimited);
        let events = decide(&story.world, &story.fault(ResourceExhausted), story.moment()).unwrap();
        let mut found = Vec::new();
        for event in events {
            if event.decision_point().is_none() {
                found.extend(story.record(event));
            }
        }
        assert_eq!(found.len(), usize::from(is_found), "{found:?}");
        assert!(found.iter().all(|finding| is_of(finding, Rule::Escalation)));
    }
    assert!(Rules::numbered(5).is_some_and(|rules| !rules.opens_escalations));
}

#[test]
fn a_question_in_the_name_of_holdpoint_without_an_escalation_is_found_and_counts_for_nothing() {
    let mut story = Story::adopted();
    running(&mut story, HoldTerms::never(), RetryPolicy::RetryLimited);
    let fault = decide(&story.world, &story.fault(ResourceExhausted), story.moment()).unwrap();
    let forged = fault.iter().find(|event| event.decision_point().is_some()).unwrap().clone();
    let id = forged.decision_point().unwrap().to_string();
    let found = story.record(forged);
    assert!(matches!(&*found, [finding] if is_of(finding, Rule::Escalation)), "{found:?}");
    assert!(story.world.decision_point(&id).is_none());
    // Nor is it another question about the same fault.
    for event in fault {
        let mut event = event;
        let is_it = event.decision_point().is_some();
        if let Event::DecisionPoint(DecisionPointEvent::DecisionPointCreated(body)) = &mut event {
            body.terms.proposal.prompt = "Nothing happened.".into();
        }
        let found = story.record(event);
        let is_told = matches!(&*found, [finding] if is_of(finding, Rule::Escalation));
        assert!(!is_it || is_told, "{found:?}");
    }
    assert!(story.world.decision_point(&id).is_none());
}

#[test]
fn at_most_100_questions_about_escalations_are_open_and_they_count_for_nobody() {
    let mut story = Story::adopted();
    let mut ids = Vec::new();
    let mut fails = |story: &mut Story| {
        running(story, HoldTerms::never(), RetryPolicy::RetryLimited);
        let asked = asked(&story.given(story.fault(ResourceExhausted)));
        story.given(story.complete());
        ids.extend(asked.clone());
        asked
    };
    for _ in 0..MAX_OPEN_ESCALATIONS {
        assert!(fails(&mut story).is_some());
    }
    assert_eq!(fails(&mut story), None, "the run alone says so");
    let DecisionPointTotals { decision_points_created, .. } = story.world.decision_point_totals();
    assert_eq!(decision_points_created, MAX_OPEN_ESCALATIONS as u64);
    let bounds = OpenBounds { per_session: 1, per_user: 1, per_log: 1 };
    let question = story.question();
    let ask = Command::DecisionPoint(
        holdpoint_domain::decision_point::DecisionPointCommand::CreateDecisionPoint(
            question.into(),
        ),
    );
    assert_eq!(bounds.check(&story.world, &ask, None, story.now), Ok(()));
    let first = ids[0].clone();
    let alice = at_terminal("alice");
    story.given(story.responds(&first, alice, Response::Option("seen".into())));
    running(&mut story, HoldTerms::never(), RetryPolicy::RetryLimited);
    assert!(asked(&story.given(story.fault(ResourceExhausted))).is_some(), "there is room again");
}

fn is_of(finding: &ForbiddenEvent, rule: Rule) -> bool {
    finding.rule == rule
}

/// A loop in EVALUATED about which somebody is asked, and whose response was reported.
fn reported() -> Story {
    let mut story = Story::evaluated_under(terms(HoldPolicy::After), ExecutorResponseType::Failure);
    story.given(story.ask());
    story
}

fn code(result: Result<Vec<Event>, Refusal>) -> &'static str {
    result.expect_err("it is refused").code()
}

#[test]
fn after_continue_a_loop_is_given_its_next_instruction_and_goes_from_evaluated_to_dispatched() {
    let mut story = reported();
    let events = story.given(story.decides(HumanDecision::Continue));
    assert_eq!(events.len(), 1, "an answer alone: {events:?}");
    assert_eq!(story.entity().state(), Evaluated);
    let decision = story.held().decided().unwrap().record.decision_id.to_string();
    let events = story.given(story.instruct(b"another envelope"));
    assert_eq!(story.entity().state(), Dispatched);
    let dispatched = events.iter().find_map(|event| match event {
        Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(body)) => Some(body),
        _ => None,
    });
    let body = dispatched.expect("it is dispatched");
    assert_eq!(body.permitted_by_decision.as_deref(), Some(&*decision));
    let entity = story.entity();
    assert_eq!(entity.context.instruction_envelope_hash(), sha256(b"another envelope").to_string());
    assert!(!entity.command_line.contains('\u{202e}'), "{}", entity.command_line);
    story.given(story.await_response());
    story.given(story.output(b"done"));
    let mut response = story.response(ExecutorResponseType::Success);
    response.instruction_hash = sha256(b"another envelope").to_string();
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(response)));
    assert_eq!(story.entity().ending().unwrap().0, HaltReason::Completed);
    story.given(story.ask());
    story.given(story.decides(HumanDecision::Continue));
    story.given(story.complete());
    assert_eq!(code(story.when(story.instruct(b"a third"))), "LOOP_NOT_LIVE");
}

#[test]
fn a_next_instruction_that_no_continue_permits_is_refused_by_name_and_nothing_is_written() {
    let open = reported();
    let mut retried = open.clone();
    retried.given(retried.decides(HumanDecision::Retry));
    let mut aborted = open.clone();
    aborted.given(aborted.decides(HumanDecision::Abort));
    let mut last = Story::initialized_with(|command| {
        (command.hold, command.max_attempts) = (terms(HoldPolicy::After), 1);
    });
    last.advance_to(Evaluated);
    last.given(last.ask());
    last.given(last.decides(HumanDecision::Continue));
    for (mut story, expected) in [
        (open, "HOLD_APPLIES"),
        (retried, "INSTRUCTION_NOT_PERMITTED"),
        (aborted, "LOOP_NOT_LIVE"),
        (last, "INSTRUCTION_NOT_PERMITTED"),
        (Story::in_state(Evaluated), "INSTRUCTION_NOT_PERMITTED"),
        (Story::in_state(AwaitingResponse), "WRONG_STATE"),
        (Story::initialized(), "WRONG_STATE"),
    ] {
        let records = story.records.len();
        assert_eq!(code(story.when(story.instruct(b"next"))), expected);
        assert_eq!(story.records.len(), records);
    }
}
