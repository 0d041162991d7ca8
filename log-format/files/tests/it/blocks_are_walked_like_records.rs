//! Checking records many at once ends as checking them one after another: the same records are
//! seen, and the run stops at the same place for the same reason, whatever the bytes are, however
//! they are cut into blocks, and with however many threads.

use crate::support::{LOG, Memory, Segment, digest_of};
use holdpoint_log_files::blocks::{BlockLength, Workers, walk_blocks, walk_blocks_while};
use holdpoint_log_files::run::walk;
use holdpoint_log_files::window::Window;
use holdpoint_log_files::{ReadFile, RecordPlace, Run, Stop};
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::record::{NO_CLAIM, encode_into};
use holdpoint_log_format::{ChainPosition, Fault, Flags, Link, LinkPrefix, Record, RecordHeader};
use quickcheck::{Arbitrary, Gen};
use std::io;
use std::ops::ControlFlow;

/// Lengths that put the end of a block at, before and behind every part of a record.
const LENGTHS: [usize; 9] = [1, 8, 63, 64, 100, 160, 400, 1_000, 256 * 1_024];

/// What a walk showed, and how it ended.
type Walked = (Vec<(RecordPlace, RecordHeader, Vec<u8>)>, Run);

fn one_after_another<F: ReadFile>(file: F, segment: &Segment, from: Run) -> Walked {
    let mut seen = Vec::new();
    let mut window = Window::new(file).unwrap();
    let run = walk(&mut window, &segment.header, from, &mut |place, record| {
        seen.push((*place, record.header.clone(), record.payload.to_vec()));
        ControlFlow::Continue(())
    });
    (seen, run.unwrap())
}

fn in_blocks<F: ReadFile>(
    file: F,
    segment: &Segment,
    from: Run,
    length: usize,
    threads: usize,
) -> Walked {
    let window = Window::new(file).unwrap();
    let length = BlockLength { first: length, most: length * 2 };
    let make = |place: &RecordPlace, record: &Record<'_>| (*place, record.payload.to_vec(), 0);
    let complete = |block: &mut [(RecordPlace, Vec<u8>, u64)]| {
        let mut offset = block.first().map_or(0, |(place, ..)| place.offset);
        for (place, _, completed) in block {
            assert_eq!(place.offset, offset, "one behind the other");
            (offset, *completed) = (offset + place.length, *completed + 1);
        }
    };
    let mut seen = Vec::new();
    let workers = Workers::new(threads, length, &make).completing(&complete);
    let run = walk_blocks(&window, &segment.header, from, &workers, &mut |place, record, made| {
        assert_eq!(made, (*place, record.payload.to_vec(), 1), "made of this very record, once");
        seen.push((*place, record.header.clone(), made.1));
    });
    (seen, run.unwrap())
}

/// Compares both on the bytes of a segment, cut in all ways, by one thread.
fn assert_same(bytes: &[u8], segment: &Segment, what: &str) -> Run {
    let from = Run::at_start(&segment.header);
    let expected = one_after_another(Memory(bytes.to_vec()), segment, from.clone());
    for length in LENGTHS {
        let found = in_blocks(Memory(bytes.to_vec()), segment, from.clone(), length, 1);
        assert_eq!(found, expected, "{what}, in blocks of {length}");
    }
    expected.1
}

/// Wherever the visitor has had enough: in a batch, at its end, at the last record.
#[test]
fn who_has_had_enough_stops_at_the_same_record() {
    let segment = sealed();
    let from = Run::at_start(&segment.header);
    for enough in 1..=8 {
        let onward = |sequence| match sequence {
            at if at == enough => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let mut window = Window::new(Memory(segment.bytes.clone())).unwrap();
        let expected = walk(&mut window, &segment.header, from.clone(), &mut |_, record| {
            onward(record.header.sequence)
        });
        for length in LENGTHS {
            let length = BlockLength { first: length, most: length * 2 };
            let workers = Workers::new(1, length, &|_, _| ());
            let mut seen = 0;
            let mut visit = |_: &RecordPlace, record: &Record<'_>, ()| {
                seen += 1;
                onward(record.header.sequence)
            };
            let found =
                walk_blocks_while(&window, &segment.header, from.clone(), &workers, &mut visit);
            assert_eq!(found.unwrap(), *expected.as_ref().unwrap(), "enough at {enough}");
            assert_eq!(seen, enough.min(7));
        }
    }
}

/// Batches of one, of three, of one, a withheld record, a long payload.
fn sample() -> Segment {
    let mut segment = Segment::first();
    segment.push(Flags::NONE, b"");
    segment.push(Flags::MORE_FOLLOWS, b"one");
    segment.push(Flags::MORE_FOLLOWS, &[0xa5; 130]);
    segment.push(Flags::NONE, b"three of three");
    segment.push(Flags::WITHHELD, &[7; 32]);
    segment.push(Flags::NONE, &[0x5a; 700]);
    segment.push(Flags::NONE, b"the last");
    segment
}

fn sealed() -> Segment {
    let mut segment = sample();
    drop(segment.rolled());
    segment
}

#[test]
fn an_intact_run_is_the_same_in_blocks_of_every_length() {
    for (segment, is_sealed) in [(sample(), false), (sealed(), true)] {
        let from = Run::at_start(&segment.header);
        let expected = one_after_another(Memory(segment.file()), &segment, from.clone());
        assert_eq!((expected.0.len(), expected.1.chain.sequence), (7, 7));
        assert_eq!(matches!(expected.1.stop, Stop::Seal(_)), is_sealed);
        for length in 1..1_400 {
            let found = in_blocks(Memory(segment.file()), &segment, from.clone(), length, 1);
            assert_eq!(found, expected, "blocks of {length}");
        }
    }
}

#[test]
fn every_flipped_bit_stops_both_at_the_same_place_for_the_same_reason() {
    let segment = sealed();
    let whole = segment.file();
    for at in SEGMENT_HEADER_LENGTH..segment.bytes.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            let run = assert_same(&bytes[..segment.bytes.len() + 64], &segment, &at.to_string());
            assert!(!matches!(run.stop, Stop::Seal(_)), "a flip at {at} is seen");
        }
    }
}

#[test]
fn a_file_cut_at_every_length_stops_both_at_the_same_place() {
    let segment = sealed();
    for length in SEGMENT_HEADER_LENGTH..=segment.bytes.len() {
        assert_same(&segment.bytes[..length], &segment, &length.to_string());
    }
}

#[test]
fn records_dropped_swapped_and_repeated_stop_both_at_the_same_place() {
    let segment = sealed();
    let at = segment.boundaries();
    let piece = |index: usize| &segment.bytes[at[index]..at[index + 1]];
    let count = at.len() - 1;
    let end = segment.bytes[at[count]..].to_vec();
    for first in 0..count {
        for second in 0..count {
            let mut orders: Vec<Vec<usize>> = vec![(0..count).collect(); 3];
            orders[0].swap(first, second);
            orders[1].remove(first);
            orders[2].insert(second, first);
            for order in orders {
                let mut bytes = segment.bytes[..SEGMENT_HEADER_LENGTH].to_vec();
                order.iter().for_each(|index| bytes.extend(piece(*index)));
                bytes.extend(&end);
                bytes.resize(8_192, 0);
                assert_same(&bytes, &segment, &format!("{order:?}"));
            }
        }
    }
}

#[test]
fn hostile_sizes_stop_both_at_the_same_place() {
    let segment = sealed();
    let sizes = [
        0,
        1,
        63,
        64,
        65,
        72,
        1_000,
        60_000,
        65_536,
        67_108_928,
        67_108_929,
        u32::MAX,
        u32::from_le_bytes(*b"SEAL"),
    ];
    for at in segment.boundaries() {
        for size in sizes {
            for length in [segment.bytes.len(), 65_536] {
                let mut bytes = segment.file();
                bytes[at..at + 4].copy_from_slice(&size.to_le_bytes());
                assert_same(&bytes[..length], &segment, &format!("size {size} at {at}"));
            }
        }
    }
}

/// Forged records whose checksums are right: only the chain tells.
#[test]
fn forged_headers_with_good_checksums_stop_both_at_the_same_place() {
    let segment = sealed();
    let (at, seed) = (segment.boundaries(), segment.header.seed());
    let mut previous = segment.header.previous.link;
    let mut reasons = Vec::new();
    for pair in at.windows(2) {
        let (start, end) = (pair[0], pair[1]);
        let record = Record::decode(&segment.bytes[start..end], seed).unwrap();
        for forged in forgeries(&record, &previous) {
            let mut again = Vec::new();
            encode_into(&mut again, &forged, record.payload, seed);
            let mut bytes = segment.file();
            bytes[start..end].copy_from_slice(&again);
            let run = assert_same(&bytes[..8_192], &segment, &format!("{forged:?}"));
            match run.stop {
                Stop::Fault(fault) => reasons.push(fault.name()),
                other => unreachable!("{forged:?} ended in {other:?}"),
            }
        }
        previous = record.header.link;
    }
    for reason in ["sequence", "link", "time_backwards", "unsynced_claim"] {
        assert!(reasons.contains(&reason), "{reason} among {reasons:?}");
    }
}

/// A header with each of its fields changed; where only time or claim are wrong, the link is made
/// anew.
fn forgeries(record: &Record<'_>, previous: &Link) -> Vec<RecordHeader> {
    let header = &record.header;
    let digest = digest_of(header.flags, record.payload);
    let prefix = LinkPrefix::new(LOG, header.kind, header.version, header.flags, &digest);
    let relinked = |unsynced, time| {
        let link = prefix.link(previous, unsynced, header.sequence, time);
        RecordHeader { unsynced, time, link, ..header.clone() }
    };
    vec![
        RecordHeader { sequence: header.sequence + 1, ..header.clone() },
        RecordHeader { link: Link([1; 32]), ..header.clone() },
        RecordHeader { kind: header.kind + 1, ..header.clone() },
        RecordHeader { time: header.time + 1, ..header.clone() },
        relinked(0, 0),
        relinked(u32::try_from(header.sequence).unwrap(), header.time),
        relinked(NO_CLAIM, header.time),
    ]
}

#[test]
fn a_claim_holds_only_where_it_names_the_end_of_a_batch() {
    // Behind batches of one, of three, of one: records 1, 4 and 5 end them.
    for (named, is_end) in [(0, true), (1, true), (2, false), (3, false), (4, true), (5, true)] {
        let mut segment = Segment::first();
        segment.push(Flags::NONE, b"");
        for flags in [Flags::MORE_FOLLOWS, Flags::MORE_FOLLOWS, Flags::NONE, Flags::NONE] {
            segment.push(flags, b"of a batch");
        }
        segment.push_claiming(named, Flags::NONE, b"");
        let run = assert_same(&segment.file(), &segment, &named.to_string());
        let expected = match is_end {
            true => (6, Stop::Nothing),
            false => (5, Stop::Fault(Fault::ClaimInBatch { sequence: 6, found: named })),
        };
        assert_eq!((run.chain.sequence, run.stop), expected);
    }
}

#[test]
fn a_walk_that_begins_behind_a_known_record_goes_on_alike() {
    let segment = sealed();
    let (at, seed) = (segment.boundaries(), segment.header.seed());
    for pair in at.windows(2) {
        let record = Record::decode(&segment.bytes[pair[0]..pair[1]], seed).unwrap().header;
        let RecordHeader { sequence, link, time, .. } = record;
        let chain = ChainPosition { sequence, link, time };
        for chain in [chain, ChainPosition { link: Link([9; 32]), ..chain }] {
            let from = Run::from(chain, pair[0] as u64, pair[1] as u64);
            let expected = one_after_another(Memory(segment.file()), &segment, from.clone());
            for length in LENGTHS {
                let found = in_blocks(Memory(segment.file()), &segment, from.clone(), length, 1);
                assert_eq!(found, expected, "behind {sequence}, in blocks of {length}");
            }
        }
    }
}

/// A file that has become shorter since its length was read, or that cannot be read from a place
/// on.
struct Shrunk {
    bytes: Vec<u8>,
    left: usize,
    fails: bool,
}

impl ReadFile for Shrunk {
    fn length(&self) -> io::Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap().min(self.left);
        let length = buffer.len().min(self.left - start);
        if length == 0 && self.fails {
            return Err(io::Error::other("it cannot be read"));
        }
        buffer[..length].copy_from_slice(&self.bytes[start..start + length]);
        Ok(length)
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_stops_both_at_the_same_place() {
    let segment = sealed();
    let file = |left| Shrunk { bytes: segment.file(), left, fails: false };
    let from = Run::at_start(&segment.header);
    for left in SEGMENT_HEADER_LENGTH..segment.bytes.len() {
        let expected = one_after_another(file(left), &segment, from.clone());
        for length in LENGTHS {
            let found = in_blocks(file(left), &segment, from.clone(), length, 1);
            assert_eq!(found, expected, "{left} bytes left, in blocks of {length}");
        }
    }
}

#[test]
fn what_the_disk_refuses_is_an_error_behind_the_records_before_it() {
    let segment = sealed();
    for (left, threads) in
        (SEGMENT_HEADER_LENGTH..segment.bytes.len()).step_by(8).zip([1, 3].repeat(99))
    {
        let window = Window::new(Shrunk { bytes: segment.file(), left, fails: true }).unwrap();
        let length = BlockLength { first: 8, most: 64 };
        let mut seen = 0;
        let workers = Workers::new(threads, length, &|_, _| ());
        let from = Run::at_start(&segment.header);
        let failed =
            walk_blocks(&window, &segment.header, from, &workers, &mut |_, _, ()| seen += 1);
        let whole = segment.boundaries().iter().filter(|end| **end <= left).count();
        assert_eq!(seen, whole - 1, "{left} bytes can be read");
        assert_eq!(failed.unwrap_err().to_string(), "it cannot be read");
    }
}

/// Random damage of a long run, by several threads. The seed of a failure is in its message;
/// HOLDPOINT_SEED repeats it.
#[test]
fn random_damage_stops_both_at_the_same_place_with_several_threads() {
    let segment = long();
    let whole = segment.file();
    let from = Run::at_start(&segment.header);
    let given = std::env::var("HOLDPOINT_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = given.map_or(0..150, |seed: u64| seed..seed + 1);
    for seed in seeds {
        let mut random = Gen::from_size_and_seed(64, seed);
        let mut bytes = whole.clone();
        for _ in 0..u8::arbitrary(&mut random) % 3 {
            let at = usize::arbitrary(&mut random) % bytes.len();
            bytes[at.max(SEGMENT_HEADER_LENGTH)] ^= u8::arbitrary(&mut random);
        }
        let expected = one_after_another(Memory(bytes.clone()), &segment, from.clone());
        let length = 1 + usize::arbitrary(&mut random) % 5_000;
        for threads in [1, 2, 4] {
            let found = in_blocks(Memory(bytes.clone()), &segment, from.clone(), length, threads);
            assert_eq!(found, expected, "{threads} threads, HOLDPOINT_SEED={seed}");
        }
    }
}

/// Records of many lengths that fill most of a segment.
fn long() -> Segment {
    let mut segment = Segment::first();
    for number in 0..150_u32 {
        let flags = if number % 3 == 0 { Flags::MORE_FOLLOWS } else { Flags::NONE };
        let length = (number as usize * 37) % 600;
        segment.push(flags, &vec![number as u8; length]);
    }
    segment
}

#[test]
fn a_panic_of_whoever_visits_or_makes_ends_the_threads_and_goes_on() {
    let segment = long();
    let walked = |make_panics: bool| {
        std::panic::catch_unwind(|| {
            let window = Window::new(Memory(segment.file())).unwrap();
            let make = |_: &RecordPlace, record: &Record<'_>| {
                assert!(!(make_panics && record.header.sequence == 60), "as told");
            };
            let workers = Workers::new(3, BlockLength { first: 64, most: 256 }, &make);
            let from = Run::at_start(&segment.header);
            walk_blocks(&window, &segment.header, from, &workers, &mut |_, record, ()| {
                assert!(make_panics || record.header.sequence != 60, "as told");
            })
        })
    };
    assert!(walked(true).is_err());
    assert!(walked(false).is_err());
}
