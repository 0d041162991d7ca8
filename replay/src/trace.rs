//! The causal story of a record: backwards to where it began and to the person in it, forwards to
//! everything that it caused.
//!
//! What one command recorded is a batch, and a record names as its cause a record of an earlier
//! one. So the story is told in steps, a batch each. A log can be forged to say anything: a record
//! that names itself or a later one as its cause is told of, and not followed. What is left has no
//! circles.

mod causes;
mod effects;
mod looked;
mod runs;

use crate::reach::{Reach, durable_to};
use crate::read::{ReadError, ReadOptions};
use crate::records::indexes::LogTies;
use crate::records::part::check_end;
use crate::records::{Part, Span, span};
use causes::Causes;
use effects::Effects;
use holdpoint_domain::Proof;
use holdpoint_domain::core::actor::{Actor, ActorId};
use holdpoint_domain::core::ids::Idempotency;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_log_files::{LogReader, ReadStorage, Standing};
use looked::{Batch, Looked};
pub use runs::TracedRun;
use runs::{SaidOfRun, runs_in};
use serde::Serialize;

/// Records of one step that are told; the rest is counted.
pub const STEP_RECORDS_MAX: usize = 32;

/// Steps that are told of what a record caused; more are counted.
pub const EFFECTS_MAX: usize = 1_000;

/// The most steps from one record to another that are followed.
pub const DEPTH_MAX: u32 = 1_000;

/// The story of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// The record that was asked for.
    pub sequence: u64,
    /// Steps that led to it, the step that it is part of, and what that caused, in the order of the
    /// log.
    pub steps: Vec<Step>,
    /// The runs that these steps tell of, in the order of the log.
    pub runs: Vec<TracedRun>,
    /// The nearest person at or before the record; none where nobody is in its story.
    pub person: Option<Person>,
    /// Beginning of the story.
    pub beginning: Beginning,
    /// Steps that it caused which are not told: at least so many.
    pub effects_left_out: u64,
    /// Some steps lie deeper than was asked for.
    pub effects_cut: bool,
    /// Proof of the cause that the story begins with, where that one is not told:
    /// [`Standing::name`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beginning_standing: Option<&'static str>,
    /// Part of the log that was read for it.
    pub checked: Part,
    /// Reach of that reading.
    pub reach: Reach,
}

/// Records of one command: a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// The first record of the batch.
    pub first: u64,
    /// The last one.
    pub last: u64,
    /// Relation of the step to the record that was asked for.
    pub role: Role,
    /// Number of steps that it is away.
    pub distance: u32,
    /// Proof of its last record, which all of the batch is tied by; `withheld` where that is so and
    /// the payload of one of them is: [`Standing::name`].
    pub standing: &'static str,
    /// True if its last record is known to be durable.
    pub durable: bool,
    /// The record that it names as its cause.
    pub causation: Option<u64>,
    /// The name is followed: it is of an earlier record.
    pub is_caused: bool,
    /// The first record that says who did it.
    #[serde(skip)]
    pub stated_by: u64,
    /// Actor who did it.
    pub actor: Option<ActorId>,
    /// Proof of that by the process that recorded it; `None` where none is stated.
    pub proof: Option<Proof>,
    /// The story that it belongs to.
    pub correlation: Option<String>,
    /// The key under which the command was given.
    pub idempotency: Option<Idempotency>,
    /// The first [`STEP_RECORDS_MAX`] of its records.
    pub records: Vec<StepRecord>,
    /// Statements of these about runs.
    #[serde(skip)]
    of_runs: Vec<SaidOfRun>,
}

/// One record of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepRecord {
    /// Its sequence.
    pub sequence: u64,
    /// Time when it was recorded.
    pub time: Timestamp,
    /// Its kind: a name of the registry, or `kind N` where this program does not know it.
    pub kind: String,
    /// Summary of what happened, in one line, control characters visible.
    pub summary: String,
    /// The same in plain words: what happened, without codes.
    #[serde(skip)]
    pub words: String,
    /// Actor who did it: before somebody's first words a writer says by which rules, in its own
    /// name.
    pub actor: Option<ActorId>,
    /// Proof of that by the process that recorded it; `None` where none is stated.
    pub proof: Option<Proof>,
    /// The archive that it lies in, where that is not the log's own directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
}

/// Relation of a step to the record that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It led to it.
    Cause,
    /// It is the step of that record.
    Asked,
    /// It was caused by it.
    Effect,
}

/// A person in the story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Person {
    /// Actor.
    pub actor: ActorId,
    /// Proof of that by the process that recorded it; `None` where none is stated.
    pub proof: Option<Proof>,
    /// The first record of what that person did.
    pub sequence: u64,
}

/// Beginning of a story, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Beginning {
    /// With this record, which nothing caused.
    Begun {
        /// The record.
        sequence: u64,
    },
    /// The cause is this record, and the log begins behind it.
    Archived {
        /// The record.
        sequence: u64,
    },
    /// The cause is this record, which is further away than was asked for.
    TooFar {
        /// The record.
        sequence: u64,
    },
    /// This record names as its cause a record that is not an earlier one: it is forged.
    NotEarlier {
        /// The record.
        sequence: u64,
        /// Cause that it names.
        causation: u64,
    },
    /// The payload of this record cannot be read, or was withheld.
    Unreadable {
        /// The record.
        sequence: u64,
    },
    /// The cause is this record, which is damaged or missing.
    Damaged {
        /// The record.
        sequence: u64,
    },
}

impl Beginning {
    /// Returns what is proven of the cause that is not told.
    #[must_use]
    pub fn standing(self) -> Option<Standing> {
        match self {
            Self::Archived { .. } => Some(Standing::Archived),
            Self::Damaged { .. } => Some(Standing::Damaged),
            _ => None,
        }
    }
}

/// Outcome of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Traced {
    /// The story.
    Story(Box<Trace>),
    /// There is no such record.
    NoRecord {
        /// The ends of the log; `None` where it is empty.
        span: Option<Span>,
        /// Findings on the way.
        checked: Box<Part>,
    },
}

/// Tells the story of a record, at most `depth` steps into the past and into the future. Of the
/// sealed segments from the record on, and of those that the causes lie in, no more is read than
/// what their indexes name, where the newest state that the chain states says which index is right;
/// the others are read. Memory follows the largest segment's batches and what is told.
///
/// # Errors
/// The log cannot be read.
pub fn trace<S: ReadStorage>(
    storage: &S,
    sequence: u64,
    depth: u32,
    options: ReadOptions<'_>,
) -> Result<Traced, ReadError> {
    let depth = depth.min(DEPTH_MAX);
    let durable_to = Some(durable_to(storage, options.boot)?);
    let reader = LogReader::of(storage)?;
    let mut part = Part::begin(&reader);
    part.extend(reader.witness(true));
    let (mut tied, mut looked) = (LogTies::begin(&reader, &mut part)?, Looked::default());
    part.reach.followed = check_end(&reader, tied.is_followed(), options, &mut part)?;
    let by = (&mut tied, &mut looked);
    let Some(causes) = Causes::of(&reader, by, sequence, depth, &mut part)? else {
        looked.count(&mut part);
        return Ok(Traced::NoRecord { span: span(storage)?, checked: part.into() });
    };
    let asked = causes.steps.first().map(|step| Batch { first: step.first, last: step.last });
    let asked = asked.unwrap_or(Batch { first: sequence, last: sequence });
    let by = (&mut tied, &mut looked);
    let effects = Effects::of(&reader, by, asked, causes.before, depth, &mut part)?;
    let person = causes.steps.iter().find_map(Step::person);
    let mut steps = causes.steps;
    steps.reverse();
    steps.extend(effects.steps);
    let segments = steps.iter().filter_map(|step| reader.holding(step.first));
    let segments = segments.filter_map(|at| reader.firsts().get(at).copied()).collect();
    looked.tie(&reader, &mut tied, &segments, &mut part)?;
    looked.count(&mut part);
    let mut reach = Reach { durable_to, ..Reach::of_part(&reader, &part, &tied) };
    reach.take_newest(steps.iter().map(|step| step.last).max().unwrap_or(0));
    for step in &mut steps {
        step.durable = reach.is_durable(step.last);
        let standing = match tied.said_unproven().among(step.first, step.last) {
            Some(_) => Standing::Unproven,
            None => tied.standing_of(step.last),
        };
        if standing != Standing::Proven || step.standing != Standing::Withheld.name() {
            step.standing = standing.name();
        }
        for record in &mut step.records {
            record.archive = part.archives.of(record.sequence).map(|path| path.to_string());
        }
    }
    Ok(Traced::Story(Box::new(Trace {
        sequence,
        runs: runs_in(&steps),
        steps,
        person,
        beginning: causes.beginning,
        effects_left_out: effects.left_out,
        effects_cut: effects.is_cut,
        beginning_standing: causes.beginning.standing().map(Standing::name),
        checked: part,
        reach,
    })))
}

impl Step {
    /// The person who did it; `None` where it was none.
    #[must_use]
    pub fn person(&self) -> Option<Person> {
        let actor = self.actor.clone().filter(|actor| actor.kind == Actor::Human)?;
        Some(Person { actor, proof: self.proof, sequence: self.stated_by })
    }
}
