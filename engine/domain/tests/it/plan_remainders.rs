//! A plan owns the words that its turn leaves unsaid: each of its ends but the commit of these
//! words is a row with a resume policy, and none of them is lost in silence.

use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::interruption_thread::{
    ConfidenceBand, Directive, Fate, FateReason, HealthReport, IntentClass,
    InterruptionThreadCommand, InterruptionThreadEvent, OutcomeRow, PLAN_LIFETIME_MS, PlanEnded,
    ReasonCode, ResumePolicy, SubjectRelation, TakeTurn, TtsControl, TurnInput, TurnRequest,
};
use holdpoint_domain::registration::SessionStatus;
use holdpoint_domain::{Command, Event, Time};
use holdpoint_testing::threads::drawn::row;
use holdpoint_testing::threads::planned::{committed, drafted, heard, plan_key};
use holdpoint_testing::threads::requests::{chat, intent, interrupting, points, relating, request};
use holdpoint_testing::threads::{Outcome, Stage, thread_command, turn, turns};

use crate::duplex::{NOW, refused_row};
use crate::forbidden_threads::forged;

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const LAPSED: u64 = NOW + PLAN_LIFETIME_MS * 1_000_000;
const ANN: [&str; 4] = ["acme", "t", "ann", "phone"];
const SAYING: &str = "It will rain. Take a coat.";

pub(crate) fn stage() -> Stage {
    let mut stage = Stage::with_tenant("acme");
    stage.user("acme", "ann", "phone");
    stage.user("acme", "bob", "tablet");
    stage.session(["acme", "s-1", "ann", "phone"], SessionStatus::Active, NOW).events();
    stage.session(["acme", "s-bob", "bob", "tablet"], SessionStatus::Active, NOW).events();
    stage.work_order("acme", "t");
    stage
}

/// A turn of Ann's.
pub(crate) fn of_ann(stage: &Stage, turn_id: u64, request: TurnRequest) -> TakeTurn {
    TakeTurn { session_id: Some("s-1".into()), ..turn(stage, ANN, turn_id, request) }
}

/// Bob's, in a session of his own.
fn of_bob(stage: &Stage, turn_id: u64, mut request: TurnRequest) -> TakeTurn {
    request.active_speaker_user_id = "bob".into();
    let bob = ["acme", "t", "bob", "tablet"];
    TakeTurn { session_id: Some("s-bob".into()), ..turn(stage, bob, turn_id, request) }
}

/// Ann speaks while this answer is said to her.
pub(crate) fn barge_in(answer_id: u64) -> TurnRequest {
    let mut of = interrupting(request("ann", "weather", chat("Well.")), NOW, SAYING, 13);
    of.tts_resume_snapshot.as_mut().unwrap().answer_id = answer_id;
    relating(of, SubjectRelation::Switch, 9_000)
}

pub(crate) fn unsure(mut request: TurnRequest) -> TurnRequest {
    let of = request.interruption.as_mut().unwrap();
    of.candidate_confidence_band = ConfidenceBand::Medium;
    of.phrase_confidence_bp = points(6_999);
    of.gate_confidences.phrase_bp = points(6_999);
    of.subject_relation_confidence_bundle.lexical_bp = points(6_999);
    request
}

pub(crate) fn take(turn: TakeTurn) -> Command {
    Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn))
}

/// A thread whose second turn is planned, with the words of answer 41.
pub(crate) fn planned() -> (Stage, TakeTurn) {
    let mut stage = stage();
    let turn = of_ann(&stage, 2, barge_in(41));
    stage.give(&drafted(&turn, heard(&turn.request)), NOW).events();
    (stage, turn)
}

/// The user asks to go on, about the same.
pub(crate) fn go_on(stage: &Stage, turn_id: u64) -> TakeTurn {
    let of = request("ann", "weather", intent(IntentClass::Continue));
    of_ann(stage, turn_id, relating(of, SubjectRelation::Same, 9_000))
}

pub(crate) fn outcome_rows(events: &[Event]) -> Vec<OutcomeRow> {
    let of = |event: &Event| match event {
        Event::InterruptionThread(event) => event.outcome_rows(),
        _ => Vec::new(),
    };
    events.iter().flat_map(of).collect()
}

/// The row of the end of the plan: by which reason, and to which turn its words pass.
#[track_caller]
fn assert_ended(events: &[Event], reason: ReasonCode, passed_to_turn: Option<u64>) {
    let rows = outcome_rows(events);
    let [row] = &rows[..] else { panic!("one end: {events:?}") };
    assert_eq!((row.reason_code, row.passed_to_turn), (reason, passed_to_turn));
    let words = (row.turn_id, row.answer_id, row.user_id.as_deref());
    assert_eq!(words, (Some(2), Some(41), Some("ann")));
    assert_eq!(row.interrupt_resume_policy, ResumePolicy::ResumeLater);
    assert_eq!(row.issue_fingerprint.as_deref(), Some("topic:task_status"));
}

pub(crate) fn kept(stage: &Stage) -> Vec<(u64, u64)> {
    let state = stage.state("acme", "t");
    state.resume_buffers.iter().map(|it| (it.captured_turn, it.answer_id)).collect()
}

#[test]
fn words_of_a_plan_that_its_gate_refuses_are_said_when_the_user_asks_to_go_on() {
    let (mut stage, turn) = planned();
    let mut said = heard(&turn.request);
    said.hypothesis.confidence_bp = points(6_999);
    let row = refused_row(&mut stage, &committed(&turn, &plan_key(&turn), said));
    let words = &row.remainders[0];
    assert_eq!((words.fate, words.reason), (Fate::KeptForLater, FateReason::StillKept));
    assert_eq!((words.captured_turn, words.answer_id), (2, 41));
    let next = go_on(&stage, 3);
    let events = stage.give(&take(next), NOW + SECOND).events();
    assert_ended(&events, ReasonCode::PlanPassedBy, None);
    let decision = &turns(&events)[0].decision;
    assert_eq!(decision.reason_code, ReasonCode::InterruptSameSubjectAppend);
    assert_eq!(decision.response_text.as_deref(), Some("Take a coat."));
    stage.assert_rebuilt();
}

#[test]
fn an_unsure_candidate_cancels_no_speech_and_loses_no_words() {
    let mut stage = stage();
    let told = of_ann(&stage, 1, request("ann", "weather", chat(SAYING)));
    stage.give(&take(told), NOW).events();
    let turn = of_ann(&stage, 2, unsure(barge_in(41)));
    stage.give(&drafted(&turn, heard(&turn.request)), NOW).events();
    let other = of_ann(&stage, 2, unsure(barge_in(42)));
    let (key, said) = (plan_key(&turn), heard(&turn.request));
    let mut early = said.clone();
    early.transcript.is_final = false;
    let commands = [
        (committed(&turn, &key, said.clone()), "X_FAIL_CANDIDATE_NOT_SURE", true),
        (committed(&turn, &key, early), "X_FAIL_TRANSCRIPT_NOT_FINAL", true),
        (committed(&turn, "another", said), "X_FAIL_PLAN_INVALID", true),
        (take(turn.clone()), "X_FAIL_PLAN_INVALID", true),
        (committed(&other, &key, heard(&other.request)), "X_FAIL_CANDIDATE_NOT_SURE", false),
        (take(of_bob(&stage, 2, unsure(barge_in(41)))), "X_FAIL_PLAN_INVALID", true),
        (take(of_bob(&stage, 2, unsure(barge_in(42)))), "X_FAIL_PLAN_INVALID", false),
    ];
    for (command, code, is_owned) in commands {
        let row = refused_row(&mut stage, &command);
        assert_eq!((row.reason_code.name(), row.tts_control), (code, None));
        let fates: Vec<_> = row.remainders.iter().map(|words| words.fate).collect();
        assert_eq!(fates, Vec::from_iter(is_owned.then_some(Fate::KeptForLater)), "{code}");
    }
    // Who surely speaks is not talked over.
    let sure = of_ann(&stage, 2, barge_in(41));
    let mut early = heard(&sure.request);
    early.transcript.is_final = false;
    let row = refused_row(&mut stage, &committed(&sure, &key, early));
    assert_eq!(row.tts_control, Some(TtsControl::Cancel));
    let bob = of_bob(&stage, 2, barge_in(41));
    let row = refused_row(&mut stage, &take(bob));
    assert_eq!(row.tts_control, Some(TtsControl::Cancel));
}

#[test]
fn a_plan_that_lapses_leaves_its_words_to_the_thread_and_they_expire_in_their_turn() {
    let (mut stage, _) = planned();
    let expire: Command =
        InterruptionThreadCommand::ExpireThread(thread_command("acme", "t")).into();
    assert_eq!(stage.world.due(Time::from_nanoseconds(LAPSED - 1)), []);
    assert_eq!(stage.world.due(Time::from_nanoseconds(LAPSED))[0].command, expire);
    let mut late = stage.clone();
    assert_ended(&stage.give(&expire, LAPSED).events(), ReasonCode::PlanLapsed, None);
    assert_eq!(kept(&stage), [(2, 41)]);
    let next = go_on(&stage, 2);
    let events = stage.give(&take(next), LAPSED + SECOND).events();
    let decision = &turns(&events)[0].decision;
    assert_eq!(decision.interrupt_resume_policy, Some(ResumePolicy::ResumeNow));
    // What comes of it does not depend on when somebody looks.
    let rows = outcome_rows(&late.give(&expire, LAPSED + 60 * SECOND).events());
    let found: Vec<_> =
        rows.iter().map(|row| (row.reason_code, row.interrupt_resume_policy)).collect();
    let expected = [
        (ReasonCode::PlanLapsed, ResumePolicy::ResumeLater),
        (ReasonCode::BufferExpired, ResumePolicy::Discard),
    ];
    assert_eq!(found, expected);
    late.assert_rebuilt();
}

#[test]
fn a_plan_that_is_replaced_passes_its_words_on_to_one_that_interrupts_the_same() {
    let (mut stage, turn) = planned();
    let again = TakeTurn { idempotency_key: "again".into(), ..turn };
    let events = stage.give(&drafted(&again, heard(&again.request)), NOW).events();
    assert_ended(&events, ReasonCode::PlanReplaced, Some(2));
    assert_eq!(kept(&stage), []);
    let mut health = HealthReport::default();
    for (sequence, event) in (1..).zip(&events) {
        let Event::InterruptionThread(event) = event else { continue };
        health.apply(sequence, Time::from_nanoseconds(NOW), event);
    }
    assert_eq!(health.rows().len(), 0, "nothing came of them yet");
    let events = stage.give(&committed(&again, &plan_key(&again), heard(&again.request)), NOW);
    let events = events.events();
    assert_eq!(outcome_rows(&events), [], "the commit is no loss");
    assert_eq!(turns(&events)[0].decision.remainders[0].fate, Fate::Captured);
}

#[test]
fn a_plan_that_is_replaced_by_one_of_other_words_leaves_its_own_to_the_thread() {
    let (mut stage, _) = planned();
    let other = TakeTurn { idempotency_key: "other".into(), ..of_ann(&stage, 2, barge_in(42)) };
    let events = stage.give(&drafted(&other, heard(&other.request)), NOW).events();
    assert_ended(&events, ReasonCode::PlanReplaced, None);
    assert_eq!(kept(&stage), [(2, 41)]);
    // Two interruptions of one turn: the newer words take the place of the older, by a row.
    let commit = committed(&other, &plan_key(&other), heard(&other.request));
    let events = stage.give(&commit, NOW).events();
    let rows = outcome_rows(&events);
    let found: Vec<_> =
        rows.iter().map(|row| (row.answer_id, row.interrupt_resume_policy)).collect();
    assert_eq!(found, [(Some(41), ResumePolicy::Discard)]);
    assert_eq!(kept(&stage), [(2, 42)]);
    stage.assert_rebuilt();
}

#[test]
fn a_plan_that_is_passed_by_leaves_its_words_to_the_thread_or_to_the_turn_that_passes() {
    let (planned, turn) = planned();
    let mut stage = planned.clone();
    let same = TakeTurn { turn_id: 3, idempotency_key: "same".into(), ..turn };
    let events = stage.give(&take(same), NOW).events();
    assert_ended(&events, ReasonCode::PlanPassedBy, Some(3));
    assert_eq!(kept(&stage), [(3, 41)]);
    // So does a caller's row, and a dispatch passes no words.
    for directive in Directive::ALL {
        let mut stage = planned.clone();
        let empty = of_ann(&stage, 3, request("ann", "weather", TurnInput::None));
        match stage.give(&row(empty, *directive), NOW) {
            Outcome::Done(events) => assert_ended(&events, ReasonCode::PlanPassedBy, None),
            Outcome::Refused(refusal) => {
                assert_eq!(*directive, Directive::Dispatch);
                assert_eq!(refusal.code(), "X_FAIL_PENDING_STATE_INVALID");
            }
            Outcome::Repeated(_) => panic!("{directive}"),
        }
    }
    // One of a lower number leaves the plan open, with its words.
    let mut stage = planned;
    let before = of_ann(&stage, 1, request("ann", "weather", chat("Well.")));
    let events = stage.give(&take(before), NOW).events();
    assert_eq!(outcome_rows(&events), []);
    assert_eq!(kept(&stage), []);
}

#[test]
fn a_commit_that_interrupts_nothing_loses_no_words_of_its_plan() {
    let (mut stage, turn) = planned();
    let plain = relating(request("ann", "weather", chat("Well.")), SubjectRelation::Same, 9_000);
    let plain = TakeTurn { request: plain.into(), ..turn.clone() };
    let commit = committed(&plain, &plan_key(&turn), heard(&plain.request));
    let events = stage.give(&commit, NOW).events();
    assert_ended(&events, ReasonCode::PlanPassedBy, None);
    let decision = &turns(&events)[0].decision;
    assert_eq!(decision.response_text.as_deref(), Some("Take a coat. Well."));
}

#[test]
fn words_of_a_plan_end_by_a_row_with_their_session_and_with_their_thread() {
    let (planned, turn) = planned();
    let mut stage = planned.clone();
    let scope = ["acme", "s-1", "ann", "phone"];
    let rows = outcome_rows(&stage.session(scope, SessionStatus::Closed, NOW).events());
    assert_eq!(rows[0].reason_code, ReasonCode::SessionClosed);
    assert_eq!((rows.len(), rows[0].interrupt_resume_policy), (1, ResumePolicy::Discard));
    // The plan itself stays, for another session of the same user.
    stage.session(["acme", "s-2", "ann", "phone"], SessionStatus::Active, NOW).events();
    let elsewhere = TakeTurn { session_id: Some("s-2".into()), ..turn.clone() };
    let commit = committed(&elsewhere, &plan_key(&turn), heard(&turn.request));
    stage.give(&commit, NOW).events();
    assert_eq!(kept(&stage), [(2, 41)]);
    let mut stage = planned;
    let close = InterruptionThreadCommand::CloseThread(thread_command("acme", "t"));
    let rows = outcome_rows(&stage.give(&close.into(), NOW).events());
    assert_eq!(rows[0].reason_code, ReasonCode::ThreadClosed);
    assert_eq!((rows.len(), rows[0].answer_id), (1, Some(41)));
    stage.assert_rebuilt();
}

#[test]
fn ten_plans_at_once_end_in_nine_rows_and_one_open_plan() {
    let mut stage = stage();
    let mut events = Vec::new();
    for turn_id in 2..12 {
        let turn = of_ann(&stage, turn_id, barge_in(40 + turn_id));
        events.extend(stage.give(&drafted(&turn, heard(&turn.request)), NOW).events());
    }
    let rows = outcome_rows(&events);
    let by = |reason| rows.iter().filter(|row| row.reason_code == reason).count();
    assert_eq!((by(ReasonCode::PlanReplaced), by(ReasonCode::NestingLimit)), (9, 1));
    assert_eq!(kept(&stage).len(), 8);
    let thread = stage.world.thread("acme", "t").unwrap();
    let view = serde_json::to_value(thread.view(Time::from_nanoseconds(NOW))).unwrap();
    assert_eq!(view["open_plan_unsaid"]["captured_turn"], 11);
    stage.assert_rebuilt();
}

#[test]
fn a_view_shows_words_return_checks_and_plans_as_they_are_at_its_moment() {
    let seen = |stage: &Stage, at: u64| {
        let thread = stage.world.thread("acme", "t").unwrap();
        serde_json::to_value(thread.view(Time::from_nanoseconds(at))).unwrap()
    };
    let (planned, _) = planned();
    let before = seen(&planned, LAPSED - 1);
    assert_eq!(
        (before["open_plan_lapsed"].clone(), before["resume_buffer"].is_null()),
        (false.into(), true)
    );
    assert_eq!(before["open_plan_unsaid"]["answer_id"], 41);
    let after = seen(&planned, LAPSED);
    assert_eq!(after["open_plan_lapsed"], true);
    assert_eq!(
        (after["open_plan_unsaid"].is_null(), &after["resume_buffer"]["answer_id"]),
        (true, &41.into())
    );
    let mut stage = stage();
    let first = of_ann(&stage, 1, barge_in(41));
    let first = TakeTurn {
        request: TurnRequest { input: TurnInput::None, ..(*first.request).clone() }.into(),
        ..first
    };
    stage.give(&take(first), NOW).events();
    let back =
        relating(request("ann", "dinner", chat("At eight.")), SubjectRelation::Switch, 9_500);
    let back = of_ann(&stage, 2, back);
    stage.give(&take(back), NOW + SECOND).events();
    let keys = ["return_check_pending", "return_check_lapsed", "buffer_lapsed"];
    let of = |view: &serde_json::Value| keys.map(|key| view[key].as_bool().unwrap());
    let live = seen(&stage, NOW + 60 * SECOND - 1);
    assert_eq!(
        (of(&live), live["resume_buffers"].as_array().unwrap().len()),
        ([true, false, false], 1)
    );
    let gone = seen(&stage, NOW + 60 * SECOND);
    assert_eq!(
        (of(&gone), gone["resume_buffers"].as_array().unwrap().len()),
        ([false, true, true], 0)
    );
    for key in [
        "resume_buffer",
        "return_check_expires_at",
        "return_check_turn_id",
        "interrupted_subject_ref",
    ] {
        assert!(gone[key].is_null() && !live[key].is_null(), "{key}: {gone:#}");
    }
}

#[track_caller]
fn assert_found(stage: &mut Stage, event: impl Into<Event>, rule: Rule) {
    let findings = forged(stage, event);
    assert!(findings.iter().any(|finding| finding.rule == rule), "{findings:?}");
}

#[test]
fn whatever_passes_by_words_of_a_plan_in_silence_is_found() {
    let (planned, _) = planned();
    let rule = Rule::ThreadRemainder;
    let event_of = |command: &Command| {
        let events = planned.clone().give(command, NOW).events();
        let ended =
            events.iter().position(|event| !outcome_rows(std::slice::from_ref(event)).is_empty());
        let next = events[ended.unwrap() + 1].clone();
        (events[ended.unwrap()].clone(), next)
    };
    let next = of_ann(&planned, 3, request("ann", "weather", chat("Well.")));
    let (ended, taken) = event_of(&take(next.clone()));
    assert_found(&mut planned.clone(), taken, rule);
    let (_, row) = event_of(&row(next, Directive::Respond));
    assert_found(&mut planned.clone(), row, rule);
    let other = TakeTurn { idempotency_key: "other".into(), ..of_ann(&planned, 2, barge_in(42)) };
    let (_, plan) = event_of(&drafted(&other, heard(&other.request)));
    assert_found(&mut planned.clone(), plan, rule);
    let close = InterruptionThreadCommand::CloseThread(thread_command("acme", "t"));
    let (_, closed) = event_of(&close.into());
    assert_found(&mut planned.clone(), closed, rule);
    // An end that is not so is found.
    let Event::InterruptionThread(InterruptionThreadEvent::PlanEnded(ended)) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!(forged(&mut planned.clone(), ended.clone()), []);
    let untrue = [
        PlanEnded { plan_key: "another".into(), ..ended.clone() },
        PlanEnded { turn_id: 3, ..ended.clone() },
        PlanEnded { reason_code: ReasonCode::PlanLapsed, ..ended.clone() },
        PlanEnded { expires_at: None, ..ended.clone() },
        PlanEnded { passed_to_turn: Some(3), ..ended.clone() },
    ];
    for ended in untrue {
        assert_found(&mut planned.clone(), ended, Rule::ThreadPlan);
    }
    let discard = PlanEnded { interrupt_resume_policy: ResumePolicy::Discard, ..ended };
    assert_found(&mut planned.clone(), discard, rule);
}

#[test]
fn the_key_of_a_plan_is_a_name() {
    let (mut stage, turn) = planned();
    for key in ["", " ", "a\nb", &"k".repeat(129)] {
        let command = committed(&turn, key, heard(&turn.request));
        assert_eq!(command.check_form().unwrap_err().field, "plan_key", "{key:?}");
        let refusal = stage.give(&command, NOW).refusal().cloned().unwrap();
        assert!(refusal.audit(&stage.world, &command).is_none());
    }
}
