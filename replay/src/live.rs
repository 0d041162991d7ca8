//! The newest state without reading the whole log: from the newest snapshot that the chain vouches
//! for.
//!
//! A snapshot is believed where the record behind it states its fingerprint, and every link from
//! its place to the newest record was computed, by way of the one that HEAD names (property E9).
//! Where none is, or anything is wrong on the way, nothing is told: [`crate::rebuild()`] tells
//! what.

use crate::anchor::Anchor;
use crate::begun_twice::{BegunOnce, begun_twice};
use crate::read::{Committed, ReadError, ReadOptions};
use crate::rebuild::Until;
use crate::report::Head;
use crate::timeline::Moment;
use crate::timeline::snapshot::stated_by;
use crate::timeline::trip::{Trip, unfollowed};
use holdpoint_domain::decision_point::DecisionPoint;
use holdpoint_domain::human_decision::HeldRequest;
use holdpoint_domain::interruption_thread::Thread;
use holdpoint_domain::log::LogEvent;
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::{Event, World};
use holdpoint_log_files::snapshot::{Snapshot, newest_stated};
use holdpoint_log_files::survey::Reached;
use holdpoint_log_files::{
    Extent, FollowError, Follower, READINGS_MAX, ReadStorage, RecordPlace, SurveyOptions, survey,
};
use holdpoint_log_format::tail::TailShape;
use holdpoint_log_format::{Record, names};
use std::ops::ControlFlow;

/// The state behind the newest record, as far as a record of the log states it.
#[derive(Debug)]
pub struct NewestState {
    /// The state: what lives, and what ended lately.
    pub world: World,
    /// The record that states what the state was behind the one before it. From there on the
    /// records were read.
    pub stated_by: u64,
    /// The newest record.
    pub head: Option<Head>,
    /// The last record before the log's first one; 0 in a whole log.
    pub anchor: u64,
    /// True if the log begins behind such a record as what a salvage made: no archive fits it.
    pub fits_no_archive: bool,
    /// Extent to which the records are witnessed, and durable.
    pub reached: Reached,
}

/// Part of a state that is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    /// Requests to a person, and decision points.
    Questions,
    /// Threads.
    Threads,
}

/// The state at the end of a log, from the newest snapshot that the chain vouches for. `None` where
/// there is none, and where the end of the log, or what leads to it from there, is not as it should
/// be, or something of what is told began behind the snapshot and before it as well:
/// [`crate::rebuild_live`] reads the log whole.
///
/// # Errors
/// The log cannot be read, or changes again and again. That a snapshot cannot be read is none.
pub fn stated<S: ReadStorage>(
    storage: &S,
    tells: Tells,
    options: ReadOptions<'_>,
) -> Result<Option<NewestState>, ReadError> {
    let mut moved = None;
    for _ in 0..READINGS_MAX {
        let looked = look(storage, options).map_err(unfollowed);
        match looked.and_then(|look| look.of_one_beginning(storage, tells)) {
            Ok(Look::Told(stated)) => {
                return Ok(stated.map(|stated| stated.with_beginning(storage)));
            }
            Ok(Look::Unsettled) => moved = None,
            Err(ReadError::Changed { file }) => moved = Some(ReadError::Changed { file }),
            Err(ReadError::Survey(error)) if error.is_gone() => {
                moved = Some(ReadError::Changed { file: names::HEAD.to_string() });
            }
            Err(error) => return Err(error),
        }
    }
    moved.map_or(Ok(None), Err)
}

impl NewestState {
    /// The same, with what a log begins as that does not begin with record 1. What cannot be read
    /// of that is for a reading to tell.
    fn with_beginning<S: ReadStorage>(self, storage: &S) -> Self {
        let fits_no_archive = self.anchor > 0 && is_salvaged(storage).is_ok_and(|it| it);
        Self { fits_no_archive, ..self }
    }
}

/// Returns whether a log begins as what a salvage made, which tells of records that were lost.
///
/// # Errors
/// The log cannot be read.
pub fn is_salvaged<S: ReadStorage>(storage: &S) -> Result<bool, ReadError> {
    let mut is_salvaged = false;
    if let Some(beginning) = beginning(storage)? {
        let first = beginning.walk(storage, &mut |_, at, record| {
            let first = Committed::of(at, record);
            let event = first.envelope().map(|envelope| &envelope.event);
            is_salvaged = matches!(event, Some(Event::Log(LogEvent::Salvaged(_))));
            ControlFlow::Break(())
        });
        first.map_err(unfollowed)?;
    }
    Ok(is_salvaged)
}

/// The place before a log's first record; `None` where there is none.
fn beginning<S: ReadStorage>(storage: &S) -> Result<Option<Follower>, ReadError> {
    let anchor = Anchor::of(storage)?.position.sequence;
    match Follower::at_segment(storage, anchor.saturating_add(1)) {
        Err(FollowError::Read(error)) => Err(error.into()),
        place => Ok(place.ok()),
    }
}

enum Look {
    Told(Option<Box<NewestState>>),
    /// Something is behind the newest record. It may be being written just now.
    Unsettled,
}

impl Look {
    /// The same, unless something of what is told began behind the snapshot under an id that was
    /// used before: the state had forgotten that.
    fn of_one_beginning<S: ReadStorage>(
        self,
        storage: &S,
        tells: Tells,
    ) -> Result<Self, ReadError> {
        let Self::Told(Some(stated)) = &self else { return Ok(self) };
        let begun = tells.begun_from(stated.stated_by, &stated.world);
        let is_believed = begun_twice(storage, begun)?.twice.is_empty();
        Ok(if is_believed { self } else { Self::Told(None) })
    }
}

impl Tells {
    /// Returns what of it began with a record or behind it, and with which one each did.
    fn begun_from(self, first: u64, world: &World) -> Vec<(BegunOnce, u64)> {
        let request = |held: &HeldRequest| {
            let began = Some(held.requested_sequence).filter(|began| *began >= first)?;
            Some((BegunOnce::Request(held.request_id().to_string()), began))
        };
        let decision = |point: &DecisionPoint| {
            let began = Some(point.created_sequence).filter(|began| *began >= first)?;
            Some((BegunOnce::Decision(point.decision_id.to_string()), began))
        };
        let thread = |thread: &Thread| {
            let began = Some(thread.started_sequence).filter(|began| *began >= first)?;
            let (tenant, correlation) = (&thread.tenant_id, &thread.correlation_id);
            Some((BegunOnce::Thread(tenant.to_string(), correlation.to_string()), began))
        };
        let open = world.open_requests().filter_map(|(_, held)| request(held));
        let ended = world.closed_requests().filter_map(request);
        let live = world.live_decision_points().filter_map(decision);
        let closed = world.closed_decision_points().filter_map(decision);
        let threads = world.live_threads().chain(world.closed_threads());
        match self {
            Self::Questions => open.chain(ended).chain(live).chain(closed).collect(),
            Self::Threads => threads.filter_map(thread).collect(),
        }
    }
}

fn look<S: ReadStorage>(storage: &S, options: ReadOptions<'_>) -> Result<Look, FollowError> {
    let (extent, is_being_written) = (Extent::FromHead, options.is_being_written()?);
    let end = SurveyOptions::new(extent, options.boot).being_written(is_being_written);
    let survey = survey(storage, end, &mut |_, _| {})?;
    if survey.evidence.tail != TailShape::Zero {
        return Ok(Look::Unsettled);
    }
    let newest = survey.sound_end().filter(|_| !survey.is_archive);
    let Some(newest) = newest else { return Ok(Look::Told(None)) };
    let reached = survey.reached();
    let mut begin =
        |snapshot: &Snapshot, from: &Follower, at: &RecordPlace, record: &Record<'_>| {
            let is_its = survey.log == Some(from.header.log);
            let world = stated_by(snapshot, at, record).filter(|_| is_its)?;
            let moment = Moment::of_snapshot(world, from.clone());
            Some((Trip::new(moment, Until::End, newest.sequence), record.header.sequence))
        };
    // What states it has to be witnessed itself.
    let within = (reached.witnessed, &newest);
    let told = newest_stated(
        storage,
        within,
        STATE_SCHEMA_VERSION,
        &mut begin,
        &mut |(trip, _), segment, at, record| trip.take(segment, at, record, &mut |_| {}),
    )?;
    let told = told.map(|((trip, stated_by), _)| (trip.into_moment(), stated_by));
    // A payload that cannot be read leaves the state standing before it, and what the log says is
    // unproven states nothing.
    let told = told.filter(|(moment, stated_by)| {
        moment.applied == newest && !moment.world.unproven_records().contains(*stated_by)
    });
    Ok(Look::Told(told.map(|(moment, stated_by)| {
        let head = moment.head();
        let anchor = survey.head.valid().map_or(0, |head| head.anchor_sequence);
        let (world, fits_no_archive) = (moment.world, false);
        Box::new(NewestState { world, stated_by, head, anchor, fits_no_archive, reached })
    })))
}
