//! Events of the log itself, and what holds for every record.

use super::Record;
use super::forbidden::{Judgement, Rule};
use crate::event::{FingerprintRecorded, RecordsUnproven, SegmentIndexed, are_records_before};
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
    let (first, last) = (body.first_sequence, body.last_sequence);
    if expect_before(Rule::SegmentIndex, first, last, record, judgement) {
        world.hot.indexes.follow(body);
    }
}

/// What is said to be unproven stays so. A log that is salvaged again says it of more records.
pub(super) fn records_unproven(
    world: &mut World,
    record: Record<'_>,
    body: &RecordsUnproven,
    judgement: &mut Judgement,
) {
    let (first, last) = (body.first_sequence, body.last_sequence);
    if expect_before(Rule::UnprovenRecords, first, last, record, judgement) {
        world.take_unproven(first, last);
    }
}

/// Says whether these are records before the one that names them.
fn expect_before(
    rule: Rule,
    first: u64,
    last: u64,
    record: Record<'_>,
    judgement: &mut Judgement,
) -> bool {
    let are_before = are_records_before(first, last, record.sequence);
    if !are_before {
        let found = alloc::format!("{first} to {last}");
        judgement.forbid(rule, "records before this one, in their order", found);
    }
    are_before
}
