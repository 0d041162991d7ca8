//! logdb, its hash chain on.

use super::all_seen;
use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use logdb::{Config, DurabilityMode, LogDb};
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(super) const CANDIDATE: Candidate = Candidate {
    is_chained: true,
    hashes_late: true,
    remark: "BLAKE3 chain, hashed and written by threads of its own; CRC-32C; opening verifies",
    scan,
    scan_checks: true,
    verify,
    ..Candidate::new("logdb 0.6.0", open)
};

/// Longer than anything takes.
const LONG: Duration = Duration::from_secs(60);

struct OpenLog {
    log: LogDb,
    payload: Vec<u8>,
    syncs: bool,
    appended: AtomicBool,
}

fn opened(at: &Path) -> Result<LogDb, MeasureError> {
    let config = Config {
        data_dir: at.to_path_buf(),
        hash_enabled: true,
        durability_mode: DurabilityMode::Async,
        ..Config::default()
    };
    LogDb::open(config).doing("open")
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    if mode == Mode::Os {
        return Err(MeasureError::NotOffered("writes when a thread of its own comes to it"));
    }
    let (log, payload) = (opened(at)?, payload.as_bytes().to_vec());
    Ok(Box::new(OpenLog {
        log,
        payload,
        syncs: mode == Mode::Durable,
        appended: AtomicBool::new(false),
    }))
}

impl OpenLog {
    fn flush(&self) -> Result<(), MeasureError> {
        self.appended.store(true, Ordering::Relaxed);
        if self.syncs { self.log.flush().doing("flush") } else { Ok(()) }
    }
}

impl Store for OpenLog {
    fn append(&self) -> Result<(), MeasureError> {
        self.log.append(&self.payload).doing("append")?;
        self.flush()
    }

    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let batch = vec![self.payload.as_slice(); records as usize];
        self.log.append_batch(&batch).doing("append")?;
        self.flush()
    }

    /// Everything is hashed when it is handed to the file.
    fn settle(&self) -> Result<(), MeasureError> {
        while self.log.committed_cursor() < self.log.producer_cursor() {
            std::thread::yield_now();
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<(), MeasureError> {
        let has_appended = self.appended.load(Ordering::Relaxed);
        if !has_appended {
            return leave(self.log);
        }
        self.log.shutdown(LONG).map(drop).doing("close")
    }
}

/// A log that nothing was appended to waits in vain for a sync when it is shut down, for as long as
/// it is let: it is given a record to sync, which is in the time of a scan, some milliseconds.
fn leave(log: LogDb) -> Result<(), MeasureError> {
    log.append(&[]).doing("append")?;
    log.flush().doing("flush")?;
    log.shutdown(LONG).map(drop).doing("close")
}

fn scan(at: &Path, records: u64, _threads: usize) -> Result<(), MeasureError> {
    let log = opened(at)?;
    let mut seen = 0;
    for record in log.scan(0, log.durable_cursor()).doing("scan")? {
        black_box(record.doing("scan")?);
        seen += 1;
    }
    leave(log)?;
    all_seen(seen, records)
}

/// Opening recomputes the chain and compares.
fn verify(at: &Path, records: u64, threads: usize) -> Result<(), MeasureError> {
    if threads > 1 {
        return Err(MeasureError::NotOffered("verifies on one thread"));
    }
    let log = opened(at)?;
    let recovered = log.durable_cursor();
    leave(log)?;
    all_seen(recovered, records)
}
