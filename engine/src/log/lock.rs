//! Taking the lock with a bounded wait, and what LOCK says while it is held.

use super::active::{DiskResult, IoContext};
use super::storage::{Board, LockFile, Storage};
use super::turn_queue;
use crate::sync::{self, thread};
use holdpoint_log_files::ReadFile;
use holdpoint_log_format::board::{Appended, under_lock};
use holdpoint_log_format::limits::LOCK_FILE_LENGTH;
use holdpoint_log_format::{BootId, Lock, OwnerState, names};
use std::time::Duration;

/// Time that to sleep between two tries.
const RETRY: Duration = Duration::from_millis(5);

/// The lock is somebody else's.
#[derive(Debug)]
pub(super) struct LockHolder {
    pub(super) pid: u32,
    pub(super) waited: Duration,
}

/// Takes the lock within `wait`, in the order in which processes came where this disk has a board;
/// the inner error names who holds it.
pub(super) fn acquire<S: Storage>(
    storage: &S,
    board: Option<&dyn Board>,
    wait: Duration,
    ahead: &mut dyn FnMut(),
) -> DiskResult<Result<S::Lock, LockHolder>> {
    if let Some(board) = board {
        return turn_queue::acquire(storage, board, wait, ahead);
    }
    let mut attempt = || storage.try_lock().named("lock", names::LOCK);
    until(wait, &mut attempt, || holder(storage))
}

/// Tries until it has a lock or `wait` is over; the inner error names who holds it.
pub(super) fn until<L>(
    wait: Duration,
    attempt: &mut dyn FnMut() -> DiskResult<Option<L>>,
    holder: impl FnOnce() -> u32,
) -> DiskResult<Result<L, LockHolder>> {
    let began = sync::now();
    loop {
        if let Some(lock) = attempt()? {
            return Ok(Ok(lock));
        }
        let waited = sync::now().duration_since(began);
        if waited >= wait {
            return Ok(Err(LockHolder { pid: holder(), waited }));
        }
        thread::sleep(RETRY.min(wait - waited));
    }
}

/// Leaves the lock alone for longer than any other process pauses between two tries.
pub(super) fn let_others_in() {
    thread::sleep(RETRY * 2);
}

/// Returns what LOCK says, when it can be read.
pub(super) fn read(lock: &impl LockFile) -> Option<Lock> {
    lock.read().ok().and_then(|bytes| Lock::decode(&bytes).ok())
}

/// Says that recovery goes on, leaving what the verdict depends on as the previous owner left it.
pub(super) fn mark_recovering(lock: &impl LockFile) -> DiskResult<()> {
    let before = read(lock).unwrap_or(unknown_owner());
    let recovering = Lock {
        pid: std::process::id(),
        state: OwnerState::Recovering,
        previous_state: before.verdict_state(),
        ..before
    };
    write(lock, &recovering)
}

/// Says that a new log is made. What LOCK says of another one that was in its place is over.
pub(super) fn mark_creating(lock: &impl LockFile) -> DiskResult<()> {
    // What was said of shared syncs, and of who waits, was said of that one.
    lock.write(&[0; LOCK_FILE_LENGTH]).named("write", names::LOCK)?;
    write(lock, &Lock { pid: std::process::id(), ..unknown_owner() })
}

/// Says that the tail is about to be overwritten: from here on a crash may leave any mixture of its
/// bytes and zeros, and the copy beside it is whole.
pub(super) fn mark_overwriting(lock: &impl LockFile) -> DiskResult<()> {
    let before = read(lock).unwrap_or(unknown_owner());
    let (state, previous_state) = (OwnerState::Recovering, OwnerState::Recovering);
    write(lock, &Lock { pid: std::process::id(), state, previous_state, ..before })
}

/// Says that a write or sync failed, at once: the process may end before it gives the lock back.
pub(super) fn mark_poisoned(lock: &impl LockFile) -> DiskResult<()> {
    let before = read(lock).unwrap_or(unknown_owner());
    let (state, previous_state) = (OwnerState::Poisoned, OwnerState::Poisoned);
    write(lock, &Lock { state, previous_state, ..before })
}

/// Writes what this owner does.
pub(super) fn write(lock: &impl LockFile, content: &Lock) -> DiskResult<()> {
    lock.write(&content.encode()).named("write", names::LOCK)
}

/// The process that has the lock: as the system says, else as LOCK says of an owner that has not
/// left; 0 when neither does.
pub(super) fn holder<S: Storage>(storage: &S) -> u32 {
    storage.lock_holder(names::LOCK).unwrap_or_else(|| {
        let mut bytes = [0; LOCK_FILE_LENGTH];
        let file = storage.open(names::LOCK).ok().flatten();
        let read = file.and_then(|file| file.read_at(0, &mut bytes).ok()).unwrap_or(0);
        let lock = bytes.get(..read).and_then(|bytes| Lock::decode(bytes).ok());
        lock.filter(|lock| lock.state != OwnerState::Idle).map_or(0, |lock| lock.pid)
    })
}

/// Writes what this owner does and what it has appended.
pub(super) fn write_all(
    lock: &impl LockFile,
    content: &Lock,
    appended: Appended,
) -> DiskResult<()> {
    lock.write(&under_lock(content, appended)).named("write", names::LOCK)
}

/// An owner of whom nothing is known: no verdict depends on it.
fn unknown_owner() -> Lock {
    Lock {
        pid: 0,
        state: OwnerState::Recovering,
        previous_state: OwnerState::Recovering,
        boot: BootId::UNKNOWN,
        durable_sequence: 0,
        wall_minus_boot: 0,
    }
}
