//! Zeros written ahead of the records, into a segment whose space is reserved and has no content:
//! one note of the file system for many syncs, in place of one for each that reaches a new block.
//!
//! # Invariants
//!
//! - Zeros are written only behind the newest record, in a turn: where zeros are read anyway.
//! - A segment that is synced a few times, or seldom for what it takes, gets none: they would cost
//!   more bytes than they save notes.

use super::roll::FILLED_AT_ONCE_MAX;
use holdpoint_log_format::limits::PAGE;
use std::ops::Range;

/// Zeros are written ahead where one sync was made for this many bytes or fewer.
const BYTES_PER_SYNC: u64 = 256 * 1_024;

/// Syncs of a segment before the first zeros: who opens a log for a record or two needs none.
const SYNCS_BEFORE: u64 = 8;

/// Zeros are written in pieces of this many bytes.
const PIECE: u64 = 1_024 * 1_024;

/// Knowledge of one handle of the space behind the newest record of the active segment.
#[derive(Debug)]
pub(super) struct Zeros {
    /// Place where the handle began to append.
    began: u64,
    /// Place where the records ended at the last sync.
    synced: u64,
    /// Syncs of this handle that covered records of the segment.
    syncs: u64,
    /// This handle has written zeros up to here. What another one wrote is not known: the file
    /// system tells blocks with content only from those that nobody has read.
    until: u64,
}

impl Zeros {
    /// A segment whose records end at `end`.
    pub(super) fn behind(end: u64) -> Self {
        Self { began: end, synced: end, syncs: 0, until: 0 }
    }

    /// A sync of everything up to `end` is next: what to write with zeros before it, so that a
    /// commit as large as this one finds its blocks written.
    pub(super) fn due(&mut self, end: u64, capacity: u64) -> Option<Range<u64>> {
        let commit = end.saturating_sub(self.synced);
        (self.synced, self.syncs) = (end, self.syncs + 1);
        let taken = end.saturating_sub(self.began);
        let is_seldom = self.syncs.saturating_mul(BYTES_PER_SYNC) < taken;
        if self.syncs < SYNCS_BEFORE || is_seldom || capacity <= FILLED_AT_ONCE_MAX {
            return None;
        }
        let start = self.until.max(end.next_multiple_of(PAGE));
        let next = start.saturating_add(PIECE).min(capacity);
        if start >= next || end.saturating_add(commit) <= self.until {
            return None;
        }
        self.until = next;
        Some(start..next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: u64 = 64 << 20;

    /// Commits of `length` bytes; gives the ranges that were due.
    fn committed(length: u64, commits: u64, capacity: u64) -> Vec<Range<u64>> {
        let mut zeros = Zeros::behind(PAGE);
        (1..=commits).filter_map(|n| zeros.due(PAGE + n * length, capacity)).collect()
    }

    #[test]
    fn zeros_begin_behind_the_records_and_follow_one_another_before_they_are_needed() {
        let length = 20_480;
        let ranges = committed(length, 400, CAPACITY);
        let first = ranges.first().unwrap().start;
        assert_eq!(first, PAGE + 8 * length);
        assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert!(ranges.last().unwrap().end >= PAGE + 401 * length, "the next commit has its own");
        assert!(ranges.last().unwrap().end <= PAGE + 402 * length + PIECE, "and not many more");
    }

    #[test]
    fn who_commits_a_few_times_or_much_at_once_gets_none() {
        assert_eq!(committed(320, 7, CAPACITY), []);
        assert_eq!(committed(300 * 1_024, 100, CAPACITY), []);
        assert_eq!(committed(320, 100, FILLED_AT_ONCE_MAX), [], "it has been written through");
    }

    #[test]
    fn zeros_end_with_the_segment() {
        let ranges = committed(64 * 1_024, 1_023, CAPACITY);
        assert_eq!(ranges.last().unwrap().end, CAPACITY);
    }
}
