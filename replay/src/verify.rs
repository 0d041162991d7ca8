//! Verifying: what a log proves, four things apart.

mod outside;
mod range;

pub use outside::{OutsideHead, OutsideHeadError, OutsideState, Witnessed};
pub use range::{Range, RangeReport, verify_range};

use crate::anchor::Start;
use crate::axes::report;
use crate::damage::{self, DamageMap};
use crate::meaning::Meaning;
use crate::progress::Progress;
use crate::reach::tie;
use crate::read::{Committed, ReadError, ReadOptions, Reading, read, steadily};
use crate::rebuild::Until;
use crate::report::{Report, Verdict};
use holdpoint_log_files::later::later_than;
use holdpoint_log_files::{Extent, LogReader, ReadStorage};
use holdpoint_log_format::{Head, names};
use outside::Comparison;

/// Request of a verification besides the log itself.
#[derive(Clone, Debug, Default)]
pub struct VerifyRequest {
    /// Heads that were kept outside of the log, to be compared with it.
    pub heads: Vec<OutsideHead>,
    /// Stop at the first finding.
    pub fail_fast: bool,
    /// Map the damage.
    pub map: bool,
}

/// Verifies a whole log: every byte of it against the chain and the recovery table, every event
/// against the rules. Memory follows live entities, not history: of what ended, 8 to 16 bytes stay
/// for each beginning.
///
/// # Errors
/// [`ReadError`]: a file cannot be read, or is of a newer format version. Damage is no error: it
/// is in the report.
pub fn verify<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, ReadError> {
    verify_asked(storage, options, &VerifyRequest::default(), progress)
}

/// Verifies a whole log, and what else is asked: heads from outside compared with it, the damage
/// mapped, or an end at the first finding.
///
/// # Errors
/// As [`verify`].
pub fn verify_asked<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    asked: &VerifyRequest,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, ReadError> {
    let (reading, meaning, compared) = judge_asked(storage, Until::End, options, asked, progress)?;
    let proven = compared.proven_to();
    let (head, being_written) = (reading.survey.head.valid().copied(), reading.is_being_written);
    let is_ended = !reading.survey.row.verdict().has_failed() && !being_written;
    let end = is_ended.then_some(reading.handed_on.sequence);
    let witnessed = compared.finish(reading.survey.log, end);
    let damage = match asked.map {
        true => {
            let outside = (proven, witnessed.as_slice());
            Some(damage::map(storage, &reading.survey, being_written, outside)?)
        }
        false => None,
    };
    let mut report = report(reading, Some(&meaning));
    report.take_heads(witnessed);
    if let Some(map) = damage.as_ref().filter(|_| report.verdict == Verdict::Intact) {
        expect_whole(map)?;
        if !being_written {
            expect_head(storage, head.as_ref())?;
        }
    }
    report.damage = damage;
    match asked.fail_fast {
        true => report.stop_at_first(),
        false => tie(storage, &mut report)?,
    }
    Ok(report)
}

/// A log that was found intact has no damage, unless it was changed since.
fn expect_whole(map: &DamageMap) -> Result<(), ReadError> {
    match map.regions.first() {
        Some(region) => Err(ReadError::Changed { file: region.file.clone() }),
        None => Ok(()),
    }
}

/// HEAD of a log that nobody writes is what it was before the log was mapped.
fn expect_head<S: ReadStorage>(storage: &S, expected: Option<&Head>) -> Result<(), ReadError> {
    match LogReader::of(storage)?.head().ok() == expected {
        true => Ok(()),
        false => Err(ReadError::Changed { file: names::HEAD.to_string() }),
    }
}

/// Returns what a report is made of, events judged up to a place.
pub(crate) fn judge<S: ReadStorage>(
    storage: &S,
    until: Until,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Reading, Meaning), ReadError> {
    let (reading, meaning, _) =
        judge_asked(storage, until, options, &VerifyRequest::default(), progress)?;
    Ok((reading, meaning))
}

fn judge_asked<S: ReadStorage>(
    storage: &S,
    until: Until,
    options: ReadOptions<'_>,
    asked: &VerifyRequest,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Reading, Meaning, Comparison), ReadError> {
    let (reading, (meaning, compared)) = steadily(options, |mut attempt| {
        let start = Start::of(storage)?;
        let anchor = start.anchor;
        let mut meaning = Meaning::new(start, until);
        let mut compared = Comparison::new(&asked.heads, &anchor.position);
        let mut take = |batch: &[Committed]| {
            compared.take(batch);
            if !asked.fail_fast || meaning.findings.is_empty() {
                meaning.apply(batch);
            }
        };
        (attempt.judges, attempt.builds_indexes) = (true, true);
        if asked.fail_fast {
            attempt.extent = Extent::UntilFinding;
        }
        let reading = read(storage, anchor, attempt, &|_| true, progress, &mut take)?;
        Ok((reading, (meaning, compared)))
    })?;
    let (mut reading, mut meaning) = (reading, meaning);
    if !reading.is_being_written {
        let newest = reading.survey.last.as_ref().map_or(0, |last| last.run.chain.sequence);
        reading.later = later_than(storage, reading.survey.log, newest)?;
    }
    // Behind damage an index cannot be built, and the damage is told.
    if !asked.fail_fast || meaning.findings.is_empty() {
        meaning.check_beginnings(storage, &reading, options)?;
        meaning.check_statements(storage, &reading, options)?;
    }
    Ok((reading, meaning, compared))
}
