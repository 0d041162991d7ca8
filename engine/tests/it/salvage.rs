//! What verifies of a damaged log is kept, whatever the damage; the damaged log is never touched;
//! and what comes of it is intact.

use crate::damaged::{CAPACITY, FIRST_RECORD, Forge, KIND, Salvaged, event_of, path_of};
use holdpoint_domain::core::actor::Actor;
use holdpoint_domain::log::{ClockStepped, LogEvent, UnprovenReason};
use holdpoint_domain::world::envelope;
use holdpoint_domain::{ActorId, Envelope, Event};
use holdpoint_engine::log::{Level, NewRecord};
use holdpoint_engine::shell::SalvageError;
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::record::encode_into;
use holdpoint_log_format::{ChecksumSeed, Flags, Head, Link, LogId, RecordHeader, names};
use holdpoint_testing::log as log_support;
use holdpoint_testing::log::image::Image;
use holdpoint_testing::log::{Random, exclusive, memory_directory, open, records_of};
use std::path::{Path, PathBuf};

/// A record that says so many bytes.
fn opaque(length: usize, tag: u8) -> NewRecord {
    NewRecord { kind: KIND, version: 1, payload: event_of(&vec![tag | 1; length]) }
}

/// Ten records in a sealed segment and an active one: single ones and batches, one of them large.
fn sample() -> Image {
    let directory = memory_directory();
    let log = open(directory.path(), exclusive());
    let batches: [&[usize]; 7] = [&[0], &[5], &[100, 33, 8], &[60_000], &[40], &[11, 300], &[1]];
    for (clock, lengths) in (1_700_000_000_000_000_000..).zip(batches) {
        let batch: Vec<NewRecord> =
            lengths.iter().map(|length| opaque(*length, clock as u8)).collect();
        log.append_any_kind(&batch, clock, Level::Os).unwrap();
    }
    log.close().unwrap();
    Image::of(directory.path())
}

fn salvaged(image: &Image) -> Salvaged {
    Salvaged::of(|old| image.restore(old)).unwrap()
}

#[test]
fn an_intact_log_is_kept_whole_with_its_payloads_times_kinds_and_batches() {
    let image = sample();
    let made = salvaged(&image);
    let old = records_of(&made.directory.path().join("old"));
    let kept = made.kept();
    assert_eq!((kept.len(), made.report.losses.len()), (10, 0));
    for (old, new) in old.iter().zip(&kept) {
        let header = &new.header;
        assert_eq!((&old.payload, old.header.time), (&new.payload, header.time));
        assert_eq!((old.header.kind, old.header.version), (header.kind, header.version));
        assert_eq!(old.header.flags, header.flags);
        assert_eq!(old.header.sequence + 1, header.sequence);
    }
    let report = &made.report.salvaged;
    assert_eq!((report.records_kept, report.records_lost, report.findings_total), (10, 0, 0));
    assert_eq!((report.source_first_sequence, report.source_last_sequence), (1, 10));
    assert_eq!(made.unproven(), Vec::<Vec<u8>>::new());
    assert_eq!(report.runs.len(), 1);
}

#[test]
fn a_flipped_byte_costs_at_most_the_record_that_it_is_in() {
    let image = sample();
    let whole = salvaged(&image);
    let old = records_of(&whole.directory.path().join("old"));
    let mut checked = 0;
    for (file, at) in flips(&image) {
        let mut flipped = image.clone();
        flipped.file(&file)[at] ^= 1 << (at % 8);
        let made = salvaged(&flipped);
        let hit = old.iter().filter(|record| {
            file.ends_with(names::segment(record.segment))
                && (record.offset..record.offset + record.length).contains(&(at as u64))
        });
        let hit: Vec<u64> = hit.map(|record| record.header.sequence).collect();
        let spared = old.iter().filter(|record| !hit.contains(&record.header.sequence));
        let expected: Vec<(u64, &[u8])> =
            spared.map(|record| (record.header.time, record.payload.as_slice())).collect();
        let kept = made.kept();
        let found: Vec<(u64, &[u8])> =
            kept.iter().map(|record| (record.header.time, record.payload.as_slice())).collect();
        assert!(found == expected, "{} byte {at}: {:?}", file.display(), made.report);
        assert_eq!(made.report.salvaged.records_lost, hit.len() as u64);
        checked += 1;
    }
    assert!(checked > 1_000, "{checked}");
}

/// Every byte of HEAD, of the headers of segments and records, and of the seal; of payloads,
/// reserved bytes and unused zeros a few.
fn flips(image: &Image) -> Vec<(PathBuf, usize)> {
    let mut flips: Vec<(PathBuf, usize)> =
        (0..image.0[Path::new("HEAD")].len()).map(|at| ("HEAD".into(), at)).collect();
    for (path, bytes) in image.0.iter().filter(|(path, _)| path.starts_with("segments")) {
        let mut dense: Vec<usize> = (0..100).collect();
        let mut at = FIRST_RECORD;
        while let Some(size) = bytes[at..].first_chunk().map(|size| u32::from_le_bytes(*size)) {
            dense.extend(at..at + 64);
            if size == 0 || size == u32::from_le_bytes(*b"SEAL") {
                break;
            }
            at += (size as usize).next_multiple_of(8);
        }
        dense.extend((0..bytes.len()).step_by(509));
        flips.extend(dense.into_iter().map(|at| (path.clone(), at)));
    }
    flips
}

#[test]
fn a_number_that_names_a_record_goes_where_the_record_went() {
    let directory = memory_directory();
    let log = open(directory.path(), exclusive());
    for causation in [None, Some(1), Some(2), Some(3), Some(9)] {
        let envelope = Envelope {
            clock: None,
            proof: None,
            actor: ActorId { kind: Actor::System, id: "holdpoint".into() },
            correlation: "story".into(),
            causation,
            idempotency: None,
            event: Event::from(ClockStepped { step_ns: 1 }),
        };
        let encoded = envelope::encode(&envelope).unwrap();
        let (kind, version, payload) = (encoded.kind, encoded.version, encoded.payload);
        log.append_any_kind(&[NewRecord { kind, version, payload }], 5, Level::Os).unwrap();
    }
    log.close().unwrap();
    let mut image = Image::of(directory.path());
    let second = records_of(directory.path())[1].clone();
    image.file("segments/00000000000000000001.seg")[second.offset as usize + 70] ^= 1;
    let made = salvaged(&image);
    let causation = |record: &log_support::Stored| {
        let header = &record.header;
        envelope::decode(header.kind, header.version, &record.payload).unwrap().causation
    };
    // The report is 1, the first record 2, and 3 says that 2 is unproven; 4 tells of the loss.
    let found: Vec<Option<u64>> = made.kept().iter().map(causation).collect();
    assert_eq!(found, [None, Some(4), Some(5), Some(1)]);
}

#[test]
fn a_torn_tail_is_no_record_and_is_copied_aside() {
    let mut forge = Forge::of_segments(1, 1, 3);
    forge.witness_at(2);
    let third = forge.record(3);
    forge.bytes(&third)[66] ^= 1;
    let made = forge.salvaged();
    assert_eq!(made.payloads().len(), 2);
    let loss = &made.report.losses[0];
    assert_eq!((loss.source_first_sequence, loss.source_last_sequence), (3, 0));
    assert_eq!(made.report.salvaged.records_lost, 0);
}

#[test]
fn a_withheld_record_is_told_as_lost_by_its_digest() {
    let mut forge = Forge::new(1);
    forge.add_segment(&[b"one".to_vec(), b"two".to_vec(), b"three".to_vec()], false);
    let (second, third) = (forge.record(2), forge.record(3));
    let seed = ChecksumSeed::new(forge.log, 1);
    let stored = RecordHeader::decode(forge.bytes(&second).first_chunk().unwrap()).unwrap();
    let header = RecordHeader { flags: Flags::WITHHELD, ..stored };
    let mut withheld = Vec::new();
    encode_into(&mut withheld, &header, &payload_digest(&second.payload), seed);
    withheld.extend(forge.bytes(&third).to_vec());
    let behind = second.start + withheld.len();
    let file = forge.files.get_mut(&path_of(1)).unwrap();
    file[second.start..behind].copy_from_slice(&withheld);
    file[behind..].fill(0);
    (forge.records[2].start, forge.records[2].end) = (behind - (third.end - third.start), behind);
    forge.witness();
    let made = forge.salvaged();
    assert_eq!(made.payloads(), [event_of(b"one"), event_of(b"three")]);
    assert_eq!((made.report.withheld, made.report.salvaged.records_lost), (1, 1));
    let told = &made.records[2];
    let envelope = envelope::decode(told.header.kind, 1, &told.payload).unwrap();
    let Event::Log(LogEvent::RecordsLost(lost)) = envelope.event else { panic!("{envelope:?}") };
    assert!(lost.problem.contains("withheld"), "{lost:?}");
    assert_eq!((lost.source_first_sequence, lost.source_last_sequence), (2, 2));
}

// ---- Segments ----------------------------------------------------------------------------------

const SEGMENTS: usize = 5;
const EACH: usize = 3;

fn five() -> Forge {
    Forge::of_segments(1, SEGMENTS, EACH)
}

fn expected_without(forge: &Forge, lost: &[u64]) -> Vec<Vec<u8>> {
    let kept = forge.records.iter().filter(|record| !lost.contains(&record.sequence));
    kept.map(|record| record.payload.clone()).collect()
}

fn expected_of(forge: &Forge, kept: &[u64]) -> Vec<Vec<u8>> {
    kept.iter().map(|sequence| forge.record(*sequence).payload).collect()
}

#[test]
fn a_missing_segment_costs_its_own_records_and_no_others() {
    for missing in 0..SEGMENTS {
        let mut forge = five();
        forge.files.remove(&forge.names()[missing]);
        let made = forge.salvaged();
        let first = (missing * EACH) as u64 + 1;
        let lost: Vec<u64> = (first..first + EACH as u64).collect();
        assert_eq!(made.payloads(), expected_without(&forge, &lost), "{missing}");
        assert_eq!(made.report.salvaged.records_lost, EACH as u64, "{missing}");
        let loss = &made.report.losses[0];
        assert_eq!((loss.source_first_sequence, loss.source_last_sequence), (first, first + 2));
    }
}

#[test]
fn a_renamed_segment_is_known_by_its_header_and_a_second_copy_is_not_kept_twice() {
    for index in 0..SEGMENTS {
        let mut forge = five();
        let name = forge.names()[index].clone();
        let bytes = forge.files.remove(&name).unwrap();
        forge.files.insert(path_of(77), bytes.clone());
        let made = forge.salvaged();
        assert_eq!(made.payloads(), expected_without(&forge, &[]), "{index}");
        assert_eq!(made.report.salvaged.findings_total, 1);
        forge.files.insert(name, bytes);
        let made = forge.salvaged();
        assert_eq!(made.payloads(), expected_without(&forge, &[]), "{index}");
        assert_eq!(made.report.losses[0].file.as_str(), path_of(77));
        assert_eq!(made.report.losses[0].source_first_sequence, 0);
    }
}

#[test]
fn swapped_segments_are_put_in_order() {
    let mut forge = five();
    let names = forge.names();
    let second = forge.files[&names[1]].clone();
    let fourth = forge.files.insert(names[3].clone(), second).unwrap();
    forge.files.insert(names[1].clone(), fourth);
    assert_eq!(forge.salvaged().payloads(), expected_without(&forge, &[]));
}

#[test]
fn a_segment_of_another_log_is_copied_aside_and_nothing_of_it_kept() {
    let mut forge = five();
    let other = Forge::of_segments(2, SEGMENTS, EACH);
    let name = forge.names()[2].clone();
    forge.files.insert(name.clone(), other.files[&name].clone());
    let made = forge.salvaged();
    assert_eq!(made.payloads(), expected_without(&forge, &[7, 8, 9]));
    assert!(made.report.losses.iter().any(|loss| loss.problem.contains("belongs to log")));
}

#[test]
fn a_damaged_header_costs_nothing_while_the_record_before_it_is_there() {
    for index in 0..SEGMENTS {
        let mut forge = five();
        let names = forge.names();
        forge.files.get_mut(&names[index]).unwrap()[50] ^= 1;
        assert_eq!(forge.salvaged().payloads(), expected_without(&forge, &[]), "{index}");
        // With nothing before it, the first record's content is proven by nothing.
        let Some(before) = index.checked_sub(1) else { continue };
        forge.files.remove(&names[before]);
        let first = (before * EACH) as u64 + 1;
        let lost: Vec<u64> = (first..first + EACH as u64).collect();
        let made = forge.salvaged();
        assert_eq!(made.payloads(), expected_without(&forge, &lost), "{index}");
        let behind_damage: Vec<u64> = (1..first).chain([first + EACH as u64]).collect();
        assert_eq!(made.unproven(), expected_of(&forge, &behind_damage), "{index}");
    }
}

#[test]
fn a_shorter_or_longer_segment_keeps_every_record_that_is_there() {
    for length in [0, 100, FIRST_RECORD, FIRST_RECORD + 200, CAPACITY - 1, CAPACITY + 5_000] {
        let mut forge = five();
        let name = forge.names()[2].clone();
        forge.files.get_mut(&name).unwrap().resize(length, 0xee);
        let lost: Vec<u64> = match length {
            0..=FIRST_RECORD => vec![7, 8, 9],
            4_296 => vec![8, 9],
            _ => vec![],
        };
        assert_eq!(forge.salvaged().payloads(), expected_without(&forge, &lost), "{length}");
    }
}

#[test]
fn two_histories_are_both_kept_and_the_place_where_they_meet_is_marked() {
    let mut forge = five();
    let mut other = Forge::new(1);
    other.add_segment(&vec![b"rewritten".to_vec(); EACH], true);
    forge.files.insert(path_of(1), other.files[&path_of(1)].clone());
    let made = forge.salvaged();
    let mut expected = vec![event_of(b"rewritten"); EACH];
    expected.extend(expected_without(&forge, &[1, 2, 3]));
    assert_eq!(made.payloads(), expected);
    assert!(made.report.losses[0].problem.contains("another history"));
}

#[test]
fn a_thousand_segments_are_read_as_one() {
    let mut forge = Forge::of_segments(1, 1_000, 2);
    forge.files.remove(&path_of(501));
    let made = forge.salvaged();
    assert_eq!(made.payloads(), expected_without(&forge, &[501, 502]));
    assert_eq!(made.report.salvaged.runs_total, 2);
}

// ---- HEAD --------------------------------------------------------------------------------------

#[test]
fn a_newest_record_that_head_contradicts_is_kept_without_proof_and_so_is_all_before_it() {
    let forge = five();
    let head = Head::decode(&forge.files[names::HEAD]).unwrap();
    let mut changed = forge.clone();
    let other = Head { newest_link: Link([1; 32]), ..head };
    changed.files.insert(names::HEAD.into(), other.encode().to_vec());
    let made = changed.salvaged();
    assert_eq!(made.payloads(), expected_without(&forge, &[]));
    assert_eq!(made.unproven(), made.payloads());
    let findings = &made.report.salvaged.findings;
    assert!(findings.iter().any(|finding| finding.contains("HEAD")), "{findings:?}");
}

#[test]
fn whatever_else_head_says_the_records_are_kept() {
    let forge = five();
    let head = Head::decode(&forge.files[names::HEAD]).unwrap();
    let mut variants: Vec<(&str, Option<Vec<u8>>)> = vec![
        ("missing", None),
        ("garbage", Some(vec![7; 152])),
        ("empty", Some(Vec::new())),
        ("another log's", Some(Head { log: LogId([9; 16]), ..head }.encode().to_vec())),
        ("anchored late", Some(Head { anchor_sequence: 14, ..head }.encode().to_vec())),
    ];
    let newer = Head { newest_sequence: 99, segment: 90, ..head };
    variants.push(("newer", Some(newer.encode().to_vec())));
    for (what, bytes) in variants {
        let mut changed = forge.clone();
        match bytes {
            Some(bytes) => changed.files.insert(names::HEAD.into(), bytes),
            None => changed.files.remove(names::HEAD),
        };
        let made = changed.salvaged();
        assert_eq!(made.payloads(), expected_without(&forge, &[]), "{what}");
        assert!(made.report.salvaged.findings_total > 0, "{what}");
        let lost = if what == "newer" { 99 - 15 } else { 0 };
        assert_eq!(made.report.salvaged.records_lost, lost, "{what}");
    }
    let mut older = forge.clone();
    older.witness_at(4);
    let made = older.salvaged();
    assert_eq!(made.payloads(), expected_without(&forge, &[]));
    assert_eq!(made.unproven(), made.payloads()[4..]);
    assert_eq!(made.report.unproven[0].reason, UnprovenReason::NoWitness);
}

// ---- Hostile directories -----------------------------------------------------------------------

#[test]
fn random_bytes_and_giant_files_are_no_panic() {
    let mut random = Random::new();
    for round in 0..40 {
        let mut forge = five();
        for name in forge.names() {
            let file = forge.files.get_mut(&name).unwrap();
            for _ in 0..random.below(4) {
                let (start, length) = (random.below(CAPACITY as u64), random.below(600));
                for at in start..(start + length).min(CAPACITY as u64) {
                    file[at as usize] = random.below(256) as u8;
                }
            }
        }
        let noise = (0..20_000).map(|_| random.below(256) as u8).collect();
        forge.files.insert(path_of(random.below(30)), noise);
        forge.files.insert(path_of(u64::MAX), b"noise".to_vec());
        match Salvaged::of(|old| forge.write(old)) {
            Ok(made) => {
                let all = expected_without(&forge, &[]);
                assert!(made.payloads().iter().all(|payload| all.contains(payload)), "{round}");
            }
            Err(error) => assert!(error.is_nothing(), "{round}: {error}"),
        }
    }
}

#[test]
fn a_giant_file_a_link_and_a_directory_in_a_segments_place_are_told_and_not_followed() {
    let forge = five();
    let made = Salvaged::of(|old| {
        forge.write(old);
        let giant = std::fs::File::create(old.join(path_of(40))).unwrap();
        giant.set_len(1 << 40).unwrap();
        std::fs::create_dir(old.join(path_of(50))).unwrap();
        std::os::unix::fs::symlink(old.join(path_of(1)), old.join(path_of(60))).unwrap();
        std::fs::write(old.join("segments/notes.txt"), "hello").unwrap();
    });
    let made = made.unwrap();
    assert_eq!(made.payloads(), expected_without(&forge, &[]));
    // Whose name is above all records and who is blank says that there were some before it.
    assert_eq!((made.report.salvaged.findings_total, made.report.salvaged.records_lost), (4, 24));
}

#[test]
fn where_nothing_verifies_no_log_is_made() {
    let directory = memory_directory();
    let (old, new) = (directory.path().join("old"), directory.path().join("new"));
    let salvage = || {
        let clock = holdpoint_engine::shell::SystemClock;
        holdpoint_engine::shell::salvage(&old, &new, &clock, &mut |_| {}).unwrap_err()
    };
    assert!(matches!(salvage(), SalvageError::NothingHere { .. }));
    std::fs::create_dir_all(old.join("segments")).unwrap();
    assert!(matches!(salvage(), SalvageError::NothingHere { .. }));
    std::fs::write(old.join(path_of(1)), [7; 9_000]).unwrap();
    assert!(matches!(salvage(), SalvageError::NothingKept { .. }));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}
