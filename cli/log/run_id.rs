//! The run that an id means: the id of an execution loop, the beginning of one, or a record about
//! it.

use crate::log::ids::{self, DIGITS, IdText, are_digits};
use crate::log::records::{expect_log, first_wanted};
use crate::log::{Directory, IdOf, damage_in_part};
use crate::ui::{Exit, Failure, excerpt};
use holdpoint_replay::id_text::DIGITS_MIN;
use holdpoint_replay::{Filter, Finding, Order, Searched, begun, span};

/// The name of the newest run.
pub(crate) const NEWEST: &str = "@";

/// What a number names.
pub(crate) enum OfRecord {
    /// The loop that the record is about.
    Run(String),
    /// A record that is about no loop.
    Record(u64),
}

/// The whole id of the loop that is meant. Exit 2 for what is no id, 3 where there is none such, 4
/// where several begin so, 6 where the log is damaged where it would be.
pub(crate) fn find(directory: &Directory, wanted: &str) -> Result<String, Failure> {
    let Some(sequence) = ids::record(wanted) else { return of_digits(directory, wanted) };
    let found = of_record(directory, sequence)?;
    if found.is_some() {
        ids::tell_meaning(directory, wanted, &[IdOf::Run]);
    }
    match found {
        Some(OfRecord::Run(loop_id)) => Ok(loop_id),
        Some(OfRecord::Record(_)) => {
            let message =
                format!("record {sequence} is about no run: `holdpoint show {sequence} --trace`");
            Err(directory.or_unread(Failure::new(Exit::NOT_FOUND, "no_such_run", message)))
        }
        None => Err(no_record(directory, wanted, &[IdOf::Run])),
    }
}

fn newest(directory: &Directory) -> Result<String, Failure> {
    let (found, searched) =
        directory.read(|log, options| begun(log, &Filter::default(), 1, options))?;
    expect_log(directory, &searched)?;
    expect_sound(&searched)?;
    let none = || directory.or_missing(Failure::new(Exit::NOT_FOUND, "no_such_run", "no run yet"));
    found.into_iter().next().map(|begun| begun.loop_id).ok_or_else(none)
}

/// The whole id where a text names the newest run or is the beginning of one id, else the text.
pub(crate) fn whole(directory: &Directory, wanted: String) -> Result<String, Failure> {
    let found = match IdText::read(&wanted) {
        Some(IdText::Beginning(digits, of)) => ids::only(directory, digits, &of),
        _ if wanted == NEWEST => newest(directory),
        _ => return Ok(wanted),
    };
    found.or_else(|failure| if failure.exit == Exit::NOT_FOUND { Ok(wanted) } else { Err(failure) })
}

fn of_digits(directory: &Directory, wanted: &str) -> Result<String, Failure> {
    let prefix = IdOf::Run.prefix();
    let digits = wanted.strip_prefix(prefix).unwrap_or(wanted);
    match digits.len() {
        _ if wanted == NEWEST => newest(directory),
        _ if !are_digits(digits) => Err(no_id(wanted)),
        DIGITS => Ok(format!("{prefix}{digits}")),
        DIGITS_MIN..DIGITS => ids::only(directory, digits, &[IdOf::Run]),
        _ => Err(no_id(wanted)),
    }
}

/// Whether a text can be nothing but a run's id or the beginning of one: digits alone are a record.
pub(crate) fn is_meant(text: &str) -> bool {
    let has_letter = text.bytes().any(|byte| byte.is_ascii_lowercase());
    text == NEWEST
        || text.starts_with(IdOf::Run.prefix())
        || (text.len() >= DIGITS_MIN && has_letter && are_digits(text))
}

fn no_id(wanted: &str) -> Failure {
    let message = ids::unlike(wanted).unwrap_or_else(|| {
        format!(
            "{} is no run: give the id of one, at least {DIGITS_MIN} of its first hexadecimal \
             digits, the number of a record about it, or {NEWEST}; `holdpoint runs` lists them",
            excerpt(wanted)
        )
    });
    Failure::new(Exit::USAGE, "no_run_id", message)
}

/// What the record of a number is about; `None` where there is no such record.
pub(crate) fn of_record(directory: &Directory, sequence: u64) -> Result<Option<OfRecord>, Failure> {
    let filter = Filter { first: Some(sequence), last: Some(sequence), ..Filter::default() };
    let (found, searched) = first_wanted(directory, &filter, Order::OldestFirst)?;
    expect_log(directory, &searched)?;
    if found.is_none() {
        expect_sound(&searched)?;
    }
    Ok(found.map(|line| line.loop_id.map_or(OfRecord::Record(sequence), OfRecord::Run)))
}

/// The failure that there is no record of a number: which there are, and what else may be meant by
/// its digits.
pub(crate) fn no_record(directory: &Directory, digits: &str, of: &[IdOf]) -> Failure {
    // What cannot be read of the ends is told by whoever needs them.
    let there = directory
        .read(|log, _| span(log))
        .ok()
        .flatten()
        .map(|there| format!("the log has records {} to {}", there.first, there.last));
    let advice: Vec<String> =
        there.into_iter().chain(ids::meaning(directory, digits, of)).collect();
    let advice = match advice.is_empty() {
        true => "`holdpoint runs` lists the runs".to_string(),
        false => advice.join("; "),
    };
    let message = format!("there is no record {digits}: {advice}");
    directory.or_missing(Failure::new(Exit::NOT_FOUND, "no_such_run", message))
}

/// A run that cannot be looked for whole is not said to be missing, or to be the only one.
pub(crate) fn expect_sound(searched: &Searched) -> Result<(), Failure> {
    if searched.is_sound() { Ok(()) } else { expect_none(searched.findings()) }
}

/// Checks that there is no finding.
///
/// # Errors
/// Exit 6, with the first one.
pub(crate) fn expect_none(findings: &[Finding]) -> Result<(), Failure> {
    let Some(found) = damage_in_part(findings) else { return Ok(()) };
    Err(Failure::new(Exit::VERIFICATION_FAILED, "damaged", found))
}
