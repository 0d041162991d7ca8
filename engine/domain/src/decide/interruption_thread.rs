//! Turns and rows of interruption threads.

use alloc::vec::Vec;

use crate::command::Command;
use crate::event::Event;
use crate::refusal::Refusal;
use crate::time::Timestamp;
use crate::world::World;

/// What follows from a turn, a caller's row, or a command on a thread.
pub(super) fn on_thread(
    _world: &World,
    _command: &Command,
    _at: Timestamp,
) -> Result<Vec<Event>, Refusal> {
    Ok(Vec::new())
}
