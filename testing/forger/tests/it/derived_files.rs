//! Indexes, snapshots and payloads as the documents and golden bytes have them.

use holdpoint_forger::index::{Index, LINKS, OFFSETS, TERM_FILTER, TERMS, Table};
use holdpoint_forger::payload::{self, Archived, history_archived};
use holdpoint_forger::{Log, link};

use crate::made;

/// An index as the product wrote it.
const INDEX: &[u8] = include_bytes!("../../../../log-format/index/tests/golden/v5.idx");

/// Payloads as the product wrote them: kind, version and bytes of one on each line.
const EVENTS: &str = include_str!("../../../../engine/domain/tests/golden/events_v3.txt");

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn making_an_index_anew_changes_nothing_in_one_that_nobody_changed() {
    let mut index = Index::decode(INDEX).unwrap();
    let terms = index.terms().unwrap();
    assert!(!terms.is_empty());
    index.set_terms(&terms).unwrap();
    let keys = index.keys().unwrap();
    assert!(!keys.is_empty());
    index.set_keys(&keys).unwrap();
    assert_eq!(hex(&index.encode()), hex(INDEX));
}

#[test]
fn an_index_without_a_term_has_another_digest_and_the_other_terms() {
    let genuine = Index::decode(INDEX).unwrap();
    let mut forged = genuine.clone();
    let mut terms = genuine.terms().unwrap();
    let (dropped, _) = terms.pop_first().unwrap();
    forged.set_terms(&terms).unwrap();
    assert_ne!(forged.digest(), genuine.digest());
    assert!(!forged.terms().unwrap().contains_key(&dropped));
    assert_eq!(forged.section(OFFSETS), genuine.section(OFFSETS));
    for section in [TERMS, TERM_FILTER] {
        assert_ne!(forged.section(section), genuine.section(section));
    }
}

#[test]
fn an_index_states_the_link_before_every_64th_record() {
    let mut log = Log::new(made::LOG, [0; 16]);
    for record in 0..130 {
        log.append(&[payload::command_refused(&format!("record {record}"))]);
    }
    let segment = log.segment(0);
    let of = Index::of(segment, 2, &Table::new(), &Table::new()).unwrap();
    let records: Vec<_> = segment.records().map(|(_, record)| record.link()).collect();
    let before = [link::genesis(&made::LOG), records[63], records[127]];
    assert_eq!(hex(&of.section(LINKS).unwrap()), hex(&before.concat()));
}

/// What is behind the heading of the first golden payload of a kind.
fn golden(kind: u16) -> &'static str {
    let begins = format!("{kind} 1 ");
    EVENTS.lines().find_map(|line| line.strip_prefix(begins.as_str())).unwrap()
}

#[test]
fn statements_of_an_index_are_laid_out_as_the_product_does() {
    let digest = "4a64a107f0cb32536e5bce6c98c393db21cca7f4ea187ba8c4dca8b51d4ea80a";
    let bytes: Vec<u8> =
        (0..32).map(|at| u8::from_str_radix(&digest[2 * at..2 * at + 2], 16).unwrap()).collect();
    let fact = payload::segment_indexed(1, 2, 1, bytes.as_slice().try_into().unwrap());
    assert!(golden(10).ends_with(&hex(&fact.payload[fact.payload.len() - 35..])));
}

#[test]
fn statements_of_an_archive_are_laid_out_as_the_product_does() {
    let golden = golden(9);
    let to = "/archive \u{e9}";
    let of = Archived {
        first: 1,
        anchor: 70_000,
        link: [0xdc; 32],
        to: to.to_owned(),
        schema: 2,
        state: b"\0state\xff".to_vec(),
    };
    let payload = hex(&history_archived(&of).payload);
    let place = |text: &str| text.len() - text.find(&hex(to.as_bytes())).unwrap();
    assert_eq!(place(&payload), place(golden));
    assert!(payload.contains("01fc70110100dcdc") && golden.contains("01fc70110100dc"));
    assert!(payload.ends_with("07007374617465ff") && golden.ends_with("07007374617465ff"));
}

#[test]
fn the_version_of_a_state_is_read_from_what_the_chain_states() {
    let fact = payload::fingerprint_recorded(6, &[0xa5; 32]);
    assert_eq!(payload::stated_schema(fact.kind, &fact.payload), Some(6));
    assert_eq!(payload::stated_schema(10, &fact.payload), None);
}
