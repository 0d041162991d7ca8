//! CSV (RFC 4180): one record a row under a row of names.
//!
//! A spreadsheet computes a cell that begins with one of `FORMULA`. Such a cell gets an apostrophe
//! before it, and so does one that begins with an apostrophe. A spreadsheet that separates cells by
//! semicolons or tabs begins further cells inside of one: each such place gets an apostrophe as
//! well. [`original`] takes them away.

use crate::record::Record;
use crate::stream::{ExportError, Exported, Options, Sink, pour};
use csv::Writer;
use holdpoint_log_files::ReadStorage;
use holdpoint_replay::{Committed, Progress, Reach, ReadOptions};
use serde_json::Value;
use std::borrow::Cow;
use std::io::{self, Write};
use std::iter::once;

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

/// The characters with which a computed cell begins: the list of OWASP's page "CSV Injection" with
/// the full-width forms proposed for it, and the null character of its ASVS 5.0, 1.2.10.
const FORMULA: [char; 12] =
    ['=', '+', '-', '@', '\t', '\r', '\n', '\0', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// The characters behind which another cell may begin, besides the comma, which quotes hold.
const SEPARATORS: [char; 4] = [';', '\t', '\r', '\n'];

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

/// The cell with an apostrophe at each place where a spreadsheet could begin to compute.
fn inert(cell: &str) -> Cow<'_, str> {
    let (mut inert, mut copied) = (String::new(), 0_usize);
    let behind = cell.match_indices(SEPARATORS).map(|(at, it)| at.saturating_add(it.len()));
    for at in once(0).chain(behind) {
        let (Some(rest), Some(before)) = (cell.get(at..), cell.get(copied..at)) else { continue };
        if needs_apostrophe(rest) {
            inert.push_str(before);
            inert.push('\'');
            copied = at;
        }
    }
    if inert.is_empty() {
        return Cow::Borrowed(cell);
    }
    inert.push_str(cell.get(copied..).unwrap_or_default());
    Cow::Owned(inert)
}

/// Returns whether a place begins like a formula, also behind blanks and quotes, or with an
/// apostrophe.
fn needs_apostrophe(rest: &str) -> bool {
    let is_hidden =
        |c| matches!(c, '"' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    let is_skipped =
        |c: char| !FORMULA.contains(&c) && (is_hidden(c) || c.is_whitespace() || c.is_control());
    rest.starts_with('\'') || rest.trim_start_matches(is_skipped).starts_with(FORMULA)
}

/// The text of a cell that [`export_csv`] wrote: one apostrophe is taken away at its beginning, and
/// one behind each semicolon, tab, carriage return and line feed.
#[must_use]
pub fn original(cell: &str) -> String {
    let mut begins = true;
    let is_kept =
        |c: &char| !(std::mem::replace(&mut begins, SEPARATORS.contains(c)) && *c == '\'');
    cell.chars().filter(is_kept).collect()
}

/// Returns an error of the same kind, which tells who closed the pipe from a full disk.
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
    fn a_cell_that_a_spreadsheet_would_compute_is_inert_and_can_be_had_back() {
        let starts = FORMULA.map(|c| format!("{c}1+1"));
        let hidden = ["'=1", "'", " =1", "\u{a0}\u{feff}\u{ff20}1", "\"=1", "\u{1}+1", " \t=1"];
        for text in starts.iter().map(String::as_str).chain(hidden) {
            assert!(inert(text).starts_with('\''), "{text:?}");
            assert_eq!(original(&inert(text)), text);
        }
        for text in ["", "1", "a=1", "{\"a\":[1,-1]}", "|calc", "a; b", "x'=1", "a;b\nc"] {
            assert_eq!(inert(text), text);
            assert_eq!(original(text), text);
        }
    }

    #[test]
    fn a_cell_that_other_separators_begin_is_inert_as_well() {
        for (text, expected) in [
            ("a;=1+1;b", "a;'=1+1;b"),
            ("a; =1", "a;' =1"),
            ("a;\"=1\"", "a;'\"=1\""),
            ("a\n-1\r\n@x", "a\n'-1\r'\n'@x"),
            ("a;'=1;''", "a;''=1;'''"),
            ("=;=;", "'=;'=;"),
        ] {
            assert_eq!(inert(text), expected);
            assert_eq!(original(expected), text);
        }
    }
}
