//! The process above a guard, where the recorder is a program with other children of its own.
//!
//! If somebody kills the guard, the system gives to this process what descends from it: all of that
//! is killed then. A recorder that runs nothing but its command does this itself.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, getpid, set_child_subreaper};

use super::child_calls::{close_inherited, ended_child, separate_from_terminals, wait_with_usage};
use super::guard::{GUARD_NAME, GUARD_VERB, GUARD_VERSION, OWN_PROGRAM};
use super::guard_signals::outlive_signals;
use super::guard_signals::{silence, wait_for};
use super::process_table::ProcessTable;
use super::tree::Tree;

/// Time that it is waited for what was killed before it is looked for again.
const KILLING_PAUSE: Duration = Duration::from_millis(2);
/// Interval at which it is tried again to kill what belongs to another user.
const UNKILLABLE_PAUSE: Duration = Duration::from_secs(1);

/// Starts the guard, and stays until nothing is left below it.
pub(super) fn serve_above() -> io::Result<()> {
    rustix::thread::set_name(GUARD_NAME)?;
    set_child_subreaper(Some(getpid()))?;
    let bell = outlive_signals()?;
    let table = ProcessTable::find().ok_or(ErrorKind::Unsupported)?;
    let tree = Tree::of(table, getpid());
    let mut guard = Command::new(OWN_PROGRAM);
    guard
        .arg0(OsStr::from_bytes(GUARD_NAME.to_bytes()))
        .args([GUARD_VERB, GUARD_VERSION])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    separate_from_terminals(&mut guard, false);
    let guard = Pid::from_child(&guard.spawn()?);
    hold_nothing();
    let mut is_lost = false;
    loop {
        match ended_child() {
            Ok(Some(child)) => {
                let status = wait_with_usage(child).map(|(status, _)| status);
                is_lost |= child == guard && !status.is_ok_and(|status| status.success());
            }
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => return Ok(()),
            Ok(None) | Err(_) if is_lost => {
                tree.kill_from_above();
                let pause = if tree.is_beyond_us() { UNKILLABLE_PAUSE } else { KILLING_PAUSE };
                wait_for([bell.as_fd()], Some(pause));
            }
            Ok(None) | Err(_) => wait_for([bell.as_fd()], None),
        }
        silence(&bell);
    }
}

/// Lets go of all that somebody could wait for, of the directory, and of what this process
/// inherited without being asked. What the system refuses of that is not worth those below.
pub(super) fn hold_nothing() {
    if let Ok(nothing) = File::open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(nothing);
    }
    let _ = rustix::process::chdir("/");
    let _ = close_inherited();
}
