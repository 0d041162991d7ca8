//! Values of columns, and rows.

use crate::canonical::canonical;
use crate::stream::ExportError;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use serde::Serialize;

/// The columns of one row, and their values.
pub(super) type Row = Vec<(&'static str, Value)>;

/// Puts a row into a table, in the place of the one with the same key.
pub(super) fn insert(
    connection: &Connection,
    table: &'static str,
    row: Row,
) -> Result<(), ExportError> {
    let columns: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
    let places = vec!["?"; columns.len()].join(", ");
    let columns = columns.join(", ");
    let text = format!("INSERT OR REPLACE INTO {table} ({columns}) VALUES ({places})");
    let mut statement = connection.prepare_cached(&text)?;
    statement.execute(params_from_iter(row.into_iter().map(|(_, value)| value)))?;
    Ok(())
}

/// A value as a column holds it: lists and objects as JSON, truth as 1 and 0.
pub(super) fn cell(value: &impl Serialize) -> Value {
    match serde_json::to_value(value).unwrap_or_default() {
        serde_json::Value::Null => Value::Null,
        serde_json::Value::Bool(truth) => Value::Integer(truth.into()),
        serde_json::Value::String(text) => Value::Text(text),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(integer) => Value::Integer(integer),
            None => Value::Text(number.to_string()),
        },
        composite => canonical(&composite).map_or(Value::Null, Value::Text),
    }
}

/// A number; one that SQLite's integers do not hold as its digits.
pub(super) fn integer(number: u64) -> Value {
    i64::try_from(number).map_or_else(|_| Value::Text(number.to_string()), Value::Integer)
}
