//! A turn's decision in the making: every row of the table begins with the same marks.

use alloc::string::String;
use alloc::vec::Vec;

use super::decision::{Clarify, Dispatch, Remainder, TurnDecision};
use super::reason::ReasonCode;
use super::state::{
    BUFFER_LIFETIME_MS, MAX_NESTED_BUFFERS, Marks, Pending, ResumeBuffer, ReturnCheck, ThreadState,
};
use super::turn::Turn;
use super::types::{
    ContinuityOutcome, DeliveryHint, Directive, Fate, FateReason, PendingState, ResumePolicy,
    TtsControl,
};
use crate::event::Text;
use crate::time::Timestamp;

/// What a row of the table decides.
pub(super) struct Draft<'a> {
    pub(super) turn: Turn<'a>,
    /// The marks before the turn, what expired taken out.
    pub(super) before: Marks,
    /// The remainders as they are by now.
    buffers: Vec<ResumeBuffer>,
    pub(super) after: Marks,
    remainders: Vec<Remainder>,
    pub(super) tts_control: Option<TtsControl>,
    outcome: Option<ContinuityOutcome>,
    policy: Option<ResumePolicy>,
    /// What was pending was answered, so nothing of it is given up.
    is_answered: bool,
}

/// From when on something that begins now is gone.
pub(super) fn expires_at(at: Timestamp) -> Timestamp {
    let lifetime = BUFFER_LIFETIME_MS.saturating_mul(1_000_000);
    Timestamp::from_nanoseconds(at.nanoseconds().saturating_add(lifetime))
}

impl<'a> Draft<'a> {
    /// Every row that answers stamps the subject and the speaker, and notes that somebody spoke.
    pub(super) fn new(state: ThreadState, turn: Turn<'a>) -> Self {
        let after = Marks {
            active_subject_ref: Some(turn.request.subject_ref.clone()),
            active_speaker_user_id: Some(turn.request.active_speaker_user_id.clone()),
            active_session_id: turn.session_id.map(Text::from),
            return_check_lapsed: false,
            // A late relation is no mistake once; a late answer does not use that up.
            buffer_lapsed: state.marks.buffer_lapsed
                && turn.request.interrupt_subject_relation.is_none(),
            ..state.marks.clone()
        };
        Self {
            turn,
            before: state.marks,
            buffers: state.resume_buffers,
            after,
            remainders: Vec::new(),
            tts_control: None,
            outcome: None,
            policy: None,
            is_answered: false,
        }
    }

    /// Nobody was answered: whoever spoke is as much a stranger as before, and the subject has not
    /// changed. Else what waits for one speaker's yes would pass to another.
    pub(super) fn leave_unspoken(&mut self) {
        let Marks { active_subject_ref, active_speaker_user_id, active_session_id, .. } =
            &self.before;
        if active_speaker_user_id.is_some() {
            self.after.active_speaker_user_id.clone_from(active_speaker_user_id);
            self.after.active_session_id.clone_from(active_session_id);
        }
        if active_subject_ref.is_some() {
            self.after.active_subject_ref.clone_from(active_subject_ref);
        }
        self.after.return_check_lapsed = self.before.return_check_lapsed;
        self.after.buffer_lapsed = self.before.buffer_lapsed;
    }

    pub(super) fn speaker(&self) -> &'a str {
        &self.turn.request.active_speaker_user_id
    }

    /// The newest remainder that this speaker may hear.
    pub(super) fn live(&self) -> Option<&ResumeBuffer> {
        let speaker = self.speaker();
        self.buffers.iter().rev().find(|buffer| buffer.speaker_user_id.as_str() == speaker)
    }

    /// The remainder that a question is about, where this speaker may hear it.
    pub(super) fn asked_about(&self) -> Option<u64> {
        let asked = self.before.return_check?.captured_turn;
        let speaker = self.speaker();
        let is_it = |buffer: &&ResumeBuffer| {
            buffer.captured_turn == asked && buffer.speaker_user_id.as_str() == speaker
        };
        self.buffers.iter().find(is_it).map(|buffer| buffer.captured_turn)
    }

    /// Keeps what an interruption left unsaid, or says why it is given up.
    pub(super) fn capture(&mut self, buffer: ResumeBuffer, given_up: Option<FateReason>) {
        if let Some(reason) = given_up {
            self.remainders.push(told(&buffer, Fate::Discarded, reason));
            self.policy = Some(ResumePolicy::Discard);
            return;
        }
        if self.buffers.len() >= MAX_NESTED_BUFFERS && !self.buffers.is_empty() {
            let oldest = self.buffers.remove(0);
            self.remainders.push(told(&oldest, Fate::Discarded, FateReason::NestingLimit));
        }
        self.remainders.push(told(&buffer, Fate::Captured, FateReason::Interrupted));
        self.buffers.push(buffer);
    }

    /// Takes out the newest remainder of this speaker, or the one of a turn; its words.
    pub(super) fn release(
        &mut self,
        captured_turn: Option<u64>,
        fate: Fate,
        reason: FateReason,
    ) -> Option<Text> {
        let wanted = captured_turn.or_else(|| self.live().map(|buffer| buffer.captured_turn))?;
        let speaker = self.speaker();
        let is_it = |buffer: &ResumeBuffer| {
            buffer.captured_turn == wanted && buffer.speaker_user_id.as_str() == speaker
        };
        let place = self.buffers.iter().rposition(is_it)?;
        let buffer = self.buffers.remove(place);
        self.remainders.push(told(&buffer, fate, reason));
        self.policy = Some(fate.policy());
        if self.after.return_check.is_none_or(|check| check.captured_turn == wanted) {
            self.after.return_check = None;
        }
        self.after.interrupted_subject_ref =
            self.live().map(|buffer| buffer.interrupted_subject_ref.clone());
        Some(buffer.unsaid_remainder)
    }

    /// The newest remainder of this speaker stays, and the row says so.
    pub(super) fn keep_for_later(&mut self, reason: FateReason) {
        let Some(buffer) = self.live() else { return };
        let kept = told(buffer, Fate::KeptForLater, reason);
        self.remainders.push(kept);
        self.policy = Some(ResumePolicy::ResumeLater);
    }

    /// It is asked whether to go back.
    pub(super) fn ask_return(&mut self) {
        self.keep_for_later(FateReason::ReturnCheckAsked);
        let expires_at = expires_at(self.turn.at);
        let captured_turn = self.live().map(|buffer| buffer.captured_turn);
        self.after.return_check =
            captured_turn.map(|captured_turn| ReturnCheck { captured_turn, expires_at });
        let subject = self.live().map(|buffer| buffer.interrupted_subject_ref.clone());
        let kept = self.before.interrupted_subject_ref.clone();
        self.after.interrupted_subject_ref = kept.or(subject);
    }

    pub(super) fn set_outcome(&mut self, outcome: ContinuityOutcome) {
        self.outcome = Some(outcome);
    }

    /// What was pending was answered in this turn.
    pub(super) fn answered(&mut self) {
        self.is_answered = true;
        self.after.pending = None;
    }

    /// How often in a row a question was asked, this time included: 1 to 10.
    pub(super) fn attempts(&self, is_same: impl FnOnce(&Pending) -> Option<u8>) -> u8 {
        let before = self.before.pending.as_ref().and_then(is_same).unwrap_or(0);
        before.saturating_add(1).min(10)
    }

    /// Waits for an answer to a question.
    pub(super) fn await_clarify(&mut self, missing: &str) {
        let attempts = self.attempts(|pending| match pending {
            Pending::Clarify { missing_field, attempts } if missing_field.as_str() == missing => {
                Some(*attempts)
            }
            _ => None,
        });
        self.after.pending = Some(Pending::Clarify { missing_field: missing.into(), attempts });
    }

    /// The whole decision.
    pub(super) fn decided(
        self,
        directive: Directive,
        reason_code: ReasonCode,
        kind: &str,
    ) -> TurnDecision {
        let is_silent = directive == Directive::Wait;
        TurnDecision {
            directive,
            reason_code,
            interrupt_continuity_outcome: self.outcome,
            interrupt_resume_policy: self.policy,
            tts_control: self.tts_control,
            delivery_hint: if is_silent {
                DeliveryHint::Silent
            } else {
                DeliveryHint::AudibleAndText
            },
            kind: kind.into(),
            response_text: None,
            clarify: None,
            dispatch: None,
            dropped_pending: self.dropped_pending(),
            remainders: self.remainders.into_iter().collect(),
            after: self.after,
        }
    }

    pub(super) fn respond(self, reason: ReasonCode, kind: &str, text: String) -> TurnDecision {
        let decision = self.decided(Directive::Respond, reason, kind);
        TurnDecision { response_text: Some(text.into()), ..decision }
    }

    pub(super) fn clarify(self, reason: ReasonCode, clarify: Clarify) -> TurnDecision {
        let decision = self.decided(Directive::Clarify, reason, &clarify.what_is_missing);
        TurnDecision { clarify: Some(clarify), ..decision }
    }

    pub(super) fn dispatch(self, reason: ReasonCode, dispatch: Dispatch) -> TurnDecision {
        let decision = self.decided(Directive::Dispatch, reason, dispatch.kind.name());
        TurnDecision { dispatch: Some(dispatch), ..decision }
    }

    /// What the thread waited for and will not get any more. A clarifying question is answered by
    /// whatever is said next.
    fn dropped_pending(&self) -> Option<PendingState> {
        let before = self.before.pending.as_ref()?.state();
        let after = self.after.pending.as_ref().map(Pending::state);
        let is_given_up =
            !self.is_answered && before != PendingState::Clarify && after != Some(before);
        is_given_up.then_some(before)
    }
}

pub(super) fn told(buffer: &ResumeBuffer, fate: Fate, reason: FateReason) -> Remainder {
    Remainder {
        captured_turn: buffer.captured_turn,
        answer_id: buffer.answer_id,
        speaker_user_id: buffer.speaker_user_id.clone(),
        fate,
        reason,
    }
}
