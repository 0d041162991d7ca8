//! The run that an id means: the id of an execution loop, the beginning of one, or a record about
//! it.

use crate::directory::Directory;
use crate::exit::{Exit, Failure};
use crate::text::excerpt;
use holdpoint_domain::core::text::visible;
use holdpoint_replay::{Filter, Line, Order, Searched, leading, runs_beginning_with, search};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// What every id of a loop begins with.
const PREFIX: &str = "LOOP-";

/// The digits of a whole id.
const DIGITS: usize = 32;

/// So many digits are asked for at least, where an id is not given whole.
pub(crate) const DIGITS_MIN: usize = 6;

/// So many ids are named, where several begin alike.
const NAMED_MAX: usize = 5;

/// What an id names.
pub(crate) enum RunNamed {
    /// The loop with this id.
    Run(String),
    /// A record that is about no loop.
    Record(u64),
}

/// The whole id of the loop that is meant. Exit 2 for what is no id, 3 where there is none such, 4
/// where several begin so, 6 where the log is damaged where it would be.
pub(crate) fn find(directory: &Directory, wanted: &str) -> Result<String, Failure> {
    match named(directory, wanted)? {
        RunNamed::Run(loop_id) => Ok(loop_id),
        RunNamed::Record(sequence) => {
            let message =
                format!("record {sequence} is about no run: `holdpoint trace {sequence}`");
            Err(directory.or_unread(Failure::new(Exit::NOT_FOUND, "no_such_run", message)))
        }
    }
}

/// As [`find`], where a record that is about no run is wanted as well.
pub(crate) fn named(directory: &Directory, wanted: &str) -> Result<RunNamed, Failure> {
    if let Ok(sequence) = wanted.parse::<u64>() {
        return about(directory, sequence);
    }
    of_digits(directory, wanted).map(RunNamed::Run)
}

fn of_digits(directory: &Directory, wanted: &str) -> Result<String, Failure> {
    let digits = wanted.strip_prefix(PREFIX).unwrap_or(wanted);
    let are_digits = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match digits.len() {
        _ if !are_digits => Err(no_id(wanted)),
        DIGITS => Ok(format!("{PREFIX}{digits}")),
        DIGITS_MIN..DIGITS => beginning_with(directory, &format!("{PREFIX}{digits}")),
        _ => Err(no_id(wanted)),
    }
}

/// Whether a text can be nothing but a run's id or the beginning of one: digits alone are a record.
pub(crate) fn is_meant(text: &str) -> bool {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let has_letter = text.bytes().any(|byte| byte.is_ascii_lowercase());
    text.starts_with(PREFIX)
        || (text.len() >= DIGITS_MIN && has_letter && text.bytes().all(is_digit))
}

fn no_id(wanted: &str) -> Failure {
    let message = format!(
        "{} is no run: give the id of one, at least {DIGITS_MIN} of its first hexadecimal digits, \
         or the number of a record about it; `holdpoint runs` lists them",
        excerpt(wanted)
    );
    Failure::new(Exit::USAGE, "no_run_id", message)
}

/// The loop that a record is about, or the record.
fn about(directory: &Directory, sequence: u64) -> Result<RunNamed, Failure> {
    let filter = Filter { first: Some(sequence), last: Some(sequence), ..Filter::default() };
    let mut found = None;
    let searched = each(directory, &filter, &mut |line| found = Some(line))?;
    match found {
        Some(Line { loop_id: Some(loop_id), .. }) => return Ok(RunNamed::Run(loop_id)),
        Some(_) => return Ok(RunNamed::Record(sequence)),
        None => expect_sound(&searched)?,
    }
    let message = format!("there is no record {sequence}: `holdpoint runs` lists the runs");
    Err(directory.or_unread(Failure::new(Exit::NOT_FOUND, "no_such_run", message)))
}

/// The one loop whose id begins so.
fn beginning_with(directory: &Directory, beginning: &str) -> Result<String, Failure> {
    let (found, searched) =
        directory.read(|log, options| runs_beginning_with(log, beginning, options))?;
    expect_sound(&searched)?;
    match (found.len(), found.first()) {
        (1, Some(loop_id)) => Ok(loop_id.clone()),
        (0, _) => {
            let message =
                format!("no run's id begins with {beginning}: `holdpoint runs` lists all");
            Err(directory.or_unread(Failure::new(Exit::NOT_FOUND, "no_such_run", message)))
        }
        (count, _) => Err(several(beginning, count, &found)),
    }
}

fn several(beginning: &str, count: usize, found: &BTreeSet<String>) -> Failure {
    let named: Vec<String> =
        found.iter().take(NAMED_MAX).map(|loop_id| visible(loop_id).to_string()).collect();
    let more = if count > NAMED_MAX { ", .." } else { "" };
    let message = format!(
        "{count} runs begin with {beginning}: {}{more}; give more digits",
        named.join(", ")
    );
    Failure::new(Exit::CONFLICT, "ambiguous_run", message)
}

/// A run that cannot be looked for whole is not said to be missing, or to be the only one.
pub(crate) fn expect_sound(searched: &Searched) -> Result<(), Failure> {
    if searched.is_sound() {
        return Ok(());
    }
    let first = match searched {
        Searched::Whole(report) => leading(&report.findings).map(ToString::to_string),
        Searched::Part(part) => leading(&part.findings).map(ToString::to_string),
    };
    let Some(first) = first else { return Ok(()) };
    let message = format!("the log is corrupt: {first}; `holdpoint verify` tells all");
    Err(Failure::new(Exit::VERIFICATION_FAILED, "damaged", message))
}

fn each(
    directory: &Directory,
    filter: &Filter,
    take: &mut dyn FnMut(Line),
) -> Result<Searched, Failure> {
    let searched = directory.read(|storage, options| {
        search(storage, filter, Order::OldestFirst, options, &mut |_| {}, &mut |line, _| {
            take(line);
            ControlFlow::Continue(())
        })
    })?;
    if let Searched::Whole(report) = &searched {
        directory.expect_log(report)?;
    }
    Ok(searched)
}
