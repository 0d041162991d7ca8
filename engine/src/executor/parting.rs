//! A guard that waits until what it told is on record.

#[cfg(target_os = "linux")]
pub(crate) use linux::Parting;

/// There are no guards on this system.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub(crate) enum Parting {}

#[cfg(not(target_os = "linux"))]
impl Parting {
    /// The end of the command is on record.
    pub(crate) fn recorded(self) {
        match self {}
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use rustix::process::{Pid, Signal, WaitOptions, kill_process, pidfd_send_signal, waitpid};

    use super::super::guard_messages::{Request, send};
    use super::super::guarded::outlasts;

    /// The guard of a command that is over. Unless its recorder says that the end is on record, it
    /// writes that down itself: also where this is dropped, or this process is gone.
    #[derive(Debug)]
    pub(crate) struct Parting {
        pub(in super::super) channel: UnixStream,
        /// The guard, or the process above it: a child that is not reaped.
        pub(in super::super) process: Pid,
        pub(in super::super) guard: Option<OwnedFd>,
        /// True if the guard outlasts what the command left behind.
        pub(in super::super) lives_on: bool,
    }

    impl Parting {
        /// The end of the command is on record.
        pub(crate) fn recorded(self) {
            // Where nobody hears it, nobody writes anything down either.
            let _ = send(&self.channel, &Request::Part);
            if self.lives_on {
                // Somebody may have stopped it.
                self.signal(Signal::CONT);
                return;
            }
            self.signal(Signal::KILL);
            // The process above it, which somebody may have stopped: not reaped, it is no other's.
            let _ = kill_process(self.process, Signal::KILL);
            let _ = waitpid(Some(self.process), WaitOptions::empty());
        }

        fn signal(&self, signal: Signal) {
            let _ = self.guard.as_ref().map(|guard| pidfd_send_signal(guard, signal));
        }
    }

    impl Drop for Parting {
        fn drop(&mut self) {
            // Whoever has not ended by now is reaped when the next command is started.
            if matches!(waitpid(Some(self.process), WaitOptions::NOHANG), Ok(None)) {
                outlasts(self.process);
            }
        }
    }
}
