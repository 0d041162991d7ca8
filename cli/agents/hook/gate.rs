//! The gate in the log: whether a call was approved, is being asked about, or was denied. Every
//! look is a turn of its own, so nobody holds the lock while a person thinks.

use super::answer::Answer;
use super::ask::{Ask, recorded_by};
use super::deadline::{self, Question};
use crate::agents::hook::describe;
use crate::log::configuration::{Demands, floors};
use crate::log::open::open_log;
use crate::ui::text::visible_once;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::decision_point::{
    ConsumeApproval, DecisionPoint, DecisionPointCommand, DecisionPointRefusal as No,
    ResolutionKind,
};
use holdpoint_domain::{Command, Refusal, World};
use holdpoint_engine::Engine;
use holdpoint_engine::log::OpenError;
use holdpoint_engine::shell::{Conditions, EngineError, IdempotencyKey, Origin, Submitted, Watch};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The log, open for one call of a tool.
pub(super) struct Gate {
    log: PathBuf,
    engine: Engine,
    ask: Ask,
    asks_again: bool,
}

/// Where a call stands.
enum Standing {
    /// A person said yes, and nobody has used it yet.
    Approved(DecisionPoint),
    /// A person is asked.
    Asked(DecisionPoint),
    /// The last answer was no.
    Denied(DecisionPoint),
    /// Nothing holds; what was asked last, if anything was.
    Nothing(Option<DecisionPoint>),
}

/// What this process asked so far.
#[derive(Default)]
struct Progress {
    /// Whether the question was put on record by now.
    has_asked: bool,
    /// What makes the question another one than an earlier one of the same name.
    salt: Option<Entropy>,
    /// What became of what was asked before.
    before: Option<String>,
}

impl Gate {
    /// Opens the log. Where there is none it is not made: a hook that an agent could lead to an
    /// empty log would forget what people said. What is asked is worded under what is demanded
    /// there.
    pub(super) fn open(
        log: &Path,
        lock_wait: Duration,
        asks_again: bool,
        ask: impl FnOnce(&Demands) -> Ask,
    ) -> Result<Self, String> {
        floors().map_err(|failure| failure.message().to_string())?;
        let log: PathBuf = log.components().collect();
        let engine = open_log(&log, lock_wait, false).map_err(|error| match error {
            EngineError::Open(OpenError::NothingHere { .. }) => describe::no_log(&log),
            error => said(error),
        })?;
        let ground = engine.adoption().map_err(|error| error.to_string())?;
        ground.map_err(|fault| visible_once(&fault.to_string()))?;
        let demands = Demands::of(&log, &engine);
        let demands = demands.map_err(|failure| failure.message().to_string())?;
        Ok(Self { log, engine, ask: ask(&demands), asks_again })
    }

    /// Closes the log. What was recorded is durable already.
    pub(super) fn close(self) {
        drop(self.engine.close());
    }

    /// The answer, after waiting for a person until then at most. A question is asked once.
    pub(super) fn answer(&self, until: Option<Instant>) -> Result<Answer, String> {
        let watch = Watch::of_log(&self.log);
        let mut so_far = Progress::default();
        loop {
            match self.look()? {
                Standing::Approved(point) => {
                    if self.spend(&point)? {
                        return Ok(Answer::allow(&describe::spent(&point)));
                    }
                }
                Standing::Asked(point) => {
                    deadline::is_at(Question::Asked(point.decision_id.to_string()));
                    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
                    let Some(left) = left.filter(|left| !left.is_zero()) else {
                        let before = so_far.before.as_deref();
                        return Ok(Answer::deny(&describe::pending(&self.log, &point, before)));
                    };
                    // Whatever ended the wait, the next look tells how it stands.
                    let _ = watch.wait(left);
                    so_far.has_asked = true;
                }
                Standing::Denied(point) if so_far.has_asked || !self.asks_again => {
                    return Ok(Answer::deny(&describe::rejected(&point)));
                }
                Standing::Nothing(Some(point)) if so_far.has_asked && point.consumed.is_none() => {
                    return Ok(Answer::deny(&describe::unanswered(&point)));
                }
                Standing::Denied(point) => self.ask(Some(point), &mut so_far)?,
                Standing::Nothing(before) => self.ask(before, &mut so_far)?,
            }
        }
    }

    /// Where the call stands now, after what is due was recorded.
    fn look(&self) -> Result<Standing, String> {
        self.engine.expire().map_err(said)?;
        self.engine.query(|world| standing(world, &self.ask)).map_err(said)
    }

    /// Spends an approval. False: somebody else did, or its time was over.
    fn spend(&self, point: &DecisionPoint) -> Result<bool, String> {
        let command =
            Command::DecisionPoint(DecisionPointCommand::ConsumeApproval(ConsumeApproval {
                decision_id: point.decision_id.to_string(),
                by: self.ask.by.clone(),
                binding: self.ask.binding.clone(),
            }));
        let origin = self.origin(None);
        deadline::is_at(Question::Spending(point.decision_id.to_string()));
        let submitted = self
            .engine
            .submit(&origin, (), &command)
            .map_err(|error| describe::may_be_spent(point, &said(error)))?;
        match submitted {
            Submitted::Accepted(_) => Ok(true),
            Submitted::Refused(Refusal::DecisionPoint(
                No::AlreadyConsumed { .. } | No::ApprovalLapsed { .. },
            ))
            | Submitted::Repeated(_) => Ok(false),
            Submitted::Refused(refusal) => Err(refused(&refusal)),
        }
    }

    /// Puts the question on record, unless another process just did.
    fn ask(&self, before: Option<DecisionPoint>, so_far: &mut Progress) -> Result<(), String> {
        let key = self.ask.key(before.as_ref(), so_far.salt);
        let (engine, tenant) = (describe::KEY_ENGINE.to_string(), describe::KEY_TENANT.to_string());
        let key = Some(IdempotencyKey { tenant, engine, key });
        let conditions = Conditions::of(key, None);
        let entropy = self.engine.entropy().map_err(said)?;
        let command = self.ask.command(entropy);
        deadline::is_at(Question::Asking(command.decision_id()));
        let command = recorded_by(command);
        let origin = self.origin(before.as_ref().map(|point| point.created_sequence));
        match self.engine.submit(&origin, &conditions, &command).map_err(said)? {
            Submitted::Accepted(_) => so_far.has_asked = true,
            // By another hook just now; or long ago, by one that is remembered no longer.
            // What is shown and not bound may differ: then it is a conflict of their key.
            Submitted::Repeated(_) | Submitted::Refused(Refusal::IdempotencyConflict { .. }) => {
                so_far.salt = Some(entropy);
            }
            Submitted::Refused(refusal) => return Err(refused(&refusal)),
        }
        so_far.before = before.map(|point| self.became(&point)).transpose()?;
        Ok(())
    }

    /// What became of what was asked before, in words.
    fn became(&self, point: &DecisionPoint) -> Result<String, String> {
        let doubt = self.engine.query(|world| world.doubt_of_point(point)).map_err(said)?;
        Ok(describe::was_before(point, doubt))
    }

    /// The session asks, within a story of its own.
    fn origin(&self, causation: Option<u64>) -> Origin {
        let by = &self.ask.by;
        Origin { actor: by.actor(), correlation: by.id.to_string(), causation }
    }
}

/// Where a call stands in this state of the world.
fn standing(world: &World, ask: &Ask) -> Standing {
    let is_it = |point: &&DecisionPoint| ask.is_answered_by(point);
    let is_apart = |point: &&DecisionPoint| {
        let terms = world.person_for_point(&point.decision_id);
        !ask.separation || terms.is_some_and(|terms| terms.separation)
    };
    // What was asked before another user was demanded is asked anew, and what is in doubt.
    let live = || world.decisions_bound_to(&ask.binding).filter(is_it).filter(is_apart);
    let sound = || live().filter(|point| world.doubt_of_point(point).is_none());
    if let Some(point) = sound().find(|point| point.spendable_until().is_some()) {
        return Standing::Approved(point.clone());
    }
    if let Some(point) = sound().find(|point| point.is_open()) {
        return Standing::Asked(point.clone());
    }
    let before = live().chain(world.closed_decision_points().filter(is_it));
    match before.max_by_key(|point| point.created_sequence) {
        Some(point) if is_denied(point) => Standing::Denied(point.clone()),
        last => Standing::Nothing(last.cloned()),
    }
}

/// Whether a person chose the option that says no.
fn is_denied(point: &DecisionPoint) -> bool {
    let kind = point.ending.as_ref().and_then(|ending| ending.kind);
    kind == Some(ResolutionKind::Option) && !point.approves()
}

/// A refusal with its code, as `run` tells it.
fn refused(refusal: &Refusal) -> String {
    said(format_args!("{refusal} ({})", refusal.code()))
}

fn said(error: impl Display) -> String {
    visible_once(&error.to_string())
}
