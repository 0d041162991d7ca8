//! One state out of many: how long it takes to open a reducer's states and to read one of them, and
//! how much memory that takes.
//!
//! `cargo bench -p holdpoint-reducers --bench streams -- [EVENTS STREAMS CACHE_MIB DIRECTORY]`; by
//! default 100,000 events in 1,000 streams, with a cache of 8 MiB. Beside each figure of reading
//! stands its floor: one `pread` of as many bytes as a block of states has.
#![allow(clippy::expect_used, reason = "a bench that cannot go on says where")]

use holdpoint_engine::Engine;
use holdpoint_engine::log::{Level, Options, Ownership};
use holdpoint_engine::shell::{EngineOptions, Origin};
use holdpoint_log_files::DirectoryStorage;
use holdpoint_reducers::{
    ApplicationEvent, EventError, EventType, Reduced, Reducer, ReducerOptions,
};
use serde::{Deserialize, Serialize};
use std::env;
use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

#[derive(Serialize, Deserialize)]
struct Paid {
    cents: u64,
}

impl EventType for Paid {
    const TYPE: &'static str = "order.paid";
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Balance {
    cents: u64,
    payments: u64,
    last: String,
}

struct Balances;

impl Reducer for Balances {
    const NAME: &'static str = "balances";
    type State = Balance;

    fn apply(state: &mut Balance, event: &ApplicationEvent<'_>) -> Result<(), EventError> {
        if let Some(paid) = event.read::<Paid>()? {
            state.cents += paid.cents;
            state.payments += 1;
            state.last = format!("record {}", event.sequence);
        }
        Ok(())
    }
}

struct Plan {
    events: u64,
    streams: u64,
    cache_mib: usize,
    directory: PathBuf,
}

fn main() {
    let given: Vec<String> = env::args().skip(1).filter(|it| it != "--bench").collect();
    let number = |at: usize, default: u64| {
        given.get(at).map_or(default, |text| text.parse().expect("a number"))
    };
    let place = tempfile::tempdir().expect("a directory");
    let plan = Plan {
        events: number(0, 100_000),
        streams: number(1, 1_000).max(1),
        cache_mib: usize::try_from(number(2, 8)).expect("it fits"),
        directory: given.get(3).map_or_else(|| place.path().join("log"), PathBuf::from),
    };
    match given.get(4).map(String::as_str) {
        Some("record") => record(&plan),
        Some("reduce") => reduce(&plan),
        Some("read") => read(&plan),
        _ => each_in_its_own_process(&plan),
    }
}

/// The memory of one step is that of its process.
fn each_in_its_own_process(plan: &Plan) {
    let Plan { events, streams, cache_mib, directory } = plan;
    println!("{events} events in {streams} streams, cache {cache_mib} MiB");
    for step in ["record", "reduce", "read"] {
        let numbers = [events.to_string(), streams.to_string(), cache_mib.to_string()];
        let this = env::current_exe().expect("this program");
        let mut child = Command::new(this);
        child.args(numbers).arg(directory).arg(step);
        assert!(child.status().expect("it runs").success(), "{step}");
    }
}

fn engine(directory: &Path, ownership: Ownership) -> Engine {
    let log = Options::default().ownership(ownership);
    let options = EngineOptions::default().level(Level::Os).log(log);
    Engine::open_with(DirectoryStorage::new(directory), options).expect("it opens")
}

fn record(plan: &Plan) {
    let (engine, begun) = (engine(&plan.directory, Ownership::Exclusive), Instant::now());
    let origin = Origin::automation("bench").within("bench");
    for at in 0..plan.events {
        // Streams take turns out of order: neighbours in the log are none in a snapshot.
        let stream = at.wrapping_mul(2_654_435_761) % plan.streams;
        let event = Paid { cents: at }.of(format!("order-{stream}")).expect("it has JSON");
        let recorded = engine.record(&origin, (), event).expect("the log works");
        recorded.accepted().expect("nothing refuses it");
    }
    engine.close().expect("it closes");
    told("recording", begun.elapsed());
}

fn options(plan: &Plan) -> ReducerOptions {
    ReducerOptions::default().cache_bytes(plan.cache_mib << 20)
}

fn reduce(plan: &Plan) {
    let (engine, begun) = (engine(&plan.directory, Ownership::PerTransaction), Instant::now());
    let balances = Reduced::<Balances>::open(&engine, options(plan)).expect("it opens");
    balances.snapshot().expect("it is written");
    told("first states and their snapshots", begun.elapsed());
    engine.close().expect("it closes");
}

fn read(plan: &Plan) {
    let begun = Instant::now();
    let engine = engine(&plan.directory, Ownership::PerTransaction);
    let (engine_opened, before) = (begun.elapsed(), memory_kib());
    let begun = Instant::now();
    let balances = Reduced::<Balances>::open(&engine, options(plan)).expect("it opens");
    let opened = begun.elapsed();
    let begun = Instant::now();
    let first = balances.state("order-0").expect("a state");
    assert!(first.payments > 0);
    let first = begun.elapsed();
    let count = 1_000.min(plan.streams);
    let begun = Instant::now();
    for at in 0..count {
        let stream = at.wrapping_mul(40_503) % plan.streams;
        balances.state(&format!("order-{stream}")).expect("a state");
    }
    let each = begun.elapsed() / u32::try_from(count).expect("it fits");
    println!("  opening the engine: {engine_opened:?}, and the states: {opened:?}");
    println!("  the state of one stream: {first:?} for the first, {each:?} for each of {count}");
    let floor = floor(&plan.directory);
    println!("  floor of a state: {floor:?}, so {:.1} times that", ratio(each, floor));
    println!("  memory: {} KiB more than before the states were opened", memory_kib() - before);
    engine.close().expect("it closes");
}

/// One read of a block of states.
fn floor(directory: &Path) -> Duration {
    let mut files = fs::read_dir(directory.join("reducers")).expect("there are states");
    let path = files.next().expect("a file").expect("a file").path();
    let (file, mut block) = (File::open(path).expect("it opens"), vec![0; 16 << 10]);
    let length = file.metadata().expect("it has a length").len().max(block.len() as u64);
    let (begun, count) = (Instant::now(), 1_000u32);
    for at in 0..u64::from(count) {
        let offset = at.wrapping_mul(2_654_435_761) % (length - block.len() as u64 + 1);
        file.read_exact_at(&mut block, offset).expect("it reads");
    }
    begun.elapsed() / count
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

fn told(what: &str, took: Duration) {
    println!("  {what}: {:.1} s, at most {} MiB of memory", took.as_secs_f64(), memory_kib() >> 10);
}

/// The most memory that this process has had, in KiB; 0 where the system does not tell.
fn memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
