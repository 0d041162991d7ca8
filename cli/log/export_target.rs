//! The file that a verb makes: it has its name only when it is whole.

use crate::log::Directory;
use crate::ui::text::path as shown;
use crate::ui::{Exit, Failure};
use holdpoint_log_files::storage::open_regular;
use rustix::fs::OFlags;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A file under a temporary name beside the one that it is to have. It is removed when it is not
/// finished. Whoever makes it holds a lock on it: what is left of one that was killed is known by
/// that, and removed by whoever makes the file next.
pub(crate) struct Target {
    wanted: PathBuf,
    temporary: PathBuf,
    is_forced: bool,
    file: File,
    /// The number of the signal that asks to stop.
    signal: Arc<AtomicUsize>,
}

impl Target {
    /// An empty file, readable by this user alone: what a log holds is nobody else's business.
    /// `directory` is the log that is read for it, in which it does not lie.
    pub(crate) fn new(
        wanted: &Path,
        is_forced: bool,
        directory: Option<&Directory>,
    ) -> Result<Self, Failure> {
        check_place(wanted, directory)?;
        match wanted.symlink_metadata() {
            Ok(_) if !is_forced => return Err(taken(wanted)),
            // A device, a pipe or a link would be gone, and what it stands for not written.
            Ok(found) if !found.is_file() => return Err(not_a_file(wanted)),
            _ => {}
        }
        let signal = signals().map_err(|error| failed(wanted, &error))?;
        remove_left(wanted);
        let temporary = beside(wanted);
        let mut options = File::options();
        let made = options.write(true).create_new(true).mode(0o600).open(&temporary);
        let file = made.map_err(|error| failed(&temporary, &error))?;
        // Where files cannot be locked, none is taken for one that was left.
        let _ = file.try_lock();
        Ok(Self { wanted: wanted.to_path_buf(), temporary, is_forced, file, signal })
    }

    /// Where it is until it is finished.
    #[cfg(feature = "sqlite")]
    pub(crate) fn path(&self) -> &Path {
        &self.temporary
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Ends the program where a signal asks for it, and leaves nothing behind.
    pub(crate) fn heed_signals(&self) {
        let signal = self.signal.load(Ordering::SeqCst);
        if signal > 0 {
            // Whatever cannot be removed is not under the name that was asked for.
            let _ = fs::remove_file(&self.temporary);
            std::process::exit(128 + i32::try_from(signal).unwrap_or(0));
        }
    }

    /// Makes it durable and gives it its name, which may be shown.
    pub(crate) fn finish(self) -> Result<String, Failure> {
        self.file.sync_all().map_err(|error| failed(&self.temporary, &error))?;
        if !self.is_forced {
            // A rename would take the place of a file that appeared meanwhile.
            match fs::hard_link(&self.temporary, &self.wanted) {
                Ok(()) => return Ok(shown(&self.wanted)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    return Err(taken(&self.wanted));
                }
                // Some file systems have no such links.
                Err(_) => {}
            }
        }
        let named = fs::rename(&self.temporary, &self.wanted);
        named.map_err(|error| failed(&self.wanted, &error))?;
        Ok(shown(&self.wanted))
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        // After a rename there is nothing under this name.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// A verb that reads writes nothing to the log's directory.
fn check_place(wanted: &Path, directory: Option<&Directory>) -> Result<(), Failure> {
    let parent = parent_of(wanted).canonicalize().map_err(|error| failed(wanted, &error))?;
    let log = directory.and_then(|directory| directory.path.canonicalize().ok());
    if wanted.file_name().is_none() || wanted.is_dir() {
        let message = format!("{} is a directory: name a file with --output", shown(wanted));
        return Err(Failure::new(Exit::USAGE, "is_a_directory", message));
    }
    if log.is_some_and(|log| parent.starts_with(log)) {
        let message = format!("{} lies in the log: name a file elsewhere", shown(wanted));
        return Err(Failure::new(Exit::USAGE, "inside_the_log", message));
    }
    Ok(())
}

fn parent_of(wanted: &Path) -> &Path {
    wanted.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

/// What the name of a file that is not finished ends with.
const UNFINISHED: &str = ".unfinished";

/// `.NAME.<pid>.unfinished`.
fn beside(wanted: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(wanted.file_name().unwrap_or_default());
    name.push(format!(".{}{UNFINISHED}", std::process::id()));
    parent_of(wanted).join(name)
}

/// Whether a name is one that [`beside`] gives in some process.
fn is_beside(name: &OsStr, wanted: &Path) -> bool {
    let of_wanted = wanted.file_name().unwrap_or_default().as_bytes();
    let rest = name.as_bytes().strip_prefix(b".").and_then(|rest| rest.strip_prefix(of_wanted));
    let process =
        rest.and_then(|rest| rest.strip_prefix(b".")?.strip_suffix(UNFINISHED.as_bytes()));
    process.is_some_and(|digits| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

/// Removes what was left of this file by those who were killed while they made it. What cannot be
/// removed is in nobody's way.
fn remove_left(wanted: &Path) {
    let listed = parent_of(wanted).read_dir().into_iter().flatten().flatten();
    for entry in listed.filter(|entry| is_beside(&entry.file_name(), wanted)) {
        let opened = open_regular(&entry.path(), OFlags::RDWR);
        if opened.is_ok_and(|left| left.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn taken(wanted: &Path) -> Failure {
    let message = format!("{} is there already: name another file, or --force", shown(wanted));
    Failure::new(Exit::CONFLICT, "exists", message)
}

fn not_a_file(wanted: &Path) -> Failure {
    let message =
        format!("{} is no regular file and stays: name another file with --output", shown(wanted));
    Failure::new(Exit::CONFLICT, "not_a_file", message)
}

fn failed(file: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot write {}: {error}; name another file", shown(file));
    Failure::new(Exit::FAILED, "output", message)
}

/// The number of the signal that asks to stop; 0 until then.
fn signals() -> io::Result<Arc<AtomicUsize>> {
    let stopped = Arc::new(AtomicUsize::new(0));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        let number = usize::try_from(signal).unwrap_or_default();
        flag::register_usize(signal, Arc::clone(&stopped), number)?;
    }
    Ok(stopped)
}
