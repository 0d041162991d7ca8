//! The record that `trace` is given: by its number, or by the id of what it begins.

use crate::log::captured_output::began_twice;
use crate::log::ids::{self, IdText, are_digits, did_you_mean};
use crate::log::record_filter::{SHOW_ALL, expect_known};
use crate::log::records::{expect_log, first_wanted};
use crate::log::run_id::{expect_none, expect_sound};
use crate::log::run_records::beginning;
use crate::log::sessions::PREFIX;
use crate::log::{Directory, IdOf, thread_reading};
use crate::ui::{Exit, Failure, excerpt};
use holdpoint_replay::id_text::DIGITS_MIN;
use holdpoint_replay::{BegunOnce, Filter, Order, begun_twice, is_part};

/// Free names, which need to say what they are.
const CORRELATION: &str = "correlation:";
const STREAM: &str = "stream:";
const THREAD: &str = "thread:";

/// The record that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RecordName {
    /// By its sequence.
    Record(u64),
    /// By the id of what it begins, or the beginning of that id.
    Named(String),
}

/// What a text means, as far as that is known without a log.
pub(super) fn meant(text: &str) -> Result<RecordName, String> {
    let is_digits = text.len() >= DIGITS_MIN && are_digits(text);
    let is_named = IdOf::of(text).is_some()
        || is_part(text)
        || [PREFIX, CORRELATION, STREAM, THREAD].iter().any(|it| text.starts_with(it));
    match ids::record(text) {
        Some(sequence) => Ok(RecordName::Record(sequence)),
        None if is_named || is_digits => Ok(RecordName::Named(text.to_string())),
        None => Err(ids::unlike(text).unwrap_or_else(|| {
            format!(
                "give the number of a record, as `holdpoint log` has it, or the id of a run, \
                 a decision or a request, or at least {DIGITS_MIN} of its first hexadecimal digits"
            )
        })),
    }
}

impl RecordName {
    /// The sequence of the record. Exit 2 for what is no id, 3 where there is none such, 4 where
    /// several begin so, 6 where the log is damaged where it would be.
    pub(super) fn sequence(&self, directory: &Directory) -> Result<u64, Failure> {
        match self {
            Self::Record(sequence) => Ok(*sequence),
            Self::Named(id) => named(directory, id),
        }
    }
}

fn named(directory: &Directory, wanted: &str) -> Result<u64, Failure> {
    if wanted.starts_with(PREFIX) {
        return beginning(directory, wanted);
    }
    if let Some(name) = wanted.strip_prefix(CORRELATION) {
        return first(
            directory,
            wanted,
            &Filter { correlation: Some(name.into()), ..Filter::default() },
        );
    }
    if let Some(name) = wanted.strip_prefix(THREAD) {
        return thread_reading::beginning(directory, name);
    }
    let entity = |id: &str| Filter { entity: Some(id.to_string()), ..Filter::default() };
    if is_part(wanted) {
        return first(directory, wanted, &entity(wanted));
    }
    if let Some(name) = wanted.strip_prefix(STREAM) {
        return first(directory, wanted, &entity(name));
    }
    let id = whole(directory, wanted)?;
    let (begun, what) = match IdOf::of(&id) {
        Some(IdOf::Decision) => {
            let about = Filter { decision: Some(id.clone()), ..Filter::default() };
            (first(directory, wanted, &about)?, BegunOnce::Decision(id))
        }
        Some(IdOf::Request) => (first(directory, wanted, &entity(&id))?, BegunOnce::Request(id)),
        Some(IdOf::Run) | None => (beginning(directory, &id)?, BegunOnce::Loop(id)),
    };
    let told = vec![(what, begun)];
    let looked_up = directory.read(|log, _| begun_twice(log, told))?;
    expect_none(looked_up.not_known.as_slice())?;
    looked_up.twice.first().map_or(Ok(begun), |twice| Err(began_twice(twice)))
}

/// The whole id of a run, a decision or a request.
fn whole(directory: &Directory, wanted: &str) -> Result<String, Failure> {
    match IdText::read(wanted).ok_or_else(|| no_id(wanted))? {
        IdText::Whole(_) => Ok(wanted.to_string()),
        IdText::Beginning(digits, of) => ids::only(directory, digits, &of),
    }
}

fn no_id(wanted: &str) -> Failure {
    let message = ids::unlike(wanted).unwrap_or_else(|| {
        format!(
            "{} is no id: behind its letters stand at least {DIGITS_MIN} of its first hexadecimal \
             digits; `holdpoint runs` lists the runs",
            excerpt(wanted)
        )
    });
    Failure::new(Exit::USAGE, "no_id", message)
}

/// The first record that is wanted. Exit 3 where there is none, with the name that is closest.
fn first(directory: &Directory, wanted: &str, filter: &Filter) -> Result<u64, Failure> {
    let (found, searched) = first_wanted(directory, filter, Order::OldestFirst)?;
    // One that lies before it may be damaged.
    expect_sound(&searched)?;
    if let Some(line) = found {
        return Ok(line.sequence);
    }
    expect_log(directory, &searched)?;
    expect_known(directory, filter, SHOW_ALL)?;
    let advice = IdOf::of(wanted)
        .and_then(|of| did_you_mean(directory, wanted.strip_prefix(of.prefix())?, &[of]))
        .unwrap_or_else(|| "`holdpoint decision list state=all` lists the decisions".to_string());
    let message = format!("no record is about {}: {advice}", excerpt(wanted));
    Err(directory.or_missing(Failure::new(Exit::NOT_FOUND, "not_found", message)))
}
