//! The state that a log begins with whose first records are in an archive: an event carries it, and
//! with that event the new log begins behind the same record.

use super::plan::Plan;
use crate::shell::rebuild::{statement_of, take_up};
use holdpoint_log_format::{ChainPosition, Record};

/// Highest anchor behind which a new log begins: there is room for its records. No writer ever comes
/// near it.
const ANCHOR_MAX: u64 = u64::MAX >> 1;

/// The beginning of the source, and the events that state it.
#[derive(Debug)]
pub(super) struct Beginning {
    /// The place before the first record that the source holds.
    pub(super) anchor: ChainPosition,
    stated: Vec<Stated>,
}

/// An event that states the anchor.
#[derive(Clone, Copy, Debug)]
struct Stated {
    segment: u64,
    sequence: u64,
    /// Whether the state that it carries is the one that it says.
    is_good: bool,
}

impl Beginning {
    /// Nothing states the anchor yet.
    pub(super) fn behind(anchor: ChainPosition) -> Self {
        Self { anchor, stated: Vec::new() }
    }

    /// Looks at a valid record, which may not be kept in the end.
    pub(super) fn look_at(&mut self, segment: u64, record: &Record<'_>) {
        if !(1..=ANCHOR_MAX).contains(&self.anchor.sequence) {
            return;
        }
        if let Some(event) = statement_of(record, &self.anchor) {
            let is_good = take_up(&event).is_ok();
            self.stated.push(Stated { segment, sequence: record.header.sequence, is_good });
        }
    }

    /// Whether the state at the anchor is in what is kept: it is the newest statement that counts.
    pub(super) fn is_carried_by(&self, plan: &Plan) -> bool {
        let is_kept = |stated: &&Stated| {
            plan.kept().any(|kept| {
                kept.segment == stated.segment
                    && (kept.from.sequence + 1..=kept.last).contains(&stated.sequence)
            })
        };
        let newest = self.stated.iter().filter(is_kept).max_by_key(|stated| stated.sequence);
        newest.is_some_and(|newest| newest.is_good)
    }
}
