//! Why there is no state.

use crate::event::EventError;
use holdpoint_domain::core::codec::DecodeError;
use holdpoint_engine::shell::SubmitError;
use holdpoint_log_files::FollowError;
use holdpoint_log_files::survey::SurveyError;
use holdpoint_replay::ReadError;
use std::io;
use std::sync::Arc;
use thiserror::Error;

/// Why a reducer's state cannot be told.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReducerError {
    /// The reducer itself failed: for one stream, where it cannot read an event, else for all. It
    /// stays so, and would fail again with the same events: mend it, and raise its version.
    #[error(transparent)]
    Reducer(#[from] ReducerFault),
    /// The engine or its log failed.
    #[error(transparent)]
    Engine(#[from] SubmitError),
    /// The log cannot be followed.
    #[error(transparent)]
    Follow(#[from] FollowError),
    /// A file of the log cannot be read.
    #[error(transparent)]
    Survey(#[from] SurveyError),
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The part of the log that was read is not what it was.
    #[error("the log is damaged, and no state can be told of it: {0}")]
    Finding(String),
    /// The whole log was read, and it is not what it was.
    #[error(
        "the log does not verify, and no state can be told of it: look with `holdpoint verify`"
    )]
    NotIntact,
    /// A record that this program cannot read.
    #[error("record {sequence} cannot be read ({source}): a newer holdpoint may have written it")]
    Undecodable {
        /// Its sequence.
        sequence: u64,
        /// Why not.
        source: DecodeError,
    },
    /// The content of an event is withheld: this is an exported copy.
    #[error("record {sequence} is withheld, so that the state behind it is not known")]
    Withheld {
        /// Its sequence.
        sequence: u64,
    },
    /// An event was taken over from a damaged log without proof.
    #[error(
        "record {sequence} was taken over from a damaged log without proof: no state is made of it \
         unless that is asked for"
    )]
    Unproven {
        /// Its sequence.
        sequence: u64,
    },
    /// The log's beginning is in an archive, and no snapshot is believed.
    #[error(
        "the log begins at record {first}, and no snapshot of reducer {reducer} covers what is \
         before: read the log together with its archive"
    )]
    BeforeAnchor {
        /// The reducer.
        reducer: &'static str,
        /// The first record that is here.
        first: u64,
    },
    /// A file of the reducer's own cannot be written or read.
    #[error("{file}: {source}")]
    File {
        /// The file, relative to the log's directory.
        file: String,
        /// Answer of the disk, or what is wrong.
        source: io::Error,
    },
    /// Its name or its version cannot be recorded.
    #[error("a reducer cannot be named {reducer:?} in version {version}: {reason}")]
    Misnamed {
        /// The beginning of the name.
        reducer: &'static str,
        /// The version.
        version: u32,
        /// Fault of it.
        reason: String,
    },
    /// The reducer asked for its own states while it applied an event.
    #[error("reducer {reducer} asked for its own states while it makes them")]
    Reentered {
        /// The reducer.
        reducer: &'static str,
    },
    /// A range ends before it begins.
    #[error("records {from} to {to} are no range: give the earlier record first")]
    Backwards {
        /// Place where it was to begin.
        from: u64,
        /// Place where it was to end.
        to: u64,
    },
    /// A snapshot is not what it was when it was opened. Whoever meets this goes on without it.
    #[error("the snapshot up to record {covers} was changed since it was opened")]
    BrokenSnapshot {
        /// The record up to which it covers.
        covers: u64,
    },
    /// The reducer has one state over all streams, or one for each.
    #[error("reducer {reducer} has {has}: ask for that")]
    OtherScope {
        /// The reducer.
        reducer: &'static str,
        /// Value that it has.
        has: &'static str,
    },
}

/// Fault of a reducer.
#[derive(Clone, Debug, Error)]
#[non_exhaustive]
pub enum ReducerFault {
    /// It panicked.
    #[error("reducer {reducer} panicked at record {sequence}: {message}")]
    Panicked {
        /// The reducer.
        reducer: &'static str,
        /// The record whose event it was given.
        sequence: u64,
        /// Message of the panic, where it is a text.
        message: String,
    },
    /// It cannot read an event.
    #[error("reducer {reducer}: {source}")]
    Event {
        /// The reducer.
        reducer: &'static str,
        /// Why not.
        source: Arc<EventError>,
    },
    /// It could not read an event of the stream, as a snapshot says.
    #[error(
        "reducer {reducer} ended for {what} at record {sequence}, which it cannot read: mend it, \
         and raise its version"
    )]
    Ended {
        /// The reducer.
        reducer: &'static str,
        /// The record.
        sequence: u64,
        /// Owner of the state.
        what: String,
    },
    /// The same events gave two states, or one state two encodings: or something of the state is
    /// not in its encoding.
    #[error(
        "reducer {reducer} is not deterministic, or its state is more than its encoding: the same \
         events up to record {sequence} gave two states of {what}"
    )]
    NotDeterministic {
        /// The reducer.
        reducer: &'static str,
        /// The last record that the state was made of.
        sequence: u64,
        /// Owner of the states: a stream's, or those of all.
        what: String,
    },
    /// A state cannot be encoded, or its encoding cannot be read again.
    #[error("reducer {reducer}: the state of {what} cannot be kept: {reason}")]
    Encoding {
        /// The reducer.
        reducer: &'static str,
        /// Owner of the state.
        what: String,
        /// Why not.
        reason: String,
    },
    /// A state is longer than can be kept.
    #[error("reducer {reducer}: the state of {what} has {found} bytes, more than {expected}")]
    TooLong {
        /// The reducer.
        reducer: &'static str,
        /// Owner of the state.
        what: String,
        /// The most that there may be.
        expected: usize,
        /// Number of them.
        found: usize,
    },
}

impl ReducerFault {
    /// Returns whether one event is at fault, and with it the state of its stream alone.
    pub(crate) const fn is_of_event(&self) -> bool {
        matches!(self, Self::Panicked { .. } | Self::Event { .. })
    }
}

/// Returns how a state is named in messages.
pub(crate) fn named(key: &str) -> String {
    if key.is_empty() {
        return "all streams".into();
    }
    let shown = holdpoint_domain::core::text::bounded(key, 96);
    format!("stream {}", holdpoint_domain::core::text::visible(shown))
}
