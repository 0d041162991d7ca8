//! Registrations as they change the state.

use alloc::format;

use super::Record;
use super::forbidden::{Judgement, Rule};
use crate::decide::shown;
use crate::event::Event;
use crate::execution_loop::Actor;
use crate::interruption_thread::Capability;
use crate::refusal::ThreadRefusal;
use crate::world::{Hot, Registered, Registry};

/// Applies a registration, whatever the rules say of it.
pub(super) fn registered(
    hot: &mut Hot,
    record: Record<'_>,
    event: &Event,
    judgement: &mut Judgement<'_>,
) {
    let registry = &mut hot.registry;
    judge_caller(registry, record, event, judgement);
    let registered = Registered::in_state(registry);
    if let Err(refusal) = registered.check_registration(event, record.at) {
        forbid(refusal, judgement);
    }
    registry.apply(event, record.sequence);
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
