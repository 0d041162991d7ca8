//! In which session a turn or a row is, what is not said or done because of where that is, and what
//! turns and rows presume: scope (tenant, user, device, session) and gates (work order, lease).

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::core::hash::Digest;
use crate::core::payload::Text;
use crate::core::text::shown;
use crate::core::time::Timestamp;
use crate::interruption_thread::command::{CallerRow, TurnScope};
use crate::interruption_thread::decision::{Pending, ThreadState, TurnDecision};
use crate::interruption_thread::event::InterruptionThreadEvent as Event;
use crate::interruption_thread::event::{PendingDisarmed, ThreadMoved};
use crate::interruption_thread::refusal::ThreadRefusal;
use crate::interruption_thread::request::{TurnInput, TurnRequest};
use crate::interruption_thread::rules::{ThreadContext, given_up};
use crate::interruption_thread::state::Thread;
use crate::interruption_thread::types::{Directive, Fate, ReasonCode, ResumePolicy};
use crate::registration::state::{LEASE_ANEW, Mismatch, REGISTERED_ANEW, Registered, pair};
use crate::registration::types::{LeaseStatus, SessionStatus};

/// The scope as it counts: a turn or a row that names no session is in the thread's own.
pub(crate) fn in_own_session<'a>(
    thread: Option<&'a Thread>,
    scope: TurnScope<'a>,
) -> TurnScope<'a> {
    let own = thread.and_then(Thread::own_session).map(|session| &**session);
    TurnScope { session_id: scope.session_id.or(own), ..scope }
}

/// The scope of a turn as it counts. Somebody else than the speaker whose answer is waited for is
/// asked what they mean wherever they speak: where they name no session, in none.
pub(crate) fn speaks_in<'a>(view: ThreadContext<'a>, scope: TurnScope<'a>) -> TurnScope<'a> {
    let own = in_own_session(view.live, scope);
    let is_active = |session| {
        view.registered.session_status(scope.tenant_id, session) == Some(SessionStatus::Active)
    };
    let waits = view.live.is_some_and(|thread| thread.state.waits_for_another(scope.user_id));
    if waits && scope.session_id.is_none() && own.session_id.is_some_and(is_active) {
        return scope;
    }
    own
}

/// Returns where the session of a scope is, in which its user and device are. A session that is not
/// named is told of in other words: the caller did not choose it, and may choose another.
pub(crate) fn session_of(
    registered: Registered<'_>,
    given: &TurnScope<'_>,
    scope: &TurnScope<'_>,
) -> Result<SessionStatus, ThreadRefusal> {
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

/// Checks that what was asked in one session is answered in it. Else a yes that is given in another
/// one would pass a session that is suspended, or be to a question that was never heard there.
/// Somebody else answers nothing, wherever they speak: the branch table says so.
pub(crate) fn check_answer(
    own: Option<&Text>,
    state: &ThreadState,
    scope: &TurnScope<'_>,
    request: &TurnRequest,
) -> Result<(), ThreadRefusal> {
    if state.waits_for_another(scope.user_id) {
        return Ok(());
    }
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
pub(crate) fn check_words(
    registered: Registered<'_>,
    state: &ThreadState,
    scope: &TurnScope<'_>,
    decision: &TurnDecision,
) -> Result<(), ThreadRefusal> {
    let resumed = decision.remainders.iter().filter(|words| words.fate == Fate::Resumed);
    for words in resumed {
        let mut kept = state.resume_buffers.iter();
        let kept = kept.find(|buffer| buffer.captured_turn == words.captured_turn);
        let Some(session) = kept.and_then(|buffer| buffer.session_id.as_deref()) else { continue };
        let status = registered.session_status(scope.tenant_id, session);
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
pub(crate) fn moved(state: &ThreadState, row: &CallerRow<'_>) -> Option<Event> {
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

/// Returns the event by which what a thread waits for ends with its own session, or else with it;
/// `None` where it waits for nothing.
pub(crate) fn disarmed(
    thread: &Thread,
    state: &ThreadState,
    session_id: Option<&str>,
) -> Option<Event> {
    let return_check = state.marks.return_check.map(|check| check.captured_turn);
    let is_its = session_id.is_none_or(|session| thread.is_in(session));
    (state.is_armed() && is_its).then(|| {
        let closed = session_id.map(|_| ReasonCode::SessionClosed);
        let own = thread.own_session().cloned().unwrap_or_default();
        PendingDisarmed {
            tenant_id: thread.tenant_id.clone(),
            correlation_id: thread.correlation_id.clone(),
            session_id: session_id.map_or_else(|| own.clone(), Text::from),
            pending_state: state.pending_state(),
            return_check,
            reason_code: closed.unwrap_or(ReasonCode::ThreadClosed),
            user_id: state.marks.active_speaker_user_id.clone(),
            interrupt_resume_policy: ResumePolicy::Discard,
        }
        .into()
    })
}

fn barred(reason_code: ReasonCode, expected: String, found: String) -> ThreadRefusal {
    ThreadRefusal::Barred { reason_code, field: "session_id", expected, found }
}

impl Registered<'_> {
    /// Checks whether tenant, user, device and session belong together and may be used; where the
    /// session is (ACTIVE where there is none).
    pub(crate) fn session_of(&self, scope: &TurnScope<'_>) -> Result<SessionStatus, ThreadRefusal> {
        self.find_session(scope)
            .map_err(|m| ThreadRefusal::barred(ReasonCode::FailTenantScopeInvalid, m))
    }

    /// Returns where a session is; `None` where it is not known.
    pub(crate) fn session_status(&self, tenant_id: &str, session: &str) -> Option<SessionStatus> {
        self.session(tenant_id, session).map(|session| session.status)
    }

    /// Checks whether the work order is of this tenant and correlation, is as the caller states,
    /// and has not ended.
    pub(crate) fn check_work_order(&self, scope: &TurnScope<'_>) -> Result<(), ThreadRefusal> {
        self.open_work_order(scope)
            .map_err(|m| ThreadRefusal::barred(ReasonCode::FailWorkOrderScopeInvalid, m))
    }

    /// Checks whether a lease allows a dispatch under the scope's work order now: one that is held
    /// and has not expired. From its `expires_at` on it allows nothing.
    pub(crate) fn check_lease(
        &self,
        scope: &TurnScope<'_>,
        lease_token_hash: Option<Digest>,
        at: Timestamp,
    ) -> Result<(), ThreadRefusal> {
        self.held_lease(scope, lease_token_hash, at)
            .map_err(|m| ThreadRefusal::barred(ReasonCode::FailLeaseRequired, m))
    }

    fn find_session(&self, scope: &TurnScope<'_>) -> Result<SessionStatus, Mismatch> {
        self.active_device(scope.tenant_id, scope.device_id, scope.user_id)?;
        let Some(session_id) = scope.session_id else { return Ok(SessionStatus::Active) };
        let Some(session) = self.session(scope.tenant_id, session_id) else {
            let found = format!("{}, which is not registered", shown(session_id));
            return Err(Mismatch::of("session_id", "a session of the tenant", found));
        };
        Mismatch::unless_same("user_id", &session.user_id, scope.user_id)?;
        Mismatch::unless_same("device_id", &session.device_id, scope.device_id)?;
        if session.status == SessionStatus::Active {
            self.expect_no_doubt("session_id", session_id, session.by, REGISTERED_ANEW)?;
        }
        Ok(session.status)
    }

    fn open_work_order(&self, scope: &TurnScope<'_>) -> Result<(), Mismatch> {
        let Some(work_order) = self.work_order(scope.tenant_id, scope.work_order_id) else {
            let found = format!("{}, which is not registered", shown(scope.work_order_id));
            return Err(Mismatch::of("work_order_id", "a work order of the tenant", found));
        };
        let (known, stated) = (work_order.status, scope.work_order_status_snapshot);
        Mismatch::unless_same("correlation_id", &work_order.correlation_id, scope.correlation_id)?;
        Mismatch::unless_same("work_order_status_snapshot", known.name(), stated.name())?;
        if known.is_final() {
            let expected = "the status of a work order that has not ended";
            return Err(Mismatch::of("work_order_status_snapshot", expected, known));
        }
        self.expect_sure_work_order(scope.work_order_id, work_order)
    }

    fn held_lease(
        &self,
        scope: &TurnScope<'_>,
        lease_token_hash: Option<Digest>,
        at: Timestamp,
    ) -> Result<(), Mismatch> {
        let fault = |expected, found| Err(Mismatch { field: "lease_token_hash", expected, found });
        let Some(hash) = lease_token_hash else {
            return fault("the hash of a lease on the work order".into(), "none".into());
        };
        let leases = self.registry.leases.get(&pair(scope.tenant_id, scope.work_order_id));
        match leases.and_then(|leases| leases.get(&hash)) {
            None => fault(
                "the hash of a lease on the work order".into(),
                format!("{hash}, which is not registered for it"),
            ),
            Some(lease) if lease.status != LeaseStatus::Active => {
                fault("a lease that is ACTIVE".into(), format!("one that is {}", lease.status))
            }
            Some(lease) if at >= lease.expires_at => fault(
                format!("a lease that ends after {at}"),
                format!("one that ended at {}", lease.expires_at),
            ),
            Some(lease) => {
                self.expect_no_doubt("lease_token_hash", &format!("{hash}"), lease.by, LEASE_ANEW)
            }
        }
    }
}

/// Returns what is left behind in a thread by a session that is closed: what was pending in it is
/// disarmed and what was left unsaid in it given up. What has expired by now is no longer there to
/// be given up.
pub(crate) fn ended_with_session(thread: &Thread, session_id: &str, at: Timestamp) -> Vec<Event> {
    let now = thread.standing(at);
    let mut left = Vec::from_iter(disarmed(thread, &now.state, Some(session_id)));
    let words = now.state.resume_buffers.iter().chain(now.planned());
    let words = words.filter(|buffer| buffer.is_of_session(session_id));
    left.extend(words.map(|buffer| given_up(thread, buffer, Some(session_id))));
    let mut events = now.events;
    events.extend(left);
    events
}
