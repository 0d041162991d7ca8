//! From what the executor reports to what the rules are told: one table.
//!
//! | outcome | reported as | exit status of the run |
//! |---|---|---|
//! | exit 0 | response SUCCESS | 0 |
//! | exit n | response FAILURE | n |
//! | exit, but its output could not be read to its end | fault PARTIAL | the command's own |
//! | killed by SIGSYS | fault SECURITY_VIOLATION | 159 |
//! | killed by another signal n | fault CRASH | 128 + n |
//! | timed out | fault TIMEOUT | 124 |
//! | over the memory limit | fault RESOURCE_EXHAUSTED | 137 |
//! | stopped, as its output could not be recorded | fault RESOURCE_EXHAUSTED | 137 |
//! | lost its guard and was killed, so that its outcome is unknown | fault CRASH | 137 |
//! | could not be watched to its end and was killed: the same | fault CRASH | 137 |
//! | Ctrl-C or Ctrl-\ at the terminal: signal n | stop condition HUMAN_ABORT | 128 + n |
//! | interrupted by any other signal n | halt INTERRUPTED | 128 + n |
//!
//! Output that is merely longer than what is kept of it is no fault: the evidence says what is
//! missing.

use super::interrupt::Interrupt;
use crate::executor::{ExecutionReport, Outcome, signal_name};
use holdpoint_domain::evidence_capture::{GuardedEnd, ResourceUsage};
use holdpoint_domain::execution_loop::{ExecutorResponseType, Exit};
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_log_format::{GuardFacts, GuardKilledFor};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

/// The number of SIGSYS: a system call that a filter forbids.
const SIGSYS: i32 = libc::SIGSYS;

/// The status that `timeout` uses for a command that timed out.
const EXIT_TIMED_OUT: u8 = 124;
/// Number that shells add to that of a signal that ended a command.
const SIGNAL_STATUS_BASE: u8 = 128;

/// Report on an attempt to the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AttemptReport {
    /// The executor answered.
    Response { reported: ExecutorResponseType, error: Option<String> },
    /// The attempt failed.
    Fault { fault: ExecutionFaultType, message: String },
    /// Somebody stopped it.
    Interrupt(Interrupt),
}

pub(super) fn told(report: &ExecutionReport) -> AttemptReport {
    let fault = |fault, message| AttemptReport::Fault { fault, message };
    match &report.outcome {
        Outcome::Interrupted { signal, origin } => {
            AttemptReport::Interrupt(Interrupt { signal: *signal, origin: *origin })
        }
        Outcome::TimedOut => fault(
            ExecutionFaultType::Timeout,
            format!("still running after {:.3} s", report.wall.as_secs_f64()),
        ),
        Outcome::MemoryExceeded { limit, seen } => fault(
            ExecutionFaultType::ResourceExhausted,
            format!("{seen} bytes of memory in use, over the limit of {limit}"),
        ),
        Outcome::Signaled { signal, core_dumped } => {
            let core = if *core_dumped { ", core dumped" } else { "" };
            let message = format!("killed by {}{core}", named(*signal));
            match *signal {
                SIGSYS => fault(ExecutionFaultType::SecurityViolation, message),
                _ => fault(ExecutionFaultType::Crash, message),
            }
        }
        Outcome::NotRecorded => fault(
            ExecutionFaultType::ResourceExhausted,
            "the disk of the log is full, so that its output could not be recorded: it was stopped"
                .to_string(),
        ),
        Outcome::GuardLost => fault(
            ExecutionFaultType::Crash,
            "its guard was killed or gave no answer, so how it ended is unknown: it was killed \
             too, with what was found of what it had started"
                .to_string(),
        ),
        Outcome::Exited { code } if is_partial(report) => fault(
            ExecutionFaultType::Partial,
            format!("exited with status {code}, and its output could not be read to its end"),
        ),
        Outcome::Exited { code: 0 } => {
            AttemptReport::Response { reported: ExecutorResponseType::Success, error: None }
        }
        Outcome::Exited { code } => AttemptReport::Response {
            reported: ExecutorResponseType::Failure,
            error: Some(format!("exited with status {code}")),
        },
    }
}

/// The status that the run exits with, as the table says.
pub(super) fn exit_status(report: &ExecutionReport) -> u8 {
    match report.outcome {
        Outcome::Exited { .. } | Outcome::Signaled { .. } => report.exit_status,
        Outcome::TimedOut => EXIT_TIMED_OUT,
        Outcome::MemoryExceeded { .. } | Outcome::NotRecorded | Outcome::GuardLost => {
            status_of_unknown()
        }
        Outcome::Interrupted { signal, .. } => of_signal(signal),
    }
}

/// The status of a run whose command was killed because nobody could tell how it ended.
pub(super) fn status_of_unknown() -> u8 {
    of_signal(libc::SIGKILL)
}

/// Returns what a shell makes of a signal that ended a command.
pub(super) fn of_signal(signal: i32) -> u8 {
    u8::try_from(signal).unwrap_or(0).saturating_add(SIGNAL_STATUS_BASE)
}

/// Returns how the process ended, for the record.
pub(super) fn exit(report: &ExecutionReport) -> Exit {
    match &report.outcome {
        Outcome::Exited { code } => Exit::Status(i32::from(*code)),
        Outcome::Signaled { signal, .. } => Exit::Signal(*signal),
        Outcome::TimedOut
        | Outcome::MemoryExceeded { .. }
        | Outcome::Interrupted { .. }
        | Outcome::NotRecorded
        | Outcome::GuardLost => Exit::Unknown,
    }
}

/// Returns what the facts of a guard come to, which outlived the recorder: the same as above, and
/// what ran longer than it may is a timeout however the news came.
pub(super) fn guarded_end(facts: &GuardFacts, limit: Option<Duration>) -> GuardedEnd {
    let status = ExitStatus::from_raw(facts.wait_status);
    let ran = Duration::from_nanos(facts.duration_ns);
    let (exit, ended) = match (status.code(), status.signal()) {
        (Some(code), _) => (Exit::Status(code), format!("exited with status {code}")),
        (None, Some(signal)) => (Exit::Signal(signal), format!("was killed by {}", named(signal))),
        (None, None) => (Exit::Unknown, "ended".to_string()),
    };
    let is_known_late = !facts.is_at_most && limit.is_some_and(|it| ran > it);
    let is_late = facts.killed_for == GuardKilledFor::Time || is_known_late;
    let at_most = if facts.is_at_most { "at most " } else { "" };
    let (fault, why) = match (facts.killed_for, exit) {
        _ if is_late => (Some(ExecutionFaultType::Timeout), ", longer than it may"),
        (GuardKilledFor::Memory, _) => {
            (Some(ExecutionFaultType::ResourceExhausted), ": it held more memory than it may")
        }
        (GuardKilledFor::Recorder, _) => {
            (Some(ExecutionFaultType::Crash), ": its guard killed it, as its recorder was gone")
        }
        (GuardKilledFor::Asked, Exit::Signal(_)) => {
            (Some(ExecutionFaultType::Crash), ": its recorder was about to end it")
        }
        (_, Exit::Signal(SIGSYS)) => (Some(ExecutionFaultType::SecurityViolation), ""),
        (_, Exit::Signal(_)) => (Some(ExecutionFaultType::Crash), ""),
        _ => (None, ""),
    };
    GuardedEnd {
        exit,
        fault,
        message: format!("{ended} after {at_most}{:.3} s{why}", ran.as_secs_f64()),
        usage: ResourceUsage {
            wall_ns: facts.duration_ns,
            user_cpu_ns: facts.user_ns,
            system_cpu_ns: facts.system_ns,
            peak_memory_bytes: facts.peak_resident_bytes,
        },
    }
}

/// Returns whether a stream was given up before its end: nobody knows what else was put out.
fn is_partial(report: &ExecutionReport) -> bool {
    [&report.stdout, &report.stderr].iter().any(|stream| !stream.end_seen)
}

/// A signal with its name.
pub(super) fn named(signal: i32) -> String {
    match signal_name(signal) {
        Some(name) => format!("signal {signal} ({name})"),
        None => format!("signal {signal}"),
    }
}
