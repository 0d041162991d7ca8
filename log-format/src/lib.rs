//! Meaning of the bytes of a Holdpoint log: records, links, segment headers and seals, HEAD, LOCK,
//! file names, and the recovery table, all as pure functions over byte slices.
//!
//! This crate opens no file, reads no clock and holds no unsafe code; given only bytes it can
//! verify a whole log. `FORMAT.md` beside it is the normative description, and a test compares its
//! tables with the constants here.
//!
//! # Architecture invariants
//!
//! - Nothing here trusts a length: every size is compared with the bytes that exist.
//! - Decoding is canonical: what decodes encodes to the same bytes.
//! - [`recovery::row`] is the only place where a verdict on a damaged log is taken; opening for
//!   writing and verifying both call it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

#[cfg(feature = "arbitrary")]
mod arbitrary;
pub mod board;
pub mod chain;
pub mod checksum;
pub mod fault;
mod fields;
pub mod head;
pub mod identity;
pub mod instruction;
pub mod item;
pub mod limits;
pub mod link;
pub mod lock;
pub mod names;
pub mod outcome_file;
pub mod record;
pub mod recovery;
pub mod run_entry;
pub mod seal;
pub mod segment;
pub mod snapshot;
pub mod tail;
pub mod zeros;

pub use chain::ChainPosition;
pub use checksum::ChecksumSeed;
pub use fault::Fault;
pub use head::Head;
pub use identity::{BootId, LogId};
pub use item::{Item, ItemLength};
pub use link::{Link, LinkPrefix};
pub use lock::{Lock, OwnerState};
pub use record::{Flags, Record, RecordHeader};
pub use run_entry::{
    EntryFault, EntryHeader, EntryKind, GuardFacts, GuardKilledFor, RunKey, RunStart,
};
pub use seal::Seal;
pub use segment::SegmentHeader;
pub use snapshot::SnapshotHeader;
