//! A disk that fails: the handle does nothing more after the first failure, and whoever opens next
//! finds everything that was acknowledged. A full disk is no failure: the handle goes on.

use holdpoint_engine::log::{AppendError, CloseError, Level, Log, PoisonCause};
use holdpoint_log_format::recovery::Row;
use holdpoint_log_format::{Lock, OwnerState};
use holdpoint_testing::log as log_support;
use holdpoint_testing::log::faulty::{CALLS, Call, Failure, FaultyStorage};
use holdpoint_testing::log::{
    append, append_each, content_of, exclusive, memory_directory, open, open_reporting, quiet,
    record, records_of, segments_of, survey_whole,
};
use std::io::ErrorKind;
use std::path::Path;

fn failing(call: Call, number: u32) -> Failure {
    let kind = ErrorKind::Other;
    Failure { call, number, takes_effect: false, kind, on: "", lasts: false }
}

fn full(on: &'static str) -> Failure {
    let kind = ErrorKind::StorageFull;
    Failure { call: Call::Create, number: 1, takes_effect: false, kind, on, lasts: true }
}

fn open_faulty(storage: &FaultyStorage) -> Log<FaultyStorage> {
    Log::open(storage.clone(), quiet()).unwrap().0
}

// ---- Every call, once --------------------------------------------------------------------------

/// What a history got to before it ended.
#[derive(Default)]
struct Told {
    /// Tags acknowledged as durable.
    acknowledged: Vec<u64>,
    /// Tags tried, in order.
    tried: Vec<u64>,
    /// What the handle said when it failed.
    poisoned: Option<PoisonCause>,
}

/// Creates a log and appends: singles, batches, at every level, across rolls, with a segment
/// replaced while it was empty; closes. Stops where something fails.
fn history(storage: &FaultyStorage, told: &mut Told) {
    let Ok((log, _)) = Log::open(storage.clone(), quiet()) else { return };
    let steps = [
        (vec![70_000], Level::Always),
        (vec![10, 20, 30], Level::Always),
        (vec![500], Level::Os),
        (vec![9_000, 9_000], Level::Always),
        (vec![60_000], Level::Always),
        (vec![100], Level::Staged),
        (vec![200_000, 8], Level::Always),
    ];
    for (step, (lengths, level)) in (1_u64..).zip(steps) {
        let batch: Vec<_> = lengths.iter().map(|length| record(step, *length)).collect();
        told.tried.extend(lengths.iter().map(|_| step));
        match log.append(&batch, step, level) {
            Ok(_) if level == Level::Always => told.acknowledged.clone_from(&told.tried),
            Ok(_) => {}
            Err(error) => return assert_poisoned(&log, &error, told),
        }
    }
    match log.close() {
        Ok(()) => told.acknowledged.clone_from(&told.tried),
        Err(CloseError::Witness(_) | CloseError::Append(AppendError::Failed(_))) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Every later call fails with the first cause.
fn assert_poisoned(log: &Log<FaultyStorage>, error: &AppendError, told: &mut Told) {
    let AppendError::Failed(cause) = error else { panic!("{error}") };
    assert_eq!(log.poison().as_ref(), Some(cause));
    for _ in 0..2 {
        let again = log.append(&[record(9, 9)], 9, Level::Os);
        assert!(matches!(&again, Err(AppendError::Poisoned(first)) if first == cause), "{again:?}");
        let turn = log.begin().map(drop);
        assert!(matches!(&turn, Err(AppendError::Poisoned(first)) if first == cause), "{turn:?}");
    }
    told.poisoned = Some(cause.clone());
}

#[test]
fn crash_every_failed_call_poisons_and_loses_nothing_acknowledged() {
    let mut poisoned = 0;
    for call in CALLS {
        for takes_effect in [false, true] {
            let mut number = 1;
            while fail_once(Failure { takes_effect, ..failing(call, number) }, &mut poisoned) {
                number += 1;
            }
            assert!(number > 1, "the history makes {call:?} more often");
        }
    }
    assert!(poisoned > 50, "{poisoned}");
}

/// Runs the history with one failure; `false` when it makes fewer such calls.
fn fail_once(failure: Failure, poisoned: &mut u32) -> bool {
    let directory = memory_directory();
    let storage = FaultyStorage::new(directory.path());
    storage.fail(Some(failure));
    let mut told = Told::default();
    history(&storage, &mut told);
    let hit = storage.hits() > 0;
    assert!(hit || told.poisoned.is_none(), "{failure:?}");
    assert!(failure.call != Call::Punch || told.poisoned.is_none(), "{failure:?}");
    *poisoned += u32::from(told.poisoned.is_some());
    assert_left_well(directory.path(), &told, &failure);
    hit
}

/// Whoever opens next finds a prefix of what was tried, at least what was acknowledged, and goes
/// on.
fn assert_left_well(directory: &Path, told: &Told, failure: &Failure) {
    let lock = std::fs::read(directory.join("LOCK")).unwrap();
    if told.poisoned.is_some() {
        assert_eq!(Lock::decode(&lock).unwrap().state, OwnerState::Poisoned, "{failure:?}");
    }
    let (log, report) = open_reporting(directory, quiet());
    assert!(report.recovered.proven_sequence <= report.position.sequence);
    append(&log, 99, 100);
    log.close().unwrap();
    let found: Vec<u64> = records_of(directory).iter().map(log_support::Stored::tag).collect();
    let (last, kept) = found.split_last().unwrap();
    assert_eq!(*last, 99);
    assert!(told.tried.starts_with(kept), "{failure:?}: {kept:?}");
    assert!(kept.starts_with(&told.acknowledged), "{failure:?}: {kept:?}");
    assert_eq!(survey_whole(directory).row, Row::Clean, "{failure:?}");
    let leftovers = std::fs::read_dir(directory.join("segments")).unwrap().count();
    assert_eq!(leftovers, segments_of(directory).len(), "{failure:?}");
}

#[test]
fn crash_a_failure_within_a_turn_takes_back_what_the_turn_had_not_acknowledged() {
    for level in [Level::Always, Level::Interval(log_support::NEVER), Level::Os, Level::Staged] {
        let directory = memory_directory();
        let storage = FaultyStorage::new(directory.path());
        let log = open_faulty(&storage);
        let mut turn = log.begin().unwrap();
        turn.append(&[record(1, 10)], 1).unwrap();
        storage.fail(Some(failing(Call::Sync, 1)));
        assert!(turn.sync().is_err());
        let refused = turn.append(&[record(2, 10)], 1);
        assert!(matches!(refused, Err(AppendError::Poisoned(_))));
        let finished = turn.finish(level);
        assert!(matches!(finished, Err(AppendError::Poisoned(_))), "{level:?}");
    }
}

#[test]
fn crash_a_failed_sync_in_the_background_poisons_before_anybody_else_appends() {
    let directory = memory_directory();
    let storage = FaultyStorage::new(directory.path());
    let log = open_faulty(&storage);
    storage.fail(Some(failing(Call::Sync, 1)));
    log.append(&[record(1, 10)], 1, Level::Interval(std::time::Duration::ZERO)).unwrap();
    while log.poison().is_none() {
        std::thread::yield_now();
    }
    let other = open(directory.path(), quiet());
    assert_eq!(other.durable_sequence(), 1, "it was written again and synced");
    assert_eq!(append(&other, 2, 10), 2);
    assert!(matches!(log.close(), Err(CloseError::Append(AppendError::Poisoned(_)))));
}

#[test]
fn crash_after_a_failed_sync_every_handle_writes_the_tail_again_before_it_goes_on() {
    let directory = memory_directory();
    let storage = FaultyStorage::new(directory.path());
    let (log, other) = (open_faulty(&storage), open_faulty(&storage));
    append(&log, 1, 10);
    storage.fail(Some(failing(Call::Sync, 1)));
    assert!(log.append(&[record(2, 5_000)], 1, Level::Always).is_err());
    storage.fail(None);
    storage.take_made();
    let turn = other.begin().unwrap();
    assert!(storage.take_made().contains(&(Call::Write, 5_064)), "the tail is written again");
    assert_eq!((turn.position().sequence, turn.unrecorded()), (2, &[][..]));
    turn.finish(Level::Os).unwrap();
    assert_eq!(other.durable_sequence(), 2);
    assert_eq!(append(&other, 3, 10), 3);
    drop((log, other));
    assert_eq!(records_of(directory.path()).len(), 3);
}

// ---- No space ----------------------------------------------------------------------------------

#[test]
fn a_full_disk_at_a_roll_changes_nothing_and_the_handle_goes_on() {
    let directory = memory_directory();
    let storage = FaultyStorage::new(directory.path());
    let log = open_faulty(&storage);
    append(&log, 1, 30_000);
    storage.fail(Some(full(".prepared")));
    for _ in 0..2 {
        let before = content_of(&directory.path().join("segments"));
        let refused = log.append(&[record(2, 40_000)], 1, Level::Always);
        let is_full = matches!(refused, Err(AppendError::NoSpace { needed: 131_072, .. }));
        assert!(is_full, "{refused:?}");
        assert!(content_of(&directory.path().join("segments")) == before);
    }
    assert_eq!(append(&log, 3, 10_000), 2);
    storage.fail(None);
    assert_eq!(append(&log, 4, 40_000), 3);
    log.close().unwrap();
    assert_eq!(records_of(directory.path()).len(), 3);
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
}

#[test]
fn a_full_disk_when_an_empty_segment_is_replaced_changes_nothing() {
    let directory = memory_directory();
    let storage = FaultyStorage::new(directory.path());
    let log = open_faulty(&storage);
    storage.fail(Some(full(".prepared")));
    let refused = log.append(&[record(1, 100_000)], 1, Level::Always);
    assert!(matches!(refused, Err(AppendError::NoSpace { .. })), "{refused:?}");
    assert_eq!(append(&log, 2, 1_000), 1);
    storage.fail(None);
    log.close().unwrap();
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
}

#[test]
fn a_full_disk_keeps_head_from_following_and_loses_nothing() {
    let directory = memory_directory();
    let storage = FaultyStorage::new(directory.path());
    let log = open_faulty(&storage);
    storage.fail(Some(full("HEAD.tmp")));
    append_each(&log, 0..9, 60_000);
    assert!(storage.hits() >= 2, "every roll tries");
    assert!(matches!(log.close(), Err(CloseError::Witness(_))));
    assert_eq!(
        Lock::decode(&std::fs::read(directory.path().join("LOCK")).unwrap()).unwrap().state,
        OwnerState::Idle
    );
    let log = open_faulty(&storage);
    assert_eq!(append(&log, 9, 10), 10, "an opening on a full disk goes on as well");
    assert!(log.close().is_err());
    drop(open(directory.path(), quiet()));
    assert_eq!(records_of(directory.path()).len(), 10);
    assert_eq!(survey_whole(directory.path()).row, Row::Clean);
}

#[test]
fn a_full_disk_in_a_take_over_is_no_poison_and_the_next_turn_takes_over() {
    let directory = memory_directory();
    let storage = FaultyStorage::new(directory.path());
    let (log, other) = (open_faulty(&storage), open_faulty(&storage));
    append(&log, 1, 30_000);
    storage.fail(Some(Failure { on: ".seg", ..failing(Call::Rename, 1) }));
    assert!(log.append(&[record(2, 40_000)], 1, Level::Always).is_err(), "sealed, no successor");
    storage.fail(Some(full(".prepared")));
    let refused = other.append(&[record(3, 10)], 1, Level::Always);
    assert!(matches!(refused, Err(AppendError::NoSpace { needed: 131_072, .. })), "{refused:?}");
    storage.fail(None);
    assert_eq!(append(&other, 4, 10), 2);
    drop((log, other));
    assert_eq!(records_of(directory.path()).len(), 2);
    assert_eq!(segments_of(directory.path()).len(), 2);
}

#[test]
fn head_never_goes_back_when_an_older_handle_closes_last() {
    let directory = memory_directory();
    let older = open(directory.path(), quiet());
    append(&older, 1, 10);
    let newer = open(directory.path(), quiet());
    append_each(&newer, 2..6, 30_000);
    newer.close().unwrap();
    older.close().unwrap();
    let survey = survey_whole(directory.path());
    assert_eq!(survey.head.valid().unwrap().newest_sequence, 5);
    let owner = open(directory.path(), exclusive());
    append(&owner, 7, 10);
    owner.close().unwrap();
    assert_eq!(survey_whole(directory.path()).head.valid().unwrap().newest_sequence, 6);
}
