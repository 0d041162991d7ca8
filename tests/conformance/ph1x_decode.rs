//! From the values of the PH1.X vectors to our types.
//!
//! The vectors keep one remainder and not whom it was being said to: it is taken to be the thread's
//! speaker, or the request's where the thread knows none.

use holdpoint_domain::core::confidence::BasisPoints;
use holdpoint_domain::core::text::is_blank;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::interruption_thread::{
    Advice, ConfidenceBand, ConfidenceBundle, ConfirmAnswer, DegradationContext, GateConfidences,
    IntentClass, Interruption, Marks, Pending, ResumeBuffer, ReturnCheck, RiskContextClass,
    SpeechWindowMetrics, SubjectRelation, ThreadState, TimingMarkers, ToolStatus,
    TtsResumeSnapshot, TurnInput, TurnRequest,
};
use holdpoint_domain::registration::SessionStatus;
use serde_json::Value;

use crate::decode::{Decoded, field, text, typed};

/// A tool's words, which the vectors leave out.
pub(crate) const TOOL_TEXT: &str = "The tool has answered.";
/// The words of a failure, which the vectors leave out.
pub(crate) const FAILURE_TEXT: &str = "That did not work.";
/// Text that was put off, where the vectors do not say which.
const DEFERRED_TEXT: &str = "What was put off.";

/// The state before a turn. One that no turn leaves has no place in our types.
pub(crate) fn state(recorded: &Value, request: &Value) -> Decoded<ThreadState> {
    let speaker = name(recorded, "active_speaker_user_id", 128)?;
    let owner = match &speaker {
        Some(speaker) => speaker.clone(),
        None => text(request, "active_speaker_user_id")?.into(),
    };
    let marks = Marks {
        active_subject_ref: name(recorded, "active_subject_ref", 256)?.map(Into::into),
        interrupted_subject_ref: name(recorded, "interrupted_subject_ref", 256)?.map(Into::into),
        return_check: return_check(recorded)?,
        return_check_lapsed: false,
        buffer_lapsed: false,
        active_speaker_user_id: speaker.map(Into::into),
        active_session_id: None,
        pending: pending(field(recorded, "pending")?)?,
    };
    let buffer = field(recorded, "resume_buffer")?;
    let resume_buffers = match buffer {
        Value::Null => Vec::new(),
        buffer => vec![resume_buffer(buffer, &marks, &owner, text(request, "subject_ref")?)?],
    };
    if marks.return_check.is_some() && resume_buffers.is_empty() {
        return Err("return_check_pending without a resume_buffer".into());
    }
    Ok(ThreadState { marks, resume_buffers, said: Vec::new() })
}

/// An optional name: not blank and not over its bound, in bytes.
fn name(of: &Value, field: &str, most: usize) -> Decoded<Option<String>> {
    let found: Option<String> = typed(of, field)?;
    match found {
        Some(name) if is_blank(&name) || name.len() > most => {
            Err(format!("{field} is blank or has more than {most} bytes"))
        }
        found => Ok(found),
    }
}

fn return_check(recorded: &Value) -> Decoded<Option<ReturnCheck>> {
    let is_pending: bool = typed(recorded, "return_check_pending")?;
    let expires_at: Option<u64> = typed(recorded, "return_check_expires_at")?;
    match (is_pending, expires_at) {
        (false, None) => Ok(None),
        (true, Some(at)) if at > 0 && !field(recorded, "interrupted_subject_ref")?.is_null() => {
            let expires_at = Timestamp::from_nanoseconds(at);
            Ok(Some(ReturnCheck { captured_turn: 0, expires_at }))
        }
        _ => Err("return_check_pending and what belongs to it do not fit".into()),
    }
}

fn resume_buffer(
    buffer: &Value,
    marks: &Marks,
    owner: &str,
    subject: &str,
) -> Decoded<ResumeBuffer> {
    let topic_hint = name(buffer, "topic_hint", 64)?;
    let unsaid = text(buffer, "unsaid_remainder")?;
    let expires_at: u64 = typed(buffer, "expires_at")?;
    if is_blank(unsaid) || unsaid.len() > 32_768 || expires_at == 0 {
        return Err("the resume_buffer holds nothing, too much, or for no time".into());
    }
    // As an interruption would have left it: see `ph1x_world.rs`.
    let was = topic_hint.clone().map(Into::into).or(marks.interrupted_subject_ref.clone());
    let was = was.or(marks.active_subject_ref.clone());
    Ok(ResumeBuffer {
        captured_turn: 0,
        speaker_user_id: owner.into(),
        session_id: None,
        answer_id: typed(buffer, "answer_id")?,
        topic_hint: topic_hint.map(Into::into),
        interrupted_subject_ref: was.unwrap_or_else(|| subject.into()),
        spoken_prefix: text(buffer, "spoken_prefix")?.into(),
        unsaid_remainder: unsaid.into(),
        expires_at: Timestamp::from_nanoseconds(expires_at),
    })
}

fn pending(recorded: &Value) -> Decoded<Option<Pending>> {
    if recorded.is_null() {
        return Ok(None);
    }
    let attempts: u8 = typed(recorded, "attempts")?;
    Ok(Some(match text(recorded, "kind")? {
        "CLARIFY" => {
            Pending::Clarify { missing_field: text(recorded, "missing_field")?.into(), attempts }
        }
        "CONFIRM" => {
            Pending::Confirm { intent_type: text(recorded, "intent_type")?.into(), attempts }
        }
        "MEMORY_PERMISSION" => {
            let deferred: Option<String> = typed(recorded, "deferred_response_text")?;
            let deferred_response_text = deferred.as_deref().unwrap_or(DEFERRED_TEXT).into();
            Pending::MemoryPermission { deferred_response_text, resumes_turn: None, attempts }
        }
        "TOOL" => Pending::Tool { request_id: request_id(recorded)?.into(), attempts },
        "STEP_UP" => Pending::StepUp { attempts },
        other => return Err(format!("unknown pending kind {other}")),
    }))
}

/// A number, or a name that is made when a tool is asked.
pub(crate) fn request_id(of: &Value) -> Decoded<String> {
    match field(of, "request_id")? {
        Value::String(name) => Ok(name.clone()),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(format!("request_id is {other}")),
    }
}

/// Where the session is.
pub(crate) fn session_status(request: &Value) -> Decoded<SessionStatus> {
    typed(request, "session_state")
}

/// When the turn is taken.
pub(crate) fn now(request: &Value) -> Decoded<Timestamp> {
    typed(request, "now").map(Timestamp::from_nanoseconds)
}

/// A turn's request.
pub(crate) fn request(recorded: &Value) -> Decoded<TurnRequest> {
    let confidence = field(recorded, "interrupt_subject_relation_confidence")?;
    let interruption = field(recorded, "interruption")?;
    let snapshot = field(recorded, "tts_resume_snapshot")?;
    Ok(TurnRequest {
        subject_ref: text(recorded, "subject_ref")?.into(),
        active_speaker_user_id: text(recorded, "active_speaker_user_id")?.into(),
        input: input(field(recorded, "input")?)?,
        confirm_answer: typed::<Option<ConfirmAnswer>>(recorded, "confirm_answer")?,
        interruption: present(interruption).map(self::interruption).transpose()?,
        interrupt_subject_relation: typed::<Option<SubjectRelation>>(
            recorded,
            "interrupt_subject_relation",
        )?,
        interrupt_subject_relation_confidence_bp: present(confidence).map(points).transpose()?,
        tts_resume_snapshot: present(snapshot).map(self::snapshot).transpose()?,
        sensitive_memory_present: typed(recorded, "sensitive_memory_present")?,
        advice: Advice::default(),
    })
}

fn present(value: &Value) -> Option<&Value> {
    (!value.is_null()).then_some(value)
}

/// A fraction as basis points, rounded down where it is none of them exactly.
fn points(value: &Value) -> Decoded<BasisPoints> {
    let fraction = value.as_f64().ok_or_else(|| format!("{value} is no number"))?;
    let at_most = |points: &u16| f64::from(*points) / 10_000.0 <= fraction;
    let is_one = (0.0..=1.0).contains(&fraction);
    let found = (0..=10_000).rev().find(at_most).filter(|_| is_one);
    found.and_then(|points| BasisPoints::new(points).ok()).ok_or(format!("{fraction}: not 0 to 1"))
}

fn gate(of: &Value, name: &str) -> Decoded<BasisPoints> {
    points(field(of, name)?).map_err(|why| format!("{name}: {why}"))
}

fn nearfield(of: &Value) -> Decoded<Option<BasisPoints>> {
    of.get("nearfield").and_then(present).map(points).transpose()
}

/// Every intent that the vectors have, and what it needs.
fn class(intent_type: &str) -> Decoded<IntentClass> {
    Ok(match intent_type {
        "TIME_QUERY" => IntentClass::ReadOnlyTool,
        "MEMORY_QUERY" => IntentClass::MemoryQuery,
        "SET_REMINDER" => IntentClass::Impactful,
        "CONTINUE" => IntentClass::Continue,
        "MORE_DETAIL" => IntentClass::MoreDetail,
        other => return Err(format!("unknown intent {other}")),
    })
}

fn input(recorded: &Value) -> Decoded<TurnInput> {
    Ok(match text(recorded, "kind")? {
        "NONE" => TurnInput::None,
        "CHAT" => TurnInput::Chat { response_text: text(recorded, "response_text")?.into() },
        "INTENT" => {
            let intent_type = text(recorded, "intent_type")?;
            TurnInput::Intent { class: class(intent_type)?, intent_type: intent_type.into() }
        }
        "NLP_CLARIFY" => TurnInput::NlpClarify {
            question: text(recorded, "question")?.into(),
            accepted_answer_formats: ["A day".into(), "A time".into()].into_iter().collect(),
            missing_fields: [text(recorded, "what_is_missing")?.into()].into_iter().collect(),
        },
        "TOOL_RESPONSE" => TurnInput::ToolResponse {
            request_id: request_id(recorded)?.into(),
            status: ToolStatus::Ok,
            response_text: TOOL_TEXT.into(),
        },
        "LAST_FAILURE" => TurnInput::LastFailure { response_text: FAILURE_TEXT.into() },
        other => return Err(format!("unknown input {other}")),
    })
}

fn snapshot(recorded: &Value) -> Decoded<TtsResumeSnapshot> {
    let times = recorded.get("response_text_repeat").and_then(Value::as_u64).unwrap_or(1);
    let times = usize::try_from(times).map_err(|error| error.to_string())?;
    let topic_hint: Option<String> = typed(recorded, "topic_hint")?;
    Ok(TtsResumeSnapshot {
        answer_id: typed(recorded, "answer_id")?,
        topic_hint: topic_hint.map(Into::into),
        response_text: text(recorded, "response_text")?.repeat(times).into(),
        spoken_cursor_byte: typed(recorded, "spoken_cursor_byte")?,
    })
}

fn interruption(recorded: &Value) -> Decoded<Interruption> {
    let window = field(recorded, "timing_markers")?;
    let gates = field(recorded, "gate_confidences")?;
    let bundle = field(recorded, "subject_relation_confidence_bundle")?;
    Ok(Interruption {
        phrase_id: typed(recorded, "phrase_id")?,
        trigger_phrase_id: typed(recorded, "trigger_phrase_id")?,
        trigger_locale: text(recorded, "trigger_locale")?.into(),
        phrase_text: text(recorded, "phrase_text")?.into(),
        phrase_set_version: typed(recorded, "phrase_set_version")?,
        phrase_confidence_bp: gate(recorded, "phrase_confidence")?,
        candidate_confidence_band: typed::<ConfidenceBand>(recorded, "candidate_confidence_band")?,
        risk_context_class: typed::<RiskContextClass>(recorded, "risk_context_class")?,
        degradation_context: typed::<DegradationContext>(recorded, "degradation_context")?,
        timing_markers: TimingMarkers {
            window_start: typed(window, "window_start")?,
            window_end: typed(window, "window_end")?,
        },
        t_event: typed(recorded, "t_event")?,
        speech_window_metrics: typed::<SpeechWindowMetrics>(recorded, "speech_window_metrics")?,
        gate_confidences: GateConfidences {
            vad_bp: gate(gates, "vad")?,
            speech_likeness_bp: gate(gates, "speech_likeness")?,
            echo_safe_bp: gate(gates, "echo_safe")?,
            phrase_bp: gate(gates, "phrase")?,
            nearfield_bp: nearfield(gates)?,
        },
        subject_relation_confidence_bundle: ConfidenceBundle {
            lexical_bp: gate(bundle, "lexical")?,
            vad_bp: gate(bundle, "vad")?,
            speech_likeness_bp: gate(bundle, "speech_likeness")?,
            echo_safe_bp: gate(bundle, "echo_safe")?,
            nearfield_bp: nearfield(bundle)?,
            combined_bp: gate(bundle, "combined")?,
        },
    })
}
