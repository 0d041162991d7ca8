//! A moment as RFC 3339 text: `2026-01-25T16:00:00.000000001Z`.

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
    pub(super) fn of(nanoseconds: u64) -> Self {
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
