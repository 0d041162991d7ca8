//! Group commit: who is acknowledged, when, and what a failed sync means for whom.

use super::disk::{ModelDisk, Plan};
use super::{append, explore, explore_all, opened, options, record};
use crate::log::error::AppendError;
use crate::log::group_commit::{Goal, GroupCommit, Joined, Reached};
use crate::log::state::Shared;
use crate::log::write_transaction::WriteTransaction;
use crate::log::{Level, Log, Ownership, PoisonCause};
use crate::sync::Mutex;
use holdpoint_log_format::OwnerState;
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Appends two records and checks that each is as safe as promised when it is acknowledged.
fn append_two(shared: &Shared<ModelDisk>, disk: &ModelDisk, length: usize, level: Level) {
    for _ in 0..2 {
        let sequence = append(shared, length, level).expect("the disk works");
        assert!(sequence <= disk.durable_newest(), "acknowledged before its sync returned");
        assert!(sequence <= shared.commit.durable());
        if level == Level::Witnessed {
            assert!(sequence <= disk.durable_head(), "acknowledged before HEAD named it");
        }
    }
}

fn appenders(ownership: Ownership, length: usize, levels: [Level; 3]) {
    let disk = ModelDisk::default();
    let shared = opened(&disk, ownership);
    thread::scope(|scope| {
        for level in levels {
            let (shared, disk) = (&shared, &disk);
            scope.spawn(move || append_two(shared, disk, length, level));
        }
    });
    assert_eq!(disk.durable_newest(), 6);
}

#[test]
fn model_nobody_is_acknowledged_before_a_sync_that_covers_the_record_returned() {
    explore(8_000, || appenders(Ownership::Exclusive, 16, [Level::Always; 3]));
    explore(8_000, || appenders(Ownership::PerTransaction, 16, [Level::Always; 3]));
}

#[test]
fn model_witnessed_means_that_head_names_the_record_durably() {
    let levels = [Level::Witnessed, Level::Always, Level::Witnessed];
    explore(6_000, move || appenders(Ownership::Exclusive, 16, levels));
    explore(6_000, move || appenders(Ownership::PerTransaction, 16, levels));
}

#[test]
fn model_a_roll_in_between_changes_no_promise() {
    // Every other record begins a segment.
    let levels = [Level::Always, Level::Witnessed, Level::Always];
    explore(800, move || appenders(Ownership::Exclusive, 40_000, levels));
    explore(800, move || appenders(Ownership::PerTransaction, 40_000, levels));
}

/// What became of two appends, on a disk whose syncs fail from one on.
fn append_until_it_fails(
    shared: &Shared<ModelDisk>,
    disk: &ModelDisk,
    causes: &Mutex<Vec<PoisonCause>>,
) {
    for level in [Level::Always, Level::Witnessed] {
        match append(shared, 16, level) {
            Ok(sequence) => assert!(sequence <= disk.durable_newest(), "acknowledged and lost"),
            Err(AppendError::Failed(cause) | AppendError::Poisoned(cause)) => {
                causes.lock().push(cause);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn failing(ownership: Ownership) {
    let disk = ModelDisk::default();
    let shared = opened(&disk, ownership);
    let good_syncs = Some(thread_rng().gen_range(0..3));
    disk.plan(Plan { good_syncs, ..Plan::default() });
    let causes = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| append_until_it_fails(&shared, &disk, &causes));
        }
    });
    let causes = causes.lock().clone();
    let failure = shared.poison();
    assert_eq!(failure.is_some(), disk.counts().failed_syncs > 0);
    assert!(causes.iter().all(|cause| Some(cause) == failure.as_ref()), "one cause, the first");
    if failure.is_none() {
        return;
    }
    assert!(matches!(append(&shared, 16, Level::Os), Err(AppendError::Poisoned(_))));
    assert!(!disk.is_locked(), "a poisoned handle gives the lock back");
    assert_eq!(disk.lock_says().state, OwnerState::Poisoned);
    let counts = disk.counts();
    assert_eq!(counts.locks_taken, counts.locks_given_back);
}

#[test]
fn model_a_failed_sync_fails_everybody_with_the_first_cause_and_is_the_last_one() {
    explore(8_000, || failing(Ownership::Exclusive));
    explore(8_000, || failing(Ownership::PerTransaction));
}

#[test]
fn model_a_failed_write_gives_the_lock_back_only_when_nobody_is_at_the_disk() {
    explore(4_000, || {
        let disk = ModelDisk::default();
        let shared = opened(&disk, Ownership::PerTransaction);
        let good_writes = Some(thread_rng().gen_range(0..3));
        disk.plan(Plan { good_writes, ..Plan::default() });
        let causes = Mutex::new(Vec::new());
        // An assertion of the disk sees a HEAD that is replaced without the lock.
        thread::scope(|scope| {
            scope.spawn(|| append_until_it_fails(&shared, &disk, &causes));
            scope.spawn(|| drop(append(&shared, 16, Level::Witnessed)));
            // Writes while others sync.
            scope.spawn(|| drop(append(&shared, 16, Level::Os)));
        });
        assert!(causes.lock().iter().all(|cause| Some(cause) == shared.poison().as_ref()));
        assert!(!disk.is_locked());
    });
}

#[test]
fn model_a_full_disk_for_head_refuses_the_witness_alone_and_the_handle_goes_on() {
    explore(6_000, || {
        let disk = ModelDisk::default();
        let shared = opened(&disk, Ownership::PerTransaction);
        disk.plan(Plan { is_full: true, ..Plan::default() });
        thread::scope(|scope| {
            scope.spawn(|| append_two(&shared, &disk, 16, Level::Always));
            for _ in 0..2 {
                scope.spawn(|| {
                    let refused = append(&shared, 16, Level::Witnessed);
                    let Err(AppendError::Unwitnessed { sequence, .. }) = refused else {
                        panic!("{refused:?}")
                    };
                    assert!(sequence <= disk.durable_newest(), "it is durable all the same");
                });
            }
        });
        disk.plan(Plan::default());
        append_two(&shared, &disk, 16, Level::Witnessed);
    });
}

#[test]
fn model_what_was_left_behind_a_turn_is_committed_later() {
    explore(6_000, || {
        let disk = ModelDisk::default();
        let (log, _) = Log::open(disk.clone(), options(Ownership::Exclusive)).unwrap();
        thread::scope(|scope| {
            for level in [Level::Always, Level::Witnessed] {
                let (log, disk) = (&log, &disk);
                scope.spawn(move || pipeline(log, disk, level));
            }
        });
        let beyond = log.commit(1_000, Level::Always);
        assert!(matches!(beyond, Err(AppendError::NotThere { newest: 4, .. })), "{beyond:?}");
        log.close().unwrap();
        assert_eq!((disk.durable_newest(), disk.durable_head()), (4, 4));
    });
}

fn pipeline(log: &Log<ModelDisk>, disk: &ModelDisk, level: Level) {
    let staged = [1, 2].map(|tag| log.append(&[record(tag, 16)], tag, Level::Staged).unwrap());
    for appended in staged {
        log.commit(appended.last_sequence, level).unwrap();
        assert!(appended.last_sequence <= disk.durable_newest());
        if level == Level::Witnessed {
            assert!(appended.last_sequence <= disk.durable_head());
        }
    }
}

#[test]
fn model_a_turn_may_sync_while_others_wait_for_theirs() {
    explore(6_000, || {
        let disk = ModelDisk::default();
        let shared = opened(&disk, Ownership::PerTransaction);
        thread::scope(|scope| {
            scope.spawn(|| append_two(&shared, &disk, 16, Level::Always));
            scope.spawn(|| append_two(&shared, &disk, 16, Level::Witnessed));
            scope.spawn(|| {
                let mut turn = WriteTransaction::begin(&shared).unwrap();
                let appended = turn.append(&[record(1, 16)], 1).unwrap();
                turn.sync().unwrap();
                assert!(appended.last_sequence <= disk.durable_newest());
                let dropped = turn.leave(Level::Always).unwrap();
                drop(dropped);
            });
        });
        assert_eq!(disk.durable_newest(), 5);
        assert!(!disk.is_locked());
    });
}

/// The protocol alone, small enough for every schedule there is: two records are appended, `state`
/// stands for the log's, and `disk` for what the last sync covered.
fn commit_small(commit: &GroupCommit, state: &Mutex<u64>, disk: &AtomicU64, sequence: u64) {
    let goal = Goal::Durable(sequence);
    while commit.join(goal).expect("nothing fails") == Joined::Lead {
        let newest = state.lock();
        let cut = *newest;
        let Some(token) = commit.try_take(cut) else { continue };
        drop(newest);
        disk.store(cut, Ordering::Relaxed);
        commit.is_durable(cut, None);
        drop(token);
    }
    assert!(sequence <= disk.load(Ordering::Relaxed), "acknowledged before its sync");
}

#[test]
fn model_every_schedule_of_two_committers_ends_with_both_acknowledged() {
    let schedules = explore_all(|| {
        let commit = Arc::new(GroupCommit::new(Reached::default()));
        let (state, disk) = (Arc::new(Mutex::new(2)), Arc::new(AtomicU64::new(0)));
        let other = {
            let (commit, state, disk) = (commit.clone(), state.clone(), disk.clone());
            thread::spawn(move || commit_small(&commit, &state, &disk, 1))
        };
        commit_small(&commit, &state, &disk, 2);
        other.join().unwrap();
        assert_eq!(commit.durable(), 2);
    });
    assert!(schedules > 100, "{schedules}");
}

/// Appends a record and commits it.
fn append_small(commit: &GroupCommit, state: &Mutex<u64>, disk: &AtomicU64) {
    let sequence = {
        let mut newest = state.lock();
        *newest += 1;
        *newest
    };
    commit_small(commit, state, disk, sequence);
}

#[test]
fn model_somebody_is_woken_to_lead_for_whoever_waits_for_the_next_trip() {
    explore(8_000, || {
        let commit = GroupCommit::new(Reached::default());
        let (state, disk) = (Mutex::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| append_small(&commit, &state, &disk));
            }
            // The owner of a turn waits for the token while it has the state.
            scope.spawn(|| {
                let newest = state.lock();
                drop(commit.take(commit.durable()));
                drop(newest);
            });
        });
        assert_eq!(commit.durable(), 4, "and nobody waits for ever");
    });
}
