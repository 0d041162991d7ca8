//! Ties: the records behind a hole that a trusted mark proves, found by walking the links back from
//! the mark.
//!
//! Behind a hole anything may look like a record: a captured output can hold the image of one, with
//! the right checksum and even the right link to what lies before the hole. What no image can have
//! is the link that a later, trusted place names, for that link covers the very record that holds
//! the image. So nothing behind a hole is believed for what it says of itself: the search begins
//! at a mark and accepts, in front of each accepted record, only one that ends where that record
//! begins and carries the link that its link was made from.
//!
//! Marks are HEAD and the next segment's header. A seal is none: it lies among the records, where
//! an image can lie as well.
//!
//! The same walk reads the newest records of a segment without the ones before them.

use crate::damage_scan::{link_stored_at, size_at};
use crate::run::RecordPlace;
use crate::storage::ReadFile;
use crate::window::{Window, index, resize};
use holdpoint_log_format::limits::{
    ALIGNMENT, RECORD_HEADER_LENGTH, SEGMENT_HEADER_LENGTH, padded,
};
use holdpoint_log_format::record::is_legal_size;
use holdpoint_log_format::{
    ChainPosition, Item, Link, LinkPrefix, LogId, Record, RecordHeader, SegmentHeader,
};
use std::io;
use std::ops::ControlFlow;

/// Amount that is read at once: little at first, as who wants the newest records needs, then more.
const CHUNK_MIN: u64 = 8 * 1_024;
const CHUNK_MAX: u64 = 256 * 1_024;
const HEADER: u64 = RECORD_HEADER_LENGTH as u64;

/// A durable record named from outside of the records: its sequence, its link, where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) sequence: u64,
    pub(crate) link: Link,
    /// Offset behind the record.
    pub(crate) end: u64,
    /// True if it is the last one of its segment.
    pub(crate) ends_segment: bool,
}

/// Beginning of a hole, and the last valid record before it, if one is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    pub(crate) offset: u64,
    pub(crate) after: Option<ChainPosition>,
}

/// Finds the place behind the hole from which every record up to `mark` is proven, contents
/// included. `None` when the record that the mark names is not there.
pub(crate) fn tied<F: ReadFile>(
    window: &mut Window<F>,
    header: &SegmentHeader,
    mark: &Mark,
    edge: &Edge,
) -> io::Result<Option<ChainPosition>> {
    let found = TiedRecords::find(window, header, mark, edge.offset)?;
    let Some(records) = found else { return Ok(None) };
    let before = records.before(window, edge)?;
    Ok(Some(before.unwrap_or(records.first.chain())))
}

/// Consecutive records whose links a mark proves, up to the one that it names. So are their
/// contents, but for the first one's: the link before it must prove that.
pub(crate) struct TiedRecords {
    pub(crate) first: Linked,
    /// True if the first one's frame holds. Nothing before one that is not whole is proven by it.
    pub(crate) is_whole: bool,
    log: LogId,
    /// Record that the link before the first one must give.
    wanted: ExpectedRecord,
}

/// A record whose link is proven. Its content is so only when the link before it is known.
pub(crate) struct Linked {
    pub(crate) offset: u64,
    pub(crate) header: RecordHeader,
}

impl Linked {
    /// Offset behind it.
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.header.footprint()
    }

    /// The place behind it in the chain. Of one that is not whole, the time may be another.
    pub(crate) fn chain(&self) -> ChainPosition {
        ChainPosition::of(&self.header)
    }
}

impl TiedRecords {
    /// Finds them from `start` on. `None` when the record that the mark names is not there.
    pub(crate) fn find<F: ReadFile>(
        window: &mut Window<F>,
        header: &SegmentHeader,
        mark: &Mark,
        start: u64,
    ) -> io::Result<Option<Self>> {
        let mut search = TieSearch::from(window, header, mark, start);
        let (mut first, mut is_whole) = (None, true);
        while is_whole && let Some(linked) = search.previous()? {
            is_whole = Record::decode(&search.frame, header.seed()).is_ok();
            first = Some(linked);
        }
        let (log, wanted) = (header.log, search.wanted);
        Ok(first.map(|first| Self { first, is_whole, log, wanted }))
    }

    /// The place before the first one, where its content is proven by a link known before the
    /// hole, or left in it.
    pub(crate) fn before<F: ReadFile>(
        &self,
        window: &mut Window<F>,
        edge: &Edge,
    ) -> io::Result<Option<ChainPosition>> {
        if !self.is_whole || self.first.offset < edge.offset {
            return Ok(None);
        }
        let links = self.links_before(window, edge)?;
        let link = links.into_iter().flatten().find(|link| self.wanted.is(link));
        let sequence = self.first.header.sequence.saturating_sub(1);
        let time = edge.after.map_or(0, |after| after.time);
        Ok(link.map(|link| ChainPosition { sequence, link, time }))
    }

    /// Links that may be the one before the first record: the last valid record's, the one that the
    /// damaged record carries, and the one that its content gives.
    fn links_before<F: ReadFile>(
        &self,
        window: &mut Window<F>,
        edge: &Edge,
    ) -> io::Result<[Option<Link>; 3]> {
        let known = edge.after.map(|after| after.link);
        if self.first.offset <= edge.offset {
            return Ok([known, None, None]);
        }
        let stored = link_stored_at(window, edge.offset)?;
        let bytes = window.bytes(edge.offset, HEADER)?;
        let damaged = bytes.first_chunk().and_then(|bytes| RecordHeader::decode(bytes).ok());
        let fits = |damaged: &RecordHeader| {
            is_legal_size(damaged.size) && edge.offset + damaged.footprint() == self.first.offset
        };
        let computed = match (damaged.filter(fits), &edge.after) {
            (Some(damaged), Some(after)) => {
                let frame = window.bytes(edge.offset, u64::from(damaged.size))?;
                let prefix = prefix_of(self.log, &damaged, frame);
                Some(prefix.link(&after.link, damaged.unsynced, damaged.sequence, damaged.time))
            }
            _ => None,
        };
        Ok([known, stored, computed])
    }
}

/// Extent to which records were shown from a mark back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    /// To the segment's first one.
    Whole,
    /// To the one at which the caller had enough.
    Asked,
    /// Something before the last one shown is not as it must be.
    Broken,
}

/// Shows the records of a segment from the one that a mark names back, each with the place behind
/// the record before it. Each is checked as [`crate::run::walk`] does, and proven by then.
pub(crate) fn walk_back<F: ReadFile>(
    window: &mut Window<F>,
    header: &SegmentHeader,
    mark: &Mark,
    visit: &mut dyn FnMut(&ChainPosition, &RecordPlace, &Record<'_>) -> ControlFlow<()>,
) -> io::Result<Back> {
    if mark.ends_segment && !is_sealed(window, header, mark)? {
        return Ok(Back::Broken);
    }
    let mut search = TieSearch::from(window, header, mark, SEGMENT_HEADER_LENGTH as u64);
    let (mut due, mut frame) = (search.previous()?, Vec::new());
    while let Some(Linked { offset, header: found }) = due {
        std::mem::swap(&mut frame, &mut search.frame);
        let previous = search.previous()?;
        // What is left is said by the segment's header, if nothing lies between.
        let before = match &previous {
            Some(Linked { header, .. }) => ChainPosition::of(header),
            None if offset == SEGMENT_HEADER_LENGTH as u64 => header.previous,
            None => return Ok(Back::Broken),
        };
        let is_proven = previous.is_some() || search.wanted.is(&before.link);
        let follows = before.advance_by(&found, || found.link).is_ok();
        let length = frame.len() as u64;
        let fits = offset.saturating_add(length) <= header.records_end();
        let Ok(Item::Record(record)) = Item::decode(&frame, offset, header.seed()) else {
            return Ok(Back::Broken);
        };
        if !(is_proven && follows && fits) {
            return Ok(Back::Broken);
        }
        let place = RecordPlace { segment: header.first_sequence(), offset, length };
        if visit(&before, &place, &record).is_break() {
            return Ok(Back::Asked);
        }
        if previous.is_none() {
            return Ok(Back::Whole);
        }
        due = previous;
    }
    Ok(Back::Broken)
}

/// Returns whether the seal behind the segment's last record is the one that the next header names.
fn is_sealed<F: ReadFile>(
    window: &mut Window<F>,
    header: &SegmentHeader,
    mark: &Mark,
) -> io::Result<bool> {
    let Ok((Item::Seal(seal), _)) = window.item(mark.end, header)? else { return Ok(false) };
    Ok((seal.last.sequence, seal.last.link) == (mark.sequence, mark.link))
}

/// The record that must come before what was accepted last.
struct ExpectedRecord {
    sequence: u64,
    end: u64,
    proof: Proof,
}

enum Proof {
    /// A mark names its link.
    Named(Link),
    /// The link of the record behind it was made from its link.
    Behind { prefix: Box<LinkPrefix>, header: RecordHeader },
}

impl ExpectedRecord {
    fn of(mark: &Mark) -> Self {
        Self { sequence: mark.sequence, end: mark.end, proof: Proof::Named(mark.link) }
    }

    /// The wanted record's header, where these bytes of this offset begin with it.
    fn found_in(&self, bytes: &[u8], offset: u64) -> Option<RecordHeader> {
        let size = size_at(bytes)?;
        if offset + padded(u64::from(size)) != self.end {
            return None;
        }
        let header = RecordHeader::decode(bytes.first_chunk()?).ok()?;
        (header.sequence == self.sequence && self.is(&header.link)).then_some(header)
    }

    fn is(&self, link: &Link) -> bool {
        match &self.proof {
            Proof::Named(named) => named == link,
            Proof::Behind { prefix, header } => {
                prefix.link(link, header.unsynced, header.sequence, header.time) == header.link
            }
        }
    }
}

struct TieSearch<'w, F> {
    window: &'w mut Window<F>,
    log: LogId,
    wanted: ExpectedRecord,
    /// Nothing before this is looked at.
    floor: u64,
    /// Everything from here on was looked at.
    at: u64,
    /// The bytes from `chunk_start` on, and a header more than was not looked at of them.
    chunk: Vec<u8>,
    chunk_start: u64,
    chunk_length: u64,
    /// Record that was accepted last, whole.
    frame: Vec<u8>,
}

impl<'w, F: ReadFile> TieSearch<'w, F> {
    fn from(window: &'w mut Window<F>, header: &SegmentHeader, mark: &Mark, floor: u64) -> Self {
        let floor = floor.next_multiple_of(ALIGNMENT as u64);
        // A mark that names more than there is names nothing.
        let end = if mark.end > window.readable() { floor } else { mark.end };
        let at = end / ALIGNMENT as u64 * ALIGNMENT as u64;
        let (log, wanted) = (header.log, ExpectedRecord::of(mark));
        let (chunk, frame) = (Vec::new(), Vec::new());
        let (chunk_start, chunk_length) = (at, CHUNK_MIN);
        Self { window, log, wanted, floor, at, chunk, chunk_start, chunk_length, frame }
    }

    /// The record that is wanted, if it lies before what was looked at. Every multiple of 8 is
    /// looked at once, every accepted record is hashed once, and none overlaps another: the search
    /// is linear.
    fn previous(&mut self) -> io::Result<Option<Linked>> {
        while self.at > self.floor {
            if self.at == self.chunk_start {
                self.read_before()?;
            }
            while self.at > self.chunk_start {
                self.at -= ALIGNMENT as u64;
                let bytes = self.chunk.get(index(self.at - self.chunk_start)..);
                if let Some(header) = self.wanted.found_in(bytes.unwrap_or_default(), self.at) {
                    return self.accept(self.at, header).map(Some);
                }
            }
        }
        Ok(None)
    }

    fn read_before(&mut self) -> io::Result<()> {
        let start = self.at.saturating_sub(self.chunk_length).max(self.floor);
        resize(&mut self.chunk, index(self.at - start + HEADER))?;
        let read = self.window.file().read_at(start, &mut self.chunk)?;
        self.chunk.truncate(read);
        self.chunk_start = start;
        self.chunk_length = self.chunk_length.saturating_mul(2).min(CHUNK_MAX);
        Ok(())
    }

    fn accept(&mut self, offset: u64, header: RecordHeader) -> io::Result<Linked> {
        self.read_frame(offset, &header)?;
        let frame = self.frame.get(..header.size as usize).unwrap_or_default();
        let prefix = Box::new(prefix_of(self.log, &header, frame));
        self.wanted = ExpectedRecord {
            sequence: header.sequence.saturating_sub(1),
            end: offset,
            proof: Proof::Behind { prefix, header: header.clone() },
        };
        Ok(Linked { offset, header })
    }

    /// Reads a record; the place where it ends is within the file.
    fn read_frame(&mut self, offset: u64, header: &RecordHeader) -> io::Result<()> {
        let (at, length) = (index(offset - self.chunk_start), index(header.footprint()));
        self.frame.clear();
        match self.chunk.get(at..at.saturating_add(length)) {
            Some(frame) => self.frame.extend_from_slice(frame),
            None => {
                resize(&mut self.frame, length)?;
                let read = self.window.file().read_at(offset, &mut self.frame)?;
                self.frame.truncate(read);
            }
        }
        Ok(())
    }
}

fn prefix_of(log: LogId, header: &RecordHeader, frame: &[u8]) -> LinkPrefix {
    let payload = frame.get(RECORD_HEADER_LENGTH..).unwrap_or_default();
    let digest = Record { header: header.clone(), payload }.digest();
    LinkPrefix::new(log, header.kind, header.version, header.flags, &digest)
}
