//! One reading of a log, poured into one form.

use holdpoint_domain::world::World;
use holdpoint_log_files::ReadStorage;
use holdpoint_replay::export::{Seen, Selection, export};
use holdpoint_replay::{Committed, Content, Progress, ReadError, ReadOptions, Report};
use std::io;
use thiserror::Error;

/// What is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Which batches.
    pub selection: Selection,
    /// Whether the bytes of raw evidence leave the log.
    pub include_evidence: bool,
}

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Records written.
    pub records: u64,
    /// How many of them hold a payload that this program cannot read.
    pub unreadable: u64,
    /// What the log proves, the events up to the selection's end judged.
    pub report: Report,
}

/// Why an export is not whole.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The log cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What was exported cannot be written.
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

    /// A record within the selection.
    fn record(&mut self, record: &Committed) -> Result<(), ExportError>;

    /// What a batch comes to, within the selection or before.
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
    let (mut records, mut unreadable) = (0_u64, 0_u64);
    let report = export(storage, options.selection, reading, progress, &mut |seen| {
        if fate.is_err() {
            return;
        }
        fate = take(sink, seen);
        if let Seen::Batch { records: batch, is_selected: true, .. } = seen {
            let is_unreadable =
                |record: &&Committed| matches!(record.content, Content::Undecodable(_));
            records = records.saturating_add(batch.len() as u64);
            unreadable =
                unreadable.saturating_add(batch.iter().filter(is_unreadable).count() as u64);
        }
    })?;
    fate?;
    Ok(Exported { records, unreadable, report })
}

fn take(sink: &mut dyn Sink, seen: Seen<'_>) -> Result<(), ExportError> {
    match seen {
        Seen::Beginning(world) => sink.beginning(world),
        Seen::Batch { records, world, is_selected } => {
            if is_selected {
                records.iter().try_for_each(|record| sink.record(record))?;
            }
            sink.settle(records, world, is_selected)
        }
    }
}
