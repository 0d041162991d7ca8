//! A turn's decision in the making: every row of the table begins with the same marks.
//!
//! Clarifying questions are one line of at most 240 characters, with 2 or 3 ways to answer and one
//! thing missing. They are made so that no legal input can make one impossible: what is quoted is
//! cut.
//!
//! Of what other engines suggest little is used (seed, "Related Engine Boundary"): it sees neither
//! state nor directive, so it can change none.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Debug;

use crate::core::forbidden::Rules;
use crate::core::payload::{List, Text};
use crate::core::refusal::{Malformed, malformed};
use crate::core::text::{BLANK_CODE_POINTS, visible};
use crate::core::time::Timestamp;
use crate::interruption_thread::decision::{
    BUFFER_LIFETIME_MS, Clarify, Dispatch, Marks, Pending, Remainder, ResumeBuffer, ReturnCheck,
    ThreadState, TurnDecision,
};
use crate::interruption_thread::remainders::{giving_way, is_same};
use crate::interruption_thread::request::{
    Advice, ExplainTrigger, Interruption, Ph1kToPh1xInterruptHandoff, StyleAdvice, ValidationStatus,
};
use crate::interruption_thread::turn::Turn;
use crate::interruption_thread::types::{
    ContinuityOutcome, DeliveryHint, Directive, Fate, FateReason, PendingState, ReasonCode,
    ResumePolicy, TtsControl,
};

/// Decision of a row of the table.
pub(crate) struct Draft<'a> {
    rules: &'a Rules,
    pub(crate) turn: Turn<'a>,
    /// The marks before the turn, what expired taken out.
    pub(crate) before: Marks,
    /// The remainders as they are by now.
    buffers: Vec<ResumeBuffer>,
    pub(crate) after: Marks,
    remainders: Vec<Remainder>,
    pub(crate) tts_control: Option<TtsControl>,
    outcome: Option<ContinuityOutcome>,
    policy: Option<ResumePolicy>,
    /// True if what was pending was answered, so nothing of it is given up.
    is_answered: bool,
}

/// From when on something that begins now is gone.
pub(crate) fn expires_at(at: Timestamp) -> Timestamp {
    let lifetime = BUFFER_LIFETIME_MS.saturating_mul(1_000_000);
    Timestamp::from_nanoseconds(at.nanoseconds().saturating_add(lifetime))
}

impl<'a> Draft<'a> {
    /// Every row that answers stamps the subject and the speaker, and notes that somebody spoke.
    pub(crate) fn new(rules: &'a Rules, state: ThreadState, turn: Turn<'a>) -> Self {
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
            rules,
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
    pub(crate) fn leave_unspoken(&mut self) {
        let Marks { active_subject_ref, active_speaker_user_id, active_session_id, .. } =
            &self.before;
        if active_speaker_user_id.is_some() {
            self.after.active_speaker_user_id.clone_from(active_speaker_user_id);
            self.after.active_session_id.clone_from(active_session_id);
        }
        if active_subject_ref.is_some() || self.rules.marks_stay {
            self.after.active_subject_ref.clone_from(active_subject_ref);
        }
        self.after.return_check_lapsed = self.before.return_check_lapsed;
        self.after.buffer_lapsed = self.before.buffer_lapsed;
    }

    pub(crate) fn speaker(&self) -> &'a str {
        &self.turn.request.active_speaker_user_id
    }

    /// The newest remainder that this speaker may hear.
    pub(crate) fn live(&self) -> Option<&ResumeBuffer> {
        let speaker = self.speaker();
        self.buffers.iter().rev().find(|buffer| buffer.speaker_user_id.as_str() == speaker)
    }

    /// The remainder that a question is about, where this speaker may hear it.
    pub(crate) fn asked_about(&self) -> Option<u64> {
        let asked = self.before.return_check?.captured_turn;
        let speaker = self.speaker();
        let is_it = |buffer: &&ResumeBuffer| {
            buffer.captured_turn == asked && buffer.speaker_user_id.as_str() == speaker
        };
        self.buffers.iter().find(is_it).map(|buffer| buffer.captured_turn)
    }

    /// Keeps what an interruption left unsaid, or says why it is given up.
    pub(crate) fn capture(&mut self, buffer: ResumeBuffer, given_up: Option<FateReason>) {
        if let Some(reason) = given_up {
            // Words that the thread keeps already, of a plan of this turn, are not given up.
            let is_own = |kept: &&ResumeBuffer| {
                kept.captured_turn == buffer.captured_turn && is_same(kept, &buffer)
            };
            if let Some(kept) = self.buffers.iter().find(is_own) {
                self.remainders.push(told(kept, Fate::KeptForLater, FateReason::StillKept));
                self.policy = Some(ResumePolicy::ResumeLater);
                return;
            }
            self.remainders.push(told(&buffer, Fate::Discarded, reason));
            self.policy = Some(ResumePolicy::Discard);
            return;
        }
        if let Some((gone, reason)) = giving_way(&self.buffers, &buffer) {
            self.remainders.push(told(gone, Fate::Discarded, reason));
            let gone = gone.captured_turn;
            self.buffers.retain(|kept| kept.captured_turn != gone);
        }
        self.buffers.retain(|kept| kept.captured_turn != buffer.captured_turn);
        self.remainders.push(told(&buffer, Fate::Captured, FateReason::Interrupted));
        self.buffers.push(buffer);
    }

    /// Takes out the newest remainder of this speaker, or the one of a turn; its words.
    pub(crate) fn release(
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
    pub(crate) fn keep_for_later(&mut self, reason: FateReason) {
        let Some(buffer) = self.live() else { return };
        let kept = told(buffer, Fate::KeptForLater, reason);
        self.remainders.push(kept);
        self.policy = Some(ResumePolicy::ResumeLater);
    }

    /// It is asked whether to go back.
    pub(crate) fn ask_return(&mut self) {
        self.keep_for_later(FateReason::ReturnCheckAsked);
        let expires_at = expires_at(self.turn.at);
        let captured_turn = self.live().map(|buffer| buffer.captured_turn);
        self.after.return_check =
            captured_turn.map(|captured_turn| ReturnCheck { captured_turn, expires_at });
        let subject = self.live().map(|buffer| buffer.interrupted_subject_ref.clone());
        let kept = self.before.interrupted_subject_ref.clone();
        self.after.interrupted_subject_ref = kept.or(subject);
    }

    pub(crate) fn set_outcome(&mut self, outcome: ContinuityOutcome) {
        self.outcome = Some(outcome);
    }

    /// Notes that what was pending was answered in this turn.
    pub(crate) fn answered(&mut self) {
        self.is_answered = true;
        self.after.pending = None;
    }

    /// Counts how often in a row a question was asked, this time included: 1 to 10.
    pub(crate) fn attempts(&self, is_same: impl FnOnce(&Pending) -> Option<u8>) -> u8 {
        let before = self.before.pending.as_ref().and_then(is_same).unwrap_or(0);
        before.saturating_add(1).min(10)
    }

    /// Waits for an answer to a question.
    pub(crate) fn await_clarify(&mut self, missing: &str) {
        let attempts = self.attempts(|pending| {
            let Pending::Clarify { missing_field, attempts } = pending else { return None };
            (missing_field.as_str() == missing).then_some(*attempts)
        });
        self.after.pending = Some(Pending::Clarify { missing_field: missing.into(), attempts });
    }

    /// The whole decision.
    pub(crate) fn decided(
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

    pub(crate) fn respond(self, reason: ReasonCode, kind: &str, text: String) -> TurnDecision {
        let decision = self.decided(Directive::Respond, reason, kind);
        TurnDecision { response_text: Some(text.into()), ..decision }
    }

    pub(crate) fn clarify(self, reason: ReasonCode, clarify: Clarify) -> TurnDecision {
        let decision = self.decided(Directive::Clarify, reason, &clarify.what_is_missing);
        TurnDecision { clarify: Some(clarify), ..decision }
    }

    pub(crate) fn dispatch(self, reason: ReasonCode, dispatch: Dispatch) -> TurnDecision {
        let decision = self.decided(Directive::Dispatch, reason, dispatch.kind.name());
        TurnDecision { dispatch: Some(dispatch), ..decision }
    }

    /// Returns what the thread waited for and will not get any more. A clarifying question is
    /// answered by whatever is said next.
    fn dropped_pending(&self) -> Option<PendingState> {
        let before = self.before.pending.as_ref()?;
        let after = self.after.pending.as_ref();
        let goes_on = after.is_some_and(|after| before.goes_on_in(self.rules, after));
        let waits = before.state();
        let is_given_up = !self.is_answered && waits != PendingState::Clarify && !goes_on;
        is_given_up.then_some(waits)
    }
}

/// Returns what became of words, and why.
pub(crate) fn told(buffer: &ResumeBuffer, fate: Fate, reason: FateReason) -> Remainder {
    Remainder {
        captured_turn: buffer.captured_turn,
        answer_id: buffer.answer_id,
        speaker_user_id: buffer.speaker_user_id.clone(),
        fate,
        reason,
    }
}

/// Longest label inside a question, in characters.
const LABEL_MAX: usize = 72;

/// Missing field: what the words are about.
pub(crate) const TASK: &str = "TASK";

/// Missing field: what the words refer to.
const REFERENCE_TARGET: &str = "REFERENCE_TARGET";

/// It is not clear what an interruption is about.
pub(crate) fn relation_uncertain() -> Clarify {
    fixed(
        "Is this about what I was just saying, or about something else?",
        &["The same topic", "A different topic", "Never mind"],
        TASK,
    )
}

/// Somebody else speaks.
pub(crate) fn speaker_mismatch() -> Clarify {
    fixed(
        "I was talking with someone else. What would you like to talk about?",
        &["A new topic", "The topic, in your own words", "Never mind"],
        REFERENCE_TARGET,
    )
}

/// Somebody else speaks while an answer is waited for.
pub(crate) fn waiting_for_another() -> Clarify {
    fixed(
        "I am waiting for someone else's answer here. Would you like to begin a new conversation?",
        &["A new conversation", "I will wait", "Never mind"],
        REFERENCE_TARGET,
    )
}

/// The subject drifted while something was pending.
pub(crate) fn subject_mismatch(before: &str, now: &str) -> Clarify {
    let question =
        format!("Should we stay with \"{}\" or go on with \"{}\"?", label(before), label(now));
    fixed(&question, &["Stay with the first", "Go on with the second"], REFERENCE_TARGET)
}

/// There is nothing to go on with any more.
pub(crate) fn resume_expired() -> Clarify {
    fixed(
        "I have nothing to go on with. What should I talk about?",
        &["The topic, in your own words", "A new topic", "Never mind"],
        REFERENCE_TARGET,
    )
}

/// A tool found several things. What is sensitive is not quoted.
pub(crate) fn tool_ambiguous(summary: &str, is_sensitive: bool) -> Clarify {
    let found = if is_sensitive { String::new() } else { format!(": {}", label(summary)) };
    let question = format!("I found more than one match{found}. Which one do you mean?");
    fixed(&question, &["The name of one of them", "None of them"], REFERENCE_TARGET)
}

/// An upstream question, which was checked to be one.
pub(crate) fn upstream(question: &Text, formats: &List<Text>, missing: &str) -> Clarify {
    Clarify {
        question: question.clone(),
        accepted_answer_formats: formats.clone(),
        what_is_missing: missing.into(),
    }
}

fn fixed(question: &str, formats: &[&str], missing: &str) -> Clarify {
    Clarify {
        question: question.into(),
        accepted_answer_formats: formats.iter().map(|format| Text::from(*format)).collect(),
        what_is_missing: missing.into(),
    }
}

/// A label as it may be quoted: one line, blanks as one space each, controls visible, cut to
/// [`LABEL_MAX`] characters.
fn label(text: &str) -> String {
    let words: Vec<&str> = text.split(BLANK_CODE_POINTS).filter(|w| !w.is_empty()).collect();
    let shown = visible(&words.join(" ")).to_string();
    if shown.chars().count() <= LABEL_MAX {
        return shown;
    }
    shown.chars().take(LABEL_MAX.saturating_sub(3)).chain("...".chars()).collect()
}

/// Selects the missing field that is asked for: PH1.PRUNE's, where several are missing and it is
/// one of them; else the first (seed, "Related Engine Boundary (`PH1.PRUNE`)"). `None` where none
/// is missing.
#[must_use]
pub fn selected_missing_field<'a>(missing: &'a [Text], advice: &Advice) -> Option<&'a Text> {
    let is_selected = |field: &&Text| advice.prune_selected_missing_field.as_ref() == Some(*field);
    missing.iter().find(is_selected).or_else(|| missing.first())
}

/// Manner in which the words may be said. It says nothing about which words, or whether.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style<'a> {
    /// PH1.EMO.GUIDE's profile, where it was validated.
    pub emo_guide: Option<&'a Text>,
    /// PH1.PERSONA's profile, where it was validated.
    pub persona: Option<&'a Text>,
}

/// The profiles that may be used: those whose `validation_status` is OK (seed, "Related Engine
/// Boundary (`PH1.EMO.GUIDE`)" and "(`PH1.PERSONA`)").
#[must_use]
pub fn style(advice: &Advice) -> Style<'_> {
    Style {
        emo_guide: advice.emo_guide.as_ref().and_then(validated),
        persona: advice.persona.as_ref().and_then(validated),
    }
}

/// PH1.EXPLAIN's words, where the user asked for them, or where an answer accounts for a refusal
/// or a failure (seed, "Related Engine Boundary (`PH1.EXPLAIN`)").
#[must_use]
pub fn explanation(advice: &Advice, reason_code: ReasonCode) -> Option<&Text> {
    let explain = advice.explain.as_ref()?;
    let is_asked_for = match explain.trigger {
        ExplainTrigger::Explicit => true,
        ExplainTrigger::Accountability => is_accounted_for(reason_code),
        ExplainTrigger::None => false,
    };
    is_asked_for.then_some(&explain.text)
}

/// Checks whether PH1.K's handoff speaks of this very interruption: its four fields are those of
/// the interruption (seed, "PH1.K handoff projection lock").
///
/// # Errors
/// [`Malformed`] names the first field that differs.
pub fn check_handoff(
    interruption: &Interruption,
    handoff: &Ph1kToPh1xInterruptHandoff,
) -> Result<(), Malformed> {
    same(
        "request.advice.interrupt_handoff.candidate_confidence_band",
        &interruption.candidate_confidence_band,
        &handoff.candidate_confidence_band,
    )?;
    same(
        "request.advice.interrupt_handoff.gate_confidences",
        &interruption.gate_confidences,
        &handoff.gate_confidences,
    )?;
    same(
        "request.advice.interrupt_handoff.degradation_context",
        &interruption.degradation_context,
        &handoff.degradation_context,
    )?;
    same(
        "request.advice.interrupt_handoff.risk_context_class",
        &interruption.risk_context_class,
        &handoff.risk_context_class,
    )
}

fn validated(style: &StyleAdvice) -> Option<&Text> {
    (style.validation_status == ValidationStatus::Ok).then_some(&style.profile)
}

const fn is_accounted_for(reason_code: ReasonCode) -> bool {
    reason_code.is_refusal()
        || matches!(reason_code, ReasonCode::LastFailure | ReasonCode::ToolFail)
}

fn same<T: PartialEq + Debug>(
    field: &'static str,
    stated: &T,
    handed_over: &T,
) -> Result<(), Malformed> {
    if stated == handed_over {
        return Ok(());
    }
    let expected = "the same as in the interruption";
    Err(malformed(field, expected, format_args!("{handed_over:?}")))
}

#[cfg(test)]
mod tests {
    use super::{subject_mismatch, tool_ambiguous};

    #[test]
    fn every_question_is_one_short_line_whatever_it_quotes() {
        let hostile = ["a", "\n\r\u{2028}", "\u{202e}", "\"", "\u{10ffff}", "\\"];
        for (one, other) in hostile.iter().flat_map(|a| hostile.iter().map(move |b| (a, b))) {
            for times in [1, 64, 118, 256] {
                let (one, other) = (one.repeat(times), other.repeat(times));
                for clarify in [subject_mismatch(&one, &other), tool_ambiguous(&one, false)] {
                    let question = clarify.question.as_str();
                    assert!(question.chars().count() <= 240, "{question}");
                    assert!(crate::core::text::hidden_character(question).is_none(), "{question}");
                    assert!((2..=3).contains(&clarify.accepted_answer_formats.len()));
                }
            }
        }
    }
}
