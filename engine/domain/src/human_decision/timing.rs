//! How long a person has: a warning at 80 %, then ABORT.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::time::Timestamp;

/// The longest time that a person may be given, in milliseconds (366 days).
pub const MAX_TIMEOUT_MS: u64 = 366 * 24 * 60 * 60 * 1000;

const NS_PER_MS: u64 = 1_000_000;

/// How long a person has to decide, in milliseconds: 1 to [`MAX_TIMEOUT_MS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "u64", into = "u64")]
pub struct DecisionTimeout(u64);

/// A time in which nobody can decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a decision timeout of {found_ms} ms is out of range; give 1 ms to 366 days")]
pub struct TimeoutOutOfRange {
    /// What was asked for, in milliseconds.
    pub found_ms: i128,
}

impl DecisionTimeout {
    /// The default: five minutes.
    pub const DEFAULT: Self = Self(5 * 60 * 1000);

    /// A timeout of so many milliseconds.
    ///
    /// # Errors
    /// [`TimeoutOutOfRange`]: zero, or more than 366 days.
    pub fn from_milliseconds(milliseconds: u64) -> Result<Self, TimeoutOutOfRange> {
        match milliseconds {
            1..=MAX_TIMEOUT_MS => Ok(Self(milliseconds)),
            _ => Err(TimeoutOutOfRange { found_ms: i128::from(milliseconds) }),
        }
    }

    /// A timeout of so many seconds, as the seed has it.
    ///
    /// # Errors
    /// [`TimeoutOutOfRange`]: zero, negative, or more than 366 days.
    pub fn from_seconds(seconds: i64) -> Result<Self, TimeoutOutOfRange> {
        let found_ms = i128::from(seconds) * 1000;
        let fault = TimeoutOutOfRange { found_ms };
        u64::try_from(found_ms).map_err(|_| fault).and_then(Self::from_milliseconds)
    }

    /// Milliseconds.
    #[must_use]
    pub const fn milliseconds(self) -> u64 {
        self.0
    }

    /// The deadline of a request that is made at this time, or `None` if the calendar ends first.
    #[must_use]
    pub fn deadline(self, created_at: Timestamp) -> Option<Timestamp> {
        let nanoseconds = self.0.saturating_mul(NS_PER_MS);
        created_at.nanoseconds().checked_add(nanoseconds).map(Timestamp::from_nanoseconds)
    }
}

impl TryFrom<u64> for DecisionTimeout {
    type Error = TimeoutOutOfRange;

    fn try_from(milliseconds: u64) -> Result<Self, TimeoutOutOfRange> {
        Self::from_milliseconds(milliseconds)
    }
}

impl From<DecisionTimeout> for u64 {
    fn from(timeout: DecisionTimeout) -> Self {
        timeout.0
    }
}

/// When the person is warned: after exactly 80 % of the time between the two, rounded down to the
/// nanosecond.
#[must_use]
pub fn warning_time(created_at: Timestamp, timeout_at: Timestamp) -> Timestamp {
    let whole = u128::from(timeout_at.nanoseconds_since(created_at));
    let four_fifths = u64::try_from(whole * 4 / 5).unwrap_or(u64::MAX);
    Timestamp::from_nanoseconds(created_at.nanoseconds().saturating_add(four_fifths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_lie_between_a_millisecond_and_366_days() {
        for milliseconds in [1, 1000, MAX_TIMEOUT_MS] {
            let timeout = DecisionTimeout::from_milliseconds(milliseconds).unwrap();
            assert_eq!(timeout.milliseconds(), milliseconds);
        }
        for milliseconds in [0, MAX_TIMEOUT_MS + 1, u64::MAX] {
            assert!(DecisionTimeout::from_milliseconds(milliseconds).is_err(), "{milliseconds}");
        }
        for seconds in [0, -1, -5, i64::MIN, i64::MAX, 366 * 86_400 + 1, 9_007_199_254_740_992] {
            assert!(DecisionTimeout::from_seconds(seconds).is_err(), "{seconds}");
        }
        assert_eq!(DecisionTimeout::from_seconds(300), Ok(DecisionTimeout::DEFAULT));
        assert!(serde_json::from_str::<DecisionTimeout>("0").is_err());
    }

    #[test]
    fn the_warning_comes_at_exactly_80_percent_rounded_down() {
        let at = Timestamp::from_nanoseconds;
        for (whole, warning) in
            [(0, 0), (1, 0), (2, 1), (4, 3), (5, 4), (10, 8), (1_000_003, 800_002)]
        {
            assert_eq!(warning_time(at(7), at(7 + whole)), at(7 + warning), "{whole}");
        }
        assert!(warning_time(at(0), at(u64::MAX)) < at(u64::MAX));
    }

    #[test]
    fn a_deadline_past_the_calendar_is_none() {
        let late = Timestamp::from_nanoseconds(u64::MAX - 1);
        assert_eq!(DecisionTimeout::DEFAULT.deadline(late), None);
    }
}
