//! The tools that audit: what the log proves, and its records. Raw evidence is hidden.

use super::arguments::Query;
use super::caller::Caller;
use super::page::Page;
use crate::closest::Closest;
use crate::decision::Look;
use crate::directory::Directory;
use crate::exit::Failure;
use holdpoint_domain::world::REGISTRY;
use holdpoint_replay::{Filter, Line, Report, Until, records};
use serde_json::{Value, json};

/// `audit_verify`: the report of `holdpoint verify --json`.
pub(super) fn verify(caller: &Caller<'_>) -> Result<Value, Failure> {
    let directory = Directory::open(&caller.server.global)?;
    let report = directory
        .read(|storage, options| holdpoint_replay::verify(storage, options, &mut |_| {}))?;
    directory.expect_log(&report)?;
    Ok(json!(report))
}

/// `audit_query`: a page of records, in order. Of a log that does not verify only what lies before
/// the damage; the verdict says so. What is named and is nowhere in the log is not found.
pub(super) fn query(caller: &Caller<'_>, arguments: Query) -> Result<Value, Failure> {
    expect_limit(arguments.limit)?;
    arguments.kind.as_deref().map_or(Ok(()), expect_kind)?;
    let directory = Directory::open(&caller.server.global)?;
    let limit = arguments.limit;
    let mut filter = filter_of(arguments);
    let mut found = find(&directory, &filter, limit)?;
    if found.records.is_empty() && !found.report.failed() {
        if let Some(decision_id) = meant(&directory, &filter)? {
            filter.decision = Some(decision_id);
            found = find(&directory, &filter, limit)?;
        }
        expect_loop(&directory, &filter)?;
    }
    let Found { records, next_from, report } = found;
    Ok(json!({ "records": records, "next_from": next_from, "verdict": report.verdict }))
}

/// A page of records.
struct Found {
    records: Vec<Value>,
    next_from: Option<u64>,
    report: Report,
}

fn find(directory: &Directory, filter: &Filter, limit: Option<u16>) -> Result<Found, Failure> {
    let mut page = Page::new(limit)?;
    let mut next_from = None;
    let report = each(directory, filter, &mut |line| {
        if !page.push(json!(line)) {
            next_from.get_or_insert(line.sequence);
        }
    })?;
    directory.expect_log(&report)?;
    Ok(Found { records: page.into_items(), next_from, report })
}

fn each(
    directory: &Directory,
    filter: &Filter,
    visit: &mut dyn FnMut(Line),
) -> Result<Report, Failure> {
    directory.read(|storage, options| records(storage, filter, options, &mut |_| {}, visit))
}

/// The id of the decision that is meant by another name. A round that ended long ago is in the log
/// and no longer in the state.
fn meant(directory: &Directory, filter: &Filter) -> Result<Option<String>, Failure> {
    let Some(wanted) = &filter.decision else { return Ok(None) };
    let look = Look::at(directory, Until::End)?;
    match look.find(wanted) {
        Ok(point) if *point.decision_id == **wanted => Ok(None),
        Ok(point) => Ok(Some(point.decision_id.to_string())),
        Err(failure) => {
            let about = Filter { decision: Some(wanted.clone()), ..Filter::default() };
            let mut is_there = false;
            each(directory, &about, &mut |_| is_there = true)?;
            if is_there { Ok(None) } else { Err(failure) }
        }
    }
}

/// That there is such a loop.
fn expect_loop(directory: &Directory, filter: &Filter) -> Result<(), Failure> {
    let Some(wanted) = &filter.loop_id else { return Ok(()) };
    let mut closest = Closest::to(wanted);
    each(directory, &Filter::default(), &mut |line| {
        line.loop_id.iter().for_each(|id| closest.take(id));
    })?;
    closest.expect("loop", "audit_query without loop shows all")
}

/// That there are records of such a kind, or of such a system.
fn expect_kind(wanted: &str) -> Result<(), Failure> {
    let mut closest = Closest::to(wanted);
    for kind in REGISTRY {
        closest.take(kind.name);
        let parts = kind.name.match_indices('.').filter_map(|(dot, _)| kind.name.get(..dot));
        parts.for_each(|part| closest.take(part));
    }
    match wanted.strip_prefix("kind ") {
        Some(_) => Ok(()),
        None => closest.expect("kind of record", "audit_query without kind shows those there are"),
    }
}

fn expect_limit(limit: Option<u16>) -> Result<(), Failure> {
    Page::new(limit).map(drop)
}

fn filter_of(arguments: Query) -> Filter {
    Filter {
        first: arguments.from,
        last: arguments.to,
        kind: arguments.kind,
        loop_id: arguments.loop_id,
        decision: arguments.decision,
        correlation: arguments.correlation,
        ..Filter::default()
    }
}
