//! The lock of the active segment's file. Beside LOCK, whose name anybody who may write to the
//! directory can give to another file: whoever takes such a fresh LOCK still does not have the
//! segment that the owner writes to.
//!
//! # Invariants
//!
//! - Nothing is written to a segment, and HEAD is not replaced, without the lock of the last one.
//! - LOCK is taken before it and given back behind it. A new segment's is taken before the segment
//!   gets its name, and that of the one before is given back after.

use super::active::{DiskResult, IoContext};
use super::lock::{LockHolder, until};
use super::storage::{Storage, WriteFile};
use holdpoint_log_files::reader::firsts;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{ReadFile, Survey};
use holdpoint_log_format::names;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// More segments than can follow one another, or be replaced, while one is listed and locked.
pub(super) const CHANGES_MAX: usize = 64;

/// A segment's file, locked until this is dropped by the process that locked it.
#[derive(Debug)]
pub(super) struct LockedFile<W: WriteFile> {
    file: Arc<W>,
    owner: u32,
}

impl<W: WriteFile> LockedFile<W> {
    /// `None` where somebody has the lock.
    pub(super) fn try_new(file: &Arc<W>) -> io::Result<Option<Self>> {
        let lock = || Self { file: Arc::clone(file), owner: std::process::id() };
        Ok(file.try_lock()?.then(lock))
    }

    /// Takes the lock within `wait`; the inner error names who holds it.
    pub(super) fn within<S: Storage<Writer = W>>(
        storage: &S,
        file: &Arc<W>,
        path: &str,
        wait: Duration,
    ) -> DiskResult<Result<Self, LockHolder>> {
        let mut attempt = || Self::try_new(file).named("lock", path);
        until(wait, &mut attempt, || storage.lock_holder(path).unwrap_or(0))
    }

    pub(super) fn file(&self) -> &Arc<W> {
        &self.file
    }
}

impl<W: WriteFile> Drop for LockedFile<W> {
    /// Closing alone would leave the lock with a child that was forked meanwhile; and such a child
    /// must not give back what its parent holds.
    fn drop(&mut self) {
        if std::process::id() == self.owner {
            // Where this fails, the lock ends with the last descriptor of the open file.
            let _ = self.file.unlock();
        }
    }
}

/// Locks the last segment of a log within `wait`, unless `held` is its lock. Whoever has it lists
/// the segments again: it [is the last one](is_named_last) then, or another one is locked. The
/// innermost is `None` where none is listed, or the last name is not a regular file's.
pub(super) fn lock_last<S: Storage>(
    storage: &S,
    held: Option<LockedFile<S::Writer>>,
    wait: Duration,
) -> DiskResult<Result<Option<LockedFile<S::Writer>>, LockHolder>> {
    for _ in 0..CHANGES_MAX {
        let Some(path) = last_path(storage)? else { return Ok(Ok(None)) };
        if let Some(lock) = &held
            && storage.is_named(&path, lock.file()).named("look at", &path)?
        {
            return Ok(Ok(held));
        }
        let file = match storage.open_writer(&path) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(Ok(None)),
            // It was removed since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                let needed = length_of(storage, &path);
                return Err(error).named_needing("open", &path, needed);
            }
            Ok(file) => Arc::new(file),
        };
        drop(held);
        return Ok(LockedFile::within(storage, &file, &path, wait)?.map(Some));
    }
    Err(io::Error::other("the last one is removed again and again")).named("lock", names::SEGMENTS)
}

/// Returns whether what is locked has the last name that was listed since.
pub(super) fn is_named_last<S: Storage>(
    storage: &S,
    lock: &LockedFile<S::Writer>,
    survey: &Survey,
) -> DiskResult<bool> {
    let last = survey.segments.last().map(|segment| segment.first_sequence);
    let Some(last) = last.or_else(|| survey.leftovers.last().copied()) else { return Ok(false) };
    let path = segment_path(last);
    storage.is_named(&path, lock.file()).named("look at", &path)
}

/// Returns what a process with a limit on the size of its files needs to be allowed; 0 where nobody
/// knows.
fn length_of<S: Storage>(storage: &S, path: &str) -> u64 {
    let file = storage.open(path).ok().flatten();
    file.and_then(|file| file.length().ok()).unwrap_or(0)
}

fn last_path<S: Storage>(storage: &S) -> DiskResult<Option<String>> {
    let listed = match storage.list(names::SEGMENTS) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(None),
        listed => listed.named("list", names::SEGMENTS)?,
    };
    Ok(firsts(&listed).last().copied().map(segment_path))
}
