//! Files beside a log that tell of records which it does not have.

use crate::head::read_witness;
use crate::storage::{EntryKind, ReadStorage};
use crate::survey::{Survey, SurveyError, io_error};
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
/// of a log.
///
/// # Errors
/// The directory cannot be read.
pub fn told_of<S: ReadStorage>(storage: &S) -> Result<Option<Later>, SurveyError> {
    later_than(storage, None, 0)
}

/// The file that tells of the latest record behind `newest`: a snapshot, an index, a HEAD that did
/// not get its name, or LOCK, of whatever boot. None of them proves that there was one, and each
/// may be all that is left of it. Only LOCK of this boot says more, and a survey heeds it.
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
    let witnesses = unnamed_head(storage, log)?.into_iter().chain(locked(storage)?);
    let later = snapshots.into_iter().chain(indexes).chain(witnesses);
    Ok(later.filter(|later| later.sequence > newest).max_by_key(|later| later.sequence))
}

/// Returns whether HEAD, or LOCK in the boot of its owner, tells that this record is the newest one
/// of the log, and no file tells of a later one.
///
/// # Errors
/// The directory cannot be read.
pub fn is_end_told<S: ReadStorage>(
    storage: &S,
    survey: &Survey,
    log: LogId,
    newest: u64,
) -> Result<bool, SurveyError> {
    let told = survey.reached().witnessed.max(survey.durable_by_lock());
    Ok((1..=told).contains(&newest) && later_than(storage, Some(log), newest)?.is_none())
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
    let files = listed.iter().filter(|entry| entry.kind == EntryKind::File);
    Ok(files.filter_map(|entry| later(&entry.name)).collect())
}

fn unnamed_head<S: ReadStorage>(
    storage: &S,
    log: Option<LogId>,
) -> Result<Option<Later>, SurveyError> {
    let file = names::HEAD_TEMPORARY;
    let head = witness(storage, file, |bytes| Head::decode(bytes).ok())?;
    let head = head.filter(|head| log.is_none_or(|log| log == head.log));
    Ok(head.map(|head| Later { file: file.to_string(), sequence: head.newest_sequence }))
}

/// The newest record that the last owner knew to be durable.
fn locked<S: ReadStorage>(storage: &S) -> Result<Option<Later>, SurveyError> {
    let file = names::LOCK;
    let lock = witness(storage, file, |bytes| Lock::decode(bytes).ok())?;
    Ok(lock.map(|lock| Later { file: file.to_string(), sequence: lock.durable_sequence }))
}

fn witness<S: ReadStorage, W>(
    storage: &S,
    file: &str,
    decode: fn(&[u8]) -> Option<W>,
) -> Result<Option<W>, SurveyError> {
    let read = read_witness(storage, file).map_err(io_error(file))?;
    Ok(read.and_then(Result::ok).and_then(|bytes| decode(&bytes)))
}
