//! Moving the first records of a log to an archive: the log then begins with an event that carries
//! the state behind them.

use super::engine::Engine;
use super::error::SubmitError;
use super::rebuild::{LiveState, Recorded, first_kept, read_events, recorded};
use super::writers_own::record;
use crate::log::{ArchiveError, SealedSegment, Storage};
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::core::payload::{Raw, RawData, Text};
use holdpoint_domain::execution_loop::ExecutionLoopState;
use holdpoint_domain::log::{HistoryArchived, LogEvent};
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_domain::{Event, Time, World, WriterCommand, decide_for_writer};
use holdpoint_log_files::Follower;
use holdpoint_log_format::ChainPosition;
use std::ops::ControlFlow;
use std::path::Path;
use thiserror::Error;

/// Part that is moved to an archive: whole sealed segments, from the log's beginning on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ArchivePlan {
    /// Nothing behind this record.
    pub until_sequence: Option<u64>,
    /// Nothing recorded after this moment.
    pub until_time: Option<Time>,
    /// So many of the newest sealed segments stay.
    pub keep_segments: usize,
}

/// Part that was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveReport {
    /// The first record that was moved, and the last; `None`: there was nothing to move.
    pub moved: Option<(u64, ChainPosition)>,
    /// The record that says so.
    pub stated_by: Option<u64>,
    /// Segments that were removed, those that an earlier attempt left included.
    pub removed_segments: u64,
    /// Segments before the log's beginning that stay, because this archive does not hold them.
    pub left_segments: u64,
    /// The record that the archive's HEAD named before, where the archive held later ones: a move
    /// was interrupted, or HEAD was set back. It names the newest one now.
    pub head_named: Option<u64>,
}

/// Records could not be moved. The log is as it was, or goes on from an archive that holds what was
/// moved; doing it again goes on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MoveError {
    /// The log or the archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The state behind the moved records cannot be known, or not be recorded.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The archive is inside the log, or the other way round.
    #[error("{place} and the log are one inside the other: name another directory")]
    Inside {
        /// The archive's directory.
        place: String,
    },
    /// A new archive would not hold the event that says where it begins.
    #[error(
        "record {stated_by} says where this log begins, and the archive would end with record \
         {last} without it: {}{}",
        as_well(*.stated_by, *.end),
        if *.is_salvaged { "" } else { ", or move to the archive that holds the records before" }
    )]
    WithoutBeginning {
        /// The event's sequence.
        stated_by: u64,
        /// The last record that would be moved.
        last: u64,
        /// The last record of the event's segment, where that is sealed.
        end: Option<u64>,
        /// The log was made by a salvage: no archive holds the records before.
        is_salvaged: bool,
    },
    /// The log was made by a salvage, and what is left of it would be judged without its report.
    #[error(
        "record {sequence} was taken over from another log and lacks what was lost there, which \
         only the report of the salvage tells, and that would be moved: {}",
        as_well(*.sequence, *.end)
    )]
    ApartFromReport {
        /// The last record that the rules forbid without the report.
        sequence: u64,
        /// The last record of its segment, where that is sealed.
        end: Option<u64>,
    },
}

/// Returns what to do about a record that may not stay behind.
fn as_well(sequence: u64, end: Option<u64>) -> String {
    match end {
        Some(end) => format!("move all up to record {end}, with which its segment ends"),
        None => format!("move record {sequence} as well, once its segment is sealed"),
    }
}

impl<S: Storage> Engine<S> {
    /// Moves the first records of the log to the archive in `archive`, and lets the log begin
    /// behind them. The archive is a log of its own that verifies; each further move to it adds to
    /// it. Other handles on the log go on with their next turn.
    ///
    /// In this order: the archive is written, synced and verified; an event says what was moved and
    /// carries the state there; HEAD names the new beginning; the segments are removed. After a
    /// crash in between, the log and the archive verify and hold every record between them, and
    /// doing it again goes on.
    ///
    /// # Errors
    /// [`MoveError`]; nothing was removed that the archive does not hold.
    pub fn archive<W: Storage>(
        &self,
        archive: &W,
        plan: ArchivePlan,
    ) -> Result<ArchiveReport, MoveError> {
        self.archive_watched(archive, plan, &mut |_, _| {})
    }

    /// [`Engine::archive`]; `progress` is told the newest record copied, and the last one that will
    /// be.
    ///
    /// # Errors
    /// As [`Engine::archive`].
    pub fn archive_watched<W: Storage>(
        &self,
        archive: &W,
        plan: ArchivePlan,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<ArchiveReport, MoveError> {
        check_apart(self.root(), archive.root())?;
        // What waits in the files of runs is taken up first, and goes along.
        self.expire()?;
        let log = &self.core().log;
        let before = log.beginning()?.run.chain.sequence;
        let mut sealed = log.sealed_segments()?;
        let first_needed = self.first_start_under_way()?;
        sealed.retain(|segment| segment.last.sequence < first_needed);
        let last = plan.last_segment(&sealed);
        // Other writers may have sealed what this handle has not seen: it catches up behind them.
        let mut moved = ArchiveReport {
            moved: None,
            stated_by: None,
            removed_segments: 0,
            left_segments: 0,
            head_named: None,
        };
        if let Some(segment) = last {
            let anchor = segment.last;
            let (statement, head_named) = self.fill_archive(archive, &anchor, progress)?;
            moved.head_named = head_named;
            moved.stated_by = Some(record(self.core(), &statement)?.last_sequence);
            log.begin_behind(&anchor, before)?;
            moved.moved = Some((before.saturating_add(1), anchor));
        } else {
            log.check_archive(archive)?;
        }
        let (removed, left) = log.remove_archived(archive)?;
        Ok(ArchiveReport { removed_segments: removed, left_segments: left, ..moved })
    }

    /// The first record that the file of a run under way may rest on: it stays in the log, so that
    /// whoever takes up what waits there finds the key.
    fn first_start_under_way(&self) -> Result<u64, SubmitError> {
        let caches = &self.core().caches;
        let has_file = |loop_id: &str| matches!(caches.run_stamp(loop_id), Ok(Some(_)));
        self.query(|world| {
            let running = world.live_loops().filter(|entity| {
                entity.state() == ExecutionLoopState::AwaitingResponse && has_file(entity.loop_id())
            });
            let starts = running.filter_map(|entity| entity.current_attempt());
            starts.map(|attempt| attempt.dispatched_sequence).min().unwrap_or(u64::MAX)
        })
    }

    /// Makes the event that will say what was moved, and copies that; says as well what the
    /// archive's HEAD named, where that was not the newest record. What may not be said is not
    /// copied.
    fn fill_archive<W: Storage>(
        &self,
        archive: &W,
        anchor: &ChainPosition,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(WriterCommand, Option<u64>), MoveError> {
        let log = &self.core().log;
        let start = LiveState::open(log)?;
        let stated_by = start.stated_by.filter(|stated_by| *stated_by > anchor.sequence);
        let statement = self.statement(start, named(archive.root()), anchor)?;
        // Asked without a turn, which would record what else is due.
        if let Some(hot) = self.core().hot()?.as_ref() {
            let decided = decide_for_writer(&hot.world, &statement, hot.world.totals().last_at);
            decided.map_err(SubmitError::from)?;
        }
        let is_there = log.check_archive(archive)?;
        if let Some(stated_by) = stated_by.filter(|_| !is_there) {
            let (end, is_salvaged) = (end_of_segment(self, stated_by)?, is_salvaged(self)?);
            let last = anchor.sequence;
            return Err(MoveError::WithoutBeginning { stated_by, last, end, is_salvaged });
        }
        let mut opened = log.open_archive(archive)?;
        log.copy_to_archive(&mut opened, anchor.sequence, progress)?;
        Ok((statement, opened.head_named()))
    }

    fn statement(
        &self,
        start: LiveState,
        archived_to: Text,
        anchor: &ChainPosition,
    ) -> Result<WriterCommand, MoveError> {
        let first_sequence = start.place.run.chain.sequence.saturating_add(1);
        let state = state_behind(self, start, anchor)?;
        Ok(WriterCommand::HistoryArchived(HistoryArchived {
            first_sequence,
            anchor_sequence: anchor.sequence,
            anchor_link: Digest::from_bytes(anchor.link.0),
            archived_to,
            state_schema: STATE_SCHEMA_VERSION,
            state_fingerprint: state.fingerprint_digest(),
            state: Raw::from(RawData::from(state.carry())),
        }))
    }
}

impl ArchivePlan {
    /// The last segment that is moved.
    fn last_segment(&self, sealed: &[SealedSegment]) -> Option<SealedSegment> {
        let count = sealed.len().saturating_sub(self.keep_segments);
        let is_within = |segment: &&SealedSegment| {
            self.until_sequence.is_none_or(|until| segment.last.sequence <= until)
                && self.until_time.is_none_or(|until| segment.last.time <= until.nanoseconds())
        };
        sealed.iter().take(count).take_while(is_within).last().copied()
    }
}

/// A directory as whoever reads the log elsewhere finds it.
fn named(archive: &Path) -> Text {
    // Where the working directory is gone, it is named as it was given.
    let absolute = std::path::absolute(archive).unwrap_or_else(|_| archive.to_path_buf());
    absolute.to_string_lossy().into_owned().into()
}

/// The state right behind a record, to which the links lead from where the log begins.
fn state_behind<S: Storage>(
    engine: &Engine<S>,
    start: LiveState,
    last: &ChainPosition,
) -> Result<World, MoveError> {
    let (mut place, mut world) = (start.place, start.world);
    follow(engine, &mut place, last, &mut |event| {
        world.evolve(event.sequence, event.at, &event.envelope);
    })?;
    if is_salvaged(engine)? {
        check_rest(engine, place, world.clone())?;
    }
    Ok(world)
}

/// Checks whether the rules allow all that would be left, without the report of a salvage.
fn check_rest<S: Storage>(
    engine: &Engine<S>,
    mut place: Follower,
    mut world: World,
) -> Result<(), MoveError> {
    let newest = engine.core().log.position();
    let mut forbidden = None;
    follow(engine, &mut place, &newest, &mut |event| {
        if !world.judge_and_evolve(event.sequence, event.at, &event.envelope).is_empty() {
            forbidden = Some(event.sequence);
        }
    })?;
    let Some(sequence) = forbidden else { return Ok(()) };
    Err(MoveError::ApartFromReport { sequence, end: end_of_segment(engine, sequence)? })
}

/// Returns whether the log begins with the report of a salvage.
fn is_salvaged<S: Storage>(engine: &Engine<S>) -> Result<bool, MoveError> {
    let mut is_salvaged = false;
    read_events(engine.core(), first_kept(engine.core())?, &mut |event| {
        is_salvaged = matches!(event.envelope.event, Event::Log(LogEvent::Salvaged(_)));
        ControlFlow::Break(())
    })?;
    Ok(is_salvaged)
}

/// The last record of the sealed segment that holds a record; `None` where that is not sealed.
fn end_of_segment<S: Storage>(engine: &Engine<S>, sequence: u64) -> Result<Option<u64>, MoveError> {
    let sealed = engine.core().log.sealed_segments()?;
    let ends = sealed.iter().map(|segment| segment.last.sequence);
    Ok(ends.into_iter().find(|end| *end >= sequence))
}

/// Shows every event behind a place up to a record.
fn follow<S: Storage>(
    engine: &Engine<S>,
    place: &mut Follower,
    last: &ChainPosition,
    visit: &mut dyn FnMut(Recorded),
) -> Result<(), SubmitError> {
    let mut failure = None;
    place.follow_to(&*engine.core().caches, last, &mut |_, record| match recorded(record) {
        _ if failure.is_some() => {}
        Ok(event) => event.into_iter().for_each(&mut *visit),
        Err(error) => failure = Some(error),
    })?;
    failure.map_or(Ok(()), Err)
}

fn check_apart(log: &Path, archive: &Path) -> Result<(), MoveError> {
    let real = |path: &Path| {
        let known = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
        known.map(|(part, real)| match path.strip_prefix(part) {
            Ok(rest) => real.join(rest),
            Err(_) => real,
        })
    };
    let (Some(log), Some(place)) = (real(log), real(archive)) else { return Ok(()) };
    if place.starts_with(&log) || log.starts_with(&place) {
        return Err(MoveError::Inside { place: archive.display().to_string() });
    }
    Ok(())
}
