//! A new loop: Phase-29's initialization, Phase-28's handshake, Phase-31's observer; and the next
//! instruction of one that a person let go on.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::core::forbidden::Rules;
use crate::core::hash::sha256;
use crate::core::ids::id;
use crate::core::limits::MAX_RAW_BYTES;
use crate::core::text::{check_identifier, shown_command_line};
use crate::core::time::Timestamp;
use crate::evidence_capture::event::ObserverAttached;
use crate::evidence_capture::integration::LoopStep;
use crate::evidence_capture::rules::{ObserverMismatch, attach_observer, observer_mismatch};
use crate::evidence_capture::types::{EvidenceContent, ObservationContext, StopCondition};
use crate::execution_loop::command::{DispatchLoop, InitializeLoop, InstructLoop};
use crate::execution_loop::event::{LoopInitialized, NextInstruction};
use crate::execution_loop::rules::{decide_handshake, initialize_execution_loop};
use crate::execution_loop::types::{
    ExecutionLoopContext, ExecutionLoopState, ExecutorIdentity, HaltReason, HandshakeContext,
    HandshakeDecision, HandshakeResult,
};
use crate::governed::GovernedEvent;
use crate::governed::aggregate::Barrier;
use crate::governed::attempt::{begin_attempt, with_fact, wrong_state};
use crate::governed::batch::{Batch, LoopEnding, OnLoop};
use crate::governed::refusal::{LoopRefusal, Ruling};
use crate::governed::request::held_back;

/// The loop exists from here on, and with it its observer and its chain; whatever is wrong with
/// it halts it, on the record.
pub(crate) fn initialize(
    command: &InitializeLoop,
    at: Timestamp,
) -> Result<Vec<GovernedEvent>, LoopRefusal> {
    let entropy = command.entropy.to_string();
    let hash = &command.instruction_envelope_hash;
    let context = initialize_execution_loop(hash, &command.executor_id, &entropy);
    let handshake = shake_hands(&context, command, at);
    let mut batch = Batch::new(context.loop_id(), command.entropy, at);
    batch.push(initialized(&context, command, &handshake));
    let mismatch = attach(&mut batch, &context, command);
    if mismatch.is_none() {
        let envelope = command.envelope.clone();
        batch.capture(LoopStep::Initialized, envelope, EvidenceContent::Instruction)?;
    }
    if let Some((condition, details)) = mismatch.or_else(|| envelope_mismatch(command)) {
        let details = with_fact(condition, Some(false), &details);
        batch.stop(ExecutionLoopState::Init, condition, &details)?;
    } else if handshake.decision == HandshakeDecision::Reject {
        batch.halt(handshake_failed(handshake))?;
    }
    Ok(batch.into_events())
}

/// Malformed input writes nothing.
pub(crate) fn check(command: &InitializeLoop) -> Ruling {
    check_identifier("executor id", &command.executor_id)?;
    check_instruction(&command.envelope, &command.instruction_envelope_hash)?;
    check_identifier("handshake's executor id", &command.handshake.executor_id)?;
    check_identifier("handshake's hash", &command.handshake.instruction_envelope_hash)?;
    check_identifier("observer's executor id", &command.observer.executor_id)?;
    check_identifier("observer's envelope hash", &command.observer.envelope_hash)?;
    command.hold.check()?;
    let expected_most = Rules::NEWEST.attempts_max;
    if !(1..=expected_most).contains(&command.max_attempts) {
        return Err(LoopRefusal::AttemptsOutOfRange { expected_most, found: command.max_attempts });
    }
    Ok(())
}

/// An instruction that may be recorded, and the hash that is stated of it.
pub(crate) fn check_instruction(envelope: &[u8], hash: &str) -> Ruling {
    check_identifier("instruction envelope hash", hash)?;
    match envelope.len() > MAX_RAW_BYTES {
        true => Err(LoopRefusal::EvidenceTooLarge { found: envelope.len() }),
        false => Ok(()),
    }
}

fn shake_hands(
    context: &ExecutionLoopContext,
    command: &InitializeLoop,
    at: Timestamp,
) -> HandshakeResult {
    let offered = HandshakeContext {
        instruction_envelope_hash: command.handshake.instruction_envelope_hash.clone(),
        executor_identity: ExecutorIdentity {
            executor_id: command.handshake.executor_id.clone(),
            trust_status: command.handshake.trust_status,
        },
        timestamp: at.to_string(),
    };
    decide_handshake(context, &offered)
}

fn initialized(
    context: &ExecutionLoopContext,
    command: &InitializeLoop,
    handshake: &HandshakeResult,
) -> LoopInitialized {
    LoopInitialized {
        loop_id: context.loop_id().into(),
        executor_id: context.executor_id().into(),
        instruction_envelope_hash: context.instruction_envelope_hash().into(),
        command_line: shown_command_line(&command.command_line).into(),
        max_attempts: command.max_attempts,
        retry_ceiling: command.retry_ceiling,
        timeout_ms: command.timeout_ms,
        hold: command.hold.clone(),
        handshake_decision: handshake.decision,
        handshake_reason: handshake.reason.as_str().into(),
        gate: Some(command.gate.clone()),
        approval: command.approval.as_ref().map(|approval| approval.decision_id.as_str().into()),
        people: command.people.clone(),
    }
}

/// Attaches the observer and begins its chain. Says why the observer is halted, if it is.
fn attach(
    batch: &mut Batch<'_>,
    context: &ExecutionLoopContext,
    command: &InitializeLoop,
) -> Option<(StopCondition, String)> {
    let entropy = command.entropy.to_string();
    let expectation = ObservationContext {
        session_id: id("OBS-", &entropy),
        loop_id: String::from(context.loop_id()),
        executor_id: command.observer.executor_id.clone(),
        envelope_hash: command.observer.envelope_hash.clone(),
        created_at: String::from(batch.timestamp()),
        is_halted: false,
    };
    let mismatch = observer_mismatch(context, &expectation);
    let attached = attach_observer(context, &expectation);
    let chain_id = id("CHAIN-", &entropy);
    batch.push(ObserverAttached {
        session_id: attached.session_id.as_str().into(),
        loop_id: batch.loop_id(),
        executor_id: attached.executor_id.as_str().into(),
        envelope_hash: attached.envelope_hash.as_str().into(),
        created_at: attached.created_at.as_str().into(),
        is_halted: attached.is_halted,
        chain_id: chain_id.as_str().into(),
    });
    batch.begin_chain(attached, &chain_id);
    mismatch.map(|mismatch| (condition_of(mismatch), mismatch.to_string()))
}

const fn condition_of(mismatch: ObserverMismatch) -> StopCondition {
    match mismatch {
        ObserverMismatch::Executor => StopCondition::ExecutorNotRegistered,
        ObserverMismatch::Envelope => StopCondition::EnvelopeHashMismatch,
        ObserverMismatch::Incomplete
        | ObserverMismatch::NotInit { .. }
        | ObserverMismatch::Loop => StopCondition::ContextUninitialized,
    }
}

/// The hash is not believed: it is computed from the envelope's own bytes.
fn envelope_mismatch(command: &InitializeLoop) -> Option<(StopCondition, String)> {
    let found = sha256(&command.envelope).to_string();
    (found != command.instruction_envelope_hash).then(|| {
        let details = alloc::format!("the envelope's own bytes hash to {found}");
        (StopCondition::EnvelopeHashMismatch, details)
    })
}

fn handshake_failed(handshake: HandshakeResult) -> LoopEnding {
    LoopEnding {
        from: ExecutionLoopState::Init,
        requested: ExecutionLoopState::Halted,
        reason: HaltReason::HandshakeFailed,
        stop_condition: None,
        fault_type: None,
        details: handshake.reason,
    }
}

/// The loop's next instruction, where a person decided CONTINUE.
pub(crate) fn instruct(on: &mut OnLoop<'_>, command: &InstructLoop, set_back: u64) -> Ruling {
    check_instruction(&command.envelope, &command.instruction_envelope_hash)?;
    if on.entity.state() != ExecutionLoopState::Evaluated {
        return Err(wrong_state(
            on.entity,
            ExecutionLoopState::Evaluated,
            "report what became of the attempt first",
        ));
    }
    let not_permitted = |found: String| {
        let loop_id = String::from(on.entity.loop_id());
        Err(LoopRefusal::InstructionNotPermitted { loop_id, found })
    };
    if on.entity.continued().is_none() {
        return match on.entity.completion_barrier() {
            Some(barrier @ Barrier::Open(_)) => Err(held_back(on.entity, barrier)),
            Some(Barrier::Decided(decision)) => {
                not_permitted(alloc::format!("{decision} was decided; start a new loop"))
            }
            _ => not_permitted(String::from(
                "nobody decided CONTINUE; ask a person, or start a new loop",
            )),
        };
    }
    if on.entity.attempt_count() >= on.entity.max_attempts {
        return not_permitted(alloc::format!(
            "all {} of its attempts are used; start a new loop",
            on.entity.max_attempts
        ));
    }
    let instruction = NextInstruction {
        envelope_hash: command.instruction_envelope_hash.as_str().into(),
        command_line: shown_command_line(&command.command_line).into(),
    };
    let mut instructed = on.entity.clone();
    instructed.take_instruction(&instruction);
    let dispatch = DispatchLoop {
        loop_id: command.loop_id.clone(),
        entropy: command.entropy,
        envelope_hash: sha256(&command.envelope).to_string(),
        facts: command.facts,
    };
    let given = Some((instruction, command.envelope.clone()));
    begin_attempt(&instructed, &mut on.batch, (&dispatch, given), set_back)
}
