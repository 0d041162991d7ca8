//! Facts about the machine that a reader needs: which boot this is, and whether somebody writes
//! now.

pub use holdpoint_log_files::storage::is_locked;
use holdpoint_log_files::{DirectoryStorage, ReadStorage, is_recording_locked};
use holdpoint_log_format::{BootId, names};
use std::fs::TryLockError;
use std::io::{self, ErrorKind};

/// File in which Linux tells its boot id.
const BOOT_ID_FILE: &str = "/proc/sys/kernel/random/boot_id";

/// This boot of the machine, or [`BootId::UNKNOWN`] where the system does not tell.
#[must_use]
pub fn this_boot() -> BootId {
    let text = std::fs::read_to_string(BOOT_ID_FILE).unwrap_or_default();
    parse_boot_id(&text).unwrap_or(BootId::UNKNOWN)
}

holdpoint_domain::worded_enum! {
    /// Knowledge about the process that records a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Recorder {
        /// The run has no file of its own: nobody records it, or nobody can tell.
        None = "none",
        /// It lives.
        Lives = "lives",
        /// It is gone.
        Gone = "gone",
        /// Unknown: what stands in the file's place does not tell.
        NotToBeTold = "not_told",
    }
}

/// Returns whether the recorder of a run lives, or its guard: it holds the lock of the run's own
/// file, or the one that no change of this file releases. Asks with a shared lock that is given
/// back at once and waits for nothing.
#[must_use]
pub fn recorder_of(storage: &DirectoryStorage, loop_id: &str) -> Recorder {
    if names::parse_run(loop_id).is_none() {
        return Recorder::None;
    }
    let is_recorded = is_recording_locked(storage, loop_id).ok().flatten();
    if is_recorded == Some(true) {
        return Recorder::Lives;
    }
    if is_not_a_directory(storage) {
        return Recorder::NotToBeTold;
    }
    match storage.open(&names::run(loop_id)) {
        Ok(None) => Recorder::None,
        // What stands there is not the recorder's: the other lock says it alone.
        Err(error) if is_recorded == Some(false) && tells_of_something_else(&error) => {
            Recorder::Gone
        }
        Err(_) => Recorder::NotToBeTold,
        Ok(Some(file)) => match file.try_lock_shared() {
            Ok(()) => Recorder::Gone,
            Err(TryLockError::WouldBlock) => Recorder::Lives,
            Err(TryLockError::Error(_)) => Recorder::NotToBeTold,
        },
    }
}

/// An error that says that something stands in the place of a file. Any other says nothing of it.
fn tells_of_something_else(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::PermissionDenied)
}

/// Returns whether something stands in the place of the directory of the runs' files that writers
/// do not follow: they take up nothing behind it.
#[must_use]
pub fn is_not_a_directory(storage: &DirectoryStorage) -> bool {
    storage.is_other_than_directory(names::RUNS)
}

/// 32 hexadecimal digits with hyphens between them.
fn parse_boot_id(text: &str) -> Option<BootId> {
    let digits: String = text.trim().chars().filter(|c| *c != '-').collect();
    let is_id = digits.len() == 32 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u128::from_str_radix(&digits, 16).ok().filter(|_| is_id)?;
    Some(BootId(number.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_id_is_32_digits_in_the_order_in_which_they_are_written() {
        let id = parse_boot_id("01020304-0506-0708-090a-0b0c0d0e0f10\n");
        assert_eq!(id, Some(BootId([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])));
        let not_ids = [
            "",
            "0102",
            "zz020304-0506-0708-090a-0b0c0d0e0f10",
            "+102030405060708090a0b0c0d0e0f10",
        ];
        for text in not_ids {
            assert_eq!(parse_boot_id(text), None, "{text}");
        }
    }
}
