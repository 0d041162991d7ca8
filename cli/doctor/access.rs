//! What of the log other users can write: its directory, those above it, and its files.

use super::check::Check;
use crate::directory::Directory;
use crate::text::path;
use holdpoint_engine::shell::user_number;
use holdpoint_log_format::names;
use std::fs::Metadata;
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

/// One line for each place that others can write.
pub(super) fn check(directory: &Directory) -> Vec<Check> {
    let Ok(root) = directory.path.canonicalize() else { return Vec::new() };
    let above = root.ancestors().skip(1).filter_map(|place| writable(place, true));
    let inside = inside(&root).into_iter().filter_map(|place| writable(&place, false));
    let mut found: Vec<String> = above.chain(inside).take(TOLD_MAX + 1).collect();
    if found.is_empty() {
        return vec![Check::ok(ACCESS, "no other user can write to the log, but for root")];
    }
    if found.len() > TOLD_MAX {
        found.truncate(TOLD_MAX);
        found.push("and more places".to_string());
    }
    let advice = "whoever can write there can replace the log; keep it where only its users can";
    found.iter().map(|what| Check::warn(ACCESS, what, advice)).collect()
}

/// The directory of the log and what lies in it.
fn inside(root: &Path) -> Vec<PathBuf> {
    let mut places = vec![root.to_path_buf()];
    let directories = [names::SEGMENTS, names::RUNS, names::CUT, names::SNAPSHOTS];
    for directory in std::iter::once(root.to_path_buf()).chain(directories.map(|d| root.join(d))) {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        places.extend(entries.map(|entry| entry.path()));
    }
    places
}

/// What is wrong with a place; `None` where only this user and root write there.
fn writable(place: &Path, is_above: bool) -> Option<String> {
    let metadata = place.symlink_metadata().ok()?;
    let shown = path(place);
    let owner = metadata.uid();
    if owner != 0 && owner != user_number() {
        return Some(format!("{shown} belongs to user number {owner}"));
    }
    if metadata.is_symlink() {
        return None;
    }
    who_writes(&metadata, is_above).map(|who| format!("{shown} can be written by {who}"))
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
