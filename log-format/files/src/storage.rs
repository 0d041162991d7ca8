//! The few calls made on a disk to read a log, and the real directory behind them.

use crate::held::{DIRECTORY, HeldDirectory};
use crate::joined::ArchivePlaces;
use crate::mapped::{Mapped, Maps};
use holdpoint_log_format::names;
use rustix::fs::{
    AtFlags, CWD, Dir, DirEntry, FileType, Mode, OFlags, Stat, fstat, openat, statat,
};
use rustix::io::Errno;
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

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

    /// Returns where the segments lie that are not in the log's own directory.
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

    /// Returns what changes whenever somebody writes to the file or cuts it, as far as the system
    /// tells; `None` where nobody else can. Of a real file: its length, and the time of its last
    /// change.
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
    /// Kind of the entry.
    pub kind: EntryKind,
}

/// Kind of what a name stands for.
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
    /// The directory that is used, whatever has its name by now: of this one and all its clones.
    held: Arc<RwLock<Option<Arc<HeldDirectory>>>>,
}

impl DirectoryStorage {
    /// The directory at `root`, which need not exist.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), maps: Arc::default(), held: Arc::default() }
    }

    /// The directory that is at `root` now: all that is done is done to this one, though another
    /// log takes its place meanwhile. Where there is none, to whichever comes there.
    #[must_use]
    pub fn holding(root: impl Into<PathBuf>) -> Self {
        let storage = Self::new(root);
        // Whoever reads finds out that nothing is there.
        let _ = storage.hold();
        storage
    }

    /// The same directory, for one user alone: it holds what it chooses, and no clone does.
    #[must_use]
    pub fn apart(self) -> Self {
        Self { held: Arc::default(), ..self }
    }

    /// Uses the directory that is at the root now, from here on, in all clones.
    ///
    /// # Errors
    /// There is none that can be opened: then whichever is there at each call is used.
    pub fn hold(&self) -> io::Result<()> {
        let opened = HeldDirectory::open(&self.root).map(Arc::new);
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        *held = opened.as_ref().ok().cloned();
        opened.map(drop)
    }

    /// Checks that the directory that is held, if one is, is still the one at the root.
    ///
    /// # Errors
    /// A [`DisplacedDirectory`](crate::held::DisplacedDirectory), or what the disk says.
    pub fn check_place(&self) -> io::Result<()> {
        self.held_directory().map_or(Ok(()), |held| held.check_place())
    }

    /// Returns whether a directory is held.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.held_directory().is_some()
    }

    /// Returns whether a name inside is there and stands for no directory. A link is not followed.
    #[must_use]
    pub fn is_other_than_directory(&self, name: &str) -> bool {
        self.check_directory(name).is_err()
    }

    /// The number of the user that owns the directory.
    ///
    /// # Errors
    /// What the disk says.
    pub fn owner(&self) -> io::Result<u32> {
        Ok(self.own_stat()?.st_uid)
    }

    /// A look at the directory itself.
    ///
    /// # Errors
    /// What the disk says.
    pub fn own_stat(&self) -> rustix::io::Result<Stat> {
        self.at("", |at, path| statat(at, path, AtFlags::empty()))
    }

    /// A look at a name inside. A link is not followed.
    ///
    /// # Errors
    /// What the disk says.
    pub fn stat(&self, relative: &str) -> rustix::io::Result<Stat> {
        self.at(relative, |at, path| statat(at, path, AtFlags::SYMLINK_NOFOLLOW))
    }

    /// A directory inside, opened once more; `""` is the log's own.
    ///
    /// # Errors
    /// What the disk says.
    pub fn open_directory(&self, relative: &str) -> io::Result<OwnedFd> {
        Ok(self.at(relative, |at, path| openat(at, path, DIRECTORY, Mode::empty()))?)
    }

    /// Opens a regular file inside, as [`open_regular`] does.
    ///
    /// # Errors
    /// As [`open_regular`].
    pub fn open_file(&self, relative: &str, access: OFlags) -> io::Result<File> {
        self.at(relative, |at, path| open_regular_at(at, path, access))
    }

    fn held_directory(&self) -> Option<Arc<HeldDirectory>> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs a call on a name inside: in the directory that is held, if one is.
    pub fn at<T>(&self, relative: &str, call: impl FnOnce(BorrowedFd<'_>, &Path) -> T) -> T {
        match (self.held_directory(), relative) {
            (Some(held), "") => call(held.as_fd(), Path::new(".")),
            (Some(held), name) => call(held.as_fd(), Path::new(name)),
            (None, name) => call(CWD, &self.path(name)),
        }
    }

    /// The directory's path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Counts the bytes the disk still has for this user, where the directory is or would be made.
    ///
    /// # Errors
    /// What the disk says.
    pub fn free_bytes(&self) -> io::Result<u64> {
        if let Some(held) = self.held_directory() {
            return Ok(free_of(&rustix::fs::fstatvfs(&*held)?));
        }
        let is_there = |path: &&Path| path.exists();
        let named = self.root.ancestors().filter(|path| !path.as_os_str().is_empty());
        let place = named.into_iter().find(is_there).unwrap_or(Path::new("."));
        Ok(free_of(&rustix::fs::statvfs(place)?))
    }

    /// The path of a name inside.
    #[must_use]
    pub fn path(&self, relative: &str) -> PathBuf {
        if relative.is_empty() { self.root.clone() } else { self.root.join(relative) }
    }

    /// The path of a name inside, from the root of the file system where the directory is held.
    #[must_use]
    pub fn full_path(&self, relative: &str) -> PathBuf {
        self.held_directory().map_or_else(|| self.path(relative), |held| held.path.join(relative))
    }

    /// Checks that a name lies in a directory.
    fn check_parent(&self, path: &str) -> io::Result<()> {
        self.check_directory(path.rsplit_once('/').map_or("", |(directory, _)| directory))
    }

    /// Checks that a name inside is a directory, if it is there. The root is the caller's to
    /// choose.
    fn check_directory(&self, name: &str) -> io::Result<()> {
        if name.is_empty() {
            return Ok(());
        }
        match self.stat(name) {
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
        let opened = self.at(directory, |at, path| openat(at, path, DIRECTORY, Mode::empty()));
        let opened = match opened {
            Err(Errno::NOENT) => return Ok(Vec::new()),
            other => other?,
        };
        let place = rustix::io::dup(&opened)?;
        let entries = Dir::new(opened)?.map(|entry| entry_of(&place, &entry?));
        // A name that went away while the list was read is not in it.
        entries.filter_map(Result::transpose).collect()
    }

    fn open(&self, path: &str) -> io::Result<Option<File>> {
        self.check_parent(path)?;
        match self.open_file(path, OFlags::RDONLY) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn open_mapped(&self, path: &str) -> io::Result<Option<Mapped<File>>> {
        self.check_parent(path)?;
        // Whoever follows a log looks at the same file again and again: one call instead of five.
        let found = self.stat(path).ok().filter(is_regular);
        if let Some(known) = found.and_then(|found| self.maps.known(&found)) {
            return Ok(Some(known));
        }
        self.open(path)?.map(|file| self.maps.of(file)).transpose()
    }
}

/// Returns whether another process holds LOCK for writing. Asks with a shared lock that is given
/// back at once and waits for nothing. Where there is no LOCK, or something else than a file has
/// its name, nobody writes.
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

fn free_of(disk: &rustix::fs::StatVfs) -> u64 {
    disk.f_bavail.saturating_mul(disk.f_frsize)
}

/// Opens a regular file without following a link, without waiting on a pipe.
///
/// # Errors
/// What the disk says; anything that is not a regular file.
pub fn open_regular(path: &Path, access: OFlags) -> io::Result<File> {
    open_regular_at(CWD, path, access)
}

fn open_regular_at(at: BorrowedFd<'_>, path: &Path, access: OFlags) -> io::Result<File> {
    let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened: OwnedFd = openat(at, path, flags, Mode::empty()).map_err(|error| {
        let found = statat(at, path, AtFlags::SYMLINK_NOFOLLOW);
        let is_link = found.is_ok_and(|stat| !is_regular(&stat));
        if is_link { not_regular() } else { io::Error::from(error) }
    })?;
    if is_regular(&fstat(&opened)?) { Ok(File::from(opened)) } else { Err(not_regular()) }
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

/// An entry of a directory; `None` where it is gone by now, and of the two that every one has.
fn entry_of(directory: &OwnedFd, entry: &DirEntry) -> io::Result<Option<Entry>> {
    let name = entry.file_name();
    if matches!(name.to_bytes(), b"." | b"..") {
        return Ok(None);
    }
    let kind = match entry.file_type() {
        FileType::Unknown => match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            found => FileType::from_raw_mode(found?.st_mode),
        },
        kind => kind,
    };
    let kind = match kind {
        FileType::RegularFile => EntryKind::File,
        FileType::Directory => EntryKind::Directory,
        _ => EntryKind::Other,
    };
    Ok(Some(Entry { name: name.to_string_lossy().into_owned(), kind }))
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
