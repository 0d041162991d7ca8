//! Options of the opening of a log, and what opening found and did.

use holdpoint_log_format::{ChainPosition, LogId};
use std::time::Duration;

/// Making a smaller segment takes less time than handing it over.
const PREPARE_AHEAD: u64 = 2 * 1_024 * 1_024;

/// Right to write between two appends of this handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ownership {
    /// The lock is taken for each turn: any number of processes write in turns.
    #[default]
    PerTransaction,
    /// The lock is held for as long as the log is open.
    Exclusive,
}

/// Options of the opening of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Right of others to write in between.
    pub ownership: Ownership,
    /// Time to wait for another process's lock.
    pub lock_wait: Duration,
    /// True if a log is made where there is none.
    pub create: bool,
    /// Go on when HEAD is missing or unreadable, which otherwise is refused: nothing then witnesses
    /// how far the log reached. Record that it was done: HEAD follows what is appended, and until
    /// then it is missing as before.
    pub without_head: bool,
    /// Time after a sync at which HEAD follows when nothing else happens.
    pub head_delay: Duration,
    /// An exclusive owner makes segments of at least this many bytes ready in the background, while
    /// the one before is half full. Smaller ones are made when they are needed.
    pub prepare_ahead: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ownership: Ownership::PerTransaction,
            lock_wait: Duration::from_secs(10),
            create: true,
            without_head: false,
            head_delay: Duration::from_secs(1),
            prepare_ahead: PREPARE_AHEAD,
        }
    }
}

impl Options {
    setters! {
        /// The same with another [owner](Options::ownership) of the lock.
        ownership: Ownership,
        /// The same with another [wait for the lock](Options::lock_wait).
        lock_wait: Duration,
        /// The same, where a log [is made](Options::create) or not.
        create: bool,
        /// The same, where one goes on [without HEAD](Options::without_head) or not.
        without_head: bool,
        /// The same with another [delay of HEAD](Options::head_delay).
        head_delay: Duration,
        /// The same with another [least size](Options::prepare_ahead) of what is made ready.
        prepare_ahead: u64,
    }
}

/// Work of recovery, if there was any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// A new log was made.
    pub created: bool,
    /// HEAD was missing or unreadable, and the caller went on without it.
    pub without_head: bool,
    /// HEAD was there, or LOCK told that the newest record found was the newest one.
    pub is_end_known: bool,
    /// Bytes of a torn write that were copied aside and overwritten with zeros.
    pub cut_bytes: u64,
    /// Place where they were, in the segment's file.
    pub cut_offset: u64,
    /// The segment's file, relative to the log's directory; empty when nothing was cut.
    pub segment: String,
    /// The copy, relative to the log's directory.
    pub copied_to: Option<String>,
    /// Bytes above the last mark that were written again and synced.
    pub rewritten_bytes: u64,
    /// The newest sequence that a mark proved durable before this opening.
    pub proven_sequence: u64,
    /// The newest record that is there.
    pub newest_sequence: u64,
}

impl Recovered {
    /// Returns whether there is something that belongs on record: that HEAD was missing, or what
    /// was cut.
    pub(super) fn is_for_the_record(&self) -> bool {
        self.without_head || self.cut_bytes > 0
    }

    /// The newest record that was there where HEAD was not; 0: HEAD was there.
    pub(super) fn found_without_head(&self) -> u64 {
        if self.without_head { self.newest_sequence } else { 0 }
    }
}

/// Report of what opening found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenReport {
    /// The log's identity.
    pub log: LogId,
    /// The newest record.
    pub position: ChainPosition,
    /// Recovery.
    pub recovered: Recovered,
}
