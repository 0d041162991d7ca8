//! The rest of a hook's input, which the hook has no use for. A host that cannot write all of it
//! gets a broken pipe, and some hosts run the tool then.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::stdio::stdin;
use std::io::{IsTerminal, stdin as input};
use std::time::{Duration, Instant};

/// How long a host has to write more of it.
pub(super) const IDLE_MAX: Duration = Duration::from_secs(5);
/// How much of it is thrown away at most, in bytes (256 MiB).
const BYTES_MAX: usize = 256 << 20;
/// How much is read at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Reads what is left of stdin and throws it away: up to its end, within a time, and until the host
/// is silent for a while. What a person types is left alone.
pub(super) fn drain(within: Duration, idle: Duration) {
    if input().is_terminal() {
        return;
    }
    let began = Instant::now();
    let (mut piece, mut drained) = (vec![0; PIECE_BYTES], 0_usize);
    while drained < BYTES_MAX {
        let left = within.saturating_sub(began.elapsed()).min(idle);
        let Ok(left) = Timespec::try_from(left) else { return };
        match poll(&mut [PollFd::new(&stdin(), PollFlags::IN)], Some(&left)) {
            Err(Errno::INTR) => continue,
            Ok(ready) if ready > 0 => {}
            _ => return,
        }
        match read(stdin(), &mut piece) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            Ok(length) if length > 0 => drained = drained.saturating_add(length),
            _ => return,
        }
    }
}
