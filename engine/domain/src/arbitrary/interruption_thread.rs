//! Interruption threads: every event's body, and what bodies are made of.

use super::{made_of, one_of};
use crate::event::{
    BufferExpired, CapabilityChanged, DeviceRegistered, LeaseRegistered, PendingDisarmed,
    RemaindersDiscarded, ReturnCheckExpired, RowCommitted, RowRefused, RowsRead, SessionRegistered,
    TenantRegistered, ThreadClosed, ThreadMoved, TurnTaken, UserRegistered, WorkOrderRegistered,
};
use crate::interruption_thread::{
    Advice, Clarify, ConfidenceBundle, DegradationContext, Dispatch, Explanation, GateConfidences,
    Interruption, Marks, Pending, Ph1kToPh1xInterruptHandoff, Remainder, ReturnCheck, RowPayload,
    SpeechWindowMetrics, StyleAdvice, TimingMarkers, TtsResumeSnapshot, TurnDecision, TurnInput,
    TurnRequest,
};

// What happened.
made_of! {
    CapabilityChanged { actor_kind, actor_id, capability, is_granted }
    TenantRegistered { tenant_id, status }
    UserRegistered { tenant_id, user_id, status }
    DeviceRegistered { tenant_id, device_id, user_id, status }
    SessionRegistered { tenant_id, session_id, user_id, device_id, status }
    WorkOrderRegistered { tenant_id, work_order_id, correlation_id, status }
    LeaseRegistered { tenant_id, work_order_id, lease_token_hash, expires_at, status }
    TurnTaken {
        tenant_id, correlation_id, turn_id, session_id, session_status, request, decision,
        state_before, state_after,
    }
    RowCommitted {
        tenant_id, correlation_id, turn_id, session_id, user_id, device_id, event_type, severity,
        reason_code, idempotency_key, issue_fingerprint, decided_by, dropped_pending, payload,
    }
    RowRefused {
        command, tenant_id, correlation_id, turn_id, user_id, device_id, directive, reason_code,
        class, message, idempotency_key, remainders,
    }
    BufferExpired {
        tenant_id, correlation_id, captured_turn, answer_id, speaker_user_id, expires_at,
        interrupt_resume_policy, reason_code,
    }
    ReturnCheckExpired {
        tenant_id, correlation_id, expires_at, interrupt_resume_policy, reason_code,
    }
    RemaindersDiscarded { tenant_id, correlation_id, session_id, remainders, reason_code }
    PendingDisarmed {
        tenant_id, correlation_id, session_id, pending_state, return_check, reason_code,
    }
    ThreadMoved { tenant_id, correlation_id, session_id }
    RowsRead { tenant_id, correlation_id, last_sequence }
    ThreadClosed { tenant_id, correlation_id }
}

// What a turn is told.
made_of! {
    TurnRequest {
        subject_ref, active_speaker_user_id, input, confirm_answer, interruption,
        interrupt_subject_relation, interrupt_subject_relation_confidence_bp, tts_resume_snapshot,
        sensitive_memory_present, advice,
    }
    Interruption {
        phrase_id, trigger_phrase_id, trigger_locale, phrase_text, phrase_set_version,
        phrase_confidence_bp, candidate_confidence_band, risk_context_class, degradation_context,
        timing_markers, t_event, speech_window_metrics, gate_confidences,
        subject_relation_confidence_bundle,
    }
    DegradationContext { capture_degraded, aec_unstable, device_changed, stream_gap_detected }
    TimingMarkers { window_start, window_end }
    SpeechWindowMetrics { voiced_window_ms }
    GateConfidences { vad_bp, speech_likeness_bp, echo_safe_bp, phrase_bp, nearfield_bp }
    ConfidenceBundle {
        lexical_bp, vad_bp, speech_likeness_bp, echo_safe_bp, nearfield_bp, combined_bp,
    }
    TtsResumeSnapshot { answer_id, topic_hint, response_text, spoken_cursor_byte }
    Advice { prune_selected_missing_field, interrupt_handoff, emo_guide, persona, explain }
    Ph1kToPh1xInterruptHandoff {
        candidate_confidence_band, gate_confidences, degradation_context, risk_context_class,
    }
    StyleAdvice { validation_status, profile }
    Explanation { trigger, text }
}

one_of! {
    TurnInput:
    |_| Ok(TurnInput::None),
    |input| Ok(TurnInput::Chat { response_text: input.arbitrary()? }),
    |input| {
        Ok(TurnInput::Intent { intent_type: input.arbitrary()?, class: input.arbitrary()? })
    },
    |input| {
        Ok(TurnInput::NlpClarify {
            question: input.arbitrary()?,
            accepted_answer_formats: input.arbitrary()?,
            missing_fields: input.arbitrary()?,
        })
    },
    |input| {
        Ok(TurnInput::ToolResponse {
            request_id: input.arbitrary()?,
            status: input.arbitrary()?,
            response_text: input.arbitrary()?,
        })
    },
    |input| Ok(TurnInput::LastFailure { response_text: input.arbitrary()? }),
}

// What it comes to.
made_of! {
    TurnDecision {
        directive, reason_code, interrupt_continuity_outcome, interrupt_resume_policy, tts_control,
        delivery_hint, kind, response_text, clarify, dispatch, remainders, dropped_pending, after,
    }
    Clarify { question, accepted_answer_formats, what_is_missing }
    Dispatch { kind, intent_type, request_id }
    Remainder { captured_turn, answer_id, speaker_user_id, fate, reason }
    Marks {
        active_subject_ref, interrupted_subject_ref, return_check, return_check_lapsed,
        buffer_lapsed, active_speaker_user_id, active_session_id, pending,
    }
    ReturnCheck { captured_turn, expires_at }
    RowPayload {
        directive, confirm_kind, what_is_missing, clarification_unit_id, response_kind,
        dispatch_target, wait_kind, work_order_id, work_order_status_snapshot, pending_state,
        lease_token_hash, interrupt_resume_policy,
    }
}

one_of! {
    Pending:
    |input| {
        Ok(Pending::Clarify { missing_field: input.arbitrary()?, attempts: input.arbitrary()? })
    },
    |input| {
        Ok(Pending::Confirm { intent_type: input.arbitrary()?, attempts: input.arbitrary()? })
    },
    |input| {
        Ok(Pending::MemoryPermission {
            deferred_response_text: input.arbitrary()?,
            resumes_turn: input.arbitrary()?,
            attempts: input.arbitrary()?,
        })
    },
    |input| Ok(Pending::Tool { request_id: input.arbitrary()?, attempts: input.arbitrary()? }),
    |input| Ok(Pending::StepUp { attempts: input.arbitrary()? }),
}
