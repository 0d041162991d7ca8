//! Naming the guard of a command.

use std::ffi::CStr;
use std::os::fd::OwnedFd;
#[cfg(target_os = "linux")]
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::last_word::LastWord;

/// The program that runs now.
pub(super) const OWN_PROGRAM: &str = "/proc/self/exe";
#[cfg(target_os = "linux")]
/// The first argument with which a program is started as a guard.
pub(super) const GUARD_VERB: &str = "__guard";
#[cfg(target_os = "linux")]
/// The second one: what a recorder and a guard say to each other, by number.
pub(super) const GUARD_VERSION: &str = "7";
#[cfg(target_os = "linux")]
/// The third one of the process above a guard.
pub(super) const GUARD_ABOVE: &str = "above";
/// The name that a guard shows in the table of processes: a process with a guard among its
/// ancestors runs under a recorder.
pub const GUARD_NAME: &CStr = c"holdpoint-guard";

/// A process between this one and the command, which ends the command with everything that it
/// started, `setsid` or not, when this process is gone.
///
/// It is another start of a program that calls [`serve_as_guard`](super::serve_as_guard) first of
/// all: `holdpoint` does, and so can the program that embeds this library. With it limits of time
/// and memory hold for the whole tree of the command. Only Linux has what it takes, and only where
/// `/proc` shows this process; elsewhere a command runs without one, which is told
/// ([`Notice::NotContained`](super::Notice)) and reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    program: PathBuf,
    held: Vec<HeldDescriptor>,
    adopts: bool,
    last_word: Option<LastWord>,
}

impl Guard {
    /// A guard that is a start of this program.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), held: Vec::new(), adopts: false, last_word: None }
    }

    /// A guard that is another start of the very program that runs now, also where its file was
    /// replaced since.
    pub fn of_own_program() -> Self {
        Self::new(OWN_PROGRAM)
    }

    /// Lets the guard keep this open too, until it ends: a lock on an open file, say, is then held
    /// as long as the recorder or the guard lives. The command does not inherit it. At most 12.
    #[must_use]
    pub fn holding(mut self, descriptor: Arc<OwnedFd>) -> Self {
        self.held.push(HeldDescriptor(descriptor));
        self
    }

    /// Makes this process the one to which the system gives the orphans below it, so that it can
    /// kill them all if somebody kills the guard. Everything below this process is then taken for
    /// the command's: only for a program that starts nothing but one command at a time. For others
    /// one more process, above the guard, does the same.
    #[must_use]
    pub fn adopting(mut self) -> Self {
        self.adopts = true;
        self
    }

    /// Lets the guard write down how the command ended where this process cannot: as an entry of
    /// the run's own file.
    pub(crate) fn with_last_word(mut self, last_word: LastWord) -> Self {
        self.last_word = Some(last_word);
        self
    }

    /// The program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    #[cfg(target_os = "linux")]
    pub(super) fn adopts(&self) -> bool {
        self.adopts
    }

    #[cfg(target_os = "linux")]
    pub(super) fn last_word(&self) -> Option<&LastWord> {
        self.last_word.as_ref()
    }

    /// Returns what the guard keeps open: first what its last word is written to.
    #[cfg(target_os = "linux")]
    pub(super) fn held(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let of_word = self.last_word.iter().flat_map(LastWord::descriptors);
        of_word.chain(self.held.iter().map(|held| held.0.as_fd()))
    }
}

/// Equal if it is the same descriptor.
#[derive(Debug, Clone)]
struct HeldDescriptor(Arc<OwnedFd>);

impl PartialEq for HeldDescriptor {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for HeldDescriptor {}

/// Does the work of the keeper of a terminal if this process was started as one. There are no
/// guards on this system.
///
/// # Errors
///
/// Inside of the answer: nobody speaks to this keeper as a program of this version does.
#[cfg(not(target_os = "linux"))]
pub fn serve_as_guard() -> Option<std::io::Result<()>> {
    super::keeper::serve_as_keeper()
}

/// Forks no guard off: there are none on this system.
#[cfg(not(target_os = "linux"))]
pub fn fork_guard() -> Option<std::io::Result<()>> {
    None
}
