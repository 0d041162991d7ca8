//! Reading the whole log for its records, verified from the first one on.

use super::Line;
use super::filter::Filter;
use crate::anchor::{Anchor, Start};
use crate::axes::report;
use crate::finding::Finding;
use crate::progress::Progress;
use crate::read::{Committed, ReadError, ReadOptions, read_wanted, steadily};
use crate::report::Report;
use holdpoint_log_files::ReadStorage;
use holdpoint_log_format::RecordHeader;

/// Shows every wanted record of complete batches, in order, while the log is read and verified.
/// Nothing behind damage is shown. The report says what the bytes prove; events are not judged.
///
/// # Errors
/// As [`crate::verify()`].
pub fn records<S: ReadStorage>(
    storage: &S,
    filter: &Filter,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    visit: &mut dyn FnMut(Line),
) -> Result<Report, ReadError> {
    each(storage, filter, options, progress, &mut |record| visit(Line::of(record)))
}

/// Shows the wanted records themselves.
pub(super) fn each<S: ReadStorage>(
    storage: &S,
    filter: &Filter,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    visit: &mut dyn FnMut(&Committed),
) -> Result<Report, ReadError> {
    let (reading, ()) = steadily(|| {
        let anchor = Anchor::of(storage)?;
        let is_there = |header: &RecordHeader| filter.admits(header);
        let reading = read_wanted(storage, anchor, options, &is_there, progress, &mut |batch| {
            batch.iter().filter(|record| filter.wants(record)).for_each(&mut *visit);
        })?;
        Ok((reading, ()))
    })?;
    let mut report = report(reading, None);
    report.take_findings(wrong_beginning(storage, filter)?.as_slice());
    Ok(report)
}

/// A log that begins behind an anchor says so itself: else HEAD hides records. That is looked at
/// where its beginning is asked for.
pub(super) fn wrong_beginning<S: ReadStorage>(
    storage: &S,
    filter: &Filter,
) -> Result<Option<Finding>, ReadError> {
    let start = Start::of(storage)?;
    let anchor = start.anchor.position.sequence;
    let is_asked_for = filter.first.is_none_or(|first| first <= anchor.saturating_add(1));
    Ok(start.finding.filter(|_| is_asked_for))
}

/// The story of one loop: what happened, when, by whom. Empty when no record is about it.
///
/// # Errors
/// As [`crate::verify()`].
pub fn story<S: ReadStorage>(
    storage: &S,
    loop_id: &str,
    options: ReadOptions<'_>,
) -> Result<Vec<Line>, ReadError> {
    let filter = Filter { loop_id: Some(loop_id.to_string()), ..Filter::default() };
    let mut lines = Vec::new();
    records(storage, &filter, options, &mut |_| {}, &mut |line| lines.push(line))?;
    Ok(lines)
}
