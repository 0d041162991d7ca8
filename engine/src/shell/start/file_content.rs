//! Reading a regular file that nobody changes meanwhile, without waiting for anybody.

use super::StartError;
use holdpoint_domain::core::hash::{Digest, Sha256Stream};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Number of times a file is read that was changed while it was read.
const READS_MAX: usize = 3;
/// Amount that is read at once.
const PIECE_BYTES: usize = 64 << 10;

/// Outcome of reading a file.
#[derive(Debug)]
pub(super) enum ContentReading {
    Whole(FileContent),
    /// It is longer than it may be.
    Beyond,
    /// This user may not read it.
    Unreadable(io::Error),
    /// The kernel makes its content when it is read, so that it has none that stays.
    Kernel,
}

/// The content of a file.
#[derive(Debug)]
pub(super) struct FileContent {
    pub(super) digest: Digest,
    pub(super) length: u64,
    /// Its canonical path.
    pub(super) place: PathBuf,
    /// Its device and inode.
    pub(super) id: (u64, u64),
}

/// Facts that tell whether a file was changed while it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    id: (u64, u64),
    length: u64,
    /// Time at which anything about it changed last.
    changed: (i64, i64),
}

impl FileStamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            id: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Reads a regular file of at most so many bytes. One that is changed meanwhile is read again, a
/// few times.
pub(super) fn content(path: &Path, bytes_max: u64) -> Result<ContentReading, StartError> {
    for _ in 0..READS_MAX {
        let read = read_once(path, bytes_max).map_err(|source| unreadable(path, source))?;
        if let Some(read) = read {
            return Ok(read);
        }
    }
    Err(StartError::Changing { path: path.to_path_buf() })
}

/// `None`: the file was changed meanwhile.
fn read_once(path: &Path, bytes_max: u64) -> io::Result<Option<ContentReading>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut file = match open(path, flags, Mode::empty()) {
        Ok(opened) => File::from(opened),
        // It was taken away, or somebody is about to write to it.
        Err(Errno::NOENT | Errno::AGAIN) => return Ok(None),
        Err(errno @ (Errno::ACCESS | Errno::PERM)) => {
            return Ok(Some(ContentReading::Unreadable(errno.into())));
        }
        Err(errno) => return Err(errno.into()),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    if is_of_kernel(&file) {
        return Ok(Some(ContentReading::Kernel));
    }
    let before = FileStamp::of(&metadata);
    if before.length > bytes_max {
        return Ok(Some(ContentReading::Beyond));
    }
    let Some(digest) = digest_of(&mut file, before.length)? else { return Ok(None) };
    let Ok(place) = path.canonicalize() else { return Ok(None) };
    let stands_there = place.metadata().is_ok_and(|there| FileStamp::of(&there) == before);
    if FileStamp::of(&file.metadata()?) != before || !stands_there {
        return Ok(None);
    }
    let FileStamp { id, length, .. } = before;
    Ok(Some(ContentReading::Whole(FileContent { digest, length, place, id })))
}

/// The digest of exactly so many bytes; `None` where there are more or fewer.
fn digest_of(file: &mut File, length: u64) -> io::Result<Option<Digest>> {
    let (mut digest, mut piece) = (Sha256Stream::new(), vec![0; PIECE_BYTES]);
    let mut read = 0_u64;
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok((read == length).then(|| digest.finish())),
            Ok(taken) => {
                read = read.saturating_add(u64::try_from(taken).unwrap_or(u64::MAX));
                if read > length {
                    return Ok(None);
                }
                digest.take(piece.get(..taken).unwrap_or_default());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns whether a file lies in one of the kernel's own file systems, whose files have no length
/// and another content whenever they are read.
#[cfg(target_os = "linux")]
fn is_of_kernel(file: &File) -> bool {
    // The numbers of `linux/magic.h`: proc, sysfs, cgroup and its second version, debugfs, tracefs,
    // securityfs, selinuxfs, efivarfs and bpf.
    const KERNEL: [u32; 10] = [
        0x9fa0,
        0x6265_6572,
        0x0027_e0eb,
        0x6367_7270,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0xf97c_ff8c,
        0xde5e_81e4,
        0xcafe_4a11,
    ];
    let number = rustix::fs::fstatfs(file).ok().and_then(|found| u32::try_from(found.f_type).ok());
    number.is_some_and(|number| KERNEL.contains(&number))
}

#[cfg(not(target_os = "linux"))]
fn is_of_kernel(_file: &File) -> bool {
    false
}

pub(super) fn unreadable(path: &Path, source: io::Error) -> StartError {
    StartError::Io { what: "read", path: path.to_path_buf(), source }
}
