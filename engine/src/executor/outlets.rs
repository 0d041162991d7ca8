//! Outlets of a command's output while it runs.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::output::OutputSink;
use super::pieces::{PieceCutter, PieceRecorder};
use super::process_table::Among;
use super::snapshots::SnapshotWatch;
use super::stream::PipeReading;

/// Recorder of the output of an execution while it comes.
pub(crate) struct PieceRecording<'r> {
    /// Takes the pieces.
    pub(crate) recorder: &'r mut dyn PieceRecorder,
    /// Time that a byte is held back at most before it is handed over.
    pub(crate) flush: Duration,
}

/// Destinations of the output: the one that reads it now, and the one that records it.
pub(super) struct Outlets<'o> {
    pub(super) sink: &'o mut dyn OutputSink,
    pub(super) recorder: Option<&'o mut dyn PieceRecorder>,
}

impl Outlets<'_> {
    /// Returns whether what is read can be recorded by now.
    pub(super) fn may_read(&mut self) -> bool {
        self.recorder.as_mut().is_none_or(|recorder| recorder.has_room())
    }

    /// Returns how a pipe is read now, where the sink may be so many bytes behind.
    pub(super) fn reading<'c>(
        &mut self,
        cutter: Option<&'c mut PieceCutter>,
        ahead: usize,
    ) -> PipeReading<'c> {
        let wall_ns = self.recorder.as_ref().map_or(0, |recorder| recorder.wall_ns());
        PipeReading { is_allowed: self.may_read(), ahead, cutter, wall_ns }
    }

    /// Hands over the pieces that are due.
    pub(super) fn hand_over(&mut self, cutter: Option<&mut PieceCutter>) {
        let (Some(cutter), Some(recorder)) = (cutter, &mut self.recorder) else { return };
        let pieces = cutter.due_pieces(Instant::now());
        if !pieces.is_empty() {
            recorder.take(pieces);
        }
    }

    /// Hands over a snapshot of the command's processes where one is due.
    pub(super) fn look(&mut self, watch: Option<&mut SnapshotWatch>, processes: (Pid, Among)) {
        let (Some(watch), Some(recorder)) = (watch, &mut self.recorder) else { return };
        if let Some(snapshot) = watch.look(processes, Instant::now(), || recorder.wall_ns()) {
            recorder.take_snapshot(snapshot);
        }
    }

    /// Hands over what is left.
    pub(super) fn end(&mut self, cutter: Option<&mut PieceCutter>) {
        if let (Some(cutter), Some(recorder)) = (cutter, &mut self.recorder) {
            recorder.end(cutter.last_pieces());
        }
    }

    /// Returns whether the command is to be ended, because what it prints cannot be recorded.
    pub(super) fn demand_the_end(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| recorder.demands_the_end())
    }

    /// Becomes readable when the recorder has room again.
    pub(super) fn room(&self) -> Option<BorrowedFd<'_>> {
        self.recorder.as_ref().and_then(|recorder| recorder.wake())
    }
}
