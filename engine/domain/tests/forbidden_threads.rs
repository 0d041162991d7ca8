//! Property E2 for interruption threads: an event that the rules forbid is kept, and is found.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper that fails, fails its test"
)]

mod threads_support;

use holdpoint_domain::event::{
    BufferExpired, RemaindersDiscarded, ReturnCheckExpired, RowCommitted, TurnTaken,
};
use holdpoint_domain::evolve::Rule;
use holdpoint_domain::execution_loop::Actor;
use holdpoint_domain::interruption_thread::{
    Directive, Fate, FateReason, ReasonCode, Remainder, ResumePolicy, TurnInput,
};
use holdpoint_domain::{ActorId, Command, Envelope, Event, ForbiddenEvent, Time};
use threads_support::{CALLER, Stage, requests, rows, turn, turns};

/// A thread whose only turn left words unsaid, and the turn and its row.
fn interrupted() -> (Stage, TurnTaken, RowCommitted) {
    let mut stage = Stage::with_tenant("acme");
    stage.user("acme", "alice", "phone");
    stage.work_order("acme", "t");
    let at = 10_000_000_000;
    let request = requests::request("alice", "weather", TurnInput::None);
    let request = requests::interrupting(request, at, "It will rain. Take a coat.", 13);
    let command = turn(&stage, ["acme", "t", "alice", "phone"], 1, request);
    let events = stage.give(&Command::TakeTurn(command), at).events();
    let (taken, row) = (turns(&events)[0].clone(), rows(&events)[0].clone());
    (stage, taken, row)
}

/// Puts an event on the record, whether or not the rules would have made it.
fn forged(stage: &mut Stage, event: impl Into<Event>) -> Vec<ForbiddenEvent> {
    stage.sequence += 1;
    let envelope = Envelope {
        proof: None,
        actor: ActorId { kind: Actor::Automation, id: CALLER.into() },
        correlation: "t".into(),
        causation: None,
        idempotency: None,
        event: event.into(),
    };
    let at = stage.world.totals().last_at;
    stage.world.evolve(stage.sequence, at, &envelope)
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
    };
    assert_found(&forged(&mut stage, expired), Rule::ThreadExpiry);
    let expired = ReturnCheckExpired {
        tenant_id: taken.tenant_id,
        correlation_id: taken.correlation_id,
        expires_at: Time::from_nanoseconds(1),
        interrupt_resume_policy: ResumePolicy::ResumeLater,
        reason_code: ReasonCode::ReturnCheckExpired,
    };
    assert_found(&forged(&mut stage, expired), Rule::ThreadExpiry);
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
    };
    assert_found(&forged(&mut stage, discarded), Rule::ThreadRemainder);
}
