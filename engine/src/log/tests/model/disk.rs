//! A disk in memory on which a model runs: every call that takes time lets others go on, a sync
//! covers what was written when it began and counts when it returns, and the rules that bind
//! whoever is at the disk are checked at every call.

use super::process::{Held, Life, ModelBoard, ModelLock};
use crate::log::{Board, RootState, Storage, WriteFile};
use crate::sync::thread;
use holdpoint_log_files::{Entry, EntryKind, Follower, ReadFile, ReadStorage};
use holdpoint_log_format::{BootId, Head, Lock, names};
use parking_lot::Mutex;
use shuttle::rand::{Rng, thread_rng};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The disk, as one process has it; clones are the same one. Its own lock is never held while
/// others go on.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelDisk(pub(super) Arc<Mutex<Inside>>, pub(super) Life);

#[derive(Debug, Default)]
pub(super) struct Inside {
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    pub(super) files: Vec<Bytes>,
    pub(super) held: Held,
    syncs_going_on: u32,
    pub(super) tickets: u64,
    plan: Plan,
    pub(super) counts: Counts,
}

#[derive(Debug, Default)]
pub(super) struct Bytes {
    pub(super) now: Vec<u8>,
    durable: Vec<u8>,
    /// What was written since it was last taken for written back, by the number of its write.
    dirty: BTreeMap<u64, std::ops::Range<usize>>,
    writes: u64,
    /// Syncs that go on: a later one waits for what an earlier one writes back.
    going_on: BTreeSet<u64>,
    syncs: u64,
    /// Syncs that failed: what they were to write back is in `now` alone, and taken for clean.
    failures: u64,
    /// Failures that somebody was told of: who opens the file later is not.
    told: u64,
}

/// What is to happen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plan {
    /// Syncs of segments that succeed before the first that fails.
    pub(crate) good_syncs: Option<u32>,
    /// Writes to segments that succeed before the first that fails.
    pub(crate) good_writes: Option<u32>,
    /// True if there is no space for HEAD.
    pub(crate) is_full: bool,
    /// True if writes and reads of segments show others their every 8 bytes, in any order.
    pub(crate) is_torn: bool,
    /// True if several processes write: one may sync while another replaces HEAD, or goes on after
    /// the sync of a third one failed.
    pub(crate) is_shared: bool,
    /// True if one sync alone fails, behind the good ones.
    pub(crate) fails_once: bool,
}

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) segment_syncs: u32,
    pub(crate) failed_syncs: u32,
    pub(crate) locks_taken: u32,
    pub(crate) locks_given_back: u32,
}

/// An open file.
#[derive(Clone, Debug)]
pub(crate) struct ModelFile {
    pub(super) disk: ModelDisk,
    pub(super) number: usize,
    is_segment: bool,
    /// Failures that this open file has told of, or that were told before it was opened.
    told: Arc<AtomicU64>,
}

/// What the disk has for sure: what power loss leaves.
pub(crate) struct Durable(ModelDisk);

impl ModelDisk {
    /// From now on this happens, to handles that are opened behind any failure there was.
    pub(crate) fn plan(&self, plan: Plan) {
        let mut inside = self.0.lock();
        inside.plan = plan;
        inside.counts.failed_syncs = 0;
    }

    pub(crate) fn counts(&self) -> Counts {
        self.0.lock().counts
    }

    /// Returns whether a file of a segment to come is there.
    pub(crate) fn has_prepared(&self) -> bool {
        self.0.lock().names.keys().any(|path| path.ends_with(".prepared"))
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.0.lock().held.lock.is_some()
    }

    /// Returns what LOCK says.
    pub(crate) fn lock_says(&self) -> Lock {
        Lock::decode(&self.content(names::LOCK).expect("it was made")).expect("it is whole")
    }

    /// Sequence that HEAD would name after power loss.
    pub(crate) fn durable_head(&self) -> u64 {
        let inside = self.0.lock();
        let number = inside.durable_names.get(names::HEAD).expect("it was made");
        let head = Head::decode(&inside.files[*number].durable).expect("it is whole");
        head.newest_sequence
    }

    /// Newest record that power loss would leave, whatever else it takes.
    pub(crate) fn durable_newest(&self) -> u64 {
        let durable = Durable(self.clone());
        let mut follower = Follower::at_segment(&durable, 1).expect("the first segment is there");
        follower.catch_up(&durable, &mut |_, _| {}).expect("it can be read");
        follower.run.chain.sequence
    }

    fn content(&self, path: &str) -> Option<Vec<u8>> {
        let inside = self.0.lock();
        inside.names.get(path).map(|number| inside.files[*number].now.clone())
    }

    fn file(&self, path: &str) -> Option<ModelFile> {
        let inside = self.0.lock();
        let number = *inside.names.get(path)?;
        let is_segment = path.starts_with(names::SEGMENTS);
        let told = Arc::new(AtomicU64::new(inside.files[number].told));
        Some(ModelFile { disk: self.clone(), number, is_segment, told })
    }

    fn make(&self, path: &str, length: u64) -> ModelFile {
        let mut inside = self.0.lock();
        let number = inside.files.len();
        let now = vec![0; usize::try_from(length).expect("it is small")];
        let dirty = BTreeMap::from([(0, 0..now.len())]);
        inside.files.push(Bytes { now, dirty, ..Bytes::default() });
        inside.names.insert(path.to_string(), number);
        drop(inside);
        self.file(path).expect("it was just made")
    }
}

impl Bytes {
    /// Tells an open file of a failure that it has not told of.
    fn tell(&mut self, file: &ModelFile) -> io::Result<()> {
        let before = file.told.swap(self.failures, Ordering::Relaxed);
        if before == self.failures {
            return Ok(());
        }
        self.told = self.failures;
        Err(io::Error::other("a failure of the model"))
    }
}

impl Inside {
    /// One thread at a time is at the disk, and no process tries anything again after its sync
    /// failed. A segment made ahead is no part of the log yet.
    fn sync_begins(&mut self, number: usize, is_segment: bool) -> io::Result<()> {
        if self.is_made_ahead(number) {
            return Ok(());
        }
        if !self.plan.is_shared {
            assert_eq!(self.syncs_going_on, 0, "two threads are at the disk");
            assert_eq!(self.counts.failed_syncs, 0, "a sync after one that failed");
        }
        self.syncs_going_on += 1;
        self.counts.segment_syncs += u32::from(is_segment);
        match &mut self.plan.good_syncs {
            Some(0) if is_segment => {
                self.counts.failed_syncs += 1;
                if self.plan.fails_once {
                    self.plan.good_syncs = None;
                }
                Err(io::Error::other("a failure of the model"))
            }
            Some(left) if is_segment => {
                *left -= 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn is_made_ahead(&self, number: usize) -> bool {
        let path = format!("{}/{}", names::SEGMENTS, names::prepared(0));
        self.names.get(&path) == Some(&number)
    }

    fn write_begins(&mut self, file: &ModelFile) -> io::Result<()> {
        let is_segment = file.is_segment;
        let is_named =
            |(path, number): (&String, &usize)| path.ends_with(".seg") && *number == file.number;
        let is_free = !self.held.segments.contains_key(&file.number);
        assert!(!is_free || !self.names.iter().any(is_named), "a segment is written unlocked");
        match &mut self.plan.good_writes {
            Some(0) if is_segment => Err(io::Error::other("a failure of the model")),
            Some(left) if is_segment => {
                *left -= 1;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// HEAD is replaced under the lock, never goes back, and names what is durable.
    fn check_head(&self, new: usize, durable_newest: u64) {
        assert!(self.held.lock.is_some(), "HEAD is replaced without the lock");
        let new = Head::decode(&self.files[new].durable).expect("HEAD was synced before");
        assert!(new.newest_sequence <= durable_newest, "HEAD names what is not durable");
        if let Some(before) = self.names.get(names::HEAD) {
            let before = Head::decode(&self.files[*before].now).expect("it is whole");
            assert!(before.newest_sequence <= new.newest_sequence, "HEAD goes back");
        }
    }
}

/// The 8-byte words of `length` bytes at `offset`, cut where the file's words end.
fn words(offset: usize, length: usize) -> Vec<std::ops::Range<usize>> {
    // Long ones in fewer pieces, which keeps a model small.
    let grain = 8 * (length / 512).max(1);
    let mut cuts: Vec<usize> = (offset..offset + length).filter(|at| at % grain == 0).collect();
    cuts.insert(0, offset);
    cuts.dedup();
    cuts.push(offset + length);
    cuts.windows(2).map(|pair| pair[0] - offset..pair[1] - offset).collect()
}

impl ReadFile for ModelFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.disk.0.lock().files[self.number].now.len() as u64)
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let offset = usize::try_from(offset).expect("it is small");
        let length = self.disk.0.lock().files[self.number].now.len().saturating_sub(offset);
        let length = length.min(buffer.len());
        let is_torn = self.disk.0.lock().plan.is_torn && self.is_segment;
        let torn =
            if is_torn && TORN.contains(&offset) { length.min(TORN.end - offset) } else { 0 };
        for piece in words(offset, torn).into_iter().chain(std::iter::once(torn..length)) {
            if is_torn {
                thread::yield_now();
            }
            let from = offset + piece.start..offset + piece.end;
            buffer[piece].copy_from_slice(&self.disk.0.lock().files[self.number].now[from]);
        }
        Ok(length)
    }
}

/// Bytes of a segment that are read word by word: the first records.
const TORN: std::ops::Range<usize> = 4_096..4_096 + 512;

impl WriteFile for ModelFile {
    fn try_lock(&self) -> io::Result<bool> {
        thread::yield_now();
        self.disk.step()?;
        Ok(self.disk.take_segment(self.number))
    }

    fn unlock(&self) -> io::Result<()> {
        self.disk.give_segment_back(self.number);
        Ok(())
    }
}

impl ReadStorage for ModelDisk {
    type File = ModelFile;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        Ok(listed(&self.0.lock().names, directory))
    }

    fn open(&self, path: &str) -> io::Result<Option<ModelFile>> {
        Ok(self.file(path))
    }
}

fn listed(names: &BTreeMap<String, usize>, directory: &str) -> Vec<Entry> {
    let inside = names.keys().filter_map(|path| match directory {
        "" => path.split('/').next(),
        _ => path.strip_prefix(directory)?.strip_prefix('/'),
    });
    let mut entries: Vec<Entry> = inside.map(|name| entry(names, directory, name)).collect();
    entries.dedup();
    entries
}

fn entry(names: &BTreeMap<String, usize>, directory: &str, name: &str) -> Entry {
    let is_file = !directory.is_empty() || names.contains_key(name);
    let kind = if is_file { EntryKind::File } else { EntryKind::Directory };
    Entry { name: name.to_string(), kind }
}

impl Storage for ModelDisk {
    type Writer = ModelFile;
    type Lock = ModelLock;

    fn root(&self) -> &Path {
        Path::new("/model")
    }

    fn root_state(&self) -> io::Result<RootState> {
        Ok(RootState::Directory)
    }

    fn unreliable_file_system(&self) -> io::Result<Option<&'static str>> {
        Ok(None)
    }

    fn create_directory(&self, _path: &str) -> io::Result<()> {
        Ok(())
    }

    fn create(&self, path: &str, length: u64) -> io::Result<ModelFile> {
        self.step()?;
        if path == names::HEAD_TEMPORARY {
            assert!(self.is_locked(), "HEAD is replaced without the lock");
            if self.0.lock().plan.is_full {
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        Ok(self.make(path, length))
    }

    fn open_writer(&self, path: &str) -> io::Result<ModelFile> {
        self.file(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write_some_at(&self, file: &ModelFile, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let offset = usize::try_from(offset).expect("it is small");
        self.step()?;
        self.0.lock().write_begins(file)?;
        let is_torn = self.0.lock().plan.is_torn && file.is_segment;
        let whole = || std::iter::once(0..bytes.len()).collect();
        let mut pieces = if is_torn { words(offset, bytes.len()) } else { whole() };
        while !pieces.is_empty() {
            let next = if is_torn { thread_rng().gen_range(0..pieces.len()) } else { 0 };
            let piece = pieces.swap_remove(next);
            let mut inside = self.0.lock();
            let content = &mut inside.files[file.number];
            content.writes += 1;
            let written = offset + piece.start..offset + piece.end;
            content.dirty.insert(content.writes, written);
            let end = content.now.len().max(offset + piece.end);
            content.now.resize(end, 0);
            content.now[offset + piece.start..offset + piece.end].copy_from_slice(&bytes[piece]);
            drop(inside);
            if is_torn {
                thread::yield_now();
            }
        }
        Ok(bytes.len())
    }

    fn sync(&self, file: &ModelFile) -> io::Result<()> {
        self.step()?;
        let mut inside = self.0.lock();
        let is_made_ahead = inside.is_made_ahead(file.number);
        let begun = inside.sync_begins(file.number, file.is_segment);
        let content = &mut inside.files[file.number];
        // Taken for clean whatever comes of it, unless it is written again.
        let taken = std::mem::take(&mut content.dirty);
        let covered: Vec<_> =
            taken.into_values().map(|at| (at.start, content.now[at].to_vec())).collect();
        content.syncs += 1;
        let number = content.syncs;
        content.going_on.insert(number);
        drop(inside);
        thread::yield_now();
        while self.0.lock().files[file.number].going_on.first() < Some(&number) {
            thread::yield_now();
        }
        let mut inside = self.0.lock();
        inside.syncs_going_on -= u32::from(!is_made_ahead);
        let content = &mut inside.files[file.number];
        content.failures += u64::from(begun.is_err());
        content.going_on.remove(&number);
        if begun.is_ok() {
            content.durable.resize(content.durable.len().max(content.now.len()), 0);
            for (start, bytes) in covered {
                content.durable[start..start + bytes.len()].copy_from_slice(&bytes);
            }
        }
        content.tell(file)?;
        drop(inside);
        self.step()?;
        begun
    }

    fn check_written_back(&self, file: &ModelFile) -> io::Result<()> {
        self.0.lock().files[file.number].tell(file)
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        thread::yield_now();
        self.step()?;
        let mut inside = self.0.lock();
        let is_in = |name: &String| name.rsplit_once('/').map_or("", |(parent, _)| parent) == path;
        let covered: BTreeMap<String, usize> =
            inside.names.iter().filter(|(name, _)| is_in(name)).map(clone_pair).collect();
        inside.durable_names.retain(|name, _| !is_in(name));
        inside.durable_names.extend(covered);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        thread::yield_now();
        self.step()?;
        let is_head = to == names::HEAD && self.has_segment();
        let durable = if is_head { self.durable_newest() } else { 0 };
        let mut inside = self.0.lock();
        let number = inside.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        if to == names::HEAD {
            inside.check_head(number, durable);
        }
        inside.names.insert(to.to_string(), number);
        Ok(())
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.step()?;
        self.0.lock().names.remove(path);
        Ok(())
    }

    fn punch(&self, _file: &ModelFile, _offset: u64, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn is_named(&self, path: &str, file: &ModelFile) -> io::Result<bool> {
        Ok(self.0.lock().names.get(path) == Some(&file.number))
    }

    fn try_lock(&self) -> io::Result<Option<ModelLock>> {
        thread::yield_now();
        self.step()?;
        Ok(ModelLock::try_lock(self))
    }

    fn try_sync_lock(&self) -> io::Result<Option<ModelLock>> {
        thread::yield_now();
        self.step()?;
        Ok(ModelLock::try_sync(self))
    }

    fn board(&self) -> io::Result<Option<Arc<dyn Board>>> {
        Ok(Some(Arc::new(ModelBoard(self.lock_file()))))
    }

    fn is_locked(&self) -> io::Result<bool> {
        Ok(ModelDisk::is_locked(self))
    }

    fn boot(&self) -> BootId {
        BootId([7; 16])
    }

    fn draw(&self, bytes: &mut [u8]) -> io::Result<()> {
        bytes.fill(0x5a);
        Ok(())
    }
}

fn clone_pair((name, number): (&String, &usize)) -> (String, usize) {
    (name.clone(), *number)
}

impl ModelDisk {
    pub(super) fn lock_file(&self) -> ModelFile {
        self.file(names::LOCK).unwrap_or_else(|| self.make(names::LOCK, 0))
    }

    fn has_segment(&self) -> bool {
        let inside = self.0.lock();
        inside.durable_names.keys().any(|name| name.ends_with(".seg"))
    }
}

/// A durable file.
pub(crate) struct DurableFile(Vec<u8>);

impl ReadFile for DurableFile {
    fn length(&self) -> io::Result<u64> {
        Ok(self.0.len() as u64)
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let offset = usize::try_from(offset).expect("it is small").min(self.0.len());
        let length = buffer.len().min(self.0.len() - offset);
        buffer[..length].copy_from_slice(&self.0[offset..offset + length]);
        Ok(length)
    }
}

impl ReadStorage for Durable {
    type File = DurableFile;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        Ok(listed(&self.0.0.lock().durable_names, directory))
    }

    fn open(&self, path: &str) -> io::Result<Option<DurableFile>> {
        let inside = self.0.0.lock();
        let found = inside.durable_names.get(path);
        Ok(found.map(|number| DurableFile(inside.files[*number].durable.clone())))
    }
}
