//! What was measured, as data.

use super::look::Look;
use super::memory::Memory;
use crate::rounds::Samples;
use serde::{Deserialize, Serialize};

/// A whole run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Scale {
    /// Of the history.
    pub seed: u64,
    /// Entities that lived at any time.
    pub live: usize,
    /// Rounds.
    pub rounds: usize,
    /// The shorter one of the two lengths that bars compare.
    pub short: u64,
    /// The longer one, of which bars ask the most.
    pub long: u64,
    /// By length of the log, in order.
    pub points: Vec<Point>,
    /// Ratios, of which some have a bar.
    pub ratios: Vec<Ratio>,
    /// What waits in many logs.
    pub inbox: Option<InboxPoint>,
}

impl Scale {
    /// Whether the two lengths are those of the bars.
    #[must_use]
    pub fn has_bar_lengths(&self) -> bool {
        (self.short, self.long) == BAR_LENGTHS
    }

    /// What was measured of the shorter one.
    #[must_use]
    pub fn short(&self) -> Option<&Point> {
        self.points.iter().find(|point| point.length == self.short)
    }

    /// What was measured of the longer one.
    #[must_use]
    pub fn long(&self) -> Option<&Point> {
        self.points.iter().find(|point| point.length == self.long)
    }
}

/// The lengths that bars are about: records.
pub(crate) const BAR_LENGTHS: (u64, u64) = (1_000_000, 10_000_000);

/// A log of one length. Times in seconds.
#[derive(Debug, Serialize, Deserialize)]
pub struct Point {
    /// Records that were asked for.
    pub length: u64,
    /// Records that there are, when the active segment is nearly full.
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
    /// Verbs that only read, in the order of [`Look::ALL`].
    pub looks: Vec<LookPoint>,
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

impl Point {
    /// What was measured of a verb.
    #[must_use]
    pub fn look(&self, look: Look) -> Option<&LookPoint> {
        self.looks.iter().find(|point| point.verb == look.name())
    }
}

/// A verb that only reads, by the program, in a process of its own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LookPoint {
    /// The verb.
    pub verb: String,
    /// Seconds from before the process is started to its end.
    pub time: Spread,
    /// Its memory at the end, without what files back.
    pub private_memory_bytes: Spread,
    /// Its memory at most, with what is mapped of files.
    pub peak_memory_bytes: Spread,
}

/// What the rounds of one verb gave.
#[derive(Default)]
pub(super) struct Looked {
    seconds: Samples,
    private: Samples,
    peak: Samples,
}

impl Looked {
    pub(super) fn add(&mut self, (seconds, memory): (f64, Memory)) {
        self.seconds.0.push(seconds);
        self.private.0.push(memory.private_bytes as f64);
        self.peak.0.push(memory.peak_bytes as f64);
    }

    pub(super) fn point(&self, verb: &str) -> LookPoint {
        LookPoint {
            verb: verb.to_string(),
            time: Spread::from(&self.seconds),
            private_memory_bytes: Spread::from(&self.private),
            peak_memory_bytes: Spread::from(&self.peak),
        }
    }
}

/// What waits for a person in many logs, listed by the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InboxPoint {
    /// Logs.
    pub logs: usize,
    /// Questions in all of them together.
    pub questions: usize,
    /// Listing them all.
    pub look: LookPoint,
}

/// A median, and how far to trust it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// Median of the rounds.
    pub median: f64,
    /// Interquartile range in percent of it; `None` where it was measured once.
    pub noise_percent: Option<f64>,
}

impl Spread {
    /// A value that was measured once.
    #[must_use]
    pub fn once(median: f64) -> Self {
        Self { median, noise_percent: None }
    }
}

impl From<&Samples> for Spread {
    fn from(samples: &Samples) -> Self {
        Self { median: samples.median(), noise_percent: samples.noise() }
    }
}

/// Values of all rounds together, and the median of each round.
#[derive(Clone, Debug, Default)]
pub(super) struct Pooled {
    all: Samples,
    medians: Samples,
}

impl Pooled {
    /// Takes in what one round gave.
    pub(super) fn add(&mut self, round: Samples) {
        self.medians.0.push(round.median());
        self.all.0.extend(round.0);
    }

    /// The median of each round, in order.
    pub(super) fn medians(&self) -> &Samples {
        &self.medians
    }
}

/// Of many values, all rounds together.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Percentiles {
    /// Half are below it.
    pub p50: f64,
    /// Interquartile range of the rounds' medians, in percent of theirs; `None` of one round.
    pub p50_noise_percent: Option<f64>,
    /// 99 of 100.
    pub p99: f64,
    /// 999 of 1000.
    pub p999: f64,
    /// The largest.
    pub max: f64,
}

impl From<&Pooled> for Percentiles {
    fn from(pooled: &Pooled) -> Self {
        let mut sorted = pooled.all.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |part: f64| {
            let index = (part * sorted.len() as f64).ceil() as usize;
            sorted.get(index.saturating_sub(1)).copied().unwrap_or(f64::NAN)
        };
        let p50_noise_percent = pooled.medians.noise();
        Self { p50: at(0.5), p50_noise_percent, p99: at(0.99), p999: at(0.999), max: at(1.0) }
    }
}

/// A value of one length over that of another, or a time.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ratio {
    /// Its key, by which a bar finds it.
    pub key: String,
    /// What is compared.
    pub figure: String,
    /// How the value is written.
    pub unit: String,
    /// What it came to.
    pub value: Spread,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let mut thousand = Pooled::default();
        thousand.add(Samples((1..=500).rev().map(f64::from).collect()));
        thousand.add(Samples((501..=1_000).map(f64::from).collect()));
        let Percentiles { p50, p50_noise_percent, p99, p999, max } = Percentiles::from(&thousand);
        assert_eq!([p50, p99, p999, max], [500.0, 990.0, 999.0, 1_000.0]);
        // The medians are 250.5 and 750.5: their quartiles are 250 apart, around 500.5.
        let noise = p50_noise_percent.unwrap();
        assert!((noise - 250.0 / 500.5 * 100.0).abs() < 1e-9, "{noise}");
        assert!(Percentiles::from(&Pooled::default()).p50.is_nan());
    }

    #[test]
    fn what_was_measured_once_has_no_noise() {
        let mut once = Pooled::default();
        once.add(Samples(vec![3.0]));
        let once = Percentiles::from(&once);
        assert_eq!([once.p50, once.p99, once.p999, once.max], [3.0; 4]);
        assert_eq!(once.p50_noise_percent, None);
        assert_eq!(Spread::from(&Samples(vec![3.0])).noise_percent, None);
        assert_eq!(Spread::from(&Samples(vec![3.0; 2])).noise_percent, Some(0.0));
    }
}
