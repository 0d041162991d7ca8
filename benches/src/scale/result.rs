//! What was measured, as data.

use crate::machine::Machine;
use crate::rounds::Samples;
use serde::Serialize;

/// A whole run.
#[derive(Debug, Serialize)]
pub struct Scale {
    /// What was measured on.
    pub machine: Machine,
    /// Of the history.
    pub seed: u64,
    /// Entities that lived at any time.
    pub live: usize,
    /// Rounds.
    pub rounds: usize,
    /// By length of the log, in order.
    pub points: Vec<Point>,
    /// Ratios that have a bar.
    pub ratios: Vec<Ratio>,
}

/// A log of one length. Times in seconds.
#[derive(Debug, Serialize)]
pub struct Point {
    /// Records.
    pub records: u64,
    /// Writing the history until here, for each record.
    pub write_each: f64,
    /// Private memory of the process that wrote it.
    pub writer_memory_bytes: u64,
    /// Private memory of a process that opened it and asked once.
    pub opener_memory_bytes: u64,
    /// Opening, asking once, beyond the start of a process; after a clean close.
    pub open_clean: Spread,
    /// The same, as the process itself saw it.
    pub open_clean_inside: Spread,
    /// The same, the time on a CPU alone.
    pub open_clean_cpu: Spread,
    /// Behind a clean opening, the first question about everything that lives.
    pub ask_all: Spread,
    /// After a kill.
    pub open_crashed: Spread,
    /// Of a clean opening: the log without the state.
    pub open_log: Spread,
    /// Of a clean opening: reading the newest snapshot.
    pub open_read: Spread,
    /// Of a clean opening: its fingerprint.
    pub open_fingerprint: Spread,
    /// Of a clean opening: decoding it.
    pub open_decode: Spread,
    /// One append, written to the file.
    pub append_os: Percentiles,
    /// One append, synced.
    pub append_durable: Percentiles,
    /// A command of long ago under its key: the first one after opening.
    pub look_up_first: Spread,
    /// A command of long ago under its key.
    pub look_up_old: Percentiles,
    /// A command under a key that nobody used.
    pub look_up_new: Percentiles,
    /// The state as it was behind half of the records.
    pub travel: f64,
    /// Bytes on the disk for each record, what is reserved for later left out.
    pub segment_bytes_each: f64,
    /// Bytes of the indexes for each record.
    pub index_bytes_each: f64,
    /// Bytes of the newest snapshot.
    pub snapshot_bytes: u64,
}

/// A median, and how far to trust it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Spread {
    /// Median of the rounds.
    pub median: f64,
    /// Interquartile range in percent of it.
    pub noise_percent: f64,
}

impl From<&Samples> for Spread {
    fn from(samples: &Samples) -> Self {
        Self { median: samples.median(), noise_percent: samples.noise_percent() }
    }
}

/// Of many values, all rounds together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Percentiles {
    /// Half are below it.
    pub p50: f64,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1000.
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

impl From<&Samples> for Percentiles {
    fn from(samples: &Samples) -> Self {
        let mut sorted = samples.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let index = (part * sorted.len() as f64).ceil() as usize;
            sorted.get(index.saturating_sub(1)).copied().unwrap_or(f64::NAN)
        };
        Self { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1.0) }
    }
}

/// A value of one length over that of another, or a time, with the bar that it has.
#[derive(Debug, Serialize)]
pub struct Ratio {
    /// What is compared.
    pub figure: &'static str,
    /// How the value is written.
    pub unit: &'static str,
    /// What it came to.
    pub value: Spread,
    /// What it may be at most.
    pub at_most: f64,
}

impl Ratio {
    /// Whether the bar is reached.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.value.median <= self.at_most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let thousand = Samples((1..=1_000).rev().map(f64::from).collect());
        let Percentiles { p50, p99, p999, max } = Percentiles::from(&thousand);
        assert_eq!([p50, p99, p999, max], [500.0, 990.0, 999.0, 1_000.0]);
        let one = Percentiles::from(&Samples(vec![3.0]));
        assert_eq!([one.p50, one.p99, one.p999, one.max], [3.0; 4]);
        assert!(Percentiles::from(&Samples::default()).p50.is_nan());
    }
}
