//! Times have one text, that of the calendar.

use holdpoint_domain::core::time::{TimeFault, Timestamp, check_follows};

#[test]
fn times_are_rfc_3339_with_nanoseconds() {
    let text = "2026-01-25T16:00:00.000000001Z";
    let time: Timestamp = text.parse().unwrap();
    assert_eq!(time.nanoseconds(), 1_769_356_800_000_000_001);
    assert_eq!(time.to_string(), text);
    assert_eq!(Timestamp::default().to_string(), "1970-01-01T00:00:00.000000000Z");
    let last = Timestamp::from_nanoseconds(u64::MAX);
    assert_eq!(last.to_string().parse(), Ok(last));
}

/// Every day that there is, its first moment and its last; and whatever lies between.
#[test]
fn texts_are_those_of_the_calendar() {
    const DAY: u64 = 86_400_000_000_000;
    let calendar = |time: Timestamp| {
        let moment = jiff::Timestamp::from_nanosecond(time.nanoseconds().into()).unwrap();
        format!("{moment:.9}")
    };
    for day in 0..=u64::MAX / DAY {
        for moment in [0, 1 + day.wrapping_mul(0x9e37_79b9_7f4a_7c15) % DAY, DAY - 1] {
            let time = Timestamp::from_nanoseconds((day * DAY).saturating_add(moment));
            assert_eq!(time.to_string(), calendar(time));
        }
    }
}

#[test]
fn what_is_no_time_is_refused() {
    for text in ["", "garbage", "1706212800", "2026-01-25", "2026-13-45T99:99:99Z", "\u{1f552}"] {
        let refused = text.parse::<Timestamp>();
        assert!(matches!(refused, Err(TimeFault::NotATime { .. })), "{text:?}: {refused:?}");
    }
    for text in ["1969-12-31T23:59:59Z", "2999-01-01T00:00:00Z", "9999-12-31T23:59:59Z"] {
        let refused = text.parse::<Timestamp>();
        assert!(matches!(refused, Err(TimeFault::OutOfRange { .. })), "{text:?}: {refused:?}");
        let said = refused.unwrap_err().to_string();
        let range = "1970-01-01T00:00:00.000000000Z to 2554-07-21T23:34:33.709551615Z";
        assert!(said.contains(range), "{said}");
    }
    let refused = "9999-12-31T23:59:59".parse::<Timestamp>();
    assert!(matches!(refused, Err(TimeFault::NotATime { .. })), "{refused:?}");
}

#[test]
fn time_never_goes_backwards() {
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    let (before, first) = (time("2026-01-25T15:59:59Z"), time("2026-01-25T16:00:00Z"));
    assert_eq!(check_follows(None, before), Ok(()));
    assert_eq!(check_follows(Some(first), time("2026-01-25T11:00:00-05:00")), Ok(()));
    let expected = TimeFault::Backwards { expected: first, found: before };
    assert_eq!(check_follows(Some(first), before), Err(expected));
}
