//! The damage map comes to an end on every log, and says of what stands in another place that it
//! was moved, copied or renamed, and not that it is missing or forged.

use holdpoint_domain::core::time::Timestamp;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::{LogId, SegmentHeader, names};
use holdpoint_replay::damage::{Cause, Certainty, Records};
use holdpoint_replay::{DamageMap, ReadOptions, VerifyRequest, verify_asked};
use holdpoint_testing::hand_made::{BEGINNING_NS, FIRST_RECORD, HandMadeLog, OTHER_BOOT};
use std::ops::Range;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A later time than that of any record.
const LATE_NS: u64 = 2 * BEGINNING_NS;

fn map(directory: &Path) -> DamageMap {
    let storage = DirectoryStorage::new(directory);
    let options = ReadOptions::new(OTHER_BOOT, &|| Ok(false));
    let asked = VerifyRequest { map: true, ..VerifyRequest::default() };
    verify_asked(&storage, options, &asked, &mut |_| {}).unwrap().damage.unwrap()
}

fn written(log: &HandMadeLog) -> TempDir {
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    directory
}

/// Two runs, a segment each.
fn two_segments() -> HandMadeLog {
    let mut log = HandMadeLog::new();
    log.run();
    log.roll();
    log.run();
    log
}

fn segment(directory: &Path, first: u64) -> PathBuf {
    directory.join(names::SEGMENTS).join(names::segment(first))
}

/// First sequence of the second segment.
fn second(directory: &Path) -> u64 {
    let listed = std::fs::read_dir(directory.join(names::SEGMENTS)).unwrap();
    let named = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    named.filter_map(|name| names::parse_segment(&name)).max().unwrap()
}

/// Where the records of a segment's beginning lie.
pub(crate) fn items(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = FIRST_RECORD as usize;
    loop {
        let size = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        if size == 0 || size > 1 << 26 {
            return found;
        }
        let end = at + (size as usize).next_multiple_of(8);
        found.push(at..end);
        at = end;
    }
}

fn change(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(file).unwrap();
    change(&mut bytes);
    std::fs::write(file, bytes).unwrap();
}

fn records(first: u64, last: u64) -> Option<Records> {
    Some(Records { first, last })
}

fn told(map: &DamageMap) -> Vec<(&Cause, Certainty, Option<Records>)> {
    let regions = map.regions.iter();
    regions.map(|region| (&region.cause, region.certainty, region.records)).collect()
}

fn held(map: &DamageMap) -> Vec<(u64, u64)> {
    map.stretches.iter().map(|stretch| (stretch.first, stretch.last)).collect()
}

#[test]
fn a_header_that_says_a_later_time_than_its_records_is_the_only_thing_blamed() {
    let log = two_segments();
    let newest = log.chain.sequence;
    let directory = written(&log);
    for first in [1, second(directory.path())] {
        let directory = written(&log);
        change(&segment(directory.path(), first), |bytes| {
            let (block, _) = bytes.split_first_chunk_mut().unwrap();
            let mut header = SegmentHeader::decode(block).unwrap();
            header.previous.time = LATE_NS;
            *block = header.encode();
        });
        let map = map(directory.path());
        let cause = Cause::Forged { field: "previous time".to_string() };
        assert_eq!(told(&map), [(&cause, Certainty::Proven, None)], "{first}");
        assert_eq!(held(&map), [(1, newest)], "{first}");
    }
}

#[test]
fn a_chain_in_which_time_goes_backwards_is_mapped_once_and_to_its_end() {
    for (before, behind) in [(LATE_NS, BEGINNING_NS), (LATE_NS / 2 + LATE_NS / 4, 1)] {
        let mut log = HandMadeLog::new();
        log.run();
        log.now = Timestamp::from_nanoseconds(before);
        log.run();
        let last = log.chain.sequence;
        log.now = Timestamp::from_nanoseconds(behind);
        log.run();
        let directory = written(&log);
        let map = map(directory.path());
        let cause = Cause::Forged { field: "time or claim".to_string() };
        let blamed = (&cause, Certainty::Fits, records(last + 1, last + 1));
        assert_eq!(told(&map), [blamed], "{before} {behind}");
        assert_eq!(held(&map), [(1, last), (last + 2, log.chain.sequence)]);
    }
}

#[test]
fn the_newest_record_may_be_the_one_whose_time_goes_backwards() {
    let mut log = HandMadeLog::new();
    log.run();
    let head = log.head();
    log.now = Timestamp::from_nanoseconds(1);
    log.run();
    let directory = TempDir::new().unwrap();
    log.write_with_head(directory.path(), &head);
    let map = map(directory.path());
    let cause = Cause::Forged { field: "time or claim".to_string() };
    assert_eq!(map.regions.first().map(|region| &region.cause), Some(&cause), "{map:#?}");
    assert_eq!(held(&map)[0], (1, head.newest_sequence));
}

#[test]
fn a_record_that_a_copy_of_another_overwrites_is_told_as_a_copy() {
    let log = two_segments();
    let directory = written(&log);
    let bytes = std::fs::read(segment(directory.path(), 1)).unwrap();
    let items = items(&bytes);
    let mut copies = 0;
    for (from, to) in (0..items.len()).flat_map(|from| (0..items.len()).map(move |to| (from, to))) {
        if from == to || items[from].len() != items[to].len() {
            continue;
        }
        let directory = written(&log);
        change(&segment(directory.path(), 1), |bytes| {
            bytes.copy_within(items[from].clone(), items[to].start);
        });
        let map = map(directory.path());
        let (copied, lost) = (from as u64 + 1, to as u64 + 1);
        let cause = Cause::Duplicated { sequence: copied };
        assert_eq!(told(&map), [(&cause, Certainty::Proven, records(lost, lost))]);
        copies += 1;
    }
    assert!(copies >= 4, "{copies}");
}

#[test]
fn a_copy_that_stands_between_two_records_blames_neither() {
    let log = two_segments();
    let directory = written(&log);
    let bytes = std::fs::read(segment(directory.path(), 1)).unwrap();
    let items = items(&bytes);
    for (from, to) in (0..items.len()).flat_map(|from| (0..items.len()).map(move |to| (from, to))) {
        let directory = written(&log);
        change(&segment(directory.path(), 1), |bytes| {
            let copy = bytes[items[from].clone()].to_vec();
            bytes.truncate(bytes.len() - copy.len());
            bytes.splice(items[to].start..items[to].start, copy);
        });
        let map = map(directory.path());
        let [(cause, _, blamed)] = told(&map)[..] else { panic!("{from} to {to}: {map:#?}") };
        assert_eq!(blamed, None, "{from} to {to}: {map:#?}");
        // Before itself, a record is the one that is due, and the one behind it the copy.
        let sequence = from as u64 + 1;
        assert_eq!(*cause, Cause::Duplicated { sequence }, "{from} to {to}");
        let held: u64 = held(&map).iter().map(|(first, last)| last - first + 1).sum();
        assert_eq!(held, log.chain.sequence, "{from} to {to}");
    }
}

#[test]
fn a_record_that_was_moved_is_neither_missing_nor_there_once_more() {
    let log = two_segments();
    let directory = written(&log);
    let bytes = std::fs::read(segment(directory.path(), 1)).unwrap();
    let items = items(&bytes);
    for (from, to) in [(3, 6), (6, 3), (2, 9), (9, 2), (0, 4)] {
        let directory = written(&log);
        change(&segment(directory.path(), 1), |bytes| {
            let mut order: Vec<Vec<u8>> = items.iter().map(|at| bytes[at.clone()].into()).collect();
            let moved = order.remove(from);
            order.insert(to, moved);
            bytes.splice(items[0].start..items[items.len() - 1].end, order.concat());
        });
        let map = map(directory.path());
        assert!(!map.regions.is_empty());
        for region in &map.regions {
            assert_eq!(region.cause, Cause::Reordered, "{from} to {to}: {map:#?}");
        }
    }
}

#[test]
fn what_a_renamed_segment_holds_is_not_missing() {
    let log = two_segments();
    let newest = log.chain.sequence;
    let directory = written(&log);
    let (path, second) = (directory.path(), second(directory.path()));
    std::fs::rename(segment(path, second), segment(path, second + 7)).unwrap();
    let cause = Cause::Renamed { holds: second };
    assert_eq!(told(&map(path)), [(&cause, Certainty::Proven, records(second, newest))]);

    let directory = written(&log);
    let path = directory.path();
    let (one, other) = (segment(path, 1), segment(path, second));
    let aside = path.join("aside");
    std::fs::rename(&one, &aside).unwrap();
    std::fs::rename(&other, &one).unwrap();
    std::fs::rename(&aside, &other).unwrap();
    let (first, last) = (Cause::Renamed { holds: second }, Cause::Renamed { holds: 1 });
    let expected = [
        (&first, Certainty::Proven, records(second, newest)),
        (&last, Certainty::Proven, records(1, second - 1)),
    ];
    assert_eq!(told(&map(path)), expected);
}

#[test]
fn the_head_of_another_log_says_nothing_of_what_is_missing_here() {
    let log = two_segments();
    let mut other = HandMadeLog::of(LogId([9; 16]));
    for _ in 0..5 {
        other.run();
    }
    let directory = TempDir::new().unwrap();
    log.write_with_head(directory.path(), &other.head());
    let map = map(directory.path());
    let cause = Cause::Foreign { log: Some(other.log.to_string()), segment: None };
    assert_eq!(told(&map), [(&cause, Certainty::Proven, None)]);
    assert_eq!(held(&map), [(1, log.chain.sequence)]);
}

#[test]
fn a_blank_segment_behind_the_last_record_is_no_damage() {
    let directory = written(&two_segments());
    let next = two_segments().chain.sequence + 1;
    for length in [0, 1, 4_096, 65_536] {
        std::fs::write(segment(directory.path(), next), vec![0; length]).unwrap();
        let map = map(directory.path());
        assert!(map.is_whole(), "{length} zeros: {:?}", map.regions);
    }
}
