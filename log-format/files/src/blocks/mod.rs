//! Checking records many at once: a run is cut into blocks of whole records, each block is checked
//! by itself, in lanes and by as many threads as there are, and the results are taken in order.
//!
//! What makes this possible is that every record stores its link: the link that is due after a
//! record is computed from the link stored in the one before, whether or not that one holds. Taken
//! in order, the first record whose own link, frame or place does not hold is the first fault, as
//! it is when records are checked one after another: [`walk_blocks`] ends as [`crate::run::walk`]
//! does, whatever the bytes are.

mod check;
mod cut;
mod workers;

use crate::run::{RecordPlace, Run, Step, Stop};
use crate::storage::ReadFile;
use crate::window::Window;
use check::Checked;
use cut::{Block, Cutter, End};
use holdpoint_log_format::{Record, RecordHeader, SegmentHeader};
use std::io;
use std::ops::ControlFlow;
pub use workers::{Complete, Make, Workers};
use workers::{Line, Room};

/// Length of what is read and checked as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLength {
    /// Bytes of a run's first block: a tail is often short. Each next one has twice as many.
    pub first: usize,
    /// Bytes at which doubling stops. A record that is larger has a block to itself.
    pub most: usize,
}

impl Default for BlockLength {
    /// Returns lengths that a processor's second cache holds beside everything else.
    fn default() -> Self {
        Self { first: 8 * 1_024, most: 256 * 1_024 }
    }
}

/// Called with each valid record, its place, and what a worker made of it, in order.
pub type VisitWithValue<'a, T> = dyn FnMut(&RecordPlace, &Record<'_>, T) + 'a;

/// Visitor like [`VisitWithValue`], until it has had enough.
pub type VisitWithValueWhile<'a, T> =
    dyn FnMut(&RecordPlace, &Record<'_>, T) -> ControlFlow<()> + 'a;

/// [`walk_blocks_while`], to the end.
///
/// # Errors
/// What the disk says.
pub fn walk_blocks<F: ReadFile + Sync, T: Send>(
    window: &Window<F>,
    header: &SegmentHeader,
    from: Run,
    workers: &Workers<'_, T>,
    visit: &mut VisitWithValue<'_, T>,
) -> io::Result<Run> {
    walk_blocks_while(window, header, from, workers, &mut |place, record, made| {
        visit(place, record, made);
        ControlFlow::Continue(())
    })
}

/// Checks the records from the end of `from` on, as [`crate::run::walk`] does, in blocks. `visit`
/// sees the same records in the same order, those of an unfinished batch too; when it has had
/// enough, up to a block for each thread was read and checked that it does not see.
///
/// # Errors
/// What the disk says.
pub fn walk_blocks_while<F: ReadFile + Sync, T: Send>(
    window: &Window<F>,
    header: &SegmentHeader,
    from: Run,
    workers: &Workers<'_, T>,
    visit: &mut VisitWithValueWhile<'_, T>,
) -> io::Result<Run> {
    let line = Line::new(workers, Cutter::new(window, *header, &from, workers.length));
    let mut step = Step::begun(header, from);
    let stop = line.with(|next| {
        while let Some(checked) = next() {
            let stop = step_through(&mut step, checked, workers, visit);
            if stop.is_some() {
                return stop;
            }
        }
        None
    });
    match (stop, line.failure()) {
        (None, Some(error)) => Err(error),
        (stop, _) => Ok(step.stopped(stop.unwrap_or(Stop::Nothing))),
    }
}

/// Shows the records of a block, and tells why the run stops behind them, if it does.
fn step_through<T>(
    step: &mut Step,
    checked: Checked<T>,
    workers: &Workers<'_, T>,
    visit: &mut VisitWithValueWhile<'_, T>,
) -> Option<Stop> {
    let Checked { block, mut valid, mut made, fault, thread } = checked;
    let stopped = show(step, &block, valid.drain(..).zip(made.drain(..)), visit);
    workers.give_back(thread, Room { bytes: block.bytes, headers: valid, made });
    stopped.or_else(|| match (fault, block.end) {
        (Some(fault), _) | (None, Some(End::Fault(fault))) => Some(Stop::Fault(fault)),
        (None, Some(End::Seal(seal))) => Some(step.stop_at_seal(seal)),
        (None, Some(End::Nothing)) => Some(Stop::Nothing),
        (None, None) => None,
    })
}

/// Shows the valid records of a block, as long as they are wanted.
fn show<T>(
    step: &mut Step,
    block: &Block,
    records: impl Iterator<Item = (RecordHeader, T)>,
    visit: &mut VisitWithValueWhile<'_, T>,
) -> Option<Stop> {
    for (cut, (header, made)) in block.records.iter().zip(records) {
        if let Err(fault) = step.check_claim(&header) {
            return Some(Stop::Fault(fault));
        }
        let payload = block.payload(cut, &header);
        let record = Record { header, payload };
        let length = cut.length as u64;
        if visit(&block.place(cut), &record, made).is_break() {
            return Some(step.asked_behind(&record.header, length));
        }
        step.onto(&record.header, length);
    }
    None
}
