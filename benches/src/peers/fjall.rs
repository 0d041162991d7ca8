//! fjall: one keyspace, keyed by number.

use super::all_seen;
use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const CANDIDATE: Candidate = Candidate {
    remark: "written to its journal, persisted with SyncData where durable; checksums on blocks",
    scan,
    scan_checks: true,
    ..Candidate::new("fjall 3.1.13", open)
};

struct OpenDatabase {
    database: Database,
    log: Keyspace,
    payload: Vec<u8>,
    next: AtomicU64,
    syncs: bool,
}

fn opened(at: &Path) -> Result<(Database, Keyspace), MeasureError> {
    let database = Database::builder(at).open().doing("open")?;
    let log = database.keyspace("log", KeyspaceCreateOptions::default).doing("open")?;
    Ok((database, log))
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    let (database, log) = opened(at)?;
    let last = match log.last_key_value() {
        Some(entry) => Some(entry.key().doing("find the last record")?),
        None => None,
    };
    let number = |key: &[u8]| key.try_into().map(u64::from_be_bytes).unwrap_or_default();
    let next = AtomicU64::new(last.map_or(0, |key| number(&key) + 1));
    let (payload, syncs) = (payload.as_bytes().to_vec(), mode == Mode::Durable);
    Ok(Box::new(OpenDatabase { database, log, payload, next, syncs }))
}

impl OpenDatabase {
    fn persist(&self) -> Result<(), MeasureError> {
        if self.syncs {
            self.database.persist(PersistMode::SyncData).doing("persist")
        } else {
            Ok(())
        }
    }
}

impl Store for OpenDatabase {
    fn append(&self) -> Result<(), MeasureError> {
        let key = self.next.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        self.log.insert(key, self.payload.as_slice()).doing("insert")?;
        self.persist()
    }

    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let first = self.next.fetch_add(records, Ordering::Relaxed);
        let mut batch = self.database.batch();
        for key in first..first + records {
            batch.insert(&self.log, key.to_be_bytes(), self.payload.as_slice());
        }
        batch.commit().doing("commit")?;
        self.persist()
    }
}

fn scan(at: &Path, records: u64, _threads: usize) -> Result<(), MeasureError> {
    let (_database, log) = opened(at)?;
    let mut seen = 0;
    for entry in log.iter() {
        black_box(entry.value().doing("scan")?);
        seen += 1;
    }
    all_seen(seen, records)
}
