//! Group commit on real threads: whoever waits first syncs for all, nobody is acknowledged before
//! a sync that began after the record was written has returned, and a failed sync fails everybody.

use holdpoint_engine::log::{AppendError, Level, Log, Options, PoisonCause};
use holdpoint_log_format::{Head, Lock, OwnerState};
use holdpoint_testing::log::faulty::{Call, Failure, FaultyStorage};
use holdpoint_testing::log::gated::GatedStorage;
use holdpoint_testing::log::{
    append, exclusive, memory_directory, open, quiet, record, records_of,
};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

const THREADS: u64 = 8;

/// Sequence that HEAD names on the disk.
fn head_of(directory: &Path) -> u64 {
    Head::decode(&std::fs::read(directory.join("HEAD")).unwrap()).unwrap().newest_sequence
}

fn open_gated(directory: &Path, options: Options) -> (Log<GatedStorage>, GatedStorage) {
    let storage = GatedStorage::new(directory);
    (Log::open(storage.clone(), options).unwrap().0, storage)
}

fn failing_sync(directory: &Path, options: Options) -> (Log<FaultyStorage>, FaultyStorage) {
    let storage = FaultyStorage::new(directory);
    (Log::open(storage.clone(), options).unwrap().0, storage)
}

fn failure(call: Call, kind: ErrorKind, on: &'static str) -> Failure {
    Failure { call, number: 1, takes_effect: false, kind, on, lasts: true }
}

fn cause_of(error: AppendError) -> PoisonCause {
    match error {
        AppendError::Failed(cause) | AppendError::Poisoned(cause) => cause,
        other => panic!("{other}"),
    }
}

// ---- One sync for all --------------------------------------------------------------------------

#[test]
fn everybody_behind_a_sync_is_covered_by_the_next_one_and_nobody_returns_before_his() {
    for options in [exclusive(), quiet()] {
        let directory = memory_directory();
        let (log, storage) = open_gated(directory.path(), options);
        let before = storage.syncs();
        let returned = AtomicU64::new(0);
        storage.shut();
        thread::scope(|scope| {
            let (log, storage, returned) = (&log, &storage, &returned);
            scope.spawn(move || {
                append(log, 0, 16);
                returned.fetch_add(1, Ordering::SeqCst);
            });
            storage.await_sync();
            for tag in 1..=THREADS {
                scope.spawn(move || {
                    append(log, tag, 16);
                    returned.fetch_add(1, Ordering::SeqCst);
                });
            }
            while log.position().sequence <= THREADS {
                thread::yield_now();
            }
            assert_eq!(returned.load(Ordering::SeqCst), 0, "the sync has not returned");
            assert_eq!(log.durable_sequence(), 0);
            storage.open_gate();
        });
        assert_eq!(storage.syncs() - before, 2, "one for the first, one for all behind it");
        assert_eq!(log.durable_sequence(), THREADS + 1);
        log.close().unwrap();
        assert_eq!(records_of(directory.path()).len() as u64, THREADS + 1);
    }
}

#[test]
fn witnesses_are_shared_and_head_names_each_record_when_its_append_returns() {
    for (options, length) in [(exclusive(), 16), (quiet(), 16), (exclusive(), 30_000)] {
        let directory = memory_directory();
        let (log, storage) = open_gated(directory.path(), options);
        thread::scope(|scope| {
            for tag in 0..THREADS {
                let (log, directory) = (&log, directory.path());
                scope.spawn(move || {
                    for _ in 0..10 {
                        let appended = log.append(&[record(tag, length)], tag, Level::Witnessed);
                        assert!(appended.unwrap().last_sequence <= head_of(directory));
                    }
                });
            }
        });
        let before = storage.heads();
        storage.shut();
        thread::scope(|scope| {
            let (log, storage) = (&log, &storage);
            let witnessed = |tag| {
                move || {
                    log.append(&[record(tag, 16)], tag, Level::Witnessed).unwrap();
                }
            };
            let newest = log.position().sequence;
            scope.spawn(witnessed(0));
            storage.await_sync();
            (1..=THREADS).for_each(|tag| drop(scope.spawn(witnessed(tag))));
            while log.position().sequence < newest + 1 + THREADS {
                thread::yield_now();
            }
            storage.open_gate();
        });
        assert_eq!(storage.heads() - before, 2, "HEAD is replaced once for all who wait");
    }
}

#[test]
fn appends_are_pipelined_and_one_sync_acknowledges_them() {
    let directory = memory_directory();
    let (log, storage) = open_gated(directory.path(), exclusive());
    let stage = |tag| log.append(&[record(tag, 16)], tag, Level::Staged).unwrap().last_sequence;
    let staged: Vec<u64> = (0..20).map(stage).collect();
    let before = storage.syncs();
    log.commit(staged[9], Level::Always).unwrap();
    assert_eq!((storage.syncs() - before, log.durable_sequence()), (1, 20));
    for sequence in &staged {
        log.commit(*sequence, Level::Always).unwrap();
    }
    assert_eq!(storage.syncs() - before, 1, "all of it is durable by then");
    let not_there = log.commit(1_000, Level::Always);
    assert!(matches!(not_there, Err(AppendError::NotThere { sequence: 1_000, newest: 20 })));
    log.commit(20, Level::Witnessed).unwrap();
    assert_eq!(head_of(directory.path()), 20);
    log.commit(5, Level::Witnessed).unwrap();
    assert_eq!(storage.heads(), 2, "one at creation, one for the witness");
}

#[test]
fn what_another_handle_synced_is_committed_and_witnessed_as_well() {
    let directory = memory_directory();
    let (first, second) = (open(directory.path(), quiet()), open(directory.path(), quiet()));
    append(&second, 1, 16);
    second.append(&[record(2, 16)], 2, Level::Os).unwrap();
    first.commit(1, Level::Always).unwrap();
    assert_eq!(first.durable_sequence(), 1);
    first.commit(1, Level::Witnessed).unwrap();
    assert!(head_of(directory.path()) >= 1, "though this handle never knew the record's place");
    first.commit(2, Level::Witnessed).unwrap();
    assert_eq!(head_of(directory.path()), 2);
}

#[test]
fn an_acknowledgement_that_is_not_waited_for_gives_the_lock_back_and_promises_nothing() {
    let directory = memory_directory();
    let (log, storage) = open_gated(directory.path(), quiet());
    let before = storage.syncs();
    for tag in 0..3 {
        let mut turn = log.begin().unwrap();
        turn.append(&[record(tag, 16)], tag).unwrap();
        drop(turn.leave(Level::Always).unwrap());
        let lock = Lock::decode(&std::fs::read(directory.path().join("LOCK")).unwrap()).unwrap();
        assert_eq!((lock.state, lock.durable_sequence), (OwnerState::Idle, 0));
    }
    assert_eq!((storage.syncs() - before, log.durable_sequence()), (0, 0));
    let other = open(directory.path(), quiet());
    assert_eq!(append(&other, 3, 16), 4);
    log.commit(3, Level::Always).unwrap();
    assert_eq!(log.durable_sequence(), 4, "the other handle synced it");
}

#[test]
fn acknowledgements_of_one_thread_share_a_sync() {
    let directory = memory_directory();
    let (log, storage) = open_gated(directory.path(), quiet());
    let before = storage.syncs();
    let mut pending = Vec::new();
    for tag in 0..10 {
        let mut turn = log.begin().unwrap();
        turn.append(&[record(tag, 16)], tag).unwrap();
        pending.push(turn.leave(Level::Always).unwrap());
    }
    for acknowledgement in pending {
        acknowledgement.wait().unwrap();
    }
    assert_eq!((storage.syncs() - before, log.durable_sequence()), (1, 10));
}

// ---- A failed sync -----------------------------------------------------------------------------

#[test]
fn a_failed_sync_fails_all_who_waited_and_every_later_call_with_the_first_cause() {
    for options in [exclusive(), quiet()] {
        let directory = memory_directory();
        let (log, storage) = failing_sync(directory.path(), options);
        append(&log, 0, 16);
        storage.fail(Some(failure(Call::Sync, ErrorKind::Other, ".seg")));
        let causes = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for tag in 1..=THREADS {
                let (log, causes) = (&log, &causes);
                scope.spawn(move || {
                    let failed = log.append(&[record(tag, 16)], tag, Level::Always);
                    causes.lock().unwrap().push(cause_of(failed.unwrap_err()));
                });
            }
        });
        let first = log.poison().unwrap();
        assert_eq!(first.operation, "sync");
        assert!(causes.into_inner().unwrap().iter().all(|cause| *cause == first));
        assert_eq!(storage.hits(), 1, "no sync is tried again");
        storage.fail(None);
        assert_eq!(cause_of(log.begin().map(drop).unwrap_err()), first);
        assert_eq!(cause_of(log.commit(2, Level::Always).unwrap_err()), first);
        assert_eq!(cause_of(log.commit(2, Level::Witnessed).unwrap_err()), first);
        assert_eq!(cause_of(log.commit(1, Level::Always).unwrap_err()), first);
        assert!(log.close().is_err());
        let lock = Lock::decode(&std::fs::read(directory.path().join("LOCK")).unwrap()).unwrap();
        assert_eq!(lock.state, OwnerState::Poisoned);
        let (again, report) = Log::open(storage, quiet()).unwrap();
        assert!(report.recovered.rewritten_bytes > 0, "the tail is written again");
        append(&again, 99, 16);
    }
}

#[test]
fn a_disk_too_full_for_head_refuses_the_witness_and_the_handle_goes_on() {
    let directory = memory_directory();
    let (log, storage) = failing_sync(directory.path(), quiet());
    append(&log, 0, 16);
    storage.fail(Some(failure(Call::Create, ErrorKind::StorageFull, "HEAD")));
    let refused = log.append(&[record(1, 16)], 1, Level::Witnessed).unwrap_err();
    assert!(matches!(refused, AppendError::Unwitnessed { sequence: 2, .. }), "{refused}");
    assert_eq!((log.durable_sequence(), log.poison()), (2, None));
    assert_eq!(append(&log, 2, 16), 3);
    let refused = log.commit(2, Level::Witnessed).unwrap_err();
    assert!(matches!(refused, AppendError::Unwitnessed { sequence: 2, .. }), "{refused}");
    storage.fail(None);
    log.commit(2, Level::Witnessed).unwrap();
    assert_eq!(head_of(directory.path()), 3, "the newest durable record");
    log.close().unwrap();
}

// ---- Other processes, and the flusher -----------------------------------------------------------

#[test]
fn another_handle_gets_its_turn_while_threads_never_stop() {
    let directory = memory_directory();
    let (log, other) = (open(directory.path(), quiet()), open(directory.path(), quiet()));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let counted = AtomicU64::new(0);
    thread::scope(|scope| {
        for tag in 0..THREADS {
            let (log, is_over, counted) = (&log, &is_over, &counted);
            scope.spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    append(log, tag, 16);
                    counted.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for tag in 100..105 {
            append(&other, tag, 16);
        }
        is_over.store(true, Ordering::SeqCst);
    });
    let records = records_of(directory.path());
    assert_eq!(records.len() as u64, counted.load(Ordering::SeqCst) + 5);
    assert_eq!(records.iter().filter(|record| record.tag() >= 100).count(), 5);
}

#[test]
fn head_follows_in_the_background_while_group_commits_go_on() {
    let directory = memory_directory();
    let options = exclusive().head_delay(Duration::from_millis(1));
    let log = open(directory.path(), options);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        for tag in 0..THREADS {
            let (log, is_over) = (&log, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    append(log, tag, 16);
                }
            });
        }
        let mut named = 0;
        for _ in 0..5 {
            let before = named;
            while named == before {
                thread::yield_now();
                let now = head_of(directory.path());
                assert!(named <= now, "HEAD never goes back");
                named = now;
            }
            assert!(named <= log.durable_sequence(), "HEAD names what is durable");
        }
        is_over.store(true, Ordering::SeqCst);
    });
    log.close().unwrap();
    assert_eq!(head_of(directory.path()), records_of(directory.path()).len() as u64);
}

#[test]
fn what_an_interval_promised_is_synced_by_the_keeper_also_behind_other_syncs() {
    let directory = memory_directory();
    let log = open(directory.path(), quiet());
    for tag in 0..20 {
        let level = Level::Interval(Duration::from_millis(1));
        let sequence = log.append(&[record(tag, 16)], tag, level).unwrap().last_sequence;
        if tag % 3 == 0 {
            append(&log, tag, 16);
        }
        while log.durable_sequence() < sequence {
            thread::yield_now();
        }
    }
    assert_eq!(log.poison(), None);
}

// ---- What a failure leaves ---------------------------------------------------------------------

#[test]
fn crash_a_directory_sync_that_fails_for_want_of_space_poisons_like_any_other() {
    for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded, ErrorKind::Other] {
        for options in [exclusive(), quiet()] {
            let directory = memory_directory();
            let (log, storage) = failing_sync(directory.path(), options);
            append(&log, 1, 16);
            storage.fail(Some(Failure { lasts: false, ..failure(Call::SyncDirectory, kind, "") }));
            let failed = log.append(&[record(2, 16)], 2, Level::Witnessed).unwrap_err();
            let first = cause_of(failed);
            assert_eq!(Some(&first), log.poison().as_ref(), "{kind}");
            for sequence in [1, 2] {
                let again = log.commit(sequence, Level::Witnessed).unwrap_err();
                assert_eq!(cause_of(again), first, "{kind}: not even what was durable before");
            }
            assert!(matches!(log.append(&[], 3, Level::Os), Err(AppendError::Poisoned(_))));
            let lock = std::fs::read(directory.path().join("LOCK")).unwrap();
            assert_eq!(Lock::decode(&lock).unwrap().state, OwnerState::Poisoned, "{kind}");
        }
    }
}

#[test]
fn nobody_is_acknowledged_where_lock_was_removed_while_the_records_were_synced() {
    for options in [exclusive(), quiet()] {
        let directory = memory_directory();
        let (log, storage) = open_gated(directory.path(), options);
        storage.shut();
        let failed = thread::scope(|scope| {
            let append = scope.spawn(|| log.append(&[record(1, 16)], 1, Level::Always));
            storage.await_sync();
            std::fs::remove_file(directory.path().join("LOCK")).unwrap();
            storage.open_gate();
            append.join().unwrap().unwrap_err()
        });
        let cause = cause_of(failed);
        assert!(cause.to_string().contains("LOCK"), "{cause}");
        assert_eq!(log.durable_sequence(), 0);
    }
}

#[test]
fn a_failed_handle_shows_only_what_is_durable() {
    let directory = memory_directory();
    let (log, storage) = failing_sync(directory.path(), exclusive());
    append(&log, 1, 16);
    storage.fail(Some(failure(Call::Sync, ErrorKind::Other, ".seg")));
    assert!(log.append(&[record(2, 16)], 2, Level::Always).is_err());
    let mut shown = Vec::new();
    let from_the_first = log.read_from(1, &mut |_, record| {
        shown.push(record.header.sequence);
        std::ops::ControlFlow::Continue(())
    });
    from_the_first.unwrap();
    assert_eq!(shown, [1]);
}
