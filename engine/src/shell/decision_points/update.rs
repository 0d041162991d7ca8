//! The seed's update: it appends what changed, and never overwrites.

use super::super::conditions::Conditions;
use super::super::engine::Engine;
use super::super::error::SubmitError;
use super::super::submit::{Origin, Receipt, Submitted};
use super::storage::{FindDecisionPointError, current};
use super::{DecisionPointRecord, named};
use crate::log::Storage;
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::decision_point::{
    DecisionPoint, DecisionPointCommand, DecisionPointEvent, DecisionPointRefusal,
    DecisionPointState, RefineDecisionPoint, RespondToDecisionPoint, Response,
};
use holdpoint_domain::{Command, Event, Refusal, World};
use thiserror::Error;

/// Bytes of a value that an error shows.
const SHOWN_BYTES: usize = 96;

/// Outcome of an update.
#[must_use = "a rule may have refused the update: `accepted` makes that an error"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpdatedDecisionPoint {
    /// The change is recorded.
    Recorded(Receipt),
    /// Nothing changed, or it was recorded before. Nothing was written.
    Repeated,
    /// A rule said no. Nothing came of the update.
    Refused(Refusal),
}

impl UpdatedDecisionPoint {
    /// The receipt, where something was recorded, for whoever goes on only without a refusal.
    ///
    /// # Errors
    /// The refusal.
    pub fn accepted(self) -> Result<Option<Receipt>, Refusal> {
        match self {
            Self::Recorded(receipt) => Ok(Some(receipt)),
            Self::Repeated => Ok(None),
            Self::Refused(refusal) => Err(refusal),
        }
    }
}

/// An update was not carried out.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UpdateDecisionPointError {
    /// The log failed or cannot be read, or several rounds could be meant.
    #[error(transparent)]
    Find(#[from] FindDecisionPointError),
    /// The issue has no decision point.
    #[error("issue {issue_id} has no decision point; create one")]
    Unknown {
        /// The issue.
        issue_id: String,
    },
    /// Something that no update changes, or not now. Nothing was recorded.
    #[error("{field} of decision {decision_id} is {expected}, not {found}; read it again")]
    Fixed {
        /// The round.
        decision_id: String,
        /// The field.
        field: &'static str,
        /// Value that is recorded, or that it has to have.
        expected: String,
        /// Value that was given.
        found: String,
    },
    /// The round is over, and ended otherwise. The answer is kept as a late one, which never
    /// counts.
    #[error("{field} of decision {decision_id} is {expected}, not {found}: it ended, {outcome}")]
    Ended {
        /// The round.
        decision_id: String,
        /// The field.
        field: &'static str,
        /// Value that is recorded.
        expected: String,
        /// Value that was given.
        found: String,
        /// End of it, in words.
        outcome: String,
    },
}

impl From<SubmitError> for UpdateDecisionPointError {
    fn from(error: SubmitError) -> Self {
        Self::Find(error.into())
    }
}

impl<S: Storage> Engine<S> {
    /// Records what changed against what is recorded (seed: `UpdateDecisionPoint`), in the name of
    /// the origin's actor: an answer of the person in `responded_by`, guidance, which opens the
    /// next round, or, where guidance asked for it, another proposal of the agent in
    /// `requested_by`. Whoever the record names has to be the origin's actor. The round is the one
    /// of the issue's question with that `iteration`. Answered once, it stays as it is.
    ///
    /// # Errors
    /// See [`UpdateDecisionPointError`]. A refusal by a rule is an answer, not an error.
    pub fn update_decision_point(
        &self,
        origin: &Origin,
        conditions: impl Into<Conditions>,
        record: &DecisionPointRecord,
    ) -> Result<UpdatedDecisionPoint, UpdateDecisionPointError> {
        let point = self.query(|world| round_of(world, record))??;
        let changed = change(&point, origin, record).map_err(|fixed| fixed.of(&point))?;
        let (command, field) = match changed {
            QuestionUpdate::Nothing => return Ok(UpdatedDecisionPoint::Repeated),
            QuestionUpdate::Answer(field, command) => (
                Command::DecisionPoint(DecisionPointCommand::RespondToDecisionPoint(command)),
                Some(field),
            ),
            QuestionUpdate::Proposal(command) => {
                (Command::DecisionPoint(DecisionPointCommand::RefineDecisionPoint(command)), None)
            }
        };
        let command = match command.entropy() {
            Some(_) => command.with_entropy(self.entropy()?),
            None => command,
        };
        let submitted = self.submit(origin, conditions, &command)?;
        match (field, is_too_late(&submitted)) {
            (Some(field), true) => {
                let now = self.decision_point(&point.decision_id)?;
                Err(ended(now.as_ref().unwrap_or(&point), field, record))
            }
            _ => Ok(match submitted {
                Submitted::Accepted(receipt) => UpdatedDecisionPoint::Recorded(receipt),
                Submitted::Repeated(_) => UpdatedDecisionPoint::Repeated,
                Submitted::Refused(refusal) => UpdatedDecisionPoint::Refused(refusal),
            }),
        }
    }
}

/// A value as an error shows it.
pub(super) fn shown(value: &str) -> String {
    bounded(&visible(value).to_string(), SHOWN_BYTES).to_string()
}

/// Request of an update.
enum QuestionUpdate {
    Nothing,
    /// The field that has the answer, and the command that gives it.
    Answer(&'static str, RespondToDecisionPoint),
    Proposal(RefineDecisionPoint),
}

/// A field that may not change.
struct Fixed {
    field: &'static str,
    expected: String,
    found: String,
}

impl Fixed {
    fn of(self, point: &DecisionPoint) -> UpdateDecisionPointError {
        let Self { field, expected, found } = self;
        let decision_id = point.decision_id.to_string();
        UpdateDecisionPointError::Fixed { decision_id, field, expected, found }
    }
}

/// The round that an update is about.
fn round_of(
    world: &World,
    record: &DecisionPointRecord,
) -> Result<DecisionPoint, UpdateDecisionPointError> {
    let newest = current(world, &record.issue_id)?
        .ok_or_else(|| UpdateDecisionPointError::Unknown { issue_id: shown(&record.issue_id) })?;
    let before = |point: &&DecisionPoint| world.decision_point(point.prior_id.as_deref()?);
    let mut rounds = std::iter::successors(Some(newest), before);
    let found = rounds.find(|round| round.iteration == record.iteration);
    found.cloned().ok_or_else(|| {
        let (expected, found) = (newest.iteration.to_string(), record.iteration.to_string());
        Fixed { field: "iteration", expected, found }.of(newest)
    })
}

/// Returns what changed, if it may.
fn change(
    point: &DecisionPoint,
    origin: &Origin,
    record: &DecisionPointRecord,
) -> Result<QuestionUpdate, Fixed> {
    let before = DecisionPointRecord::of(point);
    check_fixed(&before, record)?;
    let answer = answer(&before, record)?;
    let refined = proposal(point, origin, &before, record)?;
    match (answer, refined) {
        (Some((field, _)), Some((other, _))) => Err(Fixed {
            field: other,
            expected: format!("left as it is where {field} answers"),
            found: "another one".to_string(),
        }),
        (Some((field, response)), None) => {
            Ok(QuestionUpdate::Answer(field, respond(point, origin, record, response)))
        }
        (None, Some((_, refine))) => check_unanswered(&before, record).map(|()| refine),
        (None, None) => check_unanswered(&before, record).map(|()| QuestionUpdate::Nothing),
    }
}

/// Checks that the fields that no update changes are as before. What the log alone says may be left
/// out.
fn check_fixed(before: &DecisionPointRecord, record: &DecisionPointRecord) -> Result<(), Fixed> {
    let kept = |field, expected: &Option<String>, found: &Option<String>| {
        same(field, expected.as_deref(), found.as_deref())
    };
    let [rounds, given] = [before, record].map(|of| Some(of.max_iterations.to_string()));
    kept("max_iterations", &rounds, &given)?;
    kept("prior_id", &before.prior_id, &record.prior_id)?;
    same("requested_by", Some(&before.requested_by), Some(&record.requested_by))?;
    for (field, recorded, found) in [
        ("created_at", before.created_at, record.created_at),
        ("responded_at", before.responded_at, record.responded_at),
    ] {
        if found.is_some() {
            let [recorded, found] = [recorded, found].map(|at| at.map(|at| at.to_string()));
            kept(field, &recorded, &found)?;
        }
    }
    Ok(())
}

/// Checks that the fields of an answer are as they were read, where no answer is given.
fn check_unanswered(
    before: &DecisionPointRecord,
    record: &DecisionPointRecord,
) -> Result<(), Fixed> {
    let [recorded, given] = [before, record];
    same("selected_option", recorded.selected_option.as_deref(), given.selected_option.as_deref())?;
    same("response_text", recorded.response_text.as_deref(), given.response_text.as_deref())?;
    same("guidance", recorded.guidance.as_deref(), given.guidance.as_deref())?;
    same("responded_by", recorded.responded_by.as_deref(), given.responded_by.as_deref())
}

fn same(field: &'static str, expected: Option<&str>, found: Option<&str>) -> Result<(), Fixed> {
    if expected == found {
        return Ok(());
    }
    let [expected, found] = [expected, found].map(|value| shown(value.unwrap_or("nothing")));
    Err(Fixed { field, expected, found })
}

/// The answer that an update gives, and the field that has it: what differs from what is recorded,
/// or comes in another name.
fn answer(
    before: &DecisionPointRecord,
    record: &DecisionPointRecord,
) -> Result<Option<(&'static str, Response)>, Fixed> {
    let by = record.responded_by.as_ref();
    let is_other = by.is_some() && by != before.responded_by.as_ref();
    let given = |recorded: &Option<String>, found: &Option<String>, is_answered: bool| {
        found.clone().filter(|_| recorded != found || (is_other && is_answered))
    };
    let option = given(&before.selected_option, &record.selected_option, true);
    let text = given(&before.response_text, &record.response_text, true);
    let guidance = given(&before.guidance, &record.guidance, false);
    let mut answers = [
        option.map(|id| ("selected_option", Response::option(&id))),
        text.map(|words| ("response_text", Response::Text(words.into()))),
        guidance.map(|words| ("guidance", Response::Guidance(words.into()))),
    ]
    .into_iter()
    .flatten();
    let first = answers.next();
    match (&first, answers.next()) {
        (Some((field, _)), Some((other, _))) => Err(Fixed {
            field: other,
            expected: format!("nothing new beside {field}"),
            found: "another answer".to_string(),
        }),
        _ => Ok(first),
    }
}

fn respond(
    point: &DecisionPoint,
    origin: &Origin,
    record: &DecisionPointRecord,
    response: Response,
) -> RespondToDecisionPoint {
    RespondToDecisionPoint {
        decision_id: point.decision_id.to_string(),
        entropy: Default::default(),
        by: named(origin, record.responded_by.as_deref().unwrap_or_default()),
        response,
        comment: None,
    }
}

/// The proposal that an update makes, where the round waits for one, and its first field.
fn proposal(
    point: &DecisionPoint,
    origin: &Origin,
    before: &DecisionPointRecord,
    record: &DecisionPointRecord,
) -> Result<Option<(&'static str, QuestionUpdate)>, Fixed> {
    let options = record.full_options();
    let has_options = before.options != options;
    let has_default = before.default_option != record.default_option;
    let field = match () {
        () if before.prompt != record.prompt => "prompt",
        () if has_options => "options",
        () if has_default => "default_option",
        () => return Ok(None),
    };
    if point.state != DecisionPointState::Refining {
        same("prompt", Some(&before.prompt), Some(&record.prompt))?;
        same("options", Some(&ids(&before.options)), Some(&ids(&options)))?;
        same("default_option", before.default_option.as_deref(), record.default_option.as_deref())?;
        let expected = "as it was asked".to_string();
        return Err(Fixed { field, expected, found: "another one".to_string() });
    }
    let refine = RefineDecisionPoint {
        decision_id: point.decision_id.to_string(),
        by: named(origin, &record.requested_by),
        prompt: (before.prompt != record.prompt).then(|| record.prompt.clone()),
        context: None,
        options: has_options.then_some(options),
        default_option: record.default_option.clone().filter(|_| has_default),
        drop_default: has_default && record.default_option.is_none(),
    };
    Ok(Some((field, QuestionUpdate::Proposal(refine))))
}

fn ids(options: &[holdpoint_domain::decision_point::DecisionOption]) -> String {
    options.iter().map(|option| option.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns whether an answer came when the round was over.
fn is_too_late(submitted: &Submitted) -> bool {
    match submitted {
        Submitted::Accepted(receipt) => receipt.events.iter().any(|event| {
            matches!(event, Event::DecisionPoint(DecisionPointEvent::LateResponseRecorded(_)))
        }),
        Submitted::Repeated(_) => false,
        Submitted::Refused(Refusal::DecisionPoint(refusal)) => matches!(
            refusal,
            DecisionPointRefusal::AlreadyEnded { .. } | DecisionPointRefusal::Expired { .. }
        ),
        Submitted::Refused(_) => false,
    }
}

/// Returns how what is recorded differs from the answer that came too late.
fn ended(
    point: &DecisionPoint,
    field: &'static str,
    record: &DecisionPointRecord,
) -> UpdateDecisionPointError {
    let now = DecisionPointRecord::of(point);
    let guidance = point.guidance_given().map(str::to_string);
    let (expected, found) = match field {
        "selected_option" => (now.selected_option, &record.selected_option),
        "response_text" => (now.response_text, &record.response_text),
        _ => (guidance, &record.guidance),
    };
    let (field, expected, found) = match expected == *found {
        true => ("responded_by", now.responded_by, &record.responded_by),
        false => (field, expected, found),
    };
    UpdateDecisionPointError::Ended {
        decision_id: point.decision_id.to_string(),
        field,
        expected: shown(expected.as_deref().unwrap_or("nothing")),
        found: shown(found.as_deref().unwrap_or("nothing")),
        outcome: point.outcome_line(),
    }
}
