//! Faults of the names in a log's directory while the log is open: somebody else removed or
//! replaced a file, or cut it short.

use holdpoint_log_files::FileId;
use holdpoint_log_format::LogId;
use rustix::fs::Stat;
use std::io;
use thiserror::Error;

/// Why a name is not relied on.
#[derive(Debug, Error)]
pub(super) enum NameFault {
    #[error("nothing has its name any more, and the file that was opened is {expected}")]
    Gone { expected: FileId },
    #[error("another file has its name ({found}) than the one that was opened ({expected})")]
    Another { expected: FileId, found: FileId },
    #[error("it is {found} bytes long, and not {expected}: somebody cut it short, or added to it")]
    Length { expected: u64, found: u64 },
    #[error("it is of log {found}, and the log that was opened is {expected}")]
    OtherLog { expected: LogId, found: LogId },
}

impl From<NameFault> for io::Error {
    fn from(fault: NameFault) -> Self {
        let kind = match fault {
            NameFault::Gone { .. } => io::ErrorKind::NotFound,
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, fault)
    }
}

/// State of a name: while it is the same, the file under it is, and so is its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameState {
    file: FileId,
    length: u64,
    /// Seconds and nanoseconds: a time that nobody can set.
    changed: (i64, i64),
}

impl NameState {
    #[allow(clippy::useless_conversion, reason = "its width differs between systems")]
    pub(super) fn of(found: &Stat) -> Self {
        let nanoseconds = i64::try_from(found.st_ctime_nsec).unwrap_or(0);
        let length = u64::try_from(found.st_size).unwrap_or(0);
        Self { file: FileId::of(found), length, changed: (found.st_ctime, nanoseconds) }
    }

    /// Checks that a name stands for a file of so many bytes.
    pub(super) fn check(now: Option<Self>, expected: FileId, length: u64) -> Result<(), NameFault> {
        match now {
            None => Err(NameFault::Gone { expected }),
            Some(now) if now.file != expected => {
                Err(NameFault::Another { expected, found: now.file })
            }
            Some(now) if now.length != length => {
                Err(NameFault::Length { expected: length, found: now.length })
            }
            Some(_) => Ok(()),
        }
    }
}
