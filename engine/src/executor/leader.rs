//! The command's first process, which leads its process group.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus, Stdio};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, test_kill_process_group,
    waitid,
};

use super::child_calls::{Usage, wait_with_usage};
use super::command::{CommandSpec, Stdin};
use super::report::ExecuteError;
use super::resolve::refusal_of_exec;

/// A started command.
///
/// As long as it is not reaped its number cannot be given to another process, so a signal to the
/// group cannot hit a stranger. If this value is dropped before, the group is killed.
#[derive(Debug)]
pub(super) struct Leader {
    pid: Pid,
    exit_notice: Option<OwnedFd>,
    reaped: Option<(ExitStatus, Usage)>,
}

/// The reading ends of the command's output.
pub(super) struct Pipes {
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
}

impl Leader {
    /// Starts the command in a new process group.
    pub(super) fn start(spec: &CommandSpec, path: &Path) -> Result<(Self, Pipes), ExecuteError> {
        check_directory(spec)?;
        let mut command = command(spec, path);
        let mut child = command.spawn().map_err(|error| start_error(spec, path, error))?;
        let pid = Pid::from_child(&child);
        let leader = Self { pid, exit_notice: exit_notice(pid), reaped: None };
        let stdout = child.stdout.take().map(|pipe: ChildStdout| OwnedFd::from(pipe));
        let stderr = child.stderr.take().map(|pipe: ChildStderr| OwnedFd::from(pipe));
        let pipes = Pipes {
            stdout: stdout.expect("stdout was asked to be a pipe"),
            stderr: stderr.expect("stderr was asked to be a pipe"),
        };
        Ok((leader, pipes))
    }

    /// The number of the process, and of the group that it leads.
    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// A descriptor that becomes readable when the process ends, where the system has that.
    pub(super) fn exit_notice(&self) -> Option<&OwnedFd> {
        self.exit_notice.as_ref()
    }

    /// Sends a signal to the whole group. A group without processes, or one that only another
    /// user may signal, is no error here: whether it ended is seen by watching it.
    pub(super) fn signal_group(&self, signal: Signal) {
        let _ = kill_process_group(self.pid, signal);
    }

    /// Whether the process has ended. Does not reap it.
    pub(super) fn has_ended(&self) -> Result<bool, ExecuteError> {
        Ok(self.state(WaitIdOptions::EXITED)?.is_some())
    }

    /// The signal that has stopped the process, if it is stopped.
    pub(super) fn stopped_by(&self) -> Result<Option<i32>, ExecuteError> {
        let state = self.state(WaitIdOptions::STOPPED)?;
        Ok(state.and_then(|status| status.stopping_signal()))
    }

    /// Reaps the process and says how it ended. Waits for that if it has not ended yet.
    pub(super) fn reap(&mut self) -> Result<(ExitStatus, Usage), ExecuteError> {
        if let Some(reaped) = self.reaped {
            return Ok(reaped);
        }
        let reaped = wait_with_usage(self.pid).map_err(lost)?;
        Ok(*self.reaped.insert(reaped))
    }

    /// Whether the group still has processes once its leader is reaped. For systems without a
    /// process table to look it up in.
    pub(super) fn group_survives(&mut self) -> Result<bool, ExecuteError> {
        self.reap()?;
        Ok(test_kill_process_group(self.pid).is_ok())
    }

    fn state(&self, kind: WaitIdOptions) -> Result<Option<WaitIdStatus>, ExecuteError> {
        let options = kind | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.pid), options) {
            Ok(status) => Ok(status),
            Err(Errno::INTR) => Ok(None),
            Err(errno) => Err(lost(errno.into())),
        }
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        // A process that cannot be found any more was reaped by somebody else in this program:
        // its number may already belong to another.
        if self.reaped.is_none() && self.has_ended().is_ok() {
            self.signal_group(Signal::KILL);
            let _ = wait_with_usage(self.pid);
        }
    }
}

fn command(spec: &CommandSpec, path: &Path) -> Command {
    let mut command = Command::new(path);
    command
        .arg0(&spec.program)
        .args(&spec.arguments)
        .current_dir(&spec.directory)
        .env_clear()
        .envs(spec.environment.iter().map(|(name, value)| (name, value)))
        .stdin(match spec.stdin {
            Stdin::Null => Stdio::null(),
            Stdin::Inherit => Stdio::inherit(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    command
}

/// Looked at first, because afterwards a missing directory looks like a missing program.
fn check_directory(spec: &CommandSpec) -> Result<(), ExecuteError> {
    let error = match spec.directory.metadata() {
        Ok(metadata) if metadata.is_dir() => return Ok(()),
        Ok(_) => io::ErrorKind::NotADirectory.into(),
        Err(error) => error,
    };
    Err(ExecuteError::Directory { directory: spec.directory.clone(), source: error })
}

fn start_error(spec: &CommandSpec, path: &Path, error: io::Error) -> ExecuteError {
    if let Err(error) = check_directory(spec) {
        return error;
    }
    if let Some(refusal) = refusal_of_exec(&spec.program, path, &spec.directory, &error) {
        return ExecuteError::Refused(refusal);
    }
    ExecuteError::Start { program: path.to_path_buf(), source: error }
}

fn lost(source: io::Error) -> ExecuteError {
    ExecuteError::Watch { during: "waiting for its end", source }
}

/// The child is not reaped yet, so the number cannot mean another process.
#[cfg(target_os = "linux")]
fn exit_notice(pid: Pid) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, pidfd_open};
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Without such descriptors the end is looked for at short intervals.
#[cfg(not(target_os = "linux"))]
fn exit_notice(_: Pid) -> Option<OwnedFd> {
    None
}
