//! The logs that are known to the inbox of this user: those that a person added, and those that
//! verbs of this program wrote to. Each is a line of a file, with what the log was when it was
//! listed: a log that took its place, or that somebody else owns since, is not taken for it.

use crate::log::directory::log_id;
use crate::ui::text::path as shown;
use crate::ui::{Exit, Failure, complain};
use holdpoint_domain::core::text::visible;
use holdpoint_engine::executor::command_line;
use holdpoint_engine::shell::state_home;
use holdpoint_log_files::DirectoryStorage;
use holdpoint_log_files::storage::open_regular;
use holdpoint_log_format::LogId;
use rustix::fs::{FlockOperation, OFlags, flock};
use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where both files are, below the user's states.
const FOLDER: &str = "holdpoint";
/// Why a log is not listed, and what to do: a list has a log in each line.
const HAS_LINE_END: &str = "a path with a line end cannot be listed: rename the directory, or name \
                            it with `holdpoint inbox --log DIR`";
/// The code of a list that is full or cannot be read.
pub(crate) const LIST_OF_LOGS: &str = "list_of_logs";
/// So many logs are kept in a file at most.
const LOGS_MAX: usize = 1024;
/// The longest file that is read, in bytes: so many of the longest paths.
const FILE_BYTES_MAX: u64 = 8 << 20;
/// How often, and how long after each other, a file is asked for that somebody else changes.
const TRIES: u32 = 100;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// Who listed a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListedBy {
    /// A person, with `inbox --add`.
    Person,
    /// A verb that wrote to it.
    Writer,
}

impl ListedBy {
    const fn file(self) -> &'static str {
        match self {
            Self::Person => "inbox",
            Self::Writer => "logs",
        }
    }
}

/// What a log was when it was listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogIdentity {
    pub(crate) id: LogId,
    /// The number of the user who owned the directory.
    pub(crate) owner: u32,
}

/// A log in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownLog {
    pub(crate) path: PathBuf,
    pub(crate) identity: LogIdentity,
}

/// A list of logs, in a file of this user's.
pub(crate) struct KnownLogs {
    folder: PathBuf,
    by: ListedBy,
}

impl LogIdentity {
    /// What the log in a directory is now; `None` where there is none.
    pub(crate) fn of(log: &Path) -> io::Result<Option<Self>> {
        let owner = match log.symlink_metadata() {
            Ok(found) => found.uid(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(log_id(&DirectoryStorage::new(log))?.map(|id| Self { id, owner }))
    }
}

impl KnownLogs {
    /// The list of this user; `None`: the user has no home, and so no list.
    pub(crate) fn of_user(by: ListedBy) -> io::Result<Option<Self>> {
        Ok(state_home()?.map(|states| Self { folder: states.join(FOLDER), by }))
    }

    /// The file.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.join(self.by.file())
    }

    /// The logs in it, the oldest entry first; none where there is no file. Fails where a line
    /// names none.
    pub(crate) fn read(&self) -> io::Result<Vec<KnownLog>> {
        self.lines()?.into_iter().collect()
    }

    /// What each line of it says.
    pub(crate) fn lines(&self) -> io::Result<Vec<io::Result<KnownLog>>> {
        let bytes = self.bytes()?;
        let lines = bytes.split(|byte| *byte == b'\n').enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty());
        let parsed = lines.map(|(at, line)| {
            let at = at.saturating_add(1);
            parse(line).ok_or_else(|| invalid(format!("line {at} names no log: remove it")))
        });
        Ok(parsed.collect())
    }

    /// The content of the file; none where there is no file.
    fn bytes(&self) -> io::Result<Vec<u8>> {
        let opened = match open_regular(&self.file(), OFlags::RDONLY) {
            Ok(opened) => opened,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        opened.take(FILE_BYTES_MAX.saturating_add(1)).read_to_end(&mut bytes)?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > FILE_BYTES_MAX) {
            return Err(invalid(format!("it is longer than {FILE_BYTES_MAX} bytes")));
        }
        Ok(bytes)
    }

    /// Tells whether a log is in the list. Each run asks, so that no other line is parsed.
    fn has(&self, log: &KnownLog) -> io::Result<bool> {
        let line = line(log);
        Ok(self.bytes()?.split_inclusive(|byte| *byte == b'\n').any(|listed| *listed == *line))
    }

    /// Lists a log. Whether anything changed. In the place of what was listed at its path as
    /// another log, or as somebody else's, only a person puts it: a writer would hide that.
    pub(crate) fn add(&self, log: KnownLog) -> io::Result<bool> {
        if log.path.as_os_str().as_bytes().contains(&b'\n') {
            return Err(io::Error::new(ErrorKind::InvalidFilename, HAS_LINE_END));
        }
        if self.has(&log)? {
            return Ok(false);
        }
        self.change(|listed| {
            let is_taken = listed.iter().any(|known| known.path == log.path);
            if is_taken && self.by == ListedBy::Writer {
                return Ok(false);
            }
            listed.retain(|known| known.path != log.path);
            make_room(listed)?;
            listed.push(log);
            Ok(true)
        })
    }

    /// Takes logs out. Those that were in it.
    pub(crate) fn remove(&self, is_meant: impl Fn(&KnownLog) -> bool) -> io::Result<Vec<KnownLog>> {
        if !self.read()?.iter().any(&is_meant) {
            return Ok(Vec::new());
        }
        self.change(|listed| {
            let (removed, kept) = std::mem::take(listed).into_iter().partition(|it| is_meant(it));
            *listed = kept;
            Ok(removed)
        })
    }

    /// Changes the list while nobody else does; readers see it as it was or as it is then.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<KnownLog>) -> io::Result<T>) -> io::Result<T> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        // Given back when it is closed.
        let folder = File::open(&self.folder)?;
        lock(&folder)?;
        let mut listed = self.read()?;
        let result = change(&mut listed)?;
        let new = self.folder.join(format!("{}.new", self.by.file()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options.custom_flags(i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default());
        let mut written = options.open(&new)?;
        written.write_all(&listed.iter().flat_map(line).collect::<Vec<u8>>())?;
        written.sync_all()?;
        std::fs::rename(&new, self.file())?;
        Ok(result)
    }
}

/// Lists a log that a verb of this program has open for writing. Nothing that the verb does depends
/// on it; where it cannot be listed, that is said.
pub(crate) fn register(log: &Path) {
    let Err(error) = registered(log) else { return };
    complain(&not_listed(log, &error));
}

/// That a log is not listed, why, and what can be done.
fn not_listed(log: &Path, error: &io::Error) -> String {
    let advice = match error.kind() {
        ErrorKind::InvalidFilename => String::new(),
        _ => format!("; `holdpoint inbox --add {}` lists it", command_line(log.as_os_str(), &[])),
    };
    let (log, error) = (shown(log), visible(&error.to_string()).to_string());
    format!("log {log} is not in the list of `holdpoint inbox`: {error}{advice}")
}

fn registered(log: &Path) -> io::Result<()> {
    // Who has no home has no inbox either.
    let Some(list) = KnownLogs::of_user(ListedBy::Writer)? else { return Ok(()) };
    let path = log.canonicalize()?;
    if let Some(identity) = LogIdentity::of(&path)? {
        list.add(KnownLog { path, identity })?;
    }
    Ok(())
}

/// The failure that a list cannot be read or changed.
pub(crate) fn unusable(list: &KnownLogs, error: &io::Error) -> Failure {
    let message = format!("the list {}: {}", shown(&list.file()), visible(&error.to_string()));
    Failure::new(Exit::FAILED, LIST_OF_LOGS, message)
}

/// That a list takes no more logs, so that some may be missing.
pub(crate) fn full(list: &KnownLogs) -> Failure {
    let message = format!(
        "the list {} is full ({LOGS_MAX} logs), so that logs may be missing: take some out with \
         `holdpoint inbox --remove DIR`",
        shown(&list.file())
    );
    Failure::new(Exit::FAILED, LIST_OF_LOGS, message)
}

/// Whether a list takes no more: as many are listed as may be, and none of them is gone.
pub(crate) fn is_full(listed: &[io::Result<KnownLog>]) -> bool {
    listed.len() >= LOGS_MAX && !listed.iter().flatten().any(is_gone)
}

fn is_gone(known: &KnownLog) -> bool {
    known.path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

fn invalid(message: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message)
}

fn lock(folder: &File) -> io::Result<()> {
    for _ in 1..TRIES {
        match flock(folder, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => {
                std::thread::sleep(BETWEEN_TRIES);
            }
            locked => return Ok(locked?),
        }
    }
    Ok(flock(folder, FlockOperation::NonBlockingLockExclusive)?)
}

/// Where a list is full, those give way that are gone, the oldest first.
fn make_room(listed: &mut Vec<KnownLog>) -> io::Result<()> {
    while listed.len() >= LOGS_MAX {
        let gone = listed.iter().position(is_gone).ok_or_else(|| {
            invalid(format!(
                "it holds {LOGS_MAX} logs: take some out with `holdpoint inbox --remove DIR`"
            ))
        })?;
        listed.remove(gone);
    }
    Ok(())
}

/// `ID OWNER PATH`, the path as its bytes are.
fn line(known: &KnownLog) -> Vec<u8> {
    let KnownLog { path, identity: LogIdentity { id, owner } } = known;
    let mut line = format!("{id} {owner} ").into_bytes();
    line.extend_from_slice(path.as_os_str().as_bytes());
    line.push(b'\n');
    line
}

fn parse(line: &[u8]) -> Option<KnownLog> {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    let mut digits = [0; 16];
    let id = words.next().filter(|id| id.len() == digits.len().saturating_mul(2))?;
    base16ct::lower::decode(id, &mut digits).ok()?;
    let owner = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
    let path = PathBuf::from(OsString::from_vec(words.next()?.to_vec()));
    let identity = LogIdentity { id: LogId(digits), owner };
    path.is_absolute().then_some(KnownLog { path, identity })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(path: &str) -> KnownLog {
        let identity = LogIdentity { id: LogId([7; 16]), owner: 1000 };
        KnownLog { path: PathBuf::from(path), identity }
    }

    fn list(folder: &Path) -> KnownLogs {
        KnownLogs { folder: folder.join("states"), by: ListedBy::Person }
    }

    #[test]
    fn what_is_listed_is_read_back_whatever_bytes_a_path_has() {
        let home = tempfile::tempdir().unwrap();
        let list = list(home.path());
        assert_eq!(list.read().unwrap(), []);
        let strange = PathBuf::from(OsString::from_vec(b"/a b/\xff \x1b[2J".to_vec()));
        let strange = KnownLog { path: strange, ..known("/") };
        assert!(list.add(known("/a")).unwrap() && list.add(strange.clone()).unwrap());
        assert!(!list.add(known("/a")).unwrap());
        assert_eq!(list.read().unwrap(), [known("/a"), strange]);
        assert_eq!(list.remove(|log| log.path == Path::new("/a")).unwrap(), [known("/a")]);
        assert!(list.add(known("/a\nb")).is_err());
        assert_eq!(list.read().unwrap().len(), 1);
    }

    #[test]
    fn of_a_path_with_a_line_end_it_is_said_what_can_be_done_and_nothing_that_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let refused = list(home.path()).add(known("/a\nb")).unwrap_err();
        let said = not_listed(Path::new("/a\nb"), &refused);
        assert!(
            said.contains("rename the directory") && said.contains("inbox --log DIR"),
            "{said}"
        );
        assert!(!said.contains("inbox --add"), "{said}");
        let full = not_listed(Path::new("/a"), &invalid("full".to_string()));
        assert!(full.ends_with("full; `holdpoint inbox --add /a` lists it"), "{full}");
    }

    #[test]
    fn a_log_is_listed_once_as_what_it_was_last() {
        let home = tempfile::tempdir().unwrap();
        let list = list(home.path());
        let mut other = known("/a");
        other.identity.owner = 0;
        assert!(list.add(known("/a")).unwrap() && list.add(other.clone()).unwrap());
        assert_eq!(list.read().unwrap(), [other]);
    }

    #[test]
    fn a_writer_hides_no_log_whose_place_another_one_took() {
        let home = tempfile::tempdir().unwrap();
        let list = KnownLogs { by: ListedBy::Writer, ..list(home.path()) };
        let mut other = known("/a");
        other.identity.id = LogId([8; 16]);
        assert!(list.add(known("/a")).unwrap() && !list.add(other).unwrap());
        assert_eq!(list.read().unwrap(), [known("/a")]);
    }

    #[test]
    fn a_full_list_gives_up_what_is_gone_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let here = home.path().to_str().unwrap();
        let mut listed = vec![known(here); LOGS_MAX - 1];
        listed.insert(7, known("/no/such/log"));
        assert!(make_room(&mut listed).is_ok());
        assert!(listed.len() == LOGS_MAX - 1 && listed.iter().all(|log| log.path.is_dir()));
        listed.push(known(here));
        assert!(make_room(&mut listed).is_err() && listed.len() == LOGS_MAX);
    }

    #[test]
    fn a_list_that_says_something_else_is_told_with_its_line() {
        let home = tempfile::tempdir().unwrap();
        let list = list(home.path());
        list.add(known("/a")).unwrap();
        for line in ["x", "00 1000 /a", &format!("{} 1 a", "0".repeat(32))] {
            std::fs::write(list.file(), format!("\n{line}\n")).unwrap();
            assert!(list.read().unwrap_err().to_string().contains("line 2"), "{line}");
        }
    }
}
