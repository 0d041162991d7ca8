//! Every event's body, and what bodies are made of.

use super::{made_of, one_of};
use crate::event::{
    AuditEntry, ChainSealed, ClockStepped, CommandRefused, ConfigurationChanged, DecisionAnswered,
    DecisionRequested, DecisionTimedOut, DecisionWarned, EvidenceCaptured, EvidenceContent, Exit,
    FaultReported, FingerprintRecorded, HeadMissingAccepted, HistoryArchived, LateAnswerRecorded,
    LoopDispatched, LoopHalted, LoopInitialized, ObserverAttached, Offered, OutputCut,
    OutputExtent, PolicyChanged, PolicyUnknown, RecordsLost, RecordsUnproven, RecoveryPerformed,
    RequestWithdrawn, ResourceUsage, ResponseAwaited, ResponseEvaluated, Salvaged, SalvagedRun,
    SandboxDecided, SegmentIndexed, StopConditionDetected, VisibilityOverridden,
};
use crate::human_decision::{
    AnswerMeans, DecisionRecord, DecisionRequest, EscalationTarget, EvidenceSummary, HoldTerms,
    RequestContext,
};
use crate::policy::{GatePolicy, GateTerms};
use crate::principal::Proof;

// The log itself.
made_of! {
    RecoveryPerformed { last_proven_sequence, last_kept_sequence, cut_bytes, copied_to }
    HeadMissingAccepted { first_sequence, last_sequence }
    ClockStepped { step_ns }
    ConfigurationChanged { digest }
    FingerprintRecorded { schema, fingerprint }
    CommandRefused { command, class, code, subject, message }
    Salvaged {
        source_log, source_first_sequence, source_last_sequence, records_kept, records_lost,
        bytes_not_kept, salvaged_at, runs, runs_total, findings, findings_total,
    }
    SalvagedRun { source_first_sequence, source_last_sequence, first_sequence }
    RecordsLost {
        source_first_sequence, source_last_sequence, file, offset, length, copied_to, problem,
    }
    HistoryArchived {
        first_sequence, anchor_sequence, anchor_link, archived_to, state_schema,
        state_fingerprint, state,
    }
    SegmentIndexed { first_sequence, last_sequence, format, digest }
    PolicyChanged { by, policy, approval }
    PolicyUnknown { records_lost }
    RecordsUnproven { first_sequence, last_sequence, reason }
    GatePolicy {
        before, after, approvers, quorum, authentication, separation, retry_needs_person,
        decision_timeout_ms, approval_timeout_ms, escalation_approvers, override_approvers,
    }
    Proof { user, by }
}

// Execution loops.
made_of! {
    LoopInitialized {
        loop_id, executor_id, instruction_envelope_hash, command_line, max_attempts,
        retry_ceiling, timeout_ms, hold, handshake_decision, handshake_reason, gate,
        approval,
    }
    GateTerms { before, authentication, separation, sources }
    HoldTerms {
        policy, retry_needs_person, decision_timeout_ms, approvers, escalation_targets,
        override_approvers,
    }
    EscalationTarget { target, approvers, timeout_ms }
    LoopDispatched { loop_id, attempt, permitted_by_fault, permitted_by_decision }
    ResponseAwaited { loop_id, attempt }
    ResponseEvaluated {
        loop_id, attempt, response_type, response_decision, confidence, reason,
        execution_decision, execution_reason, exit,
    }
    LoopHalted { loop_id, from, requested, reason, stop_condition, fault_type }
}

one_of! {
    Exit:
    |_| Ok(Exit::Unknown),
    |input| input.arbitrary().map(Exit::Status),
    |input| input.arbitrary().map(Exit::Signal),
}

// Evidence.
made_of! {
    ObserverAttached {
        session_id, loop_id, executor_id, envelope_hash, created_at, is_halted, chain_id,
    }
    EvidenceCaptured {
        loop_id, chain_id, index, record_id, observation_point, evidence_type, timestamp,
        raw_data, prior_hash, self_hash, injective_hash, content, offered,
    }
    Offered { observation_point, evidence_type, raw_data }
    OutputExtent { stream, true_length, whole_sha256, truncated }
    OutputCut { stream, true_length, whole_sha256, head_length, gap_length }
    ResourceUsage { wall_ns, user_cpu_ns, system_cpu_ns, peak_memory_bytes }
    StopConditionDetected { loop_id, condition, details }
    ChainSealed { loop_id, chain_id, length, head_hash, injective_head, seal_hash }
}

one_of! {
    EvidenceContent:
    |_| Ok(EvidenceContent::Opaque),
    |_| Ok(EvidenceContent::Instruction),
    |input| input.arbitrary().map(EvidenceContent::Output),
    |input| input.arbitrary().map(EvidenceContent::Resources),
    |input| {
        Ok(EvidenceContent::Transition { from: input.arbitrary()?, to: input.arbitrary()? })
    },
    |input| input.arbitrary().map(EvidenceContent::Decision),
    |input| input.arbitrary().map(EvidenceContent::Stop),
    |input| input.arbitrary().map(EvidenceContent::OutputCut),
}

// Faults.
made_of! {
    FaultReported { fault_id, loop_id, attempt, fault_type, fault_message, occurred_at }
    SandboxDecided {
        loop_id, fault_id, attempt, sandbox_decision, retry_policy, reason_code,
        reason_description,
    }
}

// Questions to a person.
made_of! {
    DecisionRequested { audit_id, request, context, warning_at, request_hash }
    DecisionRequest {
        request_id, session_id, evidence_summary, allowed_decisions, created_at, timeout_at,
        timeout_decision,
    }
    EvidenceSummary {
        observation_point, evidence_type, timestamp, chain_length, execution_state,
        confidence_score, chain_hash,
    }
    RequestContext {
        loop_id, attempt, command_line, executor_claim, self_hash, prior_hash, escalation_depth,
        asked_of, escalated_from,
    }
    VisibilityOverridden { loop_id, request_id, field, human_id, reason, means, disclosed }
    AnswerMeans { channel, detail }
    DecisionWarned { loop_id, request_id, due_at }
    DecisionAnswered { loop_id, record, means, outcome, audit }
    DecisionTimedOut { loop_id, due_at, record, audit }
    DecisionRecord {
        decision_id, request_id, human_id, decision, reason, escalation_target, timestamp,
        evidence_chain_hash,
    }
    AuditEntry { audit_id, index, shown_hash, prior_hash, self_hash, injective_hash }
    LateAnswerRecorded {
        loop_id, request_id, human_id, decision, reason, escalation_target, means, timeout_at,
    }
    RequestWithdrawn { loop_id, request_id }
}
