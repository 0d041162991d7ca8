//! HEAD, as whoever reads a part of a log finds it.

use crate::finding::{Finding, Problem};
use crate::read::ReadError;
use holdpoint_log_files::{Place, Problem as LogProblem, ReadFile, ReadStorage, SurveyError};
use holdpoint_log_format::{Fault, Head, names};
use std::io;

/// More than any version of HEAD has: of a longer file no more is read.
const LENGTH_MAX: usize = 4_096;

/// What HEAD says, or what is wrong with it.
///
/// # Errors
/// HEAD cannot be read, or is of a newer format version.
pub(crate) fn read_head<S: ReadStorage>(
    storage: &S,
) -> Result<Result<Head, LogProblem>, ReadError> {
    let opened = match storage.open(names::HEAD) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            return Ok(Err(LogProblem::NotRegular));
        }
        opened => opened.map_err(refused)?,
    };
    let Some(file) = opened else { return Ok(Err(LogProblem::HeadMissing)) };
    let mut bytes = [0; LENGTH_MAX];
    let read = file.read_at(0, &mut bytes).map_err(refused)?;
    match Head::decode(bytes.get(..read).unwrap_or_default()) {
        Ok(head) => Ok(Ok(head)),
        Err(Fault::NewerVersion { found, supported }) => {
            let file = names::HEAD.to_string();
            Err(SurveyError::NewerVersion { file, found, supported }.into())
        }
        Err(fault) => Ok(Err(fault.into())),
    }
}

/// What is wrong with HEAD, as a finding.
fn of_head(problem: LogProblem) -> Finding {
    let place = Place { file: names::HEAD.to_string(), offset: 0, sequence: 0 };
    Finding { place, problem: Problem::Log(problem) }
}

/// What is wrong with HEAD, or with all that it witnesses where there are no segments: as verifying
/// the whole log finds it.
pub(crate) fn wrong_witness(head: &Result<Head, LogProblem>, has_none: bool) -> Option<Finding> {
    match head {
        // Without a segment, what stands in HEAD's place is no part of a log either.
        Err(LogProblem::HeadMissing | LogProblem::NotRegular) if has_none => None,
        Err(problem) => Some(of_head(problem.clone())),
        Ok(head) if has_none && !head.is_of_an_empty_log() => {
            let newest = head.newest_sequence;
            let file = names::SEGMENTS.to_string();
            let place = Place { file, offset: 0, sequence: newest };
            let problem = Problem::Log(LogProblem::SegmentsGone { newest });
            Some(Finding { place, problem })
        }
        Ok(_) => None,
    }
}

fn refused(source: io::Error) -> SurveyError {
    SurveyError::Io { file: names::HEAD.to_string(), source }
}
