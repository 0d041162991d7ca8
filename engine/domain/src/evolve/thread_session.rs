//! Sessions of threads, as events respect them. A turn or a row that speaks where nothing may be
//! said counts for nothing: what it would arm is not armed.

use super::Record;
use super::forbidden::{Judgement, Rule};
use super::interruption_thread::expect_live;
use crate::event::{PendingDisarmed, RowCommitted, Text, ThreadMoved, TurnTaken};
use crate::interruption_thread::{Directive, SessionStatus};
use crate::world::{Hot, Registered, Thread};

/// What of a turn or a row says who speaks where.
pub(super) struct Spoken<'a> {
    tenant_id: &'a Text,
    correlation_id: &'a Text,
    session_id: Option<&'a Text>,
    directive: Directive,
}

impl<'a> Spoken<'a> {
    pub(super) fn turn(body: &'a TurnTaken) -> Self {
        Self {
            tenant_id: &body.tenant_id,
            correlation_id: &body.correlation_id,
            session_id: body.session_id.as_ref(),
            directive: body.decision.directive,
        }
    }

    pub(super) fn row(body: &'a RowCommitted) -> Self {
        Self {
            tenant_id: &body.tenant_id,
            correlation_id: &body.correlation_id,
            session_id: body.session_id.as_ref(),
            directive: body.payload.directive,
        }
    }
}

/// A turn says of its session what is registered of it.
pub(super) fn check_status(hot: &Hot, body: &TurnTaken, judgement: &mut Judgement<'_>) {
    let known = match &body.session_id {
        None => Some(SessionStatus::Active),
        Some(session) => status(hot, &body.tenant_id, session),
    };
    // Of a session that nobody ever registered the turn's row is found to be out of its scope.
    if let Some(known) = known {
        judgement.expect(Rule::ThreadSession, known, body.session_status);
    }
}

/// Whether what is said may count.
pub(super) fn may_speak(hot: &Hot, spoken: &Spoken<'_>, judgement: &mut Judgement<'_>) -> bool {
    let Some(session) = spoken.session_id else {
        return names_its_session(hot, spoken, judgement);
    };
    match status(hot, spoken.tenant_id, session) {
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
fn names_its_session(hot: &Hot, spoken: &Spoken<'_>, judgement: &mut Judgement<'_>) -> bool {
    let thread = hot.threads.live(spoken.tenant_id, spoken.correlation_id);
    match thread.and_then(Thread::own_session) {
        Some(own) if hot.threads.sessions_since() > 0 => {
            judgement.forbid(Rule::ThreadSession, own, "no session");
            false
        }
        _ => true,
    }
}

/// Where a session is. One that was closed so long ago that only the log knows is so still.
fn status(hot: &Hot, tenant_id: &Text, session_id: &Text) -> Option<SessionStatus> {
    let known = Registered::in_state(&hot.registry).session_status(tenant_id, session_id);
    let is_gone = || hot.registry.may_have_forgotten(tenant_id, session_id);
    known.or_else(|| is_gone().then_some(SessionStatus::Closed))
}

pub(super) fn disarmed(
    hot: &mut Hot,
    record: Record<'_>,
    body: &PendingDisarmed,
    judgement: &mut Judgement<'_>,
) {
    hot.threads.follow_sessions(record.sequence);
    let is_closed = status(hot, &body.tenant_id, &body.session_id) == Some(SessionStatus::Closed);
    let is_live = hot.threads.change(&body.tenant_id, &body.correlation_id, |thread| {
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
pub(super) fn moved(
    hot: &mut Hot,
    record: Record<'_>,
    body: &ThreadMoved,
    judgement: &mut Judgement<'_>,
) {
    hot.threads.follow_sessions(record.sequence);
    if status(hot, &body.tenant_id, &body.session_id) != Some(SessionStatus::Active) {
        let expected = "a session that is ACTIVE";
        judgement.forbid(Rule::ThreadSession, expected, &body.session_id);
        return;
    }
    let is_live = hot.threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        thread.state.move_to(&body.session_id);
        thread.version = record.sequence;
    });
    expect_live(is_live, judgement);
}
