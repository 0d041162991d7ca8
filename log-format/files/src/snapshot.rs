//! Finding snapshots and reading one whole. Nothing in it is believed by that: whether the chain
//! bears it out is for whoever knows the chain.

use crate::follow::{FollowError, Follower};
use crate::run::{RecordPlace, Run};
use crate::storage::{EntryKind, ReadFile, ReadStorage};
use crate::survey::SurveyError;
use crate::window::resize;
use holdpoint_log_format::limits::SNAPSHOT_HEADER_LENGTH;
use holdpoint_log_format::snapshot::SNAPSHOT_MAGIC;
use holdpoint_log_format::{ChainPosition, LogId, Record, SegmentHeader, SnapshotHeader, names};
use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use thiserror::Error;

/// A snapshot longer than this is not written and not read: a state is far smaller, for memory
/// follows what lives. It is also the longest state that an archive can begin with. In bytes.
pub const SNAPSHOT_LENGTH_MAX: u64 = 64 << 20;

/// Snapshots that are looked at before what the state is made from lies further back.
pub const SNAPSHOTS_TRIED_MAX: usize = 8;

/// Why no snapshot is looked for.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SnapshotsFault {
    /// The disk says no.
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    /// Something else lies in the directory's place. Where it is a link, that leads out of the log:
    /// nothing is read, written or removed there.
    #[error("{} is no directory", names::SNAPSHOTS)]
    NoDirectory {
        /// Kind of what lies there.
        found: EntryKind,
    },
}

/// Why there is no snapshot in a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SnapshotFault {
    /// The disk says no.
    #[error("{0}")]
    Unreadable(#[from] io::Error),
    /// No such file.
    #[error("it is gone")]
    Gone,
    /// Longer than [`SNAPSHOT_LENGTH_MAX`].
    #[error("it has {found} bytes, more than any state")]
    TooLong {
        /// Its length.
        found: u64,
    },
    /// It begins otherwise.
    #[error("it does not begin as a snapshot does")]
    NotASnapshot,
    /// It became shorter while it was read.
    #[error("it has {found} bytes and had {expected} when reading began")]
    Shorter {
        /// Its length before.
        expected: usize,
        /// Number of bytes that were read.
        found: usize,
    },
    /// It does not decode.
    #[error("it is no snapshot of this version, or not whole")]
    NotWhole,
    /// It belongs to another log.
    #[error("it is of log {found}, and this is {expected}")]
    OtherLog {
        /// This log.
        expected: LogId,
        /// The log that it names.
        found: LogId,
    },
    /// Its state is encoded by other rules.
    #[error("it is of state schema {found}, and this program has {expected}")]
    OtherSchema {
        /// The schema that was asked for.
        expected: u32,
        /// The schema that it names.
        found: u32,
    },
    /// It stands elsewhere than its name says.
    #[error("it says to stand behind record {found}, and its name says {expected}")]
    OtherPlace {
        /// The sequence in its name.
        expected: u64,
        /// The sequence that it names.
        found: u64,
    },
}

/// A whole snapshot of this program's schema, behind the record in its name, as far as it says so
/// itself.
#[derive(Debug)]
pub struct Snapshot {
    /// Statement of it about itself.
    pub header: SnapshotHeader,
    file: Arc<SnapshotFile>,
}

/// A snapshot's file, of which the state is lent.
#[derive(Debug)]
struct SnapshotFile(Vec<u8>);

impl AsRef<[u8]> for SnapshotFile {
    fn as_ref(&self) -> &[u8] {
        self.0.get(SNAPSHOT_HEADER_LENGTH..).unwrap_or_default()
    }
}

impl Snapshot {
    /// The state that it holds, encoded.
    #[must_use]
    pub fn state(&self) -> &[u8] {
        (*self.file).as_ref()
    }

    /// The same bytes, for whoever keeps them without a copy of their own.
    #[must_use]
    pub fn shared_state(&self) -> Arc<dyn AsRef<[u8]> + Send + Sync> {
        Arc::<SnapshotFile>::clone(&self.file)
    }

    /// The place in the log that it claims to stand for; `None` where there is no such place.
    ///
    /// # Errors
    /// The segment cannot be read.
    pub fn place<S: ReadStorage>(&self, storage: &S) -> Result<Option<Follower>, SurveyError> {
        place_of(storage, &self.header)
    }
}

/// The place in the log that a snapshot's header claims; `None` where there is no such place. That
/// the chain leads on from it is for whoever reads on.
///
/// # Errors
/// The segment cannot be read.
pub fn place_of<S: ReadStorage>(
    storage: &S,
    header: &SnapshotHeader,
) -> Result<Option<Follower>, SurveyError> {
    let segment = match Follower::at_segment(storage, header.segment) {
        Err(FollowError::Read(error)) => return Err(error),
        at_start => at_start.ok().map(|place| place.header),
    };
    let is_inside = |segment: &SegmentHeader| {
        segment.log == header.log
            && segment.previous.sequence <= header.chain.sequence
            && header.end_offset <= segment.capacity
    };
    let run = Run::from(header.chain, header.record_offset, header.end_offset);
    Ok(segment.filter(is_inside).map(|header| Follower { header, run }))
}

/// Is shown the first record behind a snapshot, with its segment and its place: what is made of the
/// snapshot's state, where that record states it; else `None`.
pub type Begin<'b, T> =
    dyn FnMut(&Snapshot, &Follower, &RecordPlace, &Record<'_>) -> Option<T> + 'b;

/// Takes a record in, the first one too.
pub type TakeIn<'t, T> =
    dyn FnMut(&mut T, &SegmentHeader, &RecordPlace, &Record<'_>) -> ControlFlow<()> + 't;

/// Returns what is made of the newest snapshot that is believed and of the records behind it, up to
/// the newest one; and that one's place. A snapshot is believed where a record up to `witnessed`
/// states it, right behind its place, and where every link from there leads to the newest record
/// (property E9). One that cannot be read is none.
///
/// # Errors
/// A segment cannot be read.
pub fn newest_stated<S: ReadStorage, T>(
    storage: &S,
    (witnessed, newest): (u64, &ChainPosition),
    state_schema: u32,
    begin: &mut Begin<'_, T>,
    take: &mut TakeIn<'_, T>,
) -> Result<Option<(T, Follower)>, FollowError> {
    // Snapshots are caches: where none can be had, the state is made from further back.
    let listed = list_snapshots(storage).unwrap_or_default();
    let fitting = listed.into_iter().rev().filter(|(sequence, _)| *sequence < witnessed);
    for (sequence, _) in fitting.take(SNAPSHOTS_TRIED_MAX) {
        let Ok(snapshot) = read_snapshot(storage, sequence, None, state_schema) else { continue };
        let Some(place) = snapshot.place(storage)? else { continue };
        let (from, mut made) = (place.clone(), None);
        let reached = place.lead_to(storage, newest, &mut |segment, at, record| {
            if made.is_none() {
                made = begin(&snapshot, &from, at, record);
            }
            let Some(made) = &mut made else { return ControlFlow::Break(()) };
            let onward = take(made, segment, at, record);
            if record.header.sequence >= newest.sequence { ControlFlow::Break(()) } else { onward }
        })?;
        if let Some(stated) = made.zip(reached) {
            return Ok(Some(stated));
        }
    }
    Ok(None)
}

/// The path of the snapshot behind a record, relative to the log's directory.
#[must_use]
pub fn snapshot_path(sequence: u64) -> String {
    format!("{}/{}", names::SNAPSHOTS, names::snapshot(sequence))
}

/// Returns whether there is a directory of snapshots.
///
/// # Errors
/// See [`SnapshotsFault`].
pub fn has_snapshots<S: ReadStorage>(storage: &S) -> Result<bool, SnapshotsFault> {
    let entries = storage.list("")?;
    match entries.iter().find(|entry| entry.name == names::SNAPSHOTS).map(|entry| entry.kind) {
        None => Ok(false),
        Some(EntryKind::Directory) => Ok(true),
        Some(found) => Err(SnapshotsFault::NoDirectory { found }),
    }
}

/// The records behind which there may be a snapshot, in order, and what lies under its name.
///
/// # Errors
/// See [`SnapshotsFault`].
pub fn list_snapshots<S: ReadStorage>(
    storage: &S,
) -> Result<Vec<(u64, EntryKind)>, SnapshotsFault> {
    if !has_snapshots(storage)? {
        return Ok(Vec::new());
    }
    let entries = storage.list(names::SNAPSHOTS)?;
    let named = entries.iter();
    let named = named.filter_map(|entry| Some((names::parse_snapshot(&entry.name)?, entry.kind)));
    let mut found: Vec<(u64, EntryKind)> = named.collect();
    found.sort_unstable_by_key(|(sequence, _)| *sequence);
    Ok(found)
}

/// Reads the snapshot behind a record, of this log where that is known, and of this schema.
///
/// # Errors
/// See [`SnapshotFault`].
pub fn read_snapshot<S: ReadStorage>(
    storage: &S,
    sequence: u64,
    log: Option<LogId>,
    state_schema: u32,
) -> Result<Snapshot, SnapshotFault> {
    let file = read_file(storage, sequence)?;
    let (header, _) = SnapshotHeader::decode(&file).ok_or(SnapshotFault::NotWhole)?;
    if let Some(expected) = log.filter(|log| *log != header.log) {
        return Err(SnapshotFault::OtherLog { expected, found: header.log });
    }
    if header.state_schema != state_schema {
        let (expected, found) = (state_schema, header.state_schema);
        return Err(SnapshotFault::OtherSchema { expected, found });
    }
    if header.chain.sequence != sequence {
        let (expected, found) = (sequence, header.chain.sequence);
        return Err(SnapshotFault::OtherPlace { expected, found });
    }
    Ok(Snapshot { header, file: Arc::new(SnapshotFile(file)) })
}

/// The whole file, which begins as a snapshot does. Of anything else, only the first bytes are
/// read.
fn read_file<S: ReadStorage>(storage: &S, sequence: u64) -> Result<Vec<u8>, SnapshotFault> {
    let file = storage.open(&snapshot_path(sequence))?.ok_or(SnapshotFault::Gone)?;
    let length = file.length()?;
    if length > SNAPSHOT_LENGTH_MAX {
        return Err(SnapshotFault::TooLong { found: length });
    }
    let mut magic = SNAPSHOT_MAGIC.map(|_| 0);
    file.read_at(0, &mut magic)?;
    if magic != SNAPSHOT_MAGIC {
        return Err(SnapshotFault::NotASnapshot);
    }
    let expected = usize::try_from(length).unwrap_or_default();
    let mut bytes = Vec::new();
    resize(&mut bytes, expected)?;
    let found = file.read_at(0, &mut bytes)?;
    if found == expected { Ok(bytes) } else { Err(SnapshotFault::Shorter { expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::DirectoryStorage;
    use holdpoint_log_format::Link;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    const LOG: LogId = LogId([7; 16]);
    const SCHEMA: u32 = 5;

    fn put(directory: &Path, sequence: u64, claimed: u64) {
        let header = SnapshotHeader {
            log: LOG,
            chain: ChainPosition { sequence: claimed, link: Link([5; 32]), time: 9 },
            segment: 1,
            record_offset: 5_000,
            end_offset: 5_200,
            state_schema: SCHEMA,
        };
        fs::create_dir_all(directory.join(names::SNAPSHOTS)).unwrap();
        fs::write(directory.join(snapshot_path(sequence)), header.encode_with(b"state")).unwrap();
    }

    #[test]
    fn snapshots_are_listed_in_order_with_what_lies_under_their_names() {
        let directory = tempfile::tempdir().unwrap();
        let storage = DirectoryStorage::new(directory.path());
        assert_eq!(list_snapshots(&storage).unwrap(), []);
        put(directory.path(), 90, 90);
        put(directory.path(), 7, 7);
        fs::create_dir(directory.path().join(snapshot_path(8))).unwrap();
        fs::write(directory.path().join(names::SNAPSHOTS).join("notes"), "").unwrap();
        let file = EntryKind::File;
        let expected = [(7, file), (8, EntryKind::Directory), (90, file)];
        assert_eq!(list_snapshots(&storage).unwrap(), expected);
    }

    #[test]
    fn a_link_in_the_place_of_the_directory_is_not_followed() {
        let (directory, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(elsewhere.path(), 7, 7);
        let place = directory.path().join(names::SNAPSHOTS);
        symlink(elsewhere.path().join(names::SNAPSHOTS), place).unwrap();
        let listed = list_snapshots(&DirectoryStorage::new(directory.path()));
        let expected = EntryKind::Other;
        assert!(matches!(listed, Err(SnapshotsFault::NoDirectory { found }) if found == expected));
    }

    #[test]
    fn a_snapshot_of_another_log_schema_or_place_is_named_so() {
        let directory = tempfile::tempdir().unwrap();
        let storage = DirectoryStorage::new(directory.path());
        put(directory.path(), 7, 7);
        put(directory.path(), 8, 7);
        let read = |sequence, log, schema| read_snapshot(&storage, sequence, log, schema);
        for log in [None, Some(LOG)] {
            assert_eq!(read(7, log, SCHEMA).unwrap().state(), b"state");
        }
        let other = read(7, Some(LogId([1; 16])), SCHEMA);
        assert!(matches!(other, Err(SnapshotFault::OtherLog { found: LOG, .. })), "{other:?}");
        let other = read(7, Some(LOG), SCHEMA + 1);
        assert!(
            matches!(other, Err(SnapshotFault::OtherSchema { found: SCHEMA, .. })),
            "{other:?}"
        );
        let other = read(8, Some(LOG), SCHEMA);
        assert!(matches!(other, Err(SnapshotFault::OtherPlace { found: 7, .. })), "{other:?}");
        let gone = read(9, Some(LOG), SCHEMA);
        assert!(matches!(gone, Err(SnapshotFault::Gone)), "{gone:?}");
    }
}
