//! Whether a command keeps a policy: that of its log, or one of the machine that whoever carries it
//! out is governed by. The one rule for all of them.

use crate::command::{Command, CreateDecisionPoint, InitializeLoop};
use crate::decision_point::{ApprovalPolicy, OnTimeout};
use crate::human_decision::HoldPolicy;
use crate::policy::{GatePolicy, Loosened};
use crate::time::Timestamp;
use crate::world::{DecisionPoint, ExecutionLoop, World};

/// Whether a command keeps a policy: a new loop, a question that needs a person, one that is asked
/// by hand, and an approval that is spent. Any other does.
///
/// # Errors
/// [`Loosened`] names the first field in which it does not.
pub fn check_floor(
    world: &World,
    floor: &GatePolicy,
    command: &Command,
    at: Timestamp,
) -> Result<(), Loosened> {
    match command {
        Command::InitializeLoop(c) => check_start(world, floor, c),
        Command::CreateDecisionPoint(c) if c.needs_person() => check_question(floor, c, at),
        Command::ConsumeApproval(c) => match world.known_point(&c.decision_id) {
            Some(point) => check_spent(world, floor, point),
            None => Ok(()),
        },
        Command::RequestDecision(c) => match world.live_loop(&c.loop_id) {
            Some(entity) => check_asked(floor, entity),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// A run under these terms, and the approval of its start.
pub(super) fn check_start(
    world: &World,
    floor: &GatePolicy,
    command: &InitializeLoop,
) -> Result<(), Loosened> {
    floor.check_run(&command.hold, &command.gate)?;
    let approval = command.approval.as_ref();
    let point = approval.and_then(|approval| world.known_point(&approval.decision_id));
    point.map_or(Ok(()), |point| check_spent(world, floor, point))
}

/// The terms of a loop that is held were looked at when it began. One that is not may have any, and
/// is asked about by hand.
pub(super) fn check_asked(floor: &GatePolicy, entity: &ExecutionLoop) -> Result<(), Loosened> {
    match entity.hold.policy {
        HoldPolicy::Never => floor.check_answers(&entity.hold),
        _ => Ok(()),
    }
}

/// How long there was to answer is over; everything else has to be as it is demanded now.
fn check_spent(world: &World, floor: &GatePolicy, point: &DecisionPoint) -> Result<(), Loosened> {
    let people = ApprovalPolicy::people();
    let policy = point.terms.policy.as_ref().unwrap_or(&people);
    let floor = GatePolicy { approval_timeout_ms: None, ..floor.clone() };
    let separation = world.person_for_point(&point.decision_id).is_some_and(|p| p.separation);
    floor.check_approval(policy, separation, None)
}

pub(super) fn check_question(
    floor: &GatePolicy,
    command: &CreateDecisionPoint,
    at: Timestamp,
) -> Result<(), Loosened> {
    let people = ApprovalPolicy::people();
    let policy = command.policy.as_ref().unwrap_or(&people);
    let until = command.expires_at.map(|end| end.nanoseconds_since(at) / 1_000_000);
    let left_ms = command.timeout_ms.or(until);
    let has_end = command.on_timeout != Some(OnTimeout::Hold);
    floor.check_approval(policy, command.separation, left_ms.filter(|_| has_end))
}
