//! Entry of a guard about a command whose recorder is gone: raw facts, as a signed entry of the
//! run's own file.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use holdpoint_log_format::{EntryKind, GuardFacts, GuardKilledFor, Link, LogId, RunKey, RunStart};
use serde::{Deserialize, Serialize};

use super::pauses::Ran;
use super::usage::Usage;
use crate::log::append_entry;

/// Files that a guard may write to, and the key and start that make the entry the recorder's.
#[derive(Debug, Clone)]
pub(crate) struct LastWord {
    /// The run's own file.
    pub(crate) file: Arc<OwnedFd>,
    /// The directory of such files.
    pub(crate) directory: Arc<OwnedFd>,
    pub(crate) key: RunKey,
    pub(crate) start: RunStart,
}

impl PartialEq for LastWord {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.file, &other.file) && self.key == other.key && self.start == other.start
    }
}

impl Eq for LastWord {}

/// All of it but the descriptors, on its way to the guard.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Entrusted {
    seed: [u8; 32],
    log: [u8; 16],
    loop_digits: [u8; 16],
    attempt: u8,
    sequence: u64,
    link: [u8; 32],
}

impl fmt::Debug for Entrusted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Entrusted(..)")
    }
}

impl LastWord {
    /// Number of descriptors there are.
    pub(super) const DESCRIPTORS: usize = 2;

    pub(super) fn descriptors(&self) -> [BorrowedFd<'_>; Self::DESCRIPTORS] {
        [self.file.as_fd(), self.directory.as_fd()]
    }

    pub(super) fn entrusted(&self) -> Entrusted {
        let RunStart { log, loop_digits, attempt, sequence, link } = self.start;
        let seed = self.key.seed();
        Entrusted { seed, log: log.0, loop_digits, attempt, sequence, link: link.0 }
    }

    /// Returns the last word that was entrusted, with its descriptors.
    pub(super) fn received(entrusted: &Entrusted, [file, directory]: [OwnedFd; 2]) -> Self {
        let Entrusted { seed, log, loop_digits, attempt, sequence, link } = entrusted.clone();
        let (log, link) = (LogId(log), Link(link));
        Self {
            file: Arc::new(file),
            directory: Arc::new(directory),
            key: RunKey::from_seed(&seed),
            start: RunStart { log, loop_digits, attempt, sequence, link },
        }
    }

    /// Writes down how the command ended.
    pub(super) fn write(
        &self,
        (status, usage): (ExitStatus, Usage),
        ran: Ran,
        killed_for: GuardKilledFor,
    ) -> io::Result<()> {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let facts = GuardFacts {
            wait_status: status.into_raw(),
            killed_for,
            duration_ns: nanoseconds(ran.time),
            is_at_most: ran.is_at_most,
            user_ns: nanoseconds(usage.user_cpu),
            system_ns: nanoseconds(usage.system_cpu),
            peak_resident_bytes: usage.max_resident_bytes,
        };
        let (key, start) = (&self.key, &self.start);
        append_entry(
            &self.file,
            &*self.directory,
            key,
            start,
            EntryKind::GuardFacts,
            &facts.encode(),
        )
    }
}

#[cfg(target_os = "linux")]
/// Lets no other process of the same user look into this one, and no core file hold it: the key of
/// the run's recorder is in it. Not where `/proc` hides what may not be looked into: a guard has to
/// be seen there, for a process below one is no person.
pub(super) fn keep_memory_private() {
    use rustix::process::DumpableBehavior::NotDumpable;
    if std::fs::metadata("/proc/1/stat").is_ok() {
        // What the system refuses of that is not worth the command.
        let _ = rustix::process::set_dumpable_behavior(NotDumpable);
    }
}
