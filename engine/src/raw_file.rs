//! Files read by raw system calls: a library that the environment puts before the system's own
//! answers none of them.

use rustix::fs::{FileType, FsWord, Mode, OFlags, Stat, fstat, fstatfs, open};
use rustix::io::{Errno, read, retry_on_intr};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Number of the file system that the kernel gives for a `/proc` (`PROC_SUPER_MAGIC`).
const PROC_FILE_SYSTEM: FsWord = 0x9fa0;
/// The longest file of `/proc` that is read, in bytes: the maps of a process with many libraries.
const PROC_BYTES_MAX: u64 = 4 << 20;

/// Opens a file for reading. No pipe is waited for, and no terminal becomes this process's own.
pub(crate) fn open_raw(path: &Path, more: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY | more;
    Ok(open(path, flags, Mode::empty())?)
}

/// Reads an open file to its end.
///
/// # Errors
/// [`ErrorKind::FileTooLarge`] where it has more bytes than that.
pub(crate) fn read_to_end(file: impl AsFd, most: u64) -> io::Result<Vec<u8>> {
    let (mut bytes, mut buffer) = (Vec::new(), [0_u8; 8192]);
    loop {
        let length = retry_on_intr(|| read(file.as_fd(), &mut buffer))?;
        if length == 0 {
            return Ok(bytes);
        }
        bytes.extend(buffer.iter().take(length));
        if bytes.len() as u64 > most {
            return Err(ErrorKind::FileTooLarge.into());
        }
    }
}

/// A whole regular file.
pub(crate) fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_raw(path, OFlags::empty())?;
    if !is_file(&fstat(&file)?) {
        return Err(ErrorKind::InvalidInput.into());
    }
    read_to_end(file, most)
}

pub(crate) fn is_file(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
}

/// A file of `/proc`; `None` where what is there is not the kernel's own.
pub(crate) fn proc_file(path: &str) -> io::Result<Option<String>> {
    let file = open_raw(Path::new(path), OFlags::empty())?;
    if fstatfs(&file)?.f_type != PROC_FILE_SYSTEM {
        return Ok(None);
    }
    let bytes = read_to_end(file, PROC_BYTES_MAX)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Returns whether nothing is there.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(code, Some(Errno::NOENT | Errno::NOTDIR))
}
