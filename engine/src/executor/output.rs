//! Targets of a command's output while it runs.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// The most that is written to a descriptor after it was found ready. A pipe that is ready takes
/// this much without blocking (POSIX `PIPE_BUF` on Linux), so a slow reader of our output never
/// keeps a timeout from being noticed.
const READY_WRITE_BYTES: usize = 4096;

/// One of the two output streams of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl fmt::Display for OutputStream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        })
    }
}

/// Gets the output of a command as it comes.
pub trait OutputSink {
    /// Takes some of `chunk`, at least one byte, and says how many. The rest is offered again.
    ///
    /// # Errors
    ///
    /// After an error (other than an interrupted call) this stream is not offered any more; its
    /// capture goes on and the command is left alone. `WouldBlock` is such an error only if
    /// [`descriptor`](Self::descriptor) is `None`.
    fn accept(&mut self, stream: OutputStream, chunk: &[u8]) -> io::Result<usize>;

    /// Takes note of something that a person should know while the command runs.
    fn notice(&mut self, notice: Notice) {
        let _ = notice;
    }

    /// Takes what of a stream could not be passed on before the command was over, to pass it on
    /// behind the record of its end. Gives back what it does not keep: its reader is then waited
    /// for before anything is told of the end.
    fn defer(&mut self, stream: OutputStream, rest: Vec<u8>) -> Option<Vec<u8>> {
        let _ = stream;
        Some(rest)
    }

    /// Passes on what it keeps, within a bound of its own: a person may be asked next, and the end
    /// of the attempt is on record.
    fn catch_up(&mut self) {}

    /// The descriptor to wait for before output is offered, so that [`accept`](Self::accept)
    /// need not block. Without one, a sink that blocks delays timeouts and signals.
    fn descriptor(&self, stream: OutputStream) -> Option<BorrowedFd<'_>> {
        let _ = stream;
        None
    }
}

/// Something to tell while the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// These descriptors of this process are terminals that the command would have inherited. They
    /// were closed for it.
    TerminalsClosed(Vec<i32>),
    /// The command runs without the guard that was asked for, because this system has no means for
    /// one: what leaves its process group is out of reach.
    NotContained,
}

/// Drops all output; it is captured all the same.
#[derive(Debug, Clone, Copy, Default)]
pub struct Discard;

impl OutputSink for Discard {
    fn accept(&mut self, _: OutputStream, chunk: &[u8]) -> io::Result<usize> {
        Ok(chunk.len())
    }
}

/// Passes output on to two descriptors: usually this process's own standard output and error.
#[derive(Debug, Clone, Copy)]
pub struct PassThrough<O, E> {
    stdout: O,
    stderr: E,
}

impl PassThrough<io::Stdout, io::Stderr> {
    /// To the standard output and error of this process. Bytes go to the descriptors directly:
    /// flush what you wrote yourself before.
    pub fn to_own_streams() -> Self {
        Self::new(io::stdout(), io::stderr())
    }
}

impl<O: AsFd, E: AsFd> PassThrough<O, E> {
    /// To two descriptors of the caller's choice.
    pub fn new(stdout: O, stderr: E) -> Self {
        Self { stdout, stderr }
    }

    fn target(&self, stream: OutputStream) -> BorrowedFd<'_> {
        match stream {
            OutputStream::Stdout => self.stdout.as_fd(),
            OutputStream::Stderr => self.stderr.as_fd(),
        }
    }
}

impl<O: AsFd, E: AsFd> OutputSink for PassThrough<O, E> {
    fn accept(&mut self, stream: OutputStream, chunk: &[u8]) -> io::Result<usize> {
        let piece = chunk.get(..READY_WRITE_BYTES).unwrap_or(chunk);
        Ok(rustix::io::write(self.target(stream), piece)?)
    }

    fn descriptor(&self, stream: OutputStream) -> Option<BorrowedFd<'_>> {
        Some(self.target(stream))
    }
}
