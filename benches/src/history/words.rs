//! Who speaks, and what names there are.

use super::random::Random;
use holdpoint_domain::ActorId;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::core::ids::Entropy;

/// Stories that have a name of their own.
const STORIES: u64 = 1_000;

/// What gives most commands.
pub(super) fn automation() -> ActorId {
    ActorId { kind: Actor::Automation, id: "ci".to_string() }
}

/// Who answers.
pub(super) fn person() -> ActorId {
    ActorId { kind: Actor::Human, id: "ada".to_string() }
}

/// Who asks.
pub(super) fn agent() -> ActorId {
    ActorId { kind: Actor::Agent, id: "agent-7".to_string() }
}

/// The story of something new: four of five belong to a fifth of the stories.
pub(super) fn correlation(random: &mut Random) -> String {
    let busy = STORIES / 5;
    let number = match random.one_in(5) {
        true => busy + random.below(STORIES - busy),
        false => random.below(busy),
    };
    format!("deployment-{number:04}")
}

pub(super) fn entropy(random: &mut Random) -> Entropy {
    Entropy::from_bytes(random.bytes())
}
