//! Everything that a process started, and everything that this started, wherever it went.

use std::collections::BTreeSet;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::process_table::{Among, Process, ProcessTable, count_beyond_reach, is_beyond_reach};
use super::report::Survivor;

/// Number of times those are looked for that were forked while others were stopped. Each look stops
/// all that it finds, so that only what a look missed can fork on.
const FREEZING_ROUNDS: usize = 64;
/// Number of survivors that are named.
const NAMED_MAX: usize = 32;

/// The descendants of a process. Nobody leaves them while that process is the one to which the
/// system gives orphans.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tree {
    table: ProcessTable,
    root: Pid,
}

impl Tree {
    pub(super) fn of(table: ProcessTable, root: Pid) -> Self {
        Self { table, root }
    }

    /// Those that have not ended.
    pub(super) fn living(self) -> Vec<Process> {
        self.table.living(Among::Descendants(self.root))
    }

    /// Sends a signal to all but the processes of one group.
    pub(super) fn signal_outside(self, group: Pid, signal: Signal) {
        let group = group.as_raw_nonzero().get();
        for process in self.living().iter().filter(|process| process.group != group) {
            let _ = self.send(process, signal);
        }
    }

    /// Sends a signal to all.
    pub(super) fn signal(self, signal: Signal) {
        for process in self.living() {
            let _ = self.send(&process, signal);
        }
    }

    /// Stops all, so that nobody can fork while others are still looked for, and then kills all.
    pub(super) fn kill(self) {
        self.stop();
        self.signal(Signal::KILL);
    }

    /// Does the same as [`Tree::kill`], for the tree of this very process: its children cannot
    /// vanish, so their numbers are safe, and a process that forks and ends without pause becomes
    /// one each time.
    pub(super) fn kill_from_above(self) {
        let signal_children = |signal| {
            for child in self.table.own_children().into_iter().filter_map(Pid::from_raw) {
                let _ = kill_process(child, signal);
            }
        };
        signal_children(Signal::STOP);
        self.kill();
        signal_children(Signal::KILL);
    }

    /// Stops all, also those that are forked meanwhile.
    pub(super) fn stop(self) {
        let mut stopped = BTreeSet::new();
        for _ in 0..FREEZING_ROUNDS {
            let mut found_more = false;
            for process in self.living() {
                let is_new = stopped.insert((process.pid, process.started));
                found_more |= is_new && self.send(&process, Signal::STOP).is_ok();
            }
            if !found_more {
                break;
            }
        }
    }

    /// Returns whether nobody is left but those that belong to another user.
    pub(super) fn is_beyond_us(self) -> bool {
        self.living().iter().all(is_beyond_reach)
    }

    /// Returns the number of processes left that belong to another user, of a group or of all.
    pub(super) fn beyond_reach(self, group: Option<Pid>) -> u32 {
        count_beyond_reach(&match group {
            Some(group) => self.table.living(Among::GroupBelow { group, of: self.root }),
            None => self.living(),
        })
    }

    /// Returns who is left, with the name of each.
    pub(super) fn survivors(self) -> Vec<Survivor> {
        let named = |process: Process| {
            let name = self.table.name(&process).unwrap_or_default();
            Survivor { pid: process.pid, name: String::from_utf8_lossy(&name).into_owned() }
        };
        self.living().into_iter().take(NAMED_MAX).map(named).collect()
    }

    /// A number can belong to another process by now: it is held before it is looked at again.
    fn send(self, process: &Process, signal: Signal) -> Result<(), Errno> {
        let pid = Pid::from_raw(process.pid).ok_or(Errno::SRCH)?;
        let held = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(held) => Some(held),
            Err(Errno::SRCH) => return Err(Errno::SRCH),
            // A kernel before 5.3, or no descriptor left.
            Err(_) => None,
        };
        if !self.table.is_still(process) {
            return Err(Errno::SRCH);
        }
        match held {
            Some(held) => pidfd_send_signal(held, signal),
            None => kill_process(pid, signal),
        }
    }
}
