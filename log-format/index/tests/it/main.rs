//! What an index promises: a module for each promise.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper that fails, fails its test"
)]

mod damage;
mod document;
mod files;
mod lookup;
mod support;
