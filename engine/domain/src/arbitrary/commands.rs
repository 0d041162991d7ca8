//! Every command's body, and what bodies are made of.

use super::{made_of, one_of};
use crate::command::{
    AnswerDecision, AwaitResponse, CaptureEvidence, ChangePolicy, CompleteLoop, DispatchFacts,
    DispatchLoop, EvidenceItem, ExpireDue, Handshake, InitializeLoop, InterruptLoop,
    ObserverExpectation, OverrideVisibility, ReportFault, ReportResponse, RequestDecision,
    SpentApproval, StopLoop,
};
use crate::evidence_capture::StopFacts;

made_of! {
    InitializeLoop {
        entropy, executor_id, envelope, instruction_envelope_hash, command_line, max_attempts,
        retry_ceiling, timeout_ms, hold, gate, approval, handshake, observer,
    }
    SpentApproval { decision_id, by, details }
    ChangePolicy { by, policy, approval }
    Handshake { executor_id, trust_status, instruction_envelope_hash }
    ObserverExpectation { executor_id, envelope_hash }
    DispatchLoop { loop_id, entropy, envelope_hash, facts }
    DispatchFacts {
        authorization_present, executor_registered, resources_available, intent_clear,
        human_abort_signaled,
    }
    AwaitResponse { loop_id, entropy }
    CaptureEvidence { loop_id, entropy, items }
    ReportResponse {
        loop_id, entropy, executor_id, instruction_hash, reported_status, error, exit,
    }
    ReportFault { loop_id, entropy, attempt, fault_type, fault_message, exit }
    CompleteLoop { loop_id, entropy }
    StopLoop { loop_id, entropy, condition, facts, details }
    InterruptLoop { loop_id, entropy, signal, sender_pid, sender_uid }
    StopFacts {
        authorization_present, executor_registered, envelope_hash_matches, chain_valid,
        resources_available, timestamp_valid, prior_execution_complete, intent_clear,
        human_abort_signaled,
    }
    RequestDecision { loop_id, entropy }
    AnswerDecision {
        request_id, loop_id, entropy, actor, human_id, decision, reason, escalation_target, means,
    }
    ExpireDue { request_id, entropy }
    OverrideVisibility { request_id, actor, human_id, field, reason, means }
}

one_of! {
    EvidenceItem:
    |input| {
        Ok(EvidenceItem::ExecutorOutput {
            stream: input.arbitrary()?,
            raw_data: input.arbitrary()?,
            true_length: input.arbitrary()?,
            whole_sha256: input.arbitrary()?,
        })
    },
    |input| input.arbitrary().map(EvidenceItem::ResourceSnapshot),
    |input| input.arbitrary().map(EvidenceItem::TimestampEvent),
    |input| {
        Ok(EvidenceItem::ExecutorOutputCut {
            stream: input.arbitrary()?,
            raw_data: input.arbitrary()?,
            head_length: input.arbitrary()?,
            true_length: input.arbitrary()?,
            whole_sha256: input.arbitrary()?,
        })
    },
}
