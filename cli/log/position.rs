//! A place in the log as a person says it: a record, a moment, how long ago, a day.

use crate::ui::text::cut;
use crate::ui::{now, zone};
use holdpoint_domain::core::text::{bounded, visible};
use holdpoint_domain::core::time::{TimeFault, Timestamp};
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, TimeZone};
use serde_json::Value;
use std::time::Duration;

/// What may be written.
const FORMS: &str = "a record's number, a moment such as 2026-01-25T16:00:00Z, a local time such \
                     as 2026-01-25T16:00, a day such as 2026-01-25, today or yesterday, or how \
                     long ago, such as 5m or 2h";

/// Bytes of a refused text that are shown.
const SHOWN: usize = 64;

/// A place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// The record of this number.
    Record(u64),
    /// All from one moment to another one: of a day its first and its last instant, else twice the
    /// same.
    Time(Timestamp, Timestamp),
}

impl Point {
    /// As a range that begins there is given: the record, or the first moment.
    pub(crate) const fn beginning(self) -> (Option<u64>, Option<Timestamp>) {
        match self {
            Self::Record(sequence) => (Some(sequence), None),
            Self::Time(first, _) => (None, Some(first)),
        }
    }

    /// As a range that ends there is given: the record, or the last moment.
    pub(crate) const fn end(self) -> (Option<u64>, Option<Timestamp>) {
        match self {
            Self::Record(sequence) => (Some(sequence), None),
            Self::Time(_, last) => (None, Some(last)),
        }
    }
}

/// A place as it is given on the command line: local times are those of this machine.
pub(crate) fn parse(text: &str) -> Result<Point, String> {
    parse_at(text, now(), zone::local)
}

/// The same, where it is known what time it is, and where, which only local times depend on.
fn parse_at(text: &str, now: Timestamp, zone: impl FnOnce() -> TimeZone) -> Result<Point, String> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let sequence = text.parse();
        return sequence
            .map(Point::Record)
            .map_err(|_| format!("no record has a number as large as {}", bounded(text, SHOWN)));
    }
    match text.parse::<Timestamp>() {
        Ok(moment) => return Ok(Point::Time(moment, moment)),
        Err(TimeFault::NotATime { .. }) => {}
        Err(no_record_has_it) => return Err(no_record_has_it.to_string()),
    }
    if let Ok(ago) = humantime::parse_duration(text) {
        let moment = before(now, ago);
        return Ok(Point::Time(moment, moment));
    }
    let zone = zone();
    if let Some(date) = day(text, now, &zone) {
        let next = date.tomorrow().map_err(|_| out_of_range(text))?;
        let first = first_instant(text, date, &zone)?;
        let last = first_instant(text, next, &zone)?.nanoseconds().saturating_sub(1);
        return Ok(Point::Time(first, Timestamp::from_nanoseconds(last)));
    }
    let local: DateTime = text.parse().map_err(|_| not_a_time(text))?;
    let moment = in_zone(text, local, &zone)?;
    Ok(Point::Time(moment, moment))
}

fn not_a_time(text: &str) -> String {
    format!("{:?} is not a time: write {FORMS}", visible(bounded(text, SHOWN)).to_string())
}

fn out_of_range(text: &str) -> String {
    TimeFault::OutOfRange { found: visible(bounded(text, SHOWN)).to_string() }.to_string()
}

fn before(now: Timestamp, ago: Duration) -> Timestamp {
    let ago = u64::try_from(ago.as_nanos()).unwrap_or(u64::MAX);
    Timestamp::from_nanoseconds(now.nanoseconds().saturating_sub(ago))
}

/// The day of this name.
fn day(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Date> {
    let today = || {
        let now = jiff::Timestamp::from_nanosecond(now.nanoseconds().into()).ok()?;
        Some(zone.to_datetime(now).date())
    };
    match text {
        "today" => today(),
        "yesterday" => today()?.yesterday().ok(),
        // A local time begins with a day as well, and is none.
        _ if text.len() == "2026-01-25".len() => text.parse().ok(),
        _ => None,
    }
}

/// The first instant of a day, which is not midnight where summer time skips that.
fn first_instant(text: &str, day: Date, zone: &TimeZone) -> Result<Timestamp, String> {
    let midnight = zone.to_ambiguous_zoned(day.into());
    let skips = matches!(midnight.offset(), AmbiguousOffset::Gap { .. });
    let moment = midnight.compatible().map_err(|_| out_of_range(text))?.timestamp();
    let just_behind = moment.as_nanosecond().saturating_add(1);
    let just_behind = jiff::Timestamp::from_nanosecond(just_behind).ok().filter(|_| skips);
    let begins = just_behind.and_then(|behind| zone.preceding(behind).next());
    recorded(text, begins.map_or(moment, |begins| begins.timestamp()))
}

/// The moment of a local time. One that summer time skips or repeats is none or two.
fn in_zone(text: &str, local: DateTime, zone: &TimeZone) -> Result<Timestamp, String> {
    let moment = zone.to_ambiguous_zoned(local).unambiguous().map_err(|_| {
        format!(
            "summer time skips or repeats {local} here: write the moment with its offset, such as \
             2026-01-25T16:00:00+01:00"
        )
    })?;
    recorded(text, moment.timestamp())
}

fn recorded(text: &str, moment: jiff::Timestamp) -> Result<Timestamp, String> {
    let nanoseconds = u64::try_from(moment.as_nanosecond());
    nanoseconds.map(Timestamp::from_nanoseconds).map_err(|_| out_of_range(text))
}

/// Longest value in a line, in bytes.
const VALUE_BYTES: usize = 120;

/// A value in a line.
pub(crate) fn of_value(value: &Value) -> String {
    match value {
        Value::String(text) => cut(text, VALUE_BYTES),
        other => cut(&other.to_string(), VALUE_BYTES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    fn at(text: &str) -> Result<Point, String> {
        parse_at(text, "2026-11-26T10:00:00Z".parse().unwrap(), berlin)
    }

    fn times(first: &str, last: &str) -> Result<Point, String> {
        Ok(Point::Time(first.parse().unwrap(), last.parse().unwrap()))
    }

    #[test]
    fn digits_are_a_record_and_the_rest_is_a_time() {
        assert_eq!(at("12"), Ok(Point::Record(12)));
        let moment = "2026-01-25T16:00:00Z";
        assert_eq!(at(moment), times(moment, moment));
        assert_eq!(at("90m"), times("2026-11-26T08:30:00Z", "2026-11-26T08:30:00Z"));
        let local = "2026-07-01T12:00:00Z";
        assert_eq!(at("2026-07-01T14:00"), times(local, local));
        for wrong in ["", "soon", "2026-13-01", "2026-02-30", "LOOP-1", "12:00", "-5m", "+5"] {
            assert!(at(wrong).is_err_and(|said| said.contains("yesterday")), "{wrong}");
        }
        for large in ["18446744073709551616", "99999999999999999999"] {
            assert!(at(large).is_err_and(|said| said.contains("no record")), "{large}");
        }
        for never in ["1969-12-31", "9999-12-31T23:59:59Z", "2600-01-01T00:00"] {
            assert!(at(never).is_err_and(|said| said.contains("1970-01-01T00:00")), "{never}");
        }
    }

    #[test]
    fn a_day_lasts_from_its_first_instant_to_its_last() {
        let day = times("2026-01-24T23:00:00Z", "2026-01-25T22:59:59.999999999Z");
        assert_eq!(at("2026-01-25"), day);
        assert_eq!(at("today"), times("2026-11-25T23:00:00Z", "2026-11-26T22:59:59.999999999Z"));
        let yesterday = times("2026-11-24T23:00:00Z", "2026-11-25T22:59:59.999999999Z");
        assert_eq!(at("yesterday"), yesterday);
        let short = times("2026-03-28T23:00:00Z", "2026-03-29T21:59:59.999999999Z");
        assert_eq!(at("2026-03-29"), short, "of 23 hours");
    }

    #[test]
    fn a_day_whose_midnight_summer_time_skips_or_repeats_begins_with_its_first_instant() {
        let at = |text, zone: &str| {
            let zone = || TimeZone::posix(zone).unwrap();
            parse_at(text, "2026-11-26T10:00:00Z".parse().unwrap(), zone)
        };
        let skips = "<-03>3<-02>,M11.1.0/0,M2.3.0/0";
        let day = times("2018-11-04T03:00:00Z", "2018-11-05T01:59:59.999999999Z");
        assert_eq!(at("2018-11-04", skips), day, "it begins at 01:00");
        let before = times("2018-11-03T03:00:00Z", "2018-11-04T02:59:59.999999999Z");
        assert_eq!(at("2018-11-03", skips), before, "it ends with the last hour before that");
        let across = "<-05>5<-04>,M3.5.0/23:30,M10.5.0/0";
        let day = times("2026-03-30T04:30:00Z", "2026-03-31T03:59:59.999999999Z");
        assert_eq!(at("2026-03-30", across), day, "it begins at 00:30");
        let repeats = "<-05>5<-04>,M3.2.0/0,M11.1.0/1";
        let day = times("2026-11-01T04:00:00Z", "2026-11-02T04:59:59.999999999Z");
        assert_eq!(at("2026-11-01", repeats), day, "it begins with the first of two midnights");
    }

    #[test]
    fn what_summer_time_skips_or_repeats_is_refused() {
        for local in ["2026-03-29T02:30", "2026-10-25T02:30"] {
            assert!(at(local).is_err_and(|said| said.contains("summer time")), "{local}");
        }
        assert!(at("2026-10-25T02:30:00+01:00").is_ok());
    }
}
