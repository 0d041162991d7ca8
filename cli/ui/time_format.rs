//! How long something took, and when something was, for people.

use crate::ui::{Exit, Failure, moment, zone};
use holdpoint_domain::Time;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_engine::shell::{Clock as _, SystemClock};
use jiff::tz::TimeZone;
use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Options that say how moments are told; without one, how long ago they were.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct TimesArgs {
    /// Format of times: how long ago, local time with its offset, or UTC.
    #[arg(long, value_name = "FORM", value_enum, default_value_t)]
    date: DateForm,
}

/// A form of moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum DateForm {
    #[default]
    Relative,
    Iso,
    Utc,
}

impl TimesArgs {
    /// As it is told to who looks now.
    pub(crate) fn clock(self) -> Clock {
        let zone = if self.date == DateForm::Iso { zone::local() } else { TimeZone::UTC };
        zone::tell_unknown();
        Clock { now: now(), times: self, zone }
    }

    /// Refuses a zone where moments are those of UTC in any case.
    pub(crate) fn expect_utc(self) -> Result<(), Failure> {
        if self.date != DateForm::Iso {
            return Ok(());
        }
        let message = "--date iso tells the moments of runs and sessions; those of records, \
                       questions and states are told in UTC: leave it out";
        Err(Failure::new(Exit::USAGE, "no_local_times", message.to_string()))
    }
}

/// How moments are told: to who looks when, in which zone.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    now: Timestamp,
    times: TimesArgs,
    zone: TimeZone,
}

impl Clock {
    /// How long before a moment something was.
    #[cfg(test)]
    pub(crate) const fn at(now: Timestamp) -> Self {
        Self { now, times: TimesArgs { date: DateForm::Relative }, zone: TimeZone::UTC }
    }

    /// When it is looked at.
    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    /// When something was: how long ago, or the moment where that is asked for.
    pub(crate) fn told(&self, at: Timestamp) -> String {
        match self.times.date {
            DateForm::Utc => moment(at),
            DateForm::Iso => self.local(at).unwrap_or_else(|| moment(at)),
            DateForm::Relative => ago(self.now, at),
        }
    }

    /// The same, and the moment in any case: `5 min ago (2026-01-25T16:00:00.000Z)`.
    pub(crate) fn told_with_moment(&self, at: Timestamp) -> String {
        match self.times.date {
            DateForm::Relative => format!("{} ({})", self.told(at), moment(at)),
            DateForm::Iso | DateForm::Utc => self.told(at),
        }
    }

    fn local(&self, at: Timestamp) -> Option<String> {
        let at = jiff::Timestamp::from_nanosecond(at.nanoseconds().into()).ok()?;
        Some(at.to_zoned(self.zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
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
fn ago(now: Timestamp, at: Timestamp) -> String {
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

/// The time by the wall clock.
pub(crate) fn now() -> Time {
    Time::from_nanoseconds(SystemClock.now().wall_ns)
}

/// A length of time in its two largest units: `2h 5m`.
pub(crate) fn span(nanoseconds: u64) -> String {
    let whole = Duration::from_secs(nanoseconds / 1_000_000_000);
    let text = humantime::format_duration(whole).to_string();
    text.split(' ').take(2).collect::<Vec<_>>().join(" ")
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
        let told = |date| {
            let clock = Clock { now, times: TimesArgs { date }, zone: zone.clone() };
            (clock.told(at), clock.told_with_moment(at))
        };
        let (moment, local) = ("2026-07-01T12:00:00.000Z", "2026-07-01T14:00:00+02:00");
        assert_eq!(told(DateForm::Relative), ("5 min ago".into(), format!("5 min ago ({moment})")));
        assert_eq!(told(DateForm::Utc), (moment.into(), moment.into()));
        assert_eq!(told(DateForm::Iso), (local.into(), local.into()));
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
