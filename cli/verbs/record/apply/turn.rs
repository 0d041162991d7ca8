//! What the caller of a turn is told of it.

use holdpoint_domain::core::payload::{List, Text};
use holdpoint_domain::interruption_thread::{
    Clarify, ContinuityOutcome, DeliveryHint, Directive, Dispatch, Pending, PendingState,
    ReasonCode, Remainder, ResumePolicy, SpeculativePlan, Style, TtsControl, TurnTaken,
    explanation, style,
};
use schemars::JsonSchema;
use serde::Serialize;

/// What a turn came to: all that its caller needs to act on it, and no more. What the thread knows
/// afterwards may hold what waits to be said to somebody else.
#[derive(Serialize, JsonSchema)]
pub(super) struct TurnOutcome {
    /// The directive.
    directive: Directive,
    /// Why.
    reason_code: ReasonCode,
    interrupt_continuity_outcome: Option<ContinuityOutcome>,
    interrupt_resume_policy: Option<ResumePolicy>,
    /// What happens to speech that is under way.
    tts_control: Option<TtsControl>,
    /// How the directive reaches the user.
    delivery_hint: DeliveryHint,
    /// The kind of the directive, as in its row.
    kind: Text,
    /// RESPOND and CONFIRM: what is said.
    response_text: Option<Text>,
    /// PH1.EMO.GUIDE's profile, where it was validated: how the words may be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    emo_guide: Option<Text>,
    /// PH1.PERSONA's profile, where it was validated: how the words may be said.
    #[serde(skip_serializing_if = "Option::is_none")]
    persona: Option<Text>,
    /// PH1.EXPLAIN's words, where somebody asked for them or is owed them.
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Text>,
    /// CLARIFY: the question.
    clarify: Option<Clarify>,
    /// DISPATCH: what is handed over.
    dispatch: Option<Dispatch>,
    /// What becomes of the words left unsaid that the turn touches.
    remainders: List<Remainder>,
    /// What the thread waited for, where that is given up without an answer.
    dropped_pending: Option<PendingState>,
    /// What the thread waits for now: what the next turn states as its `pending_state`, unless a
    /// deadline passes or a row comes before it.
    pending_state: PendingState,
}

/// What would be said if the user ended here.
#[derive(Serialize, JsonSchema)]
pub(super) struct PlanOutcome {
    /// By which the plan is committed: the key of the command that drafted it.
    pub(super) plan_key: Text,
    #[serde(flatten)]
    pub(super) plan: SpeculativePlan,
    /// The words that the plan owns: what its turn would leave unsaid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unsaid: Option<Remainder>,
}

impl TurnOutcome {
    pub(super) fn of(turn: &TurnTaken) -> Self {
        let (advice, decision) = (&turn.request.advice, &turn.decision);
        let Style { emo_guide, persona } = style(advice);
        let pending = decision.after.pending.as_ref();
        Self {
            directive: decision.directive,
            reason_code: decision.reason_code,
            interrupt_continuity_outcome: decision.interrupt_continuity_outcome,
            interrupt_resume_policy: decision.interrupt_resume_policy,
            tts_control: decision.tts_control,
            delivery_hint: decision.delivery_hint,
            kind: decision.kind.clone(),
            response_text: decision.response_text.clone(),
            emo_guide: emo_guide.cloned(),
            persona: persona.cloned(),
            explanation: explanation(advice, decision.reason_code).cloned(),
            clarify: decision.clarify.clone(),
            dispatch: decision.dispatch.clone(),
            remainders: decision.remainders.clone(),
            dropped_pending: decision.dropped_pending,
            pending_state: pending.map_or(PendingState::None, Pending::state),
        }
    }
}
