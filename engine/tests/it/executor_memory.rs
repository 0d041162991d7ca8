//! What a command holds of memory, and its limit.

use super::executor::{MEBIBYTE, run, shell};
use holdpoint_engine::executor::{CommandSpec, Outcome};
use std::fs;

#[test]
fn memory_above_the_limit_ends_the_whole_group() {
    // What has no end yet is the last line: it is held until the command is killed.
    let script = "{ head -c 400000000 /dev/zero; sleep 100; } | tail -n 1";
    let limit = 64 * MEBIBYTE;
    let spec = CommandSpec { max_memory_bytes: Some(limit), ..shell(script) };
    let report = run(&spec);
    let Outcome::MemoryExceeded { limit: told, seen } = report.outcome else {
        panic!("{:?}", report.outcome);
    };
    assert_eq!(told, limit);
    assert!(seen > limit);
    assert!(report.peak_memory_bytes >= Some(seen));
    assert_eq!(report.exit_status, 128 + 9);
    assert!(report.stdout.end_seen);
}

/// The peak of what this process holds.
fn own_peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("proc is mounted");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    let kibibytes: u64 = line.split_whitespace().nth(1).expect("a size").parse().expect("a number");
    kibibytes * 1024
}

#[test]
fn memory_within_the_limit_is_left_alone_and_its_peak_is_told() {
    // The kernel's own figure tells it, where it is above the peak of the process that forked.
    let held = own_peak() + 100_000_000;
    let script = format!("head -c {held} /dev/zero | tail -n 1 | wc -c");
    let limit = Some(2 * held + 2048 * MEBIBYTE);
    let report = run(&CommandSpec { max_memory_bytes: limit, ..shell(&script) });
    assert_eq!(report.outcome, Outcome::Exited { code: 0 });
    assert!(report.peak_memory_bytes >= Some(held), "{:?}", report.peak_memory_bytes);
}

#[test]
fn memory_that_forked_processes_share_counts_once() {
    let script = "x=$(head -c 40000000 /dev/zero | tr '\\0' a)
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do (sleep 0.3; :) & done; wait";
    let spec = CommandSpec { max_memory_bytes: Some(400 * MEBIBYTE), ..shell(script) };
    let report = run(&spec);
    assert_eq!(report.outcome, Outcome::Exited { code: 0 }, "{:?}", report.peak_memory_bytes);
}
