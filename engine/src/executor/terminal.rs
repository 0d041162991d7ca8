//! Lending the terminal to the command.

use std::io::{self, IsTerminal};

use rustix::process::{Pid, Signal, getpgrp, kill_current_process_group};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use super::child_calls::TerminalStopBlocked;
use super::command::Stdin;
use super::leader::Leader;
use super::report::ExecuteError;

/// The terminal on standard input, lent to the command's group until this is dropped.
///
/// Keys such as Ctrl-C then signal the command and not this process.
#[derive(Debug)]
pub(super) struct LentTerminal {
    own_group: Pid,
    command_group: Pid,
    // Dropped after the terminal was taken back, which needs it.
    _blocked: TerminalStopBlocked,
}

impl LentTerminal {
    /// Lends the terminal, if the command inherits one: at once if this process runs in its
    /// foreground, otherwise when it does and the command asks to read.
    pub(super) fn lend(stdin: Stdin, command_group: Pid) -> Option<Self> {
        if stdin == Stdin::Null || !io::stdin().is_terminal() || foreground().is_none() {
            return None;
        }
        let blocked = TerminalStopBlocked::new().ok()?;
        let lent = Self { own_group: getpgrp(), command_group, _blocked: blocked };
        lent.give();
        Some(lent)
    }

    /// Looks whether the command was stopped, and sets it going again.
    ///
    /// If it was stopped by the key for that, this process stops as well, as one job with it, and
    /// goes on when the shell continues it. If it only asked for the terminal, it gets it.
    pub(super) fn heed_stop(&self, leader: &mut dyn Leader) -> Result<(), ExecuteError> {
        match leader.stopped_by()? {
            None => {}
            Some(libc::SIGTTIN | libc::SIGTTOU) => self.give(),
            Some(_) => {
                leader.forget_stop();
                self.take_back();
                let _ = kill_current_process_group(Signal::TSTP);
                self.give();
                leader.signal_group(Signal::CONT);
            }
        }
        Ok(())
    }

    /// Makes the command the foreground and lets it go on, if it was stopped for lack of that.
    /// Does nothing while this process was put into the background itself.
    fn give(&self) {
        let foreground = foreground();
        if foreground != Some(self.own_group) && foreground != Some(self.command_group) {
            return;
        }
        let _ = tcsetpgrp(io::stdin(), self.command_group);
        let _ = rustix::process::kill_process_group(self.command_group, Signal::CONT);
    }

    fn take_back(&self) {
        if foreground() == Some(self.command_group) {
            let _ = tcsetpgrp(io::stdin(), self.own_group);
        }
    }
}

impl Drop for LentTerminal {
    fn drop(&mut self) {
        self.take_back();
    }
}

fn foreground() -> Option<Pid> {
    tcgetpgrp(io::stdin()).ok()
}
