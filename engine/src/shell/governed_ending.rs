//! Records of a run once its command began: on the log, or in the run's own file while another
//! process keeps the log's lock, the log's disk is full, or the log fails.

use super::conditions::Conditions;
use super::error::SubmitError;
use super::governed::Runner;
use super::interrupt::Interrupt;
use super::origin::Origin;
use super::receipt::{Receipt, Submitted};
use super::run::{ASKING, BINDING_MISMATCH, EXIT_HOLDPOINT_FAILED, RunError};
use super::run_seat::{StepOutcome, Sync};
use crate::executor::{Parting, SignalSource, StartRefusal};
use crate::log::{Room, Storage};
use holdpoint_domain::core::actor::{Actor, Authentication};
use holdpoint_domain::evidence_capture::{StopCondition, StopFacts};
use holdpoint_domain::execution_loop::{CompleteLoop, ExecutionLoopCommand, StopLoop};
use holdpoint_domain::human_decision::{HoldPolicy, HumanDecisionCommand, RequestHumanDecision};
use holdpoint_domain::sandbox_fault::{ExecutionFaultType, RetryPolicy, classify_fault};
use holdpoint_domain::{ActorId, Command, Proof};

/// The place of the end of the last execution.
#[derive(Clone, Copy)]
pub(super) enum EndPlace {
    /// None: it is lost with this process.
    Nowhere,
    /// The log, to which it was appended.
    Log,
    /// The run's own file, durably.
    RunFile,
}

impl<S: Storage> Runner<'_, S> {
    /// Does the same as [`Runner::submit`], once the attempt's start is on the log: what is
    /// recorded may wait in the run's own file. `None`: it does. Durable when the run concludes, or
    /// with the next step that is submitted.
    pub(super) fn record(&mut self, command: &Command) -> Result<Option<Receipt>, RunError> {
        let proof = self.engine.core().identity.proof_of(&self.origin.actor);
        let recorded =
            self.seat.record(Room::Reserved, (&self.origin, proof), command, Sync::Later)?;
        self.take_note(recorded)
    }

    /// The end of the attempt is durable: its guard has nothing to write down.
    pub(super) fn part_from_guard(&mut self) {
        self.parting.take().into_iter().for_each(Parting::recorded);
    }

    /// Before another attempt the end of the one before is durable, on the log. `false`: it waits
    /// in the run's own file, and no attempt begins.
    pub(super) fn settle_attempt(&mut self) -> Result<bool, RunError> {
        if self.parting.is_some() {
            self.seat.acknowledge()?;
            if self.seat.is_waiting() {
                self.is_cut_short = true;
                return self.leave_the_rest().map(|()| false);
            }
            self.part_from_guard();
        }
        Ok(true)
    }

    /// Dispatches an attempt. `false`: the log does not take it, and what follows from the attempt
    /// before waits in the run's own file.
    pub(super) fn dispatch_or_leave(
        &mut self,
        refusal: Option<&StartRefusal>,
        signals: &mut dyn SignalSource,
    ) -> Result<bool, RunError> {
        match self.dispatch(refusal, signals) {
            Err(RunError::Submit(error)) if self.execution.is_some() && error.is_of_log() => {
                self.is_cut_short = true;
                self.leave_the_rest().map(|()| false)
            }
            dispatched => dispatched.map(|()| true),
        }
    }

    /// Tells whether Phase-21 permits another attempt after this fault.
    pub(super) fn is_retryable(&self, fault: ExecutionFaultType) -> bool {
        let most = self.run.max_attempts;
        match classify_fault(fault).narrowed_by(self.run.retry_ceiling) {
            RetryPolicy::RetryLimited => self.attempts < most,
            RetryPolicy::RetryOnce => self.attempts < most.min(2),
            RetryPolicy::NoRetry | RetryPolicy::HumanDecision => false,
        }
    }

    /// The place of the end of the last execution, before the last sync.
    pub(super) fn end_place(&self) -> EndPlace {
        match (self.is_recorded, self.seat.is_waiting()) {
            (false, _) => EndPlace::Nowhere,
            (true, true) if self.seat.check_reach().is_err() => EndPlace::Nowhere,
            (true, false) => EndPlace::Log,
            (true, true) => EndPlace::RunFile,
        }
    }

    /// Once the command ran, a failure is told with the status that it ran to.
    pub(super) fn told_of(self, error: RunError, place: EndPlace) -> RunError {
        if self.execution.is_none() {
            return error;
        }
        let (loop_id, exit_status, source) = (self.loop_id, self.exit_status, Box::new(error));
        match (place, self.is_recorded) {
            (EndPlace::RunFile, _) => RunError::EndWaitsUnfinished { loop_id, exit_status, source },
            (EndPlace::Log, true) => RunError::NotConcluded { loop_id, exit_status, source },
            (EndPlace::Log, false) => RunError::NotSynced { loop_id, exit_status, source },
            (EndPlace::Nowhere, _) => RunError::NotRecorded { loop_id, exit_status, source },
        }
    }

    /// Returns whether how the run ended waits in its own file.
    pub(super) fn is_ending_waiting(&self) -> bool {
        self.seat.is_waiting()
    }

    pub(super) fn take_note(&mut self, recorded: StepOutcome) -> Result<Option<Receipt>, RunError> {
        match recorded {
            StepOutcome::InFile => Ok(None),
            StepOutcome::OnLog { before, submitted } => {
                self.follow_waited(before);
                // What waited has ended the run: what was decided before that was known is refused.
                if self.halted.is_some() && matches!(submitted, Submitted::Refused(_)) {
                    return Ok(None);
                }
                self.follow(submitted).map(Some)
            }
        }
    }

    /// Follows the outcome of what waited, which is on the log. A refusal among it says that the
    /// run ended meanwhile.
    fn follow_waited(&mut self, waited: Vec<Submitted>) {
        for submitted in waited {
            if let Ok(receipt) = self.follow(submitted) {
                self.is_permitted |= self.sandbox_permits(&receipt);
            }
        }
    }

    /// Returns whether the run can go on while the end of the attempt waits in the run's own file:
    /// where a question or another attempt may follow, the log is waited for as for any start; if
    /// that is not enough, the question is left to be asked by whoever takes up the end.
    pub(super) fn catch_up(&mut self) -> Result<bool, RunError> {
        if !self.is_held() && !self.may_be_tried_again {
            return Ok(true);
        }
        match self.seat.settle(&self.origin) {
            Ok(waited) => {
                self.follow_waited(waited);
                Ok(self.halted.is_none())
            }
            Err(error) if error.is_of_log() => {
                self.is_cut_short = self.may_be_tried_again;
                self.leave_the_rest().map(|()| false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether a hold applies to how the attempt ended, unless its fault ends the loop at
    /// once.
    fn is_held(&self) -> bool {
        match self.terms.policy {
            HoldPolicy::Never => false,
            HoldPolicy::OnFailure => !self.is_well,
            HoldPolicy::After => true,
        }
    }

    /// Lets the commands behind the end wait in the run's own file: where a hold applies only the
    /// question counts, and where none does only the completion, for the rules refuse the other
    /// one.
    pub(super) fn leave_the_rest(&mut self) -> Result<(), RunError> {
        let proof = self.engine.core().identity.proof_of(&self.origin.actor);
        let loop_id = || self.loop_id.clone();
        let ask = RequestHumanDecision { loop_id: loop_id(), entropy: self.engine.entropy()? };
        let complete = CompleteLoop { loop_id: loop_id(), entropy: self.engine.entropy()? };
        let ask = HumanDecisionCommand::RequestHumanDecision(ask);
        let complete = ExecutionLoopCommand::CompleteLoop(complete);
        let held = self.is_held().then_some(Command::HumanDecision(ask));
        self.may_be_asked = held.is_some();
        for command in held.into_iter().chain([Command::ExecutionLoop(complete)]) {
            let kept = self.seat.record_behind(&self.origin, proof, &command);
            if let Err(source) = kept {
                self.seat.check_reach()?;
                return Err(SubmitError::EndNotKept { source }.into());
            }
        }
        if self.may_be_asked {
            self.engine.keep_retry_key_unasked(&self.loop_id);
        }
        Ok(())
    }

    pub(super) fn stop(
        &mut self,
        condition: StopCondition,
        facts: StopFacts,
        details: String,
    ) -> Result<(), RunError> {
        let (loop_id, entropy) = (self.loop_id.clone(), self.engine.entropy()?);
        let stop = StopLoop { loop_id, entropy, condition, facts, details };
        self.record(&Command::ExecutionLoop(ExecutionLoopCommand::StopLoop(stop))).map(drop)
    }

    /// Nothing is started in the place of what was approved.
    pub(super) fn stop_replaced(&mut self, difference: &str) -> Result<(), RunError> {
        let facts = StopFacts { authorization_present: Some(false), ..StopFacts::default() };
        let details = format!(
            "not what was approved ({BINDING_MISMATCH}): {difference}; ask anew with `{ASKING}`"
        );
        self.exit_status = EXIT_HOLDPOINT_FAILED;
        self.details = Some(details.clone());
        self.stop(StopCondition::MissingAuthorization, facts, details)
    }

    /// Halts for a signal that asked for the end.
    pub(super) fn interrupt(&mut self, interrupt: Interrupt) -> Result<(), RunError> {
        let details = self.details.get_or_insert_with(|| interrupt.details()).clone();
        let (loop_id, entropy) = (self.loop_id.clone(), self.engine.entropy()?);
        let command = interrupt.command(loop_id, entropy, details);
        match interrupt.is_typed() {
            true => {
                let (origin, proof) = self.as_typed();
                let recorded =
                    self.seat.record(Room::Reserved, (&origin, proof), &command, Sync::Later)?;
                self.take_note(recorded).map(drop)
            }
            false => self.record(&command).map(drop),
        }
    }

    /// Does the same as [`Runner::submit`], for what a person at this process's terminal did, as
    /// the terminal's driver says.
    pub(super) fn submit_as_typed(&mut self, command: &Command) -> Result<Receipt, RunError> {
        let (origin, proof) = self.as_typed();
        let core = self.engine.core();
        let conditions = Conditions::default();
        let begun = core.begin_proven(&origin, (&core.identity, proof), &conditions, command)?;
        let submitted = begun.acknowledged()?;
        self.follow(submitted)
    }

    /// The person at this process's terminal.
    fn as_typed(&self) -> (Origin, Proof) {
        let identity = &self.engine.core().identity;
        let actor = ActorId { kind: Actor::Human, id: identity.name().to_string() };
        let user = identity.proof_of(&actor).user;
        let origin = Origin { actor, ..self.origin.clone() };
        (origin, Proof { user, by: Authentication::Terminal })
    }
}
