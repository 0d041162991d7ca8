//! A moment of a log: the state behind one record.

use super::watch::Watch;
use crate::entity::Entity;
use crate::finding::Finding;
use crate::report::Head;
use holdpoint_domain::World;
use holdpoint_log_files::Follower;
use holdpoint_log_format::ChainPosition;

/// The state behind one record, as a writer had it there: what settled has left it.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The state.
    pub world: World,
    /// The last record of the batch that the asked record is part of, where that is not the asked
    /// one: the state is the one before the batch.
    pub inside_batch_until: Option<u64>,
    /// The record before which the state was left standing, because its payload is withheld or
    /// cannot be read.
    pub stopped_before: Option<Finding>,
    /// The record behind which there was the snapshot that this state was made from.
    pub from_snapshot: Option<u64>,
    /// The record that states what a snapshot holds, where this state was made from it, or from a
    /// state that was: what happened before that record is as stated by it.
    pub stated_by: Option<u64>,
    /// Number of records that were applied to make it, since the moment or snapshot that it was
    /// made from.
    pub records_applied: u64,
    pub(super) watch: Option<Watch>,
    /// The newest record applied; at first the anchor.
    pub(crate) applied: ChainPosition,
    /// Its place; `None` at the anchor.
    pub(super) place: Option<Follower>,
}

impl Moment {
    /// The place before the first record.
    pub(super) const fn beginning(world: World, anchor: ChainPosition) -> Self {
        Self {
            world,
            inside_batch_until: None,
            stopped_before: None,
            from_snapshot: None,
            stated_by: None,
            records_applied: 0,
            watch: None,
            applied: anchor,
            place: None,
        }
    }

    /// The place that a snapshot stands for, which the record behind it states.
    pub(crate) fn of_snapshot(world: World, place: Follower) -> Self {
        let applied = place.run.chain;
        Self {
            from_snapshot: Some(applied.sequence),
            stated_by: Some(applied.sequence.saturating_add(1)),
            place: Some(place),
            ..Self::beginning(world, applied)
        }
    }

    /// The same place, from which another moment is made.
    pub(super) fn departing(&self) -> Self {
        Self { records_applied: 0, inside_batch_until: None, from_snapshot: None, ..self.clone() }
    }

    /// The record that this is the state behind; none before the first.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        Head::at(&self.applied)
    }

    /// Lists what has the id that is watched: as it is in the state, else as it was when it left
    /// it. Empty where nothing had that id, or none is watched.
    #[must_use]
    pub fn watched(&self) -> Vec<Entity> {
        self.watch.as_ref().map_or(Vec::new(), |watch| watch.entities(&self.world))
    }

    /// The sequence of that record, or 0.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.applied.sequence
    }
}
