//! The handle on a log open for writing.

use super::acknowledgement::reach;
use super::batch::{PreparedBatch, check_kinds, checked_footprint};
use super::error::{AppendError, CloseError, OpenError, PoisonCause};
use super::flusher::Flusher;
use super::group_commit::Goal;
use super::head_file;
use super::level::Level;
use super::options::{OpenReport, Options, Ownership};
use super::shared_sync;
use super::state::Shared;
use super::storage::Storage;
use super::write_transaction::{Appended, WriteTransaction};
use super::{NewRecord, open, preallocate};
use crate::sync::Mutex;
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{DirectoryStorage, FollowError, Follower, LogReader, RecordPlace};
use holdpoint_log_format::{BootId, ChainPosition, Lock, OwnerState, Record};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// A log open for writing. It may be used from several threads; a forked child must open it again.
pub struct Log<S: Storage = DirectoryStorage> {
    pub(super) shared: Arc<Shared<S>>,
    flusher: Mutex<Option<Flusher>>,
}

impl<S: Storage> Log<S> {
    /// Opens a log for writing, making it where there is none if the options say so.
    ///
    /// The tail above the last mark is written again and synced before this returns, so everything
    /// that is served from here on is on the disk. Records below HEAD are not read: whether they
    /// are whole is found when they are, by the state's rebuilding or by verifying.
    ///
    /// # Errors
    /// Each names the path and what to do; nothing was changed.
    pub fn open(storage: S, options: Options) -> Result<(Self, OpenReport), OpenError> {
        let (shared, report) = open::open(storage.apart(), options)?;
        let shared = Arc::new(shared);
        let flusher = Flusher::start(&shared).map_err(|source| OpenError::Io {
            operation: "start a thread for",
            path: shared.storage.root().to_path_buf(),
            source,
        })?;
        Ok((Self { shared, flusher: Mutex::new(Some(flusher)) }, report))
    }

    /// Appends one batch, all or nothing, in a turn of its own: records of kinds from 32768 on,
    /// chained, and opaque to everything that reads the log.
    ///
    /// `clock` is UTC in nanoseconds; the records' time is never before the previous record's.
    ///
    /// # Errors
    /// When it fails, nothing was acknowledged; see [`AppendError`].
    pub fn append(
        &self,
        records: &[NewRecord],
        clock: u64,
        level: Level,
    ) -> Result<Appended, AppendError> {
        check_kinds(records)?;
        self.append_batch(records, clock, level)
    }

    /// Appends like [`Log::append`], for records of every kind: events as well, and what is none of
    /// its kind.
    ///
    /// # Errors
    /// As [`Log::append`].
    #[cfg(any(test, feature = "simulated-people"))]
    pub fn append_any_kind(
        &self,
        records: &[NewRecord],
        clock: u64,
        level: Level,
    ) -> Result<Appended, AppendError> {
        self.append_batch(records, clock, level)
    }

    pub(crate) fn append_batch(
        &self,
        records: &[NewRecord],
        clock: u64,
        level: Level,
    ) -> Result<Appended, AppendError> {
        self.shared.check_usable()?;
        if let ([record], Level::Staged, true) = (records, level, self.keeps_its_lock()) {
            let footprint = checked_footprint(records)?;
            return self.in_turn(level, |turn| turn.append_unhashed(record, footprint, clock));
        }
        let batch = PreparedBatch::new(self.shared.log, records)?;
        self.in_turn(level, |turn| turn.append_prepared(&batch, clock))
    }

    /// Appends in a turn of its own, and acknowledges it.
    fn in_turn(
        &self,
        level: Level,
        append: impl FnOnce(&mut WriteTransaction<'_, S>) -> Result<Appended, AppendError>,
    ) -> Result<Appended, AppendError> {
        let mut turn = WriteTransaction::begin(&self.shared)?;
        let appended = append(&mut turn)?;
        turn.finish(level)?;
        Ok(appended)
    }

    /// Waits until the record `sequence` of this handle, appended at any level, is as durable as
    /// `level` asks for: what pipelines appends. Append at [`Level::Staged`] or [`Level::Os`], go
    /// on, and acknowledge when this has returned; one sync covers everything appended by then.
    ///
    /// # Errors
    /// As [`Log::append`]; [`AppendError::NotThere`] where there is no such record yet.
    pub fn commit(&self, sequence: u64, level: Level) -> Result<(), AppendError> {
        self.shared.check_owner()?;
        self.shared.check_usable()?;
        let goal = match level {
            Level::Always => Goal::Durable(sequence),
            Level::Witnessed => Goal::Witnessed(sequence),
            Level::Interval(_) | Level::Os | Level::Staged => return self.begin()?.finish(level),
        };
        if self.shared.commit.reached().covers(goal) {
            return Ok(());
        }
        let turn = self.begin()?;
        let newest = turn.position().sequence;
        if sequence > newest {
            return Err(AppendError::NotThere { sequence, newest });
        }
        turn.leave_for(|_| goal)?.wait()
    }

    /// Takes the turn: no other thread or process appends until it ends. Every other call on this
    /// log waits for that end, so the thread that has the turn makes none: neither on the log nor
    /// on an [`Acknowledgement`](super::Acknowledgement), dropped ones included.
    ///
    /// # Errors
    /// The lock is not to be had in time, the handle is poisoned or forked, or another writer left
    /// the log damaged.
    pub fn begin(&self) -> Result<WriteTransaction<'_, S>, AppendError> {
        let mut turn = WriteTransaction::begin(&self.shared)?;
        turn.hash_staged();
        Ok(turn)
    }

    /// Does the same as [`Log::begin`], where the lock is waited for within `wait`. What other
    /// processes appended is read `ahead` meanwhile, and that gives the place which its reader has
    /// come to.
    pub(crate) fn begin_ahead(
        &self,
        wait: Option<Duration>,
        ahead: &mut dyn FnMut() -> Follower,
    ) -> Result<WriteTransaction<'_, S>, AppendError> {
        let wait = wait.unwrap_or(self.shared.options.lock_wait);
        let mut turn = WriteTransaction::begin_ahead(&self.shared, wait, ahead)?;
        turn.hash_staged();
        Ok(turn)
    }

    /// Shows what was appended behind `follower`'s place, without a turn: what is not whole yet is
    /// left for later, and nothing of it is known to be durable.
    pub(crate) fn follow_ahead(
        &self,
        follower: &mut Follower,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>),
    ) -> Result<(), FollowError> {
        follower.catch_up(&self.shared.storage, visit)
    }

    /// Returns whether LOCK says that its last owner left the log cleanly, with everything durable
    /// up to a sequence: behind that a turn finds nothing but what a reader of the log finds.
    /// `false` where that is not known without a turn.
    pub(crate) fn is_left_durable(&self, sequence: u64) -> bool {
        let shared = &self.shared;
        if shared.check_owner().and_then(|()| shared.check_usable()).is_err() {
            return false;
        }
        let (state, boot) = (shared.state.lock(), shared.storage.boot());
        let is_left = || {
            let board = state.board.as_ref().filter(|_| state.unrecorded.is_empty())?;
            let page = shared_sync::page(&**board).ok()?;
            let (left, synced) = (Lock::decode(&page).ok()?, shared_sync::synced(&page, boot));
            let is_of_boot = left.boot == boot && boot != BootId::UNKNOWN;
            let is_clean = left.state == OwnerState::Idle && synced.epoch == state.epoch;
            let is_durable = left.durable_sequence.max(synced.durable) >= sequence;
            Some(is_of_boot && is_clean && is_durable && board.has_its_name().ok()?)
        };
        is_left().unwrap_or(false)
    }

    /// Says that a thread will begin a turn as soon as it can. Until then, or until this is
    /// dropped, the lock may be kept for it, for a moment.
    pub(crate) fn coming(&self) -> Coming<'_, S> {
        self.shared.is_coming();
        Coming { shared: Some(&self.shared) }
    }

    /// The place before the first record that the log holds: where a reader begins that then goes
    /// on with [`WriteTransaction::catch_up`].
    ///
    /// # Errors
    /// The first segment cannot be read.
    pub fn first_place(&self) -> Result<Follower, FollowError> {
        Follower::at_segment(&self.shared.storage, self.shared.first_segment)
    }

    /// Shows the written records from sequence `from` on, in order. Staged records are not written
    /// yet and not shown. After a failure only what is known to be durable is.
    ///
    /// Also where `visit` has had enough before, the records are read up to the newest one: where
    /// the links do not lead there, this fails, and nothing that was shown is proven.
    ///
    /// # Errors
    /// A segment is missing or cannot be read, or a record is damaged.
    pub fn read_from(
        &self,
        from: u64,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>) -> ControlFlow<()>,
    ) -> Result<(), FollowError> {
        let newest = self.shared.state.lock().active.written().run.chain;
        // What was not synced by a failed handle may not be there, and nothing names the link of
        // the newest record that is.
        let durable = self.shared.poison().map(|_| self.shared.commit.durable());
        let last = durable.unwrap_or(newest.sequence);
        let first = from.max(1);
        if first > last {
            return Ok(());
        }
        let storage = &self.shared.storage;
        let mut place = place_before(storage, first)?;
        let mut onward = ControlFlow::Continue(());
        let mut visit = |place: &RecordPlace, record: &Record<'_>| {
            if onward.is_continue() && (first..=last).contains(&record.header.sequence) {
                onward = visit(place, record);
            }
        };
        match durable {
            None => place.follow_to(storage, &newest, &mut visit),
            Some(_) => place.catch_up_to(storage, last, &mut visit),
        }
    }

    /// Makes the next segment ready now, as an exclusive owner has it made in the background while
    /// half of this one is used up: before records come in a rush. A disk that is full is no error
    /// here, nor is one that refuses; both are when the segment is needed. Without effect where the
    /// lock is given back between turns.
    ///
    /// # Errors
    /// The handle is poisoned or forked.
    pub fn prepare_next(&self) -> Result<(), AppendError> {
        preallocate::prepare_next(&self.shared)
    }

    /// Returns whether no other process gets the lock before this handle is closed.
    pub(crate) fn keeps_its_lock(&self) -> bool {
        self.shared.options.ownership == Ownership::Exclusive
    }

    /// The newest appended record. What was staged since this was asked last is hashed now: where
    /// nobody asks for each, records are hashed together when they are written.
    #[must_use]
    pub fn position(&self) -> ChainPosition {
        let mut state = self.shared.state.lock();
        state.active.hash_staged();
        state.active.chain()
    }

    /// Newest sequence known to be durable.
    #[must_use]
    pub fn durable_sequence(&self) -> u64 {
        self.shared.commit.durable()
    }

    /// The first failure of a poisoned handle.
    #[must_use]
    pub fn poison(&self) -> Option<PoisonCause> {
        self.shared.poison()
    }

    /// Makes everything appended durable, replaces HEAD, and leaves the lock cleanly. A log that
    /// was closed is not appended to again; to close it again does nothing.
    ///
    /// # Errors
    /// The handle is poisoned, the sync fails, or HEAD cannot be replaced.
    pub fn close(&self) -> Result<(), CloseError> {
        self.end(None)
    }

    /// Does the same as [`Log::close`], where the lock is waited for no longer than `wait`.
    pub(crate) fn close_within(&self, wait: Duration) -> Result<(), CloseError> {
        self.end(Some(wait))
    }

    fn end(&self, wait: Option<Duration>) -> Result<(), CloseError> {
        let Some(flusher) = self.flusher.lock().take() else { return Ok(()) };
        if let Err(forked) = self.shared.check_owner() {
            // The flusher is a thread that this process does not have: nobody can wait for it.
            std::mem::forget(flusher);
            return Err(forked.into());
        }
        // Waited for before the lock is given back: it may be about to replace HEAD.
        self.shared.schedule.close();
        drop(flusher);
        close(&self.shared, wait)
    }
}

/// A thread that is about to begin a turn.
pub(crate) struct Coming<'a, S: Storage> {
    shared: Option<&'a Shared<S>>,
}

impl<S: Storage> Coming<'_, S> {
    /// It has begun its turn.
    pub(crate) fn has_come(mut self) {
        if let Some(shared) = self.shared.take() {
            shared.has_come();
        }
    }
}

impl<S: Storage> Drop for Coming<'_, S> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.stays_away();
        }
    }
}

impl<S: Storage> Drop for Log<S> {
    /// A log that was not closed is left as [`Log::close`] leaves it, as far as that works; what
    /// was acknowledged is durable either way.
    fn drop(&mut self) {
        // Who wants to know closes.
        let _ = self.end(None);
    }
}

/// The start of the segment that holds a record.
fn place_before<S: Storage>(storage: &S, sequence: u64) -> Result<Follower, FollowError> {
    let reader = LogReader::of(storage)?;
    let holding = reader.holding(sequence).and_then(|at| reader.firsts().get(at));
    match holding {
        Some(first) => Follower::at_segment(storage, *first),
        None => Err(FollowError::Gone {
            file: segment_path(sequence),
            sequence: sequence.saturating_sub(1),
        }),
    }
}

/// Syncs, replaces HEAD, releases the lock.
fn close<S: Storage>(shared: &Arc<Shared<S>>, wait: Option<Duration>) -> Result<(), CloseError> {
    let is_done = {
        let state = shared.state.lock();
        shared.check_usable()?;
        let newest = state.active.sequence();
        state.lock.is_none() && shared.commit.reached().covers(Goal::Witnessed(newest))
    };
    if is_done {
        return Ok(());
    }
    let wait = wait.unwrap_or(shared.options.lock_wait);
    if shared.options.ownership == Ownership::PerTransaction && close_beside_others(shared)? {
        return Ok(());
    }
    let mut turn = WriteTransaction::begin_within(shared, shared.state.lock(), wait)?;
    turn.sync()?;
    let witnessed = turn.write_head();
    turn.release_for_good();
    witnessed.map_err(|error| CloseError::Witness(error.with_room(shared.storage.free())))
}

/// Makes durable what this handle knows of, sharing the sync; gives whether HEAD names it already,
/// which another process saw to. No lock is needed for that.
fn close_beside_others<S: Storage>(shared: &Arc<Shared<S>>) -> Result<bool, CloseError> {
    let newest = {
        let mut state = shared.state.lock();
        shared.end_turn(&mut state);
        state.active.sequence()
    };
    reach(shared, Goal::Durable(newest))?;
    let head = head_file::read(&shared.storage).ok().flatten();
    let is_named = head.is_some_and(|head| head.newest_sequence >= newest);
    // Whoever renamed it may not have synced its name yet.
    Ok(is_named && shared.storage.sync_directory("").is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::owner::Owner;

    #[test]
    fn a_forked_child_is_refused_at_every_door_and_leaves_the_log_alone() {
        let directory = tempfile::tempdir().unwrap();
        let storage = DirectoryStorage::new(directory.path());
        let (mut shared, _) = open::open(storage, Options::default()).unwrap();
        shared.owner = Owner::parent();
        let shared = Arc::new(shared);
        let flusher = Flusher::start(&shared).unwrap();
        let log = Log { shared: Arc::clone(&shared), flusher: Mutex::new(Some(flusher)) };
        let before = std::fs::read(directory.path().join("LOCK")).unwrap();
        // What another thread held when the process was forked is never given back in the child.
        let held = shared.state.lock();
        let record = NewRecord { kind: 32_768, version: 1, payload: Vec::new() };
        let refused = log.append(&[record], 1, Level::Always);
        assert!(matches!(refused, Err(AppendError::Forked { .. })));
        assert!(matches!(log.begin().map(drop), Err(AppendError::Forked { .. })));
        assert!(matches!(log.close(), Err(CloseError::Append(AppendError::Forked { .. }))));
        drop(held);
        assert_eq!(std::fs::read(directory.path().join("LOCK")).unwrap(), before);
    }
}
