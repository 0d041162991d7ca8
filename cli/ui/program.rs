//! Finding the log where none is named: the nearest `.holdpoint`, in the working directory or above
//! it, as git finds its repository.
//!
//! The search goes upwards as long as directories belong to the user of this process and lie on the
//! file system of the working directory. Whoever else could make a directory further up could make
//! a log there that this user would write to.

use crate::ui::{Exit, Failure, path};
use holdpoint_engine::executor::command_line;
use rustix::process::geteuid;
use std::env::{current_dir, var_os};
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The log's directory in the working directory.
pub(crate) const HERE: &str = ".holdpoint";

/// The variable that names the log's directory.
pub(crate) const VARIABLE: &str = "HOLDPOINT_LOG";

/// What the search came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogLookup {
    /// The nearest log; where there is none, the one that would be made in the working directory.
    pub(crate) log: PathBuf,
    /// It is above the working directory, and another user made it.
    is_of_another_user: bool,
}

impl LogLookup {
    fn here() -> Self {
        Self { log: PathBuf::from(HERE), is_of_another_user: false }
    }

    /// Why what was found is not used without being named.
    pub(crate) fn refusal(&self) -> Option<Failure> {
        self.is_of_another_user.then(|| {
            let message = format!(
                "{} was found above the working directory and belongs to another user: name it \
                 with --log DIR or {VARIABLE} if it is meant, or make a log here with `holdpoint \
                 init`",
                path(&self.log)
            );
            Failure::new(Exit::FAILED, "log_of_another_user", message)
        })
    }
}

/// Finds the log that is meant in the working directory.
pub(crate) fn find() -> LogLookup {
    let here = current_dir().ok().and_then(|place| Some((place.metadata().ok()?, place)));
    // A working directory that is gone is told of by whoever needs it.
    let Some((ours, place)) = here.filter(|_| !is_there(Path::new(HERE))) else {
        return LogLookup::here();
    };
    above(&place, geteuid().as_raw(), &ours).unwrap_or_else(LogLookup::here)
}

/// The nearest log above a directory without one.
fn above(place: &Path, user: u32, ours: &Metadata) -> Option<LogLookup> {
    if ours.uid() != user {
        return None;
    }
    for directory in place.ancestors().skip(1) {
        let metadata = directory.metadata().ok()?;
        if metadata.uid() != user || metadata.dev() != ours.dev() {
            return None;
        }
        let log = directory.join(HERE);
        if is_there(&log) {
            let owner = log.symlink_metadata().map_or(user, |metadata| metadata.uid());
            return Some(LogLookup { log, is_of_another_user: owner != user });
        }
    }
    None
}

/// Whether something has this name. What cannot be looked at counts: opening it tells why.
fn is_there(log: &Path) -> bool {
    !log.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// The program as a shell calls it for this log, here.
pub(crate) fn program(log: &Path) -> String {
    program_words(log).join(" ")
}

/// The same, word by word.
pub(crate) fn program_words(log: &Path) -> Vec<String> {
    match var_os(VARIABLE).is_none() && find().log == log {
        true => vec!["holdpoint".to_string()],
        false => words_on(log),
    }
}

/// The program as a shell calls it for this log, wherever it does.
pub(crate) fn program_on(log: &Path) -> String {
    words_on(log).join(" ")
}

fn words_on(log: &Path) -> Vec<String> {
    let log = command_line(log.as_os_str(), &[]);
    vec!["holdpoint".to_string(), "--log".to_string(), log]
}

/// The command that makes this log.
pub(crate) fn how_to_make(log: &Path) -> String {
    match var_os(VARIABLE).is_none() && log == Path::new(HERE) {
        true => "holdpoint init".to_string(),
        false => format!("{} init", program_on(log)),
    }
}
