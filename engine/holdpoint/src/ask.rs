//! Asking a person, and waiting a bounded time for the answer.

use holdpoint_domain::core::actor::{ActorId, Principal};
use holdpoint_domain::decision_point::{
    APPROVE, ApprovalPolicy, CreateDecisionPoint, DENY, DecisionOption, DecisionPointCommand,
    OnTimeout, RespondToDecisionPoint, Response,
};
use holdpoint_domain::{Command, Refusal};
use holdpoint_engine::Engine;
use holdpoint_engine::log::Storage;
use holdpoint_engine::shell::{Conditions, Origin, SubmitError, Submitted, WaitError, Waited};
use std::time::Duration;
use thiserror::Error;

/// Additional time for which the end of a question is waited for, so that it is recorded by then.
const GRACE: Duration = Duration::from_secs(5);

/// A question to a person, of one round. Who answers has to be a person, proven at least as a user
/// of this machine; a program of this machine's user is none. Where nobody answers in time it
/// ends, and nothing is decided.
///
/// ```
/// use holdpoint::{DecisionPointState, Engine, Origin, Question, ask, respond};
/// use std::time::Duration;
/// # let home = tempfile::tempdir()?;
/// # let directory = home.path().join("log");
///
/// let engine = Engine::open(&directory)?;
/// let refund = Question::approval("Refund 12 EUR for order-1?").about("order-1");
/// // Nobody is there to answer here: `holdpoint decision respond` does, in another process.
/// let asked = ask(&engine, &Origin::automation("shop"), (), &refund, Duration::from_millis(20))?;
/// assert_eq!(asked.point.state, DecisionPointState::Aborted);
/// assert!(!asked.point.approves());
/// # engine.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    prompt: String,
    context: Option<String>,
    issue: Option<String>,
    options: Vec<DecisionOption>,
    policy: ApprovalPolicy,
}

impl Question {
    /// Asks whether to approve something: by `approve` or `deny`.
    #[must_use]
    pub fn approval(prompt: impl Into<String>) -> Self {
        let labels = ["Approve", "Deny"];
        let options = DecisionOption::approve_or_deny([APPROVE, DENY], labels);
        Self { options: options.to_vec(), ..Self::choice(prompt) }
    }

    /// Asks which of some options to take: see [`Question::option`].
    #[must_use]
    pub fn choice(prompt: impl Into<String>) -> Self {
        Self {
            prompt: prompt.into(),
            context: None,
            issue: None,
            options: Vec::new(),
            policy: ApprovalPolicy::people(),
        }
    }

    /// With an option: its id, and what it means in a line.
    #[must_use]
    pub fn option(mut self, id: &str, label: &str) -> Self {
        let (id, short, label) = (id.into(), id.into(), label.into());
        self.options.push(DecisionOption { id, short, label, description: None, reject: false });
        self
    }

    /// About a work item of the application's.
    #[must_use]
    pub fn about(self, issue: impl Into<String>) -> Self {
        Self { issue: Some(issue.into()), ..self }
    }

    /// With what one should know to answer it.
    #[must_use]
    pub fn context(self, context: impl Into<String>) -> Self {
        Self { context: Some(context.into()), ..self }
    }

    /// Answered by whom this policy lets answer.
    #[must_use]
    pub fn policy(self, policy: ApprovalPolicy) -> Self {
        Self { policy, ..self }
    }

    /// The command by which [`ask`] asks it in this origin's name, to be answered for so long. It
    /// brings fresh random bits, so each is a question of its own. It may go into a transaction.
    ///
    /// ```
    /// use holdpoint::prelude::*;
    /// use std::time::Duration;
    /// # let home = tempfile::tempdir()?;
    /// # let engine = Engine::open(home.path().join("log"))?;
    /// let (shop, time) = (Origin::automation("shop"), Duration::from_millis(20));
    /// let refund = Question::approval("Refund 12 EUR for order-1?").about("order-1");
    /// let both = engine
    ///     .transaction(&shop)
    ///     .record(RecordEvent::new("order-1", "refund.requested", "1200"))
    ///     .submit(refund.command(&engine, &shop, time)?)
    ///     .commit(())?
    ///     .accepted()?;
    ///
    /// // Its end may be waited for whenever it suits, in any process.
    /// let id = both.events.iter().find_map(|event| event.decision_point()).ok_or("it was asked")?;
    /// let asked = engine.wait_for_decision(id, Duration::from_secs(5))?;
    /// assert_eq!(asked.point.state, DecisionPointState::Aborted);
    /// # engine.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The system has no random bits to give.
    pub fn command<S: Storage>(
        &self,
        engine: &Engine<S>,
        origin: &Origin,
        time: Duration,
    ) -> Result<Command, SubmitError> {
        let (by, entropy) = (principal(engine, &origin.actor), engine.entropy()?);
        let create = CreateDecisionPoint {
            issue_id: self.issue.clone(),
            context: self.context.clone(),
            allow_text: Some(false),
            max_iterations: Some(1),
            on_timeout: Some(OnTimeout::Abort),
            timeout_ms: Some(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            policy: Some(self.policy.clone()),
            ..CreateDecisionPoint::asking(entropy, by, &self.prompt, self.options.clone())
        };
        Ok(DecisionPointCommand::CreateDecisionPoint(Box::new(create)).into())
    }
}

/// A question was not asked, or its end is not known.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AskError {
    /// The log failed or cannot be read.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// A rule said no to the question.
    #[error("the question was refused: {0}")]
    Refused(#[from] Refusal),
    /// The wait for its end came to nothing.
    #[error(transparent)]
    Wait(#[from] WaitError),
}

/// Puts a question to a person and waits until it ends: it may be answered for so long, from any
/// process. Nothing is locked meanwhile. The question stays on record, and so does its end. Asked
/// again with the same key, the first question is waited for.
///
/// # Errors
/// See [`AskError`].
pub fn ask<S: Storage>(
    engine: &Engine<S>,
    origin: &Origin,
    conditions: impl Into<Conditions>,
    question: &Question,
    time: Duration,
) -> Result<Waited, AskError> {
    let command = question.command(engine, origin, time)?;
    let receipt = engine.submit(origin, conditions, &command)?.accepted()?;
    // Under a key the question that was asked first is meant.
    let asked = receipt.events.iter().find_map(|event| event.decision_point());
    let id = asked.unwrap_or_default();
    Ok(engine.wait_for_decision(id, time.saturating_add(GRACE))?)
}

/// Answers a question by an option, in the name of the origin's actor. The first answer counts.
///
/// # Errors
/// The log failed or cannot be read. A refusal by a rule is an answer, not an error.
pub fn respond<S: Storage>(
    engine: &Engine<S>,
    origin: &Origin,
    decision_id: &str,
    option: &str,
) -> Result<Submitted, SubmitError> {
    let respond = RespondToDecisionPoint {
        decision_id: decision_id.to_string(),
        entropy: engine.entropy()?,
        by: principal(engine, &origin.actor),
        response: Response::option(option),
        comment: None,
    };
    engine.submit(
        origin,
        (),
        &Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(respond)),
    )
}

fn principal<S: Storage>(engine: &Engine<S>, actor: &ActorId) -> Principal {
    engine.identity().principal(actor.kind, &actor.id)
}
