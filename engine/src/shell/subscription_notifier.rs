//! The notifier: how an engine wakes its subscriptions.

use super::callback::{Callback, EngineId};
use crate::sync::{Condvar, Mutex};
use std::sync::Arc;
use std::time::Instant;

/// Notifier of an engine's subscriptions. Clones are the same notifier.
#[derive(Clone, Debug, Default)]
pub(super) struct Notifier {
    shared: Arc<NotifierState>,
    /// `None`: others write the log.
    engine: Option<EngineId>,
}

#[derive(Debug, Default)]
struct NotifierState {
    seen: Mutex<NoticeCount>,
    notified: Condvar,
}

/// Counts of what was said so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NoticeCount {
    /// Number of times the engine notified.
    notices: u64,
    /// Newest sequence that this engine synced.
    pub(super) durable: u64,
    /// The engine is closed: it says nothing more.
    pub(super) is_closed: bool,
}

impl Notifier {
    pub(super) fn of(engine: EngineId) -> Self {
        Self { engine: Some(engine), ..Self::default() }
    }

    /// The callback of the engine in which this thread keeps everybody from writing.
    pub(super) fn turn_in(&self) -> Option<Callback> {
        self.engine?.turn_in()
    }

    /// A turn ended; `durable` is the newest sequence if it is known to be synced.
    pub(super) fn notify(&self, durable: Option<u64>) {
        let mut seen = self.shared.seen.lock();
        seen.notices = seen.notices.wrapping_add(1);
        seen.durable = seen.durable.max(durable.unwrap_or(0));
        drop(seen);
        self.shared.notified.notify_all();
    }

    pub(super) fn seen(&self) -> NoticeCount {
        *self.shared.seen.lock()
    }

    /// Waits for the next notice after `before` was seen, or until `deadline`.
    pub(super) fn wait(&self, before: &NoticeCount, deadline: Instant) {
        let mut seen = self.shared.seen.lock();
        while seen.notices == before.notices && !seen.is_closed {
            if self.shared.notified.wait_until(&mut seen, deadline).timed_out() {
                return;
            }
        }
    }
}

/// The engine's end. Given, or dropped, behind the log, which then is closed.
#[derive(Debug, Default)]
pub(super) struct CloseNotice(pub(super) Notifier);

impl CloseNotice {
    pub(super) fn give(&self) {
        self.0.shared.seen.lock().is_closed = true;
        self.0.shared.notified.notify_all();
    }
}

impl Drop for CloseNotice {
    fn drop(&mut self) {
        self.give();
    }
}
