//! The process that opened a log. A forked child has the memory of the handle and none of its
//! threads: it must open the log again.

use crate::executor::forks;

/// The process that a handle belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) pid: u32,
    /// Forks that led to the process; `None` where they cannot be counted.
    forks: Option<u64>,
}

impl Owner {
    pub(super) fn this_process() -> Self {
        Self { pid: std::process::id(), forks: forks() }
    }

    /// Whether this is still that process: told without a system call, at every door of the handle.
    /// A child that the C library did not fork is not told from its parent.
    pub(super) fn is_here(self) -> bool {
        match (self.forks, forks()) {
            (Some(then), Some(now)) => then == now,
            _ => self.is_here_for_sure(),
        }
    }

    /// Whether this is still that process, whoever forked it: asked before anything is written.
    pub(super) fn is_here_for_sure(self) -> bool {
        std::process::id() == self.pid
    }

    /// The owner of a handle that a forked child has.
    #[cfg(test)]
    pub(super) fn parent() -> Self {
        let here = Self::this_process();
        Self { pid: here.pid + 1, forks: here.forks.map(|forks| forks + 1) }
    }
}
