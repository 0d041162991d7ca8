//! The flusher: what `Interval` promised is synced, HEAD follows, and closing waits for both.

use super::disk::{ModelDisk, Plan};
use super::{NEVER, explore, record};
use crate::log::{CloseError, Level, Log, Options, Ownership};
use holdpoint_log_format::OwnerState;
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use std::time::Duration;

const SOON: Duration = Duration::from_millis(1);

fn opened(disk: &ModelDisk, ownership: Ownership) -> Log<ModelDisk> {
    let options = Options { ownership, lock_wait: NEVER, head_delay: SOON, ..Options::default() };
    Log::open(disk.clone(), options).unwrap().0
}

fn any_ownership() -> Ownership {
    match thread_rng().gen_bool(0.5) {
        true => Ownership::Exclusive,
        false => Ownership::PerTransaction,
    }
}

fn append(log: &Log<ModelDisk>, level: Level) -> u64 {
    log.append(&[record(1, 16)], 1, level).unwrap().last_sequence
}

#[test]
fn model_what_an_interval_promised_is_synced_and_head_follows_without_anybody_asking() {
    explore(4_000, || {
        let disk = ModelDisk::default();
        let log = opened(&disk, any_ownership());
        let interval = Level::Interval(SOON);
        let other = if thread_rng().gen_bool(0.5) { interval } else { Level::Always };
        thread::scope(|scope| {
            for level in [interval, other] {
                let log = &log;
                scope.spawn(move || (append(log, level), append(log, level)));
            }
        });
        while disk.durable_newest() < 4 || disk.durable_head() < 4 {
            thread::yield_now();
        }
        assert_eq!(log.poison(), None);
        log.close().unwrap();
    });
}

#[test]
fn model_a_segment_made_ahead_beside_appends_and_rolls_changes_no_promise() {
    explore(800, || {
        let disk = ModelDisk::default();
        let options = Options {
            ownership: Ownership::Exclusive,
            lock_wait: NEVER,
            head_delay: NEVER,
            prepare_ahead: 0,
            ..Options::default()
        };
        let log = Log::open(disk.clone(), options).unwrap().0;
        thread::scope(|scope| {
            for _ in 0..2 {
                let (log, disk) = (&log, &disk);
                scope.spawn(move || {
                    for _ in 0..2 {
                        // Every other record begins a segment.
                        let records = [record(1, 40_000)];
                        let appended = log.append(&records, 1, Level::Always).unwrap();
                        assert!(appended.last_sequence <= disk.durable_newest());
                    }
                });
            }
        });
        log.close().unwrap();
        assert_eq!((disk.durable_newest(), disk.durable_head()), (4, 4));
        assert!(!disk.has_prepared(), "nothing of it stays");
    });
}

#[test]
fn model_closing_leaves_everything_durable_witnessed_and_the_lock_idle() {
    explore(6_000, || {
        let disk = ModelDisk::default();
        let log = opened(&disk, any_ownership());
        for level in [Level::Always, Level::Interval(SOON), Level::Staged] {
            append(&log, level);
        }
        // An assertion of the disk sees a HEAD that is replaced without the lock.
        let is_full = thread_rng().gen_bool(0.5);
        disk.plan(Plan { is_full, ..Plan::default() });
        let closed = log.close();
        assert!(!disk.is_locked());
        assert_eq!(disk.lock_says().state, OwnerState::Idle);
        assert_eq!(disk.durable_newest(), 3);
        match closed {
            Ok(()) => assert_eq!(disk.durable_head(), 3),
            Err(error) => assert!(is_full && matches!(error, CloseError::Witness(_)), "{error}"),
        }
        let syncs = disk.counts();
        thread::yield_now();
        assert_eq!(disk.counts(), syncs, "nobody is at the disk any more");
    });
}
