//! What a user could take instead: each behind the face of [`Store`](crate::store::Store), set up
//! as its own documentation says for what the figure asks.

mod audit_trail;
mod batpak;
mod fjall;
mod heed;
mod kimberlite;
mod logdb;
mod okaywal;
mod raft_engine;
mod redb;
mod seglog;
mod sqlite;
mod walrus;

use crate::error::{Doing, MeasureError};
use crate::store::Candidate;

/// Logs and stores of bytes.
pub const STORES: &[Candidate] = &[
    raft_engine::CANDIDATE,
    okaywal::CANDIDATE,
    logdb::CANDIDATE,
    audit_trail::CANDIDATE,
    kimberlite::CANDIDATE,
    sqlite::CANDIDATE,
    redb::CANDIDATE,
    fjall::CANDIDATE,
    heed::CANDIDATE,
    seglog::CANDIDATE,
    walrus::CANDIDATE,
];

/// Logs of typed events.
pub const TYPED: &[Candidate] = &[batpak::CANDIDATE];

/// A store that gave back fewer records than it was given was not measured.
fn all_seen(seen: u64, records: u64) -> Result<(), MeasureError> {
    if seen < records {
        return Err(format!("{seen} of {records} records")).doing("read all");
    }
    Ok(())
}
