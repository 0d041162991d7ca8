//! The command's first process, which leads its process group.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use super::command::{CommandSpec, Stdin};
use super::descriptors::is_terminal;
use super::opened::OpenedProgram;
use super::own_child::OwnChild;
use super::own_terminal::OwnTerminal;
use super::parting::Parting;
use super::pauses::Ran;
use super::process_table::{Among, ProcessTable};
use super::report::{Containment, ExecuteError, Survivor};
use super::resolve::refusal_of_exec;
use super::usage::Usage;

/// From SIGTSTP, on which a process may put its things in order, to SIGSTOP.
pub(super) const STOP_GRACE: Duration = Duration::from_millis(100);

/// A started command, as a child of this process or of its guard.
pub(super) trait Leader {
    /// The number of the process, and of the group that it leads.
    fn pid(&self) -> Pid;

    /// Returns what ends with it.
    fn containment(&self) -> Containment;

    /// The processes that are the command's.
    fn among(&self) -> Among;

    /// Those of them that are in its group.
    fn group(&self) -> Among {
        Among::Group(self.pid())
    }

    /// Descriptors that become readable when there is news of it: none where the system has no
    /// such thing.
    fn notices(&self) -> Vec<BorrowedFd<'_>>;

    /// Sends a signal to the whole group. A group without processes, or one that only another
    /// user may signal, is no error here: whether it ended is seen by watching it.
    fn signal_group(&self, signal: Signal);

    /// Sends a signal to all that is contained.
    fn signal_all(&self, signal: Signal);

    /// Kills all that is contained.
    fn kill_all(&mut self);

    /// Returns whether the process has ended.
    fn has_ended(&mut self) -> Result<bool, ExecuteError>;

    /// The limit that it exceeded as its guard saw it, which ends it as well.
    fn exceeded(&self) -> Option<Limit> {
        None
    }

    /// It is being ended, and killed after this time: its guard does so even if this process stops.
    fn will_be_killed(&mut self, _after: Duration) {}

    /// Stops all that is contained. Its guard, if it has one, keeps the limits meanwhile.
    fn suspend(&mut self);

    /// Continues what was stopped.
    fn resume(&mut self);

    /// Returns whether the group still has processes once its leader has ended. For systems without
    /// a process table to look it up in.
    fn group_survives(&mut self) -> Result<bool, ExecuteError>;

    /// Says how the process ended. Waits for that if it has not ended yet.
    fn finish(&mut self) -> Result<LeaderEnd, ExecuteError>;
}

/// The limits of a command.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Limits {
    /// Time that it may run.
    pub(super) time: Option<Duration>,
    /// The most resident memory that it may hold, in bytes.
    pub(super) memory: Option<u64>,
}

/// A limit that a command exceeded.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) enum Limit {
    Time,
    Memory { seen: u64 },
}

/// End of the first process.
#[derive(Debug)]
pub(super) struct LeaderEnd {
    pub(super) status: ExitStatus,
    pub(super) usage: Usage,
    /// Processes that live on and are left alone.
    pub(super) survivors: Vec<Survivor>,
    /// Number of processes that live on although they were to end: they belong to another user.
    pub(super) beyond_reach: u32,
    /// The peak of the process out of which it was started, where that was not this one.
    pub(super) starters_peak: Option<u64>,
    /// Time for which it ran, as its guard saw it.
    pub(super) ran: Option<Ran>,
    /// The guard died before it could say how the command ended.
    pub(super) lost_guard: Option<LostGuard>,
    /// The guard, where it waits until the end is on record.
    pub(super) parting: Option<Parting>,
}

impl LeaderEnd {
    /// The time that it ran, as far as its guard or this process, whoever was closer, saw that.
    pub(super) fn known_time(&self, opened: Instant, seen: Option<Ran>) -> Option<Ran> {
        match (self.ran, self.lost_guard) {
            (_, Some(lost)) if lost.outlived => {
                let time = lost.at.checked_duration_since(opened)?;
                Some(Ran { time, is_at_most: false })
            }
            (_, Some(_)) | (None, None) => None,
            (Some(ran), None) => Some(seen.map_or(ran, |seen| seen.min(ran))),
        }
    }
}

/// A guard that died, or does not answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct LostGuard {
    /// True if the command still ran when that was seen.
    pub(super) outlived: bool,
    /// Time at which it was seen.
    pub(super) at: Instant,
}

/// The reading ends of the command's output.
pub(super) struct Pipes {
    pub(super) stdout: OwnedFd,
    /// `None` where there is one stream.
    pub(super) stderr: Option<OwnedFd>,
    /// The terminal that they are of, where it is one.
    pub(super) terminal: Option<OwnTerminal>,
}

/// Standard streams that the command gets, and the ends of them that are left here.
pub(super) struct Streams {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) pipes: Pipes,
}

impl Streams {
    /// Makes them.
    pub(super) fn make(wanted: Stdin) -> io::Result<Self> {
        if wanted == Stdin::Terminal {
            let terminal = OwnTerminal::make()?;
            let (stdin, stdout, stderr) =
                (terminal.theirs()?, terminal.theirs()?, terminal.theirs()?);
            let output = terminal.output()?;
            let pipes = Pipes { stdout: output, stderr: None, terminal: Some(terminal) };
            return Ok(Self { stdin: Some(stdin), stdout, stderr, pipes });
        }
        let (stdout, stdout_of_command) = io::pipe()?;
        let (stderr, stderr_of_command) = io::pipe()?;
        let stdin = match wanted {
            Stdin::Inherit => Some(io::stdin().as_fd().try_clone_to_owned()?),
            Stdin::Null | Stdin::Terminal => None,
        };
        let (stdout_of_command, stderr_of_command) =
            (stdout_of_command.into(), stderr_of_command.into());
        let pipes = Pipes { stdout: stdout.into(), stderr: Some(stderr.into()), terminal: None };
        Ok(Self { stdin, stdout: stdout_of_command, stderr: stderr_of_command, pipes })
    }
}

/// Program that a command is started from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program<'a> {
    /// Path as the search found it.
    pub(super) path: &'a Path,
    /// Program that was opened there, if nothing else may be started.
    pub(super) opened: Option<&'a OpenedProgram>,
}

/// Starts a command in a session of its own: under its guard, where one is named and this system
/// can look after a tree of processes.
pub(super) fn start(
    spec: &CommandSpec,
    program: Program<'_>,
    table: Option<ProcessTable>,
) -> Result<(Box<dyn Leader>, Pipes), ExecuteError> {
    check_directory(&spec.directory)?;
    if spec.stdin == Stdin::Inherit && is_terminal(io::stdin().as_fd()) {
        return Err(ExecuteError::InputIsTerminal);
    }
    #[cfg(target_os = "linux")]
    if let (Some(guard), Some(table)) = (&spec.guard, table) {
        let (leader, pipes) = super::guarded::Guarded::start(guard, spec, program, table)?;
        return Ok((Box::new(leader), pipes));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = table;
    let (leader, pipes) = OwnChild::start(spec, program, table)?;
    Ok((Box::new(leader), pipes))
}

/// Looked at first, because afterwards a missing directory looks like a missing program.
fn check_directory(directory: &Path) -> Result<(), ExecuteError> {
    let error = match directory.metadata() {
        Ok(metadata) if metadata.is_dir() => return Ok(()),
        Ok(_) => io::ErrorKind::NotADirectory.into(),
        Err(error) => error,
    };
    Err(ExecuteError::Directory { directory: directory.to_path_buf(), source: error })
}

/// Program that was to be started, as far as an error tells of it.
#[derive(Debug, Clone)]
pub(super) struct Attempt {
    name: OsString,
    path: PathBuf,
    directory: PathBuf,
    was_opened: bool,
}

impl Attempt {
    pub(super) fn of(spec: &CommandSpec, program: Program<'_>) -> Self {
        Self {
            name: spec.program.clone(),
            path: program.path.to_path_buf(),
            directory: spec.directory.clone(),
            was_opened: program.opened.is_some(),
        }
    }

    /// Why the command was not started, from what the system answered.
    pub(super) fn failed(&self, error: io::Error) -> ExecuteError {
        if let Err(error) = check_directory(&self.directory) {
            return error;
        }
        let program = self.path.clone();
        if self.was_opened && error.raw_os_error() == Some(libc::ESTALE) {
            return ExecuteError::Replaced { program };
        }
        if let Some(refusal) = refusal_of_exec(&self.name, &program, &self.directory, &error) {
            return ExecuteError::Refused(refusal);
        }
        ExecuteError::Start { program, source: error }
    }
}
