//! Rebuilding the state from a log, against copying and hashing the same bytes in the same run.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that fails, fails the bench")]

mod floors;

use criterion::Criterion;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::BootId;
use holdpoint_replay::{ReadOptions, Until, rebuild};
use holdpoint_testing::hand_made::HandMadeLog;
use tempfile::TempDir;

/// Runs of a command on the log: 13 records each.
const RUNS: usize = 4_000;

fn main() {
    let directory = TempDir::new().unwrap();
    let mut log = HandMadeLog::new();
    (0..RUNS).for_each(|_| drop(log.run()));
    log.write(directory.path());
    let storage = DirectoryStorage::new(directory.path());
    let options = ReadOptions::new(BootId::UNKNOWN, &|| Ok(false));
    let half = Until::Sequence(log.chain.sequence / 2);
    let to = |until| {
        let rebuilt = rebuild(&storage, until, options, &mut |_| {}, &mut |_| {}).unwrap();
        assert!(rebuilt.world.settled_loops().count() > RUNS / 3);
    };
    let bytes = floors::record_bytes(directory.path());
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = floors::group(&mut criterion, "rebuild", &bytes);
    group.bench_function("to the end", |bencher| bencher.iter(|| to(Until::End)));
    group.bench_function("to the middle", |bencher| bencher.iter(|| to(half)));
    group.finish();
    criterion.final_summary();
    floors::print_ratios("rebuild", &bytes, || to(Until::End));
}
