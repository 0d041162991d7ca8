//! One entity that is kept in sight when it leaves the state.

use crate::entity::{Entity, STREAM_PREFIX, find_entities};
use crate::read::Committed;
use holdpoint_domain::human_decision::HumanDecisionEvent;
use holdpoint_domain::{Event, World};

/// An entity that is asked for by its id.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    id: String,
    /// The loop that a request of this id is about.
    loop_id: Option<String>,
    /// Entities with this id, as they were behind the newest record about them.
    seen: Vec<Entity>,
}

impl Watch {
    pub(super) fn new(id: &str) -> Self {
        Self { id: id.to_string(), loop_id: None, seen: Vec::new() }
    }

    /// Looks at what a batch will make of the entity, before it is applied. Of a world that keeps
    /// what settles there is a copy for as long as that takes: few batches are about one entity.
    pub(super) fn look(&mut self, world: &World, batch: &[Committed]) {
        let events = || batch.iter().filter_map(|record| Some(&record.envelope()?.event));
        if !events().any(|event| self.is_about(event)) {
            return;
        }
        let mut world = world.clone().keeping_settled();
        for record in batch {
            let Some(envelope) = record.envelope() else { continue };
            world.evolve(record.header.sequence, record.time(), envelope);
        }
        let found = find_entities(&world, &self.id);
        if !found.is_empty() {
            self.seen = found;
        }
    }

    /// Returns what has this id: as the state has it, else as it was last seen.
    pub(super) fn entities(&self, world: &World) -> Vec<Entity> {
        let found = find_entities(world, &self.id);
        if found.is_empty() { self.seen.clone() } else { found }
    }

    fn is_about(&mut self, event: &Event) -> bool {
        if let Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) = event
            && *body.request.request_id == *self.id
        {
            self.loop_id = Some(body.context.loop_id.to_string());
        }
        let id = self.id.as_str();
        let of_loop = event.loop_id();
        of_loop.is_some_and(|found| found == id || Some(found) == self.loop_id.as_deref())
            || event.decision_point() == Some(id)
            || event.stream() == Some(id.strip_prefix(STREAM_PREFIX).unwrap_or(id))
            || event.thread().is_some_and(|(tenant, correlation)| {
                correlation == id || id.split_once('/') == Some((tenant, correlation))
            })
    }
}
