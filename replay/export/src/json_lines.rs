//! JSON Lines: one record a line, each in the canonical form of RFC 8785.

use crate::record::Record;
use crate::stream::{ExportError, Exported, Options, Sink, pour};
use holdpoint_log_files::ReadStorage;
use holdpoint_replay::{Committed, Progress, Reach, ReadOptions};
use std::io::Write;

/// Writes the selected records as JSON Lines.
///
/// # Errors
/// See [`ExportError`].
pub fn export_json_lines<S: ReadStorage>(
    storage: &S,
    options: Options,
    reading: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    out: impl Write,
) -> Result<Exported, ExportError> {
    let mut lines = Lines { out, include_evidence: options.include_evidence };
    let exported = pour(storage, options, reading, progress, &mut lines)?;
    lines.out.flush()?;
    Ok(exported)
}

struct Lines<W> {
    out: W,
    include_evidence: bool,
}

impl<W: Write> Sink for Lines<W> {
    fn record(&mut self, record: &Committed, reach: &Reach) -> Result<(), ExportError> {
        let record = Record::of(record, reach);
        let value = record.value(self.include_evidence)?;
        let text = record.text(&value)?;
        drop(value);
        self.out.write_all(text.as_bytes())?;
        Ok(self.out.write_all(b"\n")?)
    }
}
