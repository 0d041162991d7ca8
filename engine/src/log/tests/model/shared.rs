//! Processes that share a sync: who is acknowledged, when, and what the death or the failure of one
//! means for the others.

use super::disk::{ModelDisk, Plan};
use super::{append, explore, opened};
use crate::log::state::Shared;
use crate::log::{Level, Ownership};
use crate::sync::Mutex;
use holdpoint_log_format::OwnerState;
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;

/// Syncs and HEADs of several processes on one disk.
const SHARED: Plan = Plan {
    good_syncs: None,
    good_writes: None,
    is_full: false,
    is_torn: false,
    is_shared: true,
    fails_once: false,
};

/// A process with its log open.
struct Process {
    disk: ModelDisk,
    shared: Shared<ModelDisk>,
}

fn process(disk: &ModelDisk) -> Process {
    let disk = disk.process();
    let shared = opened(&disk, Ownership::PerTransaction);
    Process { disk, shared }
}

impl Process {
    /// Appends until something fails; gives what was acknowledged, each durable by then.
    fn append_some(&self, count: u32, length: usize, acknowledged: &Mutex<Vec<u64>>) {
        for _ in 0..count {
            let Ok(sequence) = append(&self.shared, length, Level::Always) else { return };
            if self.disk.is_dead() {
                // Nobody hears of it any more.
                return;
            }
            assert!(sequence <= self.disk.durable_newest(), "acknowledged and not durable");
            acknowledged.lock().push(sequence);
        }
    }
}

/// Whoever opens next finds all that was acknowledged, each place given once, and goes on.
fn assert_all_is_there(disk: &ModelDisk, acknowledged: &Mutex<Vec<u64>>) {
    let mut acknowledged = acknowledged.lock().clone();
    acknowledged.sort_unstable();
    assert!(acknowledged.windows(2).all(|pair| pair[0] < pair[1]), "{acknowledged:?}");
    let durable = disk.durable_newest();
    assert!(acknowledged.last().is_none_or(|newest| *newest <= durable), "{acknowledged:?}");
    disk.plan(SHARED);
    let next = process(disk);
    let newest = next.shared.commit.durable();
    assert_eq!(newest, disk.durable_newest(), "what is served is on the disk");
    assert!(durable <= newest);
    assert_eq!(append(&next.shared, 16, Level::Always).unwrap(), newest + 1);
}

fn three(length: usize) {
    let disk = ModelDisk::default();
    disk.plan(SHARED);
    let processes = [(); 3].map(|()| process(&disk));
    let acknowledged = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for process in &processes {
            let acknowledged = &acknowledged;
            scope.spawn(move || process.append_some(2, length, acknowledged));
        }
    });
    assert_eq!(acknowledged.lock().len(), 6, "nobody fails");
    assert_eq!(disk.durable_newest(), 6);
    assert!(!disk.is_locked());
    assert_eq!(disk.lock_says().state, OwnerState::Idle);
    assert_all_is_there(&disk, &acknowledged);
}

#[test]
fn model_processes_that_share_a_sync_are_acknowledged_behind_it_and_never_before() {
    explore(6_000, || three(16));
}

#[test]
fn model_a_roll_of_one_process_leaves_no_other_one_unacknowledged() {
    // Every other record begins a segment.
    explore(600, || three(40_000));
}

#[test]
fn model_a_process_killed_between_append_release_sync_and_publish_costs_nobody_else_anything() {
    explore(12_000, || {
        let disk = ModelDisk::default();
        disk.plan(SHARED);
        let processes = [(); 3].map(|()| process(&disk));
        processes[0].disk.dies_in(thread_rng().gen_range(1..40));
        let acknowledged = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for process in &processes {
                let acknowledged = &acknowledged;
                scope.spawn(move || process.append_some(2, 16, acknowledged));
            }
        });
        assert!(acknowledged.lock().len() >= 4, "the others go on");
        assert!(!disk.is_locked());
        assert_all_is_there(&disk, &acknowledged);
    });
}

#[test]
fn model_a_failed_sync_of_one_process_acknowledges_nothing_that_it_lost_for_any_other() {
    explore(12_000, || {
        let disk = ModelDisk::default();
        disk.plan(SHARED);
        let processes = [(); 3].map(|()| process(&disk));
        let good_syncs = Some(thread_rng().gen_range(0..4));
        disk.plan(Plan { good_syncs, fails_once: true, ..SHARED });
        // One more may die: with what it was told, or before.
        if thread_rng().gen_bool(0.5) {
            processes[0].disk.dies_in(thread_rng().gen_range(1..40));
        }
        let acknowledged = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for process in &processes {
                let acknowledged = &acknowledged;
                scope.spawn(move || process.append_some(2, 16, acknowledged));
            }
        });
        assert_all_is_there(&disk, &acknowledged);
    });
}

#[test]
fn model_who_comes_while_others_share_a_sync_is_served_what_is_durable() {
    explore(6_000, || {
        let disk = ModelDisk::default();
        disk.plan(SHARED);
        let first = process(&disk);
        first.disk.dies_in(thread_rng().gen_range(10..60));
        let acknowledged = Mutex::new(Vec::new());
        thread::scope(|scope| {
            scope.spawn(|| first.append_some(3, 16, &acknowledged));
            scope.spawn(|| {
                let late = process(&disk);
                let newest = late.shared.commit.durable();
                assert!(newest <= disk.durable_newest(), "served and not durable");
                late.append_some(2, 16, &acknowledged);
            });
        });
        assert_all_is_there(&disk, &acknowledged);
    });
}
