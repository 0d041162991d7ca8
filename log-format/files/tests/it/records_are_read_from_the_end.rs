//! Whoever reads from HEAD back is shown the records that are there, the newest first, each proven,
//! and nothing that was changed or that only looks like a record.

use crate::support::{Image, Segment};
use holdpoint_log_files::{LogReader, Standing, Ties};
use holdpoint_log_format::{Flags, Record};
use std::ops::ControlFlow;

/// Sequence and payload of a record.
type Told = (u64, Vec<u8>);

/// A sealed segment and one that is written to, of batches and of payloads of every length: one is
/// longer than what is read at once, and one holds the image of the record before it.
fn sample() -> (Image, Vec<Segment>, Vec<Told>) {
    let (mut image, mut told) = (Image::default(), Vec::new());
    let mut first = Segment::first();
    (0..9_usize).for_each(|at| push(&mut first, &mut told, Flags::NONE, &vec![7; at * 90]));
    let mut last = first.rolled();
    push(&mut last, &mut told, Flags::MORE_FOLLOWS, b"the first of two");
    push(&mut last, &mut told, Flags::NONE, b"the second of two");
    push(&mut last, &mut told, Flags::NONE, &vec![3; 20_000]);
    let at = usize::try_from(last.end()).unwrap();
    push(&mut last, &mut told, Flags::NONE, b"what an image is made of");
    let frame = last.bytes[at..].to_vec();
    push(&mut last, &mut told, Flags::NONE, &frame);
    push(&mut last, &mut told, Flags::WITHHELD, &[9; 32]);
    push(&mut last, &mut told, Flags::NONE, b"");
    let segments = vec![first, last];
    segments.iter().for_each(|segment| image.put(segment));
    image.witness(segments.last().unwrap());
    (image, segments, told)
}

fn push(segment: &mut Segment, told: &mut Vec<Told>, flags: Flags, payload: &[u8]) {
    segment.push(flags, payload);
    told.push((segment.last.sequence, payload.to_vec()));
}

/// What is shown from the end of the log on, and whether all of it could be.
fn shown(image: &Image) -> (Vec<Told>, bool) {
    let reader = LogReader::of(image).unwrap();
    let (mut ties, mut told) = (Ties::begin(&reader), Vec::new());
    while let Some(due) = ties.due(&reader) {
        let opened = reader.open(due, &mut Vec::new()).unwrap();
        let Some(mut segment) = opened else { return (told, false) };
        let mut visit = |record: &Record<'_>| {
            told.push((record.header.sequence, record.payload.to_vec()));
            ControlFlow::Continue(())
        };
        if !ties.read_back(&reader, &mut segment, &mut |_, _, it| visit(it)).unwrap() {
            return (told, false);
        }
        assert!(told.iter().all(|(it, _)| ties.standing_of(*it) == Standing::Proven));
    }
    (told, true)
}

#[test]
fn every_record_is_shown_from_the_newest_one_back_and_is_tied() {
    let (image, _, mut told) = sample();
    told.reverse();
    assert_eq!(shown(&image), (told, true));
}

#[test]
fn whoever_has_enough_is_shown_no_more_and_no_more_is_tied() {
    let (image, _, told) = sample();
    let reader = LogReader::of(&image).unwrap();
    let mut ties = Ties::begin(&reader);
    let due = ties.due(&reader).unwrap();
    let mut segment = reader.open(due, &mut Vec::new()).unwrap().unwrap();
    let (newest, asked_before) = (told.last().unwrap().0, image.asked().bytes);
    let visit = |sequence| {
        if sequence == newest - 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let read = ties.read_back(&reader, &mut segment, &mut |before, _, record| {
        assert_eq!(before.sequence + 1, record.header.sequence);
        visit(record.header.sequence)
    });
    assert!(read.unwrap());
    let standings = [newest, newest - 1, newest - 2].map(|it| ties.standing_of(it));
    assert_eq!(standings, [Standing::Proven, Standing::Proven, Standing::Unproven]);
    assert_eq!(ties.due(&reader), None);
    assert!(image.asked().bytes - asked_before < 20_000, "the long record is not read");
}

#[test]
fn tamper_no_flipped_bit_is_shown_and_nothing_before_it_is() {
    let (whole, segments, mut told) = sample();
    told.reverse();
    for segment in &segments {
        let ends = segment.boundaries();
        for at in (ends[0]..segment.bytes.len()).step_by(13) {
            let mut image = whole.clone();
            image.files.get_mut(&segment.path()).unwrap()[at] ^= 1 << (at % 8);
            let (found, is_whole) = shown(&image);
            assert!(!is_whole && told.starts_with(&found), "byte {at} {is_whole} {}", found.len());
            // The seal is changed with the record before it.
            let intact = ends.iter().skip(1).filter(|end| **end <= at).count() as u64;
            let changed = (segment.header.first_sequence() + intact).min(segment.last.sequence);
            assert!(found.iter().all(|(sequence, _)| *sequence > changed), "byte {at}");
        }
    }
}

#[test]
fn tamper_a_file_of_any_length_gives_no_record_that_was_not_there() {
    let (whole, segments, mut told) = sample();
    told.reverse();
    let last = segments.last().unwrap();
    for length in (0..last.bytes.len()).step_by(509) {
        let mut image = whole.clone();
        image.files.get_mut(&last.path()).unwrap().truncate(length);
        let (found, is_whole) = shown(&image);
        assert!(!is_whole && told.starts_with(&found), "{length} bytes");
    }
}

#[test]
fn tamper_a_head_that_names_another_place_or_record_shows_nothing() {
    let (whole, segments, _) = sample();
    let last = segments.last().unwrap();
    let changes: [fn(&mut Segment); 3] = [
        |segment| segment.newest_at -= 8,
        |segment| segment.last.link.0[3] ^= 1,
        |segment| segment.bytes.extend([0; 8]),
    ];
    for change in changes {
        let (mut image, mut segment) = (whole.clone(), last.clone());
        change(&mut segment);
        image.witness(&segment);
        assert_eq!(shown(&image), (Vec::new(), false));
    }
}
