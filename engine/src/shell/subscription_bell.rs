//! The bell: how an engine wakes its subscriptions.

use crate::sync::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Instant;

/// What an engine says to its subscriptions. Clones are the same bell.
#[derive(Clone, Debug, Default)]
pub(super) struct Bell {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    heard: Mutex<Heard>,
    rung: Condvar,
}

/// What was said so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    /// How often the bell rang.
    rings: u64,
    /// Newest sequence that this engine synced.
    pub(super) durable: u64,
    /// The engine is closed: it says nothing more.
    pub(super) is_closed: bool,
}

impl Bell {
    /// A turn ended; `durable` is the newest sequence if it is known to be synced.
    pub(super) fn ring(&self, durable: Option<u64>) {
        let mut heard = self.shared.heard.lock();
        heard.rings = heard.rings.wrapping_add(1);
        heard.durable = heard.durable.max(durable.unwrap_or(0));
        drop(heard);
        self.shared.rung.notify_all();
    }

    pub(super) fn heard(&self) -> Heard {
        *self.shared.heard.lock()
    }

    /// Waits until the bell rings again after `before` was heard, or until `deadline`.
    pub(super) fn wait(&self, before: &Heard, deadline: Instant) {
        let mut heard = self.shared.heard.lock();
        while heard.rings == before.rings && !heard.is_closed {
            if self.shared.rung.wait_until(&mut heard, deadline).timed_out() {
                return;
            }
        }
    }
}

/// The engine's end. Dropped behind the log, which then is closed.
#[derive(Debug, Default)]
pub(super) struct LastRing(pub(super) Bell);

impl Drop for LastRing {
    fn drop(&mut self) {
        self.0.shared.heard.lock().is_closed = true;
        self.0.shared.rung.notify_all();
    }
}
