//! The few calls made on a disk to read a log, and the real directory behind them.

use crate::joined::ArchivePlaces;
use crate::mapped::{Mapped, Maps};
use holdpoint_log_format::names;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, lstat, openat};
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reading calls on one log's directory. Paths are relative to it, with `/` between the parts.
pub trait ReadStorage {
    /// An open file.
    type File: ReadFile + Send;

    /// The entries of a directory, in any order; `""` is the log's own. A missing directory has no
    /// entries.
    ///
    /// # Errors
    /// What the disk says; a name inside that is no directory is [`io::ErrorKind::InvalidInput`],
    /// links are not followed.
    fn list(&self, directory: &str) -> io::Result<Vec<Entry>>;

    /// Opens a regular file; `None` when there is no such name.
    ///
    /// # Errors
    /// What the disk says; a name that is not a regular file, or lies in what is no directory, is
    /// [`io::ErrorKind::InvalidInput`], links are not followed.
    fn open(&self, path: &str) -> io::Result<Option<Self::File>>;

    /// Where the segments lie that are not in the log's own directory.
    fn archives(&self) -> ArchivePlaces {
        ArchivePlaces::default()
    }

    /// Opens a segment's file for reads here and there, mapped where that can be.
    ///
    /// # Errors
    /// As [`ReadStorage::open`].
    fn open_mapped(&self, path: &str) -> io::Result<Option<Mapped<Self::File>>> {
        Ok(self.open(path)?.map(Mapped::File))
    }
}

/// A file open for reading at any offset, by several threads at once.
pub trait ReadFile: Sync {
    /// Its length in bytes now.
    ///
    /// # Errors
    /// What the disk says.
    fn length(&self) -> io::Result<u64>;

    /// Reads at `offset` as the system does: it may read fewer bytes than `buffer.len()`, or say
    /// [`io::ErrorKind::Interrupted`] and have read none. None without an error is the end of the
    /// file.
    ///
    /// # Errors
    /// What the disk says.
    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// So many bytes from `offset` on, where this process holds all of them in memory that nobody
    /// else can change. `None`: they have to be read.
    fn held(&self, offset: u64, length: u64) -> Option<&[u8]> {
        let _ = (offset, length);
        None
    }

    /// Reads up to `buffer.len()` bytes at `offset`; fewer only at the end of the file.
    ///
    /// # Errors
    /// What the disk says.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read_some_at(offset.saturating_add(filled as u64), rest) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }

    /// What changes whenever somebody writes to the file or cuts it, as far as the system tells;
    /// `None` where nobody else can. Of a real file: its length, and the time of its last change.
    ///
    /// # Errors
    /// What the disk says.
    fn stamp(&self) -> io::Result<Option<Stamp>> {
        Ok(None)
    }
}

/// The state that a file's bytes are in: with the same stamp they are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    length: u64,
    /// Seconds and nanoseconds: a time that nobody can set.
    changed: (i64, i64),
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name; bytes that are not UTF-8 are shown as replacement characters, and such a name is
    /// never one of a log's.
    pub name: String,
    /// What it is.
    pub kind: EntryKind,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A link, socket, device or anything else.
    Other,
}

/// A log's directory on a real file system.
#[derive(Clone, Debug)]
pub struct DirectoryStorage {
    root: PathBuf,
    maps: Arc<Maps>,
}

impl DirectoryStorage {
    /// The directory at `root`, which need not exist.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), maps: Arc::default() }
    }

    /// The directory's path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// How many bytes the disk still has for this user, where the directory is or would be made.
    ///
    /// # Errors
    /// What the disk says.
    pub fn free_bytes(&self) -> io::Result<u64> {
        let is_there = |path: &&Path| path.exists();
        let named = self.root.ancestors().filter(|path| !path.as_os_str().is_empty());
        let place = named.into_iter().find(is_there).unwrap_or(Path::new("."));
        let disk = rustix::fs::statvfs(place)?;
        Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// The path of a name inside.
    #[must_use]
    pub fn path(&self, relative: &str) -> PathBuf {
        if relative.is_empty() { self.root.clone() } else { self.root.join(relative) }
    }

    /// That a name lies in a directory.
    fn check_place(&self, path: &str) -> io::Result<()> {
        self.check_directory(path.rsplit_once('/').map_or("", |(directory, _)| directory))
    }

    /// That a name inside is a directory, if it is there. The root is the caller's to choose.
    fn check_directory(&self, name: &str) -> io::Result<()> {
        if name.is_empty() {
            return Ok(());
        }
        match lstat(self.path(name)) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) != FileType::Directory => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a directory"))
            }
            // Whoever goes on to read it is told by the disk what else is wrong.
            _ => Ok(()),
        }
    }
}

impl ReadStorage for DirectoryStorage {
    type File = File;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        self.check_directory(directory)?;
        let entries = match std::fs::read_dir(self.path(directory)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        // A name that went away while the list was read is not in it.
        let is_there = |entry: &io::Result<Entry>| {
            entry.as_ref().err().is_none_or(|error| error.kind() != io::ErrorKind::NotFound)
        };
        entries.map(|entry| entry_of(&entry?)).filter(is_there).collect()
    }

    fn open(&self, path: &str) -> io::Result<Option<File>> {
        self.check_place(path)?;
        match open_regular(&self.path(path), OFlags::RDONLY) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn open_mapped(&self, path: &str) -> io::Result<Option<Mapped<File>>> {
        self.check_place(path)?;
        // Whoever follows a log looks at the same file again and again: one call instead of five.
        let found = lstat(self.path(path)).ok().filter(is_regular);
        if let Some(known) = found.and_then(|found| self.maps.known(&found)) {
            return Ok(Some(known));
        }
        self.open(path)?.map(|file| self.maps.of(file)).transpose()
    }
}

/// Whether another process holds LOCK for writing. Asks with a shared lock that is given back at
/// once and waits for nothing. Where there is no LOCK, or something else than a file has its name,
/// nobody writes.
///
/// # Errors
/// What the disk says: whether somebody writes is not known then.
pub fn is_locked(storage: &DirectoryStorage) -> io::Result<bool> {
    let lock = match storage.open(names::LOCK) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => None,
        opened => opened?,
    };
    match lock.map(|lock| lock.try_lock_shared()) {
        None | Some(Ok(())) => Ok(false),
        Some(Err(TryLockError::WouldBlock)) => Ok(true),
        Some(Err(TryLockError::Error(error))) => Err(error),
    }
}

/// Opens a regular file without following a link, without waiting on a pipe.
///
/// # Errors
/// What the disk says; anything that is not a regular file.
pub fn open_regular(path: &Path, access: OFlags) -> io::Result<File> {
    let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened: OwnedFd = openat(CWD, path, flags, Mode::empty()).map_err(|error| {
        let is_link = lstat(path).is_ok_and(|stat| !is_regular(&stat));
        if is_link { not_regular() } else { io::Error::from(error) }
    })?;
    if is_regular(&fstat(&opened)?) { Ok(File::from(opened)) } else { Err(not_regular()) }
}

fn is_regular(stat: &rustix::fs::Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

fn entry_of(entry: &std::fs::DirEntry) -> io::Result<Entry> {
    let kind = match entry.file_type()? {
        kind if kind.is_file() => EntryKind::File,
        kind if kind.is_dir() => EntryKind::Directory,
        _ => EntryKind::Other,
    };
    let name = entry.file_name().into_string();
    let name = name.unwrap_or_else(|other| other.to_string_lossy().into_owned());
    Ok(Entry { name, kind })
}

impl ReadFile for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn stamp(&self) -> io::Result<Option<Stamp>> {
        let now = self.metadata()?;
        let changed = (now.ctime(), now.ctime_nsec());
        Ok(Some(Stamp { length: now.len(), changed }))
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }
}

impl<F: ReadFile + ?Sized> ReadFile for Box<F> {
    fn length(&self) -> io::Result<u64> {
        (**self).length()
    }

    fn stamp(&self) -> io::Result<Option<Stamp>> {
        (**self).stamp()
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        (**self).read_some_at(offset, buffer)
    }
}

/// So many bytes from `offset` on, where there are as many.
pub fn held_in(bytes: &[u8], offset: u64, length: u64) -> Option<&[u8]> {
    let end = usize::try_from(offset.checked_add(length)?).ok()?;
    bytes.get(usize::try_from(offset).ok()?..end)
}

/// A private copy of a file.
impl ReadFile for Vec<u8> {
    fn length(&self) -> io::Result<u64> {
        self.as_slice().length()
    }

    fn held(&self, offset: u64, length: u64) -> Option<&[u8]> {
        held_in(self, offset, length)
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_some_at(offset, buffer)
    }
}

/// Bytes that stand for a file.
impl ReadFile for &[u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn held(&self, offset: u64, length: u64) -> Option<&[u8]> {
        held_in(self, offset, length)
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..));
        let mut rest = rest.unwrap_or_default();
        rest.read(buffer)
    }
}
