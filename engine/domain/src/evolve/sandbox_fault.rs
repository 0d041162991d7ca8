//! Events of `sandbox_fault` (Phase-21).

use alloc::string::String;

use super::forbidden::{Judgement, Rule};
use crate::event::{FaultReported, SandboxDecided};
use crate::execution_loop::ExecutionLoopState;
use crate::sandbox_fault::decide_sandbox_outcome_within;
use crate::world::{AttemptFault, ExecutionLoop};

pub(super) fn reported(
    entity: &mut ExecutionLoop,
    body: &FaultReported,
    judgement: &mut Judgement<'_>,
) {
    judgement.expect(Rule::FaultTable, ExecutionLoopState::AwaitingResponse, entity.state());
    judgement.expect(Rule::AttemptNumber, entity.attempt_count(), body.attempt);
    let Some(attempt) = entity.attempts.last_mut() else { return };
    if attempt.fault.is_some() {
        judgement.forbid(Rule::FaultTable, "one fault of an attempt", &body.fault_id);
        return;
    }
    attempt.fault = Some(AttemptFault {
        fault_id: String::from(body.fault_id.as_str()),
        fault_type: body.fault_type,
        fault_message: String::from(body.fault_message.as_str()),
        occurred_at: body.occurred_at,
        outcome: None,
    });
}

/// What follows a fault is computed again, and the computed outcome counts: privileges never
/// grow, whoever wrote the event.
pub(super) fn decided(
    entity: &mut ExecutionLoop,
    body: &SandboxDecided,
    judgement: &mut Judgement<'_>,
) {
    judgement.expect(Rule::AttemptNumber, entity.attempt_count(), body.attempt);
    let Some((fault, context)) = entity.judged_fault() else {
        judgement.forbid(Rule::FaultTable, "a fault of this attempt", "none");
        return;
    };
    let outcome = decide_sandbox_outcome_within(entity.retry_ceiling, &fault, &context);
    judgement.expect(Rule::FaultTable, fault.fault_id.as_str(), &body.fault_id);
    judgement.expect(Rule::FaultTable, outcome.decision, body.sandbox_decision);
    judgement.expect(Rule::FaultTable, outcome.retry_policy, body.retry_policy);
    judgement.expect(Rule::FaultTable, outcome.reason_code.as_str(), &body.reason_code);
    let fault = entity.attempts.last_mut().and_then(|attempt| attempt.fault.as_mut());
    if let Some(fault) = fault {
        fault.outcome = Some(outcome);
    }
}
