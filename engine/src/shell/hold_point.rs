//! The hold point of a governed run: nothing goes on before a person decided. While the person
//! thinks nobody holds a lock, and the answer may come from this process or from another one.

use super::error::SubmitError;
use super::governed::Runner;
use super::interrupt::Interrupt;
use super::person_terminal::TypedLine;
use super::prompter::{PersonAnswer, PersonInput, Prompter, Question, WaitPolicy};
use super::rebuild::{first_kept, read_events};
use super::run::{EXIT_ABORTED, EXIT_HOLDPOINT_FAILED, EXIT_NOBODY_ANSWERED, RunError};
use super::submit::{Origin, Receipt, Submitted};
use super::watch::Watch;
use crate::executor::{OutputSink, SignalSource};
use crate::log::Storage;
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::evidence_capture::StopCondition;
use holdpoint_domain::execution_loop::{
    ExecutionLoopEvent, ExecutionLoopState, HaltReason, LoopHalted,
};
use holdpoint_domain::governed::ExecutionLoop;
use holdpoint_domain::governed::LoopRefusal;
use holdpoint_domain::human_decision::{
    AnswerHumanDecision, Decided, HoldPolicy, HumanDecision, HumanDecisionCommand,
    HumanDecisionEvent, HumanDecisionOutcome, HumanDecisionRefusal, RequestHumanDecision,
    RequestOutcome, ShowOutput,
};
use holdpoint_domain::sandbox_fault::ExecutionFaultType;
use holdpoint_domain::{ActorId, Command, Event, Refusal};
use std::ops::ControlFlow;

/// Step of a run after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another attempt.
    Again,
    /// The loop is to be completed.
    Complete,
    /// Nothing: the loop halted, or its question is left open.
    Stop,
}

/// Standing of a question in one look at the state.
struct QuestionStanding {
    /// Outcome of the question that was looked for.
    outcome: Option<RequestOutcome>,
    /// The question that is open now: another one where it was passed on.
    open: Option<Question>,
}

/// End of the loop where the person lets it: the reason, and the fault where that is the reason.
type Ending = Option<(HaltReason, Option<ExecutionFaultType>)>;

/// The question that a run asked.
struct RunQuestion {
    /// Sequence of its record.
    sequence: u64,
    ending: Ending,
}

impl<S: Storage> Runner<'_, S> {
    /// Returns what follows an attempt, once a person decided where the hold applies.
    pub(super) fn pass_hold_point(
        &mut self,
        is_permitted: bool,
        prompter: &mut dyn Prompter,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<Next, RunError> {
        // An approval before the start is for one start: another one needs a person's RETRY.
        let is_unasked = is_permitted && !self.is_asked_before();
        let unheld = if is_unasked { Next::Again } else { Next::Complete };
        let needs_nobody = is_unasked && !self.terms.retry_needs_person;
        // Of an end that waits it is known by now that no hold applies.
        let is_unheld = self.terms.policy == HoldPolicy::Never || self.is_ending_waiting();
        if needs_nobody || is_unheld {
            return Ok(unheld);
        }
        match self.held_ending()? {
            None => Ok(unheld),
            Some(ending) => self.ask(ending, prompter, sink, signals),
        }
    }

    /// Returns how the loop would end; `None` where the hold does not apply.
    fn held_ending(&self) -> Result<Option<Ending>, SubmitError> {
        self.engine.query(|world| {
            let entity = world.live_loop(&self.loop_id).filter(|entity| entity.hold_applies());
            entity.map(ExecutionLoop::ending)
        })
    }

    /// Asks, and waits until somebody decided or nobody did in time.
    fn ask(
        &mut self,
        ending: Ending,
        prompter: &mut dyn Prompter,
        sink: &mut dyn OutputSink,
        signals: &mut dyn SignalSource,
    ) -> Result<Next, RunError> {
        // Watched first, looked at then: an answer in between wakes the wait.
        let watch = Watch::of_log(self.engine.root());
        let (loop_id, entropy) = (self.loop_id.clone(), self.engine.entropy()?);
        let request = Command::HumanDecision(HumanDecisionCommand::RequestHumanDecision(
            RequestHumanDecision { loop_id, entropy },
        ));
        let receipt = match self.submit(&request) {
            // Whoever takes up the end asks.
            Err(RunError::Submit(error)) if error.is_of_log() => {
                return self.leave_the_rest().map(|()| Next::Stop);
            }
            submitted => submitted?,
        };
        self.part_from_guard();
        // Whoever is asked sees the last of what was printed above the question.
        sink.catch_up();
        let asked = RunQuestion { sequence: receipt.first_sequence, ending };
        let mut request_id = request_of(&receipt);
        let engine = self.engine;
        let mut _wait = engine.wait_for(&request_id);
        let mut known: Option<Question> = None;
        loop {
            let QuestionStanding { outcome, open } = self.look(&request_id)?;
            if let (Some(question), Some(outcome)) = (&known, &outcome) {
                prompter.settled(question, outcome);
            }
            if outcome.as_ref().is_some_and(|outcome| self.is_retry(outcome)) {
                return Ok(Next::Again);
            }
            let Some(question) = open else { return self.end_of(&asked, outcome.as_ref()) };
            if tell(prompter, known.as_ref(), &question) == WaitPolicy::Leave {
                self.engine.keep_retry_key(&self.loop_id);
                self.left_open = Some(question);
                return Ok(Next::Stop);
            }
            self.wait(&watch, &question, prompter, signals)?;
            if self.halted.is_some() || self.is_ending_waiting() {
                return Ok(Next::Stop);
            }
            if question.request_id() != request_id {
                request_id = question.request_id().to_string();
                _wait = engine.wait_for(&request_id);
            }
            known = Some(question);
        }
    }

    fn look(&self, request_id: &str) -> Result<QuestionStanding, SubmitError> {
        self.engine.query(|world| {
            let outcome =
                world.find_request(request_id).and_then(|place| place.held().outcome.clone());
            let entity = world.live_loop(&self.loop_id);
            let open = entity.and_then(|entity| {
                Some(Question::of(entity, entity.open_request()?).asked_in(world))
            });
            QuestionStanding { outcome, open }
        })
    }

    /// Waits until there is a reason to look again: an answer, a deadline, a longer log.
    fn wait(
        &mut self,
        watch: &Watch,
        question: &Question,
        prompter: &mut dyn Prompter,
        signals: &mut dyn SignalSource,
    ) -> Result<(), RunError> {
        let due = question.held.next_due();
        let left = due.map(|due| self.engine.left_of(question.request_id(), due)).transpose()?;
        loop {
            let Some(at_most) = left.and_then(|left| self.engine.left_now(left)) else {
                self.engine.expire()?;
                return Ok(());
            };
            let wake = self.engine.wake(watch, signals.wake(), at_most);
            let input = prompter.wait(question, &wake);
            self.engine.expect_open()?;
            if let Some(interrupt) = Interrupt::take(signals) {
                return self.interrupted(interrupt);
            }
            match input {
                Some(PersonInput::Answer(answer)) => {
                    return self.answer(question, answer, prompter);
                }
                Some(PersonInput::Output { human_id, typed }) => {
                    return self.show_output(question, (human_id, typed), prompter);
                }
                None => {}
            }
            if watch.may_have_grown() {
                return Ok(());
            }
        }
    }

    /// Hands the answer in as the person's own, caused by the question.
    fn answer(
        &mut self,
        question: &Question,
        answer: PersonAnswer,
        prompter: &mut dyn Prompter,
    ) -> Result<(), RunError> {
        let origin = self.origin_of_person(question, answer.human_id.clone());
        let command = Command::HumanDecision(HumanDecisionCommand::AnswerHumanDecision(
            AnswerHumanDecision {
                request_id: question.request_id().to_string(),
                loop_id: Some(self.loop_id.clone()),
                entropy: self.engine.entropy()?,
                actor: Actor::Human,
                human_id: answer.human_id,
                decision: answer.decision,
                reason: answer.reason,
                escalation_target: answer.escalation_target,
                means: answer.means,
            },
        ));
        match self.submit_of_person(&origin, &command, answer.typed)? {
            // Somebody was first; the next look shows who.
            Submitted::Refused(refusal) if is_over(&refusal) => {}
            Submitted::Refused(refusal) => prompter.refused(question, &refusal),
            Submitted::Accepted(_) | Submitted::Repeated(_) => {}
        }
        Ok(())
    }

    /// Records that what the command printed is shown, and then lets it be shown.
    fn show_output(
        &mut self,
        question: &Question,
        (human_id, typed): (String, Option<TypedLine>),
        prompter: &mut dyn Prompter,
    ) -> Result<(), RunError> {
        let origin = self.origin_of_person(question, human_id);
        let request_id = question.request_id().to_string();
        let command =
            Command::HumanDecision(HumanDecisionCommand::ShowOutput(ShowOutput { request_id }));
        match self.submit_of_person(&origin, &command, typed) {
            Ok(Submitted::Refused(refusal)) if is_over(&refusal) => {}
            Ok(Submitted::Refused(refusal)) => prompter.refused(question, &refusal),
            Ok(Submitted::Accepted(_) | Submitted::Repeated(_)) => {
                prompter.show_output(question, Ok(()));
            }
            Err(error) if error.is_locked() || error.is_full() => {
                prompter.show_output(question, Err(&error));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn origin_of_person(&self, question: &Question, human_id: String) -> Origin {
        Origin {
            actor: ActorId { kind: Actor::Human, id: human_id },
            correlation: self.origin.correlation.clone(),
            causation: Some(question.held.requested_sequence),
        }
    }

    fn submit_of_person(
        &self,
        origin: &Origin,
        command: &Command,
        typed: Option<TypedLine>,
    ) -> Result<Submitted, SubmitError> {
        match typed {
            Some(line) => self.engine.submit_typed(origin, (), command, line),
            None => self.engine.submit(origin, (), command),
        }
    }

    /// A signal asked for the end while the person was thinking.
    fn interrupted(&mut self, interrupt: Interrupt) -> Result<(), RunError> {
        let before =
            self.details.replace(format!("{} while a person was asked", interrupt.details()));
        match self.interrupt(interrupt) {
            // Somebody ended the loop at the same moment; the next look shows how.
            Err(RunError::Refused(Refusal::Loop(LoopRefusal::LoopNotLive { .. }))) => {
                self.details = before
            }
            stopped => {
                stopped?;
                self.exit_status = interrupt.exit_status();
            }
        }
        Ok(())
    }

    /// Returns whether the person permits another attempt, which the decision then causes.
    fn is_retry(&mut self, outcome: &RequestOutcome) -> bool {
        let RequestOutcome::Decided(decided) = outcome else { return false };
        self.decision = Some(decided.record.clone());
        let is_retry = decided.record.decision == HumanDecision::Retry;
        if is_retry {
            self.origin.causation = Some(decided.sequence);
        }
        is_retry
    }

    /// The loop halted by a decision, or by whoever stopped it: how it ended is on the log.
    fn end_of(
        &mut self,
        asked: &RunQuestion,
        outcome: Option<&RequestOutcome>,
    ) -> Result<Next, RunError> {
        let (sequence, halted) = match self.find_halt(asked.sequence)? {
            Some(found) => found,
            None => self.archived_halt(asked, outcome)?,
        };
        self.origin.causation = Some(sequence);
        match outcome {
            Some(RequestOutcome::Decided(decided)) => self.ended_by(decided),
            _ if halted.stop_condition == Some(StopCondition::HumanAbort) => {
                self.exit_status = EXIT_ABORTED;
            }
            _ => self.exit_status = EXIT_HOLDPOINT_FAILED,
        }
        self.halted = Some(halted);
        Ok(Next::Stop)
    }

    fn ended_by(&mut self, decided: &Decided) {
        let record = &decided.record;
        if decided.outcome == HumanDecisionOutcome::Timeout {
            self.exit_status = EXIT_NOBODY_ANSWERED;
            self.details = Some(format!("nobody answered {} in time", record.request_id));
        } else if record.decision == HumanDecision::Abort {
            let reason = record.reason.as_ref().map(|reason| format!(": {reason}"));
            self.exit_status = EXIT_ABORTED;
            self.details =
                Some(format!("ABORT by {}{}", record.human_id, reason.unwrap_or_default()));
        }
    }

    /// The halt, where it was not moved to an archive: the question before it may have been.
    fn find_halt(&self, asked: u64) -> Result<Option<(u64, LoopHalted)>, SubmitError> {
        let mut from = asked;
        loop {
            match self.find_halt_from(from) {
                Err(SubmitError::Follow(error)) => {
                    let first = first_kept(self.engine.core())?;
                    if first <= from {
                        return Err(error.into());
                    }
                    from = first;
                }
                found => return found,
            }
        }
    }

    fn find_halt_from(&self, from: u64) -> Result<Option<(u64, LoopHalted)>, SubmitError> {
        let mut found = None;
        read_events(self.engine.core(), from, &mut |event| match event.envelope.event {
            Event::ExecutionLoop(ExecutionLoopEvent::LoopHalted(halted))
                if *halted.loop_id == *self.loop_id =>
            {
                found = Some((event.sequence, halted));
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        })?;
        Ok(found)
    }

    /// The halt that a decision led to, where its own record was moved to an archive before this
    /// process looked. The decision is remembered, and what follows from it is settled by it.
    fn archived_halt(
        &self,
        asked: &RunQuestion,
        outcome: Option<&RequestOutcome>,
    ) -> Result<(u64, LoopHalted), RunError> {
        let loop_id = self.loop_id.clone();
        let first = first_kept(self.engine.core())?;
        if first <= asked.sequence {
            return Err(RunError::Unfinished { loop_id });
        }
        let decided = match outcome {
            Some(RequestOutcome::Decided(decided)) => Some(decided),
            _ => None,
        };
        let halt =
            decided.and_then(|decided| Some((decided.sequence, self.halt_by(asked, decided)?)));
        halt.ok_or(RunError::EndArchived { loop_id, first_kept: first })
    }

    /// Returns what the rules make of a decision that ends the loop.
    fn halt_by(&self, asked: &RunQuestion, decided: &Decided) -> Option<LoopHalted> {
        let is_timeout = decided.outcome == HumanDecisionOutcome::Timeout;
        let (reason, stop_condition, fault_type) = match decided.record.decision {
            _ if is_timeout => (HaltReason::HumanDecisionTimedOut, None, None),
            HumanDecision::Abort => {
                (HaltReason::StopCondition, Some(StopCondition::HumanAbort), None)
            }
            HumanDecision::Continue => {
                let (reason, fault_type) = asked.ending?;
                (reason, None, fault_type)
            }
            HumanDecision::Retry | HumanDecision::Escalate => return None,
        };
        Some(LoopHalted {
            loop_id: self.loop_id.as_str().into(),
            from: ExecutionLoopState::Evaluated,
            requested: ExecutionLoopState::Halted,
            reason,
            stop_condition,
            fault_type,
        })
    }
}

/// Tells whether somebody was first: the question is over.
const fn is_over(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::Loop(LoopRefusal::HumanDecision(
            HumanDecisionRefusal::AlreadyAnswered { .. } | HumanDecisionRefusal::Withdrawn { .. },
        ))
    )
}

/// The question that a receipt is of.
fn request_of(receipt: &Receipt) -> String {
    let asked = receipt.events.iter().find_map(|event| match event {
        Event::HumanDecision(HumanDecisionEvent::HumanDecisionRequested(body)) => {
            Some(body.request.request_id.to_string())
        }
        _ => None,
    });
    asked.unwrap_or_default()
}

/// Tells of what is new about the open question.
fn tell(prompter: &mut dyn Prompter, known: Option<&Question>, open: &Question) -> WaitPolicy {
    let known = known.filter(|known| known.request_id() == open.request_id());
    if known.is_none() && prompter.asked(open) == WaitPolicy::Leave {
        return WaitPolicy::Leave;
    }
    let was_warned = known.is_some_and(|known| known.held.warning.is_some());
    if open.held.warning.is_some() && !was_warned {
        prompter.warned(open);
    }
    WaitPolicy::Wait
}
