//! Reading for exports: every complete batch once, in order, with what it comes to under the rules.
//! Memory follows live entities, not history.

use crate::anchor::Start;
use crate::axes::report;
use crate::meaning::Meaning;
use crate::progress::Progress;
use crate::reach::{Reach, tie_whole};
use crate::read::{Committed, ReadError, ReadOptions, read, steadily};
use crate::rebuild::Until;
use crate::report::Report;
use holdpoint_domain::World;
use holdpoint_log_files::ReadStorage;
use holdpoint_log_format::{RecordHeader, names};

/// Batches that are exported: those whose last record lies within, whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The first record, or the first moment; `None`: from the beginning.
    pub since: Option<Until>,
    /// The last record, or the last moment.
    pub until: Until,
}

/// View of an export of a log.
#[derive(Clone, Copy, Debug)]
pub enum ExportStep<'a> {
    /// The state that the log begins with, where its first records were moved to an archive.
    Beginning(&'a World),
    /// A batch up to the selection's end.
    Batch {
        /// Its records.
        records: &'a [Committed],
        /// The state behind it. What settled with this batch is still there.
        world: &'a World,
        /// True if it lies within the selection; else it lies before.
        is_selected: bool,
        /// Proof of its records.
        reach: &'a Reach,
    },
}

/// Reads the log up to the selection's end, verifying all of it: twice, for what is tied to the
/// newest witness is known before the first batch is seen. `visit` sees nothing behind
/// damage; behind a payload that cannot be read the state stays as it was.
///
/// # Errors
/// As [`crate::verify()`], and [`ReadError::BeforeAnchor`] where the log begins behind the end.
pub fn export<S: ReadStorage>(
    storage: &S,
    selection: Selection,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    visit: &mut dyn FnMut(ExportStep<'_>),
) -> Result<Report, ReadError> {
    let Selection { since, until } = selection;
    let (reading, (mut meaning, reach)) = steadily(options, |mut attempt| {
        let start = Start::of(storage)?;
        let anchor = start.anchor;
        if !until.reaches(&anchor.position) {
            return Err(ReadError::BeforeAnchor { anchor: anchor.position.sequence });
        }
        let mut meaning = Meaning::new(start.keeping_settled(), until);
        if anchor.position.sequence > 0 {
            visit(ExportStep::Beginning(&meaning.world));
        }
        let reach = tie_whole(storage)?;
        (attempt.judges, attempt.builds_indexes) = (true, until == Until::End);
        let wanted = |header: &RecordHeader| until.includes(header);
        let reading = read(storage, anchor, attempt, &wanted, progress, &mut |batch| {
            let Some(last) = batch.last().filter(|last| until.includes(&last.header)) else {
                return;
            };
            meaning.apply(batch);
            let is_selected = since.is_none_or(|since| since.begins_by(&last.header));
            let world = &meaning.world;
            visit(ExportStep::Batch { records: batch, world, is_selected, reach: &reach });
            meaning.world.forget_settled();
        })?;
        Ok((reading, (meaning, reach)))
    })?;
    meaning.check_beginnings(storage, &reading, options)?;
    if until == Until::End {
        meaning.check_statements(storage, &reading, options)?;
    }
    let mut report = report(reading, Some(&meaning));
    report.take_unread(meaning.unknown.as_ref());
    if report.verdict.is_of_damage() {
        report.reach.segments_tied = reach.segments_tied;
    } else if report.reach.tied_from != reach.tied_from {
        // What was said to be unproven holds: what was read for that was not there any more.
        return Err(ReadError::Changed { file: names::SEGMENTS.to_string() });
    }
    report.reach.tied_from = reach.tied_from;
    Ok(report)
}

impl Until {
    /// Returns whether a record lies at the place or behind it.
    fn begins_by(self, header: &RecordHeader) -> bool {
        match self {
            Self::End => false,
            Self::Sequence(sequence) => header.sequence >= sequence,
            Self::Time(time) => header.time >= time.nanoseconds(),
        }
    }
}
