//! In which session a turn or a row is, and what is not said or done because of where that is.

use alloc::format;
use alloc::string::String;

use super::shown;
use crate::command::{CallerRow, TurnScope};
use crate::event::{Event, PendingDisarmed, Text, ThreadMoved};
use crate::interruption_thread::{
    Directive, Fate, Pending, ReasonCode, SessionStatus, ThreadState, TurnDecision, TurnInput,
    TurnRequest,
};
use crate::refusal::ThreadRefusal;
use crate::world::{Thread, World};

/// The scope as it counts: a turn or a row that names no session is in the thread's own.
pub(super) fn in_own_session<'a>(world: &'a World, scope: TurnScope<'a>) -> TurnScope<'a> {
    let thread = world.live_thread(scope.tenant_id, scope.correlation_id);
    let own = thread.and_then(Thread::own_session).map(|session| &**session);
    TurnScope { session_id: scope.session_id.or(own), ..scope }
}

/// Where the session of a scope is, in which its user and device are. A session that is not named
/// is told of in other words: the caller did not choose it, and may choose another.
pub(super) fn session_of(
    world: &World,
    given: &TurnScope<'_>,
    scope: &TurnScope<'_>,
) -> Result<SessionStatus, ThreadRefusal> {
    let registered = world.registered();
    registered.session_of(given)?;
    registered.session_of(scope).map_err(|refusal| match scope.session_id {
        Some(own) if given.session_id.is_none() => {
            let (user, device) = (shown(scope.user_id), shown(scope.device_id));
            let expected = format!(
                "a session of {user} on {device}, as the thread's own, {}, is not one",
                shown(own)
            );
            barred(ReasonCode::FailTenantScopeInvalid, expected, String::from("none"))
        }
        _ => refusal,
    })
}

/// What was asked in one session is answered in it. Else a yes that is given in another one would
/// pass a session that is suspended, or be to a question that was never heard there.
pub(super) fn check_answer(
    own: Option<&Text>,
    state: &ThreadState,
    scope: &TurnScope<'_>,
    request: &TurnRequest,
) -> Result<(), ThreadRefusal> {
    let answers =
        request.confirm_answer.is_some() || matches!(request.input, TurnInput::ToolResponse { .. });
    let waits = matches!(
        state.marks.pending,
        Some(Pending::Confirm { .. } | Pending::MemoryPermission { .. } | Pending::Tool { .. })
    );
    match (own, scope.session_id) {
        (Some(own), Some(session)) if answers && waits && own.as_str() != session => {
            let expected = format!("{}, in which the thread waits for the answer", shown(own));
            Err(barred(ReasonCode::FailPendingStateInvalid, expected, shown(session)))
        }
        _ => Ok(()),
    }
}

/// Words that were left unsaid in a session that is not active are not said in another one.
pub(super) fn check_words(
    world: &World,
    state: &ThreadState,
    scope: &TurnScope<'_>,
    decision: &TurnDecision,
) -> Result<(), ThreadRefusal> {
    let resumed = decision.remainders.iter().filter(|words| words.fate == Fate::Resumed);
    for words in resumed {
        let mut kept = state.resume_buffers.iter();
        let kept = kept.find(|buffer| buffer.captured_turn == words.captured_turn);
        let Some(session) = kept.and_then(|buffer| buffer.session_id.as_deref()) else { continue };
        let status = world.registered().session_status(scope.tenant_id, session);
        if scope.session_id != Some(session) && status != Some(SessionStatus::Active) {
            let found = status.map_or("CLOSED", SessionStatus::name);
            let expected =
                format!("the words of turn {} to be of an ACTIVE session", words.captured_turn);
            let found = format!("{}, which is {found}", shown(session));
            return Err(barred(ReasonCode::FailTenantScopeInvalid, expected, found));
        }
    }
    Ok(())
}

/// A row that speaks to the thread's user in another session than before moves the thread there. A
/// turn does so by itself, and so does a row that speaks to somebody else.
pub(super) fn moved(state: &ThreadState, row: &CallerRow<'_>) -> Option<Event> {
    let (marks, scope) = (&state.marks, &row.scope);
    let session = scope.session_id.filter(|_| row.directive != Directive::Wait)?;
    let is_told = marks.active_speaker_user_id.as_deref() == Some(scope.user_id);
    let is_there = marks.active_session_id.as_deref() == Some(session);
    (is_told && !is_there).then(|| {
        ThreadMoved {
            tenant_id: scope.tenant_id.into(),
            correlation_id: scope.correlation_id.into(),
            session_id: session.into(),
        }
        .into()
    })
}

/// What a thread waits for ends with its own session; `None` where it waits for nothing.
pub(super) fn disarmed(thread: &Thread, state: &ThreadState, session_id: &str) -> Option<Event> {
    let return_check = state.marks.return_check.map(|check| check.captured_turn);
    let is_armed = state.marks.pending.is_some() || return_check.is_some();
    (is_armed && thread.is_in(session_id)).then(|| {
        PendingDisarmed {
            tenant_id: thread.tenant_id.clone(),
            correlation_id: thread.correlation_id.clone(),
            session_id: session_id.into(),
            pending_state: state.pending_state(),
            return_check,
            reason_code: ReasonCode::SessionClosed,
        }
        .into()
    })
}

fn barred(reason_code: ReasonCode, expected: String, found: String) -> ThreadRefusal {
    ThreadRefusal::Barred { reason_code, field: "session_id", expected, found }
}
