//! The ways into HALTED.

use alloc::format;
use alloc::string::String;

use super::batch::{Batch, Ending};
use super::dispatch::wrong_state;
use super::human_decision::held_back;
use crate::command::{InterruptLoop, StopLoop};
use crate::event::HaltReason;
use crate::evidence_capture::{StopCondition, check_stop};
use crate::execution_loop::ExecutionLoopState;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::ExecutionLoop;

use ExecutionLoopState::{Evaluated, Halted};

/// EVALUATED to HALTED, with the reason that the last evaluation gives. Where a hold applies, only
/// a person's CONTINUE does this.
pub(super) fn complete(entity: &ExecutionLoop, batch: &mut Batch<'_>) -> Result<(), Refusal> {
    let Some((reason, fault_type)) = entity.ending() else {
        return Err(wrong_state(entity, Evaluated, "report a response, or stop the loop"));
    };
    if let Some(barrier) = entity.completion_barrier() {
        return Err(held_back(entity, barrier));
    }
    batch.halt(Ending {
        from: Evaluated,
        requested: Halted,
        reason,
        stop_condition: None,
        fault_type,
        details: format!("{Evaluated} -> {Halted}, {reason}"),
    })
}

/// One of the ten stop conditions. What is not known stops; what is known to be well does not.
pub(super) fn stop(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &StopLoop,
) -> Result<(), Refusal> {
    if !check_stop(entity.observer.as_ref(), command.condition, &command.facts) {
        return Err(Refusal::StopNotTriggered { condition: command.condition.name() });
    }
    batch.stop(entity.state(), command.condition, &command.details)
}

/// A signal asked for the end, and no person is known to have sent it.
pub(super) fn interrupt(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &InterruptLoop,
) -> Result<(), Refusal> {
    let sender = match (command.sender_pid, command.sender_uid) {
        (Some(pid), Some(uid)) => format!("process {pid} of user number {uid}"),
        (Some(pid), None) => format!("process {pid}"),
        (None, Some(uid)) => format!("a process of user number {uid}"),
        (None, None) => String::from("a sender that is not known"),
    };
    let details = format!("signal {} from {sender}", command.signal);
    batch.end_without_condition(entity.state(), HaltReason::Interrupted, &details)
}

/// The process that recorded the loop is gone.
pub(super) fn lose_recorder(entity: &ExecutionLoop, batch: &mut Batch<'_>) -> Result<(), Refusal> {
    let from = entity.state();
    let what = match from {
        ExecutionLoopState::AwaitingResponse => "what became of the command is not known",
        _ => "no command was running",
    };
    let details = format!("the process that recorded the loop is gone; {what}");
    batch.end_without_condition(from, HaltReason::RecorderLost, &details)
}

/// Why nothing can be added to the loop's evidence as it is: no observer, a broken chain, or a
/// time before the newest evidence.
pub(super) fn continuity_fault(
    entity: &ExecutionLoop,
    at: Timestamp,
) -> Option<(StopCondition, String)> {
    let (Some(_), Some(chain)) = (&entity.observer, &entity.chain) else {
        let details = String::from("the loop has no observer");
        return Some((StopCondition::ContextUninitialized, details));
    };
    if chain.is_broken {
        let details = String::from("the evidence chain does not verify; see the log's findings");
        return Some((StopCondition::EvidenceChainBroken, details));
    }
    let last = chain.last_at.filter(|last| at < *last)?;
    let details = format!("{at} lies before the newest evidence, {last}");
    Some((StopCondition::TimestampInvalid, details))
}

impl Batch<'_> {
    /// A halt for a reason that is neither one of the ten conditions nor what an evaluation gives.
    fn end_without_condition(
        &mut self,
        from: ExecutionLoopState,
        reason: HaltReason,
        details: &str,
    ) -> Result<(), Refusal> {
        self.halt(Ending {
            from,
            requested: Halted,
            reason,
            stop_condition: None,
            fault_type: None,
            details: format!("{reason}: {details}"),
        })
    }

    /// A transition that the table does not allow halts the loop and is recorded.
    pub(super) fn illegal(
        &mut self,
        from: ExecutionLoopState,
        requested: ExecutionLoopState,
    ) -> Result<(), Refusal> {
        self.halt(Ending {
            from,
            requested,
            reason: HaltReason::IllegalTransition,
            stop_condition: None,
            fault_type: None,
            details: format!("{from} -> {requested} is no transition of the table"),
        })
    }
}
