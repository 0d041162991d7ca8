//! Words that were left unsaid: which a plan owns, and what becomes of them by no turn.
//!
//! A plan owns what its turn would leave unsaid. Each end of the plan but the commit of these words
//! is an event, so that none of them is lost in silence. Words that nobody surely interrupted went
//! on being said: they end with the plan.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::core::forbidden::{Record, Rule, RuleChecks, Rules};
use crate::core::payload::Text;
use crate::core::time::Timestamp;
use crate::interruption_thread::apply::{Context, live};
use crate::interruption_thread::branch::captured;
use crate::interruption_thread::decision::{
    MAX_NESTED_BUFFERS, Remainder, ResumeBuffer, ThreadState, TurnDecision,
};
use crate::interruption_thread::draft::{expires_at, told};
use crate::interruption_thread::event::InterruptionThreadEvent as Event;
use crate::interruption_thread::event::{
    BufferExpired, PlanEnded, RemainderDisplaced, RemaindersDiscarded, ReturnCheckExpired,
    RowRefused,
};
use crate::interruption_thread::request::{TurnInput, TurnRequest};
use crate::interruption_thread::rules::expiries;
use crate::interruption_thread::speculation::OpenPlan;
use crate::interruption_thread::state::{Thread, Threads};
use crate::interruption_thread::turn::Turn;
use crate::interruption_thread::types::{Fate, FateReason, ReasonCode, ResumePolicy};
use crate::registration::types::SessionStatus;

/// A thread at a moment: what expired by then is taken out, and the events say so.
pub(crate) struct Standing<'a> {
    pub(crate) state: ThreadState,
    /// The open plan that owns words, and the words.
    plan: Option<(&'a OpenPlan, &'a ResumeBuffer)>,
    /// True while it is not sure that anybody interrupted those words.
    is_planned_unsure: bool,
    pub(crate) events: Vec<Event>,
}

impl<'a> Standing<'a> {
    /// Expires the words, the return check and the plan of a thread in the order of their times. A
    /// thread that nobody has spoken in is empty.
    pub(crate) fn new(thread: Option<&'a Thread>, names: (&str, &str), at: Timestamp) -> Self {
        let mut now = Self {
            state: thread.map_or_else(ThreadState::default, |thread| thread.state.clone()),
            plan: thread.and_then(Thread::plan_words),
            is_planned_unsure: thread.is_some_and(|thread| thread.is_planned_unsure),
            events: Vec::new(),
        };
        if let Some((open, _)) = now.plan
            && open.is_lapsed(at)
        {
            now.expire(names, open.expires_at);
            now.end_plan(names, ReasonCode::PlanLapsed, open.expires_at, None);
        }
        now.expire(names, at);
        now
    }

    fn expire(&mut self, (tenant_id, correlation_id): (&str, &str), at: Timestamp) {
        let expired = self.state.expire(at);
        self.events.extend(expiries(tenant_id, correlation_id, &expired));
    }

    /// The words that an open plan owns.
    pub(crate) fn planned(&self) -> Option<&'a ResumeBuffer> {
        self.plan.map(|(_, words)| words)
    }

    /// Words that are asked for are kept, though nobody surely interrupted them.
    pub(crate) fn ask_for_planned(&mut self, request: &TurnRequest) {
        let is_asked = self.planned().is_some_and(|words| asks_for(request, words));
        self.is_planned_unsure &= !is_asked;
    }

    /// Returns whether a turn or a row of this number passes the plan by.
    pub(crate) fn is_passed_by(&self, turn_id: u64) -> bool {
        self.plan.is_some_and(|(open, _)| turn_id > open.turn_id)
    }

    /// Ends the plan without its commit. `next` follows: a turn, and what it leaves unsaid. Where
    /// these are the very words of the plan, they pass on; else the thread keeps them, but for
    /// words that nobody surely interrupted.
    pub(crate) fn end_plan(
        &mut self,
        names: (&str, &str),
        reason_code: ReasonCode,
        at: Timestamp,
        next: Option<(u64, &ResumeBuffer)>,
    ) {
        let Some((open, words)) = self.plan.take() else { return };
        let next = next.filter(|(_, unsaid)| is_same(words, unsaid));
        let passed_to_turn = next.map(|(turn_id, _)| turn_id);
        let fate = fate_of(passed_to_turn.is_some(), self.is_planned_unsure);
        let until = (fate == Fate::Captured).then(|| expires_at(at));
        if let Some(until) = until {
            let gone = giving_way(&self.state.resume_buffers, words);
            let gone = gone.map(|(gone, why)| displaced(names, open.turn_id, gone, why));
            self.events.extend(gone);
            self.state.keep(words, until);
        }
        self.events.push(Event::from(PlanEnded {
            tenant_id: names.0.into(),
            correlation_id: names.1.into(),
            turn_id: open.turn_id,
            plan_key: open.plan_key.clone(),
            remainder: told(words, fate, reason_of(fate, reason_code)),
            expires_at: until,
            passed_to_turn,
            interrupt_resume_policy: fate.policy(),
            reason_code,
            issue_fingerprint: words.issue(),
        }));
    }
}

/// Returns whether a turn asks to go on with these words.
fn asks_for(request: &TurnRequest, words: &ResumeBuffer) -> bool {
    matches!(&request.input, TurnInput::Intent { class, .. } if class.is_resume())
        && request.active_speaker_user_id == words.speaker_user_id
}

/// Decides what becomes of the words of a plan that ends without its commit.
const fn fate_of(passes: bool, is_unsure: bool) -> Fate {
    match (passes, is_unsure) {
        (true, _) => Fate::KeptForLater,
        (false, true) => Fate::Discarded,
        (false, false) => Fate::Captured,
    }
}

const fn reason_of(fate: Fate, code: ReasonCode) -> FateReason {
    if matches!(fate, Fate::Discarded) {
        FateReason::NotSure
    } else if matches!(code, ReasonCode::PlanLapsed) {
        FateReason::PlanLapsed
    } else if matches!(code, ReasonCode::PlanReplaced) {
        FateReason::PlanReplaced
    } else {
        FateReason::PlanPassedBy
    }
}

/// Returns whether two interruptions leave words of the same answer to the same person: the speech
/// that was under way is the same, wherever each of them cut it.
pub(crate) fn is_same(one: &ResumeBuffer, other: &ResumeBuffer) -> bool {
    one.answer_id == other.answer_id
        && one.speaker_user_id == other.speaker_user_id
        && (one.unsaid_remainder.ends_with(&*other.unsaid_remainder)
            || other.unsaid_remainder.ends_with(&*one.unsaid_remainder))
}

/// The words that give way to these, and why: other words of the same turn, else the oldest where
/// as many are kept as can be.
pub(crate) fn giving_way<'a>(
    kept: &'a [ResumeBuffer],
    words: &ResumeBuffer,
) -> Option<(&'a ResumeBuffer, FateReason)> {
    match kept.iter().find(|buffer| buffer.captured_turn == words.captured_turn) {
        Some(same) if is_same(same, words) => None,
        Some(other) => Some((other, FateReason::PlanReplaced)),
        None if kept.len() < MAX_NESTED_BUFFERS => None,
        None => Some((kept.first()?, FateReason::NestingLimit)),
    }
}

/// Returns whether words give way to others: they have a row of their own.
pub(crate) const fn gives_way(words: &Remainder) -> bool {
    matches!(words.reason, FateReason::NestingLimit | FateReason::PlanReplaced)
}

/// The words that the row of a turn names.
pub(crate) fn touched(decision: &TurnDecision) -> impl Iterator<Item = &Remainder> {
    decision.remainders.iter().filter(|words| !gives_way(words))
}

/// The event of words that give way to those of a turn.
pub(crate) fn displaced(
    (tenant_id, correlation_id): (&str, &str),
    displaced_by_turn: u64,
    gone: &ResumeBuffer,
    reason: FateReason,
) -> Event {
    let is_full = reason == FateReason::NestingLimit;
    let reason_code = if is_full { ReasonCode::NestingLimit } else { ReasonCode::PlanReplaced };
    Event::from(RemainderDisplaced {
        tenant_id: tenant_id.into(),
        correlation_id: correlation_id.into(),
        displaced_by_turn,
        remainder: told(gone, Fate::Discarded, reason),
        interrupt_resume_policy: ResumePolicy::Discard,
        reason_code,
        issue_fingerprint: gone.issue(),
    })
}

impl ThreadState {
    /// The thread keeps the words of a plan from here on.
    fn keep(&mut self, words: &ResumeBuffer, expires_at: Timestamp) {
        let gone = giving_way(&self.resume_buffers, words).map(|(gone, _)| gone.captured_turn);
        self.resume_buffers.retain(|buffer| {
            buffer.captured_turn != words.captured_turn && Some(buffer.captured_turn) != gone
        });
        self.resume_buffers.push(ResumeBuffer { expires_at, ..words.clone() });
        let speaker = self.marks.active_speaker_user_id.as_ref();
        if speaker.is_none_or(|speaker| *speaker == words.speaker_user_id) {
            self.marks.interrupted_subject_ref = Some(words.interrupted_subject_ref.clone());
        }
    }
}

impl Thread {
    /// The open plan that owns words, and the words.
    pub(crate) fn plan_words(&self) -> Option<(&OpenPlan, &ResumeBuffer)> {
        self.open_plan().zip(self.planned_remainder.as_ref())
    }

    /// Returns whether its open plan owns these very words, and somebody surely interrupted them.
    pub(crate) fn surely_owns(&self, unsaid: &ResumeBuffer, at: Timestamp) -> bool {
        let owns = |(open, words): (&OpenPlan, _)| !open.is_lapsed(at) && is_same(words, unsaid);
        !self.is_planned_unsure && self.plan_words().is_some_and(owns)
    }

    /// Returns when something of it expires next: words, a return check, or a plan that owns words.
    pub(crate) fn next_expiry(&self) -> Option<Timestamp> {
        let plan = self.plan_words().map(|(open, _)| open.expires_at);
        self.state.next_expiry().into_iter().chain(plan).min()
    }

    /// The thread at this moment. One that ended stands as it did then.
    pub(crate) fn standing(&self, at: Timestamp) -> Standing<'_> {
        let at = if self.is_closed { Timestamp::default() } else { at };
        Standing::new(Some(self), (&self.tenant_id, &self.correlation_id), at)
    }

    /// Returns what of these words the thread still keeps, itself or by its plan, where a turn that
    /// interrupts them is refused.
    pub(crate) fn still_kept(
        &self,
        (turn_id, session_id): (u64, Option<&str>),
        request: &TurnRequest,
    ) -> Option<Remainder> {
        let session_status = SessionStatus::Active;
        let turn = Turn { turn_id, session_id, session_status, request, at: Timestamp::default() };
        let unsaid = captured(&self.state, &turn)?;
        let kept = self.planned_remainder.iter().chain(&self.state.resume_buffers);
        let kept = kept.into_iter().find(|words| is_same(words, &unsaid))?;
        Some(told(kept, Fate::KeptForLater, FateReason::StillKept))
    }
}

/// The words go on without their plan. The plan itself stays until something follows.
pub(crate) fn plan_ended(threads: &mut Threads, record: Record<'_>, body: &PlanEnded) {
    threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        thread.version = record.sequence;
        let is_its = |words: &ResumeBuffer| words.captured_turn == body.remainder.captured_turn;
        let stays = body.expires_at.is_none() && body.remainder.fate != Fate::Discarded;
        if stays || thread.plan_words().is_none() {
            return;
        }
        let Some(words) = thread.planned_remainder.take_if(|words| is_its(words)) else { return };
        match body.expires_at {
            Some(until) => thread.state.keep(&words, until),
            None => thread.is_planned_unsure = false,
        }
    });
}

/// A turn that is refused may surely interrupt the words of a plan: they are cut off then.
pub(crate) fn row_refused(threads: &mut Threads, body: &RowRefused) {
    if body.tts_control.is_none() {
        return;
    }
    threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        let owned = thread.planned_remainder.as_ref();
        let is_cut = owned.is_some_and(|words| {
            let kept = told(words, Fate::KeptForLater, FateReason::StillKept);
            body.remainders.contains(&kept)
        });
        thread.is_planned_unsure &= !is_cut;
    });
}

pub(crate) fn judge_plan_ended(context: Context<'_>, body: &PlanEnded, checks: &mut RuleChecks) {
    let Some(thread) = live(context, (&body.tenant_id, &body.correlation_id), checks) else {
        return;
    };
    let lapses = body.reason_code == ReasonCode::PlanLapsed;
    // The turn or plan that follows has to ask for them.
    let is_asked = body.remainder.fate == Fate::Captured && !lapses;
    let is_unsure = thread.is_planned_unsure && !is_asked;
    let fate = fate_of(body.passed_to_turn.is_some(), is_unsure);
    checks.expect(Rule::ThreadRemainder, fate.policy(), body.interrupt_resume_policy);
    let is_so = thread.plan_words().is_some_and(|(open, words)| {
        let is_other =
            matches!(body.reason_code, ReasonCode::PlanReplaced | ReasonCode::PlanPassedBy);
        let is_open = !open.is_lapsed(context.record.at);
        let ends_at = match context.record.times.over(open.expires_at) {
            Some(_) if lapses => Some(open.expires_at),
            _ => (is_other && is_open).then_some(context.record.at),
        };
        let until = ends_at.map(expires_at).filter(|_| fate == Fate::Captured);
        ends_at.is_some()
            && !(lapses && body.passed_to_turn.is_some())
            && until == body.expires_at
            && (&open.plan_key, open.turn_id) == (&body.plan_key, body.turn_id)
            && told(words, fate, reason_of(fate, body.reason_code)) == body.remainder
            && is_its_issue(checks.rules, Some(words), body.issue_fingerprint.as_ref())
    });
    let expected = "the end of the open plan, with the words that it owns";
    checks.demand(is_so, Rule::ThreadPlan, expected, &body.plan_key);
}

/// Words that nobody surely interrupted are kept by an end of their plan for who asks for them.
pub(crate) fn check_asked(thread: &Thread, request: Option<&TurnRequest>, checks: &mut RuleChecks) {
    if !thread.is_planned_unsure || thread.planned_remainder.is_some() {
        return;
    }
    let kept = thread.state.resume_buffers.last();
    let is_asked = request.zip(kept).is_some_and(|(request, words)| asks_for(request, words));
    let expected = "a turn that asks for words that went on being said";
    checks.demand(is_asked, Rule::ThreadRemainder, expected, "another one");
}

/// Nothing passes a plan by that owns words, but behind the event that says where these go; what
/// interrupts the very same takes them over.
pub(crate) fn check_planned(
    thread: &Thread,
    turn_id: Option<u64>,
    unsaid: Option<&ResumeBuffer>,
    checks: &mut RuleChecks,
) {
    if !checks.rules.plans_own_words {
        return;
    }
    let Some((open, words)) = thread.plan_words() else { return };
    let goes_on = turn_id.is_some_and(|turn_id| turn_id < open.turn_id)
        || unsaid.is_some_and(|unsaid| is_same(words, unsaid));
    let expected = "an event for the words of the plan";
    checks.demand(goes_on, Rule::ThreadRemainder, expected, "an end of it without one");
}

/// The thread's plan owns these words no more: they ended with their session.
pub(crate) fn give_up_planned(thread: &mut Thread, gone: &Remainder) -> bool {
    let is_it = |words: &ResumeBuffer| {
        (words.captured_turn, words.answer_id) == (gone.captured_turn, gone.answer_id)
    };
    let is_kept = thread.state.resume_buffers.iter().any(is_it);
    let is_gone = !is_kept && thread.planned_remainder.take_if(|words| is_it(words)).is_some();
    thread.is_planned_unsure &= !is_gone;
    is_gone
}

pub(crate) fn judge_buffer(context: Context<'_>, body: &BufferExpired, checks: &mut RuleChecks) {
    let thread = live(context, (&body.tenant_id, &body.correlation_id), checks);
    let Some(thread) = thread else { return };
    let is_over = context.record.times.over(body.expires_at).is_some()
        && thread.state.buffer(body.captured_turn).is_some_and(|buffer| {
            buffer.answer_id == body.answer_id
                && buffer.speaker_user_id == body.speaker_user_id
                && buffer.expires_at == body.expires_at
                && is_its_issue(checks.rules, Some(buffer), body.issue_fingerprint.as_ref())
        });
    let expected = "words that are kept, and whose time is over";
    checks.demand(is_over, Rule::ThreadExpiry, expected, body.expires_at);
}

pub(crate) fn judge_return_check(
    context: Context<'_>,

    body: &ReturnCheckExpired,
    checks: &mut RuleChecks,
) {
    let thread = live(context, (&body.tenant_id, &body.correlation_id), checks);
    let Some(thread) = thread else { return };
    let found = (body.expires_at, body.interrupt_resume_policy);
    let asked = thread.state.marks.return_check.map(|check| check.captured_turn);
    let words = asked.and_then(|turn| thread.state.buffer(turn));
    let is_over = thread.state.return_check_expiry() == Some(found)
        && context.record.times.over(body.expires_at).is_some()
        && (body.captured_turn.is_none() || body.captured_turn == asked)
        && is_its_issue(checks.rules, words, body.issue_fingerprint.as_ref());
    let expected = "a question that was asked, and whose time is over";
    checks.demand(is_over, Rule::ThreadExpiry, expected, body.expires_at);
}

/// Returns whether an event that says what words were about says so truly. Before, it said nothing
/// of that.
fn is_its_issue(rules: &Rules, words: Option<&ResumeBuffer>, said: Option<&Text>) -> bool {
    said.is_none() || said == words.and_then(|words| words.issue_by(rules)).as_ref()
}

/// Only the oldest words give way, and only where as many are kept as can be; or other words of the
/// same turn.
pub(crate) fn judge_displaced(
    context: Context<'_>,
    body: &RemainderDisplaced,
    checks: &mut RuleChecks,
) {
    let thread = live(context, (&body.tenant_id, &body.correlation_id), checks);
    let Some(thread) = thread else { return };
    let kept = &thread.state.resume_buffers;
    let oldest = kept.first().filter(|_| kept.len() >= MAX_NESTED_BUFFERS);
    let (gone, reason) = if body.reason_code == ReasonCode::PlanReplaced {
        (thread.state.buffer(body.displaced_by_turn), FateReason::PlanReplaced)
    } else {
        (oldest, FateReason::NestingLimit)
    };
    let is_so = gone.is_some_and(|gone| {
        told(gone, Fate::Discarded, reason) == body.remainder
            && is_its_issue(checks.rules, Some(gone), body.issue_fingerprint.as_ref())
    });
    checks.expect(Rule::ThreadRemainder, ResumePolicy::Discard, body.interrupt_resume_policy);
    let expected = format_args!("the oldest of {MAX_NESTED_BUFFERS} words that are kept");
    let found = format_args!("those of turn {}", body.remainder.captured_turn);
    checks.demand(is_so, Rule::ThreadRemainder, expected, found);
}

/// Words are given up once, so that a turn that is named twice is not kept the second time.
pub(crate) fn judge_discarded(
    context: Context<'_>,
    body: &RemaindersDiscarded,
    checks: &mut RuleChecks,
) {
    let thread = live(context, (&body.tenant_id, &body.correlation_id), checks);
    let Some(thread) = thread else { return };
    checks.expect(Rule::ThreadRemainder, ResumePolicy::Discard, body.interrupt_resume_policy);
    let mut given_up = BTreeSet::new();
    for gone in body.remainders.iter() {
        let turn = gone.captured_turn;
        let mut kept = thread.state.resume_buffers.iter().chain(&thread.planned_remainder);
        let is_it = |words: &&ResumeBuffer| {
            (words.captured_turn, words.answer_id) == (turn, gone.answer_id)
        };
        let words = kept.find(is_it).or_else(|| thread.state.buffer(turn));
        let is_kept = words.is_some()
            && is_its_issue(checks.rules, words, body.issue_fingerprint.as_ref())
            && given_up.insert((turn, gone.answer_id));
        let found = format_args!("none of turn {turn}");
        checks.demand(is_kept, Rule::ThreadRemainder, "words that are kept", found);
    }
}
