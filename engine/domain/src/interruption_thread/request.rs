//! Facts that PH1.X is given about a turn: the seed's request contract, field by field.
//!
//! The time of a turn is the time of its record: no field says `now`. Times in a request are
//! nanoseconds since 1970-01-01T00:00:00Z, as the record's.

use serde::{Deserialize, Serialize};

use crate::core::bodies;
use crate::core::confidence::{BasisPoints, scored_bodies};
use crate::core::payload::{List, Text};
use crate::interruption_thread::types::{
    ConfidenceBand, ConfirmAnswer, IntentClass, RiskContextClass, SubjectRelation, ToolStatus,
};

scored_bodies! {
    /// One turn's input.
    #[cfg_attr(feature = "schema", schemars(rename = "TurnRequest"))]
    TurnRequest {
        /// Subject of the turn, 1 to 256 bytes.
        subject_ref: Text,
        /// User who speaks, 1 to 128 bytes: the authenticated user of the turn.
        active_speaker_user_id: Text,
        /// Facts that are known about the turn's content.
        #[serde(default)]
        input: TurnInput,
        /// A yes or no, where one was asked for.
        #[serde(default)]
        confirm_answer: Option<ConfirmAnswer>,
        /// Somebody began to speak while something was being said.
        #[serde(default)]
        interruption: Option<Interruption>,
        /// Relation of the turn to what was interrupted. Allowed only while continuity is active.
        #[serde(default)]
        interrupt_subject_relation: Option<SubjectRelation>,
        /// Confidence in that relation: given exactly where the relation is.
        #[serde(default)]
        interrupt_subject_relation_confidence_bp("interrupt_subject_relation_confidence"):
            Option<BasisPoints>,
        /// Answer that was being said when it was interrupted. Only with an interruption.
        #[serde(default)]
        tts_resume_snapshot: Option<TtsResumeSnapshot>,
        /// The answer would say something that is kept in memory and is sensitive.
        #[serde(default)]
        sensitive_memory_present: bool,
        /// Advice of other engines. It decides nothing.
        #[serde(default)]
        advice: Advice,
    }
}

/// Content of a turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", deny_unknown_fields)]
pub enum TurnInput {
    /// Nothing: an interruption or an answer alone.
    #[default]
    None,
    /// An answer in words was made.
    Chat {
        /// Words to be said, 1 to 32 768 bytes.
        response_text: Text,
    },
    /// An intent was understood.
    Intent {
        /// Its name, 1 to 64 bytes.
        intent_type: Text,
        /// Need of the intent.
        class: IntentClass,
    },
    /// The words are not clear, upstream.
    NlpClarify {
        /// The question, one line of 1 to 240 characters.
        question: Text,
        /// Ways to answer: 2 or 3 formats, each 1 to 128 bytes.
        accepted_answer_formats: List<Text>,
        /// Missing fields: 1 to 16 Exactly one is asked for.
        missing_fields: List<Text>,
    },
    /// A tool answered.
    ToolResponse {
        /// The request, as the DISPATCH named it.
        request_id: Text,
        /// Kind of the failure.
        status: ToolStatus,
        /// Words to be said, 1 to 32 768 bytes.
        response_text: Text,
    },
    /// The last attempt failed.
    LastFailure {
        /// Words to be said, 1 to 32 768 bytes.
        response_text: Text,
    },
}

scored_bodies! {
    /// Somebody began to speak: the seed's `interruption` payload.
    #[cfg_attr(feature = "schema", schemars(rename = "Interruption"))]
    Interruption {
        /// The phrase that was heard, above 0.
        phrase_id: u64,
        /// The phrase that triggered: the same.
        trigger_phrase_id: u64,
        /// Its language: 1 to 32 of `A-Z a-z 0-9 _ -`.
        trigger_locale: Text,
        /// The phrase, 1 to 128 bytes.
        phrase_text: Text,
        /// The version of the set of phrases, above 0.
        phrase_set_version: u64,
        /// Confidence in the phrase.
        phrase_confidence_bp("phrase_confidence"): BasisPoints,
        /// The candidate's band.
        candidate_confidence_band: ConfidenceBand,
        /// The risk that the capture carries.
        risk_context_class: RiskContextClass,
        /// Degradation of the capture.
        degradation_context: DegradationContext,
        /// Times at which it was heard.
        timing_markers: TimingMarkers,
        /// Time at which it happened, in nanoseconds since 1970: the end of the window.
        t_event: u64,
        /// Amount of it that was voice.
        speech_window_metrics: SpeechWindowMetrics,
        /// The confidences of PH1.K's gates.
        gate_confidences: GateConfidences,
        /// The same, as the subject relation was made of them.
        subject_relation_confidence_bundle: ConfidenceBundle,
    }
}

bodies! {
    /// `degradation_context`. Any of them forbids the risk class LOW.
    #[derive(Copy, Default)]
    DegradationContext {
        /// The capture was degraded.
        capture_degraded: bool,
        /// The echo canceller was unstable.
        aec_unstable: bool,
        /// The device changed.
        device_changed: bool,
        /// The stream had a gap.
        stream_gap_detected: bool,
    }
}

impl DegradationContext {
    /// Returns whether anything was degraded.
    #[must_use]
    pub const fn is_degraded(self) -> bool {
        self.capture_degraded
            || self.aec_unstable
            || self.device_changed
            || self.stream_gap_detected
    }
}

bodies! {
    /// `timing_markers`, in nanoseconds since 1970.
    #[derive(Copy)]
    TimingMarkers {
        /// The window begins. Not after its end.
        window_start: u64,
        /// The window ends: exactly `t_event`.
        window_end: u64,
    }

    /// `speech_window_metrics`.
    #[derive(Copy)]
    SpeechWindowMetrics {
        /// Milliseconds of voice, 1 to 10 000; not less than the window is long.
        voiced_window_ms: u32,
    }
}

scored_bodies! {
    /// `gate_confidences`.
    #[derive(Copy)]
    #[cfg_attr(feature = "schema", schemars(rename = "GateConfidences"))]
    GateConfidences {
        /// Voice activity.
        vad_bp("vad"): BasisPoints,
        /// Likeness to speech.
        speech_likeness_bp("speech_likeness"): BasisPoints,
        /// Certainty that it is no echo.
        echo_safe_bp("echo_safe"): BasisPoints,
        /// The phrase.
        phrase_bp("phrase"): BasisPoints,
        /// Nearness of the speaker, where that is known.
        #[serde(default)]
        nearfield_bp("nearfield"): Option<BasisPoints>,
    }

    /// `subject_relation_confidence_bundle`: each but `combined` equals its gate's confidence.
    #[derive(Copy)]
    #[cfg_attr(feature = "schema", schemars(rename = "ConfidenceBundle"))]
    ConfidenceBundle {
        /// Equals the phrase gate's, and the phrase confidence.
        lexical_bp("lexical"): BasisPoints,
        /// Equals the gate's.
        vad_bp("vad"): BasisPoints,
        /// Equals the gate's.
        speech_likeness_bp("speech_likeness"): BasisPoints,
        /// Equals the gate's.
        echo_safe_bp("echo_safe"): BasisPoints,
        /// Equals the gate's: both given or both not.
        #[serde(default)]
        nearfield_bp("nearfield"): Option<BasisPoints>,
        /// Free. It decides nothing.
        combined_bp("combined"): BasisPoints,
    }
}

bodies! {
    /// Answer that was being said when it was interrupted: `tts_resume_snapshot`.
    TtsResumeSnapshot {
        /// The answer, above 0.
        answer_id: u64,
        /// Topic of the answer, 1 to 64 bytes.
        #[serde(default)]
        topic_hint: Option<Text>,
        /// All of it, 1 to 65 536 bytes.
        response_text: Text,
        /// Number of its bytes that were said: at a character's boundary, before the end, with more
        /// than white space behind it.
        spoken_cursor_byte: u32,
    }
}

bodies! {
    /// Advice of other engines about a turn (seed, "Related Engine Boundary"). It may choose which
    /// of several missing fields is asked for, and be kept for whoever says the words; it changes
    /// no branch, no directive and no gate.
    #[derive(Default)]
    Advice {
        /// PH1.PRUNE's `selected_missing_field`, 1 to 64 bytes: used only where it is one of
        /// several missing fields.
        #[serde(default)]
        prune_selected_missing_field: Option<Text>,
        /// PH1.K's handoff.
        #[serde(default)]
        interrupt_handoff: Option<Ph1kToPh1xInterruptHandoff>,
        /// PH1.EMO.GUIDE's style profile: kept only where it was validated.
        #[serde(default)]
        emo_guide: Option<StyleAdvice>,
        /// PH1.PERSONA's profile: kept only where it was validated.
        #[serde(default)]
        persona: Option<StyleAdvice>,
        /// PH1.EXPLAIN's words: used only where somebody asked for them.
        #[serde(default)]
        explain: Option<Explanation>,
    }

    /// PH1.K's bounded view of the risk of an interruption. Advisory.
    #[derive(Copy)]
    Ph1kToPh1xInterruptHandoff {
        /// The candidate's band.
        candidate_confidence_band: ConfidenceBand,
        /// The gates' confidences.
        gate_confidences: GateConfidences,
        /// Degradation of the capture.
        degradation_context: DegradationContext,
        /// The risk.
        risk_context_class: RiskContextClass,
    }
}

bodies! {
    /// Style in which something should be said.
    StyleAdvice {
        /// Result of the profile's own validation.
        validation_status: ValidationStatus,
        /// The profile's name, 1 to 64 bytes.
        profile: Text,
    }
}

crate::core::closed_enum! {
    /// `validation_status` of a profile.
    pub enum ValidationStatus {
        /// It may be used.
        Ok = "OK",
        /// It may not.
        Fail = "FAIL",
    }
}

bodies! {
    /// An explanation that PH1.EXPLAIN offers.
    Explanation {
        /// Trigger that asked for it.
        trigger: ExplainTrigger,
        /// The words, 1 to 2 048 bytes.
        text: Text,
    }
}

crate::core::closed_enum! {
    /// Trigger of an explanation.
    pub enum ExplainTrigger {
        /// The user, in words.
        Explicit = "EXPLICIT",
        /// An answer that accounts for what was done.
        Accountability = "ACCOUNTABILITY",
        /// Nothing: the explanation is not used.
        None = "NONE",
    }
}

#[cfg(feature = "arbitrary")]
crate::core::arbitrary::one_of! {
    TurnInput of
    None,
    Chat { response_text },
    Intent { intent_type, class },
    NlpClarify { question, accepted_answer_formats, missing_fields },
    ToolResponse { request_id, status, response_text },
    LastFailure { response_text },
}
