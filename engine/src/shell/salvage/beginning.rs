//! The state that a log begins with whose first records are in an archive: an event carries it, and
//! with that event the new log begins behind the same record.

use crate::shell::rebuild::{statement_of, take_up};
use holdpoint_log_files::RecordPlace;
use holdpoint_log_files::damage_scan::DamageScan;
use holdpoint_log_format::{ChainPosition, Record};

/// Highest anchor behind which a new log begins: there is room for its records. No writer ever
/// comes near it.
const ANCHOR_MAX: u64 = u64::MAX >> 1;

/// The beginning of the source, and the events that state it.
#[derive(Debug)]
pub(super) struct Beginning {
    /// The place before the first record that the source holds.
    anchor: ChainPosition,
    stated: Vec<AnchorEvent>,
}

/// An event that states the anchor.
#[derive(Clone, Copy, Debug)]
struct AnchorEvent {
    segment: u64,
    offset: u64,
    sequence: u64,
    /// True if the state that it carries is the one that it says.
    is_good: bool,
}

impl Beginning {
    /// Nothing states the anchor yet.
    pub(super) fn behind(anchor: ChainPosition) -> Self {
        Self { anchor, stated: Vec::new() }
    }

    /// Looks at a valid record, which may not be kept in the end.
    pub(super) fn look_at(&mut self, place: &RecordPlace, record: &Record<'_>) {
        if !(1..=ANCHOR_MAX).contains(&self.anchor.sequence) {
            return;
        }
        if let Some(event) = statement_of(record, &self.anchor) {
            let is_good = take_up(&event).is_ok();
            let (RecordPlace { segment, offset, .. }, sequence) = (*place, record.header.sequence);
            self.stated.push(AnchorEvent { segment, offset, sequence, is_good });
        }
    }

    /// Returns whether the state at the anchor is in what is kept: it is the newest statement that
    /// counts.
    pub(super) fn is_carried_by(&self, plan: &DamageScan) -> bool {
        let is_kept = |stated: &&AnchorEvent| {
            plan.kept().any(|kept| {
                kept.segment == stated.segment && (kept.offset..kept.end).contains(&stated.offset)
            })
        };
        let newest = self.stated.iter().filter(is_kept).max_by_key(|stated| stated.sequence);
        newest.is_some_and(|newest| newest.is_good)
    }
}

#[cfg(test)]
mod tests {
    use super::super::copy::recorded;
    use super::*;
    use holdpoint_domain::World;
    use holdpoint_domain::core::hash::Digest;
    use holdpoint_domain::core::payload::{Raw, RawData};
    use holdpoint_domain::log::HistoryArchived;
    use holdpoint_domain::world::STATE_SCHEMA_VERSION;
    use holdpoint_log_files::Standing;
    use holdpoint_log_files::damage_scan::ChainPart;
    use holdpoint_log_format::{Flags, Link, LogId, RecordHeader, SegmentHeader};

    const ANCHOR: ChainPosition = ChainPosition { sequence: 9, link: Link([3; 32]), time: 0 };

    /// Lets a record of segment 10 state that the log begins behind `anchor`.
    fn state(beginning: &mut Beginning, sequence: u64, anchor: &ChainPosition, is_good: bool) {
        let world = World::default();
        let fingerprint = if is_good { world.fingerprint() } else { [0; 32] };
        let event = HistoryArchived {
            first_sequence: 1,
            anchor_sequence: anchor.sequence,
            anchor_link: Digest::from_bytes(anchor.link.0),
            archived_to: "archive".into(),
            state_schema: STATE_SCHEMA_VERSION,
            state_fingerprint: Digest::from_bytes(fingerprint),
            state: Raw::from(RawData::from(world.carry())),
        };
        let new = recorded("story", event.into()).unwrap();
        let header = RecordHeader {
            size: 0,
            checksum: 0,
            kind: new.kind,
            version: new.version,
            flags: Flags::NONE,
            unsynced: 0,
            sequence,
            time: 0,
            link: Link([0; 32]),
        };
        let place = RecordPlace { segment: 10, offset: sequence * 64, length: 64 };
        beginning.look_at(&place, &Record { header, payload: &new.payload });
    }

    /// Records 10 to `last` are kept.
    fn keeping(last: u64) -> DamageScan {
        let log = LogId([1; 16]);
        let header =
            SegmentHeader { log, previous: ANCHOR, capacity: 65_536, previous_seal_offset: 0 };
        let mut plan = DamageScan::behind(ANCHOR.sequence);
        let from = ANCHOR;
        plan.keep(ChainPart {
            segment: 10,
            header,
            from,
            is_linked: true,
            offset: 64,
            last: ChainPosition { sequence: last, link: Link([1; 32]), time: 0 },
            end: (last + 1) * 64,
            first_time: 0,
            withheld: 0,
            unreadable: 0,
            unknown: None,
            standing: Standing::Unproven,
        });
        plan
    }

    #[test]
    fn the_state_is_carried_by_the_newest_kept_statement_of_the_very_anchor() {
        let mut beginning = Beginning::behind(ANCHOR);
        assert!(!beginning.is_carried_by(&keeping(20)));
        state(&mut beginning, 11, &ChainPosition { link: Link([4; 32]), ..ANCHOR }, true);
        state(&mut beginning, 12, &ChainPosition { sequence: 8, ..ANCHOR }, true);
        assert!(!beginning.is_carried_by(&keeping(20)));
        state(&mut beginning, 15, &ANCHOR, true);
        assert!(beginning.is_carried_by(&keeping(15)));
        assert!(!beginning.is_carried_by(&keeping(14)));
        state(&mut beginning, 17, &ANCHOR, false);
        assert!(beginning.is_carried_by(&keeping(16)));
        assert!(!beginning.is_carried_by(&keeping(17)));
    }

    #[test]
    fn an_anchor_without_room_behind_it_is_none_to_begin_behind() {
        let far = ChainPosition { sequence: u64::MAX - 1, ..ANCHOR };
        let mut beginning = Beginning::behind(far);
        state(&mut beginning, 15, &far, true);
        assert!(!beginning.is_carried_by(&keeping(15)));
    }
}
