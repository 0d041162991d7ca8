//! From the end of a turn to its acknowledgement: one sync for all who wait.

use super::active::{DiskError, Named, Point};
use super::error::AppendError;
use super::group_commit::{Gatherer, Goal, Joined};
use super::state::{Shared, State, check_name};
use super::storage::Storage;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::Head;
use std::sync::Arc;

/// A turn that has ended and is not acknowledged yet. Other threads append meanwhile; whoever waits
/// first syncs for all.
///
/// A thread that has a turn on the same log neither waits for one nor drops one: it would wait for
/// itself. Wait for it before long: other processes have to wait meanwhile. Dropped without
/// waiting, it acknowledges nothing, and whether its records survive power loss is not known.
#[must_use = "nothing is acknowledged before it was waited for"]
pub struct Acknowledgement<'a, S: Storage> {
    shared: &'a Shared<S>,
    goal: Option<Goal>,
    relies_on_lock: bool,
}

impl<'a, S: Storage> Acknowledgement<'a, S> {
    /// Nothing to wait for.
    pub(super) fn given(shared: &'a Shared<S>) -> Self {
        Self { shared, goal: None, relies_on_lock: false }
    }

    /// To be waited for; it takes over from its turn that it relies on the lock.
    pub(super) fn pending(shared: &'a Shared<S>, goal: Goal) -> Self {
        Self { shared, goal: Some(goal), relies_on_lock: true }
    }

    /// Waits until the records are as durable as the turn's level asks for.
    ///
    /// # Errors
    /// A failed write or sync poisons the handle, and nothing was acknowledged. At
    /// [`Level::Witnessed`](super::Level::Witnessed) also [`AppendError::Unwitnessed`].
    pub fn wait(self) -> Result<(), AppendError> {
        self.shared.check_owner()?;
        self.goal.map_or(Ok(()), |goal| reach(self.shared, goal))
    }
}

impl<S: Storage> Drop for Acknowledgement<'_, S> {
    fn drop(&mut self) {
        if self.relies_on_lock && self.shared.check_owner().is_ok() {
            self.shared.end_use(&mut self.shared.state.lock());
        }
    }
}

/// Waits for the goal, going to the disk whenever nobody else is there or about to go.
fn reach<S: Storage>(shared: &Shared<S>, goal: Goal) -> Result<(), AppendError> {
    loop {
        match shared.commit.join(goal).map_err(AppendError::Failed)? {
            Joined::Covered => return Ok(()),
            Joined::Lead(gatherer) => {
                // Joining again would count as another record's arrival.
                if lead(shared, goal, gatherer)? {
                    return Ok(());
                }
            }
        }
    }
}

/// Goes to the disk for everything appended by now, its own goal included, and gives `true`, unless
/// somebody was faster.
fn lead<S: Storage>(
    shared: &Shared<S>,
    goal: Goal,
    gatherer: Gatherer<'_>,
) -> Result<bool, AppendError> {
    gatherer.wait_for_company();
    let mut state = shared.state.lock();
    let newest = state.active.sequence();
    let Some(token) = gatherer.try_take(newest) else { return Ok(false) };
    shared.check_usable()?;
    let cut = Cut::of(shared, &mut state, goal)?;
    drop(state);
    let carried_out = cut.carry_out(shared, goal);
    // It has a part in the lock, which is given back by whoever comes next.
    drop(cut);
    if let Err(Failure::Disk(error)) = &carried_out {
        // Before the next one goes to the disk: its sync would report success.
        shared.commit.fail(error.cause());
    }
    drop(token);
    match carried_out {
        Ok(()) => Ok(true),
        Err(Failure::Disk(error)) => Err(shared.poisoned_by(&mut shared.state.lock(), &error)),
        Err(Failure::Unwitnessed(reason)) => {
            shared.schedule.head_is_put_off(&shared.options);
            Err(AppendError::Unwitnessed { sequence: goal.sequence(), reason })
        }
    }
}

/// What one trip to the disk covers: everything that was appended when it was made.
struct Cut<S: Storage> {
    writer: Arc<S::Writer>,
    lock: Option<Arc<S::Lock>>,
    /// The first sequence of the segment.
    segment: u64,
    newest: u64,
    point: Option<Point>,
    head: Head,
    needs_sync: bool,
}

enum Failure {
    /// The handle is of no use any more.
    Disk(DiskError),
    /// Durable, and HEAD cannot follow for this reason.
    Unwitnessed(String),
}

impl<S: Storage> Cut<S> {
    /// Writes what is staged, where the goal is not durable yet.
    fn of(shared: &Shared<S>, state: &mut State<S>, goal: Goal) -> Result<Self, AppendError> {
        let needs_sync = !shared.commit.reached().is_enough_for(goal);
        if needs_sync {
            shared.write_staged(state)?;
            let filled = state.active.write_zeros(&shared.storage);
            filled.map_err(|error| shared.poisoned_by(state, &error))?;
            // What is appended from here on sets a date of its own.
            shared.schedule.sync_is_done();
        }
        let active = &state.active;
        Ok(Self {
            writer: Arc::clone(&active.writer),
            lock: state.lock.clone(),
            segment: active.header().first_sequence(),
            newest: active.chain().sequence,
            point: active.newest_point(),
            head: state.head,
            needs_sync,
        })
    }

    /// The commit point of every record up to the cut: a crash before the sync returns may lose or
    /// tear them, and nobody was told of them; a crash after finds them all.
    fn carry_out(&self, shared: &Shared<S>, goal: Goal) -> Result<(), Failure> {
        if self.needs_sync {
            let synced = shared.storage.sync(&self.writer);
            let named = synced.named_as("sync", || segment_path(self.segment));
            named.map_err(Failure::Disk)?;
        }
        // Where LOCK was removed, whoever took over meanwhile may have written over what was
        // synced, and has replaced HEAD.
        self.lock.as_ref().map_or(Ok(()), check_name).map_err(Failure::Disk)?;
        if self.needs_sync {
            shared.commit.is_durable(self.newest, self.point);
        }
        match goal {
            Goal::Witnessed(_) => self.witness(shared, goal),
            Goal::Durable(_) => {
                shared.schedule.head_is_due(&shared.options);
                Ok(())
            }
        }
    }

    fn witness(&self, shared: &Shared<S>, goal: Goal) -> Result<(), Failure> {
        shared.replace_head(&self.head).map_err(|error| {
            if error.is_full() {
                Failure::Unwitnessed(error.cause().to_string())
            } else {
                Failure::Disk(error)
            }
        })?;
        if shared.commit.reached().covers(goal) {
            return Ok(());
        }
        // Opened on a disk too full for HEAD, and nothing was appended since.
        Err(Failure::Unwitnessed("its place is not known before the next append".to_string()))
    }
}
