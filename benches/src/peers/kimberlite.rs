//! kimberlite-storage: one stream, chained by SHA-256.

use super::all_seen;
use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use bytes::Bytes;
use kimberlite_crypto::ChainHash;
use kimberlite_storage::Storage;
use kimberlite_types::{Offset, StreamId};
use std::hint::black_box;
use std::path::Path;
use std::sync::Mutex;

pub(super) const CANDIDATE: Candidate = Candidate {
    is_chained: true,
    remark: "SHA-256 chain, CRC-32, no compression; one writer at a time; opening finds its end by \
             reading",
    scan,
    scan_checks: true,
    verify,
    ..Candidate::new("kimberlite-storage 0.9.1", open)
};

struct OpenStorage {
    stream: Mutex<Stream>,
    payload: Bytes,
    mode: Mode,
}

/// Where the next record goes.
struct Stream {
    storage: Storage,
    next: Offset,
    hash: Option<ChainHash>,
}

fn id() -> StreamId {
    StreamId::new(1)
}

fn opened(at: &Path) -> Storage {
    Storage::new(at)
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    if mode == Mode::Staged {
        return Err(MeasureError::NotOffered("writes every batch"));
    }
    std::fs::create_dir_all(at).doing("make a directory")?;
    let mut storage = opened(at);
    let hash = storage.latest_chain_hash(id()).doing("open")?;
    let next = hash.map_or(Ok(0), |_| next_offset(&mut storage))?;
    let stream = Mutex::new(Stream { storage, next: Offset::new(next), hash });
    Ok(Box::new(OpenStorage { stream, payload: Bytes::from(payload.to_string()), mode }))
}

/// The offset behind the last record of the newest segment.
fn next_offset(storage: &mut Storage) -> Result<u64, MeasureError> {
    let records = storage.read_records_verified(id(), Offset::ZERO, u64::MAX).doing("open")?;
    Ok(records.last().map_or(0, |record| record.offset().as_u64() + 1))
}

impl Store for OpenStorage {
    fn append(&self) -> Result<(), MeasureError> {
        self.append_batch(1)
    }

    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let mut stream = self.stream.lock().map_err(|_| "poisoned").doing("append")?;
        let (events, syncs) =
            (vec![self.payload.clone(); records as usize], self.mode == Mode::Durable);
        let (next, hash) = (stream.next, stream.hash);
        let appended = stream.storage.append_batch(id(), events, next, hash, syncs);
        let (next, hash) = appended.doing("append")?;
        (stream.next, stream.hash) = (next, Some(hash));
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<(), MeasureError> {
        let mut stream = self.stream.lock().map_err(|_| "poisoned").doing("close")?;
        stream.storage.flush_indexes().doing("close")
    }
}

fn scan(at: &Path, records: u64, _threads: usize) -> Result<(), MeasureError> {
    let read = opened(at).read_from(id(), Offset::ZERO, u64::MAX).doing("read")?;
    all_seen(black_box(read).len() as u64, records)
}

fn verify(at: &Path, records: u64, threads: usize) -> Result<(), MeasureError> {
    if threads > 1 {
        return Err(MeasureError::NotOffered("verifies on one thread"));
    }
    let read = opened(at).read_records_from_genesis(id(), Offset::ZERO, u64::MAX);
    all_seen(black_box(read.doing("verify")?).len() as u64, records)
}
