//! SQLite: one table, one row for each record.

use super::all_seen;
use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use rusqlite::Connection;
use std::hint::black_box;
use std::path::Path;
use std::sync::Mutex;

pub(super) const CANDIDATE: Candidate = Candidate {
    remark: "WAL, synchronous=FULL where durable, else NORMAL; no checksum on rows",
    scan,
    ..Candidate::new("SQLite (rusqlite 0.41.1)", open)
};

const INSERT: &str = "INSERT INTO log (payload) VALUES (?1)";

struct OpenDatabase {
    connection: Mutex<Connection>,
    payload: Vec<u8>,
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    std::fs::create_dir_all(at).doing("make a directory")?;
    let connection = Connection::open(at.join("log.sqlite")).doing("open")?;
    connection.pragma_update(None, "journal_mode", "WAL").doing("ask for a WAL")?;
    let synchronous = if mode == Mode::Durable { "FULL" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", synchronous).doing("ask for syncs")?;
    let table = "CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY, payload BLOB NOT NULL)";
    connection.execute(table, ()).doing("make the table")?;
    let payload = payload.as_bytes().to_vec();
    Ok(Box::new(OpenDatabase { connection: Mutex::new(connection), payload }))
}

impl Store for OpenDatabase {
    fn append(&self) -> Result<(), MeasureError> {
        let connection = self.connection.lock().map_err(|_| "poisoned").doing("insert")?;
        let mut insert = connection.prepare_cached(INSERT).doing("prepare")?;
        insert.execute([&self.payload]).map(drop).doing("insert")
    }

    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let mut connection = self.connection.lock().map_err(|_| "poisoned").doing("insert")?;
        let transaction = connection.transaction().doing("begin")?;
        {
            let mut insert = transaction.prepare_cached(INSERT).doing("prepare")?;
            for _ in 0..records {
                insert.execute([&self.payload]).doing("insert")?;
            }
        }
        transaction.commit().doing("commit")
    }
}

fn scan(at: &Path, records: u64, _threads: usize) -> Result<(), MeasureError> {
    let connection = Connection::open(at.join("log.sqlite")).doing("open")?;
    let mut select = connection.prepare("SELECT payload FROM log ORDER BY id").doing("prepare")?;
    let (mut rows, mut seen) = (select.query(()).doing("select")?, 0);
    while let Some(row) = rows.next().doing("select")? {
        let payload = row.get_ref(0).doing("select")?;
        black_box(payload.as_blob().doing("select")?);
        seen += 1;
    }
    all_seen(seen, records)
}
