//! A real command under an execution loop, for any embedder: every step on the log before it is
//! taken, every result on the log before it is told.

use super::engine::Engine;
use super::error::SubmitError;
use super::outcome::{Told, exit, told};
use super::submit::{Origin, Receipt, Submitted};
use crate::executor::{
    CapturedOutput, CommandSpec, EnvironmentPolicy, ExecuteError, ExecutionReport,
    InstructionEnvelope, OutputSink, SignalSource, StartRefusal, command_line, execute, visible,
};
use crate::log::Storage;
use holdpoint_domain::command::{
    AwaitResponse, CaptureEvidence, Command, CompleteLoop, DispatchFacts, DispatchLoop,
    EvidenceItem, Handshake, InitializeLoop, ObserverExpectation, ReportFault, ReportResponse,
    StopLoop,
};
use holdpoint_domain::event::{Event, Exit, LoopHalted, OutputStream, ResourceUsage};
use holdpoint_domain::evidence_capture::{StopCondition, StopFacts};
use holdpoint_domain::execution_loop::{ExecutorIdentityStatus, ExecutorResponseType};
use holdpoint_domain::hash::Digest;
use holdpoint_domain::limits::MAX_ID_BYTES;
use holdpoint_domain::sandbox_fault::{ExecutionFaultType, RetryPolicy, SandboxDecision};
use holdpoint_domain::text::bounded;
use holdpoint_domain::{ActorId, Refusal};
use std::time::Duration;
use thiserror::Error;

/// Exit status of a run that Holdpoint itself could not carry through.
pub const EXIT_HOLDPOINT_FAILED: u8 = 125;

/// What to run, for whom, and within which bounds.
#[derive(Clone, Debug)]
pub struct GovernedRun {
    /// The command and its bounds.
    pub command: CommandSpec,
    /// Which part of the environment goes on record.
    pub environment: EnvironmentPolicy,
    /// Who asked for it.
    pub actor: ActorId,
    /// How many attempts there may be after faults that permit another one: 1 to 3.
    pub max_attempts: u8,
    /// What is allowed at most after a fault.
    pub retry_ceiling: RetryPolicy,
}

/// What came of a run. All of it is on the log.
#[derive(Debug)]
pub struct RunReport {
    /// The loop.
    pub loop_id: String,
    /// The status to exit with, as a shell sees it.
    pub exit_status: u8,
    /// How the loop ended.
    pub halted: LoopHalted,
    /// What Phase-21 said of the last fault, if there was one: its code.
    pub fault_code: Option<String>,
    /// How many attempts were made.
    pub attempts: u8,
    /// Sequence of the run's first record.
    pub first_sequence: u64,
    /// Sequence of its last one.
    pub last_sequence: u64,
    /// The last execution, when the command was started.
    pub execution: Option<ExecutionReport>,
    /// Why the command did not start, when it did not.
    pub not_started: Option<String>,
}

/// A run could not be recorded. Before the command started: it did not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The log failed.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// A rule said no.
    #[error("{} ({})", .0, .0.code())]
    Refused(Refusal),
    /// The rules did not end the loop: it stays open on the log.
    #[error("the loop {loop_id} did not come to an end, and stays open on the log")]
    Unfinished {
        /// The loop.
        loop_id: String,
    },
}

impl<S: Storage> Engine<S> {
    /// Runs a command under an execution loop. Whatever happens to the command is a fact on the log
    /// and in the report; if the log cannot be written the command does not start.
    ///
    /// # Errors
    /// The log failed, or a rule refused what the run had to record.
    pub fn run(
        &self,
        run: &GovernedRun,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<RunReport, RunError> {
        Runner::begin(self, run)?.carry_out(sink, signals)
    }
}

/// A run under way.
struct Runner<'a, S: Storage> {
    engine: &'a Engine<S>,
    run: &'a GovernedRun,
    origin: Origin,
    envelope_hash: String,
    loop_id: String,
    attempt: u8,
    first_sequence: u64,
    halted: Option<LoopHalted>,
    fault_code: Option<String>,
    execution: Option<ExecutionReport>,
    not_started: Option<String>,
    exit_status: u8,
}

impl<'a, S: Storage> Runner<'a, S> {
    fn begin(engine: &'a Engine<S>, run: &'a GovernedRun) -> Result<Self, RunError> {
        let envelope = InstructionEnvelope::of(&run.command, &run.environment);
        let initialize = initialize(engine, run, &envelope)?;
        let correlation = engine.entropy()?.to_string();
        let origin = Origin { actor: run.actor.clone(), correlation, causation: None };
        let mut runner = Self {
            engine,
            run,
            origin,
            envelope_hash: envelope.hex(),
            loop_id: initialize.loop_id(),
            attempt: 0,
            first_sequence: 0,
            halted: None,
            fault_code: None,
            execution: None,
            not_started: None,
            exit_status: EXIT_HOLDPOINT_FAILED,
        };
        let receipt = runner.submit(&Command::InitializeLoop(initialize))?;
        runner.first_sequence = receipt.first_sequence;
        Ok(runner)
    }

    /// Attempts until the loop halts.
    fn carry_out(
        mut self,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<RunReport, RunError> {
        let mut may_retry = true;
        while may_retry && self.halted.is_none() {
            may_retry = self.attempt_once(sink, signals)?;
        }
        if self.halted.is_none() {
            let (loop_id, entropy) = (self.loop_id.clone(), self.engine.entropy()?);
            self.submit(&Command::CompleteLoop(CompleteLoop { loop_id, entropy }))?;
        }
        self.into_report()
    }

    /// One attempt: dispatched, started, captured, reported. Whether another one is permitted.
    fn attempt_once(
        &mut self,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<bool, RunError> {
        self.attempt += 1;
        let refusal = self.run.command.resolve().err();
        self.dispatch(refusal.as_ref(), &mut *signals)?;
        if self.halted.is_some() {
            self.refused_to_start(refusal.as_ref());
            return Ok(false);
        }
        let (loop_id, entropy) = (self.loop_id.clone(), self.engine.entropy()?);
        self.submit(&Command::AwaitResponse(AwaitResponse { loop_id, entropy }))?;
        if self.halted.is_some() {
            return Ok(false);
        }
        match execute(&self.run.command, sink, signals) {
            Ok(report) => self.executed(report),
            Err(error) => self.not_executed(&error).map(|()| false),
        }
    }

    /// All ten stop conditions are checked here; a signal that came before the start is one.
    fn dispatch(
        &mut self,
        refusal: Option<&StartRefusal>,
        signals: &mut dyn SignalSource,
    ) -> Result<(), RunError> {
        let aborted = signals.take().into_iter().find(|signal| signal.asks_for_the_end());
        if let Some(signal) = aborted {
            self.exit_status = 128_u8.saturating_add(u8::try_from(signal.number()).unwrap_or(0));
        }
        let dispatch = DispatchLoop {
            loop_id: self.loop_id.clone(),
            entropy: self.engine.entropy()?,
            envelope_hash: self.envelope_hash.clone(),
            facts: DispatchFacts {
                authorization_present: Some(!refusal.is_some_and(is_not_authorized)),
                executor_registered: Some(refusal.is_none_or(is_not_authorized)),
                resources_available: Some(true),
                intent_clear: Some(true),
                human_abort_signaled: Some(aborted.is_some()),
            },
        };
        let command = match self.attempt {
            1 => Command::DispatchLoop(dispatch),
            _ => Command::RetryLoop(dispatch),
        };
        self.submit(&command).map(drop)
    }

    fn refused_to_start(&mut self, refusal: Option<&StartRefusal>) {
        if let Some(refusal) = refusal {
            self.exit_status = refusal.exit_status();
            self.not_started = Some(refusal.to_string());
        } else {
            self.not_started = Some("it was interrupted before the command started".to_string());
        }
    }

    /// Raw output first, then what it means.
    fn executed(&mut self, report: ExecutionReport) -> Result<bool, RunError> {
        self.exit_status = report.exit_status;
        self.capture(&report)?;
        let permitted = match told(&report) {
            _ if self.halted.is_some() => false,
            Told::Response { reported, error } => {
                self.report_response(reported, error, exit(&report)).map(|()| false)?
            }
            Told::Fault { fault, message } => self.report_fault(fault, message, exit(&report))?,
            Told::Abort { details } => {
                let facts = StopFacts { human_abort_signaled: Some(true), ..StopFacts::default() };
                self.stop(StopCondition::HumanAbort, facts, details).map(|()| false)?
            }
        };
        self.execution = Some(report);
        Ok(permitted)
    }

    fn report_response(
        &mut self,
        reported_status: ExecutorResponseType,
        error: Option<String>,
        exit: Exit,
    ) -> Result<(), RunError> {
        let response = ReportResponse {
            loop_id: self.loop_id.clone(),
            entropy: self.engine.entropy()?,
            executor_id: executor_id(self.run),
            instruction_hash: self.envelope_hash.clone(),
            reported_status,
            error,
            exit,
        };
        self.submit(&Command::ReportResponse(response)).map(drop)
    }

    /// Whether Phase-21 permits another attempt.
    fn report_fault(
        &mut self,
        fault_type: ExecutionFaultType,
        fault_message: String,
        exit: Exit,
    ) -> Result<bool, RunError> {
        let fault = ReportFault {
            loop_id: self.loop_id.clone(),
            entropy: self.engine.entropy()?,
            attempt: self.attempt,
            fault_type,
            fault_message,
            exit,
        };
        let receipt = self.submit(&Command::ReportFault(fault))?;
        Ok(self.sandbox_permits(&receipt))
    }

    fn capture(&mut self, report: &ExecutionReport) -> Result<(), RunError> {
        let usage = ResourceUsage {
            wall_ns: nanoseconds(report.wall),
            user_cpu_ns: nanoseconds(report.user_cpu),
            system_cpu_ns: nanoseconds(report.system_cpu),
            peak_memory_bytes: report.peak_memory_bytes.unwrap_or(0),
        };
        let capture = CaptureEvidence {
            loop_id: self.loop_id.clone(),
            entropy: self.engine.entropy()?,
            items: vec![
                output(OutputStream::Stdout, &report.stdout),
                output(OutputStream::Stderr, &report.stderr),
                EvidenceItem::ResourceSnapshot(usage),
            ],
        };
        self.submit(&Command::CaptureEvidence(capture)).map(drop)
    }

    /// What Phase-21 decided of the fault: only RETRY permits another attempt.
    fn sandbox_permits(&mut self, receipt: &Receipt) -> bool {
        let mut permits = false;
        for event in &receipt.events {
            if let Event::SandboxDecided(decided) = event {
                permits = decided.sandbox_decision == SandboxDecision::Retry;
                self.fault_code = Some(decided.reason_code.as_str().to_string());
            }
        }
        permits
    }

    /// The command could not be started after all.
    fn not_executed(&mut self, error: &ExecuteError) -> Result<(), RunError> {
        let (condition, facts) = match error {
            ExecuteError::Refused(refusal) if is_not_authorized(refusal) => {
                let facts =
                    StopFacts { authorization_present: Some(false), ..StopFacts::default() };
                (StopCondition::MissingAuthorization, facts)
            }
            ExecuteError::Refused(_) => {
                let facts = StopFacts { executor_registered: Some(false), ..StopFacts::default() };
                (StopCondition::ExecutorNotRegistered, facts)
            }
            _ => {
                let facts = StopFacts { resources_available: Some(false), ..StopFacts::default() };
                (StopCondition::ResourceLimitExceeded, facts)
            }
        };
        self.exit_status = match error {
            ExecuteError::Refused(refusal) => refusal.exit_status(),
            _ => EXIT_HOLDPOINT_FAILED,
        };
        self.not_started = Some(error.to_string());
        self.stop(condition, facts, error.to_string())
    }

    fn stop(
        &mut self,
        condition: StopCondition,
        facts: StopFacts,
        details: String,
    ) -> Result<(), RunError> {
        let (loop_id, entropy) = (self.loop_id.clone(), self.engine.entropy()?);
        let stop = StopLoop { loop_id, entropy, condition, facts, details };
        self.submit(&Command::StopLoop(stop)).map(drop)
    }

    /// Each step is caused by the last record of the step before.
    fn submit(&mut self, command: &Command) -> Result<Receipt, RunError> {
        let receipt = match self.engine.submit(&self.origin, command)? {
            Submitted::Accepted(receipt) => receipt,
            Submitted::Refused(refusal) => return Err(RunError::Refused(refusal)),
        };
        self.origin.causation = Some(receipt.last_sequence);
        for event in &receipt.events {
            if let Event::LoopHalted(halted) = event {
                self.halted = Some(halted.clone());
            }
        }
        Ok(receipt)
    }

    fn into_report(self) -> Result<RunReport, RunError> {
        let last_sequence = self.origin.causation.unwrap_or(self.first_sequence);
        let Some(halted) = self.halted else {
            return Err(RunError::Unfinished { loop_id: self.loop_id });
        };
        Ok(RunReport {
            loop_id: self.loop_id,
            exit_status: self.exit_status,
            halted,
            fault_code: self.fault_code,
            attempts: self.attempt,
            first_sequence: self.first_sequence,
            last_sequence,
            execution: self.execution,
            not_started: self.not_started,
        })
    }
}

/// The program as it was named: the executor of the loop.
fn executor_id(run: &GovernedRun) -> String {
    let name = visible(&run.command.program).to_string();
    bounded(&name, MAX_ID_BYTES).to_string()
}

fn initialize<S: Storage>(
    engine: &Engine<S>,
    run: &GovernedRun,
    envelope: &InstructionEnvelope,
) -> Result<InitializeLoop, RunError> {
    let (executor_id, hash) = (executor_id(run), envelope.hex());
    let timeout = run.command.timeout;
    Ok(InitializeLoop {
        entropy: engine.entropy()?,
        executor_id: executor_id.clone(),
        envelope: envelope.encode(),
        instruction_envelope_hash: hash.clone(),
        command_line: command_line(&run.command.program, &run.command.arguments),
        max_attempts: run.max_attempts,
        retry_ceiling: run.retry_ceiling,
        timeout_ms: timeout.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        handshake: Handshake {
            executor_id: executor_id.clone(),
            trust_status: ExecutorIdentityStatus::Registered,
            instruction_envelope_hash: hash.clone(),
        },
        observer: ObserverExpectation { executor_id, envelope_hash: hash },
    })
}

fn is_not_authorized(refusal: &StartRefusal) -> bool {
    matches!(refusal, StartRefusal::NotExecutable { .. })
}

fn output(stream: OutputStream, captured: &CapturedOutput) -> EvidenceItem {
    EvidenceItem::ExecutorOutput {
        stream,
        raw_data: captured.bytes.clone(),
        true_length: captured.true_length,
        whole_sha256: Digest::from_bytes(captured.sha256),
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
