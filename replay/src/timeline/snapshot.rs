//! Snapshots that the chain vouches for.

use super::marks::Mark;
use super::moment::Moment;
use super::trip::walk_on;
use crate::read::Committed;
use crate::rebuild::Until;
use holdpoint_domain::world::{STATE_SCHEMA_VERSION, World};
use holdpoint_log_files::snapshot::{Snapshot, list_snapshots, read_snapshot};
use holdpoint_log_files::{Onward, ReadStorage, RecordPlace};
use holdpoint_log_format::{LogId, Record};
use std::collections::BTreeSet;

/// How many snapshots are looked at before the state is made from the log's beginning.
const TRIED: usize = 8;

/// The records behind which there may be a snapshot. One that is not listed is not missed.
pub(super) fn sequences<S: ReadStorage>(storage: &S) -> BTreeSet<u64> {
    let listed = list_snapshots(storage).unwrap_or_default();
    listed.into_iter().map(|(sequence, _)| sequence).collect()
}

/// The records behind which there may be a snapshot, with their places in the chain.
pub(super) struct Known<'a, S> {
    pub(super) storage: &'a S,
    pub(super) log: Option<LogId>,
    pub(super) marks: &'a [Mark],
    pub(super) withheld: Option<u64>,
}

impl<S: ReadStorage> Known<'_, S> {
    /// The newest snapshot at or before a place, and behind a record, that is believed. None behind
    /// a withheld record: from the beginning that could not be passed either.
    pub(super) fn newest_within(&self, until: Until, behind: u64) -> Option<Moment> {
        let is_within = |mark: &&Mark| {
            let at = &mark.chain;
            let is_reached = match until {
                Until::End => true,
                Until::Sequence(sequence) => at.sequence <= sequence,
                Until::Time(time) => at.time <= time.nanoseconds(),
            };
            is_reached
                && at.sequence > behind
                && self.withheld.is_none_or(|withheld| at.sequence < withheld)
        };
        let fitting = self.marks.iter().rev().filter(is_within);
        fitting.take(TRIED).find_map(|mark| self.believed(mark))
    }

    /// The snapshot behind a record, where it names the record's very place, and the next record
    /// states the fingerprint of its state.
    fn believed(&self, mark: &Mark) -> Option<Moment> {
        let sequence = mark.chain.sequence;
        let snapshot =
            read_snapshot(self.storage, sequence, self.log, STATE_SCHEMA_VERSION).ok()?;
        let header = &snapshot.header;
        let is_there = Some(header.log) == self.log
            && header.chain == mark.chain
            && header.segment == mark.segment
            && header.record_offset == mark.record_offset
            && header.end_offset == mark.end_offset;
        if !is_there {
            return None;
        }
        let place = mark.follower(self.storage).ok()?;
        let mut world = None;
        walk_on(self.storage, place.clone(), &mut |_, at, record| {
            world = stated_by(&snapshot, at, record);
            Onward::Stop
        })
        .ok()?;
        Some(Moment::of_snapshot(world?, place))
    }
}

/// The state that a snapshot holds, where the record behind it states its fingerprint.
pub(crate) fn stated_by(
    snapshot: &Snapshot,
    at: &RecordPlace,
    record: &Record<'_>,
) -> Option<World> {
    let statement = Committed::of(at, record);
    World::stated_by(snapshot.state(), &statement.envelope()?.event)
}
