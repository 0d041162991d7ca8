//! What a user could take instead.

use crate::store::Candidate;

/// Logs and stores of bytes.
pub const STORES: &[Candidate] = &[];

/// Logs of typed events.
pub const TYPED: &[Candidate] = &[];
