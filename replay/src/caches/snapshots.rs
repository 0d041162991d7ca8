//! Snapshots of the state, compared with what the chain says of it.

use super::CacheState;
use holdpoint_domain::codec::decode;
use holdpoint_domain::event::Event;
use holdpoint_domain::hash::Digest;
use holdpoint_domain::world::{STATE_SCHEMA_VERSION, fingerprint_of};
use holdpoint_log_files::snapshot::{
    Snapshot, SnapshotFault, SnapshotsFault, list_snapshots, read_snapshot, snapshot_path,
};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{EntryKind, FollowError, Follower, ReadStorage, SurveyError};
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::{
    ChainPosition, Item, LogId, Record, RecordHeader, SnapshotHeader, names,
};
use serde::Serialize;
use std::io;

/// One snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CachedSnapshot {
    /// The file, relative to the log's directory.
    pub file: String,
    /// The sequence in its name: the record behind which its state stands; 0 where the directory of
    /// snapshots cannot be read, or something else lies in its place.
    pub sequence: u64,
    /// Whether the chain vouches for it.
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
        Err(SnapshotsFault::Unreadable(error)) => {
            return vec![in_place_of_all(CacheState::Unreadable, error.to_string())];
        }
    };
    found.into_iter().map(|(sequence, kind)| check_snapshot(storage, log, sequence, kind)).collect()
}

/// What is said of the directory, where none of its snapshots can be.
fn in_place_of_all(state: CacheState, reason: String) -> CachedSnapshot {
    let file = names::SNAPSHOTS.to_string();
    CachedSnapshot { file, sequence: 0, state, reason: Some(reason) }
}

/// What lies there, in words.
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
    let (header, expected) = (&snapshot.header, fingerprint_of(snapshot.state()));
    check_place(storage, header)?;
    let next = header.chain.sequence.saturating_add(1);
    let mut judge = |record: &Record<'_>, _| judge_record(record, header, &expected);
    let found = on_record(storage, header.segment, header.end_offset, &mut judge)?;
    // The segment ended there: the record is the first one of the next.
    let begin = SEGMENT_HEADER_LENGTH as u64;
    let again = match found {
        Some(judged) => Some(judged),
        None => on_record(storage, next, begin, &mut judge)?,
    };
    let judged = again
        .unwrap_or_else(|| Err(format!("record {next}, which would vouch for it, is not there")));
    judged.map_err(damaged)
}

/// The record behind which the state stands is where the snapshot says, from one offset to the
/// other; or it is the last one of the segment before, and the snapshot stands at the beginning.
fn check_place<S: ReadStorage>(storage: &S, header: &SnapshotHeader) -> Result<(), Wrong> {
    let segment = segment_at(storage, header.segment)?;
    let (start, at) = (segment.run, (header.chain, header.record_offset, header.end_offset));
    if at == (start.chain, start.record_offset, start.end_offset) {
        return Ok(());
    }
    let mut is_it = |record: &Record<'_>, length: u64| {
        let RecordHeader { sequence, link, time, .. } = record.header;
        let ends = header.record_offset.saturating_add(length) == header.end_offset;
        ChainPosition { sequence, link, time } == header.chain && ends
    };
    match on_record(storage, header.segment, header.record_offset, &mut is_it)? {
        Some(true) => Ok(()),
        _ => {
            let found = header.chain.sequence;
            Err(damaged(format!("record {found} is not the one that it states there")))
        }
    }
}

fn judge_record(
    record: &Record<'_>,
    header: &SnapshotHeader,
    expected: &Digest,
) -> Result<(), String> {
    let next = header.chain.sequence.saturating_add(1);
    let is_next = record.header.sequence == next
        && record.expected_link(header.log, &header.chain.link) == record.header.link
        && record.header.time >= header.chain.time;
    if !is_next {
        return Err(format!("record {next} does not follow from the place that it states"));
    }
    let (kind, version) = (record.header.kind, record.header.version);
    match decode(kind, version, record.payload).map(|envelope| envelope.event) {
        Ok(Event::FingerprintRecorded(body)) if body.fingerprint == *expected => Ok(()),
        Ok(Event::FingerprintRecorded(body)) => Err(format!(
            "its state has the fingerprint {expected}, and record {next} states {}",
            body.fingerprint
        )),
        _ => Err(format!("record {next} states no fingerprint")),
    }
}

/// Asks about the record at an offset of a segment, and its length in bytes; `None` where the
/// segment ends there.
fn on_record<S: ReadStorage, T>(
    storage: &S,
    segment: u64,
    offset: u64,
    ask: &mut dyn FnMut(&Record<'_>, u64) -> T,
) -> Result<Option<T>, Wrong> {
    let place = segment_at(storage, segment)?;
    let file = segment_path(segment);
    let opened = storage.open(&file).map_err(unreadable(&file))?;
    let gone = || damaged("the segment that it names is not there".to_string());
    let mut window = Window::new(opened.ok_or_else(gone)?).map_err(unreadable(&file))?;
    let item = window.item(offset, &place.header).map_err(unreadable(&file))?;
    match item {
        Ok((Item::Record(record), length)) => Ok(Some(ask(&record, length))),
        Ok((Item::Seal(_), _)) => Ok(None),
        Ok((Item::Nothing, _)) => Err(damaged(format!("there is no record at byte {offset}"))),
        Err(fault) => Err(damaged(format!("byte {offset} of its segment: {fault}"))),
    }
}

fn segment_at<S: ReadStorage>(storage: &S, segment: u64) -> Result<Follower, Wrong> {
    Follower::at_segment(storage, segment).map_err(|error| match &error {
        FollowError::Read(SurveyError::Io { source, .. }) => {
            (CacheState::of_failure(source), error.to_string())
        }
        _ => damaged(error.to_string()),
    })
}
