//! Snapshots that the chain vouches for.

use super::checked::Checked;
use super::marks::Mark;
use super::moment::Moment;
use crate::reach::Reach;
use crate::read::{Committed, ReadError};
use crate::rebuild::Until;
use holdpoint_domain::World;
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_log_files::snapshot::{Snapshot, list_snapshots, read_snapshot};
use holdpoint_log_files::{ReadStorage, RecordPlace, Standing};
use holdpoint_log_format::{LogId, Record};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Number of snapshots that are looked at before the state is made from the log's beginning.
const TRIED: usize = 8;

/// The records behind which there may be a snapshot. Snapshots are caches: one that is not listed
/// is not missed.
pub(super) fn sequences<S: ReadStorage>(storage: &S) -> BTreeSet<u64> {
    let listed = list_snapshots(storage).unwrap_or_default();
    listed.into_iter().map(|(sequence, _)| sequence).collect()
}

/// The records behind which there may be a snapshot, with their places in the chain.
pub(super) struct SnapshotSource<'a, S> {
    /// The newest record that was checked: none behind it states what a snapshot there holds.
    pub(super) checked: Checked<'a, S>,
    pub(super) log: Option<LogId>,
    pub(super) marks: &'a [Mark],
    pub(super) withheld: Option<u64>,
    /// Reach that ties the records to HEAD: what states a snapshot has to be tied itself.
    pub(super) reach: &'a Reach,
}

impl<S: ReadStorage> SnapshotSource<'_, S> {
    /// The newest snapshot at or before a place, and behind a record, that is believed. None behind
    /// a withheld record: from the beginning that could not be passed either.
    ///
    /// # Errors
    /// A segment cannot be read.
    pub(super) fn newest_within(
        &self,
        until: Until,
        behind: u64,
    ) -> Result<Option<Moment>, ReadError> {
        let is_within = |mark: &&Mark| {
            let at = &mark.chain;
            let is_reached = match until {
                Until::End => true,
                Until::Sequence(sequence) => at.sequence <= sequence,
                Until::Time(time) => at.time <= time.nanoseconds(),
            };
            is_reached
                && (behind.saturating_add(1)..self.checked.newest.sequence).contains(&at.sequence)
                && self.withheld.is_none_or(|withheld| at.sequence < withheld)
                && self.is_tied(at.sequence.saturating_add(1))
        };
        let fitting = self.marks.iter().rev().filter(is_within);
        fitting.take(TRIED).find_map(|mark| self.believed(mark).transpose()).transpose()
    }

    /// Returns whether a record that was read is proven: none that lies behind HEAD or behind
    /// damage, or that the log says is unproven, states what a snapshot holds.
    fn is_tied(&self, sequence: u64) -> bool {
        self.reach.standing(sequence, false) == Standing::Proven
    }

    /// The snapshot behind a record, where it names the record's very place, and the next record
    /// states the fingerprint of its state.
    fn believed(&self, mark: &Mark) -> Result<Option<Moment>, ReadError> {
        let sequence = mark.chain.sequence;
        // A snapshot is a cache: one that cannot be read is none.
        let read = read_snapshot(self.checked.storage, sequence, self.log, STATE_SCHEMA_VERSION);
        let Ok(snapshot) = read else { return Ok(None) };
        let header = &snapshot.header;
        let is_there = Some(header.log) == self.log
            && header.chain == mark.chain
            && header.segment == mark.segment
            && header.record_offset == mark.record_offset
            && header.end_offset == mark.end_offset;
        if !is_there {
            return Ok(None);
        }
        let place = mark.follower(self.checked.storage)?;
        let mut world = None;
        self.checked.walk_on(place.clone(), &mut |_, at, record| {
            world = stated_by(&snapshot, at, record);
            ControlFlow::Break(())
        })?;
        Ok(world.map(|world| Moment::of_snapshot(world, place)))
    }
}

/// The state that a snapshot holds, where the record behind it states its fingerprint, and all of
/// it can be read.
pub(crate) fn stated_by(
    snapshot: &Snapshot,
    at: &RecordPlace,
    record: &Record<'_>,
) -> Option<World> {
    let statement = Committed::of(at, record);
    World::stated_by(snapshot.shared_state(), &statement.envelope()?.event)?.read_whole()
}
