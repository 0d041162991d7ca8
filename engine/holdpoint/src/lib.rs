//! Holdpoint to embed: its libraries under one name. The program for the command line is the crate
//! `holdpoint-cli`.
#![cfg(not(windows))]
#![forbid(unsafe_code)]

/// The rules: events, commands, what is decided and what becomes of the state.
pub use holdpoint_domain as domain;
/// How facts are added to a log, and real commands run under a gate.
pub use holdpoint_engine as engine;
/// Where the bytes of a log lie: finding, mapping and reading its segments.
pub use holdpoint_log_files as log_files;
/// What the bytes of a log mean.
pub use holdpoint_log_format as log_format;
/// What the records of a log prove: verifying, rebuilding, telling.
pub use holdpoint_replay as replay;
