//! The newest state without reading the whole log: from the newest snapshot that the chain vouches
//! for.
//!
//! A snapshot is believed where the record behind it states its fingerprint, and every link from
//! its place to the newest record was computed, by way of the one that HEAD names (property E9).
//! Where none is, or anything is wrong on the way, nothing is told: [`crate::rebuild()`] tells
//! what.

use crate::anchor::Anchor;
use crate::read::{Committed, ReadError, ReadOptions};
use crate::rebuild::Until;
use crate::report::Head;
use crate::timeline::Moment;
use crate::timeline::snapshot::stated_by;
use crate::timeline::trip::{Trip, unfollowed};
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
pub struct Stated {
    /// The state: what lives, and what ended lately.
    pub world: World,
    /// The record that states what the state was behind the one before it. From there on the
    /// records were read.
    pub stated_by: u64,
    /// The newest record.
    pub head: Option<Head>,
    /// The last record before the log's first one; 0 in a whole log.
    pub anchor: u64,
    /// How far the records are witnessed, and durable.
    pub reached: Reached,
}

/// The state at the end of a log, from the newest snapshot that the chain vouches for. `None` where
/// there is none, and where the end of the log, or what leads to it from there, is not as it should
/// be: [`crate::rebuild_live`] reads the log whole.
///
/// # Errors
/// The log cannot be read, or changes again and again. That a snapshot cannot be read is none.
pub fn stated<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
) -> Result<Option<Stated>, ReadError> {
    let mut moved = None;
    for _ in 0..READINGS_MAX {
        match look(storage, options).map_err(unfollowed) {
            Ok(Look::Told(stated)) => return Ok(stated.map(|stated| *stated)),
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

/// Whether a log begins as what a salvage made, which tells of records that were lost.
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
    Told(Option<Box<Stated>>),
    /// Something is behind the newest record. It may be being written just now.
    Unsettled,
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
        Box::new(Stated { world: moment.world, stated_by, head, anchor, reached })
    })))
}
