//! What was explored: distinct surviving images, faults that happened, violations.

use crate::long::number;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const SHARDS: usize = 64;

/// Counted by all tests of the run together.
pub(crate) struct Tally {
    states: Vec<Mutex<BTreeSet<u64>>>,
    faults: Mutex<BTreeMap<Cow<'static, str>, u64>>,
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

    /// Everything but the violations: with one of them nothing goes on.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let faults = self.faults.lock().unwrap();
        out.write_all(&(faults.len() as u64).to_le_bytes())?;
        for (name, count) in faults.iter() {
            out.write_all(&(name.len() as u64).to_le_bytes())?;
            out.write_all(name.as_bytes())?;
            out.write_all(&count.to_le_bytes())?;
        }
        for shard in &self.states {
            let shard = shard.lock().unwrap();
            out.write_all(&(shard.len() as u64).to_le_bytes())?;
            for state in shard.iter() {
                out.write_all(&state.to_le_bytes())?;
            }
        }
        Ok(())
    }

    /// Takes up what was written.
    pub(crate) fn read(&self, from: &mut impl Read) -> io::Result<()> {
        let mut faults = self.faults.lock().unwrap();
        for _ in 0..number(from)? {
            let mut name = vec![0; number(from)? as usize];
            from.read_exact(&mut name)?;
            let name = String::from_utf8(name).map_err(io::Error::other)?;
            faults.insert(name.into(), number(from)?);
        }
        for shard in &self.states {
            let mut shard = shard.lock().unwrap();
            for _ in 0..number(from)? {
                shard.insert(number(from)?);
            }
        }
        Ok(())
    }

    pub(crate) fn fault(&self, name: &'static str) {
        *self.faults.lock().unwrap().entry(name.into()).or_default() += 1;
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
