//! A real command under an execution loop, for any embedder: every step on the log before it is
//! taken, every result on the log before it is told.

use super::conditions::Conditions;
use super::engine::Engine;
use super::error::SubmitError;
use super::hold_point::Next;
use super::instruction::{evidence, executor_id, initialize};
use super::interrupt::Interrupt;
use super::outcome::{AttemptReport, exit, exit_status, status_of_unknown, told};
use super::prompter::{Prompter, Question};
use super::recording::GivenUp;
use super::run::{
    EXIT_FAULT_TERMINATED, EXIT_HOLDPOINT_FAILED, EndWaits, FaultOutcome, GovernedRun, HeldRun,
    LeftOpen, RunError, RunReport, RunSummary,
};
use super::run_seat::RunSeat;
use super::runs::story_of;
use super::start::{ApprovedProgram, BoundFiles};
use super::submit::{Origin, Receipt, Submitted};
use crate::executor::{
    ExecuteError, ExecutionReport, InstructionEnvelope, OutputSink, Parting, SignalSource,
    StartRefusal,
};
use crate::log::{AppendError, Storage};
use holdpoint_domain::evidence_capture::{
    CaptureEvidence, EvidenceCaptureCommand, EvidenceItem, StopCondition, StopFacts,
};
use holdpoint_domain::execution_loop::{
    CompleteLoop, DispatchFacts, DispatchLoop, ExecutionLoopCommand, ExecutionLoopEvent,
    ExecutorResponseType, Exit, LoopHalted, ReportResponse,
};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::human_decision::{Decided, HoldPolicy, HoldTerms, HumanDecisionRecord};
use holdpoint_domain::sandbox_fault::{
    ExecutionFaultType, ReportFault, SandboxDecision, SandboxFaultCommand, SandboxFaultEvent,
};
use holdpoint_domain::{ActorId, Command, Event};
use std::ops::ControlFlow;
use std::time::Duration;

/// A run under way.
pub(super) struct Runner<'a, S: Storage> {
    pub(super) engine: &'a Engine<S>,
    pub(super) run: &'a GovernedRun,
    pub(super) terms: &'a HoldTerms,
    pub(super) origin: Origin,
    pub(super) seat: RunSeat<'a, S>,
    envelope_hash: String,
    pub(super) loop_id: String,
    pub(super) attempts: u8,
    first_sequence: u64,
    pub(super) halted: Option<LoopHalted>,
    fault: Option<FaultOutcome>,
    pub(super) decision: Option<HumanDecisionRecord>,
    pub(super) left_open: Option<Question>,
    wall: Duration,
    pub(super) execution: Option<ExecutionReport>,
    /// True if what came of the last execution is on the log, or waits in the run's own file.
    pub(super) is_recorded: bool,
    /// Output of the last execution that is not recorded, for want of space.
    pub(super) given_up: GivenUp,
    pub(super) details: Option<String>,
    pub(super) exit_status: u8,
    /// The program that was approved for the start: every attempt starts it.
    approved_program: Option<ApprovedProgram>,
    /// The files that were approved for the start: the first attempt finds them as they were.
    approved_files: Option<BoundFiles>,
    /// True if Phase-21 permits another attempt after a fault that waited.
    pub(super) is_permitted: bool,
    /// True if the last attempt ended as it should: no other response completes a loop.
    pub(super) is_well: bool,
    /// True if another attempt may follow the last one, as far as Phase-21 says so.
    pub(super) may_be_tried_again: bool,
    /// True if another attempt was due, and the log let none begin.
    pub(super) is_cut_short: bool,
    /// True if a question may follow when what waits is taken up.
    pub(super) may_be_asked: bool,
    /// The guard of an attempt that has ended, until that is on record.
    pub(super) parting: Option<Parting>,
}

impl<'a, S: Storage> Runner<'a, S> {
    /// The loop begins to exist. The first receipt, where it was begun before under the same key.
    pub(super) fn begin(
        engine: &'a Engine<S>,
        origin: &Origin,
        conditions: &Conditions,
        run: &'a GovernedRun,
        terms: &'a HoldTerms,
    ) -> Result<ControlFlow<Receipt, Self>, RunError> {
        let envelope = InstructionEnvelope::of(&run.command, &run.environment);
        let initialize = initialize(engine, run, terms, &envelope)?;
        let origin = story_of(engine, origin, run)?;
        let mut runner = Self::new(engine, run, terms, origin, initialize.loop_id())?;
        let command = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(initialize));
        let submitted = match runner.run.approval {
            // Its key is removed once the approval is spent, durably.
            Some(_) => engine.submit(&runner.origin, conditions, &command),
            None => runner.seat.ahead(&runner.origin, conditions, &command),
        };
        match submitted.map_err(RunError::from) {
            Ok(Submitted::Repeated(first)) => {
                runner.seat.leave();
                Ok(ControlFlow::Break(first))
            }
            begun => match begun.and_then(|begun| runner.follow(begun)) {
                Ok(_) => Ok(ControlFlow::Continue(runner)),
                Err(error) => {
                    runner.seat.leave();
                    Err(error)
                }
            },
        }
    }

    fn new(
        engine: &'a Engine<S>,
        run: &'a GovernedRun,
        terms: &'a HoldTerms,
        origin: Origin,
        loop_id: String,
    ) -> Result<Self, RunError> {
        Ok(Self {
            engine,
            run,
            terms,
            origin,
            seat: RunSeat::take(engine.core(), loop_id.clone())?,
            envelope_hash: InstructionEnvelope::of(&run.command, &run.environment).hex(),
            loop_id,
            attempts: 0,
            first_sequence: 0,
            halted: None,
            fault: None,
            decision: None,
            left_open: None,
            wall: Duration::ZERO,
            execution: None,
            is_recorded: false,
            given_up: GivenUp::default(),
            details: None,
            exit_status: EXIT_HOLDPOINT_FAILED,
            approved_program: None,
            approved_files: None,
            is_permitted: false,
            is_well: false,
            may_be_tried_again: false,
            is_cut_short: false,
            may_be_asked: false,
            parting: None,
        })
    }

    /// A loop that exists, whose last question was decided as RETRY when nobody waited for it.
    pub(super) fn resume(
        engine: &'a Engine<S>,
        actor: &ActorId,
        run: &'a GovernedRun,
        entity: &'a ExecutionLoop,
        decided: &Decided,
    ) -> Result<Self, RunError> {
        let origin = Origin {
            actor: actor.clone(),
            correlation: entity.correlation.clone(),
            causation: Some(decided.sequence),
        };
        let loop_id = entity.loop_id().to_string();
        let mut runner = Self::new(engine, run, &entity.hold, origin, loop_id)?;
        runner.attempts = entity.attempt_count();
        runner.decision = Some(decided.record.clone());
        Ok(runner)
    }

    /// Returns whether a person was asked before the first attempt.
    pub(super) fn is_asked_before(&self) -> bool {
        self.run.gate.before
    }

    /// Every attempt starts this program and no other.
    pub(super) fn expect_program(&mut self, program: ApprovedProgram) {
        self.approved_program = Some(program);
    }

    /// The next attempt finds these files as they were approved.
    pub(super) fn expect_files(&mut self, files: BoundFiles) {
        self.approved_files = Some(files);
    }

    /// Carries the run out, and says what came of it.
    pub(super) fn conclude(
        mut self,
        prompter: &mut dyn Prompter,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<HeldRun, RunError> {
        let carried_out = self.carry_out(prompter, sink, signals);
        let acknowledged = self.seat.acknowledge().and_then(|()| self.seat.check_reach());
        let place = self.end_place();
        self.is_recorded &= match &acknowledged {
            Ok(()) => true,
            Err(error) => error.is_behind_commit(),
        };
        if self.is_recorded {
            self.part_from_guard();
        }
        match carried_out.and_then(|()| Ok(acknowledged?)) {
            Ok(()) => self.into_outcome(),
            Err(error) => Err(self.told_of(error, place)),
        }
    }

    /// Attempts until the loop halts or is left to whoever answers.
    fn carry_out(
        &mut self,
        prompter: &mut dyn Prompter,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<(), RunError> {
        loop {
            if !self.settle_attempt()? {
                return Ok(());
            }
            let refusal = self.run.command.resolve().err();
            if !self.dispatch_or_leave(refusal.as_ref(), signals)? {
                return Ok(());
            }
            let is_permitted = self.attempt_once(refusal.as_ref(), sink, signals)?;
            if self.halted.is_some() {
                return Ok(());
            }
            if self.seat.is_waiting() && !self.catch_up()? {
                return Ok(());
            }
            let is_permitted = is_permitted || std::mem::take(&mut self.is_permitted);
            match self.pass_hold_point(is_permitted, prompter, sink, signals)? {
                Next::Again => {}
                Next::Stop => return Ok(()),
                Next::Complete => {
                    let (loop_id, entropy) = (self.loop_id.clone(), self.engine.entropy()?);
                    let complete = CompleteLoop { loop_id, entropy };
                    let complete = ExecutionLoopCommand::CompleteLoop(complete);
                    return self.record(&Command::ExecutionLoop(complete)).map(drop);
                }
            }
        }
    }

    /// One attempt that was dispatched: started, captured, reported. Whether another one is
    /// permitted.
    fn attempt_once(
        &mut self,
        refusal: Option<&StartRefusal>,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<bool, RunError> {
        if self.halted.is_some() {
            self.refused_to_start(refusal);
            return Ok(false);
        }
        let started = self.seat.start(&self.origin, self.run.recording.on_full)?;
        self.follow(started)?;
        if self.halted.is_some() || !self.has_room()? {
            return Ok(false);
        }
        let files = self.approved_files.take();
        if let Err(difference) = files.map_or(Ok(()), |files| files.check()) {
            return self.stop_replaced(&difference).map(|()| false);
        }
        let opened = self.approved_program.as_ref().map(|program| program.open(&self.run.command));
        let opened = match opened.transpose() {
            Ok(opened) => opened,
            Err(difference) => return self.stop_replaced(&difference).map(|()| false),
        };
        self.is_recorded = false;
        let is_permitted = match self.execute(opened, sink, signals)? {
            Ok(mut report) => {
                // Until that is durable, the guard would write down how the command ended.
                self.parting = report.parting.take();
                self.executed(report)?
            }
            Err(error @ ExecuteError::Replaced { .. }) => {
                self.stop_replaced(&error.to_string()).map(|()| false)?
            }
            Err(error @ ExecuteError::Watch { .. }) => self.lost_sight(&error)?,
            Err(error) => self.not_executed(&error).map(|()| false)?,
        };
        self.is_recorded = true;
        Ok(is_permitted)
    }

    /// Returns whether the ending of the attempt could be written whatever becomes of the disk:
    /// nothing is started otherwise.
    fn has_room(&mut self) -> Result<bool, RunError> {
        let Err(error) = self.seat.reserve_room() else { return Ok(true) };
        if !matches!(error, AppendError::NoSpace { .. }) {
            return Err(SubmitError::from(error).into());
        }
        let details = format!("not started, because its end could not be recorded: {error}");
        self.exit_status = EXIT_HOLDPOINT_FAILED;
        self.details = Some(details.clone());
        let facts = StopFacts { resources_available: Some(false), ..StopFacts::default() };
        self.stop(StopCondition::ResourceLimitExceeded, facts, details).map(|()| false)
    }

    /// All ten stop conditions are checked here; a signal that came before the start is one.
    pub(super) fn dispatch(
        &mut self,
        refusal: Option<&StartRefusal>,
        signals: &mut dyn SignalSource,
    ) -> Result<(), RunError> {
        let interrupt = Interrupt::take(signals);
        self.details = interrupt.map(|by| format!("{} before the command started", by.details()));
        if let Some(interrupt) = interrupt {
            self.exit_status = interrupt.exit_status();
            if !interrupt.is_typed() {
                return self.interrupt(interrupt);
            }
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
                human_abort_signaled: Some(interrupt.is_some()),
            },
        };
        let command = match self.attempts {
            0 => Command::ExecutionLoop(ExecutionLoopCommand::DispatchLoop(dispatch)),
            _ => Command::ExecutionLoop(ExecutionLoopCommand::RetryLoop(dispatch)),
        };
        match interrupt {
            // Only what was typed gets here.
            Some(_) => self.submit_as_typed(&command).map(drop),
            None => {
                let ahead = self.seat.ahead(&self.origin, &Conditions::default(), &command)?;
                self.follow(ahead).map(drop)
            }
        }
    }

    fn refused_to_start(&mut self, refusal: Option<&StartRefusal>) {
        if let (Some(refusal), None) = (refusal, &self.details) {
            self.exit_status = refusal.exit_status();
            self.details = Some(refusal.to_string());
        }
    }

    /// Raw output first, then what it means.
    fn executed(&mut self, report: ExecutionReport) -> Result<bool, RunError> {
        self.exit_status = exit_status(&report);
        self.details = None;
        self.wall = self.wall.saturating_add(report.wall);
        let (told, exit, evidence) =
            (told(&report), exit(&report), evidence(self.run, &report, &self.given_up));
        self.may_be_tried_again =
            matches!(told, AttemptReport::Fault { fault, .. } if self.is_retryable(fault));
        self.is_well =
            matches!(told, AttemptReport::Response { reported: ExecutorResponseType::Success, .. });
        self.execution = Some(report);
        self.capture(evidence)?;
        Ok(match told {
            _ if self.halted.is_some() => false,
            AttemptReport::Response { reported, error } => {
                self.report_response(reported, error, exit).map(|()| false)?
            }
            AttemptReport::Fault { fault, message } => {
                self.details = Some(message.clone());
                self.report_fault(fault, message, exit)?
            }
            AttemptReport::Interrupt(interrupt) => self.interrupt(interrupt).map(|()| false)?,
        })
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
        self.record(&Command::ExecutionLoop(ExecutionLoopCommand::ReportResponse(response)))
            .map(drop)
    }

    /// Returns whether Phase-21 permits another attempt.
    fn report_fault(
        &mut self,
        fault_type: ExecutionFaultType,
        fault_message: String,
        exit: Exit,
    ) -> Result<bool, RunError> {
        let fault = ReportFault {
            loop_id: self.loop_id.clone(),
            entropy: self.engine.entropy()?,
            attempt: self.attempts,
            fault_type,
            fault_message,
            exit,
        };
        let recorded =
            self.record(&Command::SandboxFault(SandboxFaultCommand::ReportFault(fault)))?;
        Ok(recorded.is_some_and(|receipt| self.sandbox_permits(&receipt)))
    }

    fn capture(&mut self, items: Vec<EvidenceItem>) -> Result<(), RunError> {
        let (loop_id, entropy) = (self.loop_id.clone(), self.engine.entropy()?);
        let capture = CaptureEvidence { loop_id, entropy, items };
        let command = EvidenceCaptureCommand::CaptureEvidence(capture);
        self.record(&Command::EvidenceCapture(command)).map(drop)
    }

    /// Returns whether Phase-21 permits another attempt after the fault: only RETRY does.
    pub(super) fn sandbox_permits(&mut self, receipt: &Receipt) -> bool {
        let mut permits = false;
        let reported = receipt.events.iter().find_map(|event| match event {
            Event::SandboxFault(SandboxFaultEvent::FaultReported(body)) => Some(body.fault_type),
            _ => None,
        });
        let Some(fault_type) = reported else { return false };
        let escalation = receipt.events.iter().find_map(Event::decision_point).map(String::from);
        for event in &receipt.events {
            if let Event::SandboxFault(SandboxFaultEvent::SandboxDecided(decided)) = event {
                permits = decided.sandbox_decision == SandboxDecision::Retry;
                self.exit_status = self.status_after(decided.sandbox_decision);
                self.fault = Some(FaultOutcome {
                    fault_type,
                    code: decided.reason_code.as_str().to_string(),
                    sandbox_decision: decided.sandbox_decision,
                    escalation: escalation.clone(),
                });
            }
        }
        permits
    }

    /// Returns the status of the run after a decision: where nobody is asked because Phase-21 says
    /// TERMINATE, the run did not pass its hold.
    const fn status_after(&self, decision: SandboxDecision) -> u8 {
        let is_held = !matches!(self.terms.policy, HoldPolicy::Never);
        match (self.exit_status, decision) {
            (0, SandboxDecision::Terminate) if is_held => EXIT_FAULT_TERMINATED,
            (status, _) => status,
        }
    }

    /// The command ran, and nobody can tell how it ended.
    fn lost_sight(&mut self, error: &ExecuteError) -> Result<bool, RunError> {
        self.exit_status = status_of_unknown();
        self.details = Some(error.to_string());
        self.report_fault(ExecutionFaultType::Crash, error.to_string(), Exit::Unknown)
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
        self.details = Some(error.to_string());
        self.stop(condition, facts, error.to_string())
    }

    /// Each step is caused by the last record of the step before.
    pub(super) fn submit(&mut self, command: &Command) -> Result<Receipt, RunError> {
        let submitted = self.engine.submit(&self.origin, (), command)?;
        self.follow(submitted)
    }

    pub(super) fn follow(&mut self, submitted: Submitted) -> Result<Receipt, RunError> {
        let receipt = match submitted {
            Submitted::Accepted(receipt) | Submitted::Repeated(receipt) => receipt,
            Submitted::Refused(refusal) => return Err(RunError::Refused(refusal)),
        };
        self.origin.causation = Some(receipt.last_sequence);
        if self.first_sequence == 0 {
            self.first_sequence = receipt.first_sequence;
        }
        for event in &receipt.events {
            match event {
                Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(halted)) => {
                    self.halted = Some(halted.clone())
                }
                Event::ExecutionLoop(ExecutionLoopEvent::LoopDispatched(dispatched)) => {
                    self.attempts = dispatched.attempt
                }
                _ => {}
            }
        }
        Ok(receipt)
    }

    fn into_outcome(self) -> Result<HeldRun, RunError> {
        let (is_waiting, waits_for_room) = (self.seat.is_waiting(), self.seat.waits_for_room());
        let log_failure = self.seat.log_failure();
        if !is_waiting && (self.halted.is_some() || self.left_open.is_some()) {
            self.seat.leave();
        }
        // A halt that was not synced waits as well.
        let halted = self.halted.filter(|_| !is_waiting);
        let is_end_waiting = self.left_open.is_none() && halted.is_none();
        let summary = RunSummary {
            loop_id: self.loop_id,
            // Its record waits with the end.
            fault: self.fault.filter(|_| !is_end_waiting),
            attempts: self.attempts,
            first_sequence: self.first_sequence,
            last_sequence: self.origin.causation.unwrap_or(self.first_sequence),
            wall: self.wall,
            execution: self.execution,
            is_evidence_dropped: self.given_up.bytes > 0,
        };
        if let Some(question) = self.left_open {
            return Ok(HeldRun::LeftOpen(Box::new(LeftOpen { summary, question })));
        }
        let (exit_status, details) = (self.exit_status, self.details);
        if let Some(halted) = halted {
            let decision = self.decision;
            let report = RunReport { summary, exit_status, halted, decision, details };
            return Ok(HeldRun::Ended(Box::new(report)));
        }
        if !is_waiting {
            return Err(RunError::Unfinished { loop_id: summary.loop_id });
        }
        Ok(HeldRun::EndWaits(Box::new(EndWaits {
            summary,
            exit_status,
            may_be_asked: self.may_be_asked,
            is_cut_short: self.is_cut_short,
            waits_for_room,
            log_failure,
            details,
        })))
    }
}

fn is_not_authorized(refusal: &StartRefusal) -> bool {
    matches!(refusal, StartRefusal::NotExecutable { .. })
}
