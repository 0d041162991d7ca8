//! After a clean close, no recorded byte can be changed unseen: flipped, dropped, swapped,
//! repeated, spliced, forged, chained anew or cut, it is found, and the finding names the file and
//! the structure that it lies in.
pub(crate) mod changes;
pub(crate) mod memory;

use changes::{
    dropped, forged, forged_headers, forgeries, moved, on_every, rechained, repeated,
    repeated_behind_the_last, spliced, spliced_anew, swapped, with_payload_forged, with_segment_of,
};
use holdpoint_log_files::Survey;
use holdpoint_log_format::recovery::{Row, Verdict};
use holdpoint_log_format::{Head, Link, LogId, SegmentHeader, names};
use memory::{ACTIVE, FIRST_RECORD, Image, Item, SEALED};
use std::ops::Range;
use std::process::Command;

const SECTOR: usize = 512;

/// A file and the bytes of one structure in it.
type Structure = (&'static str, Range<usize>);

/// Asserts that the log is corrupt and that a finding lies in the structure.
fn assert_found(image: &Image, (file, bytes): &Structure, what: &str) -> Survey {
    let survey = image.survey();
    assert!(survey.row.verdict().has_failed(), "{what}: {:?}", survey.row);
    let is_there = survey.findings.iter().any(|finding| {
        finding.place.file == *file && bytes.contains(&(finding.place.offset as usize))
    });
    assert!(is_there, "{what}: {file} {bytes:?} is not in {:?}", survey.findings);
    for finding in &survey.findings {
        let said = [finding.problem.expected(), finding.problem.found(), finding.to_string()];
        assert!(said.iter().all(|text| !text.is_empty()), "{what}");
    }
    survey
}

/// Every structure of the log: HEAD, header blocks, records with their padding, the seal.
fn structures(image: &Image) -> Vec<Structure> {
    let mut found = vec![("HEAD", 0..image.bytes("HEAD").len())];
    for segment in [SEALED, ACTIVE] {
        found.push((segment, 0..FIRST_RECORD));
        found.extend(image.items(segment).into_iter().map(|item| (segment, item.at)));
    }
    let sealed_at = image.items(SEALED).last().unwrap().at.end;
    found.push((SEALED, sealed_at..sealed_at + 64));
    found
}

#[test]
fn tamper_the_sample_is_intact_and_has_what_the_tests_are_about() {
    let image = Image::sample();
    let survey = image.survey();
    assert_eq!((survey.row, survey.findings.as_slice()), (Row::Clean, &[][..]));
    assert_eq!((survey.records, image.items(SEALED).len(), image.items(ACTIVE).len()), (10, 6, 4));
    assert_eq!(structures(&image).len(), 14);
    let padded = |item: &Item| item.at.len() > 64 + item.payload.len();
    assert!(image.items(SEALED).iter().chain(&image.items(ACTIVE)).any(padded));
    assert_eq!(image.head().newest_sequence, 10);
}

// ---- Flips -------------------------------------------------------------------------------------

#[test]
fn tamper_every_flipped_byte_of_every_structure_is_found_where_it_is() {
    let image = Image::sample();
    let mut flips = Vec::new();
    for structure in structures(&image) {
        // Of the large payload every sixteenth byte; of everything else every one.
        let is_dense = |at: &usize| at - structure.1.start < 5_000 || at.is_multiple_of(16);
        flips.extend(structure.1.clone().filter(is_dense).map(|at| (structure.clone(), at)));
    }
    assert!(flips.len() > 12_000);
    on_every(&flips, |(structure, at)| {
        let mut flipped = image.clone();
        flipped.bytes_mut(structure.0)[*at] ^= 1 << (at % 8);
        assert_found(&flipped, structure, &format!("{} byte {at}", structure.0));
    });
}

#[test]
fn tamper_every_flipped_bit_of_every_record_header_and_of_the_seal_is_found() {
    let image = Image::sample();
    let mut flips = Vec::new();
    for structure in
        structures(&image).into_iter().filter(|(file, at)| *file != "HEAD" && at.start > 0)
    {
        let start = structure.1.start;
        flips.extend(
            (start..start + 64)
                .flat_map(|at| (0..8).map(move |bit| (at, bit)))
                .map(|(at, bit)| (structure.clone(), at, bit)),
        );
    }
    on_every(&flips, |(structure, at, bit)| {
        let mut flipped = image.clone();
        flipped.bytes_mut(structure.0)[*at] ^= 1 << bit;
        assert_found(&flipped, structure, &format!("{} byte {at} bit {bit}", structure.0));
    });
}

#[test]
fn tamper_a_byte_in_space_that_was_never_written_is_found_exactly_where_it_is() {
    let image = Image::sample();
    let mut places = Vec::new();
    for segment in [SEALED, ACTIVE] {
        let bytes = image.bytes(segment);
        let seal = if segment == SEALED { 64 } else { 0 };
        let end = image.items(segment).last().unwrap().at.end + seal;
        let near = (end..end + 200).chain((end + 200..bytes.len()).step_by(97));
        places.extend(near.filter(|at| *at < bytes.len()).map(|at| (segment, at)));
    }
    on_every(&places, |(segment, at)| {
        for byte in [0x01, 0x40, 0x80, 0xff] {
            let mut dirty = image.clone();
            dirty.bytes_mut(segment)[*at] = byte;
            let item = at / 8 * 8;
            assert_found(&dirty, &(segment, item..item + 8), &format!("{segment} byte {at}"));
        }
    });
}

// ---- Records moved -----------------------------------------------------------------------------

#[test]
fn tamper_every_dropped_swapped_or_repeated_record_is_found_in_its_place() {
    let image = Image::sample();
    for segment in [SEALED, ACTIVE] {
        let items = image.items(segment);
        for (index, item) in items.iter().enumerate() {
            let place = (segment, item.at.clone());
            let gone = dropped(&image, segment, index);
            assert_found(&gone, &place, &format!("{segment} without its record {index}"));
            if index + 1 < items.len() {
                let changed = swapped(&image, segment, index);
                assert_found(&changed, &place, &format!("{segment} {index} swapped"));
                let place = (segment, item.at.end..item.at.end + 64);
                let twice = repeated(&image, segment, index);
                assert_found(&twice, &place, &format!("{segment} record {index} twice"));
            }
        }
    }
}

#[test]
fn tamper_a_record_repeated_behind_the_last_is_found() {
    let image = Image::sample();
    let (longer, again) = repeated_behind_the_last(&image);
    assert_found(&longer, &(ACTIVE, again), "the last record twice");
}

#[test]
fn tamper_every_record_spliced_from_another_log_or_segment_is_found() {
    let (image, other) = (Image::sample(), Image::sample());
    assert_ne!(image.header(SEALED).log, other.header(SEALED).log);
    for segment in [SEALED, ACTIVE] {
        for (index, item) in image.items(segment).into_iter().enumerate() {
            let place = (segment, item.at);
            let raw = spliced(&image, &other, segment, index);
            assert_found(&raw, &place, "a record of another log");
            let anew = spliced_anew(&image, &other, segment, index);
            let survey = assert_found(&anew, &place, "the same, its checksum made anew");
            assert!(survey.findings.iter().any(|finding| finding.problem.name() == "link"));
        }
        assert_eq!(with_segment_of(&image, &other, segment).survey().row, Row::Layout);
    }
    let (moved, at) = moved(&image);
    assert_found(&moved, &(ACTIVE, at..at + 64), "a record of another segment");
}

// ---- Forgeries ---------------------------------------------------------------------------------

#[test]
fn tamper_every_forged_field_and_payload_is_found_though_its_checksum_was_made_anew() {
    let image = Image::sample();
    for segment in [SEALED, ACTIVE] {
        for item in image.items(segment) {
            let place = (segment, item.at.clone());
            for (field, forge) in forgeries() {
                assert_found(&forged(&image, segment, &item, forge), &place, field);
            }
            for at in (0..item.payload.len()).step_by(1 + item.payload.len() / 7) {
                let forged = with_payload_forged(&image, segment, &item, at);
                assert_found(&forged, &place, "payload");
            }
        }
    }
}

#[test]
fn tamper_a_suffix_chained_anew_is_found_at_the_next_thing_that_was_not() {
    let image = Image::sample();
    let seal = structures(&image).pop().unwrap();
    let newest = image.items(ACTIVE).last().unwrap().at.clone();
    for index in 0..4 {
        let (forged, _) = rechained(&image, ACTIVE, index);
        let survey = assert_found(&forged, &(ACTIVE, newest.clone()), "chained anew up to HEAD");
        assert_eq!(survey.row, Row::Rewritten);
    }
    for index in 1..6 {
        let (mut forged, last) = rechained(&image, SEALED, index);
        assert_found(&forged, &seal, "chained anew up to the seal");
        forged.reseal(last);
        assert_found(&forged, &(ACTIVE, 0..FIRST_RECORD), "and sealed anew");
        let header = SegmentHeader { previous: last, ..image.header(ACTIVE) };
        forged.put_header(ACTIVE, &header);
        assert_found(&forged, &(ACTIVE, image.items(ACTIVE)[0].at.clone()), "with a new header");
        let newest_link = forged.rechain(ACTIVE, 0, last).link;
        let survey = assert_found(&forged, &(ACTIVE, newest.clone()), "and all records");
        assert_eq!(survey.row, Row::Rewritten);
        forged.put_head(&Head { newest_link, ..image.head() });
        assert_eq!(forged.survey().row, Row::Clean, "only a checkpoint outside can tell");
    }
}

#[test]
fn tamper_a_forged_head_or_header_is_found_though_its_checksum_was_made_anew() {
    let image = Image::sample();
    let head = image.head();
    let newest = image.items(ACTIVE).last().unwrap().at.clone();
    let heads = [
        (Head { newest_sequence: 11, ..head }, (ACTIVE, newest.end..newest.end + 1)),
        (Head { newest_link: Link([1; 32]), ..head }, (ACTIVE, newest)),
        (Head { log: LogId([1; 16]), ..head }, (names::HEAD, 0..1)),
        (of_another_log(&head), (SEALED, 0..1)),
        // The segments below the anchor would be in an archive, and this one begin the log.
        (Head { anchor_sequence: 6, ..head }, (ACTIVE, 0..1)),
        (Head { anchor_link: Link([1; 32]), ..head }, (names::HEAD, 0..1)),
        (Head { anchor_sequence: 10, anchor_link: Link([1; 32]), ..head }, (names::HEAD, 0..1)),
        (Head { newest_sequence: u64::MAX, ..head }, (names::HEAD, 0..1)),
    ];
    for (forged_head, place) in heads {
        let mut forged = image.clone();
        forged.put_head(&forged_head);
        assert_found(&forged, &place, &format!("{forged_head:?}"));
    }
    for segment in [SEALED, ACTIVE] {
        for (field, header) in forged_headers(&image, segment) {
            let mut forged = image.clone();
            forged.put_header(segment, &header);
            assert_eq!(forged.survey().row.verdict(), Verdict::Corrupt, "{segment} {field}");
        }
    }
}

/// A HEAD that holds, of a log that begins elsewhere.
fn of_another_log(head: &Head) -> Head {
    let log = LogId([1; 16]);
    Head { log, anchor_link: Link::genesis(log), ..*head }
}

// ---- Cuts --------------------------------------------------------------------------------------

#[test]
fn tamper_every_cut_and_every_zeroing_of_the_end_of_the_newest_segment_is_found() {
    let image = Image::sample();
    let length = image.bytes(ACTIVE).len();
    let end = image.items(ACTIVE).last().unwrap().at.end;
    let sectors: Vec<usize> = (0..length).step_by(SECTOR).collect();
    on_every(&sectors, |at| {
        let mut cut = image.clone();
        cut.bytes_mut(ACTIVE).truncate(*at);
        assert_found(&cut, &(ACTIVE, 0..length), &format!("cut at {at}"));
        let mut zeroed = image.clone();
        zeroed.bytes_mut(ACTIVE)[*at..].fill(0);
        if *at < end {
            assert_found(&zeroed, &(ACTIVE, 0..length), &format!("zero from {at}"));
        } else {
            assert_eq!(zeroed.survey().row, Row::Clean);
        }
    });
    for at in (FIRST_RECORD..end).step_by(8) {
        let mut zeroed = image.clone();
        zeroed.bytes_mut(ACTIVE)[at..].fill(0);
        let survey = assert_found(&zeroed, &(ACTIVE, 0..at + 1), &format!("zero from {at}"));
        let is_whole = survey.last.as_ref().unwrap().tail_end.is_none();
        let row = if is_whole { Row::ShortOfHead } else { Row::BelowMark };
        assert_eq!(survey.row, row, "zero from {at}");
    }
}

#[test]
fn tamper_every_cut_of_the_sealed_segment_is_found() {
    let image = Image::sample();
    let length = image.bytes(SEALED).len();
    for at in (0..length).step_by(SECTOR) {
        let mut cut = image.clone();
        cut.bytes_mut(SEALED).truncate(at);
        assert_found(&cut, &(SEALED, 0..length), &format!("cut at {at}"));
    }
}

// ---- The program -------------------------------------------------------------------------------

#[test]
fn tamper_the_program_exits_6_and_names_file_offset_sequence_expected_and_found() {
    let image = Image::sample();
    for (file, bytes) in structures(&image) {
        let mut flipped = image.clone();
        flipped.bytes_mut(file)[bytes.start + bytes.len() / 2] ^= 0x10;
        let directory = tempfile::tempdir().unwrap();
        flipped.write(directory.path());
        let mut program = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        program.env_remove("HOLDPOINT_LOG").arg("--log").arg(directory.path());
        let output = program.args(["verify", "--json"]).output().unwrap();
        assert_eq!(output.status.code(), Some(6), "{file} {bytes:?}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["verdict"], "corrupt");
        let findings = report["findings"].as_array().unwrap();
        let here = findings.iter().find(|finding| {
            let offset = finding["offset"].as_u64().unwrap() as usize;
            finding["segment"] == file && bytes.contains(&offset)
        });
        let here = here.unwrap_or_else(|| panic!("{file} {bytes:?}: {findings:?}"));
        let named = ["sequence", "expected", "found"].iter().all(|key| !here[*key].is_null());
        assert!(named, "{here}");
    }
}
