//! The log's storage with the hooks of [`Metrics`] around its writes and syncs.

use super::callback::EngineId;
use super::metrics::Metrics;
use crate::log::{Board, NameState, RootState, RunFile, RunFileStamp, Storage};
use holdpoint_log_files::{Entry, FileId, Mapped, ReadStorage, RunEntries, RunFileFault};
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
    engine: EngineId,
}

impl<S: Storage> Measured<S> {
    pub(super) fn new(disk: Arc<S>, metrics: Arc<dyn Metrics>, engine: EngineId) -> Self {
        Self { disk, metrics: Some(metrics).filter(|metrics| metrics.is_measuring()), engine }
    }

    fn timed(&self, sync: impl FnOnce(&S) -> io::Result<()>) -> io::Result<()> {
        let Some(metrics) = &self.metrics else { return sync(&self.disk) };
        let began = Instant::now();
        sync(&self.disk)?;
        self.engine.hook(|| metrics.synced(began.elapsed()));
        Ok(())
    }
}

/// Calls that go on to the disk as they are.
macro_rules! forwarded {
    ($(fn $name:ident(&self $(, $argument:ident: $Type:ty)*) $(-> $Returned:ty)?;)+) => {
        $(fn $name(&self $(, $argument: $Type)*) $(-> $Returned)? {
            self.disk.$name($($argument),*)
        })+
    };
}

impl<S: Storage> ReadStorage for Measured<S> {
    type File = S::File;

    forwarded! {
        fn list(&self, directory: &str) -> io::Result<Vec<Entry>>;
        fn open(&self, path: &str) -> io::Result<Option<Self::File>>;
        fn open_mapped(&self, path: &str) -> io::Result<Option<Mapped<Self::File>>>;
    }
}

impl<S: Storage> Storage for Measured<S> {
    type Writer = S::Writer;
    type Lock = S::Lock;

    fn elsewhere(&self, path: &Path) -> Option<Self> {
        let disk = Arc::new(self.disk.elsewhere(path)?);
        Some(Self { disk, metrics: self.metrics.clone(), engine: self.engine })
    }

    fn write_some_at(&self, file: &Self::Writer, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        let Some(metrics) = &self.metrics else {
            return self.disk.write_some_at(file, offset, bytes);
        };
        let began = Instant::now();
        let written = self.disk.write_some_at(file, offset, bytes)?;
        self.engine.hook(|| metrics.written(written as u64, began.elapsed()));
        Ok(written)
    }

    fn sync(&self, file: &Self::Writer) -> io::Result<()> {
        self.timed(|disk| disk.sync(file))
    }

    fn sync_directory(&self, path: &str) -> io::Result<()> {
        self.timed(|disk| disk.sync_directory(path))
    }

    forwarded! {
        fn root(&self) -> &Path;
        fn hold(&self) -> io::Result<()>;
        fn check_place(&self) -> io::Result<()>;
        fn free(&self) -> Option<u64>;
        fn root_state(&self) -> io::Result<RootState>;
        fn unreliable_file_system(&self) -> io::Result<Option<&'static str>>;
        fn create_directory(&self, path: &str) -> io::Result<()>;
        fn write_gitignore(&self) -> io::Result<()>;
        fn create(&self, path: &str, length: u64) -> io::Result<Self::Writer>;
        fn open_writer(&self, path: &str) -> io::Result<Self::Writer>;
        fn write_zeros(&self, file: &Self::Writer, offset: u64, length: u64) -> io::Result<()>;
        fn begin_write_out(&self, file: &Self::Writer, offset: u64, length: u64);
        fn rename(&self, from: &str, to: &str) -> io::Result<()>;
        fn remove(&self, path: &str) -> io::Result<()>;
        fn punch(&self, file: &Self::Writer, offset: u64, length: u64) -> io::Result<()>;
        fn try_lock(&self) -> io::Result<Option<Self::Lock>>;
        fn is_named(&self, path: &str, file: &Self::Writer) -> io::Result<bool>;
        fn id_of(&self, file: &Self::Writer) -> io::Result<Option<FileId>>;
        fn name_state(&self, path: &str) -> io::Result<Option<NameState>>;
        fn lock_holder(&self, path: &str) -> Option<u32>;
        fn try_sync_lock(&self) -> io::Result<Option<Self::Lock>>;
        fn board(&self) -> io::Result<Option<Arc<dyn Board>>>;
        fn check_written_back(&self, file: &Self::Writer) -> io::Result<()>;
        fn is_locked(&self) -> io::Result<bool>;
        fn begin_run(&self, loop_id: &str) -> io::Result<Option<RunFile>>;
        fn take_run(&self, loop_id: &str) -> io::Result<Option<RunFile>>;
        fn is_recorded(&self, loop_id: &str) -> io::Result<Option<bool>>;
        fn is_foreign_run(&self, loop_id: &str) -> io::Result<bool>;
        fn runs_changed(&self) -> io::Result<Option<(i64, i64)>>;
        fn run_stamp(&self, loop_id: &str) -> io::Result<Option<RunFileStamp>>;
        fn run_entries(&self, loop_id: &str) -> Result<Option<RunEntries>, RunFileFault>;
        fn boot(&self) -> BootId;
        fn draw(&self, bytes: &mut [u8]) -> io::Result<()>;
    }
}
