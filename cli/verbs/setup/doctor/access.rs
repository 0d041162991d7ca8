//! What of the log other users can write: its directory, those above it, and its files.

use super::check::Check;
use crate::log::Directory;
use crate::ui::path;
use holdpoint_engine::shell::user_number;
use holdpoint_log_format::names;
use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What was looked at.
const ACCESS: &str = "access";
/// So many places are told one by one.
const TOLD_MAX: usize = 10;

const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// In such a directory only the owner of a name removes it.
const STICKY: u32 = 0o1000;

/// One line for each place that others can write. What cannot be looked at may be one.
pub(super) fn check(directory: &Directory) -> Vec<Check> {
    let found = match writable_places(&directory.path) {
        Ok(found) => found,
        Err(message) => {
            let advice = "look at the disk, and check that this user may read the directory";
            return vec![Check::fail(ACCESS, message, advice)];
        }
    };
    if found.is_empty() {
        return vec![Check::ok(ACCESS, "no other user can write to the log, but for root")];
    }
    let advice = "whoever can write there can replace the log; keep it where only its users can";
    let told = found.iter().take(TOLD_MAX).map(String::as_str);
    let more = (found.len() > TOLD_MAX).then_some("and more places");
    told.chain(more).map(|what| Check::warn(ACCESS, what, advice)).collect()
}

/// What is wrong with each place that others can write, or why that is not known.
fn writable_places(log: &Path) -> Result<Vec<String>, String> {
    let root = log.canonicalize().map_err(|error| unknown(log, &error))?;
    let above = root.ancestors().skip(1).map(|place| writable(place, true));
    let inside = inside(&root)?;
    let inside = inside.iter().map(|place| writable(place, false));
    above.chain(inside).filter_map(Result::transpose).collect()
}

fn unknown(place: &Path, error: &io::Error) -> String {
    format!("who can write {} is not known: {error}", path(place))
}

/// The directory of the log and what lies in it.
fn inside(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut places = vec![root.to_path_buf()];
    let directories = [names::SEGMENTS, names::RUNS, names::CUT, names::SNAPSHOTS, names::REDUCERS];
    let directories = std::iter::once(root.to_path_buf()).chain(directories.map(|d| root.join(d)));
    for directory in directories.filter(|directory| !directory.is_symlink()) {
        match entries(&directory) {
            Ok(found) => places.extend(found),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unknown(&directory, &error)),
        }
    }
    Ok(places)
}

fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect()
}

/// What is wrong with a place; `None` where only this user and root write there, or it is gone.
fn writable(place: &Path, is_above: bool) -> Result<Option<String>, String> {
    match place.symlink_metadata() {
        Ok(metadata) => Ok(writable_as(place, &metadata, is_above)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unknown(place, &error)),
    }
}

fn writable_as(place: &Path, metadata: &Metadata, is_above: bool) -> Option<String> {
    let shown = path(place);
    let owner = metadata.uid();
    if owner != 0 && owner != user_number() {
        return Some(format!("{shown} belongs to user number {owner}"));
    }
    if metadata.is_symlink() {
        return Some(format!("{shown} is a symbolic link, and no part of the log"));
    }
    who_writes(metadata, is_above).map(|who| format!("{shown} can be written by {who}"))
}

fn who_writes(metadata: &Metadata, is_above: bool) -> Option<String> {
    let mode = metadata.mode();
    if is_above && mode & STICKY != 0 {
        return None;
    }
    if mode & OTHERS_WRITE != 0 {
        return Some("everybody".to_string());
    }
    (mode & GROUP_WRITES != 0 && metadata.gid() != 0)
        .then(|| format!("the group of number {}", metadata.gid()))
}
