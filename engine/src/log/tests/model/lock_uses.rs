//! The lock between processes: shared by the turns of one handle, and given to others in time.

use super::disk::{ModelDisk, Plan};
use super::{append, explore, opened};
use crate::log::{Level, Ownership};
use crate::sync::Mutex;
use holdpoint_log_format::OwnerState;
use shuttle::thread;

#[test]
fn model_two_processes_and_their_threads_all_get_their_turns() {
    explore(6_000, || {
        let disk = ModelDisk::default();
        // One syncs while the other one replaces HEAD.
        disk.plan(Plan { is_shared: true, ..Plan::default() });
        let first = opened(&disk, Ownership::PerTransaction);
        let second = opened(&disk, Ownership::PerTransaction);
        let sequences = Mutex::new(Vec::new());
        thread::scope(|scope| {
            for (shared, level) in
                [(&first, Level::Always), (&first, Level::Witnessed), (&second, Level::Witnessed)]
            {
                let (sequences, disk) = (&sequences, &disk);
                scope.spawn(move || {
                    for _ in 0..2 {
                        let sequence = append(shared, 16, level).unwrap();
                        assert!(sequence <= disk.durable_newest());
                        assert!(level != Level::Witnessed || sequence <= disk.durable_head());
                        sequences.lock().push(sequence);
                    }
                });
            }
        });
        let mut sequences = sequences.lock().clone();
        sequences.sort_unstable();
        assert_eq!(sequences, [1, 2, 3, 4, 5, 6], "each place is given once");
        assert!(!disk.is_locked());
        assert_eq!(disk.lock_says().state, OwnerState::Idle);
        assert_eq!(disk.lock_says().durable_sequence, 6);
    });
}

#[test]
fn model_who_comes_after_a_poisoned_owner_takes_over_what_was_acknowledged() {
    explore(4_000, || {
        let disk = ModelDisk::default();
        let first = opened(&disk, Ownership::PerTransaction);
        disk.plan(Plan { good_syncs: Some(1), ..Plan::default() });
        let acknowledged = Mutex::new(0);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Ok(sequence) = append(&first, 16, Level::Always) {
                        let mut newest = acknowledged.lock();
                        *newest = sequence.max(*newest);
                    }
                });
            }
        });
        disk.plan(Plan::default());
        let second = opened(&disk, Ownership::PerTransaction);
        let newest = second.commit.durable();
        assert!(*acknowledged.lock() <= newest, "what was acknowledged is there");
        assert_eq!(newest, disk.durable_newest(), "what is served is on the disk");
        assert_eq!(append(&second, 16, Level::Always).unwrap(), newest + 1);
    });
}
