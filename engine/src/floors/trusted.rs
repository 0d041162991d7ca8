//! Reading a file that only its owner can have written: every directory on the way to it, through
//! links and behind them, and the file itself.

use super::FloorsError;
use crate::raw_file::{is_file, open_raw, read_to_end};
use rustix::fs::{FileType, OFlags, Stat, fstat, lstat, readlink};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Number of links that are followed, as the kernel does.
const LINKS_MAX: u32 = 40;
/// Permission bits that let the group and others write.
const OTHERS_WRITE: u32 = 0o022;
/// In such a directory only the owner of a name removes it.
const STICKY: u32 = 0o1000;

/// Users who may own a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trust {
    user: u32,
}

impl Trust {
    /// The system's alone.
    pub(super) const fn of_root() -> Self {
        Self { user: 0 }
    }

    /// The system's, or this user's.
    pub(super) const fn of_root_or(user: u32) -> Self {
        Self { user }
    }

    fn check(self, path: &Path, what: &Path, found: &Stat) -> Result<(), FloorsError> {
        let (path, what, owner) = (path.to_path_buf(), what.to_path_buf(), found.st_uid);
        if owner != 0 && owner != self.user {
            return Err(FloorsError::ForeignOwner { path, what, owner });
        }
        if found.st_mode & OTHERS_WRITE == 0 {
            return Ok(());
        }
        // Root's directory above a file of the user's is not the user's to change.
        let is_of_others = found.st_mode & STICKY != 0 || owner != self.user;
        let is_shared = is_directory(found) && is_of_others;
        Err(FloorsError::WritableByOthers { path, what, is_shared })
    }
}

/// Returns what a file says; `None` where there is none.
pub(super) fn read(path: &Path, trust: Trust, most: u64) -> Result<Option<Vec<u8>>, FloorsError> {
    let unreadable = |source| FloorsError::Unreadable { path: path.to_path_buf(), source };
    let Some(resolved) = resolve(path, trust)? else { return Ok(None) };
    let file = open_raw(&resolved, OFlags::NOFOLLOW).map_err(unreadable)?;
    let found = fstat(&file).map_err(|error| unreadable(error.into()))?;
    if !is_file(&found) {
        return Err(FloorsError::NotAFile { path: path.to_path_buf() });
    }
    trust.check(path, &resolved, &found)?;
    match read_to_end(file, most) {
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            Err(FloorsError::TooLong { path: path.to_path_buf(), most })
        }
        read => read.map(Some).map_err(unreadable),
    }
}

fn is_directory(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}

fn is_link(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Symlink
}

fn look_at(path: &Path) -> io::Result<Stat> {
    Ok(lstat(path)?)
}

/// The file without links; `None` where there is none. A link that leads nowhere is not none: who
/// put it there meant a policy, and who is governed may have taken that away. Whatever directory it
/// takes to get there is trusted, or the first that is not is the error.
fn resolve(path: &Path, trust: Trust) -> Result<Option<PathBuf>, FloorsError> {
    let unreadable = |source| FloorsError::Unreadable { path: path.to_path_buf(), source };
    let mut place = PathBuf::from("/");
    let mut left: VecDeque<OsString> = words(path);
    let mut links = 0;
    // How many words come after those of the link that is being followed.
    let mut target: Option<usize> = None;
    let mut distrusted = None;
    let mut note = |what: &Path, found: &Stat| {
        if let Err(error) = trust.check(path, what, found) {
            distrusted.get_or_insert(error);
        }
    };
    note(&place, &look_at(&place).map_err(unreadable)?);
    while let Some(word) = left.pop_front() {
        if word == ".." {
            place.pop();
            continue;
        }
        let next = place.join(&word);
        let found = match look_at(&next) {
            Ok(found) => found,
            Err(error) if is_missing(&error) && target.is_some_and(|rest| left.len() >= rest) => {
                return Err(FloorsError::Dangling { path: path.to_path_buf(), missing: next });
            }
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(unreadable(error)),
        };
        if is_link(&found) {
            links += 1;
            if links > LINKS_MAX {
                return Err(unreadable(io::Error::from(ErrorKind::InvalidInput)));
            }
            target = target.filter(|rest| left.len() >= *rest).or(Some(left.len()));
            let leads_to = readlink(&next, Vec::new());
            let leads_to = leads_to.map_err(|error| unreadable(error.into()))?;
            let leads_to = PathBuf::from(OsString::from_vec(leads_to.into_bytes()));
            if leads_to.is_absolute() {
                place = PathBuf::from("/");
            }
            words(&leads_to).into_iter().rev().for_each(|word| left.push_front(word));
            continue;
        }
        if !left.is_empty() {
            note(&next, &found);
        }
        place = next;
    }
    distrusted.map_or(Ok(Some(place)), Err)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn words(path: &Path) -> VecDeque<OsString> {
    let word = |component: Component<'_>| match component {
        Component::Normal(word) => Some(word.to_os_string()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(word).collect()
}
