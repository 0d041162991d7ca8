//! HEAD, the witness of how far a log reached.

use crate::finding::{Finding, Place, Problem};
use crate::storage::{ReadFile, ReadStorage};
use crate::survey::{SurveyError, io_error, newer};
use crate::window::resize;
use holdpoint_log_format::{Head, names};
use std::io;

/// More than any version of HEAD or LOCK has, in bytes: of a longer file no more is read, and it is
/// garbage.
pub const WITNESS_LENGTH_MAX: u64 = 4_096;

/// Reads what HEAD says, or what is wrong with it.
///
/// # Errors
/// It cannot be read, or is of a newer format version.
pub fn read_head<S: ReadStorage>(storage: &S) -> Result<Result<Head, Problem>, SurveyError> {
    let bytes = match read_witness(storage, names::HEAD).map_err(io_error(names::HEAD))? {
        Some(Ok(bytes)) => bytes,
        Some(Err(problem)) => return Ok(Err(problem)),
        None => return Ok(Err(Problem::HeadMissing)),
    };
    match Head::decode(&bytes) {
        Ok(head) => Ok(Ok(head)),
        Err(fault) => newer(names::HEAD, &fault).map_or(Ok(Err(fault.into())), Err),
    }
}

/// A small file whole; `None` where there is none. The inner error: something else has its name.
///
/// # Errors
/// What the disk says.
pub fn read_witness<S: ReadStorage>(
    storage: &S,
    file: &str,
) -> io::Result<Option<Result<Vec<u8>, Problem>>> {
    let opened = match storage.open(file) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Ok(Some(Err(Problem::NotRegular)));
        }
        opened => opened?,
    };
    opened.map(|file| read_whole(&file).map(Ok)).transpose()
}

fn read_whole(file: &impl ReadFile) -> io::Result<Vec<u8>> {
    let length = file.length()?.min(WITNESS_LENGTH_MAX);
    let mut bytes = Vec::new();
    resize(&mut bytes, usize::try_from(length).unwrap_or_default())?;
    let read = file.read_at(0, &mut bytes)?;
    bytes.truncate(read);
    Ok(bytes)
}

/// Returns what is wrong with HEAD, or with all that it witnesses where there are no segments: as
/// verifying the whole log finds it.
#[must_use]
pub fn wrong_witness(head: &Result<Head, Problem>, has_none: bool) -> Option<Finding> {
    let of_head = |problem: &Problem| {
        let place = Place { file: names::HEAD.to_string(), offset: 0, sequence: 0 };
        Finding { place, problem: problem.clone() }
    };
    match head {
        // Without a segment, what stands in HEAD's place is no part of a log either.
        Err(Problem::HeadMissing | Problem::NotRegular) if has_none => None,
        Err(problem) => Some(of_head(problem)),
        Ok(head) if has_none && !head.is_of_an_empty_log() => {
            let newest = head.newest_sequence;
            let place = Place { file: names::SEGMENTS.to_string(), offset: 0, sequence: newest };
            Some(Finding { place, problem: Problem::SegmentsGone { newest } })
        }
        Ok(_) => None,
    }
}
