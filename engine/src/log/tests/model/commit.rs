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
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
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

/// The protocol alone, small enough for every schedule there is.
#[derive(Default)]
struct Small {
    commit: GroupCommit,
    /// Newest appended sequence: stands for the log's state.
    state: Mutex<u64>,
    /// What the last sync covered.
    disk: AtomicU64,
    /// Threads that gather.
    gatherers: AtomicU64,
}

/// How it ends with a thread that comes to gather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It makes its trip.
    Trip,
    /// It returns without a trip.
    Return,
    Panic,
    PanicAtTheDisk,
    /// Its sync fails.
    Failure,
}

impl Small {
    fn append(&self) -> u64 {
        let mut newest = self.state.lock();
        *newest += 1;
        *newest
    }

    /// Waits until the record is durable; gives whether it is.
    fn commit(&self, sequence: u64, end: End) -> Result<bool, PoisonCause> {
        while let Joined::Lead(gatherer) = self.commit.join(Goal::Durable(sequence))? {
            let others = self.gatherers.fetch_add(1, Ordering::Relaxed);
            assert_eq!(others, 0, "one gathers at a time");
            let newest = self.state.lock();
            self.gatherers.fetch_sub(1, Ordering::Relaxed);
            match end {
                End::Return => return Ok(false),
                // Without the message of a panic.
                End::Panic => resume_unwind(Box::new(())),
                End::Trip | End::PanicAtTheDisk | End::Failure => {}
            }
            let cut = *newest;
            let Some(_token) = gatherer.try_take(cut) else { continue };
            drop(newest);
            match end {
                End::PanicAtTheDisk => resume_unwind(Box::new(())),
                End::Failure => return Err(self.commit.fail(failure())),
                End::Trip | End::Return | End::Panic => {}
            }
            if let Some(cause) = self.commit.failure() {
                return Err(cause);
            }
            self.disk.store(cut, Ordering::Relaxed);
            self.commit.is_durable(cut, None);
        }
        let durable = self.disk.load(Ordering::Relaxed);
        assert!(sequence <= durable, "acknowledged before its sync");
        Ok(true)
    }

    /// Appends a record and waits for it.
    fn append_and_commit(&self, end: End) {
        self.commit_until(self.append(), end);
    }

    /// Waits for a record. Panics of the model are its end and no news.
    fn commit_until(&self, sequence: u64, end: End) {
        let ended = catch_unwind(AssertUnwindSafe(|| self.commit(sequence, end)));
        match ended {
            Ok(Ok(is_durable)) => assert!(is_durable || end == End::Return, "{end:?}"),
            Ok(Err(cause)) => assert_eq!(Some(cause), self.commit.failure()),
            Err(panic) if panic.is::<()>() => {}
            Err(panic) => resume_unwind(panic),
        }
    }
}

impl Default for GroupCommit {
    fn default() -> Self {
        Self::new(Reached::default())
    }
}

fn failure() -> PoisonCause {
    PoisonCause { operation: "sync", file: String::new(), message: String::new() }
}

/// Tries every schedule of two committers, one of which ends so when it comes to gather.
fn explore_two_committers(end: End) -> usize {
    explore_all(move || {
        let small = Arc::new(Small { state: Mutex::new(2), ..Small::default() });
        let other = {
            let small = small.clone();
            thread::spawn(move || small.commit_until(1, end))
        };
        small.commit_until(2, End::Trip);
        other.join().unwrap();
        let has_failed = small.commit.failure().is_some();
        assert!(has_failed || end != End::Trip || small.commit.durable() == 2);
        assert!(!has_failed || end == End::Failure);
    })
}

#[test]
fn model_every_schedule_of_two_committers_ends_with_both_acknowledged() {
    let schedules = explore_two_committers(End::Trip);
    assert!(schedules > 100, "{schedules}");
}

#[test]
fn model_every_schedule_beside_a_gatherer_that_ends_without_a_trip_ends_for_the_other() {
    for end in [End::Return, End::Panic, End::PanicAtTheDisk, End::Failure] {
        let schedules = explore_two_committers(end);
        assert!(schedules > 100, "{end:?}: {schedules}");
    }
}

#[test]
fn model_somebody_is_woken_to_lead_for_whoever_waits_for_the_next_trip() {
    explore(8_000, || {
        let small = Small::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| small.append_and_commit(End::Trip));
            }
            // The owner of a turn waits for the token while it has the state.
            scope.spawn(|| {
                let newest = small.state.lock();
                drop(small.commit.take(small.commit.durable()));
                drop(newest);
            });
        });
        assert_eq!(small.commit.durable(), 4, "and nobody waits for ever");
    });
}

#[test]
fn model_a_gatherer_that_returns_or_panics_hands_over_and_nobody_waits_for_ever() {
    explore(12_000, || {
        let small = Small::default();
        let ends = [End::Return, End::Panic, End::PanicAtTheDisk, End::Failure];
        let end = ends[thread_rng().gen_range(0..ends.len())];
        thread::scope(|scope| {
            for end in [End::Trip, end, End::Trip, end] {
                let small = &small;
                scope.spawn(move || small.append_and_commit(end));
            }
            scope.spawn(|| {
                let newest = small.state.lock();
                drop(small.commit.take(small.commit.durable()));
                drop(newest);
            });
        });
        assert!(end == End::Failure || small.commit.failure().is_none());
    });
}
