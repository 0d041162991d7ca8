//! How often memory is taken from the allocator: by decoding and by evolving, kind by kind.

#![allow(missing_docs, reason = "a bench tells its story by its names")]

use holdpoint_domain::{World, kind_name};
use holdpoint_testing::history::History;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::collections::BTreeMap;

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const EVENTS: usize = 50_000;

/// What one kind of event took in all.
#[derive(Default)]
struct Taken {
    events: usize,
    decode: usize,
    evolve: usize,
}

fn main() {
    let history = History::of(EVENTS);
    let mut kinds: BTreeMap<u16, Taken> = BTreeMap::new();
    let mut all = Taken::default();
    let mut world = World::default();
    for entry in &history.entries {
        let (decode, envelope) = counted(|| history.decode(entry));
        let (evolve, _) = counted(|| world.evolve(entry.sequence, entry.at, &envelope));
        for taken in [kinds.entry(entry.kind).or_default(), &mut all] {
            taken.events += 1;
            taken.decode += decode;
            taken.evolve += evolve;
        }
    }
    println!("{:>8} {:>8} {:>8}  kind", "events", "decode", "evolve");
    for (kind, taken) in &kinds {
        print_line(taken, kind_name(*kind).unwrap_or("unknown"));
    }
    print_line(&all, "all");
}

fn print_line(taken: &Taken, name: &str) {
    let each = |all: usize| all as f64 / taken.events as f64;
    let (decode, evolve) = (each(taken.decode), each(taken.evolve));
    println!("{:>8} {decode:>8.2} {evolve:>8.2}  {name}", taken.events);
}

/// How often some work allocated or grew something.
fn counted<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let region = Region::new(COUNTING);
    let done = work();
    let change = region.change();
    (change.allocations + change.reallocations, done)
}
