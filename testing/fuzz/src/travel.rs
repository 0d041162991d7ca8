//! Two damaged copies of one log: gone to any place of one, compared at two places and with each
//! other, and searched for what began to hold.

use super::damage::Damage;
use super::image::Image;
use super::written::Written;
use arbitrary::Unstructured;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_engine::log::Storage;
use holdpoint_replay::bisect::Bisected;
use holdpoint_replay::{
    Answer, Difference, Moment, Outcome, ReadError, ReadOptions, Timeline, Until, bisect,
    common_prefix, diff, diff_states, find_entities, ids, rebuild, state_of,
};
use holdpoint_simulation::SimulatedDisk;
use std::convert::Infallible;

/// Most bytes of a state as JSON for each byte of the log, and of an empty one.
const GROWTH_MAX: usize = 96;
const EMPTY_BYTES_MAX: usize = 4_096;

/// Makes directories as the input says, goes through them, and asserts what must hold whatever
/// they are.
pub fn read(bytes: &[u8]) {
    // An input that is used up says nothing more.
    let _ = try_read(&mut Unstructured::new(bytes));
}

fn try_read(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let written = Written::plan(input)?;
    let places = [place(input)?, place(input)?];
    let one = damaged(&written, input)?;
    let other = damaged(&written, input)?;
    let log_bytes: usize = written.segments.iter().map(|segment| segment.bytes.len()).sum();
    let (Some(one_line), Some(other_line)) = (opened(&one), opened(&other)) else {
        return Ok(());
    };
    check_places(&one, &one_line, places, log_bytes);
    check_bisection(&one_line, places);
    check_two(&one_line, &other_line);
    Ok(())
}

fn place(input: &mut Unstructured<'_>) -> arbitrary::Result<Until> {
    Ok(match input.int_in_range(0..=2_u8)? {
        0 => Until::End,
        1 => Until::Sequence(input.arbitrary::<u8>()?.into()),
        _ => Until::Time(Timestamp::from_nanoseconds(input.arbitrary::<u16>()?.into())),
    })
}

fn damaged(written: &Written, input: &mut Unstructured<'_>) -> arbitrary::Result<SimulatedDisk> {
    let mut image = Image::of(written, input)?;
    Damage::happen(&mut image, written, input)?;
    Ok(image.disk())
}

fn reading(disk: &SimulatedDisk) -> ReadOptions<'static> {
    ReadOptions::new(disk.boot(), &|| Ok(false))
}

/// Nothing where a file is of a newer format, or the state at the log's beginning is not known.
fn opened(disk: &SimulatedDisk) -> Option<Timeline<'_, SimulatedDisk>> {
    let line = Timeline::open(disk, reading(disk), &mut |_| {});
    let line = line.ok()?;
    match line.at(Until::End) {
        Ok(_) => Some(line),
        Err(ReadError::NoBeginning { .. }) => None,
        Err(error) => unreachable!("memory was read before: {error}"),
    }
}

/// The state at a place, which may lie before the log's beginning.
fn at(line: &Timeline<'_, SimulatedDisk>, until: Until) -> Option<Moment> {
    match line.at(until) {
        Ok(moment) => Some(moment),
        Err(ReadError::BeforeAnchor { .. }) => None,
        Err(error) => unreachable!("memory was read before: {error}"),
    }
}

/// The state at a place is the rebuilt one, however it is come to, and the difference of two
/// states makes the second one of the first.
fn check_places(
    disk: &SimulatedDisk,
    line: &Timeline<'_, SimulatedDisk>,
    places: [Until; 2],
    log_bytes: usize,
) {
    let moments = places.map(|until| at(line, until));
    for (until, moment) in places.into_iter().zip(&moments) {
        let Some(moment) = moment else { continue };
        if moment.stopped_before.is_none() {
            let rebuilt = rebuild(disk, until, reading(disk), &mut |_| {}, &mut |_| {});
            let rebuilt = rebuilt.unwrap_or_else(|error| unreachable!("it was read: {error}"));
            assert_eq!(rebuilt.head, moment.head());
            assert_eq!(rebuilt.world.fingerprint(), moment.world.fingerprint());
        }
        check_watched(line, until, moment);
    }
    let [Some(one), Some(other)] = moments else { return };
    let [of_one, of_other] = places;
    let (first, last, until) = match one.sequence() <= other.sequence() {
        true => (one, other, of_other),
        false => (other, one, of_one),
    };
    let found = diff(line, &first, until);
    let (found, to) = found.unwrap_or_else(|error| unreachable!("it was read: {error}"));
    assert_eq!(state_of(&to), state_of(&last));
    check_difference(&found, &first, &last);
    let length = state_of(&last).to_string().len();
    assert!(length <= GROWTH_MAX * log_bytes + EMPTY_BYTES_MAX, "{length} bytes of {log_bytes}");
}

/// What is in the state is found by its id, also by whoever watches it from the beginning.
fn check_watched(line: &Timeline<'_, SimulatedDisk>, until: Until, moment: &Moment) {
    for id in ids(&moment.world).take(3) {
        let watching = line.at_watching(until, id);
        let watching = watching.unwrap_or_else(|error| unreachable!("it was read: {error}"));
        assert_eq!(watching.watched(), find_entities(&moment.world, id), "{id:?}");
    }
}

fn check_difference(found: &Difference, from: &Moment, to: &Moment) {
    let mut state = state_of(from);
    let patched = json_patch::patch(&mut state, &found.patch);
    assert!(patched.is_ok(), "{patched:?}");
    assert_eq!(state, state_of(to));
    for entity in &found.entities {
        assert!(entity.first_record <= entity.last_record, "{entity:?}");
    }
}

/// What begins to hold with a record is found in the batch of that record.
fn check_bisection(line: &Timeline<'_, SimulatedDisk>, [wanted, _]: [Until; 2]) {
    let Until::Sequence(record) = wanted else { return };
    let begin = Until::Sequence(line.anchor());
    let found = bisect(line, (begin, Until::End), None, &mut |moment: &Moment| {
        let holds = moment.sequence() >= record;
        Ok::<_, Infallible>(if holds { Answer::Holds } else { Answer::DoesNot })
    });
    let Ok(Bisected { outcome, states, .. }) = found else {
        unreachable!("the log was read before: {found:?}")
    };
    assert!(states <= 80, "{states}");
    match outcome {
        Outcome::Found(found) => {
            assert!(found.after < record && record <= found.record, "{found:?}");
            assert!(found.records.iter().all(|line| line.sequence <= found.record));
        }
        Outcome::HoldsFromTheStart { .. } => assert!(record <= line.anchor()),
        Outcome::DoesNotHoldAtTheEnd { head } => {
            assert!(head.is_none_or(|head| head.sequence < record));
        }
        other => unreachable!("nothing was passed over: {other:?}"),
    }
}

/// How far two logs are the same does not depend on which of them is asked first.
fn check_two(one: &Timeline<'_, SimulatedDisk>, other: &Timeline<'_, SimulatedDisk>) {
    let there = common_prefix(one, other);
    let there = there.unwrap_or_else(|error| unreachable!("they were read: {error}"));
    let back = common_prefix(other, one);
    let back = back.unwrap_or_else(|error| unreachable!("they were read: {error}"));
    assert_eq!((there.common, there.is_one_log), (back.common, back.is_one_log));
    assert_eq!((&there.next, &there.newest), (&back.next_of_other, &back.newest_of_other));
    let last = |line: &Timeline<'_, SimulatedDisk>| line.newest().map_or(0, |head| head.sequence);
    assert!(there.common <= last(one).min(last(other)), "{there:?}");
    let is_parted = there.next.as_ref().zip(there.next_of_other.as_ref());
    assert!(is_parted.is_none_or(|(next, of_other)| next.link != of_other.link), "{there:?}");
    let ends = (at(one, Until::End), at(other, Until::End));
    let (Some(from), Some(to)) = ends else { return };
    check_difference(&diff_states(&from, &to), &from, &to);
}
