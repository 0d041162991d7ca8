//! A real directory whose calls fail when the test says so.

use holdpoint_engine::log::{Board, RootState, Storage, WriteFile};
use holdpoint_log_files::{DirectoryStorage, Entry, ReadStorage};
use holdpoint_log_format::BootId;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// The calls that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Write,
    Sync,
    SyncDirectory,
    Rename,
    Create,
    Punch,
}

pub const CALLS: [Call; 6] =
    [Call::Write, Call::Sync, Call::SyncDirectory, Call::Rename, Call::Create, Call::Punch];

/// Which call fails, and how.
#[derive(Clone, Copy, Debug)]
pub struct Failure {
    pub call: Call,
    /// Counted from 1 among the calls of its kind on the files that match.
    pub number: u32,
    /// Whether the call does its work all the same.
    pub takes_effect: bool,
    pub kind: io::ErrorKind,
    /// Only calls on paths that contain this.
    pub on: &'static str,
    /// Whether every later call of the kind fails too.
    pub lasts: bool,
}

#[derive(Debug, Default)]
struct Plan {
    failure: Option<Failure>,
    counted: u32,
    hits: u32,
}

/// The directory.
#[derive(Clone, Debug)]
pub struct FaultyStorage {
    inner: DirectoryStorage,
    plan: Arc<Mutex<Plan>>,
    /// What was asked of the disk, with the bytes of each write.
    made: Arc<Mutex<Vec<(Call, usize)>>>,
    begun: Arc<Mutex<Vec<WriteOut>>>,
}

/// The system was let begin to write a range of a file to the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOut {
    pub path: String,
    pub range: Range<u64>,
}

/// An open file that knows its name.
#[derive(Debug)]
pub struct NamedFile(File, String);

impl FaultyStorage {
    pub fn new(directory: &Path) -> Self {
        let (plan, made, begun) = Default::default();
        Self { inner: DirectoryStorage::new(directory), plan, made, begun }
    }

    /// From now on `failure` happens; counting begins anew.
    pub fn fail(&self, failure: Option<Failure>) {
        *self.plan.lock().unwrap() = Plan { failure, counted: 0, hits: 0 };
    }

    /// How often a call failed since.
    pub fn hits(&self) -> u32 {
        self.plan.lock().unwrap().hits
    }

    /// The calls since this was asked last, with the bytes of each write.
    pub fn take_made(&self) -> Vec<(Call, usize)> {
        std::mem::take(&mut self.made.lock().unwrap())
    }

    /// What the system was let begin with since this was asked last.
    pub fn take_begun(&self) -> Vec<WriteOut> {
        std::mem::take(&mut self.begun.lock().unwrap())
    }

    fn run<T>(
        &self,
        call: Call,
        path: &str,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.run_on(call, path, 0, work)
    }

    fn run_on<T>(
        &self,
        call: Call,
        path: &str,
        bytes: usize,
        work: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.made.lock().unwrap().push((call, bytes));
        let failing = self.next(call, path);
        let Some(failure) = failing else { return work() };
        if failure.takes_effect {
            drop(work()?);
        }
        Err(io::Error::new(failure.kind, "a failure that the test asked for"))
    }

    /// What is derived from the log may fail at any time, in a thread of its own, and nobody need
    /// notice: no failure is spent on it.
    fn next(&self, call: Call, path: &str) -> Option<Failure> {
        if path.contains(".idx") || path.contains("snapshot") {
            return None;
        }
        let mut plan = self.plan.lock().unwrap();
        let failure = plan.failure.filter(|f| f.call == call && path.contains(f.on))?;
        plan.counted += 1;
        let is_due =
            plan.counted == failure.number || (failure.lasts && plan.counted > failure.number);
        plan.hits += u32::from(is_due);
        is_due.then_some(failure)
    }
}

impl holdpoint_log_files::ReadFile for NamedFile {
    fn length(&self) -> io::Result<u64> {
        holdpoint_log_files::ReadFile::length(&self.0)
    }

    fn read_some_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        holdpoint_log_files::ReadFile::read_some_at(&self.0, offset, buffer)
    }
}

impl WriteFile for NamedFile {
    fn try_lock(&self) -> io::Result<bool> {
        WriteFile::try_lock(&self.0)
    }

    fn unlock(&self) -> io::Result<()> {
        WriteFile::unlock(&self.0)
    }
}

impl ReadStorage for FaultyStorage {
    type File = File;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        self.inner.list(directory)
    }

    fn open(&self, path: &str) -> io::Result<Option<File>> {
        self.inner.open(path)
    }
}

impl Storage for FaultyStorage {
    type Writer = NamedFile;
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

    fn create(&self, path: &str, length: u64) -> io::Result<NamedFile> {
        let made = self.run(Call::Create, path, || self.inner.create(path, length));
        made.map(|file| NamedFile(file, path.to_string()))
    }

    fn open_writer(&self, path: &str) -> io::Result<NamedFile> {
        self.inner.open_writer(path).map(|file| NamedFile(file, path.to_string()))
    }

    fn write_some_at(&self, file: &NamedFile, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let work = || self.inner.write_some_at(&file.0, offset, bytes);
        self.run_on(Call::Write, &file.1, bytes.len(), work)
    }

    fn begin_write_out(&self, file: &NamedFile, offset: u64, length: u64) {
        let (path, range) = (file.1.clone(), offset..offset + length);
        self.begun.lock().unwrap().push(WriteOut { path, range });
        self.inner.begin_write_out(&file.0, offset, length);
    }

    fn sync(&self, file: &NamedFile) -> io::Result<()> {
        self.run(Call::Sync, &file.1, || self.inner.sync(&file.0))
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        self.run(Call::SyncDirectory, path, || self.inner.sync_directory(path))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.run(Call::Rename, to, || self.inner.rename(from, to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn punch(&self, file: &NamedFile, offset: u64, length: u64) -> io::Result<()> {
        self.run(Call::Punch, &file.1, || self.inner.punch(&file.0, offset, length))
    }

    fn is_named(&self, path: &str, file: &NamedFile) -> io::Result<bool> {
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

    fn check_written_back(&self, file: &NamedFile) -> io::Result<()> {
        self.inner.check_written_back(&file.0)
    }

    fn is_locked(&self) -> io::Result<bool> {
        self.inner.is_locked()
    }

    fn boot(&self) -> BootId {
        self.inner.boot()
    }
}
