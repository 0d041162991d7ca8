//! Records of a damaged log: looked for in both directions, and their causes and effects followed.

use super::damage::Damage;
use super::image::Image;
use super::written::Written;
use arbitrary::Unstructured;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_engine::log::Storage;
use holdpoint_replay::trace::{DEPTH_MAX, EFFECTS_MAX, STEP_RECORDS_MAX};
use holdpoint_replay::{
    ActorFilter, Filter, Line, OneOf, Order, Part, ReadError, ReadOptions, Report, Role, Searched,
    Span, TextFilter, Trace, Traced, records, search, span, trace, verify,
};
use holdpoint_simulation::SimulatedDisk;
use std::ops::ControlFlow;

/// Makes a directory as the input says, asks it, and asserts what must hold whatever it is.
pub fn read(bytes: &[u8]) {
    // An input that is used up says nothing more.
    let _ = try_read(&mut Unstructured::new(bytes));
}

fn try_read(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let written = Written::plan(input)?;
    let (sequence, depth) = (input.arbitrary::<u8>()?, input.arbitrary::<u16>()?);
    let wanted: [u8; 8] = input.arbitrary()?;
    let mut image = Image::of(&written, input)?;
    Damage::happen(&mut image, &written, input)?;
    let disk = image.disk();
    let Some(report) = expected(verify(&disk, reading(&disk), &mut |_| {})) else {
        return Ok(());
    };
    let mut all = Vec::new();
    must(records(&disk, &Filter::default(), reading(&disk), &mut |_| {}, &mut |line| {
        all.push(line);
    }));
    check_search(&disk, &report, &filter(&all, wanted));
    let is_there = all.iter().any(|line| line.sequence == u64::from(sequence));
    check_trace(&disk, &report, is_there, (sequence.into(), depth.into()));
    let ends = must(span(&disk));
    assert!(report.failed() || ends == of(&all), "{ends:?}");
    Ok(())
}

fn of(all: &[Line]) -> Option<Span> {
    let (first, last) = (all.first()?, all.last()?);
    let (since, until) = (first.time, last.time);
    Some(Span { first: first.sequence, since, last: last.sequence, until })
}

fn reading(disk: &SimulatedDisk) -> ReadOptions<'static> {
    ReadOptions::new(disk.boot(), &|| Ok(false))
}

/// Nothing where a file is of a newer format.
fn expected<T>(read: Result<T, ReadError>) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(ReadError::Survey(_)) => None,
        Err(error) => unreachable!("memory can be read: {error}"),
    }
}

fn must<T>(read: Result<T, ReadError>) -> T {
    read.unwrap_or_else(|error| unreachable!("memory was read before: {error}"))
}

/// Wants what one of the records says, each part of it if its byte is not too high.
fn filter(all: &[Line], wanted: [u8; 8]) -> Filter {
    let [which, bounds, times, kind, actor, correlation, entity, text] = wanted;
    let line = all.get(usize::from(which) % all.len().max(1));
    let of = |byte: u8, part: &dyn Fn(&Line) -> Option<String>| {
        line.filter(|_| byte < 64).and_then(part)
    };
    let bound = |byte: u8| (byte > 0).then_some(u64::from(byte));
    let time = |byte: u8| bound(byte).map(|time| Timestamp::from_nanoseconds(time * 32));
    Filter {
        first: bound(bounds & 15),
        last: bound(bounds >> 4),
        since: time(times & 15),
        until: time(times >> 4),
        kind: of(kind, &|line| Some(line.kind.clone())),
        loop_id: of(entity, &|line| line.loop_id.clone()),
        decision: of(entity, &|line| line.decision_id.clone()),
        one_of: of(entity / 4, &|line| line.loop_id.clone()).map(|id| OneOf::Loops([id].into())),
        entity: of(entity / 2, &|line| line.loop_id.clone().or(line.decision_id.clone())),
        actor: of(actor, &|line| line.actor.as_ref().map(|actor| actor.id.clone()))
            .map(|id| ActorFilter { kind: None, id }),
        correlation: of(correlation, &|line| line.correlation.clone()),
        text: of(text, &|line| Some(line.summary.chars().take(9).collect()))
            .map(|text| TextFilter { text, ignores_case: which > 127 }),
    }
}

/// Both directions show the same records, which are those that a whole reading shows, and nothing
/// is wrong about a log that verifies.
fn check_search(disk: &SimulatedDisk, report: &Report, filter: &Filter) {
    let (oldest_first, reach) = found(disk, filter, Order::OldestFirst);
    let (mut newest_first, back) = found(disk, filter, Order::NewestFirst);
    assert!(oldest_first.is_sorted_by(|one, next| one.sequence < next.sequence));
    assert!(newest_first.is_sorted_by(|one, next| one.sequence > next.sequence));
    for line in oldest_first.iter().chain(&newest_first) {
        assert!(filter.first.is_none_or(|first| line.sequence >= first), "{line:?}");
        assert!(filter.until.is_none_or(|until| line.time <= until), "{line:?}");
    }
    if report.failed() {
        return;
    }
    [reach, back].iter().for_each(check_searched);
    let mut all = Vec::new();
    must(records(disk, filter, reading(disk), &mut |_| {}, &mut |line| all.push(line)));
    newest_first.reverse();
    assert_eq!(oldest_first, all);
    assert_eq!(newest_first, all);
}

fn check_searched(reach: &Searched) {
    match reach {
        Searched::Whole(report) => assert!(!report.failed(), "{:?}", report.findings),
        Searched::Part(part) => check_part(part),
    }
}

fn check_part(part: &Part) {
    assert_eq!(part.findings, [], "the log verifies");
    assert!(part.segments_by_index == 0, "there is no index");
}

fn found(disk: &SimulatedDisk, filter: &Filter, order: Order) -> (Vec<Line>, Searched) {
    let mut lines = Vec::new();
    let reach = search(disk, filter, order, reading(disk), &mut |_| {}, &mut |line, _| {
        lines.push(line);
        ControlFlow::Continue(())
    });
    (lines, must(reach))
}

/// A story is told of a record that is there, and only of one that is there where the log verifies.
fn check_trace(
    disk: &SimulatedDisk,
    report: &Report,
    is_there: bool,
    (sequence, depth): (u64, u32),
) {
    match must(trace(disk, sequence, depth, reading(disk))) {
        Traced::Story(story) => {
            check_story(&story, depth.min(DEPTH_MAX));
            if !report.failed() {
                assert!(is_there, "{story:?}");
                check_part(&story.checked);
            }
        }
        Traced::NoRecord { checked, .. } if !report.failed() => {
            assert!(!is_there, "record {sequence} is there");
            check_part(&checked);
        }
        Traced::NoRecord { .. } => {}
    }
}

/// Causes, then what was asked for, then effects, in the order of the log and within the bounds.
fn check_story(story: &Trace, depth: u32) {
    let steps = &story.steps;
    assert!(steps.is_sorted_by(|one, next| one.last < next.first), "{story:?}");
    assert!(steps.is_sorted_by_key(|step| step.role as u8), "{story:?}");
    let of_role = |role: Role| steps.iter().filter(move |step| step.role == role);
    assert!(of_role(Role::Cause).count() <= depth as usize);
    assert!(of_role(Role::Effect).count() <= EFFECTS_MAX);
    let asked: Vec<_> = of_role(Role::Asked).collect();
    let [asked] = asked.as_slice() else { unreachable!("one is asked for: {story:?}") };
    assert!((asked.first..=asked.last).contains(&story.sequence), "{story:?}");
    for step in steps {
        assert!(step.distance <= depth && step.records.len() <= STEP_RECORDS_MAX, "{step:?}");
        assert!(!step.is_caused || step.causation.is_some_and(|cause| cause < step.first));
    }
}
