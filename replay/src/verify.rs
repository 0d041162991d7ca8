//! Verifying: what a log proves, four things apart.

use crate::anchor::Start;
use crate::axes::report;
use crate::meaning::Meaning;
use crate::progress::Progress;
use crate::read::{ReadError, ReadOptions, Reading, read, steadily};
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
    let (reading, meaning) = judge(storage, options, progress)?;
    Ok(report(reading, Some(&meaning)))
}

/// What a report is made of.
pub(crate) fn judge<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Reading, Meaning), ReadError> {
    for _ in 1..ATTEMPTS_MAX {
        match judge_once(storage, options, progress) {
            Err(ReadError::Survey(SurveyError::Io { source, .. }))
                if source.kind() == ErrorKind::NotFound => {}
            other => return other,
        }
    }
    judge_once(storage, options, progress)
}

fn judge_once<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Reading, Meaning), ReadError> {
    steadily(|| {
        let start = Start::of(storage);
        let anchor = start.anchor;
        let mut meaning = Meaning::new(start, Until::End);
        let reading = read(storage, anchor, options, progress, &mut |batch| {
            meaning.apply(batch);
        })?;
        Ok((reading, meaning))
    })
}
