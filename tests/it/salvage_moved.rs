//! Tied records that were moved, with forged ones in their place: `copy --salvage` finds them
//! wherever they lie in the segments, and what was forged is not in the new log.

use crate::program::json;
use crate::records_support::{holdpoint, saying};
use crate::salvage_forged::{
    Fact, facts_of, salvaged, small_log, taken_over, unproven_of, verified,
};
use holdpoint_forger::layout::header;
use holdpoint_forger::{File, Item, Log, Reach, RecordAt, Segment};
use holdpoint_testing::hand_made::HandMadeLog;
use tempfile::TempDir;

/// What is salvaged is all that was there, proven, and nothing else; the map says how much it is.
fn assert_nothing_is_lost(what: &str, genuine: &Log, forged: &Log) {
    let (directory, new) = salvaged(forged);
    let mapped = holdpoint(&directory.path().join("old"), &["verify", "--map", "--json"]);
    let salvage = json(&mapped)["damage"]["salvage"].clone();
    let counts = ["records_kept", "records_unproven", "records_lost"].map(|name| &salvage[name]);
    assert_eq!(counts, [genuine.records().len(), 0, 0], "{what}");
    let facts = |records: Vec<(u64, Fact)>| -> Vec<Fact> {
        records.into_iter().map(|(_, fact)| fact).collect()
    };
    let found = facts(taken_over(&Log::read(&new).unwrap()));
    assert!(found == facts(facts_of(genuine)), "{what}");
    assert_eq!(unproven_of(&new), [].into(), "{what}");
    let (code, report) = verified(&new);
    assert_eq!((code, report["verdict"].as_str()), (0, Some("intact")), "{what}: {report:#}");
}

/// The items from a place on.
fn items_from(log: &Log, at: RecordAt) -> Vec<Item> {
    log.segment(at.segment).items[at.item..].to_vec()
}

/// A log whose records from a place on were changed and chained anew; HEAD is as it was.
fn forged_from(genuine: &Log, at: RecordAt) -> Log {
    let mut forged = genuine.clone();
    *forged.record_mut(at).payload.last_mut().unwrap() ^= 1;
    assert!(forged.remake(at, Reach::Seal));
    forged
}

fn put_at_the_end(log: &mut Log, segment: usize, items: Vec<Item>) {
    let segment = log.segment_mut(segment);
    segment.items.extend(items);
    assert!(segment.fit());
}

#[test]
fn the_newest_records_are_found_behind_a_forged_chain_in_their_place() {
    let (_directory, genuine) = small_log();
    let records = genuine.records();
    for count in 1..=6 {
        let at = records[records.len() - count];
        let mut forged = forged_from(&genuine, at);
        put_at_the_end(&mut forged, at.segment, items_from(&genuine, at));
        assert_nothing_is_lost(&format!("the last {count}"), &genuine, &forged);
    }
}

#[test]
fn records_in_another_order_are_found_behind_a_forged_chain_in_their_place() {
    let (_directory, genuine) = small_log();
    let records = genuine.records();
    for count in 2..=5 {
        let at = records[records.len() - count];
        let mut forged = forged_from(&genuine, at);
        let reversed = items_from(&genuine, at).into_iter().rev().collect();
        put_at_the_end(&mut forged, at.segment, reversed);
        assert_nothing_is_lost(&format!("the last {count}"), &genuine, &forged);
    }
}

#[test]
fn however_many_records_changed_places_they_are_found() {
    let mut log = HandMadeLog::new();
    log.events((0..90).map(|number| saying(&format!("word {number}"))).collect());
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let genuine = Log::read(directory.path()).unwrap();
    let mut forged = genuine.clone();
    for at in (1..88).step_by(3) {
        forged.segment_mut(0).items.swap(at, at + 1);
    }
    assert_nothing_is_lost("every third", &genuine, &forged);
    forged.segment_mut(0).items[..90].reverse();
    assert_nothing_is_lost("all, from the last to the first", &genuine, &forged);
}

#[test]
fn records_are_found_at_any_byte() {
    let (_directory, genuine) = small_log();
    let records = genuine.records();
    for at in [records[2], records[records.len() - 4]] {
        for shift in 1..8 {
            let mut forged = genuine.clone();
            let items = &mut forged.segment_mut(at.segment).items;
            items.insert(at.item, Item::Bytes(vec![0xff; shift]));
            assert!(forged.segment_mut(at.segment).fit());
            assert_nothing_is_lost(&format!("{at:?} behind {shift} bytes"), &genuine, &forged);
        }
    }
}

#[test]
fn records_are_found_in_another_segment() {
    let (_directory, genuine) = small_log();
    let records = genuine.records();
    let at = records[records.len() - 3];
    let mut forged = forged_from(&genuine, at);
    put_at_the_end(&mut forged, 0, items_from(&genuine, at));
    assert_nothing_is_lost("the last 3", &genuine, &forged);
    // A file without records says that they belong to it.
    let first = genuine.record(at).sequence();
    let mut decoy = Segment::new(&genuine.segment(0).log(), 65_536);
    decoy.header.set_number(header::FIRST_SEQUENCE, first);
    decoy.header.set(header::PREVIOUS_LINK, &genuine.before(at).link);
    decoy.remake_header_checksum();
    forged.files.insert(format!("segments/{first:020}.seg"), File::Segment(decoy));
    assert_nothing_is_lost("the last 3 beside an empty segment", &genuine, &forged);
}

#[test]
fn a_record_is_found_where_a_forged_one_in_its_place_has_its_link() {
    let (_directory, genuine) = small_log();
    let at = *genuine.records().last().unwrap();
    let mut forged = genuine.clone();
    *forged.record_mut(at).payload.last_mut().unwrap() ^= 1;
    forged.remake_checksum(at);
    put_at_the_end(&mut forged, at.segment, items_from(&genuine, at));
    assert_nothing_is_lost("the last one", &genuine, &forged);
}

#[test]
fn a_segment_is_found_under_another_name() {
    let (_directory, genuine) = small_log();
    let path = genuine.segment_paths().remove(0);
    for (first, name) in [(0, 4_711), (3, 4_711), (0, 2), (3, 2)] {
        let at = genuine.records()[first];
        let mut forged = forged_from(&genuine, at);
        let moved = genuine.files[&path].clone();
        assert!(matches!(moved, File::Segment(_)));
        forged.files.insert(format!("segments/{name:020}.seg"), moved);
        assert_nothing_is_lost(&format!("forged from {first}, named {name}"), &genuine, &forged);
    }
}

#[test]
fn what_was_written_since_head_is_kept_behind_what_takes_its_place() {
    let (_directory, whole) = small_log();
    let records = whole.records();
    let (at, last) = (records[records.len() - 3], records[records.len() - 1]);
    let mut genuine = whole.clone();
    genuine.segment_mut(last.segment).items.truncate(last.item);
    genuine.head_follows();
    let mut forged = forged_from(&whole, at);
    *forged.head_mut().unwrap() = genuine.head().unwrap().clone();
    let moved = items_from(&genuine, at);
    put_at_the_end(&mut forged, at.segment, moved);
    let (_directory, new) = salvaged(&forged);
    let found = taken_over(&Log::read(&new).unwrap());
    let unproven = unproven_of(&new);
    let proven = found.iter().filter(|(at, _)| !unproven.contains(at));
    assert!(proven.map(|(_, fact)| fact).eq(facts_of(&genuine).iter().map(|(_, fact)| fact)));
    assert_eq!(unproven.len(), 1, "{unproven:?}");
}
