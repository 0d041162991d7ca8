//! A person is asked about an evaluated loop.

use alloc::string::{String, ToString as _};

use super::super::batch::Batch;
use super::super::dispatch::wrong_state;
use crate::command::RequestDecision;
use crate::execution_loop::ExecutionLoopState;
use crate::refusal::{DecisionRefusal, Refusal};
use crate::world::ExecutionLoop;

/// Opens the first request about an attempt. It needs no hold: whoever is in doubt may ask.
pub(crate) fn request(
    entity: &ExecutionLoop,
    batch: &mut Batch<'_>,
    command: &RequestDecision,
) -> Result<(), Refusal> {
    if entity.state() != ExecutionLoopState::Evaluated {
        let advice = "a person is asked once a response or a fault was reported";
        return Err(wrong_state(entity, ExecutionLoopState::Evaluated, advice));
    }
    check_not_asked(entity)?;
    let entropy = command.entropy.to_string();
    let asked = entity.next_request(None, batch.at(), &entropy).map_err(|reason| {
        DecisionRefusal::NoRequest { loop_id: String::from(entity.loop_id()), reason }
    })?;
    batch.push(asked);
    Ok(())
}

fn check_not_asked(entity: &ExecutionLoop) -> Result<(), Refusal> {
    let Some(held) = entity.attempt_request() else { return Ok(()) };
    let loop_id = String::from(entity.loop_id());
    Err(match held.decided() {
        None => {
            let request_id = String::from(held.request_id());
            DecisionRefusal::RequestOpen { loop_id, request_id }.into()
        }
        Some(decided) => {
            let (attempt, decision) = (held.context.attempt, decided.record.decision);
            DecisionRefusal::AttemptDecided { loop_id, attempt, decision }.into()
        }
    })
}
