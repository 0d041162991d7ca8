//! The tools that audit: what the log proves, and its records. Raw evidence is hidden.

use super::arguments::Query;
use super::caller::Caller;
use super::fit::record;
use super::page::{BYTES_MAX, Page};
use crate::log::Directory;
use crate::log::record_filter::{decision, expect_known, expect_order};
use crate::log::records::{expect_log, named_in_archive, said_of_nothing, telling_durable};
use crate::log::verdict::found_in_part;
use crate::ui::suggest::Closest;
use crate::ui::{Exit, Failure};
use holdpoint_domain::world::REGISTRY;
use holdpoint_replay::{Filter, Order, Searched, Verdict, durable_to, search, span};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// What is advised where no name is like the one that was asked for.
const SHOWS_ALL: &str = "audit_query without loop and correlation shows all";

/// `audit_verify`: the report of `holdpoint verify --json`.
pub(super) fn verify(caller: &Caller<'_>) -> Result<Value, Failure> {
    let directory = Directory::open(&caller.server.global)?;
    let report = directory.verified()?;
    directory.expect_log(&report)?;
    Ok(json!(report))
}

/// `audit_query`: a page of records of the log and its archives, in order, as `holdpoint log
/// --json` shows them. What was found wrong, and what was not read, is told beside them. What is
/// named and is nowhere is not found, unless it may be in an archive that cannot be read.
pub(super) fn query(caller: &Caller<'_>, arguments: Query) -> Result<Value, Failure> {
    let page = Page::new(arguments.limit)?;
    arguments.kind.as_deref().map_or(Ok(()), expect_kind)?;
    expect_order(("from", arguments.from), ("to", arguments.to))?;
    let directory = Directory::open(&caller.server.global)?.following_archives()?;
    let filter = filter_of(arguments, &directory)?;
    let found = RecordPage::of(&directory, &filter, page)?;
    let notes = found.notes(&directory, &filter)?;
    let unread = directory.log.unread().filter(|_| directory.unread_from(filter.first).is_some());
    let unread_archive = unread.map(
        |unread| json!({ "archive": unread.named.as_deref(), "archived_to_sequence": unread.last }),
    );
    let searched = &found.searched;
    Ok(json!({
        "complete": searched.is_sound() && unread_archive.is_none(),
        "records": found.records,
        "next_from": found.next_from,
        "verdict": verdict_of(searched),
        "findings": searched.findings(),
        "notes": notes,
        "unread_archive": unread_archive,
        "reach": searched.reach(),
    }))
}

/// A page of records, and how it was found.
struct RecordPage {
    records: Vec<Value>,
    next_from: Option<u64>,
    searched: Searched,
}

impl RecordPage {
    /// Reads until the page is full.
    fn of(directory: &Directory, filter: &Filter, mut page: Page) -> Result<Self, Failure> {
        let durable = directory.read(|log, options| durable_to(log, options.boot))?;
        let mut next_from = None;
        let searched = directory.read(|log, options| {
            search(log, filter, Order::OldestFirst, options, &mut |_| {}, &mut |line, standing| {
                let sequence = line.sequence;
                let line = telling_durable(line.standing(standing), durable);
                if page.push(record(line, BYTES_MAX)) {
                    return ControlFlow::Continue(());
                }
                next_from.get_or_insert(sequence);
                ControlFlow::Break(())
            })
        })?;
        expect_log(directory, &searched)?;
        let mut records = page.into_items();
        let damaged = damaged_at(directory, &searched, filter)?;
        if let Some((at, next)) = damaged.filter(|(at, _)| next_from.is_none_or(|it| it > *at)) {
            records.retain(|record| record["sequence"].as_u64() < Some(at));
            next_from = Some(next);
        }
        Ok(Self { records, next_from, searched })
    }

    /// Returns the notes on a page, in sentences. The failures are those of `log`.
    fn notes(&self, directory: &Directory, filter: &Filter) -> Result<Vec<String>, Failure> {
        let mut notes = Vec::new();
        if !self.searched.is_sound() {
            let found = found_in_part(self.searched.findings());
            notes.extend(found.map(|found| format!("{found}; audit_verify tells all")));
        } else if let Some(record) = named_in_archive(directory, filter.first, filter.last) {
            let message = format!("record {record} is not in the log's own directory");
            return Err(directory.or_missing(Failure::new(Exit::NOT_FOUND, "not_found", message)));
        } else if self.records.is_empty() {
            expect_known(directory, filter, SHOWS_ALL)?;
            notes.push(said_of_nothing(directory, filter)?);
        }
        if directory.unread_from(filter.first).is_some() {
            notes.extend(directory.said_of_unread());
        }
        Ok(notes)
    }
}

/// The record at which a page ends because it is damaged, and the one from which on the log is read
/// anew: a reading of the whole log shows nothing behind damage, and one of a part of it nothing
/// behind it in the same segment, unless it begins there.
fn damaged_at(
    directory: &Directory,
    searched: &Searched,
    filter: &Filter,
) -> Result<Option<(u64, u64)>, Failure> {
    if !verdict_of(searched).is_some_and(Verdict::is_of_damage) {
        return Ok(None);
    }
    let (reach, first) = (searched.reach(), filter.first.unwrap_or(0));
    let end = reach.witnessed_to.unwrap_or(0).min(filter.last.unwrap_or(u64::MAX));
    let is_whole = matches!(searched, Searched::Whole(_));
    let places = searched.findings().iter().map(|finding| finding.place.sequence);
    // Whoever asked from there on is shown what there is.
    let Some(at) = places.filter(|at| is_whole || *at > first).min() else { return Ok(None) };
    let begins = if is_whole { directory.read(|log, _| span(log))? } else { None };
    let next = begins.map_or(at, |span| span.first.max(at)).saturating_add(1);
    Ok((next > first && next <= end).then_some((at, next)))
}

/// What a reading proves of the bytes of the log. `None` where only a part of it was read, and
/// nothing wrong was met there.
fn verdict_of(searched: &Searched) -> Option<Verdict> {
    match searched {
        Searched::Whole(report) => Some(report.verdict),
        Searched::Part(part) if part.findings.is_empty() => None,
        Searched::Part(part) => Some(Verdict::by(&part.findings)),
    }
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

/// What is wanted; of a decision its id.
fn filter_of(arguments: Query, directory: &Directory) -> Result<Filter, Failure> {
    let wanted = arguments.decision.as_deref();
    Ok(Filter {
        first: arguments.from,
        last: arguments.to,
        kind: arguments.kind,
        loop_id: arguments.loop_id,
        decision: wanted.map(|wanted| decision(directory, wanted)).transpose()?,
        correlation: arguments.correlation,
        ..Filter::default()
    })
}
