//! Starts that were asked for and that nobody approved: what did not run is on record by its
//! question alone.

use crate::begun_twice::{BegunOnce, begun_twice};
use crate::read::{ReadError, ReadOptions};
use crate::records::Filter;
use crate::runs::Begun;
use crate::sessions::{Session, SessionList, newest_questions};
use holdpoint_domain::ActorId;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_domain::decision_point::{DecisionPoint, ResolutionKind};
use holdpoint_domain::log::RUN_TOOL;
use holdpoint_log_files::{ReadStorage, Standing};
use serde::Serialize;
use std::collections::BTreeSet;

/// So many questions are read together.
const READ_TOGETHER: usize = 64;

holdpoint_domain::worded_enum! {
    /// Answer to a question before a start that led to no run. Closed.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum StartEnd {
        /// A person said no.
        Denied = "denied",
        /// Nobody answered in time.
        Expired = "expired",
    }
}

impl StartEnd {
    /// Returns how a question ended; `None`: it is open, was approved or was taken back.
    #[must_use]
    pub fn of(point: &DecisionPoint) -> Option<Self> {
        match point.ending.as_ref()?.kind? {
            ResolutionKind::Option if point.is_rejected() => Some(Self::Denied),
            ResolutionKind::Abort => Some(Self::Expired),
            _ => None,
        }
    }
}

/// A start that nobody approved.
#[derive(Clone)]
pub struct UnapprovedStart {
    /// Its question.
    pub question: DecisionPoint,
    /// Its end.
    pub end: StartEnd,
    /// Proof of the weakest of its records.
    pub standing: Standing,
}

/// Starts that nobody approved, and how much was read for them.
pub struct UnapprovedStarts {
    /// Those that were asked for last first.
    pub starts: Vec<UnapprovedStart>,
    /// Those that began twice: nobody can tell which records are about which.
    pub uncounted: Vec<Begun>,
    /// The questions that were looked at. It has no sessions.
    pub questions: SessionList,
}

/// Finds the newest starts that were asked for within a range, that nobody approved and that are
/// wanted, so many at most, among so many of the newest questions.
///
/// # Errors
/// See [`crate::verify()`].
pub fn find_unapproved_starts<S: ReadStorage>(
    storage: &S,
    range: &Filter,
    (most, questions): (usize, usize),
    is_wanted: &dyn Fn(&UnapprovedStart) -> bool,
    options: ReadOptions<'_>,
) -> Result<UnapprovedStarts, ReadError> {
    let mut asked = Vec::new();
    let mut questions = newest_questions(storage, range, questions, options, &mut |line, body| {
        if body.terms.binding.as_ref().is_some_and(|binding| *binding.tool == *RUN_TOOL) {
            let ids = BTreeSet::from([body.decision_id.to_string()]);
            asked.push(((line.sequence, line.time), body.by.id.to_string(), ids));
        }
    })?;
    let mut starts = Vec::new();
    for some in asked.chunks(READ_TOGETHER) {
        questions.read(storage, some.to_vec(), options)?;
        starts.extend(questions.sessions.drain(..).filter_map(unapproved).filter(is_wanted));
        if starts.len() >= most {
            break;
        }
    }
    starts.truncate(most);
    let of = |question: &DecisionPoint| BegunOnce::Decision(question.decision_id.to_string());
    let begun = starts.iter().map(|it| (of(&it.question), it.question.created_sequence));
    let twice = begun_twice(storage, begun.collect())?.twice;
    starts.retain(|it| twice.iter().all(|twice| twice.what != of(&it.question)));
    let uncounted = twice.into_iter().map(Begun::again).collect();
    Ok(UnapprovedStarts { starts, uncounted, questions })
}

fn unapproved(mut read: Session) -> Option<UnapprovedStart> {
    let standing = read.standing();
    let question = read.calls.pop()?;
    Some(UnapprovedStart { end: StartEnd::of(&question)?, question, standing })
}

/// A start that nobody approved, for programs.
#[derive(Serialize)]
pub struct UnapprovedStartRow<'s> {
    /// Nothing ran.
    run: Option<&'s str>,
    decision: &'s str,
    outcome: StartEnd,
    began_at: Timestamp,
    ended_at: Option<Timestamp>,
    /// The actor that asked.
    by: ActorId,
    /// The name of the principal who said no.
    denied_by: Option<&'s str>,
    command_line: &'s str,
    correlation: &'s str,
    first_record: u64,
    last_record: u64,
    /// The proof of the weakest of its records.
    standing: &'static str,
}

impl<'s> UnapprovedStartRow<'s> {
    /// Shows a start, with the command line that its question names.
    pub fn of(start: &'s UnapprovedStart, command_line: &'s str) -> Self {
        let point = &start.question;
        let by = &point.requested_by;
        Self {
            run: None,
            decision: &point.decision_id,
            outcome: start.end,
            began_at: point.created_at,
            ended_at: point.ending.as_ref().map(|ending| ending.ended_at),
            by: ActorId { kind: by.kind, id: by.id.as_str().into() },
            denied_by: point.ending.as_ref().and_then(|it| it.by.as_ref()).map(|by| &*by.id),
            command_line,
            correlation: &point.correlation,
            first_record: point.created_sequence,
            last_record: point.version,
            standing: start.standing.name(),
        }
    }
}
