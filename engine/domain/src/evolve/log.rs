//! Events of the log itself, and what holds for every record.

use super::Record;
use super::forbidden::{Judgement, Rule};
use crate::event::{FingerprintRecorded, SegmentIndexed};
use crate::world::{STATE_SCHEMA_VERSION, World};

/// Sequences count up by one and times never go back. A world may begin at any sequence.
pub(super) fn check_order(world: &World, record: Record<'_>, judgement: &mut Judgement) {
    let totals = world.totals();
    if totals.events > 0 {
        let expected = totals.last_sequence.saturating_add(1);
        judgement.expect(Rule::RecordOrder, expected, record.sequence);
    }
    if record.at < totals.last_at {
        let expected = alloc::format!("{} or later", totals.last_at);
        judgement.forbid(Rule::RecordOrder, expected, record.at);
    }
}

/// A fingerprint of another schema version is not checked.
pub(super) fn fingerprint_recorded(
    world: &World,
    body: &FingerprintRecorded,
    judgement: &mut Judgement,
) {
    if body.schema == STATE_SCHEMA_VERSION {
        judgement.expect(Rule::Fingerprint, world.known_fingerprint(), body.fingerprint);
    }
}

/// An index is of records before the one that says so. What else it says is checked by whoever
/// reads the index.
pub(super) fn segment_indexed(
    world: &mut World,
    record: Record<'_>,
    body: &SegmentIndexed,
    judgement: &mut Judgement,
) {
    if body.is_of_records_before(record.sequence) {
        world.hot.indexes.follow(body);
    } else {
        let found = alloc::format!("{} to {}", body.first_sequence, body.last_sequence);
        judgement.forbid(Rule::SegmentIndex, "records before this one, in their order", found);
    }
}
