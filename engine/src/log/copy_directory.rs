//! Copying a log's directory to another place: whole under its name, or not there.

use super::copy::{Copied, CopyError, copy_settled};
use super::vacancy;
use holdpoint_log_files::storage::{is_locked, open_regular};
use holdpoint_log_files::{DirectoryStorage, READINGS_MAX, RunEntries, read_outcome};
use holdpoint_log_format::names;
use rustix::fs::OFlags;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Suffix of the names of unfinished copies.
const SUFFIX: &str = ".copying";

/// Hexadecimal digits before that.
const DIGITS: usize = 16;

/// No copy was made; nothing of it is left behind.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CopyDirectoryError {
    /// The place of the copy is taken.
    #[error("{path} is {what}: name an empty directory for the copy, or one that does not exist")]
    Taken {
        /// Place of the copy.
        path: PathBuf,
        /// Kind of what is there.
        what: &'static str,
    },
    /// The place of the copy is inside the log.
    #[error("{path} is inside the log: name a directory outside of it for the copy")]
    Inside {
        /// Place of the copy.
        path: PathBuf,
    },
    /// The directory cannot be made or named.
    #[error("cannot {operation} {path}: {source}")]
    Directory {
        /// Operation that was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// Answer of the disk.
        source: io::Error,
    },
    /// The log was not copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
}

/// Copies the log at `source` to `destination`, which must not exist, in a directory that does, or
/// be an empty directory. The copy is made beside it under another name, verified, synced, and then
/// renamed: `destination` is a whole copy or none. See [`super::copy_log`] for what a copy is;
/// `progress` is told the newest record copied and the last one that will be.
///
/// # Errors
/// See [`CopyDirectoryError`]. A process that is killed meanwhile leaves a directory beside
/// `destination`, `.NAME.<16 hexadecimal digits>.copying`; the next copy to the same place removes
/// it.
pub fn copy_directory(
    source: &Path,
    destination: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Copied, CopyDirectoryError> {
    // Without a slash at its end, which would follow a link.
    let destination: PathBuf = destination.components().collect();
    let parent = parent_of(&destination);
    check_outside(source, &destination, parent)?;
    check_free(&destination)?;
    remove_leftovers(&destination, parent);
    let (temporary, copied) = copy_beside(source, &destination, progress)?;
    check_free(&destination)?;
    temporary.keep_as(&destination)?;
    let synced = File::open(parent).and_then(|directory| directory.sync_all());
    synced.map_err(cannot("sync", parent))?;
    Ok(copied)
}

/// A whole copy beside its destination.
fn copy_beside(
    source: &Path,
    destination: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(Temporary, Copied), CopyDirectoryError> {
    let log = DirectoryStorage::holding(source);
    let locked = || is_locked(&log);
    let mut looks = 1..=READINGS_MAX;
    loop {
        let temporary = Temporary::new(beside(destination)?);
        let target = DirectoryStorage::new(&temporary.path);
        // Before the records: what is taken up meanwhile is among them, and known by its key.
        copy_waiting(source, &temporary.path)?;
        match copy_settled(&log, &target, &locked, &mut looks, progress) {
            Ok(copied) if log.check_place().is_ok() => return Ok((temporary, copied)),
            // The files of runs are those of another log.
            Ok(_) if looks.is_empty() => {
                return Err(CopyError::Moved { file: names::HEAD.to_string() }.into());
            }
            Ok(_) => drop(log.hold()),
            Err(CopyError::Moved { .. }) if !looks.is_empty() => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Copies the files of runs in which something waits, owner only. What is no regular file of one
/// name is left where it is, and so is a file that this process may not read: whoever verifies the
/// log is told of it.
fn copy_waiting(source: &Path, target: &Path) -> Result<(), CopyDirectoryError> {
    let Ok(listed) = source.join(names::RUNS).read_dir() else { return Ok(()) };
    let runs = target.join(names::RUNS);
    for entry in listed.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some(owner) = owner_of_waiting(name, &entry.path()) else { continue };
        if !runs.exists() {
            DirBuilder::new().mode(0o700).create(&runs).map_err(cannot("make", &runs))?;
        }
        let copy = runs.join(name);
        copy_run_file(&entry.path(), &copy, owner).map_err(cannot("copy", &copy))?;
    }
    Ok(())
}

/// The owner of a file in which something waits.
fn owner_of_waiting(name: &str, path: &Path) -> Option<u32> {
    if names::parse_run(name).is_some() {
        let waiting = RunEntries::open(path).ok()??;
        return (!waiting.is_at_end()).then(|| waiting.owner());
    }
    names::parse_outcome(name)?;
    let (owner, payload) = read_outcome(path).ok()?;
    payload.map(|_| owner)
}

fn copy_run_file(from: &Path, to: &Path, owner: u32) -> io::Result<()> {
    let mut from = open_regular(from, OFlags::RDONLY)?;
    let options = OpenOptions::new().write(true).create_new(true).mode(0o600).to_owned();
    let mut copy = options.open(to)?;
    io::copy(&mut from, &mut copy)?;
    // What root copies stays its recorder's: another owner's would count for nothing.
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::fchown(&copy, Some(owner), None)?;
    }
    copy.sync_all()
}

/// A directory that goes away with everything in it unless it gets another name.
struct Temporary {
    path: PathBuf,
    /// Locked as long as somebody copies into it.
    _held: Option<File>,
}

impl Temporary {
    fn new(path: PathBuf) -> Self {
        let _held = File::open(&path).ok().filter(|directory| directory.try_lock().is_ok());
        Self { path, _held }
    }

    fn keep_as(mut self, name: &Path) -> Result<(), CopyDirectoryError> {
        vacancy::take_place(&self.path, name).map_err(cannot("make", name))?;
        self.path = PathBuf::new();
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // What cannot be removed is told by its name.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

fn check_free(destination: &Path) -> Result<(), CopyDirectoryError> {
    let taken = |what| CopyDirectoryError::Taken { path: destination.to_path_buf(), what };
    let kind = match destination.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(cannot("look at", destination))?.file_type(),
    };
    if kind.is_symlink() {
        return Err(taken("a symbolic link"));
    }
    if !kind.is_dir() {
        return Err(taken("not a directory"));
    }
    let is_free = vacancy::is_free(destination).map_err(cannot("look at", destination))?;
    if is_free { Ok(()) } else { Err(taken("not empty")) }
}

/// A copy inside the log would be foreign there. The log itself is as little a place for it.
fn check_outside(
    source: &Path,
    destination: &Path,
    parent: &Path,
) -> Result<(), CopyDirectoryError> {
    let Ok(log) = source.canonicalize() else { return Ok(()) };
    let mut all = std::iter::once(destination).chain(parent.ancestors());
    let existing = all.find_map(|directory| directory.canonicalize().ok());
    let is_inside = existing.is_some_and(|directory| directory.starts_with(&log));
    if is_inside {
        return Err(CopyDirectoryError::Inside { path: destination.to_path_buf() });
    }
    Ok(())
}

fn parent_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Makes an empty directory of a name that nobody has, owner only.
fn beside(destination: &Path) -> Result<PathBuf, CopyDirectoryError> {
    let parent = parent_of(destination);
    let mut drawn = [0; 8];
    let number = getrandom::fill(&mut drawn).map(|()| u64::from_le_bytes(drawn));
    let no_name = |error: getrandom::Error| io::Error::other(error.to_string());
    let number = number.map_err(no_name).map_err(cannot("name a directory in", parent))?;
    let mut name = prefix_of(destination);
    name.push(format!("{number:0DIGITS$x}{SUFFIX}"));
    let path = parent.join(name);
    DirBuilder::new().mode(0o700).create(&path).map_err(cannot("make", &path))?;
    Ok(path)
}

/// Returns what the names of unfinished copies to a place begin with.
fn prefix_of(destination: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(destination.file_name().unwrap_or_default());
    prefix.push(".");
    prefix
}

/// Removes what killed copies to this place left. What cannot be removed takes only space.
fn remove_leftovers(destination: &Path, parent: &Path) {
    let prefix = prefix_of(destination);
    for entry in parent.read_dir().into_iter().flatten().flatten() {
        if is_unfinished(&entry.file_name(), &prefix) && is_left(&entry.path()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_unfinished(name: &OsStr, prefix: &OsStr) -> bool {
    let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
    let number = rest.and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    number.is_some_and(|number| {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        number.len() == DIGITS && number.iter().all(is_digit)
    })
}

/// Returns whether a directory holds nothing but the names of a log, and nobody copies into it.
fn is_left(path: &Path) -> bool {
    let is_directory = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let Ok(mut entries) = path.read_dir() else { return false };
    let holds_a_log = entries.all(|entry| {
        entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(names::is_own))
    });
    let held = File::open(path).and_then(|directory| Ok(directory.try_lock()?));
    is_directory && holds_a_log && held.is_ok()
}

fn cannot(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CopyDirectoryError {
    let path = path.to_path_buf();
    move |source| CopyDirectoryError::Directory { operation, path, source }
}
