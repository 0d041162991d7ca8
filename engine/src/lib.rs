//! How facts are added: the disk, the writer, recovery, clock, ids, and real commands.
#![cfg(not(windows))]

pub mod executor;
pub mod log;
pub mod shell;

pub use shell::Engine;
