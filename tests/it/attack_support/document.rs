//! The table as a document.

use super::cell::{Cell, LEGEND};
use super::matrix::Row;

/// The document that shows what was found of a log, and of a log with its archive.
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
# What forged logs get past the verbs that read

Each row is an attack on the directory of one small log, made by `testing/forger` from the
documents of the format alone; `forge list` says what each does. Each column is a reading of what
is left, of the record that was attacked where the verb can be asked for one. `log copy` and
`salvage` are read by `log show` of what they made. `tests/it/attacks.rs` makes this table, allows
no hole, and compares the table with this file; `HOLDPOINT_WRITE_ATTACKS=1` writes it anew.

| letter | of a log | with an archive | meaning |
|---|---|---|---|
";

const PAIR: &str = "\
The same log, its first two segments moved to an archive that stands beside it, and that the log
names. Whole `verify` is `verify --archive`.
";

const JUDGED: &str = "\n\
**Why no reading of records tells a `j`.** The forger wrote the chain anew up to the end, and HEAD
with it. Every link from the record that is shown to HEAD was computed, and holds; the one witness
in the directory is the forger's own. Record for record this is a log. What is wrong is what its
records say of each other: evidence has another hash than a later record states, a step is taken
that the state before it forbids, a statement is made once more that is true, beside one that is
false. Who judges the events finds that, and exits 6: `verify`, `replay` up to its point, `export`
and the lists that read the whole log. `replay --live`, `diff` and `bisect` go through the states
and judge none; `runs`, `show` and `output` look at the records of a run, and judge none of the
others. It is found at the record at which it shows, which need not be the forged one; where it is
the forged one, the cell is `f`. `verify --range` says in `not_checked` that it judges
no events; of what lies behind HEAD it takes no more than what is said to be unproven, so that what
only LOCK misses there is not in its reach. A head that was kept elsewhere differs in each of these
rows.

| attack | readings |
|---|---|
";
