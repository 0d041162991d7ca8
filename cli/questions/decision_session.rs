//! Changing decisions: the log open for writing.

use crate::args::principal::user;
use crate::args::{Global, LockWaitArgs};
use crate::log::configuration::Demands;
use crate::log::current_state::InDoubt;
use crate::log::decision_id::{all, is_by_beginning};
use crate::log::open::{failed, not_submitted};
use crate::log::question::QuestionView;
use crate::log::receipt::Recorded;
use crate::log::{Question, ids};
use crate::questions::decision_view::outcome;
use crate::questions::open::open_or_make;
use crate::questions::permits::{Act, not_of_a_hold};
use crate::ui::text::visible_once;
use crate::ui::{Exit, Failure, now};
use clap::builder::NonEmptyStringValueParser;
use holdpoint_domain::core::actor::{Actor, Authentication, NotAPerson, Principal};
use holdpoint_domain::core::doubt::Doubt;
use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_domain::core::text::check_identifier;
use holdpoint_domain::decision_point::{DecisionPoint, DecisionPointEvent, DecisionPointRefusal};
use holdpoint_domain::log::GatePolicy;
use holdpoint_domain::{Command, Event, Refusal, World};
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{Conditions, IdempotencyKey, Origin, Receipt, Submitted, TypedLine};
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
    /// Do it only if the decision is at this version: the `version` of its JSON.
    #[arg(long, value_name = "N")]
    expect_version: Option<u64>,
    /// Do it once under this key: the same again is answered with what it came to, something else
    /// is a conflict.
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    idempotency_key: Option<String>,
}

impl Only {
    /// Nothing but a key.
    pub(crate) fn under_key(idempotency_key: Option<String>) -> Self {
        Self { expect_version: None, idempotency_key }
    }

    /// Tells whether a condition is given.
    pub(crate) fn is_given(&self) -> bool {
        self.expect_version.is_some() || self.idempotency_key.is_some()
    }

    /// Whether the version of what was read is given.
    pub(crate) fn names_version(&self) -> bool {
        self.expect_version.is_some()
    }

    fn conditions(&self) -> Conditions {
        let key = self.idempotency_key.as_ref().map(|key| IdempotencyKey {
            tenant: KEY_TENANT.to_string(),
            engine: KEY_ENGINE.to_string(),
            key: key.clone(),
        });
        Conditions::of(key, self.expect_version)
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
        let found = self.engine.query(|world| match Question::resolve(world, wanted)? {
            Question::Decision(point) => Ok(point.clone()),
            Question::Hold(_, held) => Err(not_of_a_hold(held.request_id(), act)),
        });
        let point = found.map_err(|error| failed(self.global, error))??;
        if is_by_beginning(&point, wanted) {
            ids::expect_only(self.global, wanted, &point.decision_id)?;
        }
        Ok(point)
    }

    /// Hands in a command on a decision point, in its story.
    pub(crate) fn submit(
        &self,
        point: &DecisionPoint,
        by: &Principal,
        only: &Only,
        command: &Command,
    ) -> Result<Submitted, Failure> {
        self.submit_as(point, by, only, command, None)
    }

    /// The same, of a person who typed a line for it.
    pub(crate) fn submit_as(
        &self,
        point: &DecisionPoint,
        by: &Principal,
        only: &Only,
        command: &Command,
        line: Option<TypedLine>,
    ) -> Result<Submitted, Failure> {
        let correlation = point.correlation.clone();
        let origin = Origin { actor: by.actor(), correlation, causation: None };
        self.submit_in(origin, only, command, line)
    }

    /// Sets a policy as root, where the one before names somebody who is gone.
    pub(crate) fn unlock(
        &self,
        by: &Principal,
        policy: GatePolicy,
        line: TypedLine,
    ) -> Result<Submitted, Failure> {
        let correlation = self.entropy()?.to_string();
        let origin = Origin { actor: by.actor(), correlation, causation: None };
        let submitted = self.engine.unlock_policy(&origin, policy, line);
        submitted.map_err(|error| failed(self.global, error))
    }

    /// Accepts that the newest record is ahead of the clock, as a person typed.
    pub(crate) fn accept_clock_step(
        &self,
        by: &Principal,
        line: TypedLine,
    ) -> Result<Submitted, Failure> {
        let correlation = self.entropy()?.to_string();
        let origin = Origin { actor: by.actor(), correlation, causation: None };
        let submitted = self.engine.accept_clock_step(&origin, line);
        submitted.map_err(|error| failed(self.global, error))
    }

    /// Hands in a command that asks. Its story is the issue; without one, the key or random bits.
    pub(crate) fn submit_new(
        &self,
        issue: Option<&str>,
        by: &Principal,
        only: &Only,
        command: &Command,
        line: Option<TypedLine>,
    ) -> Result<Submitted, Failure> {
        // An issue that is no name has no story: the rules tell that it is none.
        let story = issue.filter(|issue| check_identifier("issue id", issue).is_ok());
        let correlation = match (story, &only.idempotency_key) {
            (Some(issue), _) => issue.to_string(),
            (None, Some(key)) => story_of(key),
            (None, None) => self.entropy()?.to_string(),
        };
        let origin = Origin { actor: by.actor(), correlation, causation: None };
        self.submit_in(origin, only, command, line)
    }

    fn submit_in(
        &self,
        origin: Origin,
        only: &Only,
        command: &Command,
        line: Option<TypedLine>,
    ) -> Result<Submitted, Failure> {
        let conditions = only.conditions();
        let submitted = match line {
            Some(line) => self.engine.submit_typed(&origin, &conditions, command, line),
            None => self.engine.submit_when(&origin, &conditions, command),
        };
        submitted.map_err(|error| {
            not_submitted(self.global, &error, |record| {
                let is_it = |point: &&DecisionPoint| point.version == record;
                let point = self.look(|world| all(world).find(is_it).cloned()).ok()??;
                let what = format!("decision {}: {}", point.decision_id, outcome(&point));
                Some((point.decision_id.to_string(), what))
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
        let recorded = Recorded::new(receipt.last_sequence, decision_id.or(made));
        self.recorded.replace(Some(recorded));
        Ok((receipt, is_repeated))
    }

    /// What was carried out here last, for what fails behind it.
    pub(crate) fn recorded(&self) -> Option<Recorded> {
        self.recorded.borrow().clone()
    }

    /// The decision point that was made, now or before under the same key.
    pub(crate) fn created(&self, receipt: &Receipt) -> Result<DecisionPoint, Failure> {
        let sequence = receipt.first_sequence;
        let is_it = |point: &&DecisionPoint| point.created_sequence == sequence;
        self.look(|world| all(world).find(is_it).cloned())?.ok_or_else(|| {
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
        let current = match decision_id.map(|id| self.point(id)).transpose()?.flatten() {
            Some(point) => self.value(&point)?,
            None => Value::Null,
        };
        let failure = refused(refusal);
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
pub(crate) fn no(refusal: DecisionPointRefusal) -> Failure {
    refused(&refusal.into())
}

fn refused(refusal: &Refusal) -> Failure {
    let exit = match refusal {
        Refusal::DecisionPoint(DecisionPointRefusal::UnknownDecision { .. }) => Exit::NOT_FOUND,
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
