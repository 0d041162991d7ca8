//! States of an application's own: a reducer makes them of the application's events, and they are
//! rebuilt by replay.
//!
//! [`Reduced`] is such a state beside an engine, kept up to date and bounded in memory;
//! [`StateHistory`] tells it at any record of a log that is only read. Of what a reducer makes, the
//! log holds a fingerprint now and then (kind 225), by which a snapshot is believed.
//!
//! # Architecture invariants
//!
//! - A snapshot is a cache. It is believed only where a record states its fingerprint, and where
//!   the chain leads from its place over that record to the newest one.
//! - The reducer's code runs outside the writer's turn. An event that it cannot read, or panics
//!   over, ends it for that event's stream; an answer that is not the same twice ends it for all.
//! - Nothing is kept in memory that grows with the number of streams but the directory of the
//!   newest snapshot: about a hundred bytes for each 16 KiB of states.
#![cfg(not(windows))]
#![forbid(unsafe_code)]

mod base;
mod check;
mod error;
mod event;
mod fold;
mod history;
mod reduced;
mod reducer;
mod snapshot;
mod table;

pub use check::{Checked, CheckedFingerprint, Outcome};
pub use error::{ReducerError, ReducerFault};
pub use event::{ApplicationEvent, EventError, EventType};

pub use history::{Bisected, StateHistory};
pub use json_patch::Patch;
pub use reduced::{Reduced, ReducerOptions, Versioned};
pub use reducer::{Reducer, Scope};
