//! A command that is a child of this process, without a guard between.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, test_kill_process_group,
    waitid,
};

use super::again::again;
use super::child_calls::{
    Image, Words, execute_instead, execute_path, hand_on_signals, separate_from_terminals,
    wait_with_usage,
};
use super::command::{CommandSpec, Stdin};
use super::leader::{Attempt, Leader, LeaderEnd, Pipes, Program, STOP_GRACE, Streams};
use super::opened::{Plan, SHELL};
use super::process_table::{Among, ProcessTable, count_beyond_reach};
use super::report::{Containment, ExecuteError};
use super::usage::Usage;
use super::variable::Variable;

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
    /// Starts the command in a session of its own.
    pub(super) fn start(
        spec: &CommandSpec,
        program: Program<'_>,
        table: Option<ProcessTable>,
    ) -> Result<(Self, Pipes), ExecuteError> {
        let (path, directory) = (program.path, &spec.directory);
        let mut command = command(path, &spec.program, &spec.arguments, directory);
        separate_from_terminals(&mut command, spec.stdin == Stdin::Terminal);
        hand_on_signals(&mut command, spec.signals);
        let attempt = Attempt::of(spec, program);
        let failed = |error| attempt.failed(error);
        let (arguments, environment) = (&spec.arguments, &spec.environment);
        match program.opened.and_then(|opened| opened.plan(spec)) {
            Some((plan, opened)) => execute_opened(&mut command, plan, opened, environment),
            None => execute_found(&mut command, path, &spec.program, arguments, environment),
        }
        .map_err(failed)?;
        let streams = Streams::make(spec.stdin).map_err(failed)?;
        command.stdin(streams.stdin.map_or_else(Stdio::null, Stdio::from));
        let child =
            command.stdout(streams.stdout).stderr(streams.stderr).spawn().map_err(failed)?;
        // The command's ends of the streams are its own alone.
        drop(command);
        let pid = Pid::from_child(&child);
        let leader = Self { pid, exit_notice: exit_notice(pid), reaped: None, table };
        Ok((leader, streams.pipes))
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
        again(|| Ok(waitid(WaitId::Pid(self.pid), options)?)).map_err(lost)
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

    fn notices(&self) -> Vec<BorrowedFd<'_>> {
        self.exit_notice.as_ref().map(AsFd::as_fd).into_iter().collect()
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

    fn suspend(&mut self) {
        self.signal_group(Signal::TSTP);
        std::thread::sleep(STOP_GRACE);
        self.signal_group(Signal::STOP);
    }

    fn resume(&mut self) {
        self.signal_group(Signal::CONT);
    }

    fn group_survives(&mut self) -> Result<bool, ExecuteError> {
        self.reap()?;
        Ok(test_kill_process_group(self.pid).is_ok())
    }

    fn finish(&mut self) -> Result<LeaderEnd, ExecuteError> {
        // Before its number, and that of the group, may become somebody else's.
        let members = self.table.map(|table| table.living_members(self.pid));
        let (status, usage) = self.reap()?;
        Ok(LeaderEnd {
            status,
            usage,
            survivors: Vec::new(),
            beyond_reach: count_beyond_reach(&members.unwrap_or_default()),
            starters_peak: None,
            ran: None,
            lost_guard: None,
            parting: None,
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

/// The command as it is to be started; the caller adds its session, its streams, and the step that
/// executes it with its environment.
pub(super) fn command(
    path: &Path,
    name: &OsStr,
    arguments: &[OsString],
    directory: &Path,
) -> Command {
    let mut command = Command::new(path);
    command.arg0(name).args(arguments).current_dir(directory).env_clear();
    command
}

/// Lets the command execute what was opened for it, and not what its name stands for by then.
pub(super) fn execute_opened(
    command: &mut Command,
    plan: Plan,
    opened: BorrowedFd<'_>,
    environment: &[Variable],
) -> io::Result<()> {
    let others = plan.others.into_iter().map(|(path, state)| Ok((text(path)?, state)));
    let image = Image {
        program: rustix::io::fcntl_dupfd_cloexec(opened, 3)?,
        path: text(plan.path)?,
        state: plan.state,
        others: others.collect::<io::Result<_>>()?,
        words: Words::new(plan.words.into_iter().map(text).collect::<io::Result<_>>()?),
        variables: variables(environment)?,
    };
    execute_instead(command, image);
    Ok(())
}

/// Lets the command execute the file that was found for it, by the shell where it is a script that
/// names no interpreter.
pub(super) fn execute_found(
    command: &mut Command,
    path: &Path,
    name: &OsStr,
    arguments: &[OsString],
    environment: &[Variable],
) -> io::Result<()> {
    let words = |first: &[&OsStr]| {
        let first = first.iter().map(|word| (*word).to_os_string());
        let words = first.chain(arguments.iter().cloned()).map(text);
        Ok::<_, io::Error>(Words::new(words.collect::<io::Result<_>>()?))
    };
    let shell = OsStr::from_bytes(SHELL.to_bytes());
    let words = [words(&[name])?, words(&[shell, path.as_os_str()])?];
    execute_path(command, text(path.as_os_str().to_os_string())?, words, variables(environment)?);
    Ok(())
}

fn text(text: OsString) -> io::Result<CString> {
    CString::new(text.into_vec()).map_err(io::Error::from)
}

/// An environment as the system takes it.
fn variables(environment: &[Variable]) -> io::Result<Words> {
    let entries = environment.iter().map(|variable| text(variable.entry().to_os_string()));
    Ok(Words::new(entries.collect::<io::Result<_>>()?))
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
