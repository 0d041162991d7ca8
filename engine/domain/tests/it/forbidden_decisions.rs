//! Property E2 for questions to a person: a forged event is kept, opens no hold point, and is
//! found, with the field that was changed.

use std::collections::BTreeSet;

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::confidence::Confidence;
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::evidence_capture::{EvidenceType, ObservationPoint};
use holdpoint_domain::execution_loop::{
    CompleteLoop, ExecutionLoopCommand, ExecutionLoopEvent, ExecutionLoopState,
    ExecutorResponseType, Exit, HaltReason, InitializeLoop, LoopDispatched, LoopInitialized,
};
use holdpoint_domain::governed::RequestPlace;
use holdpoint_domain::human_decision::{
    HoldPolicy, HoldTerms, HumanDecision, HumanDecisionAnswered, HumanDecisionBinding,
    HumanDecisionCommand, HumanDecisionEvent, HumanDecisionRequested, HumanDecisionTimedOut,
    ObservedAttempt, OutputShown, OverrideField, RequestWithdrawn, injective_request_hash,
    record_decision,
};
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_domain::{ActorId, Command, Event, ForbiddenEvent, Idempotency, Time, decide};
use holdpoint_testing::story::held::{TIMEOUT_MS, terms};
use holdpoint_testing::story::{Story, envelope};

/// The events of a command, each changed, then recorded; what is found about them.
fn forged(story: &mut Story, command: Command, change: impl Fn(&mut Event)) -> Vec<ForbiddenEvent> {
    let mut events = decide(&story.world, &command, story.now).unwrap();
    events.iter_mut().for_each(change);
    events.into_iter().flat_map(|event| story.record(event)).collect()
}

#[track_caller]
fn assert_found(findings: &[ForbiddenEvent], rule: Rule) {
    let found: BTreeSet<Rule> = findings.iter().map(|finding| finding.rule).collect();
    assert!(found.contains(&rule), "{rule} is not among {found:?}");
}

/// An evaluated loop under a hold, and the request that is about to be recorded.
fn about_to_ask() -> Story {
    Story::evaluated_under(terms(HoldPolicy::After), ExecutorResponseType::Failure)
}

fn forged_request(change: impl Fn(&mut HumanDecisionRequested)) -> Vec<ForbiddenEvent> {
    let mut story = about_to_ask();
    let ask = story.ask();
    forged(&mut story, ask, |event| {
        if let Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) = event {
            change(body);
        }
    })
}

/// CONTINUE by alice, changed. Whatever is changed, the request stays open.
fn forged_answer(change: impl Fn(&mut HumanDecisionAnswered)) -> Vec<ForbiddenEvent> {
    let mut story = Story::asked();
    let answer = story.decides(HumanDecision::Retry);
    let findings = forged(&mut story, answer, |event| {
        if let Event::HumanDecision(HumanDecisionEvent::HumanDecisionAnswered(body)) = event {
            change(body);
        }
    });
    assert!(story.held().is_open(), "a forged answer counts");
    assert_eq!(story.when(story.retry()).unwrap_err().code(), "HOLD_APPLIES");
    findings
}

type Change = fn(&mut HumanDecisionRequested);

fn observed(body: &mut HumanDecisionRequested) -> &mut ObservedAttempt {
    body.request.evidence_summary.observed.as_mut().unwrap()
}

#[test]
fn every_field_that_the_person_saw_is_compared_and_named() {
    let changes: [(&str, Change); 22] = [
        ("audit_id", |b| b.audit_id = "AUDIT-x".into()),
        ("session_id", |b| b.request.session_id = "OBS-x".into()),
        ("observation_point", |b| {
            b.request.evidence_summary.observation_point = ObservationPoint::PreDispatch;
        }),
        ("evidence_type", |b| {
            b.request.evidence_summary.evidence_type = EvidenceType::ResourceSnapshot;
        }),
        ("timestamp", |b| b.request.evidence_summary.timestamp = "2026-01-25T15:00:00Z".into()),
        ("chain_length", |b| b.request.evidence_summary.chain_length += 1),
        ("execution_state", |b| {
            b.request.evidence_summary.execution_state = ExecutionLoopState::Init;
        }),
        ("confidence_score", |b| b.request.evidence_summary.confidence_score = Confidence::MAX),
        ("chain_hash", |b| b.request.evidence_summary.chain_hash = "00".into()),
        ("observed", |b| observed(b).attempts_max = 9),
        ("observed", |b| observed(b).exit = Exit::Status(1)),
        ("observed", |b| observed(b).duration_ns = Some(1)),
        ("observed", |b| observed(b).fault_type = Some(ExecutionFaultType::Crash)),
        ("allowed_decisions", |b| b.request = b.request.clone().without(HumanDecision::Retry)),
        ("created_at", |b| b.request.created_at = Time::from_nanoseconds(1)),
        ("timeout_at", |b| b.request.timeout_at = Time::from_nanoseconds(u64::MAX)),
        ("timeout_decision", |b| b.request.timeout_decision = HumanDecision::Continue),
        ("warning_at", |b| b.warning_at = Time::from_nanoseconds(1)),
        ("context", |b| b.context.command_line = "sh -c false".into()),
        ("context", |b| b.context.executor_claim = ExecutorResponseType::Success),
        ("context", |b| b.context.asked_of = Some("mallory".into())),
        ("context", |b| b.context.self_hash = "00".into()),
    ];
    for (name, change) in changes {
        let findings = forged_request(|body| {
            change(body);
            body.request_hash = injective_request_hash(&body.context, &body.request);
        });
        assert_found(&findings, Rule::HumanDecisionRequest);
        assert!(findings[0].found.starts_with(&format!("{name} ")), "{name}: {findings:?}");
    }
    assert_found(&forged_request(|b| b.request_hash = sha256(b"")), Rule::HumanDecisionRequest);
}

/// An event may state any id; what counts is the id that is made of its digits.
#[test]
fn a_request_cannot_take_the_id_of_another_loops_request() {
    let mut story = Story::asked();
    let (first, taken) = (story.loop_id.clone(), story.held().request_id().to_owned());
    let (_, digits) = taken.split_once('-').unwrap();
    let initialize = InitializeLoop { hold: terms(HoldPolicy::After), ..story.initialize() };
    story.loop_id = initialize.loop_id();
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize)));
    story.advance_to(ExecutionLoopState::Evaluated);
    for stated in [taken.clone(), format!("X-{digits}"), digits.to_owned()] {
        let ask = story.ask();
        let findings = forged(&mut story, ask, |event| {
            if let Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) = event {
                body.request.request_id = stated.as_str().into();
            }
        });
        assert_found(&findings, Rule::HumanDecisionRequest);
        assert!(story.entity().decisions.requests.is_empty());
        let Some(RequestPlace::Live(found, _)) = story.world.find_request(&taken) else {
            panic!("the request is live")
        };
        assert_eq!(found.loop_id(), first);
    }
}

/// No verb takes an id in another form, and no other thing is told from it by its letters.
#[test]
fn a_loop_under_an_id_in_another_form_is_found_and_does_not_count() {
    let mut story = Story::initialized();
    let initialize =
        InitializeLoop { entropy: Entropy::from_bytes([0xab; 16]), ..story.initialize() };
    let (id, digits) = (initialize.loop_id(), "ab".repeat(16));
    let begin = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize));
    let begun = decide(&story.world, &begin, story.now).unwrap().remove(0);
    let Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(body)) = begun else {
        panic!("an initialization comes first")
    };
    let capitals = format!("LOOP-{}", digits.to_uppercase());
    for other in ["no prefix", "LOOP-", "LOOP-2", &capitals, &digits, &format!("{id}0")] {
        let event = LoopInitialized { loop_id: other.into(), ..body.clone() };
        assert_found(&story.record(event.into()), Rule::Initialization);
        assert!(story.world.live_loop(other).is_none(), "{other}");
    }
    assert_eq!(story.record(body.into()), []);
    assert!(story.world.live_loop(&id).is_some());
}

#[test]
fn a_request_under_an_id_in_another_form_is_found_and_asks_nobody() {
    let capitals = "00112233445566778899AABBCCDDEEFF";
    for digits in [capitals, "2", "", &capitals.to_lowercase()[1..]] {
        let mut story = about_to_ask();
        let ask = story.ask();
        let findings = forged(&mut story, ask, |event| {
            if let Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) = event {
                body.request.request_id = format!("REQ-{digits}").into();
            }
        });
        assert_found(&findings, Rule::HumanDecisionRequest);
        assert!(story.entity().decisions.requests.is_empty(), "{digits}");
    }
}

/// What was shown is bound by the decision: changing the request alone, or the request and its
/// hash, does not carry over to the decision that was made on it.
#[test]
fn a_decision_does_not_fit_a_summary_that_was_changed_after_the_fact() {
    let mut story = Story::asked();
    let honest = story.decides(HumanDecision::Continue);
    let answer = decide(&story.world, &honest, story.now).unwrap().remove(0);
    let mut rewritten = about_to_ask();
    let ask = rewritten.ask();
    forged(&mut rewritten, ask, |event| {
        if let Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) = event {
            body.context.command_line = "true".into();
            body.request_hash = injective_request_hash(&body.context, &body.request);
        }
    });
    let Event::HumanDecision(HumanDecisionEvent::HumanDecisionAnswered(body)) = &answer else {
        panic!("an answer comes first")
    };
    let mut other = body.clone();
    other.audit.shown_hash = sha256(b"what the person did not see");
    rewritten.now = story.now;
    let findings = rewritten.record(other.into());
    assert_found(&findings, Rule::HumanDecisionAudit);
    assert!(rewritten.held().is_open());
    assert_eq!(story.record(answer), []);
}

#[test]
fn a_request_in_the_wrong_place_is_found() {
    let mut story = about_to_ask();
    let mut events = decide(&story.world, &story.ask(), story.now).unwrap();
    let Some(Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body))) = events.pop()
    else {
        panic!("a request")
    };
    assert_eq!(story.record(body.clone().into()), []);
    assert_found(&story.record(body.clone().into()), Rule::HumanDecisionRequest);
    let mut second = body;
    second.request.request_id = "REQ-2".into();
    assert_found(&story.record(second.clone().into()), Rule::HumanDecisionRequest);
    assert_eq!(story.entity().decisions.requests.len(), 1);
    let mut running = Story::in_state(ExecutionLoopState::AwaitingResponse);
    second.context.loop_id = running.loop_id.as_str().into();
    assert_found(&running.record(second.into()), Rule::HumanDecisionRequest);
    let nothing =
        RequestWithdrawn { loop_id: running.loop_id.as_str().into(), request_id: "R".into() };
    assert_found(&running.record(nothing.into()), Rule::HumanDecisionRequest);
}

#[test]
fn a_forged_answer_is_found_and_does_not_count() {
    assert_found(
        &forged_answer(|b| b.record.human_id = "mallory".into()),
        Rule::HumanDecisionAnswer,
    );
    assert_found(&forged_answer(|b| b.record.reason = None), Rule::HumanDecisionAnswer);
    assert_found(
        &forged_answer(|b| b.record.request_id = "REQ-x".into()),
        Rule::HumanDecisionAnswer,
    );
    assert_found(
        &forged_answer(|b| b.record.escalation_target = Some("x".into())),
        Rule::HumanDecisionAnswer,
    );
    assert_found(&forged_answer(|b| b.record.timestamp = "2026".into()), Rule::HumanDecisionAnswer);
    assert_found(
        &forged_answer(|b| b.record.evidence_chain_hash = "00".into()),
        Rule::HumanDecisionAnswer,
    );
    let applied = holdpoint_domain::human_decision::HumanDecisionOutcome::Rejected;
    assert_found(&forged_answer(|b| b.outcome = applied), Rule::HumanDecisionAnswer);
    assert_found(&forged_answer(|b| b.audit.index = 7), Rule::HumanDecisionAudit);
    assert_found(&forged_answer(|b| b.audit.prior_hash = "00".into()), Rule::HumanDecisionAudit);
    assert_found(&forged_answer(|b| b.audit.self_hash = "00".into()), Rule::HumanDecisionAudit);
    assert_found(
        &forged_answer(|b| b.audit.injective_hash = sha256(b"")),
        Rule::HumanDecisionAudit,
    );
    assert_found(&forged_answer(|b| b.audit.shown_hash = sha256(b"")), Rule::HumanDecisionAudit);
    assert_found(
        &forged_answer(|b| b.means.detail = "/dev/pts/4".into()),
        Rule::HumanDecisionAudit,
    );
}

#[test]
fn an_answer_at_the_deadline_is_found() {
    let mut story = Story::asked();
    let answer = story.decides(HumanDecision::Retry);
    let mut events = decide(&story.world, &answer, story.now).unwrap();
    story.wait(TIMEOUT_MS);
    assert_found(&story.record(events.remove(0)), Rule::HumanDecisionAnswer);
    assert!(story.held().is_open());
}

/// Only a person decides: an answer under any other envelope counts for nothing.
#[test]
fn an_answer_that_no_person_gave_is_found() {
    for kind in [Actor::Agent, Actor::Automation, Actor::System] {
        let mut story = Story::asked();
        let answer = story.decides(HumanDecision::Retry);
        let event = decide(&story.world, &answer, story.now).unwrap().remove(0);
        let mut forged = envelope(event);
        forged.actor = ActorId { kind, id: "alice".into() };
        assert_found(&story.record_envelope(forged.clone()), Rule::HumanAuthority);
        assert!(story.held().is_open());
        forged.actor = ActorId { kind: Actor::Human, id: "bob".into() };
        assert_found(&story.record_envelope(forged), Rule::HumanAuthority);
        assert!(story.held().is_open());
    }
}

#[test]
fn a_loop_that_passes_its_hold_without_a_person_is_found() {
    let hold = terms(HoldPolicy::After);
    let mut story = Story::evaluated_under(hold, ExecutorResponseType::Success);
    let free = Story::evaluated_under(HoldTerms::never(), ExecutorResponseType::Success);
    let complete = Command::ExecutionLoop(ExecutionLoopCommand::CompleteLoop(CompleteLoop {
        loop_id: free.loop_id.clone(),
        entropy: free.entropy(),
    }));
    let loop_id = story.loop_id.clone();
    let events = decide(&free.world, &complete, story.now).unwrap();
    let mut findings = Vec::new();
    for event in events {
        if let Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(mut body)) = event {
            body.loop_id = loop_id.as_str().into();
            findings.extend(story.record(body.into()));
        }
    }
    assert_found(&findings, Rule::HoldPoint);
    let mut story = Story::asked();
    let loop_id = story.loop_id.as_str().into();
    let again = LoopDispatched {
        loop_id,
        attempt: 2,
        permitted_by_fault: None,
        permitted_by_decision: Some("DEC-forged".into()),
        instruction: None,
    };
    assert_found(&story.record(again.into()), Rule::HoldPoint);
}

#[test]
fn warnings_and_timeouts_out_of_time_are_found() {
    let expired = || {
        let mut story = Story::asked();
        story.wait(TIMEOUT_MS);
        let expire = story.expire(story.held().request_id());
        decide(&story.world, &expire, story.now).unwrap()
    };
    let (mut story, mut events) = (Story::asked(), expired());
    assert_found(&story.record(events.remove(0)), Rule::HumanDecisionExpiry);
    assert_found(&story.record(events.remove(0)), Rule::HumanDecisionExpiry);
    assert!(!story.held().is_open(), "a timeout is ABORT, whoever forged it");
    let late = forged_timeout(|body| body.due_at = Time::from_nanoseconds(1));
    assert_found(&late, Rule::HumanDecisionExpiry);
    let renamed = forged_timeout(|body| body.record.human_id = "alice".into());
    assert_found(&renamed, Rule::HumanDecisionExpiry);
    assert_found(&forged_timeout(|body| body.audit.index = 1), Rule::HumanDecisionAudit);
}

fn forged_timeout(change: impl Fn(&mut HumanDecisionTimedOut)) -> Vec<ForbiddenEvent> {
    let mut story = Story::asked();
    story.wait(TIMEOUT_MS);
    let expire = story.expire(story.held().request_id());
    forged(&mut story, expire, |event| {
        if let Event::HumanDecision(HumanDecisionEvent::HumanDecisionTimedOut(body)) = event {
            change(body);
        }
    })
}

/// Under a name that nobody can see, or that is the timeout's, nobody stops a hold, even where all
/// else fits.
#[test]
fn an_answer_of_nobody_is_found_and_does_not_count() {
    for nobody in ["\u{200b}", "SYSTEM_TIMEOUT"] {
        let mut story = Story::asked();
        let abort = story.decides(HumanDecision::Abort);
        let first = decide(&story.world, &abort, story.now).unwrap().remove(0);
        let Event::HumanDecision(HumanDecisionEvent::HumanDecisionAnswered(mut body)) = first
        else {
            panic!("an answer comes first")
        };
        body.record.human_id = nobody.into();
        let head = story.entity().decisions.audit.clone().unwrap();
        let (shown, means) = (story.held().shown_hash(), Some(body.means.clone()));
        let next = record_decision(&head, &body.record, &HumanDecisionBinding { shown, means });
        body.audit.self_hash = next.head_hash.into();
        body.audit.injective_hash = next.injective_head;
        let mut record = envelope(body.into());
        record.actor = ActorId { kind: Actor::Human, id: nobody.into() };
        let findings = story.record_envelope(record);
        assert_found(&findings, Rule::HumanDecisionAnswer);
        assert!(findings.iter().all(|f| f.rule == Rule::HumanDecisionAnswer), "{findings:?}");
        assert!(story.held().is_open(), "{nobody:?}");
    }
}

/// The words of a timeout are no rule: what binds them is the audit trail.
#[test]
fn a_timeout_that_words_its_reason_otherwise_is_allowed_and_bound_by_its_audit() {
    let reword = |body: &mut HumanDecisionTimedOut| body.record.reason = Some("nobody came".into());
    assert_found(&forged_timeout(reword), Rule::HumanDecisionAudit);
    let mut story = Story::asked();
    story.wait(TIMEOUT_MS);
    let head = story.entity().decisions.audit.clone().unwrap();
    let binding = HumanDecisionBinding { shown: story.held().shown_hash(), means: None };
    let expire = story.expire(story.held().request_id());
    let findings = forged(&mut story, expire, |event| {
        if let Event::HumanDecision(HumanDecisionEvent::HumanDecisionTimedOut(body)) = event {
            reword(body);
            let next = record_decision(&head, &body.record, &binding);
            body.audit.self_hash = next.head_hash.into();
            body.audit.injective_hash = next.injective_head;
        }
    });
    assert_eq!(findings, []);
    let decided = story.held().decided().unwrap();
    assert_eq!(decided.record.decision, HumanDecision::Abort);
    assert_eq!(decided.record.reason.as_deref(), Some("nobody came"));
}

#[test]
fn a_loop_that_halts_as_timed_out_while_nobody_timed_out_is_found() {
    let mut story = Story::asked();
    let stop = story
        .stop(holdpoint_domain::evidence_capture::StopCondition::HumanAbort, Default::default());
    let findings = forged(&mut story, stop, |event| {
        if let Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(body)) = event {
            body.reason = HaltReason::HumanDecisionTimedOut;
            body.stop_condition = None;
        }
    });
    assert_found(&findings, Rule::HaltReason);
}

#[test]
fn a_field_that_nobody_may_show_stays_hidden_and_is_found() {
    let mut story = Story::asked();
    let allowed = Command::HumanDecision(HumanDecisionCommand::OverrideVisibility(
        story.overrides(OverrideField::AttemptExit),
    ));
    let Event::HumanDecision(HumanDecisionEvent::VisibilityOverridden(honest)) =
        decide(&story.world, &allowed, story.now).unwrap().remove(0)
    else {
        panic!("an override")
    };
    let mut wrong = honest.clone();
    wrong.disclosed = sha256(b"another exit");
    assert_found(&story.record(wrong.into()), Rule::VisibilityOverride);
    let mut stranger = honest.clone();
    stranger.human_id = "alice".into();
    assert_found(&story.record(stranger.into()), Rule::VisibilityOverride);
    let mut machine = envelope(honest.clone().into());
    machine.actor = ActorId { kind: Actor::Agent, id: "carol".into() };
    assert_found(&story.record_envelope(machine), Rule::HumanAuthority);
    assert!(story.held().overrides.is_empty());
    assert_eq!(story.record(honest.clone().into()), []);
    assert_found(&story.record(honest.into()), Rule::VisibilityOverride);
    assert_eq!(story.held().overrides.len(), 1);
}

#[test]
fn an_output_that_is_shown_beside_no_open_question_is_found() {
    let mut story = Story::asked();
    let (loop_id, request_id) = (story.loop_id.as_str().into(), story.held().request_id().into());
    let shown = OutputShown { loop_id, request_id };
    assert_eq!(story.record(shown.clone().into()), []);
    let other = OutputShown { request_id: "REQ-2".into(), ..shown };
    assert_found(&story.record(other.into()), Rule::HumanDecisionRequest);
}

#[test]
fn a_key_that_stands_for_two_contents_is_found() {
    let mut story = Story::initialized();
    let key = |content: &[u8]| Idempotency {
        tenant: "t".into(),
        engine: "e".into(),
        key: "k".into(),
        content: sha256(content),
    };
    let with = |content: &[u8]| {
        let mut record = envelope(holdpoint_domain::log::ClockStepped { step_ns: 1 }.into());
        record.idempotency = Some(key(content));
        record
    };
    assert_eq!(story.record_envelope(with(b"one")), []);
    assert_eq!(story.record_envelope(with(b"one")), []);
    assert_found(&story.record_envelope(with(b"two")), Rule::Idempotency);
}
