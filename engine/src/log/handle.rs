//! The handle on a log open for writing.

use super::active::{Active, DiskError, Named, Point};
use super::error::{AppendError, CloseError, OpenError, PoisonCause};
use super::keeper::Keeper;
use super::level::Level;
use super::storage::Storage;
use super::turn::{Appended, Turn};
use super::{NewRecord, open, witness};
use holdpoint_log_files::survey::segment_path;
use holdpoint_log_files::{DirectoryStorage, FollowError, Follower};
use holdpoint_log_format::{ChainPosition, Head, LogId};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who may write between two appends of this handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Ownership {
    /// The lock is taken for each turn: any number of processes write in turns.
    #[default]
    PerTransaction,
    /// The lock is held for as long as the log is open.
    Exclusive,
}

/// How a log is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Who may write in between.
    pub ownership: Ownership,
    /// How long to wait for another process's lock.
    pub lock_wait: Duration,
    /// Whether a log is made where there is none.
    pub create: bool,
    /// Go on when HEAD is missing or unreadable, which otherwise is refused: nothing then witnesses
    /// how far the log reached. Record that it was done.
    pub without_head: bool,
    /// How long after a sync HEAD follows when nothing else happens.
    pub head_delay: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ownership: Ownership::PerTransaction,
            lock_wait: Duration::from_secs(10),
            create: true,
            without_head: false,
            head_delay: Duration::from_secs(1),
        }
    }
}

/// What recovery did, if anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// A new log was made.
    pub created: bool,
    /// HEAD was missing or unreadable, and the caller went on without it.
    pub without_head: bool,
    /// Bytes of a torn write that were copied aside and overwritten with zeros.
    pub cut_bytes: u64,
    /// Where they were, in the segment's file.
    pub cut_offset: u64,
    /// The segment's file, relative to the log's directory; empty when nothing was cut.
    pub segment: String,
    /// The copy, relative to the log's directory.
    pub copied_to: Option<String>,
    /// Bytes above the last mark that were written again and synced.
    pub rewritten_bytes: u64,
    /// The newest sequence that a mark proved durable before this opening.
    pub proven_sequence: u64,
    /// The newest record that is there.
    pub newest_sequence: u64,
}

/// What opening found and did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenReport {
    /// The log's identity.
    pub log: LogId,
    /// The newest record.
    pub position: ChainPosition,
    /// Recovery.
    pub recovered: Recovered,
}

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
    pub(super) first_segment: u64,
    pub(super) state: Mutex<State<S>>,
    pub(super) wake: Condvar,
}

/// Everything that changes; owned by whoever has the turn.
pub(super) struct State<S: Storage> {
    pub(super) active: Active<S::Writer>,
    /// The log and anchor that every HEAD of this log names.
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
        let mut turn = self.begin()?;
        let appended = turn.append(records, clock)?;
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

    /// The place before the first record that the log holds: where a reader begins that then goes on
    /// with [`Turn::catch_up`].
    ///
    /// # Errors
    /// The first segment cannot be read.
    pub fn first_place(&self) -> Result<Follower, FollowError> {
        Follower::at_segment(&self.shared.storage, self.shared.first_segment)
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
        let keeper = self.keeper.take();
        let result = close(&self.shared);
        drop(keeper);
        result
    }
}

impl<S: Storage> Drop for Log<S> {
    /// A log that was not closed is left as [`Log::close`] leaves it, as far as that works; what was
    /// acknowledged is durable either way.
    fn drop(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            let _ = close(&self.shared);
            drop(keeper);
        }
    }
}

/// Syncs, replaces HEAD, stops the keeper, releases the lock.
fn close<S: Storage>(shared: &Arc<Shared<S>>) -> Result<(), CloseError> {
    let result = close_turn(shared);
    shared.state.lock().closing = true;
    shared.wake.notify_all();
    result
}

fn close_turn<S: Storage>(shared: &Arc<Shared<S>>) -> Result<(), CloseError> {
    {
        let state = shared.state.lock();
        state.check_usable(shared.owner)?;
        let is_done = state.active.chain().sequence <= state.witnessed;
        if is_done && state.lock.is_none() {
            return Ok(());
        }
    }
    let mut turn = Turn::begin(shared)?;
    turn.sync()?;
    let witnessed = turn.write_head();
    turn.release_for_good();
    witnessed.map_err(|error| CloseError::Witness(error.source))
}

impl<S: Storage> State<S> {
    /// Refuses a poisoned handle and a forked child.
    pub(super) fn check_usable(&self, owner: u32) -> Result<(), AppendError> {
        if std::process::id() != owner {
            return Err(AppendError::Forked { owner });
        }
        match &self.poison {
            Some(cause) => Err(AppendError::Poisoned(cause.clone())),
            None => Ok(()),
        }
    }

    /// Remembers the first failure; the handle does nothing more.
    pub(super) fn poisoned_by(&mut self, error: DiskError) -> AppendError {
        let cause = self.poison.get_or_insert(error.into_cause()).clone();
        self.active.staged.clear();
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
