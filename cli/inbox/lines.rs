//! The inbox in lines: a table, or JSON Lines, and what comes and goes.

use super::item::Item;
use super::place::{NamedLogs, Places};
use super::rows::{Rows, rows};
use super::snapshot::LogSnapshot;
use crate::arguments::Global;
use crate::decision::now;
use crate::exit::{Exit, Failure, complain};
use crate::output::Output;
use crate::reach::none_yet;
use crate::screen::columns;
use crate::text::{counted, path as shown};
use holdpoint_domain::Time;
use holdpoint_engine::shell::Watch;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// The logs of the inbox, as they were read.
pub(super) struct Logs {
    pub(super) logs: Vec<LogSnapshot>,
    /// What keeps it from being known that these are all.
    pub(super) unknown: Vec<Failure>,
    pub(super) has_all: bool,
}

impl Logs {
    /// Reads them. Exit 3 where none is listed and it is known that none is.
    pub(super) fn read(named: &NamedLogs, has_all: bool) -> Result<Self, Failure> {
        let Places { logs, unknown } = named.places();
        if logs.is_empty() && unknown.is_empty() {
            let message = "no log is in this user's inbox: `holdpoint inbox add DIR` adds one, and \
                           so does every verb that writes to one";
            return Err(Failure::new(Exit::NOT_FOUND, "nothing_here", message));
        }
        let read = |(at, place)| LogSnapshot::read(at, place, has_all);
        Ok(Self { logs: logs.into_iter().enumerate().map(read).collect(), unknown, has_all })
    }

    /// What waits in all of them, in the order of the list.
    pub(super) fn items(&self) -> Vec<&Item> {
        let mut items: Vec<&Item> = self.logs.iter().flat_map(|log| &log.items).collect();
        items.sort_by_cached_key(|item| item.place());
        items
    }

    /// Everything that is not known.
    pub(super) fn problems(&self) -> impl Iterator<Item = &Failure> {
        self.unknown.iter().chain(self.logs.iter().filter_map(|log| log.problem.as_ref()))
    }

    /// How many logs were read.
    pub(super) fn known(&self) -> usize {
        self.logs.iter().filter(|log| log.state.is_some()).count()
    }

    /// How the list ends: with what kept it from being whole.
    pub(super) fn exit(&self) -> Exit {
        let mut exit = Exit::DONE;
        for problem in self.problems() {
            match problem.exit {
                Exit::VERIFICATION_FAILED => return Exit::VERIFICATION_FAILED,
                _ => exit = Exit::NOT_FOUND,
            }
        }
        exit
    }
}

/// Lists what waits, and with `watch` what comes and goes, until nobody reads any more.
pub(super) fn list(
    global: &Global,
    named: &NamedLogs,
    has_all: bool,
    watch: bool,
) -> Result<Exit, Failure> {
    // What changes while the logs are read is not slept through.
    let places = named.places().logs;
    let notices = Watch::of_logs(places.iter().map(|place| place.path.as_path()));
    let logs = Logs::read(named, has_all)?;
    let mut out = Output::stdout();
    put(&mut out, global, &logs);
    logs.problems().for_each(|problem| complain(problem.message()));
    if !watch {
        out.finish()?;
        conclude(global, &logs);
        return Ok(logs.exit());
    }
    follow(global, logs, &notices, out)
}

fn put(out: &mut Output, global: &Global, logs: &Logs) {
    let (items, now) = (logs.items(), now());
    if global.json {
        items.iter().for_each(|item| out.json_line(&row(logs, item, now)));
        logs.problems().for_each(|problem| out.json_line(&problem.value()));
        return;
    }
    if items.is_empty() {
        return;
    }
    let Rows { titles, rows } = rows(&items, now, columns());
    std::iter::once(&titles).chain(rows.iter().flatten()).for_each(|line| out.line(line));
}

fn row<'a>(logs: &'a Logs, item: &'a Item, now: Time) -> Option<impl Serialize + use<'a>> {
    Some(item.row(&logs.logs.get(item.log)?.place, now))
}

/// Says that nothing waits, as far as that is known, and what has no witness yet.
fn conclude(global: &Global, logs: &Logs) {
    if global.json {
        return;
    }
    if !logs.logs.iter().any(|log| log.items.iter().any(Item::waits)) {
        let known = u64::try_from(logs.known()).unwrap_or(u64::MAX);
        complain(&format!("nothing waits in {}", counted(known, "log")));
    }
    for log in &logs.logs {
        let first = log.items.iter().filter_map(|item| item.standing.no_witness_from()).min();
        if let Some(first) = first {
            complain(&format!("{}: {}", shown(&log.place.path), none_yet(first)));
        }
    }
}

/// Tells what comes and what goes, and what cannot be known any more.
fn follow(
    global: &Global,
    mut logs: Logs,
    notices: &Watch,
    mut out: Output,
) -> Result<Exit, Failure> {
    while out.flush() && out.has_reader() {
        let _ = notices.wait(Duration::from_secs(1));
        for at in 0..logs.logs.len() {
            let Some(log) = logs.logs.get_mut(at) else { continue };
            let had: BTreeSet<String> = log.items.iter().map(|item| item.id.clone()).collect();
            let problem = log.problem.clone();
            let Some(ended) = log.refresh(at, logs.has_all) else { continue };
            if let Some(new) = log.problem.as_ref().filter(|new| problem.as_ref() != Some(new)) {
                complain(new.message());
            }
            let come = log.items.iter().filter(|item| item.waits() && !had.contains(&item.id));
            for item in come {
                tell(&mut out, global, "waits", item.row(&log.place, now()), || {
                    format!("{} waits in {}: {}", item.id, shown(&log.place.path), item.asked)
                });
            }
            for (item, ending) in ended {
                let row = json!({ "id": item.id, "log": log.place.path, "outcome": ending });
                tell(&mut out, global, "ended", row, || {
                    format!("{} is over in {}: {ending}", item.id, shown(&log.place.path))
                });
            }
        }
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
    if global.json {
        let mut value = json!(row);
        if let Value::Object(fields) = &mut value {
            fields.insert("change".to_string(), json!(change));
        }
        out.json_line(&value);
    } else {
        out.line(words());
    }
}
