//! The standard streams. One that was closed when this program was started takes nothing; one that
//! takes nothing now is waited for, whether or not it blocks: whoever shares a pipe may have it not
//! block.

use crate::ui::inherited;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, retry_on_intr};
use std::io::{self, ErrorKind, IsTerminal, StderrLock, StdoutLock, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Something that this process was to tell on stderr could not be written.
static IS_UNTOLD: AtomicBool = AtomicBool::new(false);

fn unless(is_closed: bool) -> io::Result<()> {
    match is_closed {
        true => Err(io::Error::other("it was closed when this program was started")),
        false => Ok(()),
    }
}

/// Writes some of the bytes as soon as the stream takes any.
fn write_waiting(stream: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match retry_on_intr(|| rustix::io::write(&stream, bytes)) {
            Err(Errno::AGAIN) => {
                let mut full = [PollFd::new(&stream, PollFlags::OUT)];
                retry_on_intr(|| poll(&mut full, None))?;
            }
            written => return Ok(written?),
        }
    }
}

/// Standard output, until it is dropped. Nothing is kept here: what was written is with the system.
pub(crate) struct Stdout(StdoutLock<'static>);

pub(crate) fn stdout() -> Stdout {
    Stdout(io::stdout().lock())
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless(inherited::is_stdout_closed())?;
        write_waiting(&self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard error, of which the same holds.
struct Stderr(StderrLock<'static>);

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        write_waiting(&self.0, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a line to stderr at once, so that none of another process comes in between.
fn write_line(line: &str) -> io::Result<()> {
    Stderr(io::stderr().lock()).write_all(format!("{line}\n").as_bytes())
}

/// How long a terminal has to take a line.
const TELLING_MAX: Duration = Duration::from_secs(5);

/// A terminal takes nothing any more: its other end is not read.
static IS_STUCK: AtomicBool = AtomicBool::new(false);

/// Writes a line to stderr. It is remembered where that cannot be done; whoever closed the pipe has
/// seen enough.
pub(crate) fn tell(line: &str) {
    if mention(line).is_err_and(|error| error.kind() != ErrorKind::BrokenPipe) {
        IS_UNTOLD.store(true, Ordering::Relaxed);
    }
}

/// Writes a line to stderr that nobody misses where that cannot be done.
pub(crate) fn mention(line: &str) -> io::Result<()> {
    unless(inherited::is_stderr_closed())?;
    match io::stderr().is_terminal() {
        true => tell_terminal(line),
        false => write_line(line),
    }
}

/// Writes a line to the terminal on stderr, which has a few seconds to take it: its other end may
/// never be read.
fn tell_terminal(line: &str) -> io::Result<()> {
    unless(is_stuck())?;
    let (line, (sender, told)) = (line.to_string(), channel());
    std::thread::Builder::new().name("holdpoint-tells".into()).spawn(move || {
        let written = write_line(&line);
        // Where nobody waits any more, nobody is to know.
        let _ = sender.send(written);
    })?;
    told.recv_timeout(TELLING_MAX).unwrap_or_else(|_| {
        IS_STUCK.store(true, Ordering::Relaxed);
        Err(ErrorKind::TimedOut.into())
    })
}

/// Notes that the terminal takes nothing any more.
pub(crate) fn note_stuck() {
    IS_STUCK.store(true, Ordering::Relaxed);
}

/// Whether the terminal takes nothing any more of what is told.
pub(crate) fn is_stuck() -> bool {
    IS_STUCK.load(Ordering::Relaxed)
}

/// Whether a line is lost that was for stderr.
pub(crate) fn is_untold() -> bool {
    IS_UNTOLD.load(Ordering::Relaxed)
}
