//! Starting a command in two steps: its process is there, and only then may it execute.
//!
//! The process of the command waits at a gate before it executes: it reads one byte of a pipe. So
//! a command whose gate was never opened has certainly not run, and neither has one that ended
//! while that byte was still there.

use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::io::{ioctl_fionbio, ioctl_fionread};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};

use super::again::again;
use super::child_calls::{
    end_at_once, fork_alone, hand_on_signals, separate_from_terminals, wait_at_gate,
    wait_with_usage,
};
use super::guard_messages::Order;
use super::guard_signals::wait_for;
use super::own_child::{command, execute_found, execute_opened};

/// Number of bytes the number of a process has.
const NUMBER_BYTES: usize = size_of::<i32>();

/// Time that it is waited for the end of a process whose gate was closed.
const CLOSING_MAX: Duration = Duration::from_millis(500);

/// A command that is being started.
///
/// If this is dropped before the gate was opened, the command does not run.
#[derive(Debug)]
pub(super) struct Gate {
    /// Here the process of the command says its number.
    ready: PipeReader,
    number: Vec<u8>,
    /// The byte that opens the gate is written here.
    opener: Option<PipeWriter>,
    /// End at which the byte is read, by the process of the command alone.
    passage: Option<Passage>,
    /// Becomes readable once it is known whether the system executes the command: here its process
    /// says why not, and an execution closes the other end.
    done: PipeReader,
    child: Pid,
}

impl Gate {
    /// Makes the process of a command. Its number, and what else was handed over.
    ///
    /// Nobody waits here until the command executes, for that may take long: the file may be on a
    /// disk that does not answer, or somebody stops the process.
    pub(super) fn begin(
        order: Order,
        descriptors: Vec<OwnedFd>,
    ) -> io::Result<(Self, Vec<OwnedFd>)> {
        let (ready, at_gate) = io::pipe()?;
        let (gate, opener) = io::pipe()?;
        let passage = Some(Passage(gate.try_clone()?));
        let (done, ended) = io::pipe()?;
        ioctl_fionbio(&ready, true)?;
        ioctl_fionbio(&done, true)?;
        let (command, held) = prepare(order, descriptors, |command| {
            wait_at_gate(command, at_gate.into(), gate.into(), opener.as_raw_fd());
        })?;
        // With it go the ends of the pipes that only the command is to hold, and its program.
        let child = fork_into(command, ended)?;
        Ok((Self { ready, number: Vec::new(), opener: Some(opener), passage, done, child }, held))
    }

    /// The number of the command's process, once that waits at the gate. Does not wait.
    pub(super) fn arrived(&mut self) -> io::Result<Option<Pid>> {
        let mut bytes = [0; NUMBER_BYTES];
        let left = NUMBER_BYTES.saturating_sub(self.number.len());
        let count = again(|| match self.ready.read(bytes.get_mut(..left).unwrap_or_default()) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            read => read,
        })?;
        self.number.extend(bytes.get(..count).unwrap_or_default());
        let Ok(number) = <[u8; NUMBER_BYTES]>::try_from(&*self.number) else { return Ok(None) };
        Ok(Pid::from_raw(i32::from_ne_bytes(number)))
    }

    /// Lets the command execute.
    pub(super) fn open(&mut self) -> io::Result<()> {
        let Some(mut opener) = self.opener.take() else { return Ok(()) };
        again(|| opener.write(&[1])).map(drop)
    }

    /// The gate once it was opened, for as long as the command runs.
    pub(super) fn passage(&mut self) -> Option<Passage> {
        self.passage.take()
    }

    /// Closes the gate, at which the command's process ends, and waits for that, but not for long.
    pub(super) fn close(&mut self) {
        self.opener = None;
        wait_for([self.done.as_fd()], Some(CLOSING_MAX));
    }

    /// Returns whether the system executes the command, once that is known; where it does not, its
    /// process is reaped. Does not wait for the command.
    pub(super) fn result(&self) -> Option<io::Result<()>> {
        let mut errno = [0; NUMBER_BYTES];
        match again(|| (&self.done).read(&mut errno)) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Ok(0) => Some(Ok(())),
            said => {
                drop(wait_with_usage(self.child));
                let cause = |_| io::Error::from_raw_os_error(i32::from_ne_bytes(errno));
                Some(Err(said.map_or_else(|error| error, cause)))
            }
        }
    }

    /// Returns whether the system executes the command. Waits for it: not for long where the
    /// process of the command has ended.
    pub(super) fn wait(&self) -> io::Result<()> {
        loop {
            match self.result() {
                Some(result) => return result,
                None => wait_for([self.done.as_fd()], None),
            }
        }
    }

    /// Returns what to wait for until the process of the command is at the gate.
    pub(super) fn arrival(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    /// Returns what to wait for until it is known whether the command is executed.
    pub(super) fn news(&self) -> BorrowedFd<'_> {
        self.done.as_fd()
    }
}

/// Makes a child of this process, which has one thread, that executes a command, and writes the
/// system's number for the reason to `told` where that fails.
fn fork_into(mut command: Command, mut told: PipeWriter) -> io::Result<Pid> {
    if let Some(child) = fork_alone()? {
        return Ok(child);
    }
    let error = command.exec().raw_os_error().unwrap_or(libc::EINVAL);
    // Whoever would read it may be gone.
    let _ = told.write_all(&error.to_ne_bytes());
    end_at_once()
}

/// A gate that was opened.
#[derive(Debug)]
pub(super) struct Passage(PipeReader);

impl Passage {
    /// Returns whether the byte that opened it is still there: nobody has passed it.
    pub(super) fn is_unused(&self) -> bool {
        matches!(ioctl_fionread(&self.0), Ok(1..))
    }
}

/// Returns whether SIGKILL ended a child, which is not reaped.
pub(super) fn was_killed(child: Pid) -> bool {
    was_ended_by(child, Signal::KILL)
}

/// Tells whether a signal ended a child, which is not reaped.
pub(super) fn was_ended_by(child: Pid, signal: Signal) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let ended = again(|| Ok(waitid(WaitId::Pid(child), options)?)).ok().flatten();
    ended.and_then(|status| status.terminating_signal()) == Some(signal.as_raw())
}

/// The command as an order says, with one more step before it executes. What of the descriptors is
/// not the command's is given back.
fn prepare(
    order: Order,
    descriptors: Vec<OwnedFd>,
    before_it_executes: impl FnOnce(&mut Command),
) -> io::Result<(Command, Vec<OwnedFd>)> {
    let mut descriptors = descriptors.into_iter();
    let mut stream = || descriptors.next().map(Stdio::from).ok_or(ErrorKind::InvalidData);
    let (stdout, stderr) = (stream()?, stream()?);
    let stdin = if order.has_stdin { stream()? } else { Stdio::null() };
    let (path, name, arguments) = (order.path.as_ref(), &order.name, &order.arguments);
    let environment = &order.environment;
    let mut command = command(path, name, arguments, order.directory.as_ref());
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    separate_from_terminals(&mut command, order.has_terminal);
    hand_on_signals(&mut command, order.signals);
    before_it_executes(&mut command);
    match order.plan {
        Some(plan) => {
            let opened = descriptors.next().ok_or(ErrorKind::InvalidData)?;
            execute_opened(&mut command, plan, opened.as_fd(), environment)?;
        }
        None => execute_found(&mut command, path, name, arguments, environment)?,
    }
    Ok((command, descriptors.collect()))
}
