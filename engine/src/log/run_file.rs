//! The file of a run under way: locked for as long as the process that records the run lives, or
//! its guard. Whoever can take the lock knows that both are gone.
//!
//! Its recorder, and its guard after it, append to it what the log's lock did not let them put on
//! the log: signed entries, which the next writer takes up.
//!
//! # Invariants
//!
//! - A file is made, and its lock tried by others, within turns only: nobody comes between the
//!   making and the locking of one.
//! - Its first line is for people and never believed; what follows counts as far as it is signed.
//! - Links are not followed, and what is no regular file of one name is not opened.
//! - An entry is durable, and reachable under the file's name, before its writer relies on it.

use super::disk::boot_id;
use super::owner_identity::AsOwner;
use super::storage::Storage;
use holdpoint_log_files::{
    DirectoryStorage, FileId, RunEntries, RunFileFault, hold_recording_lock, is_recording_locked,
    outcome_of,
};
use holdpoint_log_format::limits::{OUTCOME_FILE_MAX, RUN_ENTRY_HEADER_LENGTH};
use holdpoint_log_format::{EntryHeader, EntryKind, RunKey, RunStart, names, outcome_file};
use rustix::fs::{
    FallocateFlags, FileType, FlockOperation, Mode, OFlags, Timespec, Timestamps, UTIME_NOW,
    fallocate, fchmod, fdatasync, flock, fstat, fsync, ftruncate, futimens, openat,
};
use rustix::io::{Errno, retry_on_intr};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Number of times the lock of a file that was just made is tried: whoever only looks at it gives
/// it back at once.
const TRIES: u32 = 100;
/// Time that between two tries.
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Space that a run's file holds from the beginning, for an end on a disk that is full by then.
const RESERVED: u64 = 64 * 1024;

/// Flags with which a file is made.
const NEW_FILE: OFlags = OFlags::RDWR
    .union(OFlags::APPEND)
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Nobody but its owner reads or writes it.
const NEW_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// A run's own file, locked.
#[derive(Debug)]
pub struct RunFile {
    file: Arc<OwnedFd>,
    /// The directory that it lies in: touched with each entry, so that other writers notice.
    directory: Arc<OwnedFd>,
    /// Lock that says that the run's recorder lives, whatever becomes of the file: its recorder has
    /// it.
    recording: Option<Arc<OwnedFd>>,
    log: DirectoryStorage,
    /// Its name in the log's directory.
    name: String,
    /// The user number of whoever it belonged to when it was opened here.
    owner: u32,
    /// Place where it ends as far as it was written here.
    end: AtomicU64,
}

/// Room of a run's file that an entry may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The room that is held for the end of the run, too.
    Reserved,
    /// Only what is left beside it.
    BesideReserved,
}

/// A name in the directory of the runs' files, without a look into the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunFileStamp {
    /// The inode: another file under the same name has another one.
    pub inode: u64,
    /// Its length in bytes.
    pub length: u64,
}

impl RunFile {
    /// The lock belongs to the open file: whoever inherits this descriptor holds it as well.
    #[must_use]
    pub fn descriptor(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.file)
    }

    /// Returns what waits in it, where it is the file of an outcome: see [`outcome_of`].
    ///
    /// # Errors
    /// As [`outcome_of`].
    pub fn outcome(&self) -> Result<(u32, Option<Vec<u8>>), RunFileFault> {
        outcome_of(&File::from(self.file.try_clone()?))
    }

    /// The directory of the runs' files, for whoever appends through a descriptor alone: see
    /// [`append_entry`].
    #[must_use]
    pub fn directory(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.directory)
    }

    /// Returns what says that the run is recorded, for as long as it is open anywhere, where this
    /// is its recorder.
    #[must_use]
    pub fn recording_lock(&self) -> Option<Arc<OwnedFd>> {
        self.recording.clone()
    }

    /// Appends an entry, syncs it, and lets other writers notice.
    ///
    /// # Errors
    /// What the disk says, a full one as [`io::ErrorKind::StorageFull`]; and that the name stands
    /// for another file by now, so that nobody would find the entry, or that somebody else wrote
    /// into the file. Nothing was kept then.
    pub fn append(
        &self,
        key: &RunKey,
        start: &RunStart,
        (kind, number): (EntryKind, u64),
        payload: &[u8],
        room: Room,
    ) -> io::Result<()> {
        let end = self.end.load(Ordering::Relaxed);
        if length(&*self.file)? != end {
            // Nobody would believe an entry behind what somebody else wrote.
            return Err(io::Error::other("somebody else wrote into it"));
        }
        if room == Room::BesideReserved {
            reserve(&*self.file, end, payload.len() as u64)?;
        }
        let appended =
            append_at_end(&self.file, &self.directory, key, start, (kind, number), payload)
                .and_then(|()| self.check_reach())
                .and_then(|()| length(&*self.file));
        let end = appended.inspect_err(|_| drop(cut_back(&*self.file, end)))?;
        self.end.store(end, Ordering::Relaxed);
        Ok(())
    }

    /// Checks that the next writer takes up what waits in it: its name stands for it and nothing
    /// else does, in the log's own directory of such files, and it belongs to whoever made it.
    ///
    /// # Errors
    /// Why not, or what the disk says.
    pub fn check_reach(&self) -> io::Result<()> {
        self.log.check_place()?;
        let place = self.log.stat(names::RUNS)?;
        if FileId::of(&place) != FileId::of(&fstat(&*self.directory)?) {
            return Err(io::Error::other("something else is in the place of `runs/`"));
        }
        check_names(&*self.file, &self.log, &self.name)?;
        let found = fstat(&*self.file)?.st_uid;
        let other = || io::Error::other(format!("it belongs to user number {found} by now"));
        (found == self.owner).then_some(()).ok_or_else(other)
    }

    /// Takes away all entries: the log has them, durably.
    ///
    /// # Errors
    /// What the disk says.
    pub fn clear(&self) -> io::Result<()> {
        let entries = self.entries().map_err(io::Error::other)?;
        if !entries.is_at_end() {
            if !entries.has_line() {
                return Err(io::Error::other("somebody else wrote into it"));
            }
            cut_back(&*self.file, entries.offset())?;
        }
        self.end.store(length(&*self.file)?, Ordering::Relaxed);
        Ok(())
    }

    /// The entries in it.
    ///
    /// # Errors
    /// It has other names, or the disk does not give it.
    pub fn entries(&self) -> Result<RunEntries, RunFileFault> {
        RunEntries::of(File::from(self.file.try_clone()?))
    }

    /// Makes the name of the file durable. That is due before the start of the run is: a run on the
    /// log without its file is nobody's to end.
    ///
    /// # Errors
    /// What the disk says.
    pub fn persist(&self) -> io::Result<()> {
        Ok(fsync(&*self.directory)?)
    }

    /// Removes the file of a run whose end is on the log, where its name stands for nothing else by
    /// now. Where that fails, the next writer does it.
    pub fn remove(self) {
        let owner = AsOwner::of(&self.log);
        if owner.is_ok() && check_names(&*self.file, &self.log, &self.name).is_ok() {
            let _ = self.log.remove(&self.name);
        }
    }
}

/// Appends one entry of a guard, behind the last one that its recorder wrote whole.
///
/// A guard has no path and knows no rule: it is handed, while the recorder lives, the descriptors
/// of [`RunFile::descriptor`] and [`RunFile::directory`] (with
/// [`Guard::holding`](crate::executor::Guard::holding)), the key's seed and the start, as the run's
/// seat gives them when it makes the command. Once its recorder is gone it ends what still runs,
/// encodes [`GuardFacts`](holdpoint_log_format::GuardFacts), and calls this with
/// [`EntryKind::GuardFacts`] before it gives up the file's lock.
///
/// # Errors
/// What the disk says: then the end is lost.
pub fn append_entry(
    file: &Arc<OwnedFd>,
    directory: impl AsFd,
    key: &RunKey,
    start: &RunStart,
    kind: EntryKind,
    payload: &[u8],
) -> io::Result<()> {
    let (mut number, public) = (1_u64, key.public());
    // What somebody else wrote into it is left as it is: the entry is found behind that.
    if let Ok(mut entries) = RunEntries::of(File::from(file.try_clone()?)) {
        let end = loop {
            match entries.next(start, &public) {
                Ok(Some(entry)) => number = entry.number.saturating_add(1),
                Ok(None) => break Some(entries.offset()).filter(|_| !entries.is_at_end()),
                Err(_) => break None,
            }
        };
        if let Some(end) = end {
            // Its recorder was killed while it wrote.
            cut_back(file, end)?;
        }
    }
    append_at_end(file, directory, key, start, (kind, number), payload)
}

/// Cuts a file back, and makes the room for the end again, which that gave away.
fn cut_back(file: impl AsFd, end: u64) -> io::Result<()> {
    ftruncate(&file, end)?;
    let _ = reserve(&file, end, 0);
    Ok(())
}

/// Reserves room for so many bytes behind `end`, and for the end of the run behind them. A file
/// system that reserves nothing tells when the bytes are written.
fn reserve(file: impl AsFd, end: u64, bytes: u64) -> io::Result<()> {
    let room = bytes.saturating_add(RUN_ENTRY_HEADER_LENGTH as u64).saturating_add(RESERVED);
    match retry_on_intr(|| fallocate(&file, FallocateFlags::KEEP_SIZE, end, room)) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        other => Ok(other?),
    }
}

fn append_at_end(
    file: &Arc<OwnedFd>,
    directory: impl AsFd,
    key: &RunKey,
    start: &RunStart,
    (kind, number): (EntryKind, u64),
    payload: &[u8],
) -> io::Result<()> {
    let too_long = || io::Error::from(io::ErrorKind::FileTooLarge);
    let header = EntryHeader::of(kind, number, *start, payload).ok_or_else(too_long)?;
    let entry = [&header.encode(key)[..], payload].concat();
    // One call: a writer that is killed leaves all of it or a beginning.
    let mut file = File::from(file.try_clone()?);
    file.write_all(&entry)?;
    fdatasync(&file)?;
    touch(directory)
}

/// Says that something in a directory changed, where no name in it does.
fn touch(directory: impl AsFd) -> io::Result<()> {
    // Both times: then whoever may write in the directory may do this, and not its owner alone.
    let now = || Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    Ok(futimens(directory, &Timestamps { last_access: now(), last_modification: now() })?)
}

/// Returns when something in the directory of the runs' files changed last; `None` where there is
/// none.
pub(super) fn changed(storage: &DirectoryStorage) -> io::Result<Option<(i64, i64)>> {
    match storage.stat(names::RUNS) {
        Ok(place) => {
            #[allow(clippy::useless_conversion, reason = "its width differs between systems")]
            let nanoseconds = i64::try_from(place.st_mtime_nsec).unwrap_or(0);
            Ok(Some((place.st_mtime, nanoseconds)))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The stamp of a run's file; `None` where there is none.
pub(super) fn stamp(storage: &DirectoryStorage, loop_id: &str) -> io::Result<Option<RunFileStamp>> {
    match storage.stat(&names::run(loop_id)) {
        Ok(stat) => {
            let length = u64::try_from(stat.st_size).unwrap_or(0);
            Ok(Some(RunFileStamp { inode: stat.st_ino, length }))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The entries of a run's file that somebody else may hold; `None` where there is none.
pub(super) fn entries(
    storage: &DirectoryStorage,
    loop_id: &str,
) -> Result<Option<RunEntries>, RunFileFault> {
    check_place(storage)?;
    match storage.open_file(&names::run(loop_id), OFlags::RDONLY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => RunEntries::of(opened?).map(Some),
    }
}

/// Makes a run's file and takes its lock.
pub(super) fn begin(storage: &DirectoryStorage, loop_id: &str) -> io::Result<RunFile> {
    if check_place(storage).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        storage.create_directory(names::RUNS)?;
    }
    check_place(storage)?;
    let name = names::run(loop_id);
    let directory = open_directory(storage)?;
    let recording = hold_recording_lock(storage, loop_id)?;
    let mut file = new_file(storage, &name)?;
    finish(&mut file).inspect_err(|_| drop(storage.remove(&name)))?;
    // A disk that has nothing left says so when the room on the log is made.
    let _ = reserve(&file, 0, 0);
    let (end, owner) = (AtomicU64::new(length(&file)?), fstat(&file)?.st_uid);
    let (recording, log) = (Some(Arc::new(recording)), storage.clone());
    Ok(RunFile { file: Arc::new(file.into()), directory, recording, log, name, owner, end })
}

/// Fate of an outcome that was to wait.
#[derive(Debug)]
pub enum DeferredOutcome {
    /// It waits, durably.
    Kept,
    /// One waits for this approval already: this.
    Waiting(Vec<u8>),
}

/// Why an outcome does not wait.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeferOutcomeError {
    /// The disk does not take it.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Something in the place of its file cannot be read: nobody knows whether it waits there.
    #[error(
        "{path} cannot be read ({source}): move it out of the log's directory, and record the \
         outcome again"
    )]
    Unreadable {
        /// Place of its file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Something else has all the names that it could have.
    #[error(
        "what stands at {path} and at every other name of the outcome is torn or no hook's: move \
         it out of the log's directory, and record the outcome again"
    )]
    NoName {
        /// The first of them.
        path: PathBuf,
    },
}

/// Lets the outcome of what an approval was spent for wait, durably, for the next writer: without a
/// look at the log's lock. Where a file of its name is torn, or not as a hook of its owner wrote
/// it, it waits under another name.
///
/// # Errors
/// An [`DeferOutcomeError`]: then nothing waits.
pub fn keep_outcome(
    log: &Path,
    decision_id: &str,
    payload: &[u8],
    is_hooks: &dyn Fn(u32, &[u8]) -> bool,
) -> Result<DeferredOutcome, DeferOutcomeError> {
    let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "no id of a decision point");
    let outcomes = names::outcomes(decision_id).ok_or_else(no_name)?;
    let bytes = outcome_file::encode(payload);
    if bytes.len() > OUTCOME_FILE_MAX {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge).into());
    }
    let storage = DirectoryStorage::holding(log);
    // Root leaves no file of its own in another user's log.
    let _owner = AsOwner::of(&storage)?;
    if check_place(&storage).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        match storage.create_directory(names::RUNS) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
    }
    check_place(&storage)?;
    let mut first = None;
    for name in outcomes {
        let name = names::run(&name);
        match new_file(&storage, &name) {
            Err(Errno::EXIST) => {
                if let Some(waiting) = waiting_at(&storage, &name, is_hooks)? {
                    return Ok(DeferredOutcome::Waiting(waiting));
                }
                first.get_or_insert(storage.path(&name));
            }
            made => {
                let file = made.map_err(io::Error::from)?;
                return Ok(write_outcome(&storage, &name, file, &bytes)?);
            }
        }
    }
    Err(DeferOutcomeError::NoName { path: first.unwrap_or_default() })
}

/// The outcome that waits in a file, as a hook of its owner wrote it; `None`: the file is torn, or
/// not a hook's.
fn waiting_at(
    storage: &DirectoryStorage,
    name: &str,
    is_hooks: &dyn Fn(u32, &[u8]) -> bool,
) -> Result<Option<Vec<u8>>, DeferOutcomeError> {
    let opened = storage.open_file(name, OFlags::RDONLY).map_err(RunFileFault::from);
    match opened.and_then(|file| outcome_of(&file)) {
        Ok((owner, payload)) => Ok(payload.filter(|payload| is_hooks(owner, payload))),
        Err(RunFileFault::Io(source)) => {
            let place = storage.stat(name).map(|stat| FileType::from_raw_mode(stat.st_mode));
            match place {
                // A writer took it up meanwhile.
                Err(Errno::NOENT) => Ok(None),
                Ok(place) if place != FileType::RegularFile => Ok(None),
                _ => Err(DeferOutcomeError::Unreadable { path: storage.path(name), source }),
            }
        }
        Err(_) => Ok(None),
    }
}

fn write_outcome(
    storage: &DirectoryStorage,
    name: &str,
    mut file: File,
    bytes: &[u8],
) -> io::Result<DeferredOutcome> {
    let kept = fchmod(&file, NEW_MODE).map_err(io::Error::from).and_then(|()| {
        lock_new(&file)?;
        file.write_all(bytes)?;
        fdatasync(&file)?;
        storage.sync_directory(names::RUNS)?;
        touch(&*open_directory(storage)?)?;
        // A writer may have taken it for torn before it was locked.
        check_names(&file, storage, name)
    });
    kept.inspect_err(|_| drop(storage.remove(name)))?;
    Ok(DeferredOutcome::Kept)
}

fn length(file: impl AsFd) -> io::Result<u64> {
    Ok(u64::try_from(fstat(file)?.st_size).unwrap_or(0))
}

/// Checks whether a file's name still stands for it, and nothing else does.
fn check_names(file: impl AsFd, log: &DirectoryStorage, name: &str) -> io::Result<()> {
    let (own, named) = (fstat(file)?, log.stat(name)?);
    let is_it = FileId::of(&own) == FileId::of(&named) && own.st_nlink == 1;
    let swapped = || io::Error::other("somebody put another file in its place");
    is_it.then_some(()).ok_or_else(swapped)
}

/// A link in the directory's place is not followed.
fn check_place(storage: &DirectoryStorage) -> io::Result<()> {
    let place = storage.stat(names::RUNS)?;
    match FileType::from_raw_mode(place.st_mode) {
        FileType::Directory => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not in a directory")),
    }
}

fn open_directory(storage: &DirectoryStorage) -> io::Result<Arc<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = storage.at(names::RUNS, |at, path| openat(at, path, flags, Mode::empty()));
    Ok(Arc::new(opened?))
}

fn new_file(storage: &DirectoryStorage, name: &str) -> rustix::io::Result<File> {
    storage.at(name, |at, path| openat(at, path, NEW_FILE, NEW_MODE)).map(File::from)
}

fn finish(file: &mut File) -> io::Result<()> {
    fchmod(&*file, NEW_MODE)?;
    lock_new(&*file)?;
    file.write_all(about_this_process().as_bytes())
}

fn lock_new(file: impl AsFd) -> io::Result<()> {
    for _ in 0..TRIES {
        if try_lock(&file)? {
            return Ok(());
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    Err(io::Error::other("somebody else keeps the lock of a file that was just made"))
}

/// Takes the lock of a run's file; `None` where somebody holds it, or nothing is there.
pub(super) fn take(storage: &DirectoryStorage, loop_id: &str) -> io::Result<Option<RunFile>> {
    check_place(storage)?;
    let name = names::run(loop_id);
    let file = match storage.open_file(&name, OFlags::RDONLY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    if fstat(&file)?.st_nlink != 1 {
        return Err(io::Error::other("it has other names, or none any more"));
    }
    if is_recording_locked(storage, loop_id)? == Some(true) || !try_lock(&file)? {
        return Ok(None);
    }
    let directory = open_directory(storage)?;
    let (end, owner) = (AtomicU64::new(length(&file)?), fstat(&file)?.st_uid);
    let (recording, log) = (None, storage.clone());
    Ok(Some(RunFile { file: Arc::new(file.into()), directory, recording, log, name, owner, end }))
}

/// Returns whether the file in the place of a run's file is not its recorder's, who made a file of
/// one name as the log's owner, and nobody holds its lock.
pub(super) fn is_foreign(storage: &DirectoryStorage, loop_id: &str) -> io::Result<bool> {
    check_place(storage)?;
    let name = names::run(loop_id);
    let stat = storage.stat(&name)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(true);
    }
    let is_owners = stat.st_uid == storage.own_stat()?.st_uid;
    if is_owners && stat.st_nlink == 1 {
        return Ok(false);
    }
    // A recorder of a holdpoint that knew no other lock holds the file's.
    match storage.open_file(&name, OFlags::RDONLY) {
        Ok(file) => try_lock(&file),
        Err(error) => Ok(!is_owners && error.kind() == io::ErrorKind::PermissionDenied),
    }
}

fn try_lock(file: impl AsFd) -> io::Result<bool> {
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// For people who look into the file.
fn about_this_process() -> String {
    let pid = std::process::id();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let boot = base16ct::lower::encode_string(&boot_id().0);
    format!("{{\"pid\":{pid},\"started_unix_seconds\":{since},\"boot\":\"{boot}\"}}\n")
}
