//! The handle on a log open for writing.

use super::active::{Active, DiskError, Named, Point};
use super::batch::PreparedBatch;
use super::error::{AppendError, CloseError, OpenError, PoisonCause};
use super::keeper::Keeper;
use super::level::Level;
use super::lock;
use super::options::{OpenReport, Options};
use super::storage::Storage;
use super::turn::{Appended, Turn};
use super::{NewRecord, open, witness};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{
    DirectoryStorage, FollowError, Follower, Onward, ReadError, RecordPlace, read_from,
};
use holdpoint_log_format::{ChainPosition, Head, LogId, Record};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the keeper waits before it tries again what the disk or another owner did not allow.
pub(super) const KEEPER_RETRY: Duration = Duration::from_millis(100);

/// A log open for writing. It may be used from several threads; a forked child must open it again.
pub struct Log<S: Storage = DirectoryStorage> {
    pub(super) shared: Arc<Shared<S>>,
    keeper: Option<Keeper>,
}

/// What the handle and its keeper share.
pub(super) struct Shared<S: Storage> {
    pub(super) storage: S,
    pub(super) options: Options,
    pub(super) owner: u32,
    pub(super) log: LogId,
    pub(super) first_segment: u64,
    pub(super) state: Mutex<State<S>>,
    pub(super) wake: Condvar,
}

/// Everything that changes; owned by whoever has the turn.
pub(super) struct State<S: Storage> {
    pub(super) active: Active<S::Writer>,
    /// HEAD as it was at opening; its log and anchor are those of every HEAD of this log.
    pub(super) head: Head,
    /// Newest sequence known to be durable: `durable <= active.chain().sequence`.
    pub(super) durable: u64,
    /// Place of the newest record known to be durable whose place is known.
    pub(super) durable_point: Option<Point>,
    /// Newest sequence that HEAD was seen to name.
    pub(super) witnessed: u64,
    /// The first failure; set once.
    pub(super) poison: Option<PoisonCause>,
    /// Held during a turn, or always by an exclusive owner.
    pub(super) lock: Option<S::Lock>,
    /// Wall clock minus time since boot as the caller last gave it, for LOCK.
    pub(super) wall_minus_boot: i64,
    /// When the keeper has something to do.
    pub(super) sync_due: Option<Instant>,
    pub(super) head_due: Option<Instant>,
    pub(super) closing: bool,
}

impl<S: Storage> Log<S> {
    /// Opens a log for writing, making it where there is none if the options say so.
    ///
    /// The tail above the last mark is written again and synced before this returns, so everything
    /// that is served from here on is on the disk.
    ///
    /// # Errors
    /// Each names the path and what to do; nothing was changed.
    pub fn open(storage: S, options: Options) -> Result<(Self, OpenReport), OpenError> {
        let (shared, report) = open::open(storage, options)?;
        let shared = Arc::new(shared);
        let keeper = Keeper::start(&shared).map_err(|source| OpenError::Io {
            operation: "start a thread for",
            path: shared.storage.root().to_path_buf(),
            source,
        })?;
        Ok((Self { shared, keeper: Some(keeper) }, report))
    }

    /// Appends one batch, all or nothing, in a turn of its own.
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
        let batch = PreparedBatch::new(self.shared.log, records)?;
        let mut turn = self.begin()?;
        let appended = turn.append_prepared(&batch, clock)?;
        turn.finish(level)?;
        Ok(appended)
    }

    /// Takes the turn: no other thread or process appends until it ends.
    ///
    /// # Errors
    /// The lock is not to be had in time, the handle is poisoned or forked, or another writer left
    /// the log damaged.
    pub fn begin(&self) -> Result<Turn<'_, S>, AppendError> {
        Turn::begin(&self.shared)
    }

    /// The place before the first record that the log holds: where a reader begins that then goes
    /// on with [`Turn::catch_up`].
    ///
    /// # Errors
    /// The first segment cannot be read.
    pub fn first_place(&self) -> Result<Follower, FollowError> {
        Follower::at_segment(&self.shared.storage, self.shared.first_segment)
    }

    /// Shows the written records from sequence `from` on, in order, read through a memory map.
    /// Staged records are not written yet and not shown.
    ///
    /// # Errors
    /// A segment is missing or cannot be read, or a record is damaged.
    pub fn read_from(
        &self,
        from: u64,
        visit: &mut dyn FnMut(&RecordPlace, &Record<'_>) -> Onward,
    ) -> Result<(), ReadError> {
        let newest = self.shared.state.lock().active.written();
        read_from(&self.shared.storage, from, &newest, visit)
    }

    /// The newest appended record.
    #[must_use]
    pub fn position(&self) -> ChainPosition {
        self.shared.state.lock().active.chain()
    }

    /// Newest sequence known to be durable.
    #[must_use]
    pub fn durable_sequence(&self) -> u64 {
        self.shared.state.lock().durable
    }

    /// The first failure of a poisoned handle.
    #[must_use]
    pub fn poison(&self) -> Option<PoisonCause> {
        self.shared.state.lock().poison.clone()
    }

    /// Makes everything appended durable, replaces HEAD, and leaves the lock cleanly.
    ///
    /// # Errors
    /// The handle is poisoned, the sync fails, or HEAD cannot be replaced.
    pub fn close(mut self) -> Result<(), CloseError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), CloseError> {
        let Some(keeper) = self.keeper.take() else { return Ok(()) };
        if let Err(forked) = self.shared.check_owner() {
            // The keeper is a thread that this process does not have: nobody can wait for it.
            std::mem::forget(keeper);
            return Err(forked.into());
        }
        let result = close(&self.shared);
        drop(keeper);
        result
    }
}

impl<S: Storage> Drop for Log<S> {
    /// A log that was not closed is left as [`Log::close`] leaves it, as far as that works; what
    /// was acknowledged is durable either way.
    fn drop(&mut self) {
        // Who wants to know closes.
        let _ = self.end();
    }
}

/// Stops the keeper, syncs, replaces HEAD, releases the lock.
fn close<S: Storage>(shared: &Arc<Shared<S>>) -> Result<(), CloseError> {
    let is_done = {
        let mut state = shared.state.lock();
        state.closing = true;
        shared.wake.notify_all();
        state.check_usable()?;
        state.lock.is_none() && state.active.chain().sequence <= state.witnessed
    };
    if is_done { Ok(()) } else { close_turn(shared) }
}

fn close_turn<S: Storage>(shared: &Arc<Shared<S>>) -> Result<(), CloseError> {
    let mut turn = Turn::begin(shared)?;
    turn.sync()?;
    let witnessed = turn.write_head();
    turn.release_for_good();
    witnessed.map_err(|error| CloseError::Witness(error.source))
}

impl<S: Storage> Shared<S> {
    /// Refuses a forked child, before it waits for a mutex that a thread it does not have may hold.
    pub(super) fn check_owner(&self) -> Result<(), AppendError> {
        let owner = self.owner;
        if std::process::id() == owner { Ok(()) } else { Err(AppendError::Forked { owner }) }
    }
}

impl<S: Storage> State<S> {
    /// Refuses a poisoned handle.
    pub(super) fn check_usable(&self) -> Result<(), AppendError> {
        match &self.poison {
            Some(cause) => Err(AppendError::Poisoned(cause.clone())),
            None => Ok(()),
        }
    }

    /// Remembers the first failure, also in LOCK; the handle does nothing more.
    pub(super) fn poisoned_by(&mut self, error: DiskError) -> AppendError {
        let cause = self.poison.get_or_insert(error.into_cause()).clone();
        self.active.staged.clear();
        if let Some(held) = &self.lock {
            // Where this fails, LOCK says that a transaction goes on, which is not clean either.
            let _ = lock::mark_poisoned(held);
        }
        AppendError::Failed(cause)
    }

    /// Writes what is staged and syncs the active segment: the commit point of every record up to
    /// the newest. A crash before the sync returns may lose or tear what was written since the last
    /// one, and nothing of it was acknowledged; a crash after finds all of it.
    pub(super) fn sync(&mut self, storage: &S) -> Result<(), AppendError> {
        self.write_staged(storage)?;
        if self.durable < self.active.chain().sequence {
            let path = self.active.path();
            let synced = storage.sync(&self.active.writer).named("sync", &path);
            synced.map_err(|error| self.poisoned_by(error))?;
        }
        self.all_durable();
        Ok(())
    }

    pub(super) fn write_staged(&mut self, storage: &S) -> Result<(), AppendError> {
        let written = self.active.write_staged(storage);
        written.map_err(|error| self.poisoned_by(error))
    }

    pub(super) fn all_durable(&mut self) {
        self.durable = self.active.chain().sequence;
        self.sync_due = None;
        if !self.active.is_empty() {
            self.durable_point = Some(self.active.point());
        }
    }

    /// Replaces HEAD with the newest durable record whose place is known.
    pub(super) fn write_head(&mut self, storage: &S) -> Result<(), DiskError> {
        self.head_due = None;
        let Some(point) = self.durable_point else { return Ok(()) };
        if point.chain.sequence > self.witnessed {
            witness::replace(storage, &witness::naming(&self.head, &point, storage.boot()))?;
            self.witnessed = point.chain.sequence;
        }
        Ok(())
    }

    /// Lets HEAD follow while the log goes on. A full disk puts it off: nothing depends on HEAD
    /// being new. Any other failure poisons, as every failed write does.
    pub(super) fn follow_with_head(
        &mut self,
        storage: &S,
        delay: Duration,
    ) -> Result<(), AppendError> {
        match self.write_head(storage) {
            Err(error) if error.is_full() => self.head_due = after(delay.max(KEEPER_RETRY)),
            Err(error) => return Err(self.poisoned_by(error)),
            Ok(()) => {}
        }
        Ok(())
    }
}

/// The moment `delay` from now; `None` when it is too far away to be ever.
pub(super) fn after(delay: Duration) -> Option<Instant> {
    Instant::now().checked_add(delay)
}

/// Reopens the active segment where catching up has moved it.
pub(super) fn reopen<S: Storage>(
    storage: &S,
    active: &mut Active<S::Writer>,
    before: &Follower,
) -> Result<(), DiskError> {
    let same_file = before.header.first_sequence() == active.header().first_sequence();
    if same_file && before.run.record_offset > 0 {
        return Ok(());
    }
    let path = segment_path(active.header().first_sequence());
    active.writer = storage.open_writer(&path).named("open", &path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_child_is_refused_at_every_door_and_leaves_the_log_alone() {
        let directory = tempfile::tempdir().unwrap();
        let storage = DirectoryStorage::new(directory.path());
        let (mut shared, _) = open::open(storage, Options::default()).unwrap();
        shared.owner += 1;
        let shared = Arc::new(shared);
        let keeper = Keeper::start(&shared).unwrap();
        let log = Log { shared: Arc::clone(&shared), keeper: Some(keeper) };
        let before = std::fs::read(directory.path().join("LOCK")).unwrap();
        // What another thread held when the process was forked is never given back in the child.
        let held = shared.state.lock();
        let record = NewRecord { kind: 1, version: 1, payload: Vec::new() };
        let refused = log.append(&[record], 1, Level::Always);
        assert!(matches!(refused, Err(AppendError::Forked { .. })));
        assert!(matches!(log.begin().map(drop), Err(AppendError::Forked { .. })));
        assert!(matches!(log.close(), Err(CloseError::Append(AppendError::Forked { .. }))));
        drop(held);
        assert_eq!(std::fs::read(directory.path().join("LOCK")).unwrap(), before);
    }
}
