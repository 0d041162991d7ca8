//! The end of an engine: who ends it, who waits for that, and whom it wakes.

use super::callback::{EngineId, pass_on_panic, put_off_panic};
use super::engine::{Core, Engine};
use crate::log::{AppendError, CloseError, Storage};
use crate::sync::{Condvar, Mutex, thread};
use std::io::{self, PipeReader, PipeWriter, Write, pipe};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Progress of an engine's end.
#[derive(Default)]
pub(super) struct Closing {
    phase: Mutex<Phase>,
    ended: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Open,
    By(thread::ThreadId),
    Ended,
}

impl Closing {
    /// The right to end the engine; `None` where that was done. Whoever is not in a callback of the
    /// engine, for which the other one may wait, waits until it was.
    pub(super) fn begin(&self, engine: EngineId) -> Option<Ending<'_>> {
        let own = thread::current().id();
        let mut phase = self.phase.lock();
        loop {
            match *phase {
                Phase::Open => {
                    *phase = Phase::By(own);
                    return Some(Ending(self));
                }
                Phase::By(other) if other != own && !engine.is_calling() => {
                    self.ended.wait(&mut phase);
                }
                Phase::By(_) | Phase::Ended => return None,
            }
        }
    }
}

/// The end that is under way, also where a panic cuts it short.
pub(super) struct Ending<'a>(&'a Closing);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        *self.0.phase.lock() = Phase::Ended;
        self.0.ended.notify_all();
    }
}

/// Wakes those who wait by poll(2).
#[derive(Default)]
pub(super) struct CloseSignal {
    is_given: AtomicBool,
    /// Made by the first who waits: can be read once the engine is closed.
    pipe: OnceLock<Option<(PipeReader, PipeWriter)>>,
}

impl CloseSignal {
    /// Returns a descriptor that can be read once the engine is closed; `None` where the process
    /// has no more: then a wait looks once a second.
    pub(super) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let (reader, writer) = self.pipe.get_or_init(|| pipe().ok()).as_ref()?;
        if self.is_given() {
            // Given before there was a pipe.
            let _ = wake(writer);
        }
        Some(reader.as_fd())
    }

    pub(super) fn is_given(&self) -> bool {
        self.is_given.load(Ordering::SeqCst)
    }

    pub(super) fn give(&self) {
        self.is_given.store(true, Ordering::SeqCst);
        if let Some((_, writer)) = self.pipe.get().and_then(Option::as_ref) {
            // An empty pipe has room for a byte.
            let _ = wake(writer);
        }
    }
}

fn wake(mut writer: &PipeWriter) -> io::Result<()> {
    writer.write_all(&[0])
}

impl<S: Storage> Engine<S> {
    /// Ends the engine, for all who share it. Carries out the commands that wait for their turn,
    /// makes everything durable, lets HEAD name it, leaves the lock cleanly, and ends the engine's
    /// threads. When one of those commands fails, the ones behind it are refused with
    /// [`SubmitError::Closed`](super::SubmitError::Closed).
    ///
    /// Then whoever waits is told `Closed`: for a decision, for a person's answer in a run, for a
    /// record of a subscription, once it has given all that is durable. So is whoever calls
    /// afterwards. A question that is open stays so on the log; what a command prints that is under
    /// way goes to its run's own file, and the next writer takes it up.
    ///
    /// Closing again does nothing. From the callback of a ticket it closes too; from a
    /// [`Callback`](super::Callback) within a turn it is refused.
    ///
    /// # Errors
    /// See [`CloseError`]. The engine is closed all the same, unless it is
    /// [`CloseError::Reentrant`].
    pub fn close(&self) -> Result<(), CloseError> {
        self.end(None)
    }

    /// Closes like [`Engine::close`], where another process may keep the log's lock: it is not
    /// waited for. What was acknowledged is durable; HEAD, and what a last record would have told,
    /// are left to the next writer where the lock is not free.
    ///
    /// # Errors
    /// As [`Engine::close`], but for the lock.
    pub fn close_without_waiting(&self) -> Result<(), CloseError> {
        match self.end(Some(Duration::ZERO)) {
            Err(CloseError::Append(AppendError::Locked { .. })) => Ok(()),
            closed => closed,
        }
    }

    fn end(&self, wait: Option<Duration>) -> Result<(), CloseError> {
        // Before any mutex, which a thread that a forked child does not have may hold.
        self.queue.expect_owner()?;
        let id = self.core.id;
        id.turn_in().map_or(Ok(()), |inside| Err(CloseError::Reentrant(inside)))?;
        let Some(_ending) = self.closing.begin(id) else { return Ok(()) };
        self.queue.close();
        let closed = self.core.close(wait);
        self.close_notice.give();
        pass_on_panic();
        closed
    }
}

impl<S: Storage> Core<S> {
    /// Ends it, where the log's lock is waited for no longer than `wait`.
    fn close(&self, wait: Option<Duration>) -> Result<(), CloseError> {
        if wait.is_none() {
            if let Some(hot) = self.hot.lock().as_mut() {
                hot.lookup.indexer.finish();
            }
            // Without it the next opening reads more: closing does not fail for it.
            put_off_panic(|| drop(super::submit::before_close(self)));
        }
        let mut hot = self.hot.lock();
        self.closed.give();
        drop(hot.take());
        drop(hot);
        match wait {
            Some(wait) => self.log.close_within(wait),
            None => self.log.close(),
        }
    }
}
