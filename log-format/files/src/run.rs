//! A run: the valid records of one segment from a known place on, up to the last one that ends a
//! batch.

use crate::storage::ReadFile;
use crate::window::Window;
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::{ChainPosition, Fault, Item, Record, Seal, SegmentHeader};
use std::io;

/// Where a record lies.
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

/// Whether a visitor of records wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// Go on.
    Go,
    /// Stop behind this record.
    Stop,
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
    visit: &mut dyn FnMut(&RecordPlace, &Record<'_>) -> Onward,
) -> io::Result<Run> {
    let mut run = from;
    let mut chain = run.chain;
    let mut offset = run.end_offset;
    loop {
        run.stop_offset = offset;
        run.stop_sequence = chain.sequence.saturating_add(1);
        let (record, length) = match window.item(offset, header)? {
            Ok((Item::Record(record), length)) => (record, length),
            Ok((Item::Nothing, _)) => return Ok(stopped(run, Stop::Nothing)),
            Ok((Item::Seal(seal), _)) => return Ok(stopped_at_seal(run, seal, &chain)),
            Err(fault) => return Ok(stopped(run, Stop::Fault(fault))),
        };
        chain = match chain.advance(header.log, &record) {
            Ok(next) => next,
            Err(fault) => return Ok(stopped(run, Stop::Fault(fault))),
        };
        let place = RecordPlace { segment: header.first_sequence(), offset, length };
        let onward = visit(&place, &record);
        run.mark = run.mark.max(record.header.mark().ok().flatten().unwrap_or(0));
        offset += length;
        if !record.header.flags.more_follows() {
            run.chain = chain;
            run.record_offset = place.offset;
            run.end_offset = offset;
        }
        if onward == Onward::Stop {
            return Ok(stopped(run, Stop::Asked));
        }
    }
}

fn stopped(mut run: Run, stop: Stop) -> Run {
    run.stop = stop;
    run
}

/// A seal counts only where it says it is: behind the record that it names, with no batch open.
fn stopped_at_seal(run: Run, seal: Seal, chain: &ChainPosition) -> Run {
    let stop = if run.chain.sequence != chain.sequence {
        Stop::Fault(Fault::UnfinishedBatch { found: chain.sequence })
    } else if seal.last.sequence != chain.sequence {
        Stop::Fault(Fault::Sequence { expected: chain.sequence, found: seal.last.sequence })
    } else if seal.last.link != chain.link {
        Stop::Fault(Fault::Link { expected: chain.link, found: seal.last.link })
    } else if seal.last.time != chain.time {
        Stop::Fault(Fault::TimeBackwards { previous: chain.time, found: seal.last.time })
    } else {
        Stop::Seal(seal)
    };
    stopped(run, stop)
}
