//! `holdpoint inbox`: everything that waits for a person, of all logs that are known, in one list.

mod draft;
mod full_screen;
mod lines;
mod rows;
mod screen;
mod terminal;

use crate::args::{Global, LockWaitArgs, settle};
use crate::log::Directory;
use crate::log::at_point::parse_at;
use crate::log::named_logs::NamedLogs;
use crate::log::registered_logs::{KnownLog, KnownLogs, ListedBy, LogIdentity, unusable};
use crate::questions::adoption::adopt;
use crate::questions::log_snapshot::SnapshotScope;
use crate::ui::program::HERE;
use crate::ui::text::{path as shown, path_given};
use crate::ui::{Exit, Failure, Output, complain};
use holdpoint_engine::executor::command_line;
use holdpoint_replay::Until;
use serde_json::json;
use std::io::ErrorKind;
use std::path::{Path, PathBuf, absolute};

/// Options of `inbox`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Add a log to the inbox, pinned to its current ID and owner.
    #[arg(long, value_name = "DIR", value_parser = path_given())]
    #[arg(conflicts_with_all = ["remove", "all", "follow", "at"])]
    add: Option<PathBuf>,
    /// Remove a log from the inbox until it is written to again; without DIR, every log whose
    /// directory is missing.
    #[arg(long, value_name = "DIR", num_args = 0.., value_parser = path_given())]
    #[arg(conflicts_with_all = ["all", "follow", "at"])]
    remove: Option<Vec<PathBuf>>,
    #[command(flatten)]
    named: NamedLogs,
    /// Include questions that wait for their requester, and recently closed ones.
    #[arg(long)]
    all: bool,
    /// Follow: print questions as they open and close; the screen of a terminal always does.
    #[arg(long, short)]
    follow: bool,
    /// Show what was pending at this time, or so long ago: 2026-01-25T03:00, 5m; for a single log,
    /// also after a record: 12. Answering is disabled.
    #[arg(long, value_name = "POINT", value_parser = parse_at, conflicts_with = "follow")]
    at: Option<Until>,
    #[command(flatten)]
    turn: LockWaitArgs,
}

/// Lists what waits. Exit 1 where a list of logs is full or cannot be read, so that logs may be
/// missing; 3 where a log cannot be read, or none is listed: what cannot be known is not nothing; 6
/// where one does not verify.
pub(crate) fn main(global: &Global, args: Args) -> Exit {
    let Args { add: added, remove: removed, named, all, follow, at, turn } = args;
    if let Some(directory) = added {
        return settle(global, add(global, &directory));
    }
    if let Some(directories) = removed {
        return settle(global, remove(global, &directories));
    }
    let asked = SnapshotScope { has_all: all, at };
    let is_full = !global.json && at.is_none() && terminal::is_there();
    let outcome = match is_full {
        true => full_screen::show(&named, asked, &turn),
        false => lines::list(global, &named, asked, follow),
    };
    outcome.unwrap_or_else(|failure| failure.tell())
}

/// The list of a person. Exit 3 where the user has no home.
fn list_of(by: ListedBy) -> Result<KnownLogs, Failure> {
    let no_home = |why: String| {
        let message = format!("{why}: give this user one in the user database");
        Failure::new(Exit::NOT_FOUND, "no_home", message)
    };
    let list = KnownLogs::of_user(by)
        .map_err(|error| no_home(format!("where this user's home is cannot be told: {error}")))?;
    list.ok_or_else(|| no_home("there is no home to keep the list of logs in".to_string()))
}

impl Args {
    /// Tells whether it changes the list of logs.
    pub(crate) const fn changes_list(&self) -> bool {
        self.add.is_some() || self.remove.is_some()
    }
}

fn add(global: &Global, named: &Path) -> Result<Exit, Failure> {
    let unreadable = |error: std::io::Error| {
        let (exit, code) = match error.kind() {
            ErrorKind::NotFound => (Exit::NOT_FOUND, "nothing_here"),
            _ => (Exit::FAILED, "io"),
        };
        Failure::new(exit, code, format!("cannot read {}: {error}", shown(named)))
    };
    let path = named.canonicalize().map_err(unreadable)?;
    Directory::open(&Global { log: path.clone(), config: None, json: global.json, lists: false })?;
    let identity = LogIdentity::of(&path).map_err(unreadable)?.ok_or_else(|| {
        let below = path.join(HERE);
        let advice = match LogIdentity::of(&below) {
            Ok(Some(_)) => {
                let below = command_line(below.as_os_str(), &[]);
                format!("`holdpoint inbox --add {below}` adds the one in it")
            }
            Ok(None) | Err(_) => "name a log's directory".to_string(),
        };
        let message =
            format!("there is no log at {}, or its HEAD cannot be read: {advice}", shown(&path));
        Failure::new(Exit::NOT_FOUND, "nothing_here", message)
    })?;
    let is_adopted = adopt(global, &path, identity.id)?;
    if is_adopted == Some(false) {
        let message = format!("{} was not adopted, and is not listed", shown(&path));
        return Err(Failure::new(Exit::REFUSED, "not_adopted", message));
    }
    let list = list_of(ListedBy::Person)?;
    let is_new = list.add(KnownLog { path: path.clone(), identity });
    let is_new = is_new.map_err(|error| unusable(&list, &error))?;
    let mut out = Output::stdout();
    match (global.json, is_new) {
        (true, _) => out.json(&json!({
            "log": path.to_string_lossy(),
            "added": is_new,
            "adopted": is_adopted.is_some(),
        })),
        (false, true) => out.line(format_args!("{} is in the inbox", shown(&path))),
        (false, false) => out.line(format_args!("{} was in the inbox already", shown(&path))),
    }
    out.finish()?;
    if is_adopted.is_none() {
        complain(&format!(
            "{} is in the inbox, and approves nothing here: this at a terminal adopts it",
            shown(&path)
        ));
    }
    Ok(Exit::DONE)
}

/// Takes logs out of both lists, those that are gone where none is named. Exit 3 where one that was
/// named is in neither.
fn remove(global: &Global, named: &[PathBuf]) -> Result<Exit, Failure> {
    let whole = |path: &PathBuf| {
        let whole = absolute(path).unwrap_or_else(|_| path.clone());
        (whole.canonicalize().ok(), whole.components().collect::<PathBuf>())
    };
    let named: Vec<(Option<PathBuf>, PathBuf)> = named.iter().map(whole).collect();
    let is_it = |log: &KnownLog, (real, whole): &(Option<PathBuf>, PathBuf)| {
        log.path == *whole || real.as_ref() == Some(&log.path)
    };
    let is_gone = |log: &KnownLog| {
        log.path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
    };
    let mut removed: Vec<KnownLog> = Vec::new();
    for by in [ListedBy::Person, ListedBy::Writer] {
        let list = list_of(by)?;
        let found = list
            .remove(|log| match named.is_empty() {
                true => is_gone(log),
                false => named.iter().any(|name| is_it(log, name)),
            })
            .map_err(|error| unusable(&list, &error))?;
        removed.extend(found);
    }
    if let Some((_, path)) = named.iter().find(|name| !removed.iter().any(|log| is_it(log, name))) {
        let message = format!("{} is in no list of this user's inbox", shown(path));
        return Err(Failure::new(Exit::NOT_FOUND, "not_listed", message));
    }
    let mut paths: Vec<PathBuf> = removed.into_iter().map(|log| log.path).collect();
    paths.sort();
    paths.dedup();
    let mut out = Output::stdout();
    if global.json {
        let paths: Vec<_> = paths.iter().map(|path| path.to_string_lossy()).collect();
        out.json(&json!({ "removed": paths }));
    } else {
        paths.iter().for_each(|path| out.line(format_args!("{} is removed", shown(path))));
    }
    out.finish()?;
    Ok(Exit::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::waiting_logs::Waiting;

    #[test]
    fn what_a_failure_goes_on_with_stands_behind_one_stop() {
        let failed = |said| Failure::new(Exit::NOT_FOUND, "not_found", said);
        let said = |said| {
            let waiting = Waiting { unknown: vec![failed("x is gone")], ..Waiting::default() };
            waiting.not_all_read(failed(said)).message().to_string()
        };
        assert!(said("did you mean REQ-1?").starts_with("did you mean REQ-1? Not all logs "));
        assert!(said("there is none").starts_with("there is none. Not all logs "));
    }
}
