//! A real directory whose syncs of segments stop at a gate, and are counted.

use holdpoint_engine::log::{Board, RootState, Storage, WriteFile};
use holdpoint_log_files::{DirectoryStorage, Entry, ReadFile, ReadStorage};
use holdpoint_log_format::{BootId, names};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};

/// The directory.
#[derive(Clone, Debug)]
pub struct GatedStorage {
    inner: DirectoryStorage,
    gate: Arc<(Mutex<Gate>, Condvar)>,
}

#[derive(Debug, Default)]
struct Gate {
    is_shut: bool,
    waiting: u32,
    syncs: u32,
    heads: u32,
}

/// An open file that knows whether it is a segment.
#[derive(Debug)]
pub struct GatedFile(File, bool);

impl GatedStorage {
    pub fn new(directory: &Path) -> Self {
        Self { inner: DirectoryStorage::new(directory), gate: Arc::default() }
    }

    /// From now on syncs of segments stop before they reach the disk.
    pub fn shut(&self) {
        self.gate.0.lock().unwrap().is_shut = true;
    }

    pub fn open_gate(&self) {
        self.gate.0.lock().unwrap().is_shut = false;
        self.gate.1.notify_all();
    }

    /// Waits until a sync stands before the gate.
    pub fn await_sync(&self) {
        let waiting = |gate: &mut Gate| gate.waiting == 0;
        drop(self.gate.1.wait_while(self.gate.0.lock().unwrap(), waiting).unwrap());
    }

    /// How often a segment was synced.
    pub fn syncs(&self) -> u32 {
        self.gate.0.lock().unwrap().syncs
    }

    /// How often HEAD was replaced.
    pub fn heads(&self) -> u32 {
        self.gate.0.lock().unwrap().heads
    }

    fn pass(&self) {
        let mut gate = self.gate.0.lock().unwrap();
        gate.syncs += 1;
        gate.waiting += 1;
        self.gate.1.notify_all();
        let mut gate = self.gate.1.wait_while(gate, |gate| gate.is_shut).unwrap();
        gate.waiting -= 1;
    }

    fn named(path: &str, file: File) -> GatedFile {
        GatedFile(file, path.ends_with(".seg") || path.contains(names::SEGMENTS))
    }
}

impl ReadFile for GatedFile {
    fn length(&self) -> io::Result<u64> {
        ReadFile::length(&self.0)
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        ReadFile::read_some_at(&self.0, offset, buffer)
    }
}

impl WriteFile for GatedFile {
    fn try_lock(&self) -> io::Result<bool> {
        WriteFile::try_lock(&self.0)
    }

    fn unlock(&self) -> io::Result<()> {
        WriteFile::unlock(&self.0)
    }
}

impl ReadStorage for GatedStorage {
    type File = File;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        self.inner.list(directory)
    }

    fn open(&self, path: &str) -> io::Result<Option<File>> {
        self.inner.open(path)
    }
}

impl Storage for GatedStorage {
    type Writer = GatedFile;
    type Lock = <DirectoryStorage as Storage>::Lock;

    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn root_state(&self) -> io::Result<RootState> {
        self.inner.root_state()
    }

    fn unreliable_file_system(&self) -> io::Result<Option<&'static str>> {
        self.inner.unreliable_file_system()
    }

    fn create_directory(&self, path: &str) -> io::Result<()> {
        self.inner.create_directory(path)
    }

    fn create(&self, path: &str, length: u64) -> io::Result<GatedFile> {
        self.inner.create(path, length).map(|file| Self::named(path, file))
    }

    fn open_writer(&self, path: &str) -> io::Result<GatedFile> {
        self.inner.open_writer(path).map(|file| Self::named(path, file))
    }

    fn write_some_at(&self, file: &GatedFile, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.inner.write_some_at(&file.0, offset, bytes)
    }

    fn sync(&self, file: &GatedFile) -> io::Result<()> {
        if file.1 {
            self.pass();
        }
        self.inner.sync(&file.0)
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        self.inner.sync_directory(path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.gate.0.lock().unwrap().heads += u32::from(to == names::HEAD);
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn punch(&self, file: &GatedFile, offset: u64, length: u64) -> io::Result<()> {
        self.inner.punch(&file.0, offset, length)
    }

    fn is_named(&self, path: &str, file: &GatedFile) -> io::Result<bool> {
        self.inner.is_named(path, &file.0)
    }

    fn try_lock(&self) -> io::Result<Option<Self::Lock>> {
        self.inner.try_lock()
    }

    fn try_sync_lock(&self) -> io::Result<Option<Self::Lock>> {
        self.inner.try_sync_lock()
    }

    fn board(&self) -> io::Result<Option<Arc<dyn Board>>> {
        self.inner.board()
    }

    fn check_written_back(&self, file: &GatedFile) -> io::Result<()> {
        self.inner.check_written_back(&file.0)
    }

    fn is_locked(&self) -> io::Result<bool> {
        self.inner.is_locked()
    }

    fn boot(&self) -> BootId {
        self.inner.boot()
    }
}
