//! What comes of a recorded turn here, and in what that differs from the record.

use std::collections::BTreeSet;

use holdpoint_domain::interruption_thread::{
    Clarify, Marks, Pending, ResumeBuffer, ThreadState, TurnDecision,
};
use serde_json::{Value, json};

use crate::ph1x_decode::request_id;

/// How the reference asks whether to go back.
const RETURN_CHECK: &str = "Do you still want to continue the previous topic?";

/// A part of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Aspect {
    Refusal,
    Directive,
    ReasonCode,
    Outcome,
    Policy,
    TtsControl,
    DeliveryHint,
    Clarify,
    Dispatch,
    ResponseText,
    ResumeBuffer,
    InterruptedSubject,
    ReturnCheck,
    ReturnCheckExpiry,
    ActiveSubject,
    ActiveSpeaker,
    Pending,
}

/// What comes of a turn.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time, in a test")]
pub(crate) enum TurnAnswer {
    /// A decision, the words whose expiry is told before it, by turn, and the state after it.
    Decided {
        before: ThreadState,
        expired: Vec<u64>,
        decision: Box<TurnDecision>,
        after: ThreadState,
    },
    /// A refusal, by a rule or by a type.
    Refused(String),
}

impl TurnAnswer {
    /// The decision, where there is one.
    pub(crate) fn decision(&self) -> Option<&TurnDecision> {
        match self {
            Self::Decided { decision, .. } => Some(decision),
            Self::Refused(_) => None,
        }
    }

    /// The reason code's name, where there is one.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        self.decision().map(|decision| decision.reason_code.name())
    }

    /// Whether every remainder from before is still kept or is named with what became of it.
    pub(crate) fn accounts_for_all(&self) -> bool {
        let Self::Decided { before, expired, decision, after } = self else { return true };
        let is_kept = |buffer: &ResumeBuffer| after.resume_buffers.contains(buffer);
        let is_named = |buffer: &ResumeBuffer| {
            let named = decision.remainders.iter().map(|named| named.captured_turn);
            named.chain(expired.iter().copied()).any(|turn| turn == buffer.captured_turn)
        };
        before.resume_buffers.iter().all(|buffer| is_kept(buffer) || is_named(buffer))
    }
}

/// In what an answer differs from the recorded one.
pub(crate) fn differences(expect: &Value, answer: &TurnAnswer) -> BTreeSet<Aspect> {
    let is_refused = expect["status"] != "OK";
    match answer {
        TurnAnswer::Refused(_) if is_refused => BTreeSet::new(),
        TurnAnswer::Decided { decision, after, .. } if !is_refused => {
            let said = of_decision(expect, decision);
            let known = of_state(&expect["state_after"], after);
            said.into_iter().chain(known).filter(|(_, same)| !same).map(|(a, _)| a).collect()
        }
        _ => BTreeSet::from([Aspect::Refusal]),
    }
}

/// Whether an answer is what the seed, read literally, wants: only the keys that are there count.
pub(crate) fn is_as_the_seed_wants(wanted: &Value, answer: &TurnAnswer) -> bool {
    let Some(wanted) = wanted.as_object() else { return false };
    wanted.iter().all(|(key, value)| match (key.as_str(), answer.decision()) {
        ("no_silent_discard", _) => answer.accounts_for_all(),
        ("fail_closed", decision) => decision.is_none(),
        ("directive", Some(decision)) => *value == json!(decision.directive),
        ("reason_code", Some(decision)) => *value == json!(decision.reason_code),
        ("interrupt_continuity_outcome", Some(decision)) => {
            *value == json!(decision.interrupt_continuity_outcome)
        }
        ("interrupt_resume_policy", Some(decision)) => {
            *value == json!(decision.interrupt_resume_policy)
        }
        _ => false,
    })
}

fn of_decision(expect: &Value, ours: &TurnDecision) -> [(Aspect, bool); 9] {
    [
        (Aspect::Directive, expect["directive"] == json!(ours.directive)),
        (Aspect::ReasonCode, expect["reason_code"] == json!(ours.reason_code)),
        (
            Aspect::Outcome,
            expect["interrupt_continuity_outcome"] == json!(ours.interrupt_continuity_outcome),
        ),
        (Aspect::Policy, expect["interrupt_resume_policy"] == json!(ours.interrupt_resume_policy)),
        (Aspect::TtsControl, expect["tts_control"] == json!(ours.tts_control)),
        (Aspect::DeliveryHint, expect["delivery_hint"] == json!(ours.delivery_hint)),
        (Aspect::Clarify, is_clarify(expect.get("clarify"), ours.clarify.as_ref())),
        (
            Aspect::Dispatch,
            expect.get("dispatch_kind").unwrap_or(&Value::Null)
                == &json!(ours.dispatch.as_ref().map(|dispatch| dispatch.kind)),
        ),
        (Aspect::ResponseText, is_said(expect, ours.response_text.as_deref())),
    ]
}

/// One bounded line; the wording is free.
fn is_clarify(expect: Option<&Value>, ours: Option<&Clarify>) -> bool {
    match (expect, ours) {
        (None, None) => true,
        (Some(expect), Some(ours)) => {
            let formats = json!(ours.accepted_answer_formats.len());
            is_bounded(ours)
                && expect["accepted_answer_formats_count"] == formats
                && expect["what_is_missing"] == json!([ours.what_is_missing])
        }
        _ => false,
    }
}

/// One line of at most 240 characters.
pub(crate) fn is_bounded(clarify: &Clarify) -> bool {
    let question = clarify.question.as_str();
    (1..=240).contains(&question.chars().count()) && !question.chars().any(char::is_control)
}

fn is_said(expect: &Value, ours: Option<&str>) -> bool {
    let said = ours.unwrap_or_default();
    let parts = expect.get("response_text_contains").and_then(Value::as_array);
    let parts = parts.map(Vec::as_slice).unwrap_or_default();
    let asked = expect.get("return_check_question_count").and_then(Value::as_u64);
    parts.iter().all(|part| part.as_str().is_some_and(|part| said.contains(part)))
        && asked.is_none_or(|count| said.matches(RETURN_CHECK).count() as u64 == count)
}

fn of_state(expect: &Value, ours: &ThreadState) -> [(Aspect, bool); 7] {
    let Marks { return_check, .. } = ours.marks;
    let expires_at = return_check.map(|check| check.expires_at.nanoseconds());
    [
        (
            Aspect::ResumeBuffer,
            expect["resume_buffer"] == json!(ours.resume_buffers.last().map(buffer_shape)),
        ),
        (
            Aspect::InterruptedSubject,
            expect["interrupted_subject_ref"] == json!(ours.marks.interrupted_subject_ref),
        ),
        (Aspect::ReturnCheck, expect["return_check_pending"] == json!(return_check.is_some())),
        (Aspect::ReturnCheckExpiry, expect["return_check_expires_at"] == json!(expires_at)),
        (
            Aspect::ActiveSubject,
            expect["active_subject_ref"] == json!(ours.marks.active_subject_ref),
        ),
        (
            Aspect::ActiveSpeaker,
            expect["active_speaker_user_id"] == json!(ours.marks.active_speaker_user_id),
        ),
        (Aspect::Pending, is_pending(&expect["pending"], ours.marks.pending.as_ref())),
    ]
}

/// Whether a thread is in the recorded state, as far as the record says one.
pub(crate) fn is_in(recorded: &Value, ours: &ThreadState) -> bool {
    let kept = usize::from(!recorded["resume_buffer"].is_null());
    ours.resume_buffers.len() == kept && of_state(recorded, ours).iter().all(|(_, same)| *same)
}

/// A remainder in the shape of the vectors.
fn buffer_shape(buffer: &ResumeBuffer) -> Value {
    json!({
        "answer_id": buffer.answer_id,
        "topic_hint": buffer.topic_hint,
        "spoken_prefix": buffer.spoken_prefix,
        "unsaid_remainder": buffer.unsaid_remainder,
        "expires_at": buffer.expires_at.nanoseconds(),
    })
}

/// The ids of tool requests are ours to make; text that is put off is not compared where the
/// record does not say it.
fn is_pending(expect: &Value, ours: Option<&Pending>) -> bool {
    let Some(ours) = ours else { return expect.is_null() };
    let attempts = |attempts: &u8| expect["attempts"] == json!(attempts);
    expect["kind"] == json!(ours.state())
        && match ours {
            Pending::Clarify { missing_field, attempts: n } => {
                expect["missing_field"] == json!(missing_field) && attempts(n)
            }
            Pending::Confirm { intent_type, attempts: n } => {
                expect["intent_type"] == json!(intent_type) && attempts(n)
            }
            Pending::MemoryPermission { attempts: n, .. } | Pending::StepUp { attempts: n } => {
                attempts(n)
            }
            Pending::Tool { request_id: id, attempts: n } => {
                let recorded = request_id(expect).unwrap_or_default();
                attempts(n) && (recorded.starts_with("opaque-") || recorded == id.as_str())
            }
        }
}
