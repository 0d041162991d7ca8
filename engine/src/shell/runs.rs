//! Beginning of a run, in its own story or in that of its approval. Under a key it is carried out
//! once, and whoever asks again is told of the first one.

use super::conditions::Conditions;
use super::engine::Engine;
use super::error::SubmitError;
use super::governed::Runner;
use super::prompter::{NoPrompt, Prompter};
use super::receipt::Receipt;
use super::run::{EarlierRun, GovernedRun, KeyedRun, RunError};
use super::submit::Origin;
use crate::executor::{OutputSink, SignalSource};
use crate::log::Storage;
use holdpoint_domain::Event;
use holdpoint_domain::execution_loop::ExecutionLoopEvent;
use holdpoint_domain::human_decision::HoldTerms;
use holdpoint_domain::world::Term;
use std::ops::ControlFlow;

impl<S: Storage> Engine<S> {
    /// Runs a command under an execution loop, without a hold point: what Phase-21 permits is done
    /// at once. Whatever happens to the command is a fact on the log and in the report; if the log
    /// cannot be written the command does not start. [`KeyedRun::ended`] is for whoever goes on
    /// only with a run that was carried out and ended.
    ///
    /// Asked again with the same key and the same command, terms and actor, nothing is started, and
    /// the answer is the first run's loop: how it ended, or that it did not end yet, which is not
    /// waited for. With another content under the key the run is refused with
    /// `IDEMPOTENCY_CONFLICT`. The key stands in the origin's correlation, so that whoever tries
    /// again names the story with [`Origin::within`].
    ///
    /// # Errors
    /// The log failed, or a rule refused what the run had to record.
    pub fn run(
        &self,
        origin: &Origin,
        conditions: impl Into<Conditions>,
        run: &GovernedRun,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<KeyedRun, RunError> {
        let (never, nobody) = (HoldTerms::never(), &mut NoPrompt);
        self.run_held(origin, conditions, run, &never, nobody, sink, signals)
    }

    /// Runs like [`Engine::run`], with a hold point: where the terms say so, nothing goes on before
    /// a person decided. CONTINUE ends the loop as the attempt left it, RETRY runs the command
    /// again under the same loop, ESCALATE asks somebody else, ABORT halts, and so does a deadline
    /// that nobody met. Nobody holds a lock while a person thinks.
    ///
    /// # Errors
    /// As [`Engine::run`].
    #[expect(clippy::too_many_arguments, reason = "each is somebody else's: who, when, what, ...")]
    pub fn run_held(
        &self,
        origin: &Origin,
        conditions: impl Into<Conditions>,
        run: &GovernedRun,
        terms: &HoldTerms,
        prompter: &mut dyn Prompter,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<KeyedRun, RunError> {
        match Runner::begin(self, origin, &conditions.into(), run, terms)? {
            ControlFlow::Break(first) => self.earlier_run(&first).map(KeyedRun::Before),
            ControlFlow::Continue(runner) => {
                runner.conclude(prompter, sink, signals).map(KeyedRun::Now)
            }
        }
    }

    /// Returns what the log tells of a run that was begun before.
    fn earlier_run(&self, first: &Receipt) -> Result<EarlierRun, RunError> {
        let (loop_id, first_sequence) = (loop_of(first), first.first_sequence);
        if loop_id.is_empty() {
            return Err(RunError::BeginningArchived { first_sequence });
        }
        let records = self.records_with(&Term::Loop(&loop_id))?;
        let halted = records.into_iter().rev().find_map(|record| match record.envelope.event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(halted)) => Some(halted),
            _ => None,
        });
        Ok(EarlierRun { loop_id, halted, first_sequence })
    }
}

/// The loop that a receipt tells the beginning of; nothing where its records were archived.
pub(super) fn loop_of(receipt: &Receipt) -> String {
    let begun = receipt.events.iter().find_map(|event| match event {
        Event::ExecutionLoop(ExecutionLoopEvent::LoopInitialized(begun)) => {
            Some(begun.loop_id.to_string())
        }
        _ => None,
    });
    begun.unwrap_or_default()
}

/// A run that was approved belongs to the story of its question, and is caused by the answer.
pub(super) fn story_of<S: Storage>(
    engine: &Engine<S>,
    origin: &Origin,
    run: &GovernedRun,
) -> Result<Origin, SubmitError> {
    let Some(approval) = &run.approval else { return Ok(origin.clone()) };
    let asked = engine.query(|world| {
        let point = world.decision_point(&approval.decision_id)?;
        let answered = point.ending.as_ref().map(|ending| ending.sequence);
        Some((point.correlation.clone(), answered))
    })?;
    Ok(match asked {
        Some((correlation, causation)) => Origin { correlation, causation, ..origin.clone() },
        None => origin.clone(),
    })
}
