//! Property E2 for interruption threads: an event that the rules forbid is kept, and is found.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::forbidden::Rule;
use holdpoint_domain::interruption_thread::{
    BufferExpired, ConfirmAnswer, DecidedBy, Directive, Fate, FateReason, IntentClass,
    InterruptionThreadCommand, InterruptionThreadEvent, PendingDisarmed, PendingState, ReasonCode,
    Remainder, RemainderDisplaced, RemaindersDiscarded, ResumePolicy, ReturnCheckExpired,
    RowCommitted, RowEventType, RowPayload, Severity, ThreadMoved, Turn, TurnInput, TurnTaken,
    decide_turn,
};
use holdpoint_domain::registration::{SessionRegistered, SessionStatus};
use holdpoint_domain::{ActorId, Command, Envelope, Event, ForbiddenEvent, Time};
use holdpoint_testing::threads::{CALLER, Stage, lease_of, requests, rows, turn, turns};

/// A thread whose only turn left words unsaid, and the turn and its row.
fn interrupted() -> (Stage, TurnTaken, RowCommitted) {
    let mut stage = Stage::with_tenant("acme");
    stage.user("acme", "alice", "phone");
    stage.work_order("acme", "t");
    let at = 10_000_000_000;
    let request = requests::request("alice", "weather", TurnInput::None);
    let request = requests::interrupting(request, at, "It will rain. Take a coat.", 13);
    let command = turn(&stage, ["acme", "t", "alice", "phone"], 1, request);
    let events = stage
        .give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command)), at)
        .events();
    let (taken, row) = (turns(&events)[0].clone(), rows(&events)[0].clone());
    (stage, taken, row)
}

/// Puts an event on the record, whether or not the rules would have made it.
pub(crate) fn forged(stage: &mut Stage, event: impl Into<Event>) -> Vec<ForbiddenEvent> {
    stage.sequence += 1;
    let envelope = Envelope {
        clock: None,
        proof: None,
        actor: ActorId { kind: Actor::Automation, id: CALLER.into() },
        correlation: "t".into(),
        causation: None,
        idempotency: None,
        event: event.into(),
    };
    let at = stage.world.totals().last_at;
    stage.world.judge_and_evolve(stage.sequence, at, &envelope)
}

#[track_caller]
fn assert_found(findings: &[ForbiddenEvent], rule: Rule) {
    assert!(findings.iter().any(|finding| finding.rule == rule), "{rule}: {findings:?}");
}

#[test]
fn a_turn_out_of_order_or_that_came_to_something_else_is_found() {
    let (mut stage, taken, _) = interrupted();
    assert_found(&forged(&mut stage, taken.clone()), Rule::ThreadTurn);
    let (mut stage, _, _) = interrupted();
    let mut other = TurnTaken { turn_id: 2, ..taken };
    other.decision.directive = Directive::Dispatch;
    assert_found(&forged(&mut stage, other), Rule::ThreadTurn);
}

#[test]
fn a_second_row_of_a_turn_and_a_row_out_of_scope_are_found() {
    let (mut stage, _, row) = interrupted();
    assert_found(&forged(&mut stage, row.clone()), Rule::ThreadRow);
    let elsewhere = RowCommitted { device_id: "tablet".into(), ..row };
    assert_found(&forged(&mut stage, elsewhere), Rule::ThreadRow);
}

#[test]
fn an_expiry_before_its_time_is_found() {
    let (mut stage, taken, _) = interrupted();
    let buffer = stage.state("acme", "t").resume_buffers[0].clone();
    let expired = BufferExpired {
        tenant_id: taken.tenant_id.clone(),
        correlation_id: taken.correlation_id.clone(),
        captured_turn: buffer.captured_turn,
        answer_id: buffer.answer_id,
        speaker_user_id: buffer.speaker_user_id,
        expires_at: buffer.expires_at,
        interrupt_resume_policy: ResumePolicy::Discard,
        reason_code: ReasonCode::BufferExpired,
        issue_fingerprint: None,
    };
    assert_found(&forged(&mut stage, expired), Rule::ThreadExpiry);
    let expired = ReturnCheckExpired {
        tenant_id: taken.tenant_id,
        correlation_id: taken.correlation_id,
        expires_at: Time::from_nanoseconds(1),
        interrupt_resume_policy: ResumePolicy::ResumeLater,
        reason_code: ReasonCode::ReturnCheckExpired,
        captured_turn: None,
        issue_fingerprint: None,
    };
    assert_found(&forged(&mut stage, expired), Rule::ThreadExpiry);
}

/// A thread that keeps as many words as it can, and the row of the oldest, were one more left.
fn full() -> (Stage, RemainderDisplaced) {
    let (mut stage, _, _) = interrupted();
    let at = 11_000_000_000;
    for turn_id in 2..=8 {
        let request = requests::request("alice", "weather", TurnInput::None);
        let request = requests::interrupting(request, at, "It will rain. Take a coat.", 13);
        let turn = turn(&stage, ["acme", "t", "alice", "phone"], turn_id, request);
        let command = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(turn));
        stage.give(&command, at).events();
    }
    let oldest = stage.state("acme", "t").resume_buffers[0].clone();
    let displaced = RemainderDisplaced {
        tenant_id: "acme".into(),
        correlation_id: "t".into(),
        displaced_by_turn: 9,
        remainder: Remainder {
            captured_turn: oldest.captured_turn,
            answer_id: oldest.answer_id,
            speaker_user_id: oldest.speaker_user_id,
            fate: Fate::Discarded,
            reason: FateReason::NestingLimit,
        },
        interrupt_resume_policy: ResumePolicy::Discard,
        reason_code: ReasonCode::NestingLimit,
        issue_fingerprint: Some("topic:task_status".into()),
    };
    (stage, displaced)
}

#[test]
fn words_that_are_said_to_give_way_too_early_or_untruly_are_found() {
    let (mut stage, _, _) = interrupted();
    let (full, honest) = full();
    assert_eq!(forged(&mut full.clone(), honest.clone()), []);
    let early = forged(&mut stage, honest.clone());
    assert_found(&early, Rule::ThreadRemainder);
    let newer = Remainder { captured_turn: 2, ..honest.remainder.clone() };
    let another = RemainderDisplaced { remainder: newer, ..honest.clone() };
    let of_another_topic =
        RemainderDisplaced { issue_fingerprint: Some("topic:x".into()), ..honest.clone() };
    let policy = ResumePolicy::ResumeLater;
    let kept = RemainderDisplaced { interrupt_resume_policy: policy, ..honest };
    for untrue in [another, of_another_topic, kept] {
        assert_found(&forged(&mut full.clone(), untrue), Rule::ThreadRemainder);
    }
}

/// All words of a thread were given up by one event once, and it said nothing of what they were
/// about.
#[test]
fn words_that_were_given_up_by_one_event_are_allowed_as_ever_and_are_a_row_each() {
    let (mut stage, displaced) = full();
    let words = stage.state("acme", "t").resume_buffers;
    let remainder = |turn| Remainder { captured_turn: turn, ..displaced.remainder.clone() };
    let discarded = RemaindersDiscarded {
        tenant_id: "acme".into(),
        correlation_id: "t".into(),
        session_id: None,
        remainders: words.iter().map(|buffer| remainder(buffer.captured_turn)).collect(),
        reason_code: ReasonCode::ThreadClosed,
        interrupt_resume_policy: ResumePolicy::Discard,
        issue_fingerprint: None,
    };
    let rows = InterruptionThreadEvent::from(discarded.clone()).outcome_rows();
    assert!(rows.iter().map(|row| row.turn_id).eq((1..=8).map(Some)), "{rows:?}");
    let untrue =
        RemaindersDiscarded { issue_fingerprint: Some("topic:x".into()), ..discarded.clone() };
    assert_found(&forged(&mut stage.clone(), untrue), Rule::ThreadRemainder);
    let kept = RemaindersDiscarded {
        interrupt_resume_policy: ResumePolicy::ResumeLater,
        ..discarded.clone()
    };
    assert_found(&forged(&mut stage.clone(), kept), Rule::ThreadRemainder);
    assert_eq!(forged(&mut stage, discarded), []);
    assert_eq!(stage.state("acme", "t").resume_buffers, []);
}

#[test]
fn giving_up_words_that_nobody_kept_is_found() {
    let (mut stage, taken, _) = interrupted();
    let remainder = Remainder {
        captured_turn: 99,
        answer_id: 1,
        speaker_user_id: "alice".into(),
        fate: Fate::Discarded,
        reason: FateReason::SessionClosed,
    };
    let discarded = RemaindersDiscarded {
        tenant_id: taken.tenant_id,
        correlation_id: taken.correlation_id,
        session_id: None,
        remainders: [remainder].into_iter().collect(),
        reason_code: ReasonCode::SessionClosed,
        interrupt_resume_policy: ResumePolicy::Discard,
        issue_fingerprint: None,
    };
    assert_found(&forged(&mut stage, discarded), Rule::ThreadRemainder);
}

/// A thread in Alice's session that waits for a yes, and the turn and row that asked for it.
fn asked_in_a_session() -> (Stage, TurnTaken, RowCommitted) {
    let mut stage = Stage::with_tenant("acme");
    stage.user("acme", "alice", "phone");
    stage.work_order("acme", "t");
    stage.session(SESSION, SessionStatus::Active, 1).events();
    let request = requests::request("alice", "lights", requests::intent(IntentClass::Impactful));
    let mut command = turn(&stage, ["acme", "t", "alice", "phone"], 1, request);
    command.session_id = Some("s".into());
    let events = stage
        .give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command)), 1)
        .events();
    let (taken, row) = (turns(&events)[0].clone(), rows(&events)[0].clone());
    (stage, taken, row)
}

const SESSION: [&str; 4] = ["acme", "s", "alice", "phone"];

/// What the branch table says of a yes after that, in this session as it is said to be; its row.
fn yes(
    stage: &Stage,
    (taken, row): (&TurnTaken, &RowCommitted),
    session_id: Option<&str>,
    session_status: SessionStatus,
) -> (TurnTaken, RowCommitted) {
    let request = requests::request("alice", "lights", TurnInput::None);
    let request = requests::answering(request, ConfirmAnswer::Yes);
    let (state, at) = (stage.state("acme", "t"), stage.world.totals().last_at);
    let turn = Turn { turn_id: 2, session_id, session_status, request: &request, at };
    let decision = decide_turn(&state, &turn).unwrap();
    let row = RowCommitted {
        turn_id: 2,
        session_id: session_id.map(Into::into),
        event_type: RowEventType::of(decision.directive),
        severity: Severity::of(decision.directive),
        reason_code: decision.reason_code,
        dropped_pending: decision.dropped_pending,
        remainders: decision.remainders.clone(),
        payload: RowPayload {
            directive: decision.directive,
            confirm_kind: None,
            dispatch_target: Some(decision.kind.clone()),
            pending_state: state.pending_state(),
            lease_token_hash: Some(lease_of("t")),
            ..row.payload.clone()
        },
        ..row.clone()
    };
    let taken = TurnTaken {
        turn_id: 2,
        session_id: session_id.map(Into::into),
        session_status,
        state_before: state.digest(),
        state_after: state.after_turn(&turn, &decision).digest(),
        decision: decision.into(),
        request: request.into(),
        ..taken.clone()
    };
    (taken, row)
}

#[test]
fn a_turn_or_row_that_speaks_in_a_session_that_is_not_active_counts_for_nothing() {
    for status in [SessionStatus::Suspended, SessionStatus::Closed] {
        let (mut stage, taken, row) = asked_in_a_session();
        // As earlier rules closed a session: nothing says what became of the question.
        let closing = SessionRegistered {
            tenant_id: "acme".into(),
            session_id: "s".into(),
            user_id: "alice".into(),
            device_id: "phone".into(),
            status,
        };
        assert_eq!(forged(&mut stage, closing), []);
        let before = stage.world.thread("acme", "t").cloned();
        let (turn, its_row) = yes(&stage, (&taken, &row), Some("s"), SessionStatus::Active);
        assert_eq!(turn.decision.directive, Directive::Dispatch);
        assert_found(&forged(&mut stage, turn), Rule::ThreadSession);
        assert_found(&forged(&mut stage, its_row.clone()), Rule::ThreadSession);
        let by_caller = RowCommitted { decided_by: DecidedBy::Caller, ..its_row };
        assert_found(&forged(&mut stage, by_caller), Rule::ThreadSession);
        assert_eq!(stage.world.thread("acme", "t").cloned(), before, "it still waits");
    }
}

/// Earlier rules let a turn without a session speak wherever the thread's own session was.
#[test]
fn a_turn_without_a_session_is_judged_by_the_rules_of_its_time() {
    for is_newer in [false, true] {
        let (mut stage, taken, row) = asked_in_a_session();
        if is_newer {
            // Somewhere else in the log is what only the rules of sessions make.
            stage.work_order("acme", "other");
            stage.session(OTHERS, SessionStatus::Active, 1).events();
            let request = requests::request("alice", "lights", requests::nlp_clarify());
            let mut asking = turn(&stage, ["acme", "other", "alice", "phone"], 1, request);
            asking.session_id = Some("s-2".into());
            stage
                .give(&Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(asking)), 1)
                .events();
            let events = stage.session(OTHERS, SessionStatus::Closed, 1).events();
            assert!(
                matches!(
                    &events[..],
                    [_, Event::InterruptionThread(InterruptionThreadEvent::PendingDisarmed(_))]
                ),
                "{events:?}"
            );
        }
        let before = stage.world.thread("acme", "t").cloned();
        let (turn, its_row) = yes(&stage, (&taken, &row), None, SessionStatus::Active);
        let found = [forged(&mut stage, turn), forged(&mut stage, its_row)];
        let after = stage.world.thread("acme", "t").cloned();
        if is_newer {
            found.iter().for_each(|found| assert_found(found, Rule::ThreadSession));
            assert_eq!(after, before);
        } else {
            assert_eq!(found, [Vec::new(), Vec::new()]);
            assert_eq!(after.unwrap().last_turn_id, 2);
        }
    }
}

const OTHERS: [&str; 4] = ["acme", "s-2", "alice", "phone"];

#[test]
fn disarming_what_is_not_pending_and_moving_to_where_nobody_speaks_is_found() {
    let (mut stage, taken, _) = asked_in_a_session();
    let disarmed = PendingDisarmed {
        tenant_id: taken.tenant_id.clone(),
        correlation_id: taken.correlation_id.clone(),
        session_id: "s".into(),
        pending_state: PendingState::Confirm,
        return_check: None,
        reason_code: ReasonCode::SessionClosed,
        user_id: Some("alice".into()),
        interrupt_resume_policy: ResumePolicy::Discard,
    };
    assert_found(&forged(&mut stage, disarmed), Rule::ThreadSession);
    let (tenant_id, correlation_id) = (taken.tenant_id, taken.correlation_id);
    let moved = ThreadMoved { tenant_id, correlation_id, session_id: "nowhere".into() };
    let before = stage.world.thread("acme", "t").cloned();
    assert_found(&forged(&mut stage, moved), Rule::ThreadSession);
    assert_eq!(stage.world.thread("acme", "t").cloned(), before);
}

#[test]
fn a_turn_that_says_of_its_session_what_is_not_registered_is_found() {
    let (mut stage, taken, row) = asked_in_a_session();
    let (turn, _) = yes(&stage, (&taken, &row), Some("s"), SessionStatus::Suspended);
    assert_found(&forged(&mut stage, turn), Rule::ThreadSession);
}
