//! What signals do to a process that looks after something for another one.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::child_calls::{Disposition, disposition};

/// What would end or stop this process. Stops by a terminal are among it, for the group of a guard
/// is never in the foreground.
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
