//! Interruption threads as events change them. Whoever judges decides again what a turn came to,
//! and compares.
//!
//! Sessions of threads, as events respect them. A turn or a row that speaks where nothing may be
//! said counts for nothing: what it would arm is not armed.

use alloc::borrow::Cow;

use crate::core::forbidden::{Record, Rule, RuleChecks};
use crate::core::payload::{List, Text};
use crate::core::time::Timestamp;
use crate::interruption_thread::branch::captured;
use crate::interruption_thread::command::TurnScope;
use crate::interruption_thread::decision::ThreadState;
use crate::interruption_thread::event::InterruptionThreadEvent as Event;
use crate::interruption_thread::event::{
    PendingDisarmed, RowCommitted, ThreadClosed, ThreadMoved, TurnTaken,
};
use crate::interruption_thread::remainders::{
    check_asked, check_planned, give_up_planned, judge_buffer, judge_discarded, judge_displaced,
    judge_plan_ended, judge_return_check, plan_ended, row_refused, touched,
};
use crate::interruption_thread::speculation::{
    judge_plan, may_commit, passes_gate, plan_drafted, turn_committed,
};
use crate::interruption_thread::state::{Thread, Threads};
use crate::interruption_thread::turn::{Turn, decide_turn_by};
use crate::interruption_thread::types::{DecidedBy, Directive, ReasonCode, ResumePolicy};
use crate::registration::state::{Registered, Registry};
use crate::registration::types::{Capability, SessionStatus};

/// The threads, and what is registered around them.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) threads: &'a Threads,
    pub(crate) registry: &'a Registry,
    /// The record of the event that is looked at.
    pub(crate) record: Record<'a>,
}

/// Applies an event of a thread, all but its end.
pub(crate) fn applied(
    threads: &mut Threads,
    registry: &Registry,
    record: Record<'_>,
    event: &Event,
) {
    match event {
        Event::TurnTaken(body) => turn_taken(threads, registry, record, body),
        Event::RowCommitted(body) => row_committed(threads, registry, record, body),
        Event::BufferExpired(body) => {
            change(threads, record, (&body.tenant_id, &body.correlation_id), |state| {
                state.drop_buffer(body.captured_turn);
            });
        }
        Event::ReturnCheckExpired(body) => {
            change(threads, record, (&body.tenant_id, &body.correlation_id), |state| {
                state.drop_return_check();
            });
        }
        Event::RemaindersDiscarded(body) => {
            threads.change(&body.tenant_id, &body.correlation_id, |thread| {
                for gone in body.remainders.iter() {
                    if !give_up_planned(thread, gone) {
                        thread.state.give_up(gone.captured_turn);
                    }
                }
                thread.version = record.sequence;
            });
        }
        Event::PendingDisarmed(body) => {
            threads.follow_sessions(record.sequence);
            change(threads, record, (&body.tenant_id, &body.correlation_id), |state| {
                state.disarm();
            });
        }
        Event::ThreadMoved(body) => moved(threads, registry, record, body),
        Event::PlanDrafted(body) => plan_drafted(threads, record, body),
        Event::PlanEnded(body) => plan_ended(threads, record, body),
        Event::TurnCommitted(body) => turn_committed(threads, record, body),
        Event::RowRefused(body) => row_refused(threads, body),
        // A read changes nothing. Words give way by the turn that follows.
        Event::RemainderDisplaced(_) | Event::RowsRead(_) | Event::ThreadClosed(_) => {}
    }
}

/// Adds to `checks` what the rules forbid about an event of a thread.
pub(crate) fn judge(context: Context<'_>, event: &Event, checks: &mut RuleChecks) {
    match event {
        Event::TurnTaken(body) => judge_turn(context, body, checks),
        Event::RowCommitted(body) => judge_row(context, body, checks),
        Event::BufferExpired(body) => judge_buffer(context, body, checks),
        Event::ReturnCheckExpired(body) => judge_return_check(context, body, checks),
        Event::RemaindersDiscarded(body) => judge_discarded(context, body, checks),
        Event::PendingDisarmed(body) => judge_disarmed(context, body, checks),
        Event::ThreadMoved(body) => judge_moved(context, body, checks),
        Event::RemainderDisplaced(body) => judge_displaced(context, body, checks),
        Event::ThreadClosed(body) => judge_closed(context, body, checks),
        Event::PlanDrafted(body) => judge_plan(context, body, checks),
        Event::PlanEnded(body) => judge_plan_ended(context, body, checks),
        Event::TurnCommitted(body) => {
            may_commit(context.threads, context.record, body, checks);
        }
        // A read says nothing, and neither does what was refused.
        Event::RowRefused(_) | Event::RowsRead(_) => {}
    }
}

/// Applies a change to what a live thread knows.
fn change(
    threads: &mut Threads,
    record: Record<'_>,
    (tenant_id, correlation_id): (&Text, &Text),
    change: impl FnOnce(&mut ThreadState),
) {
    threads.change(tenant_id, correlation_id, |thread| {
        change(&mut thread.state);
        thread.version = record.sequence;
    });
}

fn turn_taken(threads: &mut Threads, registry: &Registry, record: Record<'_>, body: &TurnTaken) {
    let (context, turn) = (Context { threads, registry, record }, turn_of(record, body));
    if !may_speak(context, &Spoken::turn(body, turn), &mut RuleChecks::unheard()) {
        return;
    }
    threads.begin(&body.tenant_id, &body.correlation_id, || begun(record, body));
    threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        let own = thread.own_session().cloned();
        thread.state = thread.state.after_turn(&turn, &body.decision);
        // Who is asked what they mean while another's answer is waited for moves no thread.
        let is_stranger = thread.state.waits_for_another(&body.request.active_speaker_user_id);
        let stays = is_stranger && body.decision.directive == Directive::Clarify;
        thread.session_id = if stays { own } else { body.session_id.clone() };
        thread.last_directive = body.decision.directive;
        thread.last_reason_code = body.decision.reason_code;
        counted(thread, record, body.turn_id);
        thread.awaits_row = true;
        thread.due_remainders = touched(&body.decision).cloned().collect();
    });
}

fn judge_turn(context: Context<'_>, body: &TurnTaken, checks: &mut RuleChecks) {
    check_status(context, body, checks);
    let turn = turn_of(context.record, body);
    if !may_speak(context, &Spoken::turn(body, turn), checks) {
        return;
    }
    let live = context.threads.live(&body.tenant_id, &body.correlation_id);
    let thread = live.map_or_else(|| Cow::Owned(begun(context.record, body)), Cow::Borrowed);
    check_turn(&thread, body, &turn, checks);
    let unsaid = captured(&thread.state, &turn);
    check_planned(&thread, Some(body.turn_id), unsaid.as_ref(), checks);
    check_asked(&thread, Some(&body.request), checks);
    let after = thread.state.after_turn(&turn, &body.decision);
    checks.expect(Rule::ThreadTurn, after.digest(), body.state_after);
}

fn turn_of<'a>(record: Record<'_>, body: &'a TurnTaken) -> Turn<'a> {
    Turn {
        turn_id: body.turn_id,
        session_id: body.session_id.as_deref(),
        session_status: body.session_status,
        request: &body.request,
        at: record.at,
    }
}

/// A turn is newer than every other, begins where the last one ended with nothing expired in
/// silence, and comes to what the branch table says.
fn check_turn(thread: &Thread, body: &TurnTaken, turn: &Turn<'_>, checks: &mut RuleChecks) {
    check_order(thread, body.turn_id, checks);
    checks.expect(Rule::ThreadTurn, thread.state.digest(), body.state_before);
    if thread.next_expiry().is_some_and(|expires_at| expires_at <= turn.at) {
        checks.forbid(Rule::ThreadExpiry, "an event for what expired", "a turn without one");
    }
    match decide_turn_by(checks.rules, &thread.state, turn) {
        Ok(decision) if decision == *body.decision => {}
        Ok(decision) => {
            let (found, reason) = (body.decision.directive, body.decision.reason_code);
            let expected = format_args!("{} {}", decision.directive, decision.reason_code);
            let found = format_args!("{found} {reason}, or another end of a remainder or mark");
            checks.forbid(Rule::ThreadTurn, expected, found);
        }
        Err(refusal) => checks.forbid(Rule::ThreadTurn, "a request by the contract", refusal),
    }
}

pub(crate) fn check_order(thread: &Thread, turn_id: u64, checks: &mut RuleChecks) {
    if turn_id <= thread.last_turn_id {
        let expected = format_args!("a turn above {}", thread.last_turn_id);
        checks.forbid(Rule::ThreadTurn, expected, turn_id);
    }
    if thread.awaits_row {
        let found = format_args!("none for turn {}", thread.last_turn_id);
        checks.forbid(Rule::ThreadRow, "a row for every turn", found);
    }
    if let Some((open, Some(_))) = &thread.plan
        && open.turn_id != turn_id
    {
        checks.forbid(Rule::ThreadPlan, "the turn that was committed", turn_id);
    }
}

/// A thread that begins with this turn.
fn begun(record: Record<'_>, body: &TurnTaken) -> Thread {
    let (directive, reason) = (body.decision.directive, body.decision.reason_code);
    new_thread(record, &body.tenant_id, &body.correlation_id, directive, reason)
}

pub(crate) fn new_thread(
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
        plan: None,
        due_remainders: List::default(),
        planned_remainder: None,
        is_planned_unsure: false,
    }
}

fn counted(thread: &mut Thread, record: Record<'_>, turn_id: u64) {
    thread.last_turn_id = thread.last_turn_id.max(turn_id);
    thread.version = record.sequence;
    thread.turns = thread.turns.saturating_add(1);
    thread.plan = thread.plan.take().filter(|(open, _)| open.turn_id > turn_id);
}

fn row_committed(
    threads: &mut Threads,
    registry: &Registry,
    record: Record<'_>,
    body: &RowCommitted,
) {
    let context = Context { threads, registry, record };
    if !may_speak(context, &Spoken::row(record, body), &mut RuleChecks::unheard()) {
        return;
    }
    threads.begin(&body.tenant_id, &body.correlation_id, || begun_by_row(record, body));
    threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        if body.decided_by == DecidedBy::Caller {
            row_of_caller(thread, record, body);
        }
        thread.awaits_row = false;
        thread.due_remainders = List::default();
        thread.version = record.sequence;
    });
}

fn row_of_caller(thread: &mut Thread, record: Record<'_>, body: &RowCommitted) {
    let payload = &body.payload;
    let kind = payload.confirm_kind.as_ref().or(payload.what_is_missing.as_ref());
    let user = (&body.user_id, body.session_id.as_ref());
    // Before, a question to somebody else gave up what was waited for, and said so.
    let stays = payload.directive == Directive::Clarify
        && body.dropped_pending.is_none()
        && thread.state.waits_for_another(&body.user_id);
    if stays {
        thread.session_id = thread.own_session().cloned();
    } else {
        thread.state.follow_row(payload.directive, kind, user);
        thread.session_id.clone_from(&body.session_id);
    }
    thread.last_directive = payload.directive;
    thread.last_reason_code = body.reason_code;
    counted(thread, record, body.turn_id);
}

fn begun_by_row(record: Record<'_>, body: &RowCommitted) -> Thread {
    let (directive, reason) = (body.payload.directive, body.reason_code);
    new_thread(record, &body.tenant_id, &body.correlation_id, directive, reason)
}

fn judge_row(context: Context<'_>, body: &RowCommitted, checks: &mut RuleChecks) {
    check_caller(context, checks);
    check_scope(context, body, checks);
    if !may_speak(context, &Spoken::row(context.record, body), checks) {
        return;
    }
    let live = context.threads.live(&body.tenant_id, &body.correlation_id);
    let thread = live.map_or_else(|| Cow::Owned(begun_by_row(context.record, body)), Cow::Borrowed);
    match body.decided_by {
        DecidedBy::BranchTable => check_row_of_turn(&thread, body, checks),
        DecidedBy::Caller => check_row_of_caller(&thread, body, checks),
    }
}

/// The row of a turn says what the turn came to.
fn check_row_of_turn(thread: &Thread, body: &RowCommitted, checks: &mut RuleChecks) {
    let turn = (thread.awaits_row, thread.last_turn_id, thread.last_directive);
    let found = (true, body.turn_id, body.payload.directive);
    if turn != found || thread.last_reason_code != body.reason_code {
        let expected = "the row of the turn before it, once, with its directive and reason";
        checks.forbid(Rule::ThreadRow, expected, format_args!("turn {}", body.turn_id));
    }
    if checks.rules.plans_own_words {
        let names = thread.due_remainders == body.remainders;
        let expected = "the words that the turn touches";
        checks.demand(names, Rule::ThreadRemainder, expected, "others");
    }
}

fn check_row_of_caller(thread: &Thread, body: &RowCommitted, checks: &mut RuleChecks) {
    check_order(thread, body.turn_id, checks);
    let recorded = thread.state.pending_state();
    checks.expect(Rule::ThreadRow, recorded, body.payload.pending_state);
    check_planned(thread, Some(body.turn_id), None, checks);
    check_asked(thread, None, checks);
    let (state, directive) = (&thread.state, body.payload.directive);
    let kind = body.payload.confirm_kind.as_deref().unwrap_or_default();
    let dropped = state.dropped_by_row(checks.rules, (directive, kind), &body.user_id);
    let is_named = dropped == body.dropped_pending;
    let expected = "what was pending to be named";
    checks.demand(is_named, Rule::ThreadRow, expected, "another end of it");
    let touches = !body.remainders.is_empty();
    checks.demand(!touches, Rule::ThreadRemainder, "no words touched by a caller", "some");
}

/// Scope and gates as they were when the row was written.
fn check_scope(context: Context<'_>, body: &RowCommitted, checks: &mut RuleChecks) {
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
        check = check.and_then(|()| registered.check_lease(&scope, lease, context.record.at));
    }
    if let Err(refusal) = check {
        checks.forbid(Rule::ThreadRow, "a row within its scope and gates", refusal);
    }
}

/// The thread that an event is about, which is open.
pub(crate) fn live<'a>(
    context: Context<'a>,
    (tenant_id, correlation_id): (&Text, &Text),
    checks: &mut RuleChecks,
) -> Option<&'a Thread> {
    let found = context.threads.live(tenant_id, correlation_id);
    checks.demand(found.is_some(), Rule::ThreadTurn, "a thread that is open", "none");
    found
}

/// Applies the end of a thread. The thread that leaves the state by it is handed back.
pub(crate) fn closed(
    threads: &mut Threads,
    record: Record<'_>,
    body: &ThreadClosed,
) -> Option<Thread> {
    threads.close(&body.tenant_id, &body.correlation_id, record.sequence)
}

fn judge_closed(context: Context<'_>, body: &ThreadClosed, checks: &mut RuleChecks) {
    let thread = live(context, (&body.tenant_id, &body.correlation_id), checks);
    if thread.is_some_and(|thread| !thread.state.resume_buffers.is_empty()) {
        let expected = "an event for every word left unsaid";
        checks.forbid(Rule::ThreadRemainder, expected, "a thread closed over some");
    }
    if let Some(thread) = thread {
        check_planned(thread, None, None, checks);
        let is_told = !checks.rules.names_waits || !thread.state.is_armed();
        let expected = "an event for what the thread waits for";
        let found = "a thread closed over a request";
        checks.demand(is_told, Rule::ThreadRow, expected, found);
    }
}

/// Turns and rows are only for who was granted the capability.
pub(crate) fn check_caller(context: Context<'_>, checks: &mut RuleChecks) {
    let actor = context.record.actor;
    if !context.registry.holds(actor, Capability::SeleneOsOnly) {
        let expected = format_args!("an actor with {}", Capability::SeleneOsOnly);
        checks.forbid(Rule::CallerCapability, expected, &actor.id);
    }
}

/// Parts of a turn or a row that say who speaks where, and for which turn.
pub(crate) struct Spoken<'a> {
    pub(crate) tenant_id: &'a Text,
    pub(crate) correlation_id: &'a Text,
    session_id: Option<&'a Text>,
    directive: Directive,
    pub(crate) turn_id: u64,
    pub(crate) at: Timestamp,
    /// User who is asked what they mean by a turn, or its row, as somebody else than the thread
    /// knows.
    asks_stranger: Option<&'a Text>,
    /// The turn, where it is one.
    pub(crate) turn: Option<(&'a TurnTaken, Turn<'a>)>,
}

impl<'a> Spoken<'a> {
    fn turn(body: &'a TurnTaken, turn: Turn<'a>) -> Self {
        Self {
            tenant_id: &body.tenant_id,
            correlation_id: &body.correlation_id,
            session_id: body.session_id.as_ref(),
            directive: body.decision.directive,
            turn_id: body.turn_id,
            at: turn.at,
            asks_stranger: (body.decision.reason_code == ReasonCode::ContinuitySpeakerMismatch)
                .then_some(&body.request.active_speaker_user_id),
            turn: Some((body, turn)),
        }
    }

    fn row(record: Record<'_>, body: &'a RowCommitted) -> Self {
        Self {
            tenant_id: &body.tenant_id,
            correlation_id: &body.correlation_id,
            session_id: body.session_id.as_ref(),
            directive: body.payload.directive,
            turn_id: body.turn_id,
            at: record.at,
            asks_stranger: (body.decided_by == DecidedBy::BranchTable
                && body.reason_code == ReasonCode::ContinuitySpeakerMismatch)
                .then_some(&body.user_id),
            turn: None,
        }
    }
}

/// A turn says of its session what is registered of it.
fn check_status(context: Context<'_>, body: &TurnTaken, checks: &mut RuleChecks) {
    let known = match &body.session_id {
        None => Some(SessionStatus::Active),
        Some(session) => status(context, &body.tenant_id, session),
    };
    // Of a session that nobody ever registered the turn's row is found to be out of its scope.
    if let Some(known) = known {
        checks.expect(Rule::ThreadSession, known, body.session_status);
    }
}

/// Returns whether what is said may count.
fn may_speak(context: Context<'_>, spoken: &Spoken<'_>, checks: &mut RuleChecks) -> bool {
    if !passes_gate(context.threads, spoken, checks) {
        return false;
    }
    let Some(session) = spoken.session_id else {
        return names_its_session(context, spoken, checks);
    };
    match status(context, spoken.tenant_id, session) {
        Some(known) if known != SessionStatus::Active && spoken.directive != Directive::Wait => {
            let expected = format_args!("a WAIT in a session that is {known}");
            checks.forbid(Rule::ThreadSession, expected, spoken.directive);
            false
        }
        _ => true,
    }
}

/// A thread that is in a session is so in every turn and row. Earlier rules did not say so: only
/// what stands behind a record that they did not make is judged by this one.
fn names_its_session(context: Context<'_>, spoken: &Spoken<'_>, checks: &mut RuleChecks) -> bool {
    let thread = context.threads.live(spoken.tenant_id, spoken.correlation_id);
    // Somebody else than the speaker whose answer is waited for is asked in no session.
    let is_asked = spoken.asks_stranger.zip(thread).is_some_and(|(user, thread)| {
        checks.rules.questions_stay && thread.state.waits_for_another(user)
    });
    match thread.and_then(Thread::own_session) {
        Some(own) if context.threads.sessions_since() > 0 && !is_asked => {
            checks.forbid(Rule::ThreadSession, own, "no session");
            false
        }
        _ => true,
    }
}

/// Returns where a session is. One that was closed so long ago that only the log knows is so still.
pub(crate) fn status(
    context: Context<'_>,
    tenant_id: &Text,
    session_id: &Text,
) -> Option<SessionStatus> {
    let known = Registered::in_state(context.registry).session_status(tenant_id, session_id);
    let is_gone = || context.registry.may_have_forgotten(tenant_id, session_id);
    known.or_else(|| is_gone().then_some(SessionStatus::Closed))
}

fn judge_disarmed(context: Context<'_>, body: &PendingDisarmed, checks: &mut RuleChecks) {
    let thread = live(context, (&body.tenant_id, &body.correlation_id), checks);
    let Some(thread) = thread else { return };
    let (marks, session) = (&thread.state.marks, &body.session_id);
    let return_check = marks.return_check.map(|check| check.captured_turn);
    let waits = (thread.state.pending_state(), return_check);
    let own = thread.own_session().cloned().unwrap_or_default();
    let is_closed = || status(context, &body.tenant_id, session) == Some(SessionStatus::Closed);
    let is_so = own == *session
        && (body.ends_thread() || is_closed())
        && waits == (body.pending_state, body.return_check)
        && (!checks.rules.names_waits || body.user_id == marks.active_speaker_user_id);
    checks.expect(Rule::ThreadSession, ResumePolicy::Discard, body.interrupt_resume_policy);
    let expected = "what the thread waits for, and its own session closed";
    checks.demand(is_so, Rule::ThreadSession, expected, body.pending_state);
}

/// A thread moves only to where it may be spoken in.
fn may_move(context: Context<'_>, body: &ThreadMoved, checks: &mut RuleChecks) -> bool {
    let status = status(context, &body.tenant_id, &body.session_id);
    let (rule, is_active) = (Rule::ThreadSession, status == Some(SessionStatus::Active));
    checks.demand(is_active, rule, "a session that is ACTIVE", &body.session_id)
}

fn judge_moved(context: Context<'_>, body: &ThreadMoved, checks: &mut RuleChecks) {
    if may_move(context, body, checks) {
        live(context, (&body.tenant_id, &body.correlation_id), checks);
    }
}

fn moved(threads: &mut Threads, registry: &Registry, record: Record<'_>, body: &ThreadMoved) {
    threads.follow_sessions(record.sequence);
    if may_move(Context { threads, registry, record }, body, &mut RuleChecks::unheard()) {
        change(threads, record, (&body.tenant_id, &body.correlation_id), |state| {
            state.move_to(&body.session_id);
        });
    }
}
