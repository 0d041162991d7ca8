//! Reading a snapshot whole. Nothing in it is believed by that.

use crate::storage::{ReadFile, ReadStorage};
use holdpoint_log_format::names;
use holdpoint_log_format::snapshot::SNAPSHOT_MAGIC;
use std::io;
use thiserror::Error;

/// A snapshot longer than this is not written and not read: a state is far smaller, for memory
/// follows what lives. It is also the longest state that an archive can begin with. In bytes.
pub const SNAPSHOT_LENGTH_MAX: u64 = 64 << 20;

/// Why there is no snapshot in a file.
#[derive(Debug, Error)]
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
        /// What was read.
        found: usize,
    },
}

/// The path of the snapshot behind a record, relative to the log's directory.
#[must_use]
pub fn snapshot_path(sequence: u64) -> String {
    format!("{}/{}", names::SNAPSHOTS, names::snapshot(sequence))
}

/// The whole file, which begins as a snapshot does. Of anything else, only the first bytes are
/// read.
///
/// # Errors
/// See [`SnapshotFault`].
pub fn read_snapshot<S: ReadStorage>(storage: &S, sequence: u64) -> Result<Vec<u8>, SnapshotFault> {
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
    let mut bytes = vec![0; expected];
    let found = file.read_at(0, &mut bytes)?;
    if found == expected { Ok(bytes) } else { Err(SnapshotFault::Shorter { expected, found }) }
}
