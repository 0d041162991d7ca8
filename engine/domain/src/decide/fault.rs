//! An attempt failed: Phase-21 decides what follows.

use alloc::format;
use alloc::string::{String, ToString};

use super::batch::{Batch, Ending};
use super::response::{check_raw_output, evaluate};
use super::words::shown;
use crate::command::ReportFault;
use crate::event::{FaultReported, HaltReason, SandboxDecided};
use crate::evidence_capture::RawData;
use crate::execution_loop::{ExecutionLoopState, ExecutorRawResponse, ExecutorResponseType};
use crate::refusal::Refusal;
use crate::sandbox_fault::{
    ExecutionFaultType, FaultReport, SandboxDecision, SandboxDecisionResult, check_fault_identity,
    decide_sandbox_outcome_within,
};
use crate::text::id;
use crate::world::ExecutionLoop;

use ExecutionLoopState::{AwaitingResponse, Evaluated, Halted};

/// A fault is an evaluated response as well, so that confidence and decision are on the record.
/// TERMINATE halts at once; RETRY and ESCALATE leave the loop EVALUATED.
pub(super) fn report(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &ReportFault,
) -> Result<(), Refusal> {
    let Some(context) = entity.sandbox_context().filter(|_| entity.state() == AwaitingResponse)
    else {
        return batch.illegal(entity.state(), Evaluated);
    };
    check_raw_output(entity)?;
    let fault = fault_report(batch, command);
    check_fault_identity(&fault, &context).map_err(Refusal::FaultElsewhere)?;
    let outcome = decide_sandbox_outcome_within(entity.retry_ceiling, &fault, &context);
    record(batch, command, &fault, &outcome);
    let error = format!("{}: {}", fault.fault_type, fault.fault_message);
    let raw = as_response(entity, fault.fault_type);
    evaluate(entity, batch, &raw, Some(&error), command.exit)?;
    if outcome.decision == SandboxDecision::Terminate {
        batch.halt(terminated(fault.fault_type, &outcome))?;
    }
    Ok(())
}

fn fault_report(batch: &Batch<'_>, command: &ReportFault) -> FaultReport {
    FaultReport {
        fault_id: id("FAULT-", &command.entropy.to_string()),
        execution_id: command.loop_id.clone(),
        fault_type: command.fault_type,
        fault_message: shown(&command.fault_message),
        occurred_at: String::from(batch.timestamp()),
        attempt_number: i64::from(command.attempt),
    }
}

fn record(
    batch: &mut Batch<'_>,
    command: &ReportFault,
    fault: &FaultReport,
    outcome: &SandboxDecisionResult,
) {
    batch.push(FaultReported {
        fault_id: fault.fault_id.as_str().into(),
        loop_id: batch.loop_id(),
        attempt: command.attempt,
        fault_type: fault.fault_type,
        fault_message: fault.fault_message.as_str().into(),
        occurred_at: batch.at(),
    });
    batch.push(SandboxDecided {
        loop_id: batch.loop_id(),
        fault_id: fault.fault_id.as_str().into(),
        attempt: command.attempt,
        sandbox_decision: outcome.decision,
        retry_policy: outcome.retry_policy,
        reason_code: outcome.reason_code.as_str().into(),
        reason_description: outcome.reason_description.as_str().into(),
    });
}

/// What a fault means to Phase-30. None of them is SUCCESS.
fn as_response(entity: &ExecutionLoop, fault_type: ExecutionFaultType) -> ExecutorRawResponse {
    ExecutorRawResponse {
        executor_id: String::from(entity.context.executor_id()),
        instruction_hash: String::from(entity.context.instruction_envelope_hash()),
        raw_payload: RawData::default(),
        reported_status: match fault_type {
            ExecutionFaultType::Timeout => ExecutorResponseType::Timeout,
            ExecutionFaultType::Partial => ExecutorResponseType::Partial,
            ExecutionFaultType::InvalidResponse => ExecutorResponseType::Malformed,
            ExecutionFaultType::Crash
            | ExecutionFaultType::ResourceExhausted
            | ExecutionFaultType::SecurityViolation => ExecutorResponseType::Failure,
        },
    }
}

fn terminated(fault_type: ExecutionFaultType, outcome: &SandboxDecisionResult) -> Ending {
    Ending {
        from: Evaluated,
        requested: Halted,
        reason: HaltReason::FaultTerminated,
        stop_condition: None,
        fault_type: Some(fault_type),
        details: format!("{}: {}", outcome.reason_code, outcome.reason_description),
    }
}
