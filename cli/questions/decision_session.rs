//! Changing decisions: the log open for writing.

use crate::args::principal::user;
use crate::args::{Global, LockWaitArgs};
use crate::log::configuration::Demands;
use crate::log::current_state::InDoubt;
use crate::log::decision_id::is_by_beginning;
use crate::log::open::{failed, not_submitted};
use crate::log::question::QuestionView;
use crate::log::question::resolve;
use crate::log::question_look::about;
use crate::log::receipt::Recorded;
use crate::log::{Question, ids};
use crate::questions::decision_view::outcome;
use crate::questions::hold_view::outcome_words;
use crate::questions::open::open_or_make;
use crate::questions::permits::Act;
use crate::questions::request_id;
use crate::ui::text::visible_once;
use crate::ui::{Exit, Failure, named, now};
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::core::actor::{Actor, Authentication, NotAPerson, Principal};
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::core::text::check_identifier;
use holdpoint_domain::decision_point::{
    CreateDecisionPoint, DecisionPoint, DecisionPointCommand, DecisionPointEvent,
    DecisionPointRefusal as No,
};
use holdpoint_domain::governed::RequestPlace;
use holdpoint_domain::log::GatePolicy;
use holdpoint_domain::{ActorId, Command, Event, Refusal, World};
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{
    Conditions, IdempotencyKey, Origin, Receipt, Submitted, SubscriptionError, TypedLine,
};
use holdpoint_log_files::FollowError;
use holdpoint_replay::question::known_decisions;
use serde::Serialize;
use serde_json::{Value, json};
use std::cell::RefCell;

/// Whose keys those of `--idempotency-key` are.
const KEY_ENGINE: &str = "decision";
const KEY_TENANT: &str = "local";

/// The log, open for writing.
pub(crate) struct DecisionSession<'g> {
    global: &'g Global,
    engine: Engine,
    /// What was carried out last.
    recorded: RefCell<Option<Recorded>>,
}

/// A decision point, and whether it is in doubt.
#[derive(Serialize)]
struct Doubted<'a> {
    #[serde(flatten)]
    decision: QuestionView<'a>,
    #[serde(flatten)]
    doubt: InDoubt,
}

/// Under which conditions something is done.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Only {
    /// Fail unless the decision has this version, the `version` of its JSON.
    #[arg(long, value_name = "N")]
    expected_version: Option<u64>,
    /// Idempotency key: the same command again returns the first result, another one is a conflict.
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    idempotency_key: Option<String>,
}

impl Only {
    /// Nothing but a key.
    pub(crate) fn under_key(idempotency_key: Option<String>) -> Self {
        Self { expected_version: None, idempotency_key }
    }

    /// Tells whether a condition is given.
    pub(crate) fn is_given(&self) -> bool {
        self.expected_version.is_some() || self.idempotency_key.is_some()
    }

    /// Whether the version of what was read is given.
    pub(crate) fn names_version(&self) -> bool {
        self.expected_version.is_some()
    }

    fn conditions(&self) -> Conditions {
        let key = self.idempotency_key.as_ref().map(|key| IdempotencyKey {
            tenant: KEY_TENANT.to_string(),
            engine: KEY_ENGINE.to_string(),
            key: key.clone(),
        });
        Conditions::of(key, self.expected_version)
    }
}

impl<'g> DecisionSession<'g> {
    /// Opens the log. Where there is none it is made only if that is asked for.
    pub(crate) fn open(
        global: &'g Global,
        turn: &LockWaitArgs,
        make: bool,
    ) -> Result<Self, Failure> {
        let engine = open_or_make(global, turn, make)?;
        Ok(Self { global, engine, recorded: RefCell::default() })
    }

    /// Lets less than the defaults be asked for here, as a person typed.
    pub(crate) fn allow_below_defaults(&self, line: &TypedLine) {
        self.engine.allow_below_defaults(line);
    }

    /// What is demanded of whatever is asked here.
    pub(crate) fn demands(&self) -> Result<Demands, Failure> {
        Demands::of(&self.global.log, &self.engine)
    }

    /// Fresh random bits.
    pub(crate) fn entropy(&self) -> Result<Entropy, Failure> {
        self.engine.entropy().map_err(|error| failed(self.global, error))
    }

    /// The decision point that is meant, as it is now, after what is due was recorded. Where it is
    /// named by how its id begins, no other id of the whole log begins so. No hold takes such an
    /// act.
    pub(crate) fn find(&self, wanted: &str, act: Act) -> Result<DecisionPoint, Failure> {
        ids::expect_long_enough(wanted)?;
        self.engine.expire().map_err(|error| failed(self.global, error))?;
        let point = self.look(|world| match resolve(world, wanted)? {
            Question::Decision(point) => Ok(point.clone()),
            Question::Hold(_, held) => {
                Err(about(self.global, wanted, act.not_of_a_hold(held.request_id())))
            }
        })??;
        if is_by_beginning(&point, wanted) {
            ids::expect_only(self.global, wanted, &point.decision_id)?;
        }
        Ok(point)
    }

    /// The request of a hold that is meant, as [`request_id::find`] finds it.
    pub(crate) fn find_request(&self, wanted: &str) -> Result<Option<String>, Failure> {
        request_id::find(self.global, &self.engine, wanted)
    }

    /// Hands in a command on a decision point, in its story; of a person who typed a line for it,
    /// with that.
    pub(crate) fn submit(
        &self,
        point: &DecisionPoint,
        by: &Principal,
        only: &Only,
        command: &Command,
        line: Option<TypedLine>,
    ) -> Result<Submitted, Failure> {
        let correlation = point.correlation.clone();
        let origin = Origin { actor: by.actor(), correlation, causation: None };
        self.submit_in(&origin, only, command, line, ended_by)
    }

    /// Hands in an answer to a hold, in the story in which it was asked.
    pub(crate) fn submit_to_hold(
        &self,
        request_id: &str,
        by: ActorId,
        command: &Command,
        line: Option<TypedLine>,
    ) -> Result<Submitted, Failure> {
        let story = self.story_of_request(request_id)?;
        let correlation = story.map_or_else(|| Ok(self.entropy()?.to_string()), Ok)?;
        let origin = Origin { actor: by, correlation, causation: None };
        let submitted = self.submit_in(&origin, &Only::default(), command, line, |world, _| {
            let outcome = world.find_request(request_id)?.held().outcome.as_ref()?;
            let what = format!("request {}: {}", named(request_id), outcome_words(outcome));
            Some((request_id.to_string(), what))
        })?;
        if let Submitted::Accepted(receipt) | Submitted::Repeated(receipt) = &submitted {
            self.note(receipt, Some(request_id));
        }
        Ok(submitted)
    }

    /// The story in which a hold was asked; where that record was moved to an archive, that of its
    /// run, as far as it is known.
    fn story_of_request(&self, request_id: &str) -> Result<Option<String>, Failure> {
        let asked = self.look(|world| {
            let place = world.find_request(request_id)?;
            let of_run = match place {
                RequestPlace::Live(entity, _) => Some(entity.correlation.clone()),
                RequestPlace::Closed(_) => None,
            };
            Some((place.held().requested_sequence, of_run))
        })?;
        let Some((sequence, of_run)) = asked else { return Ok(None) };
        let read = self.engine.subscribe(sequence).and_then(|mut records| records.try_next());
        match read {
            Ok(Some(record)) if record.sequence == sequence => {
                Ok(Some(record.envelope.correlation))
            }
            Ok(_)
            | Err(
                SubscriptionError::Before { .. }
                | SubscriptionError::Follow(FollowError::Gone { .. }),
            ) => Ok(of_run),
            Err(error) => Err(failed(self.global, error)),
        }
    }

    /// The beginning of a story by somebody.
    fn new_story(&self, by: &Principal) -> Result<Origin, Failure> {
        let correlation = self.entropy()?.to_string();
        Ok(Origin { actor: by.actor(), correlation, causation: None })
    }

    /// Sets a policy as root, where the one before names somebody who is gone.
    pub(crate) fn unlock(
        &self,
        by: &Principal,
        policy: GatePolicy,
        line: TypedLine,
    ) -> Result<Submitted, Failure> {
        let submitted = self.engine.unlock_policy(&self.new_story(by)?, policy, line);
        submitted.map_err(|error| failed(self.global, error))
    }

    /// Accepts that the newest record is ahead of the clock, as a person typed.
    pub(crate) fn accept_clock_step(
        &self,
        by: &Principal,
        line: TypedLine,
    ) -> Result<Submitted, Failure> {
        let submitted = self.engine.accept_clock_step(&self.new_story(by)?, line);
        submitted.map_err(|error| failed(self.global, error))
    }

    /// Hands in a command of a person who typed a line for it, in a story of its own.
    pub(crate) fn submit_typed(
        &self,
        by: &Principal,
        command: &Command,
        line: TypedLine,
    ) -> Result<Submitted, Failure> {
        let origin = self.new_story(by)?;
        self.submit_in(&origin, &Only::default(), command, Some(line), ended_by)
    }

    /// Puts a question on record. Its story is the issue; without one, the key or random bits. With
    /// the question, whether it was asked under the same key before.
    pub(crate) fn ask(
        &self,
        only: &Only,
        question: CreateDecisionPoint,
    ) -> Result<(DecisionPoint, bool), Failure> {
        let mut origin = self.new_story(&question.by)?;
        // An issue that is no name has no story: the rules tell that it is none.
        let is_story = |issue: &&str| check_identifier("issue id", issue).is_ok();
        match (question.issue_id.as_deref().filter(is_story), &only.idempotency_key) {
            (Some(issue), _) => origin.correlation = issue.to_string(),
            (None, Some(key)) => origin.correlation = story_of(key),
            (None, None) => {}
        }
        let command = DecisionPointCommand::CreateDecisionPoint(Box::new(question));
        let command = Command::DecisionPoint(command);
        let submitted = self.submit_in(&origin, only, &command, None, ended_by)?;
        let (receipt, is_repeated) = self.carried_out(None, submitted)?;
        Ok((self.created(&receipt)?, is_repeated))
    }

    fn submit_in(
        &self,
        origin: &Origin,
        only: &Only,
        command: &Command,
        line: Option<TypedLine>,
        came_to: impl FnOnce(&World, u64) -> Option<(String, String)>,
    ) -> Result<Submitted, Failure> {
        let conditions = only.conditions();
        let submitted = match line {
            Some(line) => self.engine.submit_typed(origin, &conditions, command, line),
            None => self.engine.submit(origin, &conditions, command),
        };
        submitted.map_err(|error| {
            not_submitted(self.global, &error, |record| {
                self.look(|world| came_to(world, record)).ok().flatten()
            })
        })
    }

    /// The receipt of what was handed in, and whether it is that of an earlier time.
    pub(crate) fn carried_out(
        &self,
        decision_id: Option<&str>,
        submitted: Submitted,
    ) -> Result<(Receipt, bool), Failure> {
        let (receipt, is_repeated) = match submitted {
            Submitted::Accepted(receipt) => (receipt, false),
            Submitted::Repeated(receipt) => (receipt, true),
            Submitted::Refused(refusal) => return Err(self.refused(&refusal, decision_id)?),
        };
        let made = receipt.events.iter().find_map(|event| match event {
            Event::DecisionPoint(event) => Some(event.decision_id()),
            _ => None,
        });
        self.note(&receipt, decision_id.or(made));
        Ok((receipt, is_repeated))
    }

    fn note(&self, receipt: &Receipt, id: Option<&str>) {
        self.recorded.replace(Some(Recorded::new(receipt.last_sequence, id)));
    }

    /// What was carried out here last, for what fails behind it.
    pub(crate) fn recorded(&self) -> Option<Recorded> {
        self.recorded.borrow().clone()
    }

    /// The decision point that was made, now or before under the same key.
    fn created(&self, receipt: &Receipt) -> Result<DecisionPoint, Failure> {
        let sequence = receipt.first_sequence;
        let is_it = |point: &&DecisionPoint| point.created_sequence == sequence;
        self.look(|world| known_decisions(world).find(is_it).cloned())?.ok_or_else(|| {
            let message = format!(
                "record {sequence} created the decision of this key, and it ended so long ago that \
                 it is looked up in the log only: `holdpoint log --since {sequence}`; use \
                 another key to ask anew"
            );
            Failure::new(Exit::NOT_FOUND, "not_found", message)
        })
    }

    /// The link of a record; `None` where it is in an archive.
    pub(crate) fn link(&self, sequence: u64) -> Result<Option<String>, Failure> {
        let link = self.engine.link_of(sequence).map_err(|error| failed(self.global, error))?;
        Ok(link.map(|link| link.to_string()))
    }

    /// A decision point as programs read it, as it is now; and that it is in doubt.
    pub(crate) fn value(&self, point: &DecisionPoint) -> Result<Value, Failure> {
        let link = self.link(point.version)?;
        let doubt = InDoubt::of(self.doubt(point)?);
        Ok(json!(Doubted {
            decision: QuestionView::of_decision(point, now(), link.as_deref()),
            doubt
        }))
    }

    /// Why nothing is permitted by an answer to it.
    pub(crate) fn doubt(&self, point: &DecisionPoint) -> Result<Option<Doubt>, Failure> {
        self.look(|world| world.doubt_of_point(point))
    }

    /// The run that an approval was spent for.
    pub(crate) fn run_started_by(&self, point: &DecisionPoint) -> Result<Option<String>, Failure> {
        let found = self.engine.run_started_by(point);
        found.map_err(|error| failed(self.global, error))
    }

    /// The decision point with this id, as it is now.
    pub(crate) fn point(&self, decision_id: &str) -> Result<Option<DecisionPoint>, Failure> {
        self.look(|world| world.decision_point(decision_id).cloned())
    }

    /// Asks the state something.
    pub(crate) fn look<T>(&self, answer: impl FnOnce(&World) -> T) -> Result<T, Failure> {
        self.engine.query(answer).map_err(|error| failed(self.global, error))
    }

    /// What a refusal means to a person and to a program: exit 3 where there is no such decision, 4
    /// where somebody else was first, 5 where a rule says no.
    pub(crate) fn refused(
        &self,
        refusal: &Refusal,
        decision_id: Option<&str>,
    ) -> Result<Failure, Failure> {
        let point = decision_id.map(|id| self.point(id)).transpose()?.flatten();
        let current = point.as_ref().map_or(Ok(Value::Null), |point| self.value(point))?;
        let mut refusal = refusal.clone();
        if let Refusal::DecisionPoint(No::AlreadyEnded { outcome: ended, .. }) = &mut refusal {
            // With what proves who ended it.
            point.iter().for_each(|point| *ended = outcome(point));
        }
        let failure = refused(&refusal);
        Ok(failure.with("decision_id", json!(decision_id)).with("current", current))
    }

    /// The conflict with what ended a decision before an answer came, which is on record itself.
    pub(crate) fn too_late(
        &self,
        point: &DecisionPoint,
        receipt: &Receipt,
    ) -> Result<Failure, Failure> {
        let failure = self.refused(&point.ended().into(), Some(&point.decision_id))?;
        let failure = failure.adding("; this answer is kept, and does not count");
        Ok(failure.with("late", json!(true)).with("event", self.record(receipt.first_sequence)?))
    }

    /// A record, as programs read it.
    pub(crate) fn record(&self, seq: u64) -> Result<Value, Failure> {
        Ok(json!({ "seq": seq, "hash": self.link(seq)? }))
    }

    /// Closes the log.
    pub(crate) fn close(self) -> Result<(), Failure> {
        let recorded = self.recorded.into_inner();
        let closed = self.engine.close().map_err(|error| failed(self.global, error));
        closed.map_err(|failure| failure.behind_any(recorded.as_ref()))
    }
}

/// The decision point whose newest record is this one, and what became of it.
fn ended_by(world: &World, record: u64) -> Option<(String, String)> {
    let point = known_decisions(world).find(|point| point.version == record)?;
    let what = format!("decision {}: {}", point.decision_id, outcome(point));
    Some((point.decision_id.to_string(), what))
}

/// The story of a question that has no issue and is asked under a key: the key, or its digest where
/// that name would be too long, or none. The same key has the same story.
fn story_of(key: &str) -> String {
    let named = format!("decision key {key}");
    match check_identifier("correlation", &named) {
        Ok(()) => named,
        Err(_) => format!("decision key {}", sha256(key.as_bytes())),
    }
}

/// Whether an answer came too late: it is on record, and does not count.
pub(crate) fn is_late(receipt: &Receipt) -> bool {
    receipt.events.iter().any(|event| {
        matches!(event, Event::DecisionPoint(DecisionPointEvent::LateResponseRecorded(_)))
    })
}

/// The failure of a refusal, of no decision as it stands.
pub(crate) fn no(refusal: No) -> Failure {
    refused(&refusal.into())
}

fn refused(refusal: &Refusal) -> Failure {
    let exit = match refusal {
        Refusal::DecisionPoint(No::UnknownDecision { .. }) => Exit::NOT_FOUND,
        Refusal::DecisionPoint(no) if no.is_conflict() => Exit::CONFLICT,
        Refusal::StaleVersion { .. } | Refusal::IdempotencyConflict { .. } => Exit::CONFLICT,
        _ => Exit::REFUSED,
    };
    let message = visible_once(&refusal.to_string());
    let failure = Failure::new(exit, refusal.code().to_ascii_lowercase(), message);
    failure.adding(&unproven(refusal))
}

/// Where a name was refused because this process can prove none, what it is; else nothing.
pub(crate) fn unproven(refusal: &Refusal) -> String {
    let by = user(Actor::Human);
    let is_claim = refusal.code() == NotAPerson::Claimed.code();
    match is_claim && by.authenticated_by == Authentication::None {
        true => format!("; here it is {}", by.means),
        false => String::new(),
    }
}
