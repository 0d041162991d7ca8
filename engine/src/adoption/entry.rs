//! A log in the list of this user: what it was when it was begun or adopted.

use super::machine::machine;
use holdpoint_domain::core::hash::Digest;
use holdpoint_log_format::{BootId, LogId};
use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Way by which a log came into the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// This user number began it.
    Begun,
    /// A person adopted it at a terminal.
    Adopted,
    /// A person was asked once, and did not.
    Declined,
}

/// A log as it is now: its identity, and the directory that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPlace {
    path: PathBuf,
    id: LogId,
    boot: BootId,
    inode: u64,
    device: u64,
    /// Time at which the directory was made, in nanoseconds; 0 where the file system does not say.
    /// An inode number is given to the next directory once this one is removed.
    born_ns: u64,
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    adoption: Adoption,
    machine: Digest,
    place: LogPlace,
}

impl LogPlace {
    /// The log of this identity in a directory, as the system has that now, in this boot of the
    /// machine.
    ///
    /// # Errors
    /// It is not there, or the system does not say.
    pub fn of(log: &Path, id: LogId, boot: BootId) -> io::Result<Self> {
        let path = log.canonicalize()?;
        let metadata = path.symlink_metadata()?;
        if !metadata.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        let born = statx(CWD, &path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME);
        let born = born.ok().filter(|found| found.stx_mask & StatxFlags::BTIME.bits() != 0);
        let born_ns = born.map_or(0, |found| {
            let seconds = u64::try_from(found.stx_btime.tv_sec).unwrap_or_default();
            let below = u64::from(found.stx_btime.tv_nsec);
            seconds.saturating_mul(1_000_000_000).saturating_add(below)
        });
        Ok(Self { path, id, boot, inode: metadata.ino(), device: metadata.dev(), born_ns })
    }

    /// The directory, which no link is part of.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn id(&self) -> LogId {
        self.id
    }
}

impl Entry {
    /// A log as it is now, on this machine.
    pub(super) fn new(place: LogPlace, adoption: Adoption) -> Self {
        Self { adoption, machine: machine(), place }
    }

    pub(super) fn path(&self) -> &Path {
        &self.place.path
    }

    pub(super) const fn id(&self) -> LogId {
        self.place.id
    }

    pub(super) const fn adoption(&self) -> Adoption {
        self.adoption
    }

    /// Returns whether the log is this very one. Device numbers say something within one boot
    /// alone.
    pub(super) fn is_of(&self, log: &LogPlace) -> bool {
        let Self { machine: known_machine, place, .. } = self;
        let is_same_boot = place.boot == log.boot && place.boot != BootId::UNKNOWN;
        let born_alike = [place.born_ns, log.born_ns].contains(&0) || place.born_ns == log.born_ns;
        place.path == log.path
            && place.id == log.id
            && place.inode == log.inode
            && (!is_same_boot || place.device == log.device)
            && born_alike
            && *known_machine == machine()
    }

    /// Returns whether nothing is at its path any more.
    pub(super) fn is_gone(&self) -> bool {
        let found = self.place.path.symlink_metadata();
        found.is_err_and(|error| {
            matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
        })
    }

    /// `HOW ID INODE DEVICE BORN BOOT MACHINE PATH`, the path with `%` and control characters as
    /// `%0a`.
    pub(super) fn line(&self) -> Vec<u8> {
        let Self { adoption, machine, place } = self;
        let LogPlace { path, id, boot, inode, device, born_ns } = place;
        let how = match adoption {
            Adoption::Begun => "begun",
            Adoption::Adopted => "adopted",
            Adoption::Declined => "declined",
        };
        let boot = base16ct::lower::encode_string(&boot.0);
        let head = format!("{how} {id} {inode} {device} {born_ns} {boot} {machine} ");
        let mut line = head.into_bytes();
        for byte in path.as_os_str().as_bytes() {
            match byte {
                b'%' | 0..0x20 => line.extend(format!("%{byte:02x}").bytes()),
                byte => line.push(*byte),
            }
        }
        line.push(b'\n');
        line
    }

    /// Returns what a line says; `None`: nothing that any list says.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let mut words = line.splitn(8, |byte| *byte == b' ');
        let mut word = || words.next().and_then(|word| std::str::from_utf8(word).ok());
        let adoption = match word()? {
            "begun" => Adoption::Begun,
            "adopted" => Adoption::Adopted,
            "declined" => Adoption::Declined,
            _ => return None,
        };
        let id = LogId(digits(word()?)?);
        let mut number = || word().and_then(|word| word.parse::<u64>().ok());
        let (inode, device, born_ns) = (number()?, number()?, number()?);
        let boot = BootId(digits(word()?)?);
        let machine = Digest::from_bytes(digits(word()?)?);
        let path = unescaped(words.next()?)?;
        let place = LogPlace { path, id, boot, inode, device, born_ns };
        place.path.is_absolute().then_some(Self { adoption, machine, place })
    }
}

fn digits<const N: usize>(word: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let is_whole = word.len() == N.saturating_mul(2);
    let decoded = base16ct::lower::decode(word, &mut bytes).ok()?;
    (is_whole && decoded.len() == N).then_some(bytes)
}

fn unescaped(text: &[u8]) -> Option<PathBuf> {
    let mut path = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        if *byte != b'%' {
            path.push(*byte);
            continue;
        }
        let pair = [*bytes.next()?, *bytes.next()?];
        let [byte] = digits::<1>(std::str::from_utf8(&pair).ok()?)?;
        path.push(byte);
    }
    Some(PathBuf::from(OsString::from_vec(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(path: &str) -> LogPlace {
        let (id, boot) = (LogId([7; 16]), BootId([1; 16]));
        LogPlace { path: path.into(), id, boot, inode: 5, device: 6, born_ns: 7 }
    }

    #[test]
    fn an_entry_is_read_back_whatever_bytes_its_path_has() {
        let path = OsString::from_vec(b"/a b/100%\n\xff\x1b[2J".to_vec());
        let place = LogPlace { path: path.into(), ..place("/") };
        for adoption in [Adoption::Begun, Adoption::Adopted, Adoption::Declined] {
            let entry = Entry::new(place.clone(), adoption);
            let line = entry.line();
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            assert_eq!(Entry::parse(line.trim_ascii_end()), Some(entry));
        }
        for line in [&b""[..], b"begun", b"begun 00 1 2 3 00 00 /a", b"other"] {
            assert_eq!(Entry::parse(line), None);
        }
    }

    #[test]
    fn only_the_very_directory_is_the_log_and_devices_count_within_one_boot() {
        let entry = Entry::new(place("/a"), Adoption::Begun);
        let with = |change: &dyn Fn(&mut LogPlace)| {
            let mut place = place("/a");
            change(&mut place);
            entry.is_of(&place)
        };
        assert!(with(&|_| {}));
        assert!(!with(&|place| place.path = "/b".into()));
        assert!(!with(&|place| place.id = LogId([8; 16])));
        assert!(!with(&|place| place.inode = 6));
        assert!(!with(&|place| place.device = 7));
        assert!(!with(&|place| place.born_ns = 8), "a directory made anew got the same number");
        assert!(with(&|place| place.born_ns = 0), "a file system may not say");
        assert!(with(&|place| (place.device, place.boot) = (7, BootId([2; 16]))));
        let elsewhere = Entry { machine: Digest::from_bytes([0; 32]), ..entry.clone() };
        assert!(!elsewhere.is_of(&place("/a")), "the list of another machine");
    }
}
