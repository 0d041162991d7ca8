//! The real disk.

use super::directory_board::DirectoryBoard;
use super::name_fault::NameState;
use super::owner_identity::{AsOwner, check_owned};
use super::run_file::{self, RunFile, RunFileStamp};
use super::storage::{Board, LockFile, RootState, Storage, WriteFile};
use crate::executor::begin_write_out;
use holdpoint_log_files::map::check_written_back;
use holdpoint_log_files::storage::is_locked;
use holdpoint_log_files::{
    DirectoryStorage, FileId, ReadFile, RunEntries, RunFileFault, file_system, is_recording_locked,
};
use holdpoint_log_format::limits::{LOCK_FILE_LENGTH, PAGE};
use holdpoint_log_format::{BootId, names};
use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FlockOperation, Mode, OFlags, chmodat, fallocate, fchmod, flock,
    fstat, lstat, mkdirat, openat, renameat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// Zeros are written in pieces of this many bytes, ahead of records and where space cannot be
/// reserved without. Pieces of 64, 16 and 4 KiB, of which the kernel makes small folios, gained
/// nothing for one and for eight durable writers (99.7, 102.3, 98.2 and 97.2 us; 24.8, 24.9, 24.4
/// and 24.7 us) and cost commits of 64 records up to a quarter (2.93, 3.08, 3.23 and 3.66 us a
/// record; ext4, medians of 15 rounds in turns).
const ZERO_PIECE: usize = 1 << 20;

/// Content of the file that tells a work tree of git that none of the log's files is to be
/// committed, this one included.
pub(super) const IGNORE_ALL: &[u8] = b"*\n";

impl Storage for DirectoryStorage {
    type Writer = File;
    type Lock = HeldLock;

    fn root(&self) -> &Path {
        self.root()
    }

    fn apart(self) -> Self {
        self.apart()
    }

    fn hold(&self) -> io::Result<()> {
        self.hold()
    }

    fn check_place(&self) -> io::Result<()> {
        self.check_place()
    }

    fn elsewhere(&self, path: &Path) -> Option<Self> {
        Some(Self::new(path))
    }

    fn free(&self) -> Option<u64> {
        self.free_bytes().ok()
    }

    fn root_state(&self) -> io::Result<RootState> {
        // Without a slash at its end, which would follow a link.
        let path: PathBuf = self.root().components().collect();
        match std::fs::symlink_metadata(path) {
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
        let _owner = AsOwner::of(self)?;
        if path.is_empty() {
            // What is held was there, and where it is not any more nothing is made.
            if !self.is_held() {
                make_directory(self.root())?;
            }
            return sync_ancestors(self.root());
        }
        self.at(path, make_one_directory)?;
        match is_shared(self)? {
            true => {
                self.at(path, |at, path| set_mode(at, path, Mode::RWXU | Mode::RWXG | Mode::SGID))
            }
            false => Ok(()),
        }
    }

    fn write_gitignore(&self) -> io::Result<()> {
        let _owner = AsOwner::of(self)?;
        let mode = file_mode(self)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = match open_as(self, names::GITIGNORE, flags, mode) {
            Ok(made) => made,
            // Whoever began to make this log and was killed may have left it empty.
            Err(Errno::EXIST) => match self.open_file(names::GITIGNORE, OFlags::WRONLY) {
                Ok(left) if left.length()? == 0 => left,
                _ => return Ok(()),
            },
            Err(error) => return Err(error.into()),
        };
        fchmod(&file, mode)?;
        file.write_all_at(IGNORE_ALL, 0)?;
        file.sync_data()
    }

    fn create(&self, path: &str, length: u64) -> io::Result<File> {
        let _owner = AsOwner::of(self)?;
        check_size_limit(length.max(PAGE))?;
        self.remove(path).map_err(directory_in_the_way)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = file_mode(self)?;
        let file = open_as(self, path, flags, mode)?;
        fchmod(&file, mode)?;
        reserve(&file, length).inspect_err(|_| drop(self.remove(path)))?;
        Ok(file)
    }

    fn open_writer(&self, path: &str) -> io::Result<File> {
        let _owner = AsOwner::of(self)?;
        let file = self.open_file(path, OFlags::RDWR)?;
        check_size_limit(file.length()?)?;
        Ok(file)
    }

    fn write_some_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        FileExt::write_at(file, bytes, offset)
    }

    fn write_zeros(&self, file: &File, offset: u64, length: u64) -> io::Result<()> {
        write_zeros(file, offset, length)
    }

    fn begin_write_out(&self, file: &File, offset: u64, length: u64) {
        begin_write_out(file, offset, length);
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        // On Linux fdatasync; on macOS the standard library asks the drive itself (F_FULLFSYNC).
        file.sync_data()
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        let _owner = AsOwner::of(self)?;
        File::from(self.open_directory(path)?).sync_all()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let _owner = AsOwner::of(self)?;
        let to_name = |at: BorrowedFd<'_>, from: &Path| {
            self.at(to, |to_at, to| renameat(at, from, to_at, to))
        };
        Ok(self.at(from, to_name)?)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        let _owner = AsOwner::of(self)?;
        match self.at(path, |at, path| unlinkat(at, path, AtFlags::empty())) {
            Err(Errno::NOENT) => Ok(()),
            other => Ok(other?),
        }
    }

    fn punch(&self, file: &File, offset: u64, length: u64) -> io::Result<()> {
        punch(file, offset, length)
    }

    fn try_lock(&self) -> io::Result<Option<HeldLock>> {
        check_owned(self)?;
        let _owner = AsOwner::of(self)?;
        try_lock_of(self, names::LOCK)
    }

    fn try_sync_lock(&self) -> io::Result<Option<HeldLock>> {
        let _owner = AsOwner::of(self)?;
        try_lock_of(self, names::SYNC)
    }

    fn board(&self) -> io::Result<Option<Arc<dyn Board>>> {
        let _owner = AsOwner::of(self)?;
        let file = open_lock(self, names::LOCK)?;
        Ok(Some(Arc::new(DirectoryBoard::new(file, self)?)))
    }

    fn check_written_back(&self, file: &File) -> io::Result<()> {
        check_written_back(file)
    }

    fn is_named(&self, path: &str, file: &File) -> io::Result<bool> {
        stands_for(self, path, FileId::of(&fstat(file)?))
    }

    fn id_of(&self, file: &File) -> io::Result<Option<FileId>> {
        Ok(Some(FileId::of(&fstat(file)?)))
    }

    fn name_state(&self, path: &str) -> io::Result<Option<NameState>> {
        match self.stat(path) {
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            found => Ok(Some(NameState::of(&found?))),
        }
    }

    fn lock_holder(&self, path: &str) -> Option<u32> {
        let named = self.stat(path).ok()?;
        holder_in(&std::fs::read_to_string("/proc/locks").ok()?, named.st_ino)
    }

    fn is_locked(&self) -> io::Result<bool> {
        is_locked(self)
    }

    fn begin_run(&self, loop_id: &str) -> io::Result<Option<RunFile>> {
        let _owner = AsOwner::of(self)?;
        run_file::begin(self, loop_id).map(Some)
    }

    fn take_run(&self, loop_id: &str) -> io::Result<Option<RunFile>> {
        let _owner = AsOwner::of(self)?;
        run_file::take(self, loop_id)
    }

    fn is_recorded(&self, loop_id: &str) -> io::Result<Option<bool>> {
        let _owner = AsOwner::of(self)?;
        is_recording_locked(self, loop_id)
    }

    fn is_foreign_run(&self, loop_id: &str) -> io::Result<bool> {
        let _owner = AsOwner::of(self)?;
        run_file::is_foreign(self, loop_id)
    }

    fn runs_changed(&self) -> io::Result<Option<(i64, i64)>> {
        run_file::changed(self)
    }

    fn run_stamp(&self, loop_id: &str) -> io::Result<Option<RunFileStamp>> {
        let _owner = AsOwner::of(self)?;
        run_file::stamp(self, loop_id)
    }

    fn run_entries(&self, loop_id: &str) -> Result<Option<RunEntries>, RunFileFault> {
        let _owner = AsOwner::of(self)?;
        run_file::entries(self, loop_id)
    }

    fn boot(&self) -> BootId {
        boot_id()
    }
}

impl WriteFile for File {
    fn try_lock(&self) -> io::Result<bool> {
        let lock = || flock(self, FlockOperation::NonBlockingLockExclusive);
        match rustix::io::retry_on_intr(lock) {
            Err(Errno::WOULDBLOCK) => Ok(false),
            other => Ok(other.map(|()| true)?),
        }
    }

    fn unlock(&self) -> io::Result<()> {
        Ok(flock(self, FlockOperation::Unlock)?)
    }
}

/// The lock of a real directory: held until it is dropped by the process that took it.
#[derive(Debug)]
pub struct HeldLock {
    file: File,
    named: LockName,
    owner: u32,
}

impl HeldLock {
    fn new(file: File, log: &DirectoryStorage, name: &'static str) -> io::Result<Self> {
        let named = LockName::new(&file, log, name)?;
        Ok(Self { file, named, owner: std::process::id() })
    }
}

impl Drop for HeldLock {
    /// Closing alone would leave the lock with a child that was forked meanwhile and has not yet
    /// become another program. Such a child must not give back what its parent holds.
    fn drop(&mut self) {
        if std::process::id() == self.owner {
            // The file is closed next, which releases the lock where this did not.
            let _ = WriteFile::unlock(&self.file);
        }
    }
}

impl LockFile for HeldLock {
    fn read(&self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; 4_096];
        let read = ReadFile::read_at(&self.file, 0, &mut bytes)?;
        bytes.truncate(read);
        Ok(bytes)
    }

    /// Somebody may have removed the file and made it again between open and lock, or later.
    fn has_its_name(&self) -> io::Result<bool> {
        self.named.has_its_name()
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, 0)?;
        let length = LOCK_FILE_LENGTH as u64;
        if self.file.length()? == length { Ok(()) } else { self.file.set_len(length) }
    }
}

/// Takes the lock of a file that is made where it is missing: of the one that the name stands for
/// when this returns.
fn try_lock_of(log: &DirectoryStorage, name: &'static str) -> io::Result<Option<HeldLock>> {
    loop {
        let file = open_lock(log, name)?;
        if !WriteFile::try_lock(&file)? {
            return Ok(None);
        }
        let lock = HeldLock::new(file, log, name)?;
        if lock.has_its_name()? {
            return Ok(Some(lock));
        }
    }
}

fn open_lock(log: &DirectoryStorage, name: &str) -> io::Result<File> {
    check_size_limit(PAGE)?;
    match log.open_file(name, OFlags::RDWR) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            log.check_place()?;
            let mode = file_mode(log)?;
            let file = open_as(log, name, OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW, mode)?;
            match fchmod(&file, mode) {
                // Another user of the group made it just now, and sees to it.
                Ok(()) | Err(Errno::PERM) => Ok(file),
                Err(error) => Err(error.into()),
            }
        }
        other => other,
    }
}

fn open_as(
    log: &DirectoryStorage,
    name: &str,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<File> {
    log.at(name, |at, path| openat(at, path, flags | OFlags::CLOEXEC, mode)).map(File::from)
}

/// Returns whether the log's directory may be written by its group: then so may every file in it,
/// whoever of the group makes it and whatever the umask. Otherwise all is for its owner alone.
fn is_shared(log: &DirectoryStorage) -> io::Result<bool> {
    Ok(Mode::from_raw_mode(log.own_stat()?.st_mode).contains(Mode::WGRP))
}

fn file_mode(log: &DirectoryStorage) -> io::Result<Mode> {
    let own = Mode::RUSR | Mode::WUSR;
    Ok(if is_shared(log)? { own | Mode::RGRP | Mode::WGRP } else { own })
}

/// The name of a lock file, which is relied on while that is open.
#[derive(Debug)]
pub(super) struct LockName {
    log: DirectoryStorage,
    name: &'static str,
    path: PathBuf,
    id: FileId,
}

impl LockName {
    pub(super) fn new(file: &File, log: &DirectoryStorage, name: &'static str) -> io::Result<Self> {
        let id = FileId::of(&fstat(file)?);
        Ok(Self { log: log.clone(), name, path: log.full_path(name), id })
    }

    /// Returns whether the name stands for the file, in the directory that has the log's path.
    pub(super) fn has_its_name(&self) -> io::Result<bool> {
        // The path leads to it through that directory: one look tells both.
        if lstat(&self.path).is_ok_and(|found| FileId::of(&found) == self.id) {
            return Ok(true);
        }
        self.log.check_place()?;
        stands_for(&self.log, self.name, self.id)
    }
}

/// Returns whether a name stands for a file.
fn stands_for(log: &DirectoryStorage, name: &str, file: FileId) -> io::Result<bool> {
    match log.stat(name) {
        Ok(named) => Ok(FileId::of(&named) == file),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Makes a directory and its missing parents, owner only whatever the umask, each name durable.
fn make_directory(path: &Path) -> io::Result<()> {
    match make_one_directory(CWD, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_directory(named_parent(path).ok_or(error)?)?;
            make_one_directory(CWD, path)
        }
        other => other,
    }
}

/// Sets the mode of a directory through a descriptor of it: whatever takes its name meanwhile, a
/// link too, keeps its own.
fn set_mode(at: BorrowedFd<'_>, path: &Path, mode: Mode) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(at, path, flags, Mode::empty()) {
        Ok(directory) => Ok(fchmod(directory, mode)?),
        // A umask took even the owner's own rights away. What was opened has its mode set, whatever
        // its name stands for by now.
        Err(Errno::ACCESS) => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let directory = openat(at, path, flags, Mode::empty())?;
            let opened = format!("/proc/self/fd/{}", directory.as_raw_fd());
            Ok(chmodat(CWD, opened, mode, AtFlags::empty())?)
        }
        Err(error) => Err(error.into()),
    }
}

fn make_one_directory(at: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    match mkdirat(at, path, Mode::RWXU) {
        Err(Errno::EXIST) => sync_parent_if_allowed(at, path),
        Err(error) => Err(error.into()),
        Ok(()) => {
            set_mode(at, path, Mode::RWXU)?;
            sync_parent(at, path)
        }
    }
}

/// Somebody else made the directory, and perhaps did not make its name durable. Where we may not
/// read its parent, that stays with whoever made it.
fn sync_parent_if_allowed(at: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    match sync_parent(at, path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

/// Directories above the log may have been made by somebody who failed, or was killed, before their
/// names were durable: an earlier attempt to make this very log, for one.
fn sync_ancestors(path: &Path) -> io::Result<()> {
    let device = lstat(path)?.st_dev;
    for ancestor in path.ancestors().skip(1).filter(|ancestor| !ancestor.as_os_str().is_empty()) {
        // What another file system holds was not made with this log.
        if lstat(ancestor)?.st_dev != device {
            return Ok(());
        }
        match sync_parent(CWD, ancestor) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
            other => other?,
        }
    }
    Ok(())
}

/// Explains the error of a directory in the place of a file that is made anew; a directory is
/// nothing that a log made.
fn directory_in_the_way(error: io::Error) -> io::Error {
    match error.kind() {
        kind @ io::ErrorKind::IsADirectory => io::Error::new(
            kind,
            "a directory has the name of this file, which is made anew: move it away, or remove it",
        ),
        _ => error,
    }
}

fn sync_parent(at: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let parent = openat(at, named_parent(path).unwrap_or(Path::new(".")), flags, Mode::empty())?;
    File::from(parent).sync_all()
}

fn named_parent(path: &Path) -> Option<&Path> {
    path.parent().filter(|parent| !parent.as_os_str().is_empty())
}

/// Writing beyond the process's file-size limit raises a signal that ends it. It is found out here
/// instead, before anything is written, and reported as what it is to the log: no space.
fn check_size_limit(length: u64) -> io::Result<()> {
    match getrlimit(Resource::Fsize).current {
        Some(limit) if limit < length => Err(io::ErrorKind::FileTooLarge.into()),
        _ => Ok(()),
    }
}

/// Reserves space, so that writing into it later cannot fail for want of it. A signal may interrupt
/// that on some file systems (tmpfs), and then nothing was reserved.
fn reserve(file: &File, length: u64) -> io::Result<()> {
    if length == 0 {
        return Ok(());
    }
    #[cfg(target_os = "linux")]
    match rustix::io::retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, length)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
        other => return Ok(other?),
    }
    write_zeros(file, 0, length)
}

fn write_zeros(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let zeros = vec![0; usize::try_from(length).unwrap_or(ZERO_PIECE).min(ZERO_PIECE)];
    let mut written = 0;
    while written < length {
        let piece = usize::try_from(length - written).unwrap_or(ZERO_PIECE).min(ZERO_PIECE);
        file.write_all_at(zeros.get(..piece).unwrap_or_default(), offset + written)?;
        written += piece as u64;
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn punch(file: &File, offset: u64, length: u64) -> io::Result<()> {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    match rustix::io::retry_on_intr(|| fallocate(file, flags, offset, length)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        other => Ok(other?),
    }
}

#[cfg(not(target_os = "linux"))]
fn punch(_file: &File, _offset: u64, _length: u64) -> io::Result<()> {
    Ok(())
}

/// The process that the kernel's table of locks names for a locked file, by its inode:
/// `1: FLOCK  ADVISORY  WRITE 14871 fe:00:2883589 0 EOF`. A process of another namespace has no
/// number here.
fn holder_in(table: &str, inode: u64) -> Option<u32> {
    let holders = table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, file, ..] = words.as_slice() else { return None };
        let locked: u64 = file.rsplit(':').next()?.parse().ok()?;
        pid.parse().ok().filter(|pid: &u32| locked == inode && *pid != 0)
    });
    holders.into_iter().next()
}

/// The kernel's random boot id, read once: no process outlives its boot. [`BootId::UNKNOWN`] where
/// there is none.
#[must_use]
pub(crate) fn boot_id() -> BootId {
    static BOOT: LazyLock<BootId> = LazyLock::new(|| {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
        u128::from_str_radix(&digits, 16).map_or(BootId::UNKNOWN, |id| BootId(id.to_be_bytes()))
    });
    *BOOT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_read_from_the_kernels_table() {
        let table = "1: POSIX  ADVISORY  WRITE 7 fe:00:42 0 EOF\n\
                     2: FLOCK  ADVISORY  READ 8 fe:00:42 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 9 fe:00:42 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 0 fe:00:42 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 14871 fe:00:42 0 EOF\n";
        assert_eq!(holder_in(table, 42), Some(14_871));
        assert_eq!(holder_in(table, 43), None);
        assert_eq!(holder_in("garbage\n\n1: FLOCK", 42), None);
    }
}
