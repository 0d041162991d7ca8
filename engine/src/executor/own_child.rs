//! A command that is a child of this process, without a guard between.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus, Stdio};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, test_kill_process_group,
    waitid,
};

use super::child_calls::{Image, Usage, Words, execute_instead, wait_with_usage};
use super::command::{CommandSpec, Stdin};
use super::leader::{End, Leader, Pipes, Program, start_error};
use super::opened::Plan;
use super::process_table::{Among, ProcessTable, count_beyond_reach};
use super::report::{Containment, ExecuteError};

/// A started command.
///
/// As long as it is not reaped its number cannot be given to another process, so a signal to the
/// group cannot hit a stranger. If this value is dropped before, the group is killed.
#[derive(Debug)]
pub(super) struct OwnChild {
    pid: Pid,
    exit_notice: Option<OwnedFd>,
    reaped: Option<(ExitStatus, Usage)>,
    table: Option<ProcessTable>,
}

impl OwnChild {
    /// Starts the command in a new process group.
    pub(super) fn start(
        spec: &CommandSpec,
        program: Program<'_>,
        table: Option<ProcessTable>,
    ) -> Result<(Self, Pipes), ExecuteError> {
        let (path, directory) = (program.path, &spec.directory);
        let mut command =
            command(path, &spec.program, &spec.arguments, directory, &spec.environment);
        let failed = |error| start_error(spec, program, error);
        if let Some((plan, opened)) = program.opened.and_then(|opened| opened.plan(spec)) {
            execute_opened(&mut command, plan, opened, &spec.environment).map_err(failed)?;
        }
        let stdin = match spec.stdin {
            Stdin::Null => Stdio::null(),
            Stdin::Inherit => Stdio::inherit(),
        };
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let pid = Pid::from_child(&child);
        let leader = Self { pid, exit_notice: exit_notice(pid), reaped: None, table };
        let stdout = child.stdout.take().map(|pipe: ChildStdout| OwnedFd::from(pipe));
        let stderr = child.stderr.take().map(|pipe: ChildStderr| OwnedFd::from(pipe));
        let pipes = Pipes {
            stdout: stdout.expect("stdout was asked to be a pipe"),
            stderr: stderr.expect("stderr was asked to be a pipe"),
        };
        Ok((leader, pipes))
    }

    fn is_over(&self) -> Result<bool, ExecuteError> {
        Ok(self.state(WaitIdOptions::EXITED)?.is_some())
    }

    /// Reaps the process and says how it ended. Waits for that if it has not ended yet.
    fn reap(&mut self) -> Result<(ExitStatus, Usage), ExecuteError> {
        if let Some(reaped) = self.reaped {
            return Ok(reaped);
        }
        let reaped = wait_with_usage(self.pid).map_err(lost)?;
        Ok(*self.reaped.insert(reaped))
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

impl Leader for OwnChild {
    fn pid(&self) -> Pid {
        self.pid
    }

    fn containment(&self) -> Containment {
        Containment::Group
    }

    fn among(&self) -> Among {
        Among::Group(self.pid)
    }

    fn notice(&self) -> Option<BorrowedFd<'_>> {
        self.exit_notice.as_ref().map(AsFd::as_fd)
    }

    fn signal_group(&self, signal: Signal) {
        let _ = kill_process_group(self.pid, signal);
    }

    fn signal_all(&self, signal: Signal) {
        self.signal_group(signal);
    }

    fn kill_all(&mut self) {
        self.signal_group(Signal::KILL);
    }

    fn has_ended(&mut self) -> Result<bool, ExecuteError> {
        self.is_over()
    }

    fn stopped_by(&mut self) -> Result<Option<i32>, ExecuteError> {
        // Asked for stops alone, the kernel says of a child that has just ended that there is none.
        let state = self.state(WaitIdOptions::EXITED | WaitIdOptions::STOPPED)?;
        Ok(state.and_then(|status| status.stopping_signal()))
    }

    fn tells_of_stops(&self) -> bool {
        false
    }

    fn group_survives(&mut self) -> Result<bool, ExecuteError> {
        self.reap()?;
        Ok(test_kill_process_group(self.pid).is_ok())
    }

    fn finish(&mut self) -> Result<End, ExecuteError> {
        // Before its number, and that of the group, may become somebody else's.
        let members = self.table.map(|table| table.living_members(self.pid));
        let (status, usage) = self.reap()?;
        Ok(End {
            status,
            usage,
            survivors: Vec::new(),
            beyond_reach: count_beyond_reach(&members.unwrap_or_default()),
            starters_peak: None,
            lost_guard: false,
        })
    }
}

impl Drop for OwnChild {
    fn drop(&mut self) {
        // A process that cannot be found any more was reaped by somebody else in this program:
        // its number may already belong to another.
        if self.reaped.is_none() && self.is_over().is_ok() {
            self.signal_group(Signal::KILL);
            let _ = wait_with_usage(self.pid);
        }
    }
}

/// The command as it is to be started, in a group of its own; the caller adds its streams.
pub(super) fn command(
    path: &Path,
    name: &OsStr,
    arguments: &[OsString],
    directory: &Path,
    environment: &[(OsString, OsString)],
) -> Command {
    let mut command = Command::new(path);
    command
        .arg0(name)
        .args(arguments)
        .current_dir(directory)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .process_group(0);
    command
}

/// Lets the command execute what was opened for it, and not what its name stands for by then.
pub(super) fn execute_opened(
    command: &mut Command,
    plan: Plan,
    opened: BorrowedFd<'_>,
    environment: &[(OsString, OsString)],
) -> io::Result<()> {
    let text = |text: OsString| CString::new(text.into_vec()).map_err(io::Error::from);
    // Of two values for one name the later one counts.
    let variables: BTreeMap<_, _> = environment.iter().map(|(n, v)| (n, v)).collect();
    let variables = variables.into_iter().map(|(name, value)| {
        let mut variable = name.clone();
        variable.push("=");
        variable.push(value);
        text(variable)
    });
    let others = plan.others.into_iter().map(|(path, state)| Ok((text(path)?, state)));
    let image = Image {
        program: rustix::io::fcntl_dupfd_cloexec(opened, 3)?,
        path: text(plan.path)?,
        state: plan.state,
        others: others.collect::<io::Result<_>>()?,
        words: Words::new(plan.words.into_iter().map(text).collect::<io::Result<_>>()?),
        variables: Words::new(variables.collect::<io::Result<_>>()?),
    };
    execute_instead(command, image);
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_has_ended_is_not_stopped_and_is_not_lost() {
        let path = Path::new("/bin/sh");
        let mut child = command(path, "sh".as_ref(), &["-c".into(), ":".into()], "/".as_ref(), &[]);
        let pid = Pid::from_child(&child.spawn().expect("it starts"));
        let mut child = OwnChild { pid, exit_notice: None, reaped: None, table: None };
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).expect("it ends");
        assert_eq!(child.stopped_by().expect("it is ours"), None);
        assert!(child.has_ended().expect("it is ours"));
    }
}
