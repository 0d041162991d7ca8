//! The tools that audit: what the log proves, and its records. Raw evidence is hidden.

use super::arguments::Query;
use super::caller::Caller;
use super::page::Page;
use crate::directory::Directory;
use crate::exit::Failure;
use holdpoint_replay::{Filter, Line, records};
use serde_json::{Value, json};

/// `audit_verify`: the report of `holdpoint verify --json`.
pub(super) fn verify(caller: &Caller<'_>) -> Result<Value, Failure> {
    let directory = Directory::open(&caller.office.global)?;
    let report = directory
        .read(|storage, options| holdpoint_replay::verify(storage, options, &mut |_| {}))?;
    directory.expect_log(&report)?;
    Ok(json!(report))
}

/// `audit_query`: a page of records, in order. Of a log that does not verify only what lies before
/// the damage; the verdict says so.
pub(super) fn query(caller: &Caller<'_>, arguments: Query) -> Result<Value, Failure> {
    let mut page = Page::new(arguments.limit)?;
    let mut next_from = None;
    let filter = filter_of(arguments);
    let directory = Directory::open(&caller.office.global)?;
    let report = directory.read(|storage, options| {
        let mut show = |line: Line| {
            if !page.push(json!(line)) {
                next_from.get_or_insert(line.sequence);
            }
        };
        records(storage, &filter, options, &mut |_| {}, &mut show)
    })?;
    directory.expect_log(&report)?;
    let (records, verdict) = (page.into_items(), report.verdict);
    Ok(json!({ "records": records, "next_from": next_from, "verdict": verdict }))
}

fn filter_of(arguments: Query) -> Filter {
    Filter {
        first: arguments.from,
        last: arguments.to,
        kind: arguments.kind,
        loop_id: arguments.loop_id,
        decision: arguments.decision,
        correlation: arguments.correlation,
    }
}
