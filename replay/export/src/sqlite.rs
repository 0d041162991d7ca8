//! A SQLite database: what was recorded, and what it comes to under the rules. `schema.sql` has the
//! tables.

mod entities;
mod facts;
mod row;

use crate::record::Record;
use crate::stream::{ExportError, Exported, Options, Sink, pour};
use holdpoint_domain::World;
use holdpoint_domain::core::time::Timestamp;
use holdpoint_log_files::ReadStorage;
use holdpoint_replay::{Committed, Progress, Reach, ReadOptions};
use row::{cell, insert, integer};
use rusqlite::{Connection, OpenFlags, params};
use std::path::Path;

const SCHEMA: &str = include_str!("sqlite/schema.sql");

/// The file is made anew and thrown away where it is not finished, so that nothing is journalled;
/// pages beyond 16 MiB are written at once.
const SETTINGS: &str = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
    PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16384; PRAGMA user_version = 1;";

/// Number of statements that are kept ready: one for each table that rows are put into, and some.
const STATEMENTS_MAX: usize = 16;

/// Writes the selected records, and what they come to, into the empty file `database`.
///
/// # Errors
/// See [`ExportError`]. The file is then of no use.
pub fn export_sqlite<S: ReadStorage>(
    storage: &S,
    options: Options,
    reading: ReadOptions<'_>,
    progress: &mut dyn FnMut(Progress),
    database: &Path,
) -> Result<Exported, ExportError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let connection = Connection::open_with_flags(database, flags)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    connection.execute_batch(SETTINGS)?;
    connection.execute_batch("BEGIN")?;
    connection.execute_batch(SCHEMA)?;
    let include_evidence = options.include_evidence;
    let mut tables = Tables { connection, include_evidence, first: None };
    let exported = pour(storage, options, reading, progress, &mut tables)?;
    tables.finish(&exported)?;
    Ok(exported)
}

struct Tables {
    connection: Connection,
    include_evidence: bool,
    /// The first record within the selection.
    first: Option<u64>,
}

impl Tables {
    /// Entities that no selected batch has changed are taken out.
    fn finish(self, exported: &Exported) -> Result<(), ExportError> {
        let first = self.first.map_or(i64::MAX, |first| i64::try_from(first).unwrap_or(i64::MAX));
        for table in ["execution_loops", "decision_points"] {
            let unchanged = format!("DELETE FROM {table} WHERE version < ?1");
            self.connection.execute(&unchanged, params![first])?;
        }
        self.connection.execute_batch(
            "DELETE FROM decisions WHERE NOT EXISTS (SELECT 1 FROM execution_loops AS l
                WHERE l.loop_id = decisions.loop_id
                AND l.started_sequence = decisions.started_sequence)",
        )?;
        self.describe(exported)?;
        self.connection.flush_prepared_statement_cache();
        self.connection.execute_batch("COMMIT")?;
        self.connection.close().map_err(|(_, error)| ExportError::from(error))
    }

    fn describe(&self, exported: &Exported) -> Result<(), ExportError> {
        let report = &exported.report;
        let head = report.head.as_ref();
        let row = vec![
            ("log_id", cell(&report.log_id)),
            ("verdict", cell(&report.verdict)),
            ("records", integer(exported.records)),
            ("head_sequence", cell(&head.map(|head| head.sequence))),
            ("head_link", cell(&head.map(|head| &head.link))),
            ("first_finding", cell(&report.findings.first().map(ToString::to_string))),
            ("includes_evidence", cell(&self.include_evidence)),
            ("tied_from", cell(&report.reach.tied_from)),
            ("witnessed_to", cell(&report.reach.witnessed_to)),
            ("no_witness_from", cell(&report.reach.no_witness_from)),
        ];
        insert(&self.connection, "export", row)
    }
}

impl Sink for Tables {
    fn beginning(&mut self, world: &World) -> Result<(), ExportError> {
        entities::of_beginning(&self.connection, world)
    }

    fn record(&mut self, committed: &Committed, reach: &Reach) -> Result<(), ExportError> {
        self.first.get_or_insert(committed.header.sequence);
        let record = Record::of(committed, reach);
        facts::of_event(&self.connection, &record, self.include_evidence)?;
        insert(&self.connection, "records", facts::of_record(record)?)
    }

    fn settle(
        &mut self,
        records: &[Committed],
        world: &World,
        _is_selected: bool,
    ) -> Result<(), ExportError> {
        let now = records.last().map_or(Timestamp::from_nanoseconds(0), Committed::time);
        entities::changed(&self.connection, records, world, now)
    }
}
