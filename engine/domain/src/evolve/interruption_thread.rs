//! Interruption threads as events change them.

use super::Record;
use super::forbidden::Judgement;
use crate::event::Event;
use crate::world::Hot;

/// Applies an event of a thread.
pub(super) fn applied(
    _hot: &mut Hot,
    _record: Record<'_>,
    _event: &Event,
    _judgement: &mut Judgement,
) {
}
