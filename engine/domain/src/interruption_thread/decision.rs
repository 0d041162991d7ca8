//! Outcome of a turn, the audit row that PH1.X commits for it (seed, "Audit Emission
//! Requirements"), and what a thread knows between two turns.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::core::forbidden::Rules;
use crate::core::hash::{Digest, sha256};
use crate::core::payload::{List, Text};
use crate::core::recorded;
use crate::core::time::Timestamp;
use crate::interruption_thread::health::issue_fingerprint_by;
use crate::interruption_thread::types::{
    ContinuityOutcome, DeliveryHint, Directive, DispatchKind, Fate, FateReason, PendingState,
    ReasonCode, ResumePolicy, TtsControl,
};
use crate::registration::types::WorkOrderStatus;

recorded! {
    /// Result of a turn: one directive with its reason, what is said, what becomes of every
    /// remainder that is touched, and what the thread knows afterwards.
    TurnDecision {
        /// The directive.
        directive: Directive,
        /// Why.
        reason_code: ReasonCode,
        /// `interrupt_continuity_outcome`.
        interrupt_continuity_outcome: Option<ContinuityOutcome>,
        /// `interrupt_resume_policy`.
        interrupt_resume_policy: Option<ResumePolicy>,
        /// Control of speech that is under way.
        tts_control: Option<TtsControl>,
        /// Way in which the directive reaches the user.
        delivery_hint: DeliveryHint,
        /// The kind of the directive, for its row: `confirm_kind`, `what_is_missing`,
        /// `response_kind`, `dispatch_target` or `wait_kind`. 1 to 64 bytes.
        kind: Text,
        /// RESPOND and CONFIRM: what is said.
        response_text: Option<Text>,
        /// CLARIFY: the question.
        clarify: Option<Clarify>,
        /// DISPATCH: what is handed over.
        dispatch: Option<Dispatch>,
        /// Fates of the remainders that the turn touches. One that is not named is kept as it was.
        remainders: List<Remainder>,
        /// Pending state of the thread, where that is given up without an answer.
        dropped_pending: Option<PendingState>,
        /// Knowledge of the thread afterwards.
        after: Marks,
    }

    /// One bounded question.
    Clarify {
        /// One line of 1 to 240 characters.
        question: Text,
        /// 2 or 3 ways to answer, each 1 to 128 bytes.
        accepted_answer_formats: List<Text>,
        /// The one thing that is missing, 1 to 64 bytes.
        what_is_missing: Text,
    }

    /// Action that a DISPATCH hands over.
    Dispatch {
        /// To whom.
        kind: DispatchKind,
        /// The intent that is carried out.
        intent_type: Text,
        /// Under which id a tool answers.
        request_id: Option<Text>,
    }

    /// Fate of words that were left unsaid.
    Remainder {
        /// The turn whose interruption left them.
        captured_turn: u64,
        /// The answer that they belong to.
        answer_id: u64,
        /// Whom they were being said to.
        speaker_user_id: Text,
        /// Fate of the words.
        fate: Fate,
        /// Why.
        reason: FateReason,
    }
}

impl Fate {
    /// Returns what the fate means for the words.
    #[must_use]
    pub const fn policy(self) -> ResumePolicy {
        match self {
            Self::Captured | Self::KeptForLater => ResumePolicy::ResumeLater,
            Self::Resumed => ResumePolicy::ResumeNow,
            Self::Discarded => ResumePolicy::Discard,
        }
    }
}

/// The name under which PH1.X writes: `owner_engine_id` of HEALTH rows, and the engine in the scope
/// of its idempotency keys.
pub const ENGINE_ID: &str = "PH1.X";

recorded! {
    /// A row's payload: exactly the seed's twelve keys, absent where they say nothing. Everything
    /// more about a turn is in its transition event.
    RowPayload {
        /// The directive.
        directive: Directive,
        /// CONFIRM: what is confirmed, 1 to 64 bytes.
        confirm_kind: Option<Text>,
        /// CLARIFY: what is missing, 1 to 64 bytes.
        what_is_missing: Option<Text>,
        /// CLARIFY: the question's id, 1 to 128 bytes.
        clarification_unit_id: Option<Text>,
        /// RESPOND: what kind of answer, 1 to 64 bytes.
        response_kind: Option<Text>,
        /// DISPATCH: to what, 1 to 64 bytes.
        dispatch_target: Option<Text>,
        /// WAIT: what for, 1 to 64 bytes.
        wait_kind: Option<Text>,
        /// The work order.
        work_order_id: Text,
        /// Its status when the row was written.
        work_order_status_snapshot: WorkOrderStatus,
        /// Pending state of the thread when the row was written.
        pending_state: PendingState,
        /// DISPATCH: SHA-256 of the token of the lease that allows it. The token itself never
        /// enters.
        lease_token_hash: Option<Digest>,
        /// Fate of the words that were left unsaid.
        interrupt_resume_policy: Option<ResumePolicy>,
    }
}

impl RowPayload {
    /// The keys, in the seed's order.
    pub const KEYS: [&'static str; 12] = [
        "directive",
        "confirm_kind",
        "what_is_missing",
        "clarification_unit_id",
        "response_kind",
        "dispatch_target",
        "wait_kind",
        "work_order_id",
        "work_order_status_snapshot",
        "pending_state",
        "lease_token_hash",
        "interrupt_resume_policy",
    ];
}

/// Most interruptions inside each other whose remainders are kept. One more, and the oldest is
/// discarded, by event.
pub const MAX_NESTED_BUFFERS: usize = 8;

/// Most texts that are remembered with who was told them.
pub const MAX_SAID: usize = 8;

/// Lifetime of a remainder, and of a question whether to go back to it: 60 s.
pub const BUFFER_LIFETIME_MS: u64 = 60_000;

/// The state that the branch table reads and changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadState {
    /// Marks of the thread besides its remainders.
    pub marks: Marks,
    /// Unsaid remainders, oldest first: the last one was interrupted last. At most
    /// [`MAX_NESTED_BUFFERS`], each with a turn of its own.
    pub resume_buffers: Vec<ResumeBuffer>,
    /// Newest speech, and to whom it was said, oldest first: at most [`MAX_SAID`]. An interrupted
    /// answer belongs to who was told it.
    pub said: Vec<SpokenText>,
}

/// A text that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpokenText {
    /// To whom.
    pub speaker_user_id: Text,
    /// SHA-256 of the text.
    pub text_sha256: Digest,
}

recorded! {
    /// Knowledge of a thread besides its remainders. A turn's event holds all of it.
    #[derive(Default)]
    Marks {
        /// Subject of the newest answered turn.
        active_subject_ref: Option<Text>,
        /// Subject that was interrupted.
        interrupted_subject_ref: Option<Text>,
        /// It was asked whether to go back (`return_check_pending`).
        return_check: Option<ReturnCheck>,
        /// Such a question expired and nobody has spoken since: a late yes or no is told so.
        return_check_lapsed: bool,
        /// Words that were left unsaid expired and nobody has spoken since: a late relation is no
        /// mistake.
        buffer_lapsed: bool,
        /// User who spoke last.
        active_speaker_user_id: Option<Text>,
        /// In which session, where there was one.
        active_session_id: Option<Text>,
        /// Event that the thread waits for.
        pending: Option<Pending>,
    }

    /// The question whether to go back to what was interrupted.
    #[derive(Copy)]
    ReturnCheck {
        /// The turn whose interruption left the words that it is about.
        captured_turn: u64,
        /// From when on an answer is too late (`return_check_expires_at`).
        expires_at: Timestamp,
    }
}

/// Words that were left unsaid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResumeBuffer {
    /// The turn whose interruption left them: the buffer's id within its thread.
    pub captured_turn: u64,
    /// Whom they were being said to. They are never said to anybody else.
    pub speaker_user_id: Text,
    /// In which session, where there was one: they are given up with it.
    pub session_id: Option<Text>,
    /// The answer that they belong to.
    pub answer_id: u64,
    /// Topic of the words.
    pub topic_hint: Option<Text>,
    /// `interrupted_subject_ref` when they were left.
    pub interrupted_subject_ref: Text,
    /// Words that had been said.
    pub spoken_prefix: Text,
    /// Words that had not been said, without leading white space: at least one
    /// character that can be seen.
    pub unsaid_remainder: Text,
    /// From when on they are gone.
    pub expires_at: Timestamp,
}

/// Event that a thread waits for, with what it needs to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Pending {
    /// An answer to a question.
    Clarify {
        /// Name of the missing field.
        missing_field: Text,
        /// Number of times in a row it was asked, 1 to 10; it stops at 10.
        attempts: u8,
    },
    /// A yes or no to an action.
    Confirm {
        /// The intent that would be carried out, or the caller's `confirm_kind`.
        intent_type: Text,
        /// Number of times in a row it was asked, 1 to 10.
        attempts: u8,
    },
    /// A yes or no to saying what is kept in memory.
    MemoryPermission {
        /// Words to be said.
        deferred_response_text: Text,
        /// The turn of the remainder that would be said before it, if it is still kept then.
        resumes_turn: Option<u64>,
        /// Number of times in a row it was asked, 1 to 10.
        attempts: u8,
    },
    /// A tool's response.
    Tool {
        /// To which request.
        request_id: Text,
        /// Number of times in a row, 1 to 10.
        attempts: u8,
    },
    /// A stronger proof of identity.
    StepUp {
        /// Number of times in a row, 1 to 10.
        attempts: u8,
    },
}

impl Pending {
    /// Its name.
    #[must_use]
    pub const fn state(&self) -> PendingState {
        match self {
            Self::Clarify { .. } => PendingState::Clarify,
            Self::Confirm { .. } => PendingState::Confirm,
            Self::MemoryPermission { .. } => PendingState::MemoryPermission,
            Self::Tool { .. } => PendingState::Tool,
            Self::StepUp { .. } => PendingState::StepUp,
        }
    }

    /// Returns whether what was waited for is so still: the same action, the same request to a
    /// tool, the same words that need permission. By earlier rules, whatever was of the same kind.
    pub(crate) fn goes_on_in(&self, rules: &Rules, after: &Self) -> bool {
        if !rules.names_ends {
            return self.state() == after.state();
        }
        match (self, after) {
            (Self::Confirm { intent_type, .. }, Self::Confirm { intent_type: now, .. }) => {
                intent_type == now
            }
            (Self::Tool { request_id, .. }, Self::Tool { request_id: now, .. }) => {
                request_id == now
            }
            (
                Self::MemoryPermission { deferred_response_text, resumes_turn, .. },
                Self::MemoryPermission {
                    deferred_response_text: words_now,
                    resumes_turn: turn_now,
                    ..
                },
            ) => (deferred_response_text, resumes_turn) == (words_now, turn_now),
            _ => self.state() == after.state(),
        }
    }
}

impl ThreadState {
    /// Returns what the thread waits for; NONE included.
    #[must_use]
    pub fn pending_state(&self) -> PendingState {
        self.marks.pending.as_ref().map_or(PendingState::None, Pending::state)
    }

    /// Tells whether the thread waits for something, be it the answer whether to go back.
    pub(crate) const fn is_armed(&self) -> bool {
        self.marks.pending.is_some() || self.marks.return_check.is_some()
    }

    /// Returns who was told this very text last.
    pub(crate) fn listener_of(&self, text: &str) -> Option<&Text> {
        let digest = sha256(text.as_bytes());
        let told = self.said.iter().rev().find(|said| said.text_sha256 == digest);
        told.map(|said| &said.speaker_user_id)
    }

    /// Remembers that a text was said.
    pub(crate) fn remember_said(&mut self, speaker_user_id: &Text, text: &str) {
        let said = SpokenText {
            speaker_user_id: speaker_user_id.clone(),
            text_sha256: sha256(text.as_bytes()),
        };
        self.said.retain(|before| *before != said);
        self.said.push(said);
        let too_many = self.said.len().saturating_sub(MAX_SAID);
        self.said.drain(..too_many);
    }

    /// The remainder that this speaker may hear again: the newest of theirs that is not expired.
    #[must_use]
    pub fn live_buffer(&self, speaker: &str, at: Timestamp) -> Option<&ResumeBuffer> {
        let is_theirs = |buffer: &&ResumeBuffer| {
            buffer.speaker_user_id.as_str() == speaker && !buffer.is_expired(at)
        };
        self.resume_buffers.iter().rev().find(is_theirs)
    }

    /// Returns what the interruption of a turn left unsaid, where it is kept.
    pub(crate) fn buffer(&self, captured_turn: u64) -> Option<&ResumeBuffer> {
        self.resume_buffers.iter().find(|buffer| buffer.captured_turn == captured_turn)
    }

    /// Returns the time when something of it expires next.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Timestamp> {
        let buffers = self.resume_buffers.iter().map(|buffer| buffer.expires_at);
        buffers.chain(self.marks.return_check.map(|check| check.expires_at)).min()
    }

    /// SHA-256 of the state's canonical encoding: what a turn's event binds as before and after.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let bytes = bincode::serde::encode_to_vec(self, bincode::config::standard())
            .expect("the state holds only types that encode, and memory takes every byte");
        sha256(&bytes)
    }
}

impl ResumeBuffer {
    /// Returns whether it is gone: from `expires_at` on.
    #[must_use]
    pub fn is_expired(&self, at: Timestamp) -> bool {
        at >= self.expires_at
    }

    /// HEALTH's topic marker of what had been interrupted.
    pub(crate) fn issue(&self) -> Option<Text> {
        self.issue_by(Rules::NEWEST)
    }

    /// The same by the rules of a number.
    pub(crate) fn issue_by(&self, rules: &Rules) -> Option<Text> {
        issue_fingerprint_by(rules, &self.interrupted_subject_ref)
    }

    /// Returns whether it was left unsaid in this session.
    pub(crate) fn is_of_session(&self, session_id: &str) -> bool {
        self.session_id.as_deref() == Some(session_id)
    }
}

impl ReturnCheck {
    /// Returns whether an answer is too late: from `expires_at` on.
    #[must_use]
    pub fn is_expired(&self, at: Timestamp) -> bool {
        at >= self.expires_at
    }
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::one_of! {
    Pending of
    Clarify { missing_field, attempts },
    Confirm { intent_type, attempts },
    MemoryPermission { deferred_response_text, resumes_turn, attempts },
    Tool { request_id, attempts },
    StepUp { attempts },
}
