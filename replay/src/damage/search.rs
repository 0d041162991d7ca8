//! What lies behind damage in a segment: frames whose checksums hold, and the first place from
//! which the chain goes on.

use holdpoint_log_files::ReadFile;
use holdpoint_log_files::window::Window;
use holdpoint_log_format::limits::{
    ALIGNMENT, RECORD_HEADER_LENGTH, RESYNC_BUDGET_SEGMENTS, SEAL_LENGTH, SEGMENT_HEADER_LENGTH,
    padded,
};
use holdpoint_log_format::record::is_legal_size;
use holdpoint_log_format::seal::SEAL_TAG;
use holdpoint_log_format::{
    ChainPosition, Head, Item, Link, LinkPrefix, LogId, RecordHeader, Seal, SegmentHeader,
};
use std::io;

/// Frames of one gap that are kept in mind. A gap with more is said to be unknown.
const FRAMES_MAX: usize = 256;

/// How many times the length of its segment may be looked at to tell damaged records apart.
const NARROWING_SEGMENTS: u64 = 16;

/// A segment, and what is named of it from outside of its records.
pub(super) struct View<F> {
    /// Its bytes.
    pub(super) window: Window<F>,
    /// Its header, or what that must have said.
    pub(super) header: SegmentHeader,
    /// HEAD, where it names a record of this segment.
    pub(super) head: Option<Head>,
    /// What the next segment's header names: the last record here, and where the seal begins.
    pub(super) next: Option<(ChainPosition, u64)>,
    /// The newest record that any witness names in this segment or before it.
    pub(super) due: u64,
    /// How many payloads may still be searched bit by bit.
    pub(super) restores: u32,
    /// Bytes of candidates that may still be hashed.
    budget: u64,
    /// Bytes that may still be passed over in search of another record of the same sequence.
    passing: u64,
    /// Bytes that may still be looked at to tell damaged records next to each other apart.
    narrowing: u64,
}

/// A record whose frame holds: size, checksum, flags, padding. Its link is another matter.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) offset: u64,
    pub(super) end: u64,
    pub(super) header: RecordHeader,
    pub(super) digest: [u8; 32],
}

/// The first thing behind a gap that is not damaged.
#[derive(Clone, Debug)]
pub(super) enum Next {
    /// A record from which the chain goes on.
    Record(Frame),
    /// The seal.
    Seal(u64, Seal),
    /// The place behind the record that HEAD names.
    Head(Head),
}

/// What lies behind a damaged place.
#[derive(Debug, Default)]
pub(super) struct Behind {
    /// Frames that hold between the two, in order.
    pub(super) frames: Vec<Frame>,
    /// Where the chain goes on.
    pub(super) next: Option<Next>,
    /// The search stopped: the bytes were made to be slow.
    pub(super) budget_spent: bool,
}

impl Frame {
    pub(super) fn chain(&self) -> ChainPosition {
        let RecordHeader { sequence, link, time, .. } = self.header;
        ChainPosition { sequence, link, time }
    }

    /// The link that its content gives behind `previous`.
    pub(super) fn link_behind(&self, log: LogId, previous: &Link) -> Link {
        link_of(log, &self.header, &self.digest, previous)
    }

    /// Whether its link was made from this one.
    pub(super) fn follows(&self, log: LogId, previous: &Link) -> bool {
        self.link_behind(log, previous) == self.header.link
    }
}

/// The frame at `offset` of a segment, if one holds there.
pub(super) fn frame_at<F: ReadFile>(
    window: &mut Window<F>,
    segment: &SegmentHeader,
    offset: u64,
) -> io::Result<Option<Frame>> {
    let Ok((Item::Record(record), length)) = window.item(offset, segment)? else {
        return Ok(None);
    };
    let (digest, header) = (record.digest(), record.header);
    Ok(Some(Frame { offset, end: offset.saturating_add(length), header, digest }))
}

/// The link that a header and a payload's digest give.
pub(super) fn link_of(
    log: LogId,
    header: &RecordHeader,
    digest: &[u8; 32],
    previous: &Link,
) -> Link {
    LinkPrefix::new(log, header.kind, header.version, header.flags, digest).link(
        previous,
        header.unsynced,
        header.sequence,
        header.time,
    )
}

impl Next {
    /// Where it begins.
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

    /// Whether this is the link of the record before it.
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
        let budget = length.saturating_mul(RESYNC_BUDGET_SEGMENTS);
        Self {
            window,
            header,
            head: None,
            next: None,
            due,
            restores: 0,
            budget,
            passing: budget,
            narrowing: length.saturating_mul(NARROWING_SEGMENTS),
        }
    }

    /// Whether so many bytes more may be looked at to tell damaged records apart.
    pub(super) fn may_narrow(&mut self, bytes: u64) -> bool {
        let left = self.narrowing.checked_sub(bytes);
        self.narrowing = left.unwrap_or(0);
        left.is_some()
    }

    /// The link that a record carries which begins here.
    pub(super) fn link_stored_at(&mut self, at: u64) -> io::Result<Option<Link>> {
        let bytes = self.window.bytes(at, RECORD_HEADER_LENGTH as u64)?;
        Ok(bytes.get(32..).and_then(|link| link.first_chunk()).copied().map(Link))
    }

    /// The frame at `offset`, if one holds there.
    pub(super) fn frame(&mut self, offset: u64) -> io::Result<Option<Frame>> {
        frame_at(&mut self.window, &self.header, offset)
    }

    /// The seal at `offset`, if its checksum holds. It may have been moved there.
    pub(super) fn seal(&mut self, offset: u64) -> io::Result<Option<Seal>> {
        let seed = self.header.seed();
        let bytes = self.window.bytes(offset, SEAL_LENGTH as u64)?;
        let named = bytes.get(16..24).and_then(|at| at.first_chunk::<8>());
        let named = named.map(|at| u64::from_le_bytes(*at));
        Ok(named.and_then(|named| Seal::decode(bytes, named, seed).ok()))
    }

    /// Searches `from..end` behind the record `after`.
    pub(super) fn behind(
        &mut self,
        after: &ChainPosition,
        from: u64,
        end: u64,
    ) -> io::Result<Behind> {
        let mut behind = Behind::default();
        let mut at = self.first_place(after, from)?;
        while at < end && behind.next.is_none() {
            if !self.is_candidate(after, from, at)? {
                at += ALIGNMENT as u64;
                continue;
            }
            if self.budget == 0 {
                behind.budget_spent = true;
                break;
            }
            at = self.look_at((after, from), at, &mut behind)?;
        }
        if behind.next.is_none() && !behind.budget_spent {
            behind.next = self.place_of_head(after, from, &behind.frames);
        }
        Ok(behind)
    }

    /// Looks at one place; gives the next one.
    fn look_at(
        &mut self,
        (after, from): (&ChainPosition, u64),
        at: u64,
        behind: &mut Behind,
    ) -> io::Result<u64> {
        if let Some(seal) = self.seal(at)? {
            behind.next = Some(Next::Seal(at, seal));
            return Ok(at);
        }
        let Some(frame) = self.frame(at)? else {
            self.spend_at(at)?;
            return Ok(at + ALIGNMENT as u64);
        };
        let onward = frame.end;
        if self.settles(&frame, (after, from), &behind.frames)? {
            behind.next = Some(Next::Record(frame));
        } else if behind.frames.len() < FRAMES_MAX {
            behind.frames.push(frame);
        } else {
            self.budget = 0;
        }
        Ok(onward)
    }

    /// Behind a record whose size leads to a record that is one further on, nothing before that is
    /// looked at: the damaged record may hold images of others.
    fn first_place(&mut self, after: &ChainPosition, from: u64) -> io::Result<u64> {
        if self.frame(from)?.is_some() {
            return Ok(from);
        }
        let Some(size) = size_at(self.window.bytes(from, 4)?) else { return Ok(from) };
        if self.budget == 0 {
            return Ok(from);
        }
        let next = from.saturating_add(padded(u64::from(size)));
        let found = self.frame(next)?;
        if found.is_none() {
            self.spend_at(next)?;
        }
        let is_next =
            found.is_some_and(|found| Some(found.header.sequence) == after.sequence.checked_add(2));
        Ok(if is_next { next } else { from })
    }

    /// Whether a record or seal may begin here. Only such places cost hashing.
    fn is_candidate(&mut self, after: &ChainPosition, from: u64, at: u64) -> io::Result<bool> {
        let bytes = self.window.bytes(at, RECORD_HEADER_LENGTH as u64)?;
        let is_seal = bytes.starts_with(&SEAL_TAG.to_le_bytes());
        if is_seal || size_at(bytes).is_none() {
            return Ok(is_seal);
        }
        if at == from {
            return Ok(true);
        }
        let sequence = bytes.get(16..24).and_then(|bytes| bytes.first_chunk());
        let sequence = sequence.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let length = size_at(bytes).map_or(0, |size| padded(u64::from(size)));
        let room = (at - from).saturating_add(length) / RECORD_HEADER_LENGTH as u64;
        let most = after.sequence.saturating_add(room).saturating_add(1).max(self.due);
        Ok((self.header.first_sequence()..=most).contains(&sequence))
    }

    /// Whether this record stands in its own place as well: before the damage, or from `behind` on.
    /// Records of other segments have other checksums.
    pub(super) fn holds_elsewhere(
        &mut self,
        frame: &Frame,
        after: &ChainPosition,
        behind: u64,
    ) -> io::Result<bool> {
        let wanted = frame.header.sequence;
        let is_earlier = wanted <= after.sequence;
        let mut at = if is_earlier { SEGMENT_HEADER_LENGTH as u64 } else { behind };
        while at != frame.offset && self.passing > 0 {
            let bytes = self.window.bytes(at, RECORD_HEADER_LENGTH as u64)?;
            let header = bytes.first_chunk().and_then(|bytes| RecordHeader::decode(bytes).ok());
            let Some(header) = header.filter(|header| is_legal_size(header.size)) else { break };
            if header.sequence >= wanted {
                return Ok((header.sequence, header.link) == (wanted, frame.header.link));
            }
            self.passing = self.passing.saturating_sub(header.footprint());
            at = at.saturating_add(header.footprint());
        }
        Ok(false)
    }

    fn spend_at(&mut self, at: u64) -> io::Result<()> {
        let size = size_at(self.window.bytes(at, 4)?).unwrap_or(0);
        let room = self.window.length().saturating_sub(at);
        self.budget = self.budget.saturating_sub(u64::from(size).min(room));
        Ok(())
    }

    /// Whether the chain goes on with this frame: it follows from the last good record or from the
    /// link of the damaged one before it, or what lies behind it follows from it, or a witness
    /// names it. Not so the one that stands where the damage begins: what is wrong with it is
    /// neither its checksum nor its link.
    fn settles(
        &mut self,
        frame: &Frame,
        (after, from): (&ChainPosition, u64),
        before: &[Frame],
    ) -> io::Result<bool> {
        let sequence = frame.header.sequence;
        if sequence <= after.sequence {
            return Ok(false);
        }
        if sequence == after.sequence + 1 {
            if frame.offset == from || !frame.follows(self.header.log, &after.link) {
                return Ok(false);
            }
            for other in before.iter().filter(|other| other.header.sequence > after.sequence) {
                if !self.holds_elsewhere(other, after, frame.end)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        if self.follows_stored(frame, (after, from), before)? {
            return Ok(true);
        }
        let link = frame.header.link;
        if let Some(successor) = self.frame(frame.end)? {
            let is_next = successor.header.sequence == sequence.saturating_add(1);
            return Ok(is_next && successor.follows(self.header.log, &link));
        }
        if let Some(seal) = self.seal(frame.end)? {
            return Ok((seal.last.sequence, seal.last.link) == (sequence, link));
        }
        Ok(self.is_witnessed(sequence, &link))
    }

    /// Whether one damaged record stands right before this frame, and its link is the one that this
    /// one's was made from.
    fn follows_stored(
        &mut self,
        frame: &Frame,
        (after, from): (&ChainPosition, u64),
        before: &[Frame],
    ) -> io::Result<bool> {
        let (sequence, at) = match before.last() {
            Some(last) => (last.header.sequence, last.end),
            None => (after.sequence, from),
        };
        let has_room = frame.offset >= at.saturating_add(RECORD_HEADER_LENGTH as u64);
        if !has_room || Some(frame.header.sequence) != sequence.checked_add(2) {
            return Ok(false);
        }
        let stored = self.link_stored_at(at)?;
        Ok(stored.is_some_and(|link| frame.follows(self.header.log, &link)))
    }

    /// Whether HEAD or the next segment's header names this record with this link.
    pub(super) fn is_witnessed(&self, sequence: u64, link: &Link) -> bool {
        let head = self.head.map(|head| (head.newest_sequence, head.newest_link));
        let next = self.next.map(|(last, _)| (last.sequence, last.link));
        [head, next].into_iter().flatten().any(|named| named == (sequence, *link))
    }

    /// Where HEAD's record ends, when that is behind the damage.
    fn place_of_head(&self, after: &ChainPosition, from: u64, frames: &[Frame]) -> Option<Next> {
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

/// The size that a record's first bytes say, if a record may have it.
pub(super) fn size_at(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|size| u32::from_le_bytes(*size)).filter(|size| is_legal_size(*size))
}
