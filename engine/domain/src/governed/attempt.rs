//! One attempt: from INIT or EVALUATED to DISPATCHED, on to AWAITING_RESPONSE, and to EVALUATED by
//! a response (Phase-30 normalizes, Phase-29 evaluates) or a fault (Phase-21 decides what follows).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::core::ids::id;
use crate::core::payload::RawData;
use crate::core::text::shown;
use crate::evidence_capture::integration::LoopStep;
use crate::evidence_capture::rules::{STOP_TRIGGERS, triggered_conditions};
use crate::evidence_capture::types::{EvidenceContent, GuardedEnd, StopCondition, StopFacts};
use crate::execution_loop::command::{AwaitResponse, DispatchLoop, ReportResponse};
use crate::execution_loop::event::{LoopDispatched, ResponseAwaited, ResponseEvaluated};
use crate::execution_loop::rules::{evaluate_executor_response, normalize_loop_response};
use crate::execution_loop::types::{
    ExecutionLoopState, ExecutorRawResponse, ExecutorResponseType, Exit, HaltReason,
    ResponseDecision,
};
use crate::governed::aggregate::{Barrier, ExecutionLoop};
use crate::governed::batch::{Batch, Ending};
use crate::governed::capture::spelled_out;
use crate::governed::refusal::LoopRefusal;
use crate::governed::request::held_back;
use crate::sandbox_fault::command::ReportFault;
use crate::sandbox_fault::event::{FaultReported, SandboxDecided};
use crate::sandbox_fault::rules::{check_fault_identity, decide_sandbox_outcome};
use crate::sandbox_fault::types::{
    ExecutionFaultType, FaultReport, SandboxContext, SandboxDecision, SandboxDecisionResult,
};

use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};

/// The first attempt.
pub(crate) fn dispatch(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &DispatchLoop,
    set_back: u64,
) -> Result<(), LoopRefusal> {
    match entity.state() {
        // While an attempt runs, PRIOR_EXECUTION_PENDING stops the loop.
        Init | AwaitingResponse | Dispatched => begin_attempt(entity, batch, command, set_back),
        Evaluated => Err(wrong_state(entity, Init, "retry or complete the evaluated loop")),
        Halted => batch.illegal(Halted, Dispatched),
    }
}

/// Every further attempt, within the limit: where a person decided RETRY, or where Phase-21 did
/// and no hold applies.
pub(crate) fn retry(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &DispatchLoop,
    set_back: u64,
) -> Result<(), LoopRefusal> {
    match entity.state() {
        Evaluated => match entity.retry_permitted() {
            Ok(_) => begin_attempt(entity, batch, command, set_back),
            Err(Barrier::NotPermitted) => Err(LoopRefusal::RetryNotPermitted {
                loop_id: String::from(entity.loop_id()),
                found: ending_text(entity),
            }),
            Err(barrier) => Err(held_back(entity, barrier)),
        },
        Init => Err(wrong_state(entity, Evaluated, "dispatch the loop first")),
        AwaitingResponse | Dispatched => begin_attempt(entity, batch, command, set_back),
        Halted => batch.illegal(Halted, Dispatched),
    }
}

/// DISPATCHED to AWAITING_RESPONSE. Internal: the table has no evidence for it.
pub(crate) fn await_response(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &AwaitResponse,
) -> Result<(), LoopRefusal> {
    if entity.state() != Dispatched {
        return batch.illegal(entity.state(), AwaitingResponse);
    }
    let AwaitResponse { recorder_key, on_full, .. } = *command;
    let (loop_id, attempt) = (batch.loop_id(), entity.attempt_count());
    batch.push(ResponseAwaited { loop_id, attempt, recorder_key, on_full });
    batch.capture(LoopStep::Awaiting, Vec::new(), EvidenceContent::Opaque)
}

fn ending_text(entity: &ExecutionLoop) -> String {
    match entity.ending() {
        Some((reason, Some(fault))) => format!("{fault} ended in {reason}"),
        Some((reason, None)) => format!("its response ended in {reason}"),
        None => String::from("nothing was decided"),
    }
}

pub(crate) fn wrong_state(
    entity: &ExecutionLoop,
    expected: ExecutionLoopState,
    advice: &'static str,
) -> LoopRefusal {
    let loop_id = String::from(entity.loop_id());
    LoopRefusal::WrongState { loop_id, expected, found: entity.state(), advice }
}

fn begin_attempt(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &DispatchLoop,
    set_back: u64,
) -> Result<(), LoopRefusal> {
    let from = entity.state();
    if let Some((condition, details)) = found_stop(entity, command, set_back) {
        return batch.stop(from, condition, &details);
    }
    let attempt = entity.attempt_count().saturating_add(1);
    let evidence = format!("{from} -> {Dispatched}, attempt {attempt}").into_bytes();
    let content = EvidenceContent::Transition { from, to: Dispatched };
    if from == Evaluated {
        batch.capture(LoopStep::Continued, evidence.clone(), content.clone())?;
    }
    let permission = entity.dispatch_permission();
    batch.push(LoopDispatched {
        loop_id: batch.loop_id(),
        attempt,
        permitted_by_fault: permission.fault.map(Into::into),
        permitted_by_decision: permission.decision.map(Into::into),
    });
    batch.capture(LoopStep::Dispatched, evidence, content)
}

/// All ten conditions are checked. The first that holds halts; the details name all. HUMAN_ABORT is
/// a person's act: where nobody says whether there was one, the context is not whole.
fn found_stop(
    entity: &ExecutionLoop,
    command: &DispatchLoop,
    set_back: u64,
) -> Option<(StopCondition, String)> {
    let facts = stop_facts(entity, command, set_back);
    let found: Vec<StopCondition> =
        triggered_conditions(entity.observer.as_ref(), &facts).collect();
    let details: Vec<String> = found.iter().map(|c| explain(*c, &facts)).collect();
    let first = *found.first()?;
    let is_no_act = first == StopCondition::HumanAbort && facts.human_abort_signaled.is_none();
    let condition = if is_no_act { StopCondition::ContextUninitialized } else { first };
    Some((condition, details.join("; ")))
}

/// What the caller states, and what the log knows and nobody is asked for. `on_loop` has checked
/// the chain before. Of a loop over whose life the wall clock was set back, the times are not those
/// at which things happened: `set_back` is the newest record that says so.
fn stop_facts(entity: &ExecutionLoop, command: &DispatchLoop, set_back: u64) -> StopFacts {
    let stated = &command.facts;
    StopFacts {
        authorization_present: stated.authorization_present,
        executor_registered: stated.executor_registered,
        envelope_hash_matches: Some(
            command.envelope_hash == entity.context.instruction_envelope_hash(),
        ),
        chain_valid: entity.chain.as_ref().map(|chain| !chain.is_broken),
        resources_available: stated.resources_available,
        timestamp_valid: Some(set_back < entity.started_sequence),
        prior_execution_complete: Some(matches!(entity.state(), Init | Evaluated)),
        intent_clear: stated.intent_clear,
        human_abort_signaled: stated.human_abort_signaled,
    }
}

fn explain(condition: StopCondition, facts: &StopFacts) -> String {
    let row = STOP_TRIGGERS.iter().find(|row| row.condition == condition);
    let fact = row.map_or("", |row| row.fact);
    let found = match stated(condition, facts) {
        Some(value) => format!("is {value}"),
        None => String::from("is not stated"),
    };
    format!("{condition}: {fact} {found}")
}

const fn stated(condition: StopCondition, facts: &StopFacts) -> Option<bool> {
    match condition {
        StopCondition::MissingAuthorization => facts.authorization_present,
        StopCondition::ExecutorNotRegistered => facts.executor_registered,
        StopCondition::EnvelopeHashMismatch => facts.envelope_hash_matches,
        StopCondition::ContextUninitialized => Some(false),
        StopCondition::EvidenceChainBroken => facts.chain_valid,
        StopCondition::ResourceLimitExceeded => facts.resources_available,
        StopCondition::TimestampInvalid => facts.timestamp_valid,
        StopCondition::PriorExecutionPending => facts.prior_execution_complete,
        StopCondition::AmbiguousIntent => facts.intent_clear,
        StopCondition::HumanAbort => facts.human_abort_signaled,
    }
}

/// An executor answered.
pub(crate) fn report_response(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &ReportResponse,
) -> Result<(), LoopRefusal> {
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
fn check_raw_output(entity: &ExecutionLoop) -> Result<(), LoopRefusal> {
    let captured = entity.current_attempt().is_some_and(|attempt| !attempt.outputs.is_empty());
    if captured {
        return Ok(());
    }
    let (loop_id, attempt) = (String::from(entity.loop_id()), entity.attempt_count());
    Err(LoopRefusal::RawOutputMissing { loop_id, attempt })
}

/// Captures the transition, evaluates, captures what the response is worth. The payload itself
/// lies in the chain and is not looked at.
fn evaluate(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    raw: &ExecutorRawResponse,
    error: Option<&str>,
    exit: Exit,
) -> Result<(), LoopRefusal> {
    let attempt = entity.attempt_count();
    let normalized = normalize_loop_response(&entity.context, raw);
    let accepted = normalized.decision == ResponseDecision::Accept;
    let error = error.map(shown);
    let evaluation = evaluate_executor_response(accepted, error.as_deref());
    let evidence = format!("{AwaitingResponse} -> {Evaluated}, attempt {attempt}");
    let content = EvidenceContent::Transition { from: AwaitingResponse, to: Evaluated };
    batch.state_output()?;
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

/// A fault is an evaluated response as well, so that confidence and decision are on the record.
/// TERMINATE halts at once; RETRY and ESCALATE leave the loop EVALUATED.
pub(crate) fn report_fault(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &ReportFault,
) -> Result<(), LoopRefusal> {
    let Some(context) = entity.sandbox_context().filter(|_| entity.state() == AwaitingResponse)
    else {
        return batch.illegal(entity.state(), Evaluated);
    };
    check_raw_output(entity)?;
    let outcome = evaluate_fault(entity, batch, command, &context)?;
    if outcome.decision == SandboxDecision::Terminate {
        batch.halt(terminated(command.fault_type, &outcome))?;
    }
    Ok(())
}

/// What Phase-21 decides of a fault, and the evaluation.
fn evaluate_fault(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &ReportFault,
    context: &SandboxContext,
) -> Result<SandboxDecisionResult, LoopRefusal> {
    let fault = fault_report(batch, command);
    check_fault_identity(&fault, context).map_err(LoopRefusal::FaultElsewhere)?;
    let outcome = decide_sandbox_outcome(entity.retry_ceiling, &fault, context);
    record(batch, command, &fault, &outcome);
    let error = format!("{}: {}", fault.fault_type, fault.fault_message);
    let raw = as_response(entity, fault.fault_type);
    evaluate(entity, batch, &raw, Some(&error), command.exit)?;
    Ok(outcome)
}

/// A guard that outlived the recorder saw how the command ended. The whole length of what that
/// printed is not known.
pub(crate) fn report_guarded(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    end: &GuardedEnd,
) -> Result<(), LoopRefusal> {
    if entity.current_attempt().is_some_and(|attempt| attempt.resources.is_none()) {
        let content = EvidenceContent::Resources(end.usage);
        batch.capture(LoopStep::ResourcesMeasured, spelled_out(&end.usage), content)?;
    }
    batch.expect_output(entity);
    let Some((fault_type, context)) = end.fault.zip(entity.sandbox_context()) else {
        let raw = ExecutorRawResponse {
            executor_id: String::from(entity.context.executor_id()),
            instruction_hash: String::from(entity.context.instruction_envelope_hash()),
            raw_payload: RawData::default(),
            reported_status: if end.exit == Exit::Status(0) {
                ExecutorResponseType::Success
            } else {
                ExecutorResponseType::Failure
            },
        };
        let error = (end.exit != Exit::Status(0)).then_some(&*end.message);
        return evaluate(entity, batch, &raw, error, end.exit);
    };
    let command = ReportFault {
        loop_id: String::from(entity.loop_id()),
        entropy: batch.entropy(),
        attempt: entity.attempt_count(),
        fault_type,
        fault_message: end.message.clone(),
        exit: end.exit,
    };
    evaluate_fault(entity, batch, &command, &context).map(drop)
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
