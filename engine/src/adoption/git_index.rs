//! Check that a log stands in the index of a git repository around it: whoever clones that brings
//! the log along. The index is read and no git is started: a repository says which programs git
//! runs.
//!
//! The format is that of gitformat-index(5), versions 2 to 4, with names of either hash, a split
//! index and sparse directories. The crate that reads it (`gix-index`) brings 29 others for one
//! question.

use super::fault::NotAdopted;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The longest index that is read, in bytes.
const INDEX_BYTES_MAX: u64 = 1 << 30;
/// The longest file that says where a repository is, in bytes.
const GIT_FILE_BYTES_MAX: u64 = 64 << 10;
/// An entry's times, device, inode, mode, owner, group and size.
const STAT_BYTES: usize = 40;
/// Place where the mode of an entry is among them.
const MODE_AT: usize = 24;
/// Twelve bytes stand before the entries.
const HEADER_BYTES: usize = 12;
/// The mode of an entry that stands for all below a directory.
const SPARSE_DIRECTORY: u32 = 0o040_000;
/// The flag of an entry that has two more bytes of them.
const EXTENDED: u16 = 0x4000;

/// The index in which a log stands, of whichever repository around it; `None`: none.
pub(super) fn standing_in(log: &Path) -> Result<Option<PathBuf>, NotAdopted> {
    for around in log.ancestors().skip(1) {
        let Ok(within) = log.strip_prefix(around) else { continue };
        for index in indexes(&around.join(".git")).map_err(|fault| fault.of(log))? {
            let unread = |reason: String| GitIndexFault { index: index.clone(), reason }.of(log);
            let bytes = read(&index, INDEX_BYTES_MAX).map_err(|error| unread(error.to_string()))?;
            let Some(bytes) = bytes else { continue };
            let holds = holds(&bytes, within.as_os_str().as_bytes());
            if holds.ok_or_else(|| unread("it is no index that is understood".to_string()))? {
                return Ok(Some(index));
            }
        }
    }
    Ok(None)
}

/// Index that cannot be read, and the reason.
struct GitIndexFault {
    index: PathBuf,
    reason: String,
}

impl GitIndexFault {
    fn of(self, log: &Path) -> NotAdopted {
        let Self { index, reason } = self;
        NotAdopted::GitIndexUnread { log: log.to_path_buf(), index, reason }
    }
}

/// The index of a repository, and what a split one shares. A file in the place of `.git` says where
/// the repository of a work tree or a submodule is.
fn indexes(git: &Path) -> Result<Vec<PathBuf>, GitIndexFault> {
    let fault =
        |error: io::Error| GitIndexFault { index: git.to_path_buf(), reason: error.to_string() };
    let directory = match git.metadata() {
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        Err(error) => return Err(fault(error)),
        Ok(found) if found.is_dir() => git.to_path_buf(),
        Ok(found) if found.is_file() => {
            let said = read(git, GIT_FILE_BYTES_MAX).map_err(fault)?.unwrap_or_default();
            let Some(named) = said.strip_prefix(b"gitdir: ") else { return Ok(Vec::new()) };
            let named = Path::new(std::ffi::OsStr::from_bytes(named.trim_ascii_end()));
            git.parent().unwrap_or(Path::new("/")).join(named)
        }
        Ok(_) => return Ok(Vec::new()),
    };
    let mut indexes = vec![directory.join("index")];
    let listed = match std::fs::read_dir(&directory) {
        Err(error) if is_missing(&error) => return Ok(indexes),
        listed => listed.map_err(fault)?,
    };
    for entry in listed {
        let entry = entry.map_err(fault)?;
        if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
            indexes.push(entry.path());
        }
    }
    Ok(indexes)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A file that is there, whole.
fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or_default();
    let opened = match File::options().read(true).custom_flags(nonblocking).open(path) {
        Err(error) if is_missing(&error) => return Ok(None),
        opened => opened?,
    };
    if !opened.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidData, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    opened.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= most) {
        true => Ok(Some(bytes)),
        false => Err(io::Error::new(ErrorKind::InvalidData, "it is longer than any index")),
    }
}

/// Returns whether an index has an entry at a path, below it, or for a sparse directory above it;
/// `None`: it is no index. Its names are those of one hash, and which one only its entries tell.
fn holds(index: &[u8], path: &[u8]) -> Option<bool> {
    // Short ids first: an index with long ones hardly ever reads as one with short ones, and what
    // either reading finds counts.
    let found = [20, 32].map(|hash_bytes| Entries::of(index, hash_bytes)?.any(path));
    match found {
        [None, None] => None,
        [one, other] => Some(one == Some(true) || other == Some(true)),
    }
}

/// The entries of an index whose ids have so many bytes.
struct Entries<'a> {
    rest: &'a [u8],
    left: u32,
    version: u32,
    hash_bytes: usize,
}

impl<'a> Entries<'a> {
    fn of(index: &'a [u8], hash_bytes: usize) -> Option<Self> {
        let rest = index.strip_prefix(b"DIRC")?;
        let (version, left) = (number(rest, 0)?, number(rest, 4)?);
        let rest = index.get(HEADER_BYTES..index.len().checked_sub(hash_bytes)?)?;
        (2..=4).contains(&version).then_some(Self { rest, left, version, hash_bytes })
    }

    /// Returns whether any of them stands for the path; `None`: these are no entries.
    fn any(mut self, path: &[u8]) -> Option<bool> {
        let (mut name, mut is_held) = (Vec::new(), false);
        while self.left > 0 {
            self.left = self.left.checked_sub(1)?;
            let mode = self.next(&mut name)?;
            is_held |= stands_for(&name, mode, path);
        }
        self.is_at_extensions().then_some(is_held)
    }

    /// Reads the next one's name in the place of the one before. Its mode.
    fn next(&mut self, name: &mut Vec<u8>) -> Option<u32> {
        let entry = self.rest;
        let mode = number(entry, MODE_AT)?;
        let flags_at = STAT_BYTES.checked_add(self.hash_bytes)?;
        let flags = entry.get(flags_at..flags_at.checked_add(2)?)?;
        let flags = u16::from_be_bytes(flags.try_into().ok()?);
        let more = if flags & EXTENDED != 0 && self.version >= 3 { 4 } else { 2 };
        let mut at = flags_at.checked_add(more)?;
        if self.version == 4 {
            let (dropped, length) = varint(entry.get(at..)?)?;
            at = at.checked_add(length)?;
            name.truncate(name.len().checked_sub(dropped)?);
        } else {
            name.clear();
        }
        let written = entry.get(at..)?;
        let length = written.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(written.get(..length)?);
        let end = at.checked_add(length)?.checked_add(1)?;
        // Up to version 3 entries are padded to eight bytes, with at least one zero.
        let end = if self.version == 4 { end } else { end.checked_next_multiple_of(8)? };
        self.rest = entry.get(end..)?;
        Some(mode)
    }

    /// Behind the entries come extensions, each with a name of capital or small letters, up to the
    /// end.
    fn is_at_extensions(&self) -> bool {
        let mut rest = self.rest;
        while !rest.is_empty() {
            let name = rest.get(..4).unwrap_or_default();
            let length = number(rest, 4).and_then(|length| usize::try_from(length).ok());
            let end = length.and_then(|length| length.checked_add(8));
            let is_named = name.len() == 4 && name.iter().all(u8::is_ascii_alphabetic);
            match end.and_then(|end| rest.get(end..)).filter(|_| is_named) {
                Some(behind) => rest = behind,
                None => return false,
            }
        }
        true
    }
}

fn stands_for(name: &[u8], mode: u32, path: &[u8]) -> bool {
    let is_below = |name: &[u8], path: &[u8]| {
        name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    let directory = name.strip_suffix(b"/").filter(|_| mode == SPARSE_DIRECTORY);
    is_below(name, path) || directory.is_some_and(|directory| is_below(path, directory))
}

/// Four bytes at a place, the highest first.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// A number as git writes it: seven bits a byte, the highest first, one more for each byte before.
fn varint(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some((value, at.checked_add(1)?));
        }
        value = value.checked_add(1)?;
    }
    None
}
