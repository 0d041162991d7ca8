//! What the log's files promises: a module for each promise.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper that fails, fails its test"
)]

mod blocks_are_walked_like_records;
mod hostile_files;
mod opening_reads_no_history;
mod records_are_read_from_the_end;
mod segments_are_mapped;
mod support;
