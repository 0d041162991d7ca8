//! Root that writes in another user's log does the work on its files as that user: so it makes
//! nothing there that is root's, and follows no link to what that user may not write.
//!
//! The identity is that of one thread, for as long as one piece of work takes, so whichever thread
//! does it has it.

use holdpoint_log_files::DirectoryStorage;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat, stat, statat};
use rustix::io::Errno;
use rustix::process::{Gid, Uid, getegid, geteuid, getgroups};
use rustix::thread::set_thread_groups;
use std::cell::Cell;
use std::ffi::OsStr;
use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

thread_local! {
    /// True if an [`AsOwner`] of this thread lives.
    static IS_CHANGED: Cell<bool> = const { Cell::new(false) };
}

/// This thread's file work is another user's for as long as this lives, where that is called for.
pub(super) struct AsOwner {
    /// The groups of before; `None`: nothing was changed.
    groups: Option<Vec<Gid>>,
    /// It is of one thread.
    _thread: PhantomData<*const ()>,
}

impl AsOwner {
    /// Takes the identity of the owner of this log's directory, where this process is root and the
    /// owner is not. A directory that is not there has none yet.
    pub(super) fn of(log: &DirectoryStorage) -> io::Result<Self> {
        Self::of_what(|| log.own_stat())
    }

    /// Does the same for a directory around a log.
    pub(super) fn of_directory(path: &Path) -> io::Result<Self> {
        Self::of_what(|| stat(path))
    }

    fn of_what(look: impl FnOnce() -> rustix::io::Result<Stat>) -> io::Result<Self> {
        let unchanged = Self { groups: None, _thread: PhantomData };
        // Work that is a part of other work has its identity.
        if IS_CHANGED.get() {
            return Ok(unchanged);
        }
        let Some(owner) = foreign_owner(look)? else { return Ok(unchanged) };
        let before = getgroups()?;
        set_thread_groups(&[])?;
        IS_CHANGED.set(true);
        let changed = Self { groups: Some(before), _thread: PhantomData };
        let is_group = set_file_group(owner.st_gid);
        if !is_group || !set_file_user(owner.st_uid) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        Ok(changed)
    }
}

impl Drop for AsOwner {
    fn drop(&mut self) {
        let Some(groups) = self.groups.take() else { return };
        set_file_user(geteuid().as_raw());
        set_file_group(getegid().as_raw());
        // The rights to do so came back with the user, and these are the groups of before.
        let _ = set_thread_groups(&groups);
        IS_CHANGED.set(false);
    }
}

/// The owner of a directory, where this process is root and the owner is not.
fn foreign_owner(look: impl FnOnce() -> rustix::io::Result<Stat>) -> io::Result<Option<Stat>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    match look() {
        Ok(found) => Ok((!Uid::from_raw(found.st_uid).is_root()).then_some(found)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Checks whether root may write in this log: where it is another user's, every file in it is a
/// regular one with one name, and everything is that user's, or, in a log of a group, at least no
/// link.
pub(super) fn check_owned(log: &DirectoryStorage) -> io::Result<()> {
    let Some(owner) = foreign_owner(|| log.own_stat())? else { return Ok(()) };
    let is_shared = Mode::from_raw_mode(owner.st_mode).contains(Mode::WGRP);
    check_entries(log.open_directory("")?, log.root(), (owner.st_uid, is_shared), 0)
}

/// Maximum depth of a log's directories.
const DEPTH_MAX: usize = 3;

fn check_entries(
    directory: OwnedFd,
    place: &Path,
    owner: (u32, bool),
    depth: usize,
) -> io::Result<()> {
    for entry in Dir::read_from(&directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let path: PathBuf = place.join(OsStr::from_bytes(name.to_bytes()));
        let found = match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => continue,
            found => found?,
        };
        let kind = FileType::from_raw_mode(found.st_mode);
        let is_link = match kind {
            FileType::Directory => false,
            FileType::RegularFile => found.st_nlink > 1,
            _ => true,
        };
        let (user, is_shared) = owner;
        if is_link || (found.st_uid != user && !is_shared) {
            let what = if is_link {
                "is a link or no file".into()
            } else {
                format!("belongs to user {}", found.st_uid)
            };
            return Err(io::Error::other(format!(
                "{} {what}, and the log is user {user}'s: root writes in another user's log only \
                 where all of it is that user's; let that user write, or mend it",
                path.display()
            )));
        }
        if kind == FileType::Directory && depth < DEPTH_MAX {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let inner = openat(&directory, name, flags, Mode::empty())?;
            check_entries(inner, &path, owner, depth + 1)?;
        }
    }
    Ok(())
}

/// Makes another user the one of this thread's file work. Whether it is.
#[cfg(target_os = "linux")]
fn set_file_user(user: u32) -> bool {
    use nix::unistd::{Uid, setfsuid};
    setfsuid(Uid::from_raw(user));
    // A number that no user has changes nothing, and the answer is who it is.
    setfsuid(Uid::from_raw(u32::MAX)).as_raw() == user
}

/// The same of the group.
#[cfg(target_os = "linux")]
fn set_file_group(group: u32) -> bool {
    use nix::unistd::{Gid, setfsgid};
    setfsgid(Gid::from_raw(group));
    setfsgid(Gid::from_raw(u32::MAX)).as_raw() == group
}

/// Another user's file work: this system has no such thing.
#[cfg(not(target_os = "linux"))]
const fn set_file_user(_: u32) -> bool {
    false
}

/// The same of the group.
#[cfg(not(target_os = "linux"))]
const fn set_file_group(_: u32) -> bool {
    false
}
