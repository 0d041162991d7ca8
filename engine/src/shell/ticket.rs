//! A ticket: the answer to a command that was submitted without waiting for it.

use super::callback::EngineId;
use super::error::SubmitError;
use super::submit::Submitted;
use crate::sync::{self, Condvar, Mutex};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Result that [`Engine::submit`](super::Engine::submit) would have returned.
pub type Outcome = Result<Submitted, SubmitError>;

/// The answer to come of a command that was handed to
/// [`Engine::submit_later`](super::Engine::submit_later).
///
/// It is resolved with exactly what [`Engine::submit`](super::Engine::submit) would have returned,
/// at the engine's level of durability. Dropping it withdraws nothing: the command is carried out
/// all the same.
///
/// From async code, await it. It needs no particular runtime: the engine's own thread does the
/// waiting, and wakes the task once.
///
/// ```
/// # use holdpoint_domain::Command;
/// # use holdpoint_engine::Engine;
/// # use holdpoint_engine::shell::Origin;
/// # use std::error::Error;
/// async fn record(engine: &Engine, origin: &Origin, command: &Command) -> Result<(), Box<dyn
/// Error>> {
///     let receipt = engine.submit_later(origin, (), command)?.await?.accepted()?;
///     // From here on the command is on the disk.
///     println!("{}", receipt.last_sequence);
///     Ok(())
/// }
/// ```
#[must_use = "a ticket that is dropped tells nobody what became of the command"]
#[derive(Debug)]
pub struct Ticket {
    slot: Arc<Slot>,
}

/// The other end of a ticket. Dropped before it resolved the ticket, it resolves it with
/// [`SubmitError::Closed`]: no ticket waits for ever.
#[derive(Debug)]
pub(super) struct Resolver {
    slot: Arc<Slot>,
}

#[derive(Debug)]
struct Slot {
    engine: EngineId,
    state: Mutex<TicketState>,
    resolved: Condvar,
}

enum TicketState {
    /// Nothing is known yet; whom to wake, if a task waits.
    Pending(Option<Waker>),
    /// Nothing is known yet; whom to call.
    Called(Box<dyn FnOnce(Outcome) + Send>),
    Resolved(Outcome),
    /// The outcome was given.
    Taken,
}

impl std::fmt::Debug for TicketState {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Pending(_) | Self::Called(_) => "pending",
            Self::Resolved(_) => "resolved",
            Self::Taken => "taken",
        })
    }
}

impl Ticket {
    /// A ticket and what resolves it.
    pub(super) fn pair(engine: EngineId) -> (Self, Resolver) {
        let state = Mutex::new(TicketState::Pending(None));
        let slot = Arc::new(Slot { engine, state, resolved: Condvar::new() });
        (Self { slot: Arc::clone(&slot) }, Resolver { slot })
    }

    /// Returns whether waiting would return at once.
    #[must_use]
    pub fn is_resolved(&self) -> bool {
        self.slot.state.lock().is_resolved()
    }

    /// The outcome, if it is known by now.
    ///
    /// # Errors
    /// The ticket itself: nothing is known yet.
    pub fn poll(self) -> Result<Outcome, Self> {
        let outcome = self.slot.state.lock().take();
        outcome.ok_or(self)
    }

    /// Waits for the outcome.
    ///
    /// # Errors
    /// As [`Engine::submit`](super::Engine::submit); [`SubmitError::Closed`] when the engine closed
    /// before the command's turn came, and [`SubmitError::Reentrant`] inside of a callback for
    /// which the engine's own thread waits: the command is carried out all the same.
    pub fn wait(self) -> Outcome {
        let mut state = self.slot.state.lock();
        loop {
            match self.slot.known(&mut state) {
                Some(outcome) => return outcome,
                None => self.slot.resolved.wait(&mut state),
            }
        }
    }

    /// Waits for the outcome, at most this long.
    ///
    /// # Errors
    /// The ticket itself: nothing is known yet.
    pub fn wait_timeout(self, timeout: Duration) -> Result<Outcome, Self> {
        let Some(deadline) = sync::now().checked_add(timeout) else { return Ok(self.wait()) };
        let mut state = self.slot.state.lock();
        loop {
            if let Some(outcome) = self.slot.known(&mut state) {
                return Ok(outcome);
            }
            if self.slot.resolved.wait_until(&mut state, deadline).timed_out() {
                let outcome = state.take();
                drop(state);
                return outcome.ok_or(self);
            }
        }
    }

    /// Calls `callback` with the outcome: on the engine's thread as soon as it is known, or here
    /// and now when it is known already. The tickets behind this one wait for the callback to
    /// return. It may submit, and may drop or close the engine, and may not wait for a ticket; a
    /// panic in it ends nothing but itself there, and passes on here.
    pub fn on_done(self, callback: impl FnOnce(Outcome) + Send + 'static) {
        let mut state = self.slot.state.lock();
        match state.take() {
            Some(outcome) => {
                drop(state);
                callback(outcome);
            }
            None => *state = TicketState::Called(Box::new(callback)),
        }
    }
}

impl Future for Ticket {
    type Output = Outcome;

    /// Ready once. A ticket that is polled again after that says [`SubmitError::Taken`].
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let mut state = self.slot.state.lock();
        if let Some(outcome) = state.take() {
            return Poll::Ready(outcome);
        }
        // The waker of the latest poll counts; the one before is dropped when the lock is released.
        let before = mem::replace(&mut *state, TicketState::Pending(Some(context.waker().clone())));
        drop(state);
        drop(before);
        Poll::Pending
    }
}

impl Resolver {
    /// Resolves the ticket and tells whoever waits for it, outside of every lock.
    pub(super) fn resolve(self, outcome: Outcome) {
        self.slot.resolve(outcome);
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.slot.resolve(Err(SubmitError::Closed));
    }
}

impl Slot {
    /// The outcome, or why no wait would bring it.
    fn known(&self, state: &mut TicketState) -> Option<Outcome> {
        let inside = || Some(Err(SubmitError::Reentrant { inside: self.engine.ticket_in()? }));
        state.take().or_else(inside)
    }

    /// The first outcome counts.
    fn resolve(&self, outcome: Outcome) {
        let mut state = self.state.lock();
        let told: Box<dyn FnOnce()> = match mem::replace(&mut *state, TicketState::Taken) {
            TicketState::Pending(waker) => {
                *state = TicketState::Resolved(outcome);
                Box::new(move || waker.into_iter().for_each(Waker::wake))
            }
            TicketState::Called(callback) => Box::new(move || callback(outcome)),
            known => {
                *state = known;
                return;
            }
        };
        drop(state);
        self.resolved.notify_all();
        // Somebody else's code: its panic was printed, and the tickets behind this one go on.
        let _ = catch_unwind(AssertUnwindSafe(told));
    }
}

impl TicketState {
    fn is_resolved(&self) -> bool {
        matches!(self, Self::Resolved(_) | Self::Taken)
    }

    /// The outcome, once; after that the fact that it was given.
    fn take(&mut self) -> Option<Outcome> {
        if !self.is_resolved() {
            return None;
        }
        match mem::replace(self, Self::Taken) {
            Self::Resolved(outcome) => Some(outcome),
            _ => Some(Err(SubmitError::Taken)),
        }
    }
}
