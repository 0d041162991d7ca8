//! Opening: look, lock, let the recovery table decide, act, and only then serve.

use super::acknowledgement::reach;
use super::active::{DiskResult, IoContext};
use super::error::OpenError;
use super::flusher::Schedule;
use super::group_commit::{Goal, GroupCommit, Reached};
use super::lock::{self, acquire};
use super::options::{OpenReport, Options, Ownership, Recovered};
use super::owner::Owner;
use super::preallocate::Preallocated;
use super::recovery::{
    Settled, disk, is_refusal, locked_by, refused, row_for, settle, survey_tail,
};
use super::shared_sync;
use super::state::{Shared, State, lock_content};
use super::storage::{Board, RootState, Storage};
use super::turn_queue;
use crate::sync::{self, AtomicU64, Mutex};
use holdpoint_log_format::recovery::Row;
use holdpoint_log_format::{OwnerState, names};
use std::io;
use std::sync::Arc;

pub(super) fn open<S: Storage>(
    storage: S,
    options: Options,
) -> Result<(Shared<S>, OpenReport), OpenError> {
    let (board, lock) = hold_and_lock(&storage, &options)?;
    let board = named_board(&storage, board)?;
    let shared_board = || board.as_deref().filter(|_| is_shared(&options));
    let settled = settle(&storage, &lock, shared_board(), &options)?;
    let epoch = settled_epoch(&storage, board.as_deref(), &settled).map_err(disk(&storage))?;
    let report = OpenReport {
        log: settled.head.log,
        position: settled.active.chain(),
        recovered: settled.recovered.clone(),
    };
    let log = settled.head.log;
    let first_segment = settled.head.anchor_sequence.saturating_add(1);
    let (newest, point) = (settled.active.chain().sequence, settled.active.newest_point());
    let awaits = settled.awaits_behind;
    let (durable, point) = awaits.map_or((newest, point), |durable| (durable, None));
    // A HEAD that is missing is not due before something is appended.
    let witnessed = settled.witnessed();
    let board = board.filter(|_| is_shared(&options));
    let state = new_state(&storage, &options, settled, lock, Shares { board, epoch, durable })?;
    let schedule = Schedule::default();
    if witnessed < newest {
        schedule.head_is_due(&options);
    }
    let shared = Shared {
        storage,
        options,
        owner: Owner::this_process(),
        log,
        first_segment,
        state: Mutex::new(state),
        coming: AtomicU64::new(0),
        commit: GroupCommit::new(Reached { durable, point, witnessed }),
        schedule,
    };
    if awaits.is_some() {
        let served = reach(&shared, Goal::Durable(newest));
        served.map_err(|error| io_error("sync", &shared.storage)(io::Error::other(error)))?;
    }
    Ok((shared, report))
}

/// Directories that may take the place of one another while their locks are waited for.
const PLACES_MAX: usize = 8;

type BoardAndLock<S> = (Option<Arc<dyn Board>>, <S as Storage>::Lock);

/// Takes the lock of the directory that has the path then: another one may have taken it from the
/// one whose lock was waited for.
fn hold_and_lock<S: Storage>(storage: &S, options: &Options) -> Result<BoardAndLock<S>, OpenError> {
    for _ in 1..PLACES_MAX {
        let locked = hold_and_lock_once(storage, options);
        if locked.is_ok() || storage.check_place().is_ok() {
            return locked;
        }
        // Where nothing is there by now, looking at it says so.
        let _ = storage.hold();
    }
    hold_and_lock_once(storage, options)
}

fn hold_and_lock_once<S: Storage>(
    storage: &S,
    options: &Options,
) -> Result<BoardAndLock<S>, OpenError> {
    check_root(storage, options)?;
    storage.hold().map_err(io_error("open", storage))?;
    let board = board(storage)?;
    let lock = take_lock(storage, board.as_deref(), options)?;
    Ok((board, lock))
}

/// Returns whether the lock is given back between turns.
fn is_shared(options: &Options) -> bool {
    options.ownership == Ownership::PerTransaction
}

/// Refuses what no log can be in before anything is touched, LOCK included.
fn check_root<S: Storage>(storage: &S, options: &Options) -> Result<(), OpenError> {
    let path = storage.root().to_path_buf();
    let state = storage.root_state().map_err(io_error("look at", storage))?;
    match state {
        RootState::Other => return Err(OpenError::NotADirectory { path }),
        RootState::SymbolicLink => return Err(OpenError::SymbolicLink { path }),
        RootState::Missing if !options.create => return Err(OpenError::NothingHere { path }),
        RootState::Missing | RootState::Directory => {}
    }
    let unreliable = storage.unreliable_file_system().map_err(io_error("look at", storage))?;
    if let Some(kind) = unreliable {
        return Err(OpenError::UnreliableFileSystem { path, kind });
    }
    if state == RootState::Missing {
        return storage.create_directory("").map_err(io_error("create", storage));
    }
    // The same is asked once LOCK is held. Where there is none, none is made in what is refused.
    if !matches!(storage.open(names::LOCK), Ok(None)) {
        return Ok(());
    }
    let survey = survey_tail(storage)?;
    match row_for(&survey, options) {
        Row::Nothing if !options.create => Err(OpenError::NothingHere { path }),
        row if is_refusal(row) => Err(refused(storage, row, survey)),
        _ => Ok(()),
    }
}

/// Returns where other processes say how far they synced, and who waits.
fn board<S: Storage>(storage: &S) -> Result<Option<Arc<dyn Board>>, OpenError> {
    storage.board().named("open", names::LOCK).map_err(disk(storage))
}

/// The board of the LOCK that has the name: another log may have taken the place of the one that
/// was there before the lock was taken, and what that one's board says is not true of it.
fn named_board<S: Storage>(
    storage: &S,
    board: Option<Arc<dyn Board>>,
) -> Result<Option<Arc<dyn Board>>, OpenError> {
    let Some(opened) = &board else { return Ok(None) };
    let has_its_name = opened.has_its_name().named("look at", names::LOCK);
    if has_its_name.map_err(disk(storage))? { Ok(board) } else { self::board(storage) }
}

/// Says that what is there is durable where a shared sync failed, or where nobody knows how one
/// ended. Gives the number of those that failed.
fn settled_epoch<S: Storage>(
    storage: &S,
    board: Option<&dyn Board>,
    settled: &Settled<S::Writer>,
) -> DiskResult<u64> {
    let Some(board) = board else { return Ok(0) };
    if settled.awaits_behind.is_some() {
        return Ok(shared_sync::synced(&shared_sync::page(board)?, storage.boot()).epoch);
    }
    let newest = settled.active.sequence();
    let named = if newest > settled.recovered.found_without_head() { newest } else { 0 };
    shared_sync::settle(storage, board, named)?;
    Ok(shared_sync::synced(&shared_sync::page(board)?, storage.boot()).epoch)
}

/// State that a handle shares with other processes.
struct Shares {
    board: Option<Arc<dyn Board>>,
    epoch: u64,
    durable: u64,
}

fn take_lock<S: Storage>(
    storage: &S,
    board: Option<&dyn Board>,
    options: &Options,
) -> Result<S::Lock, OpenError> {
    acquire(storage, board, options.lock_wait, &mut || {})
        .map_err(disk(storage))?
        .map_err(locked_by(storage))
}

fn new_state<S: Storage>(
    storage: &S,
    options: &Options,
    settled: Settled<S::Writer>,
    held: S::Lock,
    shares: Shares,
) -> Result<State<S>, OpenError> {
    let before = lock::read(&held);
    let same_boot = before.filter(|lock| lock.boot == storage.boot());
    let mut state = State {
        head: settled.head,
        head_seen: None,
        active: settled.active,
        preallocated: Preallocated::Nothing,
        rooms: Vec::new(),
        lock: None,
        looked: sync::now(),
        files_looked: sync::now(),
        taken: sync::now(),
        owes_pause: false,
        board: shares.board,
        epoch: shares.epoch,
        opened: settled.opened,
        wall_minus_boot: same_boot.map_or(0, |lock| lock.wall_minus_boot),
        found_without_head: settled.recovered.found_without_head(),
        unrecorded: Some(settled.recovered)
            .filter(Recovered::is_for_the_record)
            .into_iter()
            .collect(),
    };
    let owner_state = match options.ownership {
        Ownership::PerTransaction => OwnerState::Idle,
        Ownership::Exclusive => OwnerState::InTransaction,
    };
    let durable = shares.durable;
    let content = lock_content(&state, owner_state, storage.boot(), durable);
    let written = lock::write_all(&held, &content, state.appended());
    written.map_err(disk(storage))?;
    match options.ownership {
        Ownership::PerTransaction => {
            state.active.lock = None;
            drop(held);
            if let Some(board) = &state.board {
                turn_queue::wake_next(&**board);
            }
        }
        Ownership::Exclusive => state.lock = Some(Arc::new(held)),
    }
    Ok(state)
}

fn io_error<S: Storage>(
    operation: &'static str,
    storage: &S,
) -> impl FnOnce(io::Error) -> OpenError {
    let path = storage.root().to_path_buf();
    move |source| OpenError::Io { operation, path, source }
}
