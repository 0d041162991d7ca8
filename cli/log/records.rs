//! Records that are searched for, and how a search ends.

use crate::args::Global;
use crate::log::verdict::exit_of;
use crate::log::{Directory, coverage, damage_in_part, warn};
use crate::ui::screen::width;
use crate::ui::text::doer;
use crate::ui::{Exit, Failure, complain, counted, moment, path};
use holdpoint_log_files::FollowError;
use holdpoint_replay::{Filter, Line, Order, Part, Searched, Span, TailError, search, span};
use std::ops::ControlFlow;

/// Tells of records in an archive that is not read, where some of them may be wanted. Exit 3 where
/// a record was asked for by its number that is one of them.
pub(crate) fn expect_archives(directory: &Directory, from: Option<u64>, to: Option<u64>) -> Exit {
    if directory.unread_from(from).is_none() {
        return Exit::DONE;
    }
    directory.tell_unread();
    match named_in_archive(directory, from, to) {
        Some(_) => Exit::NOT_FOUND,
        None => Exit::DONE,
    }
}

/// The record that bounds ask for by its number, where it is in an archive that is not read.
pub(crate) fn named_in_archive(
    directory: &Directory,
    from: Option<u64>,
    to: Option<u64>,
) -> Option<u64> {
    let unread = directory.unread_from(from)?;
    from.or(to).filter(|record| *record <= unread)
}

/// The exit code, and what is said of how much was read.
pub(crate) fn conclude(
    global: &Global,
    directory: &Directory,
    searched: &Searched,
) -> Result<Exit, Failure> {
    expect_log(directory, searched)?;
    if global.json {
        coverage::state(searched.reach());
    }
    match searched {
        Searched::Whole(report) => {
            warn(report);
            Ok(exit_of(report))
        }
        Searched::Part(part) => Ok(of_part(global, part)),
    }
}

/// The first record in an order that is wanted, and what was read to find it.
pub(crate) fn first_wanted(
    directory: &Directory,
    filter: &Filter,
    order: Order,
) -> Result<(Option<Line>, Searched), Failure> {
    let mut found = None;
    let searched = directory.read(|storage, options| {
        search(storage, filter, order, options, &mut |_| {}, &mut |line, _| {
            found = Some(line);
            ControlFlow::Break(())
        })
    })?;
    Ok((found, searched))
}

/// The failure that there is no log here, when a search found none.
pub(crate) fn expect_log(directory: &Directory, searched: &Searched) -> Result<(), Failure> {
    match searched {
        Searched::Whole(report) => directory.expect_log(report),
        Searched::Part(_) => Ok(()),
    }
}

/// The exit code of a verb that read a part of a log, and a sentence on what that proves.
pub(crate) fn of_part(global: &Global, part: &Part) -> Exit {
    if let Some(found) = damage_in_part(&part.findings) {
        complain(&found);
        return Exit::VERIFICATION_FAILED;
    }
    if !global.json {
        complain(&format!(
            "{} of {} read as far as needed{}: `holdpoint verify` proves the whole log",
            part.segments_read.saturating_add(part.segments_by_index),
            counted(part.segments, "segment"),
            match part.segments_by_index {
                0 => String::new(),
                some => format!(", {some} by what an index names"),
            }
        ));
    }
    Exit::DONE
}

/// What is said when no record matches: also between which moments the log was written. Exit 3
/// where one may be in an archive that is not read.
pub(crate) fn said_of_nothing(directory: &Directory, filter: &Filter) -> Result<String, Failure> {
    let is_bounded = filter.first.or(filter.last).is_some();
    let is_timed = filter.since.or(filter.until).is_some();
    let found = directory.read(|storage, _| span(storage))?;
    let is_later = |span: &Span| filter.since.is_some_and(|since| since > span.since);
    if directory.unread_from(filter.first).is_some() && !found.as_ref().is_some_and(is_later) {
        let failure = Failure::new(Exit::NOT_FOUND, "not_found", "no matching records");
        return Err(directory.or_unread(failure));
    }
    Ok(match found {
        Some(span) if is_bounded || is_timed => format!(
            "no matching records: the log's records are {} to {}, from {} to {}",
            span.first,
            span.last,
            moment(span.since),
            moment(span.until)
        ),
        _ => "no matching records".to_string(),
    })
}

/// The line of a record, which says whether that is durable: all up to one are.
pub(crate) fn telling_durable(line: Line, durable: u64) -> Line {
    Line { durable: Some(line.sequence <= durable), ..line }
}

/// The name of a kind of record as it may be folded: behind its system, where it does not fit.
pub(crate) fn breakable(kind: &str, room: usize) -> String {
    if width(kind) > room { kind.replacen('.', ". ", 1) } else { kind.to_string() }
}

/// Why a log cannot be followed any further.
pub(crate) fn failed(directory: &Directory, error: &TailError) -> Failure {
    let message = format!("{}: {error}", path(&directory.path));
    match error {
        TailError::Follow(FollowError::Damaged(_) | FollowError::Header { .. }) => {
            Failure::new(Exit::VERIFICATION_FAILED, "damaged", message)
        }
        TailError::SetBack { .. } | TailError::HeadSetBack { .. } => {
            Failure::new(Exit::VERIFICATION_FAILED, "set_back", message)
        }
        _ => Failure::new(Exit::FAILED, "io", message),
    }
}

/// A record in a line.
pub(crate) fn of_record(line: &Line) -> String {
    format!(
        "record {}, {}, {}: {}",
        line.sequence,
        moment(line.time),
        line.actor.as_ref().map_or("by an unknown requester".into(), |it| doer(it, line.proof)),
        line.summary
    )
}
