//! Adding of facts: the disk

#[cfg(windows)]
compile_error!("Holdpoint runs on Linux, and builds on macOS; on Windows use WSL 2.");

pub mod adoption;
pub mod executor;
pub mod floors;
pub mod log;
mod raw_file;
pub mod shell;
mod sync;

pub use shell::{Engine, Origin};
