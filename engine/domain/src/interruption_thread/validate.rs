//! The request contract: every field that breaks it is refused by name, and nothing is decided.
//!
//! Bounds are in bytes of UTF-8, as the reference's, unless they say characters. A text that is
//! said is blank by [`is_blank`]: one of invisible characters alone is not. A name, what a snapshot
//! leaves unsaid, and a new explanation need a character that can be seen.

use alloc::string::ToString as _;

use crate::core::confidence::HIGH_BAND_MIN;
use crate::core::refusal::{Malformed, check_name, malformed, quoted, require};
use crate::core::text::{has_visible_character, hidden_character, is_blank, is_readable};
use crate::core::time::Timestamp;
use crate::interruption_thread::branch::SAID_BYTES_MAX;
use crate::interruption_thread::decision::{Pending, ThreadState};
use crate::interruption_thread::draft::check_handoff;
use crate::interruption_thread::refusal::ThreadRefusal;
use crate::interruption_thread::request::{
    Advice, Interruption, TtsResumeSnapshot, TurnInput, TurnRequest,
};
use crate::interruption_thread::turn::Turn;
use crate::interruption_thread::types::{ConfidenceBand, ReasonCode, RiskContextClass};

/// Oldest snapshot that may be resumed from: 5 s, inclusive.
const SNAPSHOT_AGE_MAX_NS: u64 = 5_000_000_000;

/// Longest window of voice, in milliseconds.
const VOICED_WINDOW_MAX_MS: u32 = 10_000;

/// Longest text that is said, in bytes.
const TEXT_MAX: usize = 32_768;

/// Longest clarifying question, in characters.
const QUESTION_MAX: usize = 240;

type Checked = Result<(), Malformed>;

/// Result of the check whether what the thread knows, and the time, let a turn be.
type Fitting = Result<(), ThreadRefusal>;

/// Refuses what does not fit the thread with a reason code of its own.
fn fits(
    holds: bool,
    reason_code: ReasonCode,
    field: &'static str,
    expected: &str,
    found: impl core::fmt::Display,
) -> Fitting {
    if holds {
        return Ok(());
    }
    let (expected, found) = (expected.to_string(), found.to_string());
    Err(ThreadRefusal::Barred { reason_code, field, expected, found })
}

/// A text that may be said: not blank, not over its bound, no control but line breaks and tabs.
fn check_text(field: &'static str, text: &str) -> Checked {
    let expected = "1 to 32768 bytes of text, not blank, without control characters";
    require(text.len() <= TEXT_MAX && is_plain(text), field, expected, quoted(text))
}

/// Not blank, and no control but line breaks and tabs.
fn is_plain(text: &str) -> bool {
    let is_plain = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    !is_blank(text) && text.chars().all(is_plain)
}

/// The whole contract, whether or not what has expired is still in the state.
pub(crate) fn check_request(state: &ThreadState, turn: &Turn<'_>) -> Fitting {
    require(turn.turn_id > 0, "turn_id", "a number above 0", turn.turn_id)?;
    check_form(turn.request)?;
    check_fit(state, turn)
}

/// Returns what of the contract depends on the thread and on the time: whoever breaks that told
/// what was said, and is answered by a row.
pub(crate) fn check_fit(state: &ThreadState, turn: &Turn<'_>) -> Fitting {
    let request = turn.request;
    check_tool(state, &request.input)?;
    check_relation(state, request)?;
    check_timing(request, turn.at)?;
    check_answer(state, request)
}

/// Returns what of the contract depends on the request alone.
pub(crate) fn check_form(request: &TurnRequest) -> Checked {
    let expected = "1 to 256 bytes, visible, without control characters";
    check_name("request.subject_ref", &request.subject_ref, 256, expected)?;
    let expected = "1 to 128 bytes, visible, without control characters";
    let speaker = &request.active_speaker_user_id;
    check_name("request.active_speaker_user_id", speaker, 128, expected)?;
    check_signals(request)?;
    check_input(&request.input)?;
    if let Some(interruption) = &request.interruption {
        check_interruption(interruption)?;
    }
    let relation = request.interrupt_subject_relation;
    let confidence = request.interrupt_subject_relation_confidence_bp;
    let field = "request.interrupt_subject_relation_confidence_bp";
    let paired = relation.is_some() == confidence.is_some();
    require(paired, field, "exactly where the relation is", "one without the other")?;
    check_snapshot(request)?;
    check_advice(request)
}

/// Something was said; and an answer is an answer and nothing else.
fn check_signals(request: &TurnRequest) -> Checked {
    let has_input = request.input != TurnInput::None;
    let has_answer = request.confirm_answer.is_some();
    let is_interruption = request.interruption.is_some();
    let some = has_input || has_answer || is_interruption;
    require(some, "request", "an input, an answer or an interruption", "none of them")?;
    let alone = !has_answer || !(has_input || is_interruption);
    require(alone, "request.confirm_answer", "an answer and nothing besides", "more")
}

fn check_input(input: &TurnInput) -> Checked {
    match input {
        TurnInput::None => Ok(()),
        TurnInput::Chat { response_text } => {
            check_text("request.input.CHAT.response_text", response_text)
        }
        TurnInput::Intent { intent_type, .. } => {
            check_short("request.input.INTENT.intent_type", intent_type)
        }
        TurnInput::NlpClarify { question, accepted_answer_formats, missing_fields } => {
            check_question(question)?;
            check_formats(accepted_answer_formats)?;
            check_missing(missing_fields)
        }
        TurnInput::ToolResponse { request_id, response_text, .. } => {
            let expected = "1 to 128 bytes, visible, without control characters";
            check_name("request.input.TOOL_RESPONSE.request_id", request_id, 128, expected)?;
            check_text("request.input.TOOL_RESPONSE.response_text", response_text)
        }
        TurnInput::LastFailure { response_text } => {
            check_text("request.input.LAST_FAILURE.response_text", response_text)
        }
    }
}

fn check_short(field: &'static str, text: &str) -> Checked {
    check_name(field, text, 64, "1 to 64 bytes, visible, without control characters")
}

fn check_question(question: &str) -> Checked {
    let holds = !is_blank(question)
        && question.chars().count() <= QUESTION_MAX
        && hidden_character(question).is_none();
    let expected = "one line of 1 to 240 characters, without control characters";
    require(holds, "request.input.NLP_CLARIFY.question", expected, quoted(question))
}

fn check_formats(formats: &[crate::core::payload::Text]) -> Checked {
    let field = "request.input.NLP_CLARIFY.accepted_answer_formats";
    require((2..=3).contains(&formats.len()), field, "2 or 3 formats", formats.len())?;
    let expected = "1 to 128 bytes each, visible, without control characters";
    formats.iter().try_for_each(|format| check_name(field, format, 128, expected))
}

fn check_missing(missing: &[crate::core::payload::Text]) -> Checked {
    let field = "request.input.NLP_CLARIFY.missing_fields";
    require(!missing.is_empty(), field, "1 to 16 names", "none")?;
    missing.iter().try_for_each(|name| check_short(field, name))
}

/// A tool answers what it was asked.
fn check_tool(state: &ThreadState, input: &TurnInput) -> Fitting {
    let TurnInput::ToolResponse { request_id: found, .. } = input else { return Ok(()) };
    let field = "request.input.TOOL_RESPONSE.request_id";
    let expected = "the request that the thread waits for";
    let holds = matches!(
        &state.marks.pending, Some(Pending::Tool { request_id, .. }) if request_id == found
    );
    fits(holds, ReasonCode::FailPendingStateInvalid, field, expected, quoted(found))
}

fn check_interruption(interruption: &Interruption) -> Checked {
    let of = interruption;
    let field = "request.interruption.trigger_phrase_id";
    let same = of.trigger_phrase_id == of.phrase_id && of.phrase_id > 0;
    require(same, field, "the phrase_id, above 0", of.trigger_phrase_id)?;
    let field = "request.interruption.phrase_set_version";
    require(of.phrase_set_version > 0, field, "a number above 0", of.phrase_set_version)?;
    let expected = "1 to 128 bytes, visible, without control characters";
    check_name("request.interruption.phrase_text", &of.phrase_text, 128, expected)?;
    check_locale("request.interruption.trigger_locale", &of.trigger_locale)?;
    check_window(of)?;
    check_confidences(of)?;
    let is_high = of.candidate_confidence_band == ConfidenceBand::High;
    let holds = !is_high || of.phrase_confidence_bp >= HIGH_BAND_MIN;
    let field = "request.interruption.candidate_confidence_band";
    require(holds, field, "HIGH from a phrase confidence of 0.90 on", of.phrase_confidence_bp)?;
    let is_low = of.risk_context_class == RiskContextClass::Low;
    let holds = !(is_low && of.degradation_context.is_degraded());
    let field = "request.interruption.risk_context_class";
    require(holds, field, "GUARDED or HIGH while anything is degraded", "LOW")
}

/// 1 to 32 of the characters that names of languages have.
pub(crate) fn check_locale(field: &'static str, locale: &str) -> Checked {
    let is_of_one = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
    let holds = (1..=32).contains(&locale.len()) && locale.bytes().all(is_of_one);
    require(holds, field, "1 to 32 of A-Z a-z 0-9 _ -", quoted(locale))
}

fn check_window(of: &Interruption) -> Checked {
    let (start, end) = (of.timing_markers.window_start, of.timing_markers.window_end);
    let field = "request.interruption.timing_markers.window_start";
    require(start <= end, field, "not after window_end", start)?;
    let field = "request.interruption.timing_markers.window_end";
    require(end == of.t_event, field, "exactly t_event", end)?;
    let voiced = of.speech_window_metrics.voiced_window_ms;
    let field = "request.interruption.speech_window_metrics.voiced_window_ms";
    let holds = (1..=VOICED_WINDOW_MAX_MS).contains(&voiced);
    require(holds, field, "1 to 10000 milliseconds", voiced)?;
    let holds = end.saturating_sub(start) <= u64::from(voiced) * 1_000_000;
    require(holds, field, "at least as long as the window", voiced)
}

/// The bundle says what the gates say, exactly.
fn check_confidences(of: &Interruption) -> Checked {
    let (gates, bundle) = (&of.gate_confidences, &of.subject_relation_confidence_bundle);
    let field = "request.interruption.subject_relation_confidence_bundle";
    let agree = |name: &'static str, same: bool| {
        require(same, field, "the gates' own confidences", format_args!("another {name}"))
    };
    agree("lexical", bundle.lexical_bp == gates.phrase_bp)?;
    agree("lexical", bundle.lexical_bp == of.phrase_confidence_bp)?;
    agree("vad", bundle.vad_bp == gates.vad_bp)?;
    agree("speech_likeness", bundle.speech_likeness_bp == gates.speech_likeness_bp)?;
    agree("echo_safe", bundle.echo_safe_bp == gates.echo_safe_bp)?;
    agree("nearfield", bundle.nearfield_bp == gates.nearfield_bp)
}

/// A relation needs an interruption in its turn, or words left unsaid, also where they expired and
/// nobody has spoken since.
fn check_relation(state: &ThreadState, request: &TurnRequest) -> Fitting {
    let relation = request.interrupt_subject_relation;
    let is_active = request.interruption.is_some()
        || !state.resume_buffers.is_empty()
        || state.marks.buffer_lapsed;
    let field = "request.interrupt_subject_relation";
    let expected = "none while nothing was interrupted";
    let (holds, found) = (relation.is_none() || is_active, relation.map_or("", |r| r.name()));
    fits(holds, ReasonCode::FailRelationInvalid, field, expected, found)
}

fn check_snapshot(request: &TurnRequest) -> Checked {
    match (&request.tts_resume_snapshot, &request.interruption) {
        (None, _) => Ok(()),
        (Some(snapshot), Some(_)) => check_snapshot_text(snapshot),
        (Some(_), None) => {
            let field = "request.tts_resume_snapshot";
            Err(malformed(field, "none without an interruption", "one"))
        }
    }
}

/// A snapshot is of an interruption that happened just now.
fn check_timing(request: &TurnRequest, at: Timestamp) -> Fitting {
    let (Some(_), Some(interruption)) = (&request.tts_resume_snapshot, &request.interruption)
    else {
        return Ok(());
    };
    let (now, stale) = (at.nanoseconds(), ReasonCode::FailSnapshotStale);
    let (field, happened) = ("request.interruption.t_event", interruption.t_event);
    fits(happened <= now, stale, field, "not after the turn", happened)?;
    let age = now.saturating_sub(interruption.t_event);
    let field = "request.tts_resume_snapshot";
    let expected = "an interruption of at most 5 s ago";
    fits(age <= SNAPSHOT_AGE_MAX_NS, stale, field, expected, format_args!("{age} ns"))
}

fn check_snapshot_text(snapshot: &TtsResumeSnapshot) -> Checked {
    let id = snapshot.answer_id;
    require(id > 0, "request.tts_resume_snapshot.answer_id", "a number above 0", id)?;
    if let Some(hint) = &snapshot.topic_hint {
        check_short("request.tts_resume_snapshot.topic_hint", hint)?;
    }
    let text = &snapshot.response_text;
    let field = "request.tts_resume_snapshot.response_text";
    let expected = "1 to 65536 bytes of text, not blank, without control characters";
    require(text.len() <= SAID_BYTES_MAX && is_plain(text), field, expected, quoted(text))?;
    let field = "request.tts_resume_snapshot.spoken_cursor_byte";
    let cursor = snapshot.spoken_cursor_byte;
    let rest = usize::try_from(cursor).ok().and_then(|cursor| text.get(cursor..));
    let expected = "a place between two characters, with words behind it";
    require(rest.is_some_and(has_visible_character), field, expected, cursor)
}

/// A yes or no answers something: what expired since counts, so that a late answer is told so.
fn check_answer(state: &ThreadState, request: &TurnRequest) -> Fitting {
    let Some(answer) = request.confirm_answer else { return Ok(()) };
    let marks = &state.marks;
    let is_asked =
        matches!(marks.pending, Some(Pending::Confirm { .. } | Pending::MemoryPermission { .. }));
    let holds = is_asked || marks.return_check.is_some() || marks.return_check_lapsed;
    let (field, expected) = ("request.confirm_answer", "none while nothing was asked");
    fits(holds, ReasonCode::ConfirmAnswerInvalid, field, expected, answer)
}

/// Checks that a reader finds something in a new explanation. What was recorded before this was
/// asked for is not judged by it.
pub(crate) fn check_new_explanation(request: &TurnRequest) -> Checked {
    let explain = request.advice.explain.as_ref();
    explain.map_or(Ok(()), |explain| check_explanation(&explain.text, is_readable))
}

fn check_explanation(text: &str, is_one: fn(&str) -> bool) -> Checked {
    let field = "request.advice.explain.text";
    let expected = "1 to 2048 bytes of visible text, without control characters";
    require(text.len() <= 2_048 && is_one(text), field, expected, quoted(text))
}

fn check_advice(request: &TurnRequest) -> Checked {
    let Advice { prune_selected_missing_field, interrupt_handoff, emo_guide, persona, explain } =
        &request.advice;
    if let Some(field) = prune_selected_missing_field {
        check_short("request.advice.prune_selected_missing_field", field)?;
    }
    if let Some(style) = emo_guide {
        check_short("request.advice.emo_guide.profile", &style.profile)?;
    }
    if let Some(style) = persona {
        check_short("request.advice.persona.profile", &style.profile)?;
    }
    if let Some(explain) = explain {
        check_explanation(&explain.text, is_plain)?;
    }
    match (interrupt_handoff, &request.interruption) {
        (None, _) => Ok(()),
        (Some(handoff), Some(interruption)) => check_handoff(interruption, handoff),
        (Some(_), None) => {
            let field = "request.advice.interrupt_handoff";
            Err(malformed(field, "none without an interruption", "one"))
        }
    }
}
