//! The questions that somebody waits for in this process, and what the clocks said when the wait
//! began: so a wall clock that is set back meanwhile lengthens no wait.

use super::clock::Reading;
use super::engine::{Core, Engine};
use super::error::SubmitError;
use super::metrics_storage::Measured;
use super::submit::Receipt;
use super::watch::{Wake, Watch};
use crate::log::Storage;
use crate::sync::Mutex;
use holdpoint_domain::core::clocks::Moment;
use holdpoint_domain::{Time, World};
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Waiters for each question, by its id.
#[derive(Default)]
pub(super) struct Waits(Mutex<BTreeMap<String, Waiters>>);

struct Waiters {
    /// Reading of the clocks when the first of them began.
    since: Reading,
    count: usize,
}

/// Somebody waits, until this is dropped.
pub(super) struct Wait<'a> {
    waits: &'a Waits,
    id: String,
}

impl Waits {
    /// Somebody begins to wait for a question.
    pub(super) fn begin(&self, id: &str, now: Reading) -> Wait<'_> {
        let mut waits = self.0.lock();
        let new = || Waiters { since: now, count: 0 };
        let waiters = waits.entry(id.to_string()).or_insert_with(new);
        waiters.count = waiters.count.saturating_add(1);
        Wait { waits: self, id: id.to_string() }
    }

    /// The own clock at the beginning of a wait for this question, as the monotonic one continues
    /// it.
    pub(super) fn steady(&self, id: &str, now: Reading) -> Option<Time> {
        self.0.lock().get(id).map(|waiters| waiters.since.continued(now))
    }

    /// The questions that somebody waits for.
    pub(super) fn ids(&self) -> Vec<String> {
        self.0.lock().keys().cloned().collect()
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        let mut waits = self.waits.0.lock();
        let Some(waiters) = waits.get_mut(&self.id) else { return };
        waiters.count = waiters.count.saturating_sub(1);
        if waiters.count == 0 {
            waits.remove(&self.id);
        }
    }
}

/// Time that a limit still had when it was looked at.
#[derive(Clone, Copy)]
pub(super) struct Left {
    left_ns: u64,
    looked: Reading,
}

impl Left {
    /// Returns how long it still has: the wall clock and the monotonic one both count. `None`: it
    /// is over.
    pub(super) fn at(self, now: Reading) -> Option<Duration> {
        let Self { left_ns, looked } = self;
        let by_wall_ns = now.wall_ns.saturating_sub(looked.wall_ns);
        let since_ns = by_wall_ns.max(now.since_boot_ns.saturating_sub(looked.since_boot_ns));
        let left_ns = left_ns.saturating_sub(since_ns);
        (left_ns > 0).then(|| Duration::from_nanos(left_ns))
    }
}

impl<S: Storage> Core<S> {
    /// Returns how long the limit of a question still has that ends at this time, by whichever
    /// clock is first.
    fn left_of(&self, world: &World, id: &str, end: Time) -> Left {
        let looked = self.now();
        let own = Time::from_nanoseconds(looked.wall_ns);
        let seen = Moment::seen(world.totals().last_at, own);
        let now = Moment { steady: self.waits.steady(id, looked), ..seen };
        Left { left_ns: world.times_of(id, now).left_ns(end), looked }
    }
}

impl<S: Storage> Engine<S> {
    /// Expires like [`Engine::expire`], where a process that does not keep the log open has waited
    /// for a question since a moment: what only the monotonic clock says is over ends too.
    ///
    /// # Errors
    /// As [`Engine::submit`].
    pub fn expire_waited(&self, id: &str, since: Reading) -> Result<Vec<Receipt>, SubmitError> {
        let _wait = self.core().waits.begin(id, since);
        self.expire()
    }

    /// Somebody begins to wait for a question.
    pub(super) fn wait_for(&self, id: &str) -> Wait<'_> {
        let core: &Core<Measured<S>> = self.core();
        core.waits.begin(id, core.now())
    }

    /// Does the same as [`Core::left_of`], in a turn of its own.
    pub(super) fn left_of(&self, id: &str, end: Time) -> Result<Left, SubmitError> {
        let core = self.core();
        self.query(|world| core.left_of(world, id, end))
    }

    /// The events that end a wait for a person.
    pub(super) fn wake<'a>(
        &'a self,
        watch: &'a Watch,
        signals: Option<BorrowedFd<'a>>,
        at_most: Duration,
    ) -> Wake<'a> {
        Wake { watch, signals, closed: self.core().closed.descriptor(), at_most }
    }

    /// Checks that the engine was not closed while a person was waited for.
    pub(super) fn expect_open(&self) -> Result<(), SubmitError> {
        if self.core().closed.is_given() { Err(SubmitError::Closed) } else { Ok(()) }
    }

    /// Returns how long it still has now.
    pub(super) fn left_now(&self, left: Left) -> Option<Duration> {
        left.at(self.core().now())
    }
}
