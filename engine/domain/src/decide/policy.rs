//! The policy of a log: set tighter by a person, or looser with the approval of those whom the one
//! before names.

use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;

use super::decision_point::{check_principal, spend};
use crate::command::ChangePolicy;
use crate::decision_point::{ActionBinding, Authentication};
use crate::event::{Event, PolicyChanged, Text};
use crate::policy::{GatePolicy, Loosened, OF_THE_LOG, RELAX_TOOL, relax_binding, relax_proposal};
use crate::refusal::{DecisionPointRefusal as No, Refusal};
use crate::time::Timestamp;
use crate::world::{DecisionPoint, World};

/// A policy that demands at least what the one before did; any, where the one before was lost.
pub(super) fn set(world: &World, command: &ChangePolicy) -> Result<Vec<Event>, Refusal> {
    check_principal(&command.by)?;
    command.policy.check()?;
    let before = world.policy();
    if !world.is_policy_lost() {
        before.check_kept_by(&command.policy).map_err(loosened)?;
        if before == command.policy && world.hot.gates.policy.is_some() {
            return Err(Refusal::PolicyUnchanged);
        }
    }
    Ok(vec![changed(command, None)])
}

/// A looser policy, with an approval that is spent in the same batch.
pub(super) fn relax(
    world: &World,
    command: &ChangePolicy,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    check_principal(&command.by)?;
    command.policy.check()?;
    let before = world.policy();
    let Some(decision_id) = &command.approval else { return Err(Refusal::ApprovalNeeded) };
    let input_sha256 = relax_binding(&before, &command.policy);
    let binding = ActionBinding { tool: RELAX_TOOL.into(), input_sha256 };
    let (point, spent) = spend(world, decision_id, &command.by, &binding, at)?;
    if !point.terms.shows(&relax_proposal(&before, &command.policy)) {
        let decision_id = point.decision_id.to_string();
        return Err(No::ShowsOtherwise { decision_id, tool: RELAX_TOOL }.into());
    }
    check_approved_by(world, &before, point)?;
    Ok(vec![spent, changed(command, Some(point.decision_id.clone()))])
}

/// Those whom the policy before names approve; where it names nobody, whoever sits at a terminal.
pub(crate) fn check_approved_by(
    world: &World,
    before: &GatePolicy,
    point: &DecisionPoint,
) -> Result<(), Refusal> {
    let Some(policy) = &point.terms.policy else { return Err(Refusal::ApprovalNeeded) };
    let least = match before.approvers.is_empty() {
        true => before.authentication.max(Some(Authentication::Terminal)),
        false => before.authentication,
    };
    let floor = GatePolicy { authentication: least, approval_timeout_ms: None, ..before.clone() };
    // As it was asked, which may have been before the policy was what it is.
    let asked = world.person_for_point(&point.decision_id);
    let separation = asked.is_some_and(|terms| terms.separation);
    floor.check_approval(policy, separation, None).map_err(loosened)
}

fn changed(command: &ChangePolicy, approval: Option<Text>) -> Event {
    let (by, policy) = (command.by.clone(), command.policy.clone());
    PolicyChanged { by, policy, approval }.into()
}

/// The refusal of terms that the log's own policy does not let pass.
pub(crate) fn loosened(loosened: Loosened) -> Refusal {
    Refusal::PolicyLoosened { floor: OF_THE_LOG.to_string(), loosened }
}
