//! The question before a start: put on record, asked, and waited for. Nothing else exists.

use super::context::{Wording, code_left_out, context};
use super::facts::Facts;
use super::shown_command::PROMPT_BYTES;
use super::summary::sentence;
use super::{Bound, StartError};
use crate::executor::{InstructionEnvelope, SignalSource, command_line};
use crate::log::Storage;
use crate::shell::engine::Engine;
use crate::shell::interrupt::Interrupt;
use crate::shell::person_terminal::TypedLine;
use crate::shell::prompter::{NoPrompt, WaitPolicy};
use crate::shell::run::GovernedRun;
use crate::shell::start::keys::ApprovalKey;
use crate::shell::submit::{Origin, Submitted};
use crate::shell::watch::{Wake, Watch};
use holdpoint_domain::core::actor::{Actor, Principal};
use holdpoint_domain::decision_point::{
    APPROVE, ActionBinding, ApprovalPolicy, CancelDecisionPoint, CreateDecisionPoint, DENY,
    DecisionOption, DecisionPoint, DecisionPointCommand, DecisionPointRefusal, OnTimeout, Proposal,
    RespondToDecisionPoint, Response,
};
use holdpoint_domain::human_decision::HumanDecisionTimeout;
use holdpoint_domain::log::{RUN_TOOL, run_binding};
use holdpoint_domain::{ActorId, Command, Refusal};

/// People who have to approve a start, and in what time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskBefore {
    /// Policy of who counts, and how many are needed.
    pub policy: ApprovalPolicy,
    /// True if only another user than the one who asks counts.
    pub separation: bool,
    /// Time that there is to answer.
    pub timeout: HumanDecisionTimeout,
}

/// Outcome of the question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalOutcome {
    /// It was approved: the approval can be spent.
    Approved(Box<DecisionPoint>),
    /// It ended otherwise, and its state says how.
    Ended(Box<DecisionPoint>),
    /// Nobody waits for the answer.
    LeftOpen(Box<DecisionPoint>),
    /// A signal asked for the end, and the question was taken back where it was still open.
    Interrupted {
        /// The signal's number.
        signal: i32,
        /// The question.
        question: Box<DecisionPoint>,
    },
}

/// Answer of a person before a start.
#[derive(Debug, PartialEq, Eq)]
pub struct StartAnswer {
    /// True if it may start.
    pub approves: bool,
    /// The line by which a person said so at a terminal; `None`: nobody typed, and the process
    /// proves no more than its user.
    pub typed: Option<TypedLine>,
}

/// Puts the question before a start to a person. The first answer that suffices counts, whichever
/// process it comes from, and nobody holds a lock meanwhile.
pub trait StartPrompter {
    /// The question stands on the log, durable. Whether to wait for its answer.
    fn asked(&mut self, question: &DecisionPoint) -> WaitPolicy;

    /// Waits until the person answers or something [wakes](Wake::wait): then the log is looked at,
    /// and this is called again while the question is open.
    fn wait(&mut self, question: &DecisionPoint, wake: &Wake<'_>) -> Option<StartAnswer>;

    /// Somebody voted, reminded or passed it on; the question is still open.
    fn changed(&mut self, question: &DecisionPoint);

    /// A rule said no to the answer that [`StartPrompter::wait`] gave: the question is still open.
    fn refused(&mut self, question: &DecisionPoint, refusal: &Refusal);

    /// The question is over.
    fn settled(&mut self, question: &DecisionPoint);
}

/// Only waits: the answer comes from another process.
impl StartPrompter for NoPrompt {
    fn asked(&mut self, _question: &DecisionPoint) -> WaitPolicy {
        WaitPolicy::Wait
    }

    fn wait(&mut self, _question: &DecisionPoint, wake: &Wake<'_>) -> Option<StartAnswer> {
        wake.wait(None);
        None
    }

    fn changed(&mut self, _question: &DecisionPoint) {}

    fn refused(&mut self, _question: &DecisionPoint, _refusal: &Refusal) {}

    fn settled(&mut self, _question: &DecisionPoint) {}
}

impl<S: Storage> Engine<S> {
    /// Asks whether a command may start, in the name and the story of the origin, and waits for the
    /// answer. The question is bound to everything that the start is made of: approved, it is spent
    /// by [`Engine::run_approved`].
    ///
    /// # Errors
    /// Something cannot be bound, the log failed, or a rule said no to the question.
    pub fn ask_before(
        &self,
        origin: &Origin,
        run: &GovernedRun,
        bound: &Bound,
        ask: &AskBefore,
        prompter: &mut dyn StartPrompter,
        signals: &mut dyn SignalSource,
    ) -> Result<ApprovalOutcome, StartError> {
        self.expect_adopted()?.map_err(StartError::Refused)?;
        // Watched first, looked at then: an answer in between wakes the wait.
        let watch = Watch::of_log(self.root());
        self.forget_keys_of_what_is_over(bound)?;
        let by = self.identity().principal(origin.actor.kind, &origin.actor.id);
        let decision_id = self.put_question(origin, run, bound, ask, &by)?;
        let waiting = WaitingQuestion { engine: self, decision_id, by, watch };
        let asked = waiting.until_over(prompter, signals);
        let over = match &asked {
            Ok(
                ApprovalOutcome::Ended(point)
                | ApprovalOutcome::Interrupted { question: point, .. },
            ) => !point.is_live(),
            _ => false,
        };
        if over {
            bound.keys.remove(&waiting.decision_id);
        }
        asked
    }

    /// Puts the question on record, and keeps its key.
    fn put_question(
        &self,
        origin: &Origin,
        run: &GovernedRun,
        bound: &Bound,
        ask: &AskBefore,
        by: &Principal,
    ) -> Result<String, StartError> {
        let (entropy, key) = (self.entropy()?, ApprovalKey::fresh()?);
        let (run, facts) = bound.facts(self, run, &key, None)?;
        let envelope = InstructionEnvelope::of(&run.command, &run.environment).hex();
        let input_sha256 = run_binding(&envelope, &facts.digest());
        let context = context(&facts, Wording::Present);
        let left_out = code_left_out(&facts, &context);
        if left_out > 0 {
            return Err(StartError::CodeNotShown { left_out });
        }
        let command = CreateDecisionPoint {
            context: Some(context),
            allow_text: Some(false),
            max_iterations: Some(1),
            on_timeout: Some(OnTimeout::Abort),
            timeout_ms: Some(ask.timeout.milliseconds()),
            policy: Some(ask.policy.clone()),
            binding: Some(ActionBinding { tool: RUN_TOOL.into(), input_sha256 }),
            separation: ask.separation,
            ..CreateDecisionPoint::asking(entropy, by.clone(), prompt(&run), options().to_vec())
        };
        let id = command.decision_id();
        bound.keys.keep(&id, &key)?;
        let submitted = self.submit(
            origin,
            (),
            &Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(command.into())),
        );
        match submitted {
            Ok(Submitted::Accepted(_) | Submitted::Repeated(_)) => Ok(id),
            Ok(Submitted::Refused(refusal)) => {
                bound.keys.remove(&id);
                Err(StartError::Refused(refusal))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Removes the keys of questions of this log that nobody can spend any more.
    fn forget_keys_of_what_is_over(&self, bound: &Bound) -> Result<(), StartError> {
        let kept = bound.keys.questions()?;
        let is_over = |id: &String, world: &holdpoint_domain::World| {
            world.decision_point(id).is_some_and(|point| !point.is_live())
        };
        let over = self.query(|world| {
            kept.into_iter().filter(|id| is_over(id, world)).collect::<Vec<String>>()
        })?;
        over.iter().for_each(|id| bound.keys.remove(id));
        Ok(())
    }
}

/// The question in a sentence.
fn prompt(run: &GovernedRun) -> String {
    sentence(&line_of(run))
}

fn line_of(run: &GovernedRun) -> String {
    command_line(&run.command.program, &run.command.arguments)
}

/// Returns whether a question shows exactly this start, and nothing else: anybody who may write to
/// the log can ask something else and bind it to the same. One in the words of programs before this
/// one counts where it had the command whole.
pub(super) fn shows(point: &DecisionPoint, run: &GovernedRun, facts: &Facts) -> bool {
    let shows = |prompt: String, wording: Wording| {
        point.terms.shows(&Proposal {
            prompt: prompt.into(),
            context: Some(context(facts, wording).into()),
            options: options().into_iter().collect(),
            default_option: None,
        })
    };
    let line = line_of(run);
    let was_whole = line.len() <= PROMPT_BYTES;
    shows(prompt(run), Wording::Present)
        || was_whole && shows(format!("Start `{line}`?"), Wording::Former)
}

fn options() -> [DecisionOption; 2] {
    let labels = ["Start it, exactly so and once", "Do not start it"];
    DecisionOption::approve_or_deny([APPROVE, DENY], labels)
}

/// A question that is waited for.
struct WaitingQuestion<'a, S: Storage> {
    engine: &'a Engine<S>,
    decision_id: String,
    by: Principal,
    watch: Watch,
}

impl<S: Storage> WaitingQuestion<'_, S> {
    fn until_over(
        &self,
        prompter: &mut dyn StartPrompter,
        signals: &mut dyn SignalSource,
    ) -> Result<ApprovalOutcome, StartError> {
        let mut known: Option<DecisionPoint> = None;
        let _wait = self.engine.wait_for(&self.decision_id);
        loop {
            let point = self.look()?;
            if !point.is_open() {
                prompter.settled(&point);
                return Ok(match point.approves() {
                    true => ApprovalOutcome::Approved(point.into()),
                    false => ApprovalOutcome::Ended(point.into()),
                });
            }
            match &known {
                None if prompter.asked(&point) == WaitPolicy::Leave => {
                    return Ok(ApprovalOutcome::LeftOpen(point.into()));
                }
                Some(before) if before.version != point.version => prompter.changed(&point),
                _ => {}
            }
            if let Some(signal) = self.wait(&point, prompter, signals)? {
                let question = self.take_back(signal)?.into();
                return Ok(ApprovalOutcome::Interrupted { signal, question });
            }
            known = Some(point);
        }
    }

    fn look(&self) -> Result<DecisionPoint, StartError> {
        let found = self.engine.decision_point(&self.decision_id)?;
        let decision_id = self.decision_id.clone();
        found.ok_or_else(|| DecisionPointRefusal::UnknownDecision { decision_id }.into())
    }

    /// Waits until there is a reason to look again. The signal that asked for the end, if one did.
    fn wait(
        &self,
        point: &DecisionPoint,
        prompter: &mut dyn StartPrompter,
        signals: &mut dyn SignalSource,
    ) -> Result<Option<i32>, StartError> {
        let end = point.deadline();
        let left = end.map(|end| self.engine.left_of(&self.decision_id, end)).transpose()?;
        loop {
            let Some(at_most) = left.and_then(|left| self.engine.left_now(left)) else {
                self.engine.expire()?;
                return Ok(None);
            };
            let wake = self.engine.wake(&self.watch, signals.wake(), at_most);
            let answer = prompter.wait(point, &wake);
            self.engine.expect_open()?;
            if let Some(interrupt) = Interrupt::take(signals) {
                return Ok(Some(interrupt.signal));
            }
            if let Some(answer) = answer {
                self.answer(point, answer, prompter)?;
                return Ok(None);
            }
            if self.watch.may_have_grown() {
                return Ok(None);
            }
        }
    }

    /// Hands the answer in as the person's own, caused by the question.
    fn answer(
        &self,
        point: &DecisionPoint,
        StartAnswer { approves, typed }: StartAnswer,
        prompter: &mut dyn StartPrompter,
    ) -> Result<(), StartError> {
        let identity = self.engine.identity();
        let by = identity.principal(Actor::Human, identity.name());
        let origin = self.origin(point, by.actor());
        let command = Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(
            RespondToDecisionPoint {
                decision_id: self.decision_id.clone(),
                entropy: self.engine.entropy()?,
                by,
                response: Response::option(if approves { APPROVE } else { DENY }),
                comment: None,
            },
        ));
        let submitted = match typed {
            Some(line) => self.engine.submit_typed(&origin, (), &command, line)?,
            None => self.engine.submit(&origin, (), &command)?,
        };
        if let Submitted::Refused(refusal) = submitted {
            // Where somebody was first, the next look shows who.
            prompter.refused(point, &refusal);
        }
        Ok(())
    }

    /// The question is taken back, unless it is over by then.
    fn take_back(&self, signal: i32) -> Result<DecisionPoint, StartError> {
        let point = self.look()?;
        let reason = Some(format!("interrupted by signal {signal}"));
        let cancel = CancelDecisionPoint {
            decision_id: self.decision_id.clone(),
            by: self.by.clone(),
            reason,
        };
        let origin = self.origin(&point, self.by.actor());
        let cancel = DecisionPointCommand::CancelDecisionPoint(cancel).into();
        // A refusal says that it is over by now: the look shows how.
        drop(self.engine.submit(&origin, (), &cancel)?);
        self.look()
    }

    fn origin(&self, point: &DecisionPoint, actor: ActorId) -> Origin {
        let (correlation, causation) = (point.correlation.clone(), Some(point.created_sequence));
        Origin { actor, correlation, causation }
    }
}
