//! Walrus: one topic. It chooses its directory below the working directory, and its schedule of
//! syncs once for the process.

use super::all_seen;
use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use std::hint::black_box;
use std::path::Path;
use walrus_rust::{FsyncSchedule, ReadConsistency, Walrus};

pub(super) const CANDIDATE: Candidate = Candidate {
    remark: "pread and pwrite, SyncEach where durable; files of 1 GB",
    scan,
    scan_checks: true,
    ..Candidate::new("walrus-rust 0.2.0", open)
};

const TOPIC: &str = "log";

struct OpenLog {
    log: Walrus,
    payload: Vec<u8>,
    _inside: Inside,
}

/// The working directory of a store that is open: its directory may be gone afterwards.
struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        // The root is always there.
        let _ = std::env::set_current_dir("/");
    }
}

fn opened(at: &Path, schedule: FsyncSchedule) -> Result<(Walrus, Inside), MeasureError> {
    std::fs::create_dir_all(at).doing("make a directory")?;
    std::env::set_current_dir(at).doing("go to a directory")?;
    let inside = Inside;
    let reads = ReadConsistency::AtLeastOnce { persist_every: u32::MAX };
    let log = Walrus::with_consistency_and_schedule_for_key("bench", reads, schedule);
    Ok((log.doing("open")?, inside))
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    let schedule = match mode {
        Mode::Staged => return Err(MeasureError::NotOffered("writes every record")),
        Mode::Os => FsyncSchedule::NoFsync,
        Mode::Durable => FsyncSchedule::SyncEach,
    };
    let (log, inside) = opened(at, schedule)?;
    Ok(Box::new(OpenLog { log, payload: payload.as_bytes().to_vec(), _inside: inside }))
}

impl Store for OpenLog {
    fn append(&self) -> Result<(), MeasureError> {
        self.log.append_for_topic(TOPIC, &self.payload).doing("append")
    }

    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let batch = vec![self.payload.as_slice(); records as usize];
        self.log.batch_append_for_topic(TOPIC, &batch).doing("append")
    }
}

fn scan(at: &Path, records: u64, _threads: usize) -> Result<(), MeasureError> {
    const BYTES_AT_ONCE: usize = 4 << 20;
    let (log, _inside) = opened(at, FsyncSchedule::NoFsync)?;
    let mut seen = 0;
    loop {
        let entries = log.batch_read_for_topic(TOPIC, BYTES_AT_ONCE, true).doing("read")?;
        if entries.is_empty() {
            return all_seen(seen, records);
        }
        seen += entries.len() as u64;
        black_box(entries);
    }
}
