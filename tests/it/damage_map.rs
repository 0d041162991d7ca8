//! The damage map names kind and place of every single damage, of two where the bytes prove them,
//! and never blames a record that holds.

use crate::tamper::changes::{
    dropped, forged, forged_headers, forgeries, moved, on_every, rechained, repeated,
    repeated_behind_the_last, spliced, spliced_anew, swapped, with_payload_forged, with_segment_of,
};
use crate::tamper::memory::{ACTIVE, FIRST_RECORD, Image, Item, SEALED};
use holdpoint_log_format::{Head, Link, Lock, SegmentHeader};
use holdpoint_replay::damage::{Cause, Certainty, Picture, Region, Witness};
use holdpoint_replay::{DamageMap, ReadOptions, Report, VerifyRequest, verify_asked};
use holdpoint_testing::part::part;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Output};

const SECTOR: usize = 512;

/// A file, the bytes of one structure in it, and the record that it is.
type Structure = (&'static str, Range<usize>, Option<u64>);

fn report(image: &Image) -> Report {
    let boot = Lock::decode(image.bytes("LOCK")).unwrap().boot;
    let options = ReadOptions::new(boot, &|| Ok(false));
    let asked = VerifyRequest { map: true, ..VerifyRequest::default() };
    verify_asked(image, options, &asked, &mut |_| {}).unwrap()
}

fn map(image: &Image) -> DamageMap {
    report(image).damage.unwrap()
}

fn held(map: &DamageMap) -> BTreeSet<u64> {
    map.stretches.iter().flat_map(|stretch| stretch.first..=stretch.last).collect()
}

fn blamed(map: &DamageMap) -> BTreeSet<u64> {
    let records = map.regions.iter().filter_map(|region| region.records);
    records.flat_map(|records| records.first..=records.last).collect()
}

/// Asserts that these records are blamed, that all others hold, and gives the first region.
fn assert_blamed(image: &Image, records: impl IntoIterator<Item = u64>, what: &str) -> Region {
    let map = map(image);
    let expected: BTreeSet<u64> = records.into_iter().collect();
    assert_eq!(blamed(&map), expected, "{what}: {map:#?}");
    let others: BTreeSet<u64> = (1..=10).filter(|record| !expected.contains(record)).collect();
    assert_eq!(held(&map), others, "{what}: {map:#?}");
    let first = map.regions.first().cloned();
    first.unwrap_or_else(|| panic!("{what}: nothing is found"))
}

/// As [`assert_blamed`], of a map with one region.
fn only(image: &Image, records: impl IntoIterator<Item = u64>, what: &str) -> Region {
    let region = assert_blamed(image, records, what);
    assert_eq!(map(image).regions.len(), 1, "{what}: {:#?}", map(image).regions);
    region
}

fn structures(image: &Image) -> Vec<Structure> {
    let mut found = vec![("HEAD", 0..image.bytes("HEAD").len(), None)];
    for segment in [SEALED, ACTIVE] {
        found.push((segment, 0..FIRST_RECORD, None));
        let items = image.items(segment).into_iter();
        found.extend(items.map(|item| (segment, item.at, Some(item.header.sequence))));
    }
    let sealed_at = image.items(SEALED).last().unwrap().at.end;
    found.push((SEALED, sealed_at..sealed_at + 64, None));
    found
}

#[test]
fn an_intact_log_has_no_damaged_place_and_is_witnessed_from_its_beginning() {
    let map = map(&Image::sample());
    assert!(map.is_whole(), "{map:#?}");
    let [stretch] = map.stretches.as_slice() else { panic!("{map:#?}") };
    assert_eq!((stretch.first, stretch.last, stretch.from_beginning), (1, 10, true));
    assert_eq!((stretch.witness, stretch.witnessed_to), (Some(Witness::Head), Some(10)));
    assert_eq!((map.salvage.records_kept, map.salvage.records_lost), (10, 0));
}

// ---- Flips -------------------------------------------------------------------------------------

#[test]
fn every_flipped_bit_is_named_and_undoing_it_is_proven() {
    let image = Image::sample();
    let mut flips = Vec::new();
    for structure in structures(&image) {
        let (begin, is_record) = (structure.1.start, structure.2.is_some());
        let is_dense = |at: &usize| match is_record {
            true => at - begin < 200 || at.is_multiple_of(977),
            false => at - begin < 160 || at.is_multiple_of(61),
        };
        flips.extend(structure.1.clone().filter(is_dense).map(|at| (structure.clone(), at)));
    }
    assert!(flips.len() > 1_200, "{}", flips.len());
    on_every(&part(flips, 6), |((file, _, record), at)| {
        let bit = (at / 3 % 8) as u8;
        let mut flipped = image.clone();
        flipped.bytes_mut(file)[*at] ^= 1 << bit;
        let what = format!("{file} byte {at} bit {bit}");
        let region = only(&flipped, *record, &what);
        let cause = Cause::FlippedBit { at: *at as u64, bit };
        assert_eq!((region.cause, region.certainty), (cause, Certainty::Proven), "{what}");
        assert_eq!(region.file, *file, "{what}");
    });
}

#[test]
fn what_stands_in_space_that_was_never_written_is_no_record() {
    let image = Image::sample();
    for segment in [SEALED, ACTIVE] {
        let seal = if segment == SEALED { 64 } else { 0 };
        let end = image.items(segment).last().unwrap().at.end + seal;
        let length = image.bytes(segment).len();
        let far = [end + 201, length - 70, length - 1].into_iter();
        for at in (end..end + 24).chain(far.filter(|at| (end..length).contains(at))) {
            for byte in [0x01, 0x40, 0xff] {
                let mut dirty = image.clone();
                dirty.bytes_mut(segment)[at] = byte;
                let what = format!("{segment} byte {at}: {byte:02x}");
                let region = only(&dirty, [], &what);
                let expected = match byte {
                    0xff => Cause::StrayBytes,
                    byte => Cause::FlippedBit { at: at as u64, bit: byte.trailing_zeros() as u8 },
                };
                assert_eq!((region.cause, region.offset), (expected, at as u64), "{what}");
            }
        }
    }
}

// ---- Zeroes and cuts ---------------------------------------------------------------------------

#[test]
fn every_zeroed_sector_costs_the_records_in_it_and_no_others() {
    let image = Image::sample();
    for segment in [SEALED, ACTIVE] {
        let items = image.items(segment);
        let end = items.last().unwrap().at.end;
        let step = if segment == SEALED { 13 } else { 1 };
        for sector in (FIRST_RECORD / SECTOR..end.div_ceil(SECTOR)).step_by(step) {
            let zeroed = sector * SECTOR..(sector + 1) * SECTOR;
            let mut image = image.clone();
            let was = image.bytes(segment)[zeroed.clone()].to_vec();
            image.bytes_mut(segment)[zeroed.clone()].fill(0);
            let is_hit = |item: &&Item| item.at.start < zeroed.end && zeroed.start < item.at.end;
            let records: Vec<u64> =
                items.iter().filter(is_hit).map(|item| item.header.sequence).collect();
            let what = format!("{segment} sector {sector}, records {records:?}");
            assert!(was.iter().any(|byte| *byte != 0), "{what}");
            let region = assert_blamed(&image, records, &what);
            let is_named = matches!(
                region.cause,
                Cause::Zeroed { .. } | Cause::TornWrite { .. } | Cause::Truncated
            );
            assert!(is_named, "{what}: {region:?}");
        }
    }
}

#[test]
fn every_cut_of_a_file_is_called_so_and_costs_what_was_behind() {
    let image = Image::sample();
    for segment in [SEALED, ACTIVE] {
        let items = image.items(segment);
        let length = image.bytes(segment).len();
        for at in (FIRST_RECORD..length).step_by(SECTOR) {
            let mut cut = image.clone();
            cut.bytes_mut(segment).truncate(at);
            let gone = items.iter().filter(|item| item.at.end > at);
            let gone: Vec<u64> = gone.map(|item| item.header.sequence).collect();
            let region = assert_blamed(&cut, gone, &format!("{segment} cut at {at}"));
            assert_eq!(region.cause, Cause::Truncated, "{segment} cut at {at}");
        }
    }
    for at in [0, 1, 100, 4_095] {
        let mut cut = image.clone();
        cut.bytes_mut(ACTIVE).truncate(at);
        let region = assert_blamed(&cut, 7..=10, &format!("cut at {at}"));
        assert_eq!(region.cause, Cause::Truncated, "cut at {at}");
    }
}

#[test]
fn an_end_that_reads_as_zero_is_cut_off_or_torn() {
    let image = Image::sample();
    let items = image.items(ACTIVE);
    let end = items.last().unwrap().at.end;
    for at in (FIRST_RECORD..end).step_by(8) {
        let mut zeroed = image.clone();
        zeroed.bytes_mut(ACTIVE)[at..].fill(0);
        let lost = items.iter().filter(|item| item.at.end > at);
        let lost: Vec<&Item> = lost
            .filter(|item| {
                zeroed.bytes(ACTIVE)[item.at.clone()] != image.bytes(ACTIVE)[item.at.clone()]
            })
            .collect();
        let what = format!("zero from {at}");
        let region = assert_blamed(&zeroed, lost.iter().map(|item| item.header.sequence), &what);
        match region.cause {
            Cause::Truncated => assert!(items.iter().any(|item| item.at.start == at), "{what}"),
            Cause::TornWrite { boundary } => {
                assert!(boundary as usize >= at.min(end - 8) / SECTOR * SECTOR, "{what}")
            }
            Cause::Zeroed { to, .. } => assert!(to as usize >= at, "{what}"),
            Cause::FlippedBit { at: flipped, .. } => assert!(flipped as usize >= at, "{what}"),
            other => panic!("{what}: {other:?}"),
        }
    }
}

// ---- Records moved -----------------------------------------------------------------------------

#[test]
fn every_dropped_swapped_or_repeated_record_is_named_in_its_place() {
    let image = Image::sample();
    for segment in [SEALED, ACTIVE] {
        let items = image.items(segment);
        for (index, item) in items.iter().enumerate() {
            let (at, sequence) = (item.at.start as u64, item.header.sequence);
            let what = format!("{segment} record {sequence}");
            let region = only(&dropped(&image, segment, index), [sequence], &what);
            let is_end = segment == ACTIVE && index + 1 == items.len();
            let expected = if is_end { Cause::Truncated } else { Cause::Missing };
            assert_eq!((region.cause, region.offset), (expected, at), "{what} dropped");
            if index + 1 == items.len() {
                continue;
            }
            let last = items.last().unwrap().header.sequence;
            let twice = repeated(&image, segment, index);
            let region = assert_blamed(&twice, [last], &format!("{what} twice"));
            let expected = (Cause::Duplicated { sequence }, item.at.end as u64);
            assert_eq!((region.cause, region.offset), expected, "{what} twice");
            let pair = [sequence, sequence + 1];
            let region = only(&swapped(&image, segment, index), pair, &what);
            assert_eq!((region.cause, region.offset), (Cause::Reordered, at), "{what} swapped");
            assert_eq!(region.certainty, Certainty::Proven);
        }
    }
    let (longer, _) = repeated_behind_the_last(&image);
    let region = only(&longer, [], "the last record twice");
    assert_eq!(region.cause, Cause::Duplicated { sequence: 10 });
}

#[test]
fn every_record_of_another_log_or_segment_is_foreign_or_forged_where_it_stands() {
    let (image, other) = (Image::sample(), Image::sample());
    for segment in [SEALED, ACTIVE] {
        for (index, item) in image.items(segment).into_iter().enumerate() {
            let sequence = item.header.sequence;
            let raw = spliced(&image, &other, segment, index);
            let region = only(&raw, [sequence], "a record of another log");
            assert_eq!(region.cause, Cause::Foreign { log: None, segment: None }, "{sequence}");
            let anew = spliced_anew(&image, &other, segment, index);
            let region = only(&anew, [sequence], "the same, its checksum made anew");
            let field = "link".to_string();
            assert_eq!(region.cause, Cause::Forged { field }, "{sequence}");
        }
        let whole = with_segment_of(&image, &other, segment);
        let records = if segment == SEALED { 1..=6 } else { 7..=10 };
        let region = assert_blamed(&whole, records, "a segment of another log");
        assert_eq!(region.file, segment);
        assert!(matches!(region.cause, Cause::Foreign { log: Some(_), .. }), "{region:?}");
    }
    let (moved, _) = moved(&image);
    let region = only(&moved, [7], "a record of another segment");
    assert_eq!(region.cause, Cause::Foreign { log: None, segment: Some(1) });
}

// ---- Forgeries ---------------------------------------------------------------------------------

#[test]
fn every_forged_field_is_named_though_its_checksum_was_made_anew() {
    let image = Image::sample();
    for segment in [SEALED, ACTIVE] {
        for item in image.items(segment) {
            let sequence = item.header.sequence;
            for (field, forge) in forgeries() {
                let forged = forged(&image, segment, &item, forge);
                let region = only(&forged, [sequence], &format!("{sequence}: {field}"));
                let cause = Cause::Forged { field: field.to_string() };
                assert_eq!(region.cause, cause, "{sequence}: {field}");
                assert_eq!(region.certainty, Certainty::Proven, "{sequence}: {field}");
            }
            let Some(middle) = item.payload.len().checked_sub(1).map(|last| last / 2) else {
                continue;
            };
            let forged = with_payload_forged(&image, segment, &item, middle);
            // Of the large payload not every bit is tried: then the place is told, and no record
            // is blamed, for everything before it may have been chained anew as well.
            let is_tried = item.payload.len() < 4_096;
            let region = only(&forged, is_tried.then_some(sequence), "payload");
            let field = "payload".to_string();
            let expected = match is_tried {
                true => Cause::Forged { field },
                false => Cause::ForgedOrRechained,
            };
            assert_eq!((region.cause, region.offset), (expected, item.at.start as u64));
        }
    }
}

#[test]
fn a_history_chained_anew_blames_no_record_and_names_who_contradicts_it() {
    let image = Image::sample();
    let expect = |image: &Image, file: &str, to: u64, witness: Witness, what: &str| {
        let region = only(image, [], what);
        assert_eq!((region.file.as_str(), region.length), (file, 0), "{what}");
        assert_eq!(region.cause, Cause::Rechained { from: 1, to, witness }, "{what}");
    };
    for index in 0..4 {
        let (forged, _) = rechained(&image, ACTIVE, index);
        expect(&forged, ACTIVE, 10, Witness::Head, "chained anew up to HEAD");
    }
    for index in 1..6 {
        let (mut forged, last) = rechained(&image, SEALED, index);
        expect(&forged, SEALED, 6, Witness::Seal, "chained anew up to the seal");
        forged.reseal(last);
        expect(&forged, ACTIVE, 6, Witness::NextSegment, "and sealed anew");
        let header = SegmentHeader { previous: last, ..image.header(ACTIVE) };
        forged.put_header(ACTIVE, &header);
        let region = only(&forged, [], "with a new header");
        let place = (region.cause, region.file.as_str(), region.offset as usize);
        assert_eq!(place, (Cause::ForgedOrRechained, ACTIVE, FIRST_RECORD));
        let newest_link = forged.rechain(ACTIVE, 0, last).link;
        expect(&forged, ACTIVE, 10, Witness::Head, "and all records");
        forged.put_head(&Head { newest_link, ..image.head() });
        assert!(map(&forged).is_whole(), "only a head kept outside can tell");
    }
}

#[test]
fn a_forged_head_or_header_costs_no_record() {
    let image = Image::sample();
    let head = image.head();
    let heads = [
        (Head { newest_sequence: 11, ..head }, "HEAD"),
        (Head { newest_link: Link([1; 32]), ..head }, ACTIVE),
        (Head { anchor_link: Link([1; 32]), ..head }, "HEAD"),
    ];
    for (forged_head, file) in heads {
        let mut forged = image.clone();
        forged.put_head(&forged_head);
        let region = assert_blamed(&forged, [], &format!("{forged_head:?}"));
        assert_eq!(region.file, file, "{forged_head:?}");
    }
    for segment in [SEALED, ACTIVE] {
        for (field, header) in forged_headers(&image, segment) {
            let mut forged = image.clone();
            forged.put_header(segment, &header);
            let region = assert_blamed(&forged, [], field);
            assert_eq!(region.cause, Cause::Forged { field: field.to_string() }, "{segment}");
            assert_eq!(region.file, segment, "{field}");
        }
    }
}

// ---- More than one damage ----------------------------------------------------------------------

/// A way to damage a record, and whether it is one flipped bit.
type Hurt = (&'static str, bool, fn(&mut [u8]));

const HURTS: [Hurt; 7] = [
    ("a flip of its size", true, |record| record[1] ^= 1),
    ("a flip of its sequence", true, |record| record[16] ^= 8),
    ("a flip of its link", true, |record| record[40] ^= 2),
    ("a flip of its kind", true, |record| record[8] ^= 0x10),
    ("a flip of its checksum", true, |record| record[5] ^= 4),
    ("its header zero", false, |record| record[..64].fill(0)),
    ("all of it zero", false, |record| record.fill(0)),
];

#[test]
fn two_damaged_records_cost_no_other_and_each_flip_is_named() {
    let image = Image::sample();
    let places = [SEALED, ACTIVE].map(|segment| {
        image.items(segment).into_iter().map(move |item| (segment, item.at, item.header.sequence))
    });
    let places: Vec<_> = places.into_iter().flatten().collect();
    let pairs = (1..=3).flat_map(|apart| places.iter().zip(places.iter().skip(apart)));
    let hurts = || HURTS.iter().flat_map(|one| HURTS.iter().map(move |other| (one, other)));
    let cases: Vec<_> = pairs.flat_map(|pair| hurts().map(move |hurts| (pair, hurts))).collect();
    assert_eq!(cases.len(), (9 + 8 + 7) * 49);
    on_every(&part(cases, 6), |(pair, hurts)| {
        let both = [(pair.0, hurts.0), (pair.1, hurts.1)];
        let mut hurt = image.clone();
        for ((segment, at, _), (_, _, change)) in both {
            change(&mut hurt.bytes_mut(segment)[at.clone()]);
        }
        let what = format!("{}: {}, {}: {}", pair.0.2, hurts.0.0, pair.1.2, hurts.1.0);
        assert_blamed(&hurt, both.map(|((_, _, sequence), _)| *sequence), &what);
        let map = map(&hurt);
        let is_named = |sequence: u64| {
            map.regions.iter().any(|region| {
                matches!(region.cause, Cause::FlippedBit { .. })
                    && region.certainty == Certainty::Proven
                    && region
                        .records
                        .is_some_and(|lost| (lost.first, lost.last) == (sequence, sequence))
            })
        };
        let is_first_known = hurts.0.1 || pair.1.2 - pair.0.2 > 1;
        for ((_, _, sequence), (_, is_flip, _)) in both.into_iter().filter(|_| is_first_known) {
            assert_eq!(is_named(*sequence), *is_flip, "{what}: {map:#?}");
        }
    });
}

#[test]
fn a_record_between_two_damaged_ones_is_not_blamed_and_is_kept_without_proof() {
    let image = Image::sample();
    let items = image.items(SEALED);
    let mut flipped = image.clone();
    for item in [&items[2], &items[4]] {
        flipped.bytes_mut(SEALED)[item.at.start + 64] ^= 1;
    }
    let map = map(&flipped);
    assert_eq!(blamed(&map), [3, 5].into(), "{map:#?}");
    let salvage = &map.salvage;
    // Records 1, 2 and 4 are tied to nothing, and nobody can read them: events take their places.
    let counts = (salvage.records_kept, salvage.records_unproven, salvage.records_lost);
    assert_eq!(counts, (5, 3, 5), "{map:#?}");
    let runs: Vec<(u64, u64)> = salvage.runs.iter().map(|run| (run.first, run.last)).collect();
    assert_eq!(runs, [(1, 2), (4, 4), (6, 10)], "{map:#?}");
}

#[test]
fn the_picture_shows_every_damaged_place_though_not_every_one_is_listed() {
    let image = Image::sample();
    let directory = tempfile::tempdir().unwrap();
    image.write(directory.path());
    for first in 11..1_511 {
        let name = format!("segments/{first:020}.seg");
        std::fs::write(directory.path().join(name), [b'x'; 40]).unwrap();
    }
    let damage = &json(&holdpoint(directory.path(), &["verify", "--map", "--json"]))["damage"];
    assert_eq!(damage["regions"].as_array().unwrap().len(), 1_000);
    let left_out = damage["regions_left_out"].as_u64().unwrap();
    assert!(left_out >= 500, "{left_out}");
    let used = |segment: &Value| segment["used"].as_u64().unwrap();
    let segments = damage["segments"].as_array().unwrap();
    let (total, good) = (segments.iter().map(used).sum::<u64>(), used(&segments[0]));
    let bar = damage["picture"]["bar"].as_str().unwrap();
    let held = usize::try_from(good * 64 / total).unwrap();
    assert_eq!((bar.len(), bar[..held].contains('X')), (64, false), "{bar}");
    assert!(bar[held + 8..].chars().all(|cell| cell == 'X'), "{bar}");
    let told = text(&holdpoint(directory.path(), &["verify", "--map"]));
    let more =
        format!("and {} more: 980 of them with --json, the other {left_out}", left_out + 980);
    assert!(told.contains(bar) && told.contains(&more), "{told}");
}

#[test]
fn a_segment_that_is_missing_or_empty_marks_its_place_in_the_picture() {
    let image = Image::sample();
    let bar = |change: &dyn Fn(&Path)| {
        let directory = tempfile::tempdir().unwrap();
        image.write(directory.path());
        change(directory.path());
        let map = &json(&holdpoint(directory.path(), &["verify", "--map", "--json"]))["damage"];
        assert!(!map["regions"].as_array().unwrap().is_empty());
        map["picture"]["bar"].as_str().unwrap().to_string()
    };
    let gone = |name: &'static str| move |log: &Path| std::fs::remove_file(log.join(name)).unwrap();
    let empty = |name: &'static str| move |log: &Path| std::fs::write(log.join(name), "").unwrap();
    let first = format!("X{}", "=".repeat(63));
    let last = format!("|{}X", "=".repeat(62));
    assert_eq!([bar(&gone(SEALED)), bar(&empty(SEALED))], [first.clone(), first]);
    assert_eq!([bar(&gone(ACTIVE)), bar(&empty(ACTIVE))], [last.clone(), last]);
    let picture = map(&{
        let mut headless = image.clone();
        headless.bytes_mut("HEAD")[20] ^= 1;
        headless
    })
    .picture;
    assert_eq!((picture.bar.contains(Picture::DAMAGED), picture.elsewhere), (false, 1));
}

// ---- The program -------------------------------------------------------------------------------

fn holdpoint(log: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    program.env_remove("HOLDPOINT_LOG").arg("--log").arg(log).args(arguments).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_program_draws_the_log_and_names_cause_place_and_what_would_be_kept() {
    let image = Image::sample();
    let item = image.items(SEALED)[3].clone();
    let mut flipped = image.clone();
    flipped.bytes_mut(SEALED)[item.at.start + 70] ^= 4;
    let directory = tempfile::tempdir().unwrap();
    flipped.write(directory.path());
    let output = holdpoint(directory.path(), &["verify", "--map"]);
    assert_eq!(output.status.code(), Some(6));
    let told = text(&output);
    let at = item.at.start + 70;
    let named = format!("bit 2 of byte {at} flipped (proven)");
    for part in ["damage map      1 damaged place", "X", "record 4: flipped_bit", &named] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains('\u{1b}'), "no colour outside of a terminal");
    let output = holdpoint(directory.path(), &["verify", "--map", "--json"]);
    let damage = &json(&output)["damage"];
    let region = &damage["regions"][0];
    assert_eq!(
        (&region["cause"], &region["at"], &region["bit"]),
        (&"flipped_bit".into(), &at.into(), &2.into())
    );
    assert_eq!(region["certainty"], "proven");
    assert_eq!(region["records"]["first"], 4);
    let beside = tempfile::tempdir().unwrap();
    let new = beside.path().join("new");
    let arguments =
        ["copy", "--salvage", directory.path().to_str().unwrap(), new.to_str().unwrap(), "--json"];
    let salvaged = &json(&holdpoint(directory.path(), &arguments))["salvaged"];
    for field in ["records_kept", "records_lost", "bytes_not_kept"] {
        assert_eq!(damage["salvage"][field], salvaged[field], "{field}");
    }
}

#[test]
fn a_head_kept_outside_tells_what_nothing_inside_can() {
    let image = Image::sample();
    let outside = tempfile::tempdir().unwrap();
    let (copy, line) = (outside.path().join("HEAD"), outside.path().join("line"));
    std::fs::write(&copy, image.bytes("HEAD")).unwrap();
    let sixth = image.items(SEALED)[5].header.link;
    std::fs::write(&line, format!("6 {sixth}\n")).unwrap();
    let (copy, line) = (copy.to_str().unwrap(), line.to_str().unwrap());
    let (mut forged, last) = rechained(&image, ACTIVE, 1);
    forged.put_head(&Head { newest_link: last.link, ..image.head() });
    let verify = |image: &Image, arguments: &[&str]| {
        let directory = tempfile::tempdir().unwrap();
        image.write(directory.path());
        let output = holdpoint(directory.path(), &[&["verify", "--json"], arguments].concat());
        json(&output)
    };
    let report = verify(&image, &["--head", copy, "--head", line]);
    assert_eq!(report["axes"]["authenticity"]["state"], "proven", "{report:#}");
    assert_eq!(report["axes"]["integrity"]["state"], "proven");
    let report = verify(&forged, &["--head", line, "--map"]);
    assert_eq!(report["axes"]["authenticity"]["state"], "proven");
    assert_eq!(report["heads"][0]["state"], "matches");
    let report = verify(&forged, &["--head", copy, "--head", line, "--map"]);
    assert_eq!(report["verdict"], "corrupt");
    assert_eq!(report["axes"]["authenticity"]["state"], "failed");
    let states = [&report["heads"][0]["state"], &report["heads"][1]["state"]];
    assert_eq!(states, ["differs", "matches"]);
    let problems = report["findings"].as_array().unwrap();
    assert!(problems.iter().any(|finding| finding["problem"] == "outside_head"));
    let region = &report["damage"]["regions"][0];
    assert_eq!(
        (&region["cause"], &region["witness"]),
        (&"rechained".into(), &"outside_head".into())
    );
    assert_eq!((&region["from"], &region["to"]), (&7.into(), &10.into()));
    let mut shorter = image.clone();
    let cut = image.items(ACTIVE)[3].at.clone();
    shorter.bytes_mut(ACTIVE)[cut.start..].fill(0);
    let before = image.items(ACTIVE)[2].clone();
    let head = Head {
        newest_sequence: 9,
        newest_link: before.header.link,
        record_offset: before.at.start as u64,
        end_offset: before.at.end as u64,
        ..image.head()
    };
    shorter.put_head(&head);
    // LOCK of this boot says so as well.
    let report = verify(&shorter, &[]);
    assert_eq!(report["axes"]["completeness"]["state"], "failed", "{report:#}");
    assert_eq!(report["findings"][0]["sequence"], 10, "{report:#}");
    shorter.bytes_mut("LOCK").clear();
    assert_eq!(verify(&shorter, &[])["axes"]["completeness"]["state"], "proven");
    let report = verify(&shorter, &["--head", copy]);
    assert_eq!(report["heads"][0]["state"], "missing");
    assert_eq!(report["axes"]["completeness"]["state"], "failed", "{report:#}");
}
