//! The time to wait for another writer.

use std::time::Duration;

/// How a verb that writes gets its turn.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LockWaitArgs {
    /// Maximum wait for another writer of the log.
    #[arg(long, value_name = "DURATION", env = "HOLDPOINT_LOCK_WAIT", default_value = "10s")]
    #[arg(value_parser = crate::args::durations::wait, hide_short_help = true)]
    pub(crate) lock_wait: Duration,
}

impl LockWaitArgs {
    /// The same, for no longer than this.
    pub(crate) fn at_most(self, longest: Duration) -> Self {
        Self { lock_wait: self.lock_wait.min(longest) }
    }
}
