//! One output stream on its way from the command to the sink.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::capture::{Capture, CapturedOutput};
use super::output::{OutputSink, OutputStream};
use super::pieces::PieceCutter;
use super::report::{ExecuteError, SinkFailure};

/// Amount that is read at once: the default capacity of a pipe on Linux.
pub(super) const READ_BYTES: usize = 64 * 1024;

/// A pipe from the command, its capture, and what the sink has yet to accept.
///
/// While the command runs, nothing more is read where the sink is behind: a slow reader slows the
/// command down, as it would without us in between. Once its end is in sight, the rest is read
/// ahead up to a bound, so that no reader delays its record.
#[derive(Debug)]
pub(super) struct Stream {
    name: OutputStream,
    pipe: Option<OwnedFd>,
    end_seen: bool,
    capture: Capture,
    pending: VecDeque<u8>,
    failure: Option<io::Error>,
}

/// Permission to read a pipe now, and the consumer that takes what is read instead of the capture.
pub(super) struct PipeReading<'c> {
    pub(super) is_allowed: bool,
    /// Number of bytes the sink may be behind; 0: none is read before it has all.
    pub(super) ahead: usize,
    pub(super) cutter: Option<&'c mut PieceCutter>,
    /// The time by the recorder's clock.
    pub(super) wall_ns: u64,
}

impl Stream {
    /// Takes over the reading end of a pipe, or this process's side of a terminal; without one
    /// there is no such stream.
    pub(super) fn new(name: OutputStream, pipe: Option<OwnedFd>, limit: u64) -> io::Result<Self> {
        // Only our own end: the command's end is another open file and stays blocking.
        pipe.as_ref().map_or(Ok(()), |pipe| rustix::io::ioctl_fionbio(pipe, true))?;
        Ok(Self {
            name,
            end_seen: pipe.is_none(),
            pipe,
            capture: Capture::new(limit),
            pending: VecDeque::new(),
            failure: None,
        })
    }

    /// Returns whether nothing is read any more.
    pub(super) fn is_over(&self) -> bool {
        self.pipe.is_none()
    }

    /// Returns whether the sink is behind.
    pub(super) fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns whether the pipe may be read although the sink is so much behind.
    fn may_read(&self, ahead: usize) -> bool {
        self.pending.is_empty() || self.pending.len() < ahead
    }

    /// Returns what to poll for. The pipe is read no further while nobody takes its pieces.
    pub(super) fn interest<'a>(
        &'a self,
        sink: &'a dyn OutputSink,
        (may_read, ahead): (bool, usize),
    ) -> impl Iterator<Item = PollFd<'a>> {
        let pipe = self.pipe.as_ref().filter(|_| may_read && self.may_read(ahead));
        let room = sink.descriptor(self.name).filter(|_| self.is_pending());
        let room = room.map(|room| PollFd::from_borrowed_fd(room, PollFlags::OUT));
        pipe.map(|pipe| PollFd::new(pipe, PollFlags::IN)).into_iter().chain(room)
    }

    /// Passes on what is pending, then reads once, where it may, and passes that on. Never blocks,
    /// unless the sink does.
    pub(super) fn advance(
        &mut self,
        buffer: &mut [u8],
        sink: &mut dyn OutputSink,
        reading: PipeReading<'_>,
    ) -> Result<(), ExecuteError> {
        self.pass_pending_on(sink);
        if !reading.is_allowed || !self.may_read(reading.ahead) {
            return Ok(());
        }
        let Some(pipe) = &self.pipe else { return Ok(()) };
        match rustix::io::read(pipe, &mut *buffer) {
            // The last is what a terminal answers that nobody has open any more.
            Ok(0) | Err(Errno::IO) => {
                self.end_seen = true;
                self.pipe = None;
            }
            Ok(count) => {
                let chunk = buffer.get(..count).unwrap_or_default();
                match reading.cutter {
                    Some(cutter) => {
                        cutter.take(self.name, chunk, Instant::now(), reading.wall_ns);
                    }
                    None => self.capture.take(chunk),
                }
                self.pass_on(chunk, sink);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => {
                let source = errno.into();
                return Err(ExecuteError::Watch { during: "reading its output", source });
            }
        }
        Ok(())
    }

    /// Stops waiting for the sink, which counts as its failure.
    pub(super) fn give_up_on_sink(&mut self) {
        if self.is_pending() {
            self.fail(io::Error::new(io::ErrorKind::TimedOut, "its reader did not keep up"));
            self.pending.clear();
        }
    }

    /// Leaves what is pending to a sink that keeps it.
    pub(super) fn defer(&mut self, sink: &mut dyn OutputSink) {
        if self.is_pending() {
            let rest = Vec::from(std::mem::take(&mut self.pending));
            self.pending = sink.defer(self.name, rest).map_or_else(VecDeque::new, VecDeque::from);
        }
    }

    /// Stops reading; what is pending is still passed on.
    pub(super) fn close(&mut self) {
        self.pipe = None;
    }

    /// The capture, and the failure of the sink if there was one.
    pub(super) fn finish(
        self,
        cutter: Option<&mut PieceCutter>,
    ) -> (CapturedOutput, Option<SinkFailure>) {
        let stream = self.name;
        let failure = self.failure.map(|source| SinkFailure { stream, source });
        let captured = match cutter {
            Some(cutter) => cutter.captured(stream, self.end_seen),
            None => self.capture.finish(self.end_seen),
        };
        (captured, failure)
    }

    /// Passes bytes on behind what is pending; what the sink does not take now is pending then.
    fn pass_on(&mut self, chunk: &[u8], sink: &mut dyn OutputSink) {
        let taken = if self.is_pending() { 0 } else { self.offer(chunk, sink) };
        self.pending.extend(chunk.get(taken..).unwrap_or_default());
    }

    fn pass_pending_on(&mut self, sink: &mut dyn OutputSink) {
        while self.is_pending() {
            let mut pending = std::mem::take(&mut self.pending);
            let (next, _) = pending.as_slices();
            let (offered, taken) = (next.len(), self.offer(next, sink));
            pending.drain(..taken);
            self.pending = pending;
            if taken < offered {
                return;
            }
        }
    }

    /// Offers bytes until the sink has them, or is not ready, or fails: then they are dropped. How
    /// many are done with.
    fn offer(&mut self, bytes: &[u8], sink: &mut dyn OutputSink) -> usize {
        let mut chunk = bytes;
        while !chunk.is_empty() && self.failure.is_none() {
            let descriptor = sink.descriptor(self.name);
            let may_wait = descriptor.is_some();
            let left = chunk.len();
            if descriptor.is_some_and(|descriptor| !is_writable(descriptor)) {
                return bytes.len().saturating_sub(left);
            }
            match sink.accept(self.name, chunk) {
                Ok(0) => self.fail(io::ErrorKind::WriteZero.into()),
                Ok(count) => chunk = chunk.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && may_wait => {
                    return bytes.len().saturating_sub(left);
                }
                Err(error) => self.fail(error),
            }
        }
        bytes.len()
    }

    fn fail(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
    }
}

/// Returns whether a descriptor takes bytes now, or has an error to tell.
fn is_writable(descriptor: BorrowedFd<'_>) -> bool {
    let mut asked = [PollFd::from_borrowed_fd(descriptor.as_fd(), PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&at_once)).is_ok_and(|ready| ready > 0)
}
