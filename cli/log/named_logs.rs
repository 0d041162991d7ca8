//! Which logs the inbox is over.

use crate::args::Global;
use crate::log::configuration::floors;
use crate::log::registered_logs::{
    KnownLog, KnownLogs, LIST_OF_LOGS, ListedBy, LogIdentity, full, is_full, unusable,
};
use crate::ui::program::{HERE, VARIABLE};
use crate::ui::text::{path as shown, path_given};
use crate::ui::{Exit, Failure};
use clap::error::Error;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use holdpoint_engine::executor::command_line;
use holdpoint_engine::shell::name_of_user;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The option, which other verbs take once.
const OPTION: &str = "log";

/// The logs that `--log` names, here any number of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedLogs {
    named: Vec<PathBuf>,
    /// The one that the environment names. What may set it is to hide nothing: it is one more.
    of_environment: Option<PathBuf>,
}

/// A log of the inbox.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// As it is called in a list: by the directory that holds it.
    pub(crate) label: String,
    /// By whom it is named: each of them once.
    named_by: Vec<NamedBy>,
    /// Whether it was read here before.
    pub(crate) was_read: bool,
}

/// By whom a log is named.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NamedBy {
    /// By whoever called this program.
    Caller,
    /// By this file of the configuration.
    Configuration(String),
    /// By a list of this user, as what it was then.
    List(LogIdentity),
}

/// The logs, and what keeps it from being known that these are all.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) logs: Vec<Place>,
    pub(crate) unknown: Vec<Failure>,
}

impl FromArgMatches for NamedLogs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut logs = matches.get_many::<PathBuf>(OPTION).into_iter().flatten().cloned();
        Ok(match matches.value_source(OPTION) {
            Some(ValueSource::EnvVariable) => {
                Self { named: Vec::new(), of_environment: logs.next() }
            }
            _ => Self { named: logs.collect(), of_environment: None },
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for NamedLogs {
    fn augment_args(command: Command) -> Command {
        let help = format!(
            "Show this log only; repeatable [default: logs of the system's and the user's \
             configuration, logs that `inbox --add` added or this user wrote to, and {VARIABLE}]"
        );
        let option = Arg::new(OPTION).long("log").value_name("DIR").action(ArgAction::Append);
        command.arg(option.value_parser(path_given()).help(help))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl NamedLogs {
    /// The logs that are meant: those that are named, else all that are known.
    pub(crate) fn places(&self) -> Places {
        if !self.named.is_empty() {
            let named = self.named.iter().cloned().map(|path| (path, NamedBy::Caller));
            return Places::of(named, Vec::new());
        }
        let mut unknown = Vec::new();
        let mut found: Vec<(PathBuf, NamedBy)> = Vec::new();
        found.extend(self.of_environment.iter().cloned().map(|path| (path, NamedBy::Caller)));
        match floors() {
            Ok(floors) => {
                for floor in floors.each() {
                    let by = || NamedBy::Configuration(floor.name());
                    found.extend(floor.inbox.iter().cloned().map(|path| (path, by())));
                }
            }
            Err(failure) => unknown.push(failure),
        }
        for by in [ListedBy::Person, ListedBy::Writer] {
            for line in listed(by).unwrap_or_else(|failure| vec![Err(failure)]) {
                match line {
                    Ok(log) => found.push((log.path, NamedBy::List(log.identity))),
                    Err(failure) => unknown.push(failure),
                }
            }
        }
        Places::of(found, unknown)
    }
}

/// What each line of a list says: one that names no log hides no other.
fn listed(by: ListedBy) -> Result<Vec<Result<KnownLog, Failure>>, Failure> {
    let list = KnownLogs::of_user(by).map_err(|error| {
        let message = format!("where this user's list of logs is cannot be told: {error}");
        Failure::new(Exit::FAILED, LIST_OF_LOGS, message)
    })?;
    let Some(list) = list else { return Ok(Vec::new()) };
    let lines = list.lines().map_err(|error| unusable(&list, &error))?;
    let full = is_full(&lines).then(|| Err(full(&list)));
    let lines = lines.into_iter().map(|line| line.map_err(|error| unusable(&list, &error)));
    Ok(full.into_iter().chain(lines).collect())
}

impl Places {
    /// Each directory once, in the order in which it was found first.
    fn of(found: impl IntoIterator<Item = (PathBuf, NamedBy)>, unknown: Vec<Failure>) -> Self {
        let mut logs: Vec<Place> = Vec::new();
        let mut known: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for (path, by) in found {
            let whole = std::path::absolute(&path).unwrap_or(path);
            let name = directory_named(&whole);
            let at = *known.entry(name).or_insert(logs.len());
            if at == logs.len() {
                let path = whole.components().collect();
                let (label, named_by) = (String::new(), Vec::new());
                logs.push(Place { path, label, named_by, was_read: false });
            }
            if let Some(place) = logs.get_mut(at).filter(|place| !place.named_by.contains(&by)) {
                place.named_by.push(by);
            }
        }
        label(&mut logs);
        Self { logs, unknown }
    }
}

/// One name for each directory. A link to one is no log, and hides behind no other: it is a place
/// of its own, of which is told why it is not read.
fn directory_named(path: &Path) -> PathBuf {
    let named: PathBuf = path.components().collect();
    if named.is_symlink()
        && let (Some(parent), Some(name)) = (named.parent(), named.file_name())
    {
        return parent.canonicalize().map_or_else(|_| named.clone(), |parent| parent.join(name));
    }
    named.canonicalize().unwrap_or(named)
}

impl Place {
    /// The options of a verb about this log.
    pub(crate) fn global(&self, json: bool) -> Global {
        Global { log: self.path.clone(), config: None, json, lists: false }
    }

    /// The failure that there is no log, with what is done about one that nobody names just now.
    pub(crate) fn no_more(&self, failure: Failure) -> Failure {
        let was_listed = self.named_by.iter().any(|by| matches!(by, NamedBy::List(_)));
        let when =
            if was_listed { "A log was there when it was listed" } else { "If none is meant" };
        match self.how_to_unlist() {
            advice if advice.is_empty() => failure,
            advice => failure.adding(&format!(". {when}: {advice}")),
        }
    }

    /// What each takes who wants it to be listed no more; nothing where only its caller names it.
    fn how_to_unlist(&self) -> String {
        let mut advice: Vec<String> = Vec::new();
        for by in &self.named_by {
            let one = match by {
                NamedBy::Caller => continue,
                NamedBy::Configuration(file) => format!("take it out of `[inbox]` in {file}"),
                NamedBy::List(_) => {
                    format!("`{}` lists it no more", self.command("remove"))
                }
            };
            if !advice.contains(&one) {
                advice.push(one);
            }
        }
        advice.join(", and ")
    }

    /// The command that changes the list, as a shell takes it.
    fn command(&self, verb: &str) -> String {
        format!("holdpoint inbox --{verb} {}", command_line(self.path.as_os_str(), &[]))
    }

    /// What it was when it was listed, by each who listed it, one of which it has to be still;
    /// `None` where it is also named by somebody who said nothing of that.
    fn identities(&self) -> Option<Vec<LogIdentity>> {
        let identity = |by: &NamedBy| match by {
            NamedBy::List(identity) => Some(*identity),
            NamedBy::Caller | NamedBy::Configuration(_) => None,
        };
        self.named_by.iter().map(identity).collect()
    }

    fn is_nowhere(&self) -> bool {
        let found = self.path.symlink_metadata();
        found.is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    }

    /// That the log is there where it was before, and the one that was listed, of the owner that it
    /// had.
    pub(crate) fn expect_listed(&self) -> Result<(), Failure> {
        let failed =
            |code: &'static str, message: String| Err(Failure::new(Exit::NOT_FOUND, code, message));
        let path = shown(&self.path);
        // What keeps it from being read is told by reading it: a link is not followed.
        if self.path.is_symlink() {
            return Ok(());
        }
        let Ok(now) = LogIdentity::of(&self.path) else { return Ok(()) };
        let identities = self.identities().unwrap_or_default();
        let Some(now) = now else {
            if !self.was_read && (identities.is_empty() || !self.is_nowhere()) {
                return Ok(());
            }
            let advice = match self.how_to_unlist() {
                none if none.is_empty() => "nothing in it can be answered before it is back".into(),
                advice => advice,
            };
            return failed("gone", format!("{path} is gone: {advice}"));
        };
        let Some(was) = identities.first() else { return Ok(()) };
        if identities.contains(&now) {
            return Ok(());
        }
        let (add, unlist) = (self.command("add"), self.how_to_unlist());
        let advice = format!("where that is intended, `{add}` adds it again; else {unlist}");
        if identities.iter().all(|was| was.owner != now.owner) {
            let (owner, before) = (name_of_user(now.owner), name_of_user(was.owner));
            let message = format!("{path} belongs to {owner} now, and was {before}'s: {advice}");
            return failed("log_of_another_user", message);
        }
        let message = format!(
            "{path} is another log ({}) than the one that was listed ({}): {advice}",
            now.id, was.id
        );
        failed("replaced", message)
    }
}

/// Gives each the shortest name by which it is told from the others: of the directory that holds it
/// where its own is the usual one, with as many of those above as it takes.
fn label(logs: &mut [Place]) {
    let words = |place: &Place| -> Vec<String> {
        let path = match place.path.ends_with(HERE) {
            true => place.path.parent().unwrap_or(Path::new("/")),
            false => &place.path,
        };
        let names = path.components().filter_map(|part| match part {
            std::path::Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        });
        names.collect()
    };
    let all: Vec<Vec<String>> = logs.iter().map(words).collect();
    let end = |words: &[String], count: usize| {
        let last = words.get(words.len().saturating_sub(count)..).unwrap_or_default();
        if last.is_empty() { "/".to_string() } else { last.join("/") }
    };
    let longest = all.iter().map(Vec::len).max().unwrap_or_default();
    let mut counts = vec![1_usize; logs.len()];
    for _ in 1..longest {
        let labels = || all.iter().zip(&counts).map(|(words, count)| end(words, *count));
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        labels().for_each(|label| *uses.entry(label).or_default() += 1);
        let again: Vec<bool> =
            labels().map(|label| uses.get(&label).is_some_and(|uses| *uses > 1)).collect();
        counts.iter_mut().zip(&again).for_each(|(count, is)| *count += usize::from(*is));
        if !again.contains(&true) {
            break;
        }
    }
    for ((place, words), count) in logs.iter_mut().zip(&all).zip(counts) {
        place.label = crate::ui::screen::in_row(&end(words, count));
    }
}

/// Every log of the inbox that is known.
pub(crate) fn logs() -> Vec<PathBuf> {
    NamedLogs::default().places().logs.into_iter().map(|place| place.path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(paths: &[&str]) -> Vec<String> {
        let found = paths.iter().map(|path| (PathBuf::from(path), NamedBy::Caller));
        Places::of(found, Vec::new()).logs.into_iter().map(|place| place.label).collect()
    }

    #[test]
    fn a_log_is_called_by_the_shortest_name_that_is_its_own() {
        assert_eq!(labels(&["/a/app/.holdpoint", "/srv/log"]), ["app", "log"]);
        assert_eq!(labels(&["/a/app/.holdpoint", "/b/app/.holdpoint"]), ["a/app", "b/app"]);
        assert_eq!(labels(&["/x/a/app/.holdpoint", "/y/a/app", "/z"]), ["x/a/app", "y/a/app", "z"]);
        assert_eq!(labels(&["/.holdpoint"]), ["/"]);
        assert_eq!(labels(&["/a/\u{1b}[2J"]), ["\\u{1b}[2J"]);
    }

    #[test]
    fn a_log_that_is_found_twice_is_looked_at_once() {
        assert_eq!(labels(&["/a/log", "/a/./log", "/a/log/"]), ["log"]);
    }
}
