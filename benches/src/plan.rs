//! Effort and place of a measurement.

use crate::figure::Kind;
use crate::pace::Pace;
use std::path::PathBuf;
use std::time::Duration;

/// Effort of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Barely anything: that it works.
    Smoke,
    /// A few minutes.
    Quick,
    /// Everything.
    Full,
}

impl Effort {
    /// Its name; with `--` before it, the option that asks for it, but for the last one.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }
}

/// Plan of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Directory of the files, on the disk that is measured. Everything made there is removed.
    pub directory: PathBuf,
    /// Effort of the run.
    pub effort: Effort,
    /// Payload bytes of the figures of single records; empty for those of the effort.
    pub payloads: Vec<usize>,
    /// Also what needs gigabytes and minutes: ten million records.
    pub is_huge: bool,
    /// The program that takes [`crate::child`]'s arguments: what has to crash, or to be watched
    /// from outside, is done in a process of its own. `None` leaves those figures out.
    pub child: Option<PathBuf>,
}

impl Plan {
    /// A plan for a directory, without children.
    #[must_use]
    pub fn new(directory: PathBuf, effort: Effort) -> Self {
        Self { directory, effort, payloads: Vec::new(), is_huge: false, child: None }
    }

    /// Rounds that count; one more is done before them.
    #[must_use]
    pub fn rounds(&self) -> usize {
        match self.effort {
            Effort::Smoke => 2,
            Effort::Quick => 5,
            Effort::Full => 7,
        }
    }

    /// Returns what its effort means, in a sentence or two.
    #[must_use]
    pub fn says(&self) -> String {
        let full = Self::new(PathBuf::new(), Effort::Full);
        let default = match self.effort {
            Effort::Full => String::new(),
            Effort::Smoke | Effort::Quick => {
                format!(" Without an option the effort is full: {}.", full.amounts())
            }
        };
        let amounts = self.amounts();
        let name = self.effort.name();
        format!("Effort: {name}: {amounts}. One more round, before them, does not count.{default}")
    }

    fn amounts(&self) -> String {
        let Pace { records_max, time_max } = self.pace();
        format!(
            "{} rounds, in each of which everyone appends for {} ms or {records_max} records, \
             and reads logs of up to {} records",
            self.rounds(),
            time_max.as_millis(),
            self.records_read(1)
        )
    }

    /// Returns how long one contender works in one round.
    #[must_use]
    pub fn pace(&self) -> Pace {
        let (records_max, milliseconds) = match self.effort {
            Effort::Smoke => (64, 20),
            Effort::Quick => (16_384, 40),
            Effort::Full => (65_536, 80),
        };
        Pace { records_max, time_max: Duration::from_millis(milliseconds) }
    }

    /// Payload bytes of a figure of single records. Bars ask for several where records are scanned.
    #[must_use]
    pub fn payload_sizes(&self, kind: Kind) -> &[usize] {
        let follows_the_size = matches!(
            kind,
            Kind::AppendStaged | Kind::AppendOs | Kind::Scan | Kind::VerifyOne | Kind::DiskBytes
        );
        match self.effort {
            _ if !self.payloads.is_empty() => &self.payloads,
            Effort::Full if follows_the_size => &[64, 256, 1_024, 4_096],
            _ if kind == Kind::Scan => &[256, 1_024, 4_096],
            _ => &[256],
        }
    }

    /// Records of a log that is read whole.
    #[must_use]
    pub fn records_read(&self, payload: usize) -> u64 {
        let (records, bytes) = match self.effort {
            Effort::Smoke => (300, 1 << 20),
            Effort::Quick => (100_000, 48 << 20),
            Effort::Full => (400_000, 160 << 20),
        };
        records.min(bytes / (payload as u64 + 64))
    }

    /// Records of the logs that are opened, in order.
    #[must_use]
    pub fn records_opened(&self) -> Vec<u64> {
        let mut counts = match self.effort {
            Effort::Smoke => vec![300, 600],
            Effort::Quick => vec![100_000],
            Effort::Full => vec![10_000, 100_000, 1_000_000],
        };
        if self.is_huge {
            counts.extend([1_000_000, 10_000_000]);
        }
        counts.sort_unstable();
        counts.dedup();
        counts
    }

    /// Typed commands of a log whose state is rebuilt.
    #[must_use]
    pub fn commands_rebuilt(&self) -> u64 {
        match self.effort {
            Effort::Smoke => 200,
            Effort::Quick => 50_000,
            Effort::Full => 300_000,
        }
    }

    /// Bytes that a log grows by before it is measured, so that its segments are of their usual
    /// size.
    #[must_use]
    pub fn growth_bytes(&self) -> u64 {
        if self.effort == Effort::Smoke { 0 } else { 130 << 20 }
    }

    /// A store is begun anew when it holds about so many bytes.
    #[must_use]
    pub fn store_bytes_max(&self) -> u64 {
        400 << 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effort_says_its_rounds_and_those_of_the_default() {
        let says = |effort| Plan::new(PathBuf::new(), effort).says();
        let quick = says(Effort::Quick);
        assert!(quick.starts_with("Effort: quick: 5 rounds, "), "{quick}");
        assert!(quick.contains("40 ms") && quick.contains("100000 records"), "{quick}");
        assert!(quick.contains("the effort is full: 7 rounds"), "{quick}");
        let full = says(Effort::Full);
        assert!(full.contains("400000 records") && full.matches("rounds").count() == 1, "{full}");
    }
}
