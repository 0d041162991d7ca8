//! Readers at the tail, who take no lock: what they take is what was written, whole and in order,
//! whichever 8 bytes of it they see first.

use super::disk::{ModelDisk, Plan};
use super::{append, explore, opened};
use crate::log::state::Shared;
use crate::log::{Level, Ownership};
use holdpoint_log_files::Follower;
use shuttle::thread;

/// Follows the log until its record `until`, and gives the lengths of the payloads.
fn follow(disk: &ModelDisk, until: u64) -> Vec<usize> {
    let mut follower = Follower::at_segment(disk, 1).unwrap();
    let mut taken = Vec::new();
    while (taken.len() as u64) < until {
        let before = taken.len() as u64;
        follower
            .catch_up(disk, &mut |_, record| {
                assert_eq!(record.header.sequence, taken.len() as u64 + 1, "in order, once");
                assert!(record.payload.iter().skip(8).all(|byte| *byte == 0xa5), "as written");
                taken.push(record.payload.len());
            })
            .unwrap();
        assert!(follower.run.chain.sequence >= before, "nothing is taken back");
        thread::yield_now();
    }
    taken
}

fn write(shared: &Shared<ModelDisk>, lengths: &[usize]) {
    for length in lengths {
        append(shared, *length, Level::Os).unwrap();
    }
}

/// While records of these lengths are written, on a disk that shows writes torn, a reader takes
/// them all, in order.
fn explore_reading_while_writing<const N: usize>(schedules: usize, lengths: [usize; N]) {
    explore(schedules, move || {
        let disk = ModelDisk::default();
        let shared = opened(&disk, Ownership::Exclusive);
        disk.plan(Plan { is_torn: true, ..Plan::default() });
        thread::scope(|scope| {
            scope.spawn(|| write(&shared, &lengths));
            scope.spawn(|| assert_eq!(follow(&disk, N as u64), lengths));
        });
    });
}

#[test]
fn model_a_reader_at_the_tail_takes_each_record_whole_or_not_yet() {
    explore_reading_while_writing(3_000, [8, 24, 0]);
}

#[test]
fn model_a_reader_at_the_tail_goes_over_a_roll() {
    explore_reading_while_writing(1_000, [8, 60_000, 60_000]);
}
