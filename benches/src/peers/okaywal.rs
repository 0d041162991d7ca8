//! OkayWAL: entries of chunks, synced when they are committed.

use super::all_seen;
use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use okaywal::{Configuration, Entry, EntryId, LogManager, SegmentReader, WriteAheadLog};
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const CANDIDATE: Candidate = Candidate {
    remark: "files of 16 MiB, never checkpointed; CRC-32C on every chunk",
    scan,
    scan_checks: true,
    ..Candidate::new("OkayWAL 0.3.1", open)
};

/// Larger than any log that is measured: nothing is given up.
const CHECKPOINT_BYTES: u64 = 1 << 40;

/// Counts what is read back when a log is opened.
#[derive(Debug)]
struct Counting(Arc<AtomicU64>);

impl LogManager for Counting {
    fn recover(&mut self, entry: &mut Entry<'_>) -> io::Result<()> {
        let chunks = entry.read_all_chunks()?.unwrap_or_default();
        self.0.fetch_add(chunks.len() as u64, Ordering::Relaxed);
        black_box(chunks);
        Ok(())
    }

    fn checkpoint_to(
        &mut self,
        _last: EntryId,
        _entries: &mut SegmentReader,
        _log: &WriteAheadLog,
    ) -> io::Result<()> {
        Ok(())
    }
}

struct OpenLog {
    log: WriteAheadLog,
    payload: Vec<u8>,
}

fn opened(at: &Path, seen: Arc<AtomicU64>) -> Result<WriteAheadLog, MeasureError> {
    let configuration = Configuration::default_for(at)
        .preallocate_bytes(16 << 20)
        .checkpoint_after_bytes(CHECKPOINT_BYTES);
    configuration.open(Counting(seen)).doing("open")
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    if mode != Mode::Durable {
        return Err(MeasureError::NotOffered("syncs every commit"));
    }
    let log = opened(at, Arc::default())?;
    Ok(Box::new(OpenLog { log, payload: payload.as_bytes().to_vec() }))
}

impl Store for OpenLog {
    fn append(&self) -> Result<(), MeasureError> {
        self.append_batch(1)
    }

    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let mut entry = self.log.begin_entry().doing("begin an entry")?;
        for _ in 0..records {
            entry.write_chunk(&self.payload).doing("write a chunk")?;
        }
        entry.commit().map(drop).doing("commit")
    }

    fn close(self: Box<Self>) -> Result<(), MeasureError> {
        self.log.shutdown().doing("close")
    }
}

/// Opening is how a log is read back.
fn scan(at: &Path, records: u64, _threads: usize) -> Result<(), MeasureError> {
    let seen = Arc::new(AtomicU64::new(0));
    let log = opened(at, Arc::clone(&seen))?;
    log.shutdown().doing("close")?;
    all_seen(seen.load(Ordering::Relaxed), records)
}
