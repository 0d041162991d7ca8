//! Stage of an execution, and why it was stopped.

use std::time::Instant;

use super::signals::ReceivedSignal;

/// Stage of an execution. It only ever moves downwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The leader runs.
    Running,
    /// The leader has ended; its output is drained, and what it left behind may end by itself.
    Settling {
        /// Time at which the rest of the group is killed.
        until: Instant,
    },
    /// The rest of the group was killed; output is read until its end.
    Draining {
        /// Time at which a stream that is still open is closed.
        until: Instant,
    },
    /// Nothing is read any more, but the sink has yet to accept what was, and defers nothing.
    Flushing,
    /// Done.
    Over,
}

/// Why a command was stopped. The first cause stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    TimedOut,
    MemoryExceeded { seen: u64 },
    Interrupted { by: ReceivedSignal },
    NotRecorded,
}
