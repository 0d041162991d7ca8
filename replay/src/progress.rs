//! Progress of a reading.

use holdpoint_log_files::{ReadFile, ReadStorage};
use holdpoint_log_format::limits::HEAD_LENGTH;
use holdpoint_log_format::{Head, names};

/// Number of records that lie between two reports.
const STEP: u64 = 1_024;

/// Progress of a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The newest record read.
    pub sequence: u64,
    /// The newest record that HEAD witnesses: at least so many are expected. 0 when HEAD cannot be
    /// read.
    pub expected: u64,
}

/// Reports every [`STEP`] records.
pub(crate) struct Meter<'p> {
    expected: u64,
    report: &'p mut dyn FnMut(Progress),
    next: u64,
}

impl<'p> Meter<'p> {
    pub(crate) fn new<S: ReadStorage>(storage: &S, report: &'p mut dyn FnMut(Progress)) -> Self {
        Self { expected: newest_witnessed(storage).unwrap_or(0), report, next: STEP }
    }

    pub(crate) fn reached(&mut self, sequence: u64) {
        if sequence >= self.next {
            self.next = sequence.saturating_add(STEP);
            (self.report)(Progress { sequence, expected: self.expected });
        }
    }
}

fn newest_witnessed<S: ReadStorage>(storage: &S) -> Option<u64> {
    let file = storage.open(names::HEAD).ok().flatten()?;
    let mut bytes = [0; HEAD_LENGTH];
    let read = file.read_at(0, &mut bytes).ok()?;
    Head::decode(bytes.get(..read)?).ok().map(|head| head.newest_sequence)
}
