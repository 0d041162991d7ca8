//! Turns and rows of interruption threads. A refusal leaves the thread as it was.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::core::forbidden::Rules;
use crate::core::hash::{Digest, HashBuilder};
use crate::core::payload::{List, Text};
use crate::core::refusal::{Malformed, check_name, malformed};
use crate::core::text::{bounded, visible};
use crate::core::time::Timestamp;
use crate::interruption_thread::branch::captured;
use crate::interruption_thread::command::InterruptionThreadCommand as Command;
use crate::interruption_thread::command::{CallerRow, ThreadCommand, TurnScope};
use crate::interruption_thread::decision::{ResumeBuffer, RowPayload, ThreadState, TurnDecision};
use crate::interruption_thread::draft::told;
use crate::interruption_thread::event::InterruptionThreadEvent as Event;
use crate::interruption_thread::event::{
    BufferExpired, RemaindersDiscarded, ReturnCheckExpired, RowCommitted, RowsRead, ThreadClosed,
    TurnTaken,
};
use crate::interruption_thread::health::issue_fingerprint;
use crate::interruption_thread::refusal::ThreadRefusal;
use crate::interruption_thread::remainders;
use crate::interruption_thread::remainders::{Standing, gives_way, is_same, touched};
use crate::interruption_thread::request::TurnRequest;
use crate::interruption_thread::session::{
    check_answer, check_words, disarmed, in_own_session, moved, session_of, speaks_in,
};
use crate::interruption_thread::speculation::{
    Passed, check_active, check_heard, check_unplanned, drafted,
};
use crate::interruption_thread::state::Thread;
use crate::interruption_thread::turn::{Expiry, Turn, decide_checked};
use crate::interruption_thread::types::{
    DecidedBy, Directive, Fate, FateReason, PendingState, ReasonCode, ResumePolicy, RowEventType,
    Severity,
};
use crate::interruption_thread::validate::{check_fit, check_form, check_new_explanation};
use crate::registration::state::Registered;
use crate::registration::types::SessionStatus;

/// The thread that a command is about, as far as it is known, and what is registered around it.
#[derive(Clone, Copy)]
pub(crate) struct ThreadContext<'a> {
    /// The thread, open or closed.
    pub(crate) thread: Option<&'a Thread>,
    /// The same, where it is open.
    pub(crate) live: Option<&'a Thread>,
    /// The record that closed it.
    pub(crate) closed_with: Option<u64>,
    pub(crate) registered: Registered<'a>,
}

/// Checks whether a command is well-formed, as far as that can be said without any state.
pub(crate) fn check_command(command: &Command) -> Result<(), Malformed> {
    if let Some((scope, request, heard)) = command.turn() {
        check_fields(&scope)?;
        check_form(request)?;
        check_new_explanation(request)?;
        if let Command::CommitTurn(c) = command {
            let expected = "1 to 128 bytes, visible, without control characters";
            check_name("plan_key", &c.plan_key, 128, expected)?;
        }
        return heard.map_or(Ok(()), |heard| check_heard(heard, request));
    }
    if let Some(row) = command.caller_row() {
        return check_fields(&row.scope).and_then(|()| check_row(&row));
    }
    let (tenant_id, correlation_id) = command.thread();
    check_thread_names(tenant_id, correlation_id)
}

/// Returns what follows from a turn, a caller's row, or a command on a thread.
pub(crate) fn on_thread(
    view: ThreadContext<'_>,
    command: &Command,
    at: Timestamp,
) -> Result<Vec<Event>, ThreadRefusal> {
    check_command(command)?;
    match command {
        Command::TakeTurn(c) => {
            let of = consider(view, c.scope(), &c.request, (at, Step::Take))?;
            taken(view, Passed::unplanned(view, of)?, c.lease_token_hash)
        }
        Command::CommitTurn(c) => {
            let of = consider(view, c.scope(), &c.request, (at, Step::Commit))?;
            taken(view, Passed::committed(view, c, of)?, c.lease_token_hash)
        }
        Command::DraftPlan(c) => {
            let of = consider(view, c.scope(), &c.request, (at, Step::Draft));
            let mut of = of.map_err(ThreadRefusal::of_plan)?;
            check_active(of.turn.session_status)?;
            let plan = drafted(view, c, &of);
            of.events.push(plan);
            Ok(of.events)
        }
        Command::ReadAuditRows(read) => Ok(read_rows(view, read)),
        Command::ExpireThread(expire) => expire_thread(view, expire, at),
        Command::CloseThread(close) => close_thread(view, close, at),
        Command::ConfirmCommitRow(_)
        | Command::ClarifyCommitRow(_)
        | Command::RespondCommitRow(_)
        | Command::DispatchCommitRow(_)
        | Command::WaitCommitRow(_) => {
            command.caller_row().map_or(Ok(Vec::new()), |row| commit_row(view, &row, at))
        }
    }
}

/// A turn as its thread finds it, within its scope and gates, and what it would come to.
pub(crate) struct Considered<'a> {
    pub(crate) scope: TurnScope<'a>,
    pub(crate) turn: Turn<'a>,
    pub(crate) state: ThreadState,
    /// The events that say what expired.
    pub(crate) events: Vec<Event>,
    pub(crate) decision: TurnDecision,
}

/// Purpose of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// A turn without a plan.
    Take,
    /// A turn for which there is a plan.
    Commit,
    /// A plan.
    Draft,
}

impl Step {
    /// Ends the open plan that owns words, where this is no commit of them.
    fn end_plan(self, now: &mut Standing<'_>, scope: &TurnScope<'_>, turn: &Turn<'_>) {
        let Some(words) = now.planned() else { return };
        now.ask_for_planned(turn.request);
        let unsaid = captured(&now.state, turn);
        let is_own = unsaid.as_ref().is_some_and(|unsaid| is_same(words, unsaid));
        let reason = match self {
            Self::Take if now.is_passed_by(turn.turn_id) => ReasonCode::PlanPassedBy,
            Self::Commit if !is_own => ReasonCode::PlanPassedBy,
            Self::Draft => ReasonCode::PlanReplaced,
            Self::Take | Self::Commit => return,
        };
        let next = unsaid.as_ref().map(|unsaid| (turn.turn_id, unsaid));
        now.end_plan((scope.tenant_id, scope.correlation_id), reason, turn.at, next);
    }
}

fn consider<'a>(
    view: ThreadContext<'a>,
    given: TurnScope<'a>,
    request: &'a TurnRequest,
    (at, step): (Timestamp, Step),
) -> Result<Considered<'a>, ThreadRefusal> {
    let turn_id = given.turn_id;
    let scope = speaks_in(view, given);
    check_speaker(&scope, &request.active_speaker_user_id)?;
    let (session_status, mut now) = enter(view, &given, &scope, at)?;
    let turn = Turn { turn_id, session_id: scope.session_id, session_status, request, at };
    step.end_plan(&mut now, &scope, &turn);
    let Standing { state, events, .. } = now;
    check_fit(&state, &turn)?;
    if session_status == SessionStatus::Active {
        let thread = view.live;
        check_answer(thread.and_then(Thread::own_session), &state, &scope, request)?;
    }
    let decision = decide_checked(state.clone(), &turn);
    check_words(view.registered, &state, &scope, &decision)?;
    Ok(Considered { scope, turn, state, events, decision })
}

/// Makes the turn of what may be taken, and its row.
fn taken(
    view: ThreadContext<'_>,
    passed: Passed<'_>,
    lease_token_hash: Option<Digest>,
) -> Result<Vec<Event>, ThreadRefusal> {
    let Considered { scope, turn, state, mut events, decision } = passed.into_turn();
    if decision.directive == Directive::Dispatch {
        view.registered.check_lease(&scope, lease_token_hash, turn.at)?;
    }
    let after = state.after_turn(&turn, &decision);
    let row = turn_row(&scope, &state, &decision, lease_token_hash);
    let taken = TurnTaken {
        tenant_id: scope.tenant_id.into(),
        correlation_id: scope.correlation_id.into(),
        turn_id: turn.turn_id,
        session_id: scope.session_id.map(Text::from),
        session_status: turn.session_status,
        request: Box::new(turn.request.clone()),
        decision: Box::new(decision),
        state_before: state.digest(),
        state_after: after.digest(),
    };
    events.extend(displaced(&scope, &state, &taken.decision));
    events.extend([taken.into(), row.into()]);
    Ok(events)
}

/// Words that give way to those that the turn leaves unsaid.
fn displaced(
    scope: &TurnScope<'_>,
    before: &ThreadState,
    decision: &TurnDecision,
) -> Option<Event> {
    let words = decision.remainders.iter().find(|words| gives_way(words))?;
    let gone = before.buffer(words.captured_turn)?;
    let names = (scope.tenant_id, scope.correlation_id);
    Some(remainders::displaced(names, scope.turn_id, gone, words.reason))
}

fn commit_row(
    view: ThreadContext<'_>,
    row: &CallerRow<'_>,
    at: Timestamp,
) -> Result<Vec<Event>, ThreadRefusal> {
    let given = &row.scope;
    let row = &CallerRow { scope: in_own_session(view.live, *given), ..*row };
    let scope = &row.scope;
    let (session_status, mut now) = enter(view, given, scope, at)?;
    check_unplanned(view, scope, at)?;
    if now.is_passed_by(scope.turn_id) {
        let names = (scope.tenant_id, scope.correlation_id);
        now.end_plan(names, ReasonCode::PlanPassedBy, at, None);
    }
    let Standing { state, mut events, .. } = now;
    check_continuity(row, session_status, &state)?;
    if row.directive == Directive::Dispatch {
        check_dispatch(scope, &state, at)?;
        view.registered.check_lease(scope, row.lease_token_hash, at)?;
    }
    let dropped_pending =
        state.dropped_by_row(Rules::NEWEST, (row.directive, row.kind), scope.user_id);
    events.extend(moved(&state, row));
    events.push(RowCommitted { dropped_pending, ..caller_row(row) }.into());
    Ok(events)
}

fn read_rows(view: ThreadContext<'_>, command: &ThreadCommand) -> Vec<Event> {
    let version = view.thread.map(|thread| thread.version).or(view.closed_with);
    let read = RowsRead {
        tenant_id: Text::from(&command.tenant_id),
        correlation_id: Text::from(&command.correlation_id),
        last_sequence: version.unwrap_or(0),
    };
    Vec::from([read.into()])
}

fn expire_thread(
    view: ThreadContext<'_>,
    command: &ThreadCommand,
    at: Timestamp,
) -> Result<Vec<Event>, ThreadRefusal> {
    let is_over = view.closed_with.is_some();
    let expired = match view.thread {
        Some(thread) if !thread.is_closed => thread.standing(at).events,
        _ if is_over => Vec::new(),
        _ => find(view, command).map(|_| Vec::new())?,
    };
    if expired.is_empty() {
        let correlation_id = shown_name(&command.correlation_id);
        return Err(ThreadRefusal::NothingExpired { correlation_id });
    }
    Ok(expired)
}

fn close_thread(
    view: ThreadContext<'_>,
    command: &ThreadCommand,
    at: Timestamp,
) -> Result<Vec<Event>, ThreadRefusal> {
    check_open(view)?;
    let thread = find(view, command)?;
    let mut now = thread.standing(at);
    let left = now.state.resume_buffers.iter().chain(now.planned());
    let left: Vec<_> = left.map(|buffer| given_up(thread, buffer, None)).collect();
    let mut events = core::mem::take(&mut now.events);
    events.extend(disarmed(thread, &now.state, None));
    events.extend(left);
    let (tenant_id, correlation_id) = (thread.tenant_id.clone(), thread.correlation_id.clone());
    events.push(ThreadClosed { tenant_id, correlation_id }.into());
    Ok(events)
}

/// Words that end with what they belonged to: a session that is closed, or else the thread.
pub(crate) fn given_up(thread: &Thread, buffer: &ResumeBuffer, session: Option<&str>) -> Event {
    let (reason, reason_code) = match session {
        Some(_) => (FateReason::SessionClosed, ReasonCode::SessionClosed),
        None => (FateReason::ThreadClosed, ReasonCode::ThreadClosed),
    };
    let words = told(buffer, Fate::Discarded, reason);
    Event::from(RemaindersDiscarded {
        tenant_id: thread.tenant_id.clone(),
        correlation_id: thread.correlation_id.clone(),
        session_id: session.map(Text::from),
        remainders: [words].into_iter().collect(),
        reason_code,
        interrupt_resume_policy: ResumePolicy::Discard,
        issue_fingerprint: buffer.issue(),
    })
}

/// Scope and gates, in order: the first that says no is the refusal. The scope is the one that was
/// given, in its session or the thread's own. Says where the session is, and gives the state, out
/// of which what expired by now is taken, and the events that say so.
fn enter<'a>(
    view: ThreadContext<'a>,
    given: &TurnScope<'_>,
    scope: &TurnScope<'_>,
    at: Timestamp,
) -> Result<(SessionStatus, Standing<'a>), ThreadRefusal> {
    let session_status = session_of(view.registered, given, scope)?;
    let thread = view.thread;
    check_open(view)?;
    if let Some(thread) = thread {
        check_order(thread, scope)?;
    }
    view.registered.check_work_order(scope)?;
    let names = (scope.tenant_id, scope.correlation_id);
    let now = Standing::new(view.thread, names, at);
    check_pending(&now.state, scope)?;
    Ok((session_status, now))
}

/// The names and numbers that every turn and row has.
pub(crate) fn check_fields(scope: &TurnScope<'_>) -> Result<(), Malformed> {
    let most_128 = "1 to 128 bytes, visible, without control characters";
    check_thread_names(scope.tenant_id, scope.correlation_id)?;
    if scope.turn_id == 0 {
        return Err(malformed("turn_id", "a number above 0", scope.turn_id));
    }
    if let Some(session_id) = scope.session_id {
        check_name("session_id", session_id, 128, most_128)?;
    }
    check_name("user_id", scope.user_id, 128, most_128)?;
    check_name("device_id", scope.device_id, 128, most_128)?;
    check_name("work_order_id", scope.work_order_id, 128, most_128)?;
    check_name("idempotency_key", scope.idempotency_key, 128, most_128)
}

pub(crate) fn check_thread_names(tenant_id: &str, correlation_id: &str) -> Result<(), Malformed> {
    let expected = "1 to 64 bytes, visible, without control characters";
    check_name("tenant_id", tenant_id, 64, expected)?;
    let expected = "1 to 256 bytes, visible, without control characters";
    check_name("correlation_id", correlation_id, 256, expected)
}

pub(crate) fn check_row(row: &CallerRow<'_>) -> Result<(), Malformed> {
    let expected = "1 to 64 bytes, visible, without control characters";
    check_name(kind_field(row.directive), row.kind, 64, expected)?;
    if let Some(unit) = row.clarification_unit_id {
        let expected = "1 to 128 bytes, visible, without control characters";
        check_name("clarification_unit_id", unit, 128, expected)?;
    }
    if row.reason_code.is_refusal() || row.reason_code.is_of_remainders() {
        let expected = "the code of what the row itself does";
        return Err(malformed("reason_code", expected, row.reason_code));
    }
    Ok(())
}

/// The seed's name of a directive's own field.
const fn kind_field(directive: Directive) -> &'static str {
    match directive {
        Directive::Confirm => "confirm_kind",
        Directive::Clarify => "what_is_missing",
        Directive::Respond => "response_kind",
        Directive::Dispatch => "dispatch_target",
        Directive::Wait => "wait_kind",
    }
}

/// Nobody speaks in another user's name.
fn check_speaker(scope: &TurnScope<'_>, speaker: &str) -> Result<(), ThreadRefusal> {
    if speaker == scope.user_id {
        return Ok(());
    }
    let field = "request.active_speaker_user_id";
    let expected = format!("the authenticated user {}", shown_name(scope.user_id));
    Err(barred(ReasonCode::FailTenantScopeInvalid, field, expected, shown_name(speaker)))
}

fn check_open(view: ThreadContext<'_>) -> Result<(), ThreadRefusal> {
    let Some(closed) = view.closed_with else { return Ok(()) };
    let found = format!("one that was closed with record {closed}");
    let expected = String::from("a thread that is open; begin another correlation");
    Err(barred(ReasonCode::FailThreadClosed, "correlation_id", expected, found))
}

fn check_order(thread: &Thread, scope: &TurnScope<'_>) -> Result<(), ThreadRefusal> {
    if scope.turn_id > thread.last_turn_id {
        return Ok(());
    }
    let expected = format!("above {}, the thread's last turn", thread.last_turn_id);
    Err(barred(ReasonCode::FailTurnOrder, "turn_id", expected, scope.turn_id.to_string()))
}

fn check_pending(state: &ThreadState, scope: &TurnScope<'_>) -> Result<(), ThreadRefusal> {
    let recorded = state.pending_state();
    if recorded == scope.pending_state {
        return Ok(());
    }
    let reason = ReasonCode::FailPendingStateInvalid;
    let found = scope.pending_state.to_string();
    Err(barred(reason, "pending_state", recorded.to_string(), found))
}

/// Nothing but a WAIT is for a session in which nothing is said, and nothing but a WAIT or the one
/// CLARIFY is for another speaker than the thread knows.
fn check_continuity(
    row: &CallerRow<'_>,
    session_status: SessionStatus,
    state: &ThreadState,
) -> Result<(), ThreadRefusal> {
    if row.directive == Directive::Wait {
        return Ok(());
    }
    check_active(session_status)?;
    let known = state.marks.active_speaker_user_id.as_deref();
    if row.directive == Directive::Clarify || known.is_none_or(|k| k == row.scope.user_id) {
        return Ok(());
    }
    let reason = ReasonCode::ContinuitySpeakerMismatch;
    let expected = String::from("the user who speaks in the thread, or a CLARIFY or a WAIT");
    Err(barred(reason, "user_id", expected, shown_name(row.scope.user_id)))
}

/// A caller's dispatch passes no open question and no words left unsaid: what they are about, and
/// whether the answer is yes, only a turn knows.
fn check_dispatch(
    scope: &TurnScope<'_>,
    state: &ThreadState,
    at: Timestamp,
) -> Result<(), ThreadRefusal> {
    let pending = state.pending_state();
    let invalid = ReasonCode::FailPendingStateInvalid;
    if !matches!(pending, PendingState::None | PendingState::Tool) {
        let expected = String::from("none that bars a dispatch");
        return Err(barred(invalid, "pending_state", expected, pending.to_string()));
    }
    match state.live_buffer(scope.user_id, at) {
        None => Ok(()),
        Some(buffer) => {
            let expected = String::from("a turn that says how this relates to words left unsaid");
            let found = format!("words of turn {} left unsaid", buffer.captured_turn);
            Err(barred(invalid, "dispatch_target", expected, found))
        }
    }
}

pub(crate) fn barred(
    reason_code: ReasonCode,
    field: &'static str,
    expected: String,
    found: String,
) -> ThreadRefusal {
    ThreadRefusal::Barred { reason_code, field, expected, found }
}

fn find<'a>(view: ThreadContext<'a>, command: &ThreadCommand) -> Result<&'a Thread, ThreadRefusal> {
    view.thread.ok_or_else(|| ThreadRefusal::UnknownThread {
        tenant_id: shown_name(&command.tenant_id),
        correlation_id: shown_name(&command.correlation_id),
    })
}

fn shown_name(name: &str) -> String {
    visible(bounded(name, 128)).to_string()
}

/// Returns what expired in a thread, as facts.
pub(crate) fn expiries(tenant_id: &str, correlation_id: &str, expired: &[Expiry]) -> Vec<Event> {
    let event = |expiry: &Expiry| match expiry {
        Expiry::Buffer(buffer) => Event::from(BufferExpired {
            tenant_id: tenant_id.into(),
            correlation_id: correlation_id.into(),
            captured_turn: buffer.captured_turn,
            answer_id: buffer.answer_id,
            speaker_user_id: buffer.speaker_user_id.clone(),
            expires_at: buffer.expires_at,
            interrupt_resume_policy: ResumePolicy::Discard,
            reason_code: ReasonCode::BufferExpired,
            issue_fingerprint: buffer.issue(),
        }),
        Expiry::ReturnCheck { captured_turn, issue_fingerprint, expires_at, policy } => {
            Event::from(ReturnCheckExpired {
                tenant_id: tenant_id.into(),
                correlation_id: correlation_id.into(),
                expires_at: *expires_at,
                interrupt_resume_policy: *policy,
                reason_code: ReasonCode::ReturnCheckExpired,
                captured_turn: Some(*captured_turn),
                issue_fingerprint: issue_fingerprint.clone(),
            })
        }
    };
    expired.iter().map(event).collect()
}

/// The row of a turn.
fn turn_row(
    scope: &TurnScope<'_>,
    before: &ThreadState,
    decision: &TurnDecision,
    lease_token_hash: Option<Digest>,
) -> RowCommitted {
    let is_clarify = decision.directive == Directive::Clarify;
    let unit = clarification_unit_id(scope);
    let row = CallerRow {
        scope: *scope,
        directive: decision.directive,
        kind: &decision.kind,
        clarification_unit_id: is_clarify.then_some(unit.as_str()),
        lease_token_hash,
        reason_code: decision.reason_code,
    };
    let mut marked = [&decision.after, &before.marks].into_iter();
    let topic = marked.find_map(|marks| marks.interrupted_subject_ref.as_deref());
    RowCommitted {
        decided_by: DecidedBy::BranchTable,
        dropped_pending: decision.dropped_pending,
        issue_fingerprint: topic.and_then(issue_fingerprint),
        payload: payload(&row, decision.interrupt_resume_policy),
        remainders: touched(decision).cloned().collect(),
        ..caller_row(&row)
    }
}

/// The id of a turn's question: of the thread and the turn, so that it is the same in every replay.
fn clarification_unit_id(scope: &TurnScope<'_>) -> String {
    let digest = HashBuilder::new("holdpoint.clarification-unit", 1)
        .text(scope.tenant_id)
        .text(scope.correlation_id)
        .number(scope.turn_id)
        .finish()
        .to_string();
    format!("CLAR-{}", bounded(&digest, 32))
}

fn caller_row(row: &CallerRow<'_>) -> RowCommitted {
    let scope = &row.scope;
    RowCommitted {
        tenant_id: scope.tenant_id.into(),
        correlation_id: scope.correlation_id.into(),
        turn_id: scope.turn_id,
        session_id: scope.session_id.map(Text::from),
        user_id: scope.user_id.into(),
        device_id: scope.device_id.into(),
        event_type: RowEventType::of(row.directive),
        severity: Severity::of(row.directive),
        reason_code: row.reason_code,
        idempotency_key: scope.idempotency_key.into(),
        issue_fingerprint: None,
        decided_by: DecidedBy::Caller,
        dropped_pending: None,
        payload: payload(row, None),
        remainders: List::default(),
    }
}

fn payload(row: &CallerRow<'_>, policy: Option<ResumePolicy>) -> RowPayload {
    let kind = |directive| (row.directive == directive).then(|| Text::from(row.kind));
    let is_dispatch = row.directive == Directive::Dispatch;
    RowPayload {
        directive: row.directive,
        confirm_kind: kind(Directive::Confirm),
        what_is_missing: kind(Directive::Clarify),
        clarification_unit_id: row.clarification_unit_id.map(Text::from),
        response_kind: kind(Directive::Respond),
        dispatch_target: kind(Directive::Dispatch),
        wait_kind: kind(Directive::Wait),
        work_order_id: row.scope.work_order_id.into(),
        work_order_status_snapshot: row.scope.work_order_status_snapshot,
        pending_state: row.scope.pending_state,
        lease_token_hash: row.lease_token_hash.filter(|_| is_dispatch),
        interrupt_resume_policy: policy,
    }
}
