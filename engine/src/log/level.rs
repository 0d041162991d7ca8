//! Certainty of a caller that its records survive when a call returns.

use std::time::Duration;

/// Durability of an append when it returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Level {
    /// Like [`Level::Always`], and HEAD names the records, durably: damage to them is found and
    /// located from now on, also after power loss. Costs two more syncs, shared by all who wait.
    Witnessed,
    /// A sync that began after the records were written has returned: they survive power loss.
    /// Within the next second, until HEAD names them, damage that comes with a power loss cannot
    /// be told from a write that was torn.
    #[default]
    Always,
    /// Written; synced in the background within this time. They survive the process now, power loss
    /// later.
    Interval(Duration),
    /// Written: they survive the process, not the power.
    Os,
    /// A place in the chain and no promise: written with a later call, or when 256 KiB have
    /// gathered.
    Staged,
}
