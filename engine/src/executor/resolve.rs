//! From the name of a program to the file that would be executed, by the rules of `execvp`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

/// Path that is searched when the command's environment has no `PATH`.
const DEFAULT_SEARCH_PATH: &str = "/bin:/usr/bin";

/// The longest name that a file may have, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// So many bytes of a name or a path are shown.
const SHOWN_BYTES_MAX: usize = 1_024;

/// The status that shells and `env` use for a program that was not found.
const STATUS_NOT_FOUND: u8 = 127;
/// The status that shells and `env` use for a program that cannot be executed.
const STATUS_NOT_EXECUTABLE: u8 = 126;

/// Why a command was not started. Nothing has run when this is returned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartRefusal {
    /// No file by that name.
    #[error(
        "program {} was not found ({}); check its name, or give its path",
        Shortened(program),
        why_not_found(program, searched.as_deref())
    )]
    NotFound {
        /// The program as it was named.
        program: OsString,
        /// The search path, when the name has no slash.
        searched: Option<OsString>,
    },
    /// The file is there, but the interpreter or loader that it names is not.
    #[error(
        "the interpreter of {} was not found; check its first line, or its architecture",
        Shortened(path.as_os_str())
    )]
    InterpreterNotFound {
        /// The file that names the interpreter.
        path: PathBuf,
    },
    /// A file of that name is there, and it cannot be executed.
    #[error("{} cannot be executed: {obstacle}", Shortened(path.as_os_str()))]
    NotExecutable {
        /// The file that was found.
        path: PathBuf,
        /// Obstacle in the way.
        obstacle: Obstacle,
    },
}

/// A name or path as a message shows it: quoted, and of a long one the beginning.
struct Shortened<'n>(&'n OsStr);

impl fmt::Display for Shortened<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.as_bytes();
        match bytes.get(..SHOWN_BYTES_MAX).filter(|_| bytes.len() > SHOWN_BYTES_MAX) {
            None => write!(out, "{:?}", self.0),
            Some(first) => {
                let more = bytes.len().saturating_sub(SHOWN_BYTES_MAX);
                write!(out, "{:?} and {more} bytes more", OsStr::from_bytes(first))
            }
        }
    }
}

impl StartRefusal {
    /// The status that a shell would report: 127 when something was not found, otherwise 126.
    pub fn exit_status(&self) -> u8 {
        match self {
            Self::NotFound { .. } | Self::InterpreterNotFound { .. } => STATUS_NOT_FOUND,
            Self::NotExecutable { .. } => STATUS_NOT_EXECUTABLE,
        }
    }
}

/// Reason that keeps a file from being executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// No permission to execute it, or to reach it, or its file system is mounted `noexec`.
    #[error("permission denied; `chmod +x` it, or check the mount and the directories above")]
    Permission,
    /// It is a directory.
    #[error("it is a directory; name a program inside it")]
    Directory,
    /// It is a device, a pipe or a socket.
    #[error("it is not a regular file")]
    SpecialFile,
    /// It is neither a program of this machine nor a script.
    #[error("unknown format: it is no program of this machine; start it with an interpreter")]
    Format,
    /// Its interpreter is a script, whose interpreter is one, and so on, for too long.
    #[error("too many interpreters, each a script; name a program on the `#!` line of one")]
    Interpreters,
    /// Any other answer of the system.
    #[error("{}", io::Error::from_raw_os_error(*.errno))]
    System {
        /// The error number.
        errno: i32,
    },
}

/// Finds what `execvp` would execute for `program` in `directory`.
///
/// A name with a slash stands for itself. Any other name is looked for in each part of
/// `search_path` (an empty part is the directory itself; without a search path `/bin:/usr/bin`).
/// A candidate that may not be executed is passed over, and remembered in case none follows.
///
/// The path returned always has a slash. It is relative only where the program or the part of the
/// search path was, and then it is relative to `directory`.
///
/// # Errors
///
/// A [`StartRefusal`]. That a file may be executed does not prove that the system can: its
/// format and its interpreter come to light only when it is started.
pub fn resolve(
    program: &OsStr,
    search_path: Option<&OsStr>,
    directory: &Path,
) -> Result<PathBuf, StartRefusal> {
    if program.as_bytes().contains(&b'/') {
        let path = PathBuf::from(program);
        return match check_executable(&directory.join(&path)) {
            Ok(()) => Ok(path),
            Err(None) => Err(not_found(program, None)),
            Err(Some(obstacle)) => Err(StartRefusal::NotExecutable { path, obstacle }),
        };
    }
    let search_path = search_path.unwrap_or(OsStr::new(DEFAULT_SEARCH_PATH));
    search(program, search_path, directory)
}

/// Returns what a failed start means, once the program had been resolved; `None` when the failure
/// says nothing about the program (the system is out of processes or memory, say).
pub(super) fn refusal_of_exec(
    program: &OsStr,
    path: &Path,
    directory: &Path,
    error: &io::Error,
) -> Option<StartRefusal> {
    let path = path.to_path_buf();
    let errno = error.raw_os_error().map(Errno::from_raw_os_error)?;
    match errno {
        Errno::NOENT | Errno::NOTDIR if directory.join(&path).exists() => {
            Some(StartRefusal::InterpreterNotFound { path })
        }
        Errno::NOENT | Errno::NOTDIR => Some(not_found(program, None)),
        Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE | Errno::TOOBIG => None,
        other => Some(StartRefusal::NotExecutable { path, obstacle: obstacle_of(other) }),
    }
}

/// Looks for a name without a slash along a search path.
fn search(program: &OsStr, search_path: &OsStr, directory: &Path) -> Result<PathBuf, StartRefusal> {
    let mut refused = None;
    for part in search_path.as_bytes().split(|byte| *byte == b':') {
        if program.is_empty() {
            break;
        }
        let path = candidate(part, program);
        match check_executable(&directory.join(&path)) {
            Ok(()) => return Ok(path),
            Err(None) => {}
            Err(Some(obstacle)) => {
                refused.get_or_insert(StartRefusal::NotExecutable { path, obstacle });
            }
        }
    }
    Err(refused.unwrap_or_else(|| not_found(program, Some(search_path))))
}

/// One part of the search path and the name, joined so that the result has a slash.
fn candidate(part: &[u8], program: &OsStr) -> PathBuf {
    let folder: &[u8] = if part.is_empty() { b"." } else { part };
    let mut path = folder.to_vec();
    path.push(b'/');
    path.extend_from_slice(program.as_bytes());
    PathBuf::from(OsString::from_vec(path))
}

/// Checks that a path can be executed: `Err(None)` when nothing is there.
pub(super) fn check_executable(path: &Path) -> Result<(), Option<Obstacle>> {
    let metadata = path.metadata().map_err(|error| match error.raw_os_error() {
        Some(errno) => obstacle_unless_absent(Errno::from_raw_os_error(errno)),
        // A name with a NUL byte: no file can have it.
        None => None,
    })?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(Some(Obstacle::Directory));
    }
    if kind.is_fifo() || kind.is_socket() || kind.is_char_device() || kind.is_block_device() {
        return Err(Some(Obstacle::SpecialFile));
    }
    access(path, Access::EXEC_OK).map_err(obstacle_unless_absent)
}

fn obstacle_unless_absent(errno: Errno) -> Option<Obstacle> {
    match errno {
        // Of a name that is too long there is no file either.
        Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => None,
        other => Some(obstacle_of(other)),
    }
}

fn obstacle_of(errno: Errno) -> Obstacle {
    match errno {
        Errno::ACCESS | Errno::PERM => Obstacle::Permission,
        Errno::NOEXEC => Obstacle::Format,
        Errno::ISDIR => Obstacle::Directory,
        other => Obstacle::System { errno: other.raw_os_error() },
    }
}

/// Returns where it was looked for, or why that was in vain.
fn why_not_found(program: &OsStr, searched: Option<&OsStr>) -> String {
    let longest = program.as_bytes().split(|byte| *byte == b'/').map(<[u8]>::len).max();
    match (longest.filter(|longest| *longest > NAME_BYTES_MAX), searched) {
        (Some(longest), _) => {
            format!("a name of {longest} bytes, and no file's has more than {NAME_BYTES_MAX}")
        }
        (None, Some(path)) => format!("searched PATH {}", Shortened(path)),
        (None, None) => "no such file".to_owned(),
    }
}

fn not_found(program: &OsStr, searched: Option<&OsStr>) -> StartRefusal {
    StartRefusal::NotFound {
        program: program.to_os_string(),
        searched: searched.map(OsStr::to_os_string),
    }
}
