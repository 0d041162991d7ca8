//! A record that was written anew behind the log's back is told by no lookup, whether an index
//! names it or its segment is read.

use super::indexes::{COMMANDS, content, engine, fill, indexes, keyed, options, segments, settle};
use holdpoint_domain::world::Term;
use holdpoint_domain::world::envelope::decode;
use holdpoint_engine::Engine;
use holdpoint_engine::shell::{SubmitError, Submitted};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::record::encode_into;
use holdpoint_log_format::{ChainPosition, Item, Link, Record, RecordHeader, Seal, SegmentHeader};
use holdpoint_testing::shell::brittle::Brittle;
use holdpoint_testing::shell::commands::small;
use holdpoint_testing::shell::{Place, origin};
use std::fs;
use std::path::Path;

/// How far a forger goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remade {
    /// The record's checksum and link.
    Record,
    /// The links of all records behind it as well, and the seal.
    Segment,
}

/// Changes what a record says, so that it can still be read, and makes right again what shows it.
fn forge(segment: &Path, sequence: u64, remade: Remade) {
    let bytes = fs::read(segment).unwrap();
    let header = SegmentHeader::decode(bytes.first_chunk().unwrap()).unwrap();
    let (mut offset, mut link) = (SEGMENT_HEADER_LENGTH, header.previous.link);
    let mut forged = bytes.clone();
    loop {
        let item = Item::decode(&bytes[offset..], offset as u64, header.seed()).unwrap();
        let frame = match &item {
            Item::Record(record) if record.header.sequence < sequence => {
                link = record.header.link;
                offset += usize::try_from(record.header.footprint()).unwrap();
                continue;
            }
            Item::Record(record) => remake(record, &header, &mut link, sequence),
            Item::Seal(seal) => {
                let last = ChainPosition { link, ..seal.last };
                Seal { last, ..*seal }.encode(header.seed()).to_vec()
            }
            Item::Nothing => panic!("the segment is sealed"),
        };
        forged[offset..][..frame.len()].copy_from_slice(&frame);
        offset += frame.len();
        if matches!(item, Item::Seal(_)) || remade == Remade::Record {
            break;
        }
    }
    fs::write(segment, forged).unwrap();
}

/// The record behind the one with this link, which is its own then.
fn remake(record: &Record<'_>, segment: &SegmentHeader, link: &mut Link, sequence: u64) -> Vec<u8> {
    let mut payload = record.payload.to_vec();
    let RecordHeader { kind, version, .. } = record.header;
    if record.header.sequence == sequence {
        *payload.last_mut().unwrap() ^= 1;
        let [before, after] = [record.payload, &payload].map(|it| decode(kind, version, it));
        assert_ne!(after.unwrap(), before.unwrap());
    }
    let mut header = record.header.clone();
    header.link =
        Record { header: header.clone(), payload: &payload }.expected_link(segment.log, link);
    *link = header.link;
    let mut frame = Vec::new();
    encode_into(&mut frame, &header, &payload, segment.seed());
    frame
}

/// A way of looking for a record.
type Look<'l> = dyn Fn(&Engine) -> Result<(), SubmitError> + 'l;

/// No way of looking for the record gives it. Each names its segment, or the one that does not go
/// on from it.
fn assert_refused(place: &Place, number: usize, sequence: u64, files: &[String], what: &str) {
    let correlation = origin().correlation;
    let again = |engine: &Engine| {
        let content = content(number);
        engine.submit(&origin(), keyed(number), &small(content)).map(|_| ())
    };
    let by_term = |engine: &Engine| {
        let (tenant, issuer, key) = ("acme", "ci", format!("command {number}"));
        let term = Term::Key { tenant, engine: issuer, correlation: &correlation, key: &key };
        engine.records_with(&term).map(|_| ())
    };
    let link = |engine: &Engine| engine.link_of(sequence).map(|_| ());
    let looks: [&Look<'_>; 3] = [&again, &by_term, &link];
    for look in looks {
        let error = look(&engine(place)).expect_err(what).to_string();
        assert!(files.iter().any(|file| error.contains(file)), "{what}: {error}");
    }
}

#[test]
fn a_forged_record_of_a_sealed_segment_is_refused_by_every_lookup() {
    let place = Place::new();
    let sequences = fill(&place);
    settle(&place);
    for (number, sequence) in [(0, sequences[0]), (100, sequences[100])] {
        let found = segments(&place);
        let (first, path) = found.range(..=sequence).next_back().unwrap();
        let next = found.range(sequence + 1..).next().unwrap().0;
        let files = [segment_path(*first), segment_path(*next)];
        let right = fs::read(path).unwrap();
        for remade in [Remade::Record, Remade::Segment] {
            forge(path, sequence, remade);
            for has_index in [true, false] {
                let what = format!("record {sequence}, remade: {remade:?}, index: {has_index}");
                if !has_index {
                    fs::remove_file(&indexes(&place)[first]).unwrap();
                }
                assert_refused(&place, number, sequence, &files, &what);
            }
            fs::write(path, &right).unwrap();
            settle(&place);
        }
    }
    place.assert_intact();
}

#[test]
fn a_key_of_long_ago_is_found_in_kilobytes() {
    let place = Place::new();
    let sequences = fill(&place);
    settle(&place);
    let disk = Brittle::new(place.storage());
    let engine = Engine::open_with(disk.clone(), options()).expect("the log opens");
    let again = |number: usize| {
        let before = disk.read_of_segments();
        match engine.submit(&origin(), keyed(number), &small(content(number))).unwrap() {
            Submitted::Repeated(receipt) => assert_eq!(receipt.first_sequence, sequences[number]),
            other => panic!("command {number} again: {other:?}"),
        }
        disk.read_of_segments() - before
    };
    // What has no index yet is read once.
    again(0);
    let read = [1, 100, COMMANDS / 2].map(again);
    assert!(read.iter().all(|bytes| *bytes <= 64 * 1_024), "{read:?} bytes");
    engine.close().unwrap();
}
