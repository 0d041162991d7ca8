//! Duplex sessions (seed, "FDX Design Lock"): what is planned while the user still speaks, and the
//! gate behind which it becomes a turn.
//!
//! A [`SpeculativePlan`] is words and nothing else. A turn is made of a [`Passed`] alone, which
//! only this file makes: of a turn for which nothing is planned, or behind the gate.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};

use crate::core::confidence::{BasisPoints, RELATION_THRESHOLD, scored_bodies};
use crate::core::forbidden::{Record, Rule, RuleChecks, Rules};
use crate::core::payload::Text;
use crate::core::refusal::{Malformed, check_name, malformed, require};
use crate::core::text::{hidden_character, is_blank, shown};
use crate::core::time::Timestamp;
use crate::core::{bodies, closed_enum, recorded};
use crate::interruption_thread::apply::{
    Context, Spoken, check_caller, check_order, new_thread, status,
};
use crate::interruption_thread::branch::{captured, sure_relation};
use crate::interruption_thread::command::{CommitTurn, DraftPlan, TurnScope};
use crate::interruption_thread::decision::{
    Dispatch, Remainder, ResumeBuffer, ThreadState, TurnDecision,
};
use crate::interruption_thread::draft::told;
use crate::interruption_thread::event::InterruptionThreadEvent as Event;
use crate::interruption_thread::event::{PlanDrafted, TurnCommitted};
use crate::interruption_thread::refusal::ThreadRefusal;
use crate::interruption_thread::remainders::{check_asked, check_planned};
use crate::interruption_thread::request::{Interruption, TurnInput, TurnRequest};
use crate::interruption_thread::rules::{Considered, ThreadContext, barred};
use crate::interruption_thread::state::{Thread, Threads};
use crate::interruption_thread::turn::{Turn, decide_turn_by};
use crate::interruption_thread::types::{
    ContinuityOutcome, Directive, Fate, FateReason, ReasonCode, SubjectRelation,
};
use crate::registration::types::SessionStatus;

/// From when on a candidate and a hypothesis are sure enough to commit a turn: 0.70, inclusive.
pub const COMMIT_THRESHOLD: BasisPoints = RELATION_THRESHOLD;

/// Advice on the open plan of another speaker.
const OF_ANOTHER: &str = "take a later turn, or wait until that plan ends";

/// Time in which a plan may be committed: 60 s.
pub const PLAN_LIFETIME_MS: u64 = 60_000;

/// Longest transcript of a turn, in bytes.
const TRANSCRIPT_MAX: usize = 32_768;

bodies! {
    /// Statements of the three engines about one turn.
    Heard {
        /// PH1.K: given exactly where the request has an interruption.
        #[serde(default)]
        candidate: Option<InterruptCandidate>,
        /// PH1.C: the words.
        transcript: PartialTranscript,
        /// PH1.NLP: their meaning.
        hypothesis: IntentHypothesis,
    }

    /// PH1.C: what was heard so far.
    PartialTranscript {
        /// The words, on one line, 1 to 32 768 bytes.
        text: Text,
        /// True if the user has ended.
        is_final: bool,
    }
}

scored_bodies! {
    /// PH1.K: somebody may have begun to speak.
    #[derive(Copy)]
    #[cfg_attr(feature = "schema", schemars(rename = "InterruptCandidate"))]
    InterruptCandidate {
        /// The phrase: the interruption's own.
        phrase_id: u64,
        /// Time at which it happened, in nanoseconds since 1970: the interruption's own.
        t_event: u64,
        /// Confidence in it: the interruption's own `phrase_confidence_bp`.
        confidence_bp("confidence"): BasisPoints,
    }

    /// PH1.NLP: what may be meant.
    #[cfg_attr(feature = "schema", schemars(rename = "IntentHypothesis"))]
    IntentHypothesis {
        /// Subject of the turn: the request's own.
        subject_ref: Text,
        /// The intent, where one was understood: the request's own, 1 to 64 bytes.
        #[serde(default)]
        intent_type: Option<Text>,
        /// Confidence in that.
        confidence_bp("confidence"): BasisPoints,
        /// Relation to what was interrupted: the request's own.
        #[serde(default)]
        subject_relation: Option<SubjectRelation>,
        /// Confidence in the relation: the request's own.
        #[serde(default)]
        subject_relation_confidence_bp("subject_relation_confidence"): Option<BasisPoints>,
    }
}

closed_enum! {
    /// Branch that a turn took (seed, "branch discipline").
    pub enum DuplexBranch {
        /// The same subject goes on.
        Same = "SAME",
        /// Another subject is answered first.
        Switch = "SWITCH",
        /// It is not clear: one question, and nothing is done.
        Uncertain = "UNCERTAIN",
        /// Nothing was interrupted.
        None = "NONE",
    }
}

recorded! {
    /// Plan of what would be said if the user ended here. It cannot be executed: there is no way
    /// from it to a command or a commit, and it names no action.
    ///
    /// ```compile_fail
    /// use holdpoint_domain::{Command, interruption_thread::SpeculativePlan};
    /// fn execute(plan: SpeculativePlan) -> Command { plan.into() }
    /// ```
    /// ```compile_fail
    /// use holdpoint_domain::interruption_thread::{SpeculativePlan, TurnCommitDecision};
    /// fn commit(plan: SpeculativePlan) -> TurnCommitDecision { plan.into() }
    /// ```
    SpeculativePlan {
        /// Branch that the turn would take.
        branch: DuplexBranch,
        /// The answer or the question, where there would be one.
        would_say: Option<Text>,
        /// Why.
        reason_code: ReasonCode,
        /// Always `false`.
        execute_allowed: bool,
    }

    /// The authoritative end of a turn: branch, response, action and reason code.
    TurnCommitDecision {
        /// Branch that the turn took.
        branch: DuplexBranch,
        /// The answer or the question.
        response: Option<Text>,
        /// Action that may be done.
        action: Option<Dispatch>,
        /// Why.
        reason_code: ReasonCode,
    }

    /// Plan for a turn of a thread, which may be committed: the newest plan alone.
    OpenPlan {
        /// The idempotency key of the command that drafted it, by which it is committed.
        plan_key: Text,
        /// The turn.
        turn_id: u64,
        /// User who speaks.
        speaker_user_id: Text,
        /// The plan.
        plan: SpeculativePlan,
        /// From when on it is too late.
        expires_at: Timestamp,
    }
}

impl OpenPlan {
    /// Returns whether it is of this turn, and may be committed now.
    pub(crate) fn is_of(&self, turn_id: u64, at: Timestamp) -> bool {
        self.turn_id == turn_id && !self.is_lapsed(at)
    }

    /// Returns whether it is too late to commit it.
    #[must_use]
    pub fn is_lapsed(&self, at: Timestamp) -> bool {
        at >= self.expires_at
    }

    /// Returns which plan it is, whose, and until when.
    fn told(&self, at: Timestamp) -> String {
        let (key, whose) = (shown(&self.plan_key), shown(&self.speaker_user_id));
        let stands = if self.is_lapsed(at) { "lapsed at" } else { "is open until" };
        format!("plan {key} of turn {} of {whose} {stands} {}", self.turn_id, self.expires_at)
    }
}

impl SpeculativePlan {
    /// Returns what the branch table would say, whatever the confidence and whether or not the user
    /// has ended. What it would let be done is not kept.
    pub(crate) fn of(decision: &TurnDecision, state: &ThreadState, turn: &Turn<'_>) -> Self {
        let TurnCommitDecision { branch, response, reason_code, .. } =
            TurnCommitDecision::of(decision, state, turn);
        Self { branch, would_say: response, reason_code, execute_allowed: false }
    }
}

impl TurnCommitDecision {
    /// Returns what a turn that came to this says and does.
    pub(crate) fn of(decision: &TurnDecision, state: &ThreadState, turn: &Turn<'_>) -> Self {
        let question = decision.clarify.as_ref().map(|clarify| &clarify.question);
        Self {
            branch: branch_of(decision, state, turn),
            response: decision.response_text.as_ref().or(question).cloned(),
            action: decision.dispatch.clone(),
            reason_code: decision.reason_code,
        }
    }
}

/// A turn that may be taken. Nothing else becomes one, and only the two ways here give it.
pub(crate) struct Passed<'a>(Considered<'a>);

impl<'a> Passed<'a> {
    /// A turn for which nothing is planned needs no gate.
    pub(crate) fn unplanned(
        view: ThreadContext<'_>,
        of: Considered<'a>,
    ) -> Result<Self, ThreadRefusal> {
        check_unplanned(view, &of.scope, of.turn.at)?;
        Ok(Self(of))
    }

    /// The commit gate: the plan is the open one of this turn and speaker; then confidence (the
    /// user has ended; candidate and hypothesis reach [`COMMIT_THRESHOLD`]); then policy (the
    /// session is active). What the plan says decides nothing: the branch table does.
    pub(crate) fn committed(
        view: ThreadContext<'_>,
        command: &CommitTurn,
        mut of: Considered<'a>,
    ) -> Result<Self, ThreadRefusal> {
        let plan_key = &command.plan_key;
        let open = check_open(open_plan(view), plan_key, (of.turn.turn_id, of.turn.at))?;
        let (planned, speaks) = (&*open.speaker_user_id, of.scope.user_id);
        if planned != speaks {
            let expected = format!("{}, for whom the turn is planned", shown(planned));
            let found = format!("{}: {OF_ANOTHER}", shown(speaks));
            return Err(barred(ReasonCode::FailPlanInvalid, "user_id", expected, found));
        }
        check_sure(&command.heard)
            .and_then(|()| check_active(of.turn.session_status))
            .map_err(ThreadRefusal::of_gate)?;
        let committed = TurnCommitted {
            tenant_id: of.scope.tenant_id.into(),
            correlation_id: of.scope.correlation_id.into(),
            turn_id: of.turn.turn_id,
            plan_key: plan_key.into(),
            heard: command.heard.clone(),
            decision: TurnCommitDecision::of(&of.decision, &of.state, &of.turn),
        };
        of.events.push(committed.into());
        Ok(Self(of))
    }

    pub(crate) fn into_turn(self) -> Considered<'a> {
        self.0
    }
}

/// Returns the event that puts what would be said on record; nothing else comes of it.
pub(crate) fn drafted(view: ThreadContext<'_>, command: &DraftPlan, of: &Considered<'_>) -> Event {
    let unsaid = captured(&of.state, &of.turn);
    let drafted = PlanDrafted {
        tenant_id: of.scope.tenant_id.into(),
        correlation_id: of.scope.correlation_id.into(),
        turn_id: of.turn.turn_id,
        session_id: of.scope.session_id.map(Text::from),
        plan_key: of.scope.idempotency_key.into(),
        heard: command.heard.clone(),
        request: command.request.clone(),
        plan: SpeculativePlan::of(&of.decision, &of.state, &of.turn),
        unsaid: unsaid
            .map(|words| owned(Rules::NEWEST, view.live, &words, (&command.heard, of.turn.at))),
    };
    drafted.into()
}

/// The words that a plan owns, and whether they are surely interrupted: by what was heard, or
/// because they pass on from a plan that knew it.
fn owned(
    rules: &Rules,
    before: Option<&Thread>,
    words: &ResumeBuffer,
    (heard, at): (&Heard, Timestamp),
) -> Remainder {
    let is_heard = heard.candidate.is_none_or(|of| of.confidence_bp >= COMMIT_THRESHOLD);
    let is_known = || before.is_some_and(|thread| thread.surely_owns(words, at));
    let is_sure = !rules.ends_unsure_words || is_heard || is_known();
    let reason = if is_sure { FateReason::Interrupted } else { FateReason::NotSure };
    told(words, Fate::Captured, reason)
}

fn open_plan(view: ThreadContext<'_>) -> Option<&OpenPlan> {
    view.live.and_then(Thread::open_plan)
}

/// A turn with an open plan is taken by the commit of that, and by nothing else.
pub(crate) fn check_unplanned(
    view: ThreadContext<'_>,
    scope: &TurnScope<'_>,
    at: Timestamp,
) -> Result<(), ThreadRefusal> {
    let open = open_plan(view).filter(|open| open.is_of(scope.turn_id, at));
    let Some(open) = open else { return Ok(()) };
    let is_own = *open.speaker_user_id == *scope.user_id;
    let advice = if is_own { "commit that plan" } else { OF_ANOTHER };
    let found = format!("{}, and {}: {advice}", scope.turn_id, open.told(at));
    let expected = "a turn for which no plan is open".into();
    Err(barred(ReasonCode::FailPlanInvalid, "turn_id", expected, found).of_gate())
}

/// The open plan has this key, is of this turn, and its time is not over.
fn check_open<'a>(
    open: Option<&'a OpenPlan>,
    plan_key: &str,
    (turn_id, at): (u64, Timestamp),
) -> Result<&'a OpenPlan, ThreadRefusal> {
    let found = match open {
        Some(open) if *open.plan_key == *plan_key && open.is_of(turn_id, at) => return Ok(open),
        Some(open) if open.is_lapsed(at) => {
            format!("{}; {}, and no plan is open", shown(plan_key), open.told(at))
        }
        Some(open) => format!("{}; {}", shown(plan_key), open.told(at)),
        None => format!("{}; no plan is open", shown(plan_key)),
    };
    let expected = format!("the key of the open plan of turn {turn_id}, in time");
    Err(barred(ReasonCode::FailPlanInvalid, "plan_key", expected, found))
}

/// The confidence gate: the user has ended, and what was heard is sure.
pub(crate) fn check_sure(heard: &Heard) -> Result<(), ThreadRefusal> {
    if !heard.transcript.is_final {
        let (field, expected) = ("heard.transcript.is_final", "true".into());
        let found = "false; commit when the user has ended".into();
        return Err(barred(ReasonCode::FailTranscriptNotFinal, field, expected, found));
    }
    let candidate = heard.candidate.map(|of| {
        let field = "heard.candidate.confidence_bp";
        (ReasonCode::FailCandidateNotSure, field, "go on speaking", of.confidence_bp)
    });
    let (field, found) = ("heard.hypothesis.confidence_bp", heard.hypothesis.confidence_bp);
    let hypothesis = (ReasonCode::FailHypothesisNotSure, field, "ask what is meant", found);
    let mut doubts = candidate.into_iter().chain([hypothesis]);
    match doubts.find(|(.., found)| *found < COMMIT_THRESHOLD) {
        None => Ok(()),
        Some((reason, field, advice, found)) => {
            let expected = format!("{COMMIT_THRESHOLD} or more");
            Err(barred(reason, field, expected, format!("{found}; {advice}")))
        }
    }
}

/// Nothing is said, done or planned in a session that is not active.
pub(crate) fn check_active(status: SessionStatus) -> Result<(), ThreadRefusal> {
    if status == SessionStatus::Active {
        return Ok(());
    }
    let (reason, expected) = (ReasonCode::FailTenantScopeInvalid, "an ACTIVE session".into());
    Err(barred(reason, "session_id", expected, status.to_string()))
}

/// Checks that what was heard is about this very request.
pub(crate) fn check_heard(heard: &Heard, request: &TurnRequest) -> Result<(), Malformed> {
    let text = &heard.transcript.text;
    let is_line =
        text.len() <= TRANSCRIPT_MAX && !is_blank(text) && hidden_character(text).is_none();
    let expected = "one line of 1 to 32768 bytes, without control characters";
    require(is_line, "heard.transcript.text", expected, format_args!("{} bytes", text.len()))?;
    check_candidate(heard.candidate, request.interruption.as_ref())?;
    check_hypothesis(&heard.hypothesis, request)
}

/// Checks that what PH1.K says of an interruption is what the interruption says of itself.
fn check_candidate(
    heard: Option<InterruptCandidate>,
    named: Option<&Interruption>,
) -> Result<(), Malformed> {
    let (of, named) = match (heard, named) {
        (Some(of), Some(named)) => (of, named),
        (None, None) => return Ok(()),
        (heard, _) => {
            let found = if heard.is_some() { "one without it" } else { "none with it" };
            let expected = "one exactly where the request has an interruption";
            return Err(malformed("heard.candidate", expected, found));
        }
    };
    let (field, expected) = ("heard.candidate.phrase_id", "the interruption's phrase_id");
    require(of.phrase_id == named.phrase_id, field, expected, of.phrase_id)?;
    let expected = "the interruption's t_event, in nanoseconds since 1970";
    require(of.t_event == named.t_event, "heard.candidate.t_event", expected, of.t_event)?;
    let (field, found) = ("heard.candidate.confidence_bp", of.confidence_bp);
    let expected = "the interruption's phrase_confidence_bp";
    require(found == named.phrase_confidence_bp, field, expected, found)
}

fn check_hypothesis(of: &IntentHypothesis, request: &TurnRequest) -> Result<(), Malformed> {
    let field = "heard.hypothesis.subject_ref";
    require(of.subject_ref == request.subject_ref, field, "the request's", &of.subject_ref)?;
    let (relation, stated) = (of.subject_relation, request.interrupt_subject_relation);
    let found = relation.map_or("none", |relation| relation.name());
    require(relation == stated, "heard.hypothesis.subject_relation", "the request's", found)?;
    let (sure, stated) =
        (of.subject_relation_confidence_bp, request.interrupt_subject_relation_confidence_bp);
    let found = sure.map_or("none".into(), |sure| sure.to_string());
    let field = "heard.hypothesis.subject_relation_confidence_bp";
    require(sure == stated, field, "the request's", found)?;
    let field = "heard.hypothesis.intent_type";
    if let Some(intent_type) = &of.intent_type {
        let expected = "1 to 64 bytes, visible, without control characters";
        check_name(field, intent_type, 64, expected)?;
    }
    let TurnInput::Intent { intent_type, .. } = &request.input else { return Ok(()) };
    let is_same = of.intent_type.as_ref() == Some(intent_type);
    let found = of.intent_type.as_deref().unwrap_or("none");
    require(is_same, field, "the request's intent", found)
}

/// Returns whether the turn interrupts, or the speaker has a remainder that is kept.
fn is_interrupted(state: &ThreadState, turn: &Turn<'_>) -> bool {
    let speaker = &turn.request.active_speaker_user_id;
    turn.request.interruption.is_some() || state.live_buffer(speaker, turn.at).is_some()
}

fn branch_of(decision: &TurnDecision, state: &ThreadState, turn: &Turn<'_>) -> DuplexBranch {
    if let Some(outcome) = decision.interrupt_continuity_outcome {
        return match outcome {
            ContinuityOutcome::SameSubjectAppend => DuplexBranch::Same,
            ContinuityOutcome::SwitchTopicThenReturnCheck => DuplexBranch::Switch,
        };
    }
    let is_unclear = matches!(
        decision.reason_code,
        ReasonCode::InterruptRelationUncertainClarify
            | ReasonCode::ContinuitySpeakerMismatch
            | ReasonCode::ContinuitySubjectMismatch
    );
    if is_unclear {
        return DuplexBranch::Uncertain;
    }
    match sure_relation(turn.request).filter(|_| is_interrupted(state, turn)) {
        Some(SubjectRelation::Same) => DuplexBranch::Same,
        Some(_) => DuplexBranch::Switch,
        None => DuplexBranch::None,
    }
}

/// A plan begins its thread, where there is none yet: in that nothing was said.
fn begun(record: Record<'_>, body: &PlanDrafted) -> Thread {
    let (wait, reason) = (Directive::Wait, body.plan.reason_code);
    new_thread(record, &body.tenant_id, &body.correlation_id, wait, reason)
}

/// The newest plan is the open one.
pub(crate) fn plan_drafted(threads: &mut Threads, record: Record<'_>, body: &PlanDrafted) {
    let open = OpenPlan {
        plan_key: body.plan_key.clone(),
        turn_id: body.turn_id,
        speaker_user_id: body.request.active_speaker_user_id.clone(),
        plan: body.plan.clone(),
        expires_at: record.at.plus_ms(PLAN_LIFETIME_MS),
    };
    threads.begin(&body.tenant_id, &body.correlation_id, || begun(record, body));
    threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        let unsaid = body.unsaid.as_ref();
        let unsaid = unsaid.and_then(|_| captured(&thread.state, &turn_of(record, body)));
        let reason = body.unsaid.as_ref().map(|words| words.reason);
        thread.is_planned_unsure = unsaid.is_some() && reason == Some(FateReason::NotSure);
        thread.planned_remainder = unsaid;
        thread.plan = Some((open, None));
        thread.version = record.sequence;
    });
}

fn turn_of<'a>(record: Record<'_>, body: &'a PlanDrafted) -> Turn<'a> {
    Turn {
        turn_id: body.turn_id,
        session_id: body.session_id.as_deref(),
        session_status: SessionStatus::Active,
        request: &body.request,
        at: record.at,
    }
}

/// A plan says what the branch table would say of what was heard.
pub(crate) fn judge_plan(context: Context<'_>, body: &PlanDrafted, checks: &mut RuleChecks) {
    check_caller(context, checks);
    let live = context.threads.live(&body.tenant_id, &body.correlation_id);
    let thread = live.map_or_else(|| Cow::Owned(begun(context.record, body)), Cow::Borrowed);
    check_order(&thread, body.turn_id, checks);
    let session_id = body.session_id.as_ref();
    let known = session_id.map(|session| status(context, &body.tenant_id, session));
    let turn = turn_of(context.record, body);
    let planned = decide_turn_by(checks.rules, &thread.state, &turn)
        .map(|decision| SpeculativePlan::of(&decision, &thread.state, &turn));
    let unsaid = captured(&thread.state, &turn);
    check_planned(&thread, None, unsaid.as_ref(), checks);
    check_asked(&thread, Some(&body.request), checks);
    let heard = (&*body.heard, context.record.at);
    let unsaid = unsaid.map(|words| owned(checks.rules, Some(&thread), &words, heard));
    let owns = !checks.rules.plans_own_words || unsaid == body.unsaid;
    let is_so = owns
        && known.is_none_or(|known| known == Some(SessionStatus::Active))
        && check_heard(&body.heard, &body.request).is_ok()
        && planned.is_ok_and(|planned| planned == body.plan);
    let expected = "what the branch table would say, in a session that is ACTIVE";
    checks.demand(is_so, Rule::ThreadPlan, expected, "something else");
}

/// The open plan of a turn passes the gate once.
pub(crate) fn may_commit(
    threads: &Threads,
    record: Record<'_>,
    body: &TurnCommitted,
    checks: &mut RuleChecks,
) -> bool {
    let thread = threads.live(&body.tenant_id, &body.correlation_id);
    let open = thread.and_then(|thread| thread.plan.as_ref());
    let open = open.filter(|(_, committed)| committed.is_none()).map(|(open, _)| open);
    let may = check_open(open, &body.plan_key, (body.turn_id, record.at)).is_ok()
        && check_sure(&body.heard).is_ok();
    let expected = "an open plan of the turn, and what was heard to be sure";
    checks.demand(may, Rule::ThreadPlan, expected, &body.plan_key)
}

/// The turn that follows is behind the gate.
pub(crate) fn turn_committed(threads: &mut Threads, record: Record<'_>, body: &TurnCommitted) {
    if !may_commit(threads, record, body, &mut RuleChecks::unheard()) {
        return;
    }
    threads.change(&body.tenant_id, &body.correlation_id, |thread| {
        let committed = Box::new((Heard::clone(&body.heard), body.decision.clone()));
        thread.plan = thread.plan.take().map(|(open, _)| (open, Some(committed)));
        thread.version = record.sequence;
    });
}

/// Nothing passes an open plan by: what it is for is the turn that stands behind its commit, and
/// says and does what that says. Whatever else names the turn counts for nothing.
pub(crate) fn passes_gate(threads: &Threads, spoken: &Spoken<'_>, checks: &mut RuleChecks) -> bool {
    let thread = threads.live(spoken.tenant_id, spoken.correlation_id);
    let plan = thread.and_then(|thread| Some((thread, thread.plan.as_ref()?)));
    let plan = plan.filter(|(_, (open, _))| open.is_of(spoken.turn_id, spoken.at));
    let Some((thread, (open, committed))) = plan else { return true };
    let turn = committed.as_ref().zip(spoken.turn.as_ref());
    let is_behind = turn.is_some_and(|(committed, (body, turn))| {
        let (heard, decision) = &**committed;
        body.session_status == SessionStatus::Active
            && open.speaker_user_id == body.request.active_speaker_user_id
            && check_heard(heard, &body.request).is_ok()
            && TurnCommitDecision::of(&body.decision, &thread.state, turn) == *decision
    });
    let found = format_args!("turn {} past its plan", spoken.turn_id);
    checks.demand(is_behind, Rule::ThreadPlan, "the turn behind the commit of its plan", found)
}
