//! Forges logs as an attacker would who can write the directory.
//!
//! Written from `log-format/FORMAT.md` and `log-format/index/INDEX.md` and apart from the product's
//! code, so that both can be wrong only in different ways. Numbers in parentheses name sections of
//! FORMAT.md.
//!
//! A structure is kept as its bytes and read by named fields: what is not changed stays as it was,
//! also where it is damaged.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::must_use_candidate,
    clippy::missing_panics_doc,
    clippy::new_without_default,
    reason = "a helper that fails, fails its test"
)]

/// Records behind the newest one.
mod append;
/// The attacks.
mod attacks;
/// A structure of fixed length with named fields.
pub mod block;
/// The chain made anew, as far as the forger likes.
mod chain;
/// CRC-32 (7).
pub mod checksum;
/// Logs made of others: an older state, another identity, another history.
mod derived;
/// Indexes of sealed segments, by INDEX.md.
pub mod index;
/// Where the fields of every structure lie.
pub mod layout;
/// The link of a record (8).
pub mod link;
/// A log's directory in memory.
mod log;
/// What an attack did to what the log says.
mod outcome;
/// A log and its archive.
pub mod pair;
/// Payloads of the events that a forger states.
pub mod payload;
/// A record (6).
mod record;
/// A segment (5).
mod segment;
/// Snapshots (31).
pub mod snapshot;
/// Payloads taken out.
mod withheld;

pub use append::Fact;
pub use attacks::{Attack, Victim, attack, attacks, pair_attacks};
pub use block::{Block, Field};
pub use chain::{Position, Reach};
pub use log::{File, Log, RecordAt};
pub use outcome::{Effect, Outcome};
pub use pair::Pair;
pub use record::Record;
pub use segment::{Item, Segment};
