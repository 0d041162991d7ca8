//! The worked example of FORMAT.md, section 28, made from nothing.

use holdpoint_forger::layout::{MORE_FOLLOWS, header, record, seal};
use holdpoint_forger::{Item, Log, Reach, Record, RecordAt, Segment, checksum, link};

const DOCUMENT: &str = include_str!("../../../../log-format/FORMAT.md");
const LOG: [u8; 16] = [
    0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x1d, 0x1e, 0x1f,
];

/// The bytes that the document shows; lines of zeros are left out there.
fn shown() -> Vec<u8> {
    let dump = DOCUMENT.split("```hexdump\n").nth(1).unwrap().split("```").next().unwrap();
    let mut bytes = vec![0; 65_536];
    for line in dump.lines() {
        let mut words = line.split_whitespace();
        let at = usize::from_str_radix(words.next().unwrap(), 16).unwrap();
        for (place, word) in words.enumerate() {
            bytes[at + place] = u8::from_str_radix(word, 16).unwrap();
        }
    }
    bytes
}

fn example() -> Segment {
    let mut log = Log::new(LOG, [0; 16]);
    let mut first = Record::new(1, 1, Vec::new());
    first.set_flags(MORE_FOLLOWS);
    first.header.set_number(record::TIME, 1_700_000_000_000_000_000);
    let mut second = Record::new(32, 1, b"hold point".to_vec());
    second.header.set_number(record::UNSYNCED, 1);
    second.header.set_number(record::TIME, 1_700_000_000_000_000_001);
    log.append_records(vec![first, second]);
    let segment = log.segment_mut(0);
    segment.remake_seal();
    assert!(segment.fit());
    segment.clone()
}

#[test]
fn what_is_made_from_nothing_is_the_example_byte_for_byte() {
    assert_eq!(example().encode(), shown());
}

#[test]
fn what_is_read_of_the_example_is_what_the_document_says() {
    let segment = Segment::decode(&shown()).unwrap();
    assert_eq!(segment.first_sequence(), 1);
    assert_eq!(segment.header.number(header::CAPACITY), 65_536);
    let places: Vec<usize> =
        (0..=segment.items.len()).map(|item| segment.offset_of(item)).collect();
    assert_eq!(places, [4096, 4160, 4240, 4304]);
    assert!(matches!(segment.items[2], Item::Seal(_)));
    assert_eq!(segment.encode(), shown());
}

#[test]
fn checksums_and_links_of_the_example_are_those_that_the_helpers_give() {
    let segment = Segment::decode(&shown()).unwrap();
    assert_eq!(checksum::of_block(&segment.header), 0x9bb1_b349);
    let mut previous = link::genesis(&LOG);
    assert_eq!(segment.header.bytes(header::PREVIOUS_LINK), previous);
    for (_, record) in segment.records() {
        assert_eq!(link::of_record(&LOG, &previous, record), record.link());
        let checksum = checksum::of_item(segment.seed(), &record.header, &record.payload);
        assert_eq!(u64::from(checksum), record.header.number(record::CHECKSUM));
        previous = record.link();
    }
    let Item::Seal(block) = &segment.items[2] else { panic!("there is a seal") };
    let checksum = checksum::of_item(segment.seed(), block, &[]);
    assert_eq!(u64::from(checksum), block.number(seal::CHECKSUM));
}

#[test]
fn a_checksum_is_that_of_zlib() {
    assert_eq!(checksum::crc32(0, b"123456789"), 0xcbf4_3926);
    assert_eq!(checksum::crc32(checksum::crc32(0, b"12345"), b"6789"), 0xcbf4_3926);
}

#[test]
fn a_withheld_payload_leaves_the_link() {
    let mut log = Log::new(LOG, [0; 16]);
    log.append_records(vec![Record::new(32, 1, b"hold point".to_vec())]);
    let at = RecordAt { segment: 0, item: 0 };
    let (genuine, digest) = (log.record(at).link(), log.record(at).payload_digest());
    log.record_mut(at).set_payload(digest.to_vec());
    log.record_mut(at).set_flags(4);
    assert!(log.remake(at, Reach::Log));
    assert_eq!(log.record(at).link(), genuine);
}
