//! Where the time of a rebuild goes, kind by kind, and how its parts compare.

use holdpoint_domain::core::hash::sha256;
use holdpoint_domain::evidence_capture::EvidenceCaptureEvent;
use holdpoint_domain::{Envelope, Event, World, kind_name};
use holdpoint_testing::history::History;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// How often each contender has its turn; the median of the rounds counts.
const ROUNDS: usize = 9;

/// Prints the table of a history.
pub(crate) fn print(history: &History, envelopes: &[Envelope]) {
    print_totals(history, envelopes);
    print_kinds(history, envelopes);
}

fn print_totals(history: &History, envelopes: &[Envelope]) {
    let mut rounds: Vec<[f64; 5]> = Vec::new();
    for _ in 0..ROUNDS {
        let decode = cpu_time(|| history.decode_all());
        let evolve = cpu_time(|| history.evolve(envelopes));
        let both = cpu_time(|| drop(black_box(history.rebuild())));
        let hashes = cpu_time(|| hash(history, envelopes));
        rounds.push([decode, evolve, both, hashes, cpu_time(|| history.judge(envelopes))]);
    }
    let events = history.entries.len();
    let median = |of: &dyn Fn(&[f64; 5]) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(ROUNDS / 2).copied().unwrap_or_default()
    };
    let each = |part: usize| {
        let seconds = median(&|round| round.get(part).copied().unwrap_or_default());
        seconds * 1e9 / events as f64
    };
    println!(
        "{events} events of {} bytes; processor time per event:",
        history.bytes.len() / events
    );
    println!("decode {:.0} ns, evolve {:.0} ns", each(0), each(1));
    println!("judge + evolve {:.0} ns", each(4));
    println!("decode + evolve {:.0} ns: {:.2} million a second", each(2), 1e3 / each(2));
    println!("the hashes of evidence that evolving checks, alone: {:.0} ns", each(3));
    println!("(decode + evolve) / decode: {:.2}", median(&|[decode, _, both, ..]| both / decode));
    let floor = median(&|[decode, _, both, hashes, _]| both / (decode + hashes));
    println!("(decode + evolve) / (decode + hashes): {floor:.2}");
}

/// What Phase-31 and the injective hash ask for, record by record: the raw bytes, the same between
/// the seed's other fields, and the fields behind what all records of a session begin with.
fn hash(history: &History, envelopes: &[Envelope]) {
    const SEED_FIELDS_BYTES: usize = 190;
    const INJECTIVE_FIELDS_BYTES: usize = 420;
    for envelope in envelopes {
        let Event::EvidenceCapture(EvidenceCaptureEvent::EvidenceCaptured(body)) = &envelope.event
        else {
            continue;
        };
        let raw = body.raw_data.as_bytes().len();
        for length in [raw, raw + SEED_FIELDS_BYTES, INJECTIVE_FIELDS_BYTES] {
            black_box(sha256(history.bytes.get(..length).unwrap_or_default()));
        }
    }
}

/// Seconds of this thread's processor time.
fn cpu_time(work: impl FnOnce()) -> f64 {
    let now = || {
        let now = clock_gettime(ClockId::ThreadCPUTime);
        now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
    };
    let begun = now();
    work();
    now() - begun
}

/// What one kind of event took in all.
#[derive(Default)]
struct Taken {
    events: u32,
    bytes: usize,
    decode: Duration,
    evolve: Duration,
}

fn print_kinds(history: &History, envelopes: &[Envelope]) {
    let mut kinds: BTreeMap<u16, Taken> = BTreeMap::new();
    let mut world = World::default();
    for (entry, envelope) in history.entries.iter().zip(envelopes) {
        let taken = kinds.entry(entry.kind).or_default();
        taken.events += 1;
        taken.bytes += entry.payload.len();
        taken.decode += wall_time(|| drop(black_box(history.decode(entry))));
        taken.evolve += wall_time(|| world.evolve(entry.sequence, entry.at, envelope));
    }
    let clock = (0..1_000).map(|_| wall_time(|| {})).sum::<Duration>() / 1_000;
    println!("{:>8} {:>7} {:>8} {:>8}  kind", "events", "bytes", "decode", "evolve");
    for (kind, taken) in kinds {
        let each = |all: Duration| (all / taken.events).saturating_sub(clock).as_nanos();
        println!(
            "{:>8} {:>7} {:>5} ns {:>5} ns  {}",
            taken.events,
            taken.bytes / taken.events as usize,
            each(taken.decode),
            each(taken.evolve),
            kind_name(kind).unwrap_or("unknown")
        );
    }
}

fn wall_time(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}
