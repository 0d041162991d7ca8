//! Values as they are given: on the command line, in a file, or on standard input.

use crate::args::bounded_read::all_within;
use crate::ui::{Exit, Failure, excerpt, path};
use holdpoint_domain::Time;
use std::fs::File;
use std::io;
use std::path::Path;

/// A text: itself, or the file behind `@`.
pub(crate) fn text(option: &str, given: &str, most_bytes: usize) -> Result<String, Failure> {
    match given.strip_prefix('@') {
        Some(file) => {
            let name = path(Path::new(file));
            File::open(file)
                .and_then(|file| all_within(file, most_bytes))
                .map_err(|error| unreadable(option, &name, &error))
                .and_then(|bytes| decoded(option, &name, bytes, most_bytes))
        }
        None => Ok(given.to_string()),
    }
}

/// A text: itself, the file behind `@`, or standard input for `-`.
pub(crate) fn text_or_stdin(
    option: &str,
    given: &str,
    most_bytes: usize,
) -> Result<String, Failure> {
    if given != "-" {
        return text(option, given, most_bytes);
    }
    let name = "standard input";
    let bytes = all_within(io::stdin().lock(), most_bytes);
    let bytes = bytes.map_err(|error| unreadable(option, name, &error))?;
    decoded(option, name, bytes, most_bytes)
}

/// A length of time, in milliseconds. Whether it is a sensible one is for the rules to say.
pub(crate) fn milliseconds(option: &str, given: &str) -> Result<u64, Failure> {
    let length = humantime::parse_duration(given).map_err(|error| {
        let found = excerpt(given);
        let message = format!("{option} {found}: {error}; write 90s, 15m or 2h");
        Failure::new(Exit::USAGE, "bad_timeout", message)
    })?;
    Ok(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}

/// A moment. Whether it is a sensible one is for the rules to say.
pub(crate) fn moment(option: &str, given: &str) -> Result<Time, Failure> {
    given.parse().map_err(|error| {
        let message = format!("{option}: {error}; write 2026-01-25T16:00:00Z");
        Failure::new(Exit::USAGE, "bad_timeout", message)
    })
}

/// The text; `None` stands for more bytes than there may be.
fn decoded(
    option: &str,
    name: &str,
    bytes: Option<Vec<u8>>,
    most_bytes: usize,
) -> Result<String, Failure> {
    let bytes = bytes.ok_or_else(|| {
        let message = format!("{option}: {name} has more than {most_bytes} bytes; shorten it");
        Failure::new(Exit::REFUSED, "too_long", message)
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let message = format!("{option}: {name} is no UTF-8 text, from byte {place} on");
        Failure::new(Exit::USAGE, "not_text", message)
    })
}

fn unreadable(option: &str, name: &str, error: &io::Error) -> Failure {
    let message = format!("{option}: cannot read {name}: {error}; name a file that can be read");
    Failure::new(Exit::FAILED, "io", message)
}
