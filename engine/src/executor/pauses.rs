//! Knowledge of a process about a time in which it was stopped: nothing but that it was continued.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use signal_hook::SigId;

/// The time that a process ran, as somebody saw it who looked whether it has ended.
///
/// Of two who saw the same end the lesser is closer to the truth: the first, and at the same time
/// whoever was not stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Ran {
    pub(super) time: Duration,
    /// True if it may have been over earlier: whoever saw it was stopped for a part of that time.
    pub(super) is_at_most: bool,
}

impl Ran {
    /// Tells whether it ran longer than this, as far as that is known.
    pub(super) fn is_longer_than(self, limit: Duration) -> bool {
        !self.is_at_most && self.time > limit
    }
}

/// Notes while it exists that this process is continued: it may have been stopped before, and the
/// system tells nobody for how long.
#[derive(Debug)]
pub(super) struct Pauses {
    was_continued: Arc<AtomicBool>,
    handler: SigId,
}

impl Pauses {
    pub(super) fn heed() -> io::Result<Self> {
        let was_continued = Arc::default();
        let handler = signal_hook::flag::register(libc::SIGCONT, Arc::clone(&was_continued))?;
        Ok(Self { was_continued, handler })
    }

    /// Returns whether this process was continued since it last forgot that. It is forgotten before
    /// a look at what may have happened meanwhile.
    pub(super) fn forget(&self) -> bool {
        self.was_continued.swap(false, Ordering::SeqCst)
    }

    /// The same, and it is not forgotten.
    pub(super) fn may_be(&self) -> bool {
        self.was_continued.load(Ordering::SeqCst)
    }
}

impl Drop for Pauses {
    fn drop(&mut self) {
        signal_hook::low_level::unregister(self.handler);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_not_stopped_is_believed_unless_the_end_was_seen_earlier() {
        let ran = |time, is_at_most| Ran { time: Duration::from_secs(time), is_at_most };
        assert_eq!(ran(3, false).min(ran(5, true)), ran(3, false));
        assert_eq!(ran(5, true).min(ran(3, false)), ran(3, false));
        assert_eq!(ran(5, true).min(ran(4, true)), ran(4, true));
        assert_eq!(ran(2, true).min(ran(3, false)), ran(2, true));
        assert_eq!(ran(3, true).min(ran(3, false)), ran(3, false));
        assert!(ran(3, false).is_longer_than(Duration::from_secs(2)));
        assert!(!ran(3, true).is_longer_than(Duration::from_secs(2)));
    }
}
