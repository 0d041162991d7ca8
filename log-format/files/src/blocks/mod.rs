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
use cut::{Cutter, End};
use holdpoint_log_format::{Record, SegmentHeader};
use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, TryRecvError};
pub use workers::{Make, Workers, with_workers};

/// How much is read and checked as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLength {
    /// Bytes of a run's first block: a tail is often short. Each next one has twice as many.
    pub first: usize,
    /// Bytes at which doubling stops. A record that is larger has a block to itself.
    pub most: usize,
}

impl Default for BlockLength {
    /// What a processor's second cache holds beside everything else.
    fn default() -> Self {
        Self { first: 8 * 1_024, most: 256 * 1_024 }
    }
}

/// Called with each valid record, its place, and what a worker made of it, in order.
pub type VisitMade<'a, T> = dyn FnMut(&RecordPlace, &Record<'_>, T) + 'a;

/// Checks the records from the end of `from` on, as [`crate::run::walk`] does, in blocks. `visit`
/// sees the same records in the same order, those of an unfinished batch too.
///
/// # Errors
/// What the disk says.
pub fn walk_blocks<F: ReadFile, T: Send>(
    window: &Window<F>,
    header: &SegmentHeader,
    from: Run,
    workers: &mut Workers<'_, T>,
    visit: &mut VisitMade<'_, T>,
) -> io::Result<Run> {
    let cutter = Cutter::new(window, *header, &from, workers.block_length());
    let mut under_way = UnderWay { cutter, pending: VecDeque::new(), bytes: 0, failed: None };
    let mut step = Step::begun(header, from);
    while let Some(checked) = under_way.next(workers) {
        let end = step_through(&mut step, checked, workers, visit);
        if let Some(stop) = end {
            workers.forget_queued();
            return Ok(step.stopped(stop));
        }
    }
    match under_way.failed {
        Some(error) => Err(error),
        None => Ok(step.stopped(Stop::Nothing)),
    }
}

/// Shows the records of a block, and tells why the run stops behind them, if it does.
fn step_through<T>(
    step: &mut Step,
    checked: Checked<T>,
    workers: &mut Workers<'_, T>,
    visit: &mut VisitMade<'_, T>,
) -> Option<Stop> {
    let Checked { block, valid, made, fault } = checked;
    for (cut, (header, made)) in block.records.iter().zip(valid.into_iter().zip(made)) {
        let payload = block.payload(cut, &header);
        let record = Record { header, payload };
        visit(&block.place(cut), &record, made);
        step.onto(&record.header, cut.length as u64);
    }
    let stop = match (fault, block.end) {
        (Some(fault), _) | (None, Some(End::Fault(fault))) => Some(Stop::Fault(fault)),
        (None, Some(End::Seal(seal))) => Some(step.stop_at_seal(seal)),
        (None, Some(End::Nothing)) => Some(Stop::Nothing),
        (None, None) => None,
    };
    workers.give_back(block.bytes);
    stop
}

/// The blocks of a run that are being checked, oldest first.
struct UnderWay<'f, F, T> {
    cutter: Cutter<'f, F>,
    pending: VecDeque<(usize, Receiver<Checked<T>>)>,
    bytes: usize,
    /// What the disk said behind the blocks that are pending.
    failed: Option<io::Error>,
}

impl<F: ReadFile, T: Send> UnderWay<'_, F, T> {
    /// The next block in order, checked. Blocks are read ahead as long as there are too few for
    /// the workers; while the next one is not checked, this thread checks what is queued.
    fn next(&mut self, workers: &mut Workers<'_, T>) -> Option<Checked<T>> {
        while self.wants_more(workers) {
            self.read_block(workers);
        }
        let (length, result) = self.pending.pop_front()?;
        self.bytes = self.bytes.saturating_sub(length);
        loop {
            match result.try_recv() {
                Ok(checked) => return Some(checked),
                Err(TryRecvError::Empty) if workers.check_one() => {}
                // Nobody but a thread that panicked drops a block unchecked, and that panic goes
                // on when the threads are joined.
                _ => return Some(result.recv().expect("a worker answers or panics")),
            }
        }
    }

    /// Nothing is read ahead behind a fault of the disk or the end of the run, nor beyond what the
    /// workers need, so that memory does not grow with the log. One block is always wanted.
    fn wants_more(&self, workers: &Workers<'_, T>) -> bool {
        !self.cutter.has_ended()
            && self.failed.is_none()
            && (self.pending.is_empty()
                || self.pending.len() < workers.blocks_ahead()
                    && self.bytes < workers.bytes_ahead())
    }

    fn read_block(&mut self, workers: &mut Workers<'_, T>) {
        match self.cutter.next_block(workers.buffer()) {
            Ok(block) => {
                let length = block.bytes.len();
                self.bytes = self.bytes.saturating_add(length);
                self.pending.push_back((length, workers.submit(block)));
            }
            Err(error) => self.failed = Some(error),
        }
    }
}
