//! A log that the forger makes is what FORMAT.md asks for.

use holdpoint_forger::layout::{MORE_FOLLOWS, head, header, record};
use holdpoint_forger::{Log, Reach, checksum, link};

use crate::made;

#[test]
fn making_the_chain_anew_changes_nothing_in_a_log_that_nobody_changed() {
    let mut log = made::log();
    let first = log.records()[0];
    assert!(log.remake(first, Reach::Log));
    log.head_follows();
    assert!(log == made::log());
}

#[test]
fn sequences_links_and_times_lead_from_genesis_to_head() {
    let log = made::log();
    let mut previous = (0, link::genesis(&made::LOG), 0);
    for at in log.records() {
        let (segment, record) = (log.segment(at.segment), log.record(at));
        assert_eq!(record.sequence(), previous.0 + 1);
        assert!(record.time() >= previous.2);
        assert_eq!(record.link(), link::of_record(&made::LOG, &previous.1, record));
        let checksum = checksum::of_item(segment.seed(), &record.header, &record.payload);
        assert_eq!(record.header.number(record::CHECKSUM), u64::from(checksum));
        previous = (record.sequence(), record.link(), record.time());
    }
    let block = log.head().unwrap();
    assert_eq!(block.number(head::NEWEST_SEQUENCE), previous.0);
    assert_eq!(block.bytes(head::NEWEST_LINK), previous.1);
}

#[test]
fn claims_name_the_end_of_a_batch() {
    let log = made::log();
    let mut ends = vec![0];
    for at in log.records() {
        let record = log.record(at);
        let claimed = record.sequence() - 1 - record.header.number(record::UNSYNCED);
        assert!(ends.contains(&claimed), "record {}", record.sequence());
        if !record.has(MORE_FOLLOWS) {
            ends.push(record.sequence());
        }
    }
}

#[test]
fn segments_are_as_long_as_they_say_and_each_is_twice_the_one_before() {
    let log = made::log_of_usual_capacity();
    let capacities: Vec<u64> =
        log.segments().iter().map(|one| one.header.number(header::CAPACITY)).collect();
    assert_eq!(capacities, [65_536, 131_072, 262_144, 524_288]);
    let lengths: Vec<u64> = log.segments().iter().map(|one| one.encode().len() as u64).collect();
    assert_eq!(lengths, capacities);
}

#[test]
fn an_older_state_is_a_log_of_its_own() {
    let log = made::log();
    let old = log.as_it_was(5).unwrap();
    let newest = old.newest_end().unwrap();
    assert!(old.record(newest).sequence() <= 5);
    assert_eq!(old.segments().len(), 1);
    assert_eq!(old.segment(0).seal_place(), None);
    assert_eq!(old.head().unwrap().bytes(head::NEWEST_LINK), old.record(newest).link());
}

#[test]
fn another_identity_says_the_same_under_other_links() {
    let log = made::log();
    let other = log.of_other_identity().unwrap();
    let said = |log: &Log| -> Vec<Vec<u8>> {
        log.records().into_iter().map(|at| log.record(at).payload.clone()).collect()
    };
    assert_eq!(said(&log), said(&other));
    for at in log.records() {
        assert_ne!(log.record(at).link(), other.record(at).link());
    }
}
