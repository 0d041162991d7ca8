//! What was explored: distinct surviving images, faults that happened, violations.

use crate::long::number;
use crate::oracle::{Case, judge};
use crate::random::Random;
use holdpoint_simulation::SimulatedDisk;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

const SHARDS: usize = 64;

/// Counted by all tests of the run together.
pub(crate) struct Tally {
    states: Vec<Mutex<BTreeSet<u64>>>,
    /// Images with what was promised of them.
    judged: Vec<Mutex<BTreeSet<u64>>>,
    faults: Mutex<BTreeMap<Cow<'static, str>, u64>>,
    violations: AtomicU64,
}

impl Tally {
    pub(crate) fn new() -> Self {
        let shards = || (0..SHARDS).map(|_| Mutex::default()).collect();
        Self {
            states: shards(),
            judged: shards(),
            faults: Mutex::default(),
            violations: AtomicU64::new(0),
        }
    }

    /// Counts a surviving image, and says whether it is the first of its kind.
    pub(crate) fn state(&self, fingerprint: u64) -> bool {
        insert(&self.states, fingerprint)
    }

    /// Counts a surviving image, and judges the first of those of which the same was promised:
    /// histories that begin alike, and faults that do alike, leave equal ones.
    pub(crate) fn judge_first(
        &self,
        image: &SimulatedDisk,
        case: &Case<'_>,
        random: &mut Random,
    ) -> Result<(), String> {
        if !self.is_first(image.fingerprint(), case) {
            return Ok(());
        }
        let crashes = u32::from(random.one_in(8));
        judge(image, case, random, crashes)
    }

    fn is_first(&self, fingerprint: u64, case: &Case<'_>) -> bool {
        self.state(fingerprint);
        let promised = (case.must, case.promised.witnessed, case.may.len(), case.is_honest);
        let mut hasher = DefaultHasher::new();
        (fingerprint, promised).hash(&mut hasher);
        insert(&self.judged, hasher.finish())
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

    /// Whether a promise was broken: nothing goes on then.
    pub(crate) fn is_violated(&self) -> bool {
        self.violations.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn violation(&self) {
        self.violations.fetch_add(1, Ordering::Relaxed);
    }
}

fn insert(shards: &[Mutex<BTreeSet<u64>>], number: u64) -> bool {
    shards[number as usize % SHARDS].lock().unwrap().insert(number)
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
