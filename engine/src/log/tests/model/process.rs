//! A process of a model: its locks, how long it lives, and LOCK as it sees it.
//!
//! A process that is killed makes no call any more: what it held is free, what it wrote stays, and
//! what its thread still does changes nothing.

use super::disk::{ModelDisk, ModelFile};
use crate::log::{Board, LockFile};
use crate::sync::thread::{sleep, yield_now};
use holdpoint_log_format::board::Ticket;
use holdpoint_log_format::limits::LOCK_FILE_LENGTH;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// Number of calls a process makes before it is killed; its number is of no meaning.
#[derive(Clone, Debug)]
pub(super) struct Life {
    number: u64,
    left: Arc<AtomicI64>,
}

impl Default for Life {
    fn default() -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let left = Arc::new(AtomicI64::new(i64::MAX));
        Self { number: NUMBERS.fetch_add(1, Ordering::Relaxed), left }
    }
}

/// Which process holds what.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) lock: Option<u64>,
    pub(super) sync: Option<u64>,
    /// Segments, by the number of the file.
    pub(super) segments: BTreeMap<usize, u64>,
}

/// LOCK, or SYNC, held.
#[derive(Debug)]
pub(crate) struct ModelLock {
    file: ModelFile,
    is_sync: bool,
}

/// LOCK, for whoever does not hold it.
#[derive(Debug)]
pub(super) struct ModelBoard(pub(super) ModelFile);

impl ModelDisk {
    /// The disk as another process has it, which is killed at its `calls`th call from when that is
    /// said; never where it is not.
    pub(crate) fn process(&self) -> Self {
        Self(Arc::clone(&self.0), Life::default())
    }

    /// The process is killed at this call from now on.
    pub(crate) fn dies_in(&self, calls: i64) {
        self.1.left.store(calls, Ordering::Relaxed);
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.1.left.load(Ordering::Relaxed) <= 0
    }

    /// A call of the process: an error once it is dead.
    pub(super) fn step(&self) -> io::Result<()> {
        let left = self.1.left.fetch_sub(1, Ordering::Relaxed);
        if left > 1 {
            return Ok(());
        }
        let held = &mut self.0.lock().held;
        let own = Some(self.1.number);
        for one in [&mut held.lock, &mut held.sync] {
            *one = one.filter(|owner| Some(*owner) != own);
        }
        held.segments.retain(|_, owner| Some(*owner) != own);
        Err(io::Error::other("the process was killed"))
    }

    pub(super) fn take_segment(&self, number: usize) -> bool {
        let held = &mut self.0.lock().held;
        let is_free = !held.segments.contains_key(&number);
        if is_free {
            held.segments.insert(number, self.1.number);
        }
        is_free
    }

    pub(super) fn give_segment_back(&self, number: usize) {
        let held = &mut self.0.lock().held;
        if held.segments.get(&number) == Some(&self.1.number) {
            held.segments.remove(&number);
        }
    }
}

impl ModelLock {
    pub(super) fn try_lock(disk: &ModelDisk) -> Option<Self> {
        let file = disk.lock_file();
        let mut inside = disk.0.lock();
        if inside.held.lock.is_some() {
            return None;
        }
        inside.held.lock = Some(disk.1.number);
        inside.counts.locks_taken += 1;
        Some(Self { file, is_sync: false })
    }

    pub(super) fn try_sync(disk: &ModelDisk) -> Option<Self> {
        let file = disk.lock_file();
        let held = &mut disk.0.lock().held;
        if held.sync.is_some() {
            return None;
        }
        held.sync = Some(disk.1.number);
        Some(Self { file, is_sync: true })
    }
}

impl ModelFile {
    /// Writes a block of LOCK, which is as long as LOCK is then.
    fn write_block(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        yield_now();
        self.disk.step()?;
        let now = &mut self.disk.0.lock().files[self.number].now;
        now.resize(LOCK_FILE_LENGTH, 0);
        now[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read_whole(&self) -> Vec<u8> {
        self.disk.0.lock().files[self.number].now.clone()
    }
}

impl LockFile for ModelLock {
    fn read(&self) -> io::Result<Vec<u8>> {
        Ok(self.file.read_whole())
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_block(0, bytes)
    }
}

impl Drop for ModelLock {
    fn drop(&mut self) {
        let disk = &self.file.disk;
        let mut inside = disk.0.lock();
        let own = Some(disk.1.number);
        if self.is_sync && inside.held.sync == own {
            inside.held.sync = None;
        } else if !self.is_sync && inside.held.lock == own {
            inside.held.lock = None;
            inside.counts.locks_given_back += 1;
        }
    }
}

impl Board for ModelBoard {
    fn read(&self) -> io::Result<Vec<u8>> {
        Ok(self.0.read_whole())
    }

    fn write_at(&self, offset: usize, bytes: &[u8]) -> io::Result<()> {
        self.0.write_block(offset, bytes)
    }

    fn wait(&self, _: usize, _: u32, _: u32, within: Duration) {
        sleep(within);
    }

    fn wake(&self, _: usize, _: u32, _: u32) {
        yield_now();
    }

    fn ticket(&self) -> Ticket {
        let mut inside = self.0.disk.0.lock();
        inside.tickets += 1;
        Ticket { number: inside.tickets, pid: 1, start: self.0.disk.1.number() }
    }

    fn is_there(&self, _: &Ticket) -> bool {
        true
    }
}

impl Life {
    fn number(&self) -> u64 {
        self.number
    }
}
