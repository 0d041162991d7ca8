//! Snapshots: the state behind a record, so that opening need not read what is before it.
//!
//! # Architecture invariants
//!
//! - A snapshot is a cache. It is believed only where the record behind it states its fingerprint,
//!   and where the chain leads from that record to the newest one (property E9). Whatever else is
//!   found in its place is ignored, and the state is rebuilt from further back.
//! - That one cannot be written, or not be read, never fails anything.

use super::fingerprint::Since;
use super::rebuild::{Hot, Recorded, evolve_all, recorded};
use crate::log::{Log, Storage};
use holdpoint_domain::World;
use holdpoint_domain::event::Event;
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_log_files::run::walk;
use holdpoint_log_files::snapshot::{
    SNAPSHOT_LENGTH_MAX, SnapshotsFault, has_snapshots, list_snapshots, read_snapshot,
    snapshot_path,
};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{Follower, Onward, ReadStorage, RecordPlace, Run, Stop};
use holdpoint_log_format::{ChainPosition, LogId, Record, SnapshotHeader, names};

/// Snapshots that stay: the newest, and the one before it.
const KEPT: usize = 2;

/// Snapshots that opening looks at before it reads the whole log.
const TRIED: usize = 8;

/// A snapshot that waits until the record that states its fingerprint is durable.
pub(super) struct Snapshot {
    sequence: u64,
    file: Vec<u8>,
}

impl Snapshot {
    /// The state at a place, whose fingerprint the next record states.
    pub(super) fn new(log: LogId, place: &Follower, state: &[u8]) -> Self {
        let header = SnapshotHeader {
            log,
            chain: place.run.chain,
            segment: place.header.first_sequence(),
            record_offset: place.run.record_offset,
            end_offset: place.run.end_offset,
            state_schema: STATE_SCHEMA_VERSION,
        };
        Self { sequence: place.run.chain.sequence, file: header.encode_with(state) }
    }

    /// Writes it beside the others and removes those that are too old. Where that fails, opening
    /// takes longer, and nothing else.
    pub(super) fn write<S: Storage>(&self, disk: &S) {
        let is_short = self.file.len() as u64 <= SNAPSHOT_LENGTH_MAX;
        if is_short && self.try_write(disk).is_ok() {
            let _ = remove_older(disk, self.sequence);
        }
    }

    /// Nothing is synced: what a crash leaves of the file is not believed.
    fn try_write<S: Storage>(&self, disk: &S) -> Result<(), SnapshotsFault> {
        disk.create_directory(names::SNAPSHOTS)?;
        has_snapshots(disk)?;
        let temporary = path_of(&names::snapshot_temporary(self.sequence));
        let file = disk.create(&temporary, self.file.len() as u64)?;
        let written = disk.write_at(&file, 0, &self.file);
        let renamed = written.and_then(|()| disk.rename(&temporary, &snapshot_path(self.sequence)));
        Ok(renamed.inspect_err(|_| drop(disk.remove(&temporary)))?)
    }
}

fn remove_older<S: Storage>(disk: &S, newest: u64) -> Result<(), SnapshotsFault> {
    let mut known = list_snapshots(disk)?;
    known.retain(|(sequence, _)| *sequence <= newest);
    for (sequence, _) in known.into_iter().rev().skip(KEPT) {
        disk.remove(&snapshot_path(sequence))?;
    }
    for entry in disk.list(names::SNAPSHOTS)? {
        let left = names::parse_snapshot_temporary(&entry.name);
        if left.is_some_and(|sequence| sequence < newest) {
            disk.remove(&path_of(&entry.name))?;
        }
    }
    Ok(())
}

/// The state behind the newest record that opening found, from the newest snapshot that is
/// believed. The log is read beside its writers, without the lock.
pub(super) fn newest_state<S: Storage>(log: &Log<S>, disk: &S) -> Option<Hot> {
    let known = list_snapshots(disk).ok()?;
    let newest = log.position();
    let newest_first = known.into_iter().rev().map(|(sequence, _)| sequence);
    let behind = newest_first.filter(|sequence| *sequence < newest.sequence);
    behind.take(TRIED).find_map(|sequence| state_from(disk, sequence, &newest))
}

fn state_from<S: ReadStorage>(disk: &S, sequence: u64, newest: &ChainPosition) -> Option<Hot> {
    let snapshot = read_snapshot(disk, sequence, None, STATE_SCHEMA_VERSION).ok()?;
    let place = place_of(&snapshot.header, disk)?;
    let is_ours = snapshot.header.log == place.header.log;
    if is_ours { followed(disk, place, newest, snapshot.state()) } else { None }
}

/// The place in the log that a snapshot claims to stand for.
fn place_of<S: ReadStorage>(header: &SnapshotHeader, disk: &S) -> Option<Follower> {
    let segment = Follower::at_segment(disk, header.segment).ok()?.header;
    let run = Run::from(header.chain, header.record_offset, header.end_offset);
    let is_inside =
        segment.previous.sequence <= header.chain.sequence && header.end_offset <= segment.capacity;
    is_inside.then_some(Follower { header: segment, run })
}

/// Goes on from a snapshot's place to the newest record. The links on the way depend on the place's
/// link and on every record, so where they lead to the newest record, the first of them is the one
/// that the chain has behind that place, and what it states was true there.
fn followed<S: ReadStorage>(
    disk: &S,
    mut place: Follower,
    newest: &ChainPosition,
    state: &[u8],
) -> Option<Hot> {
    let mut following = Following::Expected(state);
    while place.run.chain.sequence < newest.sequence {
        place = step(disk, place, newest.sequence, &mut following)?;
    }
    let Following::Going { world, since, batch } = following else { return None };
    let is_whole = batch.is_empty() && place.run.chain == *newest;
    is_whole.then(|| Hot { since, ..Hot::from(*world, place) })
}

/// The rest of a segment, or as far as the newest record; then the next segment.
fn step<S: ReadStorage>(
    disk: &S,
    place: Follower,
    newest: u64,
    following: &mut Following<'_>,
) -> Option<Follower> {
    let file = disk.open(&segment_path(place.header.first_sequence())).ok().flatten()?;
    let mut window = Window::new(file).ok()?;
    let mut take = |_: &RecordPlace, record: &Record<'_>| {
        following.take(record);
        let is_enough = record.header.sequence >= newest || matches!(following, Following::Refused);
        if is_enough { Onward::Stop } else { Onward::Go }
    };
    let run = walk(&mut window, &place.header, place.run, &mut take).ok()?;
    match &run.stop {
        Stop::Asked if run.chain.sequence == newest => Some(Follower { header: place.header, run }),
        Stop::Seal(seal) => {
            let next = Follower::at_segment(disk, seal.last.sequence.checked_add(1)?).ok()?;
            let follows = next.header.log == place.header.log && next.header.previous == seal.last;
            follows.then_some(next)
        }
        _ => None,
    }
}

/// How far a snapshot has been followed.
enum Following<'a> {
    /// Its fingerprint is to come.
    Expected(&'a [u8]),
    /// It was stated; records of a batch are held back until one ends it.
    Going { world: Box<World>, since: Since, batch: Vec<Recorded> },
    /// It is not believed.
    Refused,
}

impl Following<'_> {
    fn take(&mut self, record: &Record<'_>) {
        let Ok(event) = recorded(record) else {
            *self = Self::Refused;
            return;
        };
        if let Self::Expected(state) = self {
            *self = stated_by(&event.envelope.event, state);
        }
        let Self::Going { world, since, batch } = self else { return };
        batch.push(event);
        if !record.header.flags.more_follows() {
            evolve_all(world, since, batch);
            batch.clear();
        }
    }
}

fn stated_by<'a>(event: &Event, state: &[u8]) -> Following<'a> {
    let Event::FingerprintRecorded(body) = event else { return Following::Refused };
    if body.schema != STATE_SCHEMA_VERSION {
        return Following::Refused;
    }
    match World::from_snapshot(state, body.fingerprint) {
        Ok(world) => {
            let (world, since) = (Box::new(world), Since::snapshot());
            Following::Going { world, since, batch: Vec::new() }
        }
        Err(_) => Following::Refused,
    }
}

fn path_of(name: &str) -> String {
    format!("{}/{name}", names::SNAPSHOTS)
}
