//! Why floors cannot be known, and then nothing begins.

use super::settings::FileFault;
use holdpoint_domain::core::payload::Text;
use holdpoint_domain::core::refusal::CommonRefusal;
use holdpoint_domain::core::text::visible;
use holdpoint_domain::log::PolicyFault;
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
        "the user database does not answer, and so not where the home of user {user} is \
         ({source}); nothing begins before the policy in it is known: see that \
         `getent passwd {user}` answers"
    )]
    UnknownHome {
        /// The user's number.
        user: u32,
        /// Answer of the system.
        source: io::Error,
    },
    /// The numbers of those whom a policy or a question names are not known.
    #[error(
        "the user database does not answer, and nothing begins before it says who is named \
         ({source}): see that `getent passwd` answers"
    )]
    UnknownNumbers {
        /// Answer of the system.
        source: io::Error,
    },
    /// Two approvers in it are one user.
    #[error("the policy {} names a user twice: {fault}", shown(.path))]
    NamedTwice {
        /// The file.
        path: PathBuf,
        /// Names of the two.
        fault: CommonRefusal,
    },
    /// It is not known who runs this process outside of its user namespace, and so not where the
    /// home is.
    #[error(
        "this process is in a user namespace that does not say which user outside of it user \
         {user} is, and nothing begins before the policy in the home of that user is known: start \
         it outside of the user namespace, or map the user who makes one, as `unshare \
         --map-current-user` does"
    )]
    UnknownUser {
        /// The user's number in the namespace.
        user: u32,
    },
    /// It cannot be read whether this process is in a user namespace, and so not who runs it
    /// outside.
    #[error(
        "whether this process is in a user namespace cannot be read from /proc ({source}), nor \
         which user outside of it user {user} then is, and nothing begins before the policy in \
         the home of that user is known: remove the cause"
    )]
    UnreadUser {
        /// The user's number in the namespace, if it is in one.
        user: u32,
        /// Answer of the system.
        source: io::Error,
    },
    /// It cannot be believed as it shows in a user namespace.
    #[error(
        "{source}; this process is in a user namespace, where users have other numbers and rights: \
         that may be the cause, and then start it outside of the user namespace"
    )]
    InUserNamespace {
        /// Fault that it has there.
        source: Box<FloorsError>,
    },
    /// A pipe, a device or a directory.
    #[error(
        "the policy {} is not a regular file: put one in its place, or remove it", shown(.path)
    )]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// A link on the way to it leads nowhere.
    #[error(
        "the policy {} is a link or behind one, and {} is missing: put the file back, or remove \
         the link", shown(.path), shown(.missing)
    )]
    Dangling {
        /// The file.
        path: PathBuf,
        /// Target of the link.
        missing: PathBuf,
    },
    /// No table is in it.
    #[error(
        "the policy {} says nothing, as one that was cut off: write what it demands, `[hold]` \
         alone where that is nothing, or remove it", shown(.path)
    )]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// Longer than any policy.
    #[error("the policy {} is longer than {most} bytes: shorten it", shown(.path))]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Greatest length that one may have.
        most: u64,
    },
    /// Somebody else could write another one.
    #[error(
        "the policy {} is not believed: others can write {}; {}", shown(.path), shown(.what),
        if *.is_shared { "keep it below a directory that only its owner can write" }
        else { "take that from them with `chmod go-w`" }
    )]
    WritableByOthers {
        /// The file.
        path: PathBuf,
        /// It, or a directory above it.
        what: PathBuf,
        /// True if that is a directory which is there for others too, as `/tmp` is.
        is_shared: bool,
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
        /// Owner of the file.
        owner: u32,
    },
    /// It says what no policy says.
    #[error("the policy {}:{fault}", shown(.path))]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Fault, and its place.
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
    /// Nobody whom it names is a user here.
    #[error(
        "the policy {} cannot be kept: no user here is called {}; name users that `getent passwd` \
         knows, or `uid 1000` for a number that has no name there", shown(.path), listed(.names)
    )]
    NamesNobody {
        /// The file.
        path: PathBuf,
        /// Whom it names.
        names: Vec<Text>,
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

fn listed(names: &[Text]) -> String {
    let names: Vec<String> = names.iter().map(|name| visible(name).to_string()).collect();
    names.join(" or ")
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy()).to_string()
}
