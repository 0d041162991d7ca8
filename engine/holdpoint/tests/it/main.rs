//! What one crate promises to whoever embeds it: a module for each promise.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper that fails, fails its test"
)]

mod asking;
mod auto_traits;
mod dependencies;
mod examples;
mod outside;

use std::path::Path;

/// The workspace's directory.
fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}
