//! What the damage map says to hold is what a salvage keeps, whatever is damaged; and bytes that a
//! captured output holds take the place of no record that a witness ties.

use crate::mapping::items;
use holdpoint_domain::log::ClockStepped;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_files::damage_scan::{DamageScan, Payload, Source};
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::record::encode_into;
use holdpoint_log_format::{
    ChainPosition, ChecksumSeed, Flags, Head, Item, LinkPrefix, LogId, RecordHeader, Seal, names,
};
use holdpoint_replay::{DamageMap, ReadOptions, VerifyRequest, verify_asked};
use holdpoint_testing::hand_made::{HandMadeLog, OTHER_BOOT, change_head, encoded};
use holdpoint_testing::part::times;
use holdpoint_testing::story::seed;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use tempfile::TempDir;

/// `HOLDPOINT_TIMES=N` takes N times as many.
const CASES: u64 = 100;

/// A log of three segments, and where the records of each lie.
struct Sample {
    log: HandMadeLog,
    segments: Vec<(String, Vec<u8>, Vec<Range<usize>>)>,
}

impl Sample {
    fn new() -> Self {
        let mut log = HandMadeLog::new();
        for part in 0..3 {
            if part > 0 {
                log.roll();
            }
            log.run();
            log.run();
        }
        let directory = TempDir::new().unwrap();
        log.write(directory.path());
        let segments = directory.path().join(names::SEGMENTS);
        let listed = std::fs::read_dir(&segments).unwrap();
        let mut listed: Vec<String> =
            listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        listed.retain(|name| names::parse_segment(name).is_some());
        listed.sort();
        let read = |name: String| {
            let bytes = std::fs::read(segments.join(&name)).unwrap();
            let items = items(&bytes);
            (name, bytes, items)
        };
        Self { log, segments: listed.into_iter().map(read).collect() }
    }

    /// The log with this segment in the place of its own.
    fn with(&self, changed: &[(usize, Vec<u8>)]) -> TempDir {
        let directory = TempDir::new().unwrap();
        self.log.write(directory.path());
        for (index, bytes) in changed {
            let file = directory.path().join(names::SEGMENTS).join(&self.segments[*index].0);
            std::fs::write(file, bytes).unwrap();
        }
        directory
    }
}

fn map(directory: &Path) -> DamageMap {
    let storage = DirectoryStorage::new(directory);
    let options = ReadOptions::new(OTHER_BOOT, &|| Ok(false));
    let asked = VerifyRequest { map: true, ..VerifyRequest::default() };
    verify_asked(&storage, options, &asked, &mut |_| {}).unwrap().damage.unwrap()
}

fn held(map: &DamageMap) -> BTreeSet<u64> {
    map.stretches.iter().flat_map(|stretch| stretch.first..=stretch.last).collect()
}

fn blamed(map: &DamageMap) -> BTreeSet<u64> {
    let records = map.regions.iter().filter_map(|region| region.records);
    records.flat_map(|records| records.first..=records.last).collect()
}

/// What a salvage keeps.
fn kept(directory: &Path) -> BTreeSet<u64> {
    let storage = DirectoryStorage::new(directory);
    let source = Source::look(&storage).unwrap().unwrap();
    let scan = DamageScan::of(&storage, &source, Some(0), &mut |_, _| Payload::Readable).unwrap();
    scan.kept().flat_map(|kept| kept.from.sequence + 1..=kept.last.sequence).collect()
}

/// Damages a segment somehow.
fn hurt(bytes: &mut [u8], items: &[Range<usize>], random: &mut impl FnMut(usize) -> usize) {
    let item = items[random(items.len())].clone();
    let at = item.start + random(item.len());
    let written = items[items.len() - 1].end + 64;
    match random(6) {
        0 | 1 => bytes[at] ^= 1 << random(8),
        2 => bytes[item.start..item.start + 64].fill(0),
        3 => bytes[at..(at + 512).min(written)].fill(0),
        4 => {
            let other = items[random(items.len())].clone();
            let length = other.len().min(written - item.start);
            bytes.copy_within(other.start..other.start + length, item.start);
        }
        _ => bytes.copy_within(item.end..written, item.start),
    }
}

#[test]
fn the_map_holds_what_a_salvage_keeps_whatever_is_damaged() {
    let sample = Sample::new();
    let seed = seed();
    let mut state = seed | 1;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below
    };
    for case in 0..CASES * times() {
        let mut changed: Vec<(usize, Vec<u8>)> = Vec::new();
        for _ in 0..=random(3) {
            let index = random(sample.segments.len());
            let (_, bytes, items) = &sample.segments[index];
            let known = changed.iter().position(|(known, _)| *known == index);
            let place = known.unwrap_or_else(|| {
                changed.push((index, bytes.clone()));
                changed.len() - 1
            });
            hurt(&mut changed[place].1, items, &mut random);
        }
        let directory = sample.with(&changed);
        let (map, kept) = (map(directory.path()), kept(directory.path()));
        let (held, blamed) = (held(&map), blamed(&map));
        let what = format!("seed {seed}, case {case}: {map:#?}");
        assert!(held.is_subset(&kept), "not kept: {:?}, {what}", &held - &kept);
        let whole = &kept - &held;
        assert!(whole.is_subset(&blamed), "not held: {:?}, {what}", &whole - &blamed);
        assert!(held.is_disjoint(&blamed), "blamed: {:?}, {what}", &held & &blamed);
    }
}

#[test]
fn a_whole_record_is_held_where_it_was_moved_and_its_own_place_is_damaged() {
    let sample = Sample::new();
    let (_, bytes, items) = &sample.segments[1];
    let last = items[items.len() - 1].clone();
    let written = last.end + 64;
    for end in 2..items.len() - 2 {
        let begin =
            (1..end).rev().find(|begin| items[end].start - items[*begin].start > last.len());
        let Some(begin) = begin else { continue };
        let mut hurt = bytes.clone();
        hurt.copy_within(items[end].start..written, items[begin].start);
        hurt[last.end - 9] ^= 1;
        let directory = sample.with(&[(1, hurt)]);
        let map = map(directory.path());
        let all: BTreeSet<u64> = (1..=sample.log.chain.sequence).collect();
        let lost: BTreeSet<u64> = (begin..end).map(|index| index as u64 + 27).collect();
        assert_eq!(held(&map), &all - &lost, "{map:#?}");
        assert_eq!(kept(directory.path()), &all - &lost, "{map:#?}");
    }
}

#[test]
fn what_lies_between_a_forged_time_and_damage_is_kept() {
    let sample = Sample::new();
    for (index, (name, bytes, items)) in sample.segments.iter().enumerate() {
        let seed = ChecksumSeed::new(sample.log.log, names::parse_segment(name).unwrap());
        for (item, damaged) in items.iter().zip(&items[3..]) {
            let mut hurt = bytes.clone();
            let decoded = Item::decode(&bytes[item.clone()], item.start as u64, seed);
            let Ok(Item::Record(record)) = decoded else { panic!("{name}") };
            let header = RecordHeader { time: record.header.time ^ 1 << 62, ..record.header };
            let mut forged = Vec::new();
            encode_into(&mut forged, &header, record.payload, seed);
            hurt[item.clone()].copy_from_slice(&forged);
            hurt[damaged.start + 40] ^= 1;
            let directory = sample.with(&[(index, hurt)]);
            let (map, kept) = (map(directory.path()), kept(directory.path()));
            let changed: BTreeSet<u64> = [header.sequence, header.sequence + 3].into();
            let all: BTreeSet<u64> = (1..=sample.log.chain.sequence).collect();
            assert_eq!(blamed(&map), changed, "{map:#?}");
            assert_eq!(held(&map), &all - &changed, "{map:#?}");
            assert_eq!(&kept - &changed, &all - &changed, "{map:#?}");
        }
    }
}

#[test]
fn what_head_ties_is_kept_where_its_record_ends_no_batch() {
    let mut log = HandMadeLog::new();
    log.run();
    let step = || encoded(ClockStepped { step_ns: 1 }.into());
    log.batch_with(&[step(), step(), step(), step()], Flags::NONE, true);
    let directory = TempDir::new().unwrap();
    log.write(directory.path());
    let file = directory.path().join(log.active_path());
    let mut bytes = std::fs::read(&file).unwrap();
    let items = items(&bytes);
    let [.., second, _, last] = items.as_slice() else { panic!("{items:?}") };
    let header = RecordHeader::decode(bytes[second.clone()].first_chunk().unwrap()).unwrap();
    let named = header.sequence;
    change_head(directory.path(), |head| Head {
        newest_sequence: named,
        newest_link: header.link,
        record_offset: second.start as u64,
        end_offset: second.end as u64,
        ..head
    });
    bytes[last.start + 40] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    assert!((1..=named).all(|record| kept(directory.path()).contains(&record)));
    let map = map(directory.path());
    assert!((1..=named).all(|record| held(&map).contains(&record)), "{map:#?}");
}

#[test]
fn an_image_of_records_takes_the_place_of_none_that_is_tied() {
    let sample = Sample::new();
    let newest = sample.log.chain.sequence;
    let mut cases = 0;
    for (index, (name, bytes, items)) in sample.segments.iter().enumerate() {
        let first = names::parse_segment(name).unwrap();
        let seed = ChecksumSeed::new(sample.log.log, first);
        for (number, item) in items.iter().enumerate().skip(1) {
            let before = items[number - 1].clone();
            let Ok(Item::Record(record)) =
                Item::decode(&bytes[before.clone()], before.start as u64, seed)
            else {
                panic!("{name} {number}")
            };
            let before = ChainPosition::of(&record.header);
            for (shift, is_sealed) in [(0, false), (0, true), (1, false), (1, true)] {
                let chain = ChainPosition { sequence: before.sequence + shift, ..before };
                let at = item.start + 64;
                let mut hurt = bytes.clone();
                let image = image(sample.log.log, chain, seed, (at, is_sealed));
                if at + image.len() > item.end {
                    continue;
                }
                hurt[at..at + image.len()].copy_from_slice(&image);
                for damage in 0..3 {
                    match damage {
                        0 => {}
                        1 => hurt[item.start] ^= 8,
                        _ => hurt[item.start..at].fill(0),
                    }
                    let directory = sample.with(&[(index, hurt.clone())]);
                    let (map, kept) = (map(directory.path()), kept(directory.path()));
                    let host = before.sequence + 1;
                    let others: BTreeSet<u64> =
                        (1..=newest).filter(|record| *record != host).collect();
                    let what = format!("{name}, record {host}, {shift}, {damage}: {map:#?}");
                    assert_eq!(held(&map), others, "{what}");
                    assert_eq!(blamed(&map), [host].into(), "{what}");
                    assert_eq!(kept, others, "{what}");
                    cases += 1;
                }
            }
        }
    }
    assert!(cases > 100, "{cases}");
}

/// A record that follows from `chain`, and where it says so a seal behind it.
fn image(
    log: LogId,
    chain: ChainPosition,
    seed: ChecksumSeed,
    (at, is_sealed): (usize, bool),
) -> Vec<u8> {
    let payload = b"all is well";
    let mut bytes = Vec::new();
    let (kind, version, flags, unsynced) = (9_999, 1, Flags::NONE, 0);
    let (sequence, time) = (chain.sequence + 1, chain.time);
    let prefix = LinkPrefix::new(log, kind, version, flags, &payload_digest(payload));
    let link = prefix.link(&chain.link, unsynced, sequence, time);
    let (size, checksum) = (0, 0);
    let header =
        RecordHeader { size, checksum, kind, version, flags, unsynced, sequence, time, link };
    encode_into(&mut bytes, &header, payload, seed);
    if is_sealed {
        let last = ChainPosition::of(&header);
        let offset = (at + bytes.len()) as u64;
        bytes.extend(Seal { last, offset }.encode(seed));
    }
    bytes
}
