//! A Holdpoint log as others read it: JSON Lines, CSV, or a SQLite database; and what a run printed
//! as a recording for asciinema.
//!
//! # Architecture invariants
//!
//! - Read-only: this crate knows no writer of logs.
//! - Streaming: nothing is held but the batch in hand and the live entities.
//! - Raw evidence leaves only where [`Options::include_evidence`] says so; else its length and its
//!   SHA-256 stand for it.
//! - A damaged log gives what holds before the damage, each record with its standing, and the
//!   report says the rest.
#![cfg(not(windows))]
#![forbid(unsafe_code)]

pub mod asciicast;
pub mod canonical;
pub mod csv_rows;
pub mod json_lines;
mod record;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod stream;

pub use csv_rows::export_csv;
pub use json_lines::export_json_lines;
#[cfg(feature = "sqlite")]
pub use sqlite::export_sqlite;
pub use stream::{ExportError, Exported, Options};
