//! Opening: look, lock, let the recovery table decide, act, and only then serve.

use super::error::OpenError;
use super::flusher::Schedule;
use super::group_commit::{GroupCommit, Reached};
use super::lock::{self, acquire};
use super::options::{OpenReport, Options, Ownership, Recovered};
use super::owner::Owner;
use super::preallocate::Preallocated;
use super::recovery::{
    Settled, disk, is_refusal, locked_by, refused, row_for, settle, survey_tail,
};
use super::state::{LockUses, Shared, State, lock_content};
use super::storage::{RootState, Storage};
use crate::sync::{self, Condvar, Mutex};
use holdpoint_log_format::recovery::Row;
use holdpoint_log_format::{OwnerState, names};
use std::io;
use std::sync::Arc;

pub(super) fn open<S: Storage>(
    storage: S,
    options: Options,
) -> Result<(Shared<S>, OpenReport), OpenError> {
    check_root(&storage, &options)?;
    let lock = take_lock(&storage, &options)?;
    let settled = settle(&storage, &lock, &options)?;
    let report = OpenReport {
        log: settled.head.log,
        position: settled.active.chain(),
        recovered: settled.recovered.clone(),
    };
    let log = settled.head.log;
    let first_segment = settled.head.anchor_sequence.saturating_add(1);
    let (durable, point) = (settled.active.chain().sequence, settled.active.newest_point());
    // A HEAD that is missing is not due before something is appended.
    let witnessed = settled.witnessed();
    let state = new_state(&storage, &options, settled, lock)?;
    let schedule = Schedule::default();
    if witnessed < durable {
        schedule.head_is_due(&options);
    }
    let shared = Shared {
        storage,
        options,
        owner: Owner::this_process(),
        log,
        first_segment,
        state: Mutex::new(state),
        released: Condvar::new(),
        commit: GroupCommit::new(Reached { durable, point, witnessed }),
        schedule,
    };
    Ok((shared, report))
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
    if has_lock(storage) {
        return Ok(());
    }
    let survey = survey_tail(storage)?;
    match row_for(&survey, options) {
        Row::Nothing if !options.create => Err(OpenError::NothingHere { path }),
        row if is_refusal(row) => Err(refused(storage, row, survey)),
        _ => Ok(()),
    }
}

fn has_lock<S: Storage>(storage: &S) -> bool {
    !matches!(storage.open(names::LOCK), Ok(None))
}

fn take_lock<S: Storage>(storage: &S, options: &Options) -> Result<S::Lock, OpenError> {
    acquire(storage, options.lock_wait).map_err(disk(storage))?.map_err(locked_by(storage))
}

fn new_state<S: Storage>(
    storage: &S,
    options: &Options,
    settled: Settled<S::Writer>,
    held: S::Lock,
) -> Result<State<S>, OpenError> {
    let before = lock::read(&held);
    let same_boot = before.filter(|lock| lock.boot == storage.boot());
    let mut state = State {
        head: settled.head,
        active: settled.active,
        preallocated: Preallocated::Nothing,
        rooms: Vec::new(),
        lock: None,
        looked: sync::now(),
        uses: LockUses::default(),
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
    let durable = state.active.chain().sequence;
    let content = lock_content(&state, owner_state, storage.boot(), durable);
    lock::write(&held, &content).map_err(disk(storage))?;
    match options.ownership {
        Ownership::PerTransaction => state.active.lock = None,
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
