//! A run: the valid records of one segment from a known place on, up to the last one that ends a
//! batch.

use crate::storage::ReadFile;
use crate::window::Window;
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::{ChainPosition, Fault, Item, Record, RecordHeader, Seal, SegmentHeader};
use std::io;
use std::ops::ControlFlow;

/// Place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// First sequence of its segment.
    pub segment: u64,
    /// Offset in the segment's file.
    pub offset: u64,
    /// Bytes to the next item.
    pub length: u64,
}

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing here yet.
    Nothing,
    /// The segment's seal.
    Seal(Seal),
    /// Something that is not the next record.
    Fault(Fault),
    /// The caller had enough.
    Asked,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The newest record that ends a batch, or what the segment's header says is before it.
    pub chain: ChainPosition,
    /// Offset of that record; 0 when the run has none.
    pub record_offset: u64,
    /// Offset behind it.
    pub end_offset: u64,
    /// The highest sequence that a record of the run proves durable.
    pub mark: u64,
    /// Offset at which the run stopped: behind `end_offset` when a batch is unfinished.
    pub stop_offset: u64,
    /// Sequence that was due there.
    pub stop_sequence: u64,
    /// Why.
    pub stop: Stop,
}

impl Run {
    /// A run that has not begun, at the first record of the segment.
    #[must_use]
    pub fn at_start(header: &SegmentHeader) -> Self {
        Self::from(header.previous, 0, SEGMENT_HEADER_LENGTH as u64)
    }

    /// A run that goes on behind a record known to be valid.
    #[must_use]
    pub fn from(chain: ChainPosition, record_offset: u64, end_offset: u64) -> Self {
        Self {
            chain,
            record_offset,
            end_offset,
            mark: 0,
            stop_offset: end_offset,
            stop_sequence: chain.sequence.saturating_add(1),
            stop: Stop::Nothing,
        }
    }
}

/// Checks records one after another from the end of `from` on: frame, sequence, link, time, claim.
/// `visit` sees each valid record, those of an unfinished batch too: it must hold back what it
/// learns until a record ends the batch.
///
/// # Errors
/// What the disk says.
pub fn walk<F: ReadFile>(
    window: &mut Window<F>,
    header: &SegmentHeader,
    from: Run,
    visit: &mut dyn FnMut(&RecordPlace, &Record<'_>) -> ControlFlow<()>,
) -> io::Result<Run> {
    let mut step = Step::begun(header, from);
    loop {
        let (record, length) = match window.item(step.offset, header)? {
            Ok((Item::Record(record), length)) => (record, length),
            Ok((Item::Nothing, _)) => return Ok(step.stopped(Stop::Nothing)),
            Ok((Item::Seal(seal), _)) => {
                let stop = step.stop_at_seal(seal);
                return Ok(step.stopped(stop));
            }
            Err(fault) => return Ok(step.stopped(Stop::Fault(fault))),
        };
        let follows = step.chain.advance(header.log, &record);
        if let Err(fault) = follows.and_then(|_| step.check_claim(&record.header)) {
            return Ok(step.stopped(Stop::Fault(fault)));
        }
        let onward = visit(&step.place(length), &record);
        if onward.is_break() {
            let stop = step.asked_behind(&record.header, length);
            return Ok(step.stopped(stop));
        }
        step.onto(&record.header, length);
    }
}

/// A run under way: what is known behind the newest valid record.
pub(crate) struct Step {
    run: Run,
    segment: u64,
    chain: ChainPosition,
    offset: u64,
    ends: BatchEnds,
    /// The offset and the sequence of the record behind which the visitor had enough.
    asked_at: Option<(u64, u64)>,
}

impl Step {
    /// Behind `from`.
    pub(crate) fn begun(header: &SegmentHeader, from: Run) -> Self {
        let (chain, offset) = (from.chain, from.end_offset);
        let ends = BatchEnds { after: chain.sequence, count: 0, bits: Vec::new() };
        let segment = header.first_sequence();
        Self { run: from, segment, chain, offset, ends, asked_at: None }
    }

    /// The place of a record of so many bytes that comes next.
    pub(crate) fn place(&self, length: u64) -> RecordPlace {
        RecordPlace { segment: self.segment, offset: self.offset, length }
    }

    /// Checks that what the next record claims to be durable is the end of a batch, where the run
    /// has that end. What was before the run is durable by its own mark, and no further away.
    pub(crate) fn check_claim(&self, header: &RecordHeader) -> Result<(), Fault> {
        let RecordHeader { sequence, .. } = *header;
        match header.mark()? {
            Some(found) if !self.ends.has(found) => Err(Fault::ClaimInBatch { sequence, found }),
            _ => Ok(()),
        }
    }

    /// Goes on behind the next record, which is valid.
    pub(crate) fn onto(&mut self, header: &RecordHeader, length: u64) {
        let &RecordHeader { sequence, link, time, .. } = header;
        self.chain = ChainPosition { sequence, link, time };
        self.run.mark = self.run.mark.max(header.mark().ok().flatten().unwrap_or(0));
        let record_offset = self.offset;
        self.offset += length;
        self.ends.push(!header.flags.more_follows());
        if !header.flags.more_follows() {
            self.run.chain = self.chain;
            self.run.record_offset = record_offset;
            self.run.end_offset = self.offset;
        }
    }

    /// Stops where the next item is due, or where the visitor had enough.
    pub(crate) fn stopped(mut self, stop: Stop) -> Run {
        let next = (self.offset, self.chain.sequence.saturating_add(1));
        (self.run.stop_offset, self.run.stop_sequence) = self.asked_at.unwrap_or(next);
        self.run.stop = stop;
        self.run
    }

    /// Goes on behind the next record, with which the visitor had enough: the stop is at it.
    pub(crate) fn asked_behind(&mut self, header: &RecordHeader, length: u64) -> Stop {
        self.asked_at = Some((self.offset, self.chain.sequence.saturating_add(1)));
        self.onto(header, length);
        Stop::Asked
    }

    /// A seal counts only where it says it is: behind the record that it names, with no batch open.
    pub(crate) fn stop_at_seal(&self, seal: Seal) -> Stop {
        let chain = &self.chain;
        if self.run.chain.sequence != chain.sequence {
            Stop::Fault(Fault::UnfinishedBatch { found: chain.sequence })
        } else if seal.last.sequence != chain.sequence {
            Stop::Fault(Fault::Sequence { expected: chain.sequence, found: seal.last.sequence })
        } else if seal.last.link != chain.link {
            Stop::Fault(Fault::Link { expected: chain.link, found: seal.last.link })
        } else if seal.last.time != chain.time {
            Stop::Fault(Fault::TimeBackwards { previous: chain.time, found: seal.last.time })
        } else {
            Stop::Seal(seal)
        }
    }
}

/// Records of a run that end a batch: a bit for each.
struct BatchEnds {
    /// The record behind which the run begins.
    after: u64,
    /// Number of records of the run that are known.
    count: u64,
    bits: Vec<u64>,
}

impl BatchEnds {
    /// Returns whether a record of the run, or one before it, ends a batch; of those before it all
    /// do.
    fn has(&self, sequence: u64) -> bool {
        let Some(at) = sequence.checked_sub(self.after.saturating_add(1)) else { return true };
        let word = usize::try_from(at / 64).ok().and_then(|word| self.bits.get(word));
        word.is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Takes the next record of the run.
    fn push(&mut self, is_end: bool) {
        let bit = self.count % 64;
        if bit == 0 {
            self.bits.push(0);
        }
        if let Some(word) = self.bits.last_mut() {
            *word |= u64::from(is_end) << bit;
        }
        self.count += 1;
    }
}
