//! Effect of signals on a process that looks after something for another one.

use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::child_calls::{Disposition, disposition};

/// Signals that would end or stop this process. Stops by a terminal are among them, for the group
/// of a guard is never in the foreground.
const SIGNALS_HEEDED_NOT: [i32; 12] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGALRM,
    libc::SIGTSTP,
    libc::SIGTTIN,
    libc::SIGTTOU,
    libc::SIGXCPU,
    libc::SIGXFSZ,
];

/// Sets handlers that do nothing. What was ignored stays ignored here; the command begins with the
/// signals that its order names, whatever this process does with them. Gives what is readable when
/// a child has changed.
pub(super) fn outlive_signals() -> io::Result<UnixStream> {
    for signal in SIGNALS_HEEDED_NOT {
        if disposition(signal)? == Disposition::Default {
            signal_hook::flag::register(signal, Arc::default())?;
        }
    }
    let (reading, writing) = UnixStream::pair()?;
    reading.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(libc::SIGCHLD, writing)?;
    Ok(reading)
}

/// Waits until one of them is readable, or for so long.
pub(super) fn wait_for<'a>(
    awaited: impl IntoIterator<Item = BorrowedFd<'a>>,
    at_most: Option<Duration>,
) {
    let awaited = awaited.into_iter();
    let mut watched: Vec<PollFd<'_>> =
        awaited.map(|it| PollFd::from_borrowed_fd(it, PollFlags::IN)).collect();
    let at_most = at_most.and_then(|time| Timespec::try_from(time).ok());
    // Whoever waits looks again, whatever ended the wait.
    let _: Result<usize, Errno> = poll(&mut watched, at_most.as_ref());
}

/// Takes in that children have changed.
pub(super) fn silence(mut bell: &UnixStream) {
    let mut rings = [0; 64];
    while bell.read(&mut rings).is_ok_and(|count| count == rings.len()) {}
}
