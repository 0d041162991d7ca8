//! redb: one table, keyed by number.

use super::all_seen;
use crate::error::{Doing, MeasureError};
use crate::store::{Candidate, Mode, Store};
use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};
use std::hint::black_box;
use std::path::Path;

pub(super) const CANDIDATE: Candidate = Candidate {
    remark: "one commit for each record; checksums on pages, checked when it repairs",
    scan,
    ..Candidate::new("redb 4.5.0", open)
};

const LOG: TableDefinition<'static, u64, &'static [u8]> = TableDefinition::new("log");

struct OpenDatabase {
    database: Database,
    payload: Vec<u8>,
    durability: Durability,
}

fn open(at: &Path, mode: Mode, payload: &str) -> Result<Box<dyn Store>, MeasureError> {
    let durability = match mode {
        Mode::Staged => Durability::None,
        Mode::Os => return Err(MeasureError::NotOffered("writes when it syncs")),
        Mode::Durable => Durability::Immediate,
    };
    std::fs::create_dir_all(at).doing("make a directory")?;
    let database = Database::create(at.join("log.redb")).doing("open")?;
    Ok(Box::new(OpenDatabase { database, payload: payload.as_bytes().to_vec(), durability }))
}

impl Store for OpenDatabase {
    fn append(&self) -> Result<(), MeasureError> {
        self.append_batch(1)
    }

    fn append_batch(&self, records: u64) -> Result<(), MeasureError> {
        let mut transaction = self.database.begin_write().doing("begin")?;
        transaction.set_durability(self.durability).doing("ask for durability")?;
        {
            let mut table = transaction.open_table(LOG).doing("open the table")?;
            let last = table.last().doing("find the last record")?;
            let next = last.map_or(0, |(key, _)| key.value() + 1);
            for key in next..next + records {
                table.insert(key, self.payload.as_slice()).doing("insert")?;
            }
        }
        transaction.commit().doing("commit")
    }

    /// What was committed without durability is kept by the next commit with it.
    fn close(self: Box<Self>) -> Result<(), MeasureError> {
        let mut transaction = self.database.begin_write().doing("begin")?;
        transaction.set_durability(Durability::Immediate).doing("ask for durability")?;
        transaction.commit().doing("commit")
    }
}

fn scan(at: &Path, records: u64, _threads: usize) -> Result<(), MeasureError> {
    let database = Database::open(at.join("log.redb")).doing("open")?;
    let transaction = database.begin_read().doing("begin")?;
    let table = transaction.open_table(LOG).doing("open the table")?;
    let mut seen = 0;
    for entry in table.iter().doing("scan")? {
        let (_, payload) = entry.doing("scan")?;
        black_box(payload.value());
        seen += 1;
    }
    all_seen(seen, records)
}
