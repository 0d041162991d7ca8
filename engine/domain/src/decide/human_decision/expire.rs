//! Time passes: a warning at 80 %, then ABORT. Neither is ever silent.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::super::batch::{Batch, Ending};
use super::super::on_loop;
use super::{audit_entry, ended, find};
use crate::command::{Entropy, ExpireDue};
use crate::event::{DecisionTimedOut, DecisionWarned, Event, HaltReason};
use crate::execution_loop::ExecutionLoopState;
use crate::human_decision::create_timeout_decision;
use crate::refusal::{DecisionRefusal, Refusal};
use crate::time::Timestamp;
use crate::world::{ExecutionLoop, HeldRequest, RequestPlace, World};

use ExecutionLoopState::{Evaluated, Halted};

/// Records what is due for a request at this time.
pub(crate) fn expire(
    world: &World,
    command: &ExpireDue,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    let place = find(world, &command.request_id)?;
    if let Some(outcome) = &place.held().outcome {
        return Err(ended(place.held(), outcome));
    }
    let (RequestPlace::Live(entity, held), Some(next)) = (place, place.held().next_due()) else {
        return Err(not_due(place.held()));
    };
    if at < next {
        return Err(not_due(held));
    }
    on_loop(world, entity.loop_id(), command.entropy, at, |entity, batch| {
        if held.request.is_expired(at) {
            return time_out(entity, batch, held, command.entropy);
        }
        warn(batch, held);
        Ok(())
    })
}

fn not_due(held: &HeldRequest) -> Refusal {
    let request_id = String::from(held.request_id());
    DecisionRefusal::NotDue { request_id, next: held.next_due() }.into()
}

fn warn(batch: &mut Batch<'_>, held: &HeldRequest) {
    batch.push(DecisionWarned {
        loop_id: batch.loop_id(),
        request_id: held.request.request_id.clone(),
        due_at: held.warning_at(),
    });
}

/// The deadline has passed: the warning, if nobody gave it, the decision ABORT, the halt.
pub(super) fn time_out(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    held: &HeldRequest,
    entropy: Entropy,
) -> Result<(), Refusal> {
    if held.warning.is_none() {
        warn(batch, held);
    }
    let record = create_timeout_decision(&held.request, batch.timestamp(), &entropy.to_string());
    let audit = audit_entry(entity, held, &record, None);
    let details = alloc::format!("{}: {}", HaltReason::DecisionTimedOut, super::told(&record));
    let (loop_id, due_at) = (batch.loop_id(), held.request.timeout_at);
    batch.close_request();
    batch.push(DecisionTimedOut { loop_id, due_at, record, audit });
    batch.halt(Ending {
        from: Evaluated,
        requested: Halted,
        reason: HaltReason::DecisionTimedOut,
        stop_condition: None,
        fault_type: None,
        details,
    })
}
