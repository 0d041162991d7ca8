//! A directory that an approval is bound to: this very one, whatever name leads to it.

use crate::executor::visible;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A directory as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundDirectory {
    place: PathBuf,
    device: u64,
    inode: u64,
}

impl BoundDirectory {
    /// The directory to which this path leads now.
    ///
    /// # Errors
    /// There is none, or the system does not say.
    pub fn of(path: &Path) -> io::Result<Self> {
        let place = path.canonicalize()?;
        let metadata = place.metadata()?;
        if !metadata.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(Self { place, device: metadata.dev(), inode: metadata.ino() })
    }

    /// Its path, which no link is part of.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.place
    }

    /// Returns what tells it from every other directory, and from another one in its place.
    #[must_use]
    pub fn identity(&self) -> Vec<u8> {
        let numbers = [self.device.to_le_bytes(), self.inode.to_le_bytes()].concat();
        [&*numbers, self.place.as_os_str().as_bytes()].concat()
    }

    /// The same for a person, on one line.
    pub(super) fn shown(&self) -> String {
        let Self { place, device, inode } = self;
        format!("{} (device {device}, inode {inode})", visible(place.as_os_str()))
    }
}
