//! The log in a directory, read with what this machine tells of it: whether somebody writes now,
//! and which boot this is.

use crate::machine::{is_locked, this_boot};
use crate::read::{Committed, ReadError, ReadOptions};
use crate::rebuild::{Rebuilt, Until, rebuild};
use crate::report::Report;
use crate::verify::verify;
use holdpoint_log_files::DirectoryStorage;
use std::path::Path;

/// Runs a reading of the log in a directory, with what it must know of the machine.
pub fn read_directory<T>(
    storage: &DirectoryStorage,
    reading: impl FnOnce(ReadOptions<'_>) -> T,
) -> T {
    let is_locked = || is_locked(storage);
    reading(ReadOptions::new(this_boot(), &is_locked))
}

/// Verifies the log in a directory, as [`crate::verify()`] does and `holdpoint verify`
/// says it: four things apart.
///
/// ```no_run
/// let report = holdpoint_replay::verify_directory(".holdpoint")?;
/// println!("{report}");
/// assert!(!report.failed());
/// # Ok::<(), holdpoint_replay::ReadError>(())
/// ```
///
/// # Errors
/// As [`crate::verify()`].
pub fn verify_directory(directory: impl AsRef<Path>) -> Result<Report, ReadError> {
    let storage = DirectoryStorage::holding(directory.as_ref());
    read_directory(&storage, |options| verify(&storage, options, &mut |_| {}))
}

/// Rebuilds the state of the log in a directory, as [`rebuild`] does.
///
/// # Errors
/// As [`rebuild`].
pub fn rebuild_directory(
    directory: impl AsRef<Path>,
    until: Until,
    witness: &mut dyn FnMut(&Committed),
) -> Result<Rebuilt, ReadError> {
    let storage = DirectoryStorage::holding(directory.as_ref());
    read_directory(&storage, |options| rebuild(&storage, until, options, &mut |_| {}, witness))
}
