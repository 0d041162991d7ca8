//! Time and ids of a history: no machine's clock, no machine's randomness.

use super::random::Random;
use holdpoint_domain::core::ids::Entropy;
use holdpoint_engine::shell::{Clock, EntropySource, Reading};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// 2026-01-25T16:00:00Z.
const START_NS: u64 = 1_769_356_800_000_000_000;
/// How long the machine of every history had been running then.
const UPTIME_NS: u64 = 1_000_000_000_000;

/// A clock that goes on only when it is told. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct HistoryClock(Arc<AtomicU64>);

impl HistoryClock {
    /// At the beginning of every history.
    #[must_use]
    pub fn new() -> Self {
        Self::at(START_NS)
    }

    /// At this time, in nanoseconds since 1970.
    #[must_use]
    pub fn at(wall_ns: u64) -> Self {
        Self(Arc::new(AtomicU64::new(wall_ns)))
    }

    /// The time, in nanoseconds since 1970.
    #[must_use]
    pub fn wall_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// So many nanoseconds go by.
    pub fn pass(&self, nanoseconds: u64) {
        self.0.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

impl Default for HistoryClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for HistoryClock {
    fn now(&self) -> Reading {
        let wall_ns = self.wall_ns();
        Reading { wall_ns, since_boot_ns: wall_ns.saturating_sub(START_NS) + UPTIME_NS }
    }
}

/// Ids that follow from a seed.
#[derive(Debug)]
pub struct SeededEntropy(Mutex<Random>);

impl SeededEntropy {
    /// Those of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(Random::new(!seed)))
    }
}

impl EntropySource for SeededEntropy {
    fn draw(&self) -> Result<Entropy, String> {
        let mut random = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Entropy::from_bytes(random.bytes()))
    }
}
