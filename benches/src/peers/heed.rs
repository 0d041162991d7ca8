//! LMDB, through heed: one database, appended to in the order of its keys.
#![allow(unsafe_code, reason = "an LMDB environment is opened by an unsafe call alone")]

use super::all_seen;
use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use heed::byteorder::BigEndian;
use heed::types::{Bytes, U64};
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags};
use std::hint::black_box;
use std::path::Path;

pub(super) const CANDIDATE: Candidate = Candidate {
    remark: "MDB_APPEND; MDB_NOSYNC where not durable; no checksums",
    scan,
    ..Candidate::new("LMDB (heed 0.22.0)", open)
};

/// Address space, not disk.
const MAP_BYTES: usize = 8 << 30;

type Log = Database<U64<BigEndian>, Bytes>;

struct OpenEnvironment {
    environment: Env,
    log: Log,
    payload: Vec<u8>,
}

fn opened(at: &Path, flags: EnvFlags) -> Result<Env, MeasureError> {
    std::fs::create_dir_all(at).doing("make a directory")?;
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES);
    // SAFETY: the flags take away syncs alone, never locks; the environment lies in a directory of
    // this store's own, on a local disk, and is open once at a time: each opening is closed, with
    // its transactions, before the next one.
    unsafe { options.flags(flags).open(at) }.doing("open")
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    let flags = match mode {
        Mode::Staged => return Err(MeasureError::NotOffered("writes every commit")),
        Mode::Os => EnvFlags::NO_SYNC,
        Mode::Durable => EnvFlags::empty(),
    };
    let environment = opened(at, flags)?;
    let mut transaction = environment.write_txn().doing("begin")?;
    let log: Log = environment.create_database(&mut transaction, None).doing("open the log")?;
    transaction.commit().doing("commit")?;
    Ok(Box::new(OpenEnvironment { environment, log, payload: payload.as_bytes().to_vec() }))
}

impl Store for OpenEnvironment {
    fn append(&self) -> Result<(), MeasureError> {
        self.append_batch(1)
    }

    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let mut transaction = self.environment.write_txn().doing("begin")?;
        let last = self.log.last(&transaction).doing("find the last record")?;
        let next = last.map_or(0, |(key, _)| key + 1);
        for key in next..next + records {
            self.log
                .put_with_flags(&mut transaction, PutFlags::APPEND, &key, &self.payload)
                .doing("put")?;
        }
        transaction.commit().doing("commit")
    }

    fn close(self: Box<Self>) -> Result<(), MeasureError> {
        self.environment.force_sync().doing("sync")?;
        self.environment.prepare_for_closing().wait();
        Ok(())
    }
}

fn scan(at: &Path, records: u64, _threads: usize) -> Result<(), MeasureError> {
    let environment = opened(at, EnvFlags::empty())?;
    let seen = count(&environment)?;
    environment.prepare_for_closing().wait();
    all_seen(seen, records)
}

fn count(environment: &Env) -> Result<u64, MeasureError> {
    let transaction = environment.read_txn().doing("begin")?;
    let log: Option<Log> = environment.open_database(&transaction, None).doing("open the log")?;
    let log = log.ok_or("there is none").doing("open the log")?;
    let mut seen = 0;
    for entry in log.iter(&transaction).doing("scan")? {
        black_box(entry.doing("scan")?);
        seen += 1;
    }
    Ok(seen)
}
