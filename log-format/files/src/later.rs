//! Files beside a log that tell of records which it does not have.

use crate::head::read_witness;
use crate::storage::ReadStorage;
use crate::survey::{SurveyError, io_error};
use holdpoint_log_format::{Head, Lock, LogId, names};
use std::io::ErrorKind;

/// A file, and the record that it tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Later {
    /// The file, relative to the log's directory.
    pub file: String,
    /// The record.
    pub sequence: u64,
}

/// The file that tells of the latest record where there is neither HEAD nor segment: what is left
/// of a log. Here LOCK counts too, of whatever boot.
///
/// # Errors
/// The directory cannot be read.
pub fn told_of<S: ReadStorage>(storage: &S) -> Result<Option<Later>, SurveyError> {
    let file = names::LOCK;
    let read = read_witness(storage, file).map_err(io_error(file))?;
    let lock = read.and_then(Result::ok).and_then(|bytes| Lock::decode(&bytes).ok());
    let lock = lock.filter(|lock| lock.durable_sequence > 0);
    let lock = lock.map(|it| Later { file: file.to_string(), sequence: it.durable_sequence });
    let others = later_than(storage, None, 0)?;
    Ok(others.into_iter().chain(lock).max_by_key(|later| later.sequence))
}

/// The file that tells of the latest record behind `newest`: a snapshot, an index, or a HEAD that
/// did not get its name. None of them proves that there was one, and each may be all that is left
/// of it.
///
/// # Errors
/// The directory cannot be read.
pub fn later_than<S: ReadStorage>(
    storage: &S,
    log: Option<LogId>,
    newest: u64,
) -> Result<Option<Later>, SurveyError> {
    let snapshots = named(storage, names::SNAPSHOTS, names::parse_snapshot)?;
    // An index tells of its first record by its name.
    let indexes = named(storage, names::SEGMENTS, names::parse_index)?;
    let found = snapshots.into_iter().chain(indexes).chain(unnamed_head(storage, log)?);
    let later = found.filter(|later| later.sequence > newest);
    Ok(later.max_by_key(|later| later.sequence))
}

fn named<S: ReadStorage>(
    storage: &S,
    directory: &str,
    parse: fn(&str) -> Option<u64>,
) -> Result<Vec<Later>, SurveyError> {
    let listed = match storage.list(directory) {
        // What stands in the place of a directory is told elsewhere, and is not followed.
        Err(error) if error.kind() == ErrorKind::InvalidInput => return Ok(Vec::new()),
        listed => listed.map_err(io_error(directory))?,
    };
    let later =
        |name: &str| Some(Later { file: format!("{directory}/{name}"), sequence: parse(name)? });
    Ok(listed.iter().filter_map(|entry| later(&entry.name)).collect())
}

fn unnamed_head<S: ReadStorage>(
    storage: &S,
    log: Option<LogId>,
) -> Result<Option<Later>, SurveyError> {
    let file = names::HEAD_TEMPORARY;
    let read = read_witness(storage, file).map_err(io_error(file))?;
    let head = read.and_then(Result::ok).and_then(|bytes| Head::decode(&bytes).ok());
    let head = head.filter(|head| log.is_none_or(|log| log == head.log));
    Ok(head.map(|head| Later { file: file.to_string(), sequence: head.newest_sequence }))
}
