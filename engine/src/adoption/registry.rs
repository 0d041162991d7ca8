//! The list of the logs that this user number has begun or adopted, in a file below the home that
//! the user database names. It is believed only where nobody else can have written it.

use super::entry::{Adoption, Entry, LogPlace};
use super::fault::RegistryError;
use crate::shell::{home_of_user, user_number, user_outside};
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, flock, fstat, fsync, mkdirat, openat,
    renameat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The directories between the home and the file.
const FOLDERS: [&str; 3] = [".local", "state", "holdpoint"];
/// The file, and what becomes it.
const FILE: &str = "adopted";
const NEW_FILE: &str = "adopted.new";
/// So many logs are kept at most; the oldest give way.
const ENTRIES_MAX: usize = 10_000;
/// The longest file that is read, in bytes: so many of long paths.
const FILE_BYTES_MAX: u64 = 48 << 20;
/// Permission bits that let the group and others write.
const OTHERS_WRITE: u32 = 0o022;
/// Permission bit that lets everybody write.
const EVERYBODY_WRITES: u32 = 0o002;
/// Number of requests for the list that somebody else changes, and the time between them.
const TRIES: u32 = 500;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Place of the list of this user's logs.
#[derive(Clone, Debug)]
pub struct LogRegistry {
    place: RegistryPlace,
}

#[derive(Clone, Debug)]
enum RegistryPlace {
    /// In the home that the user database names for the user of this process.
    OfUser,
    #[cfg(feature = "simulated-people")]
    Simulated,
}

impl Default for LogRegistry {
    fn default() -> Self {
        Self::of_user()
    }
}

impl LogRegistry {
    /// The list of the user of this process.
    #[must_use]
    pub const fn of_user() -> Self {
        Self { place: RegistryPlace::OfUser }
    }

    /// One in which every log stands, of no file: for tests of what is built on an engine.
    #[cfg(feature = "simulated-people")]
    #[must_use]
    pub const fn simulated() -> Self {
        Self { place: RegistryPlace::Simulated }
    }

    pub(crate) const fn is_simulated(&self) -> bool {
        match self.place {
            RegistryPlace::OfUser => false,
            #[cfg(feature = "simulated-people")]
            RegistryPlace::Simulated => true,
        }
    }

    /// Lists a log, in the place of what was listed at its path before.
    ///
    /// # Errors
    /// The list cannot be believed or written: the log is not listed.
    pub fn list(&self, log: LogPlace, adoption: Adoption) -> Result<(), RegistryError> {
        if self.is_simulated() {
            return Ok(());
        }
        let entry = Entry::new(log, adoption);
        let folder = Folder::open(&home()?, true)?;
        let Some(folder) = folder else { return Ok(()) };
        folder.lock()?;
        let mut entries = folder.read()?;
        entries.retain(|known| known.path() != entry.path() && !known.is_gone());
        entries.push(entry);
        let surplus = entries.len().saturating_sub(ENTRIES_MAX);
        folder.write(entries.get(surplus..).unwrap_or_default())
    }

    /// The other directories that hold a log of the same identity: copies of one another.
    ///
    /// # Errors
    /// The list cannot be believed or read.
    pub fn copies_of(&self, log: &LogPlace) -> Result<Vec<PathBuf>, RegistryError> {
        if self.is_simulated() {
            return Ok(Vec::new());
        }
        let is_copy = |entry: &&Entry| {
            entry.id() == log.id() && entry.path() != log.path() && !entry.is_gone()
        };
        Ok(self.read()?.iter().filter(is_copy).map(|entry| entry.path().to_path_buf()).collect())
    }

    /// The logs in it, the oldest entry first.
    pub(super) fn read(&self) -> Result<Vec<Entry>, RegistryError> {
        let folder = Folder::open(&home()?, false)?;
        folder.map_or_else(|| Ok(Vec::new()), |folder| folder.read())
    }
}

/// The home of the user of this process, outside of any user namespace.
fn home() -> Result<PathBuf, RegistryError> {
    let user = user_outside(user_number()).ok().flatten().ok_or(RegistryError::UnknownUser)?;
    let home = home_of_user(user);
    let home = home.map_err(|source| RegistryError::UserDatabase { user, source })?;
    home.ok_or(RegistryError::NoHome { user })
}

/// The directory that holds the list.
struct Folder {
    path: PathBuf,
    opened: OwnedFd,
}

impl Folder {
    /// `None`: it is not there, and is not to be made. No directory below the home is a link.
    fn open(home: &Path, make: bool) -> Result<Option<Self>, RegistryError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let failed = |path: &Path, error: Errno| match error {
            Errno::LOOP | Errno::NOTDIR => {
                let reason = "is a link or no directory: put a directory in its place";
                not_believed(path, reason)
            }
            error => RegistryError::Io { path: path.to_path_buf(), source: error.into() },
        };
        let opened = rustix::fs::open(home, flags, Mode::empty());
        let mut opened = match opened {
            Err(Errno::NOENT) if !make => return Ok(None),
            opened => opened.map_err(|error| failed(home, error))?,
        };
        let mut path = home.to_path_buf();
        expect_own(&path, &opened, EVERYBODY_WRITES)?;
        for name in FOLDERS {
            path.push(name);
            let open = || openat(&opened, name, flags | OFlags::NOFOLLOW, Mode::empty());
            let below = match open() {
                Err(Errno::NOENT) if !make => return Ok(None),
                Err(Errno::NOENT) => match mkdirat(&opened, name, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => open(),
                    Err(error) => Err(error),
                },
                opened => opened,
            };
            let below = below.map_err(|error| failed(&path, error))?;
            // The group may write where each user has one of their own. It could put another
            // directory there, but none of this user's.
            expect_own(&path, &below, EVERYBODY_WRITES)?;
            opened = below;
        }
        expect_own(&path, &opened, OTHERS_WRITE)?;
        Ok(Some(Self { path, opened }))
    }

    /// Nobody else changes the list before this is dropped.
    fn lock(&self) -> Result<(), RegistryError> {
        for _ in 1..TRIES {
            match flock(&self.opened, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK | Errno::INTR) => std::thread::sleep(BETWEEN_TRIES),
                locked => return locked.map_err(|error| self.failed(error.into())),
            }
        }
        let locked = flock(&self.opened, FlockOperation::NonBlockingLockExclusive);
        locked.map_err(|error| self.failed(error.into()))
    }

    fn file(&self) -> PathBuf {
        self.path.join(FILE)
    }

    fn failed(&self, source: io::Error) -> RegistryError {
        RegistryError::Io { path: self.file(), source }
    }

    fn read(&self) -> Result<Vec<Entry>, RegistryError> {
        // Opening a pipe must not wait for whoever writes to it.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = match openat(&self.opened, FILE, flags | OFlags::NOCTTY, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(Vec::new()),
            Err(Errno::LOOP) => {
                return Err(not_believed(&self.file(), "is a link: remove it"));
            }
            opened => opened.map_err(|error| self.failed(error.into()))?,
        };
        expect_own(&self.file(), &opened, OTHERS_WRITE)?;
        let status = fstat(&opened).map_err(|error| self.failed(error.into()))?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(not_believed(&self.file(), "is not a regular file: remove it"));
        }
        let mut bytes = Vec::new();
        let read =
            File::from(opened).take(FILE_BYTES_MAX.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(error))?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > FILE_BYTES_MAX) {
            return Err(not_believed(&self.file(), "is longer than any list: remove it"));
        }
        let lines = bytes.split(|byte| *byte == b'\n').enumerate();
        let parsed = lines.filter(|(_, line)| !line.is_empty()).map(|(at, line)| {
            let line_number = at.saturating_add(1);
            let malformed = || RegistryError::Malformed { path: self.file(), line: line_number };
            Entry::parse(line).ok_or_else(malformed)
        });
        parsed.collect()
    }

    /// Readers see the list as it was, or as it is then, also after a crash.
    fn write(&self, entries: &[Entry]) -> Result<(), RegistryError> {
        let written = || {
            match unlinkat(&self.opened, NEW_FILE, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(io::Error::from(error)),
            }
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            let mode = Mode::RUSR | Mode::WUSR;
            let mut new =
                File::from(openat(&self.opened, NEW_FILE, flags | OFlags::CLOEXEC, mode)?);
            let lines: Vec<u8> = entries.iter().flat_map(Entry::line).collect();
            new.write_all(&lines)?;
            new.sync_all()?;
            renameat(&self.opened, NEW_FILE, &self.opened, FILE)?;
            Ok(fsync(&self.opened)?)
        };
        written().map_err(|error: io::Error| self.failed(error))
    }
}

/// Fails where what was opened is neither this user's nor root's, or has any of these permissions.
fn expect_own(path: &Path, opened: &OwnedFd, forbidden: u32) -> Result<(), RegistryError> {
    let status = fstat(opened)
        .map_err(|error| RegistryError::Io { path: path.to_path_buf(), source: error.into() })?;
    let is_file = FileType::from_raw_mode(status.st_mode) != FileType::Directory;
    if status.st_uid != user_number() && (is_file || status.st_uid != 0) {
        let owner = status.st_uid;
        return Err(not_believed(path, &format!("belongs to user {owner}: remove it")));
    }
    if status.st_mode & forbidden != 0 {
        let reason = "can be written by others: take that from them with `chmod go-w`";
        return Err(not_believed(path, reason));
    }
    Ok(())
}

fn not_believed(path: &Path, reason: &str) -> RegistryError {
    RegistryError::NotBelieved { path: path.to_path_buf(), reason: reason.to_string() }
}
