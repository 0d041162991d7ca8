//! How long something took, and how long ago something was, for people.

use crate::text::moment;
use crate::zone;
use holdpoint_domain::core::time::Timestamp;
use jiff::tz::TimeZone;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Options that say how moments are told; without one, how long ago they were.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct TimesArgs {
    /// Tell moments, in UTC.
    #[arg(long, conflicts_with = "iso")]
    utc: bool,
    /// Tell moments, in the time of this machine and with its offset.
    #[arg(long)]
    iso: bool,
}

impl TimesArgs {
    /// The zone in which moments are told.
    pub(crate) fn zone(self) -> TimeZone {
        let zone = if self.iso { zone::local() } else { TimeZone::UTC };
        zone::tell_unknown();
        zone
    }

    /// When something was, for whoever looks at a moment in a zone.
    pub(crate) fn told(self, at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
        let local = || {
            let at = jiff::Timestamp::from_nanosecond(at.nanoseconds().into()).ok()?;
            Some(at.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
        };
        match self {
            Self { utc: true, .. } => moment(at),
            Self { iso: true, .. } => local().unwrap_or_else(|| moment(at)),
            Self { .. } => ago(now, at),
        }
    }
}

/// A length of time: `85 ms`, `1.24 s`, `2 min 3 s`, `3 h 20 min`, `5 d 2 h`.
pub(crate) fn took(nanoseconds: u64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    let milliseconds = nanoseconds / 1_000_000;
    let two = |whole: u64, unit: &str, rest: u64, of: &str| match rest {
        0 => format!("{whole} {unit}"),
        rest => format!("{whole} {unit} {rest} {of}"),
    };
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..MINUTE => format!("{seconds}.{:02} s", milliseconds % 1_000 / 10),
        MINUTE..HOUR => two(seconds / MINUTE, "min", seconds % MINUTE, "s"),
        HOUR..DAY => two(seconds / HOUR, "h", seconds % HOUR / MINUTE, "min"),
        _ => two(seconds / DAY, "d", seconds % DAY / HOUR, "h"),
    }
}

/// How long before `now` something was: `now`, `12 s ago`, `5 min ago`, `3 h ago`, `4 d ago`. What
/// lies behind it is `in` so long.
pub(crate) fn ago(now: Timestamp, at: Timestamp) -> String {
    let (now, at) = (now.nanoseconds(), at.nanoseconds());
    match at.checked_sub(now).filter(|ahead| *ahead >= 1_000_000_000) {
        Some(ahead) => format!("in {}", roughly(ahead)),
        None => match now.saturating_sub(at) {
            0..1_000_000_000 => "now".to_string(),
            behind => format!("{} ago", roughly(behind)),
        },
    }
}

fn roughly(nanoseconds: u64) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    match seconds {
        0..MINUTE => format!("{seconds} s"),
        MINUTE..HOUR => format!("{} min", seconds / MINUTE),
        HOUR..DAY => format!("{} h", seconds / HOUR),
        _ => format!("{} d", seconds / DAY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn moments_are_told_as_they_are_asked_for() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let [at, now] =
            ["2026-07-01T12:00:00Z", "2026-07-01T12:05:00Z"].map(|it| it.parse().unwrap());
        let told = |utc, iso| TimesArgs { utc, iso }.told(at, now, &zone);
        assert_eq!(told(false, false), "5 min ago");
        assert_eq!(told(true, false), "2026-07-01T12:00:00.000Z");
        assert_eq!(told(false, true), "2026-07-01T14:00:00+02:00");
    }

    #[test]
    fn lengths_of_time_are_told_in_two_units_at_most() {
        let told = [
            (0, "0 ms"),
            (SECOND - 1, "999 ms"),
            (SECOND * 124 / 100, "1.24 s"),
            (SECOND * 60, "1 min"),
            (SECOND * 123, "2 min 3 s"),
            (SECOND * 12_000, "3 h 20 min"),
            (SECOND * 439_200, "5 d 2 h"),
        ];
        for (nanoseconds, expected) in told {
            assert_eq!(took(nanoseconds), expected);
        }
    }

    #[test]
    fn what_was_is_ago_and_what_comes_is_ahead() {
        let now = Timestamp::from_nanoseconds(1_000_000 * SECOND);
        let at = |seconds: u64| Timestamp::from_nanoseconds(seconds * SECOND);
        assert_eq!(ago(now, now), "now");
        assert_eq!(ago(now, at(999_988)), "12 s ago");
        assert_eq!(ago(now, at(990_000)), "2 h ago");
        assert_eq!(ago(now, at(0)), "11 d ago");
        assert_eq!(ago(now, at(1_000_300)), "in 5 min");
    }
}
