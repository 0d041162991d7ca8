//! Interface by which an embedder puts a question to a person, while the answer may come from
//! another process.

use super::error::SubmitError;
use super::person_terminal::TypedLine;
use super::watch::Wake;
use holdpoint_domain::governed::{Attempt, ExecutionLoop};
use holdpoint_domain::human_decision::{
    AnswerMeans, Disclosed, HeldRequest, HoldPolicy, HumanDecision, OverrideField, RequestContext,
    RequestOutcome,
};
use holdpoint_domain::{Refusal, World};

/// Puts questions to a person. While it waits nobody holds a lock, and the first answer counts,
/// whichever process it comes from.
pub trait Prompter {
    /// A question stands on the log, durable. Whether to wait for its answer.
    fn asked(&mut self, question: &Question) -> WaitPolicy;

    /// Waits until the person answers or something [wakes](Wake::wait): then the log is looked at,
    /// and this is called again while the question is open.
    fn wait(&mut self, question: &Question, wake: &Wake<'_>) -> Option<PersonInput>;

    /// Answers the person's request for what the command printed: it is on record, and it may be
    /// shown; else why that could not be recorded, and nothing of it may be shown.
    fn show_output(&mut self, question: &Question, recorded: Result<(), &SubmitError>);

    /// 80 % of the time are over, and the warning is on the log.
    fn warned(&mut self, question: &Question);

    /// A rule said no to the answer that [`Prompter::wait`] gave: the question is still open.
    fn refused(&mut self, question: &Question, refusal: &Refusal);

    /// The question is no longer open: answered here or elsewhere, timed out or withdrawn.
    fn settled(&mut self, question: &Question, outcome: &RequestOutcome);
}

/// Choice of a run to wait for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Until an answer or the deadline.
    Wait,
    /// Not at all: the question stays open on the log.
    Leave,
}

/// A question, as far as the person may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The request and what became of it.
    pub held: HeldRequest,
    /// The highest attempt that there may be.
    pub max_attempts: u8,
    /// Moments at which the loop asks, as was agreed before it began.
    pub policy: HoldPolicy,
    /// Those to whom it can be passed on.
    pub targets: Vec<String>,
    /// True if how the attempt ended was told to its recorder, and observed by nobody.
    pub is_reported: bool,
    /// The fields that an override allowed to be shown.
    pub disclosed: Vec<(OverrideField, Disclosed)>,
    /// The number of the user who asks; `None`: not looked up, or not on record.
    pub asked_by: Option<u32>,
    /// True if what the command printed is hidden while the question is open.
    pub hides_output: bool,
}

impl Question {
    /// A request of a loop.
    #[must_use]
    pub fn of(entity: &ExecutionLoop, held: &HeldRequest) -> Self {
        let attempt = held.context.attempt;
        let disclosed = held.overrides.iter().filter_map(|allowed| {
            entity.disclosure(attempt, allowed.field).map(|value| (allowed.field, value))
        });
        let was_asked = |target: &str| {
            let contexts = entity.decisions.requests.iter().map(|held| &held.context);
            let mut asked = contexts.filter(|context| context.attempt == attempt);
            asked.any(|context| context.asked_of.as_deref() == Some(target))
        };
        let targets = entity.hold.escalation_targets.iter().map(|entry| entry.target.as_str());
        let mut asked_about = entity.attempts.iter().filter(|it| it.number == attempt);
        Self {
            held: held.clone(),
            is_reported: asked_about.any(Attempt::is_reported),
            max_attempts: entity.max_attempts,
            policy: entity.hold.policy,
            targets: targets.filter(|target| !was_asked(target)).map(str::to_string).collect(),
            disclosed: disclosed.collect(),
            asked_by: None,
            hides_output: false,
        }
    }

    /// The same with the user who asks, as the state of the log has it.
    #[must_use]
    pub fn asked_in(self, world: &World) -> Self {
        let terms = world.person_for_loop(&self.held.context.loop_id);
        Self { asked_by: terms.and_then(|terms| terms.asked_by), ..self }
    }

    /// The request's id.
    #[must_use]
    pub fn request_id(&self) -> &str {
        self.held.request_id()
    }

    /// The circumstances that the person sees beside the summary.
    #[must_use]
    pub fn context(&self) -> &RequestContext {
        &self.held.context
    }
}

/// Input of a person at the prompt of a question.
#[derive(Debug, PartialEq, Eq)]
pub enum PersonInput {
    /// An answer.
    Answer(PersonAnswer),
    /// The wish to see what the command printed, which answers nothing.
    Output {
        /// The person.
        human_id: String,
        /// The line by which a person said so at a terminal, as in an answer.
        typed: Option<TypedLine>,
    },
}

/// Answer of a person.
#[derive(Debug, PartialEq, Eq)]
pub struct PersonAnswer {
    /// The person.
    pub human_id: String,
    /// Decision of the person.
    pub decision: HumanDecision,
    /// Why. Required for RETRY and ESCALATE.
    pub reason: Option<String>,
    /// To whom. Required for ESCALATE.
    pub escalation_target: Option<String>,
    /// By what means.
    pub means: AnswerMeans,
    /// The line by which a person said so at a terminal; `None`: nobody typed, and the process
    /// proves no more than its user.
    pub typed: Option<TypedLine>,
}

/// Only waits: the answer comes from another process.
#[derive(Clone, Copy, Debug)]
pub struct NoPrompt;

impl Prompter for NoPrompt {
    fn asked(&mut self, _question: &Question) -> WaitPolicy {
        WaitPolicy::Wait
    }

    fn wait(&mut self, _question: &Question, wake: &Wake<'_>) -> Option<PersonInput> {
        wake.wait(None);
        None
    }

    fn show_output(&mut self, _question: &Question, _recorded: Result<(), &SubmitError>) {}

    fn warned(&mut self, _question: &Question) {}

    fn refused(&mut self, _question: &Question, _refusal: &Refusal) {}

    fn settled(&mut self, _question: &Question, _outcome: &RequestOutcome) {}
}
