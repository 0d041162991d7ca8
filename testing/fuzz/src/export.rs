//! A damaged log in every form that it is exported in.

use super::damage::Damage;
use super::directory::assert_as_verified;
use super::image::Image;
use super::written::Written;
use arbitrary::Unstructured;
use holdpoint_engine::log::Storage;
use holdpoint_export::{ExportError, Exported, Options, export_csv, export_json_lines};
use holdpoint_replay::export::Selection;
use holdpoint_replay::{ReadOptions, Until, verify};
use holdpoint_simulation::SimulatedDisk;
use serde_json::Value;

/// Most bytes of an export for each byte of the log: an empty field of one byte has a long name.
const GROWTH_MAX: usize = 96;

/// Makes a directory as the input says, exports it, and asserts what must hold whatever it is.
pub fn read(bytes: &[u8]) {
    // An input that is used up says nothing more.
    let _ = try_read(&mut Unstructured::new(bytes));
}

fn try_read(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let written = Written::plan(input)?;
    let mut image = Image::of(&written, input)?;
    Damage::happen(&mut image, &written, input)?;
    let disk = image.disk();
    let selection = Selection { since: place(input)?, until: place(input)?.unwrap_or(Until::End) };
    let options = Options::new(selection).include_evidence(input.arbitrary()?);
    let log_bytes: usize = image.0.keys().filter_map(|path| image.file(path)).map(Vec::len).sum();
    check(&disk, options, log_bytes);
    Ok(())
}

fn place(input: &mut Unstructured<'_>) -> arbitrary::Result<Option<Until>> {
    let wanted: Option<u8> = input.arbitrary()?;
    Ok(wanted.map(|sequence| Until::Sequence(sequence.into())))
}

/// Every form holds the same records and says the same of the log, which is what `verify` says when
/// all of it is exported.
fn check(disk: &SimulatedDisk, options: Options, log_bytes: usize) {
    let mut lines = Vec::new();
    let of_lines = export_json_lines(disk, options, reading(disk), &mut |_| {}, &mut lines);
    let Some(exported) = expected(of_lines) else { return };
    assert!(lines.len() <= GROWTH_MAX * log_bytes, "{} bytes of {log_bytes}", lines.len());
    check_lines(&lines, exported.records);
    let mut rows = Vec::new();
    let of_rows = export_csv(disk, options, reading(disk), &mut |_| {}, &mut rows);
    assert_eq!(expected(of_rows).as_ref(), Some(&exported));
    assert!(rows.len() <= GROWTH_MAX * log_bytes + 1_024, "{} bytes of {log_bytes}", rows.len());
    check_tables(disk, options, &exported);
    if options.selection.until == Until::End {
        let report = verify(disk, reading(disk), &mut |_| {});
        let report = report.unwrap_or_else(|error| unreachable!("it was exported: {error}"));
        assert_as_verified(exported.report, &report);
    }
}

/// A database's sequences are below 2^63; a forged log may have others.
fn check_tables(disk: &SimulatedDisk, options: Options, exported: &Exported) {
    let memory = std::path::Path::new(":memory:");
    let found = holdpoint_export::export_sqlite(disk, options, reading(disk), &mut |_| {}, memory);
    match found {
        Err(ExportError::Database(error)) => assert!(!error.to_string().is_empty()),
        found => assert_eq!(expected(found).as_ref(), Some(exported)),
    }
}

fn reading(disk: &SimulatedDisk) -> ReadOptions<'static> {
    ReadOptions::new(disk.boot(), &|| Ok(false))
}

/// Nothing where the log is of a newer format, or begins behind the place that was asked for.
fn expected(exported: Result<Exported, ExportError>) -> Option<Exported> {
    match exported {
        Ok(exported) => Some(exported),
        Err(ExportError::Read(_)) => None,
        Err(error) => unreachable!("memory can be written: {error}"),
    }
}

/// Each line is an object, and sequences rise without gaps.
fn check_lines(lines: &[u8], records: u64) {
    let text = core::str::from_utf8(lines).expect("JSON is UTF-8");
    let mut before: Option<u64> = None;
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).expect("each line is JSON");
        if let Some(sequence) = value.get("sequence").and_then(Value::as_u64) {
            assert!(before.is_none_or(|before| before + 1 == sequence), "behind {before:?}");
            before = Some(sequence);
        }
    }
    assert_eq!(text.lines().count() as u64, records);
}
