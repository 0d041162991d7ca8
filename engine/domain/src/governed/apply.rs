//! Events of `execution_loop` (Phase-29 and Phase-30) and of `sandbox_fault` (Phase-21) as they
//! change a loop.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::core::confidence::Confidence;
use crate::core::forbidden::{Record, Rule, RuleChecks};
use crate::core::ids::is_strong_entropy;
use crate::core::payload::Text;
use crate::evidence_capture::integration::{LoopStep, capture_place};
use crate::evidence_capture::types::{EvidenceContent, StopCondition};
use crate::execution_loop::event::{
    LoopDispatched, LoopHalted, LoopInitialized, NextInstruction, ResponseAwaited,
    ResponseEvaluated,
};
use crate::execution_loop::rules::{
    decide_response_outcome, evaluate_response_trust, initialize_execution_loop,
    is_transition_allowed, transition_execution_state,
};
use crate::execution_loop::types::{
    ExecutionDecision, ExecutionLoopState, HaltReason, HandshakeDecision, ResponseDecision,
};
use crate::governed::aggregate::{
    Attempt, AttemptFault, AttemptResponse, Barrier, ExecutionLoop, Halt, RetryPermission,
};
use crate::human_decision::state::HumanDecisions;
use crate::sandbox_fault::event::{FaultReported, SandboxDecided};
use crate::sandbox_fault::rules::decide_sandbox_outcome;
use crate::sandbox_fault::types::{ExecutionFaultType, FaultReport, SandboxDecisionResult};

use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted};

/// Prefix of a new loop's id.
const ID_PREFIX: &str = "LOOP-";

/// Returns whether a loop may begin; `is_taken` says whether a live one has its id.
pub(crate) fn may_begin(is_taken: bool, body: &LoopInitialized, checks: &mut RuleChecks) -> bool {
    let (rule, id) = (Rule::Initialization, &body.loop_id);
    let is_loop = id.strip_prefix(ID_PREFIX).is_some_and(is_strong_entropy);
    checks.demand(is_loop, rule, "an id of LOOP- and 32 digits", id)
        && checks.demand(!is_taken, rule, "a new id", "the id of a live loop")
}

/// The same, and within how many attempts.
pub(crate) fn judge_initialized(is_taken: bool, body: &LoopInitialized, checks: &mut RuleChecks) {
    if may_begin(is_taken, body, checks) {
        let most = checks.rules.attempts_max;
        let is_bounded = (1..=most).contains(&body.max_attempts);
        let expected = format!("1 to {most} attempts");
        checks.demand(is_bounded, Rule::Initialization, expected, body.max_attempts);
    }
}

/// The loop that begins.
pub(crate) fn initialized(record: Record<'_>, body: &LoopInitialized) -> ExecutionLoop {
    let entropy = body.loop_id.strip_prefix(ID_PREFIX).unwrap_or_default();
    let hash = &body.instruction_envelope_hash;
    ExecutionLoop {
        context: initialize_execution_loop(hash, &body.executor_id, entropy),
        command_line: String::from(body.command_line.as_str()),
        max_attempts: body.max_attempts,
        retry_ceiling: body.retry_ceiling,
        timeout_ms: body.timeout_ms,
        hold: body.hold.clone(),
        decisions: HumanDecisions::default(),
        handshake_decision: body.handshake_decision,
        handshake_reason: String::from(body.handshake_reason.as_str()),
        actor: record.actor.clone(),
        correlation: String::from(record.correlation),
        started_at: record.at,
        started_sequence: record.sequence,
        version: record.sequence,
        observer: None,
        chain: None,
        attempts: Vec::new(),
        stop: None,
        halt: None,
    }
}

pub(crate) fn dispatched(entity: &mut ExecutionLoop, record: Record<'_>, body: &LoopDispatched) {
    if !transition_execution_state(&mut entity.context, Dispatched) {
        return;
    }
    if let Some(instruction) = &body.instruction {
        entity.take_instruction(instruction);
    }
    entity.attempts.push(Attempt {
        number: body.attempt,
        dispatched_at: record.at,
        dispatched_sequence: record.sequence,
        permitted_by_fault: owned(body.permitted_by_fault.as_ref()),
        permitted_by_decision: owned(body.permitted_by_decision.as_ref()),
        outputs: Vec::new(),
        resources: None,
        fault: None,
        response: None,
    });
}

pub(crate) fn judge_dispatched(
    entity: &ExecutionLoop,
    body: &LoopDispatched,
    checks: &mut RuleChecks,
) {
    let next = entity.attempt_count().saturating_add(1);
    checks.expect(Rule::AttemptNumber, next, body.attempt);
    if body.attempt > entity.max_attempts {
        let expected = format!("at most {}", entity.max_attempts);
        checks.forbid(Rule::AttemptNumber, expected, body.attempt);
    }
    if entity.state() == Evaluated {
        check_decision_evidence(entity, checks);
        check_evidence(entity, LoopStep::Continued, checks);
    } else {
        check_evidence(entity, LoopStep::Initialized, checks);
    }
    let permission = if body.instruction.is_some() {
        let is_continued = !entity.ends_with_continue() && entity.continued().is_some();
        checks.demand(is_continued, Rule::HoldPoint, "a person's CONTINUE", "none");
        RetryPermission { fault: None, decision: entity.continued() }
    } else {
        if entity.state() == Evaluated {
            check_retry(entity, checks);
        }
        entity.dispatch_permission()
    };
    let mut named = |expected: Option<&str>, found: Option<&Text>| {
        let found = found.map_or("none", Text::as_str);
        checks.expect(Rule::RetryPermission, expected.unwrap_or("none"), found);
    };
    named(permission.fault, body.permitted_by_fault.as_ref());
    named(permission.decision, body.permitted_by_decision.as_ref());
    judge_transition(entity, Dispatched, checks);
}

/// Phase-21 or a person permits every attempt but the first; where a hold applies, a person.
fn check_retry(entity: &ExecutionLoop, checks: &mut RuleChecks) {
    match entity.retry_permitted() {
        Ok(_) => {}
        Err(Barrier::NotPermitted) => {
            checks.forbid(Rule::RetryPermission, "a permission", "none");
        }
        Err(_) => checks.forbid(Rule::HoldPoint, "a person's RETRY", "none"),
    }
}

impl ExecutionLoop {
    /// The instruction of the loop from here on.
    pub(crate) fn take_instruction(&mut self, instruction: &NextInstruction) {
        self.context.instruction_envelope_hash = String::from(instruction.envelope_hash.as_str());
        self.command_line = String::from(instruction.command_line.as_str());
    }
}

fn owned(id: Option<&Text>) -> Option<String> {
    id.map(|id| String::from(id.as_str()))
}

pub(crate) fn awaited(entity: &mut ExecutionLoop) {
    transition_execution_state(&mut entity.context, AwaitingResponse);
}

pub(crate) fn judge_awaited(
    entity: &ExecutionLoop,
    body: &ResponseAwaited,
    checks: &mut RuleChecks,
) {
    checks.expect(Rule::AttemptNumber, entity.attempt_count(), body.attempt);
    check_evidence(entity, LoopStep::Dispatched, checks);
    judge_transition(entity, AwaitingResponse, checks);
}

pub(crate) fn judge_evaluated(
    entity: &ExecutionLoop,
    body: &ResponseEvaluated,
    checks: &mut RuleChecks,
) {
    checks.expect(Rule::AttemptNumber, entity.attempt_count(), body.attempt);
    check_response(body, checks);
    check_evidence(entity, LoopStep::Evaluated, checks);
    if judge_transition(entity, Evaluated, checks)
        && entity.attempts.last().is_some_and(|attempt| attempt.outputs.is_empty())
        && !states_pieces(entity)
    {
        checks.forbid(Rule::RawOutputFirst, "raw output of this attempt", "none");
    }
}

/// Returns whether the evidence before the newest states the pieces of a stream whose end is not
/// known: its recorder was lost.
fn states_pieces(entity: &ExecutionLoop) -> bool {
    let records = entity.chain.as_ref().map(|chain| chain.records.iter().rev());
    let before = records.and_then(|mut records| records.nth(1));
    before.is_some_and(|record| matches!(record.content, EvidenceContent::OutputPieces(_)))
}

pub(crate) fn evaluated(entity: &mut ExecutionLoop, record: Record<'_>, body: &ResponseEvaluated) {
    if !transition_execution_state(&mut entity.context, Evaluated) {
        return;
    }
    let Some(attempt) = entity.attempts.last_mut() else { return };
    attempt.response = Some(AttemptResponse {
        response_type: body.response_type,
        response_decision: body.response_decision,
        confidence: body.confidence,
        reason: String::from(body.reason.as_str()),
        execution_decision: body.execution_decision,
        execution_reason: String::from(body.execution_reason.as_str()),
        exit: body.exit,
        evaluated_at: record.at,
    });
}

/// Either the table's row, or the rejection of a response that is not this loop's.
fn check_response(body: &ResponseEvaluated, checks: &mut RuleChecks) {
    let found = (body.response_decision, body.confidence);
    let row =
        (decide_response_outcome(body.response_type), evaluate_response_trust(body.response_type));
    if found != row && found != (ResponseDecision::Reject, Confidence::ZERO) {
        let text = |(worth, trust): (ResponseDecision, Confidence)| format!("{worth} {trust}");
        checks.forbid(Rule::ResponseTable, text(row), text(found));
    }
    if body.execution_decision == ExecutionDecision::Continue
        && body.response_decision != ResponseDecision::Accept
    {
        checks.forbid(Rule::ResponseTable, "CONTINUE only with ACCEPT", body.response_decision);
    }
}

pub(crate) fn halted(entity: &mut ExecutionLoop, record: Record<'_>, body: &LoopHalted) {
    if entity.halt.is_some() {
        return;
    }
    transition_execution_state(&mut entity.context, Halted);
    entity.halt = Some(Halt {
        reason: body.reason,
        from: body.from,
        requested: body.requested,
        stop_condition: body.stop_condition,
        fault_type: body.fault_type,
        at: record.at,
        sequence: record.sequence,
    });
}

pub(crate) fn judge_halted(entity: &ExecutionLoop, body: &LoopHalted, checks: &mut RuleChecks) {
    if entity.halt.is_some() {
        checks.forbid(Rule::HaltedIsFinal, "nothing after HALTED", "HALTED again");
        return;
    }
    checks.expect(Rule::Transition, entity.state(), body.from);
    let is_illegal = body.reason == HaltReason::IllegalTransition;
    if is_illegal == is_transition_allowed(body.from, body.requested) {
        let found = format!("{} for {} -> {}", body.reason, body.from, body.requested);
        checks.forbid(Rule::HaltReason, "ILLEGAL_TRANSITION exactly where it is one", found);
    }
    let found = (body.stop_condition, body.fault_type);
    if expected_halt(entity, body.reason) != Some(found) {
        let expected = "a reason that the loop's own history gives";
        checks.forbid(Rule::HaltReason, expected, body.reason);
    }
    if entity.state() == Evaluated {
        check_decision_evidence(entity, checks);
    }
    if let Some(held) = entity.open_request() {
        checks.forbid(Rule::HumanDecisionRequest, "no open request", held.request_id());
    }
    if is_ending(body.reason) && entity.completion_barrier().is_some() {
        checks.forbid(Rule::HoldPoint, "a person's CONTINUE", "none");
    }
    if entity.chain.is_some() {
        check_evidence(entity, body.reason.step(), checks);
    }
}

/// Returns whether a loop that ends for this reason passes its hold point.
const fn is_ending(reason: HaltReason) -> bool {
    match reason {
        HaltReason::Completed
        | HaltReason::ResponseRejected
        | HaltReason::ResponseEscalated
        | HaltReason::FaultEscalated
        | HaltReason::FaultNotRetried => true,
        HaltReason::FaultTerminated
        | HaltReason::StopCondition
        | HaltReason::IllegalTransition
        | HaltReason::HandshakeFailed
        | HaltReason::HumanDecisionTimedOut
        | HaltReason::Interrupted
        | HaltReason::RecorderLost => false,
    }
}

/// The stop condition and the fault that a halt for this reason names; `None` where the loop's
/// history gives no such reason.
fn expected_halt(entity: &ExecutionLoop, reason: HaltReason) -> Option<HaltCause> {
    match reason {
        HaltReason::StopCondition => Some((Some(entity.stop.as_ref()?.condition), None)),
        HaltReason::HandshakeFailed => {
            (entity.handshake_decision == HandshakeDecision::Reject).then_some((None, None))
        }
        HaltReason::IllegalTransition | HaltReason::Interrupted | HaltReason::RecorderLost => {
            Some((None, None))
        }
        HaltReason::HumanDecisionTimedOut => entity.is_timed_out().then_some((None, None)),
        HaltReason::Completed
        | HaltReason::ResponseRejected
        | HaltReason::ResponseEscalated
        | HaltReason::FaultTerminated
        | HaltReason::FaultEscalated
        | HaltReason::FaultNotRetried => {
            let (ending, fault_type) = entity.ending()?;
            (ending == reason).then_some((None, fault_type))
        }
    }
}

type HaltCause = (Option<StopCondition>, Option<ExecutionFaultType>);

/// The evidence of a step is the newest record of the chain.
fn check_evidence(entity: &ExecutionLoop, step: LoopStep, checks: &mut RuleChecks) {
    let newest = entity.chain.as_ref().and_then(|chain| chain.records.last());
    let found = newest.map(|record| (record.observation_point, record.evidence_type));
    let Some(expected) = capture_place(step) else { return };
    if found == Some(expected) && !matches!(newest, Some(r) if is_decision(&r.content, step)) {
        return;
    }
    let text = |(point, kind): (_, _)| format!("{point} {kind}");
    let expected = format!("{} evidence: {}", step, text(expected));
    let found = found.map_or_else(|| String::from("none"), text);
    checks.forbid(Rule::TransitionEvidence, expected, found);
}

/// The decision about a response lies where a continuation lies, but is not one.
const fn is_decision(content: &EvidenceContent, step: LoopStep) -> bool {
    matches!(step, LoopStep::Continued) && matches!(content, EvidenceContent::Decision(_))
}

/// Before an evaluated loop moves on, what its response is worth was captured.
fn check_decision_evidence(entity: &ExecutionLoop, checks: &mut RuleChecks) {
    let since = entity.current_attempt().map_or(0, |attempt| attempt.dispatched_sequence);
    let mut records = entity.chain.iter().flat_map(|chain| chain.records.iter().rev());
    if !records.any(|r| r.sequence > since && matches!(r.content, EvidenceContent::Decision(_))) {
        let expected = "ACCEPT, REJECT or ESCALATE evidence of this attempt";
        checks.forbid(Rule::TransitionEvidence, expected, "none");
    }
}

/// Returns whether the table allows it. What it does not allow halts the loop, and is found.
fn judge_transition(
    entity: &ExecutionLoop,
    to: ExecutionLoopState,
    checks: &mut RuleChecks,
) -> bool {
    let from = entity.state();
    let allowed = is_transition_allowed(from, to);
    if from == Halted {
        checks.forbid(Rule::HaltedIsFinal, "nothing after HALTED", to);
    } else if !allowed {
        checks.forbid(Rule::Transition, "a transition of the table", format!("{from} -> {to}"));
    }
    allowed
}

pub(crate) fn judge_reported(
    entity: &ExecutionLoop,
    body: &FaultReported,
    checks: &mut RuleChecks,
) {
    checks.expect(Rule::FaultTable, ExecutionLoopState::AwaitingResponse, entity.state());
    checks.expect(Rule::AttemptNumber, entity.attempt_count(), body.attempt);
    if entity.attempts.last().is_some_and(|attempt| attempt.fault.is_some()) {
        checks.forbid(Rule::FaultTable, "one fault of an attempt", &body.fault_id);
    }
}

/// The first fault of an attempt counts.
pub(crate) fn reported(entity: &mut ExecutionLoop, body: &FaultReported) {
    let attempt = entity.attempts.last_mut().filter(|attempt| attempt.fault.is_none());
    let Some(attempt) = attempt else { return };
    attempt.fault = Some(AttemptFault {
        fault_id: String::from(body.fault_id.as_str()),
        fault_type: body.fault_type,
        fault_message: String::from(body.fault_message.as_str()),
        occurred_at: body.occurred_at,
        outcome: None,
    });
}

/// Computes again what follows a fault, and the computed outcome counts: privileges never grow,
/// whoever wrote the event.
pub(crate) fn decided(entity: &mut ExecutionLoop) {
    let outcome = outcome(entity).map(|(_, outcome)| outcome);
    let fault = entity.attempts.last_mut().and_then(|attempt| attempt.fault.as_mut());
    if let (Some(fault), Some(outcome)) = (fault, outcome) {
        fault.outcome = Some(outcome);
    }
}

/// The fault of the newest attempt, and what follows it.
fn outcome(entity: &ExecutionLoop) -> Option<(FaultReport, SandboxDecisionResult)> {
    let (fault, context) = entity.judged_fault()?;
    let outcome = decide_sandbox_outcome(entity.retry_ceiling, &fault, &context);
    Some((fault, outcome))
}

pub(crate) fn judge_decided(
    entity: &ExecutionLoop,
    body: &SandboxDecided,
    checks: &mut RuleChecks,
) {
    checks.expect(Rule::AttemptNumber, entity.attempt_count(), body.attempt);
    let Some((fault, outcome)) = outcome(entity) else {
        checks.forbid(Rule::FaultTable, "a fault of this attempt", "none");
        return;
    };
    checks.expect(Rule::FaultTable, fault.fault_id.as_str(), &body.fault_id);
    checks.expect(Rule::FaultTable, outcome.decision, body.sandbox_decision);
    checks.expect(Rule::FaultTable, outcome.retry_policy, body.retry_policy);
    checks.expect(Rule::FaultTable, outcome.reason_code.as_str(), &body.reason_code);
}
