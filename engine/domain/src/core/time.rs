//! Time as a value: the rules never read a clock, they are told when something happened. A moment
//! is RFC 3339 text: `2026-01-25T16:00:00.000000001Z`.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use jiff::fmt::temporal::Pieces;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// A moment: UTC nanoseconds since 1970-01-01T00:00:00Z, up to the year 2554. As text it is
/// RFC 3339 with nine digits of fraction and `Z`, so that texts sort as moments do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The moment so many nanoseconds after the epoch.
    #[must_use]
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// Nanoseconds since the epoch.
    #[must_use]
    pub const fn nanoseconds(self) -> u64 {
        self.0
    }

    /// Nanoseconds from `earlier` to this moment; zero if `earlier` is not earlier.
    #[must_use]
    pub const fn nanoseconds_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The moment as RFC 3339 text, without asking for memory.
    pub(crate) fn to_text(self) -> TimestampText {
        TimestampText::of(self.0)
    }

    /// The moment so many milliseconds later; the last moment there is, where that is too late.
    #[must_use]
    pub const fn plus_ms(self, milliseconds: u64) -> Self {
        Self(self.0.saturating_add(milliseconds.saturating_mul(1_000_000)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_text().as_str())
    }
}

/// Reads an ISO-8601 date and time with a UTC offset (RFC 3339: `2026-01-25T16:00:00Z`,
/// `2026-01-25T11:00:00.5-05:00`).
impl FromStr for Timestamp {
    type Err = TimeFault;

    fn from_str(text: &str) -> Result<Self, TimeFault> {
        let moment: jiff::Timestamp = text.parse().map_err(|_| fault_of(text))?;
        u64::try_from(moment.as_nanosecond())
            .map(Self)
            .map_err(|_| TimeFault::OutOfRange { found: shown(text) })
    }
}

/// Readable formats carry the text, binary ones the number.
impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            text.parse().map_err(serde::de::Error::custom)
        } else {
            u64::deserialize(deserializer).map(Self)
        }
    }
}

/// Why a time is refused. A loop that is given such a time stops with `TIMESTAMP_INVALID`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TimeFault {
    /// Not an ISO-8601 date and time with an offset.
    #[error("{found:?} is not a time; write it as 2026-01-25T16:00:00Z")]
    NotATime {
        /// The text, shortened and made visible.
        found: String,
    },
    /// Before 1970, or later than 64 bits of nanoseconds reach.
    #[error(
        "{found:?} is out of the range of times that a record can have, which is {} to {}",
        Timestamp(u64::MIN),
        Timestamp(u64::MAX)
    )]
    OutOfRange {
        /// The text, shortened and made visible.
        found: String,
    },
    /// Earlier than the time before it.
    #[error("time goes backwards: {found} comes after {expected}; supply times in order")]
    Backwards {
        /// The earliest time that may follow.
        expected: Timestamp,
        /// The time found.
        found: Timestamp,
    },
}

/// Checks that a time does not lie before the one before it; equal times are in order.
///
/// # Errors
/// [`TimeFault::Backwards`].
pub fn check_follows(prior: Option<Timestamp>, found: Timestamp) -> Result<(), TimeFault> {
    match prior {
        Some(expected) if found < expected => Err(TimeFault::Backwards { expected, found }),
        _ => Ok(()),
    }
}

/// Why a text is no moment of the calendar. The last days of the year 9999 are none there: with
/// some offsets they lie in the year 10000.
fn fault_of(text: &str) -> TimeFault {
    let pieces = Pieces::parse(text).ok();
    let is_whole = pieces.is_some_and(|found| found.time().is_some() && found.offset().is_some());
    match is_whole {
        true => TimeFault::OutOfRange { found: shown(text) },
        false => TimeFault::NotATime { found: shown(text) },
    }
}

/// At most 64 bytes of a refused text: it came from outside and may be anything.
fn shown(text: &str) -> String {
    alloc::format!("{}", crate::core::text::visible(crate::core::text::bounded(text, 64)))
}

const NANOSECONDS: u64 = 1_000_000_000;

const SECONDS_OF_DAY: u64 = 86_400;

/// Days of 400 years, after which the calendar repeats.
const DAYS_OF_ERA: u64 = 146_097;

/// Days from 0000-03-01, where the reckoning begins, to 1970-01-01.
const DAYS_BEFORE_1970: u64 = 719_468;

/// The text of one moment: always 30 bytes.
#[derive(Clone, Copy)]
pub(crate) struct TimestampText([u8; 30]);

impl TimestampText {
    pub(crate) fn of(nanoseconds: u64) -> Self {
        let (seconds, fraction) = (nanoseconds / NANOSECONDS, nanoseconds % NANOSECONDS);
        let (year, month, day) = civil(seconds / SECONDS_OF_DAY);
        let of_day = seconds % SECONDS_OF_DAY;
        let ([y1, y2], [y3, y4]) = (pair(year / 100), pair(year % 100));
        let ([m1, m2], [d1, d2]) = (pair(month), pair(day));
        let ([h1, h2], [n1, n2]) = (pair(of_day / 3600), pair(of_day / 60 % 60));
        let ([s1, s2], [f1, f2]) = (pair(of_day % 60), pair(fraction / 10_000_000));
        let ([f3, f4], [f5, f6]) = (pair(fraction / 100_000 % 100), pair(fraction / 1000 % 100));
        let ([f7, f8], [_, f9]) = (pair(fraction / 10 % 100), pair(fraction % 10));
        Self([
            y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', n1, n2, b':', s1, s2,
            b'.', f1, f2, f3, f4, f5, f6, f7, f8, f9, b'Z',
        ])
    }

    pub(crate) fn as_str(&self) -> &str {
        core::str::from_utf8(&self.0).expect("digits and signs are ASCII")
    }
}

/// The two digits of a number below 100.
#[inline]
const fn pair(number: u64) -> [u8; 2] {
    let number = number.to_le_bytes()[0];
    [b'0' + number / 10, b'0' + number % 10]
}

/// Year, month and day of a day since 1970-01-01, in the Gregorian calendar. Years are reckoned
/// from March, so that the day that some of them lack is their last (Hinnant, "chrono-Compatible
/// Low-Level Date Algorithms", `civil_from_days`).
const fn civil(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970 + DAYS_BEFORE_1970;
    let (era, of_era) = (days / DAYS_OF_ERA, days % DAYS_OF_ERA);
    let leap_days = of_era / 1460 + of_era / 146_096 - of_era / 36_524;
    let year_of_era = (of_era - leap_days) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = 400 * era + year_of_era + (month <= 2) as u64;
    (year, month, day)
}
