//! Consecutive records of one file, while they are read.

use super::outcome::ChainPart;
use super::survey::Payload;
use crate::reader::Standing;
use holdpoint_log_format::{ChainPosition, Record, SegmentHeader};

/// Consecutive records.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) from: ChainPosition,
    pub(super) offset: u64,
    is_linked: bool,
    pub(super) last: ChainPosition,
    /// Offset behind the last one.
    pub(super) end: u64,
    first_time: u64,
    withheld: u64,
    unreadable: u64,
    unknown: Option<u64>,
}

impl Part {
    pub(super) fn behind(from: ChainPosition, offset: u64, is_linked: bool) -> Self {
        let (last, end) = (from, offset);
        let (first_time, withheld, unreadable, unknown) = (0, 0, 0, None);
        Self { from, offset, is_linked, last, end, first_time, withheld, unreadable, unknown }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.end == self.offset
    }

    /// Takes the next record, of so many bytes.
    pub(super) fn take(&mut self, record: &Record<'_>, length: u64, payload: Payload) {
        let (here, is_withheld) =
            (ChainPosition::of(&record.header), record.header.flags.withheld());
        if self.is_empty() {
            self.first_time = here.time;
        }
        self.withheld += u64::from(is_withheld);
        if !is_withheld {
            self.unreadable += u64::from(payload != Payload::Readable);
            let is_unknown = payload == Payload::Unknown;
            self.unknown = self.unknown.or(is_unknown.then_some(here.sequence));
        }
        (self.last, self.end) = (here, self.end.saturating_add(length));
    }

    /// The same, kept: of a file with this number in its name.
    pub(super) fn kept(&self, segment: u64, header: SegmentHeader) -> ChainPart {
        let &Self { from, offset, is_linked, last, end, first_time, .. } = self;
        ChainPart {
            segment,
            header,
            from,
            is_linked,
            offset,
            last,
            end,
            first_time,
            withheld: self.withheld,
            unreadable: self.unreadable,
            unknown: self.unknown,
            standing: Standing::Unproven,
        }
    }

    pub(super) fn join(&mut self, next: &Self) {
        if self.is_empty() {
            self.first_time = next.first_time;
        }
        (self.last, self.end) = (next.last, next.end);
        self.withheld += next.withheld;
        self.unreadable += next.unreadable;
        self.unknown = self.unknown.or(next.unknown);
    }
}
