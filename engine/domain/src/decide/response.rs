//! AWAITING_RESPONSE to EVALUATED: Phase-30 normalizes, Phase-29 evaluates.

use alloc::format;
use alloc::string::String;

use super::batch::Batch;
use super::words::shown;
use crate::command::ReportResponse;
use crate::event::{EvidenceContent, Exit, ResponseEvaluated};
use crate::evidence_capture::{LoopStep, RawData};
use crate::execution_loop::{
    ExecutionLoopState, ExecutorRawResponse, ResponseDecision, evaluate_executor_response,
    normalize_loop_response,
};
use crate::refusal::Refusal;
use crate::world::ExecutionLoop;

use ExecutionLoopState::{AwaitingResponse, Evaluated};

/// An executor answered.
pub(super) fn report(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &ReportResponse,
) -> Result<(), Refusal> {
    if entity.state() != AwaitingResponse {
        return batch.illegal(entity.state(), Evaluated);
    }
    check_raw_output(entity)?;
    let raw = ExecutorRawResponse {
        executor_id: command.executor_id.clone(),
        instruction_hash: command.instruction_hash.clone(),
        raw_payload: RawData::default(),
        reported_status: command.reported_status,
    };
    evaluate(entity, batch, &raw, command.error.as_deref(), command.exit)
}

/// Raw output is captured before it is normalized (Phase-31, attachment to Phase-30).
pub(super) fn check_raw_output(entity: &ExecutionLoop) -> Result<(), Refusal> {
    let captured = entity.current_attempt().is_some_and(|attempt| !attempt.outputs.is_empty());
    if captured {
        return Ok(());
    }
    let (loop_id, attempt) = (String::from(entity.loop_id()), entity.attempt_count());
    Err(Refusal::RawOutputMissing { loop_id, attempt })
}

/// Captures the transition, evaluates, captures what the response is worth. The payload itself
/// lies in the chain and is not looked at.
pub(super) fn evaluate(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    raw: &ExecutorRawResponse,
    error: Option<&str>,
    exit: Exit,
) -> Result<(), Refusal> {
    let attempt = entity.attempt_count();
    let normalized = normalize_loop_response(&entity.context, raw);
    let accepted = normalized.decision == ResponseDecision::Accept;
    let error = error.map(shown);
    let evaluation = evaluate_executor_response(accepted, error.as_deref());
    let evidence = format!("{AwaitingResponse} -> {Evaluated}, attempt {attempt}");
    let content = EvidenceContent::Transition { from: AwaitingResponse, to: Evaluated };
    batch.capture(LoopStep::Evaluated, evidence.into_bytes(), content)?;
    batch.push(ResponseEvaluated {
        loop_id: batch.loop_id(),
        attempt,
        response_type: raw.reported_status,
        response_decision: normalized.decision,
        confidence: normalized.confidence_score,
        reason: shown(&normalized.reason).into(),
        execution_decision: evaluation.decision,
        execution_reason: shown(&evaluation.reason).into(),
        exit,
    });
    let evidence = normalized.decision.name().as_bytes().to_vec();
    let content = EvidenceContent::Decision(normalized.decision);
    batch.capture(LoopStep::ResultDecided, evidence, content)
}
