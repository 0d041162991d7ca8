//! Requests that are legal, to be changed in one place.

use holdpoint_domain::core::confidence::BasisPoints;
use holdpoint_domain::interruption_thread::{
    Advice, ConfidenceBand, ConfidenceBundle, ConfirmAnswer, DegradationContext, GateConfidences,
    IntentClass, Interruption, RiskContextClass, SpeechWindowMetrics, SubjectRelation,
    TimingMarkers, ToolStatus, TtsResumeSnapshot, TurnInput, TurnRequest,
};

/// So many basis points.
pub fn points(basis_points: u16) -> BasisPoints {
    BasisPoints::new(basis_points).unwrap()
}

/// Nothing but who speaks about what.
pub fn request(speaker: &str, subject: &str, input: TurnInput) -> TurnRequest {
    TurnRequest {
        subject_ref: subject.into(),
        active_speaker_user_id: speaker.into(),
        input,
        confirm_answer: None,
        interruption: None,
        interrupt_subject_relation: None,
        interrupt_subject_relation_confidence_bp: None,
        tts_resume_snapshot: None,
        sensitive_memory_present: false,
        advice: Advice::default(),
    }
}

/// An answer in words.
pub fn chat(text: &str) -> TurnInput {
    TurnInput::Chat { response_text: text.into() }
}

/// An intent of this class.
pub fn intent(class: IntentClass) -> TurnInput {
    TurnInput::Intent { intent_type: class.name().into(), class }
}

/// A question from upstream.
pub fn nlp_clarify() -> TurnInput {
    TurnInput::NlpClarify {
        question: "When?".into(),
        accepted_answer_formats: ["A day".into(), "A time".into()].into_iter().collect(),
        missing_fields: ["WHEN".into()].into_iter().collect(),
    }
}

/// A tool's answer.
pub fn tool(request_id: &str, status: ToolStatus) -> TurnInput {
    TurnInput::ToolResponse {
        request_id: request_id.into(),
        status,
        response_text: "It is noon.".into(),
    }
}

/// What was tried failed.
pub fn failure() -> TurnInput {
    TurnInput::LastFailure { response_text: "That did not work.".into() }
}

/// The same with a relation.
pub fn relating(request: TurnRequest, relation: SubjectRelation, confidence: u16) -> TurnRequest {
    TurnRequest {
        interrupt_subject_relation: Some(relation),
        interrupt_subject_relation_confidence_bp: Some(points(confidence)),
        ..request
    }
}

/// The same with a yes or no.
pub fn answering(request: TurnRequest, answer: ConfirmAnswer) -> TurnRequest {
    TurnRequest { confirm_answer: Some(answer), ..request }
}

/// The same, beginning while this was being said, of which so many bytes were.
pub fn interrupting(request: TurnRequest, at: u64, text: &str, cursor: u32) -> TurnRequest {
    TurnRequest {
        interruption: Some(interruption(at)),
        tts_resume_snapshot: Some(TtsResumeSnapshot {
            answer_id: 42,
            topic_hint: Some("task_status".into()),
            response_text: text.into(),
            spoken_cursor_byte: cursor,
        }),
        ..request
    }
}

/// Somebody began to speak; it ended at `t_event`.
pub fn interruption(t_event: u64) -> Interruption {
    let gates = GateConfidences {
        vad_bp: points(9_000),
        speech_likeness_bp: points(9_000),
        echo_safe_bp: points(9_500),
        phrase_bp: points(9_500),
        nearfield_bp: Some(points(8_000)),
    };
    Interruption {
        phrase_id: 9,
        trigger_phrase_id: 9,
        trigger_locale: "en-US".into(),
        phrase_text: "wait".into(),
        phrase_set_version: 1,
        phrase_confidence_bp: points(9_500),
        candidate_confidence_band: ConfidenceBand::High,
        risk_context_class: RiskContextClass::Low,
        degradation_context: DegradationContext::default(),
        timing_markers: TimingMarkers { window_start: t_event - 200_000_000, window_end: t_event },
        t_event,
        speech_window_metrics: SpeechWindowMetrics { voiced_window_ms: 200 },
        gate_confidences: gates,
        subject_relation_confidence_bundle: ConfidenceBundle {
            lexical_bp: gates.phrase_bp,
            vad_bp: gates.vad_bp,
            speech_likeness_bp: gates.speech_likeness_bp,
            echo_safe_bp: gates.echo_safe_bp,
            nearfield_bp: gates.nearfield_bp,
            combined_bp: points(9_000),
        },
    }
}
