//! One attempt: from INIT or EVALUATED to DISPATCHED, on to AWAITING_RESPONSE, and to EVALUATED by
//! a response (Phase-30 normalizes, Phase-29 evaluates) or a fault (Phase-21 decides what follows).
//! The ten stop conditions (Phase-31): what callers state of the world outside, what the loop
//! itself knows, and the judgement of those on record.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::core::actor::Actor;
use crate::core::forbidden::{Rule, RuleChecks};
use crate::core::ids::id;
use crate::core::limits::MAX_SENTENCE_BYTES;
use crate::core::payload::RawData;
use crate::core::text::{bounded, shown, shown_name};
use crate::core::time::{Timestamp, check_follows};
use crate::evidence_capture::event::StopConditionDetected;
use crate::evidence_capture::integration::LoopStep;
use crate::evidence_capture::rules::{
    STOP_TRIGGERS, StopTrigger, check_stop, triggered_conditions,
};
use crate::evidence_capture::types::{EvidenceContent, GuardedEnd, StopCondition, StopFacts};
use crate::execution_loop::command::{AwaitResponse, DispatchLoop, ReportResponse, StopLoop};
use crate::execution_loop::event::{
    LoopDispatched, NextInstruction, ResponseAwaited, ResponseEvaluated,
};
use crate::execution_loop::rules::{evaluate_executor_response, normalize_loop_response};
use crate::execution_loop::types::{
    ExecutionLoopState, ExecutorRawResponse, ExecutorResponseType, Exit, HaltReason,
    ResponseDecision,
};
use crate::governed::aggregate::{Barrier, ExecutionLoop, LoopSubject, RetryPermission};
use crate::governed::batch::{Batch, LoopEnding, OnLoop};
use crate::governed::refusal::{LoopRefusal, Ruling};
use crate::governed::request::held_back;
use crate::sandbox_fault::command::ReportFault;
use crate::sandbox_fault::event::{FaultReported, SandboxDecided};
use crate::sandbox_fault::rules::{check_fault_identity, decide_sandbox_outcome};
use crate::sandbox_fault::types::{
    ExecutionFaultType, FaultReport, SandboxContext, SandboxDecision, SandboxDecisionResult,
};

use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};

/// The first attempt.
pub(crate) fn dispatch(on: &mut OnLoop<'_>, command: &DispatchLoop, set_back: u64) -> Ruling {
    match on.entity.state() {
        // While an attempt runs, PRIOR_EXECUTION_PENDING stops the loop.
        Init | AwaitingResponse | Dispatched => {
            begin_attempt(on.entity, &mut on.batch, (command, None), set_back)
        }
        Evaluated => Err(wrong_state(on.entity, Init, "retry or complete the evaluated loop")),
        Halted => on.batch.illegal(Halted, Dispatched),
    }
}

/// Every further attempt, within the limit: where a person decided RETRY, or where Phase-21 did
/// and no hold applies.
pub(crate) fn retry(on: &mut OnLoop<'_>, command: &DispatchLoop, set_back: u64) -> Ruling {
    match on.entity.state() {
        Evaluated => match on.entity.retry_permitted() {
            Ok(_) => begin_attempt(on.entity, &mut on.batch, (command, None), set_back),
            Err(Barrier::NotPermitted) => Err(LoopRefusal::RetryNotPermitted {
                loop_id: String::from(on.entity.loop_id()),
                found: ending_text(on.entity),
            }),
            Err(barrier) => Err(held_back(on.entity, barrier)),
        },
        Init => Err(wrong_state(on.entity, Evaluated, "dispatch the loop first")),
        AwaitingResponse | Dispatched => {
            begin_attempt(on.entity, &mut on.batch, (command, None), set_back)
        }
        Halted => on.batch.illegal(Halted, Dispatched),
    }
}

/// DISPATCHED to AWAITING_RESPONSE. Internal: the table has no evidence for it.
pub(crate) fn await_response(on: &mut OnLoop<'_>, command: &AwaitResponse) -> Ruling {
    if on.entity.state() != Dispatched {
        return on.batch.illegal(on.entity.state(), AwaitingResponse);
    }
    let AwaitResponse { recorder_key, on_full, .. } = *command;
    let (loop_id, attempt) = (on.batch.loop_id(), on.entity.attempt_count());
    on.batch.push(ResponseAwaited { loop_id, attempt, recorder_key, on_full });
    on.batch.capture(LoopStep::Awaiting, Vec::new(), EvidenceContent::Opaque)
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

/// `given` is the next instruction with its envelope, where the attempt has one of its own.
pub(crate) fn begin_attempt(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    (command, given): (&DispatchLoop, Option<(NextInstruction, Vec<u8>)>),
    set_back: u64,
) -> Ruling {
    let from = entity.state();
    if let Some((condition, details)) = stop_of_dispatch(entity, command, batch.at(), set_back) {
        return batch.stop(from, condition, &details);
    }
    let attempt = entity.attempt_count().saturating_add(1);
    let evidence = format!("{from} -> {Dispatched}, attempt {attempt}").into_bytes();
    let content = EvidenceContent::Transition { from, to: Dispatched };
    let permission = match &given {
        Some(_) => RetryPermission { fault: None, decision: entity.continued() },
        None => entity.dispatch_permission(),
    };
    let (instruction, envelope) = given.unzip();
    if let Some(envelope) = envelope {
        batch.capture(LoopStep::Continued, envelope, EvidenceContent::Instruction)?;
    } else if from == Evaluated {
        batch.capture(LoopStep::Continued, evidence.clone(), content.clone())?;
    }
    batch.push(LoopDispatched {
        loop_id: batch.loop_id(),
        attempt,
        permitted_by_fault: permission.fault.map(Into::into),
        permitted_by_decision: permission.decision.map(Into::into),
        instruction,
    });
    batch.capture(LoopStep::Dispatched, evidence, content)
}

/// An executor answered.
pub(crate) fn report_response(on: &mut OnLoop<'_>, command: &ReportResponse) -> Ruling {
    if on.entity.state() != AwaitingResponse {
        return on.batch.illegal(on.entity.state(), Evaluated);
    }
    check_raw_output(on.entity)?;
    let raw = ExecutorRawResponse {
        executor_id: command.executor_id.clone(),
        instruction_hash: command.instruction_hash.clone(),
        raw_payload: RawData::default(),
        reported_status: command.reported_status,
    };
    evaluate(on, &raw, command.error.as_deref(), command.exit)
}

/// Raw output is captured before it is normalized (Phase-31, attachment to Phase-30).
fn check_raw_output(entity: &ExecutionLoop) -> Ruling {
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
    on: &mut OnLoop<'_>,
    raw: &ExecutorRawResponse,
    error: Option<&str>,
    exit: Exit,
) -> Ruling {
    let attempt = on.entity.attempt_count();
    let normalized = normalize_loop_response(&on.entity.context, raw);
    let accepted = normalized.decision == ResponseDecision::Accept;
    let error = error.map(shown);
    let evaluation = evaluate_executor_response(accepted, error.as_deref());
    let evidence = format!("{AwaitingResponse} -> {Evaluated}, attempt {attempt}");
    let content = EvidenceContent::Transition { from: AwaitingResponse, to: Evaluated };
    on.batch.state_output()?;
    on.batch.capture(LoopStep::Evaluated, evidence.into_bytes(), content)?;
    on.batch.push(ResponseEvaluated {
        loop_id: on.batch.loop_id(),
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
    on.batch.capture(LoopStep::ResultDecided, evidence, content)
}

/// A fault is an evaluated response as well, so that confidence and decision are on the record.
/// TERMINATE halts at once; RETRY and ESCALATE leave the loop EVALUATED.
pub(crate) fn report_fault(on: &mut OnLoop<'_>, command: &ReportFault) -> Ruling {
    let Some(context) =
        on.entity.sandbox_context().filter(|_| on.entity.state() == AwaitingResponse)
    else {
        return on.batch.illegal(on.entity.state(), Evaluated);
    };
    check_raw_output(on.entity)?;
    let outcome = evaluate_fault(on, command, &context)?;
    if outcome.decision == SandboxDecision::Terminate {
        on.batch.halt(terminated(command.fault_type, &outcome))?;
    }
    Ok(())
}

/// Returns what Phase-21 decides of a fault, and the evaluation.
fn evaluate_fault(
    on: &mut OnLoop<'_>,
    command: &ReportFault,
    context: &SandboxContext,
) -> Result<SandboxDecisionResult, LoopRefusal> {
    let fault = fault_report(&on.batch, command);
    check_fault_identity(&fault, context).map_err(LoopRefusal::FaultElsewhere)?;
    let outcome = decide_sandbox_outcome(on.entity.retry_ceiling, &fault, context);
    record(&mut on.batch, command, &fault, &outcome);
    let error = format!("{}: {}", fault.fault_type, fault.fault_message);
    let raw = as_reported(on.entity, as_response(fault.fault_type));
    evaluate(on, &raw, Some(&error), command.exit)?;
    Ok(outcome)
}

/// A guard that outlived the recorder saw how the command ended. The whole length of what that
/// printed is not known.
pub(crate) fn report_guarded(on: &mut OnLoop<'_>, end: &GuardedEnd) -> Ruling {
    if on.entity.current_attempt().is_some_and(|attempt| attempt.resources.is_none()) {
        let content = EvidenceContent::Resources(end.usage);
        on.batch.capture(LoopStep::ResourcesMeasured, end.usage.spelled_out(), content)?;
    }
    on.batch.expect_output(on.entity);
    let Some((fault_type, context)) = end.fault.zip(on.entity.sandbox_context()) else {
        let is_success = end.exit == Exit::Status(0);
        let reported = match is_success {
            true => ExecutorResponseType::Success,
            false => ExecutorResponseType::Failure,
        };
        let error = (!is_success).then_some(&*end.message);
        let raw = as_reported(on.entity, reported);
        return evaluate(on, &raw, error, end.exit);
    };
    let command = ReportFault {
        loop_id: String::from(on.entity.loop_id()),
        entropy: on.batch.entropy(),
        attempt: on.entity.attempt_count(),
        fault_type,
        fault_message: end.message.clone(),
        exit: end.exit,
    };
    evaluate_fault(on, &command, &context).map(drop)
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

/// Returns what a fault means to Phase-30. None of them is SUCCESS.
const fn as_response(fault_type: ExecutionFaultType) -> ExecutorResponseType {
    match fault_type {
        ExecutionFaultType::Timeout => ExecutorResponseType::Timeout,
        ExecutionFaultType::Partial => ExecutorResponseType::Partial,
        ExecutionFaultType::InvalidResponse => ExecutorResponseType::Malformed,
        ExecutionFaultType::Crash
        | ExecutionFaultType::ResourceExhausted
        | ExecutionFaultType::SecurityViolation => ExecutorResponseType::Failure,
    }
}

/// A response of the loop's own executor to its own instruction.
fn as_reported(
    entity: &ExecutionLoop,
    reported_status: ExecutorResponseType,
) -> ExecutorRawResponse {
    ExecutorRawResponse {
        executor_id: String::from(entity.context.executor_id()),
        instruction_hash: String::from(entity.context.instruction_envelope_hash()),
        raw_payload: RawData::default(),
        reported_status,
    }
}

fn terminated(fault_type: ExecutionFaultType, outcome: &SandboxDecisionResult) -> LoopEnding {
    LoopEnding {
        from: Evaluated,
        requested: Halted,
        reason: HaltReason::FaultTerminated,
        stop_condition: None,
        fault_type: Some(fault_type),
        details: format!("{}: {}", outcome.reason_code, outcome.reason_description),
    }
}

// ---- The ten stop conditions -------------------------------------------------------------------

/// Room for the name of a fact and its value behind the details.
const FACT_BYTES: usize = 64;

/// One of the ten stop conditions, by what the caller states of the world outside. What is not
/// stated stops; what is known to be well does not. A caller states no fact of the log's own.
pub(crate) fn stop(on: &mut OnLoop<'_>, command: &StopLoop, set_back: u64) -> Ruling {
    let condition = command.condition;
    if let Some(fact) = states_own_fact(&command.facts) {
        return Err(LoopRefusal::FactNotTaken { fact });
    }
    // No attempt begins: nothing is offered in the place of the instruction, and nothing waits for
    // an attempt before it.
    let facts = StopFacts {
        chain_valid: is_chain_valid(on.entity),
        timestamp_valid: Some(is_timestamp_valid(on.entity, on.batch.at(), set_back)),
        envelope_hash_matches: Some(true),
        prior_execution_complete: Some(true),
        ..command.facts
    };
    if !check_stop(on.entity.observer.as_ref(), condition, &facts) {
        return Err(LoopRefusal::StopNotTriggered { condition: condition.name() });
    }
    let details = with_fact(condition, stated(condition, &facts), &command.details);
    on.batch.stop(on.entity.state(), condition, &details)
}

/// The details, and behind them the fact, where it was false or not stated.
pub(crate) fn with_fact(condition: StopCondition, value: Option<bool>, details: &str) -> String {
    let details = shown(details);
    let room = MAX_SENTENCE_BYTES.saturating_sub(FACT_BYTES);
    match (value, details.is_empty()) {
        (Some(true), _) => details,
        (value, true) => fact_text(condition, value),
        (value, false) => {
            format!("{}; {}", bounded(&details, room), fact_text(condition, value))
        }
    }
}

fn fact_text(condition: StopCondition, value: Option<bool>) -> String {
    let fact = row_of(condition).map_or("", |row| row.fact);
    match value {
        Some(value) => format!("{fact} is {value}"),
        None => format!("{fact} is not stated"),
    }
}

fn row_of(condition: StopCondition) -> Option<&'static StopTrigger> {
    STOP_TRIGGERS.iter().find(|row| row.condition == condition)
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

/// The four facts that a caller may not state: the log knows them.
const fn states_own_fact(facts: &StopFacts) -> Option<&'static str> {
    match facts {
        StopFacts { envelope_hash_matches: Some(_), .. } => Some("envelope_hash_matches"),
        StopFacts { chain_valid: Some(_), .. } => Some("chain_valid"),
        StopFacts { timestamp_valid: Some(_), .. } => Some("timestamp_valid"),
        StopFacts { prior_execution_complete: Some(_), .. } => Some("prior_execution_complete"),
        _ => None,
    }
}

/// Returns what stops a dispatch. All ten conditions are checked. The first that holds halts; the
/// details name all. HUMAN_ABORT is a person's act: where nobody says whether there was one, the
/// context is not whole.
fn stop_of_dispatch(
    entity: &ExecutionLoop,
    command: &DispatchLoop,
    at: Timestamp,
    set_back: u64,
) -> Option<(StopCondition, String)> {
    let facts = dispatch_facts(entity, command, at, set_back);
    let found: Vec<StopCondition> =
        triggered_conditions(entity.observer.as_ref(), &facts).collect();
    let explain = |condition: &StopCondition| {
        let fact = fact_text(*condition, stated(*condition, &facts));
        let offered = match *condition == StopCondition::EnvelopeHashMismatch {
            true => format!("{OFFERED}{}", shown_name(&command.envelope_hash)),
            false => String::new(),
        };
        format!("{condition}: {fact}{offered}")
    };
    let details: Vec<String> = found.iter().map(explain).collect();
    let first = *found.first()?;
    let is_no_act = first == StopCondition::HumanAbort && facts.human_abort_signaled.is_none();
    let condition = if is_no_act { StopCondition::ContextUninitialized } else { first };
    Some((condition, details.join("; ")))
}

/// Words between the fact and the instruction that was offered instead.
const OFFERED: &str = ", offered is ";

/// Returns what the caller states, and what the log knows and nobody is asked for. `on_loop` has
/// checked the chain before.
fn dispatch_facts(
    entity: &ExecutionLoop,
    command: &DispatchLoop,
    at: Timestamp,
    set_back: u64,
) -> StopFacts {
    let stated = &command.facts;
    StopFacts {
        authorization_present: stated.authorization_present,
        executor_registered: stated.executor_registered,
        envelope_hash_matches: Some(
            command.envelope_hash == entity.context.instruction_envelope_hash(),
        ),
        chain_valid: is_chain_valid(entity),
        resources_available: stated.resources_available,
        timestamp_valid: Some(is_timestamp_valid(entity, at, set_back)),
        prior_execution_complete: Some(is_prior_complete(entity)),
        intent_clear: stated.intent_clear,
        human_abort_signaled: stated.human_abort_signaled,
    }
}

fn is_chain_valid(entity: &ExecutionLoop) -> Option<bool> {
    entity.chain.as_ref().map(|chain| !chain.is_broken)
}

/// Returns whether the times of the loop are those at which things happened. Of a loop over whose
/// life the wall clock was set back, they are not: `set_back` is the newest record that says so.
fn is_timestamp_valid(entity: &ExecutionLoop, at: Timestamp, set_back: u64) -> bool {
    let last_at = entity.chain.as_ref().and_then(|chain| chain.last_at);
    set_back < entity.started_sequence && check_follows(last_at, at).is_ok()
}

fn is_prior_complete(entity: &ExecutionLoop) -> bool {
    matches!(entity.state(), Init | Evaluated)
}

/// Why nothing can be added to the loop's evidence as it is: no observer, a broken chain, or a
/// time before the newest evidence.
pub(crate) fn continuity_fault(
    entity: &ExecutionLoop,
    at: Timestamp,
) -> Option<(StopCondition, String)> {
    let (condition, details) = match (&entity.observer, &entity.chain) {
        (Some(_), Some(chain)) if chain.is_broken => {
            let details = "the evidence chain does not verify; see the log's findings";
            (StopCondition::EvidenceChainBroken, String::from(details))
        }
        (Some(_), Some(chain)) => {
            let fault = check_follows(chain.last_at, at).err()?;
            (StopCondition::TimestampInvalid, fault.to_string())
        }
        (None, _) | (_, None) => {
            (StopCondition::ContextUninitialized, String::from("the loop has no observer"))
        }
    };
    Some((condition, with_fact(condition, Some(false), &details)))
}

/// No condition on record is one that the log itself contradicts.
pub(crate) fn judge_stop_detected(
    of: LoopSubject<'_>,

    body: &StopConditionDetected,
    checks: &mut RuleChecks,
) {
    let lives = of.entity.state() != ExecutionLoopState::Halted;
    checks.demand(lives, Rule::HaltedIsFinal, "nothing after HALTED", body.condition);
    if !lives || !checks.rules.knows_stops {
        return;
    }
    if let Some(expected) = contradicted(of, body) {
        let found = format!("{}: {}", body.condition, body.details);
        checks.forbid(Rule::StopCondition, expected, found);
    }
}

/// Returns what would have to be on record, where it is not.
fn contradicted(of: LoopSubject<'_>, body: &StopConditionDetected) -> Option<&'static str> {
    let (says, details) = (|value| fact_text(body.condition, value), body.details.as_str());
    let is_named = |value| details.contains(&says(value));
    let (holds, expected) = match body.condition {
        StopCondition::EvidenceChainBroken => {
            (is_chain_valid(of.entity) == Some(false), "a chain that does not verify")
        }
        StopCondition::TimestampInvalid => {
            let is_valid = is_timestamp_valid(of.entity, of.record.at, of.record.set_back);
            (!is_valid, "a time before the newest evidence, or a clock that was set back")
        }
        StopCondition::PriorExecutionPending => {
            (!is_prior_complete(of.entity), "an attempt that has not ended")
        }
        StopCondition::EnvelopeHashMismatch => {
            (is_another_instruction(of.entity, details), "another instruction")
        }
        StopCondition::ContextUninitialized => {
            let is_whole = of.entity.observer.as_ref().is_some_and(|it| it.is_initialized());
            let unstated = fact_text(StopCondition::HumanAbort, None);
            (!is_whole || details.contains(&unstated), "a context that is not whole")
        }
        StopCondition::HumanAbort => (of.record.actor.kind == Actor::Human, "a person"),
        StopCondition::MissingAuthorization
        | StopCondition::ExecutorNotRegistered
        | StopCondition::ResourceLimitExceeded
        | StopCondition::AmbiguousIntent => {
            (is_named(Some(false)) || is_named(None), "details that name the fact")
        }
    };
    (!holds).then_some(expected)
}

/// Returns whether the observer expects another instruction than the loop's, the bytes on record
/// are of another one, or the details name one that was offered.
fn is_another_instruction(entity: &ExecutionLoop, details: &str) -> bool {
    let own = entity.context.instruction_envelope_hash();
    let expected = entity.observer.as_ref().map(|observer| observer.envelope_hash.as_str());
    let first = entity.chain.as_ref().and_then(|chain| chain.records.first());
    let recorded = first.filter(|record| record.content == EvidenceContent::Instruction);
    let named = details.split_once(OFFERED).map(|(_, behind)| behind);
    let offered = named.map(|it| it.split_once("; ").map_or(it, |(offered, _)| offered));
    expected.is_some_and(|expected| expected != own)
        || recorded.is_some_and(|record| *record.raw_sha256.to_text() != *own)
        || offered.is_some_and(|offered| offered != own)
}
