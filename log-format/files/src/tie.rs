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

use crate::storage::ReadFile;
use crate::window::Window;
use holdpoint_log_format::limits::{ALIGNMENT, RECORD_HEADER_LENGTH, padded};
use holdpoint_log_format::record::is_legal_size;
use holdpoint_log_format::{
    ChainPosition, Link, LinkPrefix, LogId, Record, RecordHeader, SegmentHeader,
};
use std::io;

/// How much is read at once.
const CHUNK: u64 = 64 * 1_024;
const HEADER: u64 = RECORD_HEADER_LENGTH as u64;

/// A durable record named from outside of the records: its sequence, its link, where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) sequence: u64,
    pub(crate) link: Link,
    /// Its time in nanoseconds, where that is named too.
    pub(crate) time: Option<u64>,
    /// Offset behind the record.
    pub(crate) end: u64,
    /// Whether it is the last one of its segment.
    pub(crate) ends_segment: bool,
}

/// Where a hole begins, and the last valid record before it, if one is known.
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
) -> io::Result<Option<(ChainPosition, u64)>> {
    if mark.end > window.length() {
        return Ok(None);
    }
    let mut search = Search { window, log: header.log, wanted: Wanted::of(mark), first: None };
    search.walk_back(edge.offset, mark.end)?;
    let Some(first) = search.first.take() else { return Ok(None) };
    let before = edge.after.map_or(header.previous.time, |after| after.time);
    let (mut chain, offset) = search.start_of(&first, edge, before)?;
    if let Some(time) = mark.time.filter(|_| offset == mark.end) {
        chain.time = time;
    }
    Ok(Some((chain, offset)))
}

/// The record that must come before what was accepted last.
struct Wanted {
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

impl Wanted {
    fn of(mark: &Mark) -> Self {
        Self { sequence: mark.sequence, end: mark.end, proof: Proof::Named(mark.link) }
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

/// A record whose link is proven. Its content is so only when the link before it is known.
struct Linked {
    offset: u64,
    header: RecordHeader,
}

struct Search<'w, F> {
    window: &'w mut Window<F>,
    log: LogId,
    wanted: Wanted,
    first: Option<Linked>,
}

impl<F: ReadFile> Search<'_, F> {
    /// Looks at every multiple of 8 from `end` down to `start`, once, chunk by chunk.
    fn walk_back(&mut self, start: u64, end: u64) -> io::Result<()> {
        let mut above = end;
        while above > start {
            let from = above.saturating_sub(CHUNK).max(start);
            let bytes = self.window.bytes(from, above - from + HEADER)?.to_vec();
            let aligned = from.next_multiple_of(ALIGNMENT as u64);
            let places = above.saturating_sub(aligned).div_ceil(ALIGNMENT as u64);
            for place in (0..places).rev() {
                let offset = aligned + place * ALIGNMENT as u64;
                self.look_at(offset, bytes.get(index(offset - from)..).unwrap_or_default())?;
            }
            above = from;
        }
        Ok(())
    }

    fn look_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let Some(size) = size_of(bytes) else { return Ok(()) };
        if offset + padded(u64::from(size)) != self.wanted.end {
            return Ok(());
        }
        let header = bytes.first_chunk().and_then(|bytes| RecordHeader::decode(bytes).ok());
        let is_wanted = |header: &RecordHeader| {
            header.sequence == self.wanted.sequence && self.wanted.is(&header.link)
        };
        match header.filter(is_wanted) {
            Some(header) => self.accept(offset, header),
            None => Ok(()),
        }
    }

    /// Every accepted record is hashed once, and none overlaps another: the search is linear.
    fn accept(&mut self, offset: u64, header: RecordHeader) -> io::Result<()> {
        let prefix = Box::new(self.prefix(offset, &header)?);
        self.wanted = Wanted {
            sequence: header.sequence.saturating_sub(1),
            end: offset,
            proof: Proof::Behind { prefix, header: header.clone() },
        };
        self.first = Some(Linked { offset, header });
        Ok(())
    }

    fn prefix(&mut self, offset: u64, header: &RecordHeader) -> io::Result<LinkPrefix> {
        let payload = self.window.bytes(offset + HEADER, u64::from(header.size) - HEADER)?;
        let digest = Record { header: header.clone(), payload }.digest();
        Ok(LinkPrefix::new(self.log, header.kind, header.version, header.flags, &digest))
    }

    /// Where the proven records begin: with the first linked one when its content is proven by a
    /// link known before the hole or left in it, else right behind it.
    fn start_of(
        &mut self,
        first: &Linked,
        edge: &Edge,
        time: u64,
    ) -> io::Result<(ChainPosition, u64)> {
        let sequence = first.header.sequence.saturating_sub(1);
        if first.offset > edge.offset {
            for link in self.links_before(first, edge)?.into_iter().flatten() {
                if self.wanted.is(&link) {
                    return Ok((ChainPosition { sequence, link, time }, first.offset));
                }
            }
        }
        let chain =
            ChainPosition { sequence: first.header.sequence, link: first.header.link, time };
        Ok((chain, first.offset + first.header.footprint()))
    }

    /// Links that may be the one before `first`: the last valid record's, the one that the damaged
    /// record carries, and the one that its content gives.
    fn links_before(&mut self, first: &Linked, edge: &Edge) -> io::Result<[Option<Link>; 3]> {
        let bytes = self.window.bytes(edge.offset, HEADER)?.to_vec();
        let stored = bytes.get(32..64).and_then(|link| link.try_into().ok()).map(Link);
        let damaged = bytes.first_chunk().and_then(|bytes| RecordHeader::decode(bytes).ok());
        let fits = |damaged: &RecordHeader| {
            is_legal_size(damaged.size) && edge.offset + damaged.footprint() == first.offset
        };
        let computed = match (damaged.filter(fits), &edge.after) {
            (Some(damaged), Some(after)) => {
                let prefix = self.prefix(edge.offset, &damaged)?;
                Some(prefix.link(&after.link, damaged.unsynced, damaged.sequence, damaged.time))
            }
            _ => None,
        };
        Ok([edge.after.map(|after| after.link), stored, computed])
    }
}

fn size_of(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|size| u32::from_le_bytes(*size)).filter(|size| is_legal_size(*size))
}

/// Offsets inside a chunk.
fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}
