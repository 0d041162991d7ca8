//! What reading and replaying promise: a module for each promise.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper that fails, fails its test"
)]

mod archive_statements;
mod archives_found;
mod bounds;
mod bytes_read;
mod caches;
mod changed_meanwhile;
mod mapping;
mod newest_record;
mod rebuilding;
mod salvaged;
mod second_beginnings;
mod surviving;
mod verifying;
