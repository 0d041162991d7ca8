//! The log that is continued, held from before its records are copied until its place is taken:
//! nobody else continues it or writes to it meanwhile, and what takes its name is noticed.

use super::ContinueError;
use crate::log::WriteFile;
use crate::shell::salvage::writer_of;
use holdpoint_log_files::storage::open_regular;
use holdpoint_log_format::names;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, fstat, renameat_with, statat};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The device and the inode of a directory, which tell it from every other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DirectoryId(rustix::fs::Dev, u64);

impl DirectoryId {
    fn of(stat: &rustix::fs::Stat) -> Self {
        Self(stat.st_dev, stat.st_ino)
    }

    /// The directory that is open here.
    pub(super) fn of_open(directory: &File) -> io::Result<Self> {
        Ok(Self::of(&fstat(directory)?))
    }

    /// The directory at a path, which is no link.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self::of(&rustix::fs::lstat(path)?))
    }
}

/// A log whose directory and LOCK this process has locked.
#[derive(Debug)]
pub(super) struct HeldLog {
    path: PathBuf,
    parent: File,
    name: OsString,
    identity: DirectoryId,
    directory: File,
    /// A log that is short of HEAD gets no LOCK where it has none: nobody opens it for writing.
    _lock: Option<File>,
}

impl HeldLog {
    /// Takes the log at a path, which must be the directory that was shown.
    pub(super) fn take(path: &Path, shown: DirectoryId) -> Result<Self, ContinueError> {
        let replaced = || ContinueError::Replaced { path: path.to_path_buf() };
        let name = path.file_name().ok_or_else(replaced)?.to_os_string();
        let directory = match open_directory(path) {
            Err(error) if is_no_directory(&error) => return Err(replaced()),
            opened => opened.map_err(ContinueError::io("open", path))?,
        };
        if !WriteFile::try_lock(&directory).map_err(ContinueError::io("lock", path))? {
            return Err(ContinueError::Continuing { path: path.to_path_buf() });
        }
        let parent = path.parent().unwrap_or(Path::new("/"));
        let parent = open_directory(parent).map_err(ContinueError::io("open", parent))?;
        let lock = lock_of(path)?;
        let path = path.to_path_buf();
        let held = Self { path, parent, name, identity: shown, directory, _lock: lock };
        held.check()?;
        Ok(held)
    }

    /// Refuses to go on where the name of the log stands for another directory by now.
    pub(super) fn check(&self) -> Result<(), ContinueError> {
        let opened = DirectoryId::of_open(&self.directory);
        let opened = opened.map_err(ContinueError::io("look at", &self.path))?;
        let is_it = self.is_at(&self.name).map_err(ContinueError::io("look at", &self.path))?;
        let replaced = || ContinueError::Replaced { path: self.path.clone() };
        (is_it && opened == self.identity).then_some(()).ok_or_else(replaced)
    }

    /// Returns whether a name beside the log stands for it.
    fn is_at(&self, name: &OsStr) -> io::Result<bool> {
        match statat(&self.parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let is_directory = FileType::from_raw_mode(stat.st_mode).is_dir();
                Ok(is_directory && DirectoryId::of(&stat) == self.identity)
            }
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Lets the log and a directory beside it change places in one step. Undone by a second step
    /// where it was another directory that had the place.
    pub(super) fn change_places(&self, building: &Path) -> Result<(), ContinueError> {
        let name = building.file_name().unwrap_or_default();
        let path = || self.path.clone();
        let exchange =
            || renameat_with(&self.parent, name, &self.parent, &self.name, RenameFlags::EXCHANGE);
        exchange()
            .map_err(|error| ContinueError::NotExchanged { path: path(), source: error.into() })?;
        if self.is_at(name).unwrap_or(false) {
            return Ok(());
        }
        match exchange() {
            Ok(()) => Err(ContinueError::Replaced { path: path() }),
            Err(error) => {
                let (building, source) = (building.to_path_buf(), error.into());
                Err(ContinueError::Displaced { path: path(), building, source })
            }
        }
    }

    /// Makes the names beside the log durable.
    pub(super) fn sync_names(&self) -> io::Result<()> {
        self.parent.sync_all()
    }
}

/// Returns whether somebody is at work on continuing the log in a directory.
pub(super) fn is_held(directory: &Path) -> bool {
    let opened = open_directory(directory);
    opened.and_then(|directory| WriteFile::try_lock(&directory)).is_ok_and(|is_free| !is_free)
}

/// A directory, locked; `None`: somebody is at work on it, or it cannot be opened.
pub(super) fn try_hold(directory: &Path) -> Option<File> {
    let opened = open_directory(directory).ok()?;
    WriteFile::try_lock(&opened).is_ok_and(|is_free| is_free).then_some(opened)
}

fn open_directory(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// A link or a file has the name, or nothing.
fn is_no_directory(error: &io::Error) -> bool {
    let others = [rustix::io::Errno::NOTDIR, rustix::io::Errno::LOOP, rustix::io::Errno::NOENT];
    others.iter().any(|it| error.raw_os_error() == Some(it.raw_os_error()))
}

/// LOCK, locked; `None` where there is none.
fn lock_of(log: &Path) -> Result<Option<File>, ContinueError> {
    let path = log.join(names::LOCK);
    let file = match open_regular(&path, OFlags::RDWR) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(ContinueError::io("open", &path))?,
    };
    if WriteFile::try_lock(&file).map_err(ContinueError::io("lock", &path))? {
        return Ok(Some(file));
    }
    Err(ContinueError::InUse { path: log.to_path_buf(), pid: writer_of(log).unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names_of(place: &Path) -> Vec<String> {
        let in_it = |name: &str| place.join(name).join("mark");
        ["log", "new"].map(|name| fs::read_to_string(in_it(name)).unwrap()).to_vec()
    }

    fn made(place: &Path, name: &str) -> PathBuf {
        let path = place.join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("mark"), name).unwrap();
        path
    }

    /// A directory that took the place between the last look and the exchange gets it back.
    #[test]
    fn another_directory_in_the_place_of_the_log_is_put_back() {
        let place = tempfile::tempdir().unwrap();
        let (log, new) = (made(place.path(), "log"), made(place.path(), "new"));
        let held = HeldLog::take(&log, DirectoryId::at(&log).unwrap()).unwrap();
        held.change_places(&new).unwrap();
        assert_eq!(names_of(place.path()), ["new", "log"]);
        let refused = held.change_places(&new);
        assert!(matches!(refused, Err(ContinueError::Replaced { .. })), "{refused:?}");
        assert_eq!(names_of(place.path()), ["new", "log"]);
        assert!(matches!(held.check(), Err(ContinueError::Replaced { .. })));
    }

    #[test]
    fn a_log_is_held_by_one_and_what_is_another_directory_or_a_link_is_not_taken() {
        let place = tempfile::tempdir().unwrap();
        let (log, other) = (made(place.path(), "log"), made(place.path(), "other"));
        let shown = DirectoryId::at(&log).unwrap();
        let held = HeldLog::take(&log, shown).unwrap();
        let second = HeldLog::take(&log, shown);
        assert!(matches!(second, Err(ContinueError::Continuing { .. })), "{second:?}");
        assert!(is_held(&log) && !is_held(&other));
        drop(held);
        let another = HeldLog::take(&other, shown);
        assert!(matches!(another, Err(ContinueError::Replaced { .. })), "{another:?}");
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&log, &link).unwrap();
        for path in [link, place.path().join("nothing")] {
            let refused = HeldLog::take(&path, shown);
            assert!(matches!(refused, Err(ContinueError::Replaced { .. })), "{refused:?}");
        }
    }
}
