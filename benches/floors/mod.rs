//! What no reading can beat: copying the bytes, and hashing them once.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};
use sha2::{Digest, Sha256};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a ratio's parts are measured; the fastest counts.
const ROUNDS: u32 = 5;

/// A group whose throughput is that of `bytes`, with both floors in it.
pub(crate) fn group<'c>(
    criterion: &'c mut Criterion,
    name: &str,
    bytes: &[u8],
) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("floor: memcpy", |bencher| bencher.iter(|| copy(bytes)));
    group.bench_function("floor: SHA-256", |bencher| bencher.iter(|| hash(bytes)));
    group
}

/// Prints how many times as long as each floor the work takes.
pub(crate) fn print_ratios(name: &str, bytes: &[u8], mut work: impl FnMut()) {
    let (taken, copied, hashed) =
        (fastest(&mut work), fastest(|| copy(bytes)), fastest(|| hash(bytes)));
    let ratio = |floor: Duration| taken.as_secs_f64() / floor.as_secs_f64();
    println!(
        "{name}: {:.0} MB/s; {:.2} times SHA-256, {:.1} times memcpy",
        bytes.len() as f64 / taken.as_secs_f64() / 1e6,
        ratio(hashed),
        ratio(copied)
    );
}

/// The bytes of all records of a log: its segments without their reserved space.
pub(crate) fn record_bytes(directory: &Path) -> Vec<u8> {
    let segments = std::fs::read_dir(directory.join("segments")).expect("the log was written");
    let mut bytes = Vec::new();
    for entry in segments {
        let path = entry.expect("the directory is readable").path();
        let segment = std::fs::read(path).expect("the segment is readable");
        let end = segment.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        bytes.extend_from_slice(segment.get(..end).unwrap_or_default());
    }
    bytes
}

fn copy(bytes: &[u8]) {
    black_box(black_box(bytes).to_vec());
}

fn hash(bytes: &[u8]) {
    black_box(Sha256::digest(black_box(bytes)));
}

fn fastest(mut work: impl FnMut()) -> Duration {
    let mut timed = || {
        let begun = Instant::now();
        work();
        begun.elapsed()
    };
    (0..ROUNDS).map(|_| timed()).min().unwrap_or(Duration::ZERO)
}
