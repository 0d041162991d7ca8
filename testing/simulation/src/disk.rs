//! The simulated disk as its user sees it.

use super::fault::{Call, CallRecord, Fault, ReadFault};
use super::file::Unsynced;
use super::machine::Machine;
use super::names::Node;
use super::pages::SECTOR;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A disk in memory that a log can be written to, with everything that can go wrong with one.
///
/// Clones are handles of one disk, as two processes have on one machine. The same calls on a disk
/// of the same seed leave the same bytes: no clock, no randomness but the seed's.
#[derive(Clone, Debug)]
pub struct SimulatedDisk {
    pub(super) machine: Arc<Mutex<Machine>>,
}

/// Something that is not durable yet, so that power loss may leave it one way or another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Kind of what is pending.
    pub what: PendingWhat,
    /// Number of ways: 0 is what is durable, `options - 1` what the cache shows.
    pub options: usize,
}

/// Change that is not durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PendingWhat {
    /// A change of names, by the path that it makes or removes.
    Name(String),
    /// The length of a file, by a number of the disk's own.
    Length(u64),
    /// A sector of a file.
    Sector {
        /// The file, by a number of the disk's own.
        file: u64,
        /// Number of the sector in it, from 0.
        sector: u64,
        /// True if what is durable there is all zero.
        is_blank: bool,
    },
}

/// A sector that power loss tears: the first bytes of the version that was picked, and behind them
/// what was durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tear {
    /// Index in [`SimulatedDisk::pending`] of the sector.
    pub pending: usize,
    /// Number of bytes of the new version that are there, 1 to 511.
    pub bytes: usize,
}

/// The machine at one moment of a recorded stretch of calls.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Calls made before; the next one was not made, or only its first pages were written.
    pub calls: u64,
    /// A disk of its own, in the state of that moment.
    pub disk: SimulatedDisk,
}

impl SimulatedDisk {
    /// An empty disk, on which the log's directory does not exist.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::of(Machine { seed, ..Machine::default() })
    }

    fn of(machine: Machine) -> Self {
        Self { machine: Arc::new(Mutex::new(machine)) }
    }

    /// Counts the calls that change the disk and were made.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.machine.lock().made.len() as u64
    }

    /// The calls that were made, oldest first.
    #[must_use]
    pub fn made(&self) -> Vec<CallRecord> {
        self.machine.lock().made.clone()
    }

    /// Counts the reads that were made.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.machine.lock().reads
    }

    /// Lets call number `call` fail, counted from 1 as [`Self::calls`] counts.
    pub fn fail_at(&self, call: u64, fault: Fault) {
        self.machine.lock().faults.insert(call, fault);
    }

    /// Lets the next call of this kind fail.
    pub fn fail_next(&self, call: Call, fault: Fault) {
        self.machine.lock().next_faults.insert(call, fault);
    }

    /// Lets read number `read` fail, counted from 1 as [`Self::reads`] counts.
    pub fn fail_read_at(&self, read: u64, fault: ReadFault) {
        self.machine.lock().read_faults.insert(read, fault);
    }

    /// The segments that were written to while nobody had locked them: none, whatever happens.
    #[must_use]
    pub fn written_unlocked(&self) -> Vec<String> {
        self.machine.lock().written_unlocked.iter().cloned().collect()
    }

    /// The names of the faults that happened, in order.
    #[must_use]
    pub fn happened(&self) -> Vec<&'static str> {
        self.machine.lock().happened.clone()
    }

    /// Changes a byte of a file on the disk and in the cache, without a call. False when there is
    /// no such byte.
    pub fn rot(&self, path: &str, offset: u64, mask: u8) -> bool {
        let mut machine = self.machine.lock();
        let Some(Node::File(file)) = machine.names.get(path) else { return false };
        let content = machine.content(file);
        let is_there = offset < content.length();
        if is_there {
            content.rot(offset, mask);
        }
        is_there
    }

    /// From now on the machine is copied before each call that changes the disk, and between the
    /// pages of long writes.
    pub fn record_moments(&self) {
        self.machine.lock().moments = Some(Vec::new());
    }

    /// Ends the recording and gives what was recorded.
    #[must_use]
    pub fn take_moments(&self) -> Vec<Moment> {
        let recorded = self.machine.lock().moments.take().unwrap_or_default();
        let moment = |(calls, machine)| Moment { calls, disk: Self::of(machine) };
        recorded.into_iter().map(moment).collect()
    }

    /// Every call from now on fails. Meant for the machine whose disk another one goes on with:
    /// its handles then do no harm when they are dropped.
    pub fn turn_off(&self) {
        self.machine.lock().is_off = true;
    }

    /// The disk as the next process finds it when every process was killed now: the cache is as it
    /// was, the lock is free. This disk goes on.
    #[must_use]
    pub fn kill(&self) -> Self {
        let mut machine = self.machine.lock().copy();
        machine.is_locked = false;
        machine.locked.clear();
        machine.reads = 0;
        machine.happened.clear();
        Self::of(machine)
    }

    /// Lists what is not durable now, in the order of the picks of [`Self::power_loss`].
    #[must_use]
    pub fn pending(&self) -> Vec<Pending> {
        let machine = self.machine.lock();
        let names = machine.names.unsynced();
        let names =
            names.map(|path| Pending { what: PendingWhat::Name(path.to_string()), options: 2 });
        let files = unsynced(&machine).into_iter().map(|(file, what, options)| {
            let is_blank =
                |sector| machine.files.get(&file).is_some_and(|f| f.is_durably_blank(sector));
            let what = match what {
                Unsynced::Length => PendingWhat::Length(file),
                Unsynced::Sector(sector) => {
                    PendingWhat::Sector { file, sector, is_blank: is_blank(sector) }
                }
            };
            Pending { what, options }
        });
        names.chain(files).collect()
    }

    /// The disk after power was lost now and came back, in a new boot. `picks` says for each of
    /// [`Self::pending`] which of its options survived; 0, what was durable, where it says nothing.
    /// This disk goes on.
    #[must_use]
    pub fn power_loss(&self, picks: &[usize]) -> Self {
        self.power_loss_tearing(picks, &[])
    }

    /// Loses power like [`Self::power_loss`], with sectors torn inside.
    #[must_use]
    pub fn power_loss_tearing(&self, picks: &[usize], tears: &[Tear]) -> Self {
        let mut machine = self.machine.lock().copy();
        let mut numbered = picks.iter().copied().chain(std::iter::repeat(0)).enumerate();
        let mut next = move || numbered.next().unwrap_or_default();
        let files = unsynced(&machine);
        machine.names.come_back(|| next().1 > 0);
        for (file, what, _) in files {
            let (index, pick) = next();
            let tear = tears.iter().find(|tear| tear.pending == index);
            let tear = tear.map(|tear| tear.bytes.clamp(1, SECTOR - 1));
            machine.content(file).keep(what, pick, tear);
        }
        let named = machine.names.files();
        machine.files.retain(|file, _| named.contains(file));
        machine.files.values_mut().for_each(super::file::FileContent::come_back);
        let boot = machine.boot.wrapping_add(1);
        let (is_locked, locked) = (false, BTreeSet::new());
        let (reads, happened) = (0, Vec::new());
        Self::of(Machine { boot, is_locked, locked, reads, happened, ..machine })
    }

    /// A number that tells what can be read on this disk, and the boot, from any other state.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.machine.lock().fingerprint()
    }
}

fn unsynced(machine: &Machine) -> Vec<(u64, Unsynced, usize)> {
    let named = machine.names.files();
    let files = machine.files.iter().filter(|(file, _)| named.contains(file));
    let parts = files.flat_map(|(file, content)| {
        content.unsynced().map(|(what, options)| (*file, what, options))
    });
    parts.collect()
}
