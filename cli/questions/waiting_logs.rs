//! All logs of the inbox together.

use crate::log::at_point::seen_at;
use crate::log::named_logs::{NamedLogs, Places};
use crate::log::recorders;
use crate::log::registered_logs::LIST_OF_LOGS;
use crate::questions::log_snapshot::{Change, LogSnapshot, SnapshotScope};
use crate::questions::waiting_item::Item;
use crate::ui::text::path as shown;
use crate::ui::{Exit, Failure, complain, now};
use holdpoint_domain::Time;
use holdpoint_domain::core::text::visible;
use holdpoint_engine::executor::command_line;
use holdpoint_engine::shell::Watch;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_replay::Until;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// It is looked no more often than this which logs are listed.
const BETWEEN_LISTS: Duration = Duration::from_secs(1);

/// The logs of the inbox, as they were read.
pub(crate) struct Logs {
    pub(crate) logs: Vec<LogSnapshot>,
    /// What keeps it from being known that these are all.
    pub(crate) unknown: Vec<Failure>,
    pub(crate) asked: SnapshotScope,
    named: NamedLogs,
    /// When it was looked which logs are listed.
    listed: Instant,
}

impl Logs {
    /// Reads them, and what tells of whatever is written to them from before that on. Exit 3 where
    /// none is listed and it is known that none is.
    pub(crate) fn read(named: &NamedLogs, asked: SnapshotScope) -> Result<(Watch, Self), Failure> {
        let Places { logs, unknown } = named.places();
        if logs.is_empty() && unknown.is_empty() {
            let message = "no log is in this user's inbox: `holdpoint inbox --add DIR` adds one, \
                           and so does every verb that writes to one";
            return Err(Failure::new(Exit::NOT_FOUND, "nothing_here", message));
        }
        if matches!(asked.at, Some(Until::Sequence(_))) && logs.len() != 1 {
            let message = "a record is of one log: name that with --log DIR, or give a moment such \
                           as 2026-01-25T03:00";
            return Err(Failure::new(Exit::USAGE, "record_of_no_log", message));
        }
        let notices = Watch::of_logs(logs.iter().map(|place| place.path.as_path()));
        let read = |(at, place)| LogSnapshot::read(at, place, asked);
        let logs = logs.into_iter().enumerate().map(read).collect();
        let (named, listed) = (named.clone(), Instant::now());
        Ok((notices, Self { logs, unknown, asked, named, listed }))
    }

    /// Reads again what changed, and what was listed since.
    pub(crate) fn refresh(&mut self) -> Vec<Change> {
        let asked = self.asked;
        let logs = self.logs.iter_mut().enumerate();
        let mut changes: Vec<Change> =
            logs.filter_map(|(at, log)| log.refresh(at, asked)).collect();
        if self.listed.elapsed() >= BETWEEN_LISTS {
            self.listed = Instant::now();
            changes.extend(self.take_new());
        }
        changes
    }

    /// Reads the logs that were listed since.
    fn take_new(&mut self) -> Vec<Change> {
        let known = |path: &Path| self.logs.iter().any(|log| log.place.path == path);
        let mut new = self.named.places().logs;
        new.retain(|place| !known(&place.path));
        let asked = self.asked;
        let read = |(at, place)| {
            let log = LogSnapshot::read(at, place, asked);
            let come = log.items.iter().filter(|item| item.waits()).cloned().collect();
            let problem = log.problem.clone();
            (log, Change { log: at, come, ended: Vec::new(), problem })
        };
        let (logs, changes): (Vec<_>, Vec<_>) = (self.logs.len()..).zip(new).map(read).unzip();
        self.logs.extend(logs);
        changes
    }

    /// What waits in all of them, in the order of the list.
    pub(crate) fn items(&self) -> Vec<&Item> {
        let mut items: Vec<&Item> = self.logs.iter().flat_map(|log| &log.items).collect();
        items.sort_by_cached_key(|item| item.place());
        items
    }

    /// Names the logs without a question in which what is not on record yet may put one.
    pub(crate) fn may_ask(&self) -> Vec<String> {
        let silent = self.logs.iter().filter(|log| !log.items.iter().any(Item::waits));
        let told = silent.filter(|_| self.asked.at.is_none()).filter_map(|log| {
            let path = &log.place.path;
            let sentence = recorders::may_ask(&DirectoryStorage::new(path))?;
            Some(format!("{}: {sentence}", shown(path)))
        });
        told.collect()
    }

    /// The moment at which all of them are looked at.
    pub(crate) fn seen_at(&self) -> Time {
        let states = self.logs.iter().filter_map(|log| log.state.as_ref());
        let then = |at| states.map(|state| seen_at(at, state.world())).max();
        self.asked.at.and_then(then).unwrap_or_else(now)
    }

    /// Everything that is not known.
    pub(crate) fn problems(&self) -> impl Iterator<Item = &Failure> {
        self.unknown.iter().chain(self.logs.iter().filter_map(|log| log.problem.as_ref()))
    }

    /// How many logs were read.
    pub(crate) fn known(&self) -> usize {
        self.logs.iter().filter(|log| log.state.is_some()).count()
    }

    /// How the list ends: with what kept it from being whole.
    pub(crate) fn exit(&self) -> Exit {
        exit_of(self.problems())
    }
}

/// The exit code of what kept something from being known.
pub(crate) fn exit_of<'a>(problems: impl IntoIterator<Item = &'a Failure>) -> Exit {
    let mut exit = Exit::DONE;
    for problem in problems {
        match problem.exit {
            _ if problem.is_called(LIST_OF_LOGS) => return Exit::FAILED,
            Exit::VERIFICATION_FAILED => exit = Exit::VERIFICATION_FAILED,
            _ if exit == Exit::DONE => exit = Exit::NOT_FOUND,
            _ => {}
        }
    }
    exit
}

/// The questions of the inbox that are meant.
#[derive(Default)]
pub(crate) struct Waiting {
    /// Each with its log.
    pub(crate) found: Vec<(PathBuf, String)>,
    /// Why there may be more: of a log that cannot be known, each.
    pub(crate) unknown: Vec<Failure>,
}

impl Waiting {
    /// The failure that what was not found may be in a log that cannot be known.
    pub(crate) fn not_all_read(&self, failure: Failure) -> Failure {
        if self.unknown.is_empty() || failure.exit != Exit::NOT_FOUND {
            return failure;
        }
        let named: Vec<&str> = self.unknown.iter().map(Failure::message).collect();
        let said = failure.message();
        let stop = if said.ends_with('?') { "" } else { "." };
        let message = format!(
            "{said}{stop} Not all logs of the inbox could be read, and it may be in one of these: \
             {}",
            named.join("; ")
        );
        Failure::new(exit_of(&self.unknown), "not_all_logs_read", message)
    }
}

/// That nothing is answered by way of an inbox that is not known whole: what cannot be read may
/// have the question that was meant.
pub(crate) fn expect_known(unknown: &[Failure], id: &str, log: &Path) -> Result<(), Failure> {
    if unknown.is_empty() {
        return Ok(());
    }
    let named: Vec<&str> = unknown.iter().map(Failure::message).collect();
    let (id, log) = (visible(id), command_line(log.as_os_str(), &[]));
    let message = format!(
        "{id} waits in one log, and not all logs of the inbox could be read, which may have it as \
         well: {}. Where that one is meant, name it with --log {log}",
        named.join("; ")
    );
    Err(Failure::new(exit_of(unknown), "not_all_logs_read", message))
}

/// Warns that logs of the inbox cannot be read, which keeps nobody from an answer elsewhere.
pub(crate) fn warn_of_unknown(unknown: &[Failure], id: &str, log: &Path) {
    if unknown.is_empty() {
        return;
    }
    let named: Vec<&str> = unknown.iter().map(Failure::message).collect();
    complain(&format!(
        "{} is answered in the log {}; not all logs of the inbox could be read: {}",
        visible(id),
        shown(log),
        named.join("; ")
    ));
}

/// The questions of all logs of the inbox that wait and whose ids are meant.
pub(crate) fn waiting(is_meant: impl Fn(&str) -> bool) -> Waiting {
    let Ok((_, logs)) = Logs::read(&NamedLogs::default(), SnapshotScope::default()) else {
        return Waiting::default();
    };
    let meant = |log: &LogSnapshot| -> Vec<(PathBuf, String)> {
        let items = log.items.iter().filter(|item| item.waits() && is_meant(&item.id));
        items.map(|item| (log.place.path.clone(), item.id.clone())).collect()
    };
    let found = logs.logs.iter().flat_map(meant).collect();
    Waiting { found, unknown: logs.problems().cloned().collect() }
}
