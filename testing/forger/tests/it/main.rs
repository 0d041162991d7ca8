//! What the forger promises: a module for each promise.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper that fails, fails its test"
)]

mod attacked;
mod chained;
mod derived_files;
mod effects;
mod made;
mod read_and_written;
mod worked_example;
