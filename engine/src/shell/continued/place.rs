//! Where the new log is made: beside the old one, whose place it takes in one step. The old one
//! then gets a name that says what it is. What an interrupted attempt left is never removed.

use super::ContinueError;
use super::held::{HeldLog, is_held};
use crate::log::Storage;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_files::head::read_witness;
use holdpoint_log_format::{Head, names};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What the name of a log that is being made ends with.
const BUILDING: &str = ".continuing";

/// What the name of the old log ends with.
const BEFORE: &str = ".before-continue";

/// So many old logs of one name stand beside each other.
const NAMES_MAX: u32 = 10_000;

/// A directory that goes away with everything in it unless it took the place of a log.
#[derive(Debug)]
pub(super) struct Place {
    building: PathBuf,
    parent: PathBuf,
}

impl Place {
    /// Makes the directory of the new log beside a log, for its owner only.
    pub(super) fn beside(log: &Path) -> Result<Self, ContinueError> {
        let parent = log.parent().unwrap_or(Path::new("/")).to_path_buf();
        let found = log.symlink_metadata().map_err(ContinueError::io("look at", log))?;
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(ContinueError::NotOwner { path: log.to_path_buf() });
        }
        let mut drawn = [0; 8];
        let no_name = |error: getrandom::Error| io::Error::other(error.to_string());
        let number = getrandom::fill(&mut drawn).map(|()| u64::from_le_bytes(drawn));
        let number = number.map_err(no_name);
        let number = number.map_err(ContinueError::io("name a directory in", &parent))?;
        let mut name = prefix_of(log);
        name.push(format!("{number:016x}{BUILDING}"));
        let building = parent.join(name);
        let made = DirBuilder::new().mode(0o700).create(&building);
        made.map_err(ContinueError::io("make", &building))?;
        Ok(Self { building, parent })
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
    /// A new log that was not finished: it can be removed.
    Unfinished(PathBuf),
    /// The old log, under the name that it has now.
    Old(PathBuf),
}

/// What interrupted attempts left beside the log at `log`, which was continued from `sources`: an
/// old log among it gets its name.
///
/// # Errors
/// The directory around the log cannot be read, or an old log not be named.
pub fn left_by_interrupted(
    log: &Path,
    sources: &[String],
) -> Result<Vec<LeftDirectory>, ContinueError> {
    let log = log.canonicalize().map_err(ContinueError::io("look at", log))?;
    let parent = log.parent().unwrap_or(Path::new("/"));
    let listed = parent.read_dir().map_err(ContinueError::io("list", parent))?;
    let mut left = Vec::new();
    for entry in listed.flatten() {
        if !is_building(&entry.file_name(), &log) {
            continue;
        }
        let path = entry.path();
        if is_held(&path) {
            // Whoever is at work on it gives it its name.
            continue;
        }
        if id_of(&path).is_some_and(|id| sources.contains(&id)) {
            left.push(LeftDirectory::Old(name_old(&path, &log)?));
            sync(parent)?;
        } else {
            left.push(LeftDirectory::Unfinished(path));
        }
    }
    Ok(left)
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

/// What the name of a log that is being made beside one begins with.
fn prefix_of(log: &Path) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(log.file_name().unwrap_or_default());
    prefix.push(".");
    prefix
}

fn is_building(name: &std::ffi::OsStr, log: &Path) -> bool {
    let prefix = prefix_of(log);
    let rest = name.as_encoded_bytes().strip_prefix(prefix.as_encoded_bytes());
    let number = rest.and_then(|rest| rest.strip_suffix(BUILDING.as_bytes()));
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
