//! The embedder's own code, as an engine calls it: which of it this thread is in, so that a call
//! from there which would wait for itself is an error at once, and what becomes of its panics.

use super::error::SubmitError;
use crate::sync::thread_local;
use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

/// Code of the embedder that an engine calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Callback {
    /// The closure of [`Engine::query`](super::Engine::query).
    Query,
    /// The [`Clock`](super::Clock).
    Clock,
    /// The [`EntropySource`](super::EntropySource).
    Entropy,
    /// A hook of [`Metrics`](super::Metrics).
    Metrics,
    /// What the engine's own thread calls: above all the callback of a [`Ticket`](super::Ticket).
    OwnThread,
}

impl fmt::Display for Callback {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Query => "the closure of `query`",
            Self::Clock => "the engine's clock",
            Self::Entropy => "the engine's source of entropy",
            Self::Metrics => "a hook of the engine's metrics",
            Self::OwnThread => "a callback on the engine's own thread",
        })
    }
}

/// An engine of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EngineId(u64);

/// A callback that this thread is in.
#[derive(Clone, Copy)]
struct Call {
    engine: EngineId,
    callback: Callback,
    /// True if the thread holds meanwhile what a turn of the engine would wait for.
    holds_turn: bool,
}

thread_local! {
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
    /// The first panic in the midst of work that has to go on first.
    static PANIC: RefCell<Option<Box<dyn Any + Send>>> = const { RefCell::new(None) };
}

impl EngineId {
    pub(super) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    /// Calls code of the embedder while this thread holds what a turn would wait for.
    pub(super) fn call<T>(self, callback: Callback, work: impl FnOnce() -> T) -> T {
        self.within(callback, true, work)
    }

    /// Calls code of the embedder while this thread holds nothing.
    pub(super) fn tell<T>(self, callback: Callback, work: impl FnOnce() -> T) -> T {
        self.within(callback, false, work)
    }

    fn within<T>(self, callback: Callback, holds_turn: bool, work: impl FnOnce() -> T) -> T {
        CALLS.with(|calls| calls.borrow_mut().push(Call { engine: self, callback, holds_turn }));
        let _leave = Leave;
        work()
    }

    /// Calls a hook in the midst of the log's own work: its panic waits until that is done.
    pub(super) fn hook(self, work: impl FnOnce()) {
        put_off_panic(|| self.call(Callback::Metrics, work));
    }

    /// The callback in which this thread holds what a turn would wait for.
    pub(super) fn turn_in(self) -> Option<Callback> {
        self.find(|call| call.holds_turn)
    }

    /// The callback that a ticket would wait for.
    pub(super) fn ticket_in(self) -> Option<Callback> {
        self.find(|call| call.holds_turn || call.callback == Callback::OwnThread)
    }

    /// Returns whether this thread is in any callback.
    pub(super) fn is_calling(self) -> bool {
        self.find(|_| true).is_some()
    }

    /// Checks that code of the embedder would not call itself without end.
    pub(super) fn expect_outside_of(self, callback: Callback) -> Result<(), SubmitError> {
        let found = self.find(|call| call.callback == callback);
        found.map_or(Ok(()), |inside| Err(SubmitError::Reentrant { inside }))
    }

    fn find(self, wanted: impl Fn(&Call) -> bool) -> Option<Callback> {
        CALLS.with(|calls| {
            let calls = calls.borrow();
            let found = calls.iter().rev().find(|call| call.engine == self && wanted(call));
            found.map(|call| call.callback)
        })
    }

    /// Checks that a turn would not wait for this very thread.
    pub(super) fn expect_outside(self) -> Result<(), SubmitError> {
        self.turn_in().map_or(Ok(()), |inside| Err(SubmitError::Reentrant { inside }))
    }
}

struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        CALLS.with(|calls| _ = calls.borrow_mut().pop());
    }
}

/// Does what may panic in the midst of something that has to go on first.
pub(super) fn put_off_panic(work: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
        PANIC.with(|first| _ = first.borrow_mut().get_or_insert(panic));
    }
}

/// Passes on the panic that was put off until now.
pub(super) fn pass_on_panic() {
    if let Some(panic) = PANIC.with(|first| first.borrow_mut().take()) {
        resume_unwind(panic);
    }
}
