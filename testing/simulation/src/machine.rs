//! The machine behind a simulated disk: files and names in two images, calls, and the faults that
//! were asked for.

use super::fault::{Call, CallRecord, Effect, Fault, ReadFault};
use super::file::FileContent;
use super::names::{Names, Node};
use super::pages::{Hash, PAGE};
use holdpoint_log_format::limits::LOCK_FILE_LENGTH;
use holdpoint_log_format::names::{SEGMENTS, parse_segment};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;

/// Everything there is. A copy is an independent machine in the same state.
#[derive(Clone, Debug, Default)]
pub(super) struct Machine {
    pub(super) seed: u64,
    /// Number of times numbers were drawn.
    pub(super) drawn: u64,
    /// Number of times power was lost.
    pub(super) boot: u32,
    pub(super) has_root: bool,
    pub(super) is_off: bool,
    pub(super) names: Names,
    pub(super) files: BTreeMap<u64, FileContent>,
    pub(super) next_file: u64,
    pub(super) is_locked: bool,
    /// Files that are locked, LOCK apart.
    pub(super) locked: BTreeSet<u64>,
    /// Segments that were written to while nobody had locked them.
    pub(super) written_unlocked: BTreeSet<String>,
    pub(super) made: Vec<CallRecord>,
    pub(super) reads: u64,
    pub(super) faults: BTreeMap<u64, Fault>,
    /// Faults of the next call of a kind.
    pub(super) next_faults: BTreeMap<Call, Fault>,
    pub(super) read_faults: BTreeMap<u64, ReadFault>,
    pub(super) happened: Vec<&'static str>,
    /// The machine before each call and inside of long ones, while that is recorded.
    pub(super) moments: Option<Vec<(u64, Machine)>>,
}

/// What a call on names changes.
pub(super) enum NameChange<'a> {
    Link(&'a str, Node),
    Unlink(&'a str),
    Rename(&'a str, &'a str, Node),
}

impl Machine {
    /// A copy without its past: what another process, or the same machine later, finds.
    pub(super) fn copy(&mut self) -> Self {
        let moments = self.moments.take();
        let made = std::mem::take(&mut self.made);
        let copy = self.clone();
        self.moments = moments;
        self.made = made;
        let (faults, next_faults) = (BTreeMap::new(), BTreeMap::new());
        Self { faults, next_faults, read_faults: BTreeMap::new(), ..copy }
    }

    /// Counts a call and gives the fault that it meets.
    fn begin(&mut self, call: Call, path: &str) -> io::Result<Option<Fault>> {
        self.check_power()?;
        self.record_moment(self.made.len());
        self.made.push(CallRecord { call, path: path.to_string() });
        let fault = self.fault_now(call);
        self.happened.extend(fault.as_ref().map(Fault::name));
        Ok(fault)
    }

    fn fault_now(&mut self, call: Call) -> Option<Fault> {
        let numbered = self.faults.remove(&(self.made.len() as u64));
        let fault = numbered.or_else(|| self.next_faults.remove(&call));
        fault.filter(|fault| fault.fits(call))
    }

    pub(super) fn check_power(&self) -> io::Result<()> {
        if self.is_off { Err(io::Error::other("the machine is off")) } else { Ok(()) }
    }

    /// Keeps a copy of the machine as it is between this call and the one before, or within one.
    fn record_moment(&mut self, calls: usize) {
        if self.moments.is_some() {
            let copy = self.copy();
            self.moments.iter_mut().for_each(|moments| moments.push((calls as u64, copy.clone())));
        }
    }

    /// Makes an empty file in place of any of the same name, and reserves `length` bytes.
    pub(super) fn create(&mut self, path: &str, length: u64) -> io::Result<u64> {
        if self.names.get(path).is_some() {
            self.change_names(Call::Remove, path, NameChange::Unlink(path))?;
        }
        let file = self.create_empty(path)?;
        if length > 0 {
            let reserved = self.change_file(Call::Reserve, path, file, |content, effect| {
                if effect == Effect::Whole {
                    content.set_length(length);
                }
            });
            // As on a real disk, a file without its space is not left behind.
            reserved.inspect_err(|_| self.names.unlink(path, false))?;
        }
        Ok(file)
    }

    pub(super) fn create_empty(&mut self, path: &str) -> io::Result<u64> {
        let file = self.next_file;
        self.next_file += 1;
        self.files.insert(file, FileContent::default());
        self.change_names(Call::Create, path, NameChange::Link(path, Node::File(file)))?;
        Ok(file)
    }

    pub(super) fn change_names(
        &mut self,
        call: Call,
        path: &str,
        change: NameChange<'_>,
    ) -> io::Result<()> {
        let fault = self.begin(call, path)?;
        let failure = fault.as_ref().and_then(Fault::failure);
        if failure.as_ref().is_none_or(|(_, effect)| *effect == Effect::Whole) {
            let is_lost = fault == Some(Fault::LostName);
            match change {
                NameChange::Link(path, node) => self.names.link(path, node, is_lost),
                NameChange::Unlink(path) => self.names.unlink(path, is_lost),
                NameChange::Rename(from, to, node) => self.names.rename(from, to, node, is_lost),
            }
            self.forget_nameless();
        }
        failure.map_or(Ok(()), |(error, _)| Err(error))
    }

    /// A file without a name lives for as long as it is open, and nobody looks at what power loss
    /// would leave of it.
    fn forget_nameless(&mut self) {
        let named = self.names.files();
        for (file, content) in &mut self.files {
            if !named.contains(file) {
                content.drop_unsynced();
            }
        }
    }

    /// A call on one file that does nothing, half, or all of its work.
    pub(super) fn change_file(
        &mut self,
        call: Call,
        path: &str,
        file: u64,
        work: impl FnOnce(&mut FileContent, Effect),
    ) -> io::Result<()> {
        let failure = self.begin(call, path)?.as_ref().and_then(Fault::failure);
        let effect = failure.as_ref().map_or(Effect::Whole, |(_, effect)| *effect);
        work(self.content(file), effect);
        failure.map_or(Ok(()), |(error, _)| Err(error))
    }

    pub(super) fn content(&mut self, file: u64) -> &mut FileContent {
        self.files.entry(file).or_default()
    }

    pub(super) fn write(
        &mut self,
        call: Call,
        path: &str,
        file: u64,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<usize> {
        self.check_segments_lock(file);
        let fault = self.begin(call, path)?;
        let half = half_of(offset, bytes.len());
        let failure = fault.as_ref().and_then(Fault::failure);
        let count = match (&fault, &failure) {
            (Some(Fault::Misdirected { file: other, offset }), _) => {
                self.misdirect(other.as_deref(), file, *offset, bytes);
                return Ok(bytes.len());
            }
            (Some(Fault::ShortWrite), _) if half == 0 => bytes.len(),
            (Some(Fault::ShortWrite), _) | (_, Some((_, Effect::Half))) => half,
            (_, Some((_, Effect::None))) => 0,
            _ => bytes.len(),
        };
        self.write_pages(file, offset, bytes.get(..count).unwrap_or_default());
        failure.map_or(Ok(count), |(error, _)| Err(error))
    }

    fn check_segments_lock(&mut self, written: u64) {
        let is_it = |(_, node): &(&str, Node)| *node == Node::File(written);
        let named = self.names.list(SEGMENTS).find(is_it).map(|(name, _)| name.to_string());
        let segment = named.filter(|name| parse_segment(name).is_some());
        if let Some(name) = segment.filter(|_| !self.locked.contains(&written)) {
            self.written_unlocked.insert(name);
        }
    }

    /// A process can be killed between two pages of a write.
    fn write_pages(&mut self, file: u64, offset: u64, bytes: &[u8]) {
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (page, after) = rest.split_at(to_page_end(at).min(rest.len()));
            self.content(file).write(at, page);
            at += page.len() as u64;
            rest = after;
            if !rest.is_empty() {
                self.record_moment(self.made.len().saturating_sub(1));
            }
        }
    }

    /// Bytes that hit another place, which does not grow by it.
    fn misdirect(&mut self, other: Option<&str>, meant: u64, offset: u64, bytes: &[u8]) {
        let hit = match other.map(|path| self.names.get(path)) {
            None => meant,
            Some(Some(Node::File(file))) => file,
            Some(_) => return,
        };
        let content = self.content(hit);
        let room = content.length().saturating_sub(offset);
        let room = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        if room > 0 {
            content.write(offset, bytes.get(..room).unwrap_or_default());
        }
    }

    /// A block of LOCK is written in one piece, and LOCK has its own length then.
    pub(super) fn write_lock(
        &mut self,
        path: &str,
        file: u64,
        offset: u64,
        bytes: &[u8],
    ) -> io::Result<()> {
        let mut written = 0;
        while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            match self.write(Call::WriteLock, path, file, offset + written as u64, rest) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => written += other?,
            }
        }
        self.content(file).set_length(LOCK_FILE_LENGTH as u64);
        Ok(())
    }

    /// The file of a name, made where there is none.
    pub(super) fn file_named(&mut self, path: &str) -> io::Result<u64> {
        match self.names.get(path) {
            Some(Node::File(file)) => Ok(file),
            Some(Node::Directory) => Err(io::ErrorKind::InvalidInput.into()),
            None => self.create_empty(path),
        }
    }

    pub(super) fn sync(&mut self, path: &str, file: u64) -> io::Result<()> {
        let fault = self.begin(Call::Sync, path)?;
        let content = self.content(file);
        match fault {
            Some(Fault::SyncLies) => return Ok(()),
            Some(Fault::SyncDropsPages) => {
                content.drop_unsynced();
                return Err(io::Error::other("sync-drops-pages"));
            }
            _ => {}
        }
        let failure = fault.as_ref().and_then(Fault::failure);
        match &failure {
            None | Some((_, Effect::Whole)) => content.sync(),
            Some((_, Effect::Half)) => content.sync_half(),
            Some((_, Effect::None)) => {}
        }
        failure.map_or(Ok(()), |(error, _)| Err(error))
    }

    pub(super) fn sync_directory(&mut self, path: &str) -> io::Result<()> {
        let fault = self.begin(Call::SyncDirectory, path)?;
        let failure = fault.as_ref().and_then(Fault::failure);
        let is_done = failure.as_ref().is_none_or(|(_, effect)| *effect == Effect::Whole);
        if is_done && fault != Some(Fault::SyncLies) {
            self.names.sync(path);
        }
        failure.map_or(Ok(()), |(error, _)| Err(error))
    }

    pub(super) fn punch(&mut self, path: &str, file: u64, range: Range<u64>) -> io::Result<()> {
        self.change_file(Call::Punch, path, file, |content, effect| {
            if effect == Effect::Whole {
                content.clear(range);
            }
        })
    }

    pub(super) fn read(&mut self, file: u64, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.check_power()?;
        self.reads += 1;
        let fault = self.read_faults.remove(&self.reads);
        self.happened.extend(fault.map(ReadFault::name));
        match fault {
            Some(ReadFault::Io) => return Err(io::Error::other("EIO-on-read")),
            Some(ReadFault::Interrupted) => return Err(io::ErrorKind::Interrupted.into()),
            _ => {}
        }
        let wanted = buffer.len();
        let wanted = if fault == Some(ReadFault::Short) { wanted.div_ceil(2) } else { wanted };
        let buffer = buffer.get_mut(..wanted).unwrap_or_default();
        let read = self.content(file).read(offset, buffer);
        if let Some(ReadFault::Rot { bit }) = fault {
            flip(buffer.get_mut(..read).unwrap_or_default(), bit);
        }
        Ok(read)
    }

    /// A hash of everything that a process could read, and of the boot.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hash = Hash::default();
        hash.number(u64::from(self.boot));
        for (path, node) in self.names.all() {
            hash.bytes(path.as_bytes());
            if let Node::File(file) = node
                && let Some(content) = self.files.get(&file)
            {
                content.hash(&mut hash);
            }
        }
        hash.0
    }
}

/// About half of a write, up to the end of a page: a system copies page by page, so that of a write
/// within one page there is all or nothing, whether it fails or its process is killed.
fn half_of(offset: u64, length: usize) -> usize {
    let end = offset + length.div_ceil(2) as u64;
    let page_end = end - end % PAGE as u64;
    let to_first_end = to_page_end(offset);
    match page_end.checked_sub(offset) {
        Some(whole) if whole > 0 => usize::try_from(whole).unwrap_or(to_first_end),
        _ if to_first_end < length => to_first_end,
        _ => 0,
    }
}

fn to_page_end(offset: u64) -> usize {
    PAGE - usize::try_from(offset % PAGE as u64).unwrap_or(0)
}

fn flip(bytes: &mut [u8], bit: u64) {
    let bits = bytes.len() as u64 * 8;
    if let Some(bit) = bit.checked_rem(bits)
        && let Some(byte) = usize::try_from(bit / 8).ok().and_then(|at| bytes.get_mut(at))
    {
        *byte ^= 1 << (bit % 8);
    }
}
