//! The table as a document.

use super::cell::{Cell, LEGEND};
use super::matrix::Row;

/// The golden table of the attacks on a log, and on a log with its archive.
pub(crate) fn document(on_log: &[Row], on_pair: &[Row]) -> String {
    let mut text = String::from(HEADING);
    for (cell, letter, meaning) in LEGEND {
        let count = |rows: &[Row]| {
            rows.iter().flat_map(|row| &row.cells).filter(|one| **one == cell).count()
        };
        let (log, pair) = (count(on_log), count(on_pair));
        text += &format!("| `{letter}` | {log} | {pair} | {meaning} |\n");
    }
    text += JUDGED;
    for row in on_log.iter().chain(on_pair) {
        text += &judged(row).unwrap_or_default();
    }
    text += "\n## A log\n";
    text += &table(on_log);
    text += "\n## A log with an archive\n\n";
    text += PAIR;
    text += &table(on_pair);
    text
}

/// The readings of a row that show what only meaning tells.
fn judged(row: &Row) -> Option<String> {
    let cells = row.cells.iter().zip(row.verbs).filter(|(cell, _)| **cell == Cell::Judged);
    let verbs: Vec<String> = cells.map(|(_, verb)| format!("`{}`", verb.line)).collect();
    (!verbs.is_empty()).then(|| format!("| {} | {} |\n", row.name, verbs.join(", ")))
}

fn table(rows: &[Row]) -> String {
    let verbs = rows[0].verbs;
    let mut text = String::from("\n| column | reading |\n|---|---|\n");
    for (place, verb) in verbs.iter().enumerate() {
        text += &format!("| {} | `{}` |\n", place + 1, verb.line);
    }
    let columns: Vec<String> = (1..=verbs.len()).map(|column| column.to_string()).collect();
    let rule = "|---".repeat(verbs.len());
    text += &format!("\n| attack | {} |\n|---{rule}|\n", columns.join(" | "));
    for row in rows {
        text += &format!("{}\n", row.told());
    }
    text
}

const HEADING: &str = "\
Each row is an attack on the directory of one small log, made by testing/forger from the documents
of the format alone; `forge list` describes each. Each column is a reading of the attacked log.
`copy` and `copy --salvage` are read by `log` of their results. tests/it/attacks.rs makes this
table, allows no hole, and compares it; HOLDPOINT_WRITE_ATTACKS=1 writes it. docs/verify.md explains
row `j`.

| letter | of a log | with an archive | meaning |
|---|---|---|---|
";

const PAIR: &str = "\
The same log, its first two segments moved to an archive that stands beside it, and that the log
names. Whole `verify` is `verify --archive`.
";

const JUDGED: &str = "
Readings that a rechained log passes (`j`):

| attack | readings |
|---|---|
";
