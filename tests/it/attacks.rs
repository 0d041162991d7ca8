//! What a forger who can write the log's directory gets past the verbs that read.

use crate::attack_support::attacked_log;
use crate::attack_support::cell::Cell;
use crate::attack_support::matrix::{Row, document, rows};
use crate::attack_support::reading::VERBS;
use std::collections::BTreeSet;
use std::path::Path;

/// The cells that are holes, by attack: each is a fault that is known and not yet gone.
const HOLES: [(&str, &[&str]); 20] = [
    // A segment that a stated index lets a reader step over counts as tied whole, by the sequences
    // alone: what is then read of it, and is something else, is shown as proven, with exit 6.
    ("splice-records-of-other-history", &[SHOW, REVERSE, LOOP, TRACE]),
    ("splice-segment-of-other-history", &[SHOW, REVERSE, LOOP, TEXT, TRACE]),
    ("rechain-two-records", &[SHOW, REVERSE, LOOP, TRACE]),
    ("rechain-to-segment-end", &[SHOW, REVERSE, LOOP, TRACE]),
    ("rechain-to-segment-end-with-seal", &[SHOW, REVERSE, LOOP, TRACE]),
    ("rechain-segment-prefix", &[SHOW, REVERSE, TEXT]),
    ("rechain-whole-segment", &[SHOW, REVERSE, LOOP, TEXT, TRACE]),
    ("insert-chained-record", &[SHOW, REVERSE, KIND, LOOP, TRACE]),
    // An anchor that no event states rightly is believed where the log is not read whole.
    ("anchor-on-whole-log", &[REVERSE, STAT]),
    ("anchor-with-segments-removed", &[REVERSE, STAT]),
    ("anchor-of-other-link-with-segments-removed", &[REVERSE]),
    ("archive-statement-of-other-link", &[REVERSE, STAT]),
    ("archive-statement-of-other-fingerprint", &[REVERSE, STAT]),
    // A forged statement is tied to the HEAD that follows it; the segment that it vouches for is
    // found out, and where that one is not read there is nothing to find.
    ("index-of-forged-segment-with-statement", &[REVERSE, LAST, TAIL]),
    ("index-of-forged-segment-with-other-statement", &[REVERSE]),
    // A payload that no event lets anybody withhold is no finding, and its step is proven.
    ("withhold-payload", &[RANGE, TRACE]),
    ("withhold-payload-alone", &[TRACE]),
    ("withhold-segment", &[RANGE, TRACE]),
    ("withhold-newest-payload", &[RANGE, TRACE]),
    ("withhold-false-digest-and-rechain", &[RANGE, TRACE]),
];

const RANGE: &str = "verify --range";
const SHOW: &str = "log show";
const REVERSE: &str = "log show --reverse";
const LAST: &str = "log show --last";
const KIND: &str = "log show --kind";
const LOOP: &str = "log show --loop";
const TEXT: &str = "log show --text";
const TAIL: &str = "log tail -n";
const TRACE: &str = "trace";
const STAT: &str = "log stat";

#[test]
fn no_forged_record_is_proven_and_no_genuine_one_hidden_but_where_the_document_says_so() {
    let rows = rows(attacked_log());
    let told = document(&rows);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/attacks.md");
    if std::env::var_os("HOLDPOINT_WRITE_ATTACKS").is_some() {
        std::fs::write(&file, &told).unwrap();
    }
    let pairs = |(attack, verbs): (&'static str, &'static [&'static str])| {
        verbs.iter().map(move |verb| (attack, *verb))
    };
    let known: BTreeSet<(&str, &str)> = HOLES.into_iter().flat_map(pairs).collect();
    let found: BTreeSet<(&str, &str)> = rows.iter().flat_map(holes).collect();
    let new: Vec<_> = found.difference(&known).collect();
    assert!(new.is_empty(), "new holes: {new:#?}");
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(gone.is_empty(), "no holes any more: {gone:#?}");
    let is_written = std::fs::read_to_string(&file).is_ok_and(|written| written == told);
    assert!(is_written, "docs/attacks.md is another table: HOLDPOINT_WRITE_ATTACKS=1 writes it");
}

fn holes(row: &Row) -> Vec<(&'static str, &'static str)> {
    let cells = row.cells.iter().zip(&VERBS).filter(|(cell, _)| **cell == Cell::Hole);
    cells.map(|(_, verb)| (row.attack.name, verb.name)).collect()
}
