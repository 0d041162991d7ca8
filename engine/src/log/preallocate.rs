//! The next segment, made ready in the background by an owner that keeps the lock, so that rolling
//! need not wait for it.
//!
//! # Invariants
//!
//! - A file made ahead is no segment and proves nothing: recovery removes it as it removes every
//!   prepared file, and rolling goes on without it where it is missing, too small or not ready.
//! - One thread at a time makes one, and has a part in the lock meanwhile: nobody else makes or
//!   names a file of that name.
//! - A disk that refuses, or is full, is no failure here: it is one when the segment is needed.

use super::error::AppendError;
use super::options::Ownership;
use super::roll::{self, Prepared};
use super::state::{Shared, State};
use super::storage::Storage;
use holdpoint_log_format::limits::next_capacity;
use std::sync::Arc;

/// The first sequence in a prepared file's name while it is not known yet. No segment has it.
const NOT_KNOWN: u64 = 0;

/// State of the segment made for the next roll.
#[derive(Debug)]
pub(super) enum Preallocated<W> {
    Nothing,
    /// The flusher was asked for it.
    Wanted,
    /// A thread is at it.
    Making,
    Ready(Prepared<W>),
    /// Made when it is needed.
    GivenUp,
}

impl<S: Storage> State<S> {
    /// Returns whether the next segment is worth making now: half of this one is used up.
    pub(super) fn wants_next(&self) -> bool {
        let active = &self.active;
        active.end_offset() >= active.header().capacity / 2
            && matches!(self.preallocated, Preallocated::Nothing)
    }

    /// The file made ahead, if it is one of `capacity` bytes and still there.
    pub(super) fn take_ahead(&mut self, storage: &S, capacity: u64) -> Option<Prepared<S::Writer>> {
        let prepared = match std::mem::replace(&mut self.preallocated, Preallocated::Nothing) {
            Preallocated::Ready(prepared) => prepared,
            Preallocated::Making => {
                self.preallocated = Preallocated::Making;
                return None;
            }
            Preallocated::Nothing | Preallocated::Wanted | Preallocated::GivenUp => return None,
        };
        if prepared.capacity != capacity {
            discard(storage, &prepared);
            return None;
        }
        // Whoever deletes what a log can do without has deleted no segment.
        matches!(storage.open(&prepared.path), Ok(Some(_))).then_some(prepared)
    }

    /// Removes what was made ahead: a log that is closed holds no space that it does not use.
    pub(super) fn discard_ahead(&mut self, storage: &S) {
        if let Preallocated::Ready(prepared) =
            std::mem::replace(&mut self.preallocated, Preallocated::GivenUp)
        {
            discard(storage, &prepared);
        }
    }

    fn next_capacity(&self) -> u64 {
        next_capacity(self.active.header().capacity, 0)
    }
}

impl<S: Storage> Shared<S> {
    /// Asks the flusher for the next segment, once, where it is to be made ahead at all.
    pub(super) fn want_next(&self, state: &mut State<S>) {
        let is_kept = self.options.ownership == Ownership::Exclusive;
        if is_kept && state.next_capacity() >= self.options.prepare_ahead {
            state.preallocated = Preallocated::Wanted;
            self.schedule.next_is_due();
        } else {
            state.preallocated = Preallocated::GivenUp;
        }
    }
}

/// Makes the next segment ready, unless one is or the owner gives the lock back between turns.
pub(super) fn prepare_next<S: Storage>(shared: &Shared<S>) -> Result<(), AppendError> {
    let Some((capacity, lock)) = order(shared)? else { return Ok(()) };
    let made = carry_out(shared, capacity);
    let mut state = shared.state.lock();
    // Where the log has rolled meanwhile, the next segment may be a larger one.
    let is_outgrown = state.next_capacity() != capacity;
    state.preallocated = match made {
        Some(prepared) if is_outgrown => {
            discard(&shared.storage, &prepared);
            Preallocated::Nothing
        }
        Some(prepared) => Preallocated::Ready(prepared),
        None => Preallocated::GivenUp,
    };
    // Behind the last call on the disk: where the handle has failed meanwhile, somebody else may
    // have the lock from here on.
    drop(lock);
    Ok(())
}

type OrderOf<S> = Option<(u64, Arc<<S as Storage>::Lock>)>;

/// Takes on the making of a segment of so many bytes, with a part in the lock.
fn order<S: Storage>(shared: &Shared<S>) -> Result<OrderOf<S>, AppendError> {
    shared.check_owner()?;
    let mut state = shared.state.lock();
    shared.check_usable()?;
    let is_kept = shared.options.ownership == Ownership::Exclusive;
    let is_there = matches!(state.preallocated, Preallocated::Making | Preallocated::Ready(_));
    let Some(lock) = state.lock.clone().filter(|_| is_kept && !is_there) else { return Ok(None) };
    state.preallocated = Preallocated::Making;
    Ok(Some((state.next_capacity(), lock)))
}

/// Makes the file and its place on the disk durable, which rolling then finds done; `None` when the
/// disk refuses, or the handle closes or fails meanwhile.
fn carry_out<S: Storage>(shared: &Shared<S>, capacity: u64) -> Option<Prepared<S::Writer>> {
    let storage = &shared.storage;
    let prepared = roll::reserve(storage, NOT_KNOWN, capacity).ok()?;
    let is_wanted = !shared.schedule.is_closing() && !shared.commit.has_failed();
    if is_wanted && storage.sync(&prepared.writer).is_ok() {
        return Some(prepared);
    }
    discard(storage, &prepared);
    None
}

/// Removes a file made ahead. Where that fails, recovery does it or the next one replaces it.
fn discard<S: Storage>(storage: &S, prepared: &Prepared<S::Writer>) {
    let _ = storage.remove(&prepared.path);
}
