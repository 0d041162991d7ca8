//! The directory that a storage reads and writes, held by one descriptor: whatever takes its name
//! meanwhile is another one.

use rustix::fs::{AtFlags, CWD, Dev, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Flags with which a directory is opened.
pub(crate) const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Device and inode of a file or directory, which tell it from every other one of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: Dev,
    inode: u64,
}

impl FileId {
    /// The file that a look found.
    #[must_use]
    pub const fn of(found: &Stat) -> Self {
        Self { device: found.st_dev, inode: found.st_ino }
    }
}

impl Display for FileId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "device {}, inode {}", self.device, self.inode)
    }
}

/// The path of a log stands for another directory than the one that is open, or for nothing.
#[derive(Debug, Error)]
#[error(
    "{path} stands for {}, and the directory that was opened there ({expected}) {}",
    .found.map_or_else(|| "nothing".to_string(), |found| format!("something else ({found})")),
    .now.as_ref().map_or_else(
        || "was removed or cannot be found: put it back".to_string(),
        |now| format!("is at {} now: put it back, or open it there", now.display()),
    )
)]
pub struct DisplacedDirectory {
    /// The path by which it was opened.
    pub path: PathBuf,
    /// The directory that was opened.
    pub expected: FileId,
    /// What has the path now.
    pub found: Option<FileId>,
    /// Place of the one that was opened, where the system tells.
    pub now: Option<PathBuf>,
}

/// A directory by its descriptor, and the path by which it was opened.
#[derive(Debug)]
pub(crate) struct HeldDirectory {
    descriptor: OwnedFd,
    /// Absolute: the process may go to another directory meanwhile.
    pub(crate) path: PathBuf,
    id: FileId,
}

impl HeldDirectory {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let descriptor = openat(CWD, path, DIRECTORY, Mode::empty())?;
        let id = FileId::of(&fstat(&descriptor)?);
        Ok(Self { descriptor, path: std::path::absolute(path)?, id })
    }

    /// Checks that its path still stands for it.
    pub(crate) fn check_place(&self) -> io::Result<()> {
        let found = match statat(CWD, &self.path, AtFlags::empty()) {
            Err(Errno::NOENT | Errno::NOTDIR) => None,
            found => Some(FileId::of(&found?)),
        };
        if found == Some(self.id) {
            return Ok(());
        }
        let (path, expected, now) = (self.path.clone(), self.id, self.place_now());
        Err(io::Error::other(DisplacedDirectory { path, expected, found, now }))
    }

    /// Its place now, for a message.
    fn place_now(&self) -> Option<PathBuf> {
        let link = format!("/proc/self/fd/{}", self.descriptor.as_raw_fd());
        let place = std::fs::read_link(link).ok()?;
        let found = FileId::of(&statat(CWD, &place, AtFlags::SYMLINK_NOFOLLOW).ok()?);
        (found == self.id).then_some(place)
    }
}

impl AsFd for HeldDirectory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
