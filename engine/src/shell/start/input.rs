//! Input that a command that is asked about before its start will read from standard input.

use super::StartError;
use crate::executor::{SignalSource, Stdin};
use crate::shell::interrupt::Interrupt;
use holdpoint_domain::core::hash::{Digest, Sha256Stream};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, SeekFrom, Stat, fstat, seek, stat};
use rustix::io::{Errno, pread, read};
use rustix::stdio::{dup2_stdin, stdin};
use rustix::termios::isatty;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

/// The most that is read of a pipe, in bytes (64 MiB): it is kept for the command.
const PIPE_BYTES_MAX: usize = 64 << 20;
/// Amount that is read at once.
const PIECE_BYTES: usize = 64 << 10;

/// Standard input as it is bound, of a command that has none, or that reads this process's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// Nothing.
    Nothing,
    /// A terminal of its own: what will be typed there is not known.
    Terminal,
    /// A regular file, from where it stands to its end. Digested whenever it is looked at.
    File,
    /// Content of a pipe or socket until its end: kept in memory for the command.
    Whole {
        /// Its digest.
        digest: Digest,
        /// Number of its bytes.
        length: u64,
    },
}

/// Content that was found in a file.
pub(super) struct Content {
    /// From where on.
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) digest: Digest,
}

impl Input {
    /// Looks at what the command will read. A pipe is read to its end, and this process's standard
    /// input is then a file in memory that holds the same.
    pub(super) fn take(wanted: Stdin, signals: &mut dyn SignalSource) -> Result<Self, StartError> {
        match wanted {
            Stdin::Null => return Ok(Self::Nothing),
            Stdin::Terminal => return Ok(Self::Terminal),
            Stdin::Inherit => {}
        }
        let found = fstat(stdin()).map_err(failed)?;
        Ok(match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => Self::File,
            FileType::CharacterDevice if isatty(stdin()) => {
                return Err(StartError::Input { found: "a terminal" });
            }
            FileType::CharacterDevice if is_null(&found) => Self::Nothing,
            FileType::Fifo | FileType::Socket => return keep_whole(signals),
            other => return Err(StartError::Input { found: kind_name(other) }),
        })
    }

    /// The content of the regular file that standard input is. Where it stands is not changed.
    pub(super) fn content() -> Result<Content, StartError> {
        let offset = seek(stdin(), SeekFrom::Current(0)).map_err(failed)?;
        let (mut digest, mut length) = (Sha256Stream::new(), 0_u64);
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            match pread(stdin(), &mut *piece, offset.saturating_add(length)) {
                Ok(0) => return Ok(Content { offset, length, digest: digest.finish() }),
                Ok(taken) => {
                    digest.take(piece.get(..taken).unwrap_or_default());
                    length = length.saturating_add(taken as u64);
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(failed(errno)),
            }
        }
    }
}

/// Reads to the end, and puts what was read in the place of standard input.
fn keep_whole(signals: &mut dyn SignalSource) -> Result<Input, StartError> {
    let mut whole = Vec::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        if let Some(Interrupt { signal, .. }) = Interrupt::take(signals) {
            return Err(StartError::Interrupted { signal });
        }
        if !is_readable(signals) {
            continue;
        }
        match read(stdin(), &mut *piece) {
            Ok(0) => break,
            Ok(taken) => whole.extend(piece.get(..taken).unwrap_or_default()),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(failed(errno)),
        }
        if whole.len() > PIPE_BYTES_MAX {
            return Err(StartError::InputTooLong { limit: PIPE_BYTES_MAX });
        }
    }
    let kept = in_memory(&whole).map_err(StartError::InputFailed)?;
    dup2_stdin(&kept).map_err(failed)?;
    let mut digest = Sha256Stream::new();
    digest.take(&whole);
    Ok(Input::Whole { digest: digest.finish(), length: whole.len() as u64 })
}

/// Waits for more input or a signal; whether there is input.
fn is_readable(signals: &dyn SignalSource) -> bool {
    let wake = signals.wake();
    let own = PollFd::from_borrowed_fd(stdin(), PollFlags::IN);
    let wake = wake.map(|wake| PollFd::from_borrowed_fd(wake, PollFlags::IN));
    let mut watched: Vec<_> = [Some(own), wake].into_iter().flatten().collect();
    // Whatever ended the wait: what there is to read is read.
    let _ = poll(&mut watched, None);
    watched.first().is_some_and(|own| !own.revents().is_empty())
}

/// A file without a name, at its beginning, that nobody can write to any more.
#[cfg(target_os = "linux")]
fn in_memory(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(memfd_create("holdpoint input", flags)?);
    file.write_all(bytes)?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK)?;
    seek(&file, SeekFrom::Start(0))?;
    Ok(file.into())
}

/// A file without a name, at its beginning, open for reading alone.
#[cfg(not(target_os = "linux"))]
fn in_memory(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| std::io::Error::other(error.to_string()))?;
    let path = std::env::temp_dir().join(format!("holdpoint-{:032x}", u128::from_le_bytes(random)));
    let mut file = File::create_new(&path)?;
    file.write_all(bytes)?;
    let reading = File::open(&path);
    std::fs::remove_file(&path)?;
    Ok(reading?.into())
}

/// Returns whether a device is the one that is nothing.
fn is_null(device: &Stat) -> bool {
    stat("/dev/null").is_ok_and(|null| null.st_rdev == device.st_rdev)
}

fn failed(errno: Errno) -> StartError {
    StartError::InputFailed(errno.into())
}

fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a directory",
        FileType::BlockDevice => "a block device",
        _ => "a device",
    }
}
