//! The inbox in lines: a table, or JSON Lines, and what comes and goes.

use super::rows::{Rows, rows};
use crate::args::Global;
use crate::log::LiveState;
use crate::log::clock::Dated;
use crate::log::coverage::none_yet_told;
use crate::log::named_logs::NamedLogs;
use crate::questions::log_snapshot::{Change, SnapshotScope};
use crate::questions::waiting_item::{Item, Stands};
use crate::questions::waiting_logs::Logs;
use crate::ui::screen::columns;
use crate::ui::text::path as shown;
use crate::ui::{Exit, Failure, Output, complain, counted, hints, now};
use holdpoint_domain::Time;
use holdpoint_engine::shell::Watch;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// What a program that follows is told of a question whose time is over, and of a log that cannot
/// be known.
const OVERDUE: &str = "overdue";
const UNKNOWN: &str = "unknown";

/// Lists what waits, and with `watch` what comes and goes, until nobody reads any more.
pub(super) fn list(
    global: &Global,
    named: &NamedLogs,
    asked: SnapshotScope,
    watch: bool,
) -> Result<Exit, Failure> {
    let (notices, logs) = Logs::read(named, asked)?;
    let mut out = Output::stdout();
    // That logs may be missing is said before what is there.
    logs.unknown.iter().for_each(|problem| complain(problem.message()));
    put(&mut out, global, &logs, watch);
    let of_logs = logs.logs.iter().filter_map(|log| log.problem.as_ref());
    of_logs.for_each(|problem| complain(problem.message()));
    for log in &logs.logs {
        let told = log.elsewhere.iter().map(|told| format!("{}: {told}", shown(&log.place.path)));
        told.for_each(|sentence| complain(&sentence));
        if asked.at.is_none() {
            log.ahead().iter().for_each(|sentence| complain(sentence));
        }
    }
    if !watch {
        out.finish()?;
        conclude(global, &logs);
        return Ok(logs.exit());
    }
    follow(global, logs, &notices, out)
}

fn put(out: &mut Output, global: &Global, logs: &Logs, watch: bool) {
    let (items, now) = (logs.items(), logs.seen_at());
    if global.json {
        let mut line = |change, value: Value| {
            out.json_line(&if watch { changed(value, change) } else { value });
        };
        items.iter().for_each(|item| line(change(item, now), json!(row(logs, item, now))));
        logs.problems().for_each(|problem| line(UNKNOWN, json!(problem.value())));
        return;
    }
    if items.is_empty() {
        return;
    }
    let Rows { titles, rows } = rows(&items, now, columns());
    std::iter::once(&titles).chain(rows.iter().flatten()).for_each(|line| out.line(line));
}

/// What a program that follows is told of a question: where it came to stand.
fn change(item: &Item, now: Time) -> &'static str {
    match item.stands {
        Stands::Over(_) => "ended",
        Stands::Refining => "refining",
        _ if item.is_overdue(now) => OVERDUE,
        Stands::Waits | Stands::Unheard | Stands::Unsure => "waits",
    }
}

fn changed(mut value: Value, change: &str) -> Value {
    if let Value::Object(fields) = &mut value {
        fields.insert("change".to_string(), json!(change));
    }
    value
}

fn row<'a>(logs: &'a Logs, item: &'a Item, now: Time) -> Option<impl Serialize + use<'a>> {
    let log = logs.logs.get(item.log)?;
    let ahead_ns = log.ahead_ns().filter(|_| logs.asked.at.is_none());
    Some(Dated::of(item.row(&log.place, now), ahead_ns))
}

/// Says that nothing waits, as far as that is known, and what has no witness yet. A program is
/// told so by the items; of a log without any it is told by which record that is known, and so are
/// people of one with items.
fn conclude(global: &Global, logs: &Logs) {
    for log in logs.logs.iter().filter(|log| log.items.is_empty() == global.json) {
        let known = log.state.as_ref().and_then(LiveState::as_known);
        let told = known.map(|known| hints::on(&log.place.path, &known));
        told.iter().for_each(|told| complain(&format!("{}: {told}", shown(&log.place.path))));
    }
    let may_ask = logs.may_ask();
    may_ask.iter().for_each(|sentence| complain(sentence));
    if global.json {
        return;
    }
    if may_ask.is_empty() && !logs.logs.iter().any(|log| log.items.iter().any(Item::waits)) {
        let known = counted(u64::try_from(logs.known()).unwrap_or(u64::MAX), "log");
        let is_whole = logs.problems().next().is_none();
        complain(&match (logs.asked.at, is_whole) {
            (None, true) => format!("no pending questions in {known}"),
            (Some(_), true) => format!("no pending questions then in {known}"),
            (None, false) => format!("whether questions are pending is unknown of {known}"),
            (Some(_), false) => format!("whether questions were pending is unknown of {known}"),
        });
        tell_stated(logs);
    }
    for log in &logs.logs {
        let first = log.items.iter().filter_map(|item| item.standing.no_witness_from()).min();
        if let Some(first) = first {
            complain(&format!("{}: {}", shown(&log.place.path), none_yet_told(first)));
        }
    }
}

/// Says of how many logs it is known by what a record states that nothing waits.
fn tell_stated(logs: &Logs) {
    let states = logs.logs.iter().filter_map(|log| log.state.as_ref());
    let stated = states.filter_map(LiveState::all_known_by).count();
    if stated > 0 {
        let stated = counted(u64::try_from(stated).unwrap_or(u64::MAX), "log");
        complain(&format!(
            "as stated by a record of {stated}: what is before it was not read; `holdpoint verify` \
             reads it"
        ));
    }
}

/// The questions that wait although their time is over, by log and id.
fn overdue(logs: &Logs, now: Time) -> BTreeMap<(usize, &str), &Item> {
    let items = logs.logs.iter().flat_map(|log| &log.items);
    let overdue = items.filter(|item| item.is_overdue(now));
    overdue.map(|item| ((item.log, item.id.as_str()), item)).collect()
}

fn keys(overdue: &BTreeMap<(usize, &str), &Item>) -> BTreeSet<(usize, String)> {
    overdue.keys().map(|(log, id)| (*log, (*id).to_string())).collect()
}

/// Tells what comes, what becomes overdue and what goes, and what cannot be known any more.
fn follow(
    global: &Global,
    mut logs: Logs,
    notices: &Watch,
    mut out: Output,
) -> Result<Exit, Failure> {
    let mut late = keys(&overdue(&logs, logs.seen_at()));
    while out.flush() && out.has_reader() {
        let _ = notices.wait(Duration::from_secs(1));
        for Change { log, come, ended, problem } in logs.refresh() {
            let Some(log) = logs.logs.get(log) else { continue };
            let place = shown(&log.place.path);
            if let Some(problem) = problem {
                complain(problem.message());
                if global.json {
                    out.json_line(&changed(json!(problem.value()), UNKNOWN));
                }
            }
            for item in come.iter().filter(|item| !item.is_overdue(now())) {
                tell(&mut out, global, "waits", item.row(&log.place, now()), || {
                    format!("{} waits in {place}: {}", item.id, item.asked)
                });
            }
            for (item, ending) in ended {
                let row = json!({ "id": item.id, "log": log.place.path, "outcome": ending });
                tell(&mut out, global, "ended", row, || {
                    format!("{} is over in {place}: {ending}", item.id)
                });
            }
        }
        let moment = now();
        let overdue = overdue(&logs, moment);
        for ((log, id), item) in &overdue {
            let Some(log) = logs.logs.get(*log) else { continue };
            if !late.contains(&(item.log, (*id).to_string())) {
                tell(&mut out, global, OVERDUE, item.row(&log.place, moment), || {
                    let (place, note) = (shown(&log.place.path), item.note(moment));
                    format!("{id} is overdue in {place}: {}", note.unwrap_or_default())
                });
            }
        }
        late = keys(&overdue);
    }
    out.finish()?;
    Ok(logs.exit())
}

fn tell(
    out: &mut Output,
    global: &Global,
    change: &str,
    row: impl Serialize,
    words: impl FnOnce() -> String,
) {
    match global.json {
        true => out.json_line(&changed(json!(row), change)),
        false => out.line(words()),
    }
}
