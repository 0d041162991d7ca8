//! Why a log could not be salvaged.

use crate::log::{AppendError, CloseError, OpenError};
use holdpoint_domain::codec::EncodeError;
use holdpoint_log_files::SurveyError;
use std::io;
use std::path::PathBuf;
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
    /// No record verified.
    #[error(
        "nothing in {path} verifies, so no new log was made: keep a copy of the directory{}",
        first(.findings)
    )]
    NothingKept {
        /// The source.
        path: PathBuf,
        /// What was found wrong.
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
    /// The source cannot be read, or is of a newer version.
    #[error("{0}")]
    Read(#[from] SurveyError),
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
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// What the disk said.
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
        /// What failed.
        cause: Box<SalvageError>,
    },
}

impl SalvageError {
    /// Whether there was nothing to salvage, rather than a failure.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::NothingHere { .. } | Self::NothingKept { .. })
    }
}

fn first(findings: &[String]) -> String {
    findings.first().map(|finding| format!("; first of all, {finding}")).unwrap_or_default()
}
