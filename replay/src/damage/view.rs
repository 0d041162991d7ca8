//! A segment that is mapped: its bytes, and what is named of it from outside of its records.

use holdpoint_log_files::ReadFile;
use holdpoint_log_files::damage_scan::Frame;
use holdpoint_log_files::window::Window;
use holdpoint_log_format::limits::{
    RECORD_HEADER_LENGTH, RESYNC_BUDGET_SEGMENTS, SEAL_LENGTH, SEGMENT_HEADER_LENGTH,
};
use holdpoint_log_format::record::is_legal_size;
use holdpoint_log_format::{ChainPosition, Head, Link, LogId, RecordHeader, Seal, SegmentHeader};
use std::io;

/// Number of times the length of its segment may be looked at to tell damaged records apart.
const NARROWING_SEGMENTS: u64 = 16;

/// A segment, and what is named of it from outside of its records.
pub(super) struct View<F> {
    /// Its bytes.
    pub(super) window: Window<F>,
    /// Its header, or what that must have said.
    pub(super) header: SegmentHeader,
    /// HEAD, where it names a record of this segment.
    pub(super) head: Option<Head>,
    /// Position that the next segment's header names: the last record here, and where the seal
    /// begins.
    pub(super) next: Option<(ChainPosition, u64)>,
    /// The newest record that any witness names in this segment or before it.
    pub(super) due: u64,
    /// Number of payloads that may still be searched bit by bit.
    pub(super) restores: u32,
    /// Bytes that may still be passed over in search of another record of the same sequence.
    passing: u64,
    /// Bytes that may still be looked at to tell damaged records next to each other apart.
    narrowing: u64,
}

/// Item that lies behind a hole.
#[derive(Clone, Debug)]
pub(super) enum Next {
    /// The record with which the scan goes on.
    Record(Frame),
    /// The seal.
    Seal(u64, Seal),
    /// The place behind the record that HEAD names.
    Head(Head),
}

impl Next {
    /// Returns where it begins.
    pub(super) fn offset(&self) -> u64 {
        match self {
            Self::Record(frame) => frame.offset,
            Self::Seal(offset, _) => *offset,
            Self::Head(head) => head.end_offset,
        }
    }

    /// The sequence of the last record before it.
    pub(super) fn last_before(&self) -> u64 {
        match self {
            Self::Record(frame) => frame.header.sequence.saturating_sub(1),
            Self::Seal(_, seal) => seal.last.sequence,
            Self::Head(head) => head.newest_sequence,
        }
    }

    /// Returns whether this is the link of the record before it.
    pub(super) fn ties(&self, log: LogId, link: &Link) -> bool {
        match self {
            Self::Record(frame) => frame.follows(log, link),
            Self::Seal(_, seal) => seal.last.link == *link,
            Self::Head(head) => head.newest_link == *link,
        }
    }
}

impl<F: ReadFile> View<F> {
    pub(super) fn new(window: Window<F>, header: SegmentHeader, due: u64) -> Self {
        let length = window.length().min(header.capacity);
        Self {
            window,
            header,
            head: None,
            next: None,
            due,
            restores: 0,
            passing: length.saturating_mul(RESYNC_BUDGET_SEGMENTS),
            narrowing: length.saturating_mul(NARROWING_SEGMENTS),
        }
    }

    /// Returns whether so many bytes more may be looked at to tell damaged records apart.
    pub(super) fn may_narrow(&mut self, bytes: u64) -> bool {
        let left = self.narrowing.checked_sub(bytes);
        self.narrowing = left.unwrap_or(0);
        left.is_some()
    }

    /// The frame at `offset`, if one holds there.
    pub(super) fn frame(&mut self, offset: u64) -> io::Result<Option<Frame>> {
        Frame::at(&mut self.window, &self.header, offset)
    }

    /// The seal at `offset`, if its checksum holds. It may have been moved there.
    pub(super) fn seal(&mut self, offset: u64) -> io::Result<Option<Seal>> {
        let seed = self.header.seed();
        let bytes = self.window.bytes(offset, SEAL_LENGTH as u64)?;
        let named = bytes.get(16..24).and_then(|at| at.first_chunk::<8>());
        let named = named.map(|at| u64::from_le_bytes(*at));
        Ok(named.and_then(|named| Seal::decode(bytes, named, seed).ok()))
    }

    /// Returns what lies behind the last record that is kept: the seal, where it stands there, or
    /// where a witness names the record before it, also if it was moved, else the place of HEAD's
    /// record.
    pub(super) fn next_behind(
        &mut self,
        after: &ChainPosition,
        from: u64,
        frames: &[Frame],
    ) -> io::Result<Option<Next>> {
        if let Some(seal) = self.seal(from)? {
            return Ok(Some(Next::Seal(from, seal)));
        }
        let next = self.next.map(|(last, seal)| (seal, last.sequence, last.link));
        let head = self.head.map(|head| (head.end_offset, head.newest_sequence, head.newest_link));
        let moved = frames.last().map(|last| last.end);
        for (offset, sequence, link) in [next, head].into_iter().flatten() {
            let is_named = |seal: &Seal| (seal.last.sequence, seal.last.link) == (sequence, link);
            for offset in [Some(offset), moved].into_iter().flatten().filter(|at| *at > from) {
                if let Some(seal) = self.seal(offset)?.filter(is_named) {
                    return Ok(Some(Next::Seal(offset, seal)));
                }
            }
        }
        Ok(self.place_of_head(after, from, frames))
    }

    /// Returns whether this record stands in its own place as well: before the damage, or from
    /// `behind` on. Records of other segments have other checksums.
    pub(super) fn holds_elsewhere(
        &mut self,
        frame: &Frame,
        after: &ChainPosition,
        behind: u64,
    ) -> io::Result<bool> {
        let RecordHeader { sequence, link, .. } = frame.header;
        let is_earlier = sequence <= after.sequence;
        let begin = if is_earlier { SEGMENT_HEADER_LENGTH as u64 } else { behind };
        let place = self.place_of(sequence, begin)?;
        Ok(place.is_some_and(|(at, found)| at != frame.offset && found == link))
    }

    /// Returns where the record of this sequence stands, by the sizes of those from `at` on, and
    /// its link.
    pub(super) fn place_of(
        &mut self,
        sequence: u64,
        mut at: u64,
    ) -> io::Result<Option<(u64, Link)>> {
        while self.passing > 0 {
            let bytes = self.window.bytes(at, RECORD_HEADER_LENGTH as u64)?;
            let header = bytes.first_chunk().and_then(|bytes| RecordHeader::decode(bytes).ok());
            let Some(header) = header.filter(|header| is_legal_size(header.size)) else { break };
            if header.sequence >= sequence {
                return Ok((header.sequence == sequence).then_some((at, header.link)));
            }
            self.passing = self.passing.saturating_sub(header.footprint());
            at = at.saturating_add(header.footprint());
        }
        Ok(None)
    }

    /// Returns where HEAD's record ends, when that is behind the damage.
    pub(super) fn place_of_head(
        &self,
        after: &ChainPosition,
        from: u64,
        frames: &[Frame],
    ) -> Option<Next> {
        let head = self.head.filter(|head| {
            head.newest_sequence > after.sequence
                && head.end_offset > from
                && head.end_offset <= self.window.length()
        })?;
        let named = (head.newest_sequence, head.newest_link);
        let is_moved = |frame: &Frame| (frame.header.sequence, frame.header.link) == named;
        let is_there = frames.last().is_none_or(|last| last.end == head.end_offset);
        (is_there && !frames.iter().any(is_moved)).then_some(Next::Head(head))
    }
}
