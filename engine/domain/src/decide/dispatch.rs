//! INIT or EVALUATED to DISPATCHED, and on to AWAITING_RESPONSE.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::batch::Batch;
use super::human_decision::held_back;
use crate::command::DispatchLoop;
use crate::event::{EvidenceContent, LoopDispatched, ResponseAwaited};
use crate::evidence_capture::{
    LoopStep, STOP_TRIGGERS, StopCondition, StopFacts, triggered_conditions,
};
use crate::execution_loop::ExecutionLoopState;
use crate::refusal::Refusal;
use crate::world::{Barrier, ExecutionLoop};

use ExecutionLoopState::{AwaitingResponse, Dispatched, Evaluated, Halted, Init};

/// The first attempt.
pub(super) fn dispatch(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &DispatchLoop,
) -> Result<(), Refusal> {
    match entity.state() {
        Init => begin_attempt(entity, batch, command),
        Evaluated => Err(wrong_state(entity, Init, "retry or complete the evaluated loop")),
        AwaitingResponse | Dispatched | Halted => batch.illegal(entity.state(), Dispatched),
    }
}

/// Every further attempt, within the limit: where a person decided RETRY, or where Phase-21 did
/// and no hold applies.
pub(super) fn retry(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &DispatchLoop,
) -> Result<(), Refusal> {
    match entity.state() {
        Evaluated => match entity.retry_permitted() {
            Ok(_) => begin_attempt(entity, batch, command),
            Err(Barrier::NotPermitted) => Err(Refusal::RetryNotPermitted {
                loop_id: String::from(entity.loop_id()),
                found: ending_text(entity),
            }),
            Err(barrier) => Err(held_back(entity, barrier)),
        },
        Init => Err(wrong_state(entity, Evaluated, "dispatch the loop first")),
        AwaitingResponse | Dispatched | Halted => batch.illegal(entity.state(), Dispatched),
    }
}

/// DISPATCHED to AWAITING_RESPONSE. Internal: the table has no evidence for it.
pub(super) fn await_response(entity: &ExecutionLoop, batch: &mut Batch<'_>) -> Result<(), Refusal> {
    if entity.state() != Dispatched {
        return batch.illegal(entity.state(), AwaitingResponse);
    }
    let attempt = entity.attempt_count();
    batch.push(ResponseAwaited { loop_id: batch.loop_id(), attempt });
    batch.capture(LoopStep::Awaiting, Vec::new(), EvidenceContent::Opaque)
}

fn ending_text(entity: &ExecutionLoop) -> String {
    match entity.ending() {
        Some((reason, Some(fault))) => format!("{fault} ended in {reason}"),
        Some((reason, None)) => format!("its response ended in {reason}"),
        None => String::from("nothing was decided"),
    }
}

pub(super) fn wrong_state(
    entity: &ExecutionLoop,
    expected: ExecutionLoopState,
    advice: &'static str,
) -> Refusal {
    let loop_id = String::from(entity.loop_id());
    Refusal::WrongState { loop_id, expected, found: entity.state(), advice }
}

fn begin_attempt(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &DispatchLoop,
) -> Result<(), Refusal> {
    let from = entity.state();
    if let Some((condition, details)) = found_stop(entity, command) {
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

/// All ten conditions are checked. The first that holds halts; the details name all.
fn found_stop(entity: &ExecutionLoop, command: &DispatchLoop) -> Option<(StopCondition, String)> {
    let facts = stop_facts(entity, command);
    let found: Vec<StopCondition> =
        triggered_conditions(entity.observer.as_ref(), &facts).collect();
    let details: Vec<String> = found.iter().map(|c| explain(*c, &facts)).collect();
    Some((*found.first()?, details.join("; ")))
}

/// What the caller states, and what the loop itself knows and nobody else is asked for.
/// `on_loop` has checked the chain and the time before.
fn stop_facts(entity: &ExecutionLoop, command: &DispatchLoop) -> StopFacts {
    let stated = &command.facts;
    StopFacts {
        authorization_present: stated.authorization_present,
        executor_registered: stated.executor_registered,
        envelope_hash_matches: Some(
            command.envelope_hash == entity.context.instruction_envelope_hash(),
        ),
        chain_valid: entity.chain.as_ref().map(|chain| !chain.is_broken),
        resources_available: stated.resources_available,
        timestamp_valid: Some(true),
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
