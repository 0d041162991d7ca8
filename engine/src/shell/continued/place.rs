//! Place of the new log while it is made: beside the old one, whose place it takes in one step. The
//! old one then gets a name that says what it is.
//!
//! # Invariants
//!
//! - Nothing has the name of a log that is being made but such a log, which gets another name right
//!   before the step: what an interrupted attempt left under the first one is removed by the next.
//! - What has the second name may be the old log. It is removed where it is the whole new one.
//! - Whoever makes a log has its directory locked. What is locked is left alone.

use super::ContinueError;
use super::copy::is_made_from;
use super::held::{DirectoryId, HeldLog, is_held, try_hold};
use crate::log::Storage;
use holdpoint_log_files::head::read_witness;
use holdpoint_log_files::{DirectoryStorage, ReadStorage};
use holdpoint_log_format::{Head, names};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Suffix of the name of a log that changes places with the old one.
const EXCHANGED: &str = ".continuing";

/// Suffix of the name of a log that is being made.
const BUILDING: &str = ".new.continuing";

/// So many names are tried for it.
const TRIES: u32 = 16;

/// Suffix of the name of the old log.
const BEFORE: &str = ".before-continue";

/// So many old logs of one name stand beside each other.
const NAMES_MAX: u32 = 10_000;

/// A directory that goes away with everything in it unless it took the place of a log.
#[derive(Debug)]
pub(super) struct Place {
    building: PathBuf,
    parent: PathBuf,
    /// The directory, locked.
    _held: File,
}

impl Place {
    /// Makes the directory of the new log beside a log, for its owner only.
    pub(super) fn beside(log: &Path) -> Result<Self, ContinueError> {
        let parent = log.parent().unwrap_or(Path::new("/")).to_path_buf();
        let found = log.symlink_metadata().map_err(ContinueError::io("look at", log))?;
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(ContinueError::NotOwner { path: log.to_path_buf() });
        }
        for _ in 0..TRIES {
            let building = named(log, &parent, BUILDING)?;
            let made = DirBuilder::new().mode(0o700).create(&building);
            made.map_err(ContinueError::io("make", &building))?;
            // Whoever looks for what was left may have come before the lock.
            if let Some(held) = try_hold(&building)
                && DirectoryId::at(&building).ok() == DirectoryId::of_open(&held).ok()
            {
                return Ok(Self { building, parent, _held: held });
            }
        }
        let busy = io::Error::from(io::ErrorKind::ResourceBusy);
        Err(ContinueError::io("make a directory in", &parent)(busy))
    }

    pub(super) fn building(&self) -> &Path {
        &self.building
    }

    /// Copies the bytes that recoveries cut, which records name, and gives the directory the mode
    /// and the group of the old one.
    pub(super) fn take_along(&self, log: &Path) -> Result<(), ContinueError> {
        let (from, to) = (log.join(names::CUT), self.building.join(names::CUT));
        if from.is_dir() {
            copy_files(&from, &to).map_err(ContinueError::io("copy", &from))?;
        }
        let found = log.symlink_metadata().map_err(ContinueError::io("look at", log))?;
        let group = std::os::unix::fs::chown(&self.building, None, Some(found.gid()));
        group.map_err(ContinueError::io("give the group to", &self.building))?;
        let mode = fs::set_permissions(&self.building, found.permissions());
        mode.map_err(ContinueError::io("set the mode of", &self.building))?;
        sync(&self.building)?;
        sync(&self.parent)
    }

    /// Lets the two directories change places in one step. Gives the name of the old log. Whoever
    /// writes to the new one waits until it is certain that it stays.
    pub(super) fn publish(mut self, old: &HeldLog, log: &Path) -> Result<PathBuf, ContinueError> {
        let locked = DirectoryStorage::new(&self.building).try_lock();
        let _lock = locked.map_err(ContinueError::io("lock", &self.building))?;
        old.check()?;
        let second = named(log, &self.parent, EXCHANGED)?;
        let renamed = renameat_with(CWD, &self.building, CWD, &second, RenameFlags::NOREPLACE);
        renamed.map_err(|error| ContinueError::io("rename", &self.building)(error.into()))?;
        self.building = second;
        // From here on the old log may be there: nothing removes it.
        let building = std::mem::take(&mut self.building);
        if let Err(error) = old.change_places(&building) {
            if !matches!(error, ContinueError::Displaced { .. }) {
                self.building = building;
            }
            return Err(error);
        }
        let kept_at = name_old(&building, log)?;
        match old.sync_names() {
            Ok(()) => Ok(kept_at),
            Err(source) => Err(ContinueError::Unsynced { kept_at, source }),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.building.as_os_str().is_empty() {
            // What cannot be removed is told by its name at the next attempt.
            let _ = fs::remove_dir_all(&self.building);
        }
    }
}

/// A directory that an interrupted attempt left beside a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftDirectory {
    /// A new log that did not take the place: it was removed.
    Removed(PathBuf),
    /// It cannot be told what it is, or not be removed.
    Unknown(PathBuf),
    /// The old log, under the name that it has now.
    Old(PathBuf),
}

/// Lists what interrupted attempts left beside the log at `log`, and nobody is at work on.
///
/// # Errors
/// The directory around the log cannot be read.
pub fn left_beside(log: &Path) -> Result<Vec<PathBuf>, ContinueError> {
    let log = log.canonicalize().map_err(ContinueError::io("look at", log))?;
    let parent = log.parent().unwrap_or(Path::new("/"));
    let listed = parent.read_dir().map_err(ContinueError::io("list", parent))?.flatten();
    let left = listed.filter(|entry| {
        let name = entry.file_name();
        is_named(&name, &log, EXCHANGED) || is_named(&name, &log, BUILDING)
    });
    let mut left: Vec<_> = left.map(|it| it.path()).filter(|path| !is_held(path)).collect();
    left.sort_unstable();
    Ok(left)
}

/// Lists what interrupted attempts left beside the log at `log`, which was continued from
/// `sources`: an old log among it gets its name, and a new one is removed.
///
/// # Errors
/// The directory around the log cannot be read, or an old log not be named.
pub fn left_by_interrupted(
    log: &Path,
    sources: &[String],
) -> Result<Vec<LeftDirectory>, ContinueError> {
    let paths = left_beside(log)?;
    let log = log.canonicalize().map_err(ContinueError::io("look at", log))?;
    let mut left = Vec::new();
    for path in paths {
        // Whoever is at work on it gives it its name.
        let Some(_held) = try_hold(&path) else { continue };
        if id_of(&path).is_some_and(|id| sources.contains(&id)) {
            left.push(LeftDirectory::Old(name_old(&path, &log)?));
            sync(log.parent().unwrap_or(Path::new("/")))?;
        } else if is_new_log(&path, &log) && fs::remove_dir_all(&path).is_ok() {
            left.push(LeftDirectory::Removed(path));
        } else {
            left.push(LeftDirectory::Unknown(path));
        }
    }
    Ok(left)
}

/// Returns whether a directory that an interrupted attempt left holds a new log, or nothing of any.
fn is_new_log(path: &Path, log: &Path) -> bool {
    let storage = DirectoryStorage::new(path);
    let has_segment = || {
        let listed = storage.list(names::SEGMENTS);
        listed.is_ok_and(|it| it.iter().any(|it| names::parse_segment(&it.name).is_some()))
    };
    is_named(path.file_name().unwrap_or_default(), log, BUILDING)
        || matches!(storage.open(names::HEAD), Ok(None)) && !has_segment()
        || id_of(log).is_some_and(|source| is_made_from(path, &source))
}

/// The identity of the log in a directory, as its HEAD says.
fn id_of(directory: &Path) -> Option<String> {
    let bytes = read_witness(&DirectoryStorage::new(directory), names::HEAD).ok()??.ok()?;
    Head::decode(&bytes).ok().map(|head| head.log.to_string())
}

/// Gives the old log the first name that nobody has.
fn name_old(building: &Path, log: &Path) -> Result<PathBuf, ContinueError> {
    let mut name = log.file_name().map(OsString::from).unwrap_or_default();
    name.push(BEFORE);
    let mut wanted = log.with_file_name(&name);
    for number in 2..NAMES_MAX {
        match renameat_with(CWD, building, CWD, &wanted, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(wanted),
            Err(Errno::EXIST) => {
                let mut numbered = name.clone();
                numbered.push(format!("-{number}"));
                wanted = log.with_file_name(numbered);
            }
            Err(error) => {
                let (building, source) = (building.to_path_buf(), error.into());
                return Err(ContinueError::Unnamed { building, wanted, source });
            }
        }
    }
    let (building, source) = (building.to_path_buf(), Errno::EXIST.into());
    Err(ContinueError::Unnamed { building, wanted, source })
}

/// Returns what the name of a log that is being made beside one begins with.
fn prefix_of(log: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(log.file_name().unwrap_or_default());
    prefix.push(".");
    prefix
}

/// A name beside a log that nobody has.
fn named(log: &Path, parent: &Path, ending: &str) -> Result<PathBuf, ContinueError> {
    let mut drawn = [0; 8];
    let no_name = |error: getrandom::Error| io::Error::other(error.to_string());
    let number = getrandom::fill(&mut drawn).map(|()| u64::from_le_bytes(drawn));
    let number = number.map_err(no_name);
    let number = number.map_err(ContinueError::io("name a directory in", parent))?;
    let mut name = prefix_of(log);
    name.push(format!("{number:016x}{ending}"));
    Ok(parent.join(name))
}

fn is_named(name: &OsStr, log: &Path, ending: &str) -> bool {
    let prefix = prefix_of(log);
    let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
    let number = rest.and_then(|rest| rest.strip_suffix(ending.as_bytes()));
    number.is_some_and(|number| number.len() == 16 && number.iter().all(u8::is_ascii_hexdigit))
}

/// Copies the regular files of a directory, which hold nothing else.
fn copy_files(from: &Path, to: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let copy = to.join(entry.file_name());
        fs::copy(entry.path(), &copy)?;
        File::open(&copy)?.sync_all()?;
    }
    File::open(to)?.sync_all()
}

fn sync(directory: &Path) -> Result<(), ContinueError> {
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(ContinueError::io("sync", directory))
}
