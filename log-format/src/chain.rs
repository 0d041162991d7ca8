//! The place in the chain, and the step from one record to the next.

use crate::fault::Fault;
use crate::identity::LogId;
use crate::link::Link;
use crate::record::{Record, RecordHeader};

/// The newest record of a verified run: what the next one must follow from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainPosition {
    /// Sequence of the newest record; 0 before the first.
    pub sequence: u64,
    /// Its link; genesis before the first.
    pub link: Link,
    /// Its time in nanoseconds; 0 before the first.
    pub time: u64,
}

impl ChainPosition {
    /// The place before the first record of a whole log.
    #[must_use]
    pub fn genesis(log: LogId) -> Self {
        Self { sequence: 0, link: Link::genesis(log), time: 0 }
    }

    /// The place behind the record with this header.
    #[must_use]
    pub fn of(header: &RecordHeader) -> Self {
        Self { sequence: header.sequence, link: header.link, time: header.time }
    }

    /// Checks that `record` comes next and steps onto it.
    ///
    /// # Errors
    /// The first fault in the order: sequence, link, time, claim of durability. Time and claim are
    /// under the link, so a fault there was written by a program, not by a disk.
    pub fn advance(&self, log: LogId, record: &Record<'_>) -> Result<Self, Fault> {
        self.advance_by(&record.header, || record.expected_link(log, &self.link))
    }

    /// [`ChainPosition::advance`] for whoever has hashed many records at once: `expected_link` is
    /// the link that the record must carry after this one's.
    ///
    /// # Errors
    /// As [`ChainPosition::advance`].
    pub fn advance_by(
        &self,
        header: &RecordHeader,
        expected_link: impl FnOnce() -> Link,
    ) -> Result<Self, Fault> {
        let due = self.sequence.saturating_add(1);
        if header.sequence != due {
            return Err(Fault::Sequence { expected: due, found: header.sequence });
        }
        let expected = expected_link();
        if header.link != expected {
            return Err(Fault::Link { expected, found: header.link });
        }
        if header.time < self.time {
            return Err(Fault::TimeBackwards { previous: self.time, found: header.time });
        }
        header.mark()?;
        Ok(Self::of(header))
    }
}
