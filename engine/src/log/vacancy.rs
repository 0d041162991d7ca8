//! Directories that a new log may take the place of: empty, or with nothing in them but what a log
//! that is gone said to git.

use super::disk::IGNORE_ALL;
use super::owner_identity::AsOwner;
use holdpoint_log_files::storage::open_regular;
use holdpoint_log_format::names;
use rustix::fs::OFlags;
use std::io::{self, Read};
use std::path::Path;

/// Returns whether a directory is one.
pub(crate) fn is_free(directory: &Path) -> io::Result<bool> {
    for entry in directory.read_dir()? {
        let entry = entry?;
        if entry.file_name() != names::GITIGNORE || !is_of_a_log(&entry.path()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Gives a log the name of a directory that is free, or of nothing.
pub(crate) fn take_place(log: &Path, directory: &Path) -> io::Result<()> {
    // In another user's directory root does it as that user.
    let _owner = directory.parent().map(AsOwner::of_directory).transpose()?;
    let left = directory.join(names::GITIGNORE);
    if is_of_a_log(&left) && is_free(directory)? {
        std::fs::remove_file(left)?;
    }
    std::fs::rename(log, directory)
}

/// Returns whether a file says what a log says to git, and nothing else.
fn is_of_a_log(gitignore: &Path) -> bool {
    let Ok(file) = open_regular(gitignore, OFlags::RDONLY) else { return false };
    let mut bytes = Vec::new();
    let read = file.take(IGNORE_ALL.len() as u64 + 1).read_to_end(&mut bytes);
    read.is_ok() && bytes == IGNORE_ALL
}
