//! The seed's storage operations (seed, "Storage API") but for the update.

use super::super::conditions::Conditions;
use super::super::engine::Engine;
use super::super::error::SubmitError;
use super::super::submit::{Origin, Submitted, begin_where};
use super::{DecisionPointRecord, named};
use crate::log::Storage;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::decision_point::{CreateDecisionPoint, DecisionPoint, DecisionPointCommand};
use holdpoint_domain::{Command, World};
use thiserror::Error;

/// A decision point was not created. Nothing was recorded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateDecisionPointError {
    /// The log failed or cannot be read.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The issue has an open one, and has one at a time (seed, "Database Schema").
    #[error(
        "issue {issue_id} has the open decision {decision_id}; wait for its answer, or cancel or \
         supersede it"
    )]
    IssueHasOne {
        /// The issue.
        issue_id: String,
        /// The open one.
        decision_id: String,
    },
    /// A field that a new decision point cannot have.
    #[error("a new decision point has {expected} as its {field}, not {found}; leave it")]
    NotNew {
        /// The field.
        field: &'static str,
        /// Value that a new one has.
        expected: &'static str,
        /// Value that was given.
        found: String,
    },
}

/// No decision point can be told by an issue.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FindDecisionPointError {
    /// The log failed or cannot be read.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// Several are open, which commands other than these operations may bring about.
    #[error("issue {issue_id} has several open decisions: {}; name one", .decision_ids.join(", "))]
    SeveralOpen {
        /// The issue.
        issue_id: String,
        /// The open ones.
        decision_ids: Vec<String>,
    },
}

impl<S: Storage> Engine<S> {
    /// Asks a question about an issue (seed: `CreateDecisionPoint`), in the name of the origin's
    /// actor. What the record says of `requested_by` is that name, or nothing. It has no deadline:
    /// a [`CreateDecisionPoint`] that is [submitted](Engine::submit) may have one, and an approval
    /// policy. The new id is in the receipt's event. Asked again under its key, a question is
    /// answered with the first receipt while it is the issue's open one too.
    ///
    /// # Errors
    /// See [`CreateDecisionPointError`]. A refusal by a rule is an answer, not an error.
    pub fn create_decision_point(
        &self,
        origin: &Origin,
        conditions: impl Into<Conditions>,
        record: &DecisionPointRecord,
    ) -> Result<Submitted, CreateDecisionPointError> {
        let conditions = &conditions.into();
        check_new(record)?;
        let command = self.creation(origin, record)?;
        let command =
            Command::DecisionPoint(DecisionPointCommand::CreateDecisionPoint(command.into()));
        let core = self.core();
        let begun_at = core.meter.now();
        let proof = core.identity.proof_of(&origin.actor);
        // A key knows better than the issue whether this very question was asked before.
        let is_known = conditions.idempotency(origin, &command).map(|key| {
            let correlation = origin.correlation.clone();
            move |world: &World| !matches!(world.receipt_of(&correlation, &key), Ok(None))
        });
        let is_free = |world: &World| match &is_known {
            Some(is_known) if is_known(world) => Ok(()),
            _ => free(world, &record.issue_id),
        };
        let command = &*core.identity.proven(&command, proof);
        let begun = begin_where(core, origin, proof, conditions, command, is_free)?;
        let submitted = begun?.acknowledged()?;
        core.meter.submitted(begun_at, &submitted);
        Ok(submitted)
    }

    /// The decision point of an issue (seed: `GetDecisionPoint`): the open one, else the round that
    /// ended last, as long as it is among the newest 1,024 that ended. The
    /// id of a round names that round. `None` where there is none.
    ///
    /// # Errors
    /// See [`FindDecisionPointError`].
    pub fn get_decision_point(
        &self,
        issue_id: &str,
    ) -> Result<Option<DecisionPointRecord>, FindDecisionPointError> {
        self.query(|world| Ok(current(world, issue_id)?.map(DecisionPointRecord::of)))?
    }

    /// Every round that nobody answered yet (seed: `ListPendingDecisions`), oldest first; also one
    /// that waits for its requester to heed guidance, which may be accepted as it is.
    ///
    /// # Errors
    /// The log failed or cannot be read.
    pub fn list_pending_decisions(&self) -> Result<Vec<DecisionPointRecord>, SubmitError> {
        self.query(|world| {
            let mut open: Vec<_> = world.live_decision_points().collect();
            open.retain(|point| point.is_open());
            open.sort_by_key(|point| point.created_sequence);
            open.into_iter().map(DecisionPointRecord::of).collect()
        })
    }

    fn creation(
        &self,
        origin: &Origin,
        record: &DecisionPointRecord,
    ) -> Result<CreateDecisionPoint, SubmitError> {
        let (by, options) = (named(origin, &record.requested_by), record.options.clone());
        Ok(CreateDecisionPoint {
            issue_id: Some(record.issue_id.clone()),
            default_option: record.default_option.clone(),
            max_iterations: Some(record.max_iterations),
            ..CreateDecisionPoint::asking(self.entropy()?, by, &record.prompt, options)
        })
    }
}

/// The round that an issue, or a round's own id, stands for now.
pub(super) fn current<'w>(
    world: &'w World,
    issue_id: &str,
) -> Result<Option<&'w DecisionPoint>, FindDecisionPointError> {
    if let Some(point) = world.decision_point(issue_id) {
        return Ok(Some(point));
    }
    let is_of_issue = |point: &&DecisionPoint| point.terms.issue_id.as_deref() == Some(issue_id);
    let of_issue = world.live_decision_points().filter(is_of_issue);
    let (open, to_be_spent): (Vec<_>, Vec<_>) = of_issue.partition(|point| point.is_open());
    match open.as_slice() {
        [] => {
            let ended = world.closed_decision_points().filter(is_of_issue).chain(to_be_spent);
            Ok(ended.max_by_key(|point| point.ending.as_ref().map(|ending| ending.sequence)))
        }
        [one] => Ok(Some(*one)),
        several => Err(FindDecisionPointError::SeveralOpen {
            issue_id: visible(issue_id).to_string(),
            decision_ids: several.iter().map(|point| point.decision_id.to_string()).collect(),
        }),
    }
}

/// Checks whether an issue has no open decision point.
fn free(world: &World, issue_id: &str) -> Result<(), CreateDecisionPointError> {
    match world.open_decisions_of(issue_id).next() {
        None => Ok(()),
        Some(open) => Err(CreateDecisionPointError::IssueHasOne {
            issue_id: visible(issue_id).to_string(),
            decision_id: open.decision_id.to_string(),
        }),
    }
}

/// Checks that a new record states nothing that the log says or that an answer brings about.
fn check_new(record: &DecisionPointRecord) -> Result<(), CreateDecisionPointError> {
    let DecisionPointRecord { responded_at, created_at, .. } = record;
    let iteration = (record.iteration != 1).then(|| record.iteration.to_string());
    let given = [
        ("selected_option", "nothing", record.selected_option.clone()),
        ("response_text", "nothing", record.response_text.clone()),
        ("responded_at", "nothing", responded_at.map(|at| at.to_string())),
        ("responded_by", "nothing", record.responded_by.clone()),
        ("iteration", "1", iteration),
        ("prior_id", "nothing", record.prior_id.clone()),
        ("guidance", "nothing", record.guidance.clone()),
        ("created_at", "nothing", created_at.map(|at| at.to_string())),
    ];
    for (field, expected, found) in given {
        if let Some(found) = found {
            let found = super::update::shown(&found);
            return Err(CreateDecisionPointError::NotNew { field, expected, found });
        }
    }
    Ok(())
}
