//! Why a log could not be salvaged.

use crate::log::{AppendError, CloseError, OpenError};
use holdpoint_domain::core::codec::EncodeError;
use holdpoint_log_files::SurveyError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A log could not be salvaged. The source is as it was.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SalvageError {
    /// There is no log to salvage.
    #[error("there is no log at {path}: name the directory of the damaged log")]
    NothingHere {
        /// The source.
        path: PathBuf,
    },
    /// The path is not a directory.
    #[error("{path} is not a directory: name the directory of the damaged log")]
    NotADirectory {
        /// The source.
        path: PathBuf,
    },
    /// No segment is left.
    #[error(
        "{} and no segment is left in {path}: nothing can be kept, keep a copy of the directory{}",
        of_head(*.named),
        first(.findings)
    )]
    NoSegment {
        /// The source.
        path: PathBuf,
        /// Number of records that HEAD names; `None` where HEAD is missing or damaged.
        named: Option<u64>,
        /// Findings of the check.
        findings: Vec<String>,
    },
    /// No record verified.
    #[error(
        "nothing in {path} verifies, so no new log was made: keep a copy of the directory{}",
        first(.findings)
    )]
    NothingKept {
        /// The source.
        path: PathBuf,
        /// Findings of the check.
        findings: Vec<String>,
    },
    /// The new log would lie in the old one.
    #[error(
        "{target} is {} {path}, and the old log is never touched: name another directory for the \
         new one",
        if .target == .path { "the same as" } else { "inside" }
    )]
    Inside {
        /// The new log.
        target: PathBuf,
        /// The source.
        path: PathBuf,
    },
    /// The new log's directory has something in it.
    #[error(
        "{target} is not an empty directory: name an empty one for the new log, or one that does \
         not exist yet"
    )]
    NotEmpty {
        /// The new log.
        target: PathBuf,
    },
    /// An earlier salvage was not finished.
    #[error(
        "{building} is there: another salvage is at work, or one was interrupted and left an \
         incomplete log; remove it when nothing is at work, and try again"
    )]
    Unfinished {
        /// The directory in which the new log was being made.
        building: PathBuf,
    },
    /// The source is of a newer version.
    #[error("{0}")]
    Read(#[from] SurveyError),
    /// A newer program wrote the source.
    #[error(
        "record {sequence} is of a kind, or of a version of its kind, that this program does not \
         know, and HEAD ties it: salvage the log with the holdpoint that wrote it, or a newer one"
    )]
    UnknownKind {
        /// The first such record.
        sequence: u64,
    },
    /// The source cannot be read.
    #[error("cannot read {path}: {source}; {}", advice(.source))]
    Unreadable {
        /// Path of what cannot be read.
        path: PathBuf,
        /// Answer of the disk.
        source: io::Error,
    },
    /// The source is not what it was a moment ago.
    #[error("{file} changed while it was read: stop what writes to the log, and try again")]
    Changed {
        /// The file, relative to the source's directory.
        file: String,
    },
    /// The system has no entropy.
    #[error("no random bits for an id: {0}")]
    Entropy(String),
    /// An event of the salvage beyond the codec's limits.
    #[error("the report cannot be recorded: {0}")]
    Encode(#[from] EncodeError),
    /// A path cannot be looked at or made.
    #[error("cannot {operation} {path}: {source}")]
    Io {
        /// Operation that was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// Answer of the disk.
        source: io::Error,
    },
    /// The new log could not be made.
    #[error("the new log cannot be made: {0}")]
    Open(#[from] Box<OpenError>),
    /// A record could not be appended to the new log.
    #[error("the new log cannot be written: {0}")]
    Append(#[from] AppendError),
    /// The new log could not be closed.
    #[error("the new log cannot be finished: {0}")]
    Close(#[from] CloseError),
    /// The new log was begun and not finished.
    #[error("{cause}; what was made so far, {building}, is incomplete: remove it and try again")]
    Interrupted {
        /// The directory in which the new log was being made.
        building: PathBuf,
        /// Error that caused it.
        cause: Box<SalvageError>,
    },
}

impl SalvageError {
    /// Returns whether there was nothing to salvage, rather than a failure.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        use SalvageError::{NoSegment, NothingHere, NothingKept};
        matches!(self, NothingHere { .. } | NoSegment { .. } | NothingKept { .. })
    }

    /// The same, with the whole path of what cannot be read.
    pub(super) fn of_source(self, root: &Path) -> Self {
        match self {
            Self::Read(SurveyError::Io { file, source }) if file == "." => {
                Self::Unreadable { path: root.to_path_buf(), source }
            }
            Self::Read(SurveyError::Io { file, source }) => {
                Self::Unreadable { path: root.join(file), source }
            }
            other => other,
        }
    }
}

/// Returns what HEAD says of the records that are gone.
fn of_head(records: Option<u64>) -> String {
    match records {
        None => "HEAD does not say what there was".to_string(),
        Some(0) => "HEAD names no record".to_string(),
        Some(1) => "HEAD names 1 record".to_string(),
        Some(records) => format!("HEAD names {records} records"),
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "the old log is only read, but this user must be allowed to read all of it"
        }
        _ => "copy what can be read of the directory to another disk, and salvage the copy",
    }
}

fn first(findings: &[String]) -> String {
    findings.first().map(|finding| format!("; first of all, {finding}")).unwrap_or_default()
}

/// Returns what the disk said of a file of the source, for `map_err`.
pub(super) fn unreadable(file: &str) -> impl FnOnce(io::Error) -> SalvageError {
    let file = file.to_string();
    move |source| SurveyError::Io { file, source }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_named_by_its_whole_path_and_with_what_to_do() {
        let denied = |file: &str| {
            let source = io::ErrorKind::PermissionDenied.into();
            let read = SalvageError::from(SurveyError::Io { file: file.to_string(), source });
            read.of_source(Path::new("/logs/old")).to_string()
        };
        assert!(denied("HEAD").starts_with("cannot read /logs/old/HEAD: permission denied; the"));
        assert!(denied(".").starts_with("cannot read /logs/old: "), "{}", denied("."));
        assert!(denied("HEAD").contains("this user must be allowed to read all of it"));
    }
}
