//! Snapshots: the state behind a record, so that opening need not read what is before it.
//!
//! # Architecture invariants
//!
//! - A snapshot is a cache. It is believed only where the record behind it states its fingerprint,
//!   and where the chain leads from that record to the newest one (property E9). Whatever else is
//!   found in its place is ignored, and the state is rebuilt from further back.
//! - That one cannot be written, or not be read, never fails anything.
//! - A part of it is decoded when somebody asks for it. What its state says leaves a turn, as an
//!   answer or as a record, only where everything that was asked for could be.

use super::fingerprint::Since;
use super::rebuild::{LiveState, PendingEvents, recorded};
use crate::log::Storage;
use holdpoint_domain::World;
use holdpoint_domain::world::STATE_SCHEMA_VERSION;
use holdpoint_log_files::head::read_head;
use holdpoint_log_files::snapshot::{
    SNAPSHOT_LENGTH_MAX, Snapshot as Stored, SnapshotsFault, has_snapshots, list_snapshots,
    newest_stated, snapshot_path,
};
use holdpoint_log_files::{FollowError, Follower, ReadStorage};
use holdpoint_log_format::{ChainPosition, LogId, Record, SnapshotHeader, names};
use std::ops::ControlFlow;

/// Snapshots that stay: the newest, and the one before it; and beside them the newest one that is
/// stated up to HEAD, from which those begin who read without the lock.
const KEPT: usize = 2;

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
    let witnessed = read_head(disk).ok().and_then(Result::ok);
    let witnessed = witnessed.map_or(0, |head| head.newest_sequence);
    let witnessed = known.iter().rev().find(|(sequence, _)| *sequence < witnessed).copied();
    for (sequence, _) in known.into_iter().rev().skip(KEPT) {
        if witnessed.is_none_or(|(kept, _)| kept != sequence) {
            disk.remove(&snapshot_path(sequence))?;
        }
    }
    for entry in disk.list(names::SNAPSHOTS)? {
        let left = names::parse_snapshot_temporary(&entry.name);
        if left.is_some_and(|sequence| sequence < newest) {
            disk.remove(&path_of(&entry.name))?;
        }
    }
    Ok(())
}

/// Removes every snapshot. One that cannot be removed is looked at again, and nothing else.
pub(super) fn remove_all<S: Storage>(disk: &S) {
    for (sequence, _) in list_snapshots(disk).unwrap_or_default() {
        let _ = disk.remove(&snapshot_path(sequence));
    }
}

/// The state behind the newest record, from the newest snapshot that is believed and that a record
/// up to `witnessed` states, one that the log does not call unproven; and that record. The log is
/// read beside its writers, without the lock.
///
/// # Errors
/// The log cannot be read.
pub(super) fn newest_state<S: ReadStorage>(
    disk: &S,
    witnessed: u64,
    newest: &ChainPosition,
) -> Result<Option<(LiveState, u64)>, FollowError> {
    let stated = newest_stated(
        disk,
        (witnessed, newest),
        STATE_SCHEMA_VERSION,
        &mut |snapshot, from, _, record| Following::begin(snapshot, from, record),
        &mut |following, _, _, record| following.take(record),
    )?;
    // What the log says is unproven states nothing.
    let stated = stated.filter(|(Following { hot, pending, stated_by, is_stopped }, _)| {
        let is_unproven = hot.world.unproven_records().contains(*stated_by);
        !is_stopped && pending.is_empty() && !is_unproven && hot.world.is_readable()
    });
    Ok(stated.map(|(following, place)| (LiveState { place, ..following.hot }, following.stated_by)))
}

/// A snapshot's state on its way to the newest record.
struct Following {
    hot: LiveState,
    pending: PendingEvents,
    stated_by: u64,
    /// A record could not be read: the state is the one before it, wherever the log goes on.
    is_stopped: bool,
}

impl Following {
    fn begin(snapshot: &Stored, from: &Follower, record: &Record<'_>) -> Option<Self> {
        let event = recorded(record).ok()??;
        let world = World::stated_by(snapshot.shared_state(), &event.envelope.event)?;
        let hot = LiveState { since: Since::snapshot(), ..LiveState::from(world, from.clone()) };
        Some(Self {
            hot,
            pending: PendingEvents::default(),
            stated_by: event.sequence,
            is_stopped: false,
        })
    }

    fn take(&mut self, record: &Record<'_>) -> ControlFlow<()> {
        let Ok(event) = recorded(record) else {
            self.is_stopped = true;
            return ControlFlow::Break(());
        };
        self.pending.take(event, &record.header);
        let LiveState { world, since, .. } = &mut self.hot;
        self.pending.evolve(world, &mut |event| since.count(&event.envelope, event.length));
        ControlFlow::Continue(())
    }
}

fn path_of(name: &str) -> String {
    format!("{}/{name}", names::SNAPSHOTS)
}
