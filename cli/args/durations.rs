//! Durations and sizes as people write them.

use bytesize::ByteSize;
use holdpoint_domain::human_decision::HumanDecisionTimeout;
use std::time::Duration;

/// A time that something may take: not none.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration = wait(text)?;
    if duration.is_zero() {
        Err("allow some time, or leave the option out".into())
    } else {
        Ok(duration)
    }
}

/// A time to wait: none is fine.
pub(crate) fn wait(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}; write 500ms, 1s or 5m"))
}

/// A time in which a person decides: a millisecond to 366 days.
pub(crate) fn decision(text: &str) -> Result<HumanDecisionTimeout, String> {
    let milliseconds = u64::try_from(wait(text)?.as_millis()).unwrap_or(u64::MAX);
    HumanDecisionTimeout::from_milliseconds(milliseconds).map_err(|error| error.to_string())
}

/// A bound on memory: not nothing.
pub(crate) fn memory(text: &str) -> Result<u64, String> {
    match size(text)? {
        0 => Err("allow some memory, or leave the option out".into()),
        bytes => Ok(bytes),
    }
}

/// Most of one stream that is recorded whole.
const OUTPUT_MAX: u64 = 512 << 20;

/// A bound on recorded output.
pub(crate) fn output(text: &str) -> Result<u64, String> {
    match size(text)? {
        bytes if bytes > OUTPUT_MAX => {
            Err(format!("{bytes} bytes are over the limit of {OUTPUT_MAX} (512MiB)"))
        }
        bytes => Ok(bytes),
    }
}

/// How long output is held back at most before it is recorded: ten milliseconds to a minute.
pub(crate) fn flush(text: &str) -> Result<Duration, String> {
    match wait(text)? {
        time if (Duration::from_millis(10)..=Duration::from_secs(60)).contains(&time) => Ok(time),
        _ => Err("write a time from 10ms to 60s".into()),
    }
}

fn size(text: &str) -> Result<u64, String> {
    let size: ByteSize = text.parse().map_err(|error| format!("{error}; write 512KiB or 64MiB"))?;
    Ok(size.as_u64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_read_as_people_write_them() {
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(wait("0s"), Ok(Duration::ZERO));
        assert_eq!(memory("64MiB"), Ok(64 << 20));
        assert_eq!(output("16MiB"), Ok(16 << 20));
        assert_eq!(output("0"), Ok(0));
    }

    #[test]
    fn a_person_has_between_a_millisecond_and_366_days() {
        assert_eq!(decision("5m"), Ok(HumanDecisionTimeout::DEFAULT));
        for text in ["1ms", "1s", "366d"] {
            assert!(decision(text).is_ok(), "{text}");
        }
        for text in ["0s", "999us", "367d", "100years", "-5m", "", "5"] {
            assert!(decision(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_means_nothing_is_refused_with_an_example() {
        for text in ["", "5", "-1s", "forever"] {
            assert!(wait(text).unwrap_err().contains("write 500ms"), "{text:?}");
        }
        for text in ["", "-1", "much", "1XB"] {
            assert!(memory(text).unwrap_err().contains("write 512KiB"), "{text:?}");
        }
        assert!(duration("0s").is_err() && memory("0").is_err());
        assert!(output("513MiB").is_err() && output("512MiB").is_ok());
        for text in ["9ms", "0s", "61s", ""] {
            assert!(flush(text).is_err(), "{text:?}");
        }
        assert_eq!(flush("500ms"), Ok(Duration::from_millis(500)));
    }
}
