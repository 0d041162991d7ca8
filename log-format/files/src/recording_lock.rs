//! The lock that says that the recorder of a run lives, or its guard, whatever became of the run's
//! own file: one byte for each run, of the log's open directory.
//!
//! It belongs to the open directory, which a guard inherits: the system releases it once both have
//! ended. Whoever deletes, links or replaces the run's own file, or the directory of such files,
//! does not release it.

use crate::storage::DirectoryStorage;
use holdpoint_log_format::RunStart;
use std::io;
use std::os::fd::OwnedFd;

/// Places that a file system knows have 63 bits; the last byte has one behind it.
const PLACES: u64 = (1 << 62) - 1;

/// The byte of a run; `None` where the name is none of a run.
fn byte_of(loop_id: &str) -> Option<i64> {
    let digits = u128::from_be_bytes(RunStart::digits_of(loop_id)?);
    let low = u64::try_from(digits & u128::from(u64::MAX)).ok()?;
    let high = u64::try_from(digits >> 64).ok()?;
    i64::try_from((low ^ high.rotate_left(17)) & PLACES).ok()
}

/// Takes the lock for a run: it is held for as long as this descriptor is open anywhere.
///
/// # Errors
/// What the disk says. Where the file system has no such locks, that is no error: then
/// [`is_recording_locked`] does not tell.
pub fn hold_recording_lock(log: &DirectoryStorage, loop_id: &str) -> io::Result<OwnedFd> {
    let directory = log.open_directory("")?;
    if let Some(byte) = byte_of(loop_id) {
        system::hold(&directory, byte)?;
    }
    Ok(directory)
}

/// Returns whether the recorder of a run lives, or its guard. `None`: this file system does not
/// tell.
///
/// # Errors
/// What the disk says.
pub fn is_recording_locked(log: &DirectoryStorage, loop_id: &str) -> io::Result<Option<bool>> {
    match byte_of(loop_id) {
        Some(byte) => system::is_held(&log.open_directory("")?, byte),
        None => Ok(None),
    }
}

#[cfg(target_os = "linux")]
mod system {
    use nix::errno::Errno;
    use nix::fcntl::{FcntlArg, fcntl};
    use std::io;
    use std::os::fd::OwnedFd;

    #[expect(clippy::cast_possible_truncation, reason = "numbers below ten")]
    const fn lock(kind: i32, byte: i64) -> libc::flock {
        let (l_type, l_whence) = (kind as i16, libc::SEEK_SET as i16);
        libc::flock { l_type, l_whence, l_start: byte, l_len: 1, l_pid: 0 }
    }

    /// A lock to read with: a directory is open for nothing else.
    pub(super) fn hold(directory: &OwnedFd, byte: i64) -> io::Result<()> {
        let lock = lock(libc::F_RDLCK, byte);
        match fcntl(directory, FcntlArg::F_OFD_SETLK(&lock)) {
            Ok(_) => Ok(()),
            Err(error) if has_none(error) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn is_held(directory: &OwnedFd, byte: i64) -> io::Result<Option<bool>> {
        let mut lock = lock(libc::F_WRLCK, byte);
        match fcntl(directory, FcntlArg::F_OFD_GETLK(&mut lock)) {
            Ok(_) => Ok(Some(i32::from(lock.l_type) != libc::F_UNLCK)),
            Err(error) if has_none(error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The file system, or the system, has no such locks.
    const fn has_none(error: Errno) -> bool {
        matches!(error, Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP | Errno::EBADF)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;
    use std::os::fd::OwnedFd;

    pub(super) fn hold(_: &OwnedFd, _: i64) -> io::Result<()> {
        Ok(())
    }

    pub(super) fn is_held(_: &OwnedFd, _: i64) -> io::Result<Option<bool>> {
        Ok(None)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_lock_is_of_one_run_and_ends_with_the_last_descriptor_of_the_open_directory() {
        let log = tempfile::tempdir().unwrap();
        let [run, other] = ["a", "b"].map(|digit| format!("LOOP-{}", digit.repeat(32)));
        let storage = DirectoryStorage::new(log.path());
        let is_locked = |run: &str| is_recording_locked(&storage, run).unwrap();
        assert_eq!(is_locked(&run), Some(false));
        let recorder = hold_recording_lock(&storage, &run).unwrap();
        let guard = recorder.try_clone().unwrap();
        assert_eq!((is_locked(&run), is_locked(&other)), (Some(true), Some(false)));
        drop(recorder);
        assert_eq!(is_locked(&run), Some(true));
        drop(guard);
        assert_eq!(is_locked(&run), Some(false));
        assert_eq!(is_recording_locked(&storage, "OUTCOME-1").unwrap(), None);
    }
}
