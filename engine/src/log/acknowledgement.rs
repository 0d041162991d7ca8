//! From the end of a turn to its acknowledgement: one sync for all who wait.

use super::active::{DiskError, IoContext, Point};
use super::error::AppendError;
use super::group_commit::{Gatherer, Goal, Joined};
use super::options::Ownership;
use super::shared_sync::{self, SyncTarget, Trouble};
use super::state::{Shared, State, check_name, lost_name};
use super::storage::{Board, Storage};
use super::write_transaction::WriteTransaction;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_format::{Head, names};
use std::sync::Arc;

/// A turn that has ended and is not acknowledged yet. Other threads append meanwhile; whoever waits
/// first syncs for all.
///
/// A thread that has a turn on the same log neither waits for one nor drops one: it would wait for
/// itself. Other processes append meanwhile too, unless this one keeps its lock. Dropped without
/// waiting, it acknowledges nothing, and whether its records survive power loss is not known.
#[must_use = "nothing is acknowledged before it was waited for"]
pub struct Acknowledgement<'a, S: Storage> {
    shared: &'a Shared<S>,
    goal: Option<Goal>,
}

impl<'a, S: Storage> Acknowledgement<'a, S> {
    /// Nothing to wait for.
    pub(super) fn given(shared: &'a Shared<S>) -> Self {
        Self { shared, goal: None }
    }

    /// To be waited for.
    pub(super) fn pending(shared: &'a Shared<S>, goal: Goal) -> Self {
        Self { shared, goal: Some(goal) }
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

/// Waits for the goal. Where the lock is given back between turns, HEAD is replaced in one more of
/// them, behind the sync that others share.
pub(super) fn reach<S: Storage>(shared: &Shared<S>, goal: Goal) -> Result<(), AppendError> {
    let Goal::Witnessed(sequence) = goal else { return reach_here(shared, goal) };
    if shared.options.ownership == Ownership::Exclusive {
        return reach_here(shared, goal);
    }
    reach_here(shared, Goal::Durable(sequence))?;
    witness(shared, sequence)
}

/// Lets HEAD name a durable record, in a turn, unless another process has seen to that.
fn witness<S: Storage>(shared: &Shared<S>, sequence: u64) -> Result<(), AppendError> {
    let covers = || shared.commit.reached().covers(Goal::Witnessed(sequence));
    if covers() {
        return Ok(());
    }
    let mut turn = WriteTransaction::begin(shared)?;
    if shared.commit.reached().newest_placed() < sequence {
        // Another process synced it: its place is known once all is synced that this turn sees.
        turn.sync()?;
    }
    let unwitnessed = |reason: String| AppendError::Unwitnessed { sequence, reason };
    match turn.write_head() {
        Ok(()) if covers() => Ok(()),
        // Opened on a disk too full for HEAD, and nothing was appended since.
        Ok(()) => Err(unwitnessed("its place is not known before the next append".to_string())),
        Err(error) if error.is_full() => {
            shared.schedule.head_is_put_off(&shared.options);
            Err(unwitnessed(error.cause().to_string()))
        }
        Err(error) => Err(turn.poisoned_by(&error)),
    }
}

/// Waits for the goal, going to the disk whenever nobody else is there or about to go.
fn reach_here<S: Storage>(shared: &Shared<S>, goal: Goal) -> Result<(), AppendError> {
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
    let usable = shared.check_usable();
    let cut = match usable.and_then(|()| Cut::of(shared, &mut state, goal)) {
        Ok(cut) => cut,
        Err(error) => {
            // Giving the lock back waits for whoever has it.
            drop(token);
            shared.end_turn(&mut state);
            return Err(error);
        }
    };
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
        Err(Failure::Unknown) => {
            // Whoever takes the lock writes the tail again, and syncs it.
            drop(WriteTransaction::begin(shared)?);
            Ok(false)
        }
        Err(Failure::Disk(error)) => {
            let mut state = shared.state.lock();
            let failed = shared.poisoned_by(&mut state, &error);
            // Nothing more is written: others may have the lock.
            shared.end_turn(&mut state);
            Err(failed)
        }
        Err(Failure::Unwitnessed(reason)) => {
            shared.schedule.head_is_put_off(&shared.options);
            Err(AppendError::Unwitnessed { sequence: goal.sequence(), reason })
        }
    }
}

/// Records that one trip to the disk covers: everything that was appended when it was made.
struct Cut<S: Storage> {
    writer: Arc<S::Writer>,
    lock: Option<Arc<S::Lock>>,
    newest: u64,
    point: Option<Point>,
    head: Head,
    needs_sync: bool,
    /// Board by which it is shared with other processes.
    board: Option<Arc<dyn Board>>,
    wanted: SyncTarget,
}

enum Failure {
    /// The handle is of no use any more.
    Disk(DiskError),
    /// Durable, and HEAD cannot follow for this reason.
    Unwitnessed(String),
    /// Another process died with the sync under way.
    Unknown,
}

impl<S: Storage> Cut<S> {
    /// Writes what is staged, where the goal is not durable yet.
    fn of(shared: &Shared<S>, state: &mut State<S>, goal: Goal) -> Result<Self, AppendError> {
        let needs_sync = !shared.commit.reached().is_enough_for(goal);
        if needs_sync {
            shared.write_before_sync(state)?;
            // Who gave the lock back has seen to it.
            if state.lock.is_some() {
                let filled = state.active.write_zeros(&shared.storage);
                filled.map_err(|error| shared.poisoned_by(state, &error))?;
            }
            // What is appended from here on sets a date of its own.
            shared.schedule.sync_is_done();
        }
        let active = &state.active;
        // What is shared is synced without LOCK.
        let is_shared = state.board.is_some();
        Ok(Self {
            board: state.board.clone(),
            wanted: state.wanted(),
            writer: Arc::clone(&active.writer),
            lock: state.lock.clone().filter(|_| !is_shared),
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
            self.sync(shared)?;
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

    fn sync(&self, shared: &Shared<S>) -> Result<(), Failure> {
        let (storage, wait) = (&shared.storage, shared.options.lock_wait);
        let Some(board) = &self.board else {
            let synced = storage.sync(&self.writer);
            let named = synced.named_as("sync", || segment_path(self.wanted.segment));
            return named.map_err(Failure::Disk);
        };
        // Before others are told: a thread of this handle may be about to take the lock.
        let told = |error: &DiskError| drop(shared.commit.fail(error.cause()));
        match shared_sync::reach(storage, &**board, &self.writer, &self.wanted, wait, &told) {
            Ok(()) => {
                // Who appends to another LOCK by now reads the same segments; yet nobody relies on
                // what this one says of them.
                let named = board
                    .has_its_name()
                    .and_then(|has_its_name| has_its_name.then_some(()).ok_or_else(lost_name));
                named.named("rely on", names::LOCK).map_err(Failure::Disk)
            }
            Err(Trouble::Unknown) => Err(Failure::Unknown),
            Err(trouble) => Err(Failure::Disk(trouble.into())),
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
