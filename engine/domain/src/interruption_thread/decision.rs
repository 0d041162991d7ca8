//! What a turn comes to.

use serde::{Deserialize, Serialize};

use super::reason::ReasonCode;
use super::state::Marks;
use super::types::{
    ContinuityOutcome, DeliveryHint, Directive, DispatchKind, Fate, FateReason, PendingState,
    ResumePolicy, TtsControl,
};
use crate::event::{List, Text};

/// What a turn comes to: one directive with its reason, what is said, what becomes of every
/// remainder that is touched, and what the thread knows afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TurnDecision {
    /// The directive.
    pub directive: Directive,
    /// Why.
    pub reason_code: ReasonCode,
    /// `interrupt_continuity_outcome`.
    pub interrupt_continuity_outcome: Option<ContinuityOutcome>,
    /// `interrupt_resume_policy`.
    pub interrupt_resume_policy: Option<ResumePolicy>,
    /// What happens to speech that is under way.
    pub tts_control: Option<TtsControl>,
    /// How the directive reaches the user.
    pub delivery_hint: DeliveryHint,
    /// The kind of the directive, for its row: `confirm_kind`, `what_is_missing`, `response_kind`,
    /// `dispatch_target` or `wait_kind`. 1 to 64 bytes.
    pub kind: Text,
    /// RESPOND and CONFIRM: what is said.
    pub response_text: Option<Text>,
    /// CLARIFY: the question.
    pub clarify: Option<Clarify>,
    /// DISPATCH: what is handed over.
    pub dispatch: Option<Dispatch>,
    /// What becomes of the remainders that the turn touches. One that is not named is kept as it
    /// was.
    pub remainders: List<Remainder>,
    /// What the thread waited for, where that is given up without an answer.
    pub dropped_pending: Option<PendingState>,
    /// What the thread knows afterwards.
    pub after: Marks,
}

/// One bounded question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clarify {
    /// One line of 1 to 240 characters.
    pub question: Text,
    /// 2 or 3 ways to answer, each 1 to 128 bytes.
    pub accepted_answer_formats: List<Text>,
    /// The one thing that is missing, 1 to 64 bytes.
    pub what_is_missing: Text,
}

/// What a DISPATCH hands over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dispatch {
    /// To whom.
    pub kind: DispatchKind,
    /// The intent that is carried out.
    pub intent_type: Text,
    /// Under which id a tool answers.
    pub request_id: Option<Text>,
}

/// What became of words that were left unsaid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Remainder {
    /// The turn whose interruption left them.
    pub captured_turn: u64,
    /// The answer that they belong to.
    pub answer_id: u64,
    /// Whom they were being said to.
    pub speaker_user_id: Text,
    /// What became of them.
    pub fate: Fate,
    /// Why.
    pub reason: FateReason,
}

impl Fate {
    /// What the fate means for the words.
    #[must_use]
    pub const fn policy(self) -> ResumePolicy {
        match self {
            Self::Captured | Self::KeptForLater => ResumePolicy::ResumeLater,
            Self::Resumed => ResumePolicy::ResumeNow,
            Self::Discarded => ResumePolicy::Discard,
        }
    }
}
