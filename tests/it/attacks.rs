//! What a forger who can write the log's directory gets past the verbs that read.

use crate::attack_support::attacked_log;
use crate::attack_support::cell::Cell;
use crate::attack_support::document::document;
use crate::attack_support::matrix::{Row, applied, log_rows, pair_rows};
use crate::records_support::{holdpoint, told};
use holdpoint_forger::{Victim, attacks};
use holdpoint_testing::part::step;
use holdpoint_testing::story::seed;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A run makes one of so many attacks, beginning at another one each time.
const PART: usize = 32;

#[test]
fn no_forged_record_is_proven_and_no_genuine_one_hidden_but_where_the_table_says_so() {
    let step = step(PART);
    let first = usize::try_from(seed() % step as u64).unwrap();
    let mut rows = log_rows((first, step));
    rows.extend(pair_rows((first, step)));
    assert_no_holes(&rows);
    let written = std::fs::read_to_string(file()).unwrap();
    for row in rows {
        let (name, told) = (row.name, row.told());
        assert!(written.lines().any(|line| line == told), "{name} is another row now: {told}");
    }
}

#[test]
#[ignore = "`.ci/run all` makes all attacks; a part is made in every run"]
fn the_golden_table_has_all_attacks() {
    let (on_log, on_pair) = (log_rows((0, 1)), pair_rows((0, 1)));
    let told = document(&on_log, &on_pair);
    if std::env::var_os("HOLDPOINT_WRITE_ATTACKS").is_some() {
        std::fs::write(file(), &told).unwrap();
    }
    assert_no_holes(&on_log);
    assert_no_holes(&on_pair);
    let is_written = std::fs::read_to_string(file()).is_ok_and(|written| written == told);
    assert!(
        is_written,
        "tests/golden/attacks.txt is another table: HOLDPOINT_WRITE_ATTACKS=1 writes it"
    );
}

/// What is missing may say how it ended: until then it would be listed as running.
#[test]
fn a_run_is_listed_where_all_of_its_records_can_be_read_and_else_it_is_said_that_it_is_not() {
    let directory = attacked_log();
    let shown = |words: &[&str]| told(&holdpoint(directory.path(), words));
    let (_, all, _) = shown(&["runs", "-q"]);
    let attack = attacks().iter().find(|attack| attack.name == "withhold-payload").unwrap();
    let mut log = Victim::read(directory.path()).unwrap();
    let effect = applied(attack, &mut log);
    log.write(directory.path()).unwrap();
    let withheld = *effect.changed.first().unwrap();
    let (_, line, _) = shown(&["log", "--json", "kind=execution_loop.initialized"]);
    let begun = line.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let newer = begun.filter(|line| line["sequence"].as_u64().unwrap() > withheld).count();
    let ok = &["runs", "-q", "status=ok"];
    // One of them waits for a person.
    for (words, due) in [(&["runs", "-q"][..], newer), (ok, newer - 1)] {
        let (code, listed, stderr) = shown(words);
        assert_eq!((code, listed.lines().count()), (6, due), "{words:?}: {listed}{stderr}");
        assert!(listed.lines().all(|id| all.lines().take(newer).any(|one| one == id)), "{listed}");
        assert!(stderr.contains("not shown: "), "{words:?}: {stderr}");
    }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/attacks.txt")
}

fn assert_no_holes(rows: &[Row]) {
    let found: Vec<_> = rows.iter().flat_map(holes).collect();
    assert!(found.is_empty(), "holes: {found:#?}");
}

fn holes(row: &Row) -> Vec<(&'static str, &'static str)> {
    let cells = row.cells.iter().zip(row.verbs).filter(|(cell, _)| **cell == Cell::Hole);
    cells.map(|(_, verb)| (row.name, verb.line)).collect()
}
