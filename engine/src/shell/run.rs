//! Request of a governed run, and its outcome.

use super::error::SubmitError;
use super::prompter::Question;
use super::recording::Recording;
use crate::executor::{CommandSpec, EnvironmentPolicy, ExecutionReport};
use holdpoint_domain::Refusal;
use holdpoint_domain::execution_loop::{LoopHalted, SpentApproval};
use holdpoint_domain::human_decision::HumanDecisionRecord;
use holdpoint_domain::log::GateTerms;
use holdpoint_domain::sandbox_fault::{ExecutionFaultType, RetryPolicy, SandboxDecision};
use std::time::Duration;
use thiserror::Error;

/// Exit status of a run that Holdpoint itself could not carry through.
pub const EXIT_HOLDPOINT_FAILED: u8 = 125;

/// The status of a run that a person aborted.
pub const EXIT_ABORTED: u8 = 120;
/// The status of a run about which a person was asked and nobody answered in time.
pub const EXIT_NOBODY_ANSWERED: u8 = 121;
/// The status of a run whose question to a person was left open.
pub const EXIT_LEFT_WAITING: u8 = 122;
/// The status of a run under a hold that Phase-21 terminated after a fault, where the command's own
/// status was 0: nobody was asked, so it must not look as if somebody had let it pass.
pub const EXIT_FAULT_TERMINATED: u8 = 123;

/// Command that asks a person before a start.
pub(super) const ASKING: &str = "holdpoint run --hold before";
/// The reason code where what is to be started is not what was approved.
pub(super) const BINDING_MISMATCH: &str = "BINDING_MISMATCH";
/// The reason code where the key is missing that is kept outside of the log.
pub(super) const KEY_MISSING: &str = "APPROVAL_KEY_MISSING";

/// Command to run, and within which bounds.
///
/// ```
/// # use holdpoint_engine::{Engine, Origin};
/// # use holdpoint_engine::executor::{CommandSpec, Discard, NoSignals};
/// # use holdpoint_engine::shell::GovernedRun;
/// # let home = tempfile::tempdir()?;
/// # let engine = Engine::open(home.path().join("log"))?;
/// let hello = GovernedRun::of(CommandSpec::new("echo").arg("hello"));
/// let nightly = Origin::automation("nightly build");
/// let report = engine.run(&nightly, (), &hello, &mut Discard, &mut NoSignals)?.ended()?;
/// assert_eq!(report.exit_status, 0);
/// # engine.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct GovernedRun {
    /// The command and its bounds.
    pub command: CommandSpec,
    /// Part of the environment that goes on record.
    pub environment: EnvironmentPolicy,
    /// Number of attempts there may be, after faults that permit another one and at a person's word
    /// alike: 1 to 3.
    pub max_attempts: u8,
    /// Ceiling on what follows a fault.
    pub retry_ceiling: RetryPolicy,
    /// Terms of who counts as a person, and source of the policy in force.
    pub gate: GateTerms,
    /// The approval that is spent for the start, where a person is asked before it.
    pub approval: Option<SpentApproval>,
    /// Options for recording the output while the command runs.
    pub recording: Recording,
}

impl GovernedRun {
    /// One attempt of a command, about which nobody is asked. What of its environment goes on
    /// record is [`EnvironmentPolicy::default`].
    #[must_use]
    pub fn of(command: CommandSpec) -> Self {
        Self {
            command,
            environment: EnvironmentPolicy::default(),
            max_attempts: 1,
            retry_ceiling: RetryPolicy::RetryLimited,
            gate: GateTerms::default(),
            approval: None,
            recording: Recording::default(),
        }
    }

    /// With up to so many attempts.
    #[must_use]
    pub fn max_attempts(self, max_attempts: u8) -> Self {
        Self { max_attempts, ..self }
    }
}

/// Attempts of a run, and its records on the log: a part of each outcome.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunSummary {
    /// The loop.
    pub loop_id: String,
    /// Decision of Phase-21 on the last fault, if there was one and the log has it.
    pub fault: Option<FaultOutcome>,
    /// Number of attempts that were dispatched: 0 when the command did not start.
    pub attempts: u8,
    /// Sequence of the run's first record.
    pub first_sequence: u64,
    /// Sequence of the last one that is on the log.
    pub last_sequence: u64,
    /// Time that the attempts took together, by the monotonic clock.
    pub wall: Duration,
    /// The last execution, when the command was started.
    pub execution: Option<ExecutionReport>,
    /// True if output of the last execution is not on the log, because the disk was full: its true
    /// length and digest are.
    pub is_evidence_dropped: bool,
}

/// Outcome of a run. All of it is on the log.
#[derive(Debug)]
#[non_exhaustive]
pub struct RunReport {
    /// Attempts and records.
    pub summary: RunSummary,
    /// The status to exit with, as a shell sees it.
    pub exit_status: u8,
    /// End of the loop.
    pub halted: LoopHalted,
    /// The last decision about the run of a person, or of a deadline, if one was asked for.
    pub decision: Option<HumanDecisionRecord>,
    /// Fault in words: the fault, the interrupt, or why the command did not start.
    pub details: Option<String>,
}

/// Outcome of a run with a hold point.
#[must_use = "the run may wait for a person, or for the log"]
#[derive(Debug)]
pub enum HeldRun {
    /// The loop ended.
    Ended(Box<RunReport>),
    /// Nobody waits for the answer.
    LeftOpen(Box<LeftOpen>),
    /// The command ended, and another process kept the log's lock, or its disk was full: what came
    /// of it waits, durably, in the run's own file, and the next writer takes it up.
    EndWaits(Box<EndWaits>),
}

impl HeldRun {
    /// The report, for whoever goes on only with a loop that ended.
    ///
    /// # Errors
    /// A person is waited for, or the log.
    pub fn ended(self) -> Result<RunReport, RunError> {
        match self {
            Self::Ended(report) => Ok(*report),
            Self::LeftOpen(open) => Err(RunError::Unfinished { loop_id: open.summary.loop_id }),
            Self::EndWaits(end) => {
                let EndWaits { summary, exit_status, .. } = *end;
                Err(RunError::EndWaits { loop_id: summary.loop_id, exit_status })
            }
        }
    }

    /// Attempts and records of the run, however it came out.
    #[must_use]
    pub const fn summary(&self) -> &RunSummary {
        match self {
            Self::Ended(report) => &report.summary,
            Self::LeftOpen(open) => &open.summary,
            Self::EndWaits(end) => &end.summary,
        }
    }
}

/// A run whose end waits in its own file. What became of the loop is known when a writer has taken
/// it up.
#[derive(Debug)]
#[non_exhaustive]
pub struct EndWaits {
    /// Attempts and records.
    pub summary: RunSummary,
    /// The status to exit with, as a shell sees it: the command's own.
    pub exit_status: u8,
    /// True if a person may be asked when it is taken up: the question is then left open.
    pub may_be_asked: bool,
    /// True if another attempt was due, and the log let none begin: none is made.
    pub is_cut_short: bool,
    /// True if it waits for room on the log's disk.
    pub waits_for_room: bool,
    /// The failure of the log that it waits for, where it failed.
    pub log_failure: Option<String>,
    /// Like [`RunReport::details`].
    pub details: Option<String>,
}

/// A run whose question to a person was left open: the command ran, and what becomes of the loop
/// is for whoever answers. All of it is on the log.
#[derive(Debug)]
pub struct LeftOpen {
    /// Attempts and records.
    pub summary: RunSummary,
    /// The question.
    pub question: Question,
}

/// Outcome of a run that may have been begun before. Without a key it was not.
#[must_use = "nothing was started where the run was begun before"]
#[derive(Debug)]
pub enum KeyedRun {
    /// It was carried out.
    Now(HeldRun),
    /// It was begun before, under the same key. Nothing was started.
    Before(EarlierRun),
}

impl KeyedRun {
    /// The run, for whoever goes on only with one that was carried out.
    ///
    /// # Errors
    /// It was begun before.
    pub fn now(self) -> Result<HeldRun, RunError> {
        match self {
            Self::Now(run) => Ok(run),
            Self::Before(EarlierRun { first_sequence, .. }) => {
                Err(RunError::BegunBefore { first_sequence })
            }
        }
    }

    /// The report, for whoever goes on only with a run that was carried out and ended.
    ///
    /// # Errors
    /// As [`KeyedRun::now`] and [`HeldRun::ended`].
    pub fn ended(self) -> Result<RunReport, RunError> {
        self.now()?.ended()
    }
}

/// A run that was begun before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EarlierRun {
    /// Its loop; empty where its first records were moved to an archive.
    pub loop_id: String,
    /// End of the loop. `None`: it did not end by now, or its end was moved to an archive.
    pub halted: Option<LoopHalted>,
    /// Sequence of the run's first record.
    pub first_sequence: u64,
}

/// Decision of Phase-21 on a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultOutcome {
    /// The fault.
    pub fault_type: ExecutionFaultType,
    /// The stable code: SBX-001 to SBX-006, or SBX-OK.
    pub code: String,
    /// Decision that was made.
    pub sandbox_decision: SandboxDecision,
    /// The decision point that asks a person about an escalation. `None`: it is none, or as many
    /// are open as may be.
    pub escalation: Option<String>,
}

/// A run could not be recorded as it should. Unless it is [`RunError::NotRecorded`],
/// [`RunError::NotSynced`], [`RunError::NotConcluded`], [`RunError::EndWaits`] or
/// [`RunError::EndWaitsUnfinished`], the command did not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The log failed.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// A rule said no.
    #[error("{} ({})", .0, .0.code())]
    Refused(Refusal),
    /// The command ran, and what came of it is not on the log.
    #[error(
        "the command ran and ended with status {exit_status}, which is not on the log: {source}"
    )]
    NotRecorded {
        /// The loop, which stays open on the log.
        loop_id: String,
        /// The status of the last attempt, as a shell sees it.
        exit_status: u8,
        /// Why not.
        source: Box<RunError>,
    },
    /// The command ran, and what came of it was appended to the log, but not synced.
    #[error(
        "the command ran and ended with status {exit_status}, which was appended to the log, and \
         is not known to survive a power cut: {source}"
    )]
    NotSynced {
        /// The loop.
        loop_id: String,
        /// The status of the last attempt, as a shell sees it.
        exit_status: u8,
        /// Why not.
        source: Box<RunError>,
    },
    /// The command ran, what came of it is on the log, and the run could not go on from there.
    #[error(
        "the command ran and ended with status {exit_status}, which is on the log; the run could \
         not go on from there: {source}"
    )]
    NotConcluded {
        /// The loop.
        loop_id: String,
        /// The status of the last attempt, as a shell sees it.
        exit_status: u8,
        /// Why not.
        source: Box<RunError>,
    },
    /// The command ran, and what came of it waits in the run's own file: nothing is lost.
    #[error(
        "the command ran and ended with status {exit_status}; the log was locked by another \
         process, or its disk is full, so that waits in the file of run {loop_id}, and the next \
         writer that finds room takes it up"
    )]
    EndWaits {
        /// The loop.
        loop_id: String,
        /// The status of the last attempt, as a shell sees it.
        exit_status: u8,
    },
    /// The command ran, what came of it waits in the run's own file, and the run could not go on
    /// from there.
    #[error(
        "the command ran and ended with status {exit_status}, which waits in runs/{loop_id}, and \
         the next writer that finds room takes it up; the run could not go on from there: {source}"
    )]
    EndWaitsUnfinished {
        /// The loop.
        loop_id: String,
        /// The status of the last attempt, as a shell sees it.
        exit_status: u8,
        /// Why not.
        source: Box<RunError>,
    },
    /// The loop ended otherwise than by a decision, and what says how was moved to an archive
    /// before this process looked.
    #[error(
        "the loop {loop_id} ended, and the records that say how were moved to an archive \
         (the log begins at record {first_kept} now): name the archive to `holdpoint replay` with \
         --log"
    )]
    EndArchived {
        /// The loop.
        loop_id: String,
        /// Sequence of the first record that the log holds.
        first_kept: u64,
    },
    /// The run was begun before under its key.
    #[error(
        "the run was begun before, with record {first_sequence}: `holdpoint show` shows it; \
         nothing was started"
    )]
    BegunBefore {
        /// The record that it began with.
        first_sequence: u64,
    },
    /// The run was begun before under its key, and its records are in an archive: its loop is not
    /// known here.
    #[error(
        "the run was begun before, with record {first_sequence}, which is in the log's archive: \
         look there; nothing was started"
    )]
    BeginningArchived {
        /// The record that it began with.
        first_sequence: u64,
    },
    /// The rules did not end the loop: it stays open on the log.
    #[error("the loop {loop_id} did not come to an end, and stays open on the log")]
    Unfinished {
        /// The loop.
        loop_id: String,
    },
}
