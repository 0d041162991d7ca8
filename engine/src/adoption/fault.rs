//! Why a log answers no spender, and why the list of those that do cannot be believed.

use crate::executor::command_line;
use holdpoint_domain::core::text::visible;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The log answers no spender.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NotAdopted {
    /// Nobody here knows it.
    #[error(
        "the log {} was not begun by this user on this machine, so what it holds approves nothing \
         here: {}", shown(.log), advice(.log)
    )]
    Stranger {
        /// The log.
        log: PathBuf,
    },
    /// The log that is known stands somewhere else: this one is its copy, or was moved.
    #[error(
        "the log {} is a copy of {}, or was moved from there, and approves nothing here: {}",
        shown(.log), shown(.known), advice(.log)
    )]
    KnownElsewhere {
        /// The log.
        log: PathBuf,
        /// Place of the one that is known.
        known: PathBuf,
    },
    /// Another directory or log took the place of the one that is known.
    #[error(
        "the log {} is not the one that this user began or adopted there: a copy or another log \
         took its place, and approves nothing here: {}", shown(.log), advice(.log)
    )]
    Another {
        /// The log.
        log: PathBuf,
    },
    /// A person was asked, and did not adopt it.
    #[error(
        "the log {} was begun before logs were listed, and was not adopted when that was asked, so \
         it approves nothing here: {}", shown(.log), advice(.log)
    )]
    Declined {
        /// The log.
        log: PathBuf,
    },
    /// A git repository carries it.
    #[error(
        "the log {} stands in the index of git ({}), so whoever clones the repository brings it, \
         and it approves nothing: take it out with `git rm -r --cached`, or make another log",
        shown(.log), shown(.index)
    )]
    InGitIndex {
        /// The log.
        log: PathBuf,
        /// The index.
        index: PathBuf,
    },
    /// It is not known whether a git repository carries it.
    #[error(
        "whether the log {} stands in the index of git cannot be read from {} ({reason}), and it \
         approves nothing before that is known: remove the cause", shown(.log), shown(.index)
    )]
    GitIndexUnread {
        /// The log.
        log: PathBuf,
        /// The index, or what leads to it.
        index: PathBuf,
        /// Reason of it.
        reason: String,
    },
    /// The known logs cannot be read.
    #[error("the log {} approves nothing here: {source}", shown(.log))]
    Unknown {
        /// The log.
        log: PathBuf,
        /// Why not.
        source: Box<RegistryError>,
    },
}

/// The list of this user's logs cannot be read, believed or changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// The user database does not answer.
    #[error(
        "the user database does not say where the home of user {user} is ({source}), and so which \
         logs this user began is not known: see that `getent passwd {user}` answers, or let root \
         name the log as `[logs] trusted` in /etc/holdpoint/config.toml"
    )]
    UserDatabase {
        /// The user's number.
        user: u32,
        /// Answer of the system.
        source: io::Error,
    },
    /// The user has no home.
    #[error(
        "user {user} has no home in the user database in which its logs could be listed: let root \
         name the log as `[logs] trusted` in /etc/holdpoint/config.toml"
    )]
    NoHome {
        /// The user's number.
        user: u32,
    },
    /// It is not known who runs this process outside of its user namespace.
    #[error(
        "this process is in a user namespace that does not say who runs it, and so which logs that \
         user began is not known: start it outside, or let root name the log as `[logs] trusted` \
         in /etc/holdpoint/config.toml"
    )]
    UnknownUser,
    /// Somebody else could have written it, or a link leads elsewhere.
    #[error(
        "the list of this user's logs is not believed: {} {reason}", shown(.path)
    )]
    NotBelieved {
        /// The file, or a directory above it.
        path: PathBuf,
        /// Fault of it, and what to do.
        reason: String,
    },
    /// It says what no list says.
    #[error(
        "the list of this user's logs is not believed: {}:{line} is no log; remove that line",
        shown(.path)
    )]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// The system said no.
    #[error(
        "the list of this user's logs cannot be kept: {}: {source}; make that possible, or let \
         root name the log as `[logs] trusted` in /etc/holdpoint/config.toml", shown(.path)
    )]
    Io {
        /// The file, or a directory above it.
        path: PathBuf,
        /// Answer of the system.
        source: io::Error,
    },
}

/// Returns what makes the log one that answers.
fn advice(log: &Path) -> String {
    format!("adopt it at a terminal with `holdpoint inbox --add {}`", {
        command_line(log.as_os_str(), &[])
    })
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy()).to_string()
}
