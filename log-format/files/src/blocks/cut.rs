//! Cutting a run into blocks of whole records. Only sizes are looked at; nothing is believed.

use super::BlockLength;
use crate::run::{RecordPlace, Run};
use crate::storage::ReadFile;
use crate::window::{Window, announced, index, resize};
use holdpoint_log_format::limits::RECORD_HEADER_LENGTH;
use holdpoint_log_format::{
    ChainPosition, Fault, Item, ItemLength, RecordHeader, Seal, SegmentHeader,
};
use std::io;

/// A private copy of some of a segment's records.
pub(super) struct Block {
    /// The segment's header.
    pub(super) header: SegmentHeader,
    /// Offset of the first record.
    pub(super) start: u64,
    /// Position that the record before the first one states for itself. It counts only when that
    /// record holds.
    pub(super) before: ChainPosition,
    /// The bytes, from the first record on.
    pub(super) bytes: Vec<u8>,
    /// Places of the records in them, without gaps.
    pub(super) records: Vec<Cut>,
    /// End that follows them, when the run ends there if they hold.
    pub(super) end: Option<End>,
}

/// A record in a block's bytes: its size is legal and it ends before the room for the seal.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub(super) start: usize,
    pub(super) length: usize,
}

/// End of a run: something that is no record.
pub(super) enum End {
    /// Nothing here yet.
    Nothing,
    /// A seal whose frame holds.
    Seal(Seal),
    /// Neither.
    Fault(Fault),
}

impl Block {
    /// The bytes of a record, padding included.
    pub(super) fn frame(&self, cut: &Cut) -> &[u8] {
        self.bytes.get(cut.start..cut.start + cut.length).unwrap_or_default()
    }

    /// Returns where a record lies in its segment.
    pub(super) fn place(&self, cut: &Cut) -> RecordPlace {
        let offset = self.start + cut.start as u64;
        RecordPlace { segment: self.header.first_sequence(), offset, length: cut.length as u64 }
    }

    /// The payload of a record with this header.
    pub(super) fn payload(&self, cut: &Cut, header: &RecordHeader) -> &[u8] {
        let frame = self.frame(cut).get(..header.size as usize).unwrap_or_default();
        frame.get(RECORD_HEADER_LENGTH..).unwrap_or_default()
    }
}

/// Reads a run block by block.
pub(super) struct Cutter<'f, F> {
    file: &'f F,
    readable: u64,
    header: SegmentHeader,
    before: ChainPosition,
    offset: u64,
    length: BlockLength,
    has_ended: bool,
}

impl<'f, F: ReadFile> Cutter<'f, F> {
    /// Begins behind `from`.
    pub(super) fn new(
        window: &'f Window<F>,
        header: SegmentHeader,
        from: &Run,
        length: BlockLength,
    ) -> Self {
        Self {
            file: window.file(),
            readable: window.readable(),
            header,
            before: from.chain,
            offset: from.end_offset,
            length,
            has_ended: false,
        }
    }

    /// Returns whether the run has no further block.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns whether the run has got to its longest blocks, and its file to more than two of
    /// them.
    pub(super) fn is_long(&self) -> bool {
        let left = self.readable.saturating_sub(self.offset);
        self.length.first >= self.length.most && left / 2 > self.length.most as u64
    }

    /// The next block. `bytes` is a buffer to use again.
    ///
    /// # Errors
    /// What the disk says.
    pub(super) fn next_block(&mut self, bytes: Vec<u8>) -> io::Result<Block> {
        let block = Block {
            header: self.header,
            start: self.offset,
            before: self.before,
            bytes,
            records: Vec::new(),
            end: None,
        };
        let wanted = self.length.first.max(4);
        self.length.first = wanted.saturating_mul(2).min(self.length.most).max(wanted);
        let mut block = self.filled(block, wanted)?;
        if let Some(needed) = self.cut(&mut block, wanted) {
            // The first record is larger than the block: it has one to itself.
            block = self.filled(block, needed)?;
            self.cut(&mut block, needed);
        }
        self.go_behind(&block);
        Ok(block)
    }

    /// The block with so many bytes, or fewer at the end of the file.
    fn filled(&self, mut block: Block, wanted: usize) -> io::Result<Block> {
        let rest = index(self.readable.saturating_sub(self.offset));
        resize(&mut block.bytes, rest.min(wanted))?;
        let read = self.file.read_at(self.offset, &mut block.bytes)?;
        block.bytes.truncate(read);
        Ok(block)
    }

    /// Finds the whole records in the bytes, of which so many were asked for. The bytes that the
    /// first item needs, when it is not whole and more can be asked for.
    fn cut(&self, block: &mut Block, asked: usize) -> Option<usize> {
        let mut at = 0;
        loop {
            let offset = self.offset + at as u64;
            let rest = block.bytes.get(at..).unwrap_or_default();
            match self.next_item(rest, offset) {
                Next::Record(length) => {
                    block.records.push(Cut { start: at, length });
                    at += length;
                }
                Next::End(end) => {
                    block.end = Some(end);
                    return None;
                }
                Next::Beyond(_) if at > 0 => return None,
                Next::Beyond(needed) if asked < needed => return Some(needed),
                // The file has become shorter than it was.
                Next::Beyond(_) => {
                    block.end = Some(self.end_at(rest, offset));
                    return None;
                }
            }
        }
    }

    fn next_item(&self, rest: &[u8], offset: u64) -> Next {
        let Some(field) = rest.first_chunk::<4>() else {
            let is_there = offset.saturating_add(4) <= self.readable;
            return if is_there { Next::Beyond(4) } else { Next::End(End::Nothing) };
        };
        match announced(*field, offset, &self.header, self.readable) {
            Err(fault) => Next::End(End::Fault(fault)),
            Ok(needed) if index(needed) > rest.len() => Next::Beyond(index(needed)),
            Ok(needed) => match ItemLength::of(*field) {
                ItemLength::Record(_) if needed > 0 => Next::Record(index(needed)),
                ItemLength::Seal if needed > 0 => Next::End(self.end_at(rest, offset)),
                _ => Next::End(End::Nothing),
            },
        }
    }

    /// Returns what stands where the run ends.
    fn end_at(&self, rest: &[u8], offset: u64) -> End {
        if rest.len() < 4 {
            return End::Nothing;
        }
        match Item::decode(rest, offset, self.header.seed()) {
            Ok(Item::Seal(seal)) => End::Seal(seal),
            Ok(_) => End::Nothing,
            Err(fault) => End::Fault(fault),
        }
    }

    /// The next block begins where this one ends.
    fn go_behind(&mut self, block: &Block) {
        self.has_ended = block.end.is_some();
        let Some(last) = block.records.last() else { return };
        self.offset += (last.start + last.length) as u64;
        // Where this does not decode, the run ends before it counts.
        let header = block.frame(last).first_chunk().map(RecordHeader::decode);
        if let Some(Ok(RecordHeader { sequence, link, time, .. })) = header {
            self.before = ChainPosition { sequence, link, time };
        }
    }
}

/// Item that begins at an offset, as far as its first bytes say.
enum Next {
    /// A record of so many bytes, padding included.
    Record(usize),
    /// The run's end.
    End(End),
    /// An item of so many bytes, more than there are here.
    Beyond(usize),
}
