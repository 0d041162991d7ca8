//! Going on with a loop that a person let be tried again when nobody waited for the answer.

use super::engine::Engine;
use super::error::SubmitError;
use super::governed::Runner;
use super::prompter::Prompter;
use super::rebuild::{find_event, first_kept};
use super::run::{BINDING_MISMATCH, GovernedRun, HeldRun, KEY_MISSING, RunError};
use super::start::{ApprovedProgram, StartError, recorded_of};
use super::submit::Origin;
use crate::executor::{CommandSpec, InstructionEnvelope, OutputSink, ShownValue, SignalSource};
use crate::executor::{command_line, visible as shown};
use crate::log::Storage;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_domain::evidence_capture::{EvidenceCaptureEvent, EvidenceContent};
use holdpoint_domain::execution_loop::{ExecutionLoopEvent, ExecutionLoopState};
use holdpoint_domain::governed::{ExecutionLoop, RequestPlace};
use holdpoint_domain::human_decision::{
    Decided, HumanDecision, HumanDecisionRefusal, RequestOutcome,
};
use holdpoint_domain::log::RUN_TOOL;
use holdpoint_domain::{Event, World};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use thiserror::Error;

/// A loop was not gone on with. Unless it is [`ResumeError::Run`], nothing was recorded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The log failed or cannot be read.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// No question has this id, or none that is still remembered.
    #[error("{0}")]
    Unknown(HumanDecisionRefusal),
    /// The question was not decided as RETRY, or what follows was begun already.
    #[error("{request_id} lets nothing be tried again: {found}")]
    NoRetry {
        /// The question.
        request_id: String,
        /// State of it.
        found: String,
    },
    /// The command is not the one that was asked about.
    #[error("{request_id} was about another command: {}", .differences.join("; "))]
    Differs {
        /// The question.
        request_id: String,
        /// Differences, item by item.
        differences: Vec<String>,
    },
    /// The program is not the one with which the start was approved.
    #[error(
        "{decision_id}, by which the start was approved, is about another program: {difference}; \
         go on with that one in its place, or start the command anew"
    )]
    OtherProgram {
        /// The question before the start.
        decision_id: String,
        /// Difference between them.
        difference: String,
    },
    /// Nobody can tell with which program the start was approved.
    #[error(
        "the program that {decision_id} approved the start of is not on the log any more; start \
         the command anew"
    )]
    ProgramForgotten {
        /// The question before the start.
        decision_id: String,
    },
    /// The RETRY is not for the log in this place.
    #[error(
        "{request_id} was asked in the log {asked}, and this is {here}; go on in that one: where \
         it was moved, rename it back, or start the command anew"
    )]
    OtherLog {
        /// The question.
        request_id: String,
        /// Place of that log.
        asked: String,
        /// Place of this log.
        here: String,
    },
    /// The key is not there with which the attempt can begin.
    #[error(
        "the key of {request_id} is not in {}: it was used, or another user or machine has it; go \
         on as the user and on the machine that asked, or start the command anew", .file.display()
    )]
    KeyMissing {
        /// The question.
        request_id: String,
        /// Place where it should be.
        file: PathBuf,
    },
    /// The key cannot be read or taken.
    #[error(transparent)]
    Key(Box<StartError>),
    /// The run could not be recorded as it should.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<StartError> for ResumeError {
    fn from(error: StartError) -> Self {
        Self::Key(Box::new(error))
    }
}

impl ResumeError {
    /// The stable reason code.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Submit(_) => "NOT_RECORDED",
            Self::Unknown(refusal) => refusal.code(),
            Self::NoRetry { .. } => "NOTHING_TO_RESUME",
            Self::Differs { .. } => "ENVELOPE_HASH_MISMATCH",
            Self::OtherProgram { .. } | Self::ProgramForgotten { .. } | Self::OtherLog { .. } => {
                BINDING_MISMATCH
            }
            Self::KeyMissing { .. } => KEY_MISSING,
            Self::Key(error) => error.code(),
            Self::Run(RunError::Refused(refusal)) => refusal.code(),
            Self::Run(_) => "NOT_RECORDED",
        }
    }
}

impl<S: Storage> Engine<S> {
    /// Begins the next attempt of a loop whose question was decided as RETRY, and goes on as
    /// [`Engine::run_held`] does under the terms that the loop began with. The command has to be
    /// the loop's own, to the byte, and the log the one in which the question was left open, in its
    /// place. Of two that try, one begins the attempt. It goes on in the loop's story, because of
    /// the answer: of the origin the actor counts.
    ///
    /// # Errors
    /// See [`ResumeError`].
    pub fn resume_held(
        &self,
        origin: &Origin,
        run: &GovernedRun,
        request_id: &str,
        prompter: &mut dyn Prompter,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<HeldRun, ResumeError> {
        self.expect_adopted()?.map_err(RunError::Refused)?;
        self.expire()?;
        let (entity, decided) = self.query(|world| to_resume(world, request_id))??;
        let run = self.as_approved(&entity, run)?;
        let envelope = InstructionEnvelope::of(&run.command, &run.environment);
        if envelope.hex() != entity.context.instruction_envelope_hash() {
            let differences = match self.envelope_of(&entity)? {
                Some(before) => differences(&before, &envelope),
                None => vec![format!("the command was `{}`", entity.command_line)],
            };
            return Err(ResumeError::Differs { request_id: request_id.to_string(), differences });
        }
        let approved = self.program_approved_for(&entity, &run.command)?;
        // Another attempt needs a person here, whether or not the start was approved.
        let mut run = run;
        run.gate.before = true;
        self.take_retry_key(request_id, entity.loop_id())?;
        let resumed = Runner::resume(self, &origin.actor, &run, &entity, &decided);
        let resumed = resumed.and_then(|mut runner| {
            if let Some(program) = approved {
                runner.expect_program(program);
            }
            runner.conclude(prompter, sink, signals)
        });
        // Nothing was begun where the RETRY still waits: it can be tried again.
        if resumed.is_err() && matches!(self.query(|w| to_resume(w, request_id)), Ok(Ok(_))) {
            self.keep_retry_key(entity.loop_id());
        }
        Ok(resumed?)
    }

    /// The run with what went on record of its environment when its start was approved: what is not
    /// bound did not.
    fn as_approved(
        &self,
        entity: &ExecutionLoop,
        run: &GovernedRun,
    ) -> Result<GovernedRun, ResumeError> {
        let envelope = InstructionEnvelope::of(&run.command, &run.environment).hex();
        if envelope == entity.context.instruction_envelope_hash() {
            return Ok(run.clone());
        }
        let Some(decision_id) = self.approval_of(entity)? else { return Ok(run.clone()) };
        let point = self.decision_point(&decision_id)?;
        let context = point.as_ref().and_then(|point| point.terms.proposal.context.as_deref());
        let recorded = context.and_then(|context| recorded_of(run, context));
        Ok(recorded.unwrap_or_else(|| run.clone()))
    }

    /// The program with which a person approved the start of a loop, where one was asked: the very
    /// one that the command would be started from.
    fn program_approved_for(
        &self,
        entity: &ExecutionLoop,
        command: &CommandSpec,
    ) -> Result<Option<ApprovedProgram>, ResumeError> {
        let Some(decision_id) = self.approval_of(entity)? else { return Ok(None) };
        let point = self.decision_point(&decision_id)?;
        let context = point.as_ref().and_then(|point| point.terms.proposal.context.as_deref());
        let Some(program) = context.and_then(ApprovedProgram::shown_in) else {
            return Err(ResumeError::ProgramForgotten { decision_id });
        };
        match program.open(command) {
            Ok(_) => Ok(Some(program)),
            Err(difference) => Err(ResumeError::OtherProgram { decision_id, difference }),
        }
    }

    /// The approval that was spent for the start of a loop.
    fn approval_of(&self, entity: &ExecutionLoop) -> Result<Option<String>, ResumeError> {
        let begun = find_event(self.core(), entity.started_sequence, |event| {
            let Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(begun)) =
                event.envelope.event
            else {
                return None;
            };
            (*begun.loop_id == *entity.loop_id()).then_some(begun)
        });
        match begun {
            Err(SubmitError::Follow(_)) if first_kept(self.core())? > entity.started_sequence => {
                self.approval_spent_before(entity.started_sequence)
            }
            begun => Ok(begun?.and_then(|begun| begun.approval).map(|id| id.to_string())),
        }
    }

    /// The run that an approval was spent for, where the log still holds its beginning.
    ///
    /// # Errors
    /// The log failed or cannot be read.
    pub fn run_started_by(&self, point: &DecisionPoint) -> Result<Option<String>, SubmitError> {
        let is_of_run = point.binding().is_some_and(|to| *to.tool == *RUN_TOOL);
        let Some(spent) = point.consumed.as_ref().filter(|_| is_of_run) else { return Ok(None) };
        if first_kept(self.core())? > spent.sequence {
            return Ok(None);
        }
        find_event(self.core(), spent.sequence, |event| {
            let Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(begun)) =
                event.envelope.event
            else {
                return None;
            };
            let is_it = begun.approval.as_deref() == Some(&*point.decision_id);
            is_it.then(|| String::from(begun.loop_id.as_str()))
        })
    }

    /// The same where the loop's beginning was moved to an archive: an approval is spent by the
    /// record before the one that begins the loop, and that the state remembers.
    fn approval_spent_before(&self, first_sequence: u64) -> Result<Option<String>, ResumeError> {
        let is_spent_so = |point: &&DecisionPoint| {
            let spent = point.consumed.as_ref();
            spent.is_some_and(|spent| spent.sequence.saturating_add(1) == first_sequence)
        };
        let (found, is_known) = self.query(|world| {
            let mut points = world.live_decision_points().chain(world.closed_decision_points());
            let found = points.find(is_spent_so).map(|point| point.decision_id.to_string());
            (found, !world.forgets_decision_points())
        })?;
        match found {
            None if !is_known => Err(RunError::BeginningArchived { first_sequence }.into()),
            found => Ok(found),
        }
    }

    /// The instruction that a loop began with, where the log still holds it: what was moved to an
    /// archive is not there to be compared.
    fn envelope_of(
        &self,
        entity: &ExecutionLoop,
    ) -> Result<Option<InstructionEnvelope>, SubmitError> {
        let begun = entity.started_sequence;
        let found = find_event(self.core(), begun, |event| {
            let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(captured)) =
                event.envelope.event
            else {
                return None;
            };
            let is_it = captured.content == EvidenceContent::Instruction
                && *captured.loop_id == *entity.loop_id();
            is_it.then(|| InstructionEnvelope::decode(captured.raw_data.as_bytes()))
        });
        match found {
            Err(SubmitError::Follow(_)) if first_kept(self.core())? > begun => Ok(None),
            found => Ok(found?.flatten()),
        }
    }
}

/// The loop that waits for its next attempt, and the RETRY that lets it.
fn to_resume(world: &World, request_id: &str) -> Result<(ExecutionLoop, Decided), ResumeError> {
    let no = |found: String| {
        let request_id = visible(request_id).to_string();
        ResumeError::NoRetry { request_id, found }
    };
    let Some(place) = world.find_request(request_id) else {
        let request_id = visible(request_id).to_string();
        return Err(ResumeError::Unknown(HumanDecisionRefusal::UnknownRequest { request_id }));
    };
    let decided = match &place.held().outcome {
        Some(RequestOutcome::Decided(decided)) => decided,
        Some(RequestOutcome::Withdrawn { .. }) => {
            return Err(no("its loop ended before anybody answered".to_string()));
        }
        None => return Err(no("nobody answered it yet".to_string())),
    };
    if decided.record.decision != HumanDecision::Retry {
        return Err(no(format!("it was decided {}", decided.record.decision)));
    }
    let RequestPlace::Live(entity, held) = place else {
        return Err(no("its loop ended since".to_string()));
    };
    let is_last = held.context.attempt == entity.attempt_count();
    if !is_last || entity.state() != ExecutionLoopState::Evaluated {
        return Err(no("the next attempt was begun already".to_string()));
    }
    Ok((entity.clone(), Decided::clone(decided)))
}

/// Returns what differs between two instructions, item by item.
fn differences(before: &InstructionEnvelope, now: &InstructionEnvelope) -> Vec<String> {
    let of = |envelope: &InstructionEnvelope| {
        let line = command_line(&envelope.program, &envelope.arguments);
        let directory = shown(envelope.directory.as_os_str());
        let mut items =
            BTreeMap::from([("command".to_string(), line), ("directory".to_string(), directory)]);
        items.extend(envelope.environment.iter().map(|(name, value)| {
            let value = match value {
                ShownValue::Shown(value) => shown(value),
                ShownValue::Redacted => "(kept secret)".to_string(),
            };
            (format!("variable {}", shown(&OsString::from(name))), value)
        }));
        items
    };
    let (before, now) = (of(before), of(now));
    let names = before.keys().chain(now.keys().filter(|name| !before.contains_key(*name)));
    let differing = names.filter(|name| before.get(*name) != now.get(*name));
    let nothing = "nothing".to_string();
    let told = differing.map(|name| {
        let then = before.get(name).unwrap_or(&nothing);
        let now = now.get(name).unwrap_or(&nothing);
        format!("{name}: {then} was asked about, {now} is given")
    });
    told.collect()
}
