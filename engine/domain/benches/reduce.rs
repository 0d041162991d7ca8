//! What a rebuild costs per event: decoding, evolving, and both, over the same events in memory.
//!
//! Criterion times each alone; the table after it comes from runs that take turns, so that what
//! else the machine does meets all of them alike. `REDUCE_EVENTS` sets how many events there are.

#![allow(missing_docs, reason = "a bench tells its story by its names")]

mod table;

use criterion::{Criterion, Throughput};
use holdpoint_domain::Envelope;
use holdpoint_testing::history::History;
use std::hint::black_box;

const EVENTS: usize = 200_000;

fn main() {
    let asked = std::env::var("REDUCE_EVENTS").ok().and_then(|text| text.parse().ok());
    let history = History::of(asked.unwrap_or(EVENTS));
    let envelopes: Vec<Envelope> =
        history.entries.iter().map(|entry| history.decode(entry)).collect();
    if !std::env::args().any(|argument| argument == "--table") {
        let mut criterion = Criterion::default().configure_from_args();
        let mut group = criterion.benchmark_group("reduce");
        let events = u64::try_from(history.entries.len()).unwrap_or(u64::MAX);
        group.sample_size(10).throughput(Throughput::Elements(events));
        group.bench_function("decode", |bencher| bencher.iter(|| history.decode_all()));
        group.bench_function("evolve", |bencher| bencher.iter(|| history.evolve(&envelopes)));
        group.bench_function("decode + evolve", |bencher| {
            bencher.iter(|| black_box(history.rebuild()));
        });
        group.finish();
        criterion.final_summary();
    }
    table::print(&history, &envelopes);
}
