//! CSV (RFC 4180): one record a row under a row of names.
//!
//! A spreadsheet takes a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return for a
//! formula. Such a cell gets an apostrophe before it, and so does one that begins with an
//! apostrophe: whoever takes one leading apostrophe away has the text back.

use crate::record::Record;
use crate::stream::{ExportError, Exported, Options, Sink, pour};
use csv::Writer;
use holdpoint_log_files::ReadStorage;
use holdpoint_replay::{Committed, Progress, Reach, ReadOptions};
use serde_json::Value;
use std::borrow::Cow;
use std::io::{self, Write};

/// The names of the columns.
pub const COLUMNS: [&str; 22] = [
    "sequence",
    "time",
    "kind",
    "version",
    "more_follows",
    "payload",
    "actor_kind",
    "actor_id",
    "proof_by",
    "proof_user",
    "correlation",
    "causation",
    "idempotency_tenant",
    "idempotency_engine",
    "idempotency_key",
    "idempotency_content",
    "loop_id",
    "decision_id",
    "summary",
    "link",
    "event",
    "standing",
];

/// Writes the selected records as CSV.
///
/// # Errors
/// See [`ExportError`].
pub fn export_csv<S: ReadStorage>(
    storage: &S,
    options: Options,
    reading: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    out: impl Write,
) -> Result<Exported, ExportError> {
    let mut rows =
        Rows { out: Writer::from_writer(out), include_evidence: options.include_evidence };
    rows.out.write_record(COLUMNS).map_err(written)?;
    let exported = pour(storage, options, reading, progress, &mut rows)?;
    rows.out.flush()?;
    Ok(exported)
}

struct Rows<W: Write> {
    out: Writer<W>,
    include_evidence: bool,
}

impl<W: Write> Sink for Rows<W> {
    fn record(&mut self, record: &Committed, reach: &Reach) -> Result<(), ExportError> {
        let record = Record::of(record, reach);
        let event = match record.event(self.include_evidence)? {
            Value::Null => String::new(),
            event => record.text(&event)?,
        };
        let cells = cells(record, event);
        self.out
            .write_record(cells.iter().map(|cell| inert(cell).into_owned()))
            .map_err(written)?;
        Ok(())
    }
}

fn cells(record: Record, event: String) -> [String; COLUMNS.len()] {
    let line = record.line;
    let (actor_kind, actor_id) =
        line.actor.map_or_else(Default::default, |actor| (actor.kind.to_string(), actor.id));
    let (proof_by, proof_user) = line
        .proof
        .map_or_else(Default::default, |proof| (proof.by.to_string(), proof.user.to_string()));
    let [tenant, engine, key, content] =
        record.idempotency.map_or_else(Default::default, |given| {
            [given.tenant, given.engine, given.key, given.content.to_string()]
        });
    [
        line.sequence.to_string(),
        line.time.to_string(),
        line.kind,
        record.version.to_string(),
        u8::from(record.more_follows).to_string(),
        record.payload.to_string(),
        actor_kind,
        actor_id,
        proof_by,
        proof_user,
        line.correlation.unwrap_or_default(),
        line.causation.map(|sequence| sequence.to_string()).unwrap_or_default(),
        tenant,
        engine,
        key,
        content,
        line.loop_id.unwrap_or_default(),
        line.decision_id.unwrap_or_default(),
        line.summary,
        line.link,
        event,
        line.standing.unwrap_or_default().to_string(),
    ]
}

/// The cell, so that no spreadsheet takes it for a formula.
fn inert(cell: &str) -> Cow<'_, str> {
    match cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\'']) {
        true => Cow::Owned(format!("'{cell}")),
        false => Cow::Borrowed(cell),
    }
}

/// Of the same kind: who closed the pipe is told from a full disk by it.
fn written(error: csv::Error) -> ExportError {
    let kind = match error.kind() {
        csv::ErrorKind::Io(error) => error.kind(),
        _ => io::ErrorKind::Other,
    };
    ExportError::Write(io::Error::new(kind, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_a_spreadsheet_would_run_is_inert_and_can_be_had_back() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "'"] {
            let cell = inert(text);
            assert_eq!(cell.strip_prefix('\''), Some(text), "{text:?}");
        }
        for text in ["", "1", "a=1", "{\"a\":1}", " =1"] {
            assert_eq!(inert(text), text);
        }
    }
}
