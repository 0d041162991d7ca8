//! Subscriptions: every committed record once, in order, from any sequence on, into the live end
//! without a gap; nothing that is not durable, nothing that holds up a writer.

use crate::embedder::{LONG, accept, unsynced};
use holdpoint_domain::Command;
use holdpoint_domain::execution_loop::ExecutionLoopCommand;
use holdpoint_engine::Engine;
use holdpoint_engine::log::{Options, Ownership, Storage};
use holdpoint_engine::shell::{Delivered, EngineOptions, Subscription, SubscriptionError};
use holdpoint_log_files::{FollowError, Follower, ReadStorage};
use holdpoint_testing::log::process;
use holdpoint_testing::log::process::Other;
use holdpoint_testing::shell::brittle::Brittle;
use holdpoint_testing::shell::commands::small;
use holdpoint_testing::shell::commands::{await_response, dispatch, initialize, output};
use holdpoint_testing::shell::{Line, Place, origin};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Everything that is there now.
fn drain<S: ReadStorage>(subscription: &mut Subscription<S>) -> Vec<Line> {
    let next = || match subscription.try_next() {
        Err(SubscriptionError::Closed) => None,
        next => next.expect("the log can be read").map(line),
    };
    std::iter::from_fn(next).collect()
}

/// What comes next is that the engine was closed, and nothing behind that.
fn expect_closed(subscription: &mut Subscription) {
    assert!(matches!(subscription.next(), Some(Err(SubscriptionError::Closed))));
    assert!(subscription.has_ended() && subscription.next().is_none());
}

fn line(delivered: Delivered) -> Line {
    let Delivered { sequence, at, envelope, .. } = delivered;
    Line { sequence, time: at.nanoseconds(), envelope }
}

fn sequences(lines: &[Line]) -> Vec<u64> {
    lines.iter().map(|line| line.sequence).collect()
}

/// Enough, in batches of several records, for several segments.
fn write_across_segments<S: Storage>(engine: &Engine<S>, loops: usize) {
    for _ in 0..loops {
        let command = initialize(1);
        let id = command.loop_id();
        let begin = Command::ExecutionLoop(ExecutionLoopCommand::InitializeLoop(command));
        let large = output(&id, &[b'x'; 40_000]);
        for command in [begin, dispatch(&id), await_response(&id), large] {
            let submitted = engine.submit(&origin(), (), &command).expect("the log works");
            assert!(submitted.receipt().is_some());
        }
    }
}

fn segment_files(place: &Place) -> Vec<PathBuf> {
    let files = place.bytes().into_keys().filter(|path| path.extension() == Some("seg".as_ref()));
    files.collect()
}

#[test]
fn every_committed_record_is_delivered_from_any_sequence_on() {
    let place = Place::new();
    let engine = place.engine();
    write_across_segments(&engine, 8);
    assert!(segment_files(&place).len() > 2);
    let lines = place.lines();
    let newest = lines.len() as u64;
    for from in 1..=newest {
        let mut subscription = engine.subscribe(from).expect("the record is there");
        assert_eq!(subscription.next_sequence(), from);
        let expected = lines.iter().filter(|line| line.sequence >= from);
        assert!(drain(&mut subscription).iter().eq(expected), "from {from}");
        assert_eq!(subscription.next_sequence(), newest + 1);
        assert!(!subscription.has_ended());
    }
    let mut whole = engine.subscribe(0).expect("the log begins somewhere");
    assert_eq!(drain(&mut whole), lines);
}

#[test]
fn a_record_that_is_not_there_yet_is_waited_for() {
    let place = Place::new();
    let engine = place.engine();
    let mut subscription = engine.subscribe(5).expect("an empty log can be followed");
    for number in 0..3 {
        accept(&engine, number);
        assert_eq!(subscription.try_next().expect("the log can be read"), None);
    }
    accept(&engine, 3);
    let delivered = subscription.next_timeout(LONG).expect("the log can be read");
    assert_eq!(delivered.map(|delivered| delivered.sequence), Some(5));
}

#[test]
fn a_subscription_goes_over_to_live_without_a_gap() {
    let place = Place::new();
    let engine = place.engine();
    write_across_segments(&engine, 2);
    let subscription = engine.subscribe(0).expect("it can be followed");
    let reader = std::thread::spawn(move || subscription.map_while(Result::ok).collect::<Vec<_>>());
    write_across_segments(&engine, 6);
    engine.close().expect("it closes");
    let delivered = reader.join().expect("no panic");
    assert!(delivered.iter().all(|delivered| delivered.is_durable));
    assert_eq!(delivered.into_iter().map(line).collect::<Vec<_>>(), place.lines());
}

#[test]
fn a_log_is_followed_without_its_engine_and_each_record_comes_with_its_link() {
    let place = Place::new();
    let engine = place.engine();
    accept(&engine, 1);
    let mut following = Subscription::of_log(place.storage(), 0).expect("it can be followed");
    accept(&engine, 2);
    engine.close().expect("it closes");
    let delivered: Vec<Delivered> =
        std::iter::from_fn(|| following.try_next().expect("the log can be read")).collect();
    assert!(!following.awaits_proof() && !following.has_ended());
    let engine = place.engine();
    for record in &delivered {
        let link = engine.link_of(record.sequence).expect("the log can be read");
        assert_eq!(link, Some(record.link), "record {}", record.sequence);
    }
    assert_eq!(delivered.into_iter().map(line).collect::<Vec<_>>(), place.lines());
}

#[test]
fn a_record_that_nothing_proves_yet_is_said_to_be_there_and_is_not_given() {
    let place = Place::new();
    let engine = unsynced(&place);
    let mut following = Subscription::of_log(place.storage(), 0).expect("it can be followed");
    assert!(!following.awaits_proof());
    accept(&engine, 1);
    assert_eq!(following.try_next().expect("the log can be read"), None);
    assert!(following.awaits_proof());
    engine.close().expect("it closes");
    for sequence in 1..=2 {
        let delivered = following.try_next().expect("the log can be read");
        assert_eq!(delivered.map(|delivered| delivered.sequence), Some(sequence));
    }
    assert!(!following.awaits_proof());
}

#[test]
fn a_subscription_ends_with_its_engine_and_misses_nothing() {
    let place = Place::new();
    let engine = place.engine();
    let mut first = engine.subscribe(0).expect("it can be followed");
    let mut second = engine.subscribe(3).expect("it can be followed");
    accept(&engine, 1);
    accept(&engine, 2);
    drop(engine);
    assert_eq!(sequences(&drain(&mut first)), [1, 2, 3]);
    assert!(first.has_ended());
    assert!(first.next().is_none());
    assert_eq!(second.next().expect("it is there").expect("it can be read").sequence, 3);
    expect_closed(&mut second);
}

#[test]
fn a_waiting_subscription_learns_that_its_engine_closed() {
    let place = Place::new();
    let engine = place.engine();
    let mut subscription = engine.subscribe(0).expect("it can be followed");
    let waiting = std::thread::spawn(move || expect_closed(&mut subscription));
    engine.close().expect("it closes");
    waiting.join().expect("no panic");
}

#[test]
fn records_of_other_engines_are_delivered() {
    let place = Place::new();
    let (here, there) = (place.engine(), place.engine());
    accept(&here, 20);
    let mut subscription = here.subscribe(3).expect("it can be followed");
    for number in 0..20 {
        let by = if number % 3 == 0 { &here } else { &there };
        let receipt = accept(by, number);
        let delivered = subscription.next_timeout(LONG).expect("the log can be read");
        let delivered = delivered.expect("it is committed");
        assert_eq!((delivered.sequence, delivered.is_durable), (receipt.last_sequence, true));
    }
}

#[test]
fn job_of_another_process() {
    let Some(job) = process::job() else { return };
    let engine = Engine::open_with(
        holdpoint_log_files::DirectoryStorage::new(&job.directory),
        holdpoint_engine::shell::EngineOptions::simulated(),
    )
    .expect("the log opens");
    for number in 0..job.number {
        let number = i64::try_from(number).expect("a small number");
        process::say(accept(&engine, number).last_sequence);
    }
    process::wait_for_release();
}

#[test]
fn records_of_other_processes_are_delivered() {
    let place = Place::new();
    let engine = place.engine();
    accept(&engine, 0);
    let mut subscription = engine.subscribe(0).expect("it can be followed");
    let mut other = Other::start(module_path!(), "append", &place.log(), 5);
    for sequence in 1..=7 {
        let delivered = subscription.next_timeout(LONG).expect("the log can be read");
        assert_eq!(delivered.map(|delivered| delivered.sequence), Some(sequence));
    }
    let said: Vec<u64> = (0..5).filter_map(|_| other.heard()).collect();
    assert_eq!(said, [3, 4, 5, 6, 7]);
    other.finish();
}

#[test]
fn what_no_sync_covers_is_not_delivered() {
    let place = Place::new();
    let disk = Brittle::new(place.storage());
    let engine =
        Engine::open_with(disk.clone(), EngineOptions::simulated()).expect("the log opens");
    let mut durable = engine.subscribe(0).expect("it can be followed");
    let mut written = engine.subscribe(0).expect("it can be followed").with_unproven();
    accept(&engine, 1);
    disk.break_down();
    engine.submit(&origin(), (), &small(2)).expect_err("the sync fails");
    assert_eq!(sequences(&place.lines()), [1, 2, 3], "the bytes are there");
    assert_eq!(sequences(&drain(&mut durable)), [1, 2]);
    let mut written = std::iter::from_fn(|| written.try_next().expect("the log can be read"));
    let written: Vec<_> =
        written.by_ref().map(|record| (record.sequence, record.is_durable)).collect();
    assert_eq!(written, [(1, true), (2, true), (3, false)]);
    // Whoever opens next writes the tail again and syncs it: then it is durable.
    let next = place.engine();
    assert_eq!(sequences(&drain(&mut next.subscribe(0).expect("it can be followed"))), [1, 2, 3]);
    assert_eq!(sequences(&drain(&mut durable)), [3]);
}

#[test]
fn at_a_weaker_level_records_come_when_the_log_proves_them() {
    let place = Place::new();
    let engine = unsynced(&place);
    let mut written = engine.subscribe(0).expect("it can be followed").with_unproven();
    let mut durable = engine.subscribe(0).expect("it can be followed");
    accept(&engine, 1);
    accept(&engine, 2);
    assert!(drain(&mut durable).is_empty());
    let record = written.next().expect("it is there").expect("the log can be read");
    assert_eq!((record.sequence, record.is_durable), (1, false));
    // Another writer's sync covers what it found.
    accept(&place.engine(), 3);
    assert_eq!(sequences(&drain(&mut durable)), [1, 2, 3, 4]);
    accept(&engine, 4);
    engine.close().expect("it closes");
    assert_eq!(sequences(&drain(&mut durable)), [5]);
    assert!(durable.has_ended());
}

#[test]
fn an_owners_own_syncs_are_known_at_once() {
    let place = Place::new();
    let ownership = Ownership::Exclusive;
    let log = Options::default().ownership(ownership).head_delay(Duration::MAX);
    let options = EngineOptions::simulated().log(log);
    let engine = Engine::open_with(place.storage(), options).expect("the log opens");
    let mut subscription = engine.subscribe(2).expect("it can be followed");
    for number in 0..3 {
        let receipt = accept(&engine, number);
        assert_eq!(sequences(&drain(&mut subscription)), [receipt.last_sequence]);
    }
}

#[test]
fn a_slow_subscription_holds_up_no_writer() {
    let place = Place::new();
    let engine = unsynced(&place);
    let mut slow = engine.subscribe(0).expect("it can be followed").with_unproven();
    accept(&engine, 0);
    let first = slow.next().expect("it is there").expect("the log can be read");
    for number in 1..3_000 {
        accept(&engine, number);
    }
    let mut delivered = vec![line(first)];
    delivered.extend(drain(&mut slow));
    assert_eq!(delivered, place.lines());
}

#[test]
fn damage_to_a_committed_record_ends_the_subscription_with_its_place() {
    let place = Place::new();
    let engine = place.engine();
    let mut subscription = engine.subscribe(0).expect("it can be followed");
    accept(&engine, 1);
    assert_eq!(sequences(&drain(&mut subscription)), [1, 2]);
    for number in 2..5 {
        accept(&engine, number);
    }
    let path = segment_files(&place).pop().expect("a segment");
    flip_a_byte_of_record(&place, &path, 3);
    assert_eq!(subscription.next().map(|next| next.map(|record| record.sequence).ok()), Some(None));
    assert!(subscription.has_ended());
    assert_eq!(subscription.next_sequence(), 3);
    let mut again = engine.subscribe(3).expect("the segment is there");
    let error = again.try_next().expect_err("record 3 is damaged");
    let SubscriptionError::Follow(FollowError::Damaged(finding)) = &error else {
        unreachable!("{error}")
    };
    assert_eq!(finding.place.sequence, 3);
    assert!(again.next().is_none());
}

fn flip_a_byte_of_record(place: &Place, path: &Path, sequence: u64) {
    let mut offset = None;
    let storage = place.storage();
    let mut follower = Follower::at_segment(&storage, 1).expect("a first segment");
    let read = follower.catch_up(&storage, &mut |at, record| {
        if record.header.sequence == sequence {
            offset = Some(at.offset + 70);
        }
    });
    read.expect("the log can be read");
    let offset = offset.expect("the record is there");
    let file = std::fs::OpenOptions::new().read(true).write(true).open(path).expect("a segment");
    let mut byte = [0];
    file.read_exact_at(&mut byte, offset).expect("a byte");
    file.write_all_at(&[byte[0] ^ 1], offset).expect("it is written");
}

#[test]
fn a_log_that_begins_behind_the_record_says_where_it_begins() {
    let place = Place::new();
    let engine = place.engine();
    write_across_segments(&engine, 4);
    let files = segment_files(&place);
    std::fs::remove_file(&files[0]).expect("it is removed");
    let first: u64 =
        files[1].file_stem().and_then(|name| name.to_str()?.parse().ok()).expect("a name");
    let error = engine.subscribe(1).err().expect("record 1 is gone");
    assert!(
        matches!(error, SubscriptionError::Before { from: 1, first: found } if found == first),
        "{error}"
    );
    let mut rest = engine.subscribe(0).expect("it begins somewhere");
    assert_eq!(sequences(&drain(&mut rest)).first(), Some(&first));
}
