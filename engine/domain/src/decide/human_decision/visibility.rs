//! A higher authority allows a field to be shown.

use alloc::string::String;
use alloc::vec::Vec;

use super::super::on_loop;
use super::super::words::shown;
use super::{check_human_actor, check_reason_length, ended, find, shown_means};
use crate::command::{Entropy, OverrideVisibility};
use crate::event::{Event, VisibilityOverridden};
use crate::human_decision::{AnswerRefusal, disclosure_hash, visible_or_none};
use crate::refusal::{DecisionRefusal, Refusal};
use crate::text::check_identifier;
use crate::time::Timestamp;
use crate::world::{ExecutionLoop, HeldRequest, RequestPlace, World};

/// Allows one field of one open request. The value's hash is recorded, so that what was shown can
/// be proved.
pub(crate) fn override_visibility(
    world: &World,
    command: &OverrideVisibility,
    at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    check_identifier("human id", &command.human_id)?;
    check_reason_length(Some(&command.reason))?;
    let place = find(world, &command.request_id)?;
    let held = place.held();
    check_human_actor(held, command.actor)?;
    if let Some(outcome) = &held.outcome {
        return Err(ended(held, outcome));
    }
    let RequestPlace::Live(entity, _) = place else {
        let request_id = String::from(held.request_id());
        return Err(DecisionRefusal::UnknownRequest { request_id }.into());
    };
    let event = overridden(entity, held, command, at)?;
    on_loop(world, entity.loop_id(), Entropy::default(), at, |_, batch| {
        batch.push(event);
        Ok(())
    })
}

fn overridden(
    entity: &ExecutionLoop,
    held: &HeldRequest,
    command: &OverrideVisibility,
    at: Timestamp,
) -> Result<VisibilityOverridden, Refusal> {
    let (request_id, field) = (String::from(held.request_id()), command.field);
    if held.request.is_expired(at) {
        let (expected, found) = (held.request.timeout_at, at);
        let reason = AnswerRefusal::TooLate { expected, found };
        return Err(DecisionRefusal::Answer { request_id, reason }.into());
    }
    if !entity.hold.may_override(&command.human_id) {
        let human_id = command.human_id.clone();
        return Err(DecisionRefusal::NotAnOverrideApprover { request_id, human_id }.into());
    }
    if let Some(before) = held.overrides.iter().find(|entry| entry.field == field) {
        return Err(Refusal::AlreadyDone { sequence: before.sequence });
    }
    let Some(reason) = visible_or_none(Some(&command.reason)) else {
        return Err(DecisionRefusal::OverrideReason { field }.into());
    };
    let Some(value) = entity.disclosure(held.context.attempt, field) else {
        return Err(DecisionRefusal::NothingToDisclose { request_id, field }.into());
    };
    Ok(VisibilityOverridden {
        loop_id: held.context.loop_id.clone(),
        request_id: held.request.request_id.clone(),
        field,
        human_id: command.human_id.as_str().into(),
        reason: shown(&reason).into(),
        means: shown_means(&command.means),
        disclosed: disclosure_hash(field, &value),
    })
}
