//! Faults of one call on a simulated disk.

use std::io;

/// Extent of what a failing call did all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Nothing.
    None,
    /// About half: a write stops at the end of a page where it has one, a sync makes half of the
    /// sectors durable, and any other call does nothing.
    Half,
    /// All of it.
    Whole,
}

/// Fault of a call that changes the disk. A fault that does not fit the call does not happen: see
/// [`super::SimulatedDisk::happened`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// `ENOSPC`, on a call that needs space: a write, or making a file or directory.
    NoSpace(Effect),
    /// `EIO`. What a failing sync did not make durable stays unsynced, and a later sync may do it.
    Io(Effect),
    /// `EINTR`, and nothing was done.
    Interrupted,
    /// A write that takes only the first half and says so.
    ShortWrite,
    /// A sync that fails with `EIO` and marks the pages clean: the cache keeps showing them, the
    /// disk does not have them, and the next sync reports success (Rebello et al., "Can
    /// Applications Recover from fsync Failures?", USENIX ATC 2020).
    SyncDropsPages,
    /// A sync of a file or directory that reports success and makes nothing durable.
    SyncLies,
    /// A write that reports success and lands elsewhere, as far as the other place exists.
    Misdirected {
        /// The file that is hit; `None` for the one that was meant.
        file: Option<String>,
        /// Where in it, in bytes.
        offset: u64,
    },
    /// A change of names that reports success, is shown, and never becomes durable.
    LostName,
}

/// Fault of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadFault {
    /// `EIO`.
    Io,
    /// `EINTR`, and nothing was read.
    Interrupted,
    /// A read that gives only the first half.
    Short,
    /// One bit of what was read is not the one that is on the disk, this time only.
    Rot {
        /// The bit, counted from the first one read, wrapping around at the last.
        bit: u64,
    },
}

/// The calls that change a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// Making a directory.
    CreateDirectory,
    /// Making an empty file.
    Create,
    /// Reserving space for a file that was just made.
    Reserve,
    /// Writing to a file.
    Write,
    /// Writing LOCK.
    WriteLock,
    /// Syncing a file.
    Sync,
    /// Syncing a directory.
    SyncDirectory,
    /// Renaming a file.
    Rename,
    /// Removing a file.
    Remove,
    /// Giving blocks back.
    Punch,
}

/// A call that was made, in the order of [`super::SimulatedDisk::calls`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRecord {
    /// Kind of the call.
    pub call: Call,
    /// The file or directory, relative to the root; a renamed file's new name.
    pub path: String,
}

impl Fault {
    /// Returns whether the fault can happen to such a call.
    #[must_use]
    pub fn fits(&self, call: Call) -> bool {
        let is_write = matches!(call, Call::Write | Call::WriteLock);
        match self {
            Self::NoSpace(_) => {
                let is_making =
                    matches!(call, Call::Create | Call::Reserve | Call::CreateDirectory);
                let is_late = matches!(call, Call::Sync | Call::SyncDirectory | Call::Rename);
                is_write || is_making || is_late
            }
            Self::Io(_) | Self::Interrupted => true,
            Self::ShortWrite | Self::Misdirected { .. } => is_write,
            Self::SyncDropsPages => call == Call::Sync,
            Self::SyncLies => matches!(call, Call::Sync | Call::SyncDirectory),
            Self::LostName => matches!(call, Call::Create | Call::Rename | Call::Remove),
        }
    }

    /// Returns whether the disk says one thing and does another: no log survives all of these
    /// unharmed.
    #[must_use]
    pub fn is_a_lie(&self) -> bool {
        matches!(self, Self::SyncLies | Self::Misdirected { .. } | Self::LostName)
    }

    /// A short name, for counting.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::NoSpace(_) => "ENOSPC",
            Self::Io(_) => "EIO",
            Self::Interrupted => "EINTR",
            Self::ShortWrite => "short-write",
            Self::SyncDropsPages => "sync-drops-pages",
            Self::SyncLies => "sync-lies",
            Self::Misdirected { .. } => "misdirected-write",
            Self::LostName => "lost-name",
        }
    }

    /// The error of a call that fails, and how much it did.
    pub(super) fn failure(&self) -> Option<(io::Error, Effect)> {
        let (kind, effect) = match self {
            Self::NoSpace(effect) => (io::ErrorKind::StorageFull, *effect),
            Self::Io(effect) => (io::ErrorKind::Other, *effect),
            Self::Interrupted => (io::ErrorKind::Interrupted, Effect::None),
            _ => return None,
        };
        Some((io::Error::new(kind, self.name()), effect))
    }
}

impl ReadFault {
    /// A short name, for counting.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Io => "EIO-on-read",
            Self::Interrupted => "EINTR-on-read",
            Self::Short => "short-read",
            Self::Rot { .. } => "rot-on-read",
        }
    }
}
