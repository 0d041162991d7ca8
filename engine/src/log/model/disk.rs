//! A disk in memory on which a model runs: every call that takes time lets others go on, a sync
//! covers what was written when it began and counts when it returns, and the rules that bind
//! whoever is at the disk are checked at every call.

use crate::log::{LockFile, RootState, Storage, WriteFile};
use crate::sync::thread;
use holdpoint_log_files::{Entry, EntryKind, Follower, ReadFile, ReadStorage};
use holdpoint_log_format::{BootId, Head, Lock, names};
use parking_lot::Mutex;
use shuttle::rand::{Rng, thread_rng};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The disk; clones are the same one. Its own lock is never held while others go on.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModelDisk(Arc<Mutex<Inside>>);

#[derive(Debug, Default)]
struct Inside {
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    files: Vec<Bytes>,
    is_locked: bool,
    /// Files that are locked, LOCK apart.
    locked: BTreeSet<usize>,
    syncs_going_on: u32,
    plan: Plan,
    counts: Counts,
}

#[derive(Debug, Default)]
struct Bytes {
    now: Vec<u8>,
    /// Counts what changes `now`.
    version: u64,
    durable: Vec<u8>,
    durable_version: u64,
}

/// What is to happen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plan {
    /// Syncs of segments that succeed before the first that fails.
    pub(crate) good_syncs: Option<u32>,
    /// Writes to segments that succeed before the first that fails.
    pub(crate) good_writes: Option<u32>,
    /// Whether there is no space for HEAD.
    pub(crate) is_full: bool,
    /// Whether writes and reads of segments show others their every 8 bytes, in any order.
    pub(crate) is_torn: bool,
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
    disk: ModelDisk,
    number: usize,
    is_segment: bool,
}

/// The lock, held.
#[derive(Debug)]
pub(crate) struct ModelLock(ModelFile);

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

    /// Whether a file of a segment to come is there.
    pub(crate) fn has_prepared(&self) -> bool {
        self.0.lock().names.keys().any(|path| path.ends_with(".prepared"))
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.0.lock().is_locked
    }

    /// What LOCK says.
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
        let number = *self.0.lock().names.get(path)?;
        let is_segment = path.starts_with(names::SEGMENTS);
        Some(ModelFile { disk: self.clone(), number, is_segment })
    }

    fn make(&self, path: &str, length: u64) -> ModelFile {
        let mut inside = self.0.lock();
        let number = inside.files.len();
        let now = vec![0; usize::try_from(length).expect("it is small")];
        inside.files.push(Bytes { now, version: 1, ..Bytes::default() });
        inside.names.insert(path.to_string(), number);
        drop(inside);
        self.file(path).expect("it was just made")
    }
}

impl Inside {
    /// One thread at a time is at the disk, and nothing is tried again after a failed sync.
    /// A segment made ahead is no part of the log yet.
    fn sync_begins(&mut self, number: usize, is_segment: bool) -> io::Result<()> {
        if self.is_made_ahead(number) {
            return Ok(());
        }
        assert_eq!(self.syncs_going_on, 0, "two threads are at the disk");
        assert_eq!(self.counts.failed_syncs, 0, "a sync after one that failed");
        self.syncs_going_on += 1;
        self.counts.segment_syncs += u32::from(is_segment);
        match &mut self.plan.good_syncs {
            Some(0) if is_segment => {
                self.counts.failed_syncs += 1;
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
        let is_free = !self.locked.contains(&file.number);
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
        assert!(self.is_locked, "HEAD is replaced without the lock");
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
        Ok(self.disk.0.lock().locked.insert(self.number))
    }

    fn unlock(&self) -> io::Result<()> {
        self.disk.0.lock().locked.remove(&self.number);
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
        self.0.lock().write_begins(file)?;
        let is_torn = self.0.lock().plan.is_torn && file.is_segment;
        let whole = || std::iter::once(0..bytes.len()).collect();
        let mut pieces = if is_torn { words(offset, bytes.len()) } else { whole() };
        while !pieces.is_empty() {
            let next = if is_torn { thread_rng().gen_range(0..pieces.len()) } else { 0 };
            let piece = pieces.swap_remove(next);
            let mut inside = self.0.lock();
            let content = &mut inside.files[file.number];
            content.version += 1;
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
        let mut inside = self.0.lock();
        let is_made_ahead = inside.is_made_ahead(file.number);
        let begun = inside.sync_begins(file.number, file.is_segment);
        let content = &inside.files[file.number];
        let (covered, version) = (content.now.clone(), content.version);
        drop(inside);
        thread::yield_now();
        let mut inside = self.0.lock();
        inside.syncs_going_on -= u32::from(!is_made_ahead);
        begun?;
        let content = &mut inside.files[file.number];
        if content.durable_version < version {
            (content.durable, content.durable_version) = (covered, version);
        }
        Ok(())
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        thread::yield_now();
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
        if self.0.lock().is_locked {
            return Ok(None);
        }
        let file = self.file(names::LOCK).unwrap_or_else(|| self.make(names::LOCK, 0));
        let mut inside = self.0.lock();
        inside.is_locked = true;
        inside.counts.locks_taken += 1;
        Ok(Some(ModelLock(file)))
    }

    fn is_locked(&self) -> io::Result<bool> {
        Ok(self.0.lock().is_locked)
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
    fn has_segment(&self) -> bool {
        let inside = self.0.lock();
        inside.durable_names.keys().any(|name| name.ends_with(".seg"))
    }
}

impl LockFile for ModelLock {
    fn read(&self) -> io::Result<Vec<u8>> {
        Ok(self.0.disk.content(names::LOCK).unwrap_or_default())
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        thread::yield_now();
        self.0.disk.0.lock().files[self.0.number].now = bytes.to_vec();
        Ok(())
    }
}

impl Drop for ModelLock {
    fn drop(&mut self) {
        let mut inside = self.0.disk.0.lock();
        inside.is_locked = false;
        inside.counts.locks_given_back += 1;
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
