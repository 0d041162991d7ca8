//! One reading of a log, poured into one form.

use holdpoint_domain::World;
use holdpoint_log_files::ReadStorage;
use holdpoint_replay::export::{ExportStep, Selection, export};
use holdpoint_replay::{Committed, Content, Progress, Reach, ReadError, ReadOptions, Report};
use std::io;
use thiserror::Error;

/// Options of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The batches.
    pub selection: Selection,
    /// True if the bytes of raw evidence leave the log.
    pub include_evidence: bool,
}

impl Options {
    /// These batches, without the bytes of raw evidence.
    #[must_use]
    pub const fn new(selection: Selection) -> Self {
        Self { selection, include_evidence: false }
    }

    /// Sets whether the bytes of raw evidence leave the log.
    #[must_use]
    pub fn include_evidence(self, include_evidence: bool) -> Self {
        Self { include_evidence, ..self }
    }
}

/// Result of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Records written.
    pub records: u64,
    /// Number of them that hold a payload that this program cannot read.
    pub unreadable: u64,
    /// The first and the last record written.
    pub span: Option<(u64, u64)>,
    /// Proof of the log, the events up to the selection's end judged.
    pub report: Report,
}

/// Why an export is not whole.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The export cannot be written.
    #[error("cannot write the export: {0}")]
    Write(#[from] io::Error),
    /// The database refuses something.
    #[cfg(feature = "sqlite")]
    #[error("cannot write the database: {0}")]
    Database(#[from] rusqlite::Error),
    /// A value that has no canonical form.
    #[error("record {sequence} has no form in JSON: {source}")]
    Form {
        /// The record.
        sequence: u64,
        /// Why not.
        source: serde_json::Error,
    },
}

/// A form that is written record by record.
pub(crate) trait Sink {
    /// The state that the log begins with.
    fn beginning(&mut self, _world: &World) -> Result<(), ExportError> {
        Ok(())
    }

    /// A record within the selection, and what tells how far it is proven.
    fn record(&mut self, record: &Committed, reach: &Reach) -> Result<(), ExportError>;

    /// Takes what a batch comes to, within the selection or before.
    fn settle(
        &mut self,
        _records: &[Committed],
        _world: &World,
        _is_selected: bool,
    ) -> Result<(), ExportError> {
        Ok(())
    }
}

/// Pours the log into a form. After the first failure nothing is written any more.
pub(crate) fn pour<S: ReadStorage>(
    storage: &S,
    options: Options,
    reading: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    sink: &mut dyn Sink,
) -> Result<Exported, ExportError> {
    let mut fate = Ok(());
    let (mut records, mut unreadable, mut span) = (0_u64, 0_u64, None);
    let report = export(storage, options.selection, reading, progress, &mut |seen| {
        if fate.is_err() {
            return;
        }
        fate = take(sink, seen);
        if let ExportStep::Batch { records: batch, is_selected: true, .. } = seen {
            let is_unreadable =
                |record: &&Committed| matches!(record.content, Content::Undecodable(_));
            records = records.saturating_add(batch.len() as u64);
            span = spanned(span, batch);
            unreadable =
                unreadable.saturating_add(batch.iter().filter(is_unreadable).count() as u64);
        }
    })?;
    fate?;
    Ok(Exported { records, unreadable, span, report })
}

fn spanned(before: Option<(u64, u64)>, batch: &[Committed]) -> Option<(u64, u64)> {
    let (first, last) = (batch.first()?.header.sequence, batch.last()?.header.sequence);
    Some((before.map_or(first, |(first, _)| first), last))
}

fn take(sink: &mut dyn Sink, seen: ExportStep<'_>) -> Result<(), ExportError> {
    match seen {
        ExportStep::Beginning(world) => sink.beginning(world),
        ExportStep::Batch { records, world, is_selected, reach } => {
            if is_selected {
                records.iter().try_for_each(|record| sink.record(record, reach))?;
            }
            sink.settle(records, world, is_selected)
        }
    }
}
