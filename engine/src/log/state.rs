//! State that changes while a log is open: owned by whoever has the turn.

use super::active::{Active, DiskError, DiskResult, IoContext};
use super::error::{AppendError, PoisonCause};
use super::flusher::Schedule;
use super::group_commit::GroupCommit;
use super::head_file;
use super::lock;
use super::name_fault::NameState;
use super::options::{Options, Ownership, Recovered};
use super::owner::Owner;
use super::preallocate::Preallocated;
use super::roll::Prepared;
use super::shared_sync::{self, SyncTarget, Trouble};
use super::storage::{Board, LockFile, Storage};
use super::tail::rewrite;
use super::turn_queue;
use crate::sync::{self, AtomicU64, Mutex, Ordering};
use holdpoint_log_format::board::Appended;
use holdpoint_log_format::limits::SEGMENT_HEADER_LENGTH;
use holdpoint_log_format::{BootId, Head, Lock, LogId, OwnerState, names};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Threads that follow one another keep the lock for at most this long before every other process
/// gets its chance.
const SHARED_HOLD: Duration = Duration::from_millis(50);

/// And for this long where other processes stand in the queue.
const QUEUE_HOLD: Duration = Duration::from_millis(1);

/// Interval at which whoever writes looks whether LOCK is still there, where no sync does.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Interval at which whoever writes looks whether the files of the log are still its own, where no
/// sync follows: the looks take longer than the write of a small record.
const LOOK_AT_FILES_EVERY: Duration = Duration::from_millis(10);

/// State that the handle, its turns and its flusher share.
pub(super) struct Shared<S: Storage> {
    pub(super) storage: S,
    pub(super) options: Options,
    pub(super) owner: Owner,
    pub(super) log: LogId,
    pub(super) first_segment: u64,
    pub(super) state: Mutex<State<S>>,
    /// Threads that are about to begin a turn: while there are any, the lock is kept for them.
    pub(super) coming: AtomicU64,
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
    /// The state of HEAD's name when it was last read.
    pub(super) head_seen: Option<NameState>,
    /// Held during turns, between two of them where the next one is coming, or always by an
    /// exclusive owner.
    pub(super) lock: Option<Arc<S::Lock>>,
    /// Time at which its name was last looked at.
    pub(super) looked: Instant,
    /// Time at which the files were last looked at.
    pub(super) files_looked: Instant,
    /// Time at which turns that follow one another began to keep it.
    pub(super) taken: Instant,
    /// It was kept for long: processes that stand in no queue come first.
    pub(super) owes_pause: bool,
    /// Board on which other processes say how far they synced; `None` where nothing is shared with
    /// them.
    pub(super) board: Option<Arc<dyn Board>>,
    /// Number of failed shared syncs that the last taking of the lock found.
    pub(super) epoch: u64,
    /// Number of shared syncs that were begun when the active segment's file was opened.
    pub(super) opened: u64,
    /// Wall clock minus time since boot as the caller last gave it, for LOCK.
    pub(super) wall_minus_boot: i64,
    /// The newest record that was found without HEAD; 0: HEAD was there. Until more is durable,
    /// LOCK names none: nothing tells that this one was the newest.
    pub(super) found_without_head: u64,
    /// Findings of recoveries that are to be put on record, the oldest first. Whichever turn comes
    /// upon them, the next one that appends has them before anything else.
    pub(super) unrecorded: Vec<Recovered>,
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
        self.write_before_sync(state)?;
        let is_needed = self.commit.durable() < state.active.chain().sequence;
        if is_needed {
            let filled = state.active.write_zeros(&self.storage);
            let synced = filled.and_then(|()| self.sync_written(state));
            let relied_on = synced.and_then(|()| state.check_lock());
            relied_on.map_err(|error| self.poisoned_by(state, &error))?;
        }
        self.all_durable(state);
        Ok(is_needed)
    }

    /// Syncs the active segment while LOCK is held.
    fn sync_written(&self, state: &State<S>) -> DiskResult<()> {
        let active = &state.active;
        let Some(board) = &state.board else {
            return self.storage.sync(&active.writer).named_as("sync", || active.path());
        };
        let wanted = SyncTarget { holds_lock: true, ..state.wanted() };
        let wait = self.options.lock_wait;
        let told = |error: &DiskError| drop(self.commit.fail(error.cause()));
        match shared_sync::reach(&self.storage, &**board, &active.writer, &wanted, wait, &told) {
            Err(Trouble::Unknown) => self.write_again(state, &**board),
            reached => reached.map_err(DiskError::from),
        }
    }

    /// Somebody died with a sync under way since this turn began: what the disk has of the active
    /// segment is not known, so its records are written again, and synced. Only under LOCK.
    fn write_again(&self, state: &State<S>, board: &dyn Board) -> DiskResult<()> {
        let (active, storage) = (&state.active, &self.storage);
        let (path, start) = (active.path(), SEGMENT_HEADER_LENGTH as u64);
        rewrite(storage, active.locked()?, &path, start, active.end_offset())?;
        storage.sync(&active.writer).named("sync", &path)?;
        shared_sync::settle(storage, board, active.sequence())
    }

    /// Looks whether what is read of other processes is still LOCK.
    pub(super) fn look_at_board(&self, state: &mut State<S>) -> DiskResult<()> {
        let Some(board) = &state.board else { return Ok(()) };
        if !board.has_its_name().named("look at", names::LOCK)? {
            state.board = self.storage.board().named("open", names::LOCK)?;
        }
        Ok(())
    }

    /// Number of shared syncs that were begun.
    pub(super) fn begun_syncs(&self, state: &State<S>) -> DiskResult<u64> {
        let Some(board) = &state.board else { return Ok(0) };
        Ok(shared_sync::synced(&shared_sync::page(&**board)?, self.storage.boot()).count)
    }

    /// Writes what is staged, under the segment's lock.
    pub(super) fn write_staged(&self, state: &mut State<S>) -> Result<(), AppendError> {
        self.check_owner()?;
        let looked = state.look_before_write(&self.storage);
        let written = looked.and_then(|()| state.active.write_staged(&self.storage));
        written.map_err(|error| self.poisoned_by(state, &error))
    }

    /// Does the same where a sync follows: first it is certain which files are written.
    pub(super) fn write_before_sync(&self, state: &mut State<S>) -> Result<(), AppendError> {
        if state.lock.is_some() && self.commit.durable() < state.active.sequence() {
            let checked = state.check_files(&self.storage);
            checked.map_err(|error| self.poisoned_by(state, &error))?;
        }
        self.write_staged(state)
    }

    /// Every record up to the newest is on the disk.
    pub(super) fn all_durable(&self, state: &State<S>) {
        self.commit.is_durable(state.active.chain().sequence, state.active.newest_point());
        self.schedule.sync_is_done();
    }

    /// Replaces HEAD with the newest durable record whose place is known, within a turn.
    pub(super) fn write_head(&self, state: &mut State<S>) -> Result<(), DiskError> {
        let _at_the_disk = self.commit.take(self.commit.durable());
        // Whoever was there before may have failed.
        let has_failed = self.commit.has_failed().then(|| io::Error::other("a sync failed before"));
        has_failed.map_or(Ok(()), Err).named("replace", names::HEAD)?;
        state.check_lock()?;
        state.check_files(&self.storage)?;
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
        if state.board.is_none() {
            // Whoever is at the disk may be about to replace HEAD, which needs the lock.
            drop(self.commit.take(self.commit.durable()));
        }
        if self.poison().is_none() {
            // A failure here poisons the handle, and LOCK says so below.
            let _ = self.write_staged(state).and_then(|()| self.write_zeros(state));
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
            let written = match self.poison() {
                None => lock::write_all(&held, &content, state.appended()),
                // What was not written is on no disk: no sync of another process covers it.
                Some(_) => lock::write(&held, &content),
            };
            // Before LOCK: who gets that finds this one free.
            state.active.lock = None;
            drop(held);
            if let Some(board) = &state.board {
                turn_queue::wake_next(&**board);
            }
            if let Err(error) = written {
                self.poisoned_by(state, &error);
            }
        }
    }

    /// Writes the zeros that later commits will want, where a sync is to follow.
    fn write_zeros(&self, state: &mut State<S>) -> Result<(), AppendError> {
        if state.board.is_none() || self.commit.durable() >= state.active.sequence() {
            return Ok(());
        }
        let filled = state.active.write_zeros(&self.storage);
        filled.map_err(|error| self.poisoned_by(state, &error))
    }

    /// Returns what LOCK says of this owner.
    pub(super) fn lock_content(&self, state: &State<S>, owner: OwnerState) -> Lock {
        lock_content(state, owner, self.storage.boot(), self.commit.durable())
    }

    /// A turn ends. The lock is given back, unless another thread of this process is coming and
    /// nobody else has waited for long. A poisoned owner writes nothing more, so it gives it back.
    pub(super) fn end_turn(&self, state: &mut State<S>) {
        let is_shared = self.options.ownership == Ownership::PerTransaction;
        if state.lock.is_some() && (self.commit.has_failed() || is_shared && !self.keeps(state)) {
            self.release(state);
        }
    }

    /// Returns whether the lock stays for the next thread.
    fn keeps(&self, state: &mut State<S>) -> bool {
        if self.coming.load(Ordering::SeqCst) == 0 {
            return false;
        }
        let kept = sync::now().duration_since(state.taken);
        state.owes_pause = kept > SHARED_HOLD;
        let has_queue =
            || state.board.as_ref().is_some_and(|board| turn_queue::has_queue(&**board));
        kept <= SHARED_HOLD && (kept <= QUEUE_HOLD || !has_queue())
    }

    /// A thread is about to begin a turn.
    pub(super) fn is_coming(&self) {
        self.coming.fetch_add(1, Ordering::SeqCst);
    }

    /// It has begun one.
    pub(super) fn has_come(&self) {
        self.coming.fetch_sub(1, Ordering::SeqCst);
    }

    /// It does not come after all.
    pub(super) fn stays_away(&self) {
        self.has_come();
        self.end_turn(&mut self.state.lock());
    }
}

impl<S: Storage> State<S> {
    /// Returns what a sync is to cover: everything that was appended.
    pub(super) fn wanted(&self) -> SyncTarget {
        let Appended { sequence, segment } = self.appended();
        let State { epoch, opened, found_without_head: unnamed, .. } = *self;
        SyncTarget { sequence, segment, epoch, opened, unnamed, holds_lock: false }
    }

    /// Returns where the newest appended record is.
    pub(super) fn appended(&self) -> Appended {
        let segment = self.active.header().first_sequence();
        Appended { sequence: self.active.sequence(), segment }
    }

    /// Checks that LOCK, if it is held, is still the one that others come to. The segment's lock
    /// keeps them out where it is not; yet who holds a LOCK without a name does not know who waits.
    pub(super) fn check_lock(&mut self) -> DiskResult<()> {
        self.looked = sync::now();
        self.lock.as_ref().map_or(Ok(()), check_name)
    }

    /// Checks that what is about to be written goes into the files of the log that was opened.
    pub(super) fn check_files(&mut self, storage: &S) -> DiskResult<()> {
        self.files_looked = sync::now();
        self.active.check_file(storage)?;
        self.check_head(storage)
    }

    fn check_head(&mut self, storage: &S) -> DiskResult<()> {
        head_file::check(storage, self.head.log, &mut self.head_seen)
    }

    /// Checks all that a write relies on, unless that was done a moment ago.
    fn look_before_write(&mut self, storage: &S) -> DiskResult<()> {
        let now = sync::now();
        if now.duration_since(self.looked) >= LOOK_EVERY {
            self.check_lock()?;
        }
        // Without LOCK nothing is written, and others roll.
        let is_due = now.duration_since(self.files_looked) >= LOOK_AT_FILES_EVERY;
        if is_due && self.lock.is_some() { self.check_files(storage) } else { Ok(()) }
    }
}

/// LOCK keeps everybody else out only while it is the file that was locked.
pub(super) fn check_name(held: &impl LockFile) -> DiskResult<()> {
    let named = held
        .has_its_name()
        .and_then(|has_its_name| has_its_name.then_some(()).ok_or_else(lost_name));
    named.named("rely on", names::LOCK)
}

pub(super) fn lost_name() -> io::Error {
    io::Error::other("it was removed or replaced while this process relied on it")
}

/// Returns what LOCK says of an owner.
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
