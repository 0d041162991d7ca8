//! Reading the whole log for its records, verified from the first one on.

use super::Line;
use super::filter::Filter;
use super::part::FINDINGS_MAX;
use crate::anchor::{Anchor, Start, can_state, statement_in};
use crate::axes::report;
use crate::finding::Finding;
use crate::progress::Progress;
use crate::read::{Committed, ReadError, ReadOptions, read, steadily};
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
    each(storage, filter, options, progress, &mut |record| {
        visit(Line::of(record).lying_in(&storage.archives()));
    })
}

/// Shows the wanted records themselves.
pub(super) fn each<S: ReadStorage>(
    storage: &S,
    filter: &Filter,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    visit: &mut dyn FnMut(&Committed),
) -> Result<Report, ReadError> {
    let (reading, found) = steadily(options, |attempt| {
        let mut found = Vec::new();
        let anchor = Anchor::of(storage)?;
        let (is_asked_for, mut statement) = (asks_for_beginning(filter, &anchor), None);
        let is_there =
            |header: &RecordHeader| filter.admits(header) || is_asked_for && can_state(header);
        let reading = read(storage, anchor, attempt, &is_there, progress, &mut |batch| {
            if is_asked_for {
                statement = statement_in(batch, &anchor.position).or(statement.take());
            }
            let due = || batch.iter().filter(|record| filter.admits(&record.header));
            found.extend(due().filter_map(Committed::unread).take(FINDINGS_MAX - found.len()));
            due().filter(|record| filter.wants(record)).for_each(&mut *visit);
        })?;
        let start = is_asked_for.then(|| Start::stated(anchor, statement));
        found.extend(start.and_then(|start| start.finding));
        Ok((reading, found))
    })?;
    let mut report = report(reading, None);
    report.take_unread(&found);
    Ok(report)
}

/// A log that begins behind an anchor says so itself: else HEAD hides records. That is looked at
/// where its beginning is asked for.
fn asks_for_beginning(filter: &Filter, anchor: &Anchor) -> bool {
    let first = anchor.position.sequence.saturating_add(1);
    first > 1 && filter.first.is_none_or(|asked| asked <= first)
}

/// Returns what is wrong with a log's beginning, where that is asked for: for whoever does not read
/// the whole log.
pub(super) fn wrong_beginning<S: ReadStorage>(
    storage: &S,
    filter: &Filter,
) -> Result<Option<Finding>, ReadError> {
    match asks_for_beginning(filter, &Anchor::of(storage)?) {
        true => Ok(Start::of(storage)?.finding),
        false => Ok(None),
    }
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
