//! The file of a run under way: locked for as long as the process that records the run lives, or
//! its guard. Whoever can take the lock knows that both are gone.
//!
//! # Invariants
//!
//! - A file is made, and its lock tried by others, within turns only: nobody comes between the
//!   making and the locking of one.
//! - What is written in it is for people and never believed.
//! - Links are not followed, and what is no regular file of one name is not opened.

use super::disk::{boot_id, file_mode};
use super::owner_identity::AsOwner;
use super::storage::Storage;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_files::storage::open_regular;
use holdpoint_log_format::names;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags, fchmod, flock, fstat, lstat};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often the lock of a file that was just made is tried: whoever only looks at it gives it
/// back at once.
const TRIES: u32 = 100;
/// How long between two tries.
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// A run's own file, locked.
#[derive(Debug)]
pub struct RunFile {
    file: Arc<OwnedFd>,
    path: PathBuf,
}

impl RunFile {
    /// The lock belongs to the open file: whoever inherits this descriptor holds it as well.
    #[must_use]
    pub fn descriptor(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.file)
    }

    /// Removes the file of a run whose end is on the log. Where that fails, the next writer does
    /// it.
    pub fn remove(self) {
        let log = self.path.parent().and_then(Path::parent);
        let owner = log.map(AsOwner::of).transpose();
        if owner.is_ok() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Makes a run's file and takes its lock.
pub(super) fn begin(storage: &DirectoryStorage, loop_id: &str) -> io::Result<RunFile> {
    if check_place(storage).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        storage.create_directory(names::RUNS)?;
    }
    check_place(storage)?;
    let path = storage.path(&names::run(loop_id));
    let mode = file_mode(storage.root())?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(&path, flags, mode)?);
    let made = finish(&mut file, mode).and_then(|()| storage.sync_directory(names::RUNS));
    made.inspect_err(|_| drop(std::fs::remove_file(&path)))?;
    Ok(RunFile { file: Arc::new(file.into()), path })
}

/// A link in the directory's place is not followed.
fn check_place(storage: &DirectoryStorage) -> io::Result<()> {
    let place = lstat(storage.path(names::RUNS))?;
    match FileType::from_raw_mode(place.st_mode) {
        FileType::Directory => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::NotADirectory, "it is not in a directory")),
    }
}

fn finish(file: &mut File, mode: Mode) -> io::Result<()> {
    fchmod(&*file, mode)?;
    for _ in 0..TRIES {
        if try_lock(&*file)? {
            return file.write_all(about_this_process().as_bytes());
        }
        std::thread::sleep(BETWEEN_TRIES);
    }
    Err(io::Error::other("somebody else keeps the lock of a file that was just made"))
}

/// Takes the lock of a run's file; `None` where somebody holds it, or nothing is there.
pub(super) fn take(storage: &DirectoryStorage, loop_id: &str) -> io::Result<Option<RunFile>> {
    check_place(storage)?;
    let path = storage.path(&names::run(loop_id));
    let file = match open_regular(&path, OFlags::RDONLY) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    if fstat(&file)?.st_nlink != 1 {
        return Err(io::Error::other("it has other names, or none any more"));
    }
    let is_taken = try_lock(&file)?;
    Ok(is_taken.then(|| RunFile { file: Arc::new(file.into()), path }))
}

fn try_lock(file: impl AsFd) -> io::Result<bool> {
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => return Ok(false),
            Err(rustix::io::Errno::INTR) => {}
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
