//! Verifying: what a log proves, four things apart.

use crate::anchor::Start;
use crate::axes::report;
use crate::meaning::Meaning;
use crate::progress::Progress;
use crate::read::{ReadError, ReadOptions, read, steadily};
use crate::rebuild::Until;
use crate::report::Report;
use holdpoint_log_files::{ReadStorage, SurveyError};
use std::io::ErrorKind;

/// How often a log is read again because a segment went away while it was read: its records were
/// moved to an archive.
const ATTEMPTS_MAX: u32 = 4;

/// Verifies a whole log: every byte of it against the chain and the recovery table, every event
/// against the rules. Memory follows live entities, not history.
///
/// # Errors
/// [`ReadError`]: a file cannot be read, or is of a newer format version. Damage is no error: it
/// is in the report.
pub fn verify<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, ReadError> {
    verify_judged(storage, options, false, progress)
}

/// As [`verify`]; `with_archive`: the records before the log's first one are verified as well.
pub(crate) fn verify_judged<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    with_archive: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, ReadError> {
    for _ in 1..ATTEMPTS_MAX {
        match verify_once(storage, options, with_archive, progress) {
            Err(ReadError::Survey(SurveyError::Io { source, .. }))
                if source.kind() == ErrorKind::NotFound => {}
            other => return other,
        }
    }
    verify_once(storage, options, with_archive, progress)
}

fn verify_once<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    with_archive: bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, ReadError> {
    let (reading, meaning) = steadily(|| {
        let start = Start::of(storage);
        let anchor = start.anchor;
        let mut meaning = Meaning::new(start, Until::End);
        meaning.is_with_archive = with_archive;
        let reading = read(storage, anchor, options, progress, &mut |batch| {
            meaning.apply(batch);
        })?;
        Ok((reading, meaning))
    })?;
    Ok(report(reading, Some(&meaning)))
}
