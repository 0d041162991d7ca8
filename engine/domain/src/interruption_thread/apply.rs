//! Interruption threads as events change them. What a turn came to is decided again, and compared.
//!
//! Sessions of threads, as events respect them. A turn or a row that speaks where nothing may be
//! said counts for nothing: what it would arm is not armed.

use crate::core::forbidden::{Judgement, Record, Rule};
use crate::core::payload::Text;
use crate::interruption_thread::command::TurnScope;
use crate::interruption_thread::decision::ThreadState;
use crate::interruption_thread::event::{
    BufferExpired, PendingDisarmed, RemaindersDiscarded, ReturnCheckExpired, RowCommitted,
    ThreadClosed, ThreadMoved, TurnTaken,
};
use crate::interruption_thread::state::{Thread, Threads};
use crate::interruption_thread::turn::{Turn, decide_turn};
use crate::interruption_thread::types::{DecidedBy, Directive, ReasonCode};
use crate::registration::state::{Registered, Registry};
use crate::registration::types::{Capability, SessionStatus};
use crate::world::event::Event;

/// What events of threads change, and what is registered around it.
pub(crate) struct Context<'a> {
    pub(crate) threads: &'a mut Threads,
    pub(crate) registry: &'a Registry,
}

/// Applies an event of a thread, all but its end.
pub(crate) fn applied(
    context: &mut Context<'_>,
    record: Record<'_>,
    event: &Event,
    judgement: &mut Judgement<'_>,
) {
    match event {
        Event::TurnTaken(body) => turn_taken(context, record, body, judgement),
        Event::RowCommitted(body) => row_committed(context, record, body, judgement),
        Event::BufferExpired(body) => buffer_expired(context, record, body, judgement),
        Event::ReturnCheckExpired(body) => return_check_expired(context, record, body, judgement),
        Event::RemaindersDiscarded(body) => discarded(context, record, body, judgement),
        Event::PendingDisarmed(body) => disarmed(context, record, body, judgement),
        Event::ThreadMoved(body) => moved(context, record, body, judgement),
        // A read changes nothing, and neither does what was refused.
        _ => {}
    }
}

fn turn_taken(
    context: &mut Context<'_>,
    record: Record<'_>,
    body: &TurnTaken,
    judgement: &mut Judgement<'_>,
) {
    check_status(context, body, judgement);
    if !may_speak(context, &Spoken::turn(body), judgement) {
        return;
    }
    let turn = Turn {
        turn_id: body.turn_id,
        session_id: body.session_id.as_deref(),
        session_status: body.session_status,
        request: &body.request,
        at: record.at,
    };
    context.threads.begin(&body.tenant_id, &body.correlation_id, || begun(record, body));
    context.threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        check_turn(thread, body, &turn, judgement);
        let after = thread.state.after_turn(&turn, &body.decision);
        judgement.expect(Rule::ThreadTurn, after.digest(), body.state_after);
        thread.state = after;
        thread.session_id.clone_from(&body.session_id);
        thread.last_directive = body.decision.directive;
        thread.last_reason_code = body.decision.reason_code;
        counted(thread, record, body.turn_id);
        thread.awaits_row = true;
    });
}

/// A turn is newer than every other, begins where the last one ended with nothing expired in
/// silence, and comes to what the branch table says.
fn check_turn(thread: &Thread, body: &TurnTaken, turn: &Turn<'_>, judgement: &mut Judgement<'_>) {
    check_order(thread, body.turn_id, judgement);
    judgement.expect(Rule::ThreadTurn, thread.state.digest(), body.state_before);
    if thread.state.next_expiry().is_some_and(|expires_at| expires_at <= turn.at) {
        judgement.forbid(Rule::ThreadExpiry, "an event for what expired", "a turn without one");
    }
    match decide_turn(&thread.state, turn) {
        Ok(decision) if decision == *body.decision => {}
        Ok(decision) => {
            let (found, reason) = (body.decision.directive, body.decision.reason_code);
            let expected = format_args!("{} {}", decision.directive, decision.reason_code);
            let found = format_args!("{found} {reason}, or another end of a remainder or mark");
            judgement.forbid(Rule::ThreadTurn, expected, found);
        }
        Err(refusal) => judgement.forbid(Rule::ThreadTurn, "a request by the contract", refusal),
    }
}

fn check_order(thread: &Thread, turn_id: u64, judgement: &mut Judgement<'_>) {
    if turn_id <= thread.last_turn_id {
        let expected = format_args!("a turn above {}", thread.last_turn_id);
        judgement.forbid(Rule::ThreadTurn, expected, turn_id);
    }
    if thread.awaits_row {
        let found = format_args!("none for turn {}", thread.last_turn_id);
        judgement.forbid(Rule::ThreadRow, "a row for every turn", found);
    }
}

/// A thread that begins with this turn.
fn begun(record: Record<'_>, body: &TurnTaken) -> Thread {
    let (directive, reason) = (body.decision.directive, body.decision.reason_code);
    new_thread(record, &body.tenant_id, &body.correlation_id, directive, reason)
}

fn new_thread(
    record: Record<'_>,
    tenant_id: &Text,
    correlation_id: &Text,
    last_directive: Directive,
    last_reason_code: ReasonCode,
) -> Thread {
    Thread {
        tenant_id: tenant_id.clone(),
        correlation_id: correlation_id.clone(),
        state: ThreadState::default(),
        last_turn_id: 0,
        last_directive,
        last_reason_code,
        session_id: None,
        started_at: record.at,
        started_sequence: record.sequence,
        version: record.sequence,
        turns: 0,
        awaits_row: false,
        is_closed: false,
    }
}

fn counted(thread: &mut Thread, record: Record<'_>, turn_id: u64) {
    thread.last_turn_id = thread.last_turn_id.max(turn_id);
    thread.version = record.sequence;
    thread.turns = thread.turns.saturating_add(1);
}

fn row_committed(
    context: &mut Context<'_>,
    record: Record<'_>,
    body: &RowCommitted,
    judgement: &mut Judgement<'_>,
) {
    check_caller(context, record, judgement);
    check_scope(context, record, body, judgement);
    if !may_speak(context, &Spoken::row(body), judgement) {
        return;
    }
    context.threads.begin(&body.tenant_id, &body.correlation_id, || {
        let (directive, reason) = (body.payload.directive, body.reason_code);
        new_thread(record, &body.tenant_id, &body.correlation_id, directive, reason)
    });
    context.threads.change(&body.tenant_id, &body.correlation_id, |thread| match body.decided_by {
        DecidedBy::BranchTable => row_of_turn(thread, record, body, judgement),
        DecidedBy::Caller => row_of_caller(thread, record, body, judgement),
    });
}

/// The row of a turn says what the turn came to.
fn row_of_turn(
    thread: &mut Thread,
    record: Record<'_>,
    body: &RowCommitted,
    judgement: &mut Judgement<'_>,
) {
    let turn = (thread.awaits_row, thread.last_turn_id, thread.last_directive);
    let found = (true, body.turn_id, body.payload.directive);
    if turn != found || thread.last_reason_code != body.reason_code {
        let expected = "the row of the turn before it, once, with its directive and reason";
        judgement.forbid(Rule::ThreadRow, expected, format_args!("turn {}", body.turn_id));
    }
    thread.awaits_row = false;
    thread.version = record.sequence;
}

fn row_of_caller(
    thread: &mut Thread,
    record: Record<'_>,
    body: &RowCommitted,
    judgement: &mut Judgement<'_>,
) {
    check_order(thread, body.turn_id, judgement);
    let recorded = thread.state.pending_state();
    judgement.expect(Rule::ThreadRow, recorded, body.payload.pending_state);
    let payload = &body.payload;
    let kind = payload.confirm_kind.as_ref().or(payload.what_is_missing.as_ref());
    let dropped = thread.state.dropped_by_row(payload.directive);
    if dropped != body.dropped_pending {
        judgement.forbid(Rule::ThreadRow, "what was pending to be named", "another end of it");
    }
    let user = (&body.user_id, body.session_id.as_ref());
    thread.state.follow_row(payload.directive, kind, user);
    thread.session_id.clone_from(&body.session_id);
    thread.last_directive = payload.directive;
    thread.last_reason_code = body.reason_code;
    counted(thread, record, body.turn_id);
    thread.awaits_row = false;
}

/// Scope and gates as they were when the row was written.
fn check_scope(
    context: &Context<'_>,
    record: Record<'_>,
    body: &RowCommitted,
    judgement: &mut Judgement<'_>,
) {
    // A session that was closed long ago has left the state. Nothing but a WAIT comes of one.
    let may_be_gone = |session: &str| {
        body.payload.directive == Directive::Wait
            && context.registry.may_have_forgotten(&body.tenant_id, session)
    };
    let scope = TurnScope {
        tenant_id: &body.tenant_id,
        correlation_id: &body.correlation_id,
        turn_id: body.turn_id,
        session_id: body.session_id.as_deref().filter(|session| !may_be_gone(session)),
        user_id: &body.user_id,
        device_id: &body.device_id,
        work_order_id: &body.payload.work_order_id,
        work_order_status_snapshot: body.payload.work_order_status_snapshot,
        pending_state: body.payload.pending_state,
        idempotency_key: &body.idempotency_key,
    };
    let registered = Registered::in_state(context.registry);
    let mut check = registered.session_of(&scope).map(drop);
    check = check.and_then(|()| registered.check_work_order(&scope));
    if body.payload.directive == Directive::Dispatch {
        let lease = body.payload.lease_token_hash;
        check = check.and_then(|()| registered.check_lease(&scope, lease, record.at));
    }
    if let Err(refusal) = check {
        judgement.forbid(Rule::ThreadRow, "a row within its scope and gates", refusal);
    }
}

fn buffer_expired(
    context: &mut Context<'_>,
    record: Record<'_>,
    body: &BufferExpired,
    judgement: &mut Judgement<'_>,
) {
    let is_live = context.threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        let mut kept = thread.state.resume_buffers.iter();
        let expires_at = kept
            .find(|buffer| {
                buffer.captured_turn == body.captured_turn
                    && buffer.answer_id == body.answer_id
                    && buffer.speaker_user_id == body.speaker_user_id
            })
            .map(|buffer| buffer.expires_at);
        if expires_at != Some(body.expires_at) || record.at < body.expires_at {
            let expected = "words that are kept, and whose time is over";
            judgement.forbid(Rule::ThreadExpiry, expected, body.expires_at);
        }
        thread.state.drop_buffer(body.captured_turn);
        thread.version = record.sequence;
    });
    expect_live(is_live, judgement);
}

fn return_check_expired(
    context: &mut Context<'_>,
    record: Record<'_>,
    body: &ReturnCheckExpired,
    judgement: &mut Judgement<'_>,
) {
    let is_live = context.threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        let found = (body.expires_at, body.interrupt_resume_policy);
        if thread.state.return_check_expiry() != Some(found) || record.at < body.expires_at {
            let expected = "a question that was asked, and whose time is over";
            judgement.forbid(Rule::ThreadExpiry, expected, body.expires_at);
        }
        thread.state.drop_return_check();
        thread.version = record.sequence;
    });
    expect_live(is_live, judgement);
}

fn discarded(
    context: &mut Context<'_>,
    record: Record<'_>,
    body: &RemaindersDiscarded,
    judgement: &mut Judgement<'_>,
) {
    let is_live = context.threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        for remainder in body.remainders.iter() {
            let turn = remainder.captured_turn;
            if !thread.state.resume_buffers.iter().any(|buffer| buffer.captured_turn == turn) {
                let found = format_args!("none of turn {turn}");
                judgement.forbid(Rule::ThreadRemainder, "words that are kept", found);
            }
            thread.state.give_up(turn);
        }
        thread.version = record.sequence;
    });
    expect_live(is_live, judgement);
}

/// Applies the end of a thread. The thread that leaves the state by it is handed back.
pub(crate) fn closed(
    threads: &mut Threads,
    record: Record<'_>,
    body: &ThreadClosed,
    judgement: &mut Judgement<'_>,
) -> Option<Thread> {
    let thread = threads.find(&body.tenant_id, &body.correlation_id);
    expect_live(thread.is_some_and(|thread| !thread.is_closed), judgement);
    if thread.is_some_and(|thread| !thread.state.resume_buffers.is_empty()) {
        let expected = "an event for every word left unsaid";
        judgement.forbid(Rule::ThreadRemainder, expected, "a thread closed over some");
    }
    threads.close(&body.tenant_id, &body.correlation_id, record.sequence)
}

/// Turns and rows are only for who was granted the capability.
fn check_caller(context: &Context<'_>, record: Record<'_>, judgement: &mut Judgement<'_>) {
    let actor = record.actor;
    if !context.registry.holds(actor, Capability::SeleneOsOnly) {
        let expected = format_args!("an actor with {}", Capability::SeleneOsOnly);
        judgement.forbid(Rule::CallerCapability, expected, &actor.id);
    }
}

fn expect_live(is_live: bool, judgement: &mut Judgement<'_>) {
    if !is_live {
        judgement.forbid(Rule::ThreadTurn, "a thread that is open", "none");
    }
}

/// What of a turn or a row says who speaks where.
pub(crate) struct Spoken<'a> {
    tenant_id: &'a Text,
    correlation_id: &'a Text,
    session_id: Option<&'a Text>,
    directive: Directive,
}

impl<'a> Spoken<'a> {
    pub(crate) fn turn(body: &'a TurnTaken) -> Self {
        Self {
            tenant_id: &body.tenant_id,
            correlation_id: &body.correlation_id,
            session_id: body.session_id.as_ref(),
            directive: body.decision.directive,
        }
    }

    pub(crate) fn row(body: &'a RowCommitted) -> Self {
        Self {
            tenant_id: &body.tenant_id,
            correlation_id: &body.correlation_id,
            session_id: body.session_id.as_ref(),
            directive: body.payload.directive,
        }
    }
}

/// A turn says of its session what is registered of it.
fn check_status(context: &Context<'_>, body: &TurnTaken, judgement: &mut Judgement<'_>) {
    let known = match &body.session_id {
        None => Some(SessionStatus::Active),
        Some(session) => status(context, &body.tenant_id, session),
    };
    // Of a session that nobody ever registered the turn's row is found to be out of its scope.
    if let Some(known) = known {
        judgement.expect(Rule::ThreadSession, known, body.session_status);
    }
}

/// Whether what is said may count.
fn may_speak(context: &Context<'_>, spoken: &Spoken<'_>, judgement: &mut Judgement<'_>) -> bool {
    let Some(session) = spoken.session_id else {
        return names_its_session(context, spoken, judgement);
    };
    match status(context, spoken.tenant_id, session) {
        Some(known) if known != SessionStatus::Active && spoken.directive != Directive::Wait => {
            let expected = format_args!("a WAIT in a session that is {known}");
            judgement.forbid(Rule::ThreadSession, expected, spoken.directive);
            false
        }
        _ => true,
    }
}

/// A thread that is in a session is so in every turn and row. Earlier rules did not say so: only
/// what stands behind a record that they did not make is judged by this one.
fn names_its_session(
    context: &Context<'_>,
    spoken: &Spoken<'_>,
    judgement: &mut Judgement<'_>,
) -> bool {
    let thread = context.threads.live(spoken.tenant_id, spoken.correlation_id);
    match thread.and_then(Thread::own_session) {
        Some(own) if context.threads.sessions_since() > 0 => {
            judgement.forbid(Rule::ThreadSession, own, "no session");
            false
        }
        _ => true,
    }
}

/// Where a session is. One that was closed so long ago that only the log knows is so still.
fn status(context: &Context<'_>, tenant_id: &Text, session_id: &Text) -> Option<SessionStatus> {
    let known = Registered::in_state(context.registry).session_status(tenant_id, session_id);
    let is_gone = || context.registry.may_have_forgotten(tenant_id, session_id);
    known.or_else(|| is_gone().then_some(SessionStatus::Closed))
}

fn disarmed(
    context: &mut Context<'_>,
    record: Record<'_>,
    body: &PendingDisarmed,
    judgement: &mut Judgement<'_>,
) {
    context.threads.follow_sessions(record.sequence);
    let is_closed =
        status(context, &body.tenant_id, &body.session_id) == Some(SessionStatus::Closed);
    let is_live = context.threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        let return_check = thread.state.marks.return_check.map(|check| check.captured_turn);
        let waits = (thread.state.pending_state(), return_check);
        let is_so = waits == (body.pending_state, body.return_check);
        if !(is_closed && is_so && thread.is_in(&body.session_id)) {
            let expected = "what the thread waits for, and its own session closed";
            judgement.forbid(Rule::ThreadSession, expected, body.pending_state);
        }
        thread.state.disarm();
        thread.version = record.sequence;
    });
    expect_live(is_live, judgement);
}

/// A thread moves only to where it may be spoken in.
fn moved(
    context: &mut Context<'_>,
    record: Record<'_>,
    body: &ThreadMoved,
    judgement: &mut Judgement<'_>,
) {
    context.threads.follow_sessions(record.sequence);
    if status(context, &body.tenant_id, &body.session_id) != Some(SessionStatus::Active) {
        let expected = "a session that is ACTIVE";
        judgement.forbid(Rule::ThreadSession, expected, &body.session_id);
        return;
    }
    let is_live = context.threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        thread.state.move_to(&body.session_id);
        thread.version = record.sequence;
    });
    expect_live(is_live, judgement);
}
