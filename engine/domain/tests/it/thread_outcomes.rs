//! What becomes of words that were left unsaid is a row, also where no turn and no caller decides
//! it; and HEALTH says what happened last.

use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::interruption_thread::{
    ConfirmAnswer, FateReason, HealthReport, IntentClass, InterruptionThreadCommand,
    InterruptionThreadEvent, OutcomeRow, PendingState, ReasonCode, ResumePolicy, SubjectRelation,
    TakeTurn, ThreadClosed, TtsControl, TurnInput,
};
use holdpoint_domain::registration::SessionStatus;
use holdpoint_domain::{Command, Event, Time};
use holdpoint_testing::story::envelope;
use holdpoint_testing::threads::requests::{
    answering, chat, intent, interrupting, relating, request,
};
use holdpoint_testing::threads::{Outcome, Stage, thread_command, turn};

const AT: u64 = 1_000_000_000_000;
const SECOND: u64 = 1_000_000_000;
const WHO: [&str; 4] = ["tenant_a", "thread-1", "ann", "phone"];

fn stage() -> Stage {
    let mut stage = Stage::with_tenant("tenant_a");
    stage.user("tenant_a", "ann", "phone");
    stage.session(["tenant_a", "s-1", "ann", "phone"], SessionStatus::Active, 1).events();
    stage.work_order("tenant_a", "thread-1");
    stage
}

/// Ann interrupts what she is being told, at this time; the topic is the snapshot's.
fn barge_in(stage: &Stage, turn_id: u64, at: u64) -> TakeTurn {
    let asked = request("ann", "weather", TurnInput::None);
    let asked = interrupting(asked, at, &format!("Said. Words of turn {turn_id}."), 5);
    TakeTurn {
        session_id: Some("s-1".into()),
        ..turn(stage, WHO, turn_id, relating(asked, SubjectRelation::Same, 9_500))
    }
}

fn take(stage: &mut Stage, turn: TakeTurn, at: u64) -> Outcome {
    stage.give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn)), at)
}

fn close(stage: &mut Stage, at: u64) -> Vec<Event> {
    let close = InterruptionThreadCommand::CloseThread(thread_command("tenant_a", "thread-1"));
    stage.give(&Command::InterruptionThread(close), at).events()
}

fn outcomes(events: &[Event]) -> Vec<OutcomeRow> {
    let of = |event: &Event| match event {
        Event::InterruptionThread(event) => event.outcome_rows(),
        _ => Vec::new(),
    };
    events.iter().flat_map(of).collect()
}

fn health(events: &[Event]) -> HealthReport {
    let mut report = HealthReport::default();
    for (sequence, event) in (1..).zip(events) {
        if let Event::InterruptionThread(event) = event {
            report.apply(sequence, Time::from_nanoseconds(AT), event);
        }
    }
    report
}

/// Nine turns that interrupt each other, a second apart, and what came of them.
fn nested() -> (Stage, Vec<Event>) {
    let mut stage = stage();
    let mut events = Vec::new();
    for turn_id in 1..=9 {
        let at = AT + turn_id * SECOND;
        let turn = barge_in(&stage, turn_id, at);
        events.extend(take(&mut stage, turn, at).events());
    }
    (stage, events)
}

#[test]
fn nine_nested_interruptions_and_an_end_are_nine_rows_and_health_says_the_last() {
    let (mut stage, mut events) = nested();
    events.extend(close(&mut stage, AT + 10 * SECOND));
    let rows = outcomes(&events);
    let found: Vec<_> = rows.iter().map(|row| (row.turn_id.unwrap(), row.reason_code)).collect();
    let mut expected = vec![(1, ReasonCode::NestingLimit)];
    expected.extend((2..=9).map(|turn| (turn, ReasonCode::ThreadClosed)));
    assert_eq!(found, expected);
    for row in &rows {
        assert_eq!(row.interrupt_resume_policy, ResumePolicy::Discard);
        assert_eq!(row.user_id.as_deref(), Some("ann"));
    }
    let ends = events.iter().filter(|event| !outcomes(std::slice::from_ref(event)).is_empty());
    assert_eq!(ends.count(), 9, "each row is a record");
    let report = health(&events);
    let newest = report.rows()[0];
    assert_eq!((newest.latest_reason_code, newest.latest_turn), (ReasonCode::ThreadClosed, 9));
    assert_eq!(report.rows().len(), 1, "one topic, one issue: {report:?}");
    stage.assert_rebuilt();
}

#[test]
fn words_that_give_way_are_told_before_the_turn_that_they_give_way_to() {
    let (_, events) = nested();
    let [.., displaced, taken, row] = &events[..] else { panic!("{events:?}") };
    let Event::InterruptionThread(InterruptionThreadEvent::RemainderDisplaced(displaced)) =
        displaced
    else {
        panic!("{displaced:?}")
    };
    assert_eq!((displaced.remainder.captured_turn, displaced.displaced_by_turn), (1, 9));
    assert_eq!(displaced.remainder.reason, FateReason::NestingLimit);
    assert_eq!((taken.kind().kind, row.kind().kind), (167, 168));
}

#[test]
fn words_of_a_closed_session_have_a_row_each() {
    let (mut stage, _) = nested();
    let at = AT + 10 * SECOND;
    let scope = ["tenant_a", "s-1", "ann", "phone"];
    let rows = outcomes(&stage.session(scope, SessionStatus::Closed, at).events());
    let found: Vec<_> = rows.iter().map(|row| (row.turn_id.unwrap(), row.reason_code)).collect();
    assert_eq!(found, Vec::from_iter((2..=9).map(|turn| (turn, ReasonCode::SessionClosed))));
    assert!(rows.iter().all(|row| row.session_id.as_deref() == Some("s-1")));
    stage.assert_rebuilt();
}

#[test]
fn words_that_expire_are_rows_under_the_topic_that_was_interrupted() {
    let mut stage = stage();
    let first = barge_in(&stage, 1, AT);
    let mut events = take(&mut stage, first, AT).events();
    let expire = InterruptionThreadCommand::ExpireThread(thread_command("tenant_a", "thread-1"));
    let command = Command::InterruptionThread(expire);
    events.extend(stage.give(&command, AT + 61 * SECOND).events());
    let report = health(&events);
    let [row] = report.rows()[..] else { panic!("one issue: {report:?}") };
    assert_eq!((row.latest_reason_code, row.occurrences), (ReasonCode::BufferExpired, 2));
}

#[test]
fn a_late_interruption_silences_speech_and_its_row_has_the_words() {
    let mut stage = stage();
    let first = barge_in(&stage, 1, AT);
    take(&mut stage, first, AT).events();
    let before = stage.world.thread("tenant_a", "thread-1").cloned();
    for (turn_id, happened) in [(2, AT - 5 * SECOND - 1), (2, AT + 1)] {
        let late = barge_in(&stage, turn_id, happened);
        let command = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(late));
        let Outcome::Refused(refusal) = stage.give(&command, AT) else { panic!("{command:?}") };
        assert_eq!(refusal.code(), "X_FAIL_SNAPSHOT_STALE");
        assert_eq!(refusal.tts_control(&command), Some(TtsControl::Cancel));
        let audit = refusal.audit(&stage.world, &command);
        let Some(Event::InterruptionThread(InterruptionThreadEvent::RowRefused(row))) = &audit
        else {
            panic!("{audit:?}")
        };
        assert_eq!(row.tts_control, Some(TtsControl::Cancel));
        assert_eq!(row.remainders[0].captured_turn, turn_id);
        assert_eq!(row.issue_fingerprint.as_deref(), Some("topic:task_status"));
        let report = health(audit.as_slice());
        assert_eq!(report.rows()[0].latest_reason_code, ReasonCode::FailSnapshotStale);
        assert_eq!(stage.world.thread("tenant_a", "thread-1").cloned(), before);
    }
}

/// Somebody else took the question back by speaking: the words are kept for whom they are, and the
/// yes to it is a row.
#[test]
fn a_yes_after_somebody_else_spoke_is_refused_by_a_row_and_the_words_stay() {
    let mut stage = stage();
    stage.user("tenant_a", "bob", "tablet");
    let first = barge_in(&stage, 1, AT);
    take(&mut stage, first, AT).events();
    let back =
        relating(request("ann", "dinner", chat("At eight.")), SubjectRelation::Switch, 9_500);
    let back = turn(&stage, WHO, 2, back);
    take(&mut stage, back, AT).events();
    assert!(stage.state("tenant_a", "thread-1").marks.return_check.is_some());
    let bob = ["tenant_a", "thread-1", "bob", "tablet"];
    let session = ["tenant_a", "s-2", "bob", "tablet"];
    stage.session(session, SessionStatus::Active, AT).events();
    let other = turn(&stage, bob, 3, request("bob", "dinner", chat("Hello.")));
    take(&mut stage, TakeTurn { session_id: Some("s-2".into()), ..other }, AT).events();
    let before = stage.state("tenant_a", "thread-1");
    let yes = answering(request("bob", "dinner", TurnInput::None), ConfirmAnswer::Yes);
    let yes = turn(&stage, bob, 4, yes);
    let command = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(yes));
    let Outcome::Refused(refusal) = stage.give(&command, AT) else { panic!("{command:?}") };
    assert_eq!(refusal.code(), "X_CONFIRM_ANSWER_INVALID");
    assert!(refusal.audit(&stage.world, &command).is_some());
    assert_eq!(stage.state("tenant_a", "thread-1"), before);
    assert_eq!(before.resume_buffers.len(), 1);
    stage.assert_rebuilt();
}

/// What a thread waits for ends with it, and with its session, by a row.
#[test]
fn a_request_that_ends_with_its_thread_or_session_is_a_row_with_a_resume_policy() {
    let lights = intent(IntentClass::Impactful);
    let asking = request("ann", "lights", lights);
    let mut stage = stage();
    let ask = TakeTurn { session_id: Some("s-1".into()), ..turn(&stage, WHO, 1, asking) };
    take(&mut stage, ask, AT).events();
    assert_eq!(stage.pending("tenant_a", "thread-1"), PendingState::Confirm);
    let scope = ["tenant_a", "s-1", "ann", "phone"];
    for (session, reason_code) in
        [(None, ReasonCode::ThreadClosed), (Some("s-1"), ReasonCode::SessionClosed)]
    {
        let mut stage = stage.clone();
        let events = match session {
            None => close(&mut stage, AT + 1),
            Some(_) => stage.session(scope, SessionStatus::Closed, AT + 1).events(),
        };
        let [row] = &outcomes(&events)[..] else { panic!("{events:?}") };
        let found = (row.pending_state, row.reason_code, row.interrupt_resume_policy);
        assert_eq!(found, (Some(PendingState::Confirm), reason_code, ResumePolicy::Discard));
        assert_eq!(row.session_id.as_deref(), session);
        assert_eq!((row.user_id.as_deref(), row.answer_id), (Some("ann"), None));
        assert_eq!(health(&events).rows().len(), 0, "no interruption came to an end");
        stage.assert_rebuilt();
    }
}

/// The golden log of rules 6 has a thread that was closed so, and no rule of its time was broken.
#[test]
fn a_thread_that_is_closed_over_a_request_without_its_row_is_found() {
    let asking = request("ann", "lights", intent(IntentClass::Impactful));
    let mut stage = stage();
    let ask = turn(&stage, WHO, 1, asking);
    take(&mut stage, ask, AT).events();
    let closed = ThreadClosed { tenant_id: "tenant_a".into(), correlation_id: "thread-1".into() };
    let found = stage.record_by_hand(&envelope(closed.into()), Time::from_nanoseconds(AT + 1));
    assert_eq!(found.iter().map(|found| found.rule).collect::<Vec<_>>(), [Rule::ThreadRow]);
}
