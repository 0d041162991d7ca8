//! Appending one record at each level, against what it cannot beat: copying the bytes, hashing them
//! into the chain, and a bare write, or write and sync, into a prepared file.

use criterion::{Criterion, Throughput};
use holdpoint_engine::log::{Level, Log, NewRecord, Options, Ownership};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_format::link::payload_digest;
use holdpoint_log_format::{Flags, Link, LinkPrefix, LogId};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Bytes of a payload.
const SIZES: [usize; 4] = [64, 256, 1_024, 4_096];

/// A log is begun anew when it holds so many bytes: a bench must not fill the disk.
const LOG_BYTES_MAX: u64 = 128 << 20;

/// Bytes of the file that the floors write into.
const PREPARED_BYTES: u64 = 64 << 20;

/// How often a ratio's parts are measured; the fastest counts.
const ROUNDS: u32 = 5;

/// Does something so many times and gives the time that it took.
type Work = Box<dyn FnMut(u64) -> Duration>;

/// Something to measure, and how often a ratio needs it done.
struct Contender {
    name: &'static str,
    repetitions: u64,
    work: Work,
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let measured: Vec<_> = SIZES.map(|size| (size, measure(&mut criterion, size))).into();
    criterion.final_summary();
    if std::env::args().any(|argument| argument == "--bench") {
        print_ratios(measured);
    }
}

fn measure(criterion: &mut Criterion, size: usize) -> Vec<Contender> {
    let mut group = criterion.benchmark_group(format!("append {size} B"));
    group.throughput(Throughput::Bytes(size as u64)).sample_size(10);
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    let mut contenders = contenders(size);
    for contender in &mut contenders {
        group.bench_function(contender.name, |bencher| bencher.iter_custom(&mut contender.work));
    }
    group.finish();
    contenders
}

/// The floors first, then the levels.
fn contenders(size: usize) -> Vec<Contender> {
    let fast = |name, work| Contender { name, repetitions: 20_000, work };
    let slow = |name, work| Contender { name, repetitions: 200, work };
    vec![
        fast("floor: memcpy", copying(size)),
        fast("floor: SHA-256 chain", hashing(size)),
        fast("floor: pwrite", writing(size, false)),
        slow("floor: pwrite and fdatasync", writing(size, true)),
        fast("Staged", appending(size, Level::Staged)),
        fast("Os", appending(size, Level::Os)),
        slow("Always", appending(size, Level::Always)),
    ]
}

fn timed(times: u64, mut once: impl FnMut()) -> Duration {
    let begun = Instant::now();
    (0..times).for_each(|_| once());
    begun.elapsed()
}

fn copying(size: usize) -> Work {
    let (from, mut to) = (vec![0xa5_u8; size + 64], vec![0; size + 64]);
    Box::new(move |times| timed(times, || black_box(&mut to).copy_from_slice(black_box(&from))))
}

/// The payload's digest and the two compressions of the link: what every record of the chain costs.
fn hashing(size: usize) -> Work {
    let (payload, log) = (vec![0xa5; size], LogId([1; 16]));
    let mut link = Link::genesis(log);
    Box::new(move |times| {
        timed(times, || {
            let digest = payload_digest(black_box(&payload));
            link = LinkPrefix::new(log, 7, 1, Flags::NONE, &digest).link(&link, 0, 1, 1);
        })
    })
}

fn writing(size: usize, syncs: bool) -> Work {
    let file = tempfile::tempfile().expect("there is room for a file");
    fallocate(&file, FallocateFlags::empty(), 0, PREPARED_BYTES).expect("there is room");
    let bytes = vec![0xa5; size + 64];
    let mut offset = 0;
    Box::new(move |times| timed(times, || write_next(&file, &bytes, &mut offset, syncs)))
}

fn write_next(file: &File, bytes: &[u8], offset: &mut u64, syncs: bool) {
    file.write_all_at(bytes, *offset).expect("the file can be written");
    if syncs {
        file.sync_data().expect("the file can be synced");
    }
    *offset = (*offset + bytes.len() as u64) % (PREPARED_BYTES - bytes.len() as u64);
}

/// A log that nobody else writes to, and how many more records it may hold.
struct Fresh {
    log: Log,
    room: u64,
    // Removed after the log is closed.
    _directory: TempDir,
}

fn fresh(size: usize) -> Fresh {
    let directory = tempfile::tempdir().expect("there is room for a directory");
    let options = Options::default().ownership(Ownership::Exclusive);
    let storage = DirectoryStorage::new(directory.path());
    let (log, _) = Log::open(storage, options).expect("a new log can be made");
    Fresh { log, room: LOG_BYTES_MAX / (size as u64 + 64), _directory: directory }
}

fn appending(size: usize, level: Level) -> Work {
    let record = [NewRecord { kind: 32_775, version: 1, payload: vec![0xa5; size] }];
    let mut current = fresh(size);
    Box::new(move |times| {
        let (mut left, mut taken) = (times, Duration::ZERO);
        while left > 0 {
            if current.room == 0 {
                current = fresh(size);
            }
            let now = left.min(current.room);
            taken += timed(now, || {
                current.log.append(&record, 1, level).expect("the log can be appended to");
            });
            current.room -= now;
            left -= now;
        }
        taken
    })
}

/// Each level against its floors, measured once more side by side.
fn print_ratios(measured: Vec<(usize, Vec<Contender>)>) {
    println!("\nlevel: time of one append, and how many times each floor that is");
    for (size, contenders) in measured {
        let times: Vec<(&str, f64)> = contenders.into_iter().map(fastest).collect();
        let (floors, levels) = times.split_at(times.len() - 3);
        for (level, taken) in levels {
            let ratio = |(name, floor): &(&str, f64)| {
                format!("{:.2} {}", taken / floor, name.trim_start_matches("floor: "))
            };
            let ratios: Vec<String> = floors.iter().map(ratio).collect();
            println!("{size:>5} B {level:<7} {:>9.2} us: {}", taken * 1e6, ratios.join(", "));
        }
    }
}

/// Seconds that one repetition takes at best.
fn fastest(mut contender: Contender) -> (&'static str, f64) {
    let repetitions = contender.repetitions;
    let best = (0..ROUNDS).map(|_| (contender.work)(repetitions)).min().unwrap_or(Duration::ZERO);
    (contender.name, best.as_secs_f64() / repetitions as f64)
}
