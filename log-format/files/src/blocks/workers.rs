//! The threads that check blocks. Blocks are queued in order, whoever is free takes the oldest one,
//! and each answer has a channel of its own, so that answers are taken in order as well.

use super::BlockLength;
use super::check::{Checked, check};
use super::cut::Block;
use crate::run::RecordPlace;
use holdpoint_log_format::Record;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// Makes something of a record whose frame, link and place hold if those before it do. It is called
/// in any thread.
pub type Make<'m, T> = dyn Fn(&RecordPlace, &Record<'_>) -> T + Sync + 'm;

/// More buffers than this are not kept.
const BUFFERS_MAX: usize = 64;

/// Threads that check blocks, the calling one among them.
pub struct Workers<'q, T> {
    queue: &'q Queue<T>,
    make: &'q Make<'q, T>,
    threads: usize,
    length: BlockLength,
    buffers: Vec<Vec<u8>>,
}

/// Runs `work` with so many threads that check, the calling one among them: with one, nothing is
/// started. What is made of each record is made by `make`.
pub fn with_workers<T: Send, R>(
    threads: usize,
    length: BlockLength,
    make: &Make<'_, T>,
    work: impl FnOnce(&mut Workers<'_, T>) -> R,
) -> R {
    let queue = Queue::default();
    thread::scope(|scope| {
        // Dropped when `work` returns, and when it panics: the threads then end.
        let open = Open(&queue);
        for _ in 1..threads {
            scope.spawn(|| queue.work(make));
        }
        let buffers = Vec::new();
        let threads = threads.max(1);
        work(&mut Workers { queue: open.0, make, threads, length, buffers })
    })
}

impl<T: Send> Workers<'_, T> {
    /// Queues a block; its answer comes through the channel.
    pub(super) fn submit(&mut self, block: Block) -> Receiver<Checked<T>> {
        let (answer, result) = sync_channel(1);
        self.queue.push(Job { block, answer });
        result
    }

    /// Checks the oldest block that no thread has taken; `false` when there is none.
    pub(super) fn check_one(&self) -> bool {
        self.queue.try_take().map(|job| job.run(self.make)).is_some()
    }
}

impl<T> Workers<'_, T> {
    pub(super) fn block_length(&self) -> BlockLength {
        self.length
    }

    /// How many blocks are read before they are needed: alone, each is checked while it is in the
    /// processor's cache.
    pub(super) fn blocks_ahead(&self) -> usize {
        if self.threads == 1 { 1 } else { 2 * self.threads }
    }

    /// How many bytes are, at most, besides one block.
    pub(super) fn bytes_ahead(&self) -> usize {
        self.blocks_ahead().saturating_mul(self.length.most)
    }

    /// A buffer to use again.
    pub(super) fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_default()
    }

    /// Keeps a buffer, unless a large record made it large.
    pub(super) fn give_back(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() <= self.length.most && self.buffers.len() < BUFFERS_MAX {
            self.buffers.push(buffer);
        }
    }

    /// Nobody needs the blocks that are still queued.
    pub(super) fn forget_queued(&self) {
        self.queue.lock().jobs.clear();
    }
}

/// A block to check, and where to.
struct Job<T> {
    block: Block,
    answer: SyncSender<Checked<T>>,
}

impl<T> Job<T> {
    fn run(self, make: &Make<'_, T>) {
        // Whoever asked may have had enough.
        let _ = self.answer.send(check(self.block, make));
    }
}

/// Blocks that no thread has taken yet, oldest first.
struct Queue<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    jobs: VecDeque<Job<T>>,
    is_closed: bool,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        let state = State { jobs: VecDeque::new(), is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<T> Queue<T> {
    /// No code under this lock can panic half done.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, job: Job<T>) {
        self.lock().jobs.push_back(job);
        self.changed.notify_one();
    }

    fn try_take(&self) -> Option<Job<T>> {
        self.lock().jobs.pop_front()
    }

    /// Checks blocks until the queue is closed.
    fn work(&self, make: &Make<'_, T>) {
        while let Some(job) = self.take() {
            job.run(make);
        }
    }

    fn take(&self) -> Option<Job<T>> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Closes a queue when it goes out of scope.
struct Open<'q, T>(&'q Queue<T>);

impl<T> Drop for Open<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.is_closed = true;
        state.jobs.clear();
        drop(state);
        self.0.changed.notify_all();
    }
}
