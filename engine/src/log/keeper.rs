//! The keeper: one background thread per handle that syncs what `Interval` promised and lets HEAD
//! follow within a second, off the path of every append.

use super::handle::{KEEPER_RETRY, Shared, after};
use super::storage::Storage;
use super::turn::Turn;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long the keeper waits for another process's lock: callers of the handle wait meanwhile.
const LOCK_WAIT: Duration = Duration::from_millis(20);

/// The thread; dropping it waits for its end, which the closing handle has asked for.
pub(super) struct Keeper(Option<JoinHandle<()>>);

impl Keeper {
    pub(super) fn start<S: Storage>(shared: &Arc<Shared<S>>) -> io::Result<Self> {
        let shared = Arc::clone(shared);
        let thread = std::thread::Builder::new().name("holdpoint-keeper".into());
        Ok(Self(Some(thread.spawn(move || keep(&shared))?)))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // The thread returns nothing, and a panic in it was already printed.
            let _ = thread.join();
        }
    }
}

fn keep<S: Storage>(shared: &Shared<S>) {
    while let Some(due) = wait_until_due(shared) {
        tend(shared, &due);
    }
}

/// What is due now.
struct Due {
    sync: bool,
    head: bool,
}

/// Waits until something is due; `None` when the handle closes.
fn wait_until_due<S: Storage>(shared: &Shared<S>) -> Option<Due> {
    let mut state = shared.state.lock();
    loop {
        if state.closing || state.poison.is_some() {
            return None;
        }
        let now = Instant::now();
        let is_due = |time: Option<Instant>| time.is_some_and(|time| time <= now);
        let due = Due { sync: is_due(state.sync_due), head: is_due(state.head_due) };
        if due.sync || due.head {
            return Some(due);
        }
        match state.sync_due.into_iter().chain(state.head_due).min() {
            Some(next) => drop(shared.wake.wait_until(&mut state, next)),
            None => shared.wake.wait(&mut state),
        }
    }
}

/// Does what is due, in a turn: HEAD is replaced only under the lock, and a failed sync is in LOCK
/// before anybody else can append. A failure poisons the handle: the next append says so.
fn tend<S: Storage>(shared: &Shared<S>, due: &Due) {
    let state = shared.state.lock();
    if state.closing {
        return;
    }
    match Turn::begin_within(shared, state, LOCK_WAIT) {
        Ok(mut turn) => {
            if due.sync && turn.sync().is_err() {
                return;
            }
            if due.head {
                let _ = turn.follow_with_head();
            }
        }
        Err(_) => postpone(shared, due),
    }
}

/// The lock is not to be had: nothing is lost by trying again.
fn postpone<S: Storage>(shared: &Shared<S>, due: &Due) {
    let mut state = shared.state.lock();
    let later = after(KEEPER_RETRY);
    if due.sync {
        state.sync_due = later;
    }
    if due.head {
        state.head_due = later;
    }
}
