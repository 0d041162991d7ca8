//! A turn: the time in which one thread of one process may append.

use super::acknowledgement::Acknowledgement;
use super::active::{Active, DiskError, IoContext};
use super::batch::{NewRecord, PreparedBatch, check_kinds};
use super::error::{AppendError, OpenError};
use super::group_commit::Goal;
use super::head_file;
use super::level::Level;
use super::lock::{self, LockHolder};
use super::options::{Ownership, Recovered};
use super::recovery::settle;
use super::roll::{self, Prepared};
use super::segment_lock::{CHANGES_MAX, LockedFile};
use super::shared_sync;
use super::state::{Shared, State};
use super::storage::Storage;
use crate::sync::{self, MutexGuard};
use holdpoint_log_files::{FollowError, Follower, RecordPlace, Stop};
use holdpoint_log_format::limits::next_capacity;
use holdpoint_log_format::{BootId, ChainPosition, Lock, OwnerState, Record};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Place of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Sequence of its first record.
    pub first_sequence: u64,
    /// Sequence of its last record.
    pub last_sequence: u64,
    /// Time of its records, UTC nanoseconds.
    pub time: u64,
}

/// The right to append, until it is finished or dropped. Dropping it writes what was appended and
/// releases the lock without a sync; only [`WriteTransaction::finish`] acknowledges.
pub struct WriteTransaction<'a, S: Storage> {
    pub(super) shared: &'a Shared<S>,
    state: MutexGuard<'a, State<S>>,
    /// Wall clock minus time since boot, as LOCK stated it in this boot before the turn.
    previous_wall_minus_boot: Option<i64>,
    /// The run whose room may be taken where the disk is full.
    pub(super) takes_room_of: Option<String>,
}

impl<'a, S: Storage> WriteTransaction<'a, S> {
    pub(super) fn begin(shared: &'a Shared<S>) -> Result<Self, AppendError> {
        shared.check_owner()?;
        shared.is_coming();
        let state = shared.state.lock();
        shared.has_come();
        Self::begin_within(shared, state, shared.options.lock_wait)
    }

    /// Begins a turn; what others appended is read `ahead` while the lock is waited for, and that
    /// gives the place which the reader has come to.
    pub(super) fn begin_ahead(
        shared: &'a Shared<S>,
        wait: Duration,
        ahead: &mut dyn FnMut() -> Follower,
    ) -> Result<Self, AppendError> {
        shared.check_owner()?;
        shared.is_coming();
        let state = shared.state.lock();
        shared.has_come();
        Self::begin_reading(shared, state, wait, Some(ahead))
    }

    /// Begins a turn when the lock is to be had within `wait`.
    pub(super) fn begin_within(
        shared: &'a Shared<S>,
        state: MutexGuard<'a, State<S>>,
        wait: Duration,
    ) -> Result<Self, AppendError> {
        Self::begin_reading(shared, state, wait, None)
    }

    fn begin_reading(
        shared: &'a Shared<S>,
        mut state: MutexGuard<'a, State<S>>,
        wait: Duration,
        ahead: Option<&mut dyn FnMut() -> Follower>,
    ) -> Result<Self, AppendError> {
        if let Err(error) = shared.check_usable() {
            // It may have been kept for this turn.
            shared.end_turn(&mut state);
            return Err(error);
        }
        let known = Some(state.wall_minus_boot).filter(|_| state.lock.is_some());
        let mut turn = Self { shared, state, previous_wall_minus_boot: known, takes_room_of: None };
        if turn.state.lock.is_none()
            && let Err(error) = turn.take_lock(wait, ahead)
        {
            turn.state.active.lock = None;
            return Err(error);
        }
        Ok(turn)
    }

    /// The newest appended record.
    #[must_use]
    pub fn position(&self) -> ChainPosition {
        self.state.active.chain()
    }

    /// Shows the records behind `follower`'s place up to the newest written one, and moves it
    /// there: how a reader of this log learns in its turn what other processes appended.
    ///
    /// # Errors
    /// A file cannot be read, or what was written is damaged: the records shown before are valid.
    pub fn catch_up(
        &self,
        follower: &mut Follower,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>),
    ) -> Result<(), FollowError> {
        if follower.run.chain == self.position() {
            return Ok(());
        }
        let written = self.state.active.written().run.chain;
        follower.follow_to(&self.shared.storage, &written, visit)
    }

    /// Lists what opening and taking over found that belongs on record and is not there yet, the
    /// oldest first: HEAD was missing, or bytes were cut. It stays until [`Self::all_is_recorded`],
    /// whichever turn came upon it.
    #[must_use]
    pub fn unrecorded(&self) -> &[Recovered] {
        &self.state.unrecorded
    }

    /// Forgets what was [`Self::unrecorded`]: it was appended.
    pub fn all_is_recorded(&mut self) {
        self.state.unrecorded.clear();
    }

    /// The place behind the newest appended record.
    #[must_use]
    pub fn place(&self) -> Follower {
        self.state.active.follower.clone()
    }

    /// Wall clock minus time since boot, nanoseconds, as the last writer of this boot saw it: a
    /// difference to now is a step of the wall clock. `None` when nobody of this boot wrote.
    #[must_use]
    pub fn previous_wall_minus_boot(&self) -> Option<i64> {
        self.previous_wall_minus_boot.filter(|value| *value != 0)
    }

    /// Says what wall clock minus time since boot is now, for the next writer.
    pub fn set_wall_minus_boot(&mut self, nanoseconds: i64) {
        self.state.wall_minus_boot = nanoseconds;
    }

    /// Appends one batch, all or nothing, of kinds as [`Log::append`](super::Log::append) takes
    /// them; it is acknowledged by [`WriteTransaction::finish`].
    ///
    /// # Errors
    /// Too large, no space or an event's kind: nothing was written and the handle works on.
    /// Anything else poisons.
    pub fn append(&mut self, records: &[NewRecord], clock: u64) -> Result<Appended, AppendError> {
        check_kinds(records)?;
        self.append_batch(records, clock)
    }

    pub(crate) fn append_batch(
        &mut self,
        records: &[NewRecord],
        clock: u64,
    ) -> Result<Appended, AppendError> {
        self.append_prepared(&PreparedBatch::new(self.shared.log, records)?, clock)
    }

    pub(super) fn append_prepared(
        &mut self,
        batch: &PreparedBatch<'_>,
        clock: u64,
    ) -> Result<Appended, AppendError> {
        self.append_by(batch.footprint, clock, |active, time, durable| {
            active.stage(batch, time, durable);
        })
    }

    /// Does the same as [`WriteTransaction::append_prepared`], for one record that is hashed later.
    pub(super) fn append_unhashed(
        &mut self,
        record: &NewRecord,
        footprint: u64,
        clock: u64,
    ) -> Result<Appended, AppendError> {
        self.append_by(footprint, clock, |active, time, durable| {
            active.stage_unhashed(record, time, durable);
        })
    }

    /// Makes room for so many bytes and lets them be staged, given their time and the newest
    /// durable sequence.
    fn append_by(
        &mut self,
        footprint: u64,
        clock: u64,
        stage: impl FnOnce(&mut Active<S::Writer>, u64, u64),
    ) -> Result<Appended, AppendError> {
        self.check_usable()?;
        if !self.state.active.has_room(footprint) {
            self.make_room(footprint)?;
        }
        let state = &mut *self.state;
        if state.active.is_piece_full(footprint) {
            self.shared.write_staged(state)?;
        }
        let (before, time) = (state.active.sequence(), clock.max(state.active.time()));
        stage(&mut state.active, time, self.shared.commit.durable());
        let last_sequence = state.active.sequence();
        if state.active.is_piece_staged() {
            self.shared.write_staged(state)?;
        }
        if state.wants_next() {
            self.shared.want_next(state);
        }
        Ok(Appended { first_sequence: before + 1, last_sequence, time })
    }

    /// Makes the hashes that are still to be made: the turn's user may ask for links.
    pub(super) fn hash_staged(&mut self) {
        self.state.active.hash_staged();
    }

    /// Makes everything appended so far durable.
    ///
    /// # Errors
    /// A failed write or sync poisons the handle.
    pub fn sync(&mut self) -> Result<(), AppendError> {
        self.check_usable()?;
        let had_unsynced = self.shared.sync(&mut self.state)?;
        if had_unsynced {
            self.shared.schedule.head_is_due(&self.shared.options);
        }
        Ok(())
    }

    /// Ends the turn, waits until everything appended is at `level`, and thereby acknowledges it.
    ///
    /// # Errors
    /// A failed write or sync poisons the handle; nothing was acknowledged. At [`Level::Witnessed`]
    /// also [`AppendError::Unwitnessed`].
    pub fn finish(self, level: Level) -> Result<(), AppendError> {
        self.leave(level)?.wait()
    }

    /// Ends the turn without waiting: other threads append while this one's records are on their
    /// way to `level`. Nothing that depends on them may leave before the acknowledgement.
    ///
    /// # Errors
    /// As [`WriteTransaction::finish`].
    pub fn leave(mut self, level: Level) -> Result<Acknowledgement<'a, S>, AppendError> {
        self.check_usable()?;
        match level {
            Level::Always => return self.leave_for(Goal::Durable),
            Level::Witnessed => return self.leave_for(Goal::Witnessed),
            Level::Interval(within) => {
                self.shared.write_staged(&mut self.state)?;
                self.shared.schedule.sync_is_due(within);
            }
            Level::Os => self.shared.write_staged(&mut self.state)?,
            Level::Staged if self.shared.options.ownership == Ownership::Exclusive => {}
            // The lock is given back now, and others go on from what is written.
            Level::Staged => self.shared.write_staged(&mut self.state)?,
        }
        Ok(Acknowledgement::given(self.shared))
    }

    /// Ends the turn; what is waited for depends on the newest appended record.
    pub(super) fn leave_for(
        self,
        goal: impl FnOnce(u64) -> Goal,
    ) -> Result<Acknowledgement<'a, S>, AppendError> {
        self.check_usable()?;
        Ok(Acknowledgement::pending(self.shared, goal(self.state.active.sequence())))
    }

    fn check_usable(&self) -> Result<(), AppendError> {
        self.shared.check_owner()?;
        self.shared.check_usable()
    }

    /// Rolls, or replaces an active segment without records by one that the batch fits in.
    fn make_room(&mut self, footprint: u64) -> Result<(), AppendError> {
        let storage = &self.shared.storage;
        let checked = self.state.check_files(storage);
        checked.map_err(|error| self.poisoned_by(&error))?;
        if self.state.active.is_empty() {
            let header = *self.state.active.header();
            let needed = next_capacity(header.capacity / 2, footprint);
            let replaced = roll::replace_empty(storage, &header, footprint);
            self.state.active = replaced.map_err(|error| self.no_space_or(error, needed))?;
            return Ok(());
        }
        let needed = next_capacity(self.state.active.header().capacity, footprint);
        let next_first = self.state.active.sequence() + 1;
        let prepared = match self.state.take_ahead(storage, needed) {
            Some(prepared) => prepared,
            None => match roll::prepare(storage, next_first, needed) {
                Ok(prepared) => prepared,
                Err(error) => {
                    let error = self.no_space_or(error, needed);
                    self.own_room(footprint).ok_or(error)?
                }
            },
        };
        let has_looked = self.shared.sync(&mut self.state)?;
        let relied_on = if has_looked { Ok(()) } else { self.state.check_lock() };
        let rolled = relied_on.and_then(|()| self.roll_into(prepared));
        rolled.map_err(|error| self.poisoned_by(&error))?;
        self.follow_with_head()
    }

    /// Records are durable and space for the next segment is reserved: seal, then publish.
    fn roll_into(&mut self, prepared: Prepared<S::Writer>) -> Result<(), DiskError> {
        let storage = &self.shared.storage;
        let state = &mut *self.state;
        let seal = roll::seal(storage, &state.active)?;
        let next = roll::successor(state.active.header(), &seal, prepared.capacity);
        let capacity = state.active.header().capacity;
        let published = roll::publish(storage, prepared, next)?;
        let sealed = std::mem::replace(&mut state.active, published);
        roll::punch_unused(storage, &sealed.writer, &seal, capacity);
        Ok(())
    }

    /// Room that was made beforehand for what this turn appends, where the disk has no more.
    fn own_room(&mut self, footprint: u64) -> Option<Prepared<S::Writer>> {
        self.shared.check_usable().ok()?;
        let loop_id = self.takes_room_of.as_deref()?;
        self.state.take_room(&self.shared.storage, loop_id, footprint)
    }

    /// A full disk while space is reserved leaves everything as it was; anything else poisons.
    fn no_space_or(&mut self, error: DiskError, needed: u64) -> AppendError {
        let prepared = roll::prepared_path(self.state.active.sequence() + 1);
        if error.is_full() && error.file == prepared && error.operation.starts_with("reserve") {
            return AppendError::NoSpace { needed, free: self.shared.storage.free() };
        }
        self.poisoned_by(&error)
    }

    pub(super) fn poisoned_by(&mut self, error: &DiskError) -> AppendError {
        self.shared.poisoned_by(&mut self.state, error)
    }

    pub(super) fn write_head(&mut self) -> Result<(), DiskError> {
        self.shared.write_head(&mut self.state)
    }

    pub(super) fn follow_with_head(&mut self) -> Result<(), AppendError> {
        self.shared.follow_with_head(&mut self.state)
    }

    /// Leaves the lock cleanly, also as an exclusive owner.
    pub(super) fn release_for_good(mut self) {
        self.state.discard_ahead(&self.shared.storage);
        self.shared.release(&mut self.state);
    }

    /// Takes the lock of the log and catches up with what others appended.
    fn take_lock(
        &mut self,
        wait: Duration,
        mut ahead: Option<&mut dyn FnMut() -> Follower>,
    ) -> Result<(), AppendError> {
        let storage = &self.shared.storage;
        if std::mem::take(&mut self.state.owes_pause) {
            lock::let_others_in();
        }
        let board = self.state.board.clone();
        let mut reached = None;
        let mut read_ahead = || reached = ahead.as_mut().map(|ahead| ahead());
        read_ahead();
        let acquired = lock::acquire(storage, board.as_deref(), wait, &mut read_ahead);
        let held = acquired.map_err(|error| self.poisoned_by(&error))?.map_err(locked)?;
        self.goes_on_from(reached);
        self.shared.look_at_board(&mut self.state).map_err(|error| self.poisoned_by(&error))?;
        let is_known = self.learn_epoch().map_err(|error| self.poisoned_by(&error))?;
        // Where the failure is this handle's own, nothing is written again by it.
        self.shared.check_usable()?;
        let boot = storage.boot();
        let before = lock::read(&held).filter(|lock| lock.boot == boot && boot != BootId::UNKNOWN);
        self.previous_wall_minus_boot = before.map(|lock| lock.wall_minus_boot);
        // What others saw since stays in LOCK where this turn says nothing of the clock.
        self.state.wall_minus_boot =
            before.map_or(self.state.wall_minus_boot, |lock| lock.wall_minus_boot);
        match before.filter(|lock| is_known && lock.state == OwnerState::Idle) {
            Some(clean) => self.catch_up_cleanly(&held, &clean, wait)?,
            None => self.take_over(&held)?,
        }
        let checked = self.state.check_files(storage);
        checked.map_err(|error| self.poisoned_by(&error))?;
        let content = self.shared.lock_content(&self.state, OwnerState::InTransaction);
        let written = lock::write_all(&held, &content, self.state.appended());
        written.map_err(|error| self.poisoned_by(&error))?;
        (self.state.lock, self.state.looked) = (Some(Arc::new(held)), sync::now());
        self.state.taken = self.state.looked;
        Ok(())
    }

    /// Goes on from where a reader of this log stands that has come further: each link leads there.
    fn goes_on_from(&mut self, reached: Option<Follower>) {
        let newest = self.state.active.sequence();
        if let Some(reached) = reached.filter(|reached| reached.run.chain.sequence > newest) {
            self.state.active.follower = reached;
        }
    }

    /// Learns how many shared syncs have failed. False where one did since the last turn, or nobody
    /// knows how one ended: what is not known to be durable is written again then.
    fn learn_epoch(&mut self) -> Result<bool, DiskError> {
        let storage = &self.shared.storage;
        let Some(board) = &self.state.board else { return Ok(true) };
        let now = shared_sync::synced(&shared_sync::page(&**board)?, storage.boot());
        let is_same = now.epoch == self.state.epoch;
        let is_known = is_same && !shared_sync::is_abandoned(storage, &**board)?;
        self.state.epoch = now.epoch;
        Ok(is_known)
    }

    /// The last owner left cleanly: what it appended is read, and what it synced is durable.
    fn catch_up_cleanly(
        &mut self,
        held: &S::Lock,
        clean: &Lock,
        wait: Duration,
    ) -> Result<(), AppendError> {
        let before = self.state.active.follower.clone();
        loop {
            let locked = self.state.active.header().first_sequence();
            if !self.lock_active(wait)? || !self.read_on(clean.durable_sequence) {
                (self.state.active.follower, self.state.active.lock) = (before, None);
                return self.take_over(held);
            }
            // The newest record stands in the locked segment: nobody else goes on from it.
            if self.state.active.header().first_sequence() == locked {
                break;
            }
        }
        self.shared.commit.is_durable(clean.durable_sequence, None);
        if self.shared.commit.durable() == self.state.active.chain().sequence {
            self.shared.all_durable(&self.state);
        }
        Ok(())
    }

    /// Locks the segment that this handle stands in, opened anew where its name stands for another
    /// file; false where it cannot be opened, or does not hold the record that this handle stands
    /// at: somebody put another log in the place of this one.
    fn lock_active(&mut self, wait: Duration) -> Result<bool, AppendError> {
        let storage = &self.shared.storage;
        let path = self.state.active.path();
        // Of the segment before, where this one follows it: nothing is written there any more.
        self.state.active.lock = None;
        for _ in 0..CHANGES_MAX {
            let lock = LockedFile::within(storage, &self.state.active.writer, &path, wait);
            let lock = lock.map_err(|error| self.poisoned_by(&error))?.map_err(locked)?;
            let is_named = storage.is_named(&path, lock.file()).named("look at", &path);
            if is_named.map_err(|error| self.poisoned_by(&error))? {
                self.state.active.lock = Some(lock);
                return Ok(true);
            }
            drop(lock);
            self.check_archived()?;
            // Before it is opened: of what fails in syncs that begin later, this file tells.
            let opened = self.shared.begun_syncs(&self.state);
            self.state.opened = opened.map_err(|error| self.poisoned_by(&error))?;
            // Whoever takes over from what is left there is told what is wrong with it.
            let Ok(writer) = storage.open_writer(&path) else { return Ok(false) };
            if !self.state.active.is_at_place_in(&writer) {
                return Ok(false);
            }
            self.state.active.goes_on_in(writer);
        }
        Ok(false)
    }

    /// Refuses to go on where the file of a segment with records was removed or replaced: whoever
    /// writes to a log removes it only once it is in an archive.
    fn check_archived(&mut self) -> Result<(), AppendError> {
        let (storage, active) = (&self.shared.storage, &mut self.state.active);
        if !active.holds_a_record() {
            return Ok(());
        }
        let first = active.header().first_sequence();
        let Err(error) = active.check_file(storage) else { return Ok(()) };
        let head = head_file::read(storage).map_err(|error| self.poisoned_by(&error))?;
        let is_archived = error.source.kind() == io::ErrorKind::NotFound
            && head.is_some_and(|head| head.anchor_sequence >= first);
        if is_archived { Ok(()) } else { Err(self.poisoned_by(&error)) }
    }

    /// Reads what others appended; false where that is not whole.
    fn read_on(&mut self, durable: u64) -> bool {
        let follower = &mut self.state.active.follower;
        let caught_up = follower.catch_up(&self.shared.storage, &mut |_, _| {});
        let run = &follower.run;
        caught_up.is_ok()
            && matches!(run.stop, Stop::Nothing)
            && run.stop_offset == run.end_offset
            && run.chain.sequence >= durable
    }

    /// The last owner did not leave cleanly: recovery as at opening. The log that comes out must go
    /// on from the record that this handle stands at.
    fn take_over(&mut self, held: &S::Lock) -> Result<(), AppendError> {
        let storage = &self.shared.storage;
        let options = super::Options { create: false, ..self.shared.options.clone() };
        let settled = match settle(storage, held, None, &options) {
            Ok(settled) => settled,
            // Nothing was changed and nothing acknowledged is at stake: the next turn takes over.
            Err(OpenError::NoSpace { needed, free, .. }) => {
                return Err(AppendError::NoSpace { needed, free });
            }
            Err(OpenError::Locked { pid, waited, .. }) => {
                return Err(AppendError::Locked { pid, waited });
            }
            Err(error) => return Err(self.poisoned_by_opening(error)),
        };
        let mut follower = self.state.active.follower.clone();
        let caught_up = follower.catch_up(storage, &mut |_, _| {});
        // What this handle stood at was moved to an archive: the log goes on behind HEAD's anchor.
        let is_archived = matches!(caught_up, Err(FollowError::Gone { .. }))
            && follower.run.chain.sequence <= settled.head.anchor_sequence;
        let is_the_one = caught_up.is_ok() && follower.run.chain == settled.active.chain();
        if !is_the_one && !is_archived {
            let source = io::Error::other("the log is not the one that was open");
            let failed: Result<(), DiskError> = Err(source).named("read", &settled.active.path());
            return failed.map_err(|error| self.poisoned_by(&error));
        }
        self.shared.commit.is_witnessed(settled.witnessed());
        self.state.found_without_head = settled.recovered.found_without_head();
        self.state.active = settled.active;
        self.state.opened = settled.opened;
        if settled.recovered.is_for_the_record() {
            self.state.unrecorded.push(settled.recovered);
        }
        self.shared.all_durable(&self.state);
        let Some(board) = &self.state.board else { return Ok(()) };
        let durable = self.shared.lock_content(&self.state, OwnerState::Idle).durable_sequence;
        let settled = shared_sync::settle(storage, &**board, durable);
        settled.map_err(|error| self.poisoned_by(&error))
    }

    /// The state that this handle held is no longer that of the log.
    fn poisoned_by_opening(&mut self, error: OpenError) -> AppendError {
        let source = io::Error::other(error.to_string());
        let failed: Result<(), DiskError> = Err(source).named("take over", "the log");
        if let Err(error) = failed {
            self.poisoned_by(&error);
        }
        AppendError::Reopen(Box::new(error))
    }
}

fn locked(held: LockHolder) -> AppendError {
    AppendError::Locked { pid: held.pid, waited: held.waited }
}

impl<S: Storage> Drop for WriteTransaction<'_, S> {
    fn drop(&mut self) {
        self.shared.end_turn(&mut self.state);
    }
}
