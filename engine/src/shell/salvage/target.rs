//! Place of the new log: made under another name beside its place, and moved there when it is
//! complete and synced, so that an interrupted salvage is never taken for a log.

use super::error::SalvageError;
use crate::log::{Storage, vacancy};
use holdpoint_log_files::DirectoryStorage;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Suffix of the name while the log is being made.
const BUILDING_SUFFIX: &str = ".salvaging";

/// The place of the new log.
#[derive(Debug)]
pub(super) struct Target {
    /// Path where it will be, with every link on the way resolved.
    path: PathBuf,
    /// Path where it is made.
    pub(super) building: PathBuf,
}

impl Target {
    /// Checks that the place is free and not in the source. Nothing is made yet.
    pub(super) fn find(source: &Path, target: &Path) -> Result<Self, SalvageError> {
        let path = resolved(target)?;
        let source = source.canonicalize().map_err(io_error("look at", source))?;
        if path.starts_with(&source) {
            return Err(SalvageError::Inside { target: path, path: source });
        }
        check_free(target, &path)?;
        let mut name = path.file_name().map(OsString::from).unwrap_or_default();
        name.push(BUILDING_SUFFIX);
        let building = path.with_file_name(name);
        match building.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self { path, building }),
            Err(error) => Err(io_error("look at", &building)(error)),
            Ok(_) => Err(SalvageError::Unfinished { building }),
        }
    }

    /// Moves the complete log to its place, durably.
    pub(super) fn publish(&self) -> Result<(), SalvageError> {
        let moved = vacancy::take_place(&self.building, &self.path);
        moved.map_err(io_error("move the new log to", &self.path))?;
        let parent = self.path.parent().unwrap_or(Path::new("/"));
        DirectoryStorage::new(parent).sync_directory("").map_err(io_error("sync", parent))
    }

    /// Returns what failed, with the name of what was left behind, if anything was.
    pub(super) fn interrupted(&self, cause: SalvageError) -> SalvageError {
        if !self.building.exists() {
            return cause;
        }
        SalvageError::Interrupted { building: self.building.clone(), cause: Box::new(cause) }
    }

    /// Returns where it will be.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns what the disk said of a path, for `map_err`.
pub(super) fn io_error(
    operation: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> SalvageError {
    let path = path.to_path_buf();
    move |source| SalvageError::Io { operation, path, source }
}

/// An absolute path without links. Its last parts need not exist yet.
fn resolved(path: &Path) -> Result<PathBuf, SalvageError> {
    let absolute = std::path::absolute(path).map_err(io_error("look at", path))?;
    let mut missing = Vec::new();
    for ancestor in absolute.ancestors() {
        match ancestor.canonicalize() {
            Ok(found) => return Ok(missing.iter().rev().fold(found, |path, part| path.join(part))),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("look at", ancestor)(error));
            }
            Err(_) => match ancestor.components().next_back() {
                Some(Component::Normal(part)) => missing.push(part.to_os_string()),
                _ => return Err(io_error("look at", path)(io::ErrorKind::NotFound.into())),
            },
        }
    }
    Err(io_error("look at", path)(io::ErrorKind::NotFound.into()))
}

/// The place must be missing or an empty directory, and no link.
fn check_free(named: &Path, path: &Path) -> Result<(), SalvageError> {
    let taken = || SalvageError::NotEmpty { target: named.to_path_buf() };
    let plain: PathBuf = named.components().collect();
    let found = match plain.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(io_error("look at", named))?,
    };
    if !found.is_dir() {
        return Err(taken());
    }
    let is_free = vacancy::is_free(path).map_err(io_error("look at", named))?;
    if is_free { Ok(()) } else { Err(taken()) }
}
