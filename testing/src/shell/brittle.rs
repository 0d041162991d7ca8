//! A real directory whose syncs fail, or whose segments are cut, from a chosen moment on, and of
//! which it is counted how much is read of segments.

use holdpoint_engine::log::{Board, RootState, Storage};
use holdpoint_log_files::{DirectoryStorage, Entry, Mapped, ReadFile, ReadStorage, Stamp};
use holdpoint_log_format::BootId;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Fails every sync of a file once told to, and cuts what is mapped once told to.
#[derive(Clone)]
pub struct Brittle {
    disk: DirectoryStorage,
    broken: Arc<AtomicBool>,
    cut: Arc<AtomicBool>,
    read: Arc<AtomicU64>,
}

/// A file of it.
pub struct BrittleFile {
    file: File,
    read: Option<Arc<AtomicU64>>,
}

impl Brittle {
    pub fn new(disk: DirectoryStorage) -> Self {
        Self { disk, broken: Arc::default(), cut: Arc::default(), read: Arc::default() }
    }

    /// From here on nothing can be synced.
    pub fn break_down(&self) {
        self.broken.store(true, Ordering::SeqCst);
    }

    /// How many bytes were read of segments, but through maps of what is cut.
    pub fn read_of_segments(&self) -> u64 {
        self.read.load(Ordering::SeqCst)
    }

    /// From here on whatever is opened for a map is cut to nothing right behind that.
    pub fn cut_what_is_mapped(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }
}

impl ReadStorage for Brittle {
    type File = BrittleFile;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        self.disk.list(directory)
    }

    fn open(&self, path: &str) -> io::Result<Option<BrittleFile>> {
        let read = path.ends_with(".seg").then(|| Arc::clone(&self.read));
        Ok(self.disk.open(path)?.map(|file| BrittleFile { file, read }))
    }

    fn open_mapped(&self, path: &str) -> io::Result<Option<Mapped<BrittleFile>>> {
        if !self.cut.load(Ordering::SeqCst) {
            return Ok(self.open(path)?.map(Mapped::File));
        }
        let opened = self.disk.open_mapped(path)?.map(|opened| match opened {
            Mapped::Map(map) => Mapped::Map(map),
            Mapped::File(file) => Mapped::File(BrittleFile { file, read: None }),
        });
        if opened.is_some() {
            File::options().write(true).open(self.disk.path(path))?.set_len(0)?;
        }
        Ok(opened)
    }
}

impl ReadFile for BrittleFile {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn stamp(&self) -> io::Result<Option<Stamp>> {
        self.file.stamp()
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_some_at(offset, buffer)?;
        if let Some(bytes) = &self.read {
            bytes.fetch_add(read as u64, Ordering::SeqCst);
        }
        Ok(read)
    }
}

impl Storage for Brittle {
    type Writer = <DirectoryStorage as Storage>::Writer;
    type Lock = <DirectoryStorage as Storage>::Lock;

    fn root(&self) -> &Path {
        self.disk.root()
    }

    fn root_state(&self) -> io::Result<RootState> {
        self.disk.root_state()
    }

    fn unreliable_file_system(&self) -> io::Result<Option<&'static str>> {
        self.disk.unreliable_file_system()
    }

    fn create_directory(&self, path: &str) -> io::Result<()> {
        self.disk.create_directory(path)
    }

    fn create(&self, path: &str, length: u64) -> io::Result<Self::Writer> {
        self.disk.create(path, length)
    }

    fn open_writer(&self, path: &str) -> io::Result<Self::Writer> {
        self.disk.open_writer(path)
    }

    fn write_some_at(&self, file: &Self::Writer, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        self.disk.write_some_at(file, offset, bytes)
    }

    fn sync(&self, file: &Self::Writer) -> io::Result<()> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk is gone"));
        }
        self.disk.sync(file)
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        self.disk.sync_directory(path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn punch(&self, file: &Self::Writer, offset: u64, length: u64) -> io::Result<()> {
        self.disk.punch(file, offset, length)
    }

    fn is_named(&self, path: &str, file: &Self::Writer) -> io::Result<bool> {
        self.disk.is_named(path, file)
    }

    fn try_lock(&self) -> io::Result<Option<Self::Lock>> {
        self.disk.try_lock()
    }

    fn try_sync_lock(&self) -> io::Result<Option<Self::Lock>> {
        self.disk.try_sync_lock()
    }

    fn board(&self) -> io::Result<Option<Arc<dyn Board>>> {
        self.disk.board()
    }

    fn check_written_back(&self, file: &Self::Writer) -> io::Result<()> {
        self.disk.check_written_back(file)
    }

    fn is_locked(&self) -> io::Result<bool> {
        self.disk.is_locked()
    }

    fn boot(&self) -> BootId {
        self.disk.boot()
    }
}
