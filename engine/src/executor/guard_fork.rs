//! A guard that is forked off its recorder, while that is small: nothing is started for it.

use std::fs::File;
use std::io;
use std::iter::repeat_n;
use std::os::unix::net::UnixStream;

use super::child_calls::{fork_alone, lead_session, write_over_arguments};
use super::guard::{GUARD_NAME, GUARD_VERB, GUARD_VERSION};
use super::guard_process::serve;
use super::guarded::wait_in_reserve;

/// Forks a guard off this process, which has one thread, holds nothing that its guard must not, and
/// runs one command at a time. The first of its commands whose guard is another start of its
/// [own program](super::Guard::of_own_program) has this one, so that nothing is started for it.
/// Where none can be forked that other start is made.
///
/// In the guard the answer comes once that has done its work and is to end, and says what
/// [`serve_as_guard`](super::serve_as_guard) does. In this process it is `None`.
pub fn fork_guard() -> Option<io::Result<()>> {
    let (ours, theirs) = UnixStream::pair().ok()?;
    match fork_alone().ok()? {
        Some(guard) => {
            wait_in_reserve(guard, ours);
            None
        }
        None => {
            drop(ours);
            Some(become_guard(theirs))
        }
    }
}

/// Looks like another start of the program, and is one to whoever speaks to it.
fn become_guard(channel: UnixStream) -> io::Result<()> {
    lead_session(false)?;
    let nothing = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(channel)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    rustix::stdio::dup2_stderr(nothing)?;
    let name = GUARD_NAME.to_string_lossy();
    show_line(&format!("{name} {GUARD_VERB} {GUARD_VERSION}"));
    serve()
}

/// Shows this line in the table of processes, as far as there is room where the arguments of this
/// process stand, and nothing of those: as setproctitle(3) does, the kernel shows a text where the
/// last byte is not the end of one.
fn show_line(line: &str) -> Option<()> {
    let stat = std::fs::read("/proc/self/stat").ok()?;
    let stat = String::from_utf8_lossy(&stat);
    // The fields that follow the name are numbered from 3 on, these two are 48 and 49.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(45);
    let mut number = || fields.next()?.parse::<usize>().ok();
    let (start, end) = (number()?, number()?);
    let room = end.checked_sub(start)?.checked_sub(2)?;
    let shown = line.bytes().take(room);
    let zeros = repeat_n(0, room.saturating_sub(line.len()) + 1);
    write_over_arguments(start, shown.chain(zeros).chain([b' ']));
    Some(())
}
