//! The append path beside its floors, in one run: `cargo bench -p holdpoint-engine --bench
//! append_path [-- --dir DIRECTORY] [PART...]`, where PART is `staged`, `one`, `threads`, `batches`
//! or `flat`.
//!
//! Every figure is the median of the ratios of pairs: a block of calls of ours and a block of its
//! floor's, one right after the other, which goes first by turns. The spread is that of the middle
//! half of the pairs. Times of one thread are its own processor time as well.

use holdpoint_engine::log::{Level, Log, NewRecord, Options, Ownership};
use holdpoint_log_files::DirectoryStorage;
use rustix::time::{ClockId, clock_gettime};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const PAYLOAD: usize = 256;
const FOOTPRINT: usize = 320;

/// A part of the run, in a directory of its own.
type Part = fn(&Path) -> Result<(), Failure>;

/// What ends the run.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let mut base = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    if let Some(at) = arguments.iter().position(|argument| argument == "--dir") {
        base = arguments.get(at + 1).ok_or("--dir needs a directory")?.into();
        arguments.drain(at..at + 2);
    }
    let parts: [(&str, Part); 5] = [
        ("staged", staged),
        ("one", one_writer),
        ("threads", many_writers),
        ("batches", batches),
        ("flat", flat),
    ];
    for (name, part) in parts {
        if arguments.is_empty() || arguments.iter().any(|asked| asked == name) {
            part(tempfile::tempdir_in(&base)?.path())?;
        }
    }
    Ok(())
}

/// Time that a block of calls took.
#[derive(Clone, Copy)]
struct Took {
    wall: Duration,
    processor: Duration,
}

fn timed(block: impl FnOnce() -> Result<(), Failure>) -> Result<Took, Failure> {
    let (began, processor) = (Instant::now(), thread_time());
    block()?;
    Ok(Took { wall: began.elapsed(), processor: thread_time() - processor })
}

fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = Duration::from_secs(time.tv_sec.unsigned_abs());
    seconds + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}

/// Blocks of `ours` and of `floor`, of `calls` calls each, in `pairs` pairs; prints one line.
fn compare(
    name: &str,
    (pairs, calls): (usize, usize),
    mut ours: impl FnMut() -> Result<(), Failure>,
    mut floor: impl FnMut() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut taken = Vec::new();
    for pair in 0..pairs {
        let mut run = |is_ours: bool| {
            timed(|| (0..calls).try_for_each(|_| if is_ours { ours() } else { floor() }))
        };
        let pair = match pair % 2 {
            0 => [run(true)?, run(false)?],
            _ => {
                let floor = run(false)?;
                [run(true)?, floor]
            }
        };
        taken.push(pair);
    }
    report(name, calls, &taken);
    Ok(())
}

fn report(name: &str, calls: usize, taken: &[[Took; 2]]) {
    let each = |time: Duration| time.as_secs_f64() * 1e9 / calls as f64;
    let quarters = |of: &dyn Fn(&[Took; 2]) -> f64| {
        let mut values: Vec<f64> = taken.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        [1, 2, 3].map(|q| values.get(values.len() * q / 4).copied().unwrap_or(f64::NAN))
    };
    let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
    let [_, ours, _] = quarters(&|[ours, _]| each(ours.wall));
    let [_, floor, _] = quarters(&|[_, floor]| each(floor.wall));
    let [low, wall, high] = quarters(&|[ours, floor]| ratio(ours.wall, floor.wall));
    let [_, processor, _] = quarters(&|[ours, floor]| ratio(ours.processor, floor.processor));
    println!(
        "{name:44} ours {ours:10.0} ns  floor {floor:10.0} ns  ratio {wall:5.3} \
         [{low:5.3}..{high:5.3}]  processor {processor:5.3}"
    );
}

fn payload(number: u64, length: usize) -> Vec<u8> {
    let words = (0..).flat_map(|word: u64| (number ^ word.wrapping_mul(0x9e37)).to_le_bytes());
    words.take(length).collect()
}

fn record(number: u64, length: usize) -> NewRecord {
    NewRecord { kind: 32_775, version: 1, payload: payload(number, length) }
}

fn open(directory: &Path) -> Result<Log, Failure> {
    let options = Options::default().ownership(Ownership::Exclusive);
    Ok(Log::open(DirectoryStorage::new(directory), options)?.0)
}

/// The bare chain: a digest of the payload, and a hash over it and the link before.
fn chain_by_digest(link: &mut [u8; 32], payload: &[u8]) {
    let digest = Sha256::digest(payload);
    // 116 bytes, as many as a link is the hash of.
    let hash = Sha256::new().chain_update([7; 32]).chain_update(digest).chain_update(*link);
    *link = hash.chain_update([7; 20]).finalize().into();
}

/// The barest chain: one hash over the link before, 32 bytes of header, and the payload.
fn chain_by_running(link: &mut [u8; 32], payload: &[u8]) {
    let hash = Sha256::new().chain_update(*link).chain_update([7; 32]).chain_update(payload);
    *link = hash.finalize().into();
}

/// What a chain takes with nothing around it.
type Chain = fn(&mut [u8; 32], &[u8]);

fn staged(directory: &Path) -> Result<(), Failure> {
    let chains: [(&str, Chain); 2] =
        [("digest + link", chain_by_digest), ("running hash", chain_by_running)];
    for length in [64, PAYLOAD, 1_024, 4_096] {
        for (name, chain) in chains {
            let log = open(&directory.join(format!("{name} {length}")))?;
            staged_beside(&log, &format!("staged, {length} B; {name}"), length, chain)?;
            log.close()?;
        }
    }
    Ok(())
}

fn staged_beside(log: &Log, name: &str, length: usize, chain: Chain) -> Result<(), Failure> {
    let records: Vec<NewRecord> = (0..64).map(|number| record(number, length)).collect();
    let (mut ours, mut floors) = (records.iter().cycle(), records.iter().cycle());
    let mut link = [0; 32];
    compare(
        name,
        (401, 1_000),
        || {
            let record = ours.next().map(std::slice::from_ref).unwrap_or_default();
            Ok(log.append(record, 1, Level::Staged).map(drop)?)
        },
        || {
            let payload = floors.next().map(|record| &record.payload[..]).unwrap_or_default();
            chain(&mut link, std::hint::black_box(payload));
            std::hint::black_box(&mut link);
            Ok(())
        },
    )
}

/// A file of zeros that were written and synced: writing into it changes no metadata.
struct Prepared {
    file: File,
    at: u64,
    length: u64,
}

impl Prepared {
    fn new(path: &Path, length: u64) -> io::Result<Self> {
        let file = File::options().read(true).write(true).create_new(true).open(path)?;
        let zeros = vec![0; 1 << 20];
        for piece in 0..length >> 20 {
            file.write_all_at(&zeros, piece << 20)?;
        }
        file.sync_all()?;
        Ok(Self { file, at: 0, length })
    }

    fn write_and_sync(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.at + bytes.len() as u64 > self.length {
            self.at = 0;
        }
        self.file.write_all_at(bytes, self.at)?;
        self.at += bytes.len() as u64;
        self.file.sync_data()
    }
}

fn one_writer(directory: &Path) -> Result<(), Failure> {
    let mut floor = Prepared::new(&directory.join("floor"), 64 << 20)?;
    let log = open(&directory.join("log"))?;
    let record = [record(1, PAYLOAD)];
    let bytes = payload(2, FOOTPRINT);
    compare(
        "one durable writer, 256 B",
        (300, 20),
        || Ok(log.append(&record, 1, Level::Always).map(drop)?),
        || Ok(floor.write_and_sync(&bytes)?),
    )?;
    for (name, is_ours) in [("ours", true), ("floor", false)] {
        let before = device_bytes(directory)?;
        for _ in 0..COUNTED {
            match is_ours {
                true => drop(log.append(&record, 1, Level::Always)?),
                false => floor.write_and_sync(&bytes)?,
            }
        }
        let each = (device_bytes(directory)? - before) / COUNTED;
        println!("{name}: {each} bytes to the device for each, of everybody who writes to it");
    }
    Ok(log.close()?)
}

/// Durable appends over which the bytes to the device are counted.
const COUNTED: u64 = 4_000;

/// Bytes that everybody has written to the disk that holds `directory`, journals included.
fn device_bytes(directory: &Path) -> Result<u64, Failure> {
    let device = std::fs::metadata(directory)?.dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    // A file system in memory has no disk.
    let path = format!("/sys/dev/block/{major}:{minor}/stat");
    let Ok(stat) = std::fs::read_to_string(path) else { return Ok(0) };
    let sectors: u64 = stat.split_whitespace().nth(6).ok_or("no sectors written")?.parse()?;
    Ok(sectors * 512)
}

/// Durable writers, each of whom appends this often in a block.
const EACH: usize = 20;

fn many_writers(directory: &Path) -> Result<(), Failure> {
    for threads in [8, 64] {
        let mut floor = Prepared::new(&directory.join(format!("floor-{threads}")), 64 << 20)?;
        let log = open(&directory.join(format!("log-{threads}")))?;
        let group = payload(2, FOOTPRINT * threads);
        compare(
            &format!("{threads} durable writers; full groups"),
            (60, 1),
            || append_from(&log, threads),
            || Ok((0..EACH).try_for_each(|_| floor.write_and_sync(&group))?),
        )?;
        log.close()?;
    }
    Ok(())
}

/// Each of `threads` threads appends, and waits for each of its records.
fn append_from(log: &Log, threads: usize) -> Result<(), Failure> {
    let record = [record(1, PAYLOAD)];
    let append = || log.append(&record, 1, Level::Always).map(drop);
    std::thread::scope(|scope| {
        let start = |_| scope.spawn(|| (0..EACH).try_for_each(|_| append()));
        let started: Vec<_> = (0..threads).map(start).collect();
        started.into_iter().try_for_each(|writer| match writer.join() {
            Ok(ended) => Ok(ended?),
            Err(_) => Err("a writer panicked".into()),
        })
    })
}

fn batches(directory: &Path) -> Result<(), Failure> {
    let records: Vec<NewRecord> = (0..64).map(|number| record(number, PAYLOAD)).collect();
    let bytes = payload(2, FOOTPRINT * 64);
    let mut floor = Prepared::new(&directory.join("floor"), 64 << 20)?;
    let log = open(&directory.join("log"))?;
    compare(
        "64 records in a batch, durable",
        (300, 8),
        || Ok(log.append(&records, 1, Level::Always).map(drop)?),
        || Ok(floor.write_and_sync(&bytes)?),
    )?;
    compare(
        "64 appends in a turn, durable",
        (300, 8),
        || {
            let mut turn = log.begin()?;
            let mut appends = records.iter().map(std::slice::from_ref);
            appends.try_for_each(|record| turn.append(record, 1).map(drop))?;
            Ok(turn.finish(Level::Always)?)
        },
        || Ok(floor.write_and_sync(&bytes)?),
    )?;
    let mut link = [0; 32];
    compare(
        "64 records in a batch, staged; digest + link",
        (401, 16),
        || Ok(log.append(&records, 1, Level::Staged).map(drop)?),
        || {
            records.iter().for_each(|record| chain_by_digest(&mut link, &record.payload));
            std::hint::black_box(&mut link);
            Ok(())
        },
    )?;
    Ok(log.close()?)
}

/// Latency of an append behind ten thousand records and behind ten million.
fn flat(directory: &Path) -> Result<(), Failure> {
    let log = open(directory)?;
    let record = [record(1, 0)];
    let fill = |until: u64| -> Result<(), Failure> {
        while log.position().sequence < until {
            log.append(&record, 1, Level::Staged)?;
        }
        Ok(())
    };
    let median = || -> Result<u64, Failure> {
        let mut taken = Vec::new();
        for _ in 0..10_001 {
            let began = Instant::now();
            log.append(&record, 1, Level::Os)?;
            taken.push(began.elapsed().as_nanos() as u64);
        }
        taken.sort_unstable();
        Ok(taken.get(taken.len() / 2).copied().unwrap_or_default())
    };
    fill(10_000)?;
    let early = median()?;
    fill(10_000_000)?;
    let late = median()?;
    println!("append at Os: p50 {early} ns at 10k, {late} ns at 10M");
    Ok(log.close()?)
}
