//! The queue: where commands wait for their turn, first come, first served.

use super::callback::Callback;
use super::conditions::Conditions;
use super::engine::{Core, Submission};
use super::error::SubmitError;
use super::submit::Origin;
use super::ticket::{Outcome, Resolver, Ticket};
use crate::log::{AppendError, Storage};
use crate::sync::{self, Condvar, Mutex, thread};
use holdpoint_domain::Command;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;
use thiserror::Error;

/// Maximum number of commands that share one trip to the disk.
const PIPELINE_MAX: usize = 64;

/// Time that the first of them waits for others at most.
const PIPELINE_TIME: Duration = Duration::from_millis(10);

/// A command was not taken in: no ticket, and nothing is recorded for it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QueueError {
    /// The queue is full.
    #[error(
        "{capacity} commands wait already: wait for one of their tickets, then submit again, or \
         open the engine with a longer queue"
    )]
    Full {
        /// Number of commands that may wait.
        capacity: usize,
    },
    /// The engine's thread is gone.
    #[error("the engine takes in no command any more: open the log again")]
    Closed,
    /// The engine's thread could not be started.
    #[error("no thread for the commands that wait: {0}")]
    Thread(#[from] io::Error),
    /// This process is a forked child of the one that opened the log.
    #[error("the log was opened by process {owner}, and this is a forked child: open it again")]
    Forked {
        /// The process that opened it.
        owner: u32,
    },
}

/// The queue and the thread that serves it, which is started by the first command.
///
/// Closing or dropping the queue carries out what waits; the first command that fails then has all
/// behind it refused with `SubmitError::Closed`.
pub(super) struct SubmitQueue<S: Storage> {
    core: Arc<Core<S>>,
    queue: Arc<Queue>,
    worker: Mutex<Option<thread::JoinHandle<()>>>,
    owner: u32,
}

struct Queue {
    capacity: usize,
    state: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    /// Carried out and acknowledged, and nobody was told yet.
    settled: VecDeque<(Resolver, Outcome)>,
    is_closed: bool,
}

struct Job {
    origin: Origin,
    conditions: Conditions,
    command: Command,
    resolver: Resolver,
}

impl<S: Storage> SubmitQueue<S> {
    pub(super) fn new(core: Arc<Core<S>>, capacity: usize) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        let queue = Arc::new(Queue { capacity: capacity.max(1), state, changed });
        Self { core, queue, worker: Mutex::new(None), owner: std::process::id() }
    }

    /// Takes a command in, behind all that were taken in before.
    pub(super) fn take_in(
        &self,
        origin: Origin,
        conditions: Conditions,
        command: Command,
    ) -> Result<Ticket, QueueError> {
        // Before any mutex, which a thread that a forked child does not have may hold.
        if self.expect_owner().is_err() {
            return Err(QueueError::Forked { owner: self.owner });
        }
        self.start_worker()?;
        let (ticket, resolver) = Ticket::pair(self.core.id);
        self.queue.push(Job { origin, conditions, command, resolver })?;
        Ok(ticket)
    }

    fn start_worker(&self) -> Result<(), QueueError> {
        let mut worker = self.worker.lock();
        if self.queue.is_closed() {
            return Err(QueueError::Closed);
        }
        if worker.is_none() {
            let (queue, core) = (Arc::clone(&self.queue), Arc::downgrade(&self.core));
            let builder = thread::Builder::new().name("holdpoint-tickets".into());
            let id = self.core.id;
            let serve = move || id.tell(Callback::OwnThread, || serve(&queue, &core));
            *worker = Some(builder.spawn(serve)?);
        }
        Ok(())
    }

    /// Checks that this is the process that opened the engine.
    pub(super) fn expect_owner(&self) -> Result<(), AppendError> {
        let owner = self.owner;
        if std::process::id() == owner { Ok(()) } else { Err(AppendError::Forked { owner }) }
    }

    /// Takes in no more, and carries out what waits; its thread has ended then.
    pub(super) fn close(&self) {
        self.queue.close();
        let Some(worker) = self.worker.lock().take() else { return };
        if is_this_thread(worker.thread().id()) {
            // A callback ends the engine: its thread cannot wait for itself.
            serve(&self.queue, &Arc::downgrade(&self.core));
        } else {
            // The thread returns nothing, and a panic in it was already printed.
            let _ = worker.join();
        }
    }
}

impl<S: Storage> Drop for SubmitQueue<S> {
    fn drop(&mut self) {
        if self.expect_owner().is_ok() {
            self.close();
        } else {
            // A forked child does not have the thread.
            std::mem::forget(self.worker.get_mut().take());
        }
    }
}

fn is_this_thread(thread: thread::ThreadId) -> bool {
    thread::current().id() == thread
}

/// Carries out commands until the queue is closed and empty. However that ends, no command is left
/// behind without an answer.
fn serve<S: Storage>(queue: &Queue, core: &Weak<Core<S>>) {
    let _refusing_the_rest = RefuseTheRest(queue);
    // A callback that ends the engine is called before the tickets behind it are resolved.
    resolve_settled(queue);
    while let Some(first) = queue.pop() {
        let Some(core) = core.upgrade() else { return };
        let settled = settle(queue, &core, first);
        // Whoever is told may close the engine, which then must be nobody else's.
        drop(core);
        let has_failed = settled.iter().any(|(_, outcome)| outcome.is_err());
        let is_last = has_failed && queue.is_closed();
        queue.state.lock().settled.extend(settled);
        resolve_settled(queue);
        if is_last {
            return;
        }
    }
}

/// Resolves what is settled, in order: when a ticket is resolved, every callback before it has
/// returned, except one that is waiting for this very call.
fn resolve_settled(queue: &Queue) {
    while let Some((resolver, outcome)) = queue.pop_settled() {
        resolver.resolve(outcome);
    }
}

/// Carries out `first` and what waits behind it, each in its turn, and then goes to the disk once
/// for all of them. Behind a command that fails none is begun.
fn settle<S: Storage>(queue: &Queue, core: &Core<S>, first: Job) -> Vec<(Resolver, Outcome)> {
    let (mut begun, began) = (Vec::new(), sync::now());
    let mut next = Some(first);
    while let Some(Job { origin, conditions, command, resolver }) = next {
        let submission = guarded(|| core.begin(&origin, &conditions, &command));
        let is_ok = submission.is_ok();
        begun.push((resolver, submission));
        let is_early = sync::now().duration_since(began) < PIPELINE_TIME;
        let may_go_on = is_ok && begun.len() < PIPELINE_MAX && is_early;
        next = if may_go_on { queue.try_pop() } else { None };
    }
    let acknowledge = |submission: Submission<'_, S>| guarded(|| submission.acknowledged());
    let outcomes =
        begun.into_iter().map(|(resolver, begun)| (resolver, begun.and_then(acknowledge)));
    outcomes.collect()
}

/// A panic in a clock or a hook that the embedder gave was printed, and ends one command only.
fn guarded<T>(work: impl FnOnce() -> Result<T, SubmitError>) -> Result<T, SubmitError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(SubmitError::Panicked))
}

struct RefuseTheRest<'a>(&'a Queue);

impl Drop for RefuseTheRest<'_> {
    fn drop(&mut self) {
        self.0.close();
        let rest = std::mem::take(&mut self.0.state.lock().jobs);
        drop(rest);
    }
}

impl Queue {
    fn push(&self, job: Job) -> Result<(), QueueError> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(QueueError::Closed);
        }
        if state.jobs.len() >= self.capacity {
            return Err(QueueError::Full { capacity: self.capacity });
        }
        state.jobs.push_back(job);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// The next command; waits for one, and gives `None` when there will be none.
    fn pop(&self) -> Option<Job> {
        let mut state = self.state.lock();
        while state.jobs.is_empty() && !state.is_closed {
            self.changed.wait(&mut state);
        }
        state.jobs.pop_front()
    }

    /// The next command, if one waits.
    fn try_pop(&self) -> Option<Job> {
        self.state.lock().jobs.pop_front()
    }

    fn pop_settled(&self) -> Option<(Resolver, Outcome)> {
        self.state.lock().settled.pop_front()
    }

    fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }

    fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }
}
