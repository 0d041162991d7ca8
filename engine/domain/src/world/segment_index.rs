//! Which indexes of sealed segments the chain vouches for, and what is to be looked up in them
//! because the state has forgotten it.

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::World;
use crate::event::SegmentIndexed;
use crate::hash::Digest;

/// The index of a sealed segment, as the chain has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentIndex {
    /// The last record of the segment.
    pub last_sequence: u64,
    /// The version of the index's form.
    pub format: u32,
    /// BLAKE3 of the index's header; zeros where statements differ.
    pub digest: Digest,
}

impl SegmentIndex {
    /// Whether the log says two things of this segment: no index of it is believed then.
    #[must_use]
    pub fn is_disputed(&self) -> bool {
        self.digest == DISPUTED
    }
}

/// Stands for the digest where statements differ. No index has it.
const DISPUTED: Digest = Digest::from_bytes([0; 32]);

/// What is stated of the index of every segment that has one, by the segment's first record: in the
/// newest format that is stated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentIndexes(BTreeMap<u64, SegmentIndex>);

impl SegmentIndexes {
    /// What the chain says of the segment that begins with this record.
    #[must_use]
    pub fn of(&self, first_sequence: u64) -> Option<&SegmentIndex> {
        self.0.get(&first_sequence)
    }

    /// What the chain says of the segment that begins with this record, where an index of this
    /// format is believed: where the log says two things of it, none is.
    #[must_use]
    pub fn vouched(&self, first_sequence: u64, format: u32) -> Option<&SegmentIndex> {
        self.of(first_sequence).filter(|known| known.format == format && !known.is_disputed())
    }

    /// Every one, by the first record of its segment.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &SegmentIndex)> {
        self.0.iter().map(|(first, index)| (*first, index))
    }

    pub(crate) fn follow(&mut self, body: &SegmentIndexed) {
        let SegmentIndexed { first_sequence, last_sequence, format, digest } = *body;
        let stated = SegmentIndex { last_sequence, format, digest };
        match self.0.get_mut(&first_sequence) {
            // One of them is false, and here nobody can say which.
            Some(known) if known.format >= format && *known != stated => known.digest = DISPUTED,
            _ => drop(self.0.insert(first_sequence, stated)),
        }
    }

    /// The records up to the anchor are in an archive now, and their segments with them.
    pub(crate) fn archived(&mut self, anchor_sequence: u64) {
        self.0.retain(|_, index| index.last_sequence > anchor_sequence);
    }
}

impl World {
    /// The indexes that the chain vouches for.
    #[must_use]
    pub const fn segment_indexes(&self) -> &SegmentIndexes {
        &self.hot.indexes
    }

    /// The newest record whose idempotency key is remembered no longer; 0: every key is. A key that
    /// [`World::receipt_of`] does not find was first used with a later record, never, or with one
    /// up to this.
    #[must_use]
    pub const fn keys_forgotten(&self) -> u64 {
        self.hot.keys.forgotten()
    }

    /// The newest record that closed a thread which is remembered no longer; 0: all are.
    #[must_use]
    pub const fn threads_forgotten(&self) -> u64 {
        self.hot.threads.forgotten()
    }
}
