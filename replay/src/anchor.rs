//! Beginning of a log, and the state there: for a log whose first records were moved to an archive
//! an event states it, and everything is applied to that state.

use crate::finding::{Finding, Problem};
use crate::meaning::place_of;
use crate::read::Committed;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::log::{HistoryArchived, LogEvent};
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::world::envelope::decode;
use holdpoint_domain::{Event, World, kind_name};
use holdpoint_log_files::head::read_head;
use holdpoint_log_files::reader::read_header;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{FollowError, Follower, Place, ReadStorage, RecordPlace, SurveyError};
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::{ChainPosition, Link, Record, RecordHeader};
use serde::Serialize;

/// The kind of event that states where a log begins.
pub(crate) const STATEMENT: &str = "log.history_archived";

/// The place before the first record of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Anchor {
    /// The record before the first one; sequence 0: the log is whole.
    pub(crate) position: ChainPosition,
}

/// Statement of a log about the records before its first one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Archived {
    /// The last record that was moved to an archive.
    pub anchor_sequence: u64,
    /// Its link, 64 hexadecimal digits.
    pub anchor_link: String,
    /// The record that says so; none was found when this is missing.
    pub stated_by: Option<u64>,
    /// The archive's directory, as that record names it.
    pub archived_to: Option<String>,
    /// The fingerprint of the state at the anchor, unless it is of another state schema.
    pub state_fingerprint: Option<Digest>,
    /// Place of the record that says so.
    #[serde(skip)]
    pub(crate) place: Option<Place>,
}

/// Knowledge of the records before a log's first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// Nobody named their archive.
    NotLookedAt,
    /// The log was named as the archive of another one, and nobody named the archive before it.
    OfArchive,
    /// The archive that was named is not there, does not verify or does not fit.
    NotProven,
    /// Their archive verifies and fits. It begins with this record.
    CheckedFrom(u64),
}

/// The state at an anchor.
pub(crate) struct Start {
    pub(crate) anchor: Anchor,
    /// The state there; `None` when nothing can be applied.
    pub(crate) world: Option<World>,
    /// Statement of the log, when it does not begin with record 1.
    pub(crate) archived: Option<Archived>,
    /// Why there is no state.
    pub(crate) finding: Option<Finding>,
}

impl Anchor {
    /// A whole log.
    pub(crate) const GENESIS: Self =
        Self { position: ChainPosition { sequence: 0, link: Link([0; 32]), time: 0 } };

    /// Returns what HEAD says, with the time that the first segment names. A log whose HEAD does
    /// not hold is read as a whole one.
    ///
    /// # Errors
    /// HEAD or the first segment cannot be read.
    pub(crate) fn of<S: ReadStorage>(storage: &S) -> Result<Self, SurveyError> {
        let head = read_head(storage)?.ok().filter(|head| head.anchor_sequence > 0);
        let Some(head) = head else { return Ok(Self::GENESIS) };
        let (sequence, link) = (head.anchor_sequence, head.anchor_link);
        let header = read_header(storage, sequence.saturating_add(1))?;
        let time = header.map_or(0, |header| header.previous.time);
        Ok(Self { position: ChainPosition { sequence, link, time } })
    }
}

impl Start {
    /// Looks for the newest event that states this log's beginning, and takes up the state that it
    /// carries.
    pub(crate) fn of<S: ReadStorage>(storage: &S) -> Result<Self, SurveyError> {
        let start = Self::behind(storage, Anchor::of(storage)?)?;
        // Nothing is wrong with a beginning that was moved to an archive meanwhile.
        if start.finding.is_some() && start.anchor != Anchor::of(storage)? {
            return Err(SurveyError::Moved);
        }
        Ok(start)
    }

    fn behind<S: ReadStorage>(storage: &S, anchor: Anchor) -> Result<Self, SurveyError> {
        let at = anchor.position;
        if at.sequence == 0 {
            return Ok(Self::stated(anchor, None));
        }
        Ok(Self::stated(anchor, newest_statement(storage, &at)?))
    }

    /// The start that an event states.
    pub(crate) fn stated(anchor: Anchor, statement: Option<Statement>) -> Self {
        let at = anchor.position;
        if at.sequence == 0 {
            let world = Some(World::default());
            return Self { anchor, world, archived: None, finding: None };
        }
        let taken_up = match &statement {
            Some(found) => take_up(&found.event).map_err(|problem| (found.place.clone(), problem)),
            None => Err((begin_of(&at), Problem::BeginningUnstated { anchor: at.sequence })),
        };
        let stated_by = statement.as_ref().map(|found| found.place.sequence);
        let (world, finding) = match taken_up {
            Ok(world) => (Some(world.stated_at(at.sequence, stated_by.unwrap_or(0))), None),
            Err((place, problem)) => (None, Some(Finding { place, problem })),
        };
        let comparable = statement.as_ref().map(|found| &found.event);
        let comparable = comparable.filter(|event| event.state_schema == STATE_SCHEMA_VERSION);
        let archived = Archived {
            state_fingerprint: comparable.map(|event| event.state_fingerprint),
            anchor_sequence: at.sequence,
            anchor_link: at.link.to_string(),
            stated_by,
            place: statement.as_ref().map(|found| found.place.clone()),
            archived_to: statement.map(|found| found.event.archived_to.to_string()),
        };
        Self { anchor, world, archived: Some(archived), finding }
    }
}

impl Start {
    /// The same start, from which on settled entities are kept as well.
    pub(crate) fn keeping_settled(self) -> Self {
        Self { world: self.world.map(World::keeping_settled), ..self }
    }
}

/// An event that states where the log begins, and its place.
pub(crate) struct Statement {
    place: Place,
    event: HistoryArchived,
}

/// Only whole batches count. What lies behind damage is not looked at.
fn newest_statement<S: ReadStorage>(
    storage: &S,
    anchor: &ChainPosition,
) -> Result<Option<Statement>, SurveyError> {
    let (mut newest, mut in_batch) = (None, None);
    let mut visit = |place: &RecordPlace, record: &Record<'_>| {
        if let Some(event) = statement_of(record, anchor) {
            let file = segment_path(place.segment);
            let place = Place { file, offset: place.offset, sequence: record.header.sequence };
            in_batch = Some(Statement { place, event });
        }
        if !record.header.flags.more_follows() {
            newest = in_batch.take().or(newest.take());
        }
    };
    let begun = Follower::at_segment(storage, anchor.sequence.saturating_add(1));
    match begun.and_then(|mut follower| follower.catch_up(storage, &mut visit)) {
        Err(FollowError::Read(error)) => Err(error),
        // Damage stops the search; the reading that follows reports it.
        Ok(()) | Err(_) => Ok(newest),
    }
}

pub(crate) fn statement_of(record: &Record<'_>, anchor: &ChainPosition) -> Option<HistoryArchived> {
    let header = &record.header;
    if !can_state(header) || header.flags.withheld() {
        return None;
    }
    let envelope = decode(header.kind, header.version, record.payload).ok()?;
    stated_in(&envelope.event, anchor).cloned()
}

/// Returns whether a record is of the kind that states where a log begins.
pub(crate) fn can_state(header: &RecordHeader) -> bool {
    kind_name(header.kind) == Some(STATEMENT)
}

/// Returns what a whole batch states of the beginning.
pub(crate) fn statement_in(batch: &[Committed], anchor: &ChainPosition) -> Option<Statement> {
    batch.iter().rev().find_map(|record| {
        let event = stated_in(&record.envelope()?.event, anchor)?.clone();
        Some(Statement { place: place_of(record), event })
    })
}

fn stated_in<'e>(event: &'e Event, anchor: &ChainPosition) -> Option<&'e HistoryArchived> {
    let Event::Log(LogEvent::HistoryArchived(event)) = event else { return None };
    let is_ours =
        event.anchor_sequence == anchor.sequence && *event.anchor_link.as_bytes() == anchor.link.0;
    is_ours.then_some(event)
}

/// The state that an event carries, when it is the one that it says. The fingerprint of another
/// state schema cannot be compared; such a state is taken up when it can be read.
fn take_up(event: &HistoryArchived) -> Result<World, Problem> {
    let carried = |message| Problem::CarriedState { message };
    let world = World::from_carried(event.state.as_bytes());
    let world = world.map_err(|error| carried(error.to_string()))?;
    let is_comparable = event.state_schema == STATE_SCHEMA_VERSION;
    if is_comparable && world.fingerprint_digest() != event.state_fingerprint {
        return Err(carried("its fingerprint is not the one that the event states".to_string()));
    }
    Ok(world)
}

fn begin_of(anchor: &ChainPosition) -> Place {
    let first = anchor.sequence.saturating_add(1);
    Place { file: segment_path(first), offset: SEGMENT_HEADER_LENGTH as u64, sequence: first }
}
