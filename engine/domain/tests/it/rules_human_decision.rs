//! The rules of `human_decision` (Phase-32) as given, when, then.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::forbidden::RefusalClass;
use holdpoint_domain::evidence_capture::{StopCondition, StopFacts};
use holdpoint_domain::execution_loop::{
    ExecutionLoopCommand, ExecutionLoopState, ExecutorResponseType, HaltReason, StopLoop,
};
use holdpoint_domain::governed::RequestPlace;
use holdpoint_domain::human_decision::{
    HoldPolicy, HoldTerms, HumanDecision, HumanDecisionCommand, HumanDecisionEvent,
    HumanDecisionOutcome, OverrideField,
};
use holdpoint_domain::log::{LogCommand, LogEvent, RecordFingerprint};
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_domain::{Command, Event, Refusal, Time, World};
use holdpoint_testing::story::held::{TIMEOUT_MS, terms};
use holdpoint_testing::story::{SECRET, Story, halt_reason, names, rebuilt};
use serde_json::json;

use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};
use ExecutorResponseType::{Failure, Success};
use HumanDecision::{Abort, Continue, Escalate, Retry};
use HumanDecisionCommand::{AnswerHumanDecision, OverrideVisibility};

fn code(result: Result<Vec<Event>, Refusal>) -> &'static str {
    result.map_or_else(|refusal| refusal.code(), |events| panic!("accepted: {events:?}"))
}

/// The view of the story's last request, as `decision show` would print it.
fn shown(story: &Story) -> serde_json::Value {
    serde_json::to_value(story.entity().request_view(story.held())).unwrap()
}

/// An answer with a change.
fn answer_but(
    story: &Story,
    decision: HumanDecision,
    change: impl FnOnce(&mut holdpoint_domain::human_decision::AnswerHumanDecision),
) -> Command {
    let mut answer = story.answer(decision);
    change(&mut answer);
    Command::HumanDecision(AnswerHumanDecision(answer))
}

// When a person is asked.

#[test]
fn table_hold_policy_against_how_the_attempt_ended() {
    let table = [
        (HoldPolicy::Never, Success, false),
        (HoldPolicy::Never, Failure, false),
        (HoldPolicy::OnFailure, Success, false),
        (HoldPolicy::OnFailure, Failure, true),
        (HoldPolicy::OnFailure, ExecutorResponseType::Partial, true),
        (HoldPolicy::After, Success, true),
        (HoldPolicy::After, Failure, true),
    ];
    for (policy, status, held) in table {
        let mut story = Story::evaluated_under(terms(policy), status);
        assert_eq!(story.entity().hold_applies(), held, "{policy} {status}");
        let completed = story.when(story.complete());
        assert_eq!(completed.is_err(), held, "{policy} {status}: {completed:?}");
    }
}

#[test]
fn a_person_is_asked_in_evaluated_and_nowhere_else() {
    for state in [Init, Dispatched, AwaitingResponse] {
        let mut story = Story::in_state(state);
        assert_eq!(code(story.when(story.ask())), "WRONG_STATE", "{state}");
    }
    let mut story = Story::in_state(Halted);
    assert_eq!(code(story.when(story.ask())), "LOOP_NOT_LIVE");
    let mut story = Story::in_state(Evaluated);
    assert_eq!(names(&story.given(story.ask())), ["requested"]);
    assert_eq!(code(story.when(story.ask())), "REQUEST_OPEN");
    assert_eq!(code(story.when(story.complete())), "HOLD_APPLIES");
}

#[test]
fn a_request_is_made_of_the_loops_own_evidence() {
    let story = Story::asked();
    let (entity, held) = (story.entity(), story.held());
    let chain = entity.chain.as_ref().unwrap();
    let (newest, summary) = (chain.records.last().unwrap(), &held.request.evidence_summary);
    assert_eq!(summary.chain_length, chain.head.length);
    assert_eq!(summary.chain_hash.as_str(), chain.head.head_hash);
    assert_eq!(summary.observation_point, newest.observation_point);
    assert_eq!(summary.execution_state, Evaluated);
    assert_eq!(summary.confidence_score.basis_points(), 3_000);
    assert_eq!(held.request.session_id.as_str(), entity.observer.as_ref().unwrap().session_id);
    let given = held.request.timeout_at.nanoseconds_since(held.request.created_at);
    assert_eq!(given, TIMEOUT_MS * 1_000_000);
    assert_eq!(held.request.timeout_decision, Abort);
}

#[test]
fn what_may_be_decided_follows_the_attempts_and_the_targets() {
    let allowed = |change: fn(&mut holdpoint_domain::execution_loop::InitializeLoop)| {
        let mut story = Story::initialized_with(|command| {
            command.hold = terms(HoldPolicy::After);
            change(command);
        });
        story.advance_to(AwaitingResponse);
        story.given(story.report(Failure));
        story.given(story.ask());
        story.held().request.allowed_decisions.to_vec()
    };
    assert_eq!(allowed(|_| {}), [Continue, Retry, Abort, Escalate]);
    assert_eq!(allowed(|c| c.max_attempts = 1), [Continue, Abort, Escalate]);
    assert_eq!(allowed(|c| c.hold = HoldTerms::of(HoldPolicy::After)), [Continue, Retry, Abort]);
}

// What follows from an answer.

#[test]
fn continue_ends_the_loop_as_its_evaluation_gives() {
    for (status, reason) in
        [(Success, HaltReason::Completed), (Failure, HaltReason::ResponseRejected)]
    {
        let mut story = Story::observed_under(terms(HoldPolicy::After), status);
        story.given(story.ask());
        let events = story.given(story.decides(Continue));
        assert_eq!(names(&events), ["answered", "evidence_captured", "halted", "chain_sealed"]);
        assert_eq!(halt_reason(&events), Some(reason));
        assert_eq!(story.json()["decision_requests"][0]["decision"]["outcome"], "APPLIED");
    }
}

#[test]
fn retry_permits_one_more_attempt_of_the_same_loop() {
    let mut story = Story::asked();
    assert_eq!(names(&story.given(story.decides(Retry))), ["answered"]);
    assert_eq!(code(story.when(story.complete())), "HOLD_APPLIES");
    assert_eq!(code(story.when(story.ask())), "ATTEMPT_DECIDED");
    let decision_id = story.held().decided().unwrap().record.decision_id.clone();
    let events = story.given(story.retry());
    assert!(names(&events).contains(&"dispatched"));
    assert_eq!(story.json()["attempts"][1]["permitted_by_decision"], decision_id.as_str());
    assert_eq!(story.entity().attempt_count(), 2);
    story.given(story.await_response());
    story.given(story.output(SECRET));
    story.given(story.report(Failure));
    assert_eq!(code(story.when(story.retry())), "RETRY_NOT_PERMITTED");
    assert_eq!(code(story.when(story.complete())), "HOLD_APPLIES");
    assert_eq!(names(&story.given(story.ask())), ["requested"]);
}

#[test]
fn retries_are_bounded_by_the_attempts() {
    let mut story = Story::asked();
    for attempt in 2..=3 {
        story.given(story.decides(Retry));
        story.given(story.retry());
        assert_eq!(story.entity().attempt_count(), attempt);
        story.given(story.await_response());
        story.given(story.output(SECRET));
        story.given(story.report(Failure));
        story.given(story.ask());
    }
    assert!(!story.held().request.allows(Retry));
    assert_eq!(code(story.when(story.decides(Retry))), "DECISION_NOT_ALLOWED");
    assert!(story.held().is_open());
}

#[test]
fn abort_halts_by_human_abort() {
    let mut story = Story::asked();
    let events = story.given(story.decides(Abort));
    let expected =
        ["answered", "stop_condition_detected", "evidence_captured", "halted", "chain_sealed"];
    assert_eq!(names(&events), expected);
    let halt = story.entity().halt.clone().unwrap();
    assert_eq!(halt.reason, HaltReason::StopCondition);
    assert_eq!(halt.stop_condition, Some(StopCondition::HumanAbort));
    let details = story.entity().stop.as_ref().unwrap().details.clone();
    assert!(details.contains("ABORT by alice"), "{details}");
}

#[test]
fn escalate_asks_a_configured_target_with_its_own_time() {
    let mut story = Story::asked();
    let first = story.held().request_id().to_owned();
    assert_eq!(names(&story.given(story.decides(Escalate))), ["answered", "requested"]);
    let held = story.held();
    assert_eq!(held.context.asked_of.as_deref(), Some("boss"));
    assert_eq!(held.context.escalated_from.as_deref(), Some(first.as_str()));
    assert_eq!(held.context.escalation_depth, 1);
    let given = held.request.timeout_at.nanoseconds_since(held.request.created_at);
    assert_eq!(given, 2 * TIMEOUT_MS * 1_000_000);
    let decided = story.entity().request(&first).unwrap().decided().unwrap();
    assert_eq!(decided.outcome, HumanDecisionOutcome::Pending);
    assert_eq!(code(story.when(story.decides(Continue))), "NOT_AN_APPROVER");
    let by_boss = answer_but(&story, Continue, |answer| answer.human_id = "boss".into());
    story.given(by_boss);
    assert_eq!(halt_reason(&story.given(story.complete())), Some(HaltReason::ResponseRejected));
}

#[test]
fn the_chain_of_escalations_is_bounded() {
    let mut story = Story::asked();
    story.given(story.decides(Escalate));
    let again = answer_but(&story, Escalate, |answer| answer.human_id = "boss".into());
    assert_eq!(code(story.when(again)), "UNKNOWN_TARGET");
    let on = answer_but(&story, Escalate, |answer| {
        answer.human_id = "boss".into();
        answer.escalation_target = Some("board".into());
    });
    story.given(on);
    assert!(!story.held().request.allows(Escalate));
    let more = answer_but(&story, Escalate, |answer| answer.human_id = "dave".into());
    assert_eq!(code(story.when(more)), "DECISION_NOT_ALLOWED");
    let by_dave = answer_but(&story, Abort, |answer| answer.human_id = "dave".into());
    story.given(by_dave);
    let trail: Vec<u64> = story
        .entity()
        .decisions
        .requests
        .iter()
        .map(|held| held.decided().unwrap().sequence)
        .collect();
    assert!(trail.is_sorted() && trail.len() == 3);
}

#[test]
fn where_a_hold_applies_the_sandbox_permission_does_not_suffice() {
    let held = |needs_person| {
        let mut story = Story::initialized_with(|command| {
            command.hold = terms(HoldPolicy::OnFailure);
            command.hold.retry_needs_person = needs_person;
        });
        story.advance_to(AwaitingResponse);
        story.given(story.fault(ExecutionFaultType::Crash));
        story
    };
    let mut story = held(true);
    assert_eq!(code(story.when(story.retry())), "HOLD_APPLIES");
    story.given(story.ask());
    assert_eq!(code(story.when(story.retry())), "HOLD_APPLIES");
    story.given(story.decides(Retry));
    story.given(story.retry());
    let mut story = held(false);
    story.given(story.retry());
    assert_eq!(story.entity().attempt_count(), 2);
}

#[test]
fn a_stop_withdraws_the_question() {
    let mut story = Story::asked();
    let stop = Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(StopLoop {
        loop_id: story.loop_id.clone(),
        entropy: story.entropy(),
        condition: StopCondition::HumanAbort,
        facts: StopFacts { human_abort_signaled: Some(true), ..StopFacts::default() },
        details: "Ctrl-C".into(),
    }));
    let events = story.given(stop);
    assert!(names(&events).contains(&"request_withdrawn"));
    assert_eq!(shown(&story)["state"], "WITHDRAWN");
    assert_eq!(code(story.when(story.decides(Continue))), "REQUEST_WITHDRAWN");
}

// Who answers, and what an answer needs.

#[test]
fn only_the_people_who_are_asked_can_answer() {
    let mut story = Story::asked();
    for kind in [Actor::Agent, Actor::Automation, Actor::System] {
        let machine = answer_but(&story, Continue, |answer| answer.actor = kind);
        assert_eq!(code(story.when(machine)), "NOT_A_HUMAN");
    }
    let stranger = answer_but(&story, Continue, |answer| answer.human_id = "mallory".into());
    assert_eq!(code(story.when(stranger)), "NOT_AN_APPROVER");
    let elsewhere = answer_but(&story, Continue, |answer| answer.loop_id = Some("LOOP-x".into()));
    assert_eq!(code(story.when(elsewhere)), "REQUEST_ELSEWHERE");
    let unknown = answer_but(&story, Continue, |answer| answer.request_id = "REQ-x".into());
    assert_eq!(code(story.when(unknown)), "UNKNOWN_REQUEST");
    let right = answer_but(&story, Continue, |answer| answer.loop_id = Some(story.loop_id.clone()));
    story.given(right);
}

#[test]
fn anyone_may_answer_where_no_approver_is_named() {
    let anyone = HoldTerms::of(HoldPolicy::After);
    let mut story = Story::evaluated_under(anyone, Success);
    story.given(story.ask());
    story.given(answer_but(&story, Continue, |answer| answer.human_id = "zoe".into()));
    let timeouts =
        ["SYSTEM_TIMEOUT", "system_timeout", "System_Timeout", " system_timeout\u{2800}"];
    for name in timeouts.into_iter().chain(["", " ", "\u{200b}", "\u{2800}", "a\u{202e}b", "a\0b"])
    {
        let mut story = Story::asked();
        let nobody = answer_but(&story, Continue, |answer| answer.human_id = name.into());
        assert!(story.when(nobody).is_err(), "{name:?}");
    }
}

#[test]
fn reasons_are_kept_visible_and_never_cut() {
    let with = |decision, reason: Option<&str>| {
        let mut story = Story::asked();
        let answer = answer_but(&story, decision, |answer| {
            answer.reason = reason.map(Into::into);
        });
        story.when(answer).map(|_| story.held().decided().unwrap().record.reason.clone())
    };
    let kept = with(Retry, Some("line\none \u{202e}evil\0")).unwrap();
    assert_eq!(kept.as_deref(), Some("line\\u{a}one \\u{202e}evil\\u{0}"));
    let blanks = ["", " ", "\t\u{a0}\u{3000}", "\u{200b}", "\u{2060}\u{feff}", "\0\u{7f}"];
    for blank in blanks.into_iter().chain(["\u{2800}", " \u{2800}\u{2800}\u{200b}"]) {
        assert_eq!(with(Retry, Some(blank)).unwrap_err().code(), "REASON_REQUIRED", "{blank:?}");
        assert_eq!(with(Abort, Some(blank)).unwrap(), None, "{blank:?}");
    }
    assert_eq!(with(Retry, None).unwrap_err().code(), "REASON_REQUIRED");
    assert_eq!(with(Abort, Some(&"x".repeat(4097))).unwrap_err().code(), "REASON_TOO_LONG");
    assert!(with(Abort, Some(&"x".repeat(4096))).is_ok());
}

#[test]
fn targets_are_those_of_the_hold() {
    let mut story = Story::asked();
    let with = |story: &Story, decision, target: Option<&str>| {
        answer_but(story, decision, |a| a.escalation_target = target.map(Into::into))
    };
    assert_eq!(code(story.when(with(&story, Escalate, None))), "TARGET_REQUIRED");
    assert_eq!(code(story.when(with(&story, Escalate, Some("\u{200b}")))), "TARGET_REQUIRED");
    assert_eq!(code(story.when(with(&story, Escalate, Some("mallory")))), "UNKNOWN_TARGET");
    assert_eq!(code(story.when(with(&story, Continue, Some("boss")))), "UNEXPECTED_TARGET");
    story.given(with(&story, Escalate, Some("board")));
}

// Exactly one answer counts.

#[test]
fn the_same_answer_again_is_done_and_another_one_conflicts() {
    for decision in HumanDecision::ALL {
        let mut story = Story::asked();
        let first = story.answer(*decision);
        story.given(Command::HumanDecision(AnswerHumanDecision(first.clone())));
        let place = story.world.find_request(&first.request_id).unwrap();
        let won = place.held().decided().unwrap().sequence;
        let again = story.when(Command::HumanDecision(AnswerHumanDecision(first.clone())));
        assert_eq!(again.unwrap_err().done_before(), Some(won), "{decision}");
        let mut other = first.clone();
        other.human_id = "bob".into();
        let refusal = story.when(Command::HumanDecision(AnswerHumanDecision(other))).unwrap_err();
        assert_eq!(refusal.code(), "ALREADY_ANSWERED", "{decision}");
        let text = refusal.to_string();
        assert!(text.contains("alice") && text.contains(&format!("record {won}")), "{text}");
    }
}

#[test]
fn answers_are_told_apart_also_after_a_restart() {
    let mut story = Story::asked();
    let first = Command::HumanDecision(AnswerHumanDecision(story.answer(Abort)));
    story.given(first.clone());
    let world = rebuilt(&story.records, World::default());
    assert_eq!(world.live_loops().count(), 0);
    let again = holdpoint_domain::decide(&world, &first, story.now);
    assert!(again.as_ref().is_err_and(|no| no.done_before().is_some()), "{again:?}");
}

// Time.

#[test]
fn at_80_percent_the_person_is_warned_and_at_the_deadline_the_loop_aborts() {
    let mut story = Story::asked();
    let (warning_at, timeout_at) = (story.held().warning_at(), story.held().request.timeout_at);
    let request_id = story.held().request_id().to_owned();
    assert_eq!(story.world.next_due(), Some(warning_at));
    story.now = Time::from_nanoseconds(warning_at.nanoseconds() - 1);
    assert_eq!(story.world.due(story.now), []);
    assert_eq!(code(story.when(story.expire(&request_id))), "NOT_DUE");
    story.now = warning_at;
    let due = story.world.due(story.now);
    assert_eq!((due.len(), due[0].due_at, due[0].timed_out), (1, warning_at, false));
    assert_eq!(due[0].caused_by, story.held().requested_sequence);
    assert_eq!(names(&story.given(story.expire(&request_id))), ["warned"]);
    assert_eq!(shown(&story)["state"], "WARNED");
    assert_eq!(story.world.next_due(), Some(timeout_at));
    story.now = timeout_at;
    let events = story.given(story.expire(&request_id));
    let expected = ["timed_out", "evidence_captured", "halted", "chain_sealed"];
    assert_eq!(names(&events), expected);
    assert_eq!(halt_reason(&events), Some(HaltReason::HumanDecisionTimedOut));
    assert_eq!(story.world.next_due(), None);
    let view = shown(&story);
    assert_eq!(view["state"], "TIMED_OUT");
    assert_eq!(view["decision"]["human_id"], "SYSTEM_TIMEOUT");
    assert_eq!(view["decision"]["decision"], "ABORT");
    assert_eq!(view["decision"]["reason"], "TIMEOUT");
    assert_eq!(view["decision"]["outcome"], "TIMEOUT");
}

#[test]
fn whoever_looks_late_records_both_with_their_due_times() {
    let mut story = Story::asked();
    let held = story.held().clone();
    story.wait(50 * TIMEOUT_MS);
    let events = story.given(story.expire(held.request_id()));
    let [
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionWarned(warned)),
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionTimedOut(timed_out)),
        ..,
    ] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_eq!(warned.due_at, held.warning_at());
    assert_eq!(timed_out.due_at, held.request.timeout_at);
    assert!(story.world.find_request(held.request_id()).is_some());
}

#[test]
fn a_deadline_that_is_now_has_passed() {
    let mut story = Story::asked();
    let timeout_at = story.held().request.timeout_at;
    let answer = story.decides(Continue);
    story.now = Time::from_nanoseconds(timeout_at.nanoseconds() - 1);
    let mut in_time = story.clone();
    assert_eq!(names(&in_time.given(answer.clone()))[0], "answered");
    story.now = timeout_at;
    let events = story.given(answer);
    let expected = [
        "warned",
        "timed_out",
        "evidence_captured",
        "halted",
        "chain_sealed",
        "late_answer_recorded",
    ];
    assert_eq!(names(&events), expected);
}

#[test]
fn a_late_answer_is_kept_and_never_counts() {
    let mut story = Story::asked();
    let answer = story.decides(Retry);
    story.wait(TIMEOUT_MS);
    let events = story.submit(answer.clone()).unwrap();
    assert_eq!(names(&events), ["late_answer_recorded"]);
    assert_eq!(story.entity().halt.as_ref().unwrap().reason, HaltReason::HumanDecisionTimedOut);
    story.given(answer);
    let RequestPlace::Closed(held) = story.world.find_request(story.held().request_id()).unwrap()
    else {
        panic!("the loop settled");
    };
    assert_eq!(held.late_answers, 2);
    assert_eq!(held.decided().unwrap().record.human_id.as_str(), "SYSTEM_TIMEOUT");
    assert_eq!(story.world.totals().late_answers, 2);
    assert_eq!(story.world.totals().decisions_answered, 0);
}

#[test]
fn each_question_falls_due_by_itself_and_the_earliest_first() {
    let mut story = Story::asked();
    let first = story.held().request_id().to_owned();
    story.wait(100);
    let mut command = story.initialize();
    command.hold = terms(HoldPolicy::After);
    story.loop_id = command.loop_id();
    story.given(Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command)));
    story.advance_to(AwaitingResponse);
    story.given(story.report(Failure));
    story.given(story.ask());
    let second = story.held().request_id().to_owned();
    story.wait(2 * TIMEOUT_MS);
    let due = story.world.due(story.now);
    let due: Vec<_> = due.iter().filter_map(|due| due.command.subject()).collect();
    assert_eq!(due, [first.as_str(), second.as_str()]);
    let open = story.world.open_requests().count();
    assert_eq!(open, 2);
    story.submit(Command::Log(LogCommand::RecordFingerprint(RecordFingerprint {}))).unwrap();
    assert_eq!(story.world.open_requests().count(), 0);
    assert_eq!(story.world.totals().decisions_timed_out, 2);
}

// What a person sees.

#[test]
fn hidden_fields_are_absent_even_by_name() {
    let story = Story::asked();
    let text = shown(&story).to_string();
    let secret = String::from_utf8(SECRET.to_vec()).unwrap();
    let hidden = ["raw_data", "executor_output", "raw_length", "raw_sha256"];
    let overridable = OverrideField::ALL.iter().map(|field| field.name());
    for name in hidden.into_iter().chain(overridable).chain(["disclosed", &secret]) {
        assert!(!text.contains(name), "{name} in {text}");
    }
    let view = shown(&story);
    assert_eq!(view["executor_claim"], "CLAIMED FAILURE");
    assert_eq!(view["evidence_summary"]["confidence_basis_points"], 3_000);
    assert_eq!(view["evidence_summary"]["execution_state"], "EVALUATED");
    assert_eq!(view["allowed_decisions"], json!(["CONTINUE", "RETRY", "ABORT", "ESCALATE"]));
    assert_eq!(view["command_line"], "sh -c true");
}

#[test]
fn an_override_by_who_may_discloses_one_field_on_the_record() {
    let mut story = Story::asked();
    let before = story.held().shown_hash();
    let exit = story.overrides(OverrideField::AttemptExit);
    let mut tried = |change: &dyn Fn(&mut _)| {
        let mut other = exit.clone();
        change(&mut other);
        code(story.when(Command::HumanDecision(OverrideVisibility(other))))
    };
    assert_eq!(tried(&|it| it.human_id = "alice".into()), "NOT_AN_OVERRIDE_APPROVER");
    assert_eq!(tried(&|it| it.actor = Actor::Agent), "NOT_A_HUMAN");
    for blank in ["\u{200b}", "\u{2800}"] {
        assert_eq!(tried(&|it| it.reason = blank.into()), "REASON_REQUIRED");
    }
    assert_eq!(tried(&|it| it.field = OverrideField::FaultMessage), "NOTHING_TO_DISCLOSE");
    assert_eq!(
        names(&story.given(Command::HumanDecision(OverrideVisibility(exit.clone())))),
        ["visibility_overridden"]
    );
    let view = shown(&story);
    assert_eq!(view["disclosed"]["attempt_exit"]["value"], json!({"status": 0}));
    assert_eq!(view["disclosed"]["attempt_exit"]["human_id"], "carol");
    assert!(view["disclosed"].get("attempt_outputs").is_none());
    assert_ne!(story.held().shown_hash(), before, "the decision binds what was disclosed");
    let again = story.when(Command::HumanDecision(OverrideVisibility(exit.clone())));
    assert!(again.as_ref().is_err_and(|no| no.done_before().is_some()), "{again:?}");
    // For another reason it is no repetition, and changes nothing.
    let mut other = exit;
    other.reason = "another reason".into();
    let no = story.submit(Command::HumanDecision(OverrideVisibility(other))).unwrap_err();
    assert_eq!((no.code(), no.class()), ("ALREADY_OVERRIDDEN", Some(RefusalClass::Idempotency)));
    assert_eq!(shown(&story)["disclosed"], view["disclosed"]);
    story.given(story.decides(Continue));
}

#[test]
fn text_of_an_agent_is_made_visible_and_never_obeyed() {
    let mut story = Story::initialized_with(|command| {
        command.hold = terms(HoldPolicy::After);
        command.command_line = "rm -rf /\u{202e}\u{1b}[2J\0".into();
    });
    story.advance_to(AwaitingResponse);
    story.given(story.report(Failure));
    story.given(story.ask());
    let shown = shown(&story)["command_line"].as_str().unwrap().to_owned();
    assert_eq!(shown, "rm -rf /\\u{202e}\\u{1b}[2J\\u{0}");
}

// Refusals on the record, keys and versions.

#[test]
fn refusals_on_scope_idempotency_and_gating_are_facts() {
    let mut story = Story::asked();
    let recorded = |story: &Story| story.world.totals().commands_refused;
    let cases: [(Command, Option<RefusalClass>); 6] = [
        (
            answer_but(&story, Continue, |a| a.request_id = "REQ-x".into()),
            Some(RefusalClass::Scope),
        ),
        (answer_but(&story, Continue, |a| a.human_id = "eve".into()), Some(RefusalClass::Scope)),
        (answer_but(&story, Continue, |a| a.actor = Actor::Agent), Some(RefusalClass::Scope)),
        (story.complete(), Some(RefusalClass::Gating)),
        (answer_but(&story, Retry, |a| a.reason = None), None),
        (answer_but(&story, Continue, |a| a.human_id = " ".into()), None),
    ];
    for (command, class) in cases {
        let before = recorded(&story);
        let refusal = story.submit(command).unwrap_err();
        assert_eq!(refusal.class(), class, "{refusal}");
        assert_eq!(recorded(&story) - before, u64::from(class.is_some()), "{refusal}");
    }
    story.given(story.decides(Abort));
    let other = answer_but(&story, Continue, |_| {});
    let refusal = story.submit(other.clone()).unwrap_err();
    assert_eq!(refusal.class(), Some(RefusalClass::Idempotency));
    let audited = refusal.audit(&story.world, &other);
    let Some(Event::Log(LogEvent::CommandRefused(body))) = audited else { panic!("a fact") };
    assert_eq!(body.command.as_str(), "human_decision.answer");
    assert_eq!(body.code.as_str(), "ALREADY_ANSWERED");
    assert_eq!(body.subject.as_deref(), Some(story.held().request_id()));
}

#[test]
fn a_stale_version_conflicts() {
    let mut story = Story::asked();
    let answer = story.decides(Continue);
    let seen = story.entity().version;
    assert_eq!(story.world.version_of(&answer), Some(seen));
    assert_eq!(story.world.check_version(&answer, seen), Ok(()));
    story.given(Command::HumanDecision(OverrideVisibility(
        story.overrides(OverrideField::AttemptExit),
    )));
    let refusal = story.world.check_version(&answer, seen).unwrap_err();
    assert_eq!(refusal.code(), "STALE_VERSION");
    assert_eq!(refusal.class(), Some(RefusalClass::Continuity));
    let found = story.entity().version;
    let expected = Refusal::StaleVersion { entity: story.loop_id.clone(), expected: seen, found };
    assert_eq!(refusal, expected);
}
