//! Behind a hole: whole frames, and the one among them with which the records go on.
//!
//! Only what no mark ties is looked for here, and only between what is before the hole and what is
//! tied behind it: an image of a record can take the place of one that is damaged, and is unproven
//! then, but never the place of one that is tied.

use crate::storage::ReadFile;
use crate::tie::Mark;
use crate::window::Window;
use holdpoint_log_format::limits::{
    ALIGNMENT, RECORD_HEADER_LENGTH, RESYNC_BUDGET_SEGMENTS, padded,
};
use holdpoint_log_format::record::is_legal_size;
use holdpoint_log_format::{
    ChainPosition, Item, Link, LinkPrefix, LogId, Record, RecordHeader, SegmentHeader,
};
use std::io;

/// Frames of one hole that are kept in mind.
const FRAMES_MAX: usize = 256;

const HEADER: u64 = RECORD_HEADER_LENGTH as u64;

/// A record whose frame holds: size, checksum, flags, padding. Its link is another matter.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Place where it begins, in bytes.
    pub offset: u64,
    /// Offset behind it.
    pub end: u64,
    /// Its header.
    pub header: RecordHeader,
    /// Digest of its payload.
    pub digest: [u8; 32],
}

impl Frame {
    /// The frame at `offset` of a segment, if one holds there.
    ///
    /// # Errors
    /// What the disk says.
    pub fn at<F: ReadFile>(
        window: &mut Window<F>,
        segment: &SegmentHeader,
        offset: u64,
    ) -> io::Result<Option<Self>> {
        let Ok((Item::Record(record), length)) = window.item(offset, segment)? else {
            return Ok(None);
        };
        let (digest, header) = (record.digest(), record.header);
        Ok(Some(Self { offset, end: offset.saturating_add(length), header, digest }))
    }

    /// The place behind it in the chain.
    #[must_use]
    pub fn chain(&self) -> ChainPosition {
        ChainPosition::of(&self.header)
    }

    /// The link that its content gives behind `previous`.
    #[must_use]
    pub fn link_behind(&self, log: LogId, previous: &Link) -> Link {
        link_of(log, &self.header, &self.digest, previous)
    }

    /// Returns whether its link was made from this one.
    #[must_use]
    pub fn follows(&self, log: LogId, previous: &Link) -> bool {
        self.link_behind(log, previous) == self.header.link
    }
}

/// The link that a header and a payload's digest give behind `previous`.
#[must_use]
pub fn link_of(log: LogId, header: &RecordHeader, digest: &[u8; 32], previous: &Link) -> Link {
    let &RecordHeader { kind, version, flags, unsynced, sequence, time, .. } = header;
    LinkPrefix::new(log, kind, version, flags, digest).link(previous, unsynced, sequence, time)
}

/// The size that a record's first bytes say, if a record may have it.
#[must_use]
pub fn size_at(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|size| u32::from_le_bytes(*size)).filter(|size| is_legal_size(*size))
}

/// The link that a record carries which begins here, whether it is whole or not.
///
/// # Errors
/// What the disk says.
pub fn link_stored_at<F: ReadFile>(window: &mut Window<F>, at: u64) -> io::Result<Option<Link>> {
    let bytes = window.bytes(at, HEADER)?;
    Ok(bytes.get(32..).and_then(|link| link.first_chunk()).copied().map(Link))
}

/// Content of a hole.
#[derive(Clone, Debug, Default)]
pub struct HoleContent {
    /// The whole frames in it, in order.
    pub frames: Vec<Frame>,
    /// The search stopped: the bytes were made to be slow, or hold more frames than are kept in
    /// mind.
    pub is_stopped: bool,
}

/// A hole, and what is known of both of its sides.
#[derive(Clone, Copy)]
pub(super) struct Hole<'m> {
    /// The record before it.
    pub(super) after: ChainPosition,
    /// Its first byte.
    pub(super) from: u64,
    /// The byte behind it: there begins what is tied, or all is zero.
    pub(super) to: u64,
    /// The records in it are before this one.
    pub(super) before: u64,
    /// And no later than this.
    pub(super) time: u64,
    /// True if that record begins where the hole ends.
    pub(super) is_closed: bool,
    /// Records that are named from outside.
    pub(super) marks: &'m [Mark],
}

impl Hole<'_> {
    /// Returns whether nothing behind it is named by anything: whatever an output holds may be
    /// there.
    fn is_open(&self) -> bool {
        self.before == u64::MAX && !self.is_closed
    }

    /// Returns whether a record behind the damaged ones may be this one: in order, with room before
    /// it for those, and with one of them behind it.
    fn admits(&self, frame: &Frame) -> bool {
        let RecordHeader { sequence, time, .. } = frame.header;
        let between = sequence.saturating_sub(self.after.sequence).saturating_sub(1);
        let is_in_order = sequence > self.after.sequence && sequence < self.before;
        let has_room =
            frame.offset == self.from || between.saturating_mul(HEADER) <= frame.offset - self.from;
        let is_in_time = (self.after.time..=self.time).contains(&time);
        let is_sound = is_in_time && frame.header.mark().is_ok();
        is_in_order && has_room && is_sound && self.has_room_behind(frame)
    }

    /// Returns whether a mark names this record, which may have been moved here: nothing is tied
    /// then.
    fn names(&self, frame: &Frame) -> bool {
        let RecordHeader { sequence, link, time, .. } = frame.header;
        let is_it = |mark: &Mark| (mark.sequence, mark.link) == (sequence, link);
        let is_behind = sequence > self.after.sequence && time >= self.after.time;
        !self.is_closed && is_behind && frame.header.mark().is_ok() && self.marks.iter().any(is_it)
    }

    /// Returns whether what is damaged between a record and the end has room there.
    fn has_room_behind(&self, frame: &Frame) -> bool {
        let Some(room) = self.to.checked_sub(frame.end) else { return false };
        let behind = self.before.saturating_sub(frame.header.sequence).saturating_sub(1);
        match behind {
            _ if !self.is_closed => true,
            0 => room == 0,
            behind => behind.saturating_mul(HEADER) <= room,
        }
    }

    /// Returns whether every frame stands behind room for the damaged records before it.
    fn stand_in_order(&self, frames: &[Frame]) -> bool {
        let mut before = (self.after.sequence, self.from);
        frames.iter().all(|frame| {
            let between = frame.header.sequence.checked_sub(before.0.saturating_add(1));
            let room = frame.offset - before.1;
            before = (frame.header.sequence, frame.end);
            let fits = |between: u64| between > 0 && between.saturating_mul(HEADER) <= room;
            frame.header.sequence < self.before && between.is_some_and(fits)
        })
    }
}

/// The search in the holes of one segment. Each byte of it is hashed a bounded number of times.
pub(super) struct Search {
    budget: u64,
}

impl Search {
    pub(super) fn of(length: u64) -> Self {
        Self { budget: length.saturating_mul(RESYNC_BUDGET_SEGMENTS) }
    }

    /// Searches a hole: gives what is in it, and the record with which it ends, if that is another
    /// than the one known.
    pub(super) fn find<F: ReadFile>(
        &mut self,
        window: &mut Window<F>,
        segment: &SegmentHeader,
        hole: &Hole<'_>,
    ) -> io::Result<(HoleContent, Option<Frame>)> {
        if let Some(next) = self.behind_announced(window, segment, hole)? {
            return Ok((HoleContent::default(), Some(next)));
        }
        let mut found = HoleContent::default();
        let (mut at, mut tiled_to) = (hole.from, hole.from);
        while at < hole.to && !found.is_stopped {
            if !is_candidate(window, segment, hole, at)? {
                at += ALIGNMENT as u64;
                continue;
            }
            let frame = Frame::at(window, segment, at)?;
            self.spend_at(window, at)?;
            at = match frame {
                None => at + ALIGNMENT as u64,
                Some(frame) => {
                    if is_next(window, segment.log, hole, (&frame, tiled_to, &found.frames))? {
                        return Ok((found, Some(frame)));
                    }
                    let end = frame.end;
                    tiled_to = if tiled_to == frame.offset { end } else { tiled_to };
                    found.frames.push(frame);
                    end
                }
            };
            found.is_stopped = self.budget == 0 || found.frames.len() >= FRAMES_MAX;
        }
        let next = match hole.is_open() {
            true => None,
            false => self.first_in_order(window, segment, hole, &found.frames)?,
        };
        if let Some(next) = &next {
            found.frames.retain(|frame| frame.end <= next.offset);
            found.is_stopped = false;
        }
        Ok((found, next))
    }

    /// Behind a damaged record whose size leads to the one behind it, nothing in it is looked at:
    /// it may hold images of records.
    fn behind_announced<F: ReadFile>(
        &mut self,
        window: &mut Window<F>,
        segment: &SegmentHeader,
        hole: &Hole<'_>,
    ) -> io::Result<Option<Frame>> {
        let Some(size) = size_at(window.bytes(hole.from, 4)?).filter(|_| self.budget > 0) else {
            return Ok(None);
        };
        if Frame::at(window, segment, hole.from)?.is_some() {
            return Ok(None);
        }
        let next = hole.from.saturating_add(padded(u64::from(size)));
        self.spend_at(window, next)?;
        let is_second =
            |frame: &Frame| Some(frame.header.sequence) == hole.after.sequence.checked_add(2);
        let found = Frame::at(window, segment, next)?.filter(is_second);
        match found.filter(|frame| hole.admits(frame)) {
            Some(frame)
                if hole.is_open() && !follows_damaged(window, segment.log, hole, &frame)? =>
            {
                Ok(None)
            }
            found => Ok(found),
        }
    }

    /// The first frame that the one behind it follows from; else the first one, where all of them
    /// can be where they were written; else the one that a mark names.
    fn first_in_order<F: ReadFile>(
        &mut self,
        window: &mut Window<F>,
        segment: &SegmentHeader,
        hole: &Hole<'_>,
        frames: &[Frame],
    ) -> io::Result<Option<Frame>> {
        let is_behind = |frame: &&Frame| frame.header.sequence > hole.after.sequence + 1;
        for frame in frames.iter().filter(is_behind).filter(|frame| hole.admits(frame)) {
            let successor = Frame::at(window, segment, frame.end)?;
            self.spend_at(window, frame.end)?;
            let follows = |behind: Frame| {
                let is_next = frame.header.sequence.checked_add(1) == Some(behind.header.sequence);
                is_next && behind.follows(segment.log, &frame.header.link)
            };
            if successor.is_some_and(follows) {
                return Ok(Some(frame.clone()));
            }
        }
        let first = frames.first().filter(|frame| hole.admits(frame));
        let first = first.filter(|_| hole.stand_in_order(frames));
        Ok(first.or_else(|| frames.iter().find(|frame| hole.names(frame))).cloned())
    }

    fn spend_at<F: ReadFile>(&mut self, window: &mut Window<F>, at: u64) -> io::Result<()> {
        let size = size_at(window.bytes(at, 4)?).unwrap_or(0);
        let room = window.length().saturating_sub(at);
        self.budget = self.budget.saturating_sub(u64::from(size).min(room));
        Ok(())
    }
}

/// Returns whether a record goes on behind the hole for certain: it follows from the link that the
/// damaged record before it carries, which no image in that record can; or from the record before
/// the hole, and a mark names it or nothing but other whole records is between the two.
fn is_next<F: ReadFile>(
    window: &mut Window<F>,
    log: LogId,
    hole: &Hole<'_>,
    (frame, tiled_to, before): (&Frame, u64, &[Frame]),
) -> io::Result<bool> {
    let is_second = Some(frame.header.sequence) == hole.after.sequence.checked_add(1);
    if is_second && hole.names(frame) && frame.follows(log, &hole.after.link) {
        return Ok(true);
    }
    if !hole.admits(frame) || frame.offset == hole.from {
        return Ok(false);
    }
    if frame.header.sequence == hole.after.sequence + 1 {
        return Ok(tiled_to == frame.offset && frame.follows(log, &hole.after.link));
    }
    if hole.is_open() {
        let is_third = Some(frame.header.sequence) == hole.after.sequence.checked_add(2);
        return Ok(is_third && follows_damaged(window, log, hole, frame)?);
    }
    let (sequence, at) = match before.last() {
        Some(last) => (last.header.sequence, last.end),
        None => (hole.after.sequence, hole.from),
    };
    let has_room = frame.offset >= at.saturating_add(HEADER);
    if !has_room || Some(frame.header.sequence) != sequence.checked_add(2) {
        return Ok(false);
    }
    let stored = link_stored_at(window, at)?;
    Ok(stored.is_some_and(|link| frame.follows(log, &link)))
}

/// Returns whether a record follows from the damaged one that the hole begins with: from the link
/// that this one carries, or from the one that its content gives. No image in it does either.
fn follows_damaged<F: ReadFile>(
    window: &mut Window<F>,
    log: LogId,
    hole: &Hole<'_>,
    frame: &Frame,
) -> io::Result<bool> {
    let stored = link_stored_at(window, hole.from)?;
    if stored.is_some_and(|link| frame.follows(log, &link)) {
        return Ok(true);
    }
    let bytes = window.bytes(hole.from, frame.offset - hole.from)?;
    let Some((header, payload)) = bytes.split_first_chunk() else { return Ok(false) };
    let Ok(header) = RecordHeader::decode(header) else { return Ok(false) };
    let payload = (header.size as usize)
        .checked_sub(RECORD_HEADER_LENGTH)
        .filter(|_| header.footprint() == frame.offset - hole.from)
        .and_then(|length| payload.get(..length));
    Ok(payload.is_some_and(|payload| {
        let digest = Record { header: header.clone(), payload }.digest();
        frame.follows(log, &link_of(log, &header, &digest, &hole.after.link))
    }))
}

/// Returns whether a record may begin here. Only such places cost hashing.
fn is_candidate<F: ReadFile>(
    window: &mut Window<F>,
    segment: &SegmentHeader,
    hole: &Hole<'_>,
    at: u64,
) -> io::Result<bool> {
    let bytes = window.bytes(at, HEADER)?;
    let Some(size) = size_at(bytes) else { return Ok(false) };
    let sequence = bytes.get(16..24).and_then(|bytes| bytes.first_chunk());
    let sequence = sequence.map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let room = (at - hole.from).saturating_add(padded(u64::from(size))) / HEADER;
    let most = hole.after.sequence.saturating_add(room).saturating_add(1);
    let most = if hole.before == u64::MAX { most } else { most.max(hole.before) };
    Ok(at == hole.from || (segment.first_sequence()..=most).contains(&sequence))
}
