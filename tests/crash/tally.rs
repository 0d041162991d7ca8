//! What was explored: distinct surviving images, faults that happened, violations.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const SHARDS: usize = 64;

/// Counted by all tests of the run together.
pub(crate) struct Tally {
    states: Vec<Mutex<BTreeSet<u64>>>,
    faults: Mutex<BTreeMap<&'static str, u64>>,
    violations: AtomicU64,
}

impl Tally {
    pub(crate) fn new() -> Self {
        let states = (0..SHARDS).map(|_| Mutex::default()).collect();
        Self { states, faults: Mutex::default(), violations: AtomicU64::new(0) }
    }

    /// Counts a surviving image, and says whether it is the first of its kind.
    pub(crate) fn state(&self, fingerprint: u64) -> bool {
        let shard = &self.states[fingerprint as usize % SHARDS];
        shard.lock().unwrap().insert(fingerprint)
    }

    pub(crate) fn states(&self) -> usize {
        self.states.iter().map(|shard| shard.lock().unwrap().len()).sum()
    }

    pub(crate) fn fault(&self, name: &'static str) {
        *self.faults.lock().unwrap().entry(name).or_default() += 1;
    }

    pub(crate) fn violation(&self) {
        self.violations.fetch_add(1, Ordering::Relaxed);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "crash states: {}, faults:", self.states())?;
        for (name, count) in self.faults.lock().unwrap().iter() {
            write!(out, " {name}={count}")?;
        }
        write!(out, ", violations: {}", self.violations.load(Ordering::Relaxed))
    }
}
