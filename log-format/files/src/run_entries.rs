//! The entries that wait in a run's own file until a writer takes them up.
//!
//! # Invariants
//!
//! - A header is read, and its signature checked, before anything is allocated for its payload.
//! - A fault ends the reading: what follows it counts for nothing, but for the entry of a guard,
//!   which is found by its signature wherever it stands.
//! - The last entry of a writer that was killed is a torn tail and no fault.

use crate::storage::{ReadFile, open_regular};
use holdpoint_log_format::limits::{
    OUTCOME_FILE_MAX, RUN_ENTRY_HEADER_LENGTH, RUN_ENTRY_PAYLOAD_MAX, RUN_FILE_LINE_MAX,
};
use holdpoint_log_format::outcome_file::{self, OutcomeFile};
use holdpoint_log_format::run_entry::{ENTRY_MAGIC, GUARD_FACTS_LENGTH};
use holdpoint_log_format::{EntryFault, EntryHeader, EntryKind, RunStart};
use rustix::fs::{FlockOperation, OFlags, flock, fstat};
#[cfg(target_os = "linux")]
use rustix::io::{Errno, retry_on_intr};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

/// Amount of a file that is looked through at once for the entry of a guard.
const GUARD_LOOKED_FOR: usize = 64 * 1024;

/// Length of the entry of a guard.
const GUARD_ENTRY_LENGTH: usize = RUN_ENTRY_HEADER_LENGTH + GUARD_FACTS_LENGTH;

/// Amount of a tail that is compared with zeros at once.
const ZEROS_READ: usize = 64 * 1024;

/// One entry that its recorder signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEntry {
    /// Its place among the entries of the attempt, from 1.
    pub number: u64,
    /// Kind of the payload.
    pub kind: EntryKind,
    /// The payload.
    pub payload: Vec<u8>,
}

/// Why a file in the place of a run's own is not its recorder's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunFileFault {
    /// The disk does not give it, or it is no regular file.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It has other names, or none.
    #[error("it has {found} names where a recorder's has one")]
    Names {
        /// Number of them.
        found: u64,
    },
    /// It belongs to another user.
    #[error("it belongs to user number {found}, and the recorder is user number {expected}")]
    Owner {
        /// The recorder's number.
        expected: u32,
        /// The owner's number.
        found: u32,
    },
    /// The record that it names is no start of this run with a key.
    #[error("record {sequence}, which it names, is not the start of this run")]
    Start {
        /// The sequence that it names.
        sequence: u64,
    },
    /// A part of it is no entry of the recorder's.
    #[error("{source} (behind {before} entries, at byte {offset})")]
    Entry {
        /// Number of entries that precede it.
        before: u64,
        /// Place where it lies.
        offset: u64,
        /// Why.
        source: EntryFault,
    },
}

impl RunFileFault {
    /// Returns whether the file is another one than its recorder made, as far as that can be told.
    #[must_use]
    pub const fn is_another_file(&self) -> bool {
        matches!(self, Self::Io(_) | Self::Names { .. } | Self::Owner { .. })
    }
}

/// Takes what looks like the entry of a guard: what its header claims, its header and its payload.
type VisitGuard<'a> = dyn FnMut(EntryHeader, &[u8; RUN_ENTRY_HEADER_LENGTH], &[u8]) + 'a;

/// Outcome of a look at the next entry.
enum Look {
    Entry(EntryHeader),
    End,
}

/// The entries of one run's file, first to last.
#[derive(Debug)]
pub struct RunEntries<F = File> {
    file: F,
    owner: u32,
    length: u64,
    /// Place where the next entry begins.
    at: u64,
    /// Number of entries that were read.
    before: u64,
    /// The number of the next one: any, where none was read. Those before were taken up, and taken
    /// away by their recorder.
    expected: Option<u64>,
    /// True if it begins with the line of its recorder. Otherwise no entry follows.
    has_line: bool,
}

impl RunEntries {
    /// Opens the file at a path; `None` where there is none.
    ///
    /// # Errors
    /// [`RunFileFault::Io`], [`RunFileFault::Names`].
    pub fn open(path: &Path) -> Result<Option<Self>, RunFileFault> {
        match open_regular(path, OFlags::RDONLY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
            Ok(file) => Self::of(file).map(Some),
        }
    }

    /// The entries of an open file.
    ///
    /// # Errors
    /// As [`RunEntries::open`].
    pub fn of(file: File) -> Result<Self, RunFileFault> {
        let stat = fstat(file.as_fd()).map_err(io::Error::from)?;
        #[allow(clippy::useless_conversion, reason = "its width differs between systems")]
        let names = u64::from(stat.st_nlink);
        if names != 1 {
            return Err(RunFileFault::Names { found: names });
        }
        let length = u64::try_from(stat.st_size).unwrap_or(0);
        Self::begin(file, stat.st_uid, length)
    }

    /// The first record that an entry of a guard names as the start of this loop, which nothing
    /// proves yet; `None`: no such entry stands anywhere in the file.
    ///
    /// # Errors
    /// What the disk says.
    pub fn first_claimed_by_guard(&self, loop_digits: &[u8; 16]) -> io::Result<Option<u64>> {
        let mut first = None;
        self.each_of_guard(&mut |header, _, _| {
            if header.start.loop_digits == *loop_digits {
                let claimed = header.start.sequence;
                first = Some(first.map_or(claimed, |first: u64| first.min(claimed)));
            }
        })?;
        Ok(first)
    }

    /// The last entry of a guard that is signed by the key of this start, whatever stands before it
    /// and behind it.
    ///
    /// # Errors
    /// What the disk says.
    pub fn word_of_guard(
        &self,
        start: &RunStart,
        public: &[u8; 32],
    ) -> io::Result<Option<RunEntry>> {
        let mut word = None;
        self.each_of_guard(&mut |claimed, header, payload| {
            if claimed.start == *start
                && let Ok(header) = EntryHeader::decode(header, start, public, None)
                && header.check_payload(payload).is_ok()
            {
                let (kind, number) = (header.kind, header.number);
                word = Some(RunEntry { number, kind, payload: payload.to_vec() });
            }
        })?;
        Ok(word)
    }

    /// Shows what looks like the entry of a guard, wherever it stands. A hole costs nothing.
    fn each_of_guard(&self, visit: &mut VisitGuard<'_>) -> io::Result<()> {
        let mut bytes = vec![0; GUARD_LOOKED_FOR];
        let mut at = 0;
        while let Some(from) = next_data(&self.file, at)? {
            let count = self.file.read_at(from, &mut bytes)?;
            let found = bytes.get(..count).unwrap_or_default();
            for entry in found.windows(GUARD_ENTRY_LENGTH) {
                if entry.starts_with(&ENTRY_MAGIC)
                    && let Some((header, payload)) = entry.split_first_chunk()
                    && let Ok(claimed) = EntryHeader::read(header)
                    && claimed.kind == EntryKind::GuardFacts
                    && claimed.length as usize == GUARD_FACTS_LENGTH
                {
                    visit(claimed, header, payload);
                }
            }
            if count < bytes.len() {
                break;
            }
            // One may begin in this part and end in the next.
            at = from.saturating_add((count - GUARD_ENTRY_LENGTH + 1) as u64);
        }
        Ok(())
    }
}

/// Returns where the next bytes of a file lie that are in no hole; `None`: none do.
#[cfg(target_os = "linux")]
fn next_data(file: &File, from: u64) -> io::Result<Option<u64>> {
    // Nobody reads or writes by the place that this moves: entries are appended.
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(from)) {
        Ok(at) => Ok(Some(at)),
        Err(Errno::NXIO) => Ok(None),
        // This file system knows of no holes.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(Some(from)),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "as where holes are known")]
fn next_data(_: &File, from: u64) -> io::Result<Option<u64>> {
    Ok(Some(from))
}

impl<F: ReadFile> RunEntries<F> {
    fn begin(file: F, owner: u32, length: u64) -> Result<Self, RunFileFault> {
        let mut line = [0; RUN_FILE_LINE_MAX];
        let read = file.read_at(0, &mut line)?;
        let line = line.get(..read).unwrap_or_default();
        let end = line.iter().position(|byte| *byte == b'\n').map(|end| end as u64 + 1);
        // Its maker may have been killed before it had written the line.
        let is_torn = length < RUN_FILE_LINE_MAX as u64;
        let at = end.unwrap_or(if is_torn { length } else { 0 });
        let has_line = end.is_some() || is_torn;
        Ok(Self { file, owner, length, at, before: 0, expected: None, has_line })
    }

    /// Returns whether it begins as its recorder made it.
    #[must_use]
    pub const fn has_line(&self) -> bool {
        self.has_line
    }

    /// The user that the file belongs to.
    #[must_use]
    pub const fn owner(&self) -> u32 {
        self.owner
    }

    /// Returns where the next entry begins: behind the last one that was read.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.at
    }

    /// Returns whether anything follows what was read.
    #[must_use]
    pub const fn is_at_end(&self) -> bool {
        self.at >= self.length
    }

    /// The start that the next entry names, which nothing proves yet; `None` at the end.
    ///
    /// # Errors
    /// The bytes are no entry.
    pub fn claimed_start(&self) -> Result<Option<RunStart>, RunFileFault> {
        Ok(match self.look(EntryHeader::read)? {
            Look::Entry(header) => Some(header.start),
            Look::End => None,
        })
    }

    /// The next entry, signed by the key of this start; `None` at the end or at a torn tail.
    ///
    /// # Errors
    /// The bytes are not the recorder's next entry.
    pub fn next(
        &mut self,
        start: &RunStart,
        public: &[u8; 32],
    ) -> Result<Option<RunEntry>, RunFileFault> {
        let expected = self.expected;
        let look = self.look(|bytes| EntryHeader::decode(bytes, start, public, expected))?;
        let Look::Entry(header) = look else { return Ok(None) };
        let begins = self.at.saturating_add(RUN_ENTRY_HEADER_LENGTH as u64);
        let ends = begins.saturating_add(u64::from(header.length));
        if ends > self.length {
            return Ok(None);
        }
        let mut payload = Vec::new();
        let reserved = payload.try_reserve_exact(header.length as usize);
        reserved.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        payload.resize(header.length as usize, 0);
        let read = self.file.read_at(begins, &mut payload)?;
        if let Err(source) = header.check_payload(payload.get(..read).unwrap_or_default()) {
            let is_torn = payload.last() == Some(&0) && self.is_zero_from(ends)?;
            return if is_torn { Ok(None) } else { Err(self.fault(source)) };
        }
        (self.at, self.before) = (ends, self.before.saturating_add(1));
        self.expected = Some(header.number.saturating_add(1));
        Ok(Some(RunEntry { number: header.number, kind: header.kind, payload }))
    }

    /// Reads the next header.
    fn look(
        &self,
        read: impl FnOnce(&[u8; RUN_ENTRY_HEADER_LENGTH]) -> Result<EntryHeader, EntryFault>,
    ) -> Result<Look, RunFileFault> {
        if !self.has_line {
            return Err(self.fault(EntryFault::Magic));
        }
        let mut bytes = [0; RUN_ENTRY_HEADER_LENGTH];
        let count = self.file.read_at(self.at, &mut bytes)?;
        let found = bytes.get(..count).unwrap_or_default();
        if count < RUN_ENTRY_HEADER_LENGTH {
            let is_torn = found.iter().zip(&ENTRY_MAGIC).all(|(byte, magic)| byte == magic)
                || found.iter().all(|byte| *byte == 0);
            return if is_torn { Ok(Look::End) } else { Err(self.fault(EntryFault::Magic)) };
        }
        match read(&bytes) {
            Ok(header) => Ok(Look::Entry(header)),
            Err(_) if self.is_torn(&bytes)? => Ok(Look::End),
            Err(source) => Err(self.fault(source)),
        }
    }

    /// Returns whether a header was not written to its end: it ends in a zero, and nothing but
    /// zeros follows.
    fn is_torn(&self, header: &[u8; RUN_ENTRY_HEADER_LENGTH]) -> io::Result<bool> {
        let behind = self.at.saturating_add(RUN_ENTRY_HEADER_LENGTH as u64);
        Ok(header.last() == Some(&0) && self.is_zero_from(behind)?)
    }

    /// Returns whether nothing but zeros follows, and no more of them than a writer can have left.
    fn is_zero_from(&self, mut at: u64) -> io::Result<bool> {
        let longest = (RUN_ENTRY_HEADER_LENGTH + RUN_ENTRY_PAYLOAD_MAX) as u64;
        if self.length.saturating_sub(at) > longest {
            return Ok(false);
        }
        let mut bytes = vec![0; ZEROS_READ];
        loop {
            let count = self.file.read_at(at, &mut bytes)?;
            let found = bytes.get(..count).unwrap_or_default();
            if found.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            if count < ZEROS_READ {
                return Ok(true);
            }
            at = at.saturating_add(count as u64);
        }
    }

    fn fault(&self, source: EntryFault) -> RunFileFault {
        RunFileFault::Entry { before: self.before, offset: self.at, source }
    }
}

/// Reads like [`outcome_of`], of the file at a path.
///
/// # Errors
/// As [`outcome_of`].
pub fn read_outcome(path: &Path) -> Result<(u32, Option<Vec<u8>>), RunFileFault> {
    outcome_of(&open_regular(path, OFlags::RDONLY)?)
}

/// A file in which the outcome of one approved call waits: who owns it, and what it holds; `None`:
/// its writer was killed before it had written all.
///
/// # Errors
/// It is no regular file of one name, the disk does not give it, or no hook wrote it.
pub fn outcome_of(file: &File) -> Result<(u32, Option<Vec<u8>>), RunFileFault> {
    let stat = fstat(file.as_fd()).map_err(io::Error::from)?;
    #[allow(clippy::useless_conversion, reason = "its width differs between systems")]
    let names = u64::from(stat.st_nlink);
    if names != 1 {
        return Err(RunFileFault::Names { found: names });
    }
    let source = |source| RunFileFault::Entry { before: 0, offset: 0, source };
    let length = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    if length > OUTCOME_FILE_MAX {
        return Err(source(EntryFault::Magic));
    }
    let mut bytes = vec![0; length];
    let read = file.read_at(0, &mut bytes)?;
    match outcome_file::decode(bytes.get(..read).unwrap_or_default()) {
        OutcomeFile::Whole(payload) => Ok((stat.st_uid, Some(payload.to_vec()))),
        OutcomeFile::Torn => Ok((stat.st_uid, None)),
        OutcomeFile::Foreign => Err(source(EntryFault::Payload)),
    }
}

/// Tells whether whoever writes the outcome into a file still holds its lock.
#[must_use]
pub fn is_outcome_under_way(file: &File) -> bool {
    let tried = || flock(file, FlockOperation::NonBlockingLockShared);
    let held = retry_on_intr(tried).is_err_and(|error| error == Errno::WOULDBLOCK);
    if !held {
        let _ = flock(file, FlockOperation::Unlock);
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdpoint_log_format::{Link, LogId, RunKey};
    use std::io::Write;

    const LINE: &[u8] = b"{\"pid\":1}\n";

    fn start() -> RunStart {
        RunStart {
            log: LogId([1; 16]),
            loop_digits: [2; 16],
            attempt: 1,
            sequence: 9,
            link: Link([3; 32]),
        }
    }

    fn entry(number: u64, payload: &[u8]) -> Vec<u8> {
        let key = RunKey::from_seed(&[7; 32]);
        let header = EntryHeader::of(EntryKind::Command, number, start(), payload).unwrap();
        [&header.encode(&key)[..], payload].concat()
    }

    /// The payloads that are read, and the fault, if there was one.
    fn read(bytes: &[u8]) -> (Vec<Vec<u8>>, Option<String>) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        let public = RunKey::from_seed(&[7; 32]).public();
        let mut payloads = Vec::new();
        let mut entries = match RunEntries::open(file.path()) {
            Ok(entries) => entries.unwrap(),
            Err(fault) => return (payloads, Some(fault.to_string())),
        };
        loop {
            match entries.next(&start(), &public) {
                Ok(Some(entry)) => payloads.push(entry.payload),
                Ok(None) => return (payloads, None),
                Err(fault) => return (payloads, Some(fault.to_string())),
            }
        }
    }

    #[test]
    fn entries_cut_at_any_byte_are_read_up_to_the_cut_and_accuse_nobody() {
        let [one, two] = [entry(1, b"first"), entry(2, b"second")];
        let whole = [LINE, &one, &two].concat();
        for length in 0..=whole.len() {
            let (payloads, fault) = read(&whole[..length]);
            let expected =
                usize::from(length >= LINE.len() + one.len()) + usize::from(length == whole.len());
            assert_eq!((payloads.len(), fault), (expected, None), "{length}");
            // The system may have made the file as long as it was to be, and nothing else.
            let mut zeros = whole[..length].to_vec();
            zeros.resize(whole.len(), 0);
            let (payloads, fault) = read(&zeros);
            let is_line = length < LINE.len();
            assert_eq!(payloads.len(), expected, "{length}");
            assert_eq!(fault.is_some(), is_line, "{length} {fault:?}");
        }
    }

    #[test]
    fn changed_reordered_and_repeated_entries_end_the_reading() {
        let [one, two] = [entry(1, b"first"), entry(2, b"second")];
        let told = |parts: &[&[u8]]| {
            let (payloads, fault) = read(&parts.concat());
            (payloads.len(), fault.unwrap())
        };
        // What precedes the second one may have been taken up; what follows it is not the first.
        assert_eq!(told(&[LINE, &two, &one]).0, 1);
        assert_eq!(told(&[LINE, &one, &one, &two]).0, 1);
        assert_eq!(told(&[LINE, &one, b"garbage that is no entry at all"]).0, 1);
        assert_eq!(told(&[LINE, &one, &[0xff; 4096], &two]).0, 1);
        let mut changed = one.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert_eq!(told(&[LINE, &changed, &two]).0, 0);
        assert!(told(&[LINE, &changed]).1.contains("not the one that was signed"));
    }

    #[test]
    fn a_sparse_file_costs_one_look() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(LINE).unwrap();
        file.as_file().set_len(4 << 30).unwrap();
        let public = RunKey::from_seed(&[7; 32]).public();
        let mut entries = RunEntries::open(file.path()).unwrap().unwrap();
        assert!(entries.next(&start(), &public).is_err());
    }
}
