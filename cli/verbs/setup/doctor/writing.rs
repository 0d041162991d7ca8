//! Whether this user can write the log: a hook that cannot denies every call, and nobody answers.

use super::check::Check;
use crate::log::Directory;
use crate::ui::path;
use holdpoint_log_format::names;
use rustix::fs::{Access, AtFlags, CWD, FileType, accessat, stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What was looked at.
const WRITING: &str = "writing";

const LOOK_AT_THE_DISK: &str = "look at the disk: a hook that cannot write denies every call";

/// Asked of the system and not tried, for nothing is changed here.
pub(super) fn check(directory: &Directory) -> Check {
    let places = match places(&directory.path) {
        Ok(places) => places,
        Err(error) => {
            let segments = path(&directory.path.join(names::SEGMENTS));
            let message = format!("whether {segments} can be written is not known: {error}");
            return Check::fail(WRITING, message, LOOK_AT_THE_DISK);
        }
    };
    let problem = places.into_iter().find_map(|place| problem_of(&place));
    match problem {
        None => Check::ok(WRITING, "this user can write the log"),
        Some((message, advice)) => Check::fail(WRITING, message, advice),
    }
}

/// What a writer changes: the directories in which it makes files, its lock, the active segment.
fn places(log: &Path) -> io::Result<Vec<PathBuf>> {
    let segments = log.join(names::SEGMENTS);
    let active = names_in(&segments)?.into_iter().filter(|name| is_segment(name)).max();
    let active = active.map(|name| segments.join(name));
    // Of a log that no program with shared syncs has written to there is none.
    let sync = Some(log.join(names::SYNC)).filter(|path| path.symlink_metadata().is_ok());
    let own = [log.to_path_buf(), segments, log.join(names::LOCK)];
    Ok(own.into_iter().chain(sync).chain(active).collect())
}

/// None where there is no such directory.
fn names_in(directory: &Path) -> io::Result<Vec<OsString>> {
    match std::fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.map(|entry| Ok(entry?.file_name())).collect(),
    }
}

fn is_segment(name: &OsStr) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "seg")
}

/// Why this user cannot write there, and what to do; `None` where it can, or nothing is there.
fn problem_of(place: &Path) -> Option<(String, &'static str)> {
    let error = ask(place).err().filter(|error| *error != Errno::NOENT)?;
    let shown = path(place);
    Some(match error {
        Errno::ROFS => (
            format!("{shown} is on a file system that is mounted read-only"),
            "mount it for writing, or keep the log elsewhere: until then hooks deny every call",
        ),
        Errno::ACCESS | Errno::PERM => (
            format!("this user may not write {shown}"),
            "let this user write there, or name its own log: until then hooks deny every call",
        ),
        error => {
            (format!("whether {shown} can be written is not known: {error}"), LOOK_AT_THE_DISK)
        }
    })
}

fn ask(place: &Path) -> Result<(), Errno> {
    let kind = FileType::from_raw_mode(stat(place)?.st_mode);
    let access = match kind {
        FileType::Directory => Access::WRITE_OK | Access::EXEC_OK,
        _ => Access::WRITE_OK,
    };
    accessat(CWD, place, access, AtFlags::EACCESS)
}
