//! What the format promises: a module for each promise.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper that fails, fails its test"
)]

mod format_document;
mod hostile_bytes;
