//! Whether this user can write the log: a hook that cannot denies every call, and nobody answers.

use super::check::Check;
use crate::directory::Directory;
use crate::text::path;
use holdpoint_log_format::names;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// What was looked at.
const WRITING: &str = "writing";

/// Asked of the system and not tried, for nothing is changed here.
pub(super) fn check(directory: &Directory) -> Check {
    let problem = places(&directory.path).into_iter().find_map(|place| problem_of(&place));
    match problem {
        None => Check::ok(WRITING, "this user can write the log"),
        Some((message, advice)) => Check::fail(WRITING, message, advice),
    }
}

/// What a writer changes: the directories in which it makes files, its lock, the active segment.
fn places(log: &Path) -> Vec<PathBuf> {
    let segments = log.join(names::SEGMENTS);
    let entries = std::fs::read_dir(&segments).into_iter().flatten().flatten();
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "seg");
    let active = entries.map(|entry| entry.path()).filter(is_segment).max();
    let there = [log.to_path_buf(), segments, log.join(names::LOCK)].into_iter().chain(active);
    there.filter(|place| place.exists()).collect()
}

/// Why this user cannot write there, and what to do; `None` where it can.
fn problem_of(place: &Path) -> Option<(String, &'static str)> {
    let access = match place.is_dir() {
        true => Access::WRITE_OK | Access::EXEC_OK,
        false => Access::WRITE_OK,
    };
    let error = accessat(CWD, place, access, AtFlags::EACCESS).err()?;
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
        error => (
            format!("whether {shown} can be written is not known: {error}"),
            "look at the disk: a hook that cannot write denies every call",
        ),
    })
}
