//! Counts of what a log holds.

use crate::anchor::{Anchor, Start, can_state, statement_in};
use crate::axes::report;
use crate::finding::named;
use crate::progress::Progress;
use crate::read::{Committed, ReadError, ReadOptions, read, steadily};
use crate::report::Report;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_log_files::ReadStorage;
use serde::Serialize;
use std::collections::BTreeMap;

/// Counts of what a log holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Statistics {
    /// Time when the first record was recorded.
    pub first_time: Option<Timestamp>,
    /// Time when the newest was.
    pub last_time: Option<Timestamp>,
    /// Complete batches.
    pub batches: u64,
    /// Records in complete batches, by the name of their kind.
    pub records_by_kind: BTreeMap<String, u64>,
    /// Proof of the bytes; events are not judged.
    #[serde(flatten)]
    pub report: Report,
}

/// Counts a log's records while it is read and verified.
///
/// # Errors
/// As [`crate::verify()`].
pub fn statistics<S: ReadStorage>(
    storage: &S,
    options: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Statistics, ReadError> {
    let mut counts = Counts::default();
    let (reading, wrong_beginning) = steadily(options, |attempt| {
        let (anchor, mut statement) = (Anchor::of(storage)?, None);
        let mut take = |batch: &[Committed]| {
            statement = statement_in(batch, &anchor.position).or(statement.take());
            counts.add(batch);
        };
        let reading = read(storage, anchor, attempt, &can_state, progress, &mut take)?;
        Ok((reading, Start::stated(anchor, statement).finding))
    })?;
    let mut report = report(reading, None);
    report.take_findings(wrong_beginning.as_slice());
    let named_counts = counts.by_kind.iter().map(|(kind, count)| (named(*kind), *count));
    Ok(Statistics {
        first_time: counts.first_time,
        last_time: counts.last_time,
        batches: counts.batches,
        records_by_kind: named_counts.collect(),
        report,
    })
}

#[derive(Default)]
struct Counts {
    first_time: Option<Timestamp>,
    last_time: Option<Timestamp>,
    batches: u64,
    by_kind: BTreeMap<u16, u64>,
}

impl Counts {
    fn add(&mut self, batch: &[Committed]) {
        self.batches = self.batches.saturating_add(1);
        for record in batch {
            self.first_time.get_or_insert(record.time());
            self.last_time = Some(record.time());
            let count = self.by_kind.entry(record.header.kind).or_default();
            *count = count.saturating_add(1);
        }
    }
}
