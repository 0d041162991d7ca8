//! The standard streams. One that was closed when this program was started takes nothing.
//!
//! This is the only file of the crate that holds unsafe code.
#![expect(unsafe_code, reason = "the linker is told what is called before `main`")]

use rustix::io::{Errno, fcntl_getfd};
use std::io::{self, ErrorKind, IsTerminal, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

static IS_STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);
static IS_STDERR_CLOSED: AtomicBool = AtomicBool::new(false);

/// Something that this process was to tell on stderr could not be written.
static IS_UNTOLD: AtomicBool = AtomicBool::new(false);

/// In the place of what is closed, the standard library opens the null device before `main`, as
/// callers do who want nothing of what is printed. Behind that nobody can tell one from the other.
// SAFETY: the section is a list of functions without arguments that the start of the process
// calls, and this is one. It asks the kernel for two numbers and uses nothing that `main` prepares.
#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = look;

#[cfg(target_os = "linux")]
extern "C" fn look() {
    let is_closed = |stream| matches!(fcntl_getfd(stream), Err(Errno::BADF));
    IS_STDOUT_CLOSED.store(is_closed(rustix::stdio::stdout()), Ordering::Relaxed);
    IS_STDERR_CLOSED.store(is_closed(rustix::stdio::stderr()), Ordering::Relaxed);
}

fn unless(is_closed: &AtomicBool) -> io::Result<()> {
    match is_closed.load(Ordering::Relaxed) {
        true => Err(io::Error::other("it was closed when this program was started")),
        false => Ok(()),
    }
}

/// Standard output, until it is dropped.
pub(crate) struct Stdout(StdoutLock<'static>);

pub(crate) fn stdout() -> Stdout {
    Stdout(io::stdout().lock())
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        unless(&IS_STDOUT_CLOSED)?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
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
    unless(&IS_STDERR_CLOSED)?;
    match io::stderr().is_terminal() {
        true => tell_terminal(line),
        false => writeln!(io::stderr().lock(), "{line}"),
    }
}

/// Writes a line to the terminal on stderr, which has a few seconds to take it: its other end may
/// never be read.
fn tell_terminal(line: &str) -> io::Result<()> {
    unless(&IS_STUCK)?;
    let (line, (sender, told)) = (line.to_string(), channel());
    std::thread::Builder::new().name("holdpoint-tells".into()).spawn(move || {
        let written = writeln!(io::stderr().lock(), "{line}");
        // Where nobody waits any more, nobody is to know.
        let _ = sender.send(written);
    })?;
    told.recv_timeout(TELLING_MAX).unwrap_or_else(|_| {
        IS_STUCK.store(true, Ordering::Relaxed);
        Err(ErrorKind::TimedOut.into())
    })
}

/// Whether the terminal takes nothing any more of what is told.
pub(crate) fn is_stuck() -> bool {
    IS_STUCK.load(Ordering::Relaxed)
}

/// Whether a line is lost that was for stderr.
pub(crate) fn is_untold() -> bool {
    IS_UNTOLD.load(Ordering::Relaxed)
}
