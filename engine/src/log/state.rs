//! What changes while a log is open: owned by whoever has the turn.

use super::active::{Active, DiskError, DiskResult, Named};
use super::error::{AppendError, PoisonCause};
use super::flusher::Schedule;
use super::group_commit::GroupCommit;
use super::head_file;
use super::lock;
use super::options::{Options, Ownership, Recovered};
use super::owner::Owner;
use super::preallocate::Preallocated;
use super::roll::Prepared;
use super::storage::{LockFile, Storage};
use crate::sync::{self, Condvar, Mutex, MutexGuard};
use holdpoint_log_format::{BootId, Head, Lock, LogId, OwnerState, names};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Threads that follow one another keep the lock for at most this long before every other process
/// gets its chance.
const SHARED_HOLD: Duration = Duration::from_millis(50);

/// How often whoever writes looks whether LOCK is still there, where no sync does.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What the handle, its turns and its flusher share.
pub(super) struct Shared<S: Storage> {
    pub(super) storage: S,
    pub(super) options: Options,
    pub(super) owner: Owner,
    pub(super) log: LogId,
    pub(super) first_segment: u64,
    pub(super) state: Mutex<State<S>>,
    /// The lock was given back.
    pub(super) released: Condvar,
    pub(super) commit: GroupCommit,
    pub(super) schedule: Schedule,
}

/// Everything that a turn changes.
pub(super) struct State<S: Storage> {
    pub(super) active: Active<S::Writer>,
    /// The segment to come.
    pub(super) preallocated: Preallocated<S::Writer>,
    /// Room for the ending of runs under way.
    pub(super) rooms: Vec<Prepared<S::Writer>>,
    /// HEAD as it was at opening; its log and anchor are those of every HEAD of this log.
    pub(super) head: Head,
    /// Held while turns and acknowledgements rely on it, or always by an exclusive owner.
    pub(super) lock: Option<Arc<S::Lock>>,
    /// When its name was last looked at.
    pub(super) looked: Instant,
    pub(super) uses: LockUses,
    /// Wall clock minus time since boot as the caller last gave it, for LOCK.
    pub(super) wall_minus_boot: i64,
    /// The newest record that was found without HEAD; 0: HEAD was there. Until more is durable,
    /// LOCK names none: nothing tells that this one was the newest.
    pub(super) found_without_head: u64,
    /// What recoveries found that is to be put on record, the oldest first. Whichever turn comes
    /// upon it, the next one that appends has it before anything else.
    pub(super) unrecorded: Vec<Recovered>,
}

/// Who relies on the lock of an owner that gives it back.
#[derive(Debug, Default)]
pub(super) struct LockUses {
    /// Turns, and acknowledgements that are waited for.
    count: u32,
    taken: Option<Instant>,
    /// Threads that wait until the lock is given back.
    waiting: u32,
    /// Threads waited when it was given back: another process comes first.
    pub(super) owes_pause: bool,
}

impl<S: Storage> Shared<S> {
    /// Refuses a forked child, before it waits for a mutex that a thread it does not have may hold.
    pub(super) fn check_owner(&self) -> Result<(), AppendError> {
        if self.owner.is_here() { Ok(()) } else { Err(self.forked()) }
    }

    fn forked(&self) -> AppendError {
        AppendError::Forked { owner: self.owner.pid }
    }

    /// Refuses a poisoned handle.
    pub(super) fn check_usable(&self) -> Result<(), AppendError> {
        self.commit.failure().map_or(Ok(()), |cause| Err(AppendError::Poisoned(cause)))
    }

    /// Remembers the first failure, also in LOCK; the handle does nothing more.
    pub(super) fn poisoned_by(&self, state: &mut State<S>, error: &DiskError) -> AppendError {
        let cause = self.commit.fail(error.cause());
        state.active.discard_staged();
        if let Some(held) = &state.lock {
            // Where this fails, LOCK says that a transaction goes on, which is not clean either.
            let _ = lock::mark_poisoned(held);
        }
        AppendError::Failed(cause)
    }

    pub(super) fn poison(&self) -> Option<PoisonCause> {
        self.commit.failure()
    }

    /// Writes what is staged and syncs the active segment: the commit point of every record up to
    /// the newest, within a turn. A crash before the sync returns may lose or tear what was written
    /// since the last one, and nothing of it was acknowledged; a crash after finds all of it. Gives
    /// whether there was anything to sync: then LOCK's name was looked at behind it.
    pub(super) fn sync(&self, state: &mut State<S>) -> Result<bool, AppendError> {
        let _at_the_disk = self.commit.take(state.active.sequence());
        self.check_usable()?;
        self.write_staged(state)?;
        let is_needed = self.commit.durable() < state.active.chain().sequence;
        if is_needed {
            let filled = state.active.write_zeros(&self.storage);
            let synced = filled.and_then(|()| {
                let active = &state.active;
                self.storage.sync(&active.writer).named_as("sync", || active.path())
            });
            let relied_on = synced.and_then(|()| state.check_lock());
            relied_on.map_err(|error| self.poisoned_by(state, &error))?;
        }
        self.all_durable(state);
        Ok(is_needed)
    }

    /// Writes what is staged, under the segment's lock.
    pub(super) fn write_staged(&self, state: &mut State<S>) -> Result<(), AppendError> {
        self.check_owner()?;
        let written = state.look_at_lock().and_then(|()| state.active.write_staged(&self.storage));
        written.map_err(|error| self.poisoned_by(state, &error))
    }

    /// Every record up to the newest is on the disk.
    pub(super) fn all_durable(&self, state: &State<S>) {
        self.commit.is_durable(state.active.chain().sequence, state.active.newest_point());
        self.schedule.sync_is_done();
    }

    /// Replaces HEAD with the newest durable record whose place is known, within a turn.
    pub(super) fn write_head(&self, state: &mut State<S>) -> Result<(), DiskError> {
        let _at_the_disk = self.commit.take(self.commit.durable());
        state.check_lock()?;
        self.schedule.head_is_done();
        self.replace_head(&state.head)
    }

    /// Replaces HEAD; for whoever has the token of the group commit and relies on LOCK.
    pub(super) fn replace_head(&self, head: &Head) -> Result<(), DiskError> {
        let reached = self.commit.reached();
        let Some(point) = reached.point else { return Ok(()) };
        if point.chain.sequence > reached.witnessed {
            let named = head_file::naming(head, &point, self.storage.boot());
            let replaced = head_file::replace(&self.storage, &named);
            replaced.inspect_err(|_| self.doubt_head(&named))?;
            self.commit.is_witnessed(point.chain.sequence);
        }
        Ok(())
    }

    /// Replacing HEAD by `named` failed. Where it is shown all the same, or nobody can say, its
    /// name may be in the cache only.
    pub(super) fn doubt_head(&self, named: &Head) {
        if !matches!(head_file::read(&self.storage), Ok(Some(shown)) if shown != *named) {
            self.commit.doubt_head();
        }
    }

    /// Lets HEAD follow while the log goes on. A full disk puts it off: nothing depends on HEAD
    /// being new. Any other failure poisons, as every failed write does.
    pub(super) fn follow_with_head(&self, state: &mut State<S>) -> Result<(), AppendError> {
        match self.write_head(state) {
            Err(error) if error.is_full() => self.schedule.head_is_put_off(&self.options),
            Err(error) => return Err(self.poisoned_by(state, &error)),
            Ok(()) => {}
        }
        Ok(())
    }

    /// Writes what is staged and gives the lock back, saying how the log was left.
    pub(super) fn release(&self, state: &mut State<S>) {
        // Whoever is at the disk may be about to replace HEAD, which needs the lock.
        drop(self.commit.take(self.commit.durable()));
        if self.poison().is_none() {
            // A failure here poisons the handle, and LOCK says so below.
            let _ = self.write_staged(state);
        }
        let content = match self.poison() {
            Some(_) => self.lock_content(state, OwnerState::Poisoned),
            // Who comes next takes HEAD for durable where LOCK says that all was left cleanly.
            None if self.commit.is_head_in_doubt() => {
                let left = self.lock_content(state, OwnerState::InTransaction);
                Lock { state: OwnerState::Recovering, ..left }
            }
            None => self.lock_content(state, OwnerState::Idle),
        };
        if let Some(held) = state.lock.take() {
            let written = lock::write(&held, &content);
            // Before LOCK: who gets that finds this one free.
            state.active.lock = None;
            if let Err(error) = written {
                self.poisoned_by(state, &error);
            }
        }
        state.uses.owes_pause = state.uses.waiting > 0;
        self.released.notify_all();
    }

    /// What LOCK says of this owner.
    pub(super) fn lock_content(&self, state: &State<S>, owner: OwnerState) -> Lock {
        lock_content(state, owner, self.storage.boot(), self.commit.durable())
    }

    /// A turn begins: it relies on the lock, held by now or taken next.
    pub(super) fn begin_use(&self, state: &mut State<S>) {
        if self.options.ownership == Ownership::PerTransaction {
            if state.uses.count == 0 {
                state.uses.taken = Some(sync::now());
            }
            state.uses.count += 1;
        }
    }

    /// Whoever relied on the lock does so no more; the last one gives it back. A poisoned owner
    /// writes nothing more, so it gives the lock back at once.
    pub(super) fn end_use(&self, state: &mut State<S>) {
        state.uses.count = state.uses.count.saturating_sub(1);
        let is_last = state.uses.count == 0 && self.options.ownership == Ownership::PerTransaction;
        if state.lock.is_some() && (is_last || self.commit.has_failed()) {
            self.release(state);
        }
    }

    /// Waits for the end of a stretch of turns that has kept the lock for too long already, unless
    /// it does not end: the caller's own thread may be part of it.
    pub(super) fn let_others_in(&self, state: &mut MutexGuard<'_, State<S>>) {
        if !state.is_worn_out() {
            return;
        }
        let until = sync::now() + SHARED_HOLD;
        while state.is_worn_out() {
            state.uses.waiting += 1;
            let gave_up = self.released.wait_until(state, until).timed_out();
            state.uses.waiting -= 1;
            if gave_up {
                state.uses.taken = Some(sync::now());
            }
        }
    }
}

impl<S: Storage> State<S> {
    /// Whether turns have kept the lock for so long that others come first.
    fn is_worn_out(&self) -> bool {
        self.lock.is_some() && self.uses.are_worn_out()
    }

    /// Whether LOCK, if it is held, is still the one that others come to. The segment's lock keeps
    /// them out where it is not; yet who holds a LOCK without a name does not know who waits.
    pub(super) fn check_lock(&mut self) -> DiskResult<()> {
        self.looked = sync::now();
        self.lock.as_ref().map_or(Ok(()), check_name)
    }

    /// As [`State::check_lock`], unless that was done less than [`LOOK_EVERY`] ago.
    fn look_at_lock(&mut self) -> DiskResult<()> {
        let is_due = sync::now().duration_since(self.looked) >= LOOK_EVERY;
        if is_due { self.check_lock() } else { Ok(()) }
    }
}

impl LockUses {
    fn are_worn_out(&self) -> bool {
        self.count > 0
            && self.taken.is_some_and(|taken| sync::now().duration_since(taken) > SHARED_HOLD)
    }
}

/// LOCK keeps everybody else out only while it is the file that was locked.
pub(super) fn check_name(held: &impl LockFile) -> DiskResult<()> {
    let named = held.has_its_name().and_then(|has_its_name| {
        let lost = || io::Error::other("it was removed or replaced while this process held it");
        has_its_name.then_some(()).ok_or_else(lost)
    });
    named.named("rely on", names::LOCK)
}

/// What LOCK says of an owner.
pub(super) fn lock_content<S: Storage>(
    state: &State<S>,
    owner: OwnerState,
    boot: BootId,
    durable: u64,
) -> Lock {
    Lock {
        pid: std::process::id(),
        state: owner,
        previous_state: owner,
        boot,
        durable_sequence: if durable > state.found_without_head { durable } else { 0 },
        wall_minus_boot: state.wall_minus_boot,
    }
}
