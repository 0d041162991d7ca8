//! A recorded turn as a command to a World whose thread is as the record says: what came of it, out
//! of the events and out of the state.
//!
//! A thread comes to where a record begins by one turn that is written by hand, for the vectors do
//! not say how it came there. It is applied and not judged.

use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::payload::List;
use holdpoint_domain::core::text::{hidden_character, is_blank};
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::interruption_thread::{
    DecidedBy, DeliveryHint, Directive, Fate, FateReason, InterruptionThreadCommand,
    InterruptionThreadEvent, Pending, PendingState, ReasonCode, Remainder, RowCommitted,
    RowEventType, RowPayload, Severity, ThreadState, TtsResumeSnapshot, Turn, TurnDecision,
    TurnInput, TurnRequest, TurnTaken, decide_turn,
};
use holdpoint_domain::registration::{SessionStatus, WorkOrderStatus};
use holdpoint_domain::{ActorId, Command, Envelope, Event};
use holdpoint_testing::threads::requests::request as plain_request;
use holdpoint_testing::threads::{CALLER, Outcome, Stage, rows, turn, turns, work_order_of};
use serde_json::Value;

use crate::decode::{Decoded, typed};
use crate::ph1x_answer::TurnAnswer;
use crate::ph1x_decode::{now, request, session_status, state};

const TENANT: &str = "tenant_a";
const DEVICE: &str = "device";
const SESSION: &str = "session";

/// How long words are kept, in nanoseconds.
const LIFETIME_NS: u64 = 60_000_000_000;

/// What comes of the recorded turn. What our types have no place for is refused; an error says that
/// the World contradicts itself.
pub(crate) fn decide(state_before: &Value, recorded: &Value) -> Decoded<TurnAnswer> {
    match asked(state_before, recorded) {
        Ok(asked) => asked.decide(),
        Err(why) => Ok(TurnAnswer::Refused(why)),
    }
}

/// A recorded turn in our types.
struct Asked {
    before: ThreadState,
    request: TurnRequest,
    status: SessionStatus,
    at: Timestamp,
    thread: String,
    turn_id: u64,
}

fn asked(state_before: &Value, recorded: &Value) -> Decoded<Asked> {
    Ok(Asked {
        before: state(state_before, recorded)?,
        request: request(recorded)?,
        status: session_status(recorded)?,
        at: now(recorded)?,
        thread: recorded["correlation_id"].to_string(),
        turn_id: typed(recorded, "turn_id")?,
    })
}

impl Asked {
    fn decide(self) -> Decoded<TurnAnswer> {
        let Self { before, request, status, at, thread, turn_id } = self;
        let user = request.active_speaker_user_id.as_str();
        let mut stage = stage_of(&thread, user, status);
        let before = match before == ThreadState::default() {
            true => before,
            false => put(&mut stage, &thread, &before, user)?,
        };
        let mut command = turn(&stage, [TENANT, &thread, user, DEVICE], turn_id, request.clone());
        command.session_id = Some(SESSION.into());
        let command = Command::InterruptionThread(InterruptionThreadCommand::TakeTurn(command));
        let outcome = stage.give(&command, at.nanoseconds());
        let answer = came(&stage, &thread, before.clone(), outcome)?;
        let (session_id, request) = (Some(SESSION), &request);
        let turn = Turn { turn_id, session_id, session_status: status, request, at };
        // The reply of the branch table is what was recorded.
        match (decide_turn(&before, &turn), &answer) {
            (Ok(reply), TurnAnswer::Decided { decision, .. }) if reply == **decision => Ok(answer),
            (Err(_), TurnAnswer::Refused(_)) => Ok(answer),
            (reply, _) => Err(format!("the table says {reply:?}, and the record {answer:?}")),
        }
    }
}

/// Whatever the turn presumes.
fn stage_of(thread: &str, user: &str, status: SessionStatus) -> Stage {
    let mut stage = Stage::with_tenant(TENANT);
    stage.work_order(TENANT, thread);
    // A name that cannot be registered is refused by the turn's own form.
    if is_name(user) {
        stage.user(TENANT, user, DEVICE);
        let scope = [TENANT, SESSION, user, DEVICE];
        stage.session(scope, SessionStatus::Active, 1).events();
        if status != SessionStatus::Active {
            stage.session(scope, status, 1).events();
        }
    }
    stage
}

fn is_name(name: &str) -> bool {
    !is_blank(name) && name.len() <= 128 && hidden_character(name).is_none()
}

/// What came of a turn: its event, its row and the thread say the same; a turn that is refused
/// leaves the thread as it was.
pub(crate) fn came(
    stage: &Stage,
    thread: &str,
    before: ThreadState,
    outcome: Outcome,
) -> Decoded<TurnAnswer> {
    stage.assert_rebuilt();
    let after = stage.state(TENANT, thread);
    let events = match outcome {
        Outcome::Done(events) => events,
        Outcome::Refused(refusal) => {
            assert_eq!(after, before, "a refused turn changed its thread");
            return Ok(TurnAnswer::Refused(refusal.to_string()));
        }
        Outcome::Repeated(first) => return Err(format!("a repetition of record {first}")),
    };
    let (taken, row) = match (&turns(&events)[..], &rows(&events)[..]) {
        ([taken], [row]) => (*taken, *row),
        _ => return Err(format!("expected one turn with its row, found {events:?}")),
    };
    let decision = &*taken.decision;
    let said = (decision.directive, decision.reason_code, decision.interrupt_resume_policy);
    let payload = &row.payload;
    let written = (payload.directive, row.reason_code, payload.interrupt_resume_policy);
    assert_eq!(said, written, "the row says something else than the turn");
    assert_eq!(taken.state_after, after.digest(), "state_after is another state");
    let known = stage.world.thread(TENANT, thread).unwrap();
    assert_eq!((known.last_directive, known.last_reason_code), (said.0, said.1));
    assert_eq!(known.last_turn_id, taken.turn_id);
    // Attempts are counted: from 1, and never beyond 10.
    let is_counted = |state: &ThreadState| attempts(state).is_none_or(|n| (1..=10).contains(&n));
    assert!(is_counted(&after) || !is_counted(&before), "{after:?}");
    let decision = taken.decision.clone();
    let expired = events.iter().filter_map(|event| match event {
        Event::InterruptionThread(InterruptionThreadEvent::BufferExpired(body)) => {
            Some(body.captured_turn)
        }
        _ => None,
    });
    Ok(TurnAnswer::Decided { before, expired: expired.collect(), decision, after })
}

fn attempts(state: &ThreadState) -> Option<u8> {
    Some(match state.marks.pending.as_ref()? {
        Pending::Clarify { attempts, .. }
        | Pending::Confirm { attempts, .. }
        | Pending::MemoryPermission { attempts, .. }
        | Pending::Tool { attempts, .. }
        | Pending::StepUp { attempts } => *attempts,
    })
}

/// Leaves a thread in this state: as it is then. Words that would have been left unsaid before any
/// time are of its beginning, and none begin with blanks.
fn put(stage: &mut Stage, thread: &str, before: &ThreadState, user: &str) -> Decoded<ThreadState> {
    let taken = taken_by_hand(thread, before, user);
    let row = row_by_hand(thread, user);
    let expires_at = before.resume_buffers.last().map(|buffer| buffer.expires_at.nanoseconds());
    let at = expires_at.unwrap_or_default().saturating_sub(LIFETIME_NS);
    for event in [Event::from(taken), Event::from(row)] {
        let actor = ActorId { kind: Actor::Automation, id: CALLER.into() };
        let (correlation, proof, causation, idempotency) = (thread.into(), None, None, None);
        stage.record_by_hand(
            &Envelope { clock: None, actor, proof, correlation, causation, idempotency, event },
            Timestamp::from_nanoseconds(at),
        );
    }
    let found = stage.state(TENANT, thread);
    let is_as_said = |found: &ThreadState| {
        found.marks == before.marks && found.resume_buffers.len() == before.resume_buffers.len()
    };
    Some(found).filter(is_as_said).ok_or_else(|| format!("the thread is not {before:?}"))
}

/// A turn after which a thread is in this state.
fn taken_by_hand(thread: &str, before: &ThreadState, user: &str) -> TurnTaken {
    let buffer = before.resume_buffers.last();
    let speaker = buffer.map_or(user, |buffer| &buffer.speaker_user_id);
    let subject = buffer.map_or("nothing", |buffer| &buffer.interrupted_subject_ref);
    let mut request = plain_request(speaker, subject, TurnInput::None);
    request.tts_resume_snapshot = buffer.map(|buffer| TtsResumeSnapshot {
        answer_id: buffer.answer_id,
        topic_hint: buffer.topic_hint.clone(),
        response_text: format!("{}{}", buffer.spoken_prefix, buffer.unsaid_remainder).into(),
        spoken_cursor_byte: u32::try_from(buffer.spoken_prefix.len()).unwrap_or(u32::MAX),
    });
    let words = buffer.map(|buffer| Remainder {
        captured_turn: buffer.captured_turn,
        answer_id: buffer.answer_id,
        speaker_user_id: buffer.speaker_user_id.clone(),
        fate: Fate::Captured,
        reason: FateReason::Interrupted,
    });
    let decision = TurnDecision {
        directive: Directive::Respond,
        reason_code: ReasonCode::NlpChat,
        interrupt_continuity_outcome: None,
        interrupt_resume_policy: None,
        tts_control: None,
        delivery_hint: DeliveryHint::AudibleAndText,
        kind: "CHAT".into(),
        response_text: None,
        clarify: None,
        dispatch: None,
        remainders: words.into_iter().collect(),
        dropped_pending: None,
        after: before.marks.clone(),
    };
    TurnTaken {
        tenant_id: TENANT.into(),
        correlation_id: thread.into(),
        turn_id: 0,
        session_id: None,
        session_status: SessionStatus::Active,
        request: request.into(),
        decision: decision.into(),
        state_before: ThreadState::default().digest(),
        state_after: before.digest(),
    }
}

/// Its row.
fn row_by_hand(thread: &str, user: &str) -> RowCommitted {
    RowCommitted {
        tenant_id: TENANT.into(),
        correlation_id: thread.into(),
        turn_id: 0,
        session_id: None,
        user_id: user.into(),
        device_id: DEVICE.into(),
        event_type: RowEventType::of(Directive::Respond),
        severity: Severity::of(Directive::Respond),
        reason_code: ReasonCode::NlpChat,
        idempotency_key: "key-0".into(),
        issue_fingerprint: None,
        decided_by: DecidedBy::BranchTable,
        dropped_pending: None,
        payload: RowPayload {
            directive: Directive::Respond,
            confirm_kind: None,
            what_is_missing: None,
            clarification_unit_id: None,
            response_kind: Some("CHAT".into()),
            dispatch_target: None,
            wait_kind: None,
            work_order_id: work_order_of(thread).into(),
            work_order_status_snapshot: WorkOrderStatus::Executing,
            pending_state: PendingState::None,
            lease_token_hash: None,
            interrupt_resume_policy: None,
        },
        remainders: List::default(),
    }
}
