//! Registrations as they change the state.

use alloc::format;

use super::Record;
use super::forbidden::{Judgement, Rule};
use crate::decide::shown;
use crate::event::Event;
use crate::execution_loop::Actor;
use crate::interruption_thread::Capability;
use crate::principal::PersonTerms;
use crate::refusal::ThreadRefusal;
use crate::world::{Hot, Registered, Registry};

/// Applies a registration, whatever the rules say of it.
pub(super) fn registered(
    hot: &mut Hot,
    record: Record<'_>,
    event: &Event,
    judgement: &mut Judgement<'_>,
) {
    let may_grant = may_grant(hot, record, event, judgement);
    let registry = &mut hot.registry;
    judge_caller(registry, record, event, judgement);
    let registered = Registered::in_state(registry);
    if let Err(refusal) = registered.check_registration(event, record.at) {
        forbid(refusal, judgement);
    }
    if may_grant {
        registry.apply(event, record.sequence);
    }
}

/// A capability that no person grants is not granted.
fn may_grant(hot: &Hot, record: Record<'_>, event: &Event, judgement: &mut Judgement<'_>) -> bool {
    let Event::CapabilityChanged(body) = event else { return true };
    let stated = hot.gates.policy.as_ref().and_then(|policy| policy.authentication);
    let admitted = PersonTerms::for_grants(stated).admit(record.envelope.proof);
    if let Err(reason) = &admitted {
        judgement.forbid(Rule::CallerCapability, "a person who counts", reason);
    }
    // What was recorded before there were proofs counts as it did then.
    let is_human = record.envelope.actor.kind == Actor::Human;
    let is_older = record.envelope.proof.is_none();
    !body.is_granted || is_older || (is_human && admitted.is_ok())
}

/// Only a person grants capabilities; everything else is registered by who was granted one.
fn judge_caller(
    registry: &Registry,
    record: Record<'_>,
    event: &Event,
    judgement: &mut Judgement<'_>,
) {
    let actor = &record.envelope.actor;
    if matches!(event, Event::CapabilityChanged(_)) {
        judgement.expect(Rule::CallerCapability, Actor::Human, actor.kind);
    } else if !registry.holds(actor, Capability::SeleneOsOnly) {
        let expected = format!("an actor with {}", Capability::SeleneOsOnly);
        let found = format!("{} {}", actor.kind, shown(&actor.id));
        judgement.forbid(Rule::CallerCapability, expected, found);
    }
}

fn forbid(refusal: ThreadRefusal, judgement: &mut Judgement<'_>) {
    let (field, expected, found) = match refusal {
        ThreadRefusal::Registration { field, expected, found } => (field, expected, found),
        ThreadRefusal::Malformed { field, expected, found } => (field, expected.into(), found),
        _ => return,
    };
    judgement.forbid(Rule::Registration, format!("{field}: {expected}"), found);
}
