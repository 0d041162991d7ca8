//! A private, sliding copy of a file: items are checked here, never in memory that another process
//! can change.

use crate::storage::ReadFile;
use holdpoint_log_format::limits::{SEGMENT_CAPACITY_MAX, SEGMENT_HEADER_LENGTH};
use holdpoint_log_format::zeros::last_nonzero;
use holdpoint_log_format::{ChecksumSeed, Fault, Item, ItemLength, LogId, SegmentHeader};
use std::io;

/// Amount that is read at first, as a reader at the tail needs, in bytes.
const READ_AHEAD_MIN: u64 = 8 * 1_024;

/// Number of bytes that are read at once then, or one item where that is longer.
pub const READ_AHEAD_MAX: u64 = 256 * 1_024;

/// A window over one file. It never holds more than the file's length, or one item, and never looks
/// behind the largest capacity that a segment may have, however long the file claims to be.
pub struct Window<F> {
    file: F,
    length: u64,
    readable: u64,
    bytes: Vec<u8>,
    start: u64,
    read_ahead: u64,
    /// Seed of the segment whose items were asked for last.
    seed: Option<(LogId, u64, ChecksumSeed)>,
}

/// An item, with the bytes it takes in the file.
pub type SizedItem<'a> = (Item<'a>, u64);

impl<F: ReadFile> Window<F> {
    /// A window over `file`, whose length is read once.
    ///
    /// # Errors
    /// What the disk says.
    pub fn new(file: F) -> io::Result<Self> {
        let length = file.length()?;
        let read_ahead = READ_AHEAD_MIN;
        let readable = length.min(SEGMENT_CAPACITY_MAX);
        Ok(Self { file, length, readable, bytes: Vec::new(), start: 0, read_ahead, seed: None })
    }

    /// The file's length when the window was made.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns how much of the file is looked at.
    pub(crate) fn readable(&self) -> u64 {
        self.readable
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &F {
        &self.file
    }

    /// Forgets the private copy, so that the next read sees the file as it is now.
    pub fn refresh(&mut self) {
        self.bytes.clear();
    }

    /// The bytes at `offset`: `length` of them, or fewer at the end of the file.
    ///
    /// # Errors
    /// What the disk says.
    #[inline]
    pub fn bytes(&mut self, offset: u64, length: u64) -> io::Result<&[u8]> {
        let end = offset.saturating_add(length).min(self.readable);
        if offset < self.start || end > self.start + self.bytes.len() as u64 {
            self.fill(offset, end)?;
        }
        let held = self.bytes.get(index(offset.saturating_sub(self.start))..).unwrap_or_default();
        let wanted = index(end.saturating_sub(offset)).min(held.len());
        Ok(held.get(..wanted).unwrap_or_default())
    }

    /// The segment's header block.
    ///
    /// # Errors
    /// What the disk says; the inner error is what is wrong with the block.
    pub fn header(&mut self) -> io::Result<Result<SegmentHeader, Fault>> {
        self.bytes(0, SEGMENT_HEADER_LENGTH as u64).map(header_of)
    }

    /// The item at `offset` of a segment, its frame checked. Records end before `header`'s room
    /// for the seal.
    ///
    /// # Errors
    /// What the disk says; the inner error is what is wrong with the frame.
    // Made where the caller has it: copying the answer out took an eighth of reading a record.
    #[inline(always)]
    pub fn item(
        &mut self,
        offset: u64,
        header: &SegmentHeader,
    ) -> io::Result<Result<SizedItem<'_>, Fault>> {
        let readable = self.readable;
        let Some(field) = self.bytes(offset, 4)?.first_chunk::<4>() else {
            return Ok(Ok((Item::Nothing, 0)));
        };
        let needed = match announced(*field, offset, header, readable) {
            Ok(0) => return Ok(Ok((Item::Nothing, 0))),
            Ok(needed) => needed,
            Err(fault) => return Ok(Err(fault)),
        };
        let seed = self.seed_of(header);
        let bytes = self.bytes(offset, needed)?;
        Ok(Item::decode(bytes, offset, seed).map(|item| (item, needed)))
    }

    #[inline]
    fn seed_of(&mut self, header: &SegmentHeader) -> ChecksumSeed {
        let (log, first) = (header.log, header.first_sequence());
        match self.seed {
            Some((its_log, its_first, seed)) if its_log == log && its_first == first => seed,
            _ => self.seed.insert((log, first, header.seed())).2,
        }
    }

    /// Offset behind the last byte from `offset` on that is not zero, or `None` when all are.
    ///
    /// # Errors
    /// What the disk says.
    pub fn nonzero_end(&mut self, offset: u64) -> io::Result<Option<u64>> {
        self.nonzero_end_within(offset, self.readable)
    }

    /// Offset behind the last byte of `start..end` that is not zero, or `None` when all are.
    ///
    /// # Errors
    /// What the disk says.
    pub fn nonzero_end_within(&mut self, start: u64, end: u64) -> io::Result<Option<u64>> {
        let end = end.min(self.readable);
        let mut found = None;
        let mut at = start;
        while at < end {
            let bytes = self.bytes(at, READ_AHEAD_MAX.min(end - at))?;
            if bytes.is_empty() {
                break;
            }
            if let Some(last) = last_nonzero(bytes) {
                found = Some(at + last as u64 + 1);
            }
            at += bytes.len() as u64;
        }
        Ok(found)
    }

    /// Reads `offset..end` and some bytes after it. The buffer is bounded by the file's length.
    #[cold]
    fn fill(&mut self, offset: u64, end: u64) -> io::Result<()> {
        // Who jumps wants little where it jumps to.
        let behind = self.start.saturating_add(self.bytes.len() as u64);
        if !(self.start..=behind).contains(&offset) {
            self.read_ahead = READ_AHEAD_MIN;
        }
        let target = end.max(offset.saturating_add(self.read_ahead)).min(self.readable);
        self.read_ahead = (self.read_ahead * 2).min(READ_AHEAD_MAX);
        self.start = offset;
        // What is there is read over: zeros for every reading took as long as some of its checks.
        resize(&mut self.bytes, index(target.saturating_sub(offset)))?;
        let read = self.file.read_at(offset, &mut self.bytes);
        self.bytes.truncate(*read.as_ref().unwrap_or(&0));
        read.map(drop)
    }
}

/// Counts the bytes the item at `offset` of a segment takes, 0 for nothing, as far as its first
/// four bytes say: it ends before `readable`, and a record before the room for the seal.
#[inline]
pub(crate) fn announced(
    field: [u8; 4],
    offset: u64,
    header: &SegmentHeader,
    readable: u64,
) -> Result<u64, Fault> {
    let room = header.capacity.min(readable).saturating_sub(offset);
    if room < 4 {
        return Ok(0);
    }
    let announced = ItemLength::of(field);
    let needed = announced.bytes().ok_or_else(|| illegal(announced))?;
    let limit = match announced {
        ItemLength::Record(_) => header.records_end().saturating_sub(offset).min(room),
        _ => room,
    };
    if needed > limit { Err(Fault::Short { needed, available: limit }) } else { Ok(needed) }
}

/// The header block that begins a segment's bytes.
pub(crate) fn header_of(bytes: &[u8]) -> Result<SegmentHeader, Fault> {
    let needed = SEGMENT_HEADER_LENGTH as u64;
    let short = Fault::Short { needed, available: bytes.len() as u64 };
    SegmentHeader::decode(bytes.first_chunk().ok_or(short)?)
}

fn illegal(announced: ItemLength) -> Fault {
    match announced {
        ItemLength::Illegal(found) => Fault::IllegalSize { found },
        _ => Fault::IllegalSize { found: 0 },
    }
}

/// Makes `bytes` so long, which a file said: an error where there is no memory for that.
pub(crate) fn resize(bytes: &mut Vec<u8>, length: usize) -> io::Result<()> {
    bytes.try_reserve_exact(length.saturating_sub(bytes.len()))?;
    bytes.resize(length, 0);
    Ok(())
}

/// Offsets inside a segment fit in memory's index: a capacity is at most 257 MiB.
#[inline]
pub(crate) fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_for_which_there_is_no_memory_is_an_error() {
        let mut bytes = vec![1, 2];
        let error = resize(&mut bytes, isize::MAX.unsigned_abs()).unwrap_err();
        assert_eq!((error.kind(), bytes.len()), (io::ErrorKind::OutOfMemory, 2));
        resize(&mut bytes, 4).unwrap();
        assert_eq!(bytes, [1, 2, 0, 0]);
        resize(&mut bytes, 1).unwrap();
        assert_eq!(bytes, [1]);
    }
}
