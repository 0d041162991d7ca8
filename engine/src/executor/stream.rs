//! One output stream on its way from the command to the sink.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::capture::{Capture, CapturedOutput};
use super::output::{OutputSink, OutputStream};
use super::pieces::PieceCutter;
use super::report::{ExecuteError, SinkFailure};

/// How much is read at once: the default capacity of a pipe on Linux.
pub(super) const READ_BYTES: usize = 64 * 1024;

/// A pipe from the command, its capture, and what the sink has yet to accept.
///
/// Nothing more is read while the sink is behind, so `pending` never holds more than one read:
/// a slow reader slows the command down, as it would without us in between.
#[derive(Debug)]
pub(super) struct Stream {
    name: OutputStream,
    pipe: Option<OwnedFd>,
    end_seen: bool,
    capture: Capture,
    pending: Vec<u8>,
    failure: Option<io::Error>,
}

/// Whether a pipe may be read now, and who takes what is read instead of the capture.
pub(super) struct Reading<'c> {
    pub(super) is_allowed: bool,
    pub(super) cutter: Option<&'c mut PieceCutter>,
    /// The time by the recorder's clock.
    pub(super) wall_ns: u64,
}

/// What a stream is waiting for.
pub(super) enum Awaits {
    /// The command: more bytes, or the end.
    Command,
    /// The sink's readiness.
    Sink,
    /// Nothing: all was read and passed on.
    Nothing,
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
            pending: Vec::new(),
            failure: None,
        })
    }

    pub(super) fn awaits(&self) -> Awaits {
        match (&self.pipe, self.pending.is_empty()) {
            (_, false) => Awaits::Sink,
            (Some(_), true) => Awaits::Command,
            (None, true) => Awaits::Nothing,
        }
    }

    /// What to poll for, if anything. The pipe is read no further while nobody takes its pieces.
    pub(super) fn interest<'a>(
        &'a self,
        sink: &'a dyn OutputSink,
        may_read: bool,
    ) -> Option<PollFd<'a>> {
        match self.awaits() {
            Awaits::Command if !may_read => None,
            Awaits::Command => self.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)),
            Awaits::Sink => {
                let descriptor = sink.descriptor(self.name)?;
                Some(PollFd::from_borrowed_fd(descriptor, PollFlags::OUT))
            }
            Awaits::Nothing => None,
        }
    }

    /// Passes on what is pending, then reads once, where it may, and passes that on. Never blocks,
    /// unless the sink does.
    pub(super) fn advance(
        &mut self,
        buffer: &mut [u8],
        sink: &mut dyn OutputSink,
        reading: Reading<'_>,
    ) -> Result<(), ExecuteError> {
        let pending = std::mem::take(&mut self.pending);
        self.pass_on(&pending, sink);
        if !self.pending.is_empty() || !reading.is_allowed {
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
        if !self.pending.is_empty() {
            self.fail(io::Error::new(io::ErrorKind::TimedOut, "its reader did not keep up"));
            self.pending.clear();
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

    /// Offers bytes until the sink has them, or is not ready (the rest becomes `pending`), or
    /// fails (the rest is dropped).
    fn pass_on(&mut self, mut chunk: &[u8], sink: &mut dyn OutputSink) {
        while !chunk.is_empty() && self.failure.is_none() {
            let descriptor = sink.descriptor(self.name);
            let may_wait = descriptor.is_some();
            if descriptor.is_some_and(|descriptor| !is_writable(descriptor)) {
                self.pending.extend_from_slice(chunk);
                return;
            }
            match sink.accept(self.name, chunk) {
                Ok(0) => self.fail(io::ErrorKind::WriteZero.into()),
                Ok(count) => chunk = chunk.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && may_wait => {
                    self.pending.extend_from_slice(chunk);
                    return;
                }
                Err(error) => self.fail(error),
            }
        }
    }

    fn fail(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
    }
}

/// Whether a descriptor takes bytes now, or has an error to tell.
fn is_writable(descriptor: BorrowedFd<'_>) -> bool {
    let mut asked = [PollFd::from_borrowed_fd(descriptor.as_fd(), PollFlags::OUT)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&at_once)).is_ok_and(|ready| ready > 0)
}
