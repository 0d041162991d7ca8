//! Errors of the disk, per operation, with what to do next.

use crate::shell::Callback;
use holdpoint_log_files::{Finding, SurveyError};
use holdpoint_log_format::LogId;
use holdpoint_log_format::limits::OPAQUE_KIND_MIN;
use holdpoint_log_format::recovery::Row;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;

/// A log could not be opened for writing. Nothing was changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The path is no directory.
    #[error(
        "{path} is not a directory: name a directory for the log, or one that does not exist yet"
    )]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// The path is a symbolic link.
    #[error("{path} is a symbolic link: name the directory that it points to")]
    SymbolicLink {
        /// The path.
        path: PathBuf,
    },
    /// A file system whose locks and syncs cannot be relied on.
    #[error(
        "{path} is on a {kind} file system, where locks and syncs cannot be relied on: put the log \
         on a local disk"
    )]
    UnreliableFileSystem {
        /// The path.
        path: PathBuf,
        /// Kind of it.
        kind: &'static str,
    },
    /// A directory with other content.
    #[error(
        "{path} holds other files and no log: name an empty directory, or one that does not exist \
         yet"
    )]
    Foreign {
        /// The path.
        path: PathBuf,
    },
    /// An archive, to which nothing but a move of records is written.
    #[error(
        "{path} is an archive{}, and nothing is written to it: name the log itself; `verify`, \
         `replay` and `log` read an archive",
        of_log(*.log)
    )]
    Archive {
        /// The path.
        path: PathBuf,
        /// The log whose records it holds, as far as that is known.
        log: Option<LogId>,
    },
    /// There is no log and none is to be created.
    #[error("there is no log at {path}")]
    NothingHere {
        /// The path.
        path: PathBuf,
    },
    /// Another process holds the lock.
    #[error(
        "{path} is locked by {}, waited {waited:.1?}: let it finish, or stop it", holder(*.pid)
    )]
    Locked {
        /// The log.
        path: PathBuf,
        /// The holder as the system or LOCK names it; 0 when neither does.
        pid: u32,
        /// Time that was waited.
        waited: Duration,
    },
    /// The log is damaged.
    #[error(
        "{path} is {}, and nothing was written: {}. Look at it with `holdpoint verify`, and {}",
        state_of(*.row), first(.findings), way_on(*.row)
    )]
    Refused {
        /// The log.
        path: PathBuf,
        /// The row of the recovery table.
        row: Row,
        /// Findings of the check.
        findings: Vec<Finding>,
    },
    /// A file cannot be read, or is of a newer version.
    #[error("{path}: {source}")]
    Survey {
        /// The log.
        path: PathBuf,
        /// Cause of it.
        source: SurveyError,
    },
    /// The disk is full.
    #[error(
        "no space for {file} in {path}: it needs {needed} bytes{}, free them (or raise the \
         file-size limit, `ulimit -f`) and try again",
        there_are(*.free)
    )]
    NoSpace {
        /// The log.
        path: PathBuf,
        /// The file that could not be made.
        file: String,
        /// Its length in bytes.
        needed: u64,
        /// Free bytes of the disk, where that is known.
        free: Option<u64>,
    },
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

/// The room that there was where some was asked for.
pub(super) fn there_are(free: Option<u64>) -> String {
    free.map(|free| format!(", and {free} are free")).unwrap_or_default()
}

fn of_log(log: Option<LogId>) -> String {
    log.map(|log| format!(" of log {log}")).unwrap_or_default()
}

fn holder(pid: u32) -> String {
    match pid {
        0 => "a process that the system does not name".to_string(),
        pid => format!("process {pid}"),
    }
}

/// Returns what the log is that is not opened for writing.
pub(super) fn state_of(row: Row) -> &'static str {
    match row {
        Row::ShortOfHead => "short of HEAD",
        _ => "damaged",
    }
}

/// Returns what to do with it.
pub(super) fn way_on(row: Row) -> &'static str {
    match row {
        Row::ShortOfHead => {
            "copy it anew, HEAD before its segments, or go on from it with \
             `holdpoint continue DIR`"
        }
        _ => "go on in a new log that `holdpoint copy --salvage` makes of what holds",
    }
}

fn first(findings: &[Finding]) -> String {
    findings.first().map_or_else(|| "no detail".to_string(), ToString::to_string)
}

/// The first failure of a poisoned handle.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot {operation} {file}: {message}")]
pub struct PoisonCause {
    /// Operation that was tried.
    pub operation: &'static str,
    /// The file, relative to the log's directory.
    pub file: String,
    /// Answer of the disk.
    pub message: String,
}

/// Records could not be appended.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The batch has no record.
    #[error("a batch needs at least one record")]
    Empty,
    /// A kind below 32768: those are events. Nothing was written.
    #[error(
        "kind {kind} is an event's, which an engine appends: use {OPAQUE_KIND_MIN} to 65535, or \
         record an event of the application"
    )]
    EventKind {
        /// The kind.
        kind: u16,
    },
    /// A payload beyond the limit; nothing was written.
    #[error(
        "a payload of {length} bytes is over the limit of {limit}: split it, or store a digest"
    )]
    PayloadTooLarge {
        /// Its length in bytes.
        length: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// A batch beyond the limit; nothing was written.
    #[error("a batch of {length} bytes is over the limit of {limit}: split it")]
    BatchTooLarge {
        /// Its length in bytes, headers and padding included.
        length: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// No room for the next segment; nothing was written and the handle still works.
    #[error(
        "no space for a new segment of {needed} bytes{}: free them (or raise the file-size limit, \
         `ulimit -f`) and try again",
        there_are(*.free)
    )]
    NoSpace {
        /// Bytes needed.
        needed: u64,
        /// Free bytes of the disk, where that is known.
        free: Option<u64>,
    },
    /// There is no such record yet.
    #[error("record {sequence} is not there: the newest is record {newest}")]
    NotThere {
        /// The record that was asked for.
        sequence: u64,
        /// The newest one.
        newest: u64,
    },
    /// The record is durable, and HEAD does not name it yet; the handle still works.
    #[error(
        "record {sequence} is on the log and stands, but HEAD could not follow ({reason}), so \
         damage to it might pass for a torn write: free some space; `holdpoint log --since \
         {sequence}` shows what was recorded, which need not be asked for again"
    )]
    Unwitnessed {
        /// The record.
        sequence: u64,
        /// Why HEAD could not follow.
        reason: String,
    },
    /// The lock is held by another process.
    #[error("the log is locked by {}, waited {waited:.1?}", holder(*.pid))]
    Locked {
        /// The holder as the system or LOCK names it; 0 when neither does.
        pid: u32,
        /// Time that was waited.
        waited: Duration,
    },
    /// Another writer left the log damaged, or somebody changed it.
    #[error("another writer left the log unreadable: {0}")]
    Reopen(#[from] Box<OpenError>),
    /// This process is a forked child of the one that opened the log.
    #[error("the log was opened by process {owner}, and this is a forked child: open it again")]
    Forked {
        /// The process that opened it.
        owner: u32,
    },
    /// The handle failed now; it is poisoned.
    #[error("{0}; nothing more is written through this handle: open the log again")]
    Failed(PoisonCause),
    /// The handle failed before.
    #[error(
        "the log failed before ({0}), and nothing more is written through this handle: open it \
         again"
    )]
    Poisoned(PoisonCause),
}

/// A log was closed, and something did not go well. What was acknowledged is durable all the same.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CloseError {
    /// Staged or unsynced records could not be made durable.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// HEAD could not be replaced: the newest records are durable and have no witness yet.
    #[error("cannot replace HEAD, so the newest records have no witness yet: {0}")]
    Witness(io::Error),
    /// It was asked for where it would wait for itself; nothing was closed.
    #[error("{0} closes the engine, which would wait for itself: close it when that has returned")]
    Reentrant(Callback),
}
