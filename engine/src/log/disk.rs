//! The real disk.

use super::file_system;
use super::storage::{LockFile, RootState, Storage};
use holdpoint_log_files::storage::open_regular;
use holdpoint_log_files::{DirectoryStorage, ReadFile};
use holdpoint_log_format::{BootId, names};
use rustix::fs::{FallocateFlags, FlockOperation, Mode, OFlags, fallocate, flock, fstat, lstat};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;

/// Zeros are written in pieces of this many bytes where space cannot be reserved without.
const ZERO_PIECE: usize = 1 << 20;

impl Storage for DirectoryStorage {
    type Writer = File;
    type Lock = HeldLock;

    fn root(&self) -> &Path {
        self.root()
    }

    fn root_state(&self) -> io::Result<RootState> {
        match std::fs::symlink_metadata(self.root()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(RootState::Missing),
            Err(error) => Err(error),
            Ok(metadata) if metadata.is_symlink() => Ok(RootState::SymbolicLink),
            Ok(metadata) if metadata.is_dir() => Ok(RootState::Directory),
            Ok(_) => Ok(RootState::Other),
        }
    }

    fn unreliable_file_system(&self) -> io::Result<Option<&'static str>> {
        file_system::unreliable_kind(self.root())
    }

    fn create_directory(&self, path: &str) -> io::Result<()> {
        let path = self.path(path);
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent)?;
        }
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
            Ok(()) => sync_parent(&path),
        }
    }

    fn create(&self, path: &str, length: u64) -> io::Result<File> {
        let full = self.path(path);
        self.remove(path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = File::from(rustix::fs::open(&full, flags | OFlags::CLOEXEC, mode)?);
        reserve(&file, length).inspect_err(|_| drop(std::fs::remove_file(&full)))?;
        Ok(file)
    }

    fn open_writer(&self, path: &str) -> io::Result<File> {
        open_regular(&self.path(path), OFlags::RDWR)
    }

    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        // On Linux fdatasync; on macOS the standard library asks the drive itself (F_FULLFSYNC).
        file.sync_data()
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        File::open(self.path(path))?.sync_all()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        match std::fs::remove_file(self.path(path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn punch(&self, file: &File, offset: u64, length: u64) -> io::Result<()> {
        punch(file, offset, length)
    }

    fn try_lock(&self) -> io::Result<Option<HeldLock>> {
        let path = self.path(names::LOCK);
        loop {
            let file = open_lock(&path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(()) if is_named(&file, &path)? => return Ok(Some(HeldLock { file })),
                Ok(()) => {}
            }
        }
    }

    fn boot(&self) -> BootId {
        boot_id()
    }
}

/// The lock of a real directory: held while the file is open.
#[derive(Debug)]
pub struct HeldLock {
    file: File,
}

impl LockFile for HeldLock {
    fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; 4_096];
        let read = ReadFile::read_at(&self.file, 0, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, 0)
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    match open_regular(path, OFlags::RDWR) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mode = Mode::RUSR | Mode::WUSR;
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(File::from(rustix::fs::open(path, flags, mode)?))
        }
        other => other,
    }
}

/// Whether the locked file is still the one that the name stands for: somebody may have removed
/// and made it again between open and lock.
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    let held = fstat(file)?;
    match lstat(path) {
        Ok(named) => Ok(named.st_ino == held.st_ino && named.st_dev == held.st_dev),
        Err(rustix::io::Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

/// Reserves space, so that writing into it later cannot fail for want of it.
fn reserve(file: &File, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    #[cfg(target_os = "linux")]
    match fallocate(file, FallocateFlags::empty(), 0, length) {
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
        other => return Ok(other?),
    }
    write_zeros(file, length)
}

fn write_zeros(file: &File, length: u64) -> io::Result<()> {
    let zeros = vec![0; ZERO_PIECE];
    let mut written = 0;
    while written < length {
        let piece = usize::try_from(length - written).unwrap_or(ZERO_PIECE).min(ZERO_PIECE);
        file.write_all_at(zeros.get(..piece).unwrap_or_default(), written)?;
        written += piece as u64;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn punch(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match fallocate(file, flags, offset, length) {
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(not(target_os = "linux"))]
fn punch(_file: &File, _offset: u64, _length: u64) -> io::Result<()> {
    Ok(())
}

/// The kernel's random boot id; [`BootId::UNKNOWN`] where there is none.
#[must_use]
pub(crate) fn boot_id() -> BootId {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).map_or(BootId::UNKNOWN, |id| BootId(id.to_be_bytes()))
}
