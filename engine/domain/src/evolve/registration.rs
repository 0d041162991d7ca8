//! Registrations as they change the state.

use super::Record;
use super::forbidden::Judgement;
use crate::event::Event;
use crate::world::Hot;

/// Applies a registration, whatever the rules say of it.
pub(super) fn registered(
    _hot: &mut Hot,
    _record: Record<'_>,
    _event: &Event,
    _judgement: &mut Judgement,
) {
}
