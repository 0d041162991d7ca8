//! Snapshots of the state, compared with what the chain says of it.

use super::CacheState;
use holdpoint_domain::Event;
use holdpoint_domain::core::hash::Digest;
use holdpoint_domain::log::LogEvent;
use holdpoint_domain::world::envelope::decode;
use holdpoint_domain::world::{STATE_SCHEMA_VERSION, fingerprint_of};
use holdpoint_log_files::reader::OpenSegment;
use holdpoint_log_files::snapshot::{
    Snapshot, SnapshotFault, SnapshotsFault, list_snapshots, read_snapshot, snapshot_path,
};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{EntryKind, FollowError, Follower, ReadStorage, Run, SurveyError};
use holdpoint_log_format::{ChainPosition, Item, LogId, Record, RecordHeader, names};
use serde::Serialize;
use std::io;
use std::ops::ControlFlow;

/// One snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CachedSnapshot {
    /// The file, relative to the log's directory.
    pub file: String,
    /// The sequence in its name: the record behind which its state stands; 0 where the directory of
    /// snapshots cannot be read, or something else lies in its place.
    pub sequence: u64,
    /// State by whether the chain vouches for it.
    pub state: CacheState,
    /// Why not, in one sentence.
    pub reason: Option<String>,
}

/// Every snapshot of a log, in order. What the recorded fingerprints are worth is the verdict's
/// concern: they are checked by every replay.
pub(super) fn check_snapshots<S: ReadStorage>(
    storage: &S,
    log: Option<LogId>,
) -> Vec<CachedSnapshot> {
    let found = match list_snapshots(storage) {
        Ok(found) => found,
        // Something else in the directory's place, a link above all, holds no snapshot.
        Err(SnapshotsFault::NoDirectory { found }) => {
            let reason = format!("{} in place of a directory: no snapshot is kept", noun(found));
            return vec![in_place_of_all(CacheState::Damaged, reason)];
        }
        Err(error) => {
            return vec![in_place_of_all(CacheState::Unreadable, error.to_string())];
        }
    };
    found.into_iter().map(|(sequence, kind)| check_snapshot(storage, log, sequence, kind)).collect()
}

/// Returns what is said of the directory, where none of its snapshots can be.
fn in_place_of_all(state: CacheState, reason: String) -> CachedSnapshot {
    let file = names::SNAPSHOTS.to_string();
    CachedSnapshot { file, sequence: 0, state, reason: Some(reason) }
}

/// Returns what lies there, in words.
pub(super) const fn noun(kind: EntryKind) -> &'static str {
    match kind {
        EntryKind::File => "a file",
        EntryKind::Directory => "a directory",
        EntryKind::Other => "a link or something else",
    }
}

fn check_snapshot<S: ReadStorage>(
    storage: &S,
    log: Option<LogId>,
    sequence: u64,
    kind: EntryKind,
) -> CachedSnapshot {
    let file = snapshot_path(sequence);
    let judged = match kind {
        EntryKind::File => judged(storage, log, sequence),
        other => Err((CacheState::Damaged, format!("{} in place of a file", noun(other)))),
    };
    let (state, reason) = match judged {
        Ok(()) => (CacheState::Right, None),
        Err((state, reason)) => (state, Some(reason)),
    };
    CachedSnapshot { file, sequence, state, reason }
}

/// Why a snapshot is not believed.
type Wrong = (CacheState, String);

fn judged<S: ReadStorage>(storage: &S, log: Option<LogId>, sequence: u64) -> Result<(), Wrong> {
    let snapshot = read_snapshot(storage, sequence, log, STATE_SCHEMA_VERSION)
        .map_err(|fault| (state_of(&fault), fault.to_string()))?;
    compared(storage, &snapshot)
}

fn damaged(reason: String) -> Wrong {
    (CacheState::Damaged, reason)
}

fn unreadable(file: &str) -> impl Fn(io::Error) -> Wrong {
    move |error| (CacheState::of_failure(&error), format!("{file}: {error}"))
}

fn state_of(fault: &SnapshotFault) -> CacheState {
    match fault {
        SnapshotFault::OtherLog { .. } => CacheState::Foreign,
        SnapshotFault::OtherSchema { .. } => CacheState::Stale,
        SnapshotFault::Unreadable(error) => CacheState::of_failure(error),
        _ => CacheState::Damaged,
    }
}

/// The snapshot's place is where it says, and the record behind it states this state.
fn compared<S: ReadStorage>(storage: &S, snapshot: &Snapshot) -> Result<(), Wrong> {
    let sequence = snapshot.header.chain.sequence;
    let place = snapshot.place(storage).map_err(|error| unfollowed(&error.into()))?;
    let elsewhere = || damaged(format!("record {sequence} is not the one that it states there"));
    let mut place = place.ok_or_else(elsewhere)?;
    if place.run != Run::at_start(&place.header) && !is_there(storage, &place)? {
        return Err(elsewhere());
    }
    let (next, expected) = (sequence.saturating_add(1), fingerprint_of(snapshot.state()));
    let mut judged = None;
    let followed = place.catch_up_while(storage, &mut |_, _, record| {
        judged = Some(judge(record, &expected));
        ControlFlow::Break(())
    });
    followed.map_err(|error| unfollowed(&error))?;
    let missing = || Err(format!("record {next}, which would vouch for it, is not behind it"));
    judged.unwrap_or_else(missing).map_err(damaged)
}

/// Returns whether the record before a place is there, from one offset to the other.
fn is_there<S: ReadStorage>(storage: &S, place: &Follower) -> Result<bool, Wrong> {
    let (run, first) = (&place.run, place.header.first_sequence());
    let file = segment_path(first);
    let segment = OpenSegment::of(storage.open(&file), first).map_err(|it| unfollowed(&it))?;
    let OpenSegment { header, mut window } = segment;
    let item = window.item(run.record_offset, &header).map_err(unreadable(&file))?;
    let Ok((Item::Record(record), length)) = item else { return Ok(false) };
    let ends = run.record_offset.saturating_add(length) == run.end_offset;
    Ok(ends && ChainPosition::of(&record.header) == run.chain)
}

fn judge(record: &Record<'_>, expected: &Digest) -> Result<(), String> {
    let RecordHeader { sequence, kind, version, .. } = record.header;
    match decode(kind, version, record.payload).map(|envelope| envelope.event) {
        Ok(Event::Log(LogEvent::FingerprintRecorded(body))) if body.fingerprint == *expected => {
            Ok(())
        }
        Ok(Event::Log(LogEvent::FingerprintRecorded(body))) => Err(format!(
            "its state has the fingerprint {expected}, and record {sequence} states {}",
            body.fingerprint
        )),
        _ => Err(format!("record {sequence} states no fingerprint")),
    }
}

/// Returns what the segment that a snapshot names has to do with it.
fn unfollowed(error: &FollowError) -> Wrong {
    match error {
        FollowError::Read(SurveyError::Io { source, .. }) => {
            (CacheState::of_failure(source), error.to_string())
        }
        _ => damaged(error.to_string()),
    }
}
