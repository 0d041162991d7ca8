//! The flusher: one background thread per handle that syncs what `Interval` promised and lets HEAD
//! follow within a second, off the path of every append.

use super::acknowledgement::Acknowledgement;
use super::group_commit::Goal;
use super::options::{Options, Ownership};
use super::preallocate;
use super::state::Shared;
use super::storage::Storage;
use super::write_transaction::WriteTransaction;
use crate::sync::{self, Condvar, Mutex, thread};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time that the flusher waits for another process's lock: callers of the handle wait meanwhile.
const LOCK_WAIT: Duration = Duration::from_millis(20);

/// Time that the flusher waits before it tries again what the disk or another owner did not allow.
const FLUSHER_RETRY: Duration = Duration::from_millis(100);

/// The thread; dropping it waits for its end, which the closing handle has asked for.
pub(super) struct Flusher(Option<thread::JoinHandle<()>>);

impl Flusher {
    pub(super) fn start<S: Storage>(shared: &Arc<Shared<S>>) -> io::Result<Self> {
        let shared = Arc::clone(shared);
        let builder = thread::Builder::new().name("holdpoint-flusher".into());
        Ok(Self(Some(builder.spawn(move || keep(&shared))?)))
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // The thread returns nothing, and a panic in it was already printed.
            let _ = thread.join();
        }
    }
}

/// Tasks of the flusher, and when they are due.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    dates: Mutex<Dates>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Dates {
    sync: Option<Instant>,
    head: Option<Instant>,
    is_next_wanted: bool,
    is_closing: bool,
}

/// Tasks that are due now.
struct Due {
    sync: bool,
    head: bool,
    next: bool,
}

impl Schedule {
    /// A sync is due within this time, or earlier if one is already.
    pub(super) fn sync_is_due(&self, within: Duration) {
        let mut dates = self.dates.lock();
        dates.sync = dates.sync.into_iter().chain(after(within)).min();
        self.wake.notify_all();
    }

    /// HEAD is to follow, within the time that the options give it after the first sync.
    pub(super) fn head_is_due(&self, options: &Options) {
        let mut dates = self.dates.lock();
        if dates.head.is_none() {
            dates.head = after(options.head_delay);
            self.wake.notify_all();
        }
    }

    /// HEAD could not follow for want of space.
    pub(super) fn head_is_put_off(&self, options: &Options) {
        self.dates.lock().head = after(options.head_delay.max(FLUSHER_RETRY));
        self.wake.notify_all();
    }

    /// The next segment is to be made.
    pub(super) fn next_is_due(&self) {
        self.dates.lock().is_next_wanted = true;
        self.wake.notify_all();
    }

    pub(super) fn sync_is_done(&self) {
        self.dates.lock().sync = None;
    }

    pub(super) fn head_is_done(&self) {
        self.dates.lock().head = None;
    }

    /// The handle closes: nothing more is due.
    pub(super) fn close(&self) {
        self.dates.lock().is_closing = true;
        self.wake.notify_all();
    }

    pub(super) fn is_closing(&self) -> bool {
        self.dates.lock().is_closing
    }

    /// Waits until something is due; `None` when the handle closes.
    fn wait(&self) -> Option<Due> {
        let mut dates = self.dates.lock();
        loop {
            if dates.is_closing {
                return None;
            }
            let now = sync::now();
            let is_due = |time: Option<Instant>| time.is_some_and(|time| time <= now);
            let next = std::mem::take(&mut dates.is_next_wanted);
            let due = Due { sync: is_due(dates.sync), head: is_due(dates.head), next };
            if due.sync || due.head || due.next {
                // Taken out first: what is appended or synced from here on sets its own date.
                dates.sync = dates.sync.filter(|_| !due.sync);
                dates.head = dates.head.filter(|_| !due.head);
                return Some(due);
            }
            match dates.sync.into_iter().chain(dates.head).min() {
                Some(next) => drop(self.wake.wait_until(&mut dates, next)),
                None => self.wake.wait(&mut dates),
            }
        }
    }

    /// Nothing is lost by trying again.
    fn postpone(&self, due: &Due) {
        let mut dates = self.dates.lock();
        let later = after(FLUSHER_RETRY);
        let sync = later.filter(|_| due.sync);
        let head = later.filter(|_| due.head);
        dates.sync = dates.sync.into_iter().chain(sync).min();
        dates.head = dates.head.into_iter().chain(head).min();
    }
}

/// The moment `delay` from now; `None` when it is too far away to be ever.
fn after(delay: Duration) -> Option<Instant> {
    sync::now().checked_add(delay)
}

fn keep<S: Storage>(shared: &Arc<Shared<S>>) {
    let mut preparer = Preparer(None);
    while let Some(due) = shared.schedule.wait() {
        if shared.poison().is_some() {
            return;
        }
        if due.next {
            preparer.start(shared);
        }
        if due.sync || due.head {
            tend(shared, &due);
        }
    }
}

/// A thread that makes the next segment: that may take seconds, and neither HEAD nor a sync that
/// was promised waits for it. Dropping it waits for its end.
struct Preparer(Option<thread::JoinHandle<()>>);

impl Preparer {
    /// Starts the thread that makes the next segment; where no thread is to be had, the segment is
    /// made when it is needed.
    fn start<S: Storage>(&mut self, shared: &Arc<Shared<S>>) {
        self.finish();
        let shared = Arc::clone(shared);
        let builder = thread::Builder::new().name("holdpoint-preparer".into());
        // A failed handle says so to its callers.
        self.0 = builder.spawn(move || drop(preallocate::prepare_next(&shared))).ok();
    }

    fn finish(&mut self) {
        if let Some(thread) = self.0.take() {
            // As for the flusher.
            let _ = thread.join();
        }
    }
}

impl Drop for Preparer {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Does what is due, relying on the lock: HEAD is replaced only under it, and a failed sync is in
/// LOCK before anybody else can append. A failure poisons the handle: the next append says so.
fn tend<S: Storage>(shared: &Shared<S>, due: &Due) {
    let state = shared.state.lock();
    if shared.schedule.is_closing() || due.is_done(shared) {
        return;
    }
    let Ok(mut turn) = WriteTransaction::begin_within(shared, state, LOCK_WAIT) else {
        return shared.schedule.postpone(due);
    };
    // A failure is told by the next append, and a full disk has put HEAD off already.
    if shared.options.ownership == Ownership::Exclusive {
        let _ = turn.leave_for(due.goal(shared)).and_then(Acknowledgement::wait);
        return;
    }
    if due.head && turn.follow_with_head().is_err() {
        return;
    }
    if due.sync {
        let _ = turn.leave_for(Goal::Durable).and_then(Acknowledgement::wait);
    }
}

impl Due {
    /// Returns whether a caller that waited for it has replaced HEAD meanwhile.
    fn is_done<S: Storage>(&self, shared: &Shared<S>) -> bool {
        let reached = shared.commit.reached();
        !self.sync && reached.covers(Goal::Witnessed(reached.newest_placed()))
    }

    /// Returns what to wait for: everything written where a sync is due, else HEAD at what is
    /// durable.
    fn goal<S: Storage>(&self, shared: &Shared<S>) -> impl FnOnce(u64) -> Goal {
        let durable = shared.commit.reached().newest_placed();
        let (sync, head) = (self.sync, self.head);
        move |newest| match (sync, head) {
            (true, true) => Goal::Witnessed(newest),
            (true, false) => Goal::Durable(newest),
            (false, _) => Goal::Witnessed(durable),
        }
    }
}
