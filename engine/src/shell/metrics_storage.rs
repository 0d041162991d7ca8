//! The log's storage with the hooks of [`Metrics`] around its writes and syncs.

use super::metrics::Metrics;
use crate::log::{Board, RootState, RunFile, RunFileStamp, Storage};
use holdpoint_log_files::{Entry, Mapped, ReadStorage, RunEntries, RunFileFault};
use holdpoint_log_format::BootId;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// A storage that is measured, and shared with whoever reads the log beside the writer.
pub(super) struct Measured<S> {
    disk: Arc<S>,
    /// `None` where nothing is measured.
    metrics: Option<Arc<dyn Metrics>>,
}

impl<S: Storage> Measured<S> {
    pub(super) fn new(disk: Arc<S>, metrics: Arc<dyn Metrics>) -> Self {
        Self { disk, metrics: Some(metrics).filter(|metrics| metrics.is_measuring()) }
    }

    fn timed(&self, sync: impl FnOnce(&S) -> io::Result<()>) -> io::Result<()> {
        let Some(metrics) = &self.metrics else { return sync(&self.disk) };
        let began = Instant::now();
        sync(&self.disk)?;
        metrics.synced(began.elapsed());
        Ok(())
    }
}

impl<S: Storage> ReadStorage for Measured<S> {
    type File = S::File;

    fn list(&self, directory: &str) -> io::Result<Vec<Entry>> {
        self.disk.list(directory)
    }

    fn open(&self, path: &str) -> io::Result<Option<Self::File>> {
        self.disk.open(path)
    }

    fn open_mapped(&self, path: &str) -> io::Result<Option<Mapped<Self::File>>> {
        self.disk.open_mapped(path)
    }
}

impl<S: Storage> Storage for Measured<S> {
    type Writer = S::Writer;
    type Lock = S::Lock;

    fn root(&self) -> &Path {
        self.disk.root()
    }

    fn hold(&self) {
        self.disk.hold();
    }

    fn elsewhere(&self, path: &Path) -> Option<Self> {
        let disk = Arc::new(self.disk.elsewhere(path)?);
        Some(Self { disk, metrics: self.metrics.clone() })
    }

    fn free(&self) -> Option<u64> {
        self.disk.free()
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

    fn write_gitignore(&self) -> io::Result<()> {
        self.disk.write_gitignore()
    }

    fn create(&self, path: &str, length: u64) -> io::Result<Self::Writer> {
        self.disk.create(path, length)
    }

    fn open_writer(&self, path: &str) -> io::Result<Self::Writer> {
        self.disk.open_writer(path)
    }

    fn write_some_at(&self, file: &Self::Writer, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let Some(metrics) = &self.metrics else {
            return self.disk.write_some_at(file, offset, bytes);
        };
        let began = Instant::now();
        let written = self.disk.write_some_at(file, offset, bytes)?;
        metrics.written(written as u64, began.elapsed());
        Ok(written)
    }

    fn write_zeros(&self, file: &Self::Writer, offset: u64, length: u64) -> io::Result<()> {
        self.disk.write_zeros(file, offset, length)
    }

    fn begin_write_out(&self, file: &Self::Writer, offset: u64, length: u64) {
        self.disk.begin_write_out(file, offset, length);
    }

    fn sync(&self, file: &Self::Writer) -> io::Result<()> {
        self.timed(|disk| disk.sync(file))
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        self.timed(|disk| disk.sync_directory(path))
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

    fn try_lock(&self) -> io::Result<Option<Self::Lock>> {
        self.disk.try_lock()
    }

    fn is_named(&self, path: &str, file: &Self::Writer) -> io::Result<bool> {
        self.disk.is_named(path, file)
    }

    fn lock_holder(&self, path: &str) -> Option<u32> {
        self.disk.lock_holder(path)
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

    fn begin_run(&self, loop_id: &str) -> io::Result<Option<RunFile>> {
        self.disk.begin_run(loop_id)
    }

    fn take_run(&self, loop_id: &str) -> io::Result<Option<RunFile>> {
        self.disk.take_run(loop_id)
    }

    fn is_recorded(&self, loop_id: &str) -> io::Result<Option<bool>> {
        self.disk.is_recorded(loop_id)
    }

    fn is_foreign_run(&self, loop_id: &str) -> io::Result<bool> {
        self.disk.is_foreign_run(loop_id)
    }

    fn runs_changed(&self) -> io::Result<Option<(i64, i64)>> {
        self.disk.runs_changed()
    }

    fn run_stamp(&self, loop_id: &str) -> io::Result<Option<RunFileStamp>> {
        self.disk.run_stamp(loop_id)
    }

    fn run_entries(&self, loop_id: &str) -> Result<Option<RunEntries>, RunFileFault> {
        self.disk.run_entries(loop_id)
    }

    fn boot(&self) -> BootId {
        self.disk.boot()
    }

    fn draw(&self, bytes: &mut [u8]) -> io::Result<()> {
        self.disk.draw(bytes)
    }
}
