//! Why floors cannot be known, and then nothing begins.

use super::settings::FileFault;
use holdpoint_domain::policy::PolicyFault;
use holdpoint_domain::text::visible;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A policy file cannot be believed, or two of them contradict each other.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FloorsError {
    /// It, or the way to it, cannot be read.
    #[error(
        "the policy {} cannot be read ({source}), and nothing begins before it is known: let this \
         user read it, or remove it", shown(.path)
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The home of a user, where one may be, is not known.
    #[error(
        "the user database does not say where the home of user {user} is ({source}), and nothing \
         begins before the policy in it is known: see that `getent passwd {user}` answers"
    )]
    UnknownHome {
        /// The user's number.
        user: u32,
        /// What the system answered.
        source: io::Error,
    },
    /// A pipe, a device or a directory.
    #[error(
        "the policy {} is not a regular file: put one in its place, or remove it", shown(.path)
    )]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// Longer than any policy.
    #[error("the policy {} is longer than {most} bytes: shorten it", shown(.path))]
    TooLong {
        /// The file.
        path: PathBuf,
        /// How long one may be.
        most: u64,
    },
    /// Somebody else could write another one.
    #[error(
        "the policy {} is not believed: others can write {}; take that from them with \
         `chmod go-w`", shown(.path), shown(.what)
    )]
    WritableByOthers {
        /// The file.
        path: PathBuf,
        /// It, or a directory above it.
        what: PathBuf,
    },
    /// It is somebody else's.
    #[error(
        "the policy {} is not believed: {} belongs to user {owner}; it has to be root's or, where \
         it is no file of the system, this user's", shown(.path), shown(.what)
    )]
    ForeignOwner {
        /// The file.
        path: PathBuf,
        /// It, or a directory above it.
        what: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// It says what no policy says.
    #[error("the policy {}:{fault}", shown(.path))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        fault: FileFault,
    },
    /// Nobody could keep it.
    #[error("the policy {} cannot be kept: {fault}", shown(.path))]
    Unkeepable {
        /// The file.
        path: PathBuf,
        /// Why not.
        fault: PolicyFault,
    },
    /// A log that is named from nowhere.
    #[error("the policy {}: the log {} has to be an absolute path", shown(.path), shown(.log))]
    RelativeLog {
        /// The file.
        path: PathBuf,
        /// The log.
        log: PathBuf,
    },
    /// Nobody could keep both.
    #[error("the policies {one} and {other} contradict each other ({reason}): change one of them")]
    Contradiction {
        /// The stronger one.
        one: String,
        /// The other.
        other: String,
        /// In what.
        reason: String,
    },
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy()).to_string()
}
