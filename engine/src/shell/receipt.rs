//! What became of a command.

use holdpoint_domain::event::Event;
use holdpoint_domain::{Refusal, Time};

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// Recorded.
    Accepted(Receipt),
    /// Recorded before, under the same idempotency key or as exactly this answer: the first
    /// receipt, without its events where they were moved to an archive. Nothing was written.
    Repeated(Receipt),
    /// A rule said no. Nothing came of the command; a refusal on scope, idempotency, gating or
    /// continuity is itself on the record (property E3).
    Refused(Refusal),
}

impl Submitted {
    /// The receipt of a command that is carried out, now or before.
    #[must_use]
    pub fn receipt(&self) -> Option<&Receipt> {
        match self {
            Self::Accepted(receipt) | Self::Repeated(receipt) => Some(receipt),
            Self::Refused(_) => None,
        }
    }
}

/// Proof that a command was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Sequence of its first event.
    pub first_sequence: u64,
    /// Sequence of its last event; of the first one where the last is not known, because the
    /// events were moved to an archive.
    pub last_sequence: u64,
    /// Time of its events; `None` where they were moved to an archive.
    pub at: Option<Time>,
    /// The events; none where they were moved to an archive.
    pub events: Vec<Event>,
}
