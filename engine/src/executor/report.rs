//! Report of what happened: plain facts, without a verdict.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use std::os::unix::process::ExitStatusExt;

use serde::{Deserialize, Serialize};

use super::capture::CapturedOutput;
use super::output::OutputStream;
use super::parting::Parting;
use super::resolve::StartRefusal;
use super::signals::SignalOrigin;

/// Number that shells add to that of a signal that ended a command.
const SIGNAL_STATUS_BASE: u8 = 128;

/// Everything that is known about one execution once it is over.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExecutionReport {
    /// End of the execution.
    pub outcome: Outcome,
    /// The status that a shell would see: the exit code, or 128 + the signal's number.
    pub exit_status: u8,
    /// Output of the command to its standard output.
    pub stdout: CapturedOutput,
    /// Output of the command to its standard error.
    pub stderr: CapturedOutput,
    /// Time that its first process ran, by the monotonic clock, as its guard or this process saw
    /// it: whoever saw its end first.
    pub wall: Duration,
    /// True if it may have ended earlier than `wall` says: its guard and this process were stopped
    /// for a part of that time, and the system does not tell when it ended.
    pub is_wall_at_most: bool,
    /// Time spent in user mode by the command and the descendants that it waited for.
    pub user_cpu: Duration,
    /// Time spent in the kernel by the command and the descendants that it waited for.
    pub system_cpu: Duration,
    /// The largest resident size known, in bytes: of one process, or of the group as a whole
    /// where a memory limit made it be watched. `None` where the system did not tell.
    ///
    /// The kernel's own figure starts from the memory of this process, out of which the command
    /// was started. Below that it says nothing, and what was sampled while the command ran stands
    /// instead: then the true peak may be higher, but is not above the peak of this process.
    pub peak_memory_bytes: Option<u64>,
    /// True if processes of the group outlived the command, past a short grace; with a guard, any
    /// process of a command that was stopped. They were killed.
    pub left_behind: bool,
    /// Extent of what ended with the command, and would have ended with this process.
    pub containment: Containment,
    /// Processes that live on, and were left alone: what left the group of a command that was not
    /// stopped, and what another user's rights keep from being killed. At most 32 of them, and none
    /// are known without a guard.
    pub survivors: Vec<Survivor>,
    /// Number of those that live on, but were to end with the command, and were not stopped because
    /// they run with another user's rights. What left the group of a command that was not stopped
    /// may live on, and is not counted.
    pub beyond_reach: u32,
    /// The size of the command's own terminal as the command found it, where it had one.
    pub terminal: Option<TerminalSize>,
    /// The first failure to pass output on, if any. The capture goes on regardless.
    pub sink_failure: Option<SinkFailure>,
    /// The guard, where it waits until this is on record.
    pub(crate) parting: Option<Parting>,
}

/// Degree to which the processes of a command are held together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Containment {
    /// A guard looked after everything that the command started, wherever it went.
    Tree,
    /// Only the command's process group: a process that left it was out of reach.
    Group,
}

impl Containment {
    /// The name in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Group => "group",
        }
    }
}

/// The size of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Number of characters that fit on a line.
    pub columns: u16,
    /// Number of lines there are.
    pub rows: u16,
}

/// A process that outlived its command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survivor {
    /// Its number.
    pub pid: i32,
    /// The name that it gave itself: any text.
    pub name: String,
}

/// End of an execution. A cause from outside counts before the status that it led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The command ended by itself.
    Exited {
        /// Its exit code.
        code: u8,
    },
    /// A signal that this process did not send ended the command.
    Signaled {
        /// The signal's number.
        signal: i32,
        /// True if the system wrote a core image.
        core_dumped: bool,
    },
    /// It ran past its timeout and was stopped.
    TimedOut,
    /// Its memory went past the limit, and it was killed if it was still there.
    MemoryExceeded {
        /// The limit, in bytes.
        limit: u64,
        /// The size seen, in bytes.
        seen: u64,
    },
    /// Somebody asked for the end: by a signal to this process, or by a key of its own terminal.
    Interrupted {
        /// The first such signal's number.
        signal: i32,
        /// Origin of that signal.
        origin: SignalOrigin,
    },
    /// Its output could not be recorded any more, and that was to end it: it was stopped.
    NotRecorded,
    /// Its guard was killed or did not answer any more; so it was killed, with what could be found
    /// of what it had started.
    GuardLost,
}

impl Outcome {
    /// The outcome that a wait status alone tells.
    pub(super) fn of_status(status: ExitStatus) -> Self {
        match status.signal() {
            Some(signal) => Self::Signaled { signal, core_dumped: status.core_dumped() },
            None => Self::Exited { code: exit_status(status) },
        }
    }
}

/// A failure to pass output on.
#[derive(Debug, thiserror::Error)]
#[error("{stream} could not be passed on: {source}")]
pub struct SinkFailure {
    /// The stream whose chunk was refused.
    pub stream: OutputStream,
    /// Answer of the sink.
    pub source: io::Error,
}

/// Why there is no report: this machine failed, not the command.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The command was not started, and the reason lies in the program itself.
    #[error(transparent)]
    Refused(#[from] StartRefusal),
    /// The command was to read the standard input of this process, and that is a terminal.
    #[error("its standard input is a terminal, which no command shares: use a terminal of its own")]
    InputIsTerminal,
    /// The working directory cannot be entered.
    #[error("cannot run in directory {directory:?}: {source}; create it or name another")]
    Directory {
        /// The directory that was asked for.
        directory: PathBuf,
        /// Answer of the system.
        source: io::Error,
    },
    /// The program that was opened to be started, or what it is executed by, was changed or
    /// replaced. Nothing was started.
    #[error("{program:?}, or a file that it is executed by, was changed right before the start")]
    Replaced {
        /// The resolved program.
        program: PathBuf,
    },
    /// The system could not start any command, or not this one with these arguments.
    #[error("{program:?} could not be started: {source}")]
    Start {
        /// The resolved program.
        program: PathBuf,
        /// Answer of the system.
        source: io::Error,
    },
    /// The guard of the command could not be started, or is none. The command does not run.
    #[error(
        "the guard of the command, {program:?}, could not do its work: {source}; check that the \
         program is there, and that this user may start another process"
    )]
    Guard {
        /// The program that was to be the guard.
        program: PathBuf,
        /// Answer of the system.
        source: io::Error,
    },
    /// The command was started but could not be watched to its end; what was left of it was
    /// killed.
    #[error(
        "lost sight of the command while {during}: {source}; \
         a program that runs commands must neither ignore SIGCHLD nor wait for all children"
    )]
    Watch {
        /// Operation that was under way.
        during: &'static str,
        /// Answer of the system.
        source: io::Error,
    },
}

/// The status that a shell would see.
pub(super) fn exit_status(status: ExitStatus) -> u8 {
    let signal = status.signal().and_then(|signal| u8::try_from(signal).ok());
    match signal {
        Some(signal) => SIGNAL_STATUS_BASE.saturating_add(signal),
        None => status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX),
    }
}

/// The name of a signal, such as `SIGSEGV`, where the system has one for the number.
pub fn signal_name(signal: i32) -> Option<&'static str> {
    signal_hook::low_level::signal_name(signal)
}
