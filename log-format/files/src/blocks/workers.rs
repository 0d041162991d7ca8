//! The threads that check the blocks of a run. Whoever is free cuts the next block into a buffer of
//! its own, hands the place behind it on, and checks what it has just read, while that is in its
//! processor's cache. Answers are taken in the order of the blocks.

use super::BlockLength;
use super::check::{Checked, check};
use super::cut::{Block, Cutter};
use crate::run::RecordPlace;
use crate::storage::ReadFile;
use holdpoint_log_format::{Record, RecordHeader};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{io, mem, thread};

/// Makes something of a record whose frame, link and place hold if those before it do. It is called
/// in any thread.
pub type Make<'m, T> = dyn Fn(&RecordPlace, &Record<'_>) -> T + Sync + 'm;

/// Goes once more over what was made of a block's records, in their order: what is cheaper for many
/// at once is left to it. It is called in the thread that made them.
pub type Complete<'m, T> = dyn Fn(&mut [T]) + Sync + 'm;

/// Buffers in which a thread makes an answer, block after block.
pub(super) struct Room<T> {
    /// For a block's bytes.
    pub(super) bytes: Vec<u8>,
    /// For the headers of its records.
    pub(super) headers: Vec<RecordHeader>,
    /// For what is made of them.
    pub(super) made: Vec<T>,
}

impl<T> Default for Room<T> {
    fn default() -> Self {
        Self { bytes: Vec::new(), headers: Vec::new(), made: Vec::new() }
    }
}

/// Way in which runs are checked: by how many threads, in blocks of which length, and what is made
/// of each record.
pub struct Workers<'m, T> {
    make: &'m Make<'m, T>,
    complete: Option<&'m Complete<'m, T>>,
    threads: usize,
    pub(super) length: BlockLength,
    /// Rooms to use again: they are large, and the system clears memory before it hands it out.
    /// Each thread has its own back, for what another one wrote lies in the cache of another
    /// processor.
    rooms: Vec<Mutex<Vec<Room<T>>>>,
}

impl<'m, T> Workers<'m, T> {
    /// So many threads, the calling one among them. They are started where a run is long enough
    /// for them: with one, none ever is.
    #[must_use]
    pub fn new(threads: usize, length: BlockLength, make: &'m Make<'m, T>) -> Self {
        let threads = threads.max(1);
        let rooms = (0..threads).map(|_| Mutex::default()).collect();
        Self { make, complete: None, threads, length, rooms }
    }

    /// The same, which also complete what was made of each block.
    #[must_use]
    pub fn completing(self, complete: &'m Complete<'m, T>) -> Self {
        Self { complete: Some(complete), ..self }
    }

    pub(super) fn make(&self, place: &RecordPlace, record: &Record<'_>) -> T {
        (self.make)(place, record)
    }

    pub(super) fn complete(&self, made: &mut [T]) {
        if let Some(complete) = self.complete {
            complete(made);
        }
    }

    /// Counts the blocks that are read before they are needed: alone, each is checked while it is
    /// in the processor's cache.
    fn blocks_ahead(&self) -> usize {
        if self.threads == 1 { 1 } else { 2 * self.threads }
    }

    /// Returns the maximum number of bytes that there are besides one block.
    fn bytes_ahead(&self) -> usize {
        self.blocks_ahead().saturating_mul(self.length.most)
    }

    /// A room that this thread had before, or a new one.
    fn room(&self, thread: usize) -> Room<T> {
        self.rooms.get(thread).and_then(|rooms| lock(rooms).pop()).unwrap_or_default()
    }

    /// Keeps a room for the thread that had it, unless a large record made it large.
    pub(super) fn give_back(&self, thread: usize, mut room: Room<T>) {
        room.headers.clear();
        room.made.clear();
        if let Some(rooms) = self.rooms.get(thread)
            && room.bytes.capacity() <= self.length.most
        {
            lock(rooms).push(room);
        }
    }
}

/// The blocks of one run, from cutting to the last answer.
pub(super) struct Line<'w, 'f, 'm, F, T> {
    workers: &'w Workers<'m, T>,
    /// Locked while a block is cut, and before `state` wherever both are.
    cutter: Mutex<Cutter<'f, F>>,
    state: Mutex<State<T>>,
    /// A block was checked, there is room for another one, or there will be no more.
    changed: Condvar,
}

struct State<T> {
    /// Blocks that were cut.
    cut: u64,
    /// Blocks whose answers were taken.
    taken: u64,
    /// Bytes of the blocks in between.
    bytes: usize,
    /// Answers that wait for those before them, by the numbers of their blocks.
    checked: BTreeMap<u64, Checked<T>>,
    /// Nothing more is to be cut: the run has ended, the disk failed, or nobody needs it.
    is_closed: bool,
    /// Error of the disk behind the blocks that were cut.
    failed: Option<io::Error>,
    /// A thread panicked, and its answer will not come.
    is_broken: bool,
}

impl<'w, 'f, 'm, F: ReadFile, T: Send> Line<'w, 'f, 'm, F, T> {
    pub(super) fn new(workers: &'w Workers<'m, T>, cutter: Cutter<'f, F>) -> Self {
        let state = State {
            cut: 0,
            taken: 0,
            bytes: 0,
            checked: BTreeMap::new(),
            is_closed: false,
            failed: None,
            is_broken: false,
        };
        let (cutter, state) = (Mutex::new(cutter), Mutex::new(state));
        Self { workers, cutter, state, changed: Condvar::new() }
    }

    /// Runs `work` with this line; whatever ends it ends the other threads.
    pub(super) fn with<R>(
        &self,
        work: impl FnOnce(&mut dyn FnMut() -> Option<Checked<T>>) -> R,
    ) -> R
    where
        F: Sync,
    {
        thread::scope(|scope| {
            let _closed = Closing(self);
            let mut is_alone = true;
            work(&mut || {
                if is_alone && (self.workers.threads > 1 && lock(&self.cutter).is_long()) {
                    is_alone = false;
                    for thread in 1..self.workers.threads {
                        // Where no thread can be had, fewer do the same.
                        let _ = thread::Builder::new()
                            .spawn_scoped(scope, move || self.check_all(thread));
                    }
                }
                self.next()
            })
        })
    }

    /// Returns what the disk said behind the last block.
    pub(super) fn failure(self) -> Option<io::Error> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).failed
    }

    /// The next block in order, checked. As long as another thread has it, this one checks too.
    fn next(&self) -> Option<Checked<T>> {
        loop {
            if let Some(checked) = self.take() {
                return Some(checked);
            }
            if !self.check_one(0) && !self.wait_for_answer() {
                return None;
            }
        }
    }

    /// The answer that is due, if it is there.
    fn take(&self) -> Option<Checked<T>> {
        let mut state = lock(&self.state);
        let number = state.taken;
        let checked = state.checked.remove(&number)?;
        state.taken += 1;
        state.bytes = state.bytes.saturating_sub(checked.block.bytes.len());
        drop(state);
        self.changed.notify_all();
        Some(checked)
    }

    /// Waits for the answer that is due; `false` when there is none to come.
    fn wait_for_answer(&self) -> bool {
        let mut state = lock(&self.state);
        while !state.checked.contains_key(&state.taken) {
            if state.taken == state.cut {
                return false;
            }
            // That panic goes on when the threads are joined.
            assert!(!state.is_broken, "a thread that checks records panicked");
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        true
    }

    /// Checks blocks until there are no more.
    fn check_all(&self, thread: usize) {
        let _told = Telling(self);
        loop {
            while self.check_one(thread) {}
            let mut state = lock(&self.state);
            while !state.is_closed && !self.has_room(&state) {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.is_closed {
                return;
            }
        }
    }

    /// Cuts a block and checks it; `false` when there is none, or no room.
    fn check_one(&self, thread: usize) -> bool {
        let Some((number, block, room)) = self.cut_one(thread) else { return false };
        let checked = check(block, thread, room, self.workers);
        lock(&self.state).checked.insert(number, checked);
        self.changed.notify_all();
        true
    }

    /// Nothing is read ahead beyond what the threads need, so that memory does not grow with the
    /// log. One block is always wanted.
    fn has_room(&self, state: &State<T>) -> bool {
        let blocks = state.cut - state.taken;
        blocks == 0
            || blocks < self.workers.blocks_ahead() as u64
                && state.bytes < self.workers.bytes_ahead()
    }

    /// Cuts a block into a room of this thread's.
    fn cut_one(&self, thread: usize) -> Option<(u64, Block, Room<T>)> {
        let mut cutter = lock(&self.cutter);
        let is_wanted = {
            let state = lock(&self.state);
            !state.is_closed && self.has_room(&state)
        };
        let mut room = is_wanted.then(|| self.workers.room(thread))?;
        let cut = cutter.next_block(mem::take(&mut room.bytes));
        let mut state = lock(&self.state);
        state.is_closed |= cut.is_err() || cutter.has_ended();
        match cut {
            Ok(block) => {
                let number = state.cut;
                state.cut += 1;
                state.bytes = state.bytes.saturating_add(block.bytes.len());
                Some((number, block, room))
            }
            Err(error) => {
                state.failed = Some(error);
                None
            }
        }
    }
}

/// Ends the other threads when it goes out of scope.
struct Closing<'l, 'w, 'f, 'm, F, T>(&'l Line<'w, 'f, 'm, F, T>);

impl<F, T> Drop for Closing<'_, '_, '_, '_, F, T> {
    fn drop(&mut self) {
        lock(&self.0.state).is_closed = true;
        self.0.changed.notify_all();
    }
}

/// Tells that its thread panicked, if it did.
struct Telling<'l, 'w, 'f, 'm, F, T>(&'l Line<'w, 'f, 'm, F, T>);

impl<F, T> Drop for Telling<'_, '_, '_, '_, F, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut state = lock(&self.0.state);
            (state.is_broken, state.is_closed) = (true, true);
            drop(state);
            self.0.changed.notify_all();
        }
    }
}

/// Nothing that these locks hold is half done when a thread panics under one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
