//! What the tests of several crates share. No part of any program.

#![allow(
    missing_docs,
    missing_debug_implementations,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::must_use_candidate,
    clippy::missing_panics_doc,
    clippy::new_without_default,
    reason = "a helper that fails, fails its test"
)]

/// Chains of evidence and trails of decisions, with all their records.
pub mod chains;
/// Logs whose records are written by hand, valid and forged.
pub mod hand_made;
/// A history as a log would hold it, for measuring.
pub mod history;
/// Storage errors for a real program, from outside.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub mod inject;
/// The log beneath the engine: storage that fails or waits, other processes.
pub mod log;
/// A part of many cases.
pub mod part;
/// The engine: places, clocks, commands.
pub mod shell;
/// Given commands, when a command, then events.
pub mod story;
/// Interruption threads.
pub mod threads;
/// The rules as data.
pub mod vectors;
