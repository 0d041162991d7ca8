//! Why a log was not continued.

use crate::log::{AppendError, CloseError, OpenError};
use crate::shell::{EngineError, SubmitError};
use holdpoint_domain::Refusal;
use holdpoint_log_files::SurveyError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A log was not continued: it is as it was, unless it is [`Self::Unnamed`], [`Self::Unsynced`] or
/// [`Self::Displaced`].
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ContinueError {
    /// There is no log.
    #[error("there is no log at {path}: name the directory of a log that is short of HEAD")]
    NothingHere {
        /// The directory.
        path: PathBuf,
    },
    /// Nothing is missing.
    #[error(
        "the log at {path} is whole, and every verb writes to it: there is nothing to continue"
    )]
    Whole {
        /// The directory.
        path: PathBuf,
    },
    /// Something lies behind the newest record, which the next writer puts in order.
    #[error(
        "the log at {path} has all that its HEAD states: the next verb that writes puts its end in \
         order, and there is nothing to continue"
    )]
    Unproven {
        /// The directory.
        path: PathBuf,
    },
    /// Something else is wrong with it.
    #[error(
        "the log at {path} is not only short of HEAD, and is not continued: {finding}. Look at it \
         with `holdpoint verify`, and keep what holds with `holdpoint copy --salvage`"
    )]
    Damaged {
        /// The directory.
        path: PathBuf,
        /// Finding of the check.
        finding: String,
    },
    /// It is an archive.
    #[error("{path} is an archive: nothing but a move of records writes to it")]
    Archive {
        /// The directory.
        path: PathBuf,
    },
    /// It is an exported copy.
    #[error(
        "record {sequence} of the log at {path} is withheld: this is an exported copy, and nothing \
         is added to it"
    )]
    Withheld {
        /// The directory.
        path: PathBuf,
        /// The first such record.
        sequence: u64,
    },
    /// No record is here, or not the first one.
    #[error(
        "the log at {path} has no record to go on from: keep the directory, and begin another log \
         with `holdpoint init`"
    )]
    NothingKept {
        /// The directory.
        path: PathBuf,
    },
    /// A process has it open for writing.
    #[error("process {pid} has the log at {path} open for writing: end it, and try again")]
    InUse {
        /// The directory.
        path: PathBuf,
        /// The process.
        pid: u32,
    },
    /// It belongs to another user.
    #[error("the log at {path} belongs to another user: continue it as that user")]
    NotOwner {
        /// The directory.
        path: PathBuf,
    },
    /// It is another one than was shown.
    #[error("the log at {path} was changed since it was shown: look at it again")]
    Changed {
        /// The directory.
        path: PathBuf,
    },
    /// Another process continues it at this moment.
    #[error(
        "somebody else is continuing the log at {path}: let that end, and look at the log again"
    )]
    Continuing {
        /// The directory.
        path: PathBuf,
    },
    /// Its name stands for another directory.
    #[error(
        "somebody continued the log at {path} meanwhile, or put something else in its place. What \
         is there now was not touched: look at it with `holdpoint verify`"
    )]
    Replaced {
        /// The directory.
        path: PathBuf,
    },
    /// Another directory took its place in the moment of the exchange, and cannot get it back.
    #[error(
        "another directory replaced the log at {path} while it was continued, and cannot be put \
         back: {source}; it is whole at {building}: exchange the two with `mv`"
    )]
    Displaced {
        /// The directory.
        path: PathBuf,
        /// Place of the other directory.
        building: PathBuf,
        /// Answer of the system.
        source: io::Error,
    },
    /// The new log is at the place, and the old one has the name under which the new one was made.
    #[error(
        "the log was continued, and the old one is at {building}, but cannot be named {wanted}: \
         {source}"
    )]
    Unnamed {
        /// Place of the old log.
        building: PathBuf,
        /// The name that it should have.
        wanted: PathBuf,
        /// Answer of the system.
        source: io::Error,
    },
    /// The new log is at the place, which a power cut may undo.
    #[error(
        "the log was continued, and the old one is at {kept_at}, but a power cut may still undo \
         that: {source}"
    )]
    Unsynced {
        /// Place of the old log.
        kept_at: PathBuf,
        /// Answer of the disk.
        source: io::Error,
    },
    /// The file system cannot exchange two directories in one step, or one is a mount point.
    #[error(
        "{path} and the new log cannot change places in one step: {source}. Copy the directory to \
         another place with `cp -a`, and continue it there"
    )]
    NotExchanged {
        /// The directory.
        path: PathBuf,
        /// Answer of the system.
        source: io::Error,
    },
    /// The rules refuse it.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] SurveyError),
    /// The new log cannot be made.
    #[error("the new log cannot be made: {0}")]
    Open(#[from] Box<OpenError>),
    /// The new log cannot be opened.
    #[error("the new log cannot be opened: {0}")]
    Engine(#[from] Box<EngineError>),
    /// The new log cannot be written.
    #[error("the new log cannot be written: {0}")]
    Append(#[from] AppendError),
    /// The end of what is open cannot be recorded.
    #[error("the new log cannot be written: {0}")]
    Submit(#[from] Box<SubmitError>),
    /// The new log cannot be closed.
    #[error("the new log cannot be closed: {0}")]
    Close(#[from] CloseError),
    /// The disk refused a call.
    #[error("cannot {operation} {path}: {source}")]
    Io {
        /// Operation that was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// Answer of the disk.
        source: io::Error,
    },
}

impl ContinueError {
    /// Returns a function that adds the operation and path to an error of the disk, for `map_err`.
    pub(super) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { operation, path, source }
    }
}

impl From<Refusal> for ContinueError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<EngineError> for ContinueError {
    fn from(error: EngineError) -> Self {
        Self::Engine(Box::new(error))
    }
}

impl From<SubmitError> for ContinueError {
    fn from(error: SubmitError) -> Self {
        Self::Submit(Box::new(error))
    }
}
