//! Errors between a command and its receipt. A refusal by a rule is not among it.

use super::callback::Callback;
use crate::floors::FloorsError;
use crate::log::{AppendError, ArchiveError, OpenError};
use holdpoint_domain::Refusal;
use holdpoint_domain::core::codec::{DecodeError, EncodeError};
use holdpoint_log_files::FollowError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// An engine could not be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The log could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The state could not be rebuilt from the log.
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

/// A command could not be carried out. Nothing was acknowledged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The log refused.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The log cannot be read.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// A record that this program cannot read: the state cannot be known, so nothing is decided.
    #[error("record {sequence} cannot be read ({source}): a newer holdpoint may have written it")]
    Undecodable {
        /// Its sequence.
        sequence: u64,
        /// Why not.
        source: DecodeError,
    },
    /// A withheld record: this is an exported copy, from which no state can be rebuilt.
    #[error("record {sequence} is withheld: this is an exported copy, and nothing is added to it")]
    Withheld {
        /// Its sequence.
        sequence: u64,
    },
    /// The place where the log begins cannot be read.
    #[error(transparent)]
    Beginning(#[from] ArchiveError),
    /// The log begins behind an anchor, and no event says so.
    #[error(
        "HEAD says that the log begins behind record {anchor}, and no event of the log says so: \
         the state there is not known, look at it with `holdpoint verify`"
    )]
    BeginningUnstated {
        /// The record before the first one.
        anchor: u64,
    },
    /// The state that the event at the log's beginning carries cannot be taken up.
    #[error(
        "the state that record {sequence} says the log begins with cannot be used ({message}): a \
         newer holdpoint may have written it"
    )]
    CarriedState {
        /// The event's sequence.
        sequence: u64,
        /// Why not.
        message: String,
    },
    /// It cannot be known whether an id was used before: nothing begins under it.
    #[error(
        "whether something began under this id before is not known: records 1 to {last} are in \
         {archive}, which cannot be read ({why}); put it back there, or leave the id to be drawn"
    )]
    ArchiveUnread {
        /// The last record that may say so.
        last: u64,
        /// The archive, as the log names it, in words.
        archive: String,
        /// Why it cannot be read.
        why: String,
    },
    /// It cannot be known what the files of the machine demand: nothing that they govern begins.
    #[error(transparent)]
    Floors(#[from] FloorsError),
    /// A record that the engine would have made by itself is not so, by the log's own records.
    #[error(transparent)]
    Contradicted(#[from] Refusal),
    /// An event beyond the codec's limits.
    #[error("the event cannot be recorded: {0}")]
    Encode(#[from] EncodeError),
    /// A run's own file cannot be made or locked, so that nobody would learn of its recorder's end.
    #[error("cannot make a file for the run in {path:?}: {source}; nothing was recorded")]
    RunFile {
        /// The directory of such files. The file has the name of a loop that never was.
        path: PathBuf,
        /// Answer of the disk.
        source: io::Error,
    },
    /// An entry that waits in the run's own file is not taken up.
    #[error(
        "it is not on the log, and no writer takes up the run's own file as it is: {source}; put \
         that right before anybody writes to the log, or the run is recorded as lost"
    )]
    OutOfReach {
        /// Fault of the file.
        source: io::Error,
    },
    /// Neither the log nor the run's own file takes what a run says.
    #[error(
        "{source}, and the run's own file cannot be written: {file}; put `runs/` and what was in \
         it back before the next write to the log, as it alone has the command's end"
    )]
    NowhereKept {
        /// Why the log does not.
        source: Box<Self>,
        /// Why the file does not.
        file: io::Error,
    },
    /// Neither the log nor the run's own file takes what follows the end of a run.
    #[error(
        "the log is locked or its disk is full, and the run's own file takes no more: {source}; \
         how the command ended waits in that file, and the next writer that finds room takes it up"
    )]
    EndNotKept {
        /// Answer of the disk.
        source: io::Error,
    },
    /// Output that waits to be recorded cannot be queued: the command was not started.
    #[error("cannot make the pipe that tells of recorded output: {source}; raise `ulimit -n`")]
    OutputQueue {
        /// Answer of the system.
        source: io::Error,
    },
    /// The system has no entropy.
    #[error("no random bits for an id: {0}")]
    Entropy(String),
    /// The snapshot that the state came from is the one that the log vouches for, and holds
    /// something that this program cannot read. Whatever was to be said by that state was not said.
    #[error(
        "a part of the snapshot that the state came from cannot be read by this program: the state \
         was made anew from the records, try again"
    )]
    UnreadableSnapshot,
    /// The engine failed before and discarded its state.
    #[error("the engine failed before and holds no state any more: open the log again")]
    Discarded,
    /// The engine's thread panicked over the command.
    #[error(
        "a panic interrupted the command, and whether it was recorded is not known: look at the log"
    )]
    Panicked,
    /// The engine is closed; nothing was recorded for this.
    #[error("the engine is closed, and nothing was recorded for this: open the log and try again")]
    Closed,
    /// The call came from inside a callback of the same engine, and would wait for itself.
    #[error(
        "a call from inside {inside} would wait for itself: make it when that has returned, or on \
         another thread"
    )]
    Reentrant {
        /// The callback.
        inside: Callback,
    },
    /// The outcome of a ticket was given before, and is given once.
    #[error("the ticket's outcome was taken before: keep it where it was taken")]
    Taken,
}

impl SubmitError {
    /// Returns whether another process keeps the log's lock.
    #[must_use]
    pub const fn is_locked(&self) -> bool {
        matches!(self, Self::Append(AppendError::Locked { .. }))
    }

    /// Returns whether the log is at fault and not what was to be recorded: what a run says may
    /// wait in its own file. What is on the log and lacks only a witness does not wait.
    pub(super) const fn is_of_log(&self) -> bool {
        match self {
            Self::Append(error) => !matches!(
                error,
                AppendError::Empty
                    | AppendError::EventKind { .. }
                    | AppendError::PayloadTooLarge { .. }
                    | AppendError::BatchTooLarge { .. }
                    | AppendError::NotThere { .. }
                    | AppendError::Unwitnessed { .. }
                    | AppendError::Forked { .. }
            ),
            Self::Follow(_)
            | Self::Undecodable { .. }
            | Self::Withheld { .. }
            | Self::Beginning(_)
            | Self::BeginningUnstated { .. }
            | Self::CarriedState { .. }
            | Self::ArchiveUnread { .. }
            | Self::Floors(_)
            | Self::Contradicted(_)
            | Self::UnreadableSnapshot
            | Self::Discarded
            // The log goes on without this engine.
            | Self::Closed => true,
            Self::Encode(_)
            | Self::RunFile { .. }
            | Self::OutOfReach { .. }
            | Self::EndNotKept { .. }
            | Self::NowhereKept { .. }
            | Self::OutputQueue { .. }
            | Self::Entropy(_)
            | Self::Panicked
            | Self::Reentrant { .. }
            | Self::Taken => false,
        }
    }

    /// Tells whether what was to be recorded is on the log, durably.
    pub(super) const fn is_behind_commit(&self) -> bool {
        matches!(self, Self::Append(AppendError::Unwitnessed { .. }))
    }

    /// Returns whether the disk has no room for what was to be appended.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        matches!(self, Self::Append(AppendError::NoSpace { .. }))
    }
}
