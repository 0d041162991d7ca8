//! Registrations: what PH1.X presumes.

use alloc::vec::Vec;

use crate::command::Command;
use crate::event::Event;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::World;

/// What follows from a registration.
pub(super) fn register(
    _world: &World,
    _command: &Command,
    _at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    Ok(Vec::new())
}
