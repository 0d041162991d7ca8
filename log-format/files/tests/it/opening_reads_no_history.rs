//! What opening looks at does not grow with the log: the list, HEAD, LOCK, and the few segments
//! that it relies on. Damage in those is found; what lies in older ones is for verifying.

use crate::support::{BOOT, Image, LOG, Segment, options};
use holdpoint_log_files::survey::HeaderBlock;
use holdpoint_log_files::{Extent, JoinedLog, LogReader, READINGS_MAX, Survey, survey};
use holdpoint_log_format::recovery::{Row, Verdict};
use holdpoint_log_format::{ChainPosition, Flags, Head, Lock, OwnerState, names};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn surveyed(image: &Image, extent: Extent) -> Survey {
    survey(image, options(extent), &mut |_, _| {}).unwrap()
}

fn path(first_sequence: u64) -> String {
    format!("segments/{}", names::segment(first_sequence))
}

#[test]
fn a_log_of_sixty_segments_is_opened_with_the_calls_of_one_of_five() {
    let asked = [5, 60].map(|count| {
        let image = Image::of_segments(count);
        let survey = surveyed(&image, Extent::FromHead);
        assert_eq!((survey.row, survey.findings.len()), (Row::Clean, 0));
        assert_eq!(survey.segments.len(), count);
        let read = survey.segments.iter().filter(|s| s.header != HeaderBlock::NotRead).count();
        assert_eq!(read, 3, "the first, the one before HEAD's, and HEAD's");
        image.asked()
    });
    assert_eq!(asked[0], asked[1]);
}

#[test]
fn an_old_header_is_no_matter_of_opening_and_verifying_finds_it() {
    let whole = Image::of_segments(6);
    let firsts = whole.firsts();
    for (index, first) in firsts.iter().enumerate() {
        let mut image = whole.clone();
        image.files.get_mut(&path(*first)).unwrap()[40] ^= 1;
        let is_relied_on = index == 0 || index >= 4;
        let opening = surveyed(&image, Extent::FromHead).row.verdict() == Verdict::Corrupt;
        assert_eq!(opening, is_relied_on, "segment {first}");
        assert_eq!(surveyed(&image, Extent::FromAnchor).row.verdict(), Verdict::Corrupt, "{first}");
    }
}

#[test]
fn the_seal_before_the_segment_of_head_is_relied_on_and_older_ones_are_not() {
    let whole = Image::of_segments(6);
    let firsts = whole.firsts();
    for (index, first) in firsts.iter().enumerate().take(5) {
        let mut image = whole.clone();
        let bytes = image.files.get_mut(&path(*first)).unwrap();
        let seal = bytes.windows(4).position(|tag| tag == b"SEAL").unwrap();
        bytes[seal + 20] ^= 1;
        let survey = surveyed(&image, Extent::FromHead);
        assert_eq!(survey.row == Row::EarlierSegment, index == 4, "segment {first}");
        assert_eq!(surveyed(&image, Extent::FromAnchor).row, Row::EarlierSegment, "{first}");
    }
}

#[test]
fn segments_behind_that_of_head_are_all_read() {
    let mut image = Image::of_segments(6);
    let earlier = Image::of_segments(3);
    // HEAD of the log when it had three segments: it names a segment that was sealed since.
    image.files.insert(names::HEAD.into(), earlier.files[names::HEAD].clone());
    let survey = surveyed(&image, Extent::FromHead);
    let is_read = |header: &HeaderBlock| *header != HeaderBlock::NotRead;
    let read: Vec<bool> = survey.segments.iter().map(|s| is_read(&s.header)).collect();
    assert_eq!(read, [true; 6], "the first, the one before HEAD's, and all from there on");
    assert_eq!((survey.row, survey.mark), (Row::CleanUnproven, 17));
}

#[test]
fn without_a_head_that_names_a_segment_everything_is_read() {
    let whole = Image::of_segments(6);
    let mut missing = whole.clone();
    missing.files.remove(names::HEAD);
    let mut garbage = whole.clone();
    garbage.files.get_mut(names::HEAD).unwrap()[20] ^= 1;
    let mut gone = whole.clone();
    gone.files.remove(&path(16));
    let (corrupt, short) = (Verdict::Corrupt, Verdict::ShortOfHead);
    for (image, verdict) in [(missing, corrupt), (garbage, corrupt), (gone, short)] {
        let survey = surveyed(&image, Extent::FromHead);
        assert_eq!(survey.row.verdict(), verdict);
        assert!(survey.segments.iter().all(|s| s.header != HeaderBlock::NotRead));
    }
}

/// A log whose last segment is larger than what opening looks through, and who left it how.
fn with_unused_space(state: OwnerState, durable_sequence: u64) -> Image {
    let mut image = Image::default();
    let mut segment = Segment::first();
    segment.header.capacity = 1 << 20;
    segment = Segment::begun(segment.header);
    (0..3).for_each(|_| segment.push(Flags::NONE, b"one of three"));
    image.put(&segment);
    image.witness(&segment);
    let lock = Lock {
        pid: 1,
        state,
        previous_state: state,
        boot: BOOT,
        durable_sequence,
        wall_minus_boot: 0,
    };
    image.files.insert(names::LOCK.into(), lock.encode().to_vec());
    image
}

#[test]
fn unused_space_is_looked_through_whole_unless_its_owner_left_it_and_said_so() {
    for (state, durable, is_left) in [
        (OwnerState::Idle, 3, true),
        (OwnerState::Idle, 2, false),
        (OwnerState::InTransaction, 3, false),
        (OwnerState::Poisoned, 3, false),
    ] {
        let mut image = with_unused_space(state, durable);
        assert_eq!(surveyed(&image, Extent::FromHead).row, Row::Clean, "{state:?} {durable}");
        let read = image.asked().bytes;
        assert_eq!(read < 1 << 19, is_left, "{state:?} {durable}: {read} bytes");
        for (at, is_near) in [(20_000, true), (262_144, true), (400_000, false)] {
            image.files.get_mut(&path(1)).unwrap()[at] = 7;
            let found = surveyed(&image, Extent::FromHead).row != Row::Clean;
            assert_eq!(found, is_near || !is_left, "{state:?} {durable}, byte {at}");
            assert_ne!(surveyed(&image, Extent::FromAnchor).row, Row::Clean, "byte {at}");
            image.files.get_mut(&path(1)).unwrap()[at] = 0;
        }
    }
    // Where records are missing that were durable, there is nothing to rely on.
    let image = with_unused_space(OwnerState::Idle, 4);
    assert_eq!(surveyed(&image, Extent::FromHead).row, Row::ShortOfHead);
}

#[test]
fn a_log_that_always_moves_is_looked_at_four_times_and_no_more() {
    let mut image = Image::of_segments(2);
    let anchor = ChainPosition { sequence: 3, ..ChainPosition::genesis(LOG) };
    let head = Head::at_anchor(LOG, &anchor, BOOT);
    image.files.insert(names::HEAD.into(), head.encode().to_vec());
    let looks = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&looks);
    let find = move |_: &Image, _: &Head| {
        counted.fetch_add(1, Ordering::Relaxed);
        Err(ErrorKind::NotFound.into())
    };
    let joined = JoinedLog::new(image, Box::new(find));
    let error = LogReader::of(&joined).err().unwrap();
    assert!(!error.is_gone(), "whoever reads does not begin anew: {error}");
    assert_eq!(looks.load(Ordering::Relaxed), READINGS_MAX);
}
